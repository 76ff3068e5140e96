use crate::builder::Builder;
use crate::decision::Decision;
use crate::error::{Error, ErrorRoom, Result};
use crate::request::{LimitId, Request, RuleId, bytes_of, lend, nanoseconds, units};
use crate::rules::{Config, Rules, path_bytes};
use crate::trouble;
use ratel_sys as sys;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A rule set in force, with its storage. Clones are the same limiter; it ends with the last of them.
///
/// Any number of threads may use it at once, reloads included. With the embedded store a decision is a short call into
/// C that allocates nothing and waits for nothing.
///
/// ```
/// use ratel::{Limiter, Request, Rules};
///
/// let rules = "
///   version: 1
///   rules: [{name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 2, window: 1h}]
/// ";
/// let limiter = Limiter::new(Rules::text(rules, "rules"))?;
/// let request = Request::new("POST", "/orders").user("alice");
/// assert!(limiter.allow(&request)?.allowed());
/// assert!(limiter.allow(&request)?.allowed());
/// let denied = limiter.allow(&request)?;
/// assert!(!denied.allowed());
/// assert!(denied.retry_after().unwrap().as_secs() > 1700);
/// # Ok::<(), ratel::Error>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    registry: Arc<Registry>,
}

/// The engine's handle, destroyed when nobody holds it: limiters, and asynchronous questions that are still to be
/// answered.
struct Registry {
    raw: NonNull<sys::rl_registry>,
    /// Whether decisions may wait for something.
    waits: bool,
}

// SAFETY: rl.h lets any number of threads use a registry at once. rl_registry_destroy alone must be the last call,
// which the Arc around it sees to. What the host supplied is Send and Sync by its traits.
unsafe impl Send for Registry {}
// SAFETY: likewise.
unsafe impl Sync for Registry {}

/// A handle on its way to the thread that ends it.
struct Doomed(NonNull<sys::rl_registry>);

// SAFETY: a registry may be destroyed on any thread.
unsafe impl Send for Doomed {}

impl Doomed {
    fn destroy(self) {
        // SAFETY: nobody holds the registry any more.
        unsafe { sys::rl_registry_destroy(self.0.as_ptr()) }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let doomed = Doomed(self.raw);
        if !trouble::in_callback() {
            return doomed.destroy();
        }
        // The engine may be waiting for this very callback to return: another thread ends it. One that cannot be had
        // leaks the registry.
        let _ = std::thread::Builder::new().name("ratel-end".into()).spawn(move || doomed.destroy());
    }
}

impl Limiter {
    /// Puts a rule set in force, on the embedded store.
    pub fn new(rules: impl Into<Rules>) -> Result<Self> {
        Self::builder(rules).build()
    }

    /// The same, with a clock, a storage, a log of one's own.
    pub fn builder(rules: impl Into<Rules>) -> Builder {
        Builder::new(rules.into())
    }

