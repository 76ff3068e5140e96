use crate::clock::{self, Clock, ClockBox};
use crate::error::{ErrorRoom, Result};
use crate::limiter::Limiter;
use crate::log::{self, Log, LogLevel};
use crate::request::lend;
use crate::rules::{Config, Rules};
use crate::storage::{self, Storage, StorageBox};
use crate::trouble;
use ratel_sys as sys;
use std::ptr::null_mut;

/// What a limiter is made of. See [`Limiter::builder`].
#[must_use]
pub struct Builder {
    rules: Rules,
    clock: Option<Box<dyn Clock>>,
    log: Log,
    store: Store,
    secret: Option<Vec<u8>>,
    region: String,
    readable_keys: bool,
}

enum Store {
    Memory(u64),
    Redis(String),
    Host(Box<dyn Storage>),
}

impl Builder {
    pub(crate) fn new(rules: Rules) -> Self {
        let store = Store::Memory(0);
        Self {
            rules,
            clock: None,
            log: Log::default(),
            store,
            secret: None,
            region: String::new(),
            readable_keys: false,
        }
    }

    /// Tells the time in place of the engine's clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Takes the engine's few messages (a failed reload, a failing store, a panic in a callback), from any thread.
    pub fn log(mut self, write: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Log::new(write);
        self
    }

    /// The embedded store, which is the default; `max_keys` bounds it, 0 is what the rules say.
    pub fn memory(mut self, max_keys: u64) -> Self {
        self.store = Store::Memory(max_keys);
        self
    }

    /// Keeps the counts in a storage of the host's own.
    pub fn storage(mut self, storage: impl Storage) -> Self {
        self.store = Store::Host(Box::new(storage));
        self
    }

    /// Keeps the counts in a Redis, Valkey, Cluster or Sentinel. [`Unsupported`](crate::Error::Unsupported) without
    /// [`Features::REDIS`](crate::Features::REDIS).
    pub fn redis(mut self, url: impl Into<String>) -> Self {
        self.store = Store::Redis(url.into());
        self
    }

    /// What keys are hashed with, 16 to 1024 bytes: the same for every process that shares a store. Unset: random, for
    /// this limiter alone.
    pub fn secret(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// The region that this process is in: one of the rules' `regions`, whose share of every limit then counts here. A name
    /// that they do not have is [`Config`](crate::Error::Config).
    pub fn region(mut self, name: impl Into<String>) -> Self {
        self.region = name.into();
        self
    }

    /// Shows a [`Storage`] key names that can be read, identities included. For tests.
    pub fn readable_keys(mut self, on: bool) -> Self {
        self.readable_keys = on;
        self
    }

    /// Puts the rules in force. Rules at fault are [`Config`](crate::Error::Config), with file, line and column.
    pub fn build(self) -> Result<Limiter> {
        let config = Config::with(&self.rules)?;
        let waits = match self.store {
            Store::Memory(max_keys) => {
                // SAFETY: a config of ours, so below.
                config.call(|config, err| unsafe { sys::rl_config_use_memory(config, max_keys, err) })?;
                false
            }
            Store::Redis(url) => {
                // SAFETY: the URL lives for the call.
                config.call(|config, err| unsafe { sys::rl_config_use_redis(config, lend(url.as_bytes()), err) })?;
                true
            }
            Store::Host(storage) => {
                let offers = trouble::contain("Storage::offers", || storage.offers())
                    .map_err(|panic| crate::Error::invalid(panic.0))?;
                let (table, owned) = storage::table(StorageBox { storage, log: self.log.clone() }, offers);
                hand(&config, owned, |config, err| {
                    // SAFETY: the table lives for the call.
                    unsafe { sys::rl_config_set_storage(config, &table, err) }
                })?;
                offers.apply_async
            }
        };
        if let Some(clock) = self.clock {
            let (table, owned) = clock::table(ClockBox { clock, log: self.log.clone() });
            // SAFETY: the table lives for the call.
            hand(&config, owned, |config, err| unsafe { sys::rl_config_set_clock(config, &table, err) })?;
        }
        if self.log.is_set() {
            let (table, owned) = log::table(self.log);
            // SAFETY: the table lives for the call.
            hand(&config, owned, |config, err| unsafe { sys::rl_config_set_log(config, &table, err) })?;
        }
        if let Some(secret) = &self.secret {
            // SAFETY: the secret lives for the call.
            config.call(|config, err| unsafe { sys::rl_config_set_secret(config, lend(secret), err) })?;
        }
        // SAFETY: the name lives for the call.
        config.call(|config, err| unsafe { sys::rl_config_set_region(config, lend(self.region.as_bytes()), err) })?;
        let on = self.readable_keys.into();
        // SAFETY: a config of ours.
        config.call(|config, err| unsafe { sys::rl_config_set_readable_keys(config, on, err) })?;
        let mut registry = null_mut();
        // SAFETY: both pointers are to room of ours.
        config.call(|config, err| unsafe { sys::rl_registry_create(config, &mut registry, err) })?;
        Ok(Limiter::of(registry, waits))
    }
}

/// Hands a callback table over. The engine owns what it points to from RL_OK on; else it is ours to end.
fn hand<T>(
    config: &Config,
    owned: *mut T,
    set: impl FnOnce(*mut sys::rl_config, *mut sys::rl_error) -> sys::rl_status,
) -> Result<()> {
    let mut room = ErrorRoom::new();
    let status = set(config.as_ptr(), room.as_mut_ptr());
    if status != sys::RL_OK {
        // SAFETY: a box that nobody else has.
        trouble::drop_quietly(unsafe { Box::from_raw(owned) });
    }
    // SAFETY: `set` is a call of the engine with this room.
    unsafe { room.check(status) }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("rules", &self.rules).finish_non_exhaustive()
    }
}
