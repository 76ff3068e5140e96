use crate::request::bytes_of;
use crate::trouble;
use ratel_sys as sys;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warning,
    /// Something happened.
    Info,
}

type Write = dyn Fn(LogLevel, &str) + Send + Sync;

/// Where messages go, if anywhere.
#[derive(Clone, Default)]
pub(crate) struct Log(Option<Arc<Write>>);

impl Log {
    pub(crate) fn new(write: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(write)))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn error(&self, text: &str) {
        self.write(LogLevel::Error, text);
    }

    /// A log that panics itself is left alone.
    fn write(&self, level: LogLevel, text: &str) {
        if let Some(write) = &self.0 {
            let _ = trouble::contain("the log", || write(level, text));
        }
    }
}

pub(crate) fn table(log: Log) -> (sys::rl_log, *mut Log) {
    let owned = Box::into_raw(Box::new(log));
    let table =
        sys::rl_log { self_: owned.cast(), write: Some(write), destroy: Some(destroy::<Log>), ..sys::rl_log::INIT };
    (table, owned)
}

unsafe extern "C" fn write(self_: *mut c_void, level: i32, text: *const c_char, size: u64) {
    // SAFETY: what `table` made, and not destroyed yet; the text is lent for the call.
    let (log, text) = unsafe { (&*self_.cast::<Log>(), bytes_of(sys::rl_str { data: text, size })) };
    let level = match level {
        sys::RL_LOG_ERROR => LogLevel::Error,
        sys::RL_LOG_WARNING => LogLevel::Warning,
        _ => LogLevel::Info,
    };
    log.write(level, &String::from_utf8_lossy(text));
}

/// Ends what a callback table owns.
pub(crate) unsafe extern "C" fn destroy<T>(self_: *mut c_void) {
    // SAFETY: called once, with the box that the table of a T was made with.
    let owned = unsafe { Box::from_raw(self_.cast::<T>()) };
    let _ = trouble::contain("a destructor", || drop(owned));
}