    pub(crate) fn of(raw: *mut sys::rl_registry, waits: bool) -> Self {
        let raw = NonNull::new(raw).expect("RL_OK gives a registry");
        Self { registry: Arc::new(Registry { raw, waits }) }
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::rl_registry {
        self.registry.raw.as_ptr()
    }

    /// Whether decisions may wait for something, so that `allow_async` is not `allow`.
    pub(crate) fn waits(&self) -> bool {
        self.registry.waits
    }

    /// The whole question: find the rule, decide, and spend when allowed.
    #[inline]
    pub fn allow(&self, request: &Request<'_>) -> Result<Decision> {
        // SAFETY: pointers to what lives for the call; so in all of these.
        decided(request, |out, err| unsafe { sys::rl_allow(self.raw(), &request.raw, out, err) })
    }

    /// [`allow`](Limiter::allow) for a number of units, at least 1, whatever the request's cost is.
    #[inline]
    pub fn allow_n(&self, request: &Request<'_>, units: i64) -> Result<Decision> {
        self.allow(&request.cost(units))
    }

    /// The short form for a rule that is known: `key` stands in for the value of every scope but global. `cost` is at
    /// least 1; [`COST_OF_RULE`](crate::COST_OF_RULE), or `None`, is what the rule says.
    #[inline]
    pub fn allow_rule(&self, rule: RuleId, key: impl AsRef<[u8]>, cost: impl Into<Option<i64>>) -> Result<Decision> {
        let (key, cost) = (key.as_ref(), units(cost.into()));
        let raw = lend(key);
        let mut out = room_for_decision();
        // SAFETY: as in `allow`.
        let status =
            unsafe { sys::rl_allow_rule(self.raw(), rule.0, raw.data, raw.size, cost, 0, out.as_mut_ptr().cast()) };
        if status != sys::RL_OK {
            return Err(self.why_rule(rule, key, cost, status));
        }
        // SAFETY: written by the engine.
        Ok(unsafe { Decision::read(out.as_ptr().cast()) })
    }

    /// Many questions at one instant, answered in order. Each decision says by [`answered`](Decision::answered) whether
    /// it is one: a request that is refused does not hold up the others, and [`refusal`](Limiter::refusal) says why.
    pub fn allow_many(&self, requests: &[Request<'_>]) -> Result<Vec<Decision>> {
        let mut out = vec![Decision::EMPTY; requests.len()];
        self.allow_many_into(requests, &mut out)?;
        Ok(out)
    }

    /// The same into room of the caller's, as long as `requests`. After an error no decision there is an answer.
    pub fn allow_many_into(&self, requests: &[Request<'_>], out: &mut [Decision]) -> Result<()> {
        let count = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        if requests.len() != out.len() || count == u32::MAX {
            out.fill(Decision::EMPTY);
            return Err(Error::invalid("allow_many_into: there is not one decision for each request"));
        }
        // SAFETY: both are arrays of the C structs, `count` long.
        let done = asked(|err| unsafe {
            sys::rl_allow_many(self.raw(), requests.as_ptr().cast(), count, out.as_mut_ptr().cast(), err)
        });
        trouble::clear();
        done
    }

    /// Why a request of [`allow_many`](Limiter::allow_many) was refused, in words; `None` when `decision` is an answer.
    /// Nothing is spent, and neither clock nor storage is asked.
    pub fn refusal(&self, request: &Request<'_>, decision: &Decision) -> Option<Error> {
        (decision.0.status != sys::RL_OK).then(|| self.why(request, decision.0.status))
    }

    /// [`why`](Limiter::why) for [`allow_rule`](Limiter::allow_rule), which has made no request.
    #[cold]
    #[inline(never)]
    fn why_rule(&self, rule: RuleId, key: &[u8], cost: i64, status: sys::rl_status) -> Error {
        self.why(&Request::for_rule(rule).key(key).cost(cost), status)
    }

    /// Why a request was refused by a call that has no message of its own.
    #[cold]
    fn why(&self, request: &Request<'_>, status: sys::rl_status) -> Error {
        let cause = trouble::take(status);
        match status {
            sys::RL_E_INVALID_ARGUMENT => {
                let mut again = *request;
                again.raw.now_ns = again.raw.now_ns.max(1);
                if again.raw.rule != 0 || again.raw.key.size == 0 {
                    again.raw.rule = u32::MAX; // an id that no rule has: it comes to no storage
                }
                match self.peek(&again) {
                    Err(error @ Error::InvalidArgument(_)) => error,
                    _ => Error::caused(status, "the clock callback failed", cause),
                }
            }
            sys::RL_E_NOT_FOUND => {
                Error::caused(status, format!("no rule in force has the id {}", request.raw.rule), cause)
            }
            sys::RL_E_UNSUPPORTED => {
                Error::caused(status, "more than 32 rules or 64 limits apply to this request", cause)
            }
            _ => Error::of_status(status),
        }
    }

    /// What [`allow`](Limiter::allow) would answer now. Nothing is spent, nothing is counted.
    pub fn peek(&self, request: &Request<'_>) -> Result<Decision> {
        // SAFETY: as in `allow`.
        decided(request, |out, err| unsafe { sys::rl_peek(self.raw(), &request.raw, out, err) })
    }

    /// After the work: `actual` units (0 or more) in place of those that `decision` spent. `request` as it was given to
    /// `allow`; an instant that it states is that of settling.
    pub fn settle(&self, request: &Request<'_>, decision: &Decision, actual: i64) -> Result<Decision> {
        trouble::clear();
        // SAFETY: as in `allow`.
        decided(request, |out, err| unsafe { sys::rl_settle(self.raw(), &request.raw, &decision.0, actual, out, err) })
    }

    /// Forgets the state of every key that the request reaches: the next one finds them new.
    pub fn reset(&self, request: &Request<'_>) -> Result<()> {
        trouble::clear();
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_reset(self.raw(), &request.raw, err) }).map_err(|error| request.blame(error))
    }

    /// The id of a rule in force by its name.
    pub fn rule_id(&self, name: &str) -> Result<RuleId> {
        let mut id = 0;
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_rule_id(self.raw(), lend(name.as_bytes()), &mut id, err) })?;
        Ok(RuleId(id))
    }

    /// The ids of the rules in force, in the order in which they were loaded.
    pub fn rules(&self) -> Vec<RuleId> {
        // SAFETY: a live registry.
        let mut ids = Vec::with_capacity(unsafe { sys::rl_rule_count(self.raw()) } as usize);
        // SAFETY: likewise; 0 past the end.
        ids.extend((0..).map(|i| RuleId(unsafe { sys::rl_rule_at(self.raw(), i) })).take_while(|id| id.0 != 0));
        ids
    }

    /// The name of a rule, also of one that is no longer in force. Empty when unknown.
    pub fn rule_name(&self, rule: RuleId) -> &str {
        // SAFETY: valid while the registry lives, which `self` sees to; names are ASCII.
        unsafe { name(sys::rl_rule_name(self.raw(), rule.0)) }
    }

    /// The name of a limit likewise.
    pub fn limit_name(&self, limit: LimitId) -> &str {
        // SAFETY: as in `rule_name`.
        unsafe { name(sys::rl_limit_name(self.raw(), limit.0)) }
    }

    /// The number of the rule set in force: 1 at first, one more with each reload.
    pub fn generation(&self) -> u64 {
        // SAFETY: a live registry.
        unsafe { sys::rl_registry_generation(self.raw()) }
    }

    /// Replaces the rule set as a whole or, when it has faults, not at all. State survives.
    pub fn reload(&self, rules: impl Into<Rules>) -> Result<()> {
        let config = Config::with(&rules.into())?;
        // SAFETY: a config of ours and a live registry.
        config.call(|config, err| unsafe { sys::rl_registry_reload(self.raw(), config, err) })
    }

    /// Reads a file or folder now, as [`watch`](Limiter::watch) does: a bad one keeps the old rules, is logged and
    /// counted.
    pub fn reload_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_bytes(path.as_ref());
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_reload_file(self.raw(), path, err) })
    }

    /// Looks at a file or folder every so often (zero: each second; at least 10 ms), on a thread of the engine's, and
    /// reloads it when it has changed. One at a time. The first load has to succeed.
    pub fn watch(&self, path: impl AsRef<Path>, every: Duration) -> Result<()> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("watch: the path is empty"));
        }
        let milliseconds = interval("watch", every, 10)?;
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_watch(self.raw(), path_bytes(path), milliseconds, err) })
    }

    /// [`watch`](Limiter::watch) for a key that holds the text of a rule file, in a Redis by its URL (zero: every 5 s; at
    /// least 100 ms). The key is read before this returns, which may take a second; rules at fault are an error. A server
    /// that does not answer and a key that is not there are none: the rules in force stay, and the watch goes on. One
    /// watch at a time, of a file or of a key.
    pub fn watch_redis(&self, url: &str, key: impl AsRef<[u8]>, every: Duration) -> Result<()> {
        let (url, key) = (lend(url.as_bytes()), lend(key.as_ref()));
        if url.size == 0 || key.size == 0 {
            return Err(Error::invalid("watch_redis: the url or the key is empty"));
        }
        let milliseconds = interval("watch_redis", every, 100)?;
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_watch_redis(self.raw(), url, key, milliseconds, err) })
    }

    /// Ends the watch, if there is one. Waits for a reload that is under way.
    pub fn unwatch(&self) -> Result<()> {
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_watch(self.raw(), sys::rl_str::EMPTY, 0, err) })
    }

    /// How many keys the storage holds.
    pub fn key_count(&self) -> Result<u64> {
        trouble::clear();
        let mut keys = 0;
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_key_count(self.raw(), &mut keys, err) })?;
        Ok(keys)
    }

    /// Drops every key whose state has been as new since `cutoff` (`None`: now by the limiter's clock), and says how
    /// many. No decision changes by it. The built-in storage also has the system put full parts of its table into huge
    /// pages, where that is allowed: a large table is read faster then.
    pub fn evict_idle(&self, cutoff: Option<SystemTime>) -> Result<u64> {
        trouble::clear();
        let mut evicted = 0;
        let cutoff = cutoff.map_or(0, nanoseconds);
        if cutoff == u64::MAX {
            return Err(Error::invalid(
                "cutoff: the instant lies before 1970 or after 2255, or is the Unix epoch itself",
            ));
        }
        // SAFETY: as in `allow`.
        asked(|err| unsafe { sys::rl_registry_evict_idle(self.raw(), cutoff, &mut evicted, err) })?;
        Ok(evicted)
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter").field("generation", &self.generation()).finish_non_exhaustive()
    }
}

