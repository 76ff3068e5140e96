/* Deciding: the worked values of the semantics (section 2), costs, several limits at once, batches, peeks,
 * asynchronous answers. */
#include <stdio.h>

#include "map_store.h"

static rl_registry *limited(const char *algorithm, const char *numbers) {
  char rules[256];
  snprintf(rules, sizeof rules, "rules: [{name: orders, path: /orders, scope: user, algorithm: %s, %s}]", algorithm,
           numbers);
  return registry_of(rules);
}

static const char *const kAlgorithms[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log",
                                          "sliding_counter"};

static void seven_at_once_five_pass(void **state) {
  (void)state;
  const uint64_t waits[] = {200, 200, 1000, 1000, 1200};
  for (int i = 0; i < 5; ++i) {
    rl_registry *registry = limited(kAlgorithms[i], "limit: 5, window: 1s");
    for (unsigned n = 0; n < 7; ++n) {
      const rl_decision decision = ask(registry, "ann", START);
      assert_int_equal(n < 5, decision.allowed);
      assert_int_equal(n < 5 ? 4 - n : 0, decision.remaining);
      assert_int_equal(n < 5 ? RL_REASON_NONE : RL_REASON_LIMITED, decision.reason);
      assert_int_equal(n < 5 ? 0 : waits[i] * MILLISECOND, decision.retry_after_ns);
      assert_int_equal(RL_SOURCE_EXACT, decision.source);
      assert_int_equal(5, decision.limit);
      assert_int_equal(5, decision.capacity);
      assert_int_equal(SECOND, decision.window_ns);
      assert_int_equal(1, decision.limit_count);
      assert_int_equal(1, decision.generation);
      assert_int_equal(START, decision.now_ns);
      assert_int_equal(1, decision.cost);
      assert_int_equal(rl_rule_at(registry, 0), decision.rule);
    }
    rl_registry_destroy(registry);
  }
}

static void a_denial_lasts_as_long_as_it_says_and_no_longer(void **state) {
  (void)state;
  for (int i = 0; i < 5; ++i) {
    rl_registry *registry = limited(kAlgorithms[i], "limit: 5, window: 1s");
    for (int n = 0; n < 5; ++n) ask(registry, "ann", START);
    const uint64_t wait = ask(registry, "ann", START).retry_after_ns;
    assert_int_equal(0, ask(registry, "ann", START + wait - 1000).allowed);
    assert_int_equal(1, ask(registry, "ann", START + wait).allowed);
    rl_registry_destroy(registry);
  }
}

static void a_burst_across_the_border_of_a_window(void **state) {
  (void)state;
  rl_registry *fixed = limited("fixed_window", "limit: 5, window: 1s");
  rl_registry *counter = limited("sliding_counter", "limit: 5, window: 1s");
  for (int n = 0; n < 5; ++n) {
    assert_int_equal(1, ask(fixed, "ann", START + 900 * MILLISECOND).allowed);
    assert_int_equal(1, ask(counter, "ann", START + 900 * MILLISECOND).allowed);
  }
  for (int n = 0; n < 5; ++n) {
    assert_int_equal(1, ask(fixed, "ann", START + SECOND).allowed);
    assert_int_equal(0, ask(counter, "ann", START + SECOND).allowed);
  }
  rl_registry_destroy(fixed);
  rl_registry_destroy(counter);
}

static void a_sliding_log_over_a_minute(void **state) {
  (void)state;
  rl_registry *registry = limited("sliding_log", "limit: 3, window: 60s");
  const uint64_t at[] = {0, 10000, 20000, 30000, 59000, 60500, 61000, 75000};
  const char *answers = "AAADDADA";
  for (int i = 0; i < 8; ++i)
    assert_int_equal(answers[i] == 'A', ask(registry, "ann", START + at[i] * MILLISECOND).allowed);
  rl_registry_destroy(registry);
}

static void five_a_minute_retry_after_twelve_seconds(void **state) {
  (void)state;
  rl_registry *registry = limited("token_bucket", "limit: 5, window: 60s");
  for (int n = 0; n < 5; ++n) ask(registry, "ann", START);
  assert_int_equal(12 * SECOND, ask(registry, "ann", START).retry_after_ns);
  rl_registry_destroy(registry);
}

