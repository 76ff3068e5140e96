//! Clocks, storages and logs of the host's: those that misbehave, and asynchronous ones.
#![allow(missing_docs)]

mod support;

use ratel::*;
use std::error::Error as _;
use std::future::Future;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use support::*;

const YEAR: Duration = Duration::from_secs(365 * 86400);

/// A panic payload that panics when it is dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("and once more");
    }
}

#[test]
fn clocks_that_misbehave() {
    type Now = fn() -> SystemTime;
    let clocks: [(&str, Now); 5] = [
        ("panics", || panic!("no battery")),
        ("panics twice", || panic_any(Grenade)),
        ("tells the epoch", || UNIX_EPOCH),
        ("tells a time before it", || UNIX_EPOCH - YEAR),
        ("tells the far future", || UNIX_EPOCH + 500 * YEAR),
    ];
    for (name, clock) in clocks {
        let messages = Messages::default();
        let l = builder().clock(clock).log(messages.write()).build().unwrap();
        let error = l.allow(&orders("a")).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{name}: {error}");
        assert!(error.to_string().contains("the clock callback failed"), "{name}: {error}");
        let cause = error.source().expect("a cause").to_string();
        assert!(cause.starts_with("panic in Clock::now") || cause.starts_with("Clock::now told"), "{name}: {cause}");
        let many = l.allow_many(&[orders("a")]).unwrap();
        let error_of_many = l.refusal(&orders("a"), &many[0]).unwrap();
        assert!(error_of_many.to_string().contains("the clock callback failed"), "{name}: {error_of_many}");
        let by_rule = l.allow_rule(l.rule_id("orders").unwrap(), "k", 1);
        assert!(matches!(by_rule, Err(Error::InvalidArgument(_))), "{name}: {by_rule:?}");
        assert!(by_rule.unwrap_err().source().is_some(), "{name}");
        let swept = l.evict_idle(None).unwrap_err();
        assert!(swept.to_string().contains("the clock callback failed") && swept.source().is_some(), "{name}: {swept}");
        if name == "panics" {
            assert_eq!(error.source().unwrap().to_string(), "panic in Clock::now: no battery");
            assert!(messages.text().contains("Error: panic in Clock::now: no battery\n"), "{}", messages.text());
        }
        let error = l.allow(&orders("a").at(SystemTime::now()).cost(0)).unwrap_err();
        assert!(error.source().is_none(), "{name}: the cause of another error");
    }
}

#[test]
fn a_clock_that_asks_its_limiter() {
    let limiter: Arc<Mutex<Option<Limiter>>> = Arc::default();
    let (inside, depth) = (limiter.clone(), AtomicU32::new(0));
    let clock = move || {
        let l = inside.lock().unwrap().clone();
        if let Some(l) = l.filter(|_| depth.fetch_add(1, Ordering::SeqCst) < 4) {
            let _ = l.allow(&orders("alice")).unwrap();
            l.metrics().unwrap();
        }
        UNIX_EPOCH + 50 * YEAR
    };
    let l = builder().clock(clock).build().unwrap();
    *limiter.lock().unwrap() = Some(l.clone());
    let d = allow(&l, &orders("alice"));
    assert!(d.allowed() && d.remaining() == 0, "{d:?}");
    limiter.lock().unwrap().take();
}

