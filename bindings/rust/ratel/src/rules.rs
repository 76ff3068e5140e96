use crate::error::{Error, ErrorRoom, Result};
use crate::request::{Attribute, lend};
use ratel_sys as sys;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::time::Duration;

/// How a limit counts (`docs/algorithms.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Algorithm {
    /// Starts full, refills steadily.
    TokenBucket = sys::RL_TOKEN_BUCKET,
    /// A queue that drains steadily: admitted requests are told a delay.
    LeakyBucket = sys::RL_LEAKY_BUCKET,
    /// Windows aligned to the Unix epoch.
    FixedWindow = sys::RL_FIXED_WINDOW,
    /// Exact over the last window.
    SlidingLog = sys::RL_SLIDING_LOG,
    /// This window and the weighted previous one.
    SlidingCounter = sys::RL_SLIDING_COUNTER,
}

/// How [`Rule::path`] covers paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum PathMatch {
    /// Whole segments: /api covers /api and /api/x, not /apix.
    #[default]
    Prefix = sys::RL_MATCH_PREFIX,
    /// Plain starts-with.
    Literal = sys::RL_MATCH_LITERAL,
    /// The whole path.
    Exact = sys::RL_MATCH_EXACT,
}

/// What a rule does while the storage cannot answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum OnStoreError {
    /// Limits in this process meanwhile.
    #[default]
    Local = sys::RL_ON_ERROR_LOCAL,
    /// Lets through.
    Open = sys::RL_ON_ERROR_OPEN,
    /// Denies.
    Closed = sys::RL_ON_ERROR_CLOSED,
}

/// What a rule decides without asking a shared store (`docs/local-tier.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum LocalTier {
    /// Nothing.
    #[default]
    None = sys::RL_LOCAL_TIER_NONE,
    /// Denials whose end is known.
    Denials = sys::RL_LOCAL_TIER_DENIALS,
    /// These, and requests on hot keys, from units paid for in advance.
    Leases = sys::RL_LOCAL_TIER_LEASES,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    /// Asks its limits.
    #[default]
    Limit = sys::RL_ACTION_LIMIT,
    /// Denies.
    Block = sys::RL_ACTION_BLOCK,
    /// Lets through.
    Unlimited = sys::RL_ACTION_UNLIMITED,
}

/// One rule in code. Empty and zero are the engine's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Unique, printable ASCII.
    pub name: String,
    /// "GET", "GET,POST", "*" or empty for any.
    pub method: String,
    /// Empty for any.
    pub path: String,
    /// How `path` covers paths.
    pub path_match: PathMatch,
    /// What to do while the storage cannot answer.
    pub on_store_error: OnStoreError,
    /// What the rule does.
    pub action: Action,
    /// All its limits are shadows.
    pub shadow: bool,
    /// For requests that no other rule covers; method and path stay empty.
    pub is_default: bool,
    /// Units of a request that states none; 0 is 1.
    pub cost: u64,
    /// Names and values that a request's attributes must have.
    pub when: Vec<(String, String)>,
    /// What it limits.
    pub limits: Vec<Limit>,
    /// What is decided without asking a shared store.
    pub local_tier: LocalTier,
    /// Its limits are whole in every region.
    pub region_global: bool,
}

/// One limit of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Empty: made from the rule's name.
    pub name: String,
    /// `user`, `api_key`, `ip`, `global`, `attribute:<name>`, or several joined by ",".
    pub scope: String,
    /// How it counts.
    pub algorithm: Algorithm,
    /// Units per window, at least 1.
    pub limit: u64,
    /// Whole microseconds.
    pub window: Duration,
    /// Buckets only: capacity in units; 0 is `limit`.
    pub burst: u64,
    /// Evaluated and counted, never denies.
    pub shadow: bool,
    /// Other numbers for single values of the scope.
    pub overrides: Vec<Override>,
}

impl Limit {
    /// `limit` units per `window` for each value of `scope`.
    pub fn new(algorithm: Algorithm, scope: impl Into<String>, limit: u64, window: Duration) -> Self {
        let scope = scope.into();
        Self { name: String::new(), scope, algorithm, limit, window, burst: 0, shadow: false, overrides: Vec::new() }
    }
}

/// Other numbers for one value of a limit's scope. Zero is as the limit has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// A user, an API key, an address or an attribute's value.
    pub value: String,
    /// Units per window.
    pub limit: u64,
    /// Whole microseconds.
    pub window: Duration,
    /// Buckets only: units.
    pub burst: u64,
}

/// Where rules come from: files, texts and rules in code, added up.
///
/// ```
/// use ratel::{Algorithm, Limit, Rule, Rules};
/// use std::time::Duration;
///
/// let text = "{version: 1, rules: [{name: a, path: /a, scope: ip, algorithm: token_bucket, limit: 5, window: 1m}]}";
/// let per_user = Limit::new(Algorithm::SlidingCounter, "user", 100, Duration::from_secs(60));
/// let rule = Rule { name: "all".into(), limits: vec![per_user], ..Rule::default() };
/// let limiter = ratel::Limiter::new(Rules::text(text, "mine").and_rule(rule))?;
/// # Ok::<(), ratel::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Rules {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    File(PathBuf),
    Text { text: Vec<u8>, name: String },
    Rule(Box<Rule>),
}

