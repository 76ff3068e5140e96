/* The n-th allocation of every entry point fails, for n = 1, 2, ... until the call needs no more: it answers
 * RL_E_NO_MEMORY (or does without), nothing leaks, and nothing has changed. Once with that allocation alone failing,
 * once with every one from there on.
 *
 * The program's own malloc and mmap stand in for the C library's, for all libraries of the process. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map_store.h"

/* --- allocation that fails on demand -------------------------------------------------------------------------------
 * */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);
void *memalign(size_t alignment, size_t size);

static _Thread_local int armed;
static _Thread_local int from_there_on;
static _Thread_local long countdown;
static _Thread_local long failures;
static atomic_long live;

static int fails(void) {
  if (!armed) return 0;
  if (countdown > 0) --countdown;
  if (countdown > 0 || (failures > 0 && !from_there_on)) return 0;
  ++failures;
  errno = ENOMEM;
  return 1;
}

static void *counted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&live, 1);
  return memory;
}

void *malloc(size_t size) { return fails() ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return fails() ? NULL : counted(__libc_calloc(count, size)); }

void *memalign(size_t alignment, size_t size) { return fails() ? NULL : counted(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *out = memory;
  return 0;
}

void *realloc(void *old, size_t size) {
  if (old == NULL) return malloc(size);
  return fails() ? NULL : __libc_realloc(old, size);
}

void free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&live, 1);
  __libc_free(memory);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  if (fails()) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset); /* NOLINT */
}

/* --- the world in which each call is made
 * ---------------------------------------------------------------------------- */

#define RULES                                                                                                     \
  "trusted_proxies: [10.0.0.0/8]\n"                                                                               \
  "rules:\n"                                                                                                      \
  "- {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s, overrides: {vip: " \
  "{limit: 50}}}\n"                                                                                               \
  "- {name: log, path: '/log/{id}', limits: [{scope: user, algorithm: sliding_log, limit: 3, window: 1s},"        \
  " {scope: global, limit: 100, window: 1s}]}\n"
#define OTHER_RULES                                                                               \
  "rules:\n"                                                                                      \
  "- {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 7, window: 1s}\n" \
  "- {name: more, path: /more, scope: 'attribute:tenant', algorithm: fixed_window, limit: 3, window: 1m}\n"

struct world {
  rl_config *config; /* with RULES */
  rl_config *other;  /* with OTHER_RULES */
  rl_registry *embedded;
  rl_registry *hosted;
  struct map_store map;
  rl_completion_queue *queue;
  rl_request request; /* for the log rule */
  rl_decision spent;  /* by that request on the registry that is asked */
  rl_decision out;
  rl_error err;
  int answers;
  int destroyed;
  /* What a call made. */
  rl_config *new_config;
  rl_registry *new_registry;
  rl_completion_queue *new_queue;
};

static char folder[FOLDER_SIZE];
static char file_path[FOLDER_SIZE + 16];
static char buffer[1 << 16];
static uint64_t needed;

static uint64_t frozen(void *self) {
  (void)self;
  return START;
}

static void world_destroyed(void *self) { ++((struct world *)self)->destroyed; }

static void swallow(void *self, int32_t level, const char *bytes, uint64_t size) {
  (void)self;
  (void)level;
  (void)bytes;
  (void)size;
}

static void set_up_world(struct world *world) {
  memset(world, 0, sizeof *world);
  const rl_error no_error = RL_ERROR_INIT;
  const rl_decision no_decision = RL_DECISION_INIT;
  world->err = no_error;
  world->out = world->spent = no_decision;
  map_init(&world->map);
  const rl_storage storage = map_storage(&world->map);
  world->config = config_of(RULES);
  world->other = config_of(OTHER_RULES);
  world->embedded = registry_of(RULES);
  world->hosted = registry_on(&storage, RULES, 0);
  assert_int_equal(RL_OK, rl_completion_queue_create(0, NULL, NULL, &world->queue, NULL));
  world->request = request_of("ann", START);
  world->request.path = BYTES("/log/7");
  assert_int_equal(RL_OK, rl_allow(world->embedded, &world->request, &world->spent, NULL));
  assert_int_equal(RL_OK, rl_allow(world->hosted, &world->request, &world->spent, NULL));
}

