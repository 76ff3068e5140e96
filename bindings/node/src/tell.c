/* Names, versions and errors. */
#include <stdio.h>
#include <string.h>

#include "env.h"

/* rules(): the ids of the rules in force, in their order. */
napi_value rn_rules(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  const rn_limiter *limiter = rn_limiter_of(e);
  napi_value ids;
  if (!limiter || napi_create_array(env, &ids) != napi_ok) return NULL;
  for (uint32_t i = 0, id; (id = rl_rule_at(limiter->registry, i)) != 0; ++i) {
    napi_set_element(env, ids, i, rn_number(e, id));
  }
  rn_status(e, RL_OK);
  return ids;
}

napi_value rn_rule_id(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  const rn_limiter *limiter = rn_limiter_of(e);
  rl_str name;
  if (!limiter || !rn_bytes(e, argv[0], &name)) return NULL;
  uint32_t id = 0;
  rn_error error = RL_ERROR_INIT;
  const rl_status status = rl_rule_id(limiter->registry, name, &id, &error);
  if (status != RL_OK) e->error = error;
  rn_status(e, status);
  return rn_number(e, id);
}

static napi_value name_of(napi_env env, napi_callback_info info, rl_str (*name)(const rl_registry *, uint32_t)) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  const rn_limiter *limiter = rn_limiter_of(e);
  uint32_t id = 0;
  if (!limiter || napi_get_value_uint32(env, argv[0], &id) != napi_ok) return NULL;
  const rl_str text = name(limiter->registry, id);
  rn_status(e, RL_OK);
  return rn_text(e, text.data, text.size);
}

napi_value rn_rule_name_of(napi_env env, napi_callback_info info) { return name_of(env, info, rl_rule_name); }
napi_value rn_limit_name_of(napi_env env, napi_callback_info info) { return name_of(env, info, rl_limit_name); }

napi_value rn_generation(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  const rn_limiter *limiter = rn_limiter_of(e);
  if (!limiter) return NULL;
  rn_status(e, RL_OK);
  return rn_number(e, (double)rl_registry_generation(limiter->registry));
}

static void put(rn_env *e, napi_value object, const char *name, napi_value value) {
  if (value) napi_set_named_property(e->env, object, name, value);
}

napi_value rn_error_value(rn_env *e, const rl_error *error) {
  napi_value out;
  if (napi_create_object(e->env, &out) != napi_ok) return NULL;
  const char *name = rl_status_name(error->status);
  put(e, out, "code", rn_text(e, name, strlen(name)));
  put(e, out, "message", rn_text(e, error->message, strlen(error->message)));
  put(e, out, "file", rn_text(e, error->file, strlen(error->file)));
  put(e, out, "path", rn_text(e, error->path, strlen(error->path)));
  put(e, out, "line", rn_number(e, error->line));
  put(e, out, "column", rn_number(e, error->column));
  put(e, out, "faultCount", rn_number(e, error->fault_count));
  return out;
}

void rn_refusal(rl_registry *registry, const rl_request *request, rl_status status, rl_error *out) {
  rl_decision none = RL_DECISION_INIT;
  rl_request asked = *request;
  const char *message = "";
  *out = (rl_error)RL_ERROR_INIT;
  switch (status) {
    case RL_E_INVALID_ARGUMENT:
      /* Asked again at an instant of its own and under an id that no rule has, it comes to neither clock nor storage. */
      if (asked.now_ns == 0) asked.now_ns = 1;
      if (asked.rule != 0 || asked.key.size == 0) asked.rule = UINT32_MAX;
      if (rl_peek(registry, &asked, &none, out) == RL_E_INVALID_ARGUMENT) return;
      message = "the clock callback failed";
      break;
    case RL_E_UNSUPPORTED:
      message = "more than 32 rules or 64 limits apply to this request";
      break;
    default:
      break;
  }
  out->status = status;
  const size_t room = sizeof out->message;
  snprintf(out->message, room, "%s", message);
  if (status == RL_E_NOT_FOUND) snprintf(out->message, room, "no rule in force has the id %u", asked.rule);
}

/* failure(): why the last call failed. */
napi_value rn_failure(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  return rn_error_value(e, &e->error);
}

napi_value rn_status_name_of(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  rn_env *e = rn_env_of(env, info, &argc, argv);
  int32_t status = RL_E_INTERNAL;
  napi_get_value_int32(env, argv[0], &status);
  const char *name = rl_status_name(status);
  return rn_text(e, name, strlen(name));
}

/* about(): the engine that was loaded. */
napi_value rn_about(napi_env env, napi_callback_info info) {
  rn_env *e = rn_env_of(env, info, NULL, NULL);
  napi_value out;
  if (napi_create_object(env, &out) != napi_ok) return NULL;
  const char *version = rl_version_string();
  put(e, out, "version", rn_text(e, version, strlen(version)));
  put(e, out, "abi", rn_number(e, rl_abi_version()));
  put(e, out, "features", rn_number(e, (double)rl_features()));
  return out;
}
