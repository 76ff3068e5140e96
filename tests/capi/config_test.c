/* The builder: faults and where they are, rules made in code, ownership of what the host gives. */
#include <stdio.h>
#include <unistd.h>

#include "support.h"

static rl_config *empty_config(void) {
  rl_config *config = NULL;
  assert_int_equal(RL_OK, rl_config_create(&config, NULL));
  assert_non_null(config);
  return config;
}

static const char kTwoFaults[] =
    "rules:\n"
    "  - name: a\n"
    "    path: /a\n"
    "    scope: user\n"
    "    limit: 0\n"
    "    window: 1s\n"
    "  - name: b\n"
    "    path: /b\n"
    "    scope: user\n"
    "    limit: 1\n"
    "    window: 10\n";

static void all_faults_with_their_places(void **state) {
  (void)state;
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_CONFIG, rl_config_load_text(config, text(kTwoFaults), BYTES("rules.yaml"), &err), &err);
  assert_int_equal(2, err.fault_count);
  assert_string_equal("rules.yaml", err.file);
  assert_int_equal(5, err.line);
  assert_true(err.column > 0);
  assert_string_equal("rules[0].limit", err.path);

  rl_error fault = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_fault(config, 0, &fault));
  assert_memory_equal(&err, &fault, sizeof fault);
  assert_int_equal(RL_OK, rl_config_fault(config, 1, &fault));
  assert_int_equal(11, fault.line);
  assert_string_equal("rules[1].window", fault.path);
  assert_int_equal(RL_E_NOT_FOUND, rl_config_fault(config, 2, &fault));
  rl_config_destroy(config);
}

static void a_faulty_config_is_of_no_use_until_cleared(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  rl_registry *running = registry_of(ORDERS);
  rl_registry *registry = (rl_registry *)config;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_E_CONFIG, rl_config_load_text(config, BYTES("rules: 7"), BYTES("bad.yaml"), &err));
  assert_failed(RL_E_CONFIG, rl_registry_create(config, &registry, &err), &err);
  assert_null(registry);
  assert_failed(RL_E_CONFIG, rl_registry_reload(running, config, &err), &err);
  assert_int_equal(1, rl_registry_generation(running));
  assert_failed(RL_E_STATE, rl_config_load_text(config, text(ORDERS), BYTES("good.yaml"), &err), &err);
  assert_int_equal(RL_OK, rl_config_clear(config));
  assert_int_equal(RL_E_NOT_FOUND, rl_config_fault(config, 0, &err));
  assert_int_equal(RL_OK, rl_config_load_text(config, text(ORDERS), BYTES("good.yaml"), &err));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  rl_registry_destroy(registry);
  rl_registry_destroy(running);
  rl_config_destroy(config);
}

static void no_rules_limit_nothing_and_are_refused(void **state) {
  (void)state;
  rl_config *config = empty_config();
  rl_registry *registry = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_CONFIG, rl_registry_create(config, &registry, &err), &err);
  assert_null(registry);
  rl_config_destroy(config);
}

static void bytes_that_are_not_utf8_are_a_fault(void **state) {
  (void)state;
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_CONFIG, rl_config_load_text(config, BYTES("rules: [{name: \"\xff\xfe\"}]"), BYTES("\xff\n"), &err),
                &err);
  assert_null(strchr(err.file, '\n'));
  rl_config_destroy(config);
}

