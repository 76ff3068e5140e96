/* ======================================================================================================
 * rl.h - the C ABI of Ratel, a rate-limiting engine.                                            ABI 1.0
 *
 * This header is the only promise. Everything below holds for every function unless its text says otherwise.
 *
 *  Status      A function that can fail returns an rl_status: 0 (RL_OK) or one of the negative RL_E_* codes.
 *              The status says whether the question was answered; the decision says what the answer is. A denial
 *              is an answer: the status is RL_OK and `allowed` is 0.
 *  Errors      `err` is optional (NULL), owned by the caller, and filled only when the status is not RL_OK.
 *              Nothing is kept in globals or in thread-locals.
 *  Handles     rl_config, rl_registry, rl_completion_queue, rl_op and rl_completion are opaque. Out parameters are set to NULL on failure.
 *              Every destroy takes NULL.
 *  Structs     A struct that may grow starts with `struct_size`: set it to sizeof (the RL_*_INIT macros do). Fields are
 *              only ever appended, zero means "as before". Input with a non-zero tail that this library does not
 *              know is refused with RL_E_ABI; output tails that it does not know are zeroed. `reserved` fields are 0.
 *  Bytes       rl_str is pointer + length, never NUL-terminated, any bytes. Bytes in are borrowed for the call. Bytes out go to
 *              the caller's buffer: `*needed` always receives the full size, and when it does not fit the status
 *              is RL_E_BUFFER_TOO_SMALL and the buffer holds nothing useful. Text written has no NUL at its end.
 *  Time        Nanoseconds since the Unix epoch. `now_ns` is an argument; 0 means "read the registry's clock".
 *              The engine's step is 1 microsecond: instants are floored to it, waits are whole steps, rounded up.
 *              Instants above RL_NOW_MAX_NS (the year 2255) are refused.
 *  Threads     A registry may be used from any number of threads at once. An rl_config belongs to one thread at a time.
 *  Callbacks   Called with no lock of the engine held; they must not unwind (no C++ exception, no longjmp).
 *              `self` is passed back as given; `destroy`, when set, is called exactly once, when the owner is
 *              done. Ownership moves only when the call that takes it returns RL_OK.
 *  Unwinding   No C++ exception ever crosses this border; when memory runs out the answer is RL_E_NO_MEMORY and nothing changed.
 *  Platform    64-bit only. C99 and C++ clean.
 *  Since       1.0 unless stated.
 * ====================================================================================================== */
#ifndef RATEL_RL_H
#define RATEL_RL_H

#include <stdint.h>

#if defined(_WIN32)
#define RL_API
#elif defined(__GNUC__)
#define RL_API __attribute__((visibility("default")))
#else
#define RL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================================================================
 * Version
 * ====================================================================================================== */

#define RL_ABI_MAJOR 1 /* changes when something breaks; is the SONAME's number */
#define RL_ABI_MINOR 0 /* changes when something is added */

/** ABI of the loaded library: major << 16 | minor. Compatible when the major is equal and the minor not smaller. */
RL_API uint32_t rl_abi_version(void);

/** The library's version, such as "1.0.0". Static, NUL-terminated. */
RL_API const char *rl_version_string(void);

/** What this build can do: RL_FEATURE_* bits. */
RL_API uint64_t rl_features(void);

#define RL_FEATURE_MEMORY (1u << 0)       /* the embedded store */
#define RL_FEATURE_HOST_STORAGE (1u << 1) /* rl_config_set_storage */
#define RL_FEATURE_REDIS (1u << 2)        /* rl_config_use_redis */
#define RL_FEATURE_TLS (1u << 3)          /* rediss:// */

typedef int32_t rl_status;

#define RL_OK 0
#define RL_E_INVALID_ARGUMENT (-1) /* NULL, a cost below 1, a bad flag, a time out of range, ... */
#define RL_E_NO_MEMORY (-2)        /* an allocation failed; nothing changed */
#define RL_E_CONFIG (-3)           /* a rule set has faults; see rl_config_fault */
#define RL_E_IO (-4)               /* a file could not be read */
#define RL_E_NOT_FOUND (-5)        /* no such rule */
#define RL_E_UNSUPPORTED (-6)      /* not in this build, or not by this storage */
#define RL_E_STORE (-7)            /* the storage could not answer */
#define RL_E_BUFFER_TOO_SMALL (-8) /* see `needed` */
#define RL_E_ABI (-9)              /* a struct_size or a struct's tail that this library cannot honour */
#define RL_E_STATE (-10)           /* not now: wrong order of calls, or misuse of a handle that could be detected */
#define RL_E_CANCELLED (-11)       /* the registry was destroyed before the answer came, or the queue was shut down */
#define RL_E_INTERNAL (-12)        /* a fault of Ratel itself */

/** The name of a status, such as "RL_E_CONFIG"; "RL_E_UNKNOWN" for any other number. Static. */
RL_API const char *rl_status_name(rl_status status);