impl Rules {
    /// A file, or every *.yaml, *.yml and *.json of a folder.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self::default().and_file(path)
    }

    /// A text, YAML or JSON, that errors call `name`.
    pub fn text(text: impl AsRef<[u8]>, name: impl Into<String>) -> Self {
        Self::default().and_text(text, name)
    }

    /// Rules in code.
    pub fn list(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { parts: rules.into_iter().map(|rule| Part::Rule(Box::new(rule))).collect() }
    }

    /// Adds a file or folder.
    pub fn and_file(mut self, path: impl AsRef<Path>) -> Self {
        self.parts.push(Part::File(path.as_ref().to_path_buf()));
        self
    }

    /// Adds a text.
    pub fn and_text(mut self, text: impl AsRef<[u8]>, name: impl Into<String>) -> Self {
        self.parts.push(Part::Text { text: text.as_ref().to_vec(), name: name.into() });
        self
    }

    /// Adds a rule in code.
    pub fn and_rule(mut self, rule: Rule) -> Self {
        self.parts.push(Part::Rule(Box::new(rule)));
        self
    }
}

impl From<Rule> for Rules {
    fn from(rule: Rule) -> Self {
        Self::list([rule])
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self::list(rules)
    }
}

/// An rl_config, for one create, reload or diff.
pub(crate) struct Config(NonNull<sys::rl_config>);

impl Config {
    pub(crate) fn new() -> Result<Self> {
        crate::version::check_abi()?;
        let mut config = null_mut();
        let mut room = ErrorRoom::new();
        // SAFETY: both pointers are to room of ours.
        unsafe {
            let status = sys::rl_config_create(&mut config, room.as_mut_ptr());
            room.check(status)?;
        }
        Ok(Self(NonNull::new(config).expect("RL_OK gives a config")))
    }

    pub(crate) fn with(rules: &Rules) -> Result<Self> {
        let config = Self::new()?;
        config.load(rules)?;
        Ok(config)
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rl_config {
        self.0.as_ptr()
    }

    pub(crate) fn load(&self, rules: &Rules) -> Result<()> {
        rules.parts.iter().try_for_each(|part| match part {
            Part::File(path) => {
                let path = path_bytes(path);
                // SAFETY: lives for the call, as the text below.
                self.call(|config, err| unsafe { sys::rl_config_load_file(config, path, err) })
            }
            Part::Text { text, name } => {
                // SAFETY: as above.
                self.call(|config, err| unsafe {
                    sys::rl_config_load_text(config, lend(text), lend(name.as_bytes()), err)
                })
            }
            Part::Rule(rule) => self.add(rule),
        })
    }

    fn add(&self, rule: &Rule) -> Result<()> {
        let when: Vec<Attribute> = rule.when.iter().map(|(name, value)| Attribute::new(name, value)).collect();
        let overrides: Vec<Vec<sys::rl_override>> =
            rule.limits.iter().map(|limit| limit.overrides.iter().map(raw_override).collect()).collect();
        let limits: Vec<sys::rl_limit> =
            rule.limits.iter().zip(&overrides).map(|(limit, overrides)| raw_limit(limit, overrides)).collect();
        let raw = sys::rl_rule {
            path_match: rule.path_match as u32,
            on_store_error: rule.on_store_error as u32,
            action: rule.action as u32,
            shadow: rule.shadow.into(),
            is_default: rule.is_default.into(),
            name: lend(rule.name.as_bytes()),
            method: lend(rule.method.as_bytes()),
            path: lend(rule.path.as_bytes()),
            cost: rule.cost,
            when: when.as_ptr().cast(),
            when_count: when.len() as u64,
            limits: limits.as_ptr(),
            limit_count: limits.len() as u64,
            local_tier: rule.local_tier as u32,
            region_global: rule.region_global.into(),
            ..sys::rl_rule::INIT
        };
        // SAFETY: all that `raw` points to lives for the call.
        self.call(|config, err| unsafe { sys::rl_config_add_rule(config, &raw, err) })
    }

    /// Calls the engine; of a rule set with faults the error has all of them.
    pub(crate) fn call(
        &self,
        work: impl FnOnce(*mut sys::rl_config, *mut sys::rl_error) -> sys::rl_status,
    ) -> Result<()> {
        let mut room = ErrorRoom::new();
        let status = work(self.as_ptr(), room.as_mut_ptr());
        // SAFETY: `work` is a call of the engine with this room.
        match unsafe { room.check(status) } {
            Err(Error::Config(first)) => {
                let all = self.faults();
                Err(Error::Config(if all.is_empty() { first } else { all }))
            }
            other => other,
        }
    }

    fn faults(&self) -> Vec<crate::Fault> {
        let mut all = Vec::new();
        loop {
            let mut room = ErrorRoom::new();
            // SAFETY: the room is ours. Past the end the call fails.
            let fault = unsafe {
                match sys::rl_config_fault(self.as_ptr(), all.len() as u32, room.as_mut_ptr()) {
                    sys::RL_OK => room.fault(),
                    _ => None,
                }
            };
            match fault {
                Some(fault) => all.push(fault),
                None => return all,
            }
        }
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { sys::rl_config_destroy(self.as_ptr()) }
    }
}

fn raw_limit(limit: &Limit, overrides: &[sys::rl_override]) -> sys::rl_limit {
    sys::rl_limit {
        algorithm: limit.algorithm as u32,
        name: lend(limit.name.as_bytes()),
        scope: lend(limit.scope.as_bytes()),
        limit: limit.limit,
        window_ns: window_ns(limit.window),
        burst: limit.burst,
        shadow: limit.shadow.into(),
        overrides: overrides.as_ptr(),
        override_count: overrides.len() as u64,
        ..sys::rl_limit::INIT
    }
}

fn raw_override(one: &Override) -> sys::rl_override {
    sys::rl_override {
        value: lend(one.value.as_bytes()),
        limit: one.limit,
        window_ns: window_ns(one.window),
        burst: one.burst,
    }
}

/// What does not fit is more than the engine takes.
fn window_ns(window: Duration) -> u64 {
    u64::try_from(window.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn path_bytes(path: &Path) -> sys::rl_str {
    lend(path.as_os_str().as_encoded_bytes())
}
