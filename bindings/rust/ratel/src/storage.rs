use crate::error::{BoxError, Error, Result};
use crate::log::Log;
use crate::request::bytes_of;
use crate::trouble;
use ratel_sys as sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Keeps the counts in a place of the host's own (`docs/storage-callbacks.md`). Every method may be called from any
/// thread at once, and none with a lock of the engine held. An error or a panic means that the storage could not tell:
/// the rule's `on_store_error` decides then.
///
/// ```
/// use ratel::{BoxError, Operation, Storage};
/// use std::{collections::HashMap, sync::Mutex};
///
/// #[derive(Default)]
/// struct Map(Mutex<HashMap<String, Vec<u8>>>);
///
/// impl Storage for Map {
///     fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
///         let mut held = self.0.lock().unwrap();
///         for change in operation.step(|key| held.get(key).cloned())? {
///             match change.state {
///                 Some(state) => held.insert(change.key.to_string(), state.to_vec()),
///                 None => held.remove(change.key),
///             };
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Storage: Send + Sync + 'static {
    /// The whole duty: as one indivisible act, give what is held to [`step`](Operation::step) and write what it asks
    /// for. Who retries (compare-and-swap) steps again with what he reads then; the last step counts.
    fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError>;

    /// Which of the methods below are offered. Asked once.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// Like `apply`, but may end later and on any thread, with [`finish`](AsyncOperation::finish). For `allow_async`, and
    /// for what the engine has to tell after it. The last limiter waits for what has not ended when it is dropped.
    fn apply_async(&self, operation: AsyncOperation) {
        operation.finish(Err("apply_async is not offered".into()));
    }

    /// Drops what is held under a key, for `reset`.
    fn forget(&self, key: &str) -> Result<(), BoxError> {
        let _ = key;
        Err("forget is not offered".into())
    }

    /// Drops what had expired at an instant and says how many, for `evict_idle`.
    fn sweep(&self, cutoff: SystemTime) -> Result<u64, BoxError> {
        let _ = cutoff;
        Err("sweep is not offered".into())
    }

    /// How many keys are held, for `key_count` and the metrics.
    fn count(&self) -> Result<u64, BoxError> {
        Err("count is not offered".into())
    }
}

/// What a [`Storage`] offers beside `apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// `apply_async`; without it `apply` is called.
    pub apply_async: bool,
    /// `forget`; without it `reset` writes through `apply`.
    pub forget: bool,
    /// `sweep`; without it `evict_idle` is [`Unsupported`](Error::Unsupported).
    pub sweep: bool,
    /// `count`; without it `key_count` is [`Unsupported`](Error::Unsupported).
    pub count: bool,
}

/// What to write, from a [`step`](Operation::step).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The state's name.
    pub key: &'a str,
    /// What to hold from now on; `None` is nothing.
    pub state: Option<&'a [u8]>,
    /// After this time the state equals none and may be dropped.
    pub ttl: Duration,
}

/// The cells of one decision (or settle, or peek) under way.
struct Cells {
    op: *mut sys::rl_op,
    first: *mut sys::rl_cell,
    count: u32,
    /// Copies of the states of the last step, which the engine may look at until the operation is over.
    held: Vec<u8>,
}

impl Cells {
    fn cells(&self) -> &[sys::rl_cell] {
        // SAFETY: the engine's cells, valid until the operation is over. They are written in `step` alone, which is
        // exclusive.
        unsafe { std::slice::from_raw_parts(self.first, self.count as usize) }
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.cells().iter().map(key_of)
    }

    fn step<S: AsRef<[u8]>>(&mut self, mut state: impl FnMut(&str) -> Option<S>) -> Result<Changes<'_>> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(self.count as usize);
        for key in self.keys() {
            places.push(state(key).map(|state| {
                let from = bytes.len();
                bytes.extend_from_slice(state.as_ref());
                from..bytes.len()
            }));
        }
        self.held = bytes;
        for (i, place) in places.into_iter().enumerate() {
            // SAFETY: within the engine's cells; `held` stays as it is until all of them are set anew.
            unsafe {
                let cell = &mut *self.first.add(i);
                let held = place.map(|place| &self.held[place]);
                cell.state = held.map_or(std::ptr::null(), |held| held.as_ptr().cast());
                cell.state_size = held.map_or(0, |held| held.len() as u64);
            }
        }
        // SAFETY: the op and the cells as they were given.
        let status = unsafe { sys::rl_step(self.op, self.first, self.count) };
        if status == sys::RL_OK { Ok(Changes { cells: self.cells().iter() }) } else { Err(Error::of_status(status)) }
    }
}

