//! On a Redis, where the engine has it: counts that are shared, futures and limiters that go early, a server that goes.
//! The vectors run there as well.
#![allow(missing_docs)]

mod support;

use ratel::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use support::{RULES, RedisServer, block_on, builder, orders};

/// `None`: this engine has no Redis, which `vectors.rs` looks at.
fn server() -> Option<RedisServer> {
    features().contains(Features::REDIS).then(RedisServer::start)
}

fn limiter(server: &RedisServer) -> Limiter {
    builder().secret("a secret of the tests").redis(server.url("")).build().unwrap()
}

#[test]
fn limiters_share_what_is_counted() {
    let Some(server) = server() else { return };
    let (one, other) = (limiter(&server), limiter(&server));
    assert_eq!(one.allow(&orders("alice")).unwrap().remaining(), 4);
    assert_eq!(block_on(other.allow_async(&orders("alice"))).unwrap().remaining(), 3);
    let d = one.allow_n(&orders("alice"), 3).unwrap();
    assert_eq!(one.settle(&orders("alice"), &d, 1).unwrap().remaining(), 2);
    assert_eq!(other.peek(&orders("alice")).unwrap().remaining(), 2);
    other.reset(&orders("alice")).unwrap();
    assert_eq!(one.peek(&orders("alice")).unwrap().remaining(), 5);
}

#[tokio::test]
async fn many_at_once_admit_exactly_the_limit() {
    let Some(server) = server() else { return };
    let l = Arc::new(limiter(&server));
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let l = l.clone();
            tokio::spawn(async move { l.allow_async(&orders("alice")).await.unwrap().allowed() })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += u32::from(task.await.unwrap());
    }
    assert_eq!(allowed, 5);
}

#[test]
fn futures_and_limiters_that_go_early() {
    let Some(server) = server() else { return };
    for _ in 0..20 {
        let l = limiter(&server);
        for user in ["a", "b", "c"] {
            let _ = pin!(l.allow_async(&orders(user))).poll(&mut Context::from_waker(Waker::noop()));
        }
    }
    assert!(limiter(&server).allow(&orders("d")).unwrap().allowed());
}

#[test]
fn a_repeat_is_answered_as_before() {
    let Some(server) = server() else { return };
    let (one, other) = (limiter(&server), limiter(&server));
    let first = one.allow(&orders("alice").idempotency_id("order-1")).unwrap();
    let again = block_on(other.allow_async(&orders("alice").idempotency_id("order-1"))).unwrap();
    assert_eq!((first.remaining(), again.remaining(), again.allowed()), (4, 4, true));
    assert_eq!(one.allow(&orders("alice").cost(2).idempotency_id("order-1")).unwrap().remaining(), 2);
    assert_eq!(one.allow(&orders("alice").idempotency_id(b"\0\xff")).unwrap().remaining(), 1);
    assert_eq!(one.peek(&orders("alice")).unwrap().remaining(), 1);
}

#[test]
fn rules_from_a_key() {
    let Some(server) = server() else { return };
    let l = support::limiter();
    l.watch_redis(&server.url(""), "rules", Duration::from_millis(100)).unwrap();
    assert_eq!((l.generation(), l.peek(&orders("a")).unwrap().remaining()), (1, 5));
    server.set("rules", &RULES.replace("limit: 5", "limit: 7"));
    let since = Instant::now();
    while l.generation() == 1 && since.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(l.peek(&orders("a")).unwrap().remaining(), 7);
    l.unwatch().unwrap();
    assert!(matches!(l.watch_redis("", "rules", Duration::ZERO), Err(Error::InvalidArgument(_))));
    assert!(matches!(l.watch_redis("nonsense", "rules", Duration::ZERO), Err(Error::InvalidArgument(_))));
    server.set("rules", "rules: [{name: x}]");
    assert!(matches!(l.watch_redis(&server.url(""), "rules", Duration::ZERO), Err(Error::Config(_))));
}

#[test]
fn answers_come_to_a_queue() {
    let Some(server) = server() else { return };
    let l = limiter(&server);
    let queue = CompletionQueue::new(0).unwrap();
    for tag in 0..100 {
        l.allow_queued(&orders("alice"), &queue, tag).unwrap();
    }
    queue.shutdown();
    let (mut seen, mut allowed, mut answers) = ([0; 100], 0, Vec::new());
    while queue.drain(&mut answers, 7, None).is_ok() {
        for answer in &answers {
            seen[answer.tag as usize] += 1;
            allowed += u32::from(answer.decision.answered().is_ok() && answer.decision.allowed());
        }
    }
    assert_eq!(seen, [1; 100]);
    assert_eq!(allowed, 5);
}

#[test]
fn a_server_that_goes() {
    let Some(server) = server() else { return };
    let rules = Rules::text(RULES, "rules");
    let url = server.url("").replace("deadline_ms=20000", "deadline_ms=300");
    let l = Limiter::builder(rules).secret("a secret of the tests").redis(url).build().unwrap();
    let _ = l.allow(&orders("alice")).unwrap();
    drop(server);
    assert_eq!(l.allow(&Request::new("GET", "/closed")).unwrap().source(), Source::FailClosed);
    assert_eq!(block_on(l.allow_async(&orders("bob"))).unwrap().source(), Source::LocalFallback);
    assert!(matches!(l.reset(&orders("alice")), Err(Error::Store(_))));
}
