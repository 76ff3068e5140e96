// What cgo needs between Go and rl.h: Go strings as rl_str without a copy, errors only when there are some, and the
// tables of callbacks. No opinion of its own.
#pragma once

#include <ratel/rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors: made on the stack, handed over only when a call fails ---- */

static inline void ratel_error_begin(rl_error *error) {
  error->struct_size = sizeof *error;
  error->status = RL_OK;
  error->line = error->column = error->fault_count = error->reserved = 0;
  error->file[0] = error->path[0] = error->message[0] = '\0';
}

static inline rl_status ratel_error_end(rl_status status, const rl_error *error, rl_error **out) {
  if (status != RL_OK) {
    *out = malloc(sizeof **out);
    if (*out != NULL) **out = *error;
  }
  return status;
}

#define RATEL_CALL(out, call)                 \
  rl_error error;                             \
  ratel_error_begin(&error);                  \
  const rl_status status = (call);            \
  return ratel_error_end(status, &error, out)

/* ---- strings ---- */

static inline rl_str ratel_str(_GoString_ text) {
  const uint64_t size = _GoStringLen(text);
  const rl_str out = {size == 0 ? "" : _GoStringPtr(text), size};
  return out;
}

/* Lists come as their bytes in a row and the size of each. */
typedef struct ratel_list {
  rl_str few[32];
  rl_str *items;
} ratel_list;

static inline int ratel_list_begin(ratel_list *list, const char *bytes, const uint64_t *sizes, uint64_t count) {
  list->items = list->few;
  if (count > sizeof list->few / sizeof list->few[0]) {
    list->items = malloc(count * sizeof(rl_str));
    if (list->items == NULL) return 0;
  }
  for (uint64_t i = 0; i < count; ++i) {
    list->items[i].data = bytes;
    list->items[i].size = sizes[i];
    bytes += sizes[i];
  }
  return 1;
}

static inline void ratel_list_end(ratel_list *list) {
  if (list->items != list->few) free(list->items);
}

/* ---- one request ---- */

#define RATEL_REQUEST                                                                                             \
  uint64_t now_ns, int64_t cost, uint32_t rule, _GoString_ method, _GoString_ path, _GoString_ user,              \
      _GoString_ api_key, _GoString_ ip, _GoString_ key, _GoString_ idempotency_id, const char *bytes, const uint64_t *sizes, uint32_t count

#define RATEL_REQUEST_BEGIN                                                                              \
  ratel_list list;                                                                                       \
  if (!ratel_list_begin(&list, bytes, sizes, 2 * (uint64_t)count)) return RL_E_NO_MEMORY;                \
  rl_request request = {sizeof request,                                                                  \
                        0,                                                                               \
                        now_ns,                                                                          \
                        cost,                                                                            \
                        rule,                                                                            \
                        count,                                                                           \
                        ratel_str(method),                                                               \
                        ratel_str(path),                                                                 \
                        ratel_str(user),                                                                 \
                        ratel_str(api_key),                                                              \
                        ratel_str(ip),                                                                   \
                        ratel_str(key),                                                                  \
                        count == 0 ? NULL : (const rl_attribute *)(const void *)list.items,              \
                        ratel_str(idempotency_id)};                                                      \
  rl_error error;                                                                                        \
  ratel_error_begin(&error)

#define RATEL_REQUEST_END(out)  \
  ratel_list_end(&list);        \
  return ratel_error_end(status, &error, out)

#define RATEL_DECIDE(name, function)                                                            \
  static rl_status name(rl_registry *registry, RATEL_REQUEST, rl_decision *out, rl_error **err) { \
    RATEL_REQUEST_BEGIN;                                                                        \
    out->struct_size = sizeof *out;                                                             \
    const rl_status status = function(registry, &request, out, &error);                         \
    RATEL_REQUEST_END(err);                                                                     \
  }

