#include "map_store.h"

void map_init(struct map_store *map) {
  memset(map, 0, sizeof *map);
  pthread_mutex_init(&map->mutex, NULL);
}

struct map_entry *map_find(struct map_store *map, rl_str key) {
  for (int i = 0; i < MAP_KEYS; ++i) {
    struct map_entry *entry = &map->entries[i];
    if (entry->key_size == key.size && key.size != 0 && memcmp(entry->key, key.data, key.size) == 0) return entry;
  }
  return NULL;
}

static struct map_entry *find_or_make(struct map_store *map, rl_str key) {
  struct map_entry *entry = map_find(map, key);
  for (int i = 0; i < MAP_KEYS && entry == NULL; ++i) {
    if (map->entries[i].key_size == 0) entry = &map->entries[i];
  }
  if (entry == NULL || key.size > MAP_KEY_SIZE) {
    map->overflow = 1;
    return NULL;
  }
  memcpy(entry->key, key.data, key.size);
  entry->key_size = key.size;
  return entry;
}

void map_read(struct map_store *map, rl_cell *cells, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const struct map_entry *entry = map_find(map, cells[i].key);
    cells[i].state = entry == NULL ? NULL : entry->state;
    cells[i].state_size = entry == NULL ? 0 : entry->state_size;
  }
}

void map_write(struct map_store *map, const rl_cell *cells, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (cells[i].write == 0) continue;
    ++map->writes;
    struct map_entry *entry = cells[i].new_size == 0 ? map_find(map, cells[i].key) : find_or_make(map, cells[i].key);
    if (entry == NULL) continue;
    if (cells[i].new_size == 0) {
      memset(entry, 0, sizeof *entry);
    } else if (cells[i].new_size > MAP_STATE_SIZE) {
      map->overflow = 1;
    } else {
      memcpy(entry->state, cells[i].new_state, cells[i].new_size);
      entry->state_size = cells[i].new_size;
      entry->ttl_ns = cells[i].ttl_ns;
    }
  }
}

uint64_t map_size(struct map_store *map) {
  uint64_t size = 0;
  for (int i = 0; i < MAP_KEYS; ++i) size += map->entries[i].key_size != 0;
  return size;
}

rl_status map_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count) {
  struct map_store *map = self;
  pthread_mutex_lock(&map->mutex);
  ++map->applies;
  map_read(map, cells, count);
  const rl_status status = rl_step(op, cells, count);
  if (status == RL_OK) map_write(map, cells, count);
  pthread_mutex_unlock(&map->mutex);
  return status;
}

static rl_status map_forget(void *self, rl_str key) {
  struct map_store *map = self;
  pthread_mutex_lock(&map->mutex);
  ++map->forgets;
  struct map_entry *entry = map_find(map, key);
  if (entry != NULL) memset(entry, 0, sizeof *entry);
  pthread_mutex_unlock(&map->mutex);
  return RL_OK;
}

static rl_status map_sweep(void *self, uint64_t cutoff_ns, uint64_t *dropped) {
  struct map_store *map = self;
  ++map->sweeps;
  map->last_cutoff_ns = cutoff_ns;
  *dropped = 3;
  return RL_OK;
}

static rl_status map_count(void *self, uint64_t *keys) {
  struct map_store *map = self;
  pthread_mutex_lock(&map->mutex);
  *keys = map_size(map);
  pthread_mutex_unlock(&map->mutex);
  return RL_OK;
}

static void map_destroy(void *self) {
  struct map_store *map = self;
  ++map->destroyed;
}

rl_storage map_storage(struct map_store *map) {
  rl_storage storage = {sizeof storage, 0, map, map_apply, NULL, map_forget, map_sweep, map_count, map_destroy};
  return storage;
}

rl_registry *registry_on(const rl_storage *storage, const char *rules, uint32_t readable) {
  rl_config *config = config_of(rules);
  rl_registry *registry = NULL;
  rl_error err = RL_ERROR_INIT;
  assert_int_equal(RL_OK, rl_config_set_storage(config, storage, &err));
  assert_int_equal(RL_OK, rl_config_set_readable_keys(config, readable, &err));
  if (rl_registry_create(config, &registry, &err) != RL_OK) fail_msg("%s", err.message);
  rl_config_destroy(config);
  return registry;
}