static void a_leaky_bucket_shapes(void **state) {
  (void)state;
  rl_registry *registry = limited("leaky_bucket", "limit: 1, window: 1s, burst: 5");
  for (unsigned n = 0; n < 3; ++n) {
    const rl_decision decision = ask(registry, "ann", START);
    assert_int_equal(1, decision.allowed);
    assert_int_equal(n * SECOND, decision.delay_ns);
  }
  rl_registry_destroy(registry);
}

static void burst_changes_the_capacity_and_not_the_rate(void **state) {
  (void)state;
  rl_registry *registry = limited("token_bucket", "limit: 60, window: 60s, burst: 10");
  assert_int_equal(10, ask_cost(registry, "ann", START, 10).capacity);
  assert_int_equal(SECOND, ask(registry, "ann", START).retry_after_ns);
  rl_registry_destroy(registry);
}

static void users_have_budgets_of_their_own(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  for (int n = 0; n < 6; ++n) ask(registry, "ann", START);
  assert_int_equal(0, ask(registry, "ann", START).allowed);
  assert_int_equal(4, ask(registry, "bob", START).remaining);
  rl_request anonymous = request_of(NULL, START);
  rl_decision decision = RL_DECISION_INIT;
  anonymous.ip = BYTES("192.0.2.1");
  assert_int_equal(RL_OK, rl_allow(registry, &anonymous, &decision, NULL));
  assert_int_equal(4, decision.remaining);
  rl_registry_destroy(registry);
}

static void costs(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  assert_int_equal(2, ask_cost(registry, "ann", START, 3).remaining);
  const rl_decision denied = ask_cost(registry, "ann", START, 3);
  assert_int_equal(0, denied.allowed);
  assert_int_equal(2, denied.remaining);
  assert_int_equal(200 * MILLISECOND, denied.retry_after_ns);
  const rl_decision never = ask_cost(registry, "ann", START, 6);
  assert_int_equal(0, never.allowed);
  assert_int_equal(RL_REASON_NEVER_FITS, never.reason);
  assert_true(never.retry_after_ns == RL_NEVER);
  assert_int_equal(2, never.remaining);
  assert_int_equal(RL_REASON_NEVER_FITS, ask_cost(registry, "ann", START, INT64_MAX).reason);
  assert_int_equal(1, ask_cost(registry, "ann", START, 2).allowed);
  rl_registry_destroy(registry);
}

static void a_cost_below_one_is_no_question(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const int64_t costs_refused[] = {0, -1, INT64_MIN + 1};
  for (int i = 0; i < 3; ++i) {
    rl_request request = request_of("ann", START);
    rl_decision decision = RL_DECISION_INIT;
    rl_error err = RL_ERROR_INIT;
    request.cost = costs_refused[i];
    assert_failed(RL_E_INVALID_ARGUMENT, rl_allow(registry, &request, &decision, &err), &err);
    assert_no_answer(&decision, RL_E_INVALID_ARGUMENT);
    assert_int_equal(RL_E_INVALID_ARGUMENT,
                     rl_allow_rule(registry, rl_rule_at(registry, 0), "ann", 3, costs_refused[i], START, &decision));
    assert_no_answer(&decision, RL_E_INVALID_ARGUMENT);
  }
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
}

static void a_rule_s_own_cost(void **state) {
  (void)state;
  rl_registry *registry = limited("token_bucket", "limit: 5, window: 1s, cost: 2");
  const rl_decision decision = ask(registry, "ann", START);
  assert_int_equal(2, decision.cost);
  assert_int_equal(3, decision.remaining);
  assert_int_equal(2, ask_cost(registry, "ann", START, 1).remaining);
  rl_registry_destroy(registry);
}

