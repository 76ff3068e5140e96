/* Answers from a queue: each exactly once, whatever happens to the registry, the queue, and those who wait. */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker_store.h"

#define MANY 64

/* What one drain gave. */
struct batch {
  uint64_t tags[MANY];
  rl_decision answers[MANY];
  uint32_t count;
};

static rl_completion_queue *queue_of(uint32_t capacity) {
  rl_completion_queue *queue = NULL;
  assert_int_equal(RL_OK, rl_completion_queue_create(capacity, NULL, NULL, &queue, NULL));
  return queue;
}

static rl_status drain(rl_completion_queue *queue, struct batch *batch, uint32_t most, uint32_t timeout_ms) {
  for (int i = 0; i < MANY; ++i) batch->answers[i].struct_size = sizeof batch->answers[i];
  return rl_completion_queue_drain(queue, batch->tags, batch->answers, most, timeout_ms, &batch->count, NULL);
}

static void ask_into(rl_completion_queue *queue, rl_registry *registry, const char *user, uint64_t tag) {
  const rl_request request = request_of(user, START);
  assert_int_equal(RL_OK, rl_allow_queued(registry, &request, queue, tag, NULL));
}

static void the_embedded_store_answers_at_once(void **state) {
  (void)state;
  struct batch batch;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(0);
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 0));
  assert_int_equal(0, batch.count);
  for (uint64_t tag = 0; tag < 7; ++tag) ask_into(queue, registry, "ann", UINT64_MAX - tag);
  assert_int_equal(RL_OK, drain(queue, &batch, 4, 0));
  assert_int_equal(4, batch.count);
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, RL_WAIT_FOREVER));
  assert_int_equal(3, batch.count);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_true(batch.tags[i] == UINT64_MAX - 4 - i);
    assert_int_equal(RL_OK, batch.answers[i].status);
    assert_int_equal(i == 0, batch.answers[i].allowed);
    assert_int_equal(5, batch.answers[i].capacity);
  }
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 1));
  assert_int_equal(0, batch.count);
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

static void what_is_refused_leaves_nothing_behind(void **state) {
  (void)state;
  struct batch batch;
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(1);
  rl_request request = request_of("ann", START);
  for (int i = 0; i < 3; ++i) {
    request.cost = 0;
    assert_failed(RL_E_INVALID_ARGUMENT, rl_allow_queued(registry, &request, queue, 1, &err), &err);
    request.cost = 1;
    request.rule = 99;
    assert_failed(RL_E_NOT_FOUND, rl_allow_queued(registry, &request, queue, 1, &err), &err);
    request.rule = 0;
  }
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 0));
  assert_int_equal(0, batch.count);
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

static void a_full_queue_refuses_until_it_is_drained(void **state) {
  (void)state;
  struct batch batch;
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(2);
  const rl_request request = request_of("ann", START);
  ask_into(queue, registry, "ann", 1);
  ask_into(queue, registry, "ann", 2);
  assert_failed(RL_E_STATE, rl_allow_queued(registry, &request, queue, 3, &err), &err);
  assert_int_equal(RL_OK, drain(queue, &batch, 1, 0));
  ask_into(queue, registry, "ann", 4);
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 0));
  assert_int_equal(2, batch.count);
  assert_int_equal(4, batch.tags[1]);
  assert_int_equal(2, batch.answers[1].remaining); /* the refused one spent nothing */
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

static void shutdown_lets_what_was_asked_come(void **state) {
  (void)state;
  struct batch batch;
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(0);
  const rl_request request = request_of("ann", START);
  ask_into(queue, registry, "ann", 1);
  ask_into(queue, registry, "ann", 2);
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  assert_failed(RL_E_CANCELLED, rl_allow_queued(registry, &request, queue, 3, &err), &err);
  assert_int_equal(RL_OK, drain(queue, &batch, 1, RL_WAIT_FOREVER));
  assert_int_equal(RL_OK, drain(queue, &batch, 1, RL_WAIT_FOREVER));
  assert_int_equal(2, batch.tags[0]);
  assert_int_equal(RL_E_CANCELLED, drain(queue, &batch, 1, RL_WAIT_FOREVER));
  assert_int_equal(0, batch.count);
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

static void decisions_of_another_size(void **state) {
  (void)state;
  struct {
    rl_decision known;
    uint64_t more;
  } later[2];
  memset(later, 0xFF, sizeof later);
  later[0].known.struct_size = sizeof later[0];
  uint64_t tags[2];
  uint32_t count = 0;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(0);
  ask_into(queue, registry, "ann", 8);
  ask_into(queue, registry, "ann", 9);
  assert_int_equal(RL_OK, rl_completion_queue_drain(queue, tags, &later[0].known, 2, 0, &count, NULL));
  assert_int_equal(2, count);
  for (uint32_t i = 0; i < 2; ++i) {
    assert_int_equal(8 + i, tags[i]);
    assert_int_equal(sizeof later[0], later[i].known.struct_size);
    assert_int_equal(4 - i, later[i].known.remaining);
    assert_int_equal(0, later[i].more);
  }
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

/* --- a storage that takes its time --- */

static void another_thread_answers(void **state) {
  (void)state;
  static struct worker worker;
  struct batch batch;
  int seen[1000] = {0};
  int allowed = 0;
  worker_start(&worker);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  rl_completion_queue *queue = queue_of(0);
  for (uint64_t n = 0; n < 1000; ++n) {
    char user[] = "ann"; /* not needed after the return */
    ask_into(queue, registry, user, n);
    memset(user, 'x', 3);
  }
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  while (drain(queue, &batch, MANY, RL_WAIT_FOREVER) == RL_OK) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      ++seen[batch.tags[i]];
      assert_int_equal(RL_OK, batch.answers[i].status);
      allowed += batch.answers[i].allowed;
    }
  }
  for (int n = 0; n < 1000; ++n) assert_int_equal(1, seen[n]);
  assert_int_equal(5, allowed);
  rl_registry_destroy(registry);
  rl_completion_queue_destroy(queue);
  worker_end(&worker);
}

