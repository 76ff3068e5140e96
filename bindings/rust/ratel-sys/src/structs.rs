//! The structs of rl.h, in its order. Those that start with `struct_size` have `INIT`, what the RL_*_INIT macros are.

use crate::constants::*;
use core::ffi::{c_char, c_void};
use core::ptr::{null, null_mut};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_str {
    pub data: *const c_char,
    pub size: u64,
}

impl rl_str {
    pub const EMPTY: Self = Self { data: null(), size: 0 };
}

/// Aligned as the engine wants all of its structs, which its own fields do not ask for.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct rl_error {
    pub struct_size: u32,
    pub status: rl_status,
    pub line: u32,
    pub column: u32,
    pub fault_count: u32,
    pub reserved: u32,
    pub file: [c_char; 256],
    pub path: [c_char; 256],
    pub message: [c_char; 1024],
}

impl rl_error {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        status: 0,
        line: 0,
        column: 0,
        fault_count: 0,
        reserved: 0,
        file: [0; 256],
        path: [0; 256],
        message: [0; 1024],
    };
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_attribute {
    pub name: rl_str,
    pub value: rl_str,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_request {
    pub struct_size: u32,
    pub flags: u32,
    pub now_ns: u64,
    pub cost: i64,
    pub rule: u32,
    pub attribute_count: u32,
    pub method: rl_str,
    pub path: rl_str,
    pub user: rl_str,
    pub api_key: rl_str,
    pub ip: rl_str,
    pub key: rl_str,
    pub attributes: *const rl_attribute,
    pub idempotency_id: rl_str,
}

impl rl_request {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        flags: 0,
        now_ns: 0,
        cost: RL_COST_OF_RULE,
        rule: 0,
        attribute_count: 0,
        method: rl_str::EMPTY,
        path: rl_str::EMPTY,
        user: rl_str::EMPTY,
        api_key: rl_str::EMPTY,
        ip: rl_str::EMPTY,
        key: rl_str::EMPTY,
        attributes: null(),
        idempotency_id: rl_str::EMPTY,
    };
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rl_decision {
    pub struct_size: u32,
    pub status: rl_status,
    pub allowed: u8,
    pub source: u8,
    pub reason: u8,
    pub flags: u8,
    pub rule: u32,
    pub limit_id: u32,
    pub limit_count: u32,
    pub generation: u64,
    pub now_ns: u64,
    pub cost: i64,
    pub limit: u64,
    pub window_ns: u64,
    pub capacity: u64,
    pub remaining: u64,
    pub retry_after_ns: u64,
    pub reset_after_ns: u64,
    pub delay_ns: u64,
}

impl rl_decision {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        status: 0,
        allowed: 0,
        source: 0,
        reason: 0,
        flags: 0,
        rule: 0,
        limit_id: 0,
        limit_count: 0,
        generation: 0,
        now_ns: 0,
        cost: 0,
        limit: 0,
        window_ns: 0,
        capacity: 0,
        remaining: 0,
        retry_after_ns: 0,
        reset_after_ns: 0,
        delay_ns: 0,
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_clock {
    pub struct_size: u32,
    pub flags: u32,
    pub self_: *mut c_void,
    pub now_ns: Option<unsafe extern "C" fn(self_: *mut c_void) -> u64>,
    pub destroy: Option<unsafe extern "C" fn(self_: *mut c_void)>,
}

impl rl_clock {
    pub const INIT: Self =
        Self { struct_size: size_of::<Self>() as u32, flags: 0, self_: null_mut(), now_ns: None, destroy: None };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_log {
    pub struct_size: u32,
    pub flags: u32,
    pub self_: *mut c_void,
    pub write: Option<unsafe extern "C" fn(self_: *mut c_void, level: i32, text: *const c_char, size: u64)>,
    pub destroy: Option<unsafe extern "C" fn(self_: *mut c_void)>,
}

impl rl_log {
    pub const INIT: Self =
        Self { struct_size: size_of::<Self>() as u32, flags: 0, self_: null_mut(), write: None, destroy: None };
}

macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _opaque: [u8; 0],
            _not_send: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        }
    )*};
}

opaque!(rl_op, rl_completion, rl_config, rl_registry, rl_completion_queue);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_cell {
    pub key: rl_str,
    pub state: *const c_void,
    pub state_size: u64,
    pub new_state: *const c_void,
    pub new_size: u64,
    pub ttl_ns: u64,
    pub write: u32,
    pub reserved: u32,
}

pub type rl_apply =
    unsafe extern "C" fn(self_: *mut c_void, op: *mut rl_op, cells: *mut rl_cell, count: u32) -> rl_status;

