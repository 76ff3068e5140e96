/* Telling: header fields, problem body, counters, Prometheus text, the client's address, explain. */
#include "support.h"

static rl_metrics metrics_of(rl_registry *registry) {
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  return metrics;
}

static void assert_headers(const rl_registry *registry, const rl_decision *decision, uint32_t flags,
                           const char *expected) {
  char buffer[1024];
  uint64_t needed = 0;
  rl_error err = RL_ERROR_INIT;
  if (rl_decision_headers(registry, decision, flags, buffer, sizeof buffer, &needed, &err) != RL_OK)
    fail_msg("%s", err.message);
  buffer[needed] = '\0';
  assert_string_equal(expected, buffer);
}

static void header_fields(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision allowed = ask(registry, "ann", START);
  assert_headers(registry, &allowed, 0,
                 "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 4\r\nX-RateLimit-Reset: 1700000001\r\n");
  assert_headers(registry, &allowed, RL_HEADERS_X | RL_HEADERS_RESET_DELTA,
                 "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 4\r\nX-RateLimit-Reset: 1\r\n");
  assert_headers(registry, &allowed, RL_HEADERS_RETRY_AFTER, "");
  assert_headers(registry, &allowed, RL_HEADERS_NONE, "");
  assert_headers(registry, &allowed, RL_HEADERS_DRAFT_11,
                 "RateLimit-Policy: \"orders\";q=5;w=1\r\nRateLimit: \"orders\";r=4;t=1\r\n");
  for (int n = 0; n < 4; ++n) ask(registry, "ann", START);
  const rl_decision denied = ask(registry, "ann", START);
  assert_headers(registry, &denied, RL_HEADERS_RETRY_AFTER, "Retry-After: 1\r\n");
  const rl_decision never = ask_cost(registry, "ann", START, 6);
  assert_headers(registry, &never, RL_HEADERS_RETRY_AFTER, "");
  rl_request request = request_of("ann", START);
  rl_decision free_of_rules = RL_DECISION_INIT;
  request.path = BYTES("/elsewhere");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &free_of_rules, NULL));
  assert_headers(registry, &free_of_rules, 0, "");
  rl_registry_destroy(registry);
}

static void headers_as_the_rule_set_says(void **state) {
  (void)state;
  rl_registry *registry = registry_of("headers: off\n" ORDERS);
  const rl_decision allowed = ask(registry, "ann", START);
  assert_headers(registry, &allowed, 0, "");
  assert_headers(registry, &allowed, RL_HEADERS_DRAFT_7,
                 "RateLimit-Policy: 5;w=1\r\nRateLimit: limit=5, remaining=4, reset=1\r\n");
  rl_registry_destroy(registry);
}

static void header_flags_that_do_not_go_together(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision allowed = ask(registry, "ann", START);
  const uint32_t flags[] = {RL_HEADERS_DRAFT_11 | RL_HEADERS_DRAFT_7, RL_HEADERS_NONE | RL_HEADERS_X, 1u << 8,
                            UINT32_MAX};
  for (int i = 0; i < 4; ++i) {
    char buffer[512];
    uint64_t needed = 1;
    rl_error err = RL_ERROR_INIT;
    assert_failed(RL_E_INVALID_ARGUMENT,
                  rl_decision_headers(registry, &allowed, flags[i], buffer, sizeof buffer, &needed, &err), &err);
    assert_int_equal(0, needed);
  }
  rl_registry_destroy(registry);
}

static void a_problem_for_a_denial(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision allowed = ask(registry, "ann", START);
  char buffer[2048];
  uint64_t needed = 1;
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_decision_problem(registry, &allowed, buffer, sizeof buffer, &needed, &err),
                &err);
  assert_int_equal(0, needed);
  for (int n = 0; n < 4; ++n) ask(registry, "ann", START);
  const rl_decision denied = ask(registry, "ann", START);
  assert_int_equal(RL_OK, rl_decision_problem(registry, &denied, buffer, sizeof buffer, &needed, &err));
  assert_true(contains(buffer, needed, "429"));
  assert_true(contains(buffer, needed, "orders"));
  const uint64_t size = needed;
  assert_failed(RL_E_BUFFER_TOO_SMALL, rl_decision_problem(registry, &denied, buffer, size - 1, &needed, &err), &err);
  assert_int_equal(size, needed);
  rl_registry_destroy(registry);
}

