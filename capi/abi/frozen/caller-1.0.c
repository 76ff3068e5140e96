/* A program as it was written against ABI 1.0: it sees the header of that day only, and every later library has to answer it
 * as that day's did. It goes through all groups of functions with structs in their 1.0 sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rl-1.0.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1700000000) * SECOND)

static rl_str text(const char *s) {
  rl_str result;
  result.data = s;
  result.size = strlen(s);
  return result;
}

static const char *const kRules =
    "rules:\n"
    "- {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}\n";

/* A clock and a store of the host, with what they were asked. */
static uint64_t clock_now = START;
static int destroyed;

static uint64_t read_clock(void *self) { return *(uint64_t *)self; }

static void count_destroy(void *self) {
  (void)self;
  ++destroyed;
}

/* One cell is all that this store ever holds. */
static unsigned char held[256];
static uint64_t held_size;

static rl_status apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  (void)self;
  if (count != 1) return RL_E_STORE;
  cells[0].state = held_size == 0 ? NULL : held;
  cells[0].state_size = held_size;
  const rl_status status = rl_step(op, cells, count);
  if (status != RL_OK) return status;
  if (cells[0].write == 1) {
    if (cells[0].new_size > sizeof held) return RL_E_STORE;
    if (cells[0].new_size > 0) memmove(held, cells[0].new_state, cells[0].new_size);
    held_size = cells[0].new_size;
  }
  return RL_OK;
}

static rl_status apply_async(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done) {
  rl_completion_finish(done, apply(self, op, cells, count));
  return RL_OK;
}

static void take_answer(void *user, const rl_decision *decision) { *(rl_decision *)user = *decision; }

static void version(void) {
  CHECK(rl_abi_version() >> 16 == RL_ABI_MAJOR);
  CHECK(rl_abi_version() >= (RL_ABI_MAJOR << 16 | RL_ABI_MINOR));
  CHECK(strlen(rl_version_string()) > 0);
  CHECK((rl_features() & RL_FEATURE_MEMORY) != 0);
  CHECK((rl_features() & RL_FEATURE_HOST_STORAGE) != 0);
  CHECK(strcmp(rl_status_name(RL_E_CONFIG), "RL_E_CONFIG") == 0);
  /* Structs only grow. */
  CHECK(rl_struct_size("request") >= sizeof(rl_request));
  CHECK(rl_struct_size("decision") >= sizeof(rl_decision));
  CHECK(rl_struct_size("no such struct") == 0);
}

static rl_request order(void) {
  rl_request request = RL_REQUEST_INIT;
  request.method = text("POST");
  request.path = text("/orders/17");
  request.user = text("ann");
  request.ip = text("192.0.2.1");
  return request;
}

static rl_registry *registry_in_memory(void) {
  rl_error err = RL_ERROR_INIT;
  rl_config *config = NULL;
  rl_registry *registry = NULL;
  rl_clock clock = {sizeof clock, 0, &clock_now, read_clock, count_destroy};
  CHECK(rl_config_create(&config, &err) == RL_OK);
  CHECK(rl_config_load_text(config, text("rules: 7\n"), text("bad.yaml"), &err) == RL_E_CONFIG);
  CHECK(err.line == 1 && strcmp(err.file, "bad.yaml") == 0);
  CHECK(rl_config_fault(config, 0, &err) == RL_OK);
  CHECK(rl_config_clear(config) == RL_OK);
  CHECK(rl_config_load_text(config, text(kRules), text("rules.yaml"), &err) == RL_OK);
  CHECK(rl_config_use_memory(config, 1000, &err) == RL_OK);
  CHECK(rl_config_set_clock(config, &clock, &err) == RL_OK);
  CHECK(rl_config_set_secret(config, text("0123456789abcdef"), &err) == RL_OK);
  CHECK(rl_registry_create(config, &registry, &err) == RL_OK);
  CHECK(rl_registry_reload(registry, config, &err) == RL_OK);
  CHECK(rl_registry_generation(registry) == 2);
  rl_config_destroy(config);
  CHECK(destroyed == 0);
  return registry;
}

