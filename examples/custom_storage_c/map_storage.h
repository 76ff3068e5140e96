/* A storage of the host's own: a hash map behind a mutex. What a database or a cache server would do in a transaction,
 * this does under its lock: read, rl_step, write. */
#pragma once

#include <ratel/rl.h>

typedef struct map_storage map_storage;

/** Reads the time for `expires`; the same clock as the registry's. */
typedef uint64_t (*map_clock)(void);

/** NULL when memory runs out. */
map_storage *map_storage_create(map_clock now);
void map_storage_destroy(map_storage *storage);

/** The callbacks for rl_config_set_storage; the registry destroys the storage when it is done. */
rl_storage map_storage_callbacks(map_storage *storage);

/** The whole duty of a storage; rl_storage.apply, for others to build on. */
rl_status map_storage_apply(void *self, rl_op *op, rl_cell *cells, uint32_t count);
