/* Every question but the single decision: asked at once on JavaScript's thread, or later on a thread of the limiter's
 * own, where the engine may wait for a storage. That thread begins with the first such call, takes one after the other
 * and ends with the limiter; libuv's pool is left to those who might have to answer. */
#include <stdlib.h>
#include <string.h>

#include "env.h"

enum { RN_TEXT = 2048 };

struct rn_call {
  rn_call *next;
  rn_env *e;
  int kind;
  rn_limiter *limiter;
  rl_config *config; /* of a diff; e->config */
  uint32_t ticket;
  uint32_t flags;
  uint32_t count;
  rl_request *requests;
  rl_decision *decisions;
  rl_decision earlier;
  rl_str *lines; /* of client_ip: the peer, x_forwarded_for_count lines, the rest */
  uint32_t x_forwarded_for_count;
  uint32_t forwarded_count;
  double number;
  char *text;
  uint64_t room;
  uint64_t size;
  rl_metrics metrics;
  rl_rule_metrics rule_metrics;
  rl_status status;
  rn_error error;
};

void rn_call_free(rn_call *call) {
  free(call->text);
  free(call);
}

/* One allocation holds the call, its requests, their answers, and a copy of the bytes. */
static rn_call *call_new(rn_env *e, rn_limiter *limiter, int kind) {
  rn_cursor cursor;
  const rn_header *header = rn_header_of(&e->frame);
  if (!rn_cursor_begin(&e->frame, &cursor)) goto nonsense;
  const uint64_t count = header->count;
  uint64_t attributes = 0;
  for (uint32_t i = 0; i < count; ++i) attributes += rn_record_of(&e->frame, i)->attribute_count;
  if (attributes > cursor.end) goto nonsense;
  const uint64_t lines =
      kind == RN_CALL_CLIENT_IP ? 1 + (uint64_t)header->x_forwarded_for_count + header->forwarded_count : 0;
  const uint64_t bytes = cursor.end - cursor.at;
  rn_call *call = malloc(sizeof *call + count * (sizeof(rl_request) + sizeof(rl_decision)) +
                         attributes * sizeof(rl_attribute) + lines * sizeof(rl_str) + bytes);
  if (!call) {
    rn_fail(e, RL_E_NO_MEMORY, "no memory for the requests");
    return NULL;
  }
  memset(call, 0, sizeof *call);
  call->e = e;
  call->kind = kind;
  call->limiter = limiter;
  call->config = e->config;
  call->ticket = header->ticket;
  call->flags = header->flags;
  call->count = (uint32_t)count;
  call->requests = (rl_request *)(call + 1);
  call->decisions = (rl_decision *)(call->requests + count);
  rl_attribute *attribute = (rl_attribute *)(call->decisions + count);
  call->lines = (rl_str *)(attribute + attributes);
  uint8_t *copy = (uint8_t *)(call->lines + lines);
  call->x_forwarded_for_count = header->x_forwarded_for_count;
  call->forwarded_count = header->forwarded_count;
  call->number = header->number;
  call->error = (rn_error)RL_ERROR_INIT;
  rn_read_answer(&header->earlier, &call->earlier);
  memcpy(copy, cursor.base + cursor.at, bytes);
  cursor = (rn_cursor){.base = copy, .end = bytes};
  for (uint32_t i = 0; i < count; ++i) {
    const rn_record *record = rn_record_of(&e->frame, i);
    if (!rn_read_request(&cursor, record, attribute, &call->requests[i])) {
      free(call);
      goto nonsense;
    }
    attribute += record->attribute_count;
    call->decisions[i].struct_size = sizeof(rl_decision); /* the rest is the engine's to write, or nobody's to read */
  }
  if (rn_read_list(&cursor, (uint32_t)lines, call->lines)) return call;
  free(call);
nonsense:
  rn_fail(e, RL_E_INTERNAL, "the frame is not as lib/frame.js writes it");
  return NULL;
}

static rl_status write_text(rn_call *call, char *buffer, uint64_t room, uint64_t *needed) {
  const rl_registry *registry = call->limiter->registry;
  switch (call->kind) {
    case RN_CALL_EXPLAIN:
      return rl_explain(call->limiter->registry, call->requests, call->flags, buffer, room, needed, &call->error);
    case RN_CALL_HEADERS:
      return rl_decision_headers(registry, &call->earlier, call->flags, buffer, room, needed, &call->error);
    case RN_CALL_PROBLEM:
      return rl_decision_problem(registry, &call->earlier, buffer, room, needed, &call->error);
    case RN_CALL_CLIENT_IP:
      return rl_client_ip(registry, call->lines[0], call->lines + 1, call->x_forwarded_for_count,
                          call->lines + 1 + call->x_forwarded_for_count, call->forwarded_count, buffer, room, needed,
                          &call->error);
    case RN_CALL_DIFF:
      return rl_registry_diff(call->limiter->registry, call->config, call->flags, buffer, room, needed, &call->error);
    default:
      return rl_metrics_prometheus(call->limiter->registry, buffer, room, needed, &call->error);
  }
}

