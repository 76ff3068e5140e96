/* A child of fork: it has a copy of the parent's handles and none of the threads behind them. */
#include "support.h"

#include <pthread.h>
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

static rl_registry *registry_on_redis(void) {
  rl_config *config = config_of(SHARED);
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
  rl_registry *registry = registry_on_redis();
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

static void a_watched_registry(void **state) {
  (void)state;
  char folder[FOLDER_SIZE], path[FOLDER_SIZE + 16];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/rules.yaml", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(ORDERS, file) >= 0);
  assert_int_equal(0, fclose(file));
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

static int destroys(void *queue) {
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
  assert_int_equal(0, in_a_child(destroys, queue));
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  void *cancelled = NULL;
  assert_int_equal(0, pthread_join(thread, &cancelled));
  assert_ptr_equal(queue, cancelled);
  rl_completion_queue_destroy(queue);
}

static int makes_its_own(void *with) {
  (void)with;
  rl_registry *registry = registry_on_redis();
  for (int n = 0; n < 5; ++n) {
    if (ask(registry, "ann", 0).source != RL_SOURCE_LOCAL_FALLBACK) return 1;
  }
  rl_registry_destroy(registry);
  return 0;
}

static void a_child_makes_its_own(void **state) {
  (void)state;
  if (!(rl_features() & RL_FEATURE_REDIS)) skip();
  rl_registry *registry = registry_on_redis();
  ask(registry, "ann", 0);
  assert_int_equal(0, in_a_child(makes_its_own, NULL));
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_registry_on_a_server),
      cmocka_unit_test(a_watched_registry),
      cmocka_unit_test(a_queue_that_a_thread_of_the_parent_waits_in),
      cmocka_unit_test(a_child_makes_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
