//! One decision for one of many keys. All limit to so much per key that nothing is ever denied: what is measured is the
//! admission.

use crate::measure::{Options, keys, resident_bytes, time};
use governor::clock::{Clock, DefaultClock, QuantaUpkeepClock};
use governor::middleware::NoOpMiddleware;
use governor::state::StateStore;
use governor::state::keyed::{DashMapStateStore, HashMapStateStore};
use governor::{Quota, RateLimiter};
use ratel::{COST_OF_RULE, Decision, Limiter, Request, Rules};
use std::num::NonZeroU32;
use std::time::Duration;

const BATCH: usize = 32;
/// 2023-11-14, an instant that stands still.
const NOW_NS: u64 = 1_700_000_000_000_000_000;

pub fn limiter(algorithm: &str, max_keys: usize) -> Limiter {
    let rule = format!("{{name: d, scope: user, algorithm: {algorithm}, limit: 2147483647, window: 1h}}");
    let text = format!("{{version: 1, max_keys: {}, default: {rule}}}", max_keys + max_keys / 4);
    Limiter::new(Rules::text(text, "rules")).expect("rules")
}

pub fn run(options: &Options) {
    check_answers();
    for count in [1, 1_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|&count| count <= options.max_keys) {
        println!("\n{count} keys, ns per decision            1 thread  2 threads  resident bytes per key");
        let keys = keys(count);
        for algorithm in ["token_bucket", "sliding_counter"] {
            let l = limiter(algorithm, count);
            row(options, &format!("ratel allow, {algorithm}"), &keys, |key| {
                l.allow(&Request::new("GET", "/").user(key)).expect("an answer").allowed()
            });
        }
        let l = limiter("token_bucket", count);
        let rule = l.rule_id("d").expect("the rule");
        row(options, "ratel allow_rule", &keys, |key| {
            l.allow_rule(rule, key, COST_OF_RULE).expect("an answer").allowed()
        });
        let l = limiter("token_bucket", count);
        let rule = l.rule_id("d").expect("the rule");
        row(options, "ratel allow, rule and time given", &keys, |key| {
            l.allow(&Request::for_rule(rule).key(key).at_ns(NOW_NS)).expect("an answer").allowed()
        });
        if count >= BATCH {
            batch(options, &keys);
        }
        let quota = Quota::per_second(NonZeroU32::MAX).allow_burst(NonZeroU32::MAX);
        let l = RateLimiter::dashmap(quota);
        governor(options, "governor DashMap", &keys, &l);
        let l = RateLimiter::hashmap(quota);
        governor(options, "governor HashMap (hashbrown)", &keys, &l);
        let clock = QuantaUpkeepClock::from_interval(Duration::from_millis(1)).expect("a clock");
        let l = RateLimiter::dashmap_with_clock(quota, clock);
        governor(options, "governor DashMap, upkeep clock", &keys, &l);
    }
}

fn governor<S, C>(
    options: &Options,
    name: &str,
    keys: &[String],
    limiter: &RateLimiter<String, S, C, NoOpMiddleware<C::Instant>>,
) where
    S: governor::state::keyed::KeyedStateStore<String> + StateStore<Key = String> + Sync,
    C: Clock + Sync,
{
    row(options, name, keys, |key| limiter.check_key(key).is_ok());
}

fn row(options: &Options, name: &str, keys: &[String], ask: impl Fn(&String) -> bool + Sync) {
    let before = resident_bytes();
    assert!(keys.iter().all(&ask), "denied");
    let grown = resident_bytes().saturating_sub(before) / keys.len();
    let of = |threads| time(options, keys.len(), threads, |at| usize::from(ask(&keys[at])));
    println!("{name:40} {:8.1} {:10.1} {grown:12}", of(1), of(2));
}

fn batch(options: &Options, keys: &[String]) {
    let l = limiter("token_bucket", keys.len());
    let ask = |at: usize| {
        let keys = &keys[at..(at + BATCH).min(keys.len())];
        let mut requests = [Request::default(); BATCH];
        let mut decisions = [Decision::EMPTY; BATCH];
        for (request, key) in requests.iter_mut().zip(keys) {
            *request = Request::new("GET", "/").user(key);
        }
        l.allow_many_into(&requests[..keys.len()], &mut decisions[..keys.len()]).expect("answers");
        decisions.iter().filter(|decision| decision.allowed()).count()
    };
    let mut at = 0;
    while at < keys.len() {
        at += ask(at);
    }
    let of = |threads| time(options, keys.len(), threads, ask);
    println!("{:40} {:8.1} {:10.1}", format!("ratel allow_many of {BATCH}, each"), of(1), of(2));
}

/// Both do limit, and to the same number.
fn check_answers() {
    let text = "{version: 1, default: {name: d, scope: user, algorithm: token_bucket, limit: 7, window: 1h}}";
    let l = Limiter::new(Rules::text(text, "rules")).expect("rules");
    let ours = (0..20).filter(|_| l.allow(&Request::new("GET", "/").user("a")).expect("an answer").allowed()).count();
    let quota =
        Quota::with_period(Duration::from_secs(514)).and_then(|quota| NonZeroU32::new(7).map(|n| quota.allow_burst(n)));
    let quota = quota.expect("a quota");
    let governor: RateLimiter<String, DashMapStateStore<String>, DefaultClock> = RateLimiter::dashmap(quota);
    let hashed: RateLimiter<String, HashMapStateStore<String>, DefaultClock> = RateLimiter::hashmap(quota);
    let key = "a".to_string();
    let theirs = (0..20).filter(|_| governor.check_key(&key).is_ok()).count();
    let others = (0..20).filter(|_| hashed.check_key(&key).is_ok()).count();
    assert_eq!((ours, theirs, others), (7, 7, 7));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        check_answers();
    }

    #[test]
    fn every_row_runs() {
        run(&Options { milliseconds: 1, max_keys: 1_000 });
    }
}
