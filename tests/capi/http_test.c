/* rl_allow_http: the client, the decision and its fields in one call, as the three calls would give them. */
#include "support.h"

/* Two a minute for each address. */
#define BY_ADDRESS                  \
  "trusted_proxies: [10.0.0.0/8]\n" \
  "rules: [{name: all, path: /orders, scope: ip, algorithm: fixed_window, limit: 2, window: 1m}]"

static char buffer[1024];
static uint64_t needed;

static rl_http from(const char *peer) {
  rl_http http = RL_HTTP_INIT;
  http.peer = text(peer);
  return http;
}

static rl_decision serve(rl_registry *registry, const rl_request *request, const rl_http *http) {
  rl_decision decision = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  if (rl_allow_http(registry, request, http, &decision, buffer, sizeof buffer, &needed, &err) != RL_OK)
    fail_msg("%s", err.message);
  assert_true(needed <= sizeof buffer);
  return decision;
}

static void answers_as_the_three_calls(void **state) {
  (void)state;
  rl_registry *one = registry_of(BY_ADDRESS);
  rl_registry *three = registry_of(BY_ADDRESS);
  const rl_str lines[] = {BYTES("203.0.113.9"), BYTES("198.51.100.7, 10.1.2.3")};
  rl_http http = from("10.0.0.1");
  http.x_forwarded_for = lines;
  http.x_forwarded_for_count = 2;
  for (int n = 0; n < 4; ++n) {
    const rl_request request = request_of(NULL, START);
    const rl_decision served = serve(one, &request, &http);
    char address[64];
    char fields[1024];
    uint64_t size = 0;
    uint64_t fields_size = 0;
    rl_request known = request;
    rl_decision asked = RL_DECISION_INIT;
    assert_int_equal(RL_OK, rl_client_ip(three, http.peer, lines, 2, NULL, 0, address, sizeof address, &size, NULL));
    assert_int_equal(12, size);
    known.ip = bytes_of(address, size);
    assert_int_equal(RL_OK, rl_allow(three, &known, &asked, NULL));
    assert_int_equal(RL_OK, rl_decision_headers(three, &asked, 0, fields, sizeof fields, &fields_size, NULL));
    assert_same_answer(&asked, &served);
    assert_int_equal(n < 2, served.allowed);
    assert_int_equal(fields_size, needed);
    assert_memory_equal(fields, buffer, needed);
  }
  rl_registry_destroy(one);
  rl_registry_destroy(three);
}

static void an_address_that_is_given_is_not_walked_for(void **state) {
  (void)state;
  rl_registry *registry = registry_of(BY_ADDRESS);
  const rl_http http = from("192.0.2.1");
  rl_request request = request_of(NULL, START);
  request.ip = BYTES("192.0.2.2");
  assert_int_equal(1, serve(registry, &request, &http).remaining);
  request.ip = BYTES("");
  assert_int_equal(1, serve(registry, &request, &http).remaining);
  request.ip = BYTES("192.0.2.1");
  assert_int_equal(0, serve(registry, &request, &http).remaining);
  rl_registry_destroy(registry);
}

static void fields_that_do_not_fit_leave_the_decision_standing(void **state) {
  (void)state;
  rl_registry *registry = registry_of(BY_ADDRESS);
  const rl_http http = from("192.0.2.1");
  const rl_request request = request_of(NULL, START);
  rl_decision decision = RL_DECISION_INIT;
  char small[8] = "untouch";
  assert_int_equal(RL_OK, rl_allow_http(registry, &request, &http, &decision, NULL, 0, &needed, NULL));
  assert_int_equal(1, decision.allowed);
  assert_true(needed > 0);
  const uint64_t size = needed;
  assert_int_equal(RL_OK, rl_decision_headers(registry, &decision, 0, buffer, size, &needed, NULL));
  assert_int_equal(size, needed);
  assert_int_equal(RL_OK, rl_allow_http(registry, &request, &http, &decision, small, 4, &needed, NULL));
  assert_int_equal(0, decision.remaining);
  assert_true(needed > 4);
  assert_string_equal("uch", small + 4);
  rl_registry_destroy(registry);
}

static void the_form_of_the_fields(void **state) {
  (void)state;
  rl_registry *registry = registry_of(BY_ADDRESS);
  rl_http http = from("192.0.2.1");
  const rl_request request = request_of(NULL, START);
  http.header_flags = RL_HEADERS_DRAFT_7;
  serve(registry, &request, &http);
  buffer[needed] = '\0';
  assert_string_equal("RateLimit-Policy: 2;w=60\r\nRateLimit: limit=2, remaining=1, reset=40\r\n", buffer);
  http.header_flags = RL_HEADERS_NONE;
  serve(registry, &request, &http);
  assert_int_equal(0, needed);
  rl_registry_destroy(registry);
}

static void a_refused_question_spends_nothing(void **state) {
  (void)state;
  rl_registry *registry = registry_of(BY_ADDRESS);
  rl_http http = from("192.0.2.1");
  rl_request request = request_of(NULL, START);
  rl_decision decision = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  http.header_flags = RL_HEADERS_DRAFT_7 | RL_HEADERS_DRAFT_8;
  assert_failed(RL_E_INVALID_ARGUMENT,
                rl_allow_http(registry, &request, &http, &decision, buffer, sizeof buffer, &needed, &err), &err);
  assert_no_answer(&decision, RL_E_INVALID_ARGUMENT);
  http.header_flags = 0;
  http.x_forwarded_for_count = 1;
  assert_failed(RL_E_INVALID_ARGUMENT,
                rl_allow_http(registry, &request, &http, &decision, buffer, sizeof buffer, &needed, &err), &err);
  http.x_forwarded_for_count = 0;
  request.cost = 0;
  assert_failed(RL_E_INVALID_ARGUMENT,
                rl_allow_http(registry, &request, &http, &decision, buffer, sizeof buffer, &needed, &err), &err);
  assert_no_answer(&decision, RL_E_INVALID_ARGUMENT);
  assert_int_equal(0, keys_of(registry));
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_as_the_three_calls),
      cmocka_unit_test(an_address_that_is_given_is_not_walked_for),
      cmocka_unit_test(fields_that_do_not_fit_leave_the_decision_standing),
      cmocka_unit_test(the_form_of_the_fields),
      cmocka_unit_test(a_refused_question_spends_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
