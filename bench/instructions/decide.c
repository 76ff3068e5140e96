/* decide CASE COUNT: makes COUNT decisions of one kind, for an instruction counter to look at. Prints how many were allowed.
 *
 * Keys and requests are made beforehand and every decision has its own instant, so that two runs differ by decisions alone. */
#include <ratel/rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 256
#define BATCH 32
#define START UINT64_C(1700000000000000000)
#define STEP UINT64_C(10000) /* nanoseconds between decisions, so that what a key has spent has not all come back */
#define LIMIT 10000

static char keys[KEYS][40];
static char *rules;
static size_t rules_size;

static void add(const char *format, const char *text, int number) {
  rules_size += (size_t)sprintf(rules + rules_size, format, text, number);
}

static void check(rl_status status, const char *what) {
  if (status == RL_OK) return;
  fprintf(stderr, "%s: %s\n", what, rl_status_name(status));
  exit(2);
}

static const char *algorithm_of(const char *name) {
  static const char *const kNames[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log",
                                       "sliding_counter"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    if (strstr(name, kNames[i]) != NULL) return kNames[i];
  }
  return "token_bucket";
}

static void write_rules(const char *name) {
  rules = malloc(1 << 20);
  if (rules == NULL) exit(2);
  add("rules:\n", "", 0);
  if (strcmp(name, "allow_three_limits") == 0) {
    add("  - name: api\n    path: /api/v1/items\n    limits:\n", "", 0);
    add("      - {name: second, scope: user, %s, limit: 1000, window: 1s}\n", "algorithm: token_bucket", 0);
    add("      - {name: day, scope: user, %s, limit: 1000000, window: 1d}\n", "algorithm: fixed_window", 0);
    add("      - {name: all, scope: global, %s, limit: 1000000, window: 1s}\n", "algorithm: sliding_counter", 0);
    return;
  }
  add("  - {name: api, path: /api/v1/items, scope: user, algorithm: %s, limit: %d, window: 1m}\n", algorithm_of(name),
      LIMIT);
  const int others = strcmp(name, "allow_1000_rules") == 0 ? 999 : 0;
  for (int i = 0; i < others; ++i) {
    add("  - {name: %sother-%d, ", "", i);
    add("path: \"/api/v1/%sother-%d/{id}\", scope: user, algorithm: token_bucket, limit: 100, window: 1m}\n", "", i);
  }
}

static rl_registry *make_registry(void) {
  rl_config *config = NULL;
  rl_registry *registry = NULL;
  const rl_str secret = {"0123456789abcdef", 16}; /* the same table in every run */
  check(rl_config_create(&config, NULL), "config");
  check(rl_config_load_text(config, (rl_str){rules, rules_size}, (rl_str){"rules", 5}, NULL), "rules");
  check(rl_config_set_secret(config, secret, NULL), "secret");
  check(rl_registry_create(config, &registry, NULL), "registry");
  rl_config_destroy(config);
  return registry;
}

static rl_request request_of(int key, uint64_t now) {
  rl_request request = RL_REQUEST_INIT;
  request.now_ns = now;
  request.method = (rl_str){"GET", 3};
  request.path = (rl_str){"/api/v1/items/4711", 18};
  request.user = (rl_str){keys[key], strlen(keys[key])};
  return request;
}

enum call { ALLOW, ALLOW_RULE, ALLOW_MANY, ALLOW_HTTP };

static enum call call_of(const char *name) {
  if (strncmp(name, "allow_rule", 10) == 0) return ALLOW_RULE;
  if (strncmp(name, "allow_many", 10) == 0) return ALLOW_MANY;
  return strcmp(name, "allow_http") == 0 ? ALLOW_HTTP : ALLOW;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const char *name = argv[1];
  const long count = strtol(argv[2], NULL, 10);
  for (int i = 0; i < KEYS; ++i) snprintf(keys[i], sizeof keys[i], "user-%08d-0123456789abcdef", i);
  write_rules(name);
  rl_registry *registry = make_registry();
  uint32_t rule = 0;
  check(rl_rule_id(registry, (rl_str){"api", 3}, &rule, NULL), "rule");
  /* A denied key has spent its limit, and no time passes for it. */
  const int denied = strstr(name, "denied") != NULL;
  rl_decision decision = RL_DECISION_INIT;
  if (denied) check(rl_allow_rule(registry, rule, keys[0], strlen(keys[0]), LIMIT, START, &decision), "spend");
  rl_decision answers[BATCH];
  static rl_request requests[KEYS]; /* a batch takes the first */
  rl_http http = RL_HTTP_INIT;
  http.peer = (rl_str){"192.0.2.1", 9};
  char fields[1024];
  uint64_t needed = 0;
  const enum call call = call_of(name);
  long allowed = 0;
  for (int i = 0; i < KEYS; ++i) requests[i] = request_of(i, START);
  for (int i = 0; i < KEYS && strcmp(name, "allow_many_rule") == 0; ++i) {
    requests[i].rule = rule;
    requests[i].key = requests[i].user;
  }
  for (int i = 0; i < BATCH; ++i) answers[i] = decision;
  for (long i = 0; i < count; ++i) {
    const int key = denied ? 0 : (int)(i % KEYS);
    const uint64_t now = denied ? START : START + (uint64_t)i * STEP;
    if (call == ALLOW_RULE) {
      check(rl_allow_rule(registry, rule, keys[key], 30, 1, now, &decision), name);
    } else if (call == ALLOW_MANY) {
      for (int k = 0; k < BATCH; ++k) requests[k].now_ns = now;
      check(rl_allow_many(registry, requests, BATCH, answers, NULL), name);
      decision = answers[0];
    } else {
      requests[key].now_ns = now;
      if (call == ALLOW) {
        check(rl_allow(registry, &requests[key], &decision, NULL), name);
      } else {
        check(rl_allow_http(registry, &requests[key], &http, &decision, fields, sizeof fields, &needed, NULL), name);
      }
    }
    allowed += decision.allowed;
  }
  rl_registry_destroy(registry);
  free(rules);
  printf("%ld\n", allowed);
  return 0;
}