static void a_known_rule_and_a_key(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const uint32_t rule = rl_rule_at(registry, 0);
  rl_decision decision = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_allow_rule(registry, rule, "ann", 3, RL_COST_OF_RULE, START, &decision));
  assert_int_equal(4, decision.remaining);
  assert_int_equal(3, ask(registry, "ann", START).remaining);
  rl_request request = RL_REQUEST_INIT;
  request.now_ns = START;
  request.rule = rule;
  request.key = BYTES("ann");
  request.user = BYTES("not looked at");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(2, decision.remaining);
  assert_int_equal(RL_OK, rl_allow_rule(registry, rule, "a\0n", 3, 1, START, &decision));
  assert_int_equal(4, decision.remaining);
  assert_int_equal(RL_OK, rl_allow_rule(registry, rule, "a\0m", 3, 1, START, &decision));
  assert_int_equal(4, decision.remaining);
  struct {
    rl_decision now;
    uint64_t tail;
  } later;
  memset(&later, 0xAA, sizeof later);
  later.now.struct_size = sizeof later;
  assert_int_equal(RL_OK, rl_allow_rule(registry, rule, "ann", 3, 2, START, &later.now));
  assert_int_equal(0, later.now.remaining);
  assert_int_equal(1, later.now.allowed);
  assert_int_equal(0, later.tail);
  assert_int_equal(RL_E_NOT_FOUND, rl_allow_rule(registry, rule + 1000, "ann", 3, 1, START, &decision));
  assert_no_answer(&decision, RL_E_NOT_FOUND);
  rl_error err = RL_ERROR_INIT;
  request.rule = rule + 1000;
  assert_failed(RL_E_NOT_FOUND, rl_allow(registry, &request, &decision, &err), &err);
  rl_registry_destroy(registry);
}

/* Leaves what the next call finds where it puts its own variables. */
static __attribute__((noinline)) void fill_stack(int byte) {
  volatile char room[32768];
  for (size_t i = 0; i < sizeof room; ++i) room[i] = (char)byte;
}

#define EVERY_KIND                                                                                                  \
  "rules: [{name: orders, path: /orders, scope: user, limit: 2, window: 1s}, {name: no, path: /no, action: block}," \
  " {name: free, path: /free, action: unlimited}, {name: two, path: /two, limits: [{name: each, scope: user,"       \
  " limit: 3, window: 1s}, {name: log, scope: global, algorithm: sliding_log, limit: 4, window: 1m, shadow: true}]}]"

/* Answers to the same questions, on a registry of its own; every byte of them. */
static void answer_all(int byte, rl_decision *answers, size_t count) {
  static const char *const paths[] = {"/orders", "/no", "/free", "/two", "/none"};
  rl_registry *registry = registry_of(EVERY_KIND);
  const uint32_t rule = rl_rule_at(registry, 0);
  rl_request requests[5];
  for (size_t i = 0; i < count; ++i) {
    memset(&answers[i], byte, sizeof answers[i]);
    answers[i].struct_size = sizeof answers[i];
  }
  for (size_t i = 0; i < 5; ++i) {
    requests[i] = (rl_request)RL_REQUEST_INIT;
    requests[i].now_ns = START;
    requests[i].path = (rl_str){paths[i], strlen(paths[i])};
    requests[i].user = BYTES("ann");
  }
  size_t n = 0;
  for (size_t round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 5; ++i) {
      fill_stack(byte);
      assert_int_equal(RL_OK, rl_allow(registry, &requests[i], &answers[n++], NULL));
    }
    fill_stack(byte);
    assert_int_equal(RL_OK, rl_allow_rule(registry, rule, "bob", 3, 1, START, &answers[n++]));
    fill_stack(byte);
    assert_int_equal(RL_OK, rl_allow_many(registry, requests, 5, &answers[n], NULL));
    n += 5;
    fill_stack(byte);
    assert_int_equal(RL_OK, rl_peek(registry, &requests[3], &answers[n++], NULL));
  }
  fill_stack(byte);
  assert_int_equal(RL_E_NOT_FOUND, rl_allow_rule(registry, rule + 1000, "ann", 3, 1, START, &answers[n++]));
  assert_int_equal(count, n);
  rl_registry_destroy(registry);
}

