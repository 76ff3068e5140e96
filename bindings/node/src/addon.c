/* The environment's beginning and end, and what is exported to lib/. */
#include <stdlib.h>
#include <string.h>

#include "env.h"

static _Thread_local char here;

bool rn_on_thread(const rn_env *e) { return e->thread == &here; }

rn_env *rn_env_of(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv) {
  void *e = NULL;
  napi_get_cb_info(env, info, argc, argv, NULL, &e);
  return e;
}

void rn_status(rn_env *e, rl_status status) {
  if (e->frame.data) rn_header_of(&e->frame)->status = status;
  e->error.status = status;
}

void rn_fail(rn_env *e, rl_status status, const char *message) {
  e->error = (rn_error)RL_ERROR_INIT;
  strncpy(e->error.message, message, sizeof e->error.message - 1);
  rn_status(e, status);
}

rn_limiter *rn_limiter_of(rn_env *e) {
  if (e->frame.data) {
    const uint32_t id = rn_header_of(&e->frame)->limiter;
    if (id < e->limiter_count && e->limiters[id] && !e->limiters[id]->closed) return e->limiters[id];
  }
  rn_fail(e, RL_E_STATE, "the limiter is closed");
  return NULL;
}

uint32_t rn_limiter_add(rn_env *e, rn_limiter *limiter) {
  for (uint32_t id = 1; id < e->limiter_count; ++id) {
    if (e->limiters[id]) continue;
    e->limiters[id] = limiter;
    return id;
  }
  const uint32_t count = e->limiter_count ? e->limiter_count * 2 : 8;
  rn_limiter **more = realloc(e->limiters, count * sizeof *more);
  if (!more) return 0;
  memset(more + e->limiter_count, 0, (count - e->limiter_count) * sizeof *more);
  const uint32_t id = e->limiter_count ? e->limiter_count : 1;
  e->limiters = more;
  e->limiter_count = count;
  more[id] = limiter;
  return id;
}

void rn_limiter_hold(rn_env *e, rn_limiter *limiter) {
  const bool holds =
      !limiter->closed && !e->dead && (limiter->remote_asked > 0 || (limiter->job_count > 0 && limiter->lent == 0));
  if (holds == limiter->holds) return;
  limiter->holds = holds;
  e->holders += holds ? 1 : UINT32_MAX;
  if (e->dead) return;
  if (holds && e->holders == 1) napi_ref_threadsafe_function(e->env, e->events);
  if (!holds && e->holders == 0) napi_unref_threadsafe_function(e->env, e->events);
}

static void end_limiter(rn_env *e, uint32_t id) {
  rn_limiter *limiter = e->limiters[id];
  e->limiters[id] = NULL;
  rn_worker_end(e, limiter);
  rl_registry_destroy(limiter->registry);
  free(limiter);
}

void rn_limiters_sweep(rn_env *e) {
  if (!e->ending) return;
  e->ending = false;
  for (uint32_t id = 1; id < e->limiter_count; ++id) {
    const rn_limiter *limiter = e->limiters[id];
    if (!limiter || !limiter->closed) continue;
    if (limiter->users == 0) {
      end_limiter(e, id);
    } else {
      e->ending = true;
    }
  }
}

/* Before the thread-safe function goes, and with it JavaScript. Afterwards no thread of ours is left. */
static void end(void *data) {
  rn_env *e = data;
  pthread_mutex_lock(&e->mutex);
  e->dead = true;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->mutex);
  rn_ops_abandon(e);
  rl_config_destroy(e->config);
  e->config = NULL;
  for (uint32_t id = 1; id < e->limiter_count; ++id) {
    if (e->limiters[id]) rn_jobs_drop(e, e->limiters[id]);
  }
  for (uint32_t id = 1; id < e->limiter_count; ++id) {
    if (e->limiters[id]) end_limiter(e, id);
  }
  free(e->limiters);
  e->limiters = NULL;
  e->limiter_count = 0;
  rl_completion_queue_destroy(e->queue);
  e->queue = NULL;
  e->frame.data = NULL;
}

/* The very last: events that nobody has taken still point to the environment. */
static void release(napi_env env, void *data, void *context) {
  (void)env;
  (void)context;
  rn_env *e = data;
  free(e->ops);
  pthread_cond_destroy(&e->changed);
  pthread_mutex_destroy(&e->mutex);
  free(e);
}

