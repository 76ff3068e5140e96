/* Many threads on one hot key under a frozen clock admit exactly the capacity: every algorithm, every way to ask,
 * both kinds of storage. */
#include <stdatomic.h>
#include <stdio.h>

#include "map_store.h"

#define THREADS 8
#define ASKS 2000
#define CAPACITY 1000

static uint64_t frozen(void *self) {
  (void)self;
  return START;
}

struct run {
  rl_registry *registry;
  atomic_int allowed, failed;
  atomic_int left; /* threads that are still asking */
};

static void count(struct run *run, const rl_decision *decision) {
  if (decision->status != RL_OK || decision->source != RL_SOURCE_EXACT) atomic_fetch_add(&run->failed, 1);
  if (decision->allowed) atomic_fetch_add(&run->allowed, 1);
}

static void count_async(void *user, const rl_decision *decision) { count(user, decision); }

static void ask_each_way(struct run *run, int n) {
  rl_request request = request_of("ann", 0);
  rl_decision decisions[3] = {RL_DECISION_INIT, RL_DECISION_INIT, RL_DECISION_INIT};
  rl_status status = RL_OK;
  if (n % 4 == 0) {
    status = rl_allow(run->registry, &request, decisions, NULL);
    count(run, decisions);
  } else if (n % 4 == 1) {
    const rl_request three[] = {request, request, request};
    status = rl_allow_many(run->registry, three, 3, decisions, NULL);
    for (int i = 0; i < 3; ++i) count(run, &decisions[i]);
  } else if (n % 4 == 2) {
    status = rl_allow_async(run->registry, &request, count_async, run, NULL);
  } else {
    status = rl_allow_rule(run->registry, rl_rule_at(run->registry, 0), "ann", 3, 1, START, decisions);
    count(run, decisions);
  }
  if (status != RL_OK) atomic_fetch_add(&run->failed, 1);
}

static void *ask_often(void *self) {
  struct run *run = self;
  for (int n = 0; n < ASKS; ++n) ask_each_way(run, n);
  atomic_fetch_sub(&run->left, 1);
  return NULL;
}

static rl_registry *frozen_registry(const char *algorithm, const rl_storage *storage) {
  char rules[256];
  snprintf(rules, sizeof rules,
           "rules: [{name: orders, path: /orders, scope: user, algorithm: %s, limit: %d, window: 1h}]", algorithm,
           CAPACITY);
  const rl_clock clock = {sizeof clock, 0, NULL, frozen, NULL};
  rl_config *config = config_of(rules);
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
  if (storage != NULL) assert_int_equal(RL_OK, rl_config_set_storage(config, storage, NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
  return registry;
}

static void run_threads(struct run *run, rl_registry *registry, void (*meanwhile)(struct run *run)) {
  pthread_t threads[THREADS];
  run->registry = registry;
  atomic_store(&run->allowed, 0);
  atomic_store(&run->failed, 0);
  atomic_store(&run->left, THREADS);
  for (int i = 0; i < THREADS; ++i) assert_int_equal(0, pthread_create(&threads[i], NULL, ask_often, run));
  if (meanwhile != NULL) meanwhile(run);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static const char *const kAlgorithms[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log",
                                          "sliding_counter"};

static void the_embedded_store(void **state) {
  (void)state;
  for (int i = 0; i < 5; ++i) {
    struct run run;
    rl_registry *registry = frozen_registry(kAlgorithms[i], NULL);
    run_threads(&run, registry, NULL);
    assert_int_equal(0, run.failed);
    assert_int_equal(CAPACITY, run.allowed);
    rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
    assert_int_equal(THREADS * ASKS / 4 * 6, metrics.requests);
    assert_int_equal(CAPACITY, metrics.allowed);
    assert_int_equal(metrics.requests, metrics.allowed + metrics.denied);
    rl_registry_destroy(registry);
  }
}

static void a_storage_of_the_host(void **state) {
  (void)state;
  for (int i = 0; i < 5; ++i) {
    struct run run;
    struct map_store map;
    map_init(&map);
    const rl_storage storage = map_storage(&map);
    rl_registry *registry = frozen_registry(kAlgorithms[i], &storage);
    run_threads(&run, registry, NULL);
    assert_int_equal(0, run.failed);
    assert_int_equal(CAPACITY, run.allowed);
    rl_registry_destroy(registry);
  }
}

static void reload_and_look_around(struct run *run) {
  static char buffer[65536];
  char rules[256];
  snprintf(rules, sizeof rules,
           "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: %d, window: 1h}]",
           CAPACITY);
  rl_config *config = config_of(rules);
  do {
    uint64_t needed = 0;
    uint64_t evicted = 0;
    const rl_request request = request_of("ann", 0);
    rl_decision decision = RL_DECISION_INIT;
    assert_int_equal(RL_OK, rl_registry_reload(run->registry, config, NULL));
    assert_int_equal(RL_OK, rl_metrics_prometheus(run->registry, buffer, sizeof buffer, &needed, NULL));
    assert_int_equal(RL_OK, rl_registry_evict_idle(run->registry, 0, &evicted, NULL));
    assert_int_equal(RL_OK, rl_peek(run->registry, &request, &decision, NULL));
    assert_int_equal(RL_OK, rl_explain(run->registry, &request, 0, buffer, sizeof buffer, &needed, NULL));
    assert_int_equal(1, rl_rule_count(run->registry));
  } while (atomic_load(&run->left) > 0);
  rl_config_destroy(config);
}

static void under_reloads_and_housekeeping(void **state) {
  (void)state;
  struct run run;
  rl_registry *registry = frozen_registry("token_bucket", NULL);
  run_threads(&run, registry, reload_and_look_around);
  assert_int_equal(0, run.failed);
  assert_int_equal(CAPACITY, run.allowed);
  assert_true(rl_registry_generation(registry) > 1);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_embedded_store),
      cmocka_unit_test(a_storage_of_the_host),
      cmocka_unit_test(under_reloads_and_housekeeping),
  };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