/// How often to look, in milliseconds.
fn interval(call: &str, every: Duration, least: u32) -> Result<u32> {
    let milliseconds = u32::try_from(every.as_millis()).ok().filter(|&ms| ms > 0 || every.is_zero());
    milliseconds.ok_or_else(|| {
        Error::invalid(format!("{call}: every is {every:?}: it has to be 0, or {least} ms to {} ms", u32::MAX))
    })
}

/// Room for an answer, of which only the size is set.
#[inline]
pub(crate) fn room_for_decision() -> MaybeUninit<Decision> {
    let mut out = MaybeUninit::<Decision>::uninit();
    // SAFETY: in bounds of `out`; a Decision is an rl_decision.
    unsafe { (&raw mut (*out.as_mut_ptr()).0.struct_size).write(size_of::<sys::rl_decision>() as u32) };
    out
}

/// A call of the engine about a request that answers with a decision. Always inlined, so that who looks at a part of the
/// decision alone copies no more.
#[inline(always)]
fn decided(
    request: &Request<'_>,
    call: impl FnOnce(*mut sys::rl_decision, *mut sys::rl_error) -> sys::rl_status,
) -> Result<Decision> {
    let mut room = ErrorRoom::new();
    let mut out = room_for_decision();
    let status = call(out.as_mut_ptr().cast(), room.as_mut_ptr());
    if status != sys::RL_OK {
        // SAFETY: `call` was given this room.
        return Err(request.blame(unsafe { room.error(status) }));
    }
    // SAFETY: written by the engine.
    Ok(unsafe { Decision::read(out.as_ptr().cast()) })
}

/// A call of the engine that may fail.
pub(crate) fn asked(call: impl FnOnce(*mut sys::rl_error) -> sys::rl_status) -> Result<()> {
    let mut room = ErrorRoom::new();
    let status = call(room.as_mut_ptr());
    // SAFETY: `call` was given this room.
    unsafe { room.check(status) }
}

/// # Safety
///
/// The text lives for 'a.
unsafe fn name<'a>(text: sys::rl_str) -> &'a str {
    // SAFETY: as the caller says.
    std::str::from_utf8(unsafe { bytes_of(text) }).unwrap_or_default()
}
