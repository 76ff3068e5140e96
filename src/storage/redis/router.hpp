// Where calls go, as connections see it: whom they hand calls on to, and whom they tell what servers say about it.
#pragma once

#include <string_view>

#include "storage/redis/call.hpp"
#include "storage/redis/place.hpp"

namespace ratel::redis {

class Router {
 public:
  /// Sends a call to the server that it belongs to; ends it when that has no chance.
  virtual void Dispatch(const CallPtr& call) = 0;
  /// A server has refused a call with an error, so that nothing was carried out. True: the call is taken care of.
  virtual bool Redirect(const CallPtr& call, std::string_view error, const Place& from) = 0;
  /// A server is lost, or is not what it was thought to be.
  virtual void Suspect(const Place& server) = 0;

 protected:
  ~Router() = default;
};

}  // namespace ratel::redis