static napi_value bind(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  void *data = NULL;
  size_t size = 0;
  if (napi_get_arraybuffer_info(env, argv[0], &data, &size) != napi_ok || size < RN_RECORDS + sizeof(rn_record))
    return NULL;
  if (e->frame_ref) napi_delete_reference(env, e->frame_ref);
  e->frame_ref = NULL;
  if (napi_create_reference(env, argv[0], 1, &e->frame_ref) != napi_ok) return NULL;
  e->frame = (rn_frame){data, size};
  return NULL;
}

static napi_value set_dispatch(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  if (!e->dispatch) napi_create_reference(env, argv[0], 1, &e->dispatch);
  return NULL;
}

/* NULL, or why the engine that was loaded is not the one that this was compiled for. */
static const char *abi_fault(void) {
  const uint32_t loaded = rl_abi_version();
  if (loaded >> 16 != RL_ABI_MAJOR || (int)(loaded & 0xffff) < RL_ABI_MINOR) {
    return "ratel: the engine that was found (libratel) has another ABI than this binding was built for; build it anew";
  }
  const struct {
    const char *name;
    uint64_t size;
  } structs[] = {
      {"error", sizeof(rl_error)},     {"request", sizeof(rl_request)}, {"decision", sizeof(rl_decision)},
      {"metrics", sizeof(rl_metrics)}, {"clock", sizeof(rl_clock)},     {"rule_metrics", sizeof(rl_rule_metrics)},
      {"log", sizeof(rl_log)},         {"storage", sizeof(rl_storage)}, {"http", sizeof(rl_http)},
  };
  for (size_t i = 0; i < sizeof structs / sizeof *structs; ++i) {
    if (rl_struct_size(structs[i].name) < structs[i].size) {
      return "ratel: the engine that was found (libratel) is older than this binding; build it anew";
    }
  }
  return NULL;
}

static const struct {
  const char *name;
  napi_callback function;
} functions[] = {
    {"bind", bind},
    {"setDispatch", set_dispatch},
    {"configBegin", rn_config_begin},
    {"configEnd", rn_config_end},
    {"configFile", rn_config_file},
    {"configText", rn_config_text},
    {"configMemory", rn_config_memory},
    {"configRedis", rn_config_redis},
    {"configSecret", rn_config_secret},
    {"configRegion", rn_config_region},
    {"configReadable", rn_config_readable},
    {"configHost", rn_config_host},
    {"configFault", rn_config_fault},
    {"create", rn_create},
    {"reload", rn_reload},
    {"reloadFile", rn_reload_file},
    {"watch", rn_watch},
    {"watchRedis", rn_watch_redis},
    {"close", rn_close},
    {"allow", rn_allow},
    {"allowRule", rn_allow_rule},
    {"allowAsync", rn_allow_async},
    {"allowHttp", rn_allow_http},
    {"callNow", rn_call_now},
    {"callLater", rn_call_later},
    {"rules", rn_rules},
    {"ruleId", rn_rule_id},
    {"ruleName", rn_rule_name_of},
    {"limitName", rn_limit_name_of},
    {"generation", rn_generation},
    {"failure", rn_failure},
    {"about", rn_about},
    {"statusName", rn_status_name_of},
    {"step", rn_step},
    {"finish", rn_finish},
};

static rn_env *env_new(napi_env env) {
  rn_env *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->env = env;
  e->thread = &here;
  e->error = (rn_error)RL_ERROR_INIT;
  pthread_mutex_init(&e->mutex, NULL);
  pthread_cond_init(&e->changed, NULL);
  if (rl_completion_queue_create(0, rn_ring, e, &e->queue, NULL) == RL_OK) return e;
  free(e);
  return NULL;
}

static bool events_begin(rn_env *e) {
  napi_value name;
  return napi_create_string_utf8(e->env, "ratel", NAPI_AUTO_LENGTH, &name) == napi_ok &&
         napi_create_threadsafe_function(e->env, NULL, NULL, name, 0, 1, e, release, e, rn_events_run, &e->events) ==
             napi_ok &&
         napi_unref_threadsafe_function(e->env, e->events) == napi_ok;
}

NAPI_MODULE_INIT() {
  const char *fault = abi_fault();
  if (fault) {
    napi_throw_error(env, "RL_E_ABI", fault);
    return NULL;
  }
  rn_env *e = env_new(env);
  if (!e || !events_begin(e) || napi_add_env_cleanup_hook(env, end, e) != napi_ok) {
    napi_throw_error(env, "RL_E_NO_MEMORY", "ratel: the environment could not be set up");
    return NULL;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, e, &function) !=
            napi_ok ||
        napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) {
      return NULL;
    }
  }
  return exports;
}
