#include "support.h"

static void abi_version_is_the_header_s(void **state) {
  (void)state;
  assert_int_equal(RL_ABI_MAJOR << 16 | RL_ABI_MINOR, rl_abi_version());
}

static void version_string_has_three_numbers(void **state) {
  (void)state;
  int dots = 0;
  for (const char *at = rl_version_string(); *at != '\0'; ++at) {
    dots += *at == '.';
    assert_non_null(strchr("0123456789.", *at));
  }
  assert_int_equal(2, dots);
}

static void features_name_what_works(void **state) {
  (void)state;
  const uint64_t known = RL_FEATURE_MEMORY | RL_FEATURE_HOST_STORAGE | RL_FEATURE_REDIS | RL_FEATURE_TLS;
  assert_int_equal(RL_FEATURE_MEMORY, rl_features() & RL_FEATURE_MEMORY);
  assert_int_equal(RL_FEATURE_HOST_STORAGE, rl_features() & RL_FEATURE_HOST_STORAGE);
  assert_int_equal(0, rl_features() & ~known);
}

static void redis_answers_as_the_features_say(void **state) {
  (void)state;
  if ((rl_features() & RL_FEATURE_REDIS) == 0) {
    rl_config *config = config_of(ORDERS);
    rl_error err = RL_ERROR_INIT;
    assert_failed(RL_E_UNSUPPORTED, rl_config_use_redis(config, BYTES("redis://127.0.0.1"), &err), &err);
    rl_config_destroy(config);
    return;
  }
  rl_config *config = config_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_use_redis(config, BYTES("redis://127.0.0.1"), &err));
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_use_redis(config, BYTES("redis://"), &err), &err);
  assert_int_equal(RL_OK, rl_config_use_redis(config, BYTES("redis+sentinel://a,b/master"), &err));
  assert_int_equal(RL_OK, rl_config_use_redis(config, BYTES("redis+cluster://a,b"), &err));
  const rl_status tls = (rl_features() & RL_FEATURE_TLS) != 0 ? RL_OK : RL_E_UNSUPPORTED;
  assert_int_equal(tls, rl_config_use_redis(config, BYTES("rediss://127.0.0.1"), &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_config_use_redis(config, BYTES("redis://127.0.0.1:1"), &err));
  assert_failed(RL_E_CONFIG, rl_registry_create(config, &registry, &err), &err);
  assert_non_null(strstr(err.message, "rl_config_set_secret"));
  assert_int_equal(RL_OK, rl_config_set_secret(config, BYTES("a secret of the tests"), &err));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void each_status_has_its_name(void **state) {
  (void)state;
#define NAMED(status) assert_string_equal(#status, rl_status_name(status))
  NAMED(RL_OK);
  NAMED(RL_E_INVALID_ARGUMENT);
  NAMED(RL_E_NO_MEMORY);
  NAMED(RL_E_CONFIG);
  NAMED(RL_E_IO);
  NAMED(RL_E_NOT_FOUND);
  NAMED(RL_E_UNSUPPORTED);
  NAMED(RL_E_STORE);
  NAMED(RL_E_BUFFER_TOO_SMALL);
  NAMED(RL_E_ABI);
  NAMED(RL_E_STATE);
  NAMED(RL_E_CANCELLED);
  NAMED(RL_E_INTERNAL);
#undef NAMED
  assert_string_equal("RL_E_UNKNOWN", rl_status_name(1));
  assert_string_equal("RL_E_UNKNOWN", rl_status_name(-13));
  assert_string_equal("RL_E_UNKNOWN", rl_status_name(INT32_MIN));
}

static void struct_sizes_are_the_header_s(void **state) {
  (void)state;
#define SIZED(name) assert_int_equal(sizeof(rl_##name), rl_struct_size(#name))
  SIZED(str);
  SIZED(error);
  SIZED(attribute);
  SIZED(request);
  SIZED(decision);
  SIZED(clock);
  SIZED(log);
  SIZED(cell);
  SIZED(storage);
  SIZED(limit);
  SIZED(rule);
  SIZED(metrics);
  SIZED(rule_metrics);
#undef SIZED
  assert_int_equal(0, rl_struct_size("registry"));
  assert_int_equal(0, rl_struct_size("rl_request"));
  assert_int_equal(0, rl_struct_size(""));
  assert_int_equal(0, rl_struct_size(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(abi_version_is_the_header_s), cmocka_unit_test(version_string_has_three_numbers),
      cmocka_unit_test(features_name_what_works),    cmocka_unit_test(redis_answers_as_the_features_say),
      cmocka_unit_test(each_status_has_its_name),    cmocka_unit_test(struct_sizes_are_the_header_s),
  };
  return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
