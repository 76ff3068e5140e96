/* Decisions over a storage of our own: the same answers as the embedded store gives. */
#include <pthread.h>

#include "check.h"
#include "map_storage.h"

#define SECOND UINT64_C(1000000000)

static uint64_t now = UINT64_C(1800000000) * SECOND;

static uint64_t read_now(void) { return now; }
static uint64_t clock_now(void *self) {
  (void)self;
  return now;
}

static rl_decision ask(rl_registry *registry, const char *user) {
  rl_error err = RL_ERROR_INIT;
  rl_request request = RL_REQUEST_INIT;
  request.method = text("POST");
  request.path = text("/orders");
  request.user = text(user);
  rl_decision answer = RL_DECISION_INIT;
  CHECK(rl_allow(registry, &request, &answer, &err) == RL_OK);
  return answer;
}

static void *hammer(void *registry) {
  intptr_t admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += ask(registry, "crowd").allowed;
  return (void *)admitted;
}

static intptr_t hammer_from_four_threads(rl_registry *registry) {
  pthread_t threads[4];
  intptr_t admitted = 0;
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, hammer, registry) == 0);
  for (int i = 0; i < 4; ++i) {
    void *part = NULL;
    CHECK(pthread_join(threads[i], &part) == 0);
    admitted += (intptr_t)part;
  }
  return admitted;
}

int main(void) {
  map_storage *map = map_storage_create(read_now);
  CHECK(map != NULL);
  const rl_storage storage = map_storage_callbacks(map);
  const rl_clock clock = {sizeof clock, 0, NULL, clock_now, NULL};
  rl_registry *registry = start(
      "version: 1\n"
      "rules:\n"
      "  - name: orders\n"
      "    path: /orders\n"
      "    limits:\n"
      "      - {name: per-user, scope: user, algorithm: token_bucket, limit: 5, window: 1s}\n"
      "      - {name: everyone, scope: global, algorithm: sliding_counter, limit: 100, window: 1m}\n",
      &storage, &clock);

  for (int i = 1; i <= 7; ++i) {
    const rl_decision answer = ask(registry, "alice");
    printf("order %d: %s, %d left\n", i, answer.allowed ? "allowed" : "denied ", (int)answer.remaining);
    CHECK(answer.allowed == (i <= 5));
    CHECK(answer.allowed || answer.retry_after_ns == SECOND / 5);
  }

  const intptr_t admitted = hammer_from_four_threads(registry);
  printf("four threads, one key, 4000 requests: %d allowed\n", (int)admitted);
  CHECK(admitted == 5);

  uint64_t keys = 0;
  CHECK(rl_registry_key_count(registry, &keys, NULL) == RL_OK);
  printf("keys held: %d\n", (int)keys);
  CHECK(keys == 3);

  now += 600 * SECOND;
  uint64_t evicted = 0;
  CHECK(rl_registry_evict_idle(registry, 0, &evicted, NULL) == RL_OK);
  printf("evicted after ten idle minutes: %d\n", (int)evicted);
  CHECK(evicted == 3);
  CHECK(ask(registry, "alice").remaining == 4);

  rl_registry_destroy(registry);
  return 0;
}
