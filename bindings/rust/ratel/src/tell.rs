use crate::decision::Decision;
use crate::error::{ErrorRoom, Result};
use crate::limiter::{Limiter, asked, room_for_decision};
use crate::request::{Request, RuleId, lend};
use crate::rules::{Config, Rules};
use crate::trouble;
use ratel_sys as sys;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ops::BitOr;

/// Which header fields (`docs/headers.md`); the default is what the rules say. At most one of the drafts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderFields(pub(crate) u32);

impl HeaderFields {
    /// X-RateLimit-Limit, -Remaining, -Reset.
    pub const X: Self = Self(sys::RL_HEADERS_X);
    /// X-RateLimit-Reset in seconds from now, not in epoch seconds.
    pub const RESET_DELTA: Self = Self(sys::RL_HEADERS_RESET_DELTA);
    /// Retry-After, on a denial that waiting cures.
    pub const RETRY_AFTER: Self = Self(sys::RL_HEADERS_RETRY_AFTER);
    /// RateLimit-Policy and RateLimit as in draft 11.
    pub const DRAFT_11: Self = Self(sys::RL_HEADERS_DRAFT_11);
    /// As in draft 8.
    pub const DRAFT_8: Self = Self(sys::RL_HEADERS_DRAFT_8);
    /// As in draft 7.
    pub const DRAFT_7: Self = Self(sys::RL_HEADERS_DRAFT_7);
    /// As in draft 6.
    pub const DRAFT_6: Self = Self(sys::RL_HEADERS_DRAFT_6);
    /// No field at all; stands alone.
    pub const NONE: Self = Self(sys::RL_HEADERS_NONE);
}

impl BitOr for HeaderFields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The form of [`Limiter::explain`] and [`Limiter::diff`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Lines for people.
    #[default]
    Lines,
    /// JSON.
    Json,
}

impl TextForm {
    fn flags(self) -> u32 {
        match self {
            TextForm::Lines => 0,
            TextForm::Json => sys::RL_TEXT_JSON,
        }
    }
}

/// Where an HTTP request came from: all lines of the two fields, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// The connection's address, as text.
    pub peer: &'a [u8],
    /// X-Forwarded-For.
    pub x_forwarded_for: &'a [&'a [u8]],
    /// Forwarded.
    pub forwarded: &'a [&'a [u8]],
}

/// What C sees of lines: up to 4 of them without an allocation.
pub(crate) struct Lines {
    few: [sys::rl_str; 4],
    many: Vec<sys::rl_str>,
    count: usize,
}

impl Lines {
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut out = Self { few: [sys::rl_str::EMPTY; 4], many: Vec::new(), count: 0 };
        for line in lines {
            if out.count == out.few.len() {
                out.many.extend_from_slice(&out.few);
            }
            match out.few.get_mut(out.count) {
                Some(place) => *place = lend(line),
                None => out.many.push(lend(line)),
            }
            out.count += 1;
        }
        out
    }

    pub(crate) fn as_slice(&self) -> &[sys::rl_str] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

impl Limiter {
    /// The header fields of a decision as lines "Name: value\r\n"; empty when it has none.
    pub fn headers(&self, decision: &Decision, fields: HeaderFields) -> Result<String> {
        let mut out = Vec::new();
        self.headers_into(decision, fields, &mut out)?;
        Ok(into_text(out))
    }

    /// The same, added to `out`. Allocates nothing when there is room.
    pub fn headers_into(&self, decision: &Decision, fields: HeaderFields, out: &mut Vec<u8>) -> Result<()> {
        append(out, 512, |buffer, capacity, needed, err| {
            // SAFETY: `append` gives room for `capacity` bytes.
            unsafe { sys::rl_decision_headers(self.raw(), &decision.0, fields.0, buffer, capacity, needed, err) }
        })
    }

    /// An RFC 9457 body (application/problem+json) for a denial.
    pub fn problem(&self, decision: &Decision) -> Result<String> {
        text(|buffer, capacity, needed, err| {
            // SAFETY: as in `headers_into`; so below.
            unsafe { sys::rl_decision_problem(self.raw(), &decision.0, buffer, capacity, needed, err) }
        })
    }

    /// Why the answer is what it is. Nothing is spent.
    pub fn explain(&self, request: &Request<'_>, form: TextForm) -> Result<String> {
        trouble::clear();
        text(|buffer, capacity, needed, err| {
            // SAFETY: as above.
            unsafe { sys::rl_explain(self.raw(), &request.raw, form.flags(), buffer, capacity, needed, err) }
        })
        .map_err(|error| request.blame(error))
    }