#[test]
fn storages_that_misbehave() {
    type Apply = fn(&mut Operation<'_>) -> Result<(), BoxError>;
    let storages: [(&str, Apply); 5] = [
        ("fails", |_| Err("no connection".into())),
        ("panics", |_| panic!("broken")),
        ("panics twice", |_| panic_any(Grenade)),
        ("never steps", |_| Ok(())),
        ("panics in a step", |operation| {
            operation.step(|_| -> Option<Vec<u8>> { panic!("no state") })?;
            Ok(())
        }),
    ];
    for (name, apply) in storages {
        let messages = Messages::default();
        let l = builder().storage(ApplyFn(apply)).log(messages.write()).build().unwrap();
        let closed = Request::new("GET", "/closed");
        let d = allow(&l, &closed);
        assert_eq!((d.source(), d.reason()), (Source::FailClosed, Reason::Store), "{name}");
        assert_eq!(l.peek(&closed).unwrap().source(), Source::FailClosed, "{name}");
        assert_eq!(allow(&l, &orders("a")).source(), Source::LocalFallback, "{name}");
        assert!(matches!(l.key_count(), Err(Error::Unsupported(_))), "{name}");
        if name == "panics" {
            assert!(messages.text().contains("Error: panic in Storage::apply: broken\n"), "{}", messages.text());
        }
        let error = l.reset(&orders("a")).unwrap_err();
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        let expected = match name {
            "fails" => "no connection",
            "panics" => "panic in Storage::apply: broken",
            "panics twice" => "panic in Storage::apply: (no text)",
            "panics in a step" => "panic in Storage::apply: no state",
            _ => "",
        };
        assert!(matches!(error, Error::Store(_)) && cause == expected, "{name}: {error}: {cause}");
        let error = l.allow(&orders("a").cost(0)).unwrap_err();
        assert!(error.source().is_none(), "{name}: the cause of another error");
    }
}

#[test]
fn storages_that_give_garbage() {
    for state in [vec![], vec![1, 2, 3], vec![0xff; 1 << 16]] {
        let retries = ApplyFn(move |operation: &mut Operation<'_>| {
            for _ in 0..3 {
                operation.step(|_| Some(&state))?;
            }
            Ok(())
        });
        let l = builder().storage(retries).build().unwrap();
        let d = allow(&l, &orders("a"));
        assert!(d.source() == Source::Exact && d.remaining() == 4, "{d:?}");
    }
}

#[test]
fn duties_that_misbehave() {
    struct Duties(fn() -> Result<u64, BoxError>, MapStorage);
    impl Storage for Duties {
        fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
            self.1.apply(operation)
        }
        fn offers(&self) -> Offers {
            self.1.offers()
        }
        fn forget(&self, _: &str) -> Result<(), BoxError> {
            (self.0)().map(drop)
        }
        fn sweep(&self, _: SystemTime) -> Result<u64, BoxError> {
            (self.0)()
        }
        fn count(&self) -> Result<u64, BoxError> {
            (self.0)()
        }
    }
    let duties: [fn() -> Result<u64, BoxError>; 2] = [|| Err("no".into()), || panic!("no")];
    for duty in duties {
        let storage = Duties(duty, MapStorage::default());
        let l = builder().storage(storage).log(|_, _| panic!("the log, too")).build().unwrap();
        let _ = allow(&l, &orders("a"));
        for error in [l.reset(&orders("a")).unwrap_err(), l.evict_idle(None).unwrap_err(), l.key_count().unwrap_err()] {
            let cause = error.source().unwrap().to_string();
            assert!(matches!(error, Error::Store(_)) && cause.ends_with("no"), "{error}: {cause}");
        }
    }
    struct Silent;
    impl Storage for Silent {
        fn apply(&self, _: &mut Operation<'_>) -> Result<(), BoxError> {
            Ok(())
        }
        fn offers(&self) -> Offers {
            panic!("none")
        }
    }
    assert!(matches!(builder().storage(Silent).build(), Err(Error::InvalidArgument(_))));
    // Offered, and yet not written: what the trait answers by itself.
    struct Idle(MapStorage);
    impl Storage for Idle {
        fn apply(&self, operation: &mut Operation<'_>) -> Result<(), BoxError> {
            self.0.apply(operation)
        }
        fn offers(&self) -> Offers {
            Offers { apply_async: true, forget: true, sweep: true, count: true }
        }
    }
    let l = builder().storage(Idle(MapStorage::default())).build().unwrap();
    assert!(matches!(l.key_count(), Err(Error::Store(_))));
    assert_eq!(block_on(l.allow_async(&orders("a"))).unwrap().source(), Source::LocalFallback);
}

#[test]
fn a_storage_that_asks_its_limiter() {
    let limiter: Arc<Mutex<Option<Limiter>>> = Arc::default();
    let (inside, depth) = (limiter.clone(), AtomicU32::new(0));
    let map = MapStorage::default();
    let storage = ApplyFn(move |operation: &mut Operation<'_>| {
        if depth.fetch_add(1, Ordering::SeqCst) == 0 {
            let l = inside.lock().unwrap().clone().unwrap();
            let _ = allow(&l, &orders("other"));
            let _ = l.peek(&orders("other"))?;
            l.reload(Rules::text(RULES, "x"))?;
        }
        map.apply(operation)
    });
    let l = builder().storage(storage).build().unwrap();
    *limiter.lock().unwrap() = Some(l.clone());
    let d = allow(&l, &orders("alice"));
    assert!(d.allowed() && d.source() == Source::Exact, "{d:?}");
    assert_eq!(l.peek(&orders("other")).unwrap().remaining(), 4);
    limiter.lock().unwrap().take();
}

