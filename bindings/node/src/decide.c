/* The decision path: no object, no allocation, one crossing. */
#include <stdlib.h>
#include <string.h>

#include "env.h"

enum { RN_ATTRIBUTES = 64 }; /* more than the engine takes are refused by it */
enum { RN_LINES = 64, RN_FIELDS = 4096 };

_Static_assert(sizeof(rl_attribute) == 2 * sizeof(rl_str), "attributes are read as a list of strings");

/* A single request, with the bytes it borrows: those of the frame, or a copy where JavaScript may run meanwhile and
 * write into the frame. */
typedef struct question {
  rl_request request;
  rl_attribute attributes[RN_ATTRIBUTES];
  uint8_t *copy;
  rn_cursor cursor;
} question;

static bool question_begin(rn_env *e, const rn_limiter *limiter, question *q) {
  q->copy = NULL;
  rn_record *record = rn_record_of(&e->frame, 0);
  if (!rn_cursor_begin(&e->frame, &q->cursor)) goto nonsense;
  if (limiter->hosted) {
    const uint64_t size = q->cursor.end - q->cursor.at;
    q->copy = malloc(size ? size : 1);
    if (!q->copy) {
      rn_fail(e, RL_E_NO_MEMORY, "no memory for the request");
      return false;
    }
    memcpy(q->copy, q->cursor.base + q->cursor.at, size);
    q->cursor = (rn_cursor){.base = q->copy, .end = size};
  }
  if (record->attribute_count > RN_ATTRIBUTES) {
    rn_fail(e, RL_E_INVALID_ARGUMENT, "attributes: at most 64");
    free(q->copy);
    return false;
  }
  if (rn_read_request(&q->cursor, record, q->attributes, &q->request)) return true;
  free(q->copy);
nonsense:
  rn_fail(e, RL_E_INTERNAL, "the frame is not as lib/frame.js writes it");
  return false;
}

static void answer(rn_env *e, rn_limiter *limiter, question *q, rl_status status, const rl_decision *decision) {
  free(q->copy);
  if (status == RL_OK) rn_write_answer(&rn_record_of(&e->frame, 0)->answer, decision);
  rn_status(e, status);
  if (limiter->hosted) {
    limiter->users--;
    rn_limiters_sweep(e);
  }
}

napi_value rn_allow(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_limiter *limiter = rn_limiter_of(e);
  question q;
  if (!limiter || !question_begin(e, limiter, &q)) return NULL;
  if (limiter->hosted) limiter->users++;
  rl_decision decision;
  decision.struct_size = sizeof decision;
  rn_error error;
  error.struct_size = sizeof error;
  const rl_status status = rl_allow(limiter->registry, &q.request, &decision, &error);
  if (status != RL_OK) e->error = error;
  answer(e, limiter, &q, status, &decision);
  return NULL;
}

napi_value rn_allow_rule(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_limiter *limiter = rn_limiter_of(e);
  question q;
  if (!limiter || !question_begin(e, limiter, &q)) return NULL;
  if (limiter->hosted) limiter->users++;
  rl_decision decision;
  decision.struct_size = sizeof decision;
  const rl_request *r = &q.request;
  const rl_status status =
      rl_allow_rule(limiter->registry, r->rule, r->key.data, r->key.size, r->cost, r->now_ns, &decision);
  if (status != RL_OK) rn_refusal(limiter->registry, r, status, &e->error);
  answer(e, limiter, &q, status, &decision);
  return NULL;
}

/* ---- answers that come later ---- */

enum { RN_DRAINED = 64 };

/* A tag is the limiter's place and the ticket. */
static void deliver(rn_env *e, uint64_t tag, const rl_decision *decision) {
  rn_limiter *limiter = e->limiters[tag >> 32];
  limiter->users--;
  if (limiter->remote) limiter->remote_asked--;
  rn_limiter_hold(e, limiter);
  napi_handle_scope scope;
  if (limiter->closed || napi_open_handle_scope(e->env, &scope) != napi_ok) return;
  rn_record *record = rn_record_of(&e->frame, 0);
  record->status = decision->status;
  rn_write_answer(&record->answer, decision);
  napi_value argv[2] = {rn_number(e, RN_DECIDED), rn_number(e, (uint32_t)tag)};
  rn_dispatch(e, 2, argv);
  napi_close_handle_scope(e->env, scope);
}

