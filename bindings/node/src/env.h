/* What one JavaScript environment (the main thread, a worker) has of its own. Nothing is shared between environments.
 */
#ifndef RATEL_NODE_ENV_H
#define RATEL_NODE_ENV_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <pthread.h>

#include "frame.h"

typedef struct rn_env rn_env;
typedef struct rn_call rn_call;

/** The engine takes structs that are aligned to 8 bytes; rl_error has no member that asks for it. */
typedef rl_error rn_error __attribute__((aligned(8)));

/** A rule set in force. Lives until it is closed and nothing that was begun on it is left. */
typedef struct rn_limiter {
  rl_registry *registry;
  struct rn_host *host; /* what JavaScript supplies to it; NULL: nothing */
  uint32_t users;       /* calls that have not ended. It ends when it is closed and they are over */
  uint32_t remote_asked; /* decisions that a network has still to answer */
  bool closed;
  bool holds;  /* keeps the process alive: an answer will come that nothing of JavaScript's waits for */
  rn_call *jobs; /* of its thread: first in, first out */
  rn_call **jobs_end;
  uint32_t job_count;   /* with the one that is being done */
  uint32_t lent;        /* duties of its thread that are JavaScript's to end */
  bool worker_runs;
  bool worker_ends;
  pthread_t worker;
  bool hosted; /* may call back into JavaScript while it decides: a clock, a log or a storage of the host's */
  bool remote; /* waits for a network */
} rn_limiter;

/** One duty of a storage under way: what lib/host.js refers to by its place. [0] is none. */
typedef struct rn_op {
  bool taken;
  rl_op *op; /* NULL: one of the small duties */
  rl_cell *cells;
  uint32_t count;
  rl_completion *done;    /* of apply_async */
  rn_limiter *limiter;    /* likewise: whom it keeps, as no call of JavaScript's may stand behind it. NULL: nobody */
  struct rn_wait *waiter; /* of an apply on a thread that waits */
  struct rn_held *held;   /* states that were lent to the engine */
} rn_op;

/* What lib/host.js is asked for. */
enum { RN_NOW, RN_LOG, RN_APPLY, RN_APPLY_ASYNC, RN_FORGET, RN_SWEEP, RN_COUNT, RN_DECIDED, RN_DONE, RN_END };

struct rn_env {
  napi_env env;
  const void *thread; /* the address of a thread-local: who has it is on this environment's thread */
  napi_ref dispatch;  /* (kind, id, ...) => what was asked for */
  napi_ref frame_ref;
  rn_frame frame;
  napi_threadsafe_function events; /* unreferenced, but while a limiter holds the process */
  uint32_t holders;
  rl_completion_queue *queue; /* of answers that come later */
  bool rung;                  /* some came on this environment's thread */

  rn_error error;    /* of the last call that failed */
  rl_config *config; /* being built */
  struct rn_host *config_host;
  bool config_hosted;
  bool config_remote;

  rn_limiter **limiters; /* [0] is nobody */
  uint32_t limiter_count;
  bool ending; /* some are closed */
  rn_op *ops;
  uint32_t op_count;

  pthread_mutex_t mutex; /* dead, every limiter's jobs and worker_ends, and every rn_wait */
  pthread_cond_t changed;
  bool dead;
};

bool rn_on_thread(const rn_env *e);
rn_env *rn_env_of(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv);

/** The limiter that the frame's header names; NULL, and the failure is told, when it is closed. */
rn_limiter *rn_limiter_of(rn_env *e);
uint32_t rn_limiter_add(rn_env *e, rn_limiter *limiter); /* 0: no memory */
/** Keeps the process alive, or no longer: to be called when what it depends on has changed. */
void rn_limiter_hold(rn_env *e, rn_limiter *limiter);
/** Ends those that are closed and unused. Not while the engine is in a call on one that is not counted in `users`. */
void rn_limiters_sweep(rn_env *e);

/** Sets the frame's status and, unless it is RL_OK, what rn_failure tells. */
void rn_status(rn_env *e, rl_status status);
void rn_fail(rn_env *e, rl_status status, const char *message);

