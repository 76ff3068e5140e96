/* The five algorithms in virtual time: every instant is an argument, so that hours pass in no time and every answer is
 * the same on every machine. Shows what it does, checks what it shows, and ends with 1 when something is not as it
 * should be. */
#include <pthread.h>
#include <ratel/rl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND UINT64_C(1000)
#define MILLISECOND UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1800000000) * SECOND)

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static rl_str text(const char *bytes) { return (rl_str){bytes, strlen(bytes)}; }

static void must(rl_status status, const rl_error *err) {
  if (status == RL_OK) return;
  fprintf(stderr, "%s: %s %s\n", rl_status_name(status), err->path, err->message);
  exit(1);
}

static rl_config *load(const char *rules) {
  rl_error err = RL_ERROR_INIT;
  rl_config *config = NULL;
  must(rl_config_create(&config, &err), &err);
  must(rl_config_load_text(config, text(rules), text("rules"), &err), &err);
  return config;
}

static rl_registry *start(const char *rules) {
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = NULL;
  rl_config *config = load(rules);
  must(rl_registry_create(config, &registry, &err), &err);
  rl_config_destroy(config);
  return registry;
}

static const char *five_per_second(const char *algorithm) {
  static char rules[256];
  snprintf(rules, sizeof rules,
           "{version: 1, rules: [{name: orders, path: /orders, scope: user, algorithm: %s, limit: 5, window: 1s}]}",
           algorithm);
  return rules;
}

static rl_request order(const char *user, uint64_t now) {
  rl_request request = RL_REQUEST_INIT;
  request.method = text("POST");
  request.path = text("/orders");
  request.user = text(user);
  request.now_ns = now;
  return request;
}

static rl_decision allow(rl_registry *registry, const char *user, uint64_t now) {
  rl_error err = RL_ERROR_INIT;
  const rl_request request = order(user, now);
  rl_decision answer = RL_DECISION_INIT;
  must(rl_allow(registry, &request, &answer, &err), &err);
  return answer;
}

static int would_allow(rl_registry *registry, const char *user, uint64_t now) {
  rl_error err = RL_ERROR_INIT;
  const rl_request request = order(user, now);
  rl_decision answer = RL_DECISION_INIT;
  must(rl_peek(registry, &request, &answer, &err), &err);
  return answer.allowed;
}

static double seconds(uint64_t nanoseconds) { return (double)nanoseconds / 1e9; }

/* ---- the same burst through all five ---- */

static void burst(const char *algorithm, uint64_t expected_wait) {
  rl_registry *registry = start(five_per_second(algorithm));
  printf("  %-16s", algorithm);
  rl_decision answer = RL_DECISION_INIT;
  uint64_t last_delay = 0;
  for (int i = 0; i < 7; ++i) {
    answer = allow(registry, "alice", START);
    printf(" %s", answer.allowed ? "yes" : "no ");
    CHECK(answer.allowed == (i < 5));
    if (answer.allowed) last_delay = answer.delay_ns;
  }
  const uint64_t wait = answer.retry_after_ns;
  const int early = would_allow(registry, "alice", START + wait - MICROSECOND);
  const int then = would_allow(registry, "alice", START + wait);
  printf("  wait %.1f s: then %s, 1 us before %s", seconds(wait), then ? "yes" : "no", early ? "yes" : "no");
  if (last_delay > 0) printf("  (the fifth is held back %.1f s)", seconds(last_delay));
  printf("\n");
  CHECK(wait == expected_wait);
  CHECK(then && !early);
  rl_registry_destroy(registry);
}

static void bursts(void) {
  printf("Seven requests at once, 5 per second\n");
  burst("token_bucket", 200 * MILLISECOND);
  burst("leaky_bucket", 200 * MILLISECOND);
  burst("fixed_window", 1000 * MILLISECOND);
  burst("sliding_log", 1000 * MILLISECOND);
  burst("sliding_counter", 1200 * MILLISECOND);
}

/* ---- across a window's border ---- */

static int admitted_of_five(rl_registry *registry, uint64_t now) {
  int admitted = 0;
  for (int i = 0; i < 5; ++i) admitted += allow(registry, "alice", now).allowed;
  return admitted;
}

static void border(const char *algorithm, int expected_after) {
  rl_registry *registry = start(five_per_second(algorithm));
  const int before = admitted_of_five(registry, START + 900 * MILLISECOND);
  const int after = admitted_of_five(registry, START + 1000 * MILLISECOND);
  printf("  %-16s %d + %d\n", algorithm, before, after);
  CHECK(before == 5 && after == expected_after);
  rl_registry_destroy(registry);
}

static void borders(void) {
  printf("\nFive at 0.9 s and five at 1.0 s, across a window's border\n");
  border("fixed_window", 5);
  border("sliding_counter", 0);
}