fn key_of(cell: &sys::rl_cell) -> &str {
    // SAFETY: the engine's, valid until the operation is over.
    std::str::from_utf8(unsafe { bytes_of(cell.key) }).expect("the engine's keys are ASCII")
}

/// What is to be written: an iterator of [`Change`]s.
#[derive(Debug)]
pub struct Changes<'a> {
    cells: std::slice::Iter<'a, sys::rl_cell>,
}

// SAFETY: borrows cells and bytes of the engine's that nobody writes until the next step, which the lifetime excludes.
unsafe impl Send for Changes<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Changes<'_> {}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        let cell = self.cells.find(|cell| cell.write == 1)?;
        let state = sys::rl_str { data: cell.new_state.cast(), size: cell.new_size };
        // SAFETY: the engine's, valid until the next step, which the lifetime excludes.
        let state = (cell.new_size > 0).then(|| unsafe { bytes_of(state) });
        Some(Change { key: key_of(cell), state, ttl: Duration::from_nanos(cell.ttl_ns) })
    }
}

/// An operation that ends when [`Storage::apply`] returns.
pub struct Operation<'a> {
    cells: Cells,
    borrowed: PhantomData<&'a mut sys::rl_op>,
}

impl Operation<'_> {
    /// The names of the states that belong together: printable ASCII, never an identity.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.cells.keys()
    }

    /// The arithmetic: `state` gives what is held under each key, in order; the engine decides and says what to write.
    /// All of it, or none.
    pub fn step<S: AsRef<[u8]>>(&mut self, state: impl FnMut(&str) -> Option<S>) -> Result<Changes<'_>> {
        self.cells.step(state)
    }
}

/// An operation that ends with [`finish`](AsyncOperation::finish), on any thread. Dropped without it, the storage could
/// not tell.
pub struct AsyncOperation {
    cells: Cells,
    done: *mut sys::rl_completion,
    log: Log,
}

// SAFETY: the engine takes rl_step and rl_completion_finish from any thread, and this value is the only way to them.
unsafe impl Send for AsyncOperation {}
// SAFETY: shared references reach the keys alone.
unsafe impl Sync for AsyncOperation {}

impl AsyncOperation {
    /// As [`Operation::keys`].
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.cells.keys()
    }

    /// As [`Operation::step`].
    pub fn step<S: AsRef<[u8]>>(&mut self, state: impl FnMut(&str) -> Option<S>) -> Result<Changes<'_>> {
        self.cells.step(state)
    }

    /// Ends it: written, or why the storage could not tell. The decision is told on this thread.
    pub fn finish(self, result: Result<(), BoxError>) {
        let mut this = std::mem::ManuallyDrop::new(self);
        if let Err(error) = &result {
            this.log.error(&format!("Storage::apply_async: {error}"));
        }
        let status = if result.is_ok() { sys::RL_OK } else { sys::RL_E_STORE };
        // SAFETY: exactly once, since drop does not run; then the rest of the value is dropped by hand.
        unsafe {
            sys::rl_completion_finish(this.done, status);
            std::ptr::drop_in_place(&raw mut this.cells.held);
            std::ptr::drop_in_place(&raw mut this.log);
        }
        trouble::drop_quietly(result);
    }
}

