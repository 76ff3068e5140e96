/* Structs that grow: each with a size of 0, one that is too small, the exact one, and larger ones with and without
 * something in the part that this library does not know. */
#include "support.h"

#define TAIL 24

/* Room for a struct of a later version: the struct, its unknown tail, and a guard that nobody may touch. */
#define LATER(type)                               \
  union {                                         \
    type now;                                     \
    unsigned char bytes[sizeof(type) + TAIL + 8]; \
  }

static const uint32_t kBadInputSizes[] = {0, 1, 4, 8, 12, 31, 4104, 65536, UINT32_MAX};
#define BAD_SIZES (sizeof kBadInputSizes / sizeof kBadInputSizes[0])

typedef rl_status (*call)(void *context, void *structure, rl_error *err);

/* An input struct of `size` bytes, by the call that takes it. `structure` has TAIL bytes of room behind it. */
static void check_input(call take, void *context, void *structure, uint32_t size) {
  unsigned char *bytes = structure;
  uint32_t *struct_size = structure;
  for (size_t i = 0; i < BAD_SIZES; ++i) {
    rl_error err = RL_ERROR_INIT;
    *struct_size = kBadInputSizes[i];
    assert_failed(RL_E_ABI, take(context, structure, &err), &err);
  }
  const uint32_t wrong[] = {size - 8, size - 1, size + 1, size + 4};
  for (size_t i = 0; i < 4; ++i) {
    rl_error err = RL_ERROR_INIT;
    *struct_size = wrong[i];
    assert_failed(RL_E_ABI, take(context, structure, &err), &err);
  }
  rl_error err = RL_ERROR_INIT;
  *struct_size = size;
  assert_int_equal(RL_OK, take(context, structure, &err));
  *struct_size = size + TAIL;
  memset(bytes + size, 0, TAIL);
  assert_int_equal(RL_OK, take(context, structure, &err));
  for (uint32_t i = 0; i < TAIL; ++i) {
    memset(bytes + size, 0, TAIL);
    bytes[size + i] = 1;
    assert_failed(RL_E_ABI, take(context, structure, &err), &err);
  }
  *struct_size = size;
}

/* An output struct likewise: a tail that is unknown is zeroed and nothing behind it is touched. */
static void check_output(call give, void *context, void *structure, uint32_t size) {
  unsigned char *bytes = structure;
  uint32_t *struct_size = structure;
  rl_error err = RL_ERROR_INIT;
  for (size_t i = 0; i < BAD_SIZES; ++i) {
    *struct_size = kBadInputSizes[i];
    memset(bytes + 4, 0xAA, size - 4);
    assert_failed(RL_E_ABI, give(context, structure, &err), &err);
    for (uint32_t at = 4; at < size; ++at) assert_int_equal(0xAA, bytes[at]);
  }
  memset(bytes, 0xAA, size + TAIL);
  *struct_size = size;
  assert_int_equal(RL_OK, give(context, structure, &err));
  assert_int_equal(size, *struct_size);
  for (uint32_t at = size; at < size + TAIL; ++at) assert_int_equal(0xAA, bytes[at]);
  memset(bytes, 0xAA, size + TAIL + 8);
  *struct_size = size + TAIL;
  assert_int_equal(RL_OK, give(context, structure, &err));
  assert_int_equal(size + TAIL, *struct_size);
  for (uint32_t at = size; at < size + TAIL; ++at) assert_int_equal(0, bytes[at]);
  for (uint32_t at = size + TAIL; at < size + TAIL + 8; ++at) assert_int_equal(0xAA, bytes[at]);
}

static rl_status take_request(void *context, void *structure, rl_error *err) {
  rl_decision decision = RL_DECISION_INIT;
  const rl_status status = rl_peek(context, structure, &decision, err);
  if (status != RL_OK) assert_no_answer(&decision, status);
  return status;
}

static void request(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  LATER(rl_request) in;
  in.now = request_of("ann", START);
  check_input(take_request, registry, &in, sizeof(rl_request));
  rl_registry_destroy(registry);
}

static rl_status take_http(void *context, void *structure, rl_error *err) {
  const rl_request in = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  char buffer[512];
  uint64_t needed;
  const rl_status status = rl_allow_http(context, &in, structure, &decision, buffer, sizeof buffer, &needed, err);
  if (status != RL_OK) assert_no_answer(&decision, status);
  return status;
}

