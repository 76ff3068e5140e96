/* Storages of the host's own: the same answers as the embedded store, whatever the host has to make apply
 * indivisible, and what comes of one that fails or misuses what it is given. */
#include "map_store.h"

#define FIVE_ALGORITHMS                                                                             \
  "rules:\n"                                                                                        \
  "- {name: tb, path: /tb, scope: user, algorithm: token_bucket, limit: 5, window: 1s, burst: 7}\n" \
  "- {name: lb, path: /lb, scope: user, algorithm: leaky_bucket, limit: 5, window: 1s, burst: 3}\n" \
  "- {name: fw, path: /fw, scope: user, algorithm: fixed_window, limit: 5, window: 1s}\n"           \
  "- {name: sl, path: /sl, scope: user, algorithm: sliding_log, limit: 5, window: 1s}\n"            \
  "- {name: sc, path: /sc, scope: user, algorithm: sliding_counter, limit: 5, window: 1s}\n"        \
  "- name: many\n"                                                                                  \
  "  path: /many\n"                                                                                 \
  "  limits:\n"                                                                                     \
  "  - {name: a, scope: user, algorithm: sliding_log, limit: 4, window: 1s}\n"                      \
  "  - {name: b, scope: global, algorithm: token_bucket, limit: 9, window: 1s}\n"                   \
  "  - {name: c, scope: user, algorithm: fixed_window, limit: 2, window: 1s, shadow: true}\n"

/* The same rules with other numbers, and the tick of one of them. */
#define FIVE_ALGORITHMS_CHANGED                                                                     \
  "rules:\n"                                                                                        \
  "- {name: tb, path: /tb, scope: user, algorithm: token_bucket, limit: 3, window: 2s, burst: 4}\n" \
  "- {name: lb, path: /lb, scope: user, algorithm: leaky_bucket, limit: 9, window: 1s, burst: 2}\n" \
  "- {name: fw, path: /fw, scope: user, algorithm: fixed_window, limit: 8, window: 3s}\n"           \
  "- {name: sl, path: /sl, scope: user, algorithm: sliding_log, limit: 3, window: 2s}\n"            \
  "- {name: sc, path: /sc, scope: user, algorithm: sliding_counter, limit: 7, window: 500ms}\n"     \
  "- name: many\n"                                                                                  \
  "  path: /many\n"                                                                                 \
  "  limits:\n"                                                                                     \
  "  - {name: a, scope: user, algorithm: sliding_log, limit: 6, window: 1s}\n"                      \
  "  - {name: b, scope: global, algorithm: token_bucket, limit: 4, window: 1s}\n"                   \
  "  - {name: c, scope: user, algorithm: fixed_window, limit: 3, window: 2s, shadow: true}\n"

static uint64_t random_state;

static uint64_t random_below(uint64_t bound) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random_state >> 33) % bound;
}

static void reload(rl_registry *registry, const char *rules) {
  rl_config *config = config_of(rules);
  assert_int_equal(RL_OK, rl_registry_reload(registry, config, NULL));
  rl_config_destroy(config);
}

/* Two registries with the same rules on different stores, and what one trace of calls goes through. */
struct trace {
  rl_registry *embedded;
  rl_registry *hosted;
  uint64_t now_ns;
  rl_decision spent; /* the last that was allowed, until it is settled */
  rl_request spent_by;
};

static void trace_allow(struct trace *trace, const rl_request *request) {
  rl_decision expected = RL_DECISION_INIT;
  rl_decision actual = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_allow(trace->embedded, request, &expected, NULL));
  assert_int_equal(RL_OK, rl_allow(trace->hosted, request, &actual, NULL));
  assert_same_answer(&expected, &actual);
  if (expected.allowed) {
    trace->spent = expected;
    trace->spent_by = *request;
  }
}

static void trace_peek(struct trace *trace, const rl_request *request) {
  rl_decision expected = RL_DECISION_INIT;
  rl_decision actual = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_peek(trace->embedded, request, &expected, NULL));
  assert_int_equal(RL_OK, rl_peek(trace->hosted, request, &actual, NULL));
  assert_same_answer(&expected, &actual);
}