static void a_file_and_a_folder(void **state) {
  (void)state;
  char folder[FOLDER_SIZE];
  make_folder(folder);
  char path[FOLDER_SIZE + 16];
  snprintf(path, sizeof path, "%s/rules.yaml", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(ORDERS, file);
  fclose(file);

  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_load_file(config, text(path), &err));
  assert_int_equal(RL_OK, rl_config_clear(config));
  assert_int_equal(RL_OK, rl_config_load_file(config, text(folder), &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  assert_int_equal(1, rl_rule_count(registry));
  rl_registry_destroy(registry);
  rl_config_destroy(config);
  unlink(path);
  rmdir(folder);
}

static void a_file_that_is_not_there_leaves_the_config_usable(void **state) {
  (void)state;
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_IO, rl_config_load_file(config, BYTES("no/such/file.yaml"), &err), &err);
  assert_int_equal(RL_OK, rl_config_fault(config, 0, &err));
  assert_int_equal(RL_E_IO, err.status);
  assert_int_equal(RL_OK, rl_config_load_text(config, text(ORDERS), BYTES("good.yaml"), &err));
  assert_int_equal(RL_E_NOT_FOUND, rl_config_fault(config, 0, &err));
  rl_config_destroy(config);
}

static rl_limit limit_of(const char *scope, uint64_t limit) {
  rl_limit made = RL_LIMIT_INIT;
  made.algorithm = RL_TOKEN_BUCKET;
  made.scope = text(scope);
  made.limit = limit;
  made.window_ns = SECOND;
  return made;
}

static rl_rule rule_of(const char *name, const char *path, const rl_limit *limits, uint64_t count) {
  rl_rule made = RL_RULE_INIT;
  made.name = text(name);
  made.path = text(path);
  made.limits = limits;
  made.limit_count = count;
  return made;
}

static void rules_made_in_code_decide(void **state) {
  (void)state;
  rl_limit limits[] = {limit_of("user", 5), limit_of("global", 7)};
  limits[1].name = BYTES("everyone");
  rl_rule rule = rule_of("orders", "/orders", limits, 2);
  rule.method = BYTES("POST, PUT");
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_add_rule(config, &rule, &err));
  rl_rule rest = rule_of("rest", "", limits, 1);
  rest.is_default = 1;
  assert_int_equal(RL_OK, rl_config_add_rule(config, &rest, &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  assert_int_equal(2, rl_rule_count(registry));
  for (int i = 0; i < 5; ++i) assert_int_equal(1, ask(registry, "ann", START).allowed);
  assert_int_equal(0, ask(registry, "ann", START).allowed);
  assert_int_equal(1, ask(registry, "bob", START).allowed);
  assert_int_equal(1, ask(registry, "bob", START).allowed);
  const rl_decision denied = ask(registry, "bob", START);
  assert_int_equal(0, denied.allowed);
  const rl_str name = rl_limit_name(registry, denied.limit_id);
  assert_int_equal(8, name.size);
  assert_memory_equal("everyone", name.data, 8);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void a_rule_made_in_code_has_its_tier_and_region(void **state) {
  (void)state;
  const rl_limit limit = limit_of("user", 8);
  rl_rule rule = rule_of("shared", "/shared", &limit, 1);
  rl_rule whole = rule_of("whole", "/whole", &limit, 1);
  whole.local_tier = RL_LOCAL_TIER_LEASES;
  whole.region_global = 1;
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_load_text(config, BYTES("regions: {eu: 1, us: 3}"), BYTES("regions"), &err));
  assert_int_equal(RL_OK, rl_config_add_rule(config, &rule, &err));
  assert_int_equal(RL_OK, rl_config_add_rule(config, &whole, &err));
  assert_int_equal(RL_OK, rl_config_set_region(config, BYTES("eu"), &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  rl_request request = RL_REQUEST_INIT;
  rl_decision decision = RL_DECISION_INIT;
  char told[4096];
  uint64_t needed = 0;
  request.path = BYTES("/shared");
  assert_int_equal(RL_OK, rl_peek(registry, &request, &decision, &err));
  assert_int_equal(2, decision.limit);
  assert_int_equal(RL_OK, rl_explain(registry, &request, 0, told, sizeof told, &needed, &err));
  assert_false(contains(told, needed, "local tier"));
  request.path = BYTES("/whole");
  assert_int_equal(RL_OK, rl_peek(registry, &request, &decision, &err));
  assert_int_equal(8, decision.limit);
  assert_int_equal(RL_OK, rl_explain(registry, &request, 0, told, sizeof told, &needed, &err));
  assert_true(contains(told, needed, "local tier leases"));
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void overrides_made_in_code_apply(void **state) {
  (void)state;
  rl_override overrides[] = {{BYTES("vip"), 50, 0, 0}, {BYTES("slow"), 0, 2 * SECOND, 1}};
  rl_limit limit = limit_of("user", 5);
  limit.overrides = overrides;
  limit.override_count = 2;
  rl_rule rule = rule_of("orders", "/orders", &limit, 1);
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_add_rule(config, &rule, &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  assert_int_equal(49, ask(registry, "vip", START).remaining);
  const rl_decision slow = ask(registry, "slow", START);
  assert_int_equal(0, slow.remaining);
  assert_int_equal(2 * SECOND, slow.window_ns);
  assert_int_equal(4, ask(registry, "other", START).remaining);
  rl_registry_destroy(registry);
  rl_config_destroy(config);

  overrides[1].window_ns = 1;
  config = empty_config();
  assert_failed(RL_E_CONFIG, rl_config_add_rule(config, &rule, &err), &err);
  assert_string_equal("limits[0].overrides[1].window", err.path);
  rl_config_destroy(config);
  limit.overrides = NULL;
  config = empty_config();
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_add_rule(config, &rule, &err), &err);
  rl_config_destroy(config);
}

static void a_rule_made_in_code_that_is_hidden_is_refused(void **state) {
  (void)state;
  const rl_limit limit = limit_of("user", 5);
  const rl_rule first = rule_of("first", "/orders", &limit, 1);
  const rl_rule second = rule_of("second", "/orders", &limit, 1);
  rl_registry *running = registry_of(ORDERS);
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_add_rule(config, &first, &err));
  assert_int_equal(RL_OK, rl_config_add_rule(config, &second, &err));
  rl_registry *registry = NULL;
  assert_failed(RL_E_CONFIG, rl_registry_create(config, &registry, &err), &err);
  assert_non_null(strstr(err.message, "second"));
  assert_failed(RL_E_CONFIG, rl_registry_reload(running, config, &err), &err);
  assert_int_equal(RL_OK, rl_config_clear(config));
  assert_int_equal(RL_OK, rl_config_add_rule(config, &first, &err));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  rl_registry_destroy(registry);
  rl_registry_destroy(running);
  rl_config_destroy(config);
}

static void an_empty_text_is_refused_whatever_its_pointer(void **state) {
  (void)state;
  const rl_str texts[] = {{NULL, 0}, {"", 0}, {"x", 0}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    rl_config *config = empty_config();
    rl_error err = RL_ERROR_INIT;
    assert_failed(RL_E_CONFIG, rl_config_load_text(config, texts[i], texts[0], &err), &err);
    rl_config_destroy(config);
  }
}

static void conditions_made_in_code_hold(void **state) {
  (void)state;
  const rl_limit limit = limit_of("user", 1);
  const rl_attribute when[] = {{BYTES("plan"), BYTES("free")}, {BYTES("area"), BYTES("eu")}};
  rl_rule rule = rule_of("free", "/orders", &limit, 1);
  rule.when = when;
  rule.when_count = 2;
  rl_config *config = empty_config();
  assert_int_equal(RL_OK, rl_config_add_rule(config, &rule, NULL));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_request request = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(RL_SOURCE_NO_RULE, decision.source);
  request.attributes = when;
  request.attribute_count = 2;
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(RL_SOURCE_EXACT, decision.source);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

/* What is wrong with a rule that differs from a good one in one field. */
static void assert_rule_refused(const rl_rule *rule, rl_status expected, const char *path) {
  rl_config *config = empty_config();
  rl_error err = RL_ERROR_INIT;
  assert_failed(expected, rl_config_add_rule(config, rule, &err), &err);
  if (expected == RL_E_CONFIG) {
    assert_string_equal("<rule>", err.file);
    assert_int_equal(0, err.line);
    assert_true(contains(err.path, strlen(err.path), path));
  }
  rl_registry *registry = NULL;
  assert_int_equal(RL_E_CONFIG, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
}

static void faults_of_rules_made_in_code(void **state) {
  (void)state;
  const rl_limit good = limit_of("user", 5);
  rl_rule rule = rule_of("", "/a", &good, 1);
  assert_rule_refused(&rule, RL_E_CONFIG, "name");
  rule = rule_of("a\"b", "/a", &good, 1);
  assert_rule_refused(&rule, RL_E_CONFIG, "name");
  rule = rule_of("a", "a", &good, 1);
  assert_rule_refused(&rule, RL_E_CONFIG, "path");
  rule = rule_of("a", "/a", NULL, 0);
  assert_rule_refused(&rule, RL_E_CONFIG, "");
  rule = rule_of("a", "/a", &good, 1);
  rule.method = BYTES("post");
  assert_rule_refused(&rule, RL_E_CONFIG, "method");
  rl_limit bad = limit_of("user", 0);
  rule = rule_of("a", "/a", &bad, 1);
  assert_rule_refused(&rule, RL_E_CONFIG, "limit");
  bad = limit_of("nobody", 1);
  assert_rule_refused(&rule, RL_E_CONFIG, "limits[0].scope");
  bad = limit_of("user", 1);
  bad.window_ns = 0;
  assert_rule_refused(&rule, RL_E_CONFIG, "window");
  bad.window_ns = SECOND + 1;
  assert_rule_refused(&rule, RL_E_CONFIG, "limits[0].window");
  bad.window_ns = UINT64_MAX;
  assert_rule_refused(&rule, RL_E_CONFIG, "window");
  bad = limit_of("user", 1);
  bad.algorithm = RL_FIXED_WINDOW;
  bad.burst = 2;
  assert_rule_refused(&rule, RL_E_CONFIG, "burst");
}

static void values_that_no_rule_has(void **state) {
  (void)state;
  rl_limit limit = limit_of("user", 5);
  const rl_rule good = rule_of("a", "/a", &limit, 1);
#define REFUSED(field, value)                              \
  do {                                                     \
    rl_rule rule = good;                                   \
    rule.field = value;                                    \
    assert_rule_refused(&rule, RL_E_INVALID_ARGUMENT, ""); \
  } while (0)
  REFUSED(path_match, 3);
  REFUSED(on_store_error, 3);
  REFUSED(action, 3);
  REFUSED(local_tier, 3);
  REFUSED(region_global, 2);
  REFUSED(shadow, 2);
  REFUSED(is_default, 2);
  REFUSED(limits, NULL);
  REFUSED(limit_count, UINT64_MAX);
  REFUSED(when_count, 1);
  REFUSED(name.data, NULL);
  REFUSED(method.size, 5);
  REFUSED(path.size, UINT64_MAX);
#undef REFUSED
#define LIMIT_REFUSED(field, value)                        \
  do {                                                     \
    limit = limit_of("user", 5);                           \
    limit.field = value;                                   \
    assert_rule_refused(&good, RL_E_INVALID_ARGUMENT, ""); \
  } while (0)
  LIMIT_REFUSED(algorithm, 0);
  LIMIT_REFUSED(algorithm, 6);
  LIMIT_REFUSED(shadow, 2);
  LIMIT_REFUSED(reserved, 1);
  LIMIT_REFUSED(scope.data, NULL);
  LIMIT_REFUSED(name.size, 1);
#undef LIMIT_REFUSED
}

static void a_name_taken_is_a_fault(void **state) {
  (void)state;
  const rl_limit limit = limit_of("user", 5);
  const rl_rule rule = rule_of("orders", "/b", &limit, 1);
  rl_config *config = config_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_CONFIG, rl_config_add_rule(config, &rule, &err), &err);
  rl_config_destroy(config);
}

static int destroyed;
static void count_destroy(void *self) {
  (void)self;
  ++destroyed;
}

static uint64_t frozen(void *self) {
  (void)self;
  return START;
}

static void swallow(void *self, int32_t level, const char *bytes, uint64_t size) {
  (void)self;
  (void)level;
  (void)bytes;
  (void)size;
}

static rl_status deny_all(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  (void)self;
  (void)op;
  (void)cells;
  (void)count;
  return RL_E_STORE;
}

static rl_clock clock_of(void) {
  rl_clock clock = {sizeof clock, 0, NULL, frozen, count_destroy};
  return clock;
}

static rl_storage storage_of(void) {
  rl_storage storage = {sizeof storage, 0, NULL, deny_all, NULL, NULL, NULL, NULL, count_destroy};
  return storage;
}

static void callbacks_are_destroyed_exactly_once(void **state) {
  (void)state;
  const rl_clock clock = clock_of();
  const rl_storage storage = storage_of();
  const rl_log log = {sizeof log, 0, NULL, swallow, count_destroy};
  destroyed = 0;
  rl_config *config = config_of(ORDERS);
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_config_set_log(config, &log, NULL));
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(0, destroyed);
  assert_int_equal(RL_OK, rl_config_clear(config));
  assert_int_equal(0, destroyed);
  rl_config_destroy(config);
  assert_int_equal(3, destroyed);
}

static void a_second_clock_destroys_the_first(void **state) {
  (void)state;
  const rl_clock clock = clock_of();
  const rl_log log = {sizeof log, 0, NULL, swallow, count_destroy};
  const rl_storage storage = storage_of();
  destroyed = 0;
  rl_config *config = config_of(ORDERS);
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(1, destroyed);
  assert_int_equal(RL_OK, rl_config_set_log(config, &log, NULL));
  assert_int_equal(RL_OK, rl_config_set_log(config, &log, NULL));
  assert_int_equal(2, destroyed);
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(3, destroyed);
  assert_int_equal(RL_OK, rl_config_use_memory(config, 10, NULL));
  assert_int_equal(4, destroyed);
  rl_config_destroy(config);
  assert_int_equal(6, destroyed);
}

static void what_is_refused_stays_the_caller_s(void **state) {
  (void)state;
  rl_clock clock = clock_of();
  rl_storage storage = storage_of();
  rl_log log = {sizeof log, 0, NULL, NULL, count_destroy};
  destroyed = 0;
  rl_config *config = config_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  clock.flags = 1;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_clock(config, &clock, &err), &err);
  clock = clock_of();
  clock.now_ns = NULL;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_clock(config, &clock, &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_log(config, &log, &err), &err);
  storage.apply = NULL;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_storage(config, &storage, &err), &err);
  rl_config_destroy(config);
  assert_int_equal(0, destroyed);
}

static void callbacks_move_to_the_registry(void **state) {
  (void)state;
  const rl_clock clock = clock_of();
  const rl_storage storage = storage_of();
  rl_error err = RL_ERROR_INIT;
  destroyed = 0;
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  rl_registry *second = NULL;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  assert_failed(RL_E_STATE, rl_registry_create(config, &second, &err), &err);
  assert_null(second);
  assert_int_equal(RL_OK, rl_registry_reload(registry, config, NULL));
  rl_config_destroy(config);
  assert_int_equal(0, destroyed);
  rl_registry_destroy(registry);
  assert_int_equal(2, destroyed);
}

static void a_config_with_new_callbacks_makes_another_registry(void **state) {
  (void)state;
  const rl_clock clock = clock_of();
  destroyed = 0;
  rl_config *config = config_of(ORDERS);
  rl_registry *first = NULL;
  rl_registry *second = NULL;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &first, NULL));
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &second, NULL));
  rl_config_destroy(config);
  assert_int_equal(0, destroyed);
  rl_registry_destroy(first);
  rl_registry_destroy(second);
  assert_int_equal(2, destroyed);
}

