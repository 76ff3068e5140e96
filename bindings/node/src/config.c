/* Rule sets: one rl_config per environment is under construction at a time, between configBegin and configEnd. */
#include <stdlib.h>

#include "env.h"

#define RN_ARGUMENTS(count)                      \
  size_t argc = (count);                         \
  napi_value argv[(count)];                      \
  rn_env *e = rn_env_of(env, info, &argc, argv); \
  rn_error error = RL_ERROR_INIT

static napi_value ended(rn_env *e, rl_status status, const rl_error *error) {
  if (status != RL_OK) e->error = *error;
  rn_status(e, status);
  return NULL;
}

napi_value rn_config_begin(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_error error = RL_ERROR_INIT;
  rl_config_destroy(e->config);
  e->config_host = NULL;
  e->config_hosted = e->config_remote = false;
  return ended(e, rl_config_create(&e->config, &error), &error);
}

napi_value rn_config_end(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rl_config_destroy(e->config);
  e->config = NULL;
  e->config_host = NULL;
  return NULL;
}

static rl_str argument(rn_env *e, napi_value value) {
  rl_str bytes = {NULL, 0};
  rn_bytes(e, value, &bytes);
  return bytes;
}

napi_value rn_config_file(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  return ended(e, rl_config_load_file(e->config, argument(e, argv[0]), &error), &error);
}

napi_value rn_config_text(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(2);
  return ended(e, rl_config_load_text(e->config, argument(e, argv[0]), argument(e, argv[1]), &error), &error);
}

napi_value rn_config_memory(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  double max_keys = 0;
  napi_get_value_double(env, argv[0], &max_keys);
  e->config_remote = false;
  return ended(e, rl_config_use_memory(e->config, (uint64_t)max_keys, &error), &error);
}

napi_value rn_config_redis(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  e->config_remote = true;
  return ended(e, rl_config_use_redis(e->config, argument(e, argv[0]), &error), &error);
}

napi_value rn_config_secret(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  return ended(e, rl_config_set_secret(e->config, argument(e, argv[0]), &error), &error);
}

napi_value rn_config_region(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  return ended(e, rl_config_set_region(e->config, argument(e, argv[0]), &error), &error);
}

napi_value rn_config_readable(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_error error = RL_ERROR_INIT;
  return ended(e, rl_config_set_readable_keys(e->config, 1, &error), &error);
}

/* configFault(i): the i-th fault of what was loaded last, undefined past the end. */
napi_value rn_config_fault(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  uint32_t index = 0;
  napi_get_value_uint32(env, argv[0], &index);
  return rl_config_fault(e->config, index, &error) == RL_OK ? rn_error_value(e, &error) : NULL;
}

/* create(): the limiter's id, 0 when it failed. */
napi_value rn_create(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_error error = RL_ERROR_INIT;
  rn_limiter *limiter = calloc(1, sizeof *limiter);
  const uint32_t id = limiter ? rn_limiter_add(e, limiter) : 0;
  if (id == 0) {
    free(limiter);
    rn_fail(e, RL_E_NO_MEMORY, "no memory for a limiter");
    return rn_number(e, 0);
  }
  limiter->hosted = e->config_hosted || e->config_remote;
  limiter->remote = e->config_remote;
  limiter->host = e->config_host;
  limiter->jobs_end = &limiter->jobs;
  rn_host_serves(limiter->host, limiter);
  const rl_status status = rl_registry_create(e->config, &limiter->registry, &error);
  if (status != RL_OK) {
    rn_host_serves(limiter->host, NULL);
    e->limiters[id] = NULL;
    free(limiter);
  }
  ended(e, status, &error);
  return rn_number(e, status == RL_OK ? id : 0);
}

/* close(id): nothing more is begun on it, and nobody hears of what was. lib/host.js ends what its storage has not. */
napi_value rn_close(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  (void)error;
  uint32_t id = 0;
  napi_get_value_uint32(env, argv[0], &id);
  if (id < e->limiter_count && e->limiters[id]) {
    e->limiters[id]->closed = true;
    e->ending = true;
    rn_jobs_drop(e, e->limiters[id]);
    rn_limiter_hold(e, e->limiters[id]);
    rn_limiters_sweep(e);
  }
  return NULL;
}

/* ---- other rules for a limiter that runs. The log may be told of them, and may do as it likes ---- */

static rn_limiter *enter(rn_env *e) {
  rn_limiter *limiter = rn_limiter_of(e);
  if (limiter) limiter->users++;
  return limiter;
}

static napi_value leave(rn_env *e, rn_limiter *limiter, rl_status status, const rl_error *error) {
  ended(e, status, error);
  limiter->users--;
  rn_limiters_sweep(e);
  return NULL;
}

napi_value rn_reload(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  rn_error error = RL_ERROR_INIT;
  rn_limiter *limiter = enter(e);
  return limiter ? leave(e, limiter, rl_registry_reload(limiter->registry, e->config, &error), &error) : NULL;
}

napi_value rn_reload_file(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(1);
  rn_limiter *limiter = enter(e);
  if (!limiter) return NULL;
  return leave(e, limiter, rl_registry_reload_file(limiter->registry, argument(e, argv[0]), &error), &error);
}

napi_value rn_watch_redis(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(3);
  uint32_t interval_ms = 0;
  napi_get_value_uint32(env, argv[2], &interval_ms);
  rn_limiter *limiter = enter(e);
  if (!limiter) return NULL;
  const rl_status status = rl_registry_watch_redis(limiter->registry, argument(e, argv[0]), argument(e, argv[1]),
                                                   interval_ms, &error);
  return leave(e, limiter, status, &error);
}

napi_value rn_watch(napi_env env, napi_callback_info info) {
  RN_ARGUMENTS(2);
  uint32_t interval_ms = 0;
  napi_get_value_uint32(env, argv[1], &interval_ms);
  rn_limiter *limiter = enter(e);
  if (!limiter) return NULL;
  return leave(e, limiter, rl_registry_watch(limiter->registry, argument(e, argv[0]), interval_ms, &error), &error);
}
