/* Every function with arguments that no caller should pass: a status and a message, never a crash, never a silent
 * allow, nothing changed. */
#include "map_store.h"

#define OUTPUT         \
  char buffer[4096];   \
  uint64_t needed = 1; \
  (void)buffer;        \
  (void)needed

static uint64_t zeros[64];
static rl_config *good_config;
static rl_registry *good_registry;
static rl_completion_queue *good_queue;

/* Handles that are none: NULL, a pointer into nothing, one that is not aligned, a handle of another kind. */
static void *const kNull = NULL;
static void *bad_handles[4];
#define HANDLES 4

static int set_up(void **state) {
  (void)state;
  good_config = config_of(ORDERS);
  good_registry = registry_of(ORDERS);
  if (rl_completion_queue_create(0, NULL, NULL, &good_queue, NULL) != RL_OK) return -1;
  bad_handles[0] = kNull;
  bad_handles[1] = zeros;
  bad_handles[2] = (char *)zeros + 3;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  /* All of it has changed nothing. */
  rl_decision decision = ask(good_registry, "ann", START);
  uint64_t tag;
  uint32_t answers;
  const int drained = rl_completion_queue_drain(good_queue, &tag, &decision, 1, 0, &answers, NULL) == RL_OK;
  const int unchanged =
      decision.remaining == 4 && decision.generation == 1 && keys_of(good_registry) == 1 && drained && answers == 0;
  rl_completion_queue_destroy(good_queue);
  rl_config_destroy(good_config);
  rl_registry_destroy(good_registry);
  return unchanged ? 0 : -1;
}

/* The status that a bad handle deserves. */
static rl_status deserved(const void *handle) { return handle == NULL ? RL_E_INVALID_ARGUMENT : RL_E_STATE; }

/* `call` with `handle` being each of the bad ones; it uses `err`. */
#define WITH_BAD_HANDLES(type, other, call)        \
  do {                                             \
    bad_handles[3] = other;                        \
    for (int h = 0; h < HANDLES; ++h) {            \
      type *handle = bad_handles[h];               \
      rl_error err = RL_ERROR_INIT;                \
      assert_failed(deserved(handle), call, &err); \
    }                                              \
  } while (0)
#define CONFIG(call) WITH_BAD_HANDLES(rl_config, good_registry, call)
#define REGISTRY(call) WITH_BAD_HANDLES(rl_registry, good_config, call)

#define REFUSED(expected, call)          \
  do {                                   \
    rl_error err = RL_ERROR_INIT;        \
    assert_failed(expected, call, &err); \
  } while (0)
#define INVALID(call) REFUSED(RL_E_INVALID_ARGUMENT, call)

static const rl_str kNoData = {NULL, 3};
static const rl_str kNegative = {"abc", UINT64_MAX - 2};