static void trace_settle(struct trace *trace) {
  rl_decision expected = RL_DECISION_INIT;
  rl_decision actual = RL_DECISION_INIT;
  if (!trace->spent.allowed) return;
  const int64_t units = (int64_t)random_below(6);
  trace->spent_by.now_ns = trace->now_ns;
  assert_int_equal(RL_OK, rl_settle(trace->embedded, &trace->spent_by, &trace->spent, units, &expected, NULL));
  assert_int_equal(RL_OK, rl_settle(trace->hosted, &trace->spent_by, &trace->spent, units, &actual, NULL));
  assert_same_answer(&expected, &actual);
  trace->spent.allowed = 0;
}

static void trace_reset(struct trace *trace, const rl_request *request) {
  assert_int_equal(RL_OK, rl_reset(trace->embedded, request, NULL));
  assert_int_equal(RL_OK, rl_reset(trace->hosted, request, NULL));
}

static void trace_reload(struct trace *trace, const char *rules) {
  reload(trace->embedded, rules);
  reload(trace->hosted, rules);
  trace->spent.allowed = 0;
}

static const char *const kPaths[] = {"/tb", "/lb", "/fw", "/sl", "/sc", "/many"};

static struct trace trace_start(const rl_storage *storage, uint64_t seed) {
  struct trace trace;
  memset(&trace, 0, sizeof trace);
  trace.embedded = registry_of(FIVE_ALGORITHMS);
  trace.hosted = registry_on(storage, FIVE_ALGORITHMS, 0);
  trace.now_ns = START;
  random_state = seed;
  return trace;
}

static void trace_end(struct trace *trace) {
  rl_registry_destroy(trace->embedded);
  rl_registry_destroy(trace->hosted);
}

static rl_request trace_request(const struct trace *trace, const char *user, const char *path) {
  rl_request request = request_of(user, trace->now_ns);
  request.path = text(path);
  request.cost = 1 + (int64_t)random_below(3);
  return request;
}

static void trace_reload_sometimes(struct trace *trace, int step) {
  if (step % 500 == 499) trace_reload(trace, step % 1000 == 499 ? FIVE_ALGORITHMS_CHANGED : FIVE_ALGORITHMS);
}

/* All rules and users, time going forward. */
static void assert_equal_trace(const rl_storage *storage, uint64_t seed) {
  static const char *const users[] = {"ann", "bob"};
  struct trace trace = trace_start(storage, seed);
  for (int i = 0; i < 4000; ++i) {
    trace.now_ns += random_below(3) == 0 ? random_below(300 * MILLISECOND) : 0;
    if (random_below(200) == 0) trace.now_ns += 5 * SECOND;
    trace_reload_sometimes(&trace, i);
    const char *user = users[random_below(2)];
    const rl_request request = trace_request(&trace, user, kPaths[random_below(6)]);
    const uint64_t choice = random_below(20);
    if (choice < 14) trace_allow(&trace, &request);
    if (choice >= 14 && choice < 17) trace_peek(&trace, &request);
    if (choice >= 17 && choice < 19) trace_settle(&trace);
    if (choice == 19) trace_reset(&trace, &request);
  }
  trace_end(&trace);
}

/* One rule and user, with a clock that steps back as well. (With more keys the embedded store may have dropped a
 * state that had become as new, and does not find it again when time is turned back.) */
static void assert_equal_trace_backwards(const rl_storage *storage, const char *path, uint64_t seed) {
  struct trace trace = trace_start(storage, seed);
  for (int i = 0; i < 2000; ++i) {
    trace.now_ns += random_below(3) == 0 ? random_below(300 * MILLISECOND) : 0;
    if (random_below(30) == 0) trace.now_ns -= random_below(4 * SECOND);
    trace_reload_sometimes(&trace, i);
    const rl_request request = trace_request(&trace, "ann", path);
    const uint64_t choice = random_below(20);
    if (choice < 15) trace_allow(&trace, &request);
    if (choice >= 15 && choice < 18) trace_peek(&trace, &request);
    if (choice >= 18) trace_settle(&trace);
  }
  trace_end(&trace);
}

static void a_mutex_and_a_map_decide_as_the_embedded_store(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    struct map_store map;
    map_init(&map);
    const rl_storage storage = map_storage(&map);
    assert_equal_trace(&storage, seed);
    assert_int_equal(0, map.overflow);
    assert_int_equal(1, map.destroyed);
    assert_true(map.writes < map.applies * 3);
  }
}