RATEL_DECIDE(ratel_allow, rl_allow)
RATEL_DECIDE(ratel_peek, rl_peek)

/* The _leaf twins never call back into Go, which lets Go keep what they point to on its stack. Why this one failed, ratel_refusal tells. */
static rl_status ratel_allow_leaf(rl_registry *registry, RATEL_REQUEST, rl_decision *out) {
  RATEL_REQUEST_BEGIN;
  out->struct_size = sizeof *out;
  const rl_status status = rl_allow(registry, &request, out, NULL);
  ratel_list_end(&list);
  return status;
}

static rl_status ratel_allow_rule(rl_registry *registry, uint32_t rule, _GoString_ key, int64_t cost, uint64_t now_ns,
                                  rl_decision *out) {
  out->struct_size = sizeof *out;
  return rl_allow_rule(registry, rule, _GoStringPtr(key), _GoStringLen(key), cost, now_ns, out);
}

static rl_status ratel_settle(rl_registry *registry, RATEL_REQUEST, const rl_decision *decision, int64_t actual,
                              rl_decision *out, rl_error **err) {
  RATEL_REQUEST_BEGIN;
  out->struct_size = sizeof *out;
  const rl_status status = rl_settle(registry, &request, decision, actual, out, &error);
  RATEL_REQUEST_END(err);
}

static rl_status ratel_reset(rl_registry *registry, RATEL_REQUEST, rl_error **err) {
  RATEL_REQUEST_BEGIN;
  const rl_status status = rl_reset(registry, &request, &error);
  RATEL_REQUEST_END(err);
}

static rl_status ratel_explain(rl_registry *registry, RATEL_REQUEST, uint32_t flags, char *buffer, uint64_t capacity,
                               uint64_t *needed, rl_error **err) {
  RATEL_REQUEST_BEGIN;
  const rl_status status = rl_explain(registry, &request, flags, buffer, capacity, needed, &error);
  RATEL_REQUEST_END(err);
}

static rl_status ratel_decide_http(rl_registry *registry, RATEL_REQUEST, const rl_http *http, rl_decision *out,
                                   char *buffer, uint64_t capacity, uint64_t *needed, rl_error **err) {
  RATEL_REQUEST_BEGIN;
  out->struct_size = sizeof *out;
  const rl_status status = rl_allow_http(registry, &request, http, out, buffer, capacity, needed, &error);
  RATEL_REQUEST_END(err);
}

/* The lines of X-Forwarded-For and Forwarded: one of each at most, or all in a row when there is a row. */
typedef struct ratel_hops {
  rl_str one[2];
  ratel_list row;
  const rl_str *x_forwarded_for, *forwarded;
} ratel_hops;

#define RATEL_HOPS                                                                                                 \
  _GoString_ peer, _GoString_ x_forwarded_for, _GoString_ forwarded, const char *lines, const uint64_t *line_sizes, \
      uint32_t x_forwarded_for_count, uint32_t forwarded_count

#define RATEL_HOPS_BEGIN                                                                             \
  ratel_hops hops;                                                                                   \
  const uint64_t row = line_sizes == NULL ? 0 : (uint64_t)x_forwarded_for_count + forwarded_count;   \
  if (!ratel_list_begin(&hops.row, lines, line_sizes, row)) return RL_E_NO_MEMORY;                   \
  hops.one[0] = ratel_str(x_forwarded_for);                                                          \
  hops.one[1] = ratel_str(forwarded);                                                                \
  hops.x_forwarded_for = row == 0 ? &hops.one[0] : hops.row.items;                                   \
  hops.forwarded = row == 0 ? &hops.one[1] : hops.row.items + x_forwarded_for_count

