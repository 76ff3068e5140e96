/* What JavaScript supplies to the engine: a clock, a log, a storage. On JavaScript's thread it is called directly. From
 * any other thread a clock and a storage are asked through an event, and that thread waits; a log is told, and nobody
 * waits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"

/* One for all that a limiter supplies; the engine lets go of each of its tables once. */
typedef struct rn_host {
  rn_env *e;
  rn_limiter *limiter; /* that it serves; NULL: none yet */
  uint32_t id;
  uint32_t tables;
} rn_host;

void rn_host_serves(rn_host *host, rn_limiter *limiter) {
  if (host) host->limiter = limiter;
}

struct rn_held {
  struct rn_held *next;
};

typedef struct rn_wait {
  int kind;
  rn_host *host;
  rl_op *op;
  rl_cell *cells;
  uint32_t count;
  rl_str key;
  uint64_t cutoff_ns;
  double number;
  rl_status status;
  bool done;
  bool abandoned; /* nobody waits any more: whoever holds it frees it */
} rn_wait;

typedef struct rn_line {
  uint32_t host;
  int32_t level;
  uint64_t size;
  char text[];
} rn_line;

napi_value rn_number(rn_env *e, double number) {
  napi_value value = NULL;
  napi_create_double(e->env, number, &value);
  return value;
}

napi_value rn_text(rn_env *e, const char *text, uint64_t size) {
  napi_value value = NULL;
  napi_create_string_utf8(e->env, text ? text : "", size, &value);
  return value;
}

bool rn_bytes(rn_env *e, napi_value value, rl_str *out) {
  void *data = NULL;
  size_t size = 0;
  napi_typedarray_type type;
  if (napi_get_typedarray_info(e->env, value, &type, &size, &data, NULL, NULL) != napi_ok) return false;
  *out = (rl_str){size ? data : NULL, size};
  return type == napi_uint8_array;
}

napi_value rn_dispatch(rn_env *e, size_t argc, napi_value *argv) {
  napi_value function = NULL, result = NULL, nothing = NULL;
  if (e->dead || !e->dispatch || napi_get_reference_value(e->env, e->dispatch, &function) != napi_ok) return NULL;
  napi_get_undefined(e->env, &nothing);
  if (napi_call_function(e->env, nothing, function, argc, argv, &result) == napi_ok) return result;
  napi_get_and_clear_last_exception(e->env, &result);
  return NULL;
}

/* It carries nothing, and may not fail for lack of memory: the queue rings once. */
static rn_event drain_event = {RN_EVENT_DRAIN, NULL};

static void event_free(rn_event *event) {
  if (event != &drain_event) free(event);
}

bool rn_post(rn_env *e, int kind, void *what) {
  rn_event *event = kind == RN_EVENT_DRAIN ? &drain_event : malloc(sizeof *event);
  if (!event) return false;
  if (kind != RN_EVENT_DRAIN) *event = (rn_event){kind, what};
  pthread_mutex_lock(&e->mutex);
  const bool posted = !e->dead && napi_call_threadsafe_function(e->events, event, napi_tsfn_nonblocking) == napi_ok;
  pthread_mutex_unlock(&e->mutex);
  if (!posted) event_free(event);
  return posted;
}

/* ---- duties ---- */

static uint32_t op_add(rn_env *e, rn_op op) {
  op.taken = true;
  for (uint32_t i = 1; i < e->op_count; ++i) {
    if (e->ops[i].taken) continue;
    e->ops[i] = op;
    return i;
  }
  const uint32_t count = e->op_count ? e->op_count * 2 : 16;
  rn_op *more = realloc(e->ops, count * sizeof *more);
  if (!more) return 0;
  memset(more + e->op_count, 0, (count - e->op_count) * sizeof *more);
  const uint32_t slot = e->op_count ? e->op_count : 1;
  e->ops = more;
  e->op_count = count;
  more[slot] = op;
  return slot;
}

