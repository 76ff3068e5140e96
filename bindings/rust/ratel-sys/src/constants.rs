//! The numbers of rl.h, in its order.

pub const RL_ABI_MAJOR: u32 = 1;
pub const RL_ABI_MINOR: u32 = 0;

pub const RL_FEATURE_MEMORY: u64 = 1 << 0;
pub const RL_FEATURE_HOST_STORAGE: u64 = 1 << 1;
pub const RL_FEATURE_REDIS: u64 = 1 << 2;
pub const RL_FEATURE_TLS: u64 = 1 << 3;

pub type rl_status = i32;

pub const RL_OK: rl_status = 0;
pub const RL_E_INVALID_ARGUMENT: rl_status = -1;
pub const RL_E_NO_MEMORY: rl_status = -2;
pub const RL_E_CONFIG: rl_status = -3;
pub const RL_E_IO: rl_status = -4;
pub const RL_E_NOT_FOUND: rl_status = -5;
pub const RL_E_UNSUPPORTED: rl_status = -6;
pub const RL_E_STORE: rl_status = -7;
pub const RL_E_BUFFER_TOO_SMALL: rl_status = -8;
pub const RL_E_ABI: rl_status = -9;
pub const RL_E_STATE: rl_status = -10;
pub const RL_E_CANCELLED: rl_status = -11;
pub const RL_E_INTERNAL: rl_status = -12;

pub const RL_NOW_MAX_NS: u64 = 9007199254740991000;
pub const RL_NEVER: u64 = u64::MAX;
pub const RL_COST_OF_RULE: i64 = i64::MIN;

pub const RL_SOURCE_EXACT: u8 = 0;
pub const RL_SOURCE_LEASED: u8 = 1;
pub const RL_SOURCE_CACHED_DENIAL: u8 = 2;
pub const RL_SOURCE_LOCAL_FALLBACK: u8 = 3;
pub const RL_SOURCE_FAIL_OPEN: u8 = 4;
pub const RL_SOURCE_FAIL_CLOSED: u8 = 5;
pub const RL_SOURCE_NO_RULE: u8 = 6;
pub const RL_SOURCE_ACTION: u8 = 7;

pub const RL_REASON_NONE: u8 = 0;
pub const RL_REASON_LIMITED: u8 = 1;
pub const RL_REASON_NEVER_FITS: u8 = 2;
pub const RL_REASON_BLOCKED: u8 = 3;
pub const RL_REASON_STORE: u8 = 4;

pub const RL_DECISION_SHADOW_DENIED: u8 = 1 << 0;
pub const RL_DECISION_PEEKED: u8 = 1 << 1;

pub const RL_LOG_ERROR: i32 = 1;
pub const RL_LOG_WARNING: i32 = 2;
pub const RL_LOG_INFO: i32 = 3;

pub const RL_TOKEN_BUCKET: u32 = 1;
pub const RL_LEAKY_BUCKET: u32 = 2;
pub const RL_FIXED_WINDOW: u32 = 3;
pub const RL_SLIDING_LOG: u32 = 4;
pub const RL_SLIDING_COUNTER: u32 = 5;

pub const RL_MATCH_PREFIX: u32 = 0;
pub const RL_MATCH_LITERAL: u32 = 1;
pub const RL_MATCH_EXACT: u32 = 2;

pub const RL_ON_ERROR_LOCAL: u32 = 0;
pub const RL_ON_ERROR_OPEN: u32 = 1;
pub const RL_ON_ERROR_CLOSED: u32 = 2;
pub const RL_LOCAL_TIER_NONE: u32 = 0;
pub const RL_LOCAL_TIER_DENIALS: u32 = 1;
pub const RL_LOCAL_TIER_LEASES: u32 = 2;

pub const RL_ACTION_LIMIT: u32 = 0;
pub const RL_ACTION_BLOCK: u32 = 1;
pub const RL_ACTION_UNLIMITED: u32 = 2;

pub const RL_TEXT_JSON: u32 = 1 << 0;

pub const RL_WAIT_FOREVER: u32 = u32::MAX;

pub const RL_HEADERS_X: u32 = 1 << 0;
pub const RL_HEADERS_RESET_DELTA: u32 = 1 << 1;
pub const RL_HEADERS_RETRY_AFTER: u32 = 1 << 2;
pub const RL_HEADERS_DRAFT_11: u32 = 1 << 3;
pub const RL_HEADERS_DRAFT_8: u32 = 1 << 4;
pub const RL_HEADERS_DRAFT_7: u32 = 1 << 5;
pub const RL_HEADERS_DRAFT_6: u32 = 1 << 6;
pub const RL_HEADERS_NONE: u32 = 1 << 7;