static rl_status ratel_client_ip(const rl_registry *registry, RATEL_HOPS, char *buffer, uint64_t capacity,
                                 uint64_t *needed, rl_error **err) {
  RATEL_HOPS_BEGIN;
  rl_error error;
  ratel_error_begin(&error);
  const rl_status status = rl_client_ip(registry, ratel_str(peer), hops.x_forwarded_for, x_forwarded_for_count,
                                        hops.forwarded, forwarded_count, buffer, capacity, needed, &error);
  ratel_list_end(&hops.row);
  return ratel_error_end(status, &error, err);
}

static rl_status ratel_allow_http(rl_registry *registry, RATEL_REQUEST, uint32_t header_flags, RATEL_HOPS,
                                  rl_decision *out, char *buffer, uint64_t capacity, uint64_t *needed,
                                  rl_error **err) {
  RATEL_HOPS_BEGIN;
  const rl_http http = {sizeof http,    header_flags,          ratel_str(peer), hops.x_forwarded_for,
                        hops.forwarded, x_forwarded_for_count, forwarded_count};
  const rl_status status =
      ratel_decide_http(registry, now_ns, cost, rule, method, path, user, api_key, ip, key, idempotency_id, bytes, sizes, count, &http,
                        out, buffer, capacity, needed, err);
  ratel_list_end(&hops.row);
  return status;
}

static rl_status ratel_queue_create(rl_completion_queue **out, rl_error **err) {
  RATEL_CALL(err, rl_completion_queue_create(0, NULL, NULL, out, &error));
}

static rl_status ratel_allow_queued(rl_registry *registry, RATEL_REQUEST, rl_completion_queue *queue, uint64_t tag,
                                    rl_error **err) {
  RATEL_REQUEST_BEGIN;
  const rl_status status = rl_allow_queued(registry, &request, queue, tag, &error);
  RATEL_REQUEST_END(err);
}

/* Waits for the first answer; anything but RL_OK is the end. */
static rl_status ratel_drain(rl_completion_queue *queue, uint64_t *tags, rl_decision *out, uint32_t capacity,
                             uint32_t *count) {
  for (uint32_t i = 0; i < capacity; ++i) out[i].struct_size = sizeof out[i];
  return rl_completion_queue_drain(queue, tags, out, capacity, RL_WAIT_FOREVER, count, NULL);
}

/* Why a request was refused with a status and without a message. Asked again at an instant of its own and under an id that no rule
 * has, it comes to neither clock nor storage. */
static rl_status ratel_refusal(rl_registry *registry, RATEL_REQUEST, rl_status status, rl_error **err) {
  RATEL_REQUEST_BEGIN;
  rl_decision none = RL_DECISION_INIT;
  if (status == RL_E_NOT_FOUND) {
    snprintf(error.message, sizeof error.message, "no rule in force has the id %u", rule);
  } else if (status == RL_E_UNSUPPORTED) {
    snprintf(error.message, sizeof error.message, "more than 32 rules or 64 limits apply to this request");
  } else if (status == RL_E_INVALID_ARGUMENT) {
    if (now_ns == 0) request.now_ns = 1;
    if (rule != 0 || request.key.size == 0) request.rule = UINT32_MAX;
    if (rl_peek(registry, &request, &none, &error) != RL_E_INVALID_ARGUMENT) {
      ratel_error_begin(&error);
      snprintf(error.message, sizeof error.message, "the clock callback failed");
    }
  }
  RATEL_REQUEST_END(err);
}

/* One of many requests without its strings: the seven of each lie in a row with those of the others. */
typedef struct ratel_asked {
  uint64_t now_ns;
  int64_t cost;
  uint32_t rule;
  uint32_t attribute_count;
  uint64_t sizes[7];
  uint64_t same; /* RATEL_SAME_METHOD, RATEL_SAME_PATH: that of the request before, and not in the row again */
} ratel_asked;

enum { RATEL_SAME_METHOD = 1, RATEL_SAME_PATH = 2 };

static inline rl_str ratel_take(const char **bytes, uint64_t size) {
  const rl_str out = {*bytes, size};
  *bytes += size;
  return out;
}