    /// What a reload with these rules would change.
    pub fn diff(&self, rules: impl Into<Rules>, form: TextForm) -> Result<String> {
        let config = Config::with(&rules.into())?;
        text(|buffer, capacity, needed, err| {
            // SAFETY: as above.
            unsafe { sys::rl_registry_diff(self.raw(), config.as_ptr(), form.flags(), buffer, capacity, needed, err) }
        })
    }

    /// All metrics in Prometheus' text format 0.0.4.
    pub fn prometheus(&self) -> Result<String> {
        text(|buffer, capacity, needed, err| {
            // SAFETY: as above.
            unsafe { sys::rl_metrics_prometheus(self.raw(), buffer, capacity, needed, err) }
        })
    }

    /// The client behind trusted proxies, in canonical text; empty when the peer is no address.
    pub fn client_ip(&self, origin: &Origin<'_>) -> Result<String> {
        let x_forwarded_for = Lines::of(origin.x_forwarded_for.iter().copied());
        let forwarded = Lines::of(origin.forwarded.iter().copied());
        self.client_ip_raw(lend(origin.peer), &x_forwarded_for, &forwarded)
    }

    /// The lines' bytes and the peer's are alive.
    pub(crate) fn client_ip_raw(
        &self,
        peer: sys::rl_str,
        x_forwarded_for: &Lines,
        forwarded: &Lines,
    ) -> Result<String> {
        let (x_forwarded_for, forwarded) = (x_forwarded_for.as_slice(), forwarded.as_slice());
        let (x_forwarded_for_count, forwarded_count) = (x_forwarded_for.len() as u32, forwarded.len() as u32);
        let (x_forwarded_for, forwarded) = (x_forwarded_for.as_ptr(), forwarded.as_ptr());
        let mut out = Vec::new();
        append(&mut out, 64, |buffer, capacity, needed, err| {
            // SAFETY: as above.
            unsafe {
                sys::rl_client_ip(
                    self.raw(),
                    peer,
                    x_forwarded_for,
                    x_forwarded_for_count,
                    forwarded,
                    forwarded_count,
                    buffer,
                    capacity,
                    needed,
                    err,
                )
            }
        })?;
        Ok(into_text(out))
    }

    /// All that a middleware does for a request, in one call: [`client_ip`](Limiter::client_ip) unless the request
    /// states one, [`allow`](Limiter::allow), and [`headers_into`](Limiter::headers_into).
    pub fn allow_http(
        &self,
        request: &Request<'_>,
        origin: &Origin<'_>,
        fields: HeaderFields,
        out: &mut Vec<u8>,
    ) -> Result<Decision> {
        out.reserve(1024);
        let x_forwarded_for = Lines::of(origin.x_forwarded_for.iter().copied());
        let forwarded = Lines::of(origin.forwarded.iter().copied());
        let (decision, needed) = self.allow_http_raw(
            request,
            lend(origin.peer),
            (&x_forwarded_for, &forwarded),
            fields,
            out.spare_capacity_mut(),
        )?;
        if needed > out.capacity() - out.len() {
            self.headers_into(&decision, fields, out)?;
        } else {
            // SAFETY: the engine has written so many bytes.
            unsafe { out.set_len(out.len() + needed) };
        }
        Ok(decision)
    }

    /// The decision, and how many bytes its fields have; they are in `room` when they fit. The lines' bytes and the
    /// peer's are alive.
    pub(crate) fn allow_http_raw(
        &self,
        request: &Request<'_>,
        peer: sys::rl_str,
        (x_forwarded_for, forwarded): (&Lines, &Lines),
        fields: HeaderFields,
        room: &mut [MaybeUninit<u8>],
    ) -> Result<(Decision, usize)> {
        let (x_forwarded_for, forwarded) = (x_forwarded_for.as_slice(), forwarded.as_slice());
        let http = sys::rl_http {
            header_flags: fields.0,
            peer,
            x_forwarded_for: x_forwarded_for.as_ptr(),
            forwarded: forwarded.as_ptr(),
            x_forwarded_for_count: x_forwarded_for.len() as u32,
            forwarded_count: forwarded.len() as u32,
            ..sys::rl_http::INIT
        };
        let mut error = ErrorRoom::new();
        let mut decision = room_for_decision();
        let mut needed = 0;
        // SAFETY: all of it lives for the call; `room` has so many bytes. On RL_OK the engine has written the decision.
        unsafe {
            let status = sys::rl_allow_http(
                self.raw(),
                &request.raw,
                &http,
                decision.as_mut_ptr().cast(),
                room.as_mut_ptr().cast(),
                room.len() as u64,
                &mut needed,
                error.as_mut_ptr(),
            );
            error.check(status).map_err(|error| request.blame(error))?;
            Ok((decision.assume_init(), needed as usize))
        }
    }

