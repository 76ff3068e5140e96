use crate::error::BoxError;
use crate::log::Log;
use crate::request::nanoseconds;
use crate::trouble;
use ratel_sys as sys;
use std::ffi::c_void;
use std::time::SystemTime;

/// Tells the time in place of the engine's clock. Asked from any thread, at most once per request.
///
/// One that panics, or tells a time before 1970 or after 2255, makes the request fail with
/// [`InvalidArgument`](crate::Error::InvalidArgument). Functions are clocks:
///
/// ```
/// # let rules = ratel::Rules::text("{version: 1, default: {name: d, action: unlimited}}", "r");
/// let limiter = ratel::Limiter::builder(rules).clock(std::time::SystemTime::now).build()?;
/// # Ok::<(), ratel::Error>(())
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync + 'static> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

pub(crate) struct ClockBox {
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) log: Log,
}

/// The table and what it owns, which is the engine's as soon as it has taken the table.
pub(crate) fn table(clock: ClockBox) -> (sys::rl_clock, *mut ClockBox) {
    let owned = Box::into_raw(Box::new(clock));
    let table = sys::rl_clock {
        self_: owned.cast(),
        now_ns: Some(now_ns),
        destroy: Some(crate::log::destroy::<ClockBox>),
        ..sys::rl_clock::INIT
    };
    (table, owned)
}

fn failed(error: BoxError) -> u64 {
    trouble::keep(sys::RL_E_INVALID_ARGUMENT, error);
    u64::MAX
}

unsafe extern "C" fn now_ns(self_: *mut c_void) -> u64 {
    // SAFETY: what `table` made, and not destroyed yet.
    let host = unsafe { &*self_.cast::<ClockBox>() };
    match trouble::contain("Clock::now", || host.clock.now()) {
        Ok(time) => match nanoseconds(time) {
            ns if ns <= sys::RL_NOW_MAX_NS => ns,
            _ => failed(format!("Clock::now told {time:?}, which lies outside of 1970 to 2255").into()),
        },
        Err(panic) => {
            host.log.error(&panic.0);
            failed(Box::new(panic))
        }
    }
}