static rn_op op_take(rn_env *e, uint32_t slot) {
  const rn_op op = e->ops[slot];
  e->ops[slot] = (rn_op){0};
  return op;
}

static void held_free(struct rn_held *held) {
  while (held) {
    struct rn_held *next = held->next;
    free(held);
    held = next;
  }
}

static void wait_end(rn_env *e, rn_wait *wait, rl_status status, double number) {
  pthread_mutex_lock(&e->mutex);
  wait->status = status;
  wait->number = number;
  wait->done = true;
  const bool mine = wait->abandoned;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->mutex);
  if (mine) free(wait);
}

/* What the thread of a limiter waits for is JavaScript's to end, or no longer. */
static void lent(rn_env *e, rn_limiter *limiter, bool given) {
  if (!limiter) return;
  limiter->lent += given ? 1 : UINT32_MAX;
  rn_limiter_hold(e, limiter);
}

/* The end of what began with a slot: whoever waits, or the engine, hears of it. */
static void op_end(rn_env *e, uint32_t slot, rl_status status, double number) {
  const rn_op op = op_take(e, slot);
  if (op.waiter) lent(e, op.waiter->host->limiter, false);
  if (op.done) rl_completion_finish(op.done, status);
  if (op.limiter) op.limiter->users--;
  if (op.waiter) wait_end(e, op.waiter, status, number);
  /* A thread that waited for it still reads the new states, but those are the engine's; ours have been read by rl_step.
   */
  held_free(op.held);
}

void rn_ops_abandon(rn_env *e) {
  for (uint32_t slot = 1; slot < e->op_count; ++slot) {
    if (e->ops[slot].taken && (e->ops[slot].done || e->ops[slot].waiter)) op_end(e, slot, RL_E_STORE, 0);
  }
}

/* The names of the states, for lib/host.js. */
static napi_value keys_of(rn_env *e, const rl_cell *cells, uint32_t count) {
  napi_value keys;
  if (napi_create_array_with_length(e->env, count, &keys) != napi_ok) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    napi_value key;
    if (napi_create_string_latin1(e->env, cells[i].key.data, cells[i].key.size, &key) != napi_ok) return NULL;
    napi_set_element(e->env, keys, i, key);
  }
  return keys;
}

/* The number that dispatch gave; NaN when it gave none. */
static double told(rn_env *e, napi_value value) {
  double number = NAN;
  if (!value || napi_get_value_double(e->env, value, &number) != napi_ok) return NAN;
  return number;
}

/* Calls lib/host.js here and now. A duty of a storage has a slot (0: it is answered at once, by a number that is
 * negative for a failure). */
static double ask(rn_env *e, int kind, uint32_t host, uint32_t slot, const rn_wait *about) {
  double number = NAN;
  napi_handle_scope scope;
  if (e->dead || napi_open_handle_scope(e->env, &scope) != napi_ok) return NAN;
  napi_value argv[4] = {rn_number(e, kind), rn_number(e, host), rn_number(e, slot), NULL};
  switch (kind) {
    case RN_APPLY:
    case RN_APPLY_ASYNC:
      argv[3] = keys_of(e, about->cells, about->count);
      break;
    case RN_FORGET:
      argv[3] = rn_text(e, about->key.data, about->key.size);
      break;
    case RN_SWEEP:
      argv[3] = rn_number(e, (double)(about->cutoff_ns / 1000));
      break;
    default:
      argv[3] = rn_number(e, 0);
      break;
  }
  if (argv[3]) number = told(e, rn_dispatch(e, 4, argv));
  napi_close_handle_scope(e->env, scope);
  return number;
}