static void http(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  LATER(rl_http) in;
  in.now = (rl_http)RL_HTTP_INIT;
  in.now.peer = BYTES("192.0.2.1");
  check_input(take_http, registry, &in, sizeof(rl_http));
  rl_registry_destroy(registry);
}

static rl_status take_decision(void *context, void *structure, rl_error *err) {
  char buffer[512];
  uint64_t needed;
  return rl_decision_headers(context, structure, 0, buffer, sizeof buffer, &needed, err);
}

static rl_status give_decision(void *context, void *structure, rl_error *err) {
  const rl_request in = request_of("ann", START);
  return rl_peek(context, &in, structure, err);
}

static void decision(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  LATER(rl_decision) in;
  in.now = ask(registry, "ann", START);
  check_input(take_decision, registry, &in, sizeof(rl_decision));
  LATER(rl_decision) out;
  check_output(give_decision, registry, &out, sizeof(rl_decision));
  assert_int_equal(4, out.now.remaining);
  rl_registry_destroy(registry);
}

static rl_status give_error(void *context, void *structure, rl_error *err) {
  (void)context;
  /* The struct is the error itself, so what went wrong with it can only be told by the status. */
  const rl_status status = rl_config_create(NULL, structure);
  err->status = status;
  strcpy(err->message, "see the status");
  return status == RL_E_INVALID_ARGUMENT ? RL_OK : status;
}

static void error(void **state) {
  (void)state;
  LATER(rl_error) out;
  check_output(give_error, NULL, &out, sizeof(rl_error));
  assert_int_equal(RL_E_INVALID_ARGUMENT, out.now.status);
  assert_true(strlen(out.now.message) > 0);
}

static void error_wherever_c_may_put_it(void **state) {
  (void)state;
  struct {
    uint64_t first;
    int32_t second;
    rl_error err;
  } owner = {0, 0, RL_ERROR_INIT};
  assert_int_equal(4, (uintptr_t)&owner.err % 8);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_config_create(NULL, &owner.err), &owner.err);
}

static void error_of_a_bad_size_stops_the_call(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_error err = RL_ERROR_INIT;
  err.struct_size = 0;
  const rl_request in = request_of("ann", START);
  rl_decision out = RL_DECISION_INIT;
  out.allowed = 1;
  assert_int_equal(RL_E_ABI, rl_allow(registry, &in, &out, &err));
  assert_no_answer(&out, RL_E_ABI);
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
}

static rl_status give_metrics(void *context, void *structure, rl_error *err) {
  return rl_metrics_get(context, structure, err);
}

static void metrics(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  LATER(rl_metrics) out;
  check_output(give_metrics, registry, &out, sizeof(rl_metrics));
  assert_int_equal(1, out.now.generation);
  rl_registry_destroy(registry);
}

static rl_status give_rule_metrics(void *context, void *structure, rl_error *err) {
  return rl_metrics_rule(context, rl_rule_at(context, 0), structure, err);
}

static void rule_metrics(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  LATER(rl_rule_metrics) out;
  check_output(give_rule_metrics, registry, &out, sizeof(rl_rule_metrics));
  assert_int_equal(rl_rule_at(registry, 0), out.now.rule);
  rl_registry_destroy(registry);
}

static uint64_t frozen(void *self) {
  (void)self;
  return START;
}

static rl_status take_clock(void *context, void *structure, rl_error *err) {
  return rl_config_set_clock(context, structure, err);
}

static void clock_table(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  LATER(rl_clock) in;
  memset(&in, 0, sizeof in);
  in.now.now_ns = frozen;
  check_input(take_clock, config, &in, sizeof(rl_clock));
  rl_config_destroy(config);
}

static void swallow(void *self, int32_t level, const char *bytes, uint64_t size) {
  (void)self;
  (void)level;
  (void)bytes;
  (void)size;
}

static rl_status take_log(void *context, void *structure, rl_error *err) {
  return rl_config_set_log(context, structure, err);
}

static void log_table(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  LATER(rl_log) in;
  memset(&in, 0, sizeof in);
  in.now.write = swallow;
  check_input(take_log, config, &in, sizeof(rl_log));
  rl_config_destroy(config);
}

static rl_status apply_nothing(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  (void)self;
  return rl_step(op, cells, count);
}

static rl_status take_storage(void *context, void *structure, rl_error *err) {
  return rl_config_set_storage(context, structure, err);
}

static void storage_table(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  LATER(rl_storage) in;
  memset(&in, 0, sizeof in);
  in.now.apply = apply_nothing;
  check_input(take_storage, config, &in, sizeof(rl_storage));
  rl_config_destroy(config);
}