static rl_status perform_text(rn_call *call) {
  for (uint64_t room = RN_TEXT;; room = call->size) {
    free(call->text);
    call->text = malloc(room);
    if (!call->text) return RL_E_NO_MEMORY;
    const rl_status status = write_text(call, call->text, room, &call->size);
    if (status != RL_E_BUFFER_TOO_SMALL) return status;
  }
}

static rl_status perform(rn_call *call) {
  rl_registry *registry = call->limiter->registry;
  uint64_t number = 0;
  rl_status status;
  switch (call->kind) {
    case RN_CALL_MANY:
      return rl_allow_many(registry, call->requests, call->count, call->decisions, &call->error);
    case RN_CALL_PEEK:
      return rl_peek(registry, call->requests, call->decisions, &call->error);
    case RN_CALL_SETTLE:
      return rl_settle(registry, call->requests, &call->earlier, rn_units(call->number), call->decisions, &call->error);
    case RN_CALL_RESET:
      return rl_reset(registry, call->requests, &call->error);
    case RN_CALL_METRICS:
      call->metrics.struct_size = sizeof call->metrics;
      return rl_metrics_get(registry, &call->metrics, &call->error);
    case RN_CALL_RULE_METRICS:
      call->rule_metrics.struct_size = sizeof call->rule_metrics;
      return rl_metrics_rule(registry, call->flags, &call->rule_metrics, &call->error);
    case RN_CALL_KEY_COUNT:
      status = rl_registry_key_count(registry, &number, &call->error);
      call->number = (double)number;
      return status;
    case RN_CALL_EVICT_IDLE:
      status = rl_registry_evict_idle(registry, rn_instant(call->number), &number, &call->error);
      call->number = (double)number;
      return status;
    default:
      return perform_text(call);
  }
}

/* uint64_t members in a row, as doubles. */
static void counters_out(rn_env *e, const void *first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t value;
    memcpy(&value, (const char *)first + i * 8, 8);
    rn_header_of(&e->frame)->counters[i] = (double)value;
  }
}

/* By its place, why each one that was refused was; nothing when none was. */
static napi_value refusals(rn_env *e, const rn_call *call) {
  napi_value out = NULL;
  rn_error error;
  for (uint32_t i = 0; i < call->count; ++i) {
    if (call->decisions[i].status == RL_OK) continue;
    if (!out && napi_create_array_with_length(e->env, call->count, &out) != napi_ok) return NULL;
    rn_refusal(call->limiter->registry, &call->requests[i], call->decisions[i].status, &error);
    napi_set_element(e->env, out, i, rn_error_value(e, &error));
  }
  return out;
}

/* Puts what came of it into the frame; a text, or why some were refused, is returned. */
static napi_value call_out(rn_env *e, const rn_call *call) {
  napi_value text = NULL;
  if (call->status != RL_OK) {
    e->error = call->error;
  } else if (call->text) {
    text = rn_text(e, call->text, call->size);
  } else if (call->kind == RN_CALL_MANY) {
    text = refusals(e, call);
  } else if (call->kind == RN_CALL_METRICS) {
    counters_out(e, &call->metrics.requests, 22);
  } else if (call->kind == RN_CALL_RULE_METRICS) {
    counters_out(e, &call->rule_metrics.allowed, 5);
  }
  if (call->kind <= RN_CALL_SETTLE && call->status == RL_OK) {
    for (uint32_t i = 0; i < call->count; ++i) {
      rn_record *record = rn_record_of(&e->frame, i);
      record->status = call->decisions[i].status;
      if (record->status == RL_OK) rn_write_answer(&record->answer, &call->decisions[i]);
    }
  }
  rn_header_of(&e->frame)->number = call->number;
  rn_status(e, call->status);
  return text;
}

_Static_assert(offsetof(rl_metrics, generation) - offsetof(rl_metrics, requests) == 17 * 8, "18 counters");
_Static_assert(offsetof(rl_rule_metrics, cost_allowed) - offsetof(rl_rule_metrics, allowed) == 4 * 8, "5 counters");

static rn_call *begin(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  rn_limiter *limiter = rn_limiter_of(e);
  int32_t kind = 0;
  if (!limiter || napi_get_value_int32(env, argv[0], &kind) != napi_ok) return NULL;
  rn_call *call = call_new(e, limiter, kind);
  if (call) limiter->users++;
  return call;
}

