/* A rule set in force: ids, reload, watch, diff, housekeeping, two of them side by side. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define ORDERS_TEN "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 10, window: 1s}]"
#define OTHERS "rules: [{name: others, path: /others, scope: user, limit: 2, window: 1s}]"

static void assert_named(rl_str name, const char *expected) {
  assert_int_equal(strlen(expected), name.size);
  assert_memory_equal(expected, name.data, name.size);
}

static void ids_and_names(void **state) {
  (void)state;
  rl_registry *registry = registry_of(
      "rules: [{name: a, path: /a, scope: user, limit: 1, window: 1s}, {name: b, path: /b, scope: ip, limit: 1, "
      "window: 1s}]\n"
      "default: {name: rest, scope: ip, limit: 1, window: 1s}\n");
  assert_int_equal(3, rl_rule_count(registry));
  const uint32_t a = rl_rule_at(registry, 0);
  const uint32_t b = rl_rule_at(registry, 1);
  const uint32_t rest = rl_rule_at(registry, 2);
  assert_true(a != 0 && b != 0 && rest != 0 && a != b && b != rest);
  assert_int_equal(0, rl_rule_at(registry, 3));
  assert_int_equal(0, rl_rule_at(registry, UINT32_MAX));
  assert_named(rl_rule_name(registry, a), "a");
  assert_named(rl_rule_name(registry, rest), "rest");
  assert_named(rl_rule_name(registry, 4711), "");
  assert_named(rl_rule_name(registry, 0), "");
  assert_named(rl_limit_name(registry, 0), "");
  assert_named(rl_limit_name(registry, UINT32_MAX), "");
  uint32_t id = 7;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_rule_id(registry, BYTES("b"), &id, NULL));
  assert_int_equal(b, id);
  assert_failed(RL_E_NOT_FOUND, rl_rule_id(registry, BYTES("c\n\xff"), &id, &err), &err);
  assert_int_equal(0, id);
  assert_int_equal(RL_E_NOT_FOUND, rl_rule_id(registry, bytes_of(NULL, 0), &id, NULL));
  rl_registry_destroy(registry);
}

static void reload_keeps_state_and_ids(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_config *ten = config_of(ORDERS_TEN);
  rl_config *others = config_of(OTHERS);
  const uint32_t orders = rl_rule_at(registry, 0);
  for (int n = 0; n < 5; ++n) ask(registry, "ann", START);
  assert_int_equal(RL_OK, rl_registry_reload(registry, ten, NULL));
  assert_int_equal(2, rl_registry_generation(registry));
  const rl_decision after = ask(registry, "ann", START + 200 * MILLISECOND);
  assert_int_equal(1, after.allowed);
  assert_int_equal(2, after.generation);
  assert_int_equal(10, after.limit);
  assert_int_equal(0, after.remaining);
  assert_int_equal(orders, after.rule);
  assert_int_equal(RL_OK, rl_registry_reload(registry, others, NULL));
  assert_int_equal(RL_SOURCE_NO_RULE, ask(registry, "ann", START).source);
  assert_named(rl_rule_name(registry, orders), "orders");
  uint32_t id;
  assert_int_equal(RL_E_NOT_FOUND, rl_rule_id(registry, BYTES("orders"), &id, NULL));
  rl_decision decision = RL_DECISION_INIT;
  assert_int_equal(RL_E_NOT_FOUND, rl_allow_rule(registry, orders, "ann", 3, 1, START, &decision));
  assert_int_equal(RL_OK, rl_registry_reload(registry, ten, NULL));
  assert_int_equal(orders, rl_rule_at(registry, 0));
  assert_int_equal(4, rl_registry_generation(registry));
  rl_config_destroy(ten);
  rl_config_destroy(others);
  rl_registry_destroy(registry);
}

static void a_reload_without_rules_is_refused(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_config *empty = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_create(&empty, NULL));
  assert_failed(RL_E_CONFIG, rl_registry_reload(registry, empty, &err), &err);
  rl_metrics metrics;
  memset(&metrics, 0, sizeof metrics);
  metrics.struct_size = sizeof metrics;
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  assert_int_equal(1, metrics.reload_failures);
  assert_int_equal(1, rl_registry_generation(registry));
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  rl_config_destroy(empty);
  rl_registry_destroy(registry);
}

static void write_file(const char *path, const char *content) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(content, file);
  assert_int_equal(0, fclose(file));
}

struct messages {
  int count;
  int32_t level;
  char last[1024];
};

static void record(void *self, int32_t level, const char *bytes, uint64_t size) {
  struct messages *messages = self;
  ++messages->count;
  messages->level = level;
  const size_t length = size < sizeof messages->last - 1 ? (size_t)size : sizeof messages->last - 1;
  memcpy(messages->last, bytes, length);
  messages->last[length] = '\0';
}

static uint64_t failures_of(rl_registry *registry) {
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  return metrics.reload_failures;
}

static void a_bad_file_keeps_the_old_rules_and_is_told(void **state) {
  (void)state;
  char folder[FOLDER_SIZE];
  make_folder(folder);
  char path[FOLDER_SIZE + 16];
  snprintf(path, sizeof path, "%s/rules.yaml", folder);
  struct messages messages = {0, 0, ""};
  const rl_log log = {sizeof log, 0, &messages, record, NULL};
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_set_log(config, &log, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));

  write_file(path, "rules: [{name: x}");
  messages.count = 0;
  assert_failed(RL_E_CONFIG, rl_registry_reload_file(registry, text(path), &err), &err);
  assert_true(err.line > 0 && err.fault_count > 0);
  assert_string_equal(path, err.file);
  assert_int_equal(1, rl_registry_generation(registry));
  assert_true(messages.count > 0);
  assert_true(strlen(messages.last) > 0);
  assert_int_equal(1, failures_of(registry));
  assert_failed(RL_E_IO, rl_registry_reload_file(registry, BYTES("no/such/file"), &err), &err);
  assert_int_equal(2, failures_of(registry));
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_reload_file(registry, BYTES("a\0b"), &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_reload_file(registry, BYTES(""), &err), &err);

  write_file(path, ORDERS_TEN);
  assert_int_equal(RL_OK, rl_registry_reload_file(registry, text(path), &err));
  assert_int_equal(2, rl_registry_generation(registry));
  assert_int_equal(10, ask(registry, "ann", START).limit);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
  unlink(path);
  rmdir(folder);
}

static int reaches_generation(const rl_registry *registry, uint64_t generation) {
  const struct timespec pause = {0, 5000000};
  for (int i = 0; i < 4000 && rl_registry_generation(registry) < generation; ++i) nanosleep(&pause, NULL);
  return rl_registry_generation(registry) >= generation;
}

static void a_watched_file(void **state) {
  (void)state;
  char folder[FOLDER_SIZE];
  make_folder(folder);
  char path[FOLDER_SIZE + 16];
  snprintf(path, sizeof path, "%s/rules.yaml", folder);
  rl_registry *registry = registry_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_IO, rl_registry_watch(registry, text(path), 10, &err), &err);
  write_file(path, ORDERS_TEN);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_watch(registry, text(path), 9, &err), &err);
  const uint64_t before = rl_registry_generation(registry);
  assert_int_equal(RL_OK, rl_registry_watch(registry, text(path), 10, &err));
  assert_int_equal(before + 1, rl_registry_generation(registry));
  assert_int_equal(10, ask(registry, "ann", START).limit);
  write_file(path, OTHERS);
  assert_true(reaches_generation(registry, before + 2));
  assert_int_equal(RL_SOURCE_NO_RULE, ask(registry, "ann", START).source);
  assert_int_equal(RL_OK, rl_registry_watch(registry, bytes_of(NULL, 0), 0, &err));
  assert_int_equal(RL_OK, rl_registry_watch(registry, text(path), 0, &err));
  rl_registry_destroy(registry);
  unlink(path);
  rmdir(folder);
}

static void diff_tells_beforehand(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_config *ten = config_of(ORDERS_TEN);
  char buffer[4096];
  uint64_t needed = 0;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_registry_diff(registry, ten, 0, buffer, sizeof buffer, &needed, &err));
  assert_true(contains(buffer, needed, "orders"));
  const uint64_t size = needed;
  assert_failed(RL_E_BUFFER_TOO_SMALL, rl_registry_diff(registry, ten, 0, buffer, size - 1, &needed, &err), &err);
  assert_int_equal(size, needed);
  assert_int_equal(RL_OK, rl_registry_diff(registry, ten, 0, buffer, size, &needed, &err));
  assert_int_equal(RL_E_BUFFER_TOO_SMALL, rl_registry_diff(registry, ten, 0, NULL, 0, &needed, &err));
  assert_int_equal(size, needed);
  assert_int_equal(RL_OK, rl_registry_diff(registry, ten, RL_TEXT_JSON, buffer, sizeof buffer, &needed, &err));
  assert_true(needed > 0 && (buffer[0] == '[' || buffer[0] == '{'));
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_diff(registry, ten, 2, buffer, sizeof buffer, &needed, &err), &err);
  assert_int_equal(0, needed);
  assert_int_equal(1, rl_registry_generation(registry));
  rl_config_destroy(ten);
  rl_registry_destroy(registry);
}

static void idle_keys_go_and_live_ones_stay(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  ask(registry, "ann", START);
  ask_cost(registry, "bob", START, 5);
  assert_int_equal(2, keys_of(registry));
  uint64_t evicted = 7;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_registry_evict_idle(registry, START + 100 * MILLISECOND, &evicted, &err));
  assert_int_equal(0, evicted);
  assert_int_equal(RL_OK, rl_registry_evict_idle(registry, START + 200 * MILLISECOND, &evicted, &err));
  assert_int_equal(1, evicted);
  assert_int_equal(1, keys_of(registry));
  assert_int_equal(0, ask(registry, "bob", START).allowed);
  assert_int_equal(RL_OK, rl_registry_evict_idle(registry, 0, &evicted, &err));
  assert_int_equal(1, evicted);
  assert_int_equal(0, keys_of(registry));
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_evict_idle(registry, RL_NOW_MAX_NS + 1, &evicted, &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_evict_idle(registry, 0, NULL, &err), &err);
  rl_registry_destroy(registry);
}

static void two_registries_do_not_notice_each_other(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  rl_registry *first = NULL;
  rl_registry *second = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &first, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &second, NULL));
  rl_config_destroy(config);
  for (int n = 0; n < 5; ++n) ask(first, "ann", START);
  assert_int_equal(0, ask(first, "ann", START).allowed);
  assert_int_equal(4, ask(second, "ann", START).remaining);
  rl_registry_destroy(first);
  assert_int_equal(3, ask(second, "ann", START).remaining);
  rl_registry_destroy(second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_and_names),
      cmocka_unit_test(reload_keeps_state_and_ids),
      cmocka_unit_test(a_reload_without_rules_is_refused),
      cmocka_unit_test(a_bad_file_keeps_the_old_rules_and_is_told),
      cmocka_unit_test(a_watched_file),
      cmocka_unit_test(diff_tells_beforehand),
      cmocka_unit_test(idle_keys_go_and_live_ones_stay),
      cmocka_unit_test(two_registries_do_not_notice_each_other),
  };
  return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
