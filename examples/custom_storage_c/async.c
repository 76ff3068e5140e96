/* The same storage behind a thread of its own, as a server over the network would be: apply_async hands the work over
 * and returns, the thread ends it. */
#include <pthread.h>
#include <stdbool.h>

#include "check.h"
#include "map_storage.h"

#define NOW (UINT64_C(1800000000) * UINT64_C(1000000000))

typedef struct job {
  struct job *next;
  rl_op *op;
  rl_cell *cells;
  uint32_t count;
  rl_completion *done;
} job;

typedef struct server {
  map_storage *map;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t work;
  job *first;
  job **last;
  bool stopping;
} server;

static job *take(server *self) {
  pthread_mutex_lock(&self->mutex);
  while (!self->first && !self->stopping) pthread_cond_wait(&self->work, &self->mutex);
  job *taken = self->first;
  if (taken) self->first = taken->next;
  if (!self->first) self->last = &self->first;
  pthread_mutex_unlock(&self->mutex);
  return taken;
}

static void *serve(void *argument) {
  server *self = argument;
  for (job *next = take(self); next; next = take(self)) {
    const rl_status status = map_storage_apply(self->map, next->op, next->cells, next->count);
    rl_completion_finish(next->done, status);
    free(next);
  }
  return NULL;
}

static rl_status apply(void *argument, rl_op *op, rl_cell *cells, uint32_t count) {
  server *self = argument;
  return map_storage_apply(self->map, op, cells, count);
}

/* A negative status says that nothing was begun: `done` is then not ours to finish. */
static rl_status apply_async(void *argument, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  server *self = argument;
  job *added = malloc(sizeof *added);
  if (!added) return RL_E_NO_MEMORY;
  *added = (job){NULL, op, cells, count, done};
  pthread_mutex_lock(&self->mutex);
  *self->last = added;
  self->last = &added->next;
  pthread_cond_signal(&self->work);
  pthread_mutex_unlock(&self->mutex);
  return RL_OK;
}

static void destroy(void *argument) {
  server *self = argument;
  pthread_mutex_lock(&self->mutex);
  self->stopping = true;
  pthread_cond_signal(&self->work);
  pthread_mutex_unlock(&self->mutex);
  pthread_join(self->thread, NULL);
  map_storage_destroy(self->map);
  pthread_cond_destroy(&self->work);
  pthread_mutex_destroy(&self->mutex);
}

static uint64_t read_now(void) { return NOW; }
static uint64_t clock_now(void *self) {
  (void)self;
  return NOW;
}

/* Counts answers; on the server's thread. */
typedef struct tally {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int answers, allowed, failed;
} tally;

static void count(void *user, const rl_decision *decision) {
  tally *sum = user;
  pthread_mutex_lock(&sum->mutex);
  sum->answers++;
  sum->allowed += decision->allowed;
  sum->failed += decision->status != RL_OK;
  pthread_cond_signal(&sum->changed);
  pthread_mutex_unlock(&sum->mutex);
}

int main(void) {
  server self = {0};
  self.last = &self.first;
  self.map = map_storage_create(read_now);
  CHECK(self.map != NULL);
  pthread_mutex_init(&self.mutex, NULL);
  pthread_cond_init(&self.work, NULL);
  CHECK(pthread_create(&self.thread, NULL, serve, &self) == 0);

  rl_storage storage = {0};
  storage.struct_size = sizeof storage;
  storage.self = &self;
  storage.apply = apply;
  storage.apply_async = apply_async;
  storage.destroy = destroy;
  const rl_clock clock = {sizeof clock, 0, NULL, clock_now, NULL};
  rl_registry *registry = start(
      "{version: 1, rules: [{name: orders, path: /orders, scope: user, algorithm: sliding_log, limit: 5, window: 1m}]}",
      &storage, &clock);

  tally sum = {.answers = 0};
  pthread_mutex_init(&sum.mutex, NULL);
  pthread_cond_init(&sum.changed, NULL);
  for (int i = 0; i < 100; ++i) {
    rl_request request = RL_REQUEST_INIT;
    request.path = text("/orders");
    request.user = text("alice");
    CHECK(rl_allow_async(registry, &request, count, &sum, NULL) == RL_OK);
  }
  pthread_mutex_lock(&sum.mutex);
  while (sum.answers < 100) pthread_cond_wait(&sum.changed, &sum.mutex);
  pthread_mutex_unlock(&sum.mutex);
  printf("100 requests: %d answers, %d allowed, %d failed\n", sum.answers, sum.allowed, sum.failed);
  CHECK(sum.allowed == 5 && sum.failed == 0);

  /* Destroyed with requests under way: each is still answered, here by the storage, which finishes what it has begun.
   */
  for (int i = 0; i < 100; ++i) {
    rl_request request = RL_REQUEST_INIT;
    request.path = text("/orders");
    request.user = text("bob");
    CHECK(rl_allow_async(registry, &request, count, &sum, NULL) == RL_OK);
  }
  rl_registry_destroy(registry);
  printf("destroyed with work under way: %d answers in all\n", sum.answers);
  CHECK(sum.answers == 200);
  pthread_cond_destroy(&sum.changed);
  pthread_mutex_destroy(&sum.mutex);
  return 0;
}