/* Each field by itself: what sets a whole struct to zero first takes longer than all of this. */
static inline void ratel_asked_read(const ratel_asked *asked, const char **texts, const rl_attribute *attributes,
                                    const rl_request *before, rl_request *out) {
  out->struct_size = sizeof *out;
  out->flags = 0;
  out->now_ns = asked->now_ns;
  out->cost = asked->cost;
  out->rule = asked->rule;
  out->attribute_count = asked->attribute_count;
  out->attributes = asked->attribute_count == 0 ? NULL : attributes;
  out->method = asked->same & RATEL_SAME_METHOD ? before->method : ratel_take(texts, asked->sizes[0]);
  out->path = asked->same & RATEL_SAME_PATH ? before->path : ratel_take(texts, asked->sizes[1]);
  out->user = ratel_take(texts, asked->sizes[2]);
  out->api_key = ratel_take(texts, asked->sizes[3]);
  out->ip = ratel_take(texts, asked->sizes[4]);
  out->key = ratel_take(texts, asked->sizes[5]);
  out->idempotency_id = ratel_take(texts, asked->sizes[6]);
}

#define RATEL_FEW 64 /* requests that need no allocation: 10 KiB of the stack */

/* `bytes` and `sizes` have the attributes of all, a name and a value in turn. */
static inline rl_status ratel_ask_many(rl_registry *registry, const ratel_asked *asked, uint32_t count, const char *texts,
                                       const char *bytes, const uint64_t *sizes, uint64_t strings, rl_decision *out,
                                       rl_error **err) {
  ratel_list list;
  if (!ratel_list_begin(&list, bytes, sizes, strings)) return RL_E_NO_MEMORY;
  rl_request few[RATEL_FEW];
  rl_request *requests = count <= RATEL_FEW ? few : malloc(count * sizeof *requests);
  rl_error error;
  ratel_error_begin(&error);
  rl_status status = RL_E_NO_MEMORY;
  if (requests != NULL) {
    const rl_attribute *attributes = (const rl_attribute *)(const void *)list.items;
    const rl_request none = RL_REQUEST_INIT;
    for (uint32_t i = 0; i < count; ++i) {
      ratel_asked_read(&asked[i], &texts, attributes, i == 0 ? &none : &requests[i - 1], &requests[i]);
      attributes += asked[i].attribute_count;
      out[i].struct_size = sizeof out[i];
    }
    status = rl_allow_many(registry, requests, count, out, &error);
    if (requests != few) free(requests);
  }
  ratel_list_end(&list);
  return ratel_error_end(status, &error, err);
}

#define RATEL_MANY                                                                                                 \
  rl_registry *registry, const ratel_asked *asked, uint32_t count, const char *texts, const char *bytes,            \
      const uint64_t *sizes, uint64_t strings, rl_decision *out, rl_error **err

static rl_status ratel_allow_many(RATEL_MANY) {
  return ratel_ask_many(registry, asked, count, texts, bytes, sizes, strings, out, err);
}
static rl_status ratel_allow_many_leaf(RATEL_MANY) {
  return ratel_ask_many(registry, asked, count, texts, bytes, sizes, strings, out, err);
}

/* ---- supplied by the host ---- */

extern uint64_t ratelGoNow(uintptr_t self);
extern void ratelGoLog(uintptr_t self, int32_t level, char *text, uint64_t size);
extern rl_status ratelGoApply(uintptr_t self, rl_op *op, rl_cell *cells, uint32_t count);
extern rl_status ratelGoApplyAsync(uintptr_t self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done);
extern rl_status ratelGoForget(uintptr_t self, char *key, uint64_t size);
extern rl_status ratelGoSweep(uintptr_t self, uint64_t cutoff_ns, uint64_t *dropped);
extern rl_status ratelGoCount(uintptr_t self, uint64_t *keys);
extern void ratelGoRelease(uintptr_t self);