static void clocks_that_step_back_decide_as_in_the_embedded_store(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 18; ++i) {
    struct map_store map;
    map_init(&map);
    const rl_storage storage = map_storage(&map);
    assert_equal_trace_backwards(&storage, kPaths[i % 6], 100 + i);
  }
}

/* Compare-and-swap: the first try reads what is out of date, loses, and tries again. */
static rl_status swap_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct map_store *map = self;
  for (uint32_t i = 0; i < count; ++i) {
    cells[i].state = NULL;
    cells[i].state_size = 0;
  }
  const rl_status lost = rl_step(op, cells, count);
  if (lost != RL_OK) return lost;
  return map_apply(map, op, cells, count);
}

static void a_compare_and_swap_decides_as_the_embedded_store(void **state) {
  (void)state;
  struct map_store map;
  map_init(&map);
  rl_storage storage = map_storage(&map);
  storage.apply = swap_apply;
  storage.forget = NULL;
  assert_equal_trace(&storage, 77);
  assert_int_equal(0, map.overflow);
}

static void states_live_as_long_as_they_say(void **state) {
  (void)state;
  struct map_store map;
  map_init(&map);
  const rl_storage storage = map_storage(&map);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  const rl_decision first = ask_cost(registry, "ann", START, 3);
  assert_int_equal(600 * MILLISECOND, first.reset_after_ns);
  assert_int_equal(1, map_size(&map));
  assert_int_equal(600 * MILLISECOND, map.entries[0].ttl_ns);
  assert_int_equal(1, map.writes);
  assert_int_equal(0, ask_cost(registry, "ann", START, 3).allowed);
  assert_int_equal(1, map.writes);
  /* Dropping it at that time changes nothing. */
  memset(&map.entries[0], 0, sizeof map.entries[0]);
  assert_int_equal(4, ask(registry, "ann", START + 600 * MILLISECOND).remaining);
  const rl_decision spent = ask(registry, "bob", START);
  const rl_request request = request_of("bob", START);
  rl_decision settled = RL_DECISION_INIT;
  assert_int_equal(RL_OK, rl_settle(registry, &request, &spent, 0, &settled, NULL));
  assert_int_equal(1, map_size(&map)); /* bob's state is as new: not held */
  rl_registry_destroy(registry);
}

static void the_optional_callbacks_are_used(void **state) {
  (void)state;
  struct map_store map;
  map_init(&map);
  const rl_storage storage = map_storage(&map);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  const rl_request request = request_of("ann", START);
  uint64_t evicted = 0;
  ask(registry, "ann", START);
  assert_int_equal(1, keys_of(registry));
  assert_int_equal(RL_OK, rl_registry_evict_idle(registry, START, &evicted, NULL));
  assert_int_equal(3, evicted);
  assert_true(map.last_cutoff_ns == START);
  const uint64_t applies = map.applies;
  assert_int_equal(RL_OK, rl_reset(registry, &request, NULL));
  assert_int_equal(1, map.forgets);
  assert_int_equal(applies, map.applies);
  assert_int_equal(0, keys_of(registry));
  rl_registry_destroy(registry);
  assert_int_equal(1, map.destroyed);
}

static void the_optional_callbacks_are_optional(void **state) {
  (void)state;
  struct map_store map;
  map_init(&map);
  const rl_storage storage = {sizeof storage, 0, &map, map_apply, NULL, NULL, NULL, NULL, NULL};
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  const rl_request request = request_of("ann", START);
  uint64_t number = 7;
  rl_error err = RL_ERROR_INIT;
  ask(registry, "ann", START);
  assert_failed(RL_E_UNSUPPORTED, rl_registry_key_count(registry, &number, &err), &err);
  assert_int_equal(0, number);
  assert_failed(RL_E_UNSUPPORTED, rl_registry_evict_idle(registry, START, &number, &err), &err);
  assert_int_equal(RL_OK, rl_reset(registry, &request, NULL));
  assert_int_equal(0, map_size(&map));
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
  assert_int_equal(0, map.destroyed);
}

