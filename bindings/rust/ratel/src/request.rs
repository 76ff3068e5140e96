use crate::error::Error;
use ratel_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::time::{SystemTime, UNIX_EPOCH};

/// What [`Request::cost`] and [`Limiter::allow_rule`](crate::Limiter::allow_rule) take for "what the rule says".
pub const COST_OF_RULE: Option<i64> = None;

/// What C gets for a stated number that it would take for "what the rule says".
const TOO_LOW: i64 = sys::RL_COST_OF_RULE + 1;

/// What C takes for that.
#[inline]
pub(crate) fn units(stated: Option<i64>) -> i64 {
    stated.map_or(sys::RL_COST_OF_RULE, |units| units.max(TOO_LOW))
}

/// Names a rule for the life of a limiter, across reloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(crate) u32);

/// Names a limit likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitId(pub(crate) u32);

impl RuleId {
    /// An id by its number, as [`get`](RuleId::get) told it.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl LimitId {
    /// An id by its number, as [`get`](LimitId::get) told it.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A named fact about a request, for `when` conditions and for the scope `attribute:<name>`. Any bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Attribute<'a> {
    raw: sys::rl_attribute,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Attribute<'a> {
    /// Borrows name and value.
    pub fn new(name: &'a (impl AsRef<[u8]> + ?Sized), value: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        let raw = sys::rl_attribute { name: lend(name.as_ref()), value: lend(value.as_ref()) };
        Self { raw, borrowed: PhantomData }
    }
}

// SAFETY: borrows bytes, no more.
unsafe impl Send for Attribute<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Attribute<'_> {}

impl fmt::Debug for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", Shown(self.raw.name), Shown(self.raw.value))
    }
}

/// One request to decide on. It borrows its strings, which are any bytes. What is not known stays unset.
///
/// ```
/// use ratel::{Attribute, Request};
/// let plan = [Attribute::new("plan", "pro")];
/// let request = Request::new("POST", "/orders").user("alice").ip("192.0.2.1").attributes(&plan);
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
#[must_use]
pub struct Request<'a> {
    pub(crate) raw: sys::rl_request,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: borrows bytes, no more.
unsafe impl Send for Request<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Request<'_> {}

impl<'a> Request<'a> {
    /// A request whose rule is found by method and path. The path as it came: the engine normalises it.
    #[inline]
    pub fn new(method: &'a (impl AsRef<[u8]> + ?Sized), path: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        let raw = sys::rl_request { method: lend(method.as_ref()), path: lend(path.as_ref()), ..sys::rl_request::INIT };
        Self { raw, borrowed: PhantomData }
    }

    /// A request under a rule that is known.
    #[inline]
    pub fn for_rule(rule: RuleId) -> Self {
        Self { raw: sys::rl_request { rule: rule.0, ..sys::rl_request::INIT }, borrowed: PhantomData }
    }

    /// The authenticated user.
    #[inline]
    pub fn user(mut self, user: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.raw.user = lend(user.as_ref());
        self
    }

    /// The API key.
    #[inline]
    pub fn api_key(mut self, api_key: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.raw.api_key = lend(api_key.as_ref());
        self
    }

    /// The client's address as text, see [`Limiter::client_ip`](crate::Limiter::client_ip).
    #[inline]
    pub fn ip(mut self, ip: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.raw.ip = lend(ip.as_ref());
        self
    }

    /// A repeat with the same id, keys and cost is answered as before and charged once. Redis alone looks at it.
    #[inline]
    pub fn idempotency_id(mut self, id: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.raw.idempotency_id = lend(id.as_ref());
        self
    }

    /// With [`for_rule`](Request::for_rule): stands in for the value of every scope but global; user, API key and
    /// address are not looked at then.
    #[inline]
    pub fn key(mut self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.raw.key = lend(key.as_ref());
        self
    }

    /// Facts for `when` conditions and attribute scopes, at most 64.
    #[inline]
    pub fn attributes(mut self, attributes: &'a [Attribute<'a>]) -> Self {
        self.raw.attributes = attributes.as_ptr().cast();
        self.raw.attribute_count = u32::try_from(attributes.len()).unwrap_or(u32::MAX);
        self
    }

    /// Units to spend, at least 1; [`COST_OF_RULE`], or `None`, is what the rule says, which is the default.
    #[inline]
    pub fn cost(mut self, cost: impl Into<Option<i64>>) -> Self {
        self.raw.cost = units(cost.into());
        self
    }

    /// The error of a call with this request. What could not be said to C is told as it was stated.
    #[cold]
    pub(crate) fn blame(&self, error: Error) -> Error {
        match error {
            Error::InvalidArgument(_) if self.raw.cost == TOO_LOW => {
                Error::invalid(format!("cost is below {}: it has to be at least 1", TOO_LOW + 1))
            }
            Error::InvalidArgument(_) if self.raw.now_ns == u64::MAX => {
                Error::invalid("the instant lies before 1970 or after 2255, or is the Unix epoch itself")
            }
            other => other,
        }
    }

    /// The units that were stated.
    pub(crate) fn stated_cost(&self) -> Option<i64> {
        Some(self.raw.cost).filter(|&cost| cost != sys::RL_COST_OF_RULE)
    }

    /// The instant to decide at, in place of the clock's. One before 1970 or after 2255 is refused.
    pub fn at(self, time: SystemTime) -> Self {
        self.at_ns(nanoseconds(time))
    }

    /// The same in nanoseconds since the Unix epoch; 0 is the clock's.
    #[inline]
    pub fn at_ns(mut self, ns: u64) -> Self {
        self.raw.now_ns = ns;
        self
    }
}

#[cfg(feature = "tower")]
impl Request<'_> {
    pub(crate) fn attribute_list(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let count = self.raw.attribute_count as usize;
        // SAFETY: what `attributes` has borrowed.
        let list = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.raw.attributes, count) } };
        // SAFETY: what each of them has borrowed.
        list.iter().map(|one| unsafe { (bytes_of(one.name), bytes_of(one.value)) })
    }
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self { raw: sys::rl_request::INIT, borrowed: PhantomData }
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = &self.raw;
        let mut out = f.debug_struct("Request");
        let strings =
            [("method", raw.method), ("path", raw.path), ("user", raw.user), ("ip", raw.ip), ("key", raw.key)];
        for (name, value) in strings {
            if value.size > 0 {
                out.field(name, &format_args!("{}", Shown(value)));
            }
        }
        out.field("cost", &self.stated_cost()).field("rule", &raw.rule).finish_non_exhaustive()
    }
}

/// Lent bytes, for people.
struct Shown(sys::rl_str);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: whoever holds an rl_str here has borrowed its bytes.
        write!(f, "{:?}", String::from_utf8_lossy(unsafe { bytes_of(self.0) }))
    }
}

/// What C sees of bytes that are borrowed.
#[inline]
pub(crate) fn lend(bytes: &[u8]) -> sys::rl_str {
    sys::rl_str { data: bytes.as_ptr().cast(), size: bytes.len() as u64 }
}

/// # Safety
///
/// The bytes live and stay as they are for 'a.
pub(crate) unsafe fn bytes_of<'a>(text: sys::rl_str) -> &'a [u8] {
    if text.size == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(text.data.cast(), text.size as usize) }
}

/// What lies outside the engine's range becomes a number that it refuses.
pub(crate) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_nanos()).ok());
    since.filter(|&ns| ns != 0).unwrap_or(u64::MAX)
}
