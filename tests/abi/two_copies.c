/* two_copies LIBRARY COPY: two copies of the library in one process do not notice each other. Each gets a registry with the
 * same rule; each admits its whole limit, whatever the other one spent. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ratel/rl.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

typedef struct copy {
  void *handle;
  rl_status (*config_create)(rl_config **out, rl_error *err);
  void (*config_destroy)(rl_config *config);
  rl_status (*config_add_rule)(rl_config *config, const rl_rule *rule, rl_error *err);
  rl_status (*registry_create)(rl_config *config, rl_registry **out, rl_error *err);
  void (*registry_destroy)(rl_registry *registry);
  rl_status (*allow_rule)(rl_registry *registry, uint32_t rule, const char *key, uint64_t key_size, int64_t cost,
                          uint64_t now_ns, rl_decision *out);
  rl_status (*rule_id)(const rl_registry *registry, rl_str name, uint32_t *out, rl_error *err);
  rl_registry *registry;
  uint32_t rule;
} copy;

/* ISO C has no cast from void * to a function; the bytes are the same wherever dlsym exists. */
static int load(copy *self, const char *name, void *function) {
  void *symbol = dlsym(self->handle, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static int open_copy(copy *self, const char *path) {
  self->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (self->handle == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(self->handle != NULL);
  CHECK(load(self, "rl_config_create", &self->config_create));
  CHECK(load(self, "rl_config_destroy", &self->config_destroy));
  CHECK(load(self, "rl_config_add_rule", &self->config_add_rule));
  CHECK(load(self, "rl_registry_create", &self->registry_create));
  CHECK(load(self, "rl_registry_destroy", &self->registry_destroy));
  CHECK(load(self, "rl_allow_rule", &self->allow_rule));
  CHECK(load(self, "rl_rule_id", &self->rule_id));

  rl_limit limit = RL_LIMIT_INIT;
  limit.algorithm = RL_FIXED_WINDOW;
  limit.scope.data = "user";
  limit.scope.size = 4;
  limit.limit = 5;
  limit.window_ns = UINT64_C(1000000000);
  rl_rule rule = RL_RULE_INIT;
  rule.name.data = "orders";
  rule.name.size = 6;
  rule.limits = &limit;
  rule.limit_count = 1;
  rl_config *config = NULL;
  CHECK(self->config_create(&config, NULL) == RL_OK);
  CHECK(self->config_add_rule(config, &rule, NULL) == RL_OK);
  CHECK(self->registry_create(config, &self->registry, NULL) == RL_OK);
  self->config_destroy(config);
  CHECK(self->rule_id(self->registry, rule.name, &self->rule, NULL) == RL_OK);
  return 0;
}

/* How many of seven requests of one user at one instant are admitted; -1 on a fault. */
static int spend(copy *self) {
  int admitted = 0;
  for (int i = 0; i < 7; ++i) {
    rl_decision decision = RL_DECISION_INIT;
    if (self->allow_rule(self->registry, self->rule, "ann", 3, 1, UINT64_C(1000000000000), &decision) != RL_OK)
      return -1;
    admitted += decision.allowed;
  }
  return admitted;
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  copy first = {0};
  copy second = {0};
  if (open_copy(&first, argv[1]) != 0 || open_copy(&second, argv[2]) != 0) return 1;
  CHECK(first.handle != second.handle);
  CHECK(memcmp(&first.allow_rule, &second.allow_rule, sizeof first.allow_rule) != 0);
  CHECK(spend(&first) == 5);
  CHECK(spend(&second) == 5);
  first.registry_destroy(first.registry);
  CHECK(dlclose(first.handle) == 0);
  CHECK(spend(&second) == 0);
  second.registry_destroy(second.registry);
  CHECK(dlclose(second.handle) == 0);
  puts("two copies, five admitted by each");
  return 0;
}
