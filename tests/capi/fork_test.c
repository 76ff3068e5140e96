/* A child of fork: it has a copy of the parent's handles and none of the threads behind them. */
#include "map_store.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Nobody listens on port 1, so the I/O thread, the fallback, the thread that reports and the watch of a key all have something to do. */
#define NOBODY "redis://127.0.0.1:1?deadline_ms=20"
#define SHARED                                                                                                       \
  "instances: 2\n"                                                                                                   \
  "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 100, window: 1d, local_tier: " \
  "leases}]"

static void pause_ms(long ms) {
  const struct timespec span = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&span, NULL);
}

/* Runs it in a child, which has a minute: 0 is well. */
static int in_a_child(int (*run)(void *), void *with) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(run(with));
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static rl_registry *registry_on_redis(const char *rules) {
  rl_config *config = config_of(rules);
  assert_int_equal(RL_OK, rl_config_set_secret(config, BYTES("0123456789abcdef"), NULL));
  assert_int_equal(RL_OK, rl_config_use_redis(config, BYTES(NOBODY), NULL));
  rl_registry *registry = NULL;
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
  return registry;
}

static int uses_and_destroys(void *with) {
  rl_registry *registry = with;
  const rl_request request = request_of("ann", 0);
  rl_decision decision = RL_DECISION_INIT;
  if (rl_allow(registry, &request, &decision, NULL) != RL_OK) return 1;
  if (!decision.allowed || decision.source != RL_SOURCE_LOCAL_FALLBACK) return 2;
  if (rl_settle(registry, &request, &decision, 0, &decision, NULL) != RL_OK) return 3;
  if (rl_reset(registry, &request, NULL) != RL_E_STORE) return 4;
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  if (rl_metrics_get(registry, &metrics, NULL) != RL_OK) return 5;
  if (metrics.unreported == 0) return 6;
  rl_registry_destroy(registry);
  return 0;
}

static void a_registry_on_a_server(void **state) {
  (void)state;
  if (!(rl_features() & RL_FEATURE_REDIS)) skip();
  rl_registry *registry = registry_on_redis(SHARED);
  assert_int_equal(RL_OK, rl_registry_watch_redis(registry, BYTES(NOBODY), BYTES("rules"), 0, NULL));
  for (long wait = 0; wait < 80; wait += 16) {
    assert_int_equal(RL_SOURCE_LOCAL_FALLBACK, ask(registry, "ann", 0).source);
    pause_ms(wait);
    assert_int_equal(0, in_a_child(uses_and_destroys, registry));
  }
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
  assert_int_equal(0, metrics.unreported);
  rl_registry_destroy(registry);
}

static int keeps_from_watching(void *with) {
  rl_registry *registry = with;
  rl_error err = RL_ERROR_INIT;
  if (rl_registry_watch(registry, bytes_of(NULL, 0), 0, &err) != RL_E_STATE) return 1;
  if (strstr(err.message, "fork") == NULL) return 2;
  if (rl_registry_watch_redis(registry, BYTES(NOBODY), BYTES("rules"), 0, NULL) != RL_E_STATE) return 3;
  const rl_request request = request_of("ann", START);
  rl_decision decision = RL_DECISION_INIT;
  if (rl_allow(registry, &request, &decision, NULL) != RL_OK || decision.remaining != 3) return 4;
  rl_registry_destroy(registry);
  return 0;
}

/* A file with ORDERS in a folder of its own, to be removed by the test. */
static void make_rules(char folder[FOLDER_SIZE], char *path, size_t size) {
  make_folder(folder);
  snprintf(path, size, "%s/rules.yaml", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(ORDERS, file) >= 0);
  assert_int_equal(0, fclose(file));
}