#[test]
fn readable_keys() {
    for on in [true, false] {
        let storage = MapStorage::default();
        let l = builder().storage(storage.clone()).readable_keys(on).build().unwrap();
        let _ = allow(&l, &orders("alice"));
        assert!(storage.held.lock().unwrap().keys().all(|key| key.contains("alice") == on));
        assert_eq!(l.key_count().unwrap(), 1);
    }
}

// ---- Asynchronous decisions ----

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

type Held = Arc<Mutex<Vec<(MapStorage, AsyncOperation)>>>;

/// A limiter whose storage keeps every operation until somebody ends it.
fn holding() -> (Limiter, Held) {
    let held = Held::default();
    let keep = held.clone();
    let storage = AsyncFn(MapStorage::default(), move |map, operation| keep.lock().unwrap().push((map, operation)));
    (builder().storage(storage).build().unwrap(), held)
}

#[test]
fn async_with_the_embedded_store_is_ready_at_once() {
    let l = limiter();
    let alice = orders("alice");
    let mut asked = pin!(l.allow_async(&alice));
    match poll_once(asked.as_mut()) {
        Poll::Ready(Ok(d)) => assert_eq!(d.remaining(), 4),
        other => panic!("{other:?}"),
    }
    assert!(matches!(poll_once(asked), Poll::Ready(Err(Error::State(_)))), "polled after its end");
    assert!(matches!(block_on(l.allow_async(&alice.cost(0))), Err(Error::InvalidArgument(_))));
    drop(l.allow_async(&alice));
    assert_eq!(l.peek(&alice).unwrap().remaining(), 4, "what was not polled is not asked");
}

#[test]
fn async_is_answered_from_another_thread() {
    let storage = AsyncFn(MapStorage::default(), |map, operation| {
        std::thread::spawn(move || apply_later(&map, operation));
    });
    let l = builder().storage(storage).build().unwrap();
    let left: Vec<_> = (0..7).map(|_| block_on(l.allow_async(&orders("alice"))).unwrap()).collect();
    assert_eq!(left.iter().filter(|d| d.allowed()).count(), 5, "{left:?}");
    assert!(left.iter().all(|d| d.source() == Source::Exact));
    assert!(matches!(block_on(l.allow_async(&orders("a").cost(-1))), Err(Error::InvalidArgument(_))));
    let waited = block_on(l.wait_async(&orders("bob"), None, |_| std::future::ready(())));
    assert!(waited.unwrap().allowed());
    let denied = block_on(l.wait_async(&orders("bob").cost(9), None, |_| std::future::ready(())));
    assert!(matches!(denied, Err(Error::Denied(_))));
}

#[tokio::test]
async fn async_holds_no_thread() {
    let (l, held) = holding();
    let tasks: Vec<_> = (0..1000)
        .map(|_| {
            let l = l.clone();
            tokio::spawn(async move { l.allow_async(&orders("alice")).await.unwrap().allowed() })
        })
        .collect();
    while held.lock().unwrap().len() < 1000 {
        tokio::task::yield_now().await;
    }
    for (map, operation) in std::mem::take(&mut *held.lock().unwrap()) {
        apply_later(&map, operation);
    }
    let mut allowed = 0;
    for task in tasks {
        allowed += u32::from(task.await.unwrap());
    }
    assert_eq!(allowed, 5);
}

#[test]
fn futures_that_are_dropped_early_leak_nothing() {
    let (l, held) = holding();
    {
        let alice = orders("alice");
        let mut asked = pin!(l.allow_async(&alice));
        assert!(poll_once(asked.as_mut()).is_pending());
        assert!(poll_once(asked.as_mut()).is_pending());
    }
    let (map, operation) = held.lock().unwrap().pop().unwrap();
    let keys: Vec<_> = operation.keys().map(str::to_string).collect();
    assert_eq!(keys.len(), 1);
    apply_later(&map, operation);
    assert_eq!(map.held.lock().unwrap().len(), 1, "it is made all the same");
    let gone = Arc::downgrade(&held);
    drop((l, held, map));
    assert!(gone.upgrade().is_none(), "the storage ends with the limiter");
}

