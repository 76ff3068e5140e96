#include <stdio.h>
#include <string.h>

#include "ratel/rl.h"

#define TEXT(s) ((rl_str){s, strlen(s)})

int main(void) {
  rl_config* config = NULL;
  rl_registry* registry = NULL;
  rl_error err = RL_ERROR_INIT;
  const char* rules =
      "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}]";
  if (rl_config_create(&config, &err) || rl_config_load_text(config, TEXT(rules), TEXT("rules.yaml"), &err) ||
      rl_registry_create(config, &registry, &err)) {
    return fprintf(stderr, "%s:%u: %s\n", err.file, (unsigned)err.line, err.message), 1;
  }
  for (int i = 0; i < 7; ++i) {
    rl_request request = RL_REQUEST_INIT;
    request.now_ns = UINT64_C(1700000000000000000); /* 0 would read the clock */
    request.method = TEXT("POST");
    request.path = TEXT("/orders/17");
    request.user = TEXT("ann");
    rl_decision decision = RL_DECISION_INIT;
    if (rl_allow(registry, &request, &decision, &err)) return fprintf(stderr, "%s\n", err.message), 1;
    printf("%s, %u left, retry after %u ms\n", decision.allowed ? "allowed" : "denied", (unsigned)decision.remaining,
           (unsigned)(decision.retry_after_ns / 1000000));
  }
  rl_registry_destroy(registry);
  rl_config_destroy(config);
  return 0;
}