/* The other thread's question, on JavaScript's thread. */
static void run_wait(rn_env *e, rn_wait *wait) {
  if (wait->kind == RN_NOW) {
    wait_end(e, wait, RL_OK, ask(e, RN_NOW, wait->host->id, 0, wait));
    return;
  }
  rn_limiter *limiter = wait->host->limiter;
  const bool over = limiter && limiter->closed;
  const rn_op op = {.op = wait->op, .cells = wait->cells, .count = wait->count, .waiter = wait};
  const uint32_t slot = over ? 0 : op_add(e, op);
  if (slot == 0) {
    wait_end(e, wait, RL_E_STORE, 0);
    return;
  }
  lent(e, limiter, true);
  if (isnan(ask(e, wait->kind, wait->host->id, slot, wait))) op_end(e, slot, RL_E_STORE, 0);
}

static rl_status wait_for(rn_env *e, const rn_wait *question, double *number) {
  rn_wait *wait = malloc(sizeof *wait);
  if (!wait) return RL_E_STORE;
  *wait = *question;
  if (!rn_post(e, RN_EVENT_WAIT, wait)) {
    free(wait);
    return RL_E_STORE;
  }
  pthread_mutex_lock(&e->mutex);
  while (!wait->done && !e->dead) pthread_cond_wait(&e->changed, &e->mutex);
  const bool done = wait->done;
  const rl_status status = done ? wait->status : RL_E_STORE;
  if (number) *number = done ? wait->number : NAN;
  wait->abandoned = !done;
  pthread_mutex_unlock(&e->mutex);
  if (done) free(wait);
  return status;
}

static uint64_t clock_now(void *self) {
  rn_host *host = self;
  const rn_wait question = {.kind = RN_NOW, .host = host};
  double us = NAN;
  if (rn_on_thread(host->e)) {
    us = ask(host->e, RN_NOW, host->id, 0, &question);
  } else {
    wait_for(host->e, &question, &us);
  }
  return rn_nanoseconds(us);
}

static rl_status storage_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  rn_host *host = self;
  rn_env *e = host->e;
  rn_wait question = {.kind = RN_APPLY_ASYNC, .host = host, .op = op, .cells = cells, .count = count};
  if (!rn_on_thread(e)) return wait_for(e, &question, NULL);
  const uint32_t slot = op_add(e, (rn_op){.op = op, .cells = cells, .count = count});
  if (slot == 0) return RL_E_STORE;
  const double status = ask(e, RN_APPLY, host->id, slot, &question);
  held_free(op_take(e, slot).held);
  return status == 0 ? RL_OK : RL_E_STORE;
}

static rl_status storage_apply_async(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  rn_host *host = self;
  rn_env *e = host->e;
  const rn_wait question = {.kind = RN_APPLY_ASYNC, .host = host, .op = op, .cells = cells, .count = count};
  if (!rn_on_thread(e)) {
    rl_completion_finish(done, wait_for(e, &question, NULL));
    return RL_OK;
  }
  rn_limiter *limiter = host->limiter;
  const uint32_t slot =
      op_add(e, (rn_op){.op = op, .cells = cells, .count = count, .done = done, .limiter = limiter});
  if (slot == 0) return RL_E_STORE;
  if (limiter) limiter->users++;
  if (!isnan(ask(e, RN_APPLY_ASYNC, host->id, slot, &question))) return RL_OK;
  if (limiter) limiter->users--;
  held_free(op_take(e, slot).held);
  return RL_E_STORE;
}

/* A duty that is answered by a number: how many, or that it is done. */
static rl_status duty(rn_host *host, const rn_wait *question, uint64_t *out) {
  double number = NAN;
  rl_status status = RL_OK;
  if (rn_on_thread(host->e)) {
    number = ask(host->e, question->kind, host->id, 0, question);
  } else {
    status = wait_for(host->e, question, &number);
  }
  if (status != RL_OK || !(number >= 0) || number > 9007199254740991.0) return RL_E_STORE;
  if (out) *out = (uint64_t)number;
  return RL_OK;
}

static rl_status storage_forget(void *self, rl_str key) {
  const rn_wait question = {.kind = RN_FORGET, .host = self, .key = key};
  return duty(self, &question, NULL);
}

