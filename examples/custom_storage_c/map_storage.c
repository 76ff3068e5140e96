#include "map_storage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kBuckets = 4096 };

typedef struct entry {
  struct entry *next;
  uint64_t expires_ns; /* from then on the state means no more than none */
  uint64_t key_size;
  uint64_t state_size;
  char bytes[]; /* the key, then the state */
} entry;

struct map_storage {
  pthread_mutex_t mutex;
  map_clock now;
  uint64_t count;
  entry *buckets[kBuckets];
};

static uint64_t hash(rl_str key) {
  uint64_t value = UINT64_C(14695981039346656037);
  for (uint64_t i = 0; i < key.size; ++i) value = (value ^ (unsigned char)key.data[i]) * UINT64_C(1099511628211);
  return value % kBuckets;
}

/* The link that holds the key's entry, or the one that would. */
static entry **find(map_storage *storage, rl_str key) {
  entry **link = &storage->buckets[hash(key)];
  while (*link && ((*link)->key_size != key.size || memcmp((*link)->bytes, key.data, key.size) != 0)) {
    link = &(*link)->next;
  }
  return link;
}

static void drop(map_storage *storage, entry **link) {
  entry *gone = *link;
  *link = gone->next;
  free(gone);
  storage->count--;
}

static entry *make(const rl_cell *cell, uint64_t now_ns) {
  entry *made = malloc(sizeof(entry) + cell->key.size + cell->new_size);
  if (!made) return NULL;
  made->next = NULL;
  made->expires_ns = cell->ttl_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + cell->ttl_ns;
  made->key_size = cell->key.size;
  made->state_size = cell->new_size;
  memcpy(made->bytes, cell->key.data, cell->key.size);
  memcpy(made->bytes + cell->key.size, cell->new_state, cell->new_size);
  return made;
}

static void put(map_storage *storage, rl_str key, entry *made) {
  entry **link = find(storage, key);
  if (*link) drop(storage, link);
  if (!made) return;
  made->next = storage->buckets[hash(key)];
  storage->buckets[hash(key)] = made;
  storage->count++;
}

/* Writes all cells or none: whatever can fail comes before the first write. */
static rl_status write_cells(map_storage *storage, const rl_cell *cells, uint32_t count) {
  const uint64_t now_ns = storage->now();
  entry **made = calloc(count, sizeof(entry *));
  if (!made) return RL_E_NO_MEMORY;
  for (uint32_t i = 0; i < count; ++i) {
    if (!cells[i].write || cells[i].new_size == 0) continue;
    made[i] = make(&cells[i], now_ns);
    if (made[i]) continue;
    while (i > 0) free(made[--i]);
    free(made);
    return RL_E_NO_MEMORY;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (cells[i].write) put(storage, cells[i].key, made[i]);
  }
  free(made);
  return RL_OK;
}

rl_status map_storage_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  map_storage *storage = self;
  pthread_mutex_lock(&storage->mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const entry *held = *find(storage, cells[i].key);
    cells[i].state = held ? held->bytes + held->key_size : NULL;
    cells[i].state_size = held ? held->state_size : 0;
  }
  rl_status status = rl_step(op, cells, count);
  if (status == RL_OK) status = write_cells(storage, cells, count);
  pthread_mutex_unlock(&storage->mutex);
  return status;
}

static rl_status forget(void *self, rl_str key) {
  map_storage *storage = self;
  pthread_mutex_lock(&storage->mutex);
  put(storage, key, NULL);
  pthread_mutex_unlock(&storage->mutex);
  return RL_OK;
}

static rl_status sweep(void *self, uint64_t cutoff_ns, uint64_t *dropped) {
  map_storage *storage = self;
  pthread_mutex_lock(&storage->mutex);
  const uint64_t before = storage->count;
  for (int i = 0; i < kBuckets; ++i) {
    entry **link = &storage->buckets[i];
    while (*link) {
      if ((*link)->expires_ns <= cutoff_ns) {
        drop(storage, link);
      } else {
        link = &(*link)->next;
      }
    }
  }
  *dropped = before - storage->count;
  pthread_mutex_unlock(&storage->mutex);
  return RL_OK;
}

static rl_status count_keys(void *self, uint64_t *keys) {
  map_storage *storage = self;
  pthread_mutex_lock(&storage->mutex);
  *keys = storage->count;
  pthread_mutex_unlock(&storage->mutex);
  return RL_OK;
}

map_storage *map_storage_create(map_clock now) {
  map_storage *storage = calloc(1, sizeof *storage);
  if (!storage) return NULL;
  storage->now = now;
  pthread_mutex_init(&storage->mutex, NULL);
  return storage;
}

void map_storage_destroy(map_storage *storage) {
  for (int i = 0; i < kBuckets; ++i) {
    while (storage->buckets[i]) drop(storage, &storage->buckets[i]);
  }
  pthread_mutex_destroy(&storage->mutex);
  free(storage);
}

static void destroy(void *self) { map_storage_destroy(self); }

rl_storage map_storage_callbacks(map_storage *storage) {
  rl_storage callbacks = {0};
  callbacks.struct_size = sizeof callbacks;
  callbacks.self = storage;
  callbacks.apply = map_storage_apply;
  callbacks.forget = forget;
  callbacks.sweep = sweep;
  callbacks.count = count_keys;
  callbacks.destroy = destroy;
  return callbacks;
}