static void decide(rl_registry *registry) {
  rl_error err = RL_ERROR_INIT;
  rl_request request = order();
  rl_decision decision = RL_DECISION_INIT;
  for (uint64_t i = 0; i < 5; ++i) {
    CHECK(rl_allow(registry, &request, &decision, &err) == RL_OK);
    CHECK(decision.allowed == 1 && decision.remaining == 4 - i && decision.cost == 1);
  }
  const rl_decision last = decision;
  CHECK(rl_peek(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 0 && (decision.flags & RL_DECISION_PEEKED) != 0);
  CHECK(rl_allow(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 0 && decision.reason == RL_REASON_LIMITED && decision.source == RL_SOURCE_EXACT);
  CHECK(decision.retry_after_ns == SECOND / 5 && decision.reset_after_ns == SECOND);
  CHECK(decision.limit == 5 && decision.window_ns == SECOND && decision.capacity == 5);
  CHECK(decision.now_ns == START && decision.generation == 2 && decision.limit_count == 1);

  request.now_ns = START;
  CHECK(rl_settle(registry, &request, &last, 0, &decision, &err) == RL_OK);
  CHECK(decision.remaining == 1);

  request.cost = 6;
  CHECK(rl_allow(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 0 && decision.reason == RL_REASON_NEVER_FITS);
  request.cost = 0;
  CHECK(rl_allow(registry, &request, &decision, &err) == RL_E_INVALID_ARGUMENT);

  request = order();
  CHECK(rl_reset(registry, &request, &err) == RL_OK);
  rl_request two[2];
  rl_decision both[2] = {RL_DECISION_INIT, RL_DECISION_INIT};
  two[0] = request;
  two[1] = request;
  two[1].cost = 4;
  CHECK(rl_allow_many(registry, two, 2, both, &err) == RL_OK);
  CHECK(both[0].status == RL_OK && both[0].remaining == 4);
  CHECK(both[1].allowed == 1 && both[1].remaining == 0);

  uint32_t rule = 0;
  CHECK(rl_rule_id(registry, text("orders"), &rule, &err) == RL_OK);
  CHECK(rule != 0 && rl_rule_count(registry) == 1 && rl_rule_at(registry, 0) == rule);
  CHECK(rl_rule_name(registry, rule).size == strlen("orders"));
  CHECK(rl_limit_name(registry, both[0].limit_id).size > 0);
  CHECK(rl_allow_rule(registry, rule, "bob", 3, 1, START, &decision) == RL_OK);
  CHECK(decision.allowed == 1 && decision.remaining == 4);

  request.user = text("cy");
  rl_decision answer = RL_DECISION_INIT;
  CHECK(rl_allow_async(registry, &request, take_answer, &answer, &err) == RL_OK);
  CHECK(answer.status == RL_OK && answer.allowed == 1);
}

static void tell(rl_registry *registry) {
  rl_error err = RL_ERROR_INIT;
  rl_request request = order();
  rl_decision decision = RL_DECISION_INIT;
  char buffer[8192];
  uint64_t needed = 0;
  CHECK(rl_peek(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 0);
  CHECK(rl_decision_headers(registry, &decision, RL_HEADERS_X | RL_HEADERS_RETRY_AFTER, buffer, sizeof buffer, &needed,
                            &err) == RL_OK);
  buffer[needed] = '\0';
  CHECK(strstr(buffer, "X-RateLimit-Limit: 5\r\n") != NULL && strstr(buffer, "Retry-After: 1\r\n") != NULL);
  CHECK(rl_decision_headers(registry, &decision, RL_HEADERS_X, buffer, 1, &needed, &err) == RL_E_BUFFER_TOO_SMALL);
  CHECK(needed > 1);
  CHECK(rl_decision_problem(registry, &decision, buffer, sizeof buffer, &needed, &err) == RL_OK);
  CHECK(buffer[0] == '{');
  CHECK(rl_explain(registry, &request, 0, buffer, sizeof buffer, &needed, &err) == RL_OK);
  CHECK(needed > 0);
  CHECK(rl_metrics_prometheus(registry, buffer, sizeof buffer, &needed, &err) == RL_OK);
  CHECK(needed > 0);

  rl_metrics metrics = {0};
  metrics.struct_size = sizeof metrics;
  CHECK(rl_metrics_get(registry, &metrics, &err) == RL_OK);
  CHECK(metrics.requests == metrics.allowed + metrics.denied && metrics.denied == 2 && metrics.never_fits == 1);
  rl_rule_metrics of_rule = {0};
  of_rule.struct_size = sizeof of_rule;
  CHECK(rl_metrics_rule(registry, rl_rule_at(registry, 0), &of_rule, &err) == RL_OK);
  CHECK(of_rule.allowed == metrics.allowed);

  const rl_str forwarded_for = text("203.0.113.9");
  CHECK(rl_client_ip(registry, text("192.0.2.1"), &forwarded_for, 1, NULL, 0, buffer, sizeof buffer, &needed, &err) ==
        RL_OK);
  CHECK(needed == strlen("192.0.2.1") && memcmp(buffer, "192.0.2.1", needed) == 0);

  uint64_t keys = 0;
  uint64_t evicted = 0;
  CHECK(rl_registry_key_count(registry, &keys, &err) == RL_OK);
  CHECK(keys > 0);
  clock_now += 60 * SECOND;
  CHECK(rl_registry_evict_idle(registry, 0, &evicted, &err) == RL_OK);
  CHECK(rl_registry_key_count(registry, &keys, &err) == RL_OK);
  CHECK(keys == 0 && evicted > 0);
}

/* The rule comes from code, the store from the host. */
static void host_storage(void) {
  rl_error err = RL_ERROR_INIT;
  rl_config *config = NULL;
  rl_registry *registry = NULL;
  rl_limit limit = RL_LIMIT_INIT;
  limit.algorithm = RL_FIXED_WINDOW;
  limit.scope = text("global");
  limit.limit = 2;
  limit.window_ns = SECOND;
  rl_rule rule = RL_RULE_INIT;
  rule.name = text("all");
  rule.is_default = 1;
  rule.limits = &limit;
  rule.limit_count = 1;
  rl_storage storage = {0};
  storage.struct_size = sizeof storage;
  storage.apply = apply;
  storage.apply_async = apply_async;
  storage.destroy = count_destroy;
  CHECK(rl_config_create(&config, &err) == RL_OK);
  CHECK(rl_config_add_rule(config, &rule, &err) == RL_OK);
  CHECK(rl_config_set_storage(config, &storage, &err) == RL_OK);
  CHECK(rl_registry_create(config, &registry, &err) == RL_OK);
  rl_config_destroy(config);

  rl_request request = order();
  request.now_ns = START;
  rl_decision decision = RL_DECISION_INIT;
  CHECK(rl_allow(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 1 && decision.remaining == 1);
  CHECK(rl_allow_async(registry, &request, take_answer, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 1 && decision.remaining == 0);
  CHECK(rl_allow(registry, &request, &decision, &err) == RL_OK);
  CHECK(decision.allowed == 0 && decision.retry_after_ns == SECOND);
  const int before = destroyed;
  rl_registry_destroy(registry);
  CHECK(destroyed == before + 1);
}

int main(void) {
  version();
  rl_registry *registry = registry_in_memory();
  decide(registry);
  tell(registry);
  rl_registry_destroy(registry);
  CHECK(destroyed == 1);
  host_storage();
  puts("a caller of ABI 1.0 is answered as on the day it was built");
  return 0;
}