void rn_drain(rn_env *e) {
  uint64_t tags[RN_DRAINED];
  rl_decision decisions[RN_DRAINED];
  uint32_t count;
  e->rung = false;
  do {
    for (int i = 0; i < RN_DRAINED; ++i) decisions[i].struct_size = sizeof decisions[i];
    if (rl_completion_queue_drain(e->queue, tags, decisions, RN_DRAINED, 0, &count, NULL) != RL_OK) return;
    for (uint32_t i = 0; i < count && !e->dead; ++i) deliver(e, tags[i], &decisions[i]);
  } while (count != 0 && !e->dead);
}

/* On whatever thread the storage answers. On JavaScript's, whoever made it answer drains. */
void rn_ring(void *user) {
  rn_env *e = user;
  if (rn_on_thread(e)) {
    e->rung = true;
  } else {
    rn_post(e, RN_EVENT_DRAIN, NULL);
  }
}

napi_value rn_allow_async(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_limiter *limiter = rn_limiter_of(e);
  question q;
  if (!limiter || !question_begin(e, limiter, &q)) return NULL;
  const rn_header *header = rn_header_of(&e->frame);
  const uint64_t tag = (uint64_t)header->limiter << 32 | header->ticket;
  limiter->users += 2; /* the call, and its answer */
  if (limiter->remote) limiter->remote_asked++;
  rn_limiter_hold(e, limiter);
  rn_error error = RL_ERROR_INIT;
  const rl_status status = rl_allow_queued(limiter->registry, &q.request, e->queue, tag, &error);
  free(q.copy);
  if (status != RL_OK) {
    if (limiter->remote) limiter->remote_asked--;
    rn_limiter_hold(e, limiter);
    limiter->users--;
    e->error = error;
  }
  if (e->rung) rn_drain(e);
  rn_status(e, status);
  limiter->users--;
  rn_limiters_sweep(e);
  return NULL;
}

/* ---- HTTP ---- */

/* Returns the header fields as lines; nothing when there are none, or (number is above 0) when they take more room than
 * this. */
napi_value rn_allow_http(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_limiter *limiter = rn_limiter_of(e);
  question q;
  if (!limiter || !question_begin(e, limiter, &q)) return NULL;
  const rn_header *header = rn_header_of(&e->frame);
  const uint64_t count = 1 + (uint64_t)header->x_forwarded_for_count + header->forwarded_count;
  rl_str few[RN_LINES];
  rl_str *lines = count <= RN_LINES ? few : malloc(count * sizeof *lines);
  if (!lines || !rn_read_list(&q.cursor, (uint32_t)count, lines)) {
    if (lines != few) free(lines);
    free(q.copy);
    rn_fail(e, lines ? RL_E_INTERNAL : RL_E_NO_MEMORY, "the lines of the request");
    return NULL;
  }
  rl_http http = RL_HTTP_INIT;
  http.header_flags = header->flags;
  http.peer = lines[0];
  http.x_forwarded_for = lines + 1;
  http.x_forwarded_for_count = header->x_forwarded_for_count;
  http.forwarded = lines + 1 + header->x_forwarded_for_count;
  http.forwarded_count = header->forwarded_count;
  char fields[RN_FIELDS];
  uint64_t needed = 0;
  rl_decision decision;
  decision.struct_size = sizeof decision;
  rn_error error;
  error.struct_size = sizeof error;
  if (limiter->hosted) limiter->users++;
  const rl_status status =
      rl_allow_http(limiter->registry, &q.request, &http, &decision, fields, sizeof fields, &needed, &error);
  if (status != RL_OK) e->error = error;
  if (lines != few) free(lines);
  answer(e, limiter, &q, status, &decision);
  rn_header_of(&e->frame)->number = (double)needed;
  if (status != RL_OK || needed == 0 || needed > sizeof fields) return NULL;
  rn_write_fields(rn_header_of(&e->frame), fields, needed);
  napi_value text;
  return napi_create_string_latin1(env, fields, needed, &text) == napi_ok ? text : NULL;
}