/** sizeof of a struct in the loaded library by its name without "rl_" ("request"); 0 when unknown. `name` is NUL-terminated. */
RL_API uint64_t rl_struct_size(const char *name);

/* ======================================================================================================
 * Plain types
 * ====================================================================================================== */

#define RL_NOW_MAX_NS UINT64_C(9007199254740991000)
#define RL_NEVER UINT64_MAX /* a wait that waiting does not end */

/** Bytes. `data` may be NULL only when `size` is 0. */
typedef struct rl_str {
  const char *data;
  uint64_t size;
} rl_str;

/** Why a call failed. Strings are NUL-terminated and cut to fit. */
typedef struct rl_error {
  uint32_t struct_size;
  rl_status status;
  uint32_t line;        /* 1-based; 0 = not about a file */
  uint32_t column;      /* 1-based, in bytes; 0 = not about a file */
  uint32_t fault_count; /* how many faults the rule set has in all; this is the first */
  uint32_t reserved;
  char file[256];     /* as it was given to load */
  char path[256];     /* where in the rule set, such as "rules[2].limits[0].window" */
  char message[1024]; /* what is wrong, and what would be right */
} rl_error;

#define RL_ERROR_INIT {sizeof(rl_error), 0, 0, 0, 0, 0, {0}, {0}, {0}}

/** A named fact about a request, for `when` conditions and for the scope attribute:<name>. */
typedef struct rl_attribute {
  rl_str name;
  rl_str value;
} rl_attribute;

#define RL_COST_OF_RULE INT64_MIN /* the rule's own `cost`, 1 unless it says otherwise */

/** One request to decide on. Strings that are not known stay empty. */
typedef struct rl_request {
  uint32_t struct_size;
  uint32_t flags;  /* 0 */
  uint64_t now_ns; /* 0 = the registry's clock */
  int64_t cost;    /* units to spend, at least 1, or RL_COST_OF_RULE */
  uint32_t rule;   /* 0 = find the rule by method and path; else an id from rl_rule_id */
  uint32_t attribute_count;
  rl_str method;
  rl_str path;    /* as it came: normalised inside */
  rl_str user;    /* the authenticated user */
  rl_str api_key; /* the API key */
  rl_str ip;      /* the client's address as text, see rl_client_ip */
  rl_str key;     /* with `rule` set: stands in for the value of every scope but global; user, api_key and ip are not looked at then */
  const rl_attribute *attributes;
  rl_str idempotency_id; /* any bytes: an allowed request that comes again with the same id, keys and cost is answered as before and not charged again, for a while
                            (docs/redis.md). Empty: each is new. Redis alone looks at it, in calls that spend: an answer inside the process cannot be lost */
} rl_request;

#define RL_REQUEST_INIT {sizeof(rl_request), 0, 0, RL_COST_OF_RULE, 0, 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, {0, 0}}

/* How an answer was reached: rl_decision.source */
#define RL_SOURCE_EXACT 0          /* decided on the store's state */
#define RL_SOURCE_LEASED 1         /* from tokens that were paid for in advance */
#define RL_SOURCE_CACHED_DENIAL 2  /* a denial whose end is known */
#define RL_SOURCE_LOCAL_FALLBACK 3 /* the store failed, a local limit decided */
#define RL_SOURCE_FAIL_OPEN 4      /* the store failed, on_store_error: open */
#define RL_SOURCE_FAIL_CLOSED 5    /* the store failed, on_store_error: closed */
#define RL_SOURCE_NO_RULE 6        /* no rule covers the request, and there is no default */
#define RL_SOURCE_ACTION 7         /* action: block or unlimited decided, no limit was asked */

/* Why a request was denied: rl_decision.reason */
#define RL_REASON_NONE 0       /* it was allowed */
#define RL_REASON_LIMITED 1    /* over the limit now; retry_after_ns cures it */
#define RL_REASON_NEVER_FITS 2 /* the cost is above the capacity: waiting does not help */
#define RL_REASON_BLOCKED 3    /* action: block */
#define RL_REASON_STORE 4      /* the store failed and the rule says closed */

#define RL_DECISION_SHADOW_DENIED (1u << 0) /* a shadow limit would have denied it */
#define RL_DECISION_PEEKED (1u << 1)        /* nothing was spent: an answer of rl_peek */

/** The answer. `limit` to `reset_after_ns` describe the binding limit: on a denial the one with the longest wait, else the one with the
 *  smallest fraction left. They are 0 when no limit was asked. */
