#include <ratel/rl.h>
#include <stdio.h>

#define TEXT(s) ((rl_str){s, sizeof(s) - 1})
#define RULES "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}]"

int main(void) {
  rl_config *config = NULL;
  rl_registry *registry = NULL;
  rl_error err = RL_ERROR_INIT;
  if (rl_config_create(&config, &err) || rl_config_load_text(config, TEXT(RULES), TEXT("rules.yaml"), &err) ||
      rl_registry_create(config, &registry, &err))
    return fprintf(stderr, "%s:%u: %s\n", err.file, (unsigned)err.line, err.message), 1;
  rl_request request = RL_REQUEST_INIT;
  request.now_ns = UINT64_C(1700000000000000000), request.path = TEXT("/orders/17"), request.user = TEXT("ann");
  rl_decision decision = RL_DECISION_INIT;
  for (int i = 0; i < 7 && rl_allow(registry, &request, &decision, &err) == RL_OK; ++i)
    printf("%s, %u left, retry after %u ms\n", decision.allowed ? "allowed" : "denied", (unsigned)decision.remaining,
           (unsigned)(decision.retry_after_ns / 1000000));
  rl_registry_destroy(registry);
  rl_config_destroy(config);
}