static uint64_t ratel_now(void *self) { return ratelGoNow((uintptr_t)self); }
static void ratel_log(void *self, int32_t level, const char *text, uint64_t size) {
  ratelGoLog((uintptr_t)self, level, (char *)text, size);
}
static rl_status ratel_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  return ratelGoApply((uintptr_t)self, op, cells, count);
}
static rl_status ratel_apply_async(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  return ratelGoApplyAsync((uintptr_t)self, op, cells, count, done);
}
static rl_status ratel_forget(void *self, rl_str key) {
  return ratelGoForget((uintptr_t)self, (char *)key.data, key.size);
}
static rl_status ratel_sweep(void *self, uint64_t cutoff_ns, uint64_t *dropped) {
  return ratelGoSweep((uintptr_t)self, cutoff_ns, dropped);
}
static rl_status ratel_count(void *self, uint64_t *keys) { return ratelGoCount((uintptr_t)self, keys); }
static void ratel_release(void *self) { ratelGoRelease((uintptr_t)self); }

static rl_status ratel_set_clock(rl_config *config, uintptr_t self, rl_error **err) {
  const rl_clock table = {sizeof table, 0, (void *)self, ratel_now, ratel_release};
  RATEL_CALL(err, rl_config_set_clock(config, &table, &error));
}

static rl_status ratel_set_log(rl_config *config, uintptr_t self, rl_error **err) {
  const rl_log table = {sizeof table, 0, (void *)self, ratel_log, ratel_release};
  RATEL_CALL(err, rl_config_set_log(config, &table, &error));
}

static rl_status ratel_set_storage(rl_config *config, uintptr_t self, int forget, int sweep, int count,
                                   rl_error **err) {
  rl_storage table = {sizeof table, 0, (void *)self, ratel_apply, ratel_apply_async, NULL, NULL, NULL, ratel_release};
  if (forget) table.forget = ratel_forget;
  if (sweep) table.sweep = ratel_sweep;
  if (count) table.count = ratel_count;
  RATEL_CALL(err, rl_config_set_storage(config, &table, &error));
}

/* ---- config and registry ---- */

