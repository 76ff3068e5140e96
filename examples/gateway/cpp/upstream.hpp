// The server behind the gateway: requests are passed on and answers passed back as they come, bodies piece by piece.
#pragma once

#include <httplib.h>

#include <string>

namespace gateway {

/// What cpp-httplib would act upon by itself on the way through (take multipart bodies apart, decompress, cut ranges out,
/// compress answers) is put aside on arrival under names that mean nothing to it; Upstream restores the names.
void PutAside(httplib::Request& request);

/// What makes a request unfit to be passed on, null when nothing does. The library undoes %XX in fields: a line break
/// would come out of that, and the server behind would see another request than the one that was decided on.
const char* Fault(const httplib::Request& request);

/// Whether the request has a body by its header fields.
bool HasBody(const httplib::Request& request);

class Upstream {
 public:
  /// "http://host:port". Throws std::invalid_argument.
  explicit Upstream(const std::string& url);

  /// Asks the server and fills in `response`, 502 when there is no answer. `body` may be null. Thread-safe.
  void Forward(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader* body) const;

 private:
  std::string host_;
  int port_ = 80;
};

}  // namespace gateway