pub type rl_apply_async = unsafe extern "C" fn(
    self_: *mut c_void,
    op: *mut rl_op,
    cells: *mut rl_cell,
    count: u32,
    done: *mut rl_completion,
) -> rl_status;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_storage {
    pub struct_size: u32,
    pub flags: u32,
    pub self_: *mut c_void,
    pub apply: Option<rl_apply>,
    pub apply_async: Option<rl_apply_async>,
    pub forget: Option<unsafe extern "C" fn(self_: *mut c_void, key: rl_str) -> rl_status>,
    pub sweep: Option<unsafe extern "C" fn(self_: *mut c_void, cutoff_ns: u64, dropped: *mut u64) -> rl_status>,
    pub count: Option<unsafe extern "C" fn(self_: *mut c_void, keys: *mut u64) -> rl_status>,
    pub destroy: Option<unsafe extern "C" fn(self_: *mut c_void)>,
}

impl rl_storage {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        flags: 0,
        self_: null_mut(),
        apply: None,
        apply_async: None,
        forget: None,
        sweep: None,
        count: None,
        destroy: None,
    };
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_override {
    pub value: rl_str,
    pub limit: u64,
    pub window_ns: u64,
    pub burst: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_limit {
    pub struct_size: u32,
    pub algorithm: u32,
    pub name: rl_str,
    pub scope: rl_str,
    pub limit: u64,
    pub window_ns: u64,
    pub burst: u64,
    pub shadow: u32,
    pub reserved: u32,
    pub overrides: *const rl_override,
    pub override_count: u64,
}

impl rl_limit {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        algorithm: 0,
        name: rl_str::EMPTY,
        scope: rl_str::EMPTY,
        limit: 0,
        window_ns: 0,
        burst: 0,
        shadow: 0,
        reserved: 0,
        overrides: null(),
        override_count: 0,
    };
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_rule {
    pub struct_size: u32,
    pub path_match: u32,
    pub on_store_error: u32,
    pub action: u32,
    pub shadow: u32,
    pub is_default: u32,
    pub name: rl_str,
    pub method: rl_str,
    pub path: rl_str,
    pub cost: u64,
    pub when: *const rl_attribute,
    pub when_count: u64,
    pub limits: *const rl_limit,
    pub limit_count: u64,
    pub local_tier: u32,
    pub region_global: u32,
}

impl rl_rule {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        path_match: 0,
        on_store_error: 0,
        action: 0,
        shadow: 0,
        is_default: 0,
        name: rl_str::EMPTY,
        method: rl_str::EMPTY,
        path: rl_str::EMPTY,
        cost: 0,
        when: null(),
        when_count: 0,
        limits: null(),
        limit_count: 0,
        local_tier: 0,
        region_global: 0,
    };
}

/// Called exactly once with the answer of an asynchronous question.
pub type rl_callback = unsafe extern "C" fn(user: *mut c_void, decision: *const rl_decision);

/// Called when an answer comes to an empty queue.
pub type rl_wake = unsafe extern "C" fn(user: *mut c_void);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rl_metrics {
    pub struct_size: u32,
    pub reserved: u32,
    pub requests: u64,
    pub allowed: u64,
    pub denied: u64,
    pub never_fits: u64,
    pub blocked: u64,
    pub shadow_denied: u64,
    pub no_rule: u64,
    pub local_fallback: u64,
    pub fail_open: u64,
    pub fail_closed: u64,
    pub store_errors: u64,
    pub unknown_client: u64,
    pub evicted_live: u64,
    pub evicted_idle: u64,
    pub keys: u64,
    pub reloads: u64,
    pub reload_failures: u64,
    pub generation: u64,
    pub leased: u64,
    pub cached_denial: u64,
    pub reported_back: u64,
    pub unreported: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rl_rule_metrics {
    pub struct_size: u32,
    pub rule: u32,
    pub allowed: u64,
    pub denied: u64,
    pub never_fits: u64,
    pub shadow_denied: u64,
    pub cost_allowed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rl_http {
    pub struct_size: u32,
    pub header_flags: u32,
    pub peer: rl_str,
    pub x_forwarded_for: *const rl_str,
    pub forwarded: *const rl_str,
    pub x_forwarded_for_count: u32,
    pub forwarded_count: u32,
}

impl rl_http {
    pub const INIT: Self = Self {
        struct_size: size_of::<Self>() as u32,
        header_flags: 0,
        peer: rl_str::EMPTY,
        x_forwarded_for: null(),
        forwarded: null(),
        x_forwarded_for_count: 0,
        forwarded_count: 0,
    };
}
