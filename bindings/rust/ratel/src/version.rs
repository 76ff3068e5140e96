use crate::error::{Error, Result};
use ratel_sys as sys;
use std::ffi::CStr;
use std::ops::BitOr;
use std::sync::OnceLock;

/// This crate's version, the same as that of the engine it was made with.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the loaded engine.
pub fn engine_version() -> &'static str {
    // SAFETY: static and NUL-terminated.
    unsafe { CStr::from_ptr(sys::rl_version_string()) }.to_str().unwrap_or_default()
}

/// What a build of the engine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u64);

impl Features {
    /// The embedded store.
    pub const MEMORY: Self = Self(sys::RL_FEATURE_MEMORY);
    /// [`Storage`](crate::Storage).
    pub const HOST_STORAGE: Self = Self(sys::RL_FEATURE_HOST_STORAGE);
    /// [`Builder::redis`](crate::Builder::redis).
    pub const REDIS: Self = Self(sys::RL_FEATURE_REDIS);
    /// rediss://
    pub const TLS: Self = Self(sys::RL_FEATURE_TLS);

    /// Whether all of these are there.
    pub fn contains(self, features: Self) -> bool {
        self.0 & features.0 == features.0
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What the loaded engine can do.
pub fn features() -> Features {
    // SAFETY: takes nothing.
    Features(unsafe { sys::rl_features() })
}

/// Compares the library that is loaded with the header that ratel-sys was written from, once.
pub(crate) fn check_abi() -> Result<()> {
    static FAULT: OnceLock<Option<String>> = OnceLock::new();
    match FAULT.get_or_init(fault) {
        None => Ok(()),
        Some(fault) => Err(Error::abi(fault.as_str())),
    }
}

fn fault() -> Option<String> {
    // SAFETY: takes nothing.
    let loaded = unsafe { sys::rl_abi_version() };
    let (major, minor) = (loaded >> 16, loaded & 0xffff);
    let (ours, least) = (sys::RL_ABI_MAJOR, sys::RL_ABI_MINOR);
    if major != ours || minor < least {
        return Some(format!("libratel has ABI {major}.{minor}, this program needs {ours}.{least}"));
    }
    macro_rules! sizes {
        ($($name:literal $raw:ident),* $(,)?) => { [$(($name, size_of::<sys::$raw>())),*] };
    }
    let sizes: [(&CStr, usize); 11] = sizes![
        c"error" rl_error, c"request" rl_request, c"decision" rl_decision, c"rule" rl_rule, c"limit" rl_limit,
        c"metrics" rl_metrics, c"rule_metrics" rl_rule_metrics, c"clock" rl_clock, c"log" rl_log,
        c"storage" rl_storage, c"http" rl_http,
    ];
    sizes.into_iter().find_map(|(name, ours)| {
        // SAFETY: NUL-terminated.
        let known = unsafe { sys::rl_struct_size(name.as_ptr()) };
        let name = name.to_string_lossy();
        (known < ours as u64).then(|| format!("libratel's rl_{name} has {known} bytes, this program's {ours}"))
    })
}