static void nothing_of_the_stack_gets_into_an_answer(void **state) {
  (void)state;
  rl_decision zeros[37];
  rl_decision ones[37];
  answer_all(0, zeros, 37);
  answer_all(0xff, ones, 37);
  for (size_t i = 0; i < 37; ++i) assert_memory_equal(&zeros[i], &ones[i], sizeof zeros[i]);
}

#define TWO_LIMITS                                                                                  \
  "rules: [{name: orders, path: /orders, limits: [{name: each, scope: user, limit: 3, window: 1s}," \
  " {name: all, scope: global, algorithm: fixed_window, limit: 4, window: 1m}]}]"

static void several_limits_all_or_nothing(void **state) {
  (void)state;
  rl_registry *registry = registry_of(TWO_LIMITS);
  for (int n = 0; n < 3; ++n) assert_int_equal(1, ask(registry, "ann", START).allowed);
  assert_int_equal(0, ask(registry, "ann", START).allowed);
  assert_int_equal(1, ask(registry, "bob", START).allowed);
  const rl_decision denied = ask(registry, "bob", START);
  assert_int_equal(0, denied.allowed);
  assert_int_equal(2, denied.limit_count);
  assert_int_equal(4, denied.limit);
  assert_int_equal(60 * SECOND - START % (60 * SECOND), denied.retry_after_ns);
  const rl_str name = rl_limit_name(registry, denied.limit_id);
  assert_memory_equal("all", name.data, 3);
  /* bob's own limit was not charged by the denial. */
  const uint64_t later = START + denied.retry_after_ns;
  assert_int_equal(1, ask_cost(registry, "bob", later, 3).allowed);
  rl_registry_destroy(registry);
}

static void a_shadow_never_denies(void **state) {
  (void)state;
  rl_registry *registry = limited("token_bucket", "limit: 1, window: 1s, shadow: true");
  assert_int_equal(0, ask(registry, "ann", START).flags & RL_DECISION_SHADOW_DENIED);
  const rl_decision second = ask(registry, "ann", START);
  assert_int_equal(1, second.allowed);
  assert_int_equal(RL_DECISION_SHADOW_DENIED, second.flags & RL_DECISION_SHADOW_DENIED);
  rl_registry_destroy(registry);
}

static void actions_and_requests_without_a_rule(void **state) {
  (void)state;
  rl_registry *registry = registry_of(
      "rules: [{name: admin, path: /admin, action: block}, {name: health, path: /health, action: unlimited},"
      " {name: orders, path: /orders, scope: user, limit: 1, window: 1s}]");
  rl_request request = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  request.path = BYTES("/admin/x");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(0, decision.allowed);
  assert_int_equal(RL_REASON_BLOCKED, decision.reason);
  assert_int_equal(RL_SOURCE_ACTION, decision.source);
  request.path = BYTES("/health");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(1, decision.allowed);
  assert_int_equal(RL_SOURCE_ACTION, decision.source);
  request.path = BYTES("/orderss");
  assert_int_equal(RL_OK, rl_allow(registry, &request, &decision, NULL));
  assert_int_equal(1, decision.allowed);
  assert_int_equal(RL_SOURCE_NO_RULE, decision.source);
  assert_int_equal(0, decision.rule);
  rl_registry_destroy(registry);
}

static void the_clock_is_read_when_no_instant_is_given(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_decision first = ask(registry, "ann", 0);
  const rl_decision second = ask(registry, "ann", 0);
  assert_true(first.now_ns > START);
  assert_true(second.now_ns >= first.now_ns);
  rl_registry_destroy(registry);
}

static void a_peek_spends_nothing(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  const rl_request request = request_of("ann", START);
  rl_decision peeked = RL_DECISION_INIT;
  for (int n = 0; n < 10; ++n) {
    assert_int_equal(RL_OK, rl_peek(registry, &request, &peeked, NULL));
    assert_int_equal(1, peeked.allowed);
    assert_int_equal(5, peeked.remaining);
    assert_int_equal(RL_DECISION_PEEKED, peeked.flags);
  }
  assert_int_equal(0, keys_of(registry));
  for (int n = 0; n < 5; ++n) ask(registry, "ann", START);
  assert_int_equal(RL_OK, rl_peek(registry, &request, &peeked, NULL));
  assert_int_equal(0, peeked.allowed);
  assert_int_equal(200 * MILLISECOND, peeked.retry_after_ns);
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  assert_int_equal(5, metrics.requests);
  rl_registry_destroy(registry);
}

