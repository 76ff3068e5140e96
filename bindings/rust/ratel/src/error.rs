use crate::decision::{Decision, Reason};
use ratel_sys as sys;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::mem::MaybeUninit;

/// What fails with [`Error`], unless it says otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of a [`Storage`](crate::Storage).
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no answer. A denial is an answer, not an error. `docs/errors.md` tells each at length.
///
/// [`source`](std::error::Error::source) is the error or panic of the clock or storage that was the cause, where there
/// is one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A fault of the caller: a cost below 1, an instant out of range, a path with a NUL inside.
    InvalidArgument(Detail),
    /// An allocation failed in the engine; nothing has changed.
    NoMemory,
    /// A rule set has faults: all of them, in the order of the file.
    Config(Vec<Fault>),
    /// A file or folder could not be read.
    Io(Detail),
    /// No rule in force has this id or name.
    NotFound(Detail),
    /// Not in this build of the engine, or not offered by this storage.
    Unsupported(Detail),
    /// The storage could not answer.
    Store(Detail),
    /// The engine that was loaded is not one that this crate can use.
    Abi(Detail),
    /// Not now: a wrong order of calls.
    State(Detail),
    /// The limiter ended before the answer came, or the queue is shut down.
    Cancelled,
    /// A fault of Ratel itself.
    Internal(Detail),
    /// From `wait`: denied, and waiting does not help. The decision tells the reason.
    Denied(Decision),
    /// From `wait`: the wait would outlast the timeout. Nothing is spent.
    TooLong(Decision),
}

/// What went wrong, and the cause where there is one.
#[derive(Debug)]
pub struct Detail {
    message: String,
    source: Option<BoxError>,
}

