#include <string_view>

#include "ratel/rl.h"

uint32_t rl_abi_version(void) { return RL_ABI_MAJOR << 16 | RL_ABI_MINOR; }

const char* rl_version_string(void) { return RATEL_VERSION; }

uint64_t rl_features(void) {
  return RL_FEATURE_MEMORY | RL_FEATURE_HOST_STORAGE | (RATEL_REDIS ? RL_FEATURE_REDIS : 0u) |
         (RATEL_REDIS_TLS ? RL_FEATURE_TLS : 0u);
}

const char* rl_status_name(rl_status status) {
  switch (status) {
    case RL_OK:
      return "RL_OK";
    case RL_E_INVALID_ARGUMENT:
      return "RL_E_INVALID_ARGUMENT";
    case RL_E_NO_MEMORY:
      return "RL_E_NO_MEMORY";
    case RL_E_CONFIG:
      return "RL_E_CONFIG";
    case RL_E_IO:
      return "RL_E_IO";
    case RL_E_NOT_FOUND:
      return "RL_E_NOT_FOUND";
    case RL_E_UNSUPPORTED:
      return "RL_E_UNSUPPORTED";
    case RL_E_STORE:
      return "RL_E_STORE";
    case RL_E_BUFFER_TOO_SMALL:
      return "RL_E_BUFFER_TOO_SMALL";
    case RL_E_ABI:
      return "RL_E_ABI";
    case RL_E_STATE:
      return "RL_E_STATE";
    case RL_E_CANCELLED:
      return "RL_E_CANCELLED";
    case RL_E_INTERNAL:
      return "RL_E_INTERNAL";
    default:
      return "RL_E_UNKNOWN";
  }
}

uint64_t rl_struct_size(const char* name) {
  struct Entry {
    std::string_view name;
    uint64_t size;
  };
  static constexpr Entry kStructs[] = {
      {"str", sizeof(rl_str)},
      {"error", sizeof(rl_error)},
      {"attribute", sizeof(rl_attribute)},
      {"request", sizeof(rl_request)},
      {"decision", sizeof(rl_decision)},
      {"clock", sizeof(rl_clock)},
      {"log", sizeof(rl_log)},
      {"cell", sizeof(rl_cell)},
      {"storage", sizeof(rl_storage)},
      {"override", sizeof(rl_override)},
      {"limit", sizeof(rl_limit)},
      {"rule", sizeof(rl_rule)},
      {"metrics", sizeof(rl_metrics)},
      {"rule_metrics", sizeof(rl_rule_metrics)},
      {"http", sizeof(rl_http)},
  };
  if (name == nullptr) return 0;
  for (const Entry& entry : kStructs) {
    if (entry.name == name) return entry.size;
  }
  return 0;
}
