/* After the work: the difference between what was spent and what it should have been. */
#include <stdio.h>

#include "support.h"

static rl_decision settle(rl_registry *registry, const rl_decision *decision, uint64_t now_ns, int64_t actual) {
  const rl_request request = request_of("ann", now_ns);
  rl_decision out = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  if (rl_settle(registry, &request, decision, actual, &out, &err) != RL_OK) fail_msg("%s", err.message);
  return out;
}

static void what_was_not_used_comes_back(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision spent = ask_cost(registry, "ann", START, 4);
  assert_int_equal(1, spent.remaining);
  assert_int_equal(4, settle(registry, &spent, START, 1).remaining);
  assert_int_equal(3, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
}

static void all_of_it_back_is_as_if_never_spent(void **state) {
  (void)state;
  static const char *const algorithms[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log",
                                           "sliding_counter"};
  for (int i = 0; i < 5; ++i) {
    char rules[256];
    snprintf(rules, sizeof rules,
             "rules: [{name: orders, path: /orders, scope: user, algorithm: %s, limit: 5, window: 1s}]", algorithms[i]);
    rl_registry *registry = registry_of(rules);
    const rl_decision spent = ask_cost(registry, "ann", START, 3);
    assert_int_equal(5, settle(registry, &spent, START, 0).remaining);
    assert_int_equal(1, ask_cost(registry, "ann", START, 5).allowed);
    rl_registry_destroy(registry);
  }
}

static void a_late_charge_goes_below_zero_one_capacity_deep(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision spent = ask_cost(registry, "ann", START, 1);
  assert_int_equal(0, settle(registry, &spent, START, 1000).remaining);
  const rl_decision denied = ask(registry, "ann", START);
  assert_int_equal(0, denied.allowed);
  assert_int_equal(1200 * MILLISECOND, denied.retry_after_ns);
  rl_registry_destroy(registry);
}

static void a_give_back_never_lifts_above_full(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision spent = ask_cost(registry, "ann", START, 5);
  assert_int_equal(5, settle(registry, &spent, START + 800 * MILLISECOND, 0).remaining);
  assert_int_equal(0, ask_cost(registry, "ann", START + 800 * MILLISECOND, 5).remaining);
  rl_registry_destroy(registry);
}

static void a_rule_that_has_no_limit_any_more(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision spent = ask_cost(registry, "ann", START, 1);
  rl_config *config = config_of("rules: [{name: orders, path: /orders, action: unlimited}]");
  assert_int_equal(RL_OK, rl_registry_reload(registry, config, NULL));
  rl_config_destroy(config);
  const rl_request request = request_of("ann", 0);
  rl_decision out = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_NOT_FOUND, rl_settle(registry, &request, &spent, 0, &out, &err), &err);
  assert_non_null(strstr(err.message, "no limit any more"));
  rl_registry_destroy(registry);
}

#define REFUSED_SAYING(reason, actual)                                                                          \
  do {                                                                                                          \
    assert_failed(RL_E_INVALID_ARGUMENT, rl_settle(registry, &request, &decision, (actual), &out, &err), &err); \
    if (strstr(err.message, (reason)) == NULL) fail_msg("%s", err.message);                                     \
    assert_no_answer(&out, RL_E_INVALID_ARGUMENT);                                                              \
  } while (0)

static void what_was_never_spent_cannot_be_settled(void **state) {
  (void)state;
  rl_registry *registry = registry_of(
      "rules: [{name: orders, path: /orders, scope: user, limit: 1, window: 1s}, {name: health, path: /health, action: "
      "unlimited}]");
  rl_request request = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  rl_decision out = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_peek(registry, &request, &decision, NULL));
  REFUSED_SAYING("rl_peek", 0);
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  REFUSED_SAYING("-1, below 0", -1);
  rl_decision spent = decision;
  decision.cost = 0;
  REFUSED_SAYING("no limit was asked", 0);
  decision = spent;
  decision.rule = 0;
  REFUSED_SAYING("no limit was asked", 0);
  decision = spent;
  decision.limit_count = 0;
  REFUSED_SAYING("no limit was asked", 0);
  for (uint8_t source = 0; source <= RL_SOURCE_ACTION; ++source) {
    decision = spent;
    decision.source = source;
    if (source == RL_SOURCE_EXACT || source == RL_SOURCE_LEASED) continue;
    REFUSED_SAYING(source == RL_SOURCE_LOCAL_FALLBACK ? "not one of this registry" : "no limit was asked", 0);
  }
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(0, decision.allowed);
  REFUSED_SAYING("denied", 0);
  request.path = BYTES("/health");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  REFUSED_SAYING("no limit was asked", 0);
  request.path = BYTES("/elsewhere");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  REFUSED_SAYING("no limit was asked", 0);
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_rule(registry, 1, NULL, 1, 1, START, &decision));
  REFUSED_SAYING("no answer", 0);
  rl_registry_destroy(registry);
}

static void a_settle_is_no_request(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision spent = ask_cost(registry, "ann", START, 4);
  settle(registry, &spent, START, 1);
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  assert_int_equal(1, metrics.requests);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_not_used_comes_back),
      cmocka_unit_test(all_of_it_back_is_as_if_never_spent),
      cmocka_unit_test(a_late_charge_goes_below_zero_one_capacity_deep),
      cmocka_unit_test(a_give_back_never_lifts_above_full),
      cmocka_unit_test(a_rule_that_has_no_limit_any_more),
      cmocka_unit_test(what_was_never_spent_cannot_be_settled),
      cmocka_unit_test(a_settle_is_no_request),
  };
  return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