static void keys_are_hashes_unless_tests_ask_for_text(void **state) {
  (void)state;
  for (uint32_t readable = 0; readable <= 1; ++readable) {
    struct map_store map;
    map_init(&map);
    const rl_storage storage = map_storage(&map);
    rl_registry *registry = registry_on(&storage, ORDERS, readable);
    ask(registry, "alice", START);
    const struct map_entry *entry = &map.entries[0];
    assert_true(entry->key_size > 0);
    for (uint64_t i = 0; i < entry->key_size; ++i) assert_in_range(entry->key[i], 0x20, 0x7E);
    assert_int_equal(readable, contains(entry->key, entry->key_size, "alice"));
    rl_registry_destroy(registry);
  }
}

static rl_str key_with_secret(struct map_store *map, const char *secret) {
  rl_config *config = config_of(ORDERS);
  rl_registry *registry = NULL;
  map_init(map);
  const rl_storage storage = map_storage(map);
  assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
  if (secret != NULL) assert_int_equal(RL_OK, rl_config_set_secret(config, text(secret), NULL));
  assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
  rl_config_destroy(config);
  ask(registry, "alice", START);
  rl_registry_destroy(registry);
  return bytes_of(map->entries[0].key, map->entries[0].key_size);
}

static void a_secret_makes_the_same_keys_everywhere(void **state) {
  (void)state;
  static struct map_store one, two, three, four;
  const rl_str first = key_with_secret(&one, "sixteen bytes ok");
  const rl_str second = key_with_secret(&two, "sixteen bytes ok");
  const rl_str other = key_with_secret(&three, "sixteen other ones");
  const rl_str random = key_with_secret(&four, NULL);
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  assert_memory_not_equal(first.data, other.data, first.size);
  assert_memory_not_equal(first.data, random.data, first.size);
}

static void bytes_that_are_no_state_count_as_none(void **state) {
  (void)state;
  struct map_store map;
  map_init(&map);
  const rl_storage storage = map_storage(&map);
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  for (int n = 0; n < 5; ++n) ask(registry, "ann", START);
  struct map_entry *entry = &map.entries[0];
  const struct map_entry good = *entry;
  for (uint64_t i = 0; i < good.state_size; ++i) {
    *entry = good;
    entry->state[i] ^= 0x5A;
    assert_int_equal(4, ask(registry, "ann", START).remaining);
    *entry = good;
    entry->state_size = i == 0 ? 1 : i;
    assert_int_equal(4, ask(registry, "ann", START).remaining);
  }
  *entry = good;
  memset(entry->state, 0xFF, MAP_STATE_SIZE);
  entry->state_size = MAP_STATE_SIZE;
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  *entry = good;
  assert_int_equal(0, ask(registry, "ann", START).allowed);
  rl_registry_destroy(registry);
}

/* --- storages that fail -------------------------------------------------------------------------------------------
 * */

struct failing {
  rl_status answer;
  int step; /* call rl_step before answering */
  int calls;
};

static rl_status failing_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct failing *failing = self;
  ++failing->calls;
  if (failing->step) rl_step(op, cells, count);
  return failing->answer;
}

static rl_registry *failing_registry(struct failing *failing, const char *on_store_error) {
  char rules[512] = "rules: [{name: orders, path: /orders, scope: user, limit: 5, window: 1s, on_store_error: ";
  strcat(strcat(rules, on_store_error), "}]");
  const rl_storage storage = {sizeof storage, 0, failing, failing_apply, NULL, NULL, NULL, NULL, NULL};
  return registry_on(&storage, rules, 0);
}

static void a_failing_store_leaves_it_to_the_rule(void **state) {
  (void)state;
  /* Whatever is no RL_OK is a failure, and so is an RL_OK without a decision. */
  const struct failing kinds[] = {{RL_E_STORE, 0, 0}, {RL_E_STORE, 1, 0}, {RL_OK, 0, 0},         {1, 1, 0},
                                  {12345, 0, 0},      {-999, 1, 0},       {RL_E_INTERNAL, 0, 0}, {INT32_MIN, 1, 0}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    struct failing failing = kinds[i];
    rl_registry *registry = failing_registry(&failing, "open");
    rl_decision decision = ask(registry, "ann", START);
    assert_int_equal(1, decision.allowed);
    assert_int_equal(RL_SOURCE_FAIL_OPEN, decision.source);
    rl_registry_destroy(registry);

    registry = failing_registry(&failing, "closed");
    decision = ask(registry, "ann", START);
    assert_int_equal(0, decision.allowed);
    assert_int_equal(RL_SOURCE_FAIL_CLOSED, decision.source);
    assert_int_equal(RL_REASON_STORE, decision.reason);
    rl_registry_destroy(registry);

    registry = failing_registry(&failing, "local");
    for (int n = 0; n < 6; ++n) {
      decision = ask(registry, "ann", START);
      assert_int_equal(n < 5, decision.allowed);
      assert_int_equal(RL_SOURCE_LOCAL_FALLBACK, decision.source);
    }
    rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(RL_OK, rl_metrics_get(registry, &metrics, NULL));
    assert_int_equal(6, metrics.store_errors);
    assert_int_equal(6, metrics.local_fallback);
    assert_int_equal(8, failing.calls);
    rl_registry_destroy(registry);
  }
}