/* JavaScript may have gone back to a smaller frame meanwhile: it is asked for one that has room for the answers. */
static bool frame_holds(rn_env *e, uint32_t count) {
  const uint64_t size = RN_RECORDS + (uint64_t)count * sizeof(rn_record);
  napi_handle_scope scope;
  if (size <= e->frame.size) return true;
  if (napi_open_handle_scope(e->env, &scope) != napi_ok) return false;
  napi_value argv[3] = {rn_number(e, RN_DONE), rn_number(e, 0), rn_number(e, count)};
  rn_dispatch(e, 3, argv);
  napi_close_handle_scope(e->env, scope);
  return size <= e->frame.size;
}

napi_value rn_call_now(napi_env env, napi_callback_info info) {
  rn_call *call = begin(env, info);
  if (!call) return NULL;
  rn_env *e = call->e;
  call->status = perform(call);
  napi_value text = NULL;
  if (frame_holds(e, call->count)) {
    text = call_out(e, call);
  } else {
    rn_fail(e, RL_E_NO_MEMORY, "no memory for the answers");
  }
  call->limiter->users--;
  rn_call_free(call);
  rn_limiters_sweep(e);
  return text;
}

/* ---- later ---- */

typedef struct work_of {
  rn_env *e;
  rn_limiter *limiter;
} work_of;

/* Under the mutex. */
static rn_call *job_take(rn_limiter *limiter) {
  rn_call *call = limiter->jobs;
  if (call) limiter->jobs = call->next;
  if (!limiter->jobs) limiter->jobs_end = &limiter->jobs;
  return call;
}

static void *work(void *context) {
  rn_env *e = ((work_of *)context)->e;
  rn_limiter *limiter = ((work_of *)context)->limiter;
  free(context);
  pthread_mutex_lock(&e->mutex);
  for (;;) {
    while (!limiter->jobs && !limiter->worker_ends && !e->dead) pthread_cond_wait(&e->changed, &e->mutex);
    if (limiter->worker_ends || e->dead) break;
    rn_call *call = job_take(limiter);
    pthread_mutex_unlock(&e->mutex);
    call->status = perform(call);
    if (!rn_post(e, RN_EVENT_CALL, call)) rn_call_free(call);
    pthread_mutex_lock(&e->mutex);
  }
  pthread_mutex_unlock(&e->mutex);
  return NULL;
}

static bool worker_begin(rn_env *e, rn_limiter *limiter) {
  if (limiter->worker_runs) return true;
  work_of *of = malloc(sizeof *of);
  if (!of) return false;
  *of = (work_of){e, limiter};
  limiter->jobs_end = &limiter->jobs;
  limiter->worker_runs = pthread_create(&limiter->worker, NULL, work, of) == 0;
  if (!limiter->worker_runs) free(of);
  return limiter->worker_runs;
}

napi_value rn_call_later(napi_env env, napi_callback_info info) {
  rn_call *call = begin(env, info);
  if (!call) return NULL;
  rn_env *e = call->e;
  rn_limiter *limiter = call->limiter;
  if (!worker_begin(e, limiter)) {
    limiter->users--;
    rn_call_free(call);
    rn_fail(e, RL_E_NO_MEMORY, "no thread for what waits for a storage");
    return NULL;
  }
  limiter->job_count++;
  rn_limiter_hold(e, limiter);
  pthread_mutex_lock(&e->mutex);
  *limiter->jobs_end = call;
  limiter->jobs_end = &call->next;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->mutex);
  rn_status(e, RL_OK);
  return NULL;
}

static void job_over(rn_env *e, const rn_call *call) {
  call->limiter->users--;
  call->limiter->job_count--;
  rn_limiter_hold(e, call->limiter);
}

void rn_call_done(rn_env *e, rn_call *call) {
  job_over(e, call);
  napi_handle_scope scope;
  if (!call->limiter->closed && napi_open_handle_scope(e->env, &scope) == napi_ok) {
    napi_value argv[4] = {rn_number(e, RN_DONE), rn_number(e, call->ticket), rn_number(e, 0), NULL};
    if (frame_holds(e, call->count)) {
      argv[3] = call_out(e, call);
    } else {
      rn_fail(e, RL_E_NO_MEMORY, "no memory for the answers");
    }
    rn_dispatch(e, argv[3] ? 4 : 3, argv);
    napi_close_handle_scope(e->env, scope);
  }
  rn_call_free(call);
}

void rn_jobs_drop(rn_env *e, rn_limiter *limiter) {
  for (;;) {
    pthread_mutex_lock(&e->mutex);
    rn_call *call = job_take(limiter);
    pthread_mutex_unlock(&e->mutex);
    if (!call) return;
    job_over(e, call);
    rn_call_free(call);
  }
}

void rn_worker_end(rn_env *e, rn_limiter *limiter) {
  if (!limiter->worker_runs) return;
  pthread_mutex_lock(&e->mutex);
  limiter->worker_ends = true;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->mutex);
  pthread_join(limiter->worker, NULL);
  limiter->worker_runs = false;
}