impl Drop for AsyncOperation {
    fn drop(&mut self) {
        // SAFETY: `finish` was not called, which would have kept this from running.
        unsafe { sys::rl_completion_finish(self.done, sys::RL_E_STORE) }
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

impl std::fmt::Debug for AsyncOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

pub(crate) struct StorageBox {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) log: Log,
}

impl StorageBox {
    /// Runs one of the duties. What goes wrong is kept for who asked, and becomes a status.
    fn guarded<T>(&self, place: &str, duty: impl FnOnce() -> Result<T, BoxError>) -> Result<T, sys::rl_status> {
        trouble::clear();
        let error = match trouble::contain(place, duty) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(panic) => {
                self.log.error(&panic.0);
                Box::new(panic) as BoxError
            }
        };
        trouble::keep(sys::RL_E_STORE, error);
        Err(sys::RL_E_STORE)
    }
}

pub(crate) fn table(storage: StorageBox, offers: Offers) -> (sys::rl_storage, *mut StorageBox) {
    let owned = Box::into_raw(Box::new(storage));
    let table = sys::rl_storage {
        self_: owned.cast(),
        apply: Some(apply),
        apply_async: if offers.apply_async { Some(apply_async) } else { None },
        forget: if offers.forget { Some(forget) } else { None },
        sweep: if offers.sweep { Some(sweep) } else { None },
        count: if offers.count { Some(count) } else { None },
        destroy: Some(crate::log::destroy::<StorageBox>),
        ..sys::rl_storage::INIT
    };
    (table, owned)
}

/// # Safety
///
/// `self_` is what `table` made, and not destroyed yet.
unsafe fn host<'a>(self_: *mut c_void) -> &'a StorageBox {
    // SAFETY: as the caller says.
    unsafe { &*self_.cast::<StorageBox>() }
}

unsafe extern "C" fn apply(
    self_: *mut c_void,
    op: *mut sys::rl_op,
    first: *mut sys::rl_cell,
    count: u32,
) -> sys::rl_status {
    // SAFETY: of the engine, as rl.h says; so below.
    let host = unsafe { host(self_) };
    let cells = Cells { op, first, count, held: Vec::new() };
    let mut operation = Operation { cells, borrowed: PhantomData };
    status_of(host.guarded("Storage::apply", || host.storage.apply(&mut operation)))
}

unsafe extern "C" fn apply_async(
    self_: *mut c_void,
    op: *mut sys::rl_op,
    first: *mut sys::rl_cell,
    count: u32,
    done: *mut sys::rl_completion,
) -> sys::rl_status {
    // SAFETY: as in `apply`.
    let host = unsafe { host(self_) };
    let cells = Cells { op, first, count, held: Vec::new() };
    let operation = AsyncOperation { cells, done, log: host.log.clone() };
    // Begun in any case: when the host panics, the operation is dropped, and so finished. `host` may be gone
    // afterwards.
    let log = host.log.clone();
    if let Err(panic) = trouble::contain("Storage::apply_async", || host.storage.apply_async(operation)) {
        log.error(&panic.0);
    }
    sys::RL_OK
}

unsafe extern "C" fn forget(self_: *mut c_void, key: sys::rl_str) -> sys::rl_status {
    // SAFETY: as in `apply`; the key is lent for the call.
    let (host, key) = unsafe { (host(self_), bytes_of(key)) };
    status_of(host.guarded("Storage::forget", || host.storage.forget(std::str::from_utf8(key)?)))
}

unsafe extern "C" fn sweep(self_: *mut c_void, cutoff_ns: u64, dropped: *mut u64) -> sys::rl_status {
    // SAFETY: as in `apply`.
    let host = unsafe { host(self_) };
    let cutoff = UNIX_EPOCH + Duration::from_nanos(cutoff_ns);
    let result = host.guarded("Storage::sweep", || host.storage.sweep(cutoff));
    // SAFETY: room of the engine's.
    unsafe { *dropped = result.unwrap_or(0) };
    status_of(result)
}

unsafe extern "C" fn count(self_: *mut c_void, keys: *mut u64) -> sys::rl_status {
    // SAFETY: as in `apply`.
    let host = unsafe { host(self_) };
    let result = host.guarded("Storage::count", || host.storage.count());
    // SAFETY: room of the engine's.
    unsafe { *keys = result.unwrap_or(0) };
    status_of(result)
}

fn status_of<T>(result: Result<T, sys::rl_status>) -> sys::rl_status {
    result.err().unwrap_or(sys::RL_OK)
}
