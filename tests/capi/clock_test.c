/* A clock and a log of the host's own. */
#include "support.h"

struct hand {
  uint64_t now_ns;
  int reads;
  int destroyed;
};

static uint64_t hand_now(void *self) {
  struct hand *hand = self;
  ++hand->reads;
  return hand->now_ns;
}

static void hand_destroy(void *self) {
  struct hand *hand = self;
  ++hand->destroyed;
}

static rl_registry *on_clock(struct hand *hand, const char *rules) {
  const rl_clock clock = {sizeof clock, 0, hand, hand_now, hand_destroy};
  rl_config *config = config_of(rules);
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
  return registry;
}

static void the_clock_decides_and_is_read_once(void **state) {
  (void)state;
  struct hand hand = {START, 0, 0};
  rl_registry *registry = on_clock(&hand,
                                   "rules: [{name: orders, path: /orders, limits: [{scope: user, limit: 5, window: "
                                   "1s}, {scope: global, limit: 9, window: 1m}]}]");
  for (int n = 0; n < 5; ++n) {
    hand.reads = 0;
    const rl_decision decision = ask(registry, "ann", 0);
    assert_int_equal(1, decision.allowed);
    assert_true(decision.now_ns == START);
    assert_int_equal(1, hand.reads);
  }
  assert_int_equal(0, ask(registry, "ann", 0).allowed);
  hand.now_ns += 200 * MILLISECOND;
  assert_int_equal(1, ask(registry, "ann", 0).allowed);
  hand.reads = 0;
  ask(registry, "ann", START + SECOND);
  assert_int_equal(0, hand.reads);
  rl_registry_destroy(registry);
  assert_int_equal(1, hand.destroyed);
}

static void a_clock_that_steps_back_mints_nothing(void **state) {
  (void)state;
  struct hand hand = {START, 0, 0};
  rl_registry *registry = on_clock(&hand, ORDERS);
  for (int n = 0; n < 5; ++n) ask(registry, "ann", 0);
  hand.now_ns -= 500 * MILLISECOND;
  const rl_decision denied = ask(registry, "ann", 0);
  assert_int_equal(0, denied.allowed);
  assert_int_equal(700 * MILLISECOND, denied.retry_after_ns);
  rl_registry_destroy(registry);
}

static void a_clock_out_of_range_gives_no_answer(void **state) {
  (void)state;
  struct hand hand = {START, 0, 0};
  rl_registry *registry = on_clock(&hand, ORDERS);
  const rl_request request = request_of("ann", 0);
  rl_decision decision = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  hand.now_ns = RL_NOW_MAX_NS + 1000;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_allow(registry, &request, &decision, &err), &err);
  assert_no_answer(&decision, RL_E_INVALID_ARGUMENT);
  hand.now_ns = UINT64_MAX;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_peek(registry, &request, &decision, &err), &err);
  assert_non_null(strstr(err.message, "the clock callback failed"));
  uint64_t evicted = 1;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_registry_evict_idle(registry, 0, &evicted, &err), &err);
  assert_non_null(strstr(err.message, "the clock callback failed"));
  assert_int_equal(0, evicted);
  rl_decision many = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_allow_many(registry, &request, 1, &many, &err));
  assert_no_answer(&many, RL_E_INVALID_ARGUMENT);
  hand.now_ns = RL_NOW_MAX_NS;
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, &err));
  assert_int_equal(1, decision.allowed);
  rl_registry_destroy(registry);
}

struct messages {
  int count;
  int bad;
  int destroyed;
};

static void record(void *self, int32_t level, const char *bytes, uint64_t size) {
  struct messages *messages = self;
  ++messages->count;
  if (level < RL_LOG_ERROR || level > RL_LOG_INFO || size == 0 || memchr(bytes, '\n', size) != NULL) ++messages->bad;
}

static void record_destroy(void *self) {
  struct messages *messages = self;
  ++messages->destroyed;
}

static rl_status down(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  (void)self;
  (void)op;
  (void)cells;
  (void)count;
  return RL_E_STORE;
}

static void a_failing_store_is_logged_once_and_not_per_request(void **state) {
  (void)state;
  struct messages messages = {0, 0, 0};
  const rl_log log = {sizeof log, 0, &messages, record, record_destroy};
  const rl_storage storage = {sizeof storage, 0, NULL, down, NULL, NULL, NULL, NULL, NULL};
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_config_set_log(config, &log, NULL));
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
  for (int n = 0; n < 10; ++n) ask(registry, "ann", START);
  assert_int_equal(1, messages.count);
  assert_int_equal(0, messages.bad);
  rl_registry_destroy(registry);
  assert_int_equal(1, messages.destroyed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_clock_decides_and_is_read_once),
      cmocka_unit_test(a_clock_that_steps_back_mints_nothing),
      cmocka_unit_test(a_clock_out_of_range_gives_no_answer),
      cmocka_unit_test(a_failing_store_is_logged_once_and_not_per_request),
  };
  return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