static void a_watched_registry(void **state) {
  (void)state;
  char folder[FOLDER_SIZE], path[FOLDER_SIZE + 16];
  make_rules(folder, path, sizeof path);
  rl_registry *registry = registry_of(ORDERS);
  assert_int_equal(RL_OK, rl_registry_watch(registry, text(path), 10, NULL));
  ask(registry, "ann", START);
  pause_ms(30);
  assert_int_equal(0, in_a_child(keeps_from_watching, registry));
  assert_int_equal(3, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
  assert_int_equal(0, remove(path));
  assert_int_equal(0, remove(folder));
}

static int leaves_the_queue_alone(void *queue) {
  uint64_t tag = 0;
  uint32_t count = 1;
  rl_decision decision = RL_DECISION_INIT;
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = registry_of(ORDERS);
  const rl_request request = request_of("ann", START);
  if (rl_allow_queued(registry, &request, queue, 1, &err) != RL_E_STATE || strstr(err.message, "fork") == NULL)
    return 1;
  if (rl_completion_queue_drain(queue, &tag, &decision, 1, 0, &count, NULL) != RL_E_STATE || count != 0) return 2;
  if (rl_completion_queue_shutdown(queue) != RL_E_STATE) return 3;
  rl_registry_destroy(registry);
  rl_completion_queue_destroy(queue);
  return 0;
}

static void *drains(void *queue) {
  uint64_t tag = 0;
  uint32_t count = 0;
  rl_decision decision = RL_DECISION_INIT;
  return rl_completion_queue_drain(queue, &tag, &decision, 1, RL_WAIT_FOREVER, &count, NULL) == RL_E_CANCELLED ? queue
                                                                                                               : NULL;
}

static void a_queue_that_a_thread_of_the_parent_waits_in(void **state) {
  (void)state;
  rl_completion_queue *queue = NULL;
  assert_int_equal(RL_OK, rl_completion_queue_create(0, NULL, NULL, &queue, NULL));
  pthread_t thread;
  assert_int_equal(0, pthread_create(&thread, NULL, drains, queue));
  pause_ms(30);
  assert_int_equal(0, in_a_child(leaves_the_queue_alone, queue));
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  void *cancelled = NULL;
  assert_int_equal(0, pthread_join(thread, &cancelled));
  assert_ptr_equal(queue, cancelled);
  rl_completion_queue_destroy(queue);
}

/* Where a child can forget them, which a leak sanitizer then looks for. */
static rl_registry *watched;
static rl_completion_queue *queue_of_the_parent;

static int destroys_and_exits(void *with) {
  (void)with;
  rl_registry_destroy(watched);
  rl_completion_queue_destroy(queue_of_the_parent);
  watched = NULL;
  queue_of_the_parent = NULL;
  exit(0);
}

static void a_child_that_exits(void **state) {
  (void)state;
  char folder[FOLDER_SIZE], path[FOLDER_SIZE + 16];
  make_rules(folder, path, sizeof path);
  watched = registry_of(ORDERS);
  assert_int_equal(RL_OK, rl_registry_watch(watched, text(path), 3600000, NULL));
  assert_int_equal(RL_OK, rl_completion_queue_create(0, NULL, NULL, &queue_of_the_parent, NULL));
  fflush(NULL);
  assert_int_equal(0, in_a_child(destroys_and_exits, NULL));
  rl_registry_destroy(watched);
  rl_completion_queue_destroy(queue_of_the_parent);
  assert_int_equal(0, remove(path));
  assert_int_equal(0, remove(folder));
}

static int makes_its_own(void *with) {
  (void)with;
  rl_registry *registry = registry_on_redis(SHARED);
  for (int n = 0; n < 5; ++n) {
    if (ask(registry, "ann", 0).source != RL_SOURCE_LOCAL_FALLBACK) return 1;
  }
  rl_registry_destroy(registry);
  return 0;
}

static void a_child_makes_its_own(void **state) {
  (void)state;
  if (!(rl_features() & RL_FEATURE_REDIS)) skip();
  rl_registry *registry = registry_on_redis(SHARED);
  ask(registry, "ann", 0);
  assert_int_equal(0, in_a_child(makes_its_own, NULL));
  rl_registry_destroy(registry);
}

/* Its rule answers without any table, so that nothing but the bookkeeping of asynchronous questions is between a child and the parent's threads. */
#define OPEN_WHEN_LOST                                                                                   \
  "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 100, window: 1d, " \
  "on_store_error: open}]"

struct flood {
  rl_registry *registry;
  atomic_int over;
  atomic_ulong refused;
};

static void count_open(void *opened, const rl_decision *decision) {
  *(int *)opened += decision->source == RL_SOURCE_FAIL_OPEN;
}

static int asks_without_waiting(void *with) {
  struct flood *flood = with;
  const rl_request request = request_of("ann", 0);
  int opened = 0;
  for (int n = 0; n < 50; ++n) {
    if (rl_allow_async(flood->registry, &request, count_open, &opened, NULL) != RL_OK) return 1;
  }
  return opened == 50 ? 0 : 2;
}

static void *floods(void *with) {
  struct flood *flood = with;
  while (!atomic_load(&flood->over)) {
    if (asks_without_waiting(flood) == 1) atomic_fetch_add(&flood->refused, 1);
  }
  return NULL;
}

static void a_child_asks_while_threads_of_the_parent_do(void **state) {
  (void)state;
  if (!(rl_features() & RL_FEATURE_REDIS)) skip();
#if defined(RATEL_SANITIZED)
  skip(); /* its allocator does not go along into a child while other threads allocate */
#endif
  struct flood flood = {registry_on_redis(OPEN_WHEN_LOST), 0, 0};
  while (ask(flood.registry, "ann", 0).source != RL_SOURCE_FAIL_OPEN) pause_ms(1);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) assert_int_equal(0, pthread_create(&threads[i], NULL, floods, &flood));
  int failed = 0;
  for (int n = 0; n < 200 && failed == 0; ++n) failed = in_a_child(asks_without_waiting, &flood);
  atomic_store(&flood.over, 1);
  for (int i = 0; i < 4; ++i) assert_int_equal(0, pthread_join(threads[i], NULL));
  assert_int_equal(0, failed);
  assert_int_equal(0, atomic_load(&flood.refused));
  rl_registry_destroy(flood.registry);
}

