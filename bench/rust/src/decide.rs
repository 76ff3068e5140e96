//! One decision for one of many keys: admissions, under a limit that is never reached, and denials.

use crate::measure::{Options, Report, Runner, asking, keys, resident_bytes};
use governor::clock::{DefaultClock, QuantaUpkeepClock};
use governor::state::keyed::{DashMapStateStore, HashMapStateStore};
use governor::{Quota, RateLimiter};
use ratel::{COST_OF_RULE, Decision, Limiter, Request, Rules};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

const BATCH: usize = 32;
/// 2023-11-14, an instant that stands still.
const NOW_NS: u64 = 1_700_000_000_000_000_000;

const COUNTS: [usize; 5] = [1, 1_000, 100_000, 1_000_000, 10_000_000];
const DENIED: usize = 1_000;
const PLENTY: u32 = 2_147_483_647;

pub fn limiter(algorithm: &str, max_keys: usize) -> Limiter {
    limiter_of(algorithm, max_keys, PLENTY)
}

fn limiter_of(algorithm: &str, max_keys: usize, limit: u32) -> Limiter {
    let rule = format!("{{name: d, scope: user, algorithm: {algorithm}, limit: {limit}, window: 1h}}");
    let text = format!("{{version: 1, max_keys: {}, default: {rule}}}", max_keys + max_keys / 4);
    Limiter::new(Rules::text(text, "rules")).expect("rules")
}

pub fn run(options: &Options, report: &mut Report) {
    check_answers();
    for count in COUNTS.into_iter().filter(|&count| count <= options.max_keys) {
        section(options, report, "allowed", count, PLENTY);
    }
    if DENIED <= options.max_keys {
        section(options, report, "denied", DENIED, 1);
    }
}

/// A section's candidates, all with the keys that they have been asked for.
struct Candidates<'a, 'r> {
    options: &'r Options,
    report: &'r mut Report,
    section: &'r str,
    keys: &'a [String],
    runners: Vec<Runner<'a>>,
}

impl<'a> Candidates<'a, '_> {
    /// `ask` decides on the keys from a place on, and says for how many, and how many of them were admitted.
    fn add(&mut self, name: &str, limit: u32, ask: impl Fn(usize) -> (usize, usize) + Sync + Clone + 'a) {
        if !self.options.wants(name) {
            return;
        }
        let before = resident_bytes();
        let mut at = 0;
        while at < self.keys.len() {
            at += ask(at).0;
        }
        let grown = resident_bytes().saturating_sub(before) / self.keys.len();
        for threads in [1, 2] {
            let row = self.report.row(self.section, name, self.keys.len(), threads);
            if self.keys.len() >= 1_000_000 {
                self.report.bytes_per_key(row, grown);
            }
            let ask = ask.clone();
            let expected = move |at| match ask(at) {
                (asked, admitted) if admitted == (if limit == PLENTY { asked } else { 0 }) => asked,
                _ => 0,
            };
            self.runners.push(Runner::new(row, asking(self.keys.len(), threads, expected)));
        }
    }
}

fn section(options: &Options, report: &mut Report, section: &str, count: usize, limit: u32) {
    let keys = keys(count);
    let keys = keys.as_slice();
    let mut all = Candidates { options, report, section, keys, runners: Vec::new() };
    for (name, algorithm) in [("ratel allow", "token_bucket"), ("ratel allow, sliding_counter", "sliding_counter")] {
        let l = limiter_of(algorithm, count, limit);
        all.add(name, limit, move |at| {
            (1, usize::from(l.allow(&Request::new("GET", "/").user(&keys[at])).expect("an answer").allowed()))
        });
    }
    let l = limiter_of("token_bucket", count, limit);
    let rule = l.rule_id("d").expect("the rule");
    all.add("ratel allow_rule", limit, move |at| {
        (1, usize::from(l.allow_rule(rule, &keys[at], COST_OF_RULE).expect("an answer").allowed()))
    });
    if limit == PLENTY {
        let l = limiter_of("token_bucket", count, limit);
        let rule = l.rule_id("d").expect("the rule");
        all.add("ratel allow, rule and time given", limit, move |at| {
            let request = Request::for_rule(rule).key(&keys[at]).at_ns(NOW_NS);
            (1, usize::from(l.allow(&request).expect("an answer").allowed()))
        });
    }
    if count >= BATCH {
        let l = limiter_of("token_bucket", count, limit);
        all.add(&format!("ratel allow_many of {BATCH}"), limit, move |at| {
            batch(&l, &keys[at..(at + BATCH).min(count)])
        });
    }
    let most = NonZeroU32::new(limit).expect("at least 1");
    let quota = if limit == PLENTY { Quota::per_second(most) } else { Quota::per_hour(most) };
    let l = Arc::new(RateLimiter::dashmap(quota));
    all.add("governor DashMap", limit, move |at| (1, usize::from(l.check_key(&keys[at]).is_ok())));
    let l = Arc::new(RateLimiter::hashmap(quota));
    all.add("governor HashMap (hashbrown)", limit, move |at| (1, usize::from(l.check_key(&keys[at]).is_ok())));
    let clock = QuantaUpkeepClock::from_interval(Duration::from_millis(1)).expect("a clock");
    let l = Arc::new(RateLimiter::dashmap_with_clock(quota, clock));
    all.add("governor DashMap, upkeep clock", limit, move |at| (1, usize::from(l.check_key(&keys[at]).is_ok())));
    let runners = all.runners;
    report.measure(options, runners);
}

fn batch(limiter: &Limiter, keys: &[String]) -> (usize, usize) {
    let mut requests = [Request::default(); BATCH];
    let mut decisions = [Decision::EMPTY; BATCH];
    for (request, key) in requests.iter_mut().zip(keys) {
        *request = Request::new("GET", "/").user(key);
    }
    let count = keys.len();
    limiter.allow_many_into(&requests[..count], &mut decisions[..count]).expect("answers");
    (count, decisions[..count].iter().filter(|decision| decision.allowed()).count())
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
        let options = Options { rounds: 1, block: 1, max_keys: 1_000, only: None };
        let mut report = Report::new(1);
        run(&options, &mut report);
        assert!(report.json().contains("\"section\": \"denied\""));
    }
}