static rl_limit five_a_second(void) {
  rl_limit limit = RL_LIMIT_INIT;
  limit.algorithm = RL_TOKEN_BUCKET;
  limit.scope = BYTES("user");
  limit.limit = 5;
  limit.window_ns = SECOND;
  return limit;
}

static rl_status take_rule(void *context, void *structure, rl_error *err) {
  rl_config_clear(context);
  return rl_config_add_rule(context, structure, err);
}

static void rule(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  const rl_limit limit = five_a_second();
  LATER(rl_rule) in;
  memset(&in, 0, sizeof in);
  in.now.name = BYTES("made");
  in.now.path = BYTES("/made");
  in.now.limits = &limit;
  in.now.limit_count = 1;
  check_input(take_rule, config, &in, sizeof(rl_rule));
  rl_config_destroy(config);
}

static rl_status take_limit(void *context, void *structure, rl_error *err) {
  rl_rule made = RL_RULE_INIT;
  made.name = BYTES("made");
  made.path = BYTES("/made");
  made.limits = structure;
  made.limit_count = 1;
  return take_rule(context, &made, err);
}

static void limit(void **state) {
  (void)state;
  rl_config *config = config_of(ORDERS);
  LATER(rl_limit) in;
  memset(&in, 0, sizeof in);
  in.now = five_a_second();
  check_input(take_limit, config, &in, sizeof(rl_limit));
  rl_config_destroy(config);
}

static void limits_of_a_later_version_lie_further_apart(void **state) {
  (void)state;
  struct later {
    rl_limit now;
    uint64_t tail[3];
  } limits[2];
  memset(limits, 0, sizeof limits);
  limits[0].now = five_a_second();
  limits[1].now = five_a_second();
  limits[1].now.scope = BYTES("global");
  limits[0].now.struct_size = limits[1].now.struct_size = sizeof limits[0];
  rl_rule made = RL_RULE_INIT;
  made.name = BYTES("made");
  made.limits = &limits[0].now;
  made.limit_count = 2;
  rl_config *config = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_create(&config, &err));
  assert_int_equal(RL_OK, rl_config_add_rule(config, &made, &err));
  limits[1].now.struct_size = sizeof(rl_limit);
  made.name = BYTES("mixed");
  assert_failed(RL_E_ABI, rl_config_add_rule(config, &made, &err), &err);
  rl_config_destroy(config);
}

static void misaligned_structs_are_refused(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_config *config = config_of(ORDERS);
  static _Alignas(8) unsigned char place[4096];
  void *askew = place + 1;
  const rl_request in = request_of("ann", START);
  rl_decision out = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  memcpy(askew, &in, sizeof in);
  assert_failed(RL_E_ABI, rl_allow(registry, askew, &out, &err), &err);
  assert_no_answer(&out, RL_E_ABI);
  assert_failed(RL_E_ABI, rl_allow_many(registry, askew, 1, &out, &err), &err);
  memcpy(askew, &out, sizeof out);
  assert_failed(RL_E_ABI, rl_allow(registry, &in, askew, &err), &err);
  assert_failed(RL_E_ABI, rl_allow_many(registry, &in, 1, askew, &err), &err);
  const rl_error none = RL_ERROR_INIT;
  memcpy(askew, &none, sizeof none);
  assert_int_equal(RL_E_ABI, rl_allow(registry, &in, &out, askew));
  rl_limit misplaced = five_a_second();
  memcpy(askew, &misplaced, sizeof misplaced);
  assert_failed(RL_E_ABI, take_limit(config, askew, &err), &err);
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  rl_config_destroy(config);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(request),
      cmocka_unit_test(http),
      cmocka_unit_test(decision),
      cmocka_unit_test(error),
      cmocka_unit_test(error_wherever_c_may_put_it),
      cmocka_unit_test(error_of_a_bad_size_stops_the_call),
      cmocka_unit_test(metrics),
      cmocka_unit_test(rule_metrics),
      cmocka_unit_test(clock_table),
      cmocka_unit_test(log_table),
      cmocka_unit_test(storage_table),
      cmocka_unit_test(rule),
      cmocka_unit_test(limit),
      cmocka_unit_test(limits_of_a_later_version_lie_further_apart),
      cmocka_unit_test(misaligned_structs_are_refused),
  };
  return cmocka_run_group_tests_name("structs", tests, NULL, NULL);
}