/* ---- a reload under load ---- */

typedef struct crowd {
  rl_registry *registry;
  atomic_int stop;
  atomic_int asked, admitted;
} crowd;

static void *hammer(void *argument) {
  crowd *self = argument;
  while (!atomic_load(&self->stop)) {
    atomic_fetch_add(&self->admitted, allow(self->registry, "crowd", START).allowed);
    atomic_fetch_add(&self->asked, 1);
  }
  return NULL;
}

/* Returns when a thousand more were answered. */
static void let_run(crowd *self) {
  const int from = atomic_load(&self->asked);
  while (atomic_load(&self->asked) < from + 1000) {
  }
}

static void reload_under_load(void) {
  static const char *const kRules =
      "{version: 1, rules: [{name: orders, path: /orders, scope: user, algorithm: fixed_window, limit: %d, window: "
      "1h}]}";
  char rules[256];
  snprintf(rules, sizeof rules, kRules, 100);
  crowd self = {.registry = start(rules)};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, hammer, &self) == 0);

  printf("\nFour threads ask without a pause at one frozen instant; a reload raises 100 per hour to 150\n");
  let_run(&self);
  const int before = atomic_load(&self.admitted);
  rl_error err = RL_ERROR_INIT;
  snprintf(rules, sizeof rules, kRules, 150);
  rl_config *config = load(rules);
  must(rl_registry_reload(self.registry, config, &err), &err);
  rl_config_destroy(config);
  let_run(&self);
  atomic_store(&self.stop, 1);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);

  printf("  allowed before %d, in all %d, rule set number %d\n", before, atomic_load(&self.admitted),
         (int)rl_registry_generation(self.registry));
  CHECK(before == 100);
  CHECK(atomic_load(&self.admitted) == 150);
  rl_registry_destroy(self.registry);
}

/* ---- housekeeping ---- */

static uint64_t clock_now(void *self) { return *(uint64_t *)self; }

static uint64_t key_count(rl_registry *registry) {
  rl_error err = RL_ERROR_INIT;
  uint64_t keys = 0;
  must(rl_registry_key_count(registry, &keys, &err), &err);
  return keys;
}

static void show_rule(rl_registry *registry, const char *name, uint64_t allowed, uint64_t denied) {
  rl_error err = RL_ERROR_INIT;
  uint32_t rule = 0;
  must(rl_rule_id(registry, text(name), &rule, &err), &err);
  rl_rule_metrics metrics = {0};
  metrics.struct_size = sizeof metrics;
  must(rl_metrics_rule(registry, rule, &metrics, &err), &err);
  printf("  %-16s allowed %4d, denied %4d\n", name, (int)metrics.allowed, (int)metrics.denied);
  CHECK(metrics.allowed == allowed && metrics.denied == denied);
}

static void housekeeping(void) {
  uint64_t now = START;
  const rl_clock clock = {sizeof clock, 0, &now, clock_now, NULL};
  rl_error err = RL_ERROR_INIT;
  rl_registry *registry = NULL;
  rl_config *config = load(
      "version: 1\n"
      "rules:\n"
      "  - {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}\n"
      "  - {name: exports, path: /exports, scope: user, algorithm: fixed_window, limit: 2, window: 1d}\n");
  must(rl_config_set_clock(config, &clock, &err), &err);
  must(rl_registry_create(config, &registry, &err), &err);
  rl_config_destroy(config);

  for (int i = 0; i < 1000; ++i) {
    char user[32];
    snprintf(user, sizeof user, "user-%d", i);
    allow(registry, user, 0);
  }
  for (int i = 0; i < 7; ++i) allow(registry, "alice", 0);
  for (int i = 0; i < 3; ++i) {
    rl_request request = order("alice", 0);
    rl_decision answer = RL_DECISION_INIT;
    request.path = text("/exports");
    must(rl_allow(registry, &request, &answer, &err), &err);
    CHECK(answer.allowed == (i < 2));
  }

  printf("\nHousekeeping: 1,000 users order once, alice seven times, and she asks for three exports\n");
  show_rule(registry, "orders", 1005, 2);
  show_rule(registry, "exports", 2, 1);
  const uint64_t held = key_count(registry);
  now += 600 * SECOND;
  uint64_t evicted = 0;
  must(rl_registry_evict_idle(registry, 0, &evicted, &err), &err);
  printf("  keys held %d, evicted after ten idle minutes %d, held now %d (alice's exports count until midnight)\n",
         (int)held, (int)evicted, (int)key_count(registry));
  CHECK(held == 1002);
  CHECK(evicted == 1001);
  CHECK(key_count(registry) == 1);
  rl_registry_destroy(registry);
}

int main(void) {
  bursts();
  borders();
  reload_under_load();
  housekeeping();
  return 0;
}