static void callbacks_stay_when_creation_fails(void **state) {
  (void)state;
  const rl_clock clock = clock_of();
  destroyed = 0;
  rl_config *config = empty_config();
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_E_CONFIG, rl_registry_create(config, &registry, NULL));
  assert_int_equal(0, destroyed);
  assert_int_equal(RL_OK, rl_config_load_text(config, text(ORDERS), BYTES("a"), NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  assert_int_equal(START, ask(registry, "ann", 0).now_ns);
  rl_config_destroy(config);
  rl_registry_destroy(registry);
  assert_int_equal(1, destroyed);
}

static void secrets_have_a_length(void **state) {
  (void)state;
  static const char secret[1025] = {1};
  rl_config *config = config_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_secret(config, bytes_of(secret, 15), &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_secret(config, bytes_of(secret, 1025), &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_set_secret(config, bytes_of(NULL, 0), &err), &err);
  assert_int_equal(RL_OK, rl_config_set_secret(config, bytes_of(secret, 16), &err));
  assert_int_equal(RL_OK, rl_config_set_secret(config, bytes_of(secret, 1024), &err));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  assert_int_equal(1, ask(registry, "ann", START).allowed);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void max_keys_bounds_the_embedded_store(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = NULL;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_use_memory(config, UINT64_MAX, &err), &err);
  assert_int_equal(RL_OK, rl_config_use_memory(config, 100, &err));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, &err));
  for (int i = 0; i < 1000; ++i) {
    char user[32];
    snprintf(user, sizeof user, "user-%d", i);
    assert_int_equal(1, ask(registry, user, START).allowed);
  }
  const uint64_t keys = keys_of(registry);
  assert_true(keys > 0 && keys <= 100);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_faults_with_their_places),
      cmocka_unit_test(a_faulty_config_is_of_no_use_until_cleared),
      cmocka_unit_test(no_rules_limit_nothing_and_are_refused),
      cmocka_unit_test(bytes_that_are_not_utf8_are_a_fault),
      cmocka_unit_test(a_file_and_a_folder),
      cmocka_unit_test(a_file_that_is_not_there_leaves_the_config_usable),
      cmocka_unit_test(rules_made_in_code_decide),
      cmocka_unit_test(a_rule_made_in_code_has_its_tier_and_region),
      cmocka_unit_test(overrides_made_in_code_apply),
      cmocka_unit_test(a_rule_made_in_code_that_is_hidden_is_refused),
      cmocka_unit_test(an_empty_text_is_refused_whatever_its_pointer),
      cmocka_unit_test(conditions_made_in_code_hold),
      cmocka_unit_test(faults_of_rules_made_in_code),
      cmocka_unit_test(values_that_no_rule_has),
      cmocka_unit_test(a_name_taken_is_a_fault),
      cmocka_unit_test(callbacks_are_destroyed_exactly_once),
      cmocka_unit_test(a_second_clock_destroys_the_first),
      cmocka_unit_test(what_is_refused_stays_the_caller_s),
      cmocka_unit_test(callbacks_move_to_the_registry),
      cmocka_unit_test(a_config_with_new_callbacks_makes_another_registry),
      cmocka_unit_test(callbacks_stay_when_creation_fails),
      cmocka_unit_test(secrets_have_a_length),
      cmocka_unit_test(max_keys_bounds_the_embedded_store),
  };
  return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
