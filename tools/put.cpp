#include "put.hpp"

#if RATEL_REDIS
#include "storage/redis/key_client.hpp"
#endif

namespace ratel::tool {

std::string Put(const std::string& url, const std::string& key, const std::string& text, std::string& shown) {
#if RATEL_REDIS
  const auto options = redis::ParseUrl(url);
  if (!options) return options.error().message;
  const auto client = redis::KeyClient::Make(*options);
  if (!client) return client.error().message;
  shown = (*client)->Shown(key);
  const auto fault = (*client)->Set(key, text);
  return fault ? shown + ": " + fault->message : "";
#else
  static_cast<void>(url), static_cast<void>(key), static_cast<void>(text), static_cast<void>(shown);
  return "this build has no Redis";
#endif
}

}  // namespace ratel::tool