/** Calls dispatch; NULL when it threw (lib/host.js does not) or the environment is going down. */
napi_value rn_dispatch(rn_env *e, size_t argc, napi_value *argv);
napi_value rn_number(rn_env *e, double number);
napi_value rn_text(rn_env *e, const char *text, uint64_t size);
bool rn_bytes(rn_env *e, napi_value value, rl_str *out); /* of an Uint8Array; borrowed */

/* config.c */
napi_value rn_config_begin(napi_env, napi_callback_info);
napi_value rn_config_end(napi_env, napi_callback_info);
napi_value rn_config_file(napi_env, napi_callback_info);
napi_value rn_config_text(napi_env, napi_callback_info);
napi_value rn_config_memory(napi_env, napi_callback_info);
napi_value rn_config_redis(napi_env, napi_callback_info);
napi_value rn_config_secret(napi_env, napi_callback_info);
napi_value rn_config_region(napi_env, napi_callback_info);
napi_value rn_config_readable(napi_env, napi_callback_info);
napi_value rn_config_host(napi_env, napi_callback_info);
napi_value rn_config_fault(napi_env, napi_callback_info);
napi_value rn_create(napi_env, napi_callback_info);
napi_value rn_reload(napi_env, napi_callback_info);
napi_value rn_reload_file(napi_env, napi_callback_info);
napi_value rn_watch(napi_env, napi_callback_info);
napi_value rn_watch_redis(napi_env, napi_callback_info);
napi_value rn_close(napi_env, napi_callback_info);

/* decide.c */
napi_value rn_allow(napi_env, napi_callback_info);
napi_value rn_allow_rule(napi_env, napi_callback_info);
napi_value rn_allow_async(napi_env, napi_callback_info);
napi_value rn_allow_http(napi_env, napi_callback_info);
void rn_ring(void *e); /* the queue's wake */
void rn_drain(rn_env *e);

/* call.c */
enum {
  RN_CALL_MANY,
  RN_CALL_PEEK,
  RN_CALL_SETTLE,
  RN_CALL_RESET,
  RN_CALL_EXPLAIN,
  RN_CALL_HEADERS,
  RN_CALL_PROBLEM,
  RN_CALL_CLIENT_IP,
  RN_CALL_DIFF,
  RN_CALL_METRICS,
  RN_CALL_RULE_METRICS,
  RN_CALL_PROMETHEUS,
  RN_CALL_KEY_COUNT,
  RN_CALL_EVICT_IDLE
};
napi_value rn_call_now(napi_env, napi_callback_info);
napi_value rn_call_later(napi_env, napi_callback_info);
void rn_call_done(rn_env *e, rn_call *call);
void rn_call_free(rn_call *call);
/** Takes back what the limiter's thread has not begun. */
void rn_jobs_drop(rn_env *e, rn_limiter *limiter);
/** Ends the limiter's thread; waits for the job that it is doing. */
void rn_worker_end(rn_env *e, rn_limiter *limiter);

/* tell.c */
napi_value rn_rules(napi_env, napi_callback_info);
napi_value rn_rule_id(napi_env, napi_callback_info);
napi_value rn_rule_name_of(napi_env, napi_callback_info);
napi_value rn_limit_name_of(napi_env, napi_callback_info);
napi_value rn_generation(napi_env, napi_callback_info);
napi_value rn_failure(napi_env, napi_callback_info);
napi_value rn_about(napi_env, napi_callback_info);
napi_value rn_status_name_of(napi_env, napi_callback_info);
napi_value rn_error_value(rn_env *e, const rl_error *error);
/** Why a request was refused by a call that has no message of its own. */
void rn_refusal(rl_registry *registry, const rl_request *request, rl_status status, rl_error *out);

/* host.c */
/** What is posted to the environment's thread. */
enum { RN_EVENT_LOG, RN_EVENT_WAIT, RN_EVENT_DRAIN, RN_EVENT_CALL };
typedef struct rn_event {
  int kind;
  void *what;
} rn_event;
/** False when the environment is going down; `what` is still the caller's then. */
bool rn_post(rn_env *e, int kind, void *what);
void rn_events_run(napi_env env, napi_value function, void *context, void *data);
void rn_host_serves(struct rn_host *host, rn_limiter *limiter);
napi_value rn_step(napi_env, napi_callback_info);
napi_value rn_finish(napi_env, napi_callback_info);
/** Ends every apply that waits for JavaScript: there will be no more of it. */
void rn_ops_abandon(rn_env *e);

#endif
