//! The functions of rl.h, in its order.

use crate::constants::rl_status;
use crate::structs::*;
use core::ffi::{c_char, c_void};

unsafe extern "C" {
    pub fn rl_abi_version() -> u32;
    pub fn rl_version_string() -> *const c_char;
    pub fn rl_features() -> u64;
    pub fn rl_status_name(status: rl_status) -> *const c_char;
    pub fn rl_struct_size(name: *const c_char) -> u64;

    pub fn rl_step(op: *mut rl_op, cells: *mut rl_cell, count: u32) -> rl_status;
    pub fn rl_completion_finish(done: *mut rl_completion, status: rl_status);

    pub fn rl_config_create(out: *mut *mut rl_config, err: *mut rl_error) -> rl_status;
    pub fn rl_config_destroy(config: *mut rl_config);
    pub fn rl_config_load_text(config: *mut rl_config, text: rl_str, name: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_config_load_file(config: *mut rl_config, path: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_config_clear(config: *mut rl_config) -> rl_status;
    pub fn rl_config_fault(config: *const rl_config, index: u32, out: *mut rl_error) -> rl_status;
    pub fn rl_config_add_rule(config: *mut rl_config, rule: *const rl_rule, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_clock(config: *mut rl_config, clock: *const rl_clock, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_log(config: *mut rl_config, log: *const rl_log, err: *mut rl_error) -> rl_status;
    pub fn rl_config_use_memory(config: *mut rl_config, max_keys: u64, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_storage(config: *mut rl_config, storage: *const rl_storage, err: *mut rl_error) -> rl_status;
    pub fn rl_config_use_redis(config: *mut rl_config, url: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_secret(config: *mut rl_config, secret: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_region(config: *mut rl_config, region: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_config_set_readable_keys(config: *mut rl_config, on: u32, err: *mut rl_error) -> rl_status;

    pub fn rl_registry_create(config: *mut rl_config, out: *mut *mut rl_registry, err: *mut rl_error) -> rl_status;
    pub fn rl_registry_destroy(registry: *mut rl_registry);
    pub fn rl_registry_reload(registry: *mut rl_registry, config: *const rl_config, err: *mut rl_error) -> rl_status;
    pub fn rl_registry_reload_file(registry: *mut rl_registry, path: rl_str, err: *mut rl_error) -> rl_status;
    pub fn rl_registry_watch(
        registry: *mut rl_registry,
        path: rl_str,
        interval_ms: u32,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_registry_watch_redis(
        registry: *mut rl_registry,
        url: rl_str,
        key: rl_str,
        interval_ms: u32,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_registry_generation(registry: *const rl_registry) -> u64;
    pub fn rl_registry_key_count(registry: *mut rl_registry, out: *mut u64, err: *mut rl_error) -> rl_status;
    pub fn rl_registry_evict_idle(
        registry: *mut rl_registry,
        cutoff_ns: u64,
        evicted: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_registry_diff(
        registry: *mut rl_registry,
        config: *const rl_config,
        flags: u32,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_rule_count(registry: *const rl_registry) -> u32;
    pub fn rl_rule_at(registry: *const rl_registry, index: u32) -> u32;
    pub fn rl_rule_id(registry: *const rl_registry, name: rl_str, out: *mut u32, err: *mut rl_error) -> rl_status;
    pub fn rl_rule_name(registry: *const rl_registry, rule: u32) -> rl_str;
    pub fn rl_limit_name(registry: *const rl_registry, limit_id: u32) -> rl_str;

    pub fn rl_allow(
        registry: *mut rl_registry,
        request: *const rl_request,
        out: *mut rl_decision,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_allow_rule(
        registry: *mut rl_registry,
        rule: u32,
        key: *const c_char,
        key_size: u64,
        cost: i64,
        now_ns: u64,
        out: *mut rl_decision,
    ) -> rl_status;
    pub fn rl_allow_many(
        registry: *mut rl_registry,
        requests: *const rl_request,
        count: u32,
        out: *mut rl_decision,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_allow_async(
        registry: *mut rl_registry,
        request: *const rl_request,
        callback: Option<rl_callback>,
        user: *mut c_void,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_peek(
        registry: *mut rl_registry,
        request: *const rl_request,
        out: *mut rl_decision,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_settle(
        registry: *mut rl_registry,
        request: *const rl_request,
        decision: *const rl_decision,
        actual: i64,
        out: *mut rl_decision,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_reset(registry: *mut rl_registry, request: *const rl_request, err: *mut rl_error) -> rl_status;
    pub fn rl_explain(
        registry: *mut rl_registry,
        request: *const rl_request,
        flags: u32,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;

    pub fn rl_completion_queue_create(
        capacity: u32,
        wake: Option<rl_wake>,
        user: *mut c_void,
        out: *mut *mut rl_completion_queue,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_completion_queue_destroy(queue: *mut rl_completion_queue);
    pub fn rl_completion_queue_shutdown(queue: *mut rl_completion_queue) -> rl_status;
    pub fn rl_allow_queued(
        registry: *mut rl_registry,
        request: *const rl_request,
        queue: *mut rl_completion_queue,
        tag: u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_completion_queue_drain(
        queue: *mut rl_completion_queue,
        tags: *mut u64,
        out: *mut rl_decision,
        capacity: u32,
        timeout_ms: u32,
        count: *mut u32,
        err: *mut rl_error,
    ) -> rl_status;

    pub fn rl_decision_headers(
        registry: *const rl_registry,
        decision: *const rl_decision,
        flags: u32,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_decision_problem(
        registry: *const rl_registry,
        decision: *const rl_decision,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_metrics_get(registry: *mut rl_registry, out: *mut rl_metrics, err: *mut rl_error) -> rl_status;
    pub fn rl_metrics_rule(
        registry: *mut rl_registry,
        rule: u32,
        out: *mut rl_rule_metrics,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_metrics_prometheus(
        registry: *mut rl_registry,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_client_ip(
        registry: *const rl_registry,
        peer: rl_str,
        x_forwarded_for: *const rl_str,
        x_forwarded_for_count: u32,
        forwarded: *const rl_str,
        forwarded_count: u32,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
    pub fn rl_allow_http(
        registry: *mut rl_registry,
        request: *const rl_request,
        http: *const rl_http,
        out: *mut rl_decision,
        buffer: *mut c_char,
        capacity: u64,
        needed: *mut u64,
        err: *mut rl_error,
    ) -> rl_status;
}