static void a_queue_that_is_gone_drops_what_still_comes(void **state) {
  (void)state;
  static struct worker worker;
  worker_start(&worker);
  worker_set(&worker, 1, 0);
  const rl_storage storage = worker_storage(&worker);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  rl_completion_queue *queue = queue_of(0);
  for (uint64_t n = 0; n < 3; ++n) ask_into(queue, registry, "ann", n);
  rl_completion_queue_destroy(queue);
  worker_set(&worker, 0, 0);
  rl_registry_destroy(registry); /* waits for the three */
  worker_end(&worker);
  assert_int_equal(3, worker.map.writes);
}

struct sleeper {
  rl_completion_queue *queue;
  rl_status status;
  uint32_t count;
};

static void *sleep_in_drain(void *self) {
  struct sleeper *sleeper = self;
  struct batch batch;
  sleeper->status = drain(sleeper->queue, &batch, MANY, RL_WAIT_FOREVER);
  sleeper->count = batch.count;
  return NULL;
}

static void an_answer_wakes_who_waits_and_so_does_shutdown(void **state) {
  (void)state;
  pthread_t threads[3];
  struct sleeper sleepers[3];
  uint32_t taken = 0;
  rl_registry *registry = registry_of(ORDERS);
  rl_completion_queue *queue = queue_of(0);
  for (int i = 0; i < 3; ++i) {
    sleepers[i] = (struct sleeper){queue, RL_OK, 0};
    assert_int_equal(0, pthread_create(&threads[i], NULL, sleep_in_drain, &sleepers[i]));
  }
  ask_into(queue, registry, "ann", 1);
  ask_into(queue, registry, "ann", 2);
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(queue));
  for (int i = 0; i < 3; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(sleepers[i].count == 0 ? RL_E_CANCELLED : RL_OK, sleepers[i].status);
    taken += sleepers[i].count;
  }
  assert_int_equal(2, taken);
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

static void ring(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static void it_rings_when_an_answer_comes_to_an_empty_queue(void **state) {
  (void)state;
  struct batch batch;
  atomic_int rung = 0;
  rl_completion_queue *queue = NULL;
  rl_registry *registry = registry_of(ORDERS);
  assert_int_equal(RL_OK, rl_completion_queue_create(0, ring, &rung, &queue, NULL));
  for (uint64_t n = 0; n < 3; ++n) ask_into(queue, registry, "ann", n);
  assert_int_equal(1, rung);
  assert_int_equal(RL_OK, drain(queue, &batch, 2, 0));
  ask_into(queue, registry, "ann", 3);
  assert_int_equal(1, rung); /* it was not empty */
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 0));
  assert_int_equal(2, batch.count);
  ask_into(queue, registry, "ann", 4);
  assert_int_equal(2, rung);
  rl_completion_queue_destroy(queue);
  rl_registry_destroy(registry);
}

/* --- a server that never answers --- */

/* A URL of a socket that takes connections and says nothing. */
static int silent_server(char *url, size_t size) {
  struct sockaddr_in address = {0};
  socklen_t length = sizeof address;
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_true(server >= 0);
  assert_int_equal(0, bind(server, (struct sockaddr *)&address, sizeof address));
  assert_int_equal(0, listen(server, 16));
  assert_int_equal(0, getsockname(server, (struct sockaddr *)&address, &length));
  snprintf(url, size, "redis://127.0.0.1:%d?deadline_ms=60000", ntohs(address.sin_port));
  return server;
}