/// A storage may write while it goes through the changes, in a task that moves between threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_sent_between_threads() {
    let storage = AsyncFn(MapStorage::default(), |map: MapStorage, mut operation: AsyncOperation| {
        tokio::spawn(async move {
            let held = map.held.clone();
            let result: Result<(), BoxError> = async {
                let changes = operation.step(|key| held.lock().unwrap().get(key).map(|(state, _)| state.clone()))?;
                for change in changes {
                    tokio::task::yield_now().await;
                    let state = change.state.unwrap_or_default().to_vec();
                    held.lock().unwrap().insert(change.key.to_string(), (state, 0));
                }
                Ok(())
            }
            .await;
            operation.finish(result);
        });
    });
    let l = builder().storage(storage).build().unwrap();
    for left in [4, 3, 2] {
        assert_eq!(l.allow_async(&orders("alice")).await.unwrap().remaining(), left);
    }
}

/// The limiter may go first, on the very thread that would end the operation.
#[test]
fn the_limiter_goes_before_its_operations() {
    let (l, held) = holding();
    for user in ["a", "b", "c"] {
        let _ = poll_once(pin!(l.allow_async(&orders(user))));
    }
    let gone: Weak<_> = Arc::downgrade(&held);
    drop(l);
    let mut kept = std::mem::take(&mut *held.lock().unwrap());
    drop(held);
    let (map, operation) = kept.pop().unwrap();
    apply_later(&map, operation);
    kept.pop().unwrap().1.finish(Err("no".into()));
    drop(kept); // the third is dropped without an end
    drop(map);
    eventually("the end of the storage", || gone.upgrade().is_none());
}

#[test]
fn async_storages_that_misbehave() {
    type Run = fn(MapStorage, AsyncOperation);
    let storages: [(&str, Run); 5] = [
        ("fails", |_, operation| operation.finish(Err("no".into()))),
        ("drops it", |_, operation| drop(operation)),
        ("panics", |_, _| panic!("broken")),
        ("never steps", |_, operation| operation.finish(Ok(()))),
        ("drops it elsewhere", |_, operation| drop(std::thread::spawn(move || drop(operation)))),
    ];
    for (name, run) in storages {
        let messages = Messages::default();
        let storage = AsyncFn(MapStorage::default(), run);
        let l = builder().storage(storage).log(messages.write()).build().unwrap();
        let d = block_on(l.allow_async(&Request::new("GET", "/closed"))).unwrap();
        assert_eq!((d.source(), d.reason()), (Source::FailClosed, Reason::Store), "{name}");
        if name == "panics" {
            assert!(messages.text().contains("panic in Storage::apply_async: broken"), "{}", messages.text());
        }
    }
}

#[test]
fn wakers_that_misbehave() {
    struct Bad(AtomicUsize);
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("not me");
        }
    }
    let (l, held) = holding();
    let bad = Arc::new(Bad(AtomicUsize::new(0)));
    let waker = Waker::from(bad.clone());
    let alice = orders("alice");
    let mut asked = pin!(l.allow_async(&alice));
    assert!(asked.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let (map, operation) = held.lock().unwrap().pop().unwrap();
    apply_later(&map, operation);
    assert_eq!(bad.0.load(Ordering::SeqCst), 1);
    assert!(matches!(poll_once(asked), Poll::Ready(Ok(d)) if d.allowed()));
}

/// The last limiter may go inside a callback: on a watch's own thread, where the engine cannot end.
#[test]
fn the_last_limiter_goes_inside_the_log() {
    let folder = TempDir::new();
    let file = folder.join("rules.yaml");
    std::fs::write(&file, RULES).unwrap();
    let place: Arc<Mutex<Option<Limiter>>> = Arc::default();
    let inside = place.clone();
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let ended = Arc::new(AtomicBool::new(false));
    let told = Told(ended.clone());
    let l = builder()
        .log(move |_, _| {
            let _ = &told;
            drop(inside.lock().unwrap().take());
        })
        .build()
        .unwrap();
    l.watch(&file, Duration::from_millis(10)).unwrap();
    *place.lock().unwrap() = Some(l);
    std::fs::write(&file, "rules: nonsense").unwrap();
    eventually("the end", || ended.load(Ordering::SeqCst));
}