static void decisions_that_nobody_made(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision good = ask(registry, "ann", START);
#define REFUSED(field, value)                                                                                          \
  do {                                                                                                                 \
    rl_decision bad = good;                                                                                            \
    char buffer[512];                                                                                                  \
    uint64_t needed = 1;                                                                                               \
    rl_error err = RL_ERROR_INIT;                                                                                      \
    bad.field = value;                                                                                                 \
    assert_failed(RL_E_INVALID_ARGUMENT, rl_decision_headers(registry, &bad, 0, buffer, sizeof buffer, &needed, &err), \
                  &err);                                                                                               \
  } while (0)
  REFUSED(allowed, 2);
  REFUSED(source, 8);
  REFUSED(reason, 5);
  REFUSED(reason, RL_REASON_LIMITED);
  REFUSED(flags, 4);
  REFUSED(now_ns, RL_NOW_MAX_NS + 1);
  REFUSED(status, RL_E_STORE);
#undef REFUSED
  rl_registry_destroy(registry);
}

static void each_request_is_counted_once(void **state) {
  (void)state;
  rl_registry *registry = registry_of(
      "rules: [{name: orders, path: /orders, scope: user, limit: 2, window: 1s}, {name: admin, path: /admin, action: "
      "block}]");
  for (int n = 0; n < 3; ++n) ask(registry, "ann", START);
  ask_cost(registry, "bob", START, 9);
  ask(registry, NULL, START);
  rl_request request = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  request.path = BYTES("/admin");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  request.path = BYTES("/elsewhere");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  const rl_metrics metrics = metrics_of(registry);
  assert_int_equal(7, metrics.requests);
  assert_int_equal(4, metrics.allowed);
  assert_int_equal(3, metrics.denied);
  assert_int_equal(1, metrics.never_fits);
  assert_int_equal(1, metrics.blocked);
  assert_int_equal(1, metrics.no_rule);
  assert_int_equal(1, metrics.unknown_client);
  assert_int_equal(2, metrics.keys);
  assert_int_equal(1, metrics.generation);
  rl_rule_metrics rule = {sizeof rule, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_rule(registry, rl_rule_at(registry, 0), &rule, NULL));
  assert_int_equal(3, rule.allowed);
  assert_int_equal(2, rule.denied);
  assert_int_equal(1, rule.never_fits);
  assert_int_equal(3, rule.cost_allowed);
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_NOT_FOUND, rl_metrics_rule(registry, 4711, &rule, &err), &err);
  assert_failed(RL_E_NOT_FOUND, rl_metrics_rule(registry, 0, &rule, &err), &err);
  rl_registry_destroy(registry);
}

static void prometheus_text(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  ask(registry, "ann", START);
  static char buffer[65536];
  uint64_t needed = 0;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_metrics_prometheus(registry, buffer, sizeof buffer, &needed, &err));
  assert_true(contains(buffer, needed, "# TYPE ratel_"));
  assert_true(contains(buffer, needed, "rule=\"orders\""));
  assert_int_equal('\n', buffer[needed - 1]);
  const uint64_t size = needed;
  assert_failed(RL_E_BUFFER_TOO_SMALL, rl_metrics_prometheus(registry, buffer, 10, &needed, &err), &err);
  assert_int_equal(size, needed);
  rl_registry_destroy(registry);
}

static void assert_client(const rl_registry *registry, const char *peer, const char *x_forwarded_for,
                          const char *expected) {
  char buffer[64];
  uint64_t needed = 0;
  const rl_str line = text(x_forwarded_for);
  assert_int_equal(RL_OK, rl_client_ip(registry, text(peer), &line, 1, NULL, 0, buffer, sizeof buffer, &needed, NULL));
  buffer[needed] = '\0';
  assert_string_equal(expected, buffer);
}