static void handles_of_configs(void **state) {
  (void)state;
  const rl_clock clock = {sizeof clock, 0, NULL, NULL, NULL};
  const rl_log log = {sizeof log, 0, NULL, NULL, NULL};
  const rl_storage storage = {sizeof storage, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  const rl_rule rule = RL_RULE_INIT;
  rl_registry *out = NULL;
  OUTPUT;
  CONFIG(rl_config_load_text(handle, BYTES("rules: []"), BYTES("x"), &err));
  CONFIG(rl_config_load_file(handle, BYTES("x"), &err));
  CONFIG(rl_config_add_rule(handle, &rule, &err));
  CONFIG(rl_config_set_clock(handle, &clock, &err));
  CONFIG(rl_config_set_log(handle, &log, &err));
  CONFIG(rl_config_use_memory(handle, 0, &err));
  CONFIG(rl_config_set_storage(handle, &storage, &err));
  CONFIG(rl_config_use_redis(handle, BYTES("redis://"), &err));
  CONFIG(rl_config_set_secret(handle, BYTES("0123456789abcdef"), &err));
  CONFIG(rl_config_set_region(handle, BYTES("eu"), &err));
  CONFIG(rl_config_set_readable_keys(handle, 1, &err));
  CONFIG(rl_registry_create(handle, &out, &err));
  assert_null(out);
  CONFIG(rl_registry_reload(good_registry, handle, &err));
  CONFIG(rl_registry_diff(good_registry, handle, 0, buffer, sizeof buffer, &needed, &err));
  for (int h = 0; h < HANDLES; ++h) {
    rl_error err = RL_ERROR_INIT;
    assert_int_equal(deserved(bad_handles[h]), rl_config_clear(bad_handles[h]));
    assert_int_equal(deserved(bad_handles[h]), rl_config_fault(bad_handles[h], 0, &err));
    rl_config_destroy(bad_handles[h]);
  }
}

static void never_called(void *user, const rl_decision *decision) {
  (void)decision;
  ++*(int *)user;
}

static void handles_of_registries(void **state) {
  (void)state;
  const rl_request request = request_of("ann", START);
  rl_decision spent = RL_DECISION_INIT;
  rl_decision denied = RL_DECISION_INIT;
  rl_decision out = RL_DECISION_INIT;
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  rl_rule_metrics rule_metrics = {sizeof rule_metrics, 0, 0, 0, 0, 0, 0};
  const rl_http http = RL_HTTP_INIT;
  uint64_t number = 0;
  uint32_t id = 0;
  int calls = 0;
  OUTPUT;
  spent.allowed = 1;
  spent.cost = 1;
  spent.limit_count = 1;
  denied.reason = RL_REASON_LIMITED;
  REGISTRY(rl_registry_reload(handle, good_config, &err));
  REGISTRY(rl_registry_reload_file(handle, BYTES("x"), &err));
  REGISTRY(rl_registry_watch(handle, BYTES("x"), 0, &err));
  REGISTRY(rl_registry_watch_redis(handle, BYTES("redis://x"), BYTES("k"), 0, &err));
  REGISTRY(rl_registry_key_count(handle, &number, &err));
  REGISTRY(rl_registry_evict_idle(handle, 0, &number, &err));
  REGISTRY(rl_registry_diff(handle, good_config, 0, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_rule_id(handle, BYTES("orders"), &id, &err));
  REGISTRY(rl_allow(handle, &request, &out, &err));
  REGISTRY(rl_allow_many(handle, &request, 1, &out, &err));
  REGISTRY(rl_allow_async(handle, &request, never_called, &calls, &err));
  REGISTRY(rl_allow_queued(handle, &request, good_queue, 1, &err));
  REGISTRY(rl_peek(handle, &request, &out, &err));
  REGISTRY(rl_settle(handle, &request, &spent, 1, &out, &err));
  REGISTRY(rl_reset(handle, &request, &err));
  REGISTRY(rl_explain(handle, &request, 0, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_decision_headers(handle, &spent, 0, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_decision_problem(handle, &denied, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_metrics_get(handle, &metrics, &err));
  REGISTRY(rl_metrics_rule(handle, 1, &rule_metrics, &err));
  REGISTRY(rl_metrics_prometheus(handle, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_client_ip(handle, BYTES("192.0.2.1"), NULL, 0, NULL, 0, buffer, sizeof buffer, &needed, &err));
  REGISTRY(rl_allow_http(handle, &request, &http, &out, buffer, sizeof buffer, &needed, &err));
  assert_int_equal(0, calls);
  for (int h = 0; h < HANDLES; ++h) {
    rl_registry *handle = bad_handles[h];
    out.allowed = 1;
    assert_int_equal(deserved(handle), rl_allow_rule(handle, 1, "ann", 3, 1, START, &out));
    assert_no_answer(&out, deserved(handle));
    assert_int_equal(0, rl_registry_generation(handle));
    assert_int_equal(0, rl_rule_count(handle));
    assert_int_equal(0, rl_rule_at(handle, 0));
    assert_int_equal(0, rl_rule_name(handle, 1).size);
    assert_int_equal(0, rl_limit_name(handle, 1).size);
    rl_registry_destroy(handle);
  }
}

static void handles_of_operations(void **state) {
  (void)state;
  rl_cell cell;
  memset(&cell, 0, sizeof cell);
  bad_handles[3] = good_config;
  for (int h = 0; h < HANDLES; ++h) {
    assert_int_equal(deserved(bad_handles[h]), rl_step(bad_handles[h], &cell, 1));
    rl_completion_finish(bad_handles[h], RL_OK);
  }
  assert_int_equal(0, cell.write);
}

static void handles_of_queues(void **state) {
  (void)state;
  const rl_request request = request_of("ann", START);
  rl_decision out = RL_DECISION_INIT;
  uint64_t tag = 7;
  uint32_t count = 7;
#define QUEUE(call) WITH_BAD_HANDLES(rl_completion_queue, good_config, call)
  QUEUE(rl_allow_queued(good_registry, &request, handle, 1, &err));
  QUEUE(rl_completion_queue_drain(handle, &tag, &out, 1, RL_WAIT_FOREVER, &count, &err));
  assert_int_equal(0, count);
  assert_int_equal(7, tag);
  for (int h = 0; h < HANDLES; ++h) {
    assert_int_equal(deserved(bad_handles[h]), rl_completion_queue_shutdown(bad_handles[h]));
    rl_completion_queue_destroy(bad_handles[h]);
  }
  INVALID(rl_completion_queue_create(0, NULL, NULL, NULL, &err));
  INVALID(rl_completion_queue_drain(good_queue, NULL, &out, 1, 0, &count, &err));
  INVALID(rl_completion_queue_drain(good_queue, &tag, NULL, 1, 0, &count, &err));
  INVALID(rl_completion_queue_drain(good_queue, &tag, &out, 0, 0, &count, &err));
  INVALID(rl_completion_queue_drain(good_queue, &tag, &out, 1, 0, NULL, &err));
  out.struct_size = 3;
  REFUSED(RL_E_ABI, rl_completion_queue_drain(good_queue, &tag, &out, 1, 0, &count, &err));
}

static void missing_pointers(void **state) {
  (void)state;
  const rl_request request = request_of("ann", START);
  rl_decision spent = RL_DECISION_INIT;
  rl_decision out = RL_DECISION_INIT;
  rl_registry *registry = NULL;
  const rl_http http = RL_HTTP_INIT;
  OUTPUT;
  spent.allowed = 1;
  spent.cost = 1;
  spent.limit_count = 1;
  INVALID(rl_config_create(NULL, &err));
  INVALID(rl_config_add_rule(good_config, NULL, &err));
  INVALID(rl_config_set_clock(good_config, NULL, &err));
  INVALID(rl_config_set_log(good_config, NULL, &err));
  INVALID(rl_config_set_storage(good_config, NULL, &err));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_config_fault(good_config, 0, NULL));
  INVALID(rl_registry_create(good_config, NULL, &err));
  INVALID(rl_registry_create(NULL, &registry, &err));
  INVALID(rl_registry_key_count(good_registry, NULL, &err));
  INVALID(rl_registry_evict_idle(good_registry, 0, NULL, &err));
  INVALID(rl_registry_diff(good_registry, good_config, 0, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_registry_diff(good_registry, good_config, 0, NULL, 1, &needed, &err));
  INVALID(rl_rule_id(good_registry, BYTES("orders"), NULL, &err));
  INVALID(rl_allow(good_registry, NULL, &out, &err));
  INVALID(rl_allow(good_registry, &request, NULL, &err));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, 1, START, NULL));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, NULL, 3, 1, START, &out));
  INVALID(rl_allow_many(good_registry, NULL, 1, &out, &err));
  INVALID(rl_allow_many(good_registry, &request, 1, NULL, &err));
  assert_int_equal(RL_OK, rl_allow_many(good_registry, NULL, 0, NULL, NULL));
  INVALID(rl_allow_async(good_registry, NULL, never_called, &out, &err));
  INVALID(rl_allow_async(good_registry, &request, NULL, NULL, &err));
  INVALID(rl_allow_queued(good_registry, NULL, good_queue, 1, &err));
  INVALID(rl_peek(good_registry, NULL, &out, &err));
  INVALID(rl_peek(good_registry, &request, NULL, &err));
  INVALID(rl_settle(good_registry, NULL, &spent, 1, &out, &err));
  INVALID(rl_settle(good_registry, &request, NULL, 1, &out, &err));
  INVALID(rl_settle(good_registry, &request, &spent, 1, NULL, &err));
  INVALID(rl_reset(good_registry, NULL, &err));
  INVALID(rl_explain(good_registry, NULL, 0, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_explain(good_registry, &request, 0, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_explain(good_registry, &request, 0, NULL, 1, &needed, &err));
  INVALID(rl_decision_headers(good_registry, NULL, 0, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_decision_headers(good_registry, &spent, 0, NULL, 1, &needed, &err));
  INVALID(rl_decision_problem(good_registry, NULL, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_decision_problem(good_registry, &spent, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_metrics_get(good_registry, NULL, &err));
  INVALID(rl_metrics_rule(good_registry, 1, NULL, &err));
  INVALID(rl_metrics_prometheus(good_registry, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_client_ip(good_registry, BYTES("192.0.2.1"), NULL, 0, NULL, 0, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_allow_http(good_registry, &request, NULL, &out, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_allow_http(good_registry, NULL, &http, &out, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_allow_http(good_registry, &request, &http, NULL, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_allow_http(good_registry, &request, &http, &out, buffer, sizeof buffer, NULL, &err));
  INVALID(rl_allow_http(good_registry, &request, &http, &out, NULL, 1, &needed, &err));
  rl_config_destroy(NULL);
  rl_registry_destroy(NULL);
  rl_completion_finish(NULL, RL_OK);
}

static void strings_without_data_and_with_negative_sizes(void **state) {
  (void)state;
  const rl_str bad[] = {kNoData, kNegative, {NULL, UINT64_MAX}, {"abc", (UINT64_C(1) << 40) + 1}};
  OUTPUT;
  for (int i = 0; i < 4; ++i) {
    rl_decision out = RL_DECISION_INIT;
    uint32_t id;
    INVALID(rl_config_load_text(good_config, bad[i], BYTES("x"), &err));
    INVALID(rl_config_load_text(good_config, BYTES("rules: []"), bad[i], &err));
    INVALID(rl_config_load_file(good_config, bad[i], &err));
    INVALID(rl_config_use_redis(good_config, bad[i], &err));
    INVALID(rl_config_set_secret(good_config, bad[i], &err));
    INVALID(rl_config_set_region(good_config, bad[i], &err));
    INVALID(rl_registry_reload_file(good_registry, bad[i], &err));
    INVALID(rl_registry_watch(good_registry, bad[i], 0, &err));
    INVALID(rl_registry_watch_redis(good_registry, bad[i], BYTES("k"), 0, &err));
    INVALID(rl_registry_watch_redis(good_registry, BYTES("redis://x"), bad[i], 0, &err));
    INVALID(rl_rule_id(good_registry, bad[i], &id, &err));
    INVALID(rl_client_ip(good_registry, bad[i], NULL, 0, NULL, 0, buffer, sizeof buffer, &needed, &err));
    INVALID(rl_client_ip(good_registry, BYTES("::1"), &bad[i], 1, NULL, 0, buffer, sizeof buffer, &needed, &err));
    INVALID(rl_client_ip(good_registry, BYTES("::1"), NULL, 0, &bad[i], 1, buffer, sizeof buffer, &needed, &err));
    rl_http http = RL_HTTP_INIT;
    const rl_request request = request_of("ann", START);
    http.peer = bad[i];
    INVALID(rl_allow_http(good_registry, &request, &http, &out, buffer, sizeof buffer, &needed, &err));
    assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
    http.peer = BYTES("::1");
    http.x_forwarded_for = &bad[i];
    http.x_forwarded_for_count = 1;
    INVALID(rl_allow_http(good_registry, &request, &http, &out, buffer, sizeof buffer, &needed, &err));
    assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, bad[i].data, bad[i].size, 1, START, &out));
    assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
  }
}

/* One request that is wrong in one field, by every call that takes a request. */
static void assert_request_refused(const rl_request *request) {
  rl_decision spent = RL_DECISION_INIT;
  rl_decision out = RL_DECISION_INIT;
  int calls = 0;
  OUTPUT;
  spent.allowed = 1;
  spent.cost = 1;
  spent.limit_count = 1;
  out.allowed = 1;
  INVALID(rl_allow(good_registry, request, &out, &err));
  assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
  out.allowed = 1;
  INVALID(rl_peek(good_registry, request, &out, &err));
  assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
  out.allowed = 1;
  assert_int_equal(RL_OK, rl_allow_many(good_registry, request, 1, &out, NULL));
  assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
  out.allowed = 1;
  INVALID(rl_settle(good_registry, request, &spent, 1, &out, &err));
  assert_no_answer(&out, RL_E_INVALID_ARGUMENT);
  INVALID(rl_allow_async(good_registry, request, never_called, &calls, &err));
  INVALID(rl_allow_queued(good_registry, request, good_queue, 1, &err));
  INVALID(rl_reset(good_registry, request, &err));
  INVALID(rl_explain(good_registry, request, 0, buffer, sizeof buffer, &needed, &err));
  assert_int_equal(0, needed);
  assert_int_equal(0, calls);
}

static void requests_that_are_wrong_in_one_field(void **state) {
  (void)state;
  const rl_request good = request_of("ann", START);
  const rl_attribute no_name = {kNoData, BYTES("x")};
  const rl_attribute no_value = {BYTES("x"), kNegative};
  static const rl_attribute many[65];
#define WRONG(field, value)       \
  do {                            \
    rl_request bad = good;        \
    bad.field = value;            \
    assert_request_refused(&bad); \
  } while (0)
  WRONG(flags, 1);
  WRONG(flags, UINT32_MAX);
  WRONG(now_ns, RL_NOW_MAX_NS + 1);
  WRONG(now_ns, UINT64_MAX);
  WRONG(cost, 0);
  WRONG(cost, -1);
  WRONG(cost, INT64_MIN + 1);
  WRONG(method, kNoData);
  WRONG(path, kNoData);
  WRONG(user, kNoData);
  WRONG(api_key, kNoData);
  WRONG(ip, kNoData);
  WRONG(key, kNoData);
  WRONG(idempotency_id, kNoData);
  WRONG(method, kNegative);
  WRONG(path, kNegative);
  WRONG(user, kNegative);
  WRONG(api_key, kNegative);
  WRONG(ip, kNegative);
  WRONG(idempotency_id, kNegative);
  WRONG(key, BYTES("a key without a rule"));
  WRONG(attribute_count, 1);
#undef WRONG
  rl_request bad = good;
  bad.attributes = &no_name;
  bad.attribute_count = 1;
  assert_request_refused(&bad);
  bad.attributes = &no_value;
  assert_request_refused(&bad);
  bad.attributes = many;
  bad.attribute_count = 65;
  assert_request_refused(&bad);
}

static void odd_requests_that_are_fine(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  static char long_bytes[1 << 20];
  memset(long_bytes, 0xFE, sizeof long_bytes);
  rl_request request = request_of("ann", START);
  rl_decision out = RL_DECISION_INIT;
  request.user = bytes_of(long_bytes, sizeof long_bytes);
  assert_int_equal(RL_OK, rl_allow(registry, &request, &out, NULL));
  assert_int_equal(4, out.remaining);
  long_bytes[sizeof long_bytes - 1] = 0;
  assert_int_equal(RL_OK, rl_allow(registry, &request, &out, NULL));
  assert_int_equal(4, out.remaining);
  request.path = bytes_of(long_bytes, sizeof long_bytes);
  request.method = bytes_of(long_bytes, sizeof long_bytes);
  request.ip = bytes_of(long_bytes, sizeof long_bytes);
  assert_int_equal(RL_OK, rl_allow(registry, &request, &out, NULL));
  assert_int_equal(RL_SOURCE_NO_RULE, out.source);
  request.path = BYTES("/orders/\xff\x00\xc3\x28%zz");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &out, NULL));
  assert_int_equal(RL_SOURCE_EXACT, out.source);
  const rl_request nothing = RL_REQUEST_INIT;
  assert_int_equal(RL_OK, rl_allow(registry, &nothing, &out, NULL));
  assert_int_equal(RL_SOURCE_NO_RULE, out.source);
  const rl_attribute twice[] = {{BYTES(""), BYTES("")}, {BYTES(""), BYTES("")}};
  request = request_of("bob", START);
  request.attributes = twice;
  request.attribute_count = 2;
  assert_int_equal(RL_OK, rl_allow(registry, &request, &out, NULL));
  assert_int_equal(4, out.remaining);
  rl_registry_destroy(registry);
}

static void numbers_out_of_range(void **state) {
  (void)state;
  rl_decision out = RL_DECISION_INIT;
  const rl_request request = request_of("ann", START);
  uint64_t number;
  OUTPUT;
  INVALID(rl_config_use_memory(good_config, UINT64_MAX, &err));
  INVALID(rl_config_set_readable_keys(good_config, 2, &err));
  INVALID(rl_config_set_secret(good_config, BYTES("short"), &err));
  INVALID(rl_registry_evict_idle(good_registry, UINT64_MAX, &number, &err));
  INVALID(rl_registry_watch(good_registry, BYTES("x"), 9, &err));
  INVALID(rl_registry_diff(good_registry, good_config, 2, buffer, sizeof buffer, &needed, &err));
  INVALID(rl_explain(good_registry, &request, 2, buffer, sizeof buffer, &needed, &err));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, 0, START, &out));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, -5, START, &out));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, 1, UINT64_MAX, &out));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, 1, RL_NOW_MAX_NS + 1, &out));
  struct {
    rl_decision now;
    uint64_t tail;
  } later;
  later.now.struct_size = sizeof later;
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(good_registry, 1, "ann", 3, 1, RL_NOW_MAX_NS + 1, &later.now));
  assert_int_equal(RL_E_INVALID_ARGUMENT, later.now.status);
  assert_int_equal(RL_E_NOT_FOUND, rl_allow_rule(good_registry, 0, "ann", 3, 1, START, &out));
  assert_no_answer(&out, RL_E_NOT_FOUND);
  assert_int_equal(RL_E_NOT_FOUND, rl_allow_rule(good_registry, UINT32_MAX, "ann", 3, 1, START, &out));
  assert_int_equal(0, rl_rule_name(good_registry, UINT32_MAX).size);
  assert_int_equal(0, rl_limit_name(good_registry, UINT32_MAX).size);
}

