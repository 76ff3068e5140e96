/* A storage as a host might write it: a mutex and a small map of bytes. */
#ifndef RATEL_TESTS_CAPI_MAP_STORE_H
#define RATEL_TESTS_CAPI_MAP_STORE_H

#include <pthread.h>

#include "support.h"

#define MAP_KEYS 64
#define MAP_KEY_SIZE 256
#define MAP_STATE_SIZE 2048

struct map_entry {
  char key[MAP_KEY_SIZE];
  uint64_t key_size; /* 0 = free */
  unsigned char state[MAP_STATE_SIZE];
  uint64_t state_size;
  uint64_t ttl_ns;
};

struct map_store {
  pthread_mutex_t mutex;
  struct map_entry entries[MAP_KEYS];
  uint64_t applies, writes, forgets, sweeps, destroyed;
  uint64_t last_cutoff_ns;
  int overflow; /* something did not fit: the test's fault */
};

void map_init(struct map_store *map);
/* The parts of apply, for storages that are a variation of this one. Under the mutex. */
void map_read(struct map_store *map, rl_cell *cells, uint32_t count);
void map_write(struct map_store *map, const rl_cell *cells, uint32_t count);
struct map_entry *map_find(struct map_store *map, rl_str key);
uint64_t map_size(struct map_store *map);

rl_status map_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count);
/* With every optional callback but apply_async. */
rl_storage map_storage(struct map_store *map);

/* A registry on a storage; asserts that it works. With `readable` the storage sees keys as text. */
rl_registry *registry_on(const rl_storage *storage, const char *rules, uint32_t readable);

#endif