static rl_status ratel_config_create(rl_config **out, rl_error **err) { RATEL_CALL(err, rl_config_create(out, &error)); }
static rl_status ratel_load_text(rl_config *config, _GoString_ text, _GoString_ name, rl_error **err) {
  RATEL_CALL(err, rl_config_load_text(config, ratel_str(text), ratel_str(name), &error));
}
static rl_status ratel_load_file(rl_config *config, _GoString_ path, rl_error **err) {
  RATEL_CALL(err, rl_config_load_file(config, ratel_str(path), &error));
}
static rl_status ratel_add_rule(rl_config *config, const rl_rule *rule, rl_error **err) {
  RATEL_CALL(err, rl_config_add_rule(config, rule, &error));
}
static rl_status ratel_use_memory(rl_config *config, uint64_t max_keys, rl_error **err) {
  RATEL_CALL(err, rl_config_use_memory(config, max_keys, &error));
}
static rl_status ratel_use_redis(rl_config *config, _GoString_ url, rl_error **err) {
  RATEL_CALL(err, rl_config_use_redis(config, ratel_str(url), &error));
}
static rl_status ratel_set_secret(rl_config *config, _GoString_ secret, rl_error **err) {
  RATEL_CALL(err, rl_config_set_secret(config, ratel_str(secret), &error));
}
static rl_status ratel_set_region(rl_config *config, _GoString_ region, rl_error **err) {
  RATEL_CALL(err, rl_config_set_region(config, ratel_str(region), &error));
}
static rl_status ratel_set_readable_keys(rl_config *config, uint32_t on, rl_error **err) {
  RATEL_CALL(err, rl_config_set_readable_keys(config, on, &error));
}
static rl_status ratel_create(rl_config *config, rl_registry **out, rl_error **err) {
  RATEL_CALL(err, rl_registry_create(config, out, &error));
}
static rl_status ratel_reload(rl_registry *registry, const rl_config *config, rl_error **err) {
  RATEL_CALL(err, rl_registry_reload(registry, config, &error));
}
static rl_status ratel_reload_file(rl_registry *registry, _GoString_ path, rl_error **err) {
  RATEL_CALL(err, rl_registry_reload_file(registry, ratel_str(path), &error));
}
static rl_status ratel_watch(rl_registry *registry, _GoString_ path, uint32_t interval_ms, rl_error **err) {
  RATEL_CALL(err, rl_registry_watch(registry, ratel_str(path), interval_ms, &error));
}
static rl_status ratel_watch_redis(rl_registry *registry, _GoString_ url, _GoString_ key, uint32_t interval_ms,
                                   rl_error **err) {
  RATEL_CALL(err, rl_registry_watch_redis(registry, ratel_str(url), ratel_str(key), interval_ms, &error));
}
static rl_status ratel_key_count(rl_registry *registry, uint64_t *out, rl_error **err) {
  RATEL_CALL(err, rl_registry_key_count(registry, out, &error));
}
static rl_status ratel_evict_idle(rl_registry *registry, uint64_t cutoff_ns, uint64_t *evicted, rl_error **err) {
  RATEL_CALL(err, rl_registry_evict_idle(registry, cutoff_ns, evicted, &error));
}
static rl_status ratel_diff(rl_registry *registry, const rl_config *config, uint32_t flags, char *buffer,
                            uint64_t capacity, uint64_t *needed, rl_error **err) {
  RATEL_CALL(err, rl_registry_diff(registry, config, flags, buffer, capacity, needed, &error));
}
static rl_status ratel_rule_id(const rl_registry *registry, _GoString_ name, uint32_t *out, rl_error **err) {
  RATEL_CALL(err, rl_rule_id(registry, ratel_str(name), out, &error));
}

/* ---- telling ---- */

static rl_status ratel_headers(const rl_registry *registry, const rl_decision *decision, uint32_t flags, char *buffer,
                               uint64_t capacity, uint64_t *needed, rl_error **err) {
  RATEL_CALL(err, rl_decision_headers(registry, decision, flags, buffer, capacity, needed, &error));
}
static rl_status ratel_problem(const rl_registry *registry, const rl_decision *decision, char *buffer,
                               uint64_t capacity, uint64_t *needed, rl_error **err) {
  RATEL_CALL(err, rl_decision_problem(registry, decision, buffer, capacity, needed, &error));
}
static rl_status ratel_metrics(rl_registry *registry, rl_metrics *out, rl_error **err) {
  out->struct_size = sizeof *out;
  RATEL_CALL(err, rl_metrics_get(registry, out, &error));
}
static rl_status ratel_rule_metrics(rl_registry *registry, uint32_t rule, rl_rule_metrics *out, rl_error **err) {
  out->struct_size = sizeof *out;
  RATEL_CALL(err, rl_metrics_rule(registry, rule, out, &error));
}
static rl_status ratel_prometheus(rl_registry *registry, char *buffer, uint64_t capacity, uint64_t *needed,
                                  rl_error **err) {
  RATEL_CALL(err, rl_metrics_prometheus(registry, buffer, capacity, needed, &error));
}

/* ---- storages: the arithmetic over states that lie in a row; states stay where they are until the op ends ---- */

static rl_status ratel_step(rl_op *op, rl_cell *cells, uint32_t count, const char *states, const int64_t *sizes) {
  for (uint32_t i = 0; i < count; ++i) {
    cells[i].state = sizes[i] < 0 ? NULL : states;
    cells[i].state_size = sizes[i] < 0 ? 0 : (uint64_t)sizes[i];
    if (sizes[i] > 0) states += sizes[i];
  }
  return rl_step(op, cells, count);
}