impl Detail {
    /// In words.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// One fault of a rule set, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// As it was given to load; `<rule>` for rules in code; empty when it is not about a file.
    pub file: String,
    /// From 1; 0 when it is not about a file.
    pub line: u32,
    /// From 1, in bytes; 0 when it is not about a file.
    pub column: u32,
    /// Where in the rule set, such as `rules[2].limits[0].window`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Error {
    /// The faults of a rule set; empty for other errors.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Error::Config(faults) => faults,
            _ => &[],
        }
    }

    /// The engine's name of the error, such as "RL_E_CONFIG".
    pub fn name(&self) -> &'static str {
        let status = match self {
            Error::InvalidArgument(_) => sys::RL_E_INVALID_ARGUMENT,
            Error::NoMemory => sys::RL_E_NO_MEMORY,
            Error::Config(_) => sys::RL_E_CONFIG,
            Error::Io(_) => sys::RL_E_IO,
            Error::NotFound(_) => sys::RL_E_NOT_FOUND,
            Error::Unsupported(_) => sys::RL_E_UNSUPPORTED,
            Error::Store(_) => sys::RL_E_STORE,
            Error::Abi(_) => sys::RL_E_ABI,
            Error::State(_) => sys::RL_E_STATE,
            Error::Cancelled => sys::RL_E_CANCELLED,
            Error::Internal(_) => sys::RL_E_INTERNAL,
            Error::Denied(_) | Error::TooLong(_) => return "RL_OK",
        };
        status_name(status)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::InvalidArgument(Detail { message: message.into(), source: None })
    }

    pub(crate) fn abi(message: impl Into<String>) -> Error {
        Error::Abi(Detail { message: message.into(), source: None })
    }

    /// The error of a status without a message.
    #[cold]
    pub(crate) fn of_status(status: sys::rl_status) -> Error {
        Error::make(status, status_name(status).to_string())
    }

    fn make(status: sys::rl_status, message: String) -> Error {
        Error::caused(status, message, crate::trouble::take(status))
    }

    pub(crate) fn caused(status: sys::rl_status, message: impl Into<String>, source: Option<BoxError>) -> Error {
        let detail = Detail { message: message.into(), source };
        match status {
            sys::RL_E_INVALID_ARGUMENT => Error::InvalidArgument(detail),
            sys::RL_E_NO_MEMORY => Error::NoMemory,
            sys::RL_E_IO => Error::Io(detail),
            sys::RL_E_NOT_FOUND => Error::NotFound(detail),
            sys::RL_E_UNSUPPORTED => Error::Unsupported(detail),
            sys::RL_E_STORE => Error::Store(detail),
            sys::RL_E_ABI => Error::Abi(detail),
            sys::RL_E_STATE => Error::State(detail),
            sys::RL_E_CANCELLED => Error::Cancelled,
            _ => Error::Internal(detail),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidArgument(detail)
            | Error::Io(detail)
            | Error::NotFound(detail)
            | Error::Unsupported(detail)
            | Error::Store(detail)
            | Error::Abi(detail)
            | Error::State(detail)
            | Error::Internal(detail) => f.write_str(&detail.message),
            Error::NoMemory => f.write_str("out of memory"),
            Error::Cancelled => f.write_str("the limiter ended before the answer came, or the queue is shut down"),
            Error::Config(faults) => match faults.as_slice() {
                [] => f.write_str("the rules have faults"),
                [only] => only.fmt(f),
                [first, others @ ..] => write!(f, "{first} (and {} more)", others.len()),
            },
            Error::Denied(decision) => match decision.reason() {
                Reason::NeverFits => f.write_str("denied: the cost is above the capacity"),
                reason => write!(f, "denied, and waiting does not help: {reason}"),
            },
            Error::TooLong(_) => f.write_str("the wait would outlast the timeout"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::InvalidArgument(detail)
            | Error::Io(detail)
            | Error::NotFound(detail)
            | Error::Unsupported(detail)
            | Error::Store(detail)
            | Error::Abi(detail)
            | Error::State(detail)
            | Error::Internal(detail) => detail.source.as_deref().map(|source| source as _),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if self.line > 0 {
                write!(f, ":{}:{}", self.line, self.column)?;
            }
            f.write_str(": ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

pub(crate) fn status_name(status: sys::rl_status) -> &'static str {
    // SAFETY: static and NUL-terminated, for any number.
    unsafe { CStr::from_ptr(sys::rl_status_name(status)) }.to_str().unwrap_or("RL_E_UNKNOWN")
}

/// Room for an rl_error, of which only the head is set: the engine writes the rest when a call fails.
pub(crate) struct ErrorRoom(MaybeUninit<sys::rl_error>);

impl ErrorRoom {
    #[inline]
    pub(crate) fn new() -> Self {
        let mut room = MaybeUninit::<sys::rl_error>::uninit();
        // SAFETY: in bounds of `room`.
        unsafe {
            (&raw mut (*room.as_mut_ptr()).struct_size).write(size_of::<sys::rl_error>() as u32);
            (&raw mut (*room.as_mut_ptr()).status).write(sys::RL_OK);
        }
        Self(room)
    }

    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut sys::rl_error {
        self.0.as_mut_ptr()
    }

    /// `Ok` for RL_OK, else the error that the engine has written.
    ///
    /// # Safety
    ///
    /// `status` is what a call returned that was given this room.
    #[inline]
    pub(crate) unsafe fn check(&self, status: sys::rl_status) -> Result<()> {
        if status == sys::RL_OK {
            return Ok(());
        }
        // SAFETY: as the caller says.
        Err(unsafe { self.error(status) })
    }

    /// # Safety
    ///
    /// As [`check`](ErrorRoom::check).
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn error(&self, status: sys::rl_status) -> Error {
        // SAFETY: as the caller says.
        match unsafe { self.fault() } {
            None => Error::of_status(status),
            Some(fault) if status == sys::RL_E_CONFIG => Error::Config(vec![fault]),
            Some(fault) => Error::make(status, Fault { line: 0, ..fault }.to_string()),
        }
    }

    /// What the engine has written, if it has.
    ///
    /// # Safety
    ///
    /// The room was given to a call.
    pub(crate) unsafe fn fault(&self) -> Option<Fault> {
        // SAFETY: set by `new`.
        let status = unsafe { (&raw const (*self.0.as_ptr()).status).read() };
        // SAFETY: the engine writes all of an rl_error or nothing of it.
        (status != sys::RL_OK).then(|| fault_of(unsafe { self.0.assume_init_ref() }))
    }
}

fn fault_of(raw: &sys::rl_error) -> Fault {
    Fault {
        file: text(&raw.file),
        line: raw.line,
        column: raw.column,
        path: text(&raw.path),
        message: text(&raw.message),
    }
}

fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|&&char| char != 0).map(|&char| char as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