static void reset_forgets(void **state) {
  (void)state;
  rl_registry *registry = registry_of(TWO_LIMITS);
  const rl_request request = request_of("ann", START);
  for (int n = 0; n < 3; ++n) ask(registry, "ann", START);
  assert_int_equal(2, keys_of(registry));
  assert_int_equal(RL_OK, rl_reset(registry, &request, NULL));
  assert_int_equal(0, keys_of(registry));
  assert_int_equal(2, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
}

/* --- batches ------------------------------------------------------------------------------------------------------
 * */

#define MANY 200

/* Under these rules, MANY requests of one call are answered as one after the other is by a registry of its own. */
static void assert_many_as_one_by_one(const char *rules, const rl_request *requests) {
  rl_registry *together = registry_of(rules);
  rl_registry *alone = registry_of(rules);
  static rl_decision answers[MANY];
  answers[0] = (rl_decision)RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_allow_many(together, requests, MANY, answers, NULL));
  for (int i = 0; i < MANY; ++i) {
    rl_decision expected = RL_DECISION_INIT;
    assert_int_equal(RL_OK, rl_allow(alone, &requests[i], &expected, NULL));
    assert_same_answer(&expected, &answers[i]);
  }
  rl_registry_destroy(together);
  rl_registry_destroy(alone);
}

static void many_answers_are_those_of_one_by_one(void **state) {
  (void)state;
  static rl_request requests[MANY];
  char users[MANY][16];
  for (int i = 0; i < MANY; ++i) {
    snprintf(users[i], sizeof users[i], "u%d", i % 7);
    requests[i] = request_of(users[i], START + (uint64_t)i * MILLISECOND);
  }
  assert_many_as_one_by_one(TWO_LIMITS, requests);
}

static void a_refused_one_does_not_hold_up_the_others(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_request requests[6];
  rl_decision answers[6];
  for (int i = 0; i < 6; ++i) {
    const rl_decision dirty = RL_DECISION_INIT;
    requests[i] = request_of("ann", START);
    answers[i] = dirty;
    answers[i].allowed = 1;
  }
  requests[0].cost = 0;
  requests[2].user.data = NULL;
  requests[3].struct_size = 0;
  requests[4].rule = 77777;
  assert_int_equal(RL_OK, rl_allow_many(registry, requests + 1, 5, answers + 1, NULL));
  assert_int_equal(4, answers[1].remaining);
  assert_no_answer(&answers[2], RL_E_INVALID_ARGUMENT);
  assert_no_answer(&answers[3], RL_E_ABI);
  assert_no_answer(&answers[4], RL_E_NOT_FOUND);
  assert_int_equal(3, answers[5].remaining);
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, 1, answers, NULL));
  assert_no_answer(&answers[0], RL_E_INVALID_ARGUMENT);
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  assert_int_equal(2, metrics.requests);
  rl_registry_destroy(registry);
}

static void many_that_fail_as_a_whole_leave_no_allowance(void **state) {
  (void)state;
  struct {
    rl_decision now;
    uint64_t tail[3];
  } later[3];
  rl_decision answers[3];
  rl_registry *registry = registry_of(ORDERS);
  memset(later, 0xAA, sizeof later);
  memset(answers, 0xAA, sizeof answers);
  later[0].now.struct_size = sizeof later[0];
  answers[0].struct_size = sizeof answers[0];
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_many(registry, NULL, 3, answers, NULL));
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_many(registry, NULL, 3, &later[0].now, NULL));
  for (int i = 0; i < 3; ++i) {
    assert_no_answer(&answers[i], RL_E_INVALID_ARGUMENT);
    assert_int_equal(sizeof later[i], later[i].now.struct_size);
    assert_int_equal(RL_E_INVALID_ARGUMENT, later[i].now.status);
    assert_int_equal(0, later[i].now.allowed);
    for (int t = 0; t < 3; ++t) assert_int_equal(0, later[i].tail[t]);
  }
  /* Of none, nothing is touched. */
  assert_int_equal(RL_E_INVALID_ARGUMENT, rl_allow_many(NULL, NULL, 0, (rl_decision *)(uintptr_t)1, NULL));
  rl_registry_destroy(registry);
}