static void a_failing_store_cannot_reset_or_settle(void **state) {
  (void)state;
  struct failing failing = {RL_E_STORE, 0, 0};
  rl_registry *registry = failing_registry(&failing, "closed");
  const rl_request request = request_of("ann", START);
  rl_error err = RL_ERROR_INIT;
  assert_failed(RL_E_STORE, rl_reset(registry, &request, &err), &err);
  rl_decision spent = RL_DECISION_INIT;
  spent.allowed = 1;
  spent.rule = rl_rule_at(registry, 0);
  spent.limit_count = 1;
  spent.cost = 1;
  spent.now_ns = START;
  rl_decision out = RL_DECISION_INIT;
  assert_failed(RL_E_STORE, rl_settle(registry, &request, &spent, 0, &out, &err), &err);
  assert_no_answer(&out, RL_E_STORE);
  rl_registry_destroy(registry);
}

/* --- storages that misuse what they are given
 * ----------------------------------------------------------------------- */

struct misuse {
  struct map_store map;
  rl_op *kept;
  rl_cell *kept_cells;
  rl_status seen[8];
};

static rl_status misusing_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct misuse *misuse = self;
  rl_cell copy = cells[0];
  misuse->seen[0] = rl_step(NULL, cells, count);
  misuse->seen[1] = rl_step(op, NULL, count);
  misuse->seen[2] = rl_step(op, cells, count + 1);
  misuse->seen[3] = rl_step(op, cells, 0);
  misuse->seen[4] = rl_step(op, &copy, count);
  cells[0].state = NULL;
  cells[0].state_size = 5;
  misuse->seen[5] = rl_step(op, cells, count);
  cells[0].state = "x";
  cells[0].state_size = UINT64_MAX;
  misuse->seen[6] = rl_step(op, cells, count);
  misuse->kept = op;
  misuse->kept_cells = cells;
  return map_apply(&misuse->map, op, cells, count);
}

static void a_misused_step_does_no_harm(void **state) {
  (void)state;
  struct misuse misuse;
  map_init(&misuse.map);
  const rl_storage storage = {sizeof storage, 0, &misuse, misusing_apply, NULL, NULL, NULL, NULL, NULL};
  rl_registry *registry = registry_on(&storage, ORDERS, 0);
  assert_int_equal(4, ask(registry, "ann", START).remaining);
  assert_int_equal(3, ask(registry, "ann", START).remaining);
  for (int i = 0; i < 7; ++i) assert_int_equal(RL_E_INVALID_ARGUMENT, misuse.seen[i]);
  assert_int_equal(RL_E_STATE, rl_step(misuse.kept, misuse.kept_cells, 1));
  assert_int_equal(2, ask(registry, "ann", START).remaining);
  rl_registry_destroy(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mutex_and_a_map_decide_as_the_embedded_store),
      cmocka_unit_test(clocks_that_step_back_decide_as_in_the_embedded_store),
      cmocka_unit_test(a_compare_and_swap_decides_as_the_embedded_store),
      cmocka_unit_test(states_live_as_long_as_they_say),
      cmocka_unit_test(the_optional_callbacks_are_used),
      cmocka_unit_test(the_optional_callbacks_are_optional),
      cmocka_unit_test(keys_are_hashes_unless_tests_ask_for_text),
      cmocka_unit_test(a_secret_makes_the_same_keys_everywhere),
      cmocka_unit_test(bytes_that_are_no_state_count_as_none),
      cmocka_unit_test(a_failing_store_leaves_it_to_the_rule),
      cmocka_unit_test(a_failing_store_cannot_reset_or_settle),
      cmocka_unit_test(a_misused_step_does_no_harm),
  };
  return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
