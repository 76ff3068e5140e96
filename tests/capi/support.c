#include "support.h"

#include <stdio.h>

rl_str bytes_of(const char *data, uint64_t size) {
  rl_str out = {data, size};
  return out;
}

rl_str text(const char *nul_terminated) { return bytes_of(nul_terminated, strlen(nul_terminated)); }

rl_config *config_of(const char *rules) {
  rl_config *config = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_create(&config, &err));
  if (rl_config_load_text(config, text(rules), BYTES("test.yaml"), &err) != RL_OK) {
    fail_msg("%s:%u:%u: %s %s", err.file, err.line, err.column, err.path, err.message);
  }
  return config;
}

rl_registry *registry_of(const char *rules) {
  rl_config *config = config_of(rules);
  rl_registry *registry = NULL;
  rl_error err = RL_ERROR_INIT;
  if (rl_registry_create(config, &registry, &err) != RL_OK) fail_msg("%s", err.message);
  rl_config_destroy(config);
  return registry;
}

rl_request request_of(const char *user, uint64_t now_ns) {
  rl_request request = RL_REQUEST_INIT;
  request.now_ns = now_ns;
  request.method = BYTES("POST");
  request.path = BYTES("/orders");
  if (user != NULL) request.user = text(user);
  return request;
}

rl_decision ask(rl_registry *registry, const char *user, uint64_t now_ns) {
  return ask_cost(registry, user, now_ns, RL_COST_OF_RULE);
}

rl_decision ask_cost(rl_registry *registry, const char *user, uint64_t now_ns, int64_t cost) {
  rl_request request = request_of(user, now_ns);
  rl_decision decision = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  request.cost = cost;
  if (rl_allow(registry, &request, &decision, &err) != RL_OK) fail_msg("%s", err.message);
  assert_int_equal(RL_OK, decision.status);
  return decision;
}

uint64_t keys_of(rl_registry *registry) {
  uint64_t keys = UINT64_MAX;
  assert_int_equal(RL_OK, rl_registry_key_count(registry, &keys, NULL));
  return keys;
}

void assert_failed(rl_status expected, rl_status status, const rl_error *err) {
  assert_string_equal(rl_status_name(expected), rl_status_name(status));
  assert_int_equal(status, err->status);
  assert_true(strlen(err->message) > 0);
  assert_int_equal(sizeof *err, err->struct_size);
}

void assert_no_answer(const rl_decision *decision, rl_status status) {
  rl_decision nothing = RL_DECISION_INIT;
  nothing.struct_size = decision->struct_size;
  nothing.status = status;
  assert_memory_equal(&nothing, decision, sizeof nothing);
}

void assert_same_answer(const rl_decision *a, const rl_decision *b) { assert_memory_equal(a, b, sizeof *a); }

void make_folder(char folder[FOLDER_SIZE]) {
  const char *parent = getenv("TMPDIR");
  const int size =
      snprintf(folder, FOLDER_SIZE, "%s/ratel-capi-XXXXXX", parent != NULL && parent[0] != '\0' ? parent : "/tmp");
  assert_in_range(size, 1, FOLDER_SIZE - 1);
  assert_non_null(mkdtemp(folder));
}

int contains(const char *haystack, uint64_t size, const char *needle) {
  const size_t length = strlen(needle);
  for (uint64_t i = 0; i + length <= size; ++i) {
    if (memcmp(haystack + i, needle, length) == 0) return 1;
  }
  return 0;
}