static void many_of_a_later_version_lie_further_apart(void **state) {
  (void)state;
  struct {
    rl_request now;
    uint64_t tail[2];
  } requests[40];
  struct {
    rl_decision now;
    uint64_t tail[3];
  } answers[40];
  memset(requests, 0, sizeof requests);
  memset(answers, 0xAA, sizeof answers);
  for (int i = 0; i < 40; ++i) {
    requests[i].now = request_of("ann", START);
    requests[i].now.struct_size = sizeof requests[0];
  }
  answers[0].now.struct_size = sizeof answers[0];
  requests[7].tail[1] = 1;
  rl_registry *registry = registry_of(ORDERS);
  assert_int_equal(RL_OK, rl_allow_many(registry, &requests[0].now, 40, &answers[0].now, NULL));
  for (int i = 0; i < 40; ++i) {
    assert_int_equal(sizeof answers[0], answers[i].now.struct_size);
    assert_int_equal(i == 7 ? RL_E_ABI : RL_OK, answers[i].now.status);
    assert_int_equal(i < 5, answers[i].now.allowed);
    for (int t = 0; t < 3; ++t) assert_int_equal(0, answers[i].tail[t]);
  }
  rl_registry_destroy(registry);
}

/* Where the elements lie the first one says: another that says otherwise is not one, also when it says what this library would. */
static void many_of_two_lengths(void **state) {
  (void)state;
  struct {
    rl_request now;
    uint64_t tail[2];
  } requests[3];
  rl_decision answers[3];
  memset(requests, 0, sizeof requests);
  for (int i = 0; i < 3; ++i) {
    const rl_decision empty = RL_DECISION_INIT;
    requests[i].now = request_of("ann", START);
    requests[i].now.struct_size = i == 1 ? sizeof(rl_request) : sizeof requests[0];
    answers[i] = empty;
  }
  rl_registry *registry = registry_of(ORDERS);
  assert_int_equal(RL_OK, rl_allow_many(registry, &requests[0].now, 3, answers, NULL));
  assert_no_answer(&answers[1], RL_E_ABI);
  assert_int_equal(4, answers[0].remaining);
  assert_int_equal(3, answers[2].remaining);
  rl_registry_destroy(registry);
}

static void many_with_many_attributes(void **state) {
  (void)state;
  rl_registry *registry =
      registry_of("rules: [{name: t, path: /orders, scope: 'attribute:tenant', limit: 5, window: 1s}]");
  rl_attribute attributes[64];
  rl_request requests[50];
  rl_decision answers[50];
  for (int i = 0; i < 64; ++i) {
    attributes[i].name = BYTES("noise");
    attributes[i].value = BYTES("x");
  }
  attributes[63].name = BYTES("tenant");
  attributes[63].value = BYTES("acme");
  for (int i = 0; i < 50; ++i) {
    const rl_decision empty = RL_DECISION_INIT;
    requests[i] = request_of(NULL, START);
    requests[i].attributes = attributes;
    requests[i].attribute_count = 64;
    answers[i] = empty;
  }
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, 50, answers, NULL));
  for (int i = 0; i < 50; ++i) assert_int_equal(i < 5, answers[i].allowed);
  rl_registry_destroy(registry);
}

