#include "chaos/names.hpp"

#include <dlfcn.h>
#include <netdb.h>

namespace ratel::test {

std::atomic<bool> name_is_known{true};

}  // namespace ratel::test

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  using ratel::test::kName;
  const bool ours = host != nullptr && host == kName && (hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0);
  if (ours && !ratel::test::name_is_known) return EAI_AGAIN;
  static const auto of_the_system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return of_the_system(ours ? "127.0.0.1" : host, service, hints, found);
}