static void tear_down_world(struct world *world) {
  rl_config_destroy(world->new_config);
  rl_registry_destroy(world->new_registry);
  rl_config_destroy(world->config);
  rl_config_destroy(world->other);
  rl_registry_destroy(world->embedded);
  rl_registry_destroy(world->hosted);
  rl_completion_queue_destroy(world->queue);
  rl_completion_queue_destroy(world->new_queue);
  assert_int_equal(0, world->map.overflow);
}

/* What may not have changed by a call that failed. */
struct fingerprint {
  uint64_t generation, keys[2], rules, requests, diff, faults;
  rl_decision peeked[2];
};

static struct fingerprint fingerprint_of(struct world *world) {
  rl_registry *registries[] = {world->embedded, world->hosted};
  struct fingerprint print;
  memset(&print, 0, sizeof print);
  print.generation = rl_registry_generation(world->embedded);
  print.rules = rl_rule_count(world->embedded);
  for (int i = 0; i < 2; ++i) {
    const rl_decision empty = RL_DECISION_INIT;
    print.peeked[i] = empty;
    print.keys[i] = keys_of(registries[i]);
    assert_int_equal(RL_OK, rl_peek(registries[i], &world->request, &print.peeked[i], NULL));
    rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(RL_OK, rl_metrics_get(registries[i], &metrics, NULL));
    print.requests += metrics.requests;
  }
  assert_int_equal(RL_OK,
                   rl_registry_diff(world->embedded, world->config, 0, buffer, sizeof buffer, &print.diff, NULL));
  rl_error fault = RL_ERROR_INIT;
  print.faults = rl_config_fault(world->config, 0, &fault) == RL_OK;
  return print;
}

/* --- the calls
 * ------------------------------------------------------------------------------------------------------- */

typedef struct world world_t;