/* From none to as many as there may be, so that they share the room of a chunk in all ways. */
static void many_with_attributes_of_all_counts(void **state) {
  (void)state;
  static const char rules[] = "rules: [{name: t, path: /orders, scope: 'attribute:tenant', limit: 5, window: 1s}]";
  static rl_attribute attributes[MANY][64];
  static rl_request requests[MANY];
  char tenants[MANY][16];
  uint32_t random = 1;
  for (int i = 0; i < MANY; ++i) {
    random = random * 1664525 + 1013904223;
    const uint32_t count = i < 3 ? (i == 1 ? 1 : 64) : (random >> 16) % 65;
    snprintf(tenants[i], sizeof tenants[i], "t%u", (random >> 8) % 20);
    for (uint32_t n = 0; n < count; ++n) {
      attributes[i][n].name = n + 1 == count ? BYTES("tenant") : BYTES("noise");
      attributes[i][n].value = n + 1 == count ? text(tenants[i]) : BYTES("x");
    }
    requests[i] = request_of(NULL, START);
    requests[i].attributes = attributes[i];
    requests[i].attribute_count = count;
  }
  assert_many_as_one_by_one(rules, requests);
}

static uint64_t reads;
static uint64_t running_clock(void *self) {
  (void)self;
  return START + ++reads * SECOND;
}

static void many_without_an_instant_share_one(void **state) {
  (void)state;
  const rl_clock clock = {sizeof clock, 0, NULL, running_clock, NULL};
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  static rl_request requests[MANY];
  static rl_decision answers[MANY];
  for (int i = 0; i < MANY; ++i) {
    const rl_decision empty = RL_DECISION_INIT;
    requests[i] = request_of("ann", 0);
    answers[i] = empty;
  }
  reads = 0;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  const uint64_t before = reads;
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, MANY, answers, NULL));
  assert_int_equal(before + 1, reads);
  for (int i = 0; i < MANY; ++i) {
    assert_true(answers[i].now_ns == answers[0].now_ns);
    assert_int_equal(i < 5, answers[i].allowed);
  }
  /* So do those that are answered in structs of another size. */
  static struct {
    rl_decision now;
    uint64_t tail;
  } later[MANY];
  later[0].now.struct_size = sizeof later[0];
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, MANY, &later[0].now, NULL));
  assert_int_equal(before + 2, reads);
  for (int i = 0; i < MANY; ++i) assert_true(later[i].now.now_ns == later[0].now.now_ns);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void a_refused_one_asks_no_clock(void **state) {
  (void)state;
  const rl_clock clock = {sizeof clock, 0, NULL, running_clock, NULL};
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  rl_request requests[2] = {request_of("ann", START), request_of("ann", 0)};
  const rl_decision empty = RL_DECISION_INIT;
  rl_decision answers[2] = {empty, empty};
  requests[1].cost = 0;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  const uint64_t before = reads;
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, 2, answers, NULL));
  assert_int_equal(before, reads);
  assert_int_equal(4, answers[0].remaining);
  assert_no_answer(&answers[1], RL_E_INVALID_ARGUMENT);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

/* --- asynchronous -------------------------------------------------------------------------------------------------
 * */

struct seen {
  int calls;
  rl_decision decision;
};

static void see(void *user, const rl_decision *decision) {
  struct seen *seen = user;
  ++seen->calls;
  seen->decision = *decision;
}

static uint64_t milliseconds;
static uint64_t slow_clock(void *self) {
  (void)self;
  ++reads;
  return START + ++milliseconds * MILLISECOND;
}

/* An answer from a lease tells the instant of the payment, which is not that of the requests after it. */
static void many_share_one_instant_beside_leases(void **state) {
  (void)state;
  const rl_clock clock = {sizeof clock, 0, NULL, slow_clock, NULL};
  struct map_store map;
  map_init(&map);
  const rl_storage storage = map_storage(&map);
  rl_config *config =
      config_of("rules: [{name: o, path: /orders, scope: user, limit: 10000, window: 1m, local_tier: leases}]");
  rl_registry *registry = NULL;
  static rl_request requests[MANY];
  static rl_decision answers[MANY];
  milliseconds = 0;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  /* Until a block is there that was paid for some time ago and has enough in it. */
  for (int leased = 0, i = 0; leased < 2 && i < 500; ++i) leased += ask(registry, "ann", 0).source == RL_SOURCE_LEASED;
  for (int i = 0; i < MANY; ++i) {
    const rl_decision empty = RL_DECISION_INIT;
    requests[i] = request_of(i < 150 ? "ann" : "bob", 0);
    answers[i] = empty;
  }
  reads = 0;
  assert_int_equal(RL_OK, rl_allow_many(registry, requests, MANY, answers, NULL));
  assert_int_equal(1, reads);
  const uint64_t now_ns = START + milliseconds * MILLISECOND;
  assert_int_equal(RL_SOURCE_LEASED, answers[0].source);
  assert_true(answers[0].now_ns < now_ns);
  assert_int_equal(RL_SOURCE_EXACT, answers[150].source);
  assert_true(answers[150].now_ns == now_ns);
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}

