/* What the tests of the ABI share. Pure C on the shared library alone.
 *
 * CMocka fails by longjmp, which must not cross the library's frames: callbacks record what they see and the test
 * asserts afterwards. */
#ifndef RATEL_TESTS_CAPI_SUPPORT_H
#define RATEL_TESTS_CAPI_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ratel/rl.h"

#define MILLISECOND UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1700000000) * SECOND)

/* Five a second for each user of /orders, all through. */
#define ORDERS "rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}]"

/* A string literal, with any bytes. */
#define BYTES(literal) bytes_of((literal), sizeof(literal) - 1)

rl_str bytes_of(const char *data, uint64_t size);
rl_str text(const char *nul_terminated);

/* Both assert that it works. */
rl_config *config_of(const char *rules);
rl_registry *registry_of(const char *rules);

/* A request for POST /orders. `user` may be NULL. */
rl_request request_of(const char *user, uint64_t now_ns);

/* rl_allow of such a request; asserts RL_OK. */
rl_decision ask(rl_registry *registry, const char *user, uint64_t now_ns);
rl_decision ask_cost(rl_registry *registry, const char *user, uint64_t now_ns, int64_t cost);
uint64_t keys_of(rl_registry *registry);

/* That a call failed as it should and said so. */
void assert_failed(rl_status expected, rl_status status, const rl_error *err);
void assert_no_answer(const rl_decision *decision, rl_status status);
void assert_same_answer(const rl_decision *a, const rl_decision *b);
/* A new folder for files, below TMPDIR or /tmp. To be removed by the test. */
#define FOLDER_SIZE 200
void make_folder(char folder[FOLDER_SIZE]);

int contains(const char *haystack, uint64_t size, const char *needle);

#endif