typedef struct rl_decision {
  uint32_t struct_size;
  rl_status status;        /* of this question; in rl_allow_many and rl_allow_async the place to look */
  uint8_t allowed;         /* 1 or 0 */
  uint8_t source;          /* RL_SOURCE_* */
  uint8_t reason;          /* RL_REASON_* */
  uint8_t flags;           /* RL_DECISION_* */
  uint32_t rule;           /* id; 0 = none. Stable for the registry's life, across reloads */
  uint32_t limit_id;       /* id of the binding limit; 0 = none. Stable likewise */
  uint32_t limit_count;    /* how many limits were asked */
  uint64_t generation;     /* of the rule set that answered */
  uint64_t now_ns;         /* the instant it was decided at */
  int64_t cost;            /* units spent when allowed */
  uint64_t limit;          /* units per window */
  uint64_t window_ns;      /* nanoseconds */
  uint64_t capacity;       /* units one request is measured against: burst, or the limit */
  uint64_t remaining;      /* whole units still to spend now, after this decision */
  uint64_t retry_after_ns; /* nanoseconds until the same request is admitted if nothing else comes; 0 when allowed; RL_NEVER */
  uint64_t reset_after_ns; /* nanoseconds until the binding limit is as new */
  uint64_t delay_ns;       /* leaky_bucket: how long to hold an admitted request back */
} rl_decision;

#define RL_DECISION_INIT {sizeof(rl_decision), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* ======================================================================================================
 * Supplied by the host: clock, storage, log
 * ====================================================================================================== */

/** A clock. `now_ns` may be called from any thread, at most once per request. */
typedef struct rl_clock {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void *self;
  uint64_t (*now_ns)(void *self);
  void (*destroy)(void *self); /* optional */
} rl_clock;

#define RL_LOG_ERROR 1
#define RL_LOG_WARNING 2
#define RL_LOG_INFO 3

/** Where the engine's few messages go (a failed reload, a failing store). Text is UTF-8, one line, no NUL at its end. */
typedef struct rl_log {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void *self;
  void (*write)(void *self, int32_t level, const char *text, uint64_t size);
  void (*destroy)(void *self); /* optional */
} rl_log;

typedef struct rl_op rl_op;                 /* one decision (or settle, or peek) under way */
typedef struct rl_completion rl_completion; /* the right to end one asynchronous apply */

/** One key of an operation. The storage fills the first group before rl_step, which fills the second. */
typedef struct rl_cell {
  rl_str key;           /* set by the engine: the name of the state. Printable ASCII */
  const void *state;    /* set by the storage: the bytes it holds under the key; NULL when it holds none */
  uint64_t state_size;  /* set by the storage: how many; 0 when it holds none */
  const void *new_state; /* set by rl_step: what to hold from now on. Valid until the next rl_step on this op, or until apply is done */
  uint64_t new_size;    /* set by rl_step: how many bytes; 0 = hold nothing */
  uint64_t ttl_ns;      /* set by rl_step: after this time the state equals none and may be dropped */
  uint32_t write;       /* set by rl_step: 1 = replace what is held by new_state, 0 = leave it as it is */
  uint32_t reserved;
} rl_cell;

/** A storage of the host's own: a mutex and a map, a database with transactions, a server with compare-and-swap.
 *
 *  `apply` is the whole duty: for all `count` cells as one indivisible act, read what is held, call rl_step(op, cells, count), and write
 *  what it asks for. A storage that retries (compare-and-swap) calls rl_step again with what it reads then; the last call counts.
 *  It returns RL_OK, or a negative status when it cannot tell (the rule's on_store_error then decides).
 *  All callbacks may be called from any thread at once. A NULL optional callback is "not offered". */
typedef struct rl_storage {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void *self;
  rl_status (*apply)(void *self, rl_op *op, rl_cell *cells, uint32_t count); /* required */
  /** Optional, for rl_allow_async and what the engine has to tell after it. Like apply, but may end later and on any thread: when the cells are written, call rl_completion_finish(done, status) exactly once.
   *  op, cells and done stay valid until then. Returning a negative status means that it was not begun (finish must not be called). */
  rl_status (*apply_async)(void *self, rl_op *op, rl_cell *cells, uint32_t count, rl_completion *done);
  /** Optional. Drop what is held under a key. */
  rl_status (*forget)(void *self, rl_str key);
  /** Optional. Drop what had expired at `cutoff_ns`; says how many. */
  rl_status (*sweep)(void *self, uint64_t cutoff_ns, uint64_t *dropped);
  /** Optional. How many keys are held. */
  rl_status (*count)(void *self, uint64_t *keys);
  void (*destroy)(void *self); /* optional */
} rl_storage;

/** The arithmetic, for storages: reads each cell's `state`, decides, and says in each cell what to write. Pure but for `op` and
 *  `cells`: no clock, no lock, no I/O. To be called inside apply or apply_async only, with the cells that were passed in.
 *  Bytes that are not a state of this key (corrupt, foreign, another version) count as none. */
RL_API rl_status rl_step(rl_op *op, rl_cell *cells, uint32_t count);

/** Ends an apply_async: `status` as apply would have returned it. Any thread; exactly once. `done` is gone afterwards. */
RL_API void rl_completion_finish(rl_completion *done, rl_status status);

/* ======================================================================================================
 * Configuration: a builder, one thread at a time
 * ====================================================================================================== */

typedef struct rl_config rl_config;

