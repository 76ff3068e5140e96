//! What a callback of the host's last failed with on this thread, until the call that it belongs to asks for the cause.

use crate::error::BoxError;
use ratel_sys as sys;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic that was caught in a callback.
#[derive(Debug)]
pub(crate) struct Panic(pub(crate) String);

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panic {}

thread_local! {
    static LAST: Cell<Option<(sys::rl_status, BoxError)>> = const { Cell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Keeps an error for the call that will fail with this status.
pub(crate) fn keep(status: sys::rl_status, error: BoxError) {
    drop_quietly(LAST.try_with(|last| last.replace(Some((status, error)))));
}

pub(crate) fn take(status: sys::rl_status) -> Option<BoxError> {
    let (kept, error) = LAST.try_with(Cell::take).ok()??;
    (kept == status).then_some(error)
}

pub(crate) fn clear() {
    drop_quietly(LAST.try_with(Cell::take));
}

/// Whether this thread is inside a callback of the engine's.
pub(crate) fn in_callback() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Runs the host's code as a callback: a panic becomes an error that says where.
pub(crate) fn contain<T>(place: &str, work: impl FnOnce() -> T) -> Result<T, Panic> {
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
        }
    }
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
    let _inside = Inside;
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = words(&*payload);
        drop_quietly(payload);
        Panic(format!("panic in {place}: {text}"))
    })
}

fn words(payload: &(dyn Any + Send)) -> String {
    let known = payload.downcast_ref::<&str>().map(|text| text.to_string());
    known.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no text)".to_string())
}

/// Drops what the host made; its `Drop` may panic as well.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(payload);
    }
}