static rl_status storage_sweep(void *self, uint64_t cutoff_ns, uint64_t *dropped) {
  const rn_wait question = {.kind = RN_SWEEP, .host = self, .cutoff_ns = cutoff_ns};
  return duty(self, &question, dropped);
}

static rl_status storage_count(void *self, uint64_t *keys) {
  const rn_wait question = {.kind = RN_COUNT, .host = self};
  return duty(self, &question, keys);
}

static void tell(rn_env *e, uint32_t host, int32_t level, const char *text, uint64_t size) {
  napi_handle_scope scope;
  if (e->dead || napi_open_handle_scope(e->env, &scope) != napi_ok) return;
  napi_value argv[4] = {rn_number(e, RN_LOG), rn_number(e, host), rn_number(e, level), rn_text(e, text, size)};
  if (argv[3]) rn_dispatch(e, 4, argv);
  napi_close_handle_scope(e->env, scope);
}

static void log_write(void *self, int32_t level, const char *text, uint64_t size) {
  rn_host *host = self;
  if (rn_on_thread(host->e)) {
    tell(host->e, host->id, level, text, size);
    return;
  }
  rn_line *line = malloc(sizeof *line + size);
  if (!line) return;
  *line = (rn_line){host->id, level, size};
  memcpy(line->text, text, size);
  if (!rn_post(host->e, RN_EVENT_LOG, line)) free(line);
}

static void table_destroy(void *self) {
  rn_host *host = self;
  if (--host->tables > 0) return;
  if (rn_on_thread(host->e)) ask(host->e, RN_END, host->id, 0, NULL);
  free(host);
}

/* configHost(id, clock, log, apply, applyAsync, forget, sweep, count): what there is of each. */
napi_value rn_config_host(napi_env env, napi_callback_info info) {
  size_t argc = 8;
  napi_value argv[8];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  bool has[8] = {false};
  uint32_t id = 0;
  napi_get_value_uint32(env, argv[0], &id);
  for (size_t i = 1; i < argc; ++i) napi_get_value_bool(env, argv[i], &has[i]);
  rn_host *host = calloc(1, sizeof *host);
  if (!host) {
    rn_fail(e, RL_E_NO_MEMORY, "no memory for the host's callbacks");
    return NULL;
  }
  *host = (rn_host){.e = e, .id = id, .tables = 1};
  rn_error error = RL_ERROR_INIT;
  rl_status status = RL_OK;
  if (has[1]) {
    const rl_clock clock = {sizeof clock, 0, host, clock_now, table_destroy};
    status = rl_config_set_clock(e->config, &clock, &error);
    if (status == RL_OK) host->tables++;
  }
  if (has[2] && status == RL_OK) {
    const rl_log log = {sizeof log, 0, host, log_write, table_destroy};
    status = rl_config_set_log(e->config, &log, &error);
    if (status == RL_OK) host->tables++;
  }
  if ((has[3] || has[4]) && status == RL_OK) {
    rl_storage storage = {sizeof storage, 0, host, storage_apply, NULL, NULL, NULL, NULL, table_destroy};
    if (has[4]) storage.apply_async = storage_apply_async;
    if (has[5]) storage.forget = storage_forget;
    if (has[6]) storage.sweep = storage_sweep;
    if (has[7]) storage.count = storage_count;
    status = rl_config_set_storage(e->config, &storage, &error);
    if (status == RL_OK) host->tables++;
  }
  e->config_hosted = true;
  e->config_host = host->tables > 1 ? host : NULL;
  table_destroy(host);
  if (status != RL_OK) e->error = error;
  rn_status(e, status);
  return NULL;
}

/* ---- the arithmetic ---- */