/** An empty config: no rules, the embedded store, the built-in clock, no log. RL_E_NO_MEMORY. */
RL_API rl_status rl_config_create(rl_config **out, rl_error *err);

/** Ends it, and destroys the callbacks that no registry has taken. */
RL_API void rl_config_destroy(rl_config *config);

/** Adds the rules of a text, YAML or JSON (docs/rules.md). `name` is what errors call it. All faults are found in one go: RL_E_CONFIG, `err` has the
 *  first, rl_config_fault has each. A text with a fault adds nothing, and the config cannot be used until it is destroyed or cleared
 *  (RL_E_STATE). */
RL_API rl_status rl_config_load_text(rl_config *config, rl_str text, rl_str name, rl_error *err);

/** The same for a file (RL_E_IO when it cannot be read; the config stays usable), or for every *.yaml, *.yml and *.json of a folder (names that start with a dot are not read). `path` need not be
 *  NUL-terminated. */
RL_API rl_status rl_config_load_file(rl_config *config, rl_str path, rl_error *err);

/** Forgets every rule, setting and fault; host callbacks and the choice of storage stay. RL_E_INVALID_ARGUMENT, RL_E_STATE for a handle that is none. */
RL_API rl_status rl_config_clear(rl_config *config);

/** The i-th fault of what was loaded last, in file order; RL_E_NOT_FOUND past the end. */
RL_API rl_status rl_config_fault(const rl_config *config, uint32_t index, rl_error *out);

#define RL_TOKEN_BUCKET 1
#define RL_LEAKY_BUCKET 2
#define RL_FIXED_WINDOW 3
#define RL_SLIDING_LOG 4
#define RL_SLIDING_COUNTER 5

/** Other numbers for one value of a limit's scope: a user, an API key, an address or an attribute's value. 0 = as the limit has it. */
typedef struct rl_override {
  rl_str value;
  uint64_t limit;     /* units per window */
  uint64_t window_ns; /* nanoseconds, whole microseconds */
  uint64_t burst;     /* buckets only: units */
} rl_override;

/** One limit of a rule. */
typedef struct rl_limit {
  uint32_t struct_size;
  uint32_t algorithm; /* RL_TOKEN_BUCKET ... */
  rl_str name;        /* empty: made from the rule's name */
  rl_str scope;       /* "user", "api_key", "ip", "global", "attribute:<name>", or several joined by "," */
  uint64_t limit;     /* units per window, at least 1 */
  uint64_t window_ns; /* nanoseconds, whole microseconds */
  uint64_t burst;     /* buckets only: capacity in units; 0 = limit */
  uint32_t shadow;    /* 1 = evaluated and counted, never denies */
  uint32_t reserved;
  const rl_override *overrides; /* for a scope of one part, not global */
  uint64_t override_count;
} rl_limit;

#define RL_LIMIT_INIT {sizeof(rl_limit), 0, {0, 0}, {0, 0}, 0, 0, 0, 0, 0, 0, 0}

#define RL_MATCH_PREFIX 0  /* whole segments: /api covers /api and /api/x, not /apix */
#define RL_MATCH_LITERAL 1 /* plain starts-with */
#define RL_MATCH_EXACT 2   /* the whole path */

#define RL_ON_ERROR_LOCAL 0
#define RL_ON_ERROR_OPEN 1
#define RL_ON_ERROR_CLOSED 2

#define RL_ACTION_LIMIT 0
#define RL_ACTION_BLOCK 1
#define RL_ACTION_UNLIMITED 2

#define RL_LOCAL_TIER_NONE 0
#define RL_LOCAL_TIER_DENIALS 1
#define RL_LOCAL_TIER_LEASES 2

/** One rule, for hosts that build their rule set in code. */
typedef struct rl_rule {
  uint32_t struct_size;
  uint32_t path_match;     /* RL_MATCH_* */
  uint32_t on_store_error; /* RL_ON_ERROR_* */
  uint32_t action;         /* RL_ACTION_* */
  uint32_t shadow;         /* 1 = all its limits are shadows */
  uint32_t is_default;     /* 1 = for requests that no other rule covers; method and path stay empty */
  rl_str name;
  rl_str method; /* "GET", "GET,POST", "*" or empty for any */
  rl_str path;   /* empty for any */
  uint64_t cost; /* units of a request that states none; 0 = 1 */
  const rl_attribute *when;
  uint64_t when_count;
  const rl_limit *limits; /* elements are limits[0].struct_size bytes apart */
  uint64_t limit_count;
  uint32_t local_tier;    /* RL_LOCAL_TIER_*: what is decided without a shared store */
  uint32_t region_global; /* 1 = its limits are whole in every region */
} rl_rule;

#define RL_RULE_INIT {sizeof(rl_rule), 0, 0, 0, 0, 0, {0, 0}, {0, 0}, {0, 0}, 0, 0, 0, 0, 0, 0, 0}

/** Adds one rule; faults as in rl_config_load_text, with `file` "<rule>" and no line. */
RL_API rl_status rl_config_add_rule(rl_config *config, const rl_rule *rule, rl_error *err);