static void the_client_behind_proxies(void **state) {
  (void)state;
  rl_registry *trusting = registry_of("trusted_proxies: [10.0.0.0/8]\n" ORDERS);
  rl_registry *wary = registry_of(ORDERS);
  assert_client(trusting, "10.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7");
  assert_client(trusting, "203.0.113.1", "198.51.100.7", "203.0.113.1");
  assert_client(wary, "10.0.0.1", "198.51.100.7", "10.0.0.1");
  assert_client(wary, "[2001:DB8::1]:443", "", "2001:db8::1");
  assert_client(wary, "not an address", "198.51.100.7", "");
  char buffer[64];
  uint64_t needed = 0;
  rl_error err = RL_ERROR_INIT;
  const rl_str forwarded = BYTES("for=\"[2001:db8::7]:80\"");
  const rl_str lines[] = {BYTES("198.51.100.7"), BYTES("198.51.100.8")};
  assert_int_equal(
      RL_OK, rl_client_ip(trusting, BYTES("10.0.0.1"), NULL, 0, &forwarded, 1, buffer, sizeof buffer, &needed, &err));
  assert_int_equal(11, needed);
  assert_memory_equal("2001:db8::7", buffer, 11);
  assert_int_equal(
      RL_OK, rl_client_ip(trusting, BYTES("10.0.0.1"), lines, 2, &forwarded, 1, buffer, sizeof buffer, &needed, &err));
  assert_memory_equal("198.51.100.8", buffer, 12);
  assert_failed(RL_E_BUFFER_TOO_SMALL,
                rl_client_ip(trusting, BYTES("10.0.0.1"), lines, 2, NULL, 0, buffer, 3, &needed, &err), &err);
  assert_int_equal(12, needed);
  assert_failed(RL_E_INVALID_ARGUMENT,
                rl_client_ip(trusting, BYTES("10.0.0.1"), NULL, 2, NULL, 0, buffer, 3, &needed, &err), &err);
  assert_failed(RL_E_INVALID_ARGUMENT,
                rl_client_ip(trusting, BYTES("10.0.0.1"), NULL, 0, NULL, 1, buffer, 3, &needed, &err), &err);
  rl_registry_destroy(trusting);
  rl_registry_destroy(wary);
}

static void explain_spends_nothing(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_request request = request_of("ann", START);
  static char buffer[65536];
  uint64_t needed = 0;
  rl_error err = RL_ERROR_INIT;
  request.path = BYTES("//orders/./x?q=1");
  assert_int_equal(RL_OK, rl_explain(registry, &request, 0, buffer, sizeof buffer, &needed, &err));
  assert_true(contains(buffer, needed, "/orders/x"));
  assert_true(contains(buffer, needed, "orders"));
  assert_int_equal(RL_OK, rl_explain(registry, &request, RL_TEXT_JSON, buffer, sizeof buffer, &needed, &err));
  assert_int_equal('{', buffer[0]);
  const uint64_t size = needed;
  assert_failed(RL_E_BUFFER_TOO_SMALL, rl_explain(registry, &request, RL_TEXT_JSON, buffer, 1, &needed, &err), &err);
  assert_int_equal(size, needed);
  assert_failed(RL_E_INVALID_ARGUMENT, rl_explain(registry, &request, 4, buffer, sizeof buffer, &needed, &err), &err);
  assert_int_equal(0, keys_of(registry));
  assert_int_equal(0, metrics_of(registry).requests);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_fields),
      cmocka_unit_test(headers_as_the_rule_set_says),
      cmocka_unit_test(header_flags_that_do_not_go_together),
      cmocka_unit_test(a_problem_for_a_denial),
      cmocka_unit_test(decisions_that_nobody_made),
      cmocka_unit_test(each_request_is_counted_once),
      cmocka_unit_test(prometheus_text),
      cmocka_unit_test(the_client_behind_proxies),
      cmocka_unit_test(explain_spends_nothing),
  };
  return cmocka_run_group_tests_name("tell", tests, NULL, NULL);
}