/* The states that JavaScript has read, copied to where they stay until the duty ends. */
static bool lend(rn_env *e, uint32_t slot, napi_value states) {
  rn_op *op = &e->ops[slot];
  for (uint32_t i = 0; i < op->count; ++i) {
    napi_value value;
    rl_str bytes;
    napi_valuetype type = napi_undefined;
    if (napi_get_element(e->env, states, i, &value) != napi_ok || napi_typeof(e->env, value, &type) != napi_ok)
      return false;
    op->cells[i].state = NULL;
    op->cells[i].state_size = 0;
    if (type == napi_undefined || type == napi_null) continue;
    if (!rn_bytes(e, value, &bytes)) return false;
    struct rn_held *held = malloc(sizeof *held + bytes.size);
    if (!held) return false;
    held->next = op->held;
    op->held = held;
    if (bytes.size) memcpy(held + 1, bytes.data, bytes.size);
    op->cells[i].state = held + 1;
    op->cells[i].state_size = bytes.size;
  }
  return true;
}

/* step(slot, states): [write, state, ttl in microseconds] for each cell in a row, or a status. */
napi_value rn_step(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2], out, value;
  rn_env *e = rn_env_of(env, info, &argc, argv);
  uint32_t slot = 0;
  napi_get_value_uint32(env, argv[0], &slot);
  if (slot == 0 || slot >= e->op_count || !e->ops[slot].op) return rn_number(e, RL_E_STATE);
  if (!lend(e, slot, argv[1])) return rn_number(e, RL_E_INVALID_ARGUMENT);
  const rn_op op = e->ops[slot];
  const rl_status status = rl_step(op.op, op.cells, op.count);
  if (status != RL_OK) return rn_number(e, status);
  if (napi_create_array_with_length(env, (size_t)op.count * 3, &out) != napi_ok) return NULL;
  for (uint32_t i = 0; i < op.count; ++i) {
    const rl_cell *cell = &op.cells[i];
    napi_get_boolean(env, cell->write == 1, &value);
    napi_set_element(env, out, i * 3, value);
    if (cell->write == 1 && cell->new_size > 0) {
      if (napi_create_buffer_copy(env, cell->new_size, cell->new_state, NULL, &value) != napi_ok) return NULL;
      napi_set_element(env, out, i * 3 + 1, value);
    }
    napi_set_element(env, out, i * 3 + 2, rn_number(e, (double)(cell->ttl_ns / 1000)));
  }
  return out;
}

/* finish(slot, status, number): ends a duty that was not answered at once. */
napi_value rn_finish(napi_env env, napi_callback_info info) {
  size_t argc = 3;
  napi_value argv[3];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  uint32_t slot = 0;
  int32_t status = RL_E_STORE;
  double number = 0;
  napi_get_value_uint32(env, argv[0], &slot);
  napi_get_value_int32(env, argv[1], &status);
  napi_get_value_double(env, argv[2], &number);
  if (slot > 0 && slot < e->op_count && e->ops[slot].taken) op_end(e, slot, status, number);
  if (e->rung) rn_drain(e);
  rn_limiters_sweep(e);
  return NULL;
}

/* ---- events ---- */

/* What was posted and not taken is only freed: nobody waits for it any more, and the environment is gone or going. */
static void event_drop(const rn_event *event) {
  if (event->kind == RN_EVENT_CALL) {
    rn_call_free(event->what);
  } else {
    free(event->what);
  }
}

void rn_events_run(napi_env env, napi_value function, void *context, void *data) {
  (void)function;
  const rn_event event = *(rn_event *)data;
  event_free(data);
  rn_env *e = context; /* node may have released it already when there is no env */
  if (!env || e->dead) {
    event_drop(&event);
    return;
  }
  switch (event.kind) {
    case RN_EVENT_LOG: {
      rn_line *line = event.what;
      tell(e, line->host, line->level, line->text, line->size);
      free(line);
      break;
    }
    case RN_EVENT_WAIT:
      run_wait(e, event.what);
      break;
    case RN_EVENT_DRAIN:
      rn_drain(e);
      break;
    default:
      rn_call_done(e, event.what);
      break;
  }
  if (e->rung) rn_drain(e);
  rn_limiters_sweep(e);
}