static rl_status config_create(world_t *w) { return rl_config_create(&w->new_config, &w->err); }
static rl_status load_text(world_t *w) {
  return rl_config_load_text(w->config, BYTES("rules: [{name: x, path: /x, scope: [user, ip], limit: 1, window: 1s}]"),
                             BYTES("name"), &w->err);
}
static rl_status load_bad_text(world_t *w) {
  return rl_config_load_text(w->other, BYTES("rules: [{name: x, path: x, scope: me, limit: 0}, 7]"), BYTES("name"),
                             &w->err);
}
static rl_status load_file(world_t *w) { return rl_config_load_file(w->new_config, text(file_path), &w->err); }
static rl_status add_rule(world_t *w) {
  const rl_attribute when[] = {{BYTES("plan"), BYTES("a plan that is longer than a short string")}};
  rl_limit limit = RL_LIMIT_INIT;
  limit.algorithm = RL_SLIDING_LOG;
  limit.scope = BYTES("user,attribute:tenant");
  limit.limit = 5;
  limit.window_ns = SECOND;
  rl_rule rule = RL_RULE_INIT;
  rule.name = BYTES("a rule whose name is longer than a short string");
  rule.method = BYTES("GET,POST");
  rule.path = BYTES("/a/path/that/is/longer/than/a/short/string");
  rule.when = when;
  rule.when_count = 1;
  rule.limits = &limit;
  rule.limit_count = 1;
  return rl_config_add_rule(w->config, &rule, &w->err);
}
static rl_status clear(world_t *w) { return rl_config_clear(w->other); }
static rl_status no_fault(world_t *w) { return rl_config_fault(w->config, 0, &w->err); }
static rl_status set_clock(world_t *w) {
  const rl_clock clock = {sizeof clock, 0, w, frozen, world_destroyed};
  return rl_config_set_clock(w->other, &clock, &w->err);
}
static rl_status set_log(world_t *w) {
  const rl_log log = {sizeof log, 0, w, swallow, world_destroyed};
  return rl_config_set_log(w->other, &log, &w->err);
}
static rl_status set_storage(world_t *w) {
  rl_storage storage = map_storage(&w->map);
  storage.self = w;
  storage.destroy = world_destroyed;
  return rl_config_set_storage(w->other, &storage, &w->err);
}
static rl_status use_memory(world_t *w) { return rl_config_use_memory(w->other, 1000, &w->err); }
static rl_status use_redis(world_t *w) {
  const rl_status expected = (rl_features() & RL_FEATURE_REDIS) != 0 ? RL_OK : RL_E_UNSUPPORTED;
  const rl_status status = rl_config_use_redis(w->other, BYTES("redis://me:secret@[::1]:1/2?prefix=p"), &w->err);
  return status == expected ? RL_OK : status;
}
static rl_status set_secret(world_t *w) {
  return rl_config_set_secret(w->other, BYTES("a secret of more than sixteen bytes"), &w->err);
}
static rl_status set_readable(world_t *w) { return rl_config_set_readable_keys(w->other, 1, &w->err); }
static rl_status create(world_t *w) { return rl_registry_create(w->config, &w->new_registry, &w->err); }
static rl_status create_hosted(world_t *w) { return rl_registry_create(w->other, &w->new_registry, &w->err); }
static rl_status reload(world_t *w) { return rl_registry_reload(w->embedded, w->other, &w->err); }
static rl_status reload_file(world_t *w) { return rl_registry_reload_file(w->embedded, text(file_path), &w->err); }
static rl_status watch(world_t *w) { return rl_registry_watch(w->embedded, text(file_path), 1000, &w->err); }
static rl_status diff(world_t *w) {
  return rl_registry_diff(w->embedded, w->other, 0, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status diff_json(world_t *w) {
  return rl_registry_diff(w->embedded, w->other, RL_TEXT_JSON, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status key_count(world_t *w) { return rl_registry_key_count(w->embedded, &needed, &w->err); }
static rl_status evict_idle(world_t *w) { return rl_registry_evict_idle(w->embedded, START, &needed, &w->err); }
static rl_status names(world_t *w) {
  uint32_t id = 0;
  rl_rule_name(w->embedded, rl_rule_at(w->embedded, 1));
  rl_limit_name(w->embedded, 1);
  return rl_rule_id(w->embedded, BYTES("orders"), &id, &w->err);
}
static rl_status allow(world_t *w) { return rl_allow(w->embedded, &w->request, &w->out, &w->err); }
static rl_status allow_new_key(world_t *w) {
  w->request.user = BYTES("somebody new");
  return rl_allow(w->embedded, &w->request, &w->out, &w->err);
}
static rl_status allow_hosted(world_t *w) { return rl_allow(w->hosted, &w->request, &w->out, &w->err); }
static rl_status allow_long_path(world_t *w) {
  static char path[100000];
  memset(path, 'x', sizeof path);
  memcpy(path, "/orders/", 8);
  w->request.path = bytes_of(path, sizeof path);
  return rl_allow(w->embedded, &w->request, &w->out, &w->err);
}
static rl_status allow_rule(world_t *w) {
  return rl_allow_rule(w->hosted, rl_rule_at(w->hosted, 0), "ann", 3, 1, START, &w->out);
}
static rl_status allow_many(world_t *w) { return rl_allow_many(w->embedded, &w->request, 1, &w->out, &w->err); }
static rl_status allow_many_hosted(world_t *w) {
  const rl_status status = rl_allow_many(w->hosted, &w->request, 1, &w->out, &w->err);
  return status == RL_OK ? w->out.status : status;
}
static void answered(void *user, const rl_decision *decision) {
  world_t *w = user;
  ++w->answers;
  w->out = *decision;
}
static rl_status allow_async(world_t *w) { return rl_allow_async(w->embedded, &w->request, answered, w, &w->err); }
static rl_status allow_async_hosted(world_t *w) {
  const rl_attribute attribute = {BYTES("tenant"), BYTES("acme")};
  w->request.attributes = &attribute;
  w->request.attribute_count = 1;
  const rl_status status = rl_allow_async(w->hosted, &w->request, answered, w, &w->err);
  w->request.attributes = NULL;
  w->request.attribute_count = 0;
  return status == RL_OK ? w->out.status : status;
}
static rl_status queue_create(world_t *w) { return rl_completion_queue_create(8, NULL, NULL, &w->new_queue, &w->err); }
static rl_status queued(world_t *w, rl_registry *registry) {
  rl_decision out = RL_DECISION_INIT;
  uint64_t tag;
  uint32_t count;
  const rl_status status = rl_allow_queued(registry, &w->request, w->queue, 1, &w->err);
  const rl_status drained = rl_completion_queue_drain(w->queue, &tag, &out, 1, 0, &count, &w->err);
  if (drained != RL_OK || count != (status == RL_OK ? 1 : 0)) return RL_E_INTERNAL;
  return status == RL_OK ? out.status : status;
}
static rl_status allow_queued(world_t *w) { return queued(w, w->embedded); }
static rl_status allow_queued_hosted(world_t *w) { return queued(w, w->hosted); }
static rl_status peek(world_t *w) { return rl_peek(w->embedded, &w->request, &w->out, &w->err); }
static rl_status peek_hosted(world_t *w) { return rl_peek(w->hosted, &w->request, &w->out, &w->err); }
static rl_status settle(world_t *w) { return rl_settle(w->embedded, &w->request, &w->spent, 2, &w->out, &w->err); }
static rl_status settle_hosted(world_t *w) { return rl_settle(w->hosted, &w->request, &w->spent, 2, &w->out, &w->err); }
static rl_status reset(world_t *w) { return rl_reset(w->embedded, &w->request, &w->err); }
static rl_status reset_hosted(world_t *w) { return rl_reset(w->hosted, &w->request, &w->err); }
static rl_status explain(world_t *w) {
  return rl_explain(w->embedded, &w->request, 0, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status explain_json(world_t *w) {
  return rl_explain(w->hosted, &w->request, RL_TEXT_JSON, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status headers(world_t *w) {
  return rl_decision_headers(w->embedded, &w->spent, RL_HEADERS_X | RL_HEADERS_DRAFT_6, buffer, sizeof buffer, &needed,
                             &w->err);
}
static rl_status problem(world_t *w) {
  rl_decision denied = w->spent;
  denied.allowed = 0;
  denied.reason = RL_REASON_LIMITED;
  return rl_decision_problem(w->embedded, &denied, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status metrics_get(world_t *w) {
  rl_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return rl_metrics_get(w->embedded, &metrics, &w->err);
}
static rl_status metrics_rule(world_t *w) {
  rl_rule_metrics metrics = {sizeof metrics, 0, 0, 0, 0, 0, 0};
  return rl_metrics_rule(w->embedded, rl_rule_at(w->embedded, 0), &metrics, &w->err);
}
static rl_status prometheus(world_t *w) {
  return rl_metrics_prometheus(w->embedded, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status client_ip(world_t *w) {
  const rl_str lines[] = {BYTES("2001:db8:1:2:3:4:5:6"), BYTES("10.0.0.7")};
  return rl_client_ip(w->embedded, BYTES("10.0.0.1"), lines, 2, NULL, 0, buffer, sizeof buffer, &needed, &w->err);
}
static rl_status allow_http(world_t *w) {
  const rl_str line = BYTES("2001:db8:1:2:3:4:5:6");
  rl_http http = RL_HTTP_INIT;
  http.peer = BYTES("2001:db8:1:2:3:4:5:6");
  http.x_forwarded_for = &line;
  http.x_forwarded_for_count = 1;
  return rl_allow_http(w->embedded, &w->request, &http, &w->out, buffer, sizeof buffer, &needed, &w->err);
}

/* What has to be there before the call: not part of it. */
static void with_new_config(world_t *w) { assert_int_equal(RL_OK, rl_config_create(&w->new_config, NULL)); }
static void with_callbacks(world_t *w) {
  assert_int_equal(RL_OK, set_clock(w));
  assert_int_equal(RL_OK, set_log(w));
  assert_int_equal(RL_OK, set_storage(w));
}

struct entry {
  const char *name;
  rl_status (*call)(world_t *world);
  rl_status expected;
  void (*before)(world_t *world);
};

#define CALL(name) \
  { #name, name, RL_OK, NULL }
static const struct entry kEntries[] = {
    CALL(config_create),
    CALL(load_text),
    {"load_bad_text", load_bad_text, RL_E_CONFIG, NULL},
    {"load_file", load_file, RL_OK, with_new_config},
    CALL(add_rule),
    CALL(clear),
    {"no_fault", no_fault, RL_E_NOT_FOUND, NULL},
    CALL(set_clock),
    CALL(set_log),
    CALL(set_storage),
    CALL(use_memory),
    CALL(use_redis),
    CALL(set_secret),
    CALL(set_readable),
    CALL(create),
    {"create_hosted", create_hosted, RL_OK, with_callbacks},
    CALL(reload),
    CALL(reload_file),
    CALL(watch),
    CALL(diff),
    CALL(diff_json),
    CALL(key_count),
    CALL(evict_idle),
    CALL(names),
    CALL(allow),
    CALL(allow_new_key),
    CALL(allow_hosted),
    CALL(allow_long_path),
    CALL(allow_rule),
    CALL(allow_many),
    CALL(allow_many_hosted),
    CALL(allow_async),
    CALL(allow_async_hosted),
    CALL(queue_create),
    CALL(allow_queued),
    CALL(allow_queued_hosted),
    CALL(peek),
    CALL(peek_hosted),
    CALL(settle),
    CALL(settle_hosted),
    CALL(reset),
    CALL(reset_hosted),
    CALL(explain),
    CALL(explain_json),
    CALL(headers),
    CALL(problem),
    CALL(metrics_get),
    CALL(metrics_rule),
    CALL(prometheus),
    CALL(client_ip),
    CALL(allow_http),
};

/* Makes the call with its n-th allocation failing. Says whether one did. */
static int call_with_failure(const struct entry *entry, long n, int all_later) {
  static world_t world;
  set_up_world(&world);
  if (entry->before != NULL) entry->before(&world);
  const struct fingerprint before = fingerprint_of(&world);
  const int destroyed_before = world.destroyed;
  const rl_request request = world.request;
  failures = 0;
  countdown = n;
  from_there_on = all_later;
  armed = n > 0;
  const rl_status status = entry->call(&world);
  armed = 0;
  const int failed = failures > 0;
  world.request = request;
  if (status != entry->expected && !(failed && status == RL_E_NO_MEMORY)) {
    fail_msg("%s, allocation %ld: %s %s", entry->name, n, rl_status_name(status), world.err.message);
  }
  if (status == RL_E_NO_MEMORY) {
    const struct fingerprint after = fingerprint_of(&world);
    if (memcmp(&before, &after, sizeof before) != 0) fail_msg("%s, allocation %ld: something changed", entry->name, n);
    assert_int_equal(destroyed_before, world.destroyed);
    assert_null(world.new_registry);
    assert_int_equal(0, world.out.allowed);
  }
  tear_down_world(&world);
  return failed;
}

/* All entry points, in one way of failing. Kept from a leak by counting what lives before and after each call's
 * world. */
static void fail_each_allocation(int all_later) {
  for (size_t i = 0; i < sizeof kEntries / sizeof kEntries[0]; ++i) {
    call_with_failure(&kEntries[i], 0, all_later); /* what is made once and kept is made here */
    const long expected = atomic_load(&live);
    for (long n = 1, failed = 1; failed; ++n) {
      failed = call_with_failure(&kEntries[i], n, all_later);
      if (atomic_load(&live) != expected) {
        fail_msg("%s, allocation %ld: %ld leaked", kEntries[i].name, n, atomic_load(&live) - expected);
      }
      assert_true(n < 100000);
    }
  }
}

static void one_allocation_fails(void **state) {
  (void)state;
  fail_each_allocation(0);
}

static void all_allocations_from_there_on_fail(void **state) {
  (void)state;
  fail_each_allocation(1);
}

static void the_failing_is_real(void **state) {
  (void)state;
  assert_int_equal(1, call_with_failure(&kEntries[0], 1, 0));
  armed = 1;
  countdown = 2;
  failures = 0;
  from_there_on = 0;
  void *first = malloc(10);
  void *second = malloc(10);
  void *third = malloc(10);
  armed = 0;
  assert_non_null(first);
  assert_null(second);
  assert_non_null(third);
  free(first);
  free(third);
}

/* Every allocation would fail, and none is asked for. */
static void the_embedded_store_decides_without_allocating(void **state) {
  (void)state;
  static struct world world;
  set_up_world(&world);
  world.request.path = BYTES("/orders");
  const uint32_t rule = rl_rule_at(world.embedded, 0);
  rl_status statuses[6];
  from_there_on = 1;
  failures = 0;
  countdown = 1;
  armed = 1;
  statuses[0] = rl_allow(world.embedded, &world.request, &world.out, &world.err);
  statuses[1] = rl_allow(world.embedded, &world.request, &world.spent, &world.err);
  statuses[2] = rl_allow_rule(world.embedded, rule, "new", 3, 1, START, &world.out);
  statuses[3] = rl_allow_many(world.embedded, &world.request, 1, &world.out, &world.err);
  statuses[4] = rl_settle(world.embedded, &world.request, &world.spent, 0, &world.out, &world.err);
  statuses[5] = rl_peek(world.embedded, &world.request, &world.out, &world.err);
  armed = 0;
  assert_int_equal(0, failures);
  for (int i = 0; i < 6; ++i) assert_int_equal(RL_OK, statuses[i]);
  assert_int_equal(3, world.out.remaining);
  tear_down_world(&world);
}

static uint64_t clock_reads;
static uint64_t running_clock(void *self) {
  (void)self;
  return START + 20 * ++clock_reads * MILLISECOND;
}

/* Whichever allocation fails where a block would be paid for: the key does without one for a while, and not for ever. */
static void a_block_is_paid_for_later(void **state) {
  (void)state;
  static struct world world;
  long failed = 1;
  for (long n = 1; failed != 0; ++n) {
    struct map_store map;
    map_init(&map);
    const rl_storage storage = map_storage(&map);
    const rl_clock clock = {sizeof clock, 0, NULL, running_clock, NULL};
    rl_config *config =
        config_of("rules: [{name: o, path: /orders, scope: user, limit: 10000, window: 1h, local_tier: leases}]");
    rl_registry *registry = NULL;
    assert_int_equal(RL_OK, rl_config_set_storage(config, &storage, NULL));
    assert_int_equal(RL_OK, rl_config_set_clock(config, &clock, NULL));
    assert_int_equal(RL_OK, rl_registry_create(config, &registry, NULL));
    rl_config_destroy(config);
    const rl_request request = request_of("ann", 0);
    failed = 0;
    for (int i = 0; i < 10; ++i) {
      countdown = n;
      failures = 0;
      from_there_on = 0;
      armed = 1;
      (void)rl_allow_async(registry, &request, answered, &world, NULL);
      armed = 0;
      failed += failures;
    }
    int leased = 0;
    for (int i = 0; i < 200; ++i) leased += ask(registry, "ann", 0).source == RL_SOURCE_LEASED;
    assert_in_range(leased, 1, 200);
    rl_registry_destroy(registry);
  }
}

static int make_file(void **state) {
  (void)state;
  make_folder(folder);
  snprintf(file_path, sizeof file_path, "%s/rules.yaml", folder);
  const int file = open(file_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (file < 0) return -1;
  const ssize_t written = write(file, OTHER_RULES, sizeof OTHER_RULES - 1);
  close(file);
  return written == sizeof OTHER_RULES - 1 ? 0 : -1;
}

static int remove_file(void **state) {
  (void)state;
  return unlink(file_path) == 0 ? rmdir(folder) : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_failing_is_real),
      cmocka_unit_test(the_embedded_store_decides_without_allocating),
      cmocka_unit_test(a_block_is_paid_for_later),
      cmocka_unit_test(one_allocation_fails),
      cmocka_unit_test(all_allocations_from_there_on_fail),
  };
  return cmocka_run_group_tests_name("alloc_failure", tests, make_file, remove_file);
}