    /// Counters since the limiter was made. Each request is counted once: `requests` = `allowed` + `denied`.
    pub fn metrics(&self) -> Result<Metrics> {
        let mut raw = sys::rl_metrics { struct_size: size_of::<sys::rl_metrics>() as u32, ..Default::default() };
        // SAFETY: room of ours.
        asked(|err| unsafe { sys::rl_metrics_get(self.raw(), &mut raw, err) })?;
        Ok(Metrics::of(&raw))
    }

    /// Counters of one rule; they go on when a reload keeps it. With `match: all` a request counts for each rule that
    /// applied.
    pub fn rule_metrics(&self, rule: RuleId) -> Result<RuleMetrics> {
        let size = size_of::<sys::rl_rule_metrics>() as u32;
        let mut raw = sys::rl_rule_metrics { struct_size: size, ..Default::default() };
        // SAFETY: room of ours.
        asked(|err| unsafe { sys::rl_metrics_rule(self.raw(), rule.0, &mut raw, err) })?;
        Ok(RuleMetrics::of(&raw))
    }
}

macro_rules! counters {
    ($(#[$about:meta])* $name:ident from $raw:ident { $($(#[$told:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$told])* pub $field: u64,)*
        }

        impl $name {
            fn of(raw: &sys::$raw) -> Self {
                Self { $($field: raw.$field,)* }
            }
        }
    };
}

counters! {
    /// Counters of a limiter.
    Metrics from rl_metrics {
        /// All of them.
        requests,
        /// That may pass.
        allowed,
        /// That may not.
        denied,
        /// Of `denied`: cost above the capacity.
        never_fits,
        /// Of `denied`: `action: block`.
        blocked,
        /// Of `requests`: a shadow limit would have denied it.
        shadow_denied,
        /// Of `allowed`: no rule covered it.
        no_rule,
        /// Of `requests`: a local limit decided.
        local_fallback,
        /// Of `allowed`: the store failed, the rule is open.
        fail_open,
        /// Of `denied`: the store failed, the rule is closed.
        fail_closed,
        /// Times the storage could not answer.
        store_errors,
        /// Requests whose ip scope had no usable address.
        unknown_client,
        /// Keys dropped with state that was not as new.
        evicted_live,
        /// Keys dropped by `evict_idle`.
        evicted_idle,
        /// Held now; 0 when the storage cannot tell.
        keys,
        /// Reloads that succeeded.
        reloads,
        /// Reloads that kept the old rules.
        reload_failures,
        /// The number of the rule set in force.
        generation,
        /// Of `allowed`: from units that were paid for in advance.
        leased,
        /// Of `denied`: the store was not asked again.
        cached_denial,
        /// Units admitted while the store failed that it was charged for afterwards.
        reported_back,
        /// Units admitted while the store failed that it could not be charged for.
        unreported,
    }
}

counters! {
    /// Counters of a rule.
    RuleMetrics from rl_rule_metrics {
        /// That may pass.
        allowed,
        /// That may not.
        denied,
        /// Of `denied`: cost above the capacity.
        never_fits,
        /// Would have been denied by a shadow limit.
        shadow_denied,
        /// Units spent.
        cost_allowed,
    }
}

/// Calls until the text fits behind the end of `out`.
fn append(
    out: &mut Vec<u8>,
    room: usize,
    call: impl Fn(*mut c_char, u64, *mut u64, *mut sys::rl_error) -> sys::rl_status,
) -> Result<()> {
    let mut needed = room as u64;
    loop {
        out.reserve(needed as usize);
        let free = out.spare_capacity_mut();
        let capacity = free.len() as u64;
        let mut error = ErrorRoom::new();
        let status = call(free.as_mut_ptr().cast(), capacity, &mut needed, error.as_mut_ptr());
        if status == sys::RL_E_BUFFER_TOO_SMALL && needed > capacity {
            continue;
        }
        // SAFETY: `call` is a call of the engine with this room; on RL_OK it has written `needed` bytes.
        unsafe {
            error.check(status)?;
            out.set_len(out.len() + needed as usize);
        }
        return Ok(());
    }
}

fn text(call: impl Fn(*mut c_char, u64, *mut u64, *mut sys::rl_error) -> sys::rl_status) -> Result<String> {
    let mut out = Vec::new();
    append(&mut out, 2048, call)?;
    Ok(into_text(out))
}

/// The engine writes UTF-8; should it not, what is none is replaced.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