static void destroying_the_registry_cancels_what_is_on_the_way(void **state) {
  (void)state;
  if ((rl_features() & RL_FEATURE_REDIS) == 0) skip();
  struct batch batch;
  char url[128];
  const int server = silent_server(url, sizeof url);
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  rl_completion_queue *queue = queue_of(0);
  assert_int_equal(RL_OK, rl_config_use_redis(config, text(url), NULL));
  assert_int_equal(RL_OK, rl_config_set_secret(config, BYTES("sixteen bytes or more"), NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  for (uint64_t n = 0; n < 3; ++n) ask_into(queue, registry, "ann", n);
  rl_registry_destroy(registry);
  assert_int_equal(RL_OK, drain(queue, &batch, MANY, 0));
  assert_int_equal(3, batch.count);
  for (uint32_t i = 0; i < 3; ++i) assert_no_answer(&batch.answers[i], RL_E_CANCELLED);
  rl_completion_queue_destroy(queue);
  rl_config_destroy(config);
  close(server);
}

/* --- many threads --- */

#define ASKERS 4
#define DRAINERS 3
#define ASKS 2000

struct run {
  rl_registry *registry;
  rl_completion_queue *queue;
  atomic_int seen[ASKERS * ASKS];
  atomic_int next, refused, allowed, wrong;
};

static void *ask_often(void *self) {
  struct run *run = self;
  const rl_request request = request_of("ann", START);
  for (int n = 0; n < ASKS; ++n) {
    const uint64_t tag = (uint64_t)atomic_fetch_add(&run->next, 1);
    while (rl_allow_queued(run->registry, &request, run->queue, tag, NULL) != RL_OK) atomic_fetch_add(&run->refused, 1);
  }
  return NULL;
}

static void *drain_all(void *self) {
  struct run *run = self;
  struct batch batch;
  while (drain(run->queue, &batch, MANY, RL_WAIT_FOREVER) == RL_OK) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      atomic_fetch_add(&run->seen[batch.tags[i]], 1);
      if (batch.answers[i].status != RL_OK) atomic_fetch_add(&run->wrong, 1);
      atomic_fetch_add(&run->allowed, batch.answers[i].allowed);
    }
  }
  return NULL;
}

static void many_ask_and_many_drain(const rl_storage *storage, uint32_t capacity) {
  static struct run run;
  pthread_t askers[ASKERS];
  pthread_t drainers[DRAINERS];
  memset(&run, 0, sizeof run);
  run.registry = storage == NULL ? registry_of(ORDERS) : registry_on(storage, ORDERS, 0);
  run.queue = queue_of(capacity);
  for (int i = 0; i < DRAINERS; ++i) assert_int_equal(0, pthread_create(&drainers[i], NULL, drain_all, &run));
  for (int i = 0; i < ASKERS; ++i) assert_int_equal(0, pthread_create(&askers[i], NULL, ask_often, &run));
  for (int i = 0; i < ASKERS; ++i) pthread_join(askers[i], NULL);
  assert_int_equal(RL_OK, rl_completion_queue_shutdown(run.queue));
  for (int i = 0; i < DRAINERS; ++i) pthread_join(drainers[i], NULL);
  for (int n = 0; n < ASKERS * ASKS; ++n) assert_int_equal(1, run.seen[n]);
  assert_int_equal(5, run.allowed);
  assert_int_equal(0, run.wrong);
  rl_registry_destroy(run.registry);
  rl_completion_queue_destroy(run.queue);
}

static void many_threads_on_the_embedded_store(void **state) {
  (void)state;
  many_ask_and_many_drain(NULL, 0);
  many_ask_and_many_drain(NULL, 1);
}

static void many_threads_on_a_storage_that_takes_its_time(void **state) {
  (void)state;
  static struct worker worker;
  worker_start(&worker);
  const rl_storage storage = worker_storage(&worker);
  many_ask_and_many_drain(&storage, 100);
  worker_end(&worker);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_embedded_store_answers_at_once),
      cmocka_unit_test(what_is_refused_leaves_nothing_behind),
      cmocka_unit_test(a_full_queue_refuses_until_it_is_drained),
      cmocka_unit_test(shutdown_lets_what_was_asked_come),
      cmocka_unit_test(decisions_of_another_size),
      cmocka_unit_test(another_thread_answers),
      cmocka_unit_test(a_queue_that_is_gone_drops_what_still_comes),
      cmocka_unit_test(an_answer_wakes_who_waits_and_so_does_shutdown),
      cmocka_unit_test(it_rings_when_an_answer_comes_to_an_empty_queue),
      cmocka_unit_test(destroying_the_registry_cancels_what_is_on_the_way),
      cmocka_unit_test(many_threads_on_the_embedded_store),
      cmocka_unit_test(many_threads_on_a_storage_that_takes_its_time),
  };
  return cmocka_run_group_tests_name("completion_queue", tests, NULL, NULL);
}
