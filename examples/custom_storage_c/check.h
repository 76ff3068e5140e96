/* For the two programs: a check that ends the program, and a rule set put in force over a storage. */
#pragma once

#include <ratel/rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static inline rl_str text(const char *bytes) { return (rl_str){bytes, strlen(bytes)}; }

/** On success the registry owns what `storage` and `clock` hold. */
static inline rl_registry *start(const char *rules, const rl_storage *storage, const rl_clock *clock) {
  rl_error err = RL_ERROR_INIT;
  rl_config *config = NULL;
  rl_registry *registry = NULL;
  if (rl_config_create(&config, &err) || rl_config_load_text(config, text(rules), text("rules"), &err) ||
      rl_config_set_storage(config, storage, &err) || rl_config_set_clock(config, clock, &err) ||
      rl_registry_create(config, &registry, &err)) {
    fprintf(stderr, "%s: %s\n", rl_status_name(err.status), err.message);
    exit(1);
  }
  rl_config_destroy(config);
  return registry;
}