/* A storage of the host's that forks while it is asked. */
struct forking_store {
  struct map_store map;
  int at;    /* the apply in which to do it */
  int child; /* 1 in the child; in the parent what the child came to */
};

static rl_status apply_and_fork(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct forking_store *store = self;
  const rl_status status = map_apply(&store->map, op, cells, count);
  if ((int)store->map.applies != store->at) return status;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    signal(SIGSEGV, SIG_DFL);
    store->child = 1;
    return status;
  }
  int ended = -1;
  store->child = child > 0 && waitpid(child, &ended, 0) == child && ended == 0 ? 0 : -1;
  return status;
}

static void a_storage_of_the_host_that_forks(void **state) {
  (void)state;
  /* Hot, so that blocks are paid for; the last one is denied. */
  static const char rules[] =
      "rules: [{name: orders, path: /orders, scope: user, algorithm: fixed_window, limit: 100, window: 1d, local_tier: "
      "leases}]";
  for (int at = 1; at <= 25; ++at) {
    struct forking_store store = {.at = at};
    map_init(&store.map);
    rl_storage storage = map_storage(&store.map);
    storage.apply = apply_and_fork;
    storage.self = &store;
    rl_registry *registry = registry_on(&storage, rules, 0);
    for (int n = 0; n < 110; ++n) {
      const rl_request request = request_of("ann", START);
      rl_decision decision = RL_DECISION_INIT;
      const rl_status status = rl_allow(registry, &request, &decision, NULL);
      if (store.child != 1) assert_int_equal(RL_OK, status);
      if (store.child == 1 && status != RL_OK) _exit(1);
    }
    if (store.child == 1) {
      rl_registry_destroy(registry);
      _exit(0);
    }
    assert_int_equal(0, store.child);
    rl_registry_destroy(registry);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_registry_on_a_server),
      cmocka_unit_test(a_watched_registry),
      cmocka_unit_test(a_queue_that_a_thread_of_the_parent_waits_in),
      cmocka_unit_test(a_child_that_exits),
      cmocka_unit_test(a_child_makes_its_own),
      cmocka_unit_test(a_child_asks_while_threads_of_the_parent_do),
      cmocka_unit_test(a_storage_of_the_host_that_forks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
