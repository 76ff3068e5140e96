//! rl.h and this crate are the same: functions, constants, structs.
#![allow(clippy::undocumented_unsafe_blocks)]

use ratel_sys::*;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::{offset_of, size_of};
use std::path::PathBuf;

fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names that follow `RL_API`.
fn functions_of_the_header() -> BTreeSet<String> {
    let header = read("engine/include/ratel/rl.h");
    let declared = header.lines().filter(|line| line.starts_with("RL_API "));
    declared
        .map(|line| {
            let before = line.split('(').next().unwrap();
            before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string()
        })
        .collect()
}

#[test]
fn every_function_is_declared_and_no_other() {
    let source = read("src/functions.rs");
    let declared = source.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
    let declared: BTreeSet<String> = declared.map(|rest| rest.split('(').next().unwrap().to_string()).collect();
    let header = functions_of_the_header();
    assert!(header.len() > 40, "{header:?}");
    assert_eq!(declared, header);
}

/// `name` to value, for what can be read as a number or a shift.
fn numbers(lines: impl Iterator<Item = (String, String)>) -> BTreeMap<String, i128> {
    let value = |text: &str| -> Option<i128> {
        match text {
            "INT64_MIN" | "i64::MIN" => return Some(i64::MIN.into()),
            "UINT64_MAX" | "u64::MAX" => return Some(u64::MAX.into()),
            _ => {}
        }
        let plain = text.trim_start_matches("UINT64_C").replace(['(', ')', ';'], "").replace("1u", "1");
        match plain.split_once("<<") {
            Some((one, by)) => Some(one.trim().parse::<i128>().ok()? << by.trim().parse::<u32>().ok()?),
            None => plain.trim().parse().ok(),
        }
    };
    lines.filter_map(|(name, text)| Some((name, value(text.trim().trim_end_matches(';'))?))).collect()
}

#[test]
fn every_constant_has_its_value() {
    let header = read("engine/include/ratel/rl.h");
    let defined = numbers(header.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("#define ")?.split_once(' ')?;
        Some((name.to_string(), rest.split("/*").next()?.to_string()))
    }));
    let source = read("src/constants.rs");
    let here = numbers(source.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("pub const ")?.split_once(':')?;
        Some((name.to_string(), rest.split_once('=')?.1.to_string()))
    }));
    assert!(defined.len() > 50, "{defined:?}");
    assert_eq!(here, defined);
}

/// "struct size" and "  offset size field", as capi/abi has them.
fn layout() -> String {
    let mut out = String::new();
    macro_rules! layout {
        ($($name:ident { $($field:ident $(as $shown:literal)?),* $(,)? })*) => {$(
            out += &format!("{} {}\n", stringify!($name), size_of::<$name>());
            $(
                // SAFETY: never read, only measured.
                let sample = std::mem::MaybeUninit::<$name>::uninit();
                let size = unsafe { size_of_field(&raw const (*sample.as_ptr()).$field) };
                let shown = [$($shown,)? stringify!($field)][0];
                out += &format!("  {} {} {}\n", offset_of!($name, $field), size, shown);
            )*
        )*};
    }
    unsafe fn size_of_field<T>(_: *const T) -> usize {
        size_of::<T>()
    }
    layout! {
        rl_str { data, size }
        rl_error { struct_size, status, line, column, fault_count, reserved, file, path, message }
        rl_attribute { name, value }
        rl_request {
            struct_size, flags, now_ns, cost, rule, attribute_count, method, path, user, api_key, ip, key, attributes,
            idempotency_id
        }
        rl_decision {
            struct_size, status, allowed, source, reason, flags, rule, limit_id, limit_count, generation, now_ns, cost,
            limit, window_ns, capacity, remaining, retry_after_ns, reset_after_ns, delay_ns
        }
        rl_clock { struct_size, flags, self_ as "self", now_ns, destroy }
        rl_log { struct_size, flags, self_ as "self", write, destroy }
        rl_cell { key, state, state_size, new_state, new_size, ttl_ns, write, reserved }
        rl_storage { struct_size, flags, self_ as "self", apply, apply_async, forget, sweep, count, destroy }
        rl_override { value, limit, window_ns, burst }
        rl_limit {
            struct_size, algorithm, name, scope, limit, window_ns, burst, shadow, reserved, overrides, override_count
        }
        rl_rule {
            struct_size, path_match, on_store_error, action, shadow, is_default, name, method, path, cost, when,
            when_count, limits, limit_count, local_tier, region_global
        }
        rl_metrics {
            struct_size, reserved, requests, allowed, denied, never_fits, blocked, shadow_denied, no_rule,
            local_fallback, fail_open, fail_closed, store_errors, unknown_client, evicted_live, evicted_idle, keys,
            reloads, reload_failures, generation, leased, cached_denial, reported_back, unreported
        }
        rl_http {
            struct_size, header_flags, peer, x_forwarded_for, forwarded, x_forwarded_for_count, forwarded_count
        }
        rl_rule_metrics { struct_size, rule, allowed, denied, never_fits, shadow_denied, cost_allowed }
    }
    out
}

fn structs(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines().filter(|line| !line.starts_with("ABI ")) {
        if !line.starts_with(' ') {
            name = line.split(' ').next().unwrap();
        }
        out.entry(name).or_default().push(line);
    }
    out
}

#[test]
fn every_struct_lies_as_in_the_header() {
    let committed = read(&format!("engine/capi/abi/layout-{RL_ABI_MAJOR}.{RL_ABI_MINOR}.txt"));
    let here = layout();
    assert_eq!(structs(&here), structs(&committed));
}

#[test]
fn the_loaded_library_has_the_same_sizes() {
    for line in layout().lines().filter(|line| !line.starts_with(' ')) {
        let (name, size) = line.split_once(' ').unwrap();
        let name = std::ffi::CString::new(name.strip_prefix("rl_").unwrap()).unwrap();
        assert_eq!(unsafe { rl_struct_size(name.as_ptr()) }, size.parse::<u64>().unwrap(), "{name:?}");
    }
    assert_eq!(unsafe { rl_struct_size(c"nonsense".as_ptr()) }, 0);
}

#[test]
fn the_version_is_that_of_the_engine() {
    let version = read("engine/VERSION");
    assert_eq!(version.trim(), env!("CARGO_PKG_VERSION"));
    let loaded = unsafe { std::ffi::CStr::from_ptr(rl_version_string()) };
    assert_eq!(loaded.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    assert_eq!(unsafe { rl_abi_version() }, RL_ABI_MAJOR << 16 | RL_ABI_MINOR);
}
