use crate::error::{Error, Result};
use crate::request::{LimitId, RuleId};
use ratel_sys as sys;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

macro_rules! names {
    ($(#[$about:meta])* $type:ident { $($(#[$told:meta])* $name:ident = $number:expr, $text:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[$told])* $name,)*
            /// One that a later engine has.
            Other(u8),
        }

        impl $type {
            fn of(number: u8) -> Self {
                match number {
                    $(n if n == $number => $type::$name,)*
                    other => $type::Other(other),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($type::$name => f.write_str($text),)*
                    $type::Other(number) => write!(f, "unknown ({number})"),
                }
            }
        }
    };
}

names! {
    /// How an answer was reached.
    Source {
        /// Decided on the store's state.
        Exact = sys::RL_SOURCE_EXACT, "exact";
        /// From tokens that were paid for in advance.
        Leased = sys::RL_SOURCE_LEASED, "leased";
        /// A denial whose end is known.
        CachedDenial = sys::RL_SOURCE_CACHED_DENIAL, "cached_denial";
        /// The store failed, a local limit decided.
        LocalFallback = sys::RL_SOURCE_LOCAL_FALLBACK, "local_fallback";
        /// The store failed, `on_store_error: open`.
        FailOpen = sys::RL_SOURCE_FAIL_OPEN, "fail_open";
        /// The store failed, `on_store_error: closed`.
        FailClosed = sys::RL_SOURCE_FAIL_CLOSED, "fail_closed";
        /// No rule covers the request, and there is no default.
        NoRule = sys::RL_SOURCE_NO_RULE, "no_rule";
        /// `action: block` or `unlimited` decided.
        Action = sys::RL_SOURCE_ACTION, "action";
    }
}

names! {
    /// Why a request was denied.
    Reason {
        /// It was allowed.
        None = sys::RL_REASON_NONE, "none";
        /// Over the limit now; `retry_after` cures it.
        Limited = sys::RL_REASON_LIMITED, "limited";
        /// The cost is above the capacity: waiting does not help.
        NeverFits = sys::RL_REASON_NEVER_FITS, "never_fits";
        /// `action: block`.
        Blocked = sys::RL_REASON_BLOCKED, "blocked";
        /// The store failed and the rule says closed.
        Store = sys::RL_REASON_STORE, "store";
    }
}

/// The answer. `limit` to `reset_after` describe the binding limit, and are 0 when no limit was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
#[must_use]
pub struct Decision(pub(crate) sys::rl_decision);

impl Decision {
    /// What stands in an array before it is filled: denied, and no answer.
    pub const EMPTY: Decision = Decision(sys::rl_decision { status: sys::RL_E_STATE, ..sys::rl_decision::INIT });

    /// Field by field: what nobody looks at is not read. A copy of the whole would wait for all that the engine has just
    /// written, longer than the rest of the call takes here.
    ///
    /// # Safety
    ///
    /// A decision that the engine has written.
    #[inline(always)]
    pub(crate) unsafe fn read(from: *const sys::rl_decision) -> Self {
        macro_rules! fields {
            ($($name:ident)*) => {
                // SAFETY: as the caller says.
                unsafe { sys::rl_decision { $($name: (&raw const (*from).$name).read(),)* } }
            };
        }
        Self(fields!(
            struct_size status allowed source reason flags rule limit_id limit_count generation now_ns cost limit window_ns
            capacity remaining retry_after_ns reset_after_ns delay_ns
        ))
    }

    /// Whether the request may pass.
    #[inline]
    pub fn allowed(&self) -> bool {
        self.0.allowed == 1
    }

    /// From [`allow_many`](crate::Limiter::allow_many): whether this one has an answer; the error has the status alone,
    /// [`refusal`](crate::Limiter::refusal) has the words.
    pub fn answered(&self) -> Result<()> {
        if self.0.status == sys::RL_OK { Ok(()) } else { Err(Error::of_status(self.0.status)) }
    }

    /// How the answer was reached.
    pub fn source(&self) -> Source {
        Source::of(self.0.source)
    }

    /// Why it was denied.
    pub fn reason(&self) -> Reason {
        Reason::of(self.0.reason)
    }

    /// A shadow limit would have denied it.
    pub fn shadow_denied(&self) -> bool {
        self.0.flags & sys::RL_DECISION_SHADOW_DENIED != 0
    }

    /// An answer of [`peek`](crate::Limiter::peek): nothing was spent.
    pub fn peeked(&self) -> bool {
        self.0.flags & sys::RL_DECISION_PEEKED != 0
    }

    /// The rule that decided.
    pub fn rule(&self) -> Option<RuleId> {
        (self.0.rule != 0).then_some(RuleId(self.0.rule))
    }

    /// The binding limit.
    pub fn limit_id(&self) -> Option<LimitId> {
        (self.0.limit_id != 0).then_some(LimitId(self.0.limit_id))
    }

    /// How many limits were asked.
    pub fn limit_count(&self) -> u32 {
        self.0.limit_count
    }

    /// The number of the rule set that answered.
    pub fn generation(&self) -> u64 {
        self.0.generation
    }

    /// The instant that it was decided at.
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.0.now_ns)
    }

    /// The same in nanoseconds since the Unix epoch.
    pub fn time_ns(&self) -> u64 {
        self.0.now_ns
    }

    /// Units spent when allowed.
    pub fn cost(&self) -> i64 {
        self.0.cost
    }

    /// Units per window.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// The window of `limit`.
    pub fn window(&self) -> Duration {
        Duration::from_nanos(self.0.window_ns)
    }

    /// Units one request is measured against: burst, or the limit.
    pub fn capacity(&self) -> u64 {
        self.0.capacity
    }

    /// Whole units still to spend now, after this decision.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// The time until the same request is admitted if nothing else comes: zero when it was allowed, `None` when waiting
    /// does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.0.retry_after_ns != sys::RL_NEVER).then(|| Duration::from_nanos(self.0.retry_after_ns))
    }

    /// The time until the binding limit is as new.
    pub fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.0.reset_after_ns)
    }

    /// How long to hold an admitted request back (`leaky_bucket`).
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.0.delay_ns)
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("allowed", &self.allowed())
            .field("status", &self.0.status)
            .field("source", &self.source())
            .field("reason", &self.reason())
            .field("shadow_denied", &self.shadow_denied())
            .field("peeked", &self.peeked())
            .field("rule", &self.0.rule)
            .field("limit_id", &self.0.limit_id)
            .field("limit_count", &self.0.limit_count)
            .field("generation", &self.0.generation)
            .field("time_ns", &self.0.now_ns)
            .field("cost", &self.0.cost)
            .field("limit", &self.0.limit)
            .field("window", &self.window())
            .field("capacity", &self.0.capacity)
            .field("remaining", &self.0.remaining)
            .field("retry_after", &self.retry_after())
            .field("reset_after", &self.reset_after())
            .field("delay", &self.delay())
            .finish()
    }
}
