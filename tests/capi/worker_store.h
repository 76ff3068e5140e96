/* A storage that finishes later, on a thread of its own. */
#ifndef RATEL_TESTS_CAPI_WORKER_STORE_H
#define RATEL_TESTS_CAPI_WORKER_STORE_H

#include "map_store.h"

#define WORKER_QUEUE 4096

struct pending {
  rl_op *op;
  rl_cell *cells;
  uint32_t count;
  rl_completion *done;
};

/* The map of map_store.h behind a queue and a thread that works it off. */
struct worker {
  struct map_store map;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  struct pending queue[WORKER_QUEUE];
  uint64_t head, tail;
  int held; /* the thread waits */
  int ending;
  int later_only;        /* apply cannot answer */
  uint64_t asked_now;    /* by apply */
  rl_status finish_with; /* other than RL_OK: in place of doing it */
  rl_completion *last_done;
};

void worker_start(struct worker *worker);
void worker_set(struct worker *worker, int held, int ending);
void worker_finish_with(struct worker *worker, rl_status status);
void worker_end(struct worker *worker);
rl_storage worker_storage(struct worker *worker);

#endif