/* Each of these looks at a handle after its destruction, which is detected as well as it can be; a sanitizer would
 * rightly object. */
#if !defined(RATEL_SANITIZED)
static void handles_that_were_destroyed(void **state) {
  (void)state;
  rl_config *volatile config = config_of(ORDERS);
  rl_registry *volatile registry = registry_of(ORDERS);
  rl_config_destroy(config);
  rl_registry_destroy(registry);
  const rl_request request = request_of("ann", START);
  rl_decision out = RL_DECISION_INIT;
  REFUSED(RL_E_STATE, rl_config_load_text(config, BYTES("rules: []"), BYTES("x"), &err));
  REFUSED(RL_E_STATE, rl_allow(registry, &request, &out, &err));
  assert_no_answer(&out, RL_E_STATE);
  rl_config_destroy(config);
  rl_registry_destroy(registry);
}
#endif

static void names_of_no_struct_and_no_status(void **state) {
  (void)state;
  assert_int_equal(0, rl_struct_size(NULL));
  assert_string_equal("RL_E_UNKNOWN", rl_status_name(12345));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(handles_of_configs),
    cmocka_unit_test(handles_of_registries),
    cmocka_unit_test(handles_of_operations),
    cmocka_unit_test(handles_of_queues),
    cmocka_unit_test(missing_pointers),
    cmocka_unit_test(strings_without_data_and_with_negative_sizes),
    cmocka_unit_test(requests_that_are_wrong_in_one_field),
    cmocka_unit_test(odd_requests_that_are_fine),
    cmocka_unit_test(numbers_out_of_range),
#if !defined(RATEL_SANITIZED)
    cmocka_unit_test(handles_that_were_destroyed),
#endif
    cmocka_unit_test(names_of_no_struct_and_no_status),
  };
  return cmocka_run_group_tests_name("hostile", tests, set_up, tear_down);
}
