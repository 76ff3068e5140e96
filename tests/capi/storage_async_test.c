/* Storages that finish later: on another thread, late, at once, never begun, and with a registry that is destroyed
 * meanwhile. */
#include <stdatomic.h>
#include <time.h>

#include "worker_store.h"

struct tally {
  atomic_int calls, allowed, answered;
  atomic_int last_source, last_status, last_remaining;
};

static void add_up(void *user, const rl_decision *decision) {
  struct tally *tally = user;
  atomic_store(&tally->last_source, decision->source);
  atomic_store(&tally->last_status, decision->status);
  atomic_store(&tally->last_remaining, (int)decision->remaining);
  if (decision->allowed) atomic_fetch_add(&tally->allowed, 1);
  if (decision->status == RL_OK) atomic_fetch_add(&tally->answered, 1);
  atomic_fetch_add(&tally->calls, 1);
}

static int wait_for(atomic_int *number, int expected) {
  const struct timespec pause = {0, 1000000};
  for (int i = 0; i < 20000 && atomic_load(number) < expected; ++i) nanosleep(&pause, NULL);
  return atomic_load(number);
}

static void another_thread_finishes(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  worker_start(&worker);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  for (int n = 0; n < 1000; ++n) {
    char user[] = "ann"; /* not needed after the return */
    rl_request request = request_of(user, START);
    assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
    memset(user, 'x', 3);
  }
  assert_int_equal(1000, wait_for(&tally.calls, 1000));
  assert_int_equal(1000, tally.answered);
  assert_int_equal(5, tally.allowed);
  assert_int_equal(0, ask(registry, "ann", START).allowed);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

static void *let_go_soon(void *self) {
  const struct timespec pause = {0, 50000000};
  nanosleep(&pause, NULL);
  worker_set(self, 0, 0);
  return NULL;
}

static void destroy_waits_for_what_is_in_the_host_s_hands(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  pthread_t later;
  worker_start(&worker);
  worker_set(&worker, 1, 0);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  for (int n = 0; n < 20; ++n) {
    const rl_request request = request_of("ann", START);
    assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  }
  assert_int_equal(0, tally.calls);
  assert_int_equal(0, pthread_create(&later, NULL, let_go_soon, &worker));
  rl_registry_destroy(registry);
  assert_int_equal(20, tally.calls);
  assert_int_equal(5, tally.allowed);
  pthread_join(later, NULL);
  worker_end(&worker);
}

static void a_failed_finish_leaves_it_to_the_rule(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  worker_start(&worker);
  worker_finish_with(&worker, RL_E_STORE);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(
      &storage, "rules: [{name: orders, path: /orders, scope: user, limit: 5, window: 1s, on_store_error: open}]", 0);
  const rl_request request = request_of("ann", START);
  assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  assert_int_equal(1, wait_for(&tally.calls, 1));
  assert_int_equal(RL_SOURCE_FAIL_OPEN, tally.last_source);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

static void a_second_finish_does_no_harm(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  worker_start(&worker);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  const rl_request request = request_of("ann", START);
  assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  assert_int_equal(1, wait_for(&tally.calls, 1));
  rl_completion_finish(worker.last_done, RL_OK);
  rl_completion_finish(worker.last_done, RL_E_STORE);
  rl_completion_finish(NULL, RL_OK);
  assert_int_equal(1, tally.calls);
  assert_int_equal(3, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

/* --- what the engine tells besides the requests ------------------------------------------------------------------ */

#define OWED "rules: [{name: orders, path: /orders, scope: user, algorithm: fixed_window, limit: 5, window: 1h}]"
#define LEASED                                                                                                   \
  "{lease_life: 50ms, rules: [{name: orders, path: /orders, scope: user, algorithm: fixed_window, limit: 1000, " \
  "window: 1h, local_tier: leases}]}"

/* Asks without waiting, and then waits for the callback. */
static void ask_later(rl_registry *registry, struct tally *tally, const char *user, int64_t cost) {
  const int before = tally->calls;
  rl_request request = request_of(user, START);
  request.cost = cost;
  assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, tally, NULL));
  assert_int_equal(before + 1, wait_for(&tally->calls, before + 1));
}

static void a_storage_that_answers_later_only_is_told_what_the_fallback_admitted(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  worker_start(&worker);
  worker.later_only = 1;
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, OWED, 0);
  worker_finish_with(&worker, RL_E_STORE);
  for (int n = 0; n < 3; ++n) ask_later(registry, &tally, "ann", 1);
  assert_int_equal(RL_SOURCE_LOCAL_FALLBACK, tally.last_source);
  worker_finish_with(&worker, RL_OK);
  rl_metrics metrics;
  memset(&metrics, 0, sizeof metrics);
  metrics.struct_size = sizeof metrics;
  for (int n = 0; n < 1000 && metrics.reported_back == 0; ++n) {
    ask_later(registry, &tally, "bob", 1);
    assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  }
  assert_int_equal(3, metrics.reported_back);
  ask_later(registry, &tally, "ann", 1);
  assert_int_equal(RL_SOURCE_EXACT, tally.last_source);
  assert_int_equal(1, tally.last_remaining);
  assert_int_equal(0, worker.asked_now);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

static void a_storage_that_answers_later_only_gets_rests_of_leases_back(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  worker_start(&worker);
  worker.later_only = 1;
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, LEASED, 0);
  for (int n = 0; n < 50 && tally.last_source != RL_SOURCE_LEASED; ++n) ask_later(registry, &tally, "ann", 1);
  assert_int_equal(RL_SOURCE_LEASED, tally.last_source);
  /* All the rest at once: that fits when nothing is held any more. */
  const int admitted = tally.allowed;
  const struct timespec pause = {0, 10000000};
  for (int n = 0; n < 1000 && tally.allowed == admitted; ++n) {
    ask_later(registry, &tally, "ann", 1000 - admitted);
    nanosleep(&pause, NULL);
  }
  assert_int_equal(admitted + 1, tally.allowed);
  assert_int_equal(0, tally.last_remaining);
  assert_int_equal(0, worker.asked_now);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

static void a_block_that_is_being_paid_for_at_the_end_is_handed_back(void **state) {
  (void)state;
  static struct worker worker;
  static struct tally tally;
  pthread_t later;
  worker_start(&worker);
  worker_set(&worker, 1, 0);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, LEASED, 1);
  for (int n = 0; n < 8; ++n) {
    const rl_request request = request_of("ann", START);
    assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  }
  assert_int_equal(0, pthread_create(&later, NULL, let_go_soon, &worker));
  rl_registry_destroy(registry);
  pthread_join(later, NULL);
  assert_int_equal(8, tally.allowed);
  assert_int_not_equal(0, worker.asked_now); /* one of them had asked for a block, and not used all of it */
  registry = registry_on(&storage, LEASED, 1);
  assert_int_equal(1000 - 8 - 1, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
  worker_end(&worker);
}

/* --- without a thread
 * ----------------------------------------------------------------------------------------------- */

enum behaviour { kFinishesAtOnce, kFinishesWithoutAStep, kRefuses, kRefusesWithAPositiveNumber, kFinishesAndRefuses };

struct simple {
  struct map_store map;
  enum behaviour behaviour;
};

static rl_status simple_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct simple *simple = self;
  return map_apply(&simple->map, op, cells, count);
}

static rl_status simple_apply_async(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  struct simple *simple = self;
  switch (simple->behaviour) {
    case kFinishesAtOnce:
      rl_completion_finish(done, map_apply(&simple->map, op, cells, count));
      return RL_OK;
    case kFinishesWithoutAStep:
      rl_completion_finish(done, RL_OK);
      return RL_OK;
    case kRefuses:
      return RL_E_STORE;
    case kRefusesWithAPositiveNumber:
      return 7;
    case kFinishesAndRefuses:
      rl_completion_finish(done, map_apply(&simple->map, op, cells, count));
      return RL_E_STORE;
  }
  return RL_E_INTERNAL;
}

/* What comes of one question; asserts that the callback ran exactly once. */
static rl_decision answer_of(enum behaviour behaviour) {
  static struct simple simple;
  static struct tally tally;
  memset(&tally, 0, sizeof tally);
  simple.behaviour = behaviour;
  map_init(&simple.map);
  const rl_storage storage = {sizeof storage, 0, &simple, simple_apply, simple_apply_async, NULL, NULL, NULL, NULL};
  rl_registry *registry = registry_on(
      &storage, "rules: [{name: orders, path: /orders, scope: user, limit: 5, window: 1s, on_store_error: closed}]", 0);
  const rl_request request = request_of("ann", START);
  assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  assert_int_equal(1, tally.calls);
  rl_registry_destroy(registry);
  rl_decision decision = RL_DECISION_INIT;
  decision.allowed = (uint8_t)tally.allowed;
  decision.source = (uint8_t)tally.last_source;
  decision.status = tally.last_status;
  return decision;
}

static void finishing_inside_the_call_is_fine(void **state) {
  (void)state;
  const rl_decision decision = answer_of(kFinishesAtOnce);
  assert_int_equal(1, decision.allowed);
  assert_int_equal(RL_SOURCE_EXACT, decision.source);
}

static void what_was_not_begun_or_not_decided_is_a_failure(void **state) {
  (void)state;
  const enum behaviour kinds[] = {kFinishesWithoutAStep, kRefuses, kRefusesWithAPositiveNumber};
  for (int i = 0; i < 3; ++i) {
    const rl_decision decision = answer_of(kinds[i]);
    assert_int_equal(0, decision.allowed);
    assert_int_equal(RL_SOURCE_FAIL_CLOSED, decision.source);
    assert_int_equal(RL_OK, decision.status);
  }
}

static void finished_and_refused_counts_as_finished(void **state) {
  (void)state;
  const rl_decision decision = answer_of(kFinishesAndRefuses);
  assert_int_equal(1, decision.allowed);
  assert_int_equal(RL_SOURCE_EXACT, decision.source);
}

static void requests_that_ask_no_limit_do_not_reach_the_storage(void **state) {
  (void)state;
  static struct simple simple;
  static struct tally tally;
  map_init(&simple.map);
  const rl_storage storage = {sizeof storage, 0, &simple, simple_apply, simple_apply_async, NULL, NULL, NULL, NULL};
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  rl_request request = request_of("ann", START);
  request.path = BYTES("/elsewhere");
  assert_int_equal(RL_OK, rl_allow_async(registry, &request, add_up, &tally, NULL));
  assert_int_equal(1, tally.calls);
  assert_int_equal(RL_SOURCE_NO_RULE, tally.last_source);
  assert_int_equal(0, simple.map.applies);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_thread_finishes),
      cmocka_unit_test(destroy_waits_for_what_is_in_the_host_s_hands),
      cmocka_unit_test(a_failed_finish_leaves_it_to_the_rule),
      cmocka_unit_test(a_second_finish_does_no_harm),
      cmocka_unit_test(a_storage_that_answers_later_only_is_told_what_the_fallback_admitted),
      cmocka_unit_test(a_storage_that_answers_later_only_gets_rests_of_leases_back),
      cmocka_unit_test(a_block_that_is_being_paid_for_at_the_end_is_handed_back),
      cmocka_unit_test(finishing_inside_the_call_is_fine),
      cmocka_unit_test(what_was_not_begun_or_not_decided_is_a_failure),
      cmocka_unit_test(finished_and_refused_counts_as_finished),
      cmocka_unit_test(requests_that_ask_no_limit_do_not_reach_the_storage),
  };
  return cmocka_run_group_tests_name("storage_async", tests, NULL, NULL);
}