/** The host's clock in place of the built-in one (Unix time that advances with the boot-time clock: a stepped wall clock does not reach it, time suspended
 *  counts). The config owns it from RL_OK on and hands it to the registry; one set before is destroyed. RL_E_INVALID_ARGUMENT, RL_E_ABI. */
RL_API rl_status rl_config_set_clock(rl_config *config, const rl_clock *clock, rl_error *err);

/** Where messages go; nowhere when it is not set. Ownership and errors as rl_config_set_clock. */
RL_API rl_status rl_config_set_log(rl_config *config, const rl_log *log, rl_error *err);

/** The embedded store (the default). `max_keys` bounds it; 0 = the rule set's `max_keys`, or 1,000,000. */
RL_API rl_status rl_config_use_memory(rl_config *config, uint64_t max_keys, rl_error *err);

/** The host's storage in place of the embedded one. Ownership and errors as rl_config_set_clock. */
RL_API rl_status rl_config_set_storage(rl_config *config, const rl_storage *storage, rl_error *err);

/** A Redis or Valkey server, cluster, or master behind sentinels by URL (docs/redis.md), shared by all processes that have the same secret: rl_config_set_secret has to be called, or rl_registry_create
 *  answers RL_E_CONFIG. A server that is down is no error. RL_E_INVALID_ARGUMENT for a URL that is wrong; RL_E_UNSUPPORTED without RL_FEATURE_REDIS, and for rediss:// without
 *  RL_FEATURE_TLS. On a cluster rl_registry_create and the reloads answer RL_E_CONFIG for rules whose limits cannot lie in one slot. */
RL_API rl_status rl_config_use_redis(rl_config *config, rl_str url, rl_error *err);

/** The secret that keys are hashed with, 16 to 1024 bytes: the same for every process that shares a store. Unset: random, for this registry alone. */
RL_API rl_status rl_config_set_secret(rl_config *config, rl_str secret, rl_error *err);

/** The region that this process is in: one of the rule set's `regions` (docs/regions.md), whose share of every limit then counts here. Empty: none, limits are whole. A name that the
 *  rules do not have is RL_E_CONFIG of rl_registry_create and of reloads. */
RL_API rl_status rl_config_set_region(rl_config *config, rl_str region, rl_error *err);

/** For tests: 1 = a host storage sees key names that can be read, identities included, in place of hashes. */
RL_API rl_status rl_config_set_readable_keys(rl_config *config, uint32_t on, rl_error *err);

/* ======================================================================================================
 * Registry: a rule set in force, with its storage. Any threads
 * ====================================================================================================== */

typedef struct rl_registry rl_registry;

/** Puts a config in force. RL_E_CONFIG when it has faults, no rules, or a rule that can never be reached; RL_E_STATE when its callbacks belong to another registry. On success the host's callbacks belong to the registry; `config` stays the caller's, to be changed and used for reloads or destroyed. */
RL_API rl_status rl_registry_create(rl_config *config, rl_registry **out, rl_error *err);

/** Ends it. No other call on it may be under way or follow. What is left of leases and what the store is owed goes to the store, for a second at most (docs/local-tier.md). Asynchronous decisions that have not ended are completed with RL_E_CANCELLED before it returns,
 *  except those inside the host's own apply_async: it waits for their finish. In a child of fork: docs/abi.md. */
RL_API void rl_registry_destroy(rl_registry *registry);

/** Replaces the rule set as a whole or not at all; a request sees the old or the new one. RL_E_CONFIG: the old one stays, which is logged and counted. State survives (docs/reload.md). Callbacks, storage and secret of `config` are not looked at. */
RL_API rl_status rl_registry_reload(rl_registry *registry, const rl_config *config, rl_error *err);

/** Reads a file (or folder) now and swaps it in as rl_registry_reload does; a bad one (RL_E_CONFIG, RL_E_IO) keeps the old rules, is logged and counted. */
RL_API rl_status rl_registry_reload_file(rl_registry *registry, rl_str path, rl_error *err);

/** Looks at a file (or folder) every `interval_ms` (0 = 1000, at least 10) on a thread of its own and reloads it when its bytes changed. One watch at
 *  a time, of a file or of a key: the newer one ends the other, and so does an empty path. The first load has to succeed (RL_E_CONFIG, RL_E_IO). */
RL_API rl_status rl_registry_watch(rl_registry *registry, rl_str path, uint32_t interval_ms, rl_error *err);

/** The same for a key that holds the text of a rule file, in a Redis by its URL (docs/redis.md; the registry's storage may be another). `interval_ms`: 0 = 5000, at least 100, a quarter more or less by
 *  chance. The key is read before this returns: rules at fault are RL_E_CONFIG and nothing is watched. A server that does not answer and a key that is not there are no failure: the rules in force stay,
 *  it is logged, and the watch goes on. So it is later, too; each text that is refused is logged and counted once. An empty url or key ends the watch. RL_E_INVALID_ARGUMENT and
 *  RL_E_UNSUPPORTED as rl_config_use_redis. */