static void the_embedded_store_answers_before_the_return(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_registry *alone = registry_of(ORDERS);
  const rl_request request = request_of("ann", START);
  for (int n = 0; n < 7; ++n) {
    struct seen seen = {0, RL_DECISION_INIT};
    assert_int_equal(RL_OK, rl_allow_async(registry, &request, see, &seen, NULL));
    assert_int_equal(1, seen.calls);
    const rl_decision expected = ask(alone, "ann", START);
    assert_same_answer(&expected, &seen.decision);
  }
  rl_registry_destroy(registry);
  rl_registry_destroy(alone);
}

static void a_refused_asynchronous_question_is_never_answered(void **state) {
  (void)state;
  rl_registry *registry = registry_of(ORDERS);
  rl_request request = request_of("ann", START);
  struct seen seen = {0, RL_DECISION_INIT};
  rl_error err = RL_ERROR_INIT;
  request.cost = 0;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_allow_async(registry, &request, see, &seen, &err), &err);
  request.cost = 1;
  request.rule = 99999;
  assert_failed(RL_E_NOT_FOUND, rl_allow_async(registry, &request, see, &seen, &err), &err);
  request.rule = 0;
  assert_failed(RL_E_INVALID_ARGUMENT, rl_allow_async(registry, &request, NULL, &seen, &err), &err);
  assert_int_equal(0, seen.calls);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seven_at_once_five_pass),
      cmocka_unit_test(a_denial_lasts_as_long_as_it_says_and_no_longer),
      cmocka_unit_test(a_burst_across_the_border_of_a_window),
      cmocka_unit_test(a_sliding_log_over_a_minute),
      cmocka_unit_test(five_a_minute_retry_after_twelve_seconds),
      cmocka_unit_test(a_leaky_bucket_shapes),
      cmocka_unit_test(burst_changes_the_capacity_and_not_the_rate),
      cmocka_unit_test(users_have_budgets_of_their_own),
      cmocka_unit_test(costs),
      cmocka_unit_test(a_cost_below_one_is_no_question),
      cmocka_unit_test(a_rule_s_own_cost),
      cmocka_unit_test(a_known_rule_and_a_key),
      cmocka_unit_test(nothing_of_the_stack_gets_into_an_answer),
      cmocka_unit_test(several_limits_all_or_nothing),
      cmocka_unit_test(a_shadow_never_denies),
      cmocka_unit_test(actions_and_requests_without_a_rule),
      cmocka_unit_test(the_clock_is_read_when_no_instant_is_given),
      cmocka_unit_test(a_peek_spends_nothing),
      cmocka_unit_test(reset_forgets),
      cmocka_unit_test(many_answers_are_those_of_one_by_one),
      cmocka_unit_test(a_refused_one_does_not_hold_up_the_others),
      cmocka_unit_test(many_that_fail_as_a_whole_leave_no_allowance),
      cmocka_unit_test(many_of_a_later_version_lie_further_apart),
      cmocka_unit_test(many_of_two_lengths),
      cmocka_unit_test(many_with_many_attributes),
      cmocka_unit_test(many_with_attributes_of_all_counts),
      cmocka_unit_test(many_without_an_instant_share_one),
      cmocka_unit_test(a_refused_one_asks_no_clock),
      cmocka_unit_test(many_share_one_instant_beside_leases),
      cmocka_unit_test(the_embedded_store_answers_before_the_return),
      cmocka_unit_test(a_refused_asynchronous_question_is_never_answered),
  };
  return cmocka_run_group_tests_name("allow", tests, NULL, NULL);
}
