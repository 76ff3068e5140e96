//! What the tests share: rules, a storage as a host might write it, an instant that is set by hand.
#![allow(dead_code, missing_docs)]

use ratel::{
    AsyncOperation, BoxError, Builder, Clock, Decision, Limiter, LogLevel, Offers, Operation, Request, Rules, Storage,
};
use std::collections::HashMap;
use std::future::Future;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const RULES: &str = "
version: 1
rules:
  - {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 5d}
  - {name: fast, path: /fast, scope: user, algorithm: token_bucket, limit: 1, window: 20ms}
  - {name: shaped, path: /shaped, scope: global, algorithm: leaky_bucket, limit: 1, window: 20ms, burst: 3}
  - {name: hours, path: /hours, scope: global, algorithm: leaky_bucket, limit: 1, window: 1h, burst: 3}
  - {name: internal, path: /internal, action: block}
  - {name: plans, path: /plans, scope: \"attribute:plan\", algorithm: sliding_log, limit: 2, window: 5d}
  - {name: closed, path: /closed, scope: user, on_store_error: closed, algorithm: token_bucket, limit: 1, window: 5d}
";

pub fn builder() -> Builder {
    Limiter::builder(Rules::text(RULES, "test"))
}

pub fn limiter() -> Limiter {
    builder().build().unwrap()
}

pub fn orders(user: &str) -> Request<'_> {
    Request::new("POST", "/orders").user(user)
}

pub fn allow(limiter: &Limiter, request: &Request<'_>) -> Decision {
    limiter.allow(request).unwrap()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_path_buf()
}

/// A folder that is removed with it.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("ratel-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn eventually(what: &str, is: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("did not happen: {what}");
}

/// What the clock tells, and what the storage dates its entries with.
#[derive(Clone, Default)]
pub struct Instant(Arc<AtomicU64>);

impl Instant {
    pub fn set(&self, ns: u64) {
        self.0.store(ns, Ordering::SeqCst);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clock for Instant {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.get())
    }
}

/// A state, and when it may be dropped.
type Entry = (Vec<u8>, u64);

/// A storage as a host might write it. `Clone`s share what is held.
#[derive(Clone, Default)]
pub struct MapStorage {
    pub now: Instant,
    pub held: Arc<Mutex<HashMap<String, Entry>>>,
}

impl Storage for MapStorage {
    fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
        let mut held = self.held.lock().unwrap();
        for change in operation.step(|key| held.get(key).map(|(state, _)| state.clone()))? {
            match change.state {
                None => held.remove(change.key),
                Some(state) => {
                    let expires = self.now.get().saturating_add(change.ttl.as_nanos().try_into().unwrap());
                    held.insert(change.key.to_string(), (state.to_vec(), expires))
                }
            };
        }
        Ok(())
    }

    fn offers(&self) -> Offers {
        Offers { forget: true, sweep: true, count: true, ..Offers::default() }
    }

    fn forget(&self, key: &str) -> Result<(), BoxError> {
        self.held.lock().unwrap().remove(key);
        Ok(())
    }

    fn sweep(&self, cutoff: SystemTime) -> Result<u64, BoxError> {
        let cutoff = cutoff.duration_since(UNIX_EPOCH)?.as_nanos();
        let mut held = self.held.lock().unwrap();
        let before = held.len();
        held.retain(|_, (_, expires)| u128::from(*expires) > cutoff);
        Ok((before - held.len()) as u64)
    }

    fn count(&self) -> Result<u64, BoxError> {
        Ok(self.held.lock().unwrap().len() as u64)
    }
}

/// A redis-server of its own, on a socket in a folder of its own.
pub struct RedisServer {
    process: Child,
    folder: TempDir,
}

impl RedisServer {
    pub fn start() -> Self {
        let folder = TempDir::new();
        let socket = folder.join("s");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&socket)
            .arg("--dir")
            .arg(folder.join(""))
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is not installed");
        let server = Self { process, folder };
        eventually("redis-server", || socket.exists());
        server
    }

    /// Deadlines are long, since tests share their machine.
    pub fn url(&self, options: &str) -> String {
        format!("unix://{}?deadline_ms=20000{options}", self.folder.join("s").display())
    }

    /// Puts a text under a key.
    pub fn set(&self, key: &str, text: &str) {
        let mut socket = UnixStream::connect(self.folder.join("s")).unwrap();
        let (key_size, size) = (key.len(), text.len());
        write!(socket, "*3\r\n$3\r\nSET\r\n${key_size}\r\n{key}\r\n${size}\r\n{text}\r\n").unwrap();
        let mut answer = [0; 5];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+OK\r\n");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An executor of one future: the thread sleeps until it is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A storage of one function.
pub struct ApplyFn<F>(pub F);

impl<F> Storage for ApplyFn<F>
where
    F: Fn(&mut Operation<'_>) -> Result<(), BoxError> + Send + Sync + 'static,
{
    fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
        self.0(operation)
    }
}

/// A storage whose work is asynchronous: `run` gets each operation, with what is held.
pub struct AsyncFn<F>(pub MapStorage, pub F);

impl<F> Storage for AsyncFn<F>
where
    F: Fn(MapStorage, AsyncOperation) + Send + Sync + 'static,
{
    fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
        self.0.apply(operation)
    }

    fn offers(&self) -> Offers {
        Offers { apply_async: true, ..Offers::default() }
    }

    fn apply_async(&self, operation: AsyncOperation) {
        self.1(self.0.clone(), operation);
    }
}

/// What `apply` of a MapStorage does, to an operation that may end later.
pub fn apply_later(storage: &MapStorage, mut operation: AsyncOperation) {
    let result = (|| {
        let mut held = storage.held.lock().unwrap();
        let changes = operation.step(|key| held.get(key).map(|(state, _)| state.clone()))?;
        let changes: Vec<_> =
            changes.map(|change| (change.key.to_string(), change.state.map(<[u8]>::to_vec))).collect();
        for (key, state) in changes {
            match state {
                Some(state) => held.insert(key, (state, 0)),
                None => held.remove(&key),
            };
        }
        Ok(())
    })();
    operation.finish(result);
}

/// A log that remembers.
#[derive(Clone, Default)]
pub struct Messages(Arc<Mutex<String>>);

impl Messages {
    pub fn write(&self) -> impl Fn(LogLevel, &str) + Send + Sync + use<> {
        let text = self.0.clone();
        move |level, message| *text.lock().unwrap() += &format!("{level:?}: {message}\n")
    }

    pub fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}