RL_API rl_status rl_registry_watch_redis(rl_registry *registry, rl_str url, rl_str key, uint32_t interval_ms, rl_error *err);

/** The number of the rule set in force: 1 after create, one more with each reload. 0 for NULL. */
RL_API uint64_t rl_registry_generation(const rl_registry *registry);

/** How many keys the storage holds. RL_E_UNSUPPORTED when it cannot tell. */
RL_API rl_status rl_registry_key_count(rl_registry *registry, uint64_t *out, rl_error *err);

/** Drops every key whose state has been as new since `cutoff_ns` (0 = now by the registry's clock; later than now counts as now). No decision changes by it.
 *  The built-in storage also has the system put full parts of its table into huge pages, where that is allowed: a large table is read faster then.
 *  RL_E_UNSUPPORTED when the storage cannot sweep. */
RL_API rl_status rl_registry_evict_idle(rl_registry *registry, uint64_t cutoff_ns, uint64_t *evicted, rl_error *err);

/** What a reload with `config` would change, as text lines (or JSON with RL_TEXT_JSON). */
RL_API rl_status rl_registry_diff(rl_registry *registry, const rl_config *config, uint32_t flags, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/** How many rules are in force, the default included. */
RL_API uint32_t rl_rule_count(const rl_registry *registry);

/** The id of the i-th rule in force, 0 past the end. Order: as loaded. */
RL_API uint32_t rl_rule_at(const rl_registry *registry, uint32_t index);

/** The id of a rule in force by its name; RL_E_NOT_FOUND. Ids are never reused while the registry lives, and a rule that comes back gets its old id. */
RL_API rl_status rl_rule_id(const rl_registry *registry, rl_str name, uint32_t *out, rl_error *err);

/** The name of a rule id, also of one that is no longer in force. Empty when unknown. Valid while the registry lives. */
RL_API rl_str rl_rule_name(const rl_registry *registry, uint32_t rule);

/** The same for a limit id. */
RL_API rl_str rl_limit_name(const rl_registry *registry, uint32_t limit_id);

/* ======================================================================================================
 * Deciding. Any threads
 * ====================================================================================================== */

/** The whole question: find the rule, build the keys, decide, and spend when allowed. RL_E_INVALID_ARGUMENT for a cost below 1 or a time out of range,
 *  RL_E_NOT_FOUND for a rule id that is not in force, RL_E_UNSUPPORTED when more than 32 rules or 64 limits apply to one request, RL_E_NO_MEMORY. On any of them
 *  `out->allowed` is 0. A storage that fails is no error here: the rule's on_store_error answers. */
RL_API rl_status rl_allow(rl_registry *registry, const rl_request *request, rl_decision *out, rl_error *err);

/** The short form for a rule that is known: `key` as rl_request.key, `cost` at least 1 or RL_COST_OF_RULE, `now_ns` 0 = the clock.
 *  Statuses as rl_allow; there is no message. */
RL_API rl_status rl_allow_rule(rl_registry *registry, uint32_t rule, const char *key, uint64_t key_size, int64_t cost, uint64_t now_ns, rl_decision *out);

/** Many questions at one instant, answered in order. Elements lie requests[0].struct_size and out[0].struct_size bytes apart. RL_OK when each was
 *  looked at: each one's own status is in its decision. One request that is refused does not hold up the others. A request with now_ns 0 gets the clock's, read once for all. */
RL_API rl_status rl_allow_many(rl_registry *registry, const rl_request *requests, uint32_t count, rl_decision *out, rl_error *err);

/** Called exactly once with the answer; `decision->status` says whether there is one. `decision` is borrowed for the call. */
typedef void (*rl_callback)(void *user, const rl_decision *decision);

/** The same, without waiting for the storage. RL_OK: the callback runs exactly once. Where there is nothing to wait for it does so before this returns and on this thread: the embedded store, a request
 *  that no limit is asked for, an answer of the local tier (docs/local-tier.md), a server known to be down. Else for a host storage on the thread that finishes, for Redis on its I/O thread, where nothing
 *  may be called that waits for the storage. Anything else (statuses as rl_allow): it never runs. The request's bytes are not needed after the return. */
RL_API rl_status rl_allow_async(rl_registry *registry, const rl_request *request, rl_callback callback, void *user, rl_error *err);

/** Whether rl_allow would admit it now. Nothing is spent, written or counted, so `remaining`, `reset_after_ns` and the binding limit are those of the state as
 *  it is. Statuses as rl_allow. */
RL_API rl_status rl_peek(rl_registry *registry, const rl_request *request, rl_decision *out, rl_error *err);

/** After the work: `actual` units (0 or more) in place of the `decision->cost` that were spent at `decision->now_ns`. `request` as it was given to rl_allow, with now_ns the time of
 *  settling. A give-back never lifts a balance above full; a late charge may take it below zero, one capacity deep at most; in the
 *  window algorithms both reach only the window that the decision was charged to. A decision that was denied, peeked or spent nothing is RL_E_INVALID_ARGUMENT; RL_E_NOT_FOUND when its rule is
 *  gone, RL_E_STORE when the storage fails. Limits that a later rule set brought, and shadow limits of a decision with RL_DECISION_SHADOW_DENIED, are left
 *  alone. */
RL_API rl_status rl_settle(rl_registry *registry, const rl_request *request, const rl_decision *decision, int64_t actual, rl_decision *out, rl_error *err);

/** Forgets the state of every key that the request reaches: the next one finds them new. Statuses as rl_allow, and RL_E_STORE. */
RL_API rl_status rl_reset(rl_registry *registry, const rl_request *request, rl_error *err);

#define RL_TEXT_JSON (1u << 0)

/** Why the answer is what it is: normal form of the path, rule matched and rules passed over, key parts, state before and after, the wait. Nothing is
 *  spent. `flags`: 0 or RL_TEXT_JSON. Statuses as rl_allow, RL_E_STORE, RL_E_BUFFER_TOO_SMALL. */
RL_API rl_status rl_explain(rl_registry *registry, const rl_request *request, uint32_t flags, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/* ======================================================================================================
 * Completion queue: answers to collect, many at a time, in place of a callback for each. Any threads
 * ====================================================================================================== */

typedef struct rl_completion_queue rl_completion_queue;

/** Called when an answer comes to a queue that had none, on the thread that brought it and with no lock held: hand it on (write to an eventfd, post to a loop)
 *  and return. It may also come when somebody has drained the queue meanwhile. Not from in here: rl_completion_queue_destroy, and what waits for a storage. */
typedef void (*rl_wake)(void *user);

/** An empty queue, for questions to any number of registries. `capacity`: how many questions may be asked and not drained at once; 0 = no bound. `wake` is optional; `user`
 *  is its argument and stays the caller's. RL_E_NO_MEMORY. */
RL_API rl_status rl_completion_queue_create(uint32_t capacity, rl_wake wake, void *user, rl_completion_queue **out, rl_error *err);

/** Ends it. No other call on it may be under way or follow, but questions may be: their answers are dropped, and so are those that nobody drained. A wake that runs is waited
 *  for. In a child of fork it does nothing, and the others answer RL_E_STATE (docs/abi.md). */
RL_API void rl_completion_queue_destroy(rl_completion_queue *queue);

/** No more questions: rl_allow_queued answers RL_E_CANCELLED from now on. What was asked still comes. Wakes everybody who waits in drain. */
RL_API rl_status rl_completion_queue_shutdown(rl_completion_queue *queue);

/** rl_allow_async with the answer in a queue. RL_OK: drain gives `tag` and the answer exactly once, with RL_E_CANCELLED as the decision's status when the registry is destroyed before; what
 *  rl_allow_async would tell on this thread is there when this returns. Anything else: never. RL_E_STATE when the queue is full, RL_E_CANCELLED when it is shut down, the others as rl_allow. The
 *  request's bytes are not needed after the return. */
RL_API rl_status rl_allow_queued(rl_registry *registry, const rl_request *request, rl_completion_queue *queue, uint64_t tag, rl_error *err);

#define RL_WAIT_FOREVER UINT32_MAX

/** Takes up to `capacity` answers, in the order in which they came: tags[i] goes with out[i], elements lie out[0].struct_size bytes apart. Waits for the first up to
 *  `timeout_ms` (0 = not at all, or RL_WAIT_FOREVER). RL_OK with *count 0: the time is over. RL_E_CANCELLED: the queue is shut down and every answer has been taken. */
RL_API rl_status rl_completion_queue_drain(rl_completion_queue *queue, uint64_t *tags, rl_decision *out, uint32_t capacity, uint32_t timeout_ms, uint32_t *count, rl_error *err);

/* ======================================================================================================
 * Telling. Any threads
 * ====================================================================================================== */

/* Which header fields: 0 = what the rule set's `headers` says (X-RateLimit-* and Retry-After when it says nothing). */
#define RL_HEADERS_X (1u << 0)           /* X-RateLimit-Limit, -Remaining, -Reset */
#define RL_HEADERS_RESET_DELTA (1u << 1) /* X-RateLimit-Reset in seconds from now, not in epoch seconds */
#define RL_HEADERS_RETRY_AFTER (1u << 2) /* Retry-After, on a denial that waiting cures */
#define RL_HEADERS_DRAFT_11 (1u << 3)    /* RateLimit-Policy: "name";q=100;w=60   RateLimit: "name";r=50;t=30 */
#define RL_HEADERS_DRAFT_8 (1u << 4)     /* RateLimit-Policy and RateLimit as in draft 8 */
#define RL_HEADERS_DRAFT_7 (1u << 5)     /* RateLimit-Policy: 100;w=60   RateLimit: limit=100, remaining=50, reset=30 */
#define RL_HEADERS_DRAFT_6 (1u << 6)     /* RateLimit-Limit, -Remaining, -Reset, RateLimit-Policy */
#define RL_HEADERS_NONE (1u << 7)        /* no field at all; stands alone */

/** The header fields of a decision as lines "Name: value\r\n", ready for an HTTP/1.1 response; nothing when it has none (no rule, no limit asked).
 *  At most one of the DRAFT bits. */
RL_API rl_status rl_decision_headers(const rl_registry *registry, const rl_decision *decision, uint32_t flags, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/** An RFC 9457 problem (application/problem+json) for a denial. RL_E_INVALID_ARGUMENT for an allowed one. */
RL_API rl_status rl_decision_problem(const rl_registry *registry, const rl_decision *decision, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/** Counters since create. Each request is counted once: requests = allowed + denied. */
typedef struct rl_metrics {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t requests;
  uint64_t allowed;
  uint64_t denied;
  uint64_t never_fits;      /* of `denied`: cost above the capacity */
  uint64_t blocked;         /* of `denied`: action: block */
  uint64_t shadow_denied;   /* of `requests`: a shadow limit would have denied it */
  uint64_t no_rule;         /* of `allowed` */
  uint64_t local_fallback;  /* of `requests` */
  uint64_t fail_open;       /* of `allowed` */
  uint64_t fail_closed;     /* of `denied` */
  uint64_t store_errors;    /* times the storage could not answer */
  uint64_t unknown_client;  /* requests whose ip scope had no usable address */
  uint64_t evicted_live;    /* keys dropped with state that was not as new */
  uint64_t evicted_idle;    /* keys dropped by rl_registry_evict_idle */
  uint64_t keys;            /* held now; 0 when the storage cannot tell */
  uint64_t reloads;         /* that succeeded */
  uint64_t reload_failures; /* that kept the old rule set */
  uint64_t generation;
  uint64_t leased;        /* of `allowed`: from units that were paid for in advance */
  uint64_t cached_denial; /* of `denied`: the store was not asked again */
  uint64_t reported_back; /* units admitted while the store failed that it was charged for afterwards */
  uint64_t unreported;    /* units admitted while the store failed that it could not be charged for */
} rl_metrics;

/** Counters of one rule, by its id; they go on when a reload keeps the rule. With `match: all` a request counts for each rule that applied. */
typedef struct rl_rule_metrics {
  uint32_t struct_size;
  uint32_t rule;
  uint64_t allowed;
  uint64_t denied;
  uint64_t never_fits;    /* of `denied` */
  uint64_t shadow_denied; /* would have been denied */
  uint64_t cost_allowed;  /* units spent */
} rl_rule_metrics;

/** The registry's counters. Read while requests run, they may be apart by those under way. */
RL_API rl_status rl_metrics_get(rl_registry *registry, rl_metrics *out, rl_error *err);

/** The counters of one rule, in force or not; RL_E_NOT_FOUND for an id that was never given out. */
RL_API rl_status rl_metrics_rule(rl_registry *registry, uint32_t rule, rl_rule_metrics *out, rl_error *err);

/** All of it in Prometheus' text format 0.0.4. */
RL_API rl_status rl_metrics_prometheus(rl_registry *registry, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/** The client behind trusted proxies, so that every middleware does the same: walks X-Forwarded-For (all lines, in order) or, when there is no line of it, Forwarded from the right (the rule set's `client_ip_from` names one of them); the first address that
 *  `trusted_proxies` does not cover is the client. `peer` is the connection's address. Writes canonical text; a peer that is no address gives an empty one. */
RL_API rl_status rl_client_ip(const rl_registry *registry, rl_str peer, const rl_str *x_forwarded_for, uint32_t x_forwarded_for_count, const rl_str *forwarded, uint32_t forwarded_count, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

/** Where an HTTP request came from, and which fields its answer is to carry. */
typedef struct rl_http {
  uint32_t struct_size;
  uint32_t header_flags;         /* as in rl_decision_headers */
  rl_str peer;                   /* the connection's address */
  const rl_str *x_forwarded_for; /* all lines, in order */
  const rl_str *forwarded;       /* likewise */
  uint32_t x_forwarded_for_count;
  uint32_t forwarded_count;
} rl_http;

#define RL_HTTP_INIT {sizeof(rl_http), 0, {0, 0}, 0, 0, 0, 0}

/** All that a middleware does for a request, in one call: rl_client_ip (unless request->ip is set), rl_allow, rl_decision_headers. Statuses as those.
 *  When it is RL_OK the decision stands. Fields that do not fit are no failure: *needed is above `capacity` then, and rl_decision_headers writes them into more room;
 *  1024 bytes hold them for names of up to 256 bytes. */
RL_API rl_status rl_allow_http(rl_registry *registry, const rl_request *request, const rl_http *http, rl_decision *out, char *buffer, uint64_t capacity, uint64_t *needed, rl_error *err);

#ifdef __cplusplus
}
#endif
#endif /* RATEL_RL_H */
