#include "worker_store.h"

static void *work(void *self) {
  struct worker *worker = self;
  pthread_mutex_lock(&worker->mutex);
  for (;;) {
    while (!worker->ending && (worker->held || worker->head == worker->tail))
      pthread_cond_wait(&worker->changed, &worker->mutex);
    if (worker->head == worker->tail) break;
    const struct pending next = worker->queue[worker->head++ % WORKER_QUEUE];
    const rl_status instead = worker->finish_with;
    pthread_mutex_unlock(&worker->mutex);
    rl_completion_finish(next.done,
                         instead != RL_OK ? instead : map_apply(&worker->map, next.op, next.cells, next.count));
    pthread_mutex_lock(&worker->mutex);
  }
  pthread_mutex_unlock(&worker->mutex);
  return NULL;
}

static rl_status worker_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct worker *worker = self;
  pthread_mutex_lock(&worker->mutex);
  worker->asked_now++;
  pthread_mutex_unlock(&worker->mutex);
  return worker->later_only ? RL_E_STORE : map_apply(&worker->map, op, cells, count);
}

static rl_status worker_apply_async(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  struct worker *worker = self;
  pthread_mutex_lock(&worker->mutex);
  const struct pending next = {op, cells, count, done};
  worker->queue[worker->tail++ % WORKER_QUEUE] = next;
  worker->last_done = done;
  pthread_cond_signal(&worker->changed);
  pthread_mutex_unlock(&worker->mutex);
  return RL_OK;
}

void worker_start(struct worker *worker) {
  memset(worker, 0, sizeof *worker);
  map_init(&worker->map);
  pthread_mutex_init(&worker->mutex, NULL);
  pthread_cond_init(&worker->changed, NULL);
  assert_int_equal(0, pthread_create(&worker->thread, NULL, work, worker));
}

void worker_set(struct worker *worker, int held, int ending) {
  pthread_mutex_lock(&worker->mutex);
  worker->held = held;
  worker->ending = ending;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->mutex);
}

void worker_finish_with(struct worker *worker, rl_status status) {
  pthread_mutex_lock(&worker->mutex);
  worker->finish_with = status;
  pthread_mutex_unlock(&worker->mutex);
}

void worker_end(struct worker *worker) {
  worker_set(worker, 0, 1);
  pthread_join(worker->thread, NULL);
}

rl_storage worker_storage(struct worker *worker) {
  rl_storage storage = {sizeof storage, 0, worker, worker_apply, worker_apply_async, NULL, NULL, NULL, NULL};
  return storage;
}
