//! What the wrapper adds to a call of C. Both ask the same limiter in turns, so that what disturbs one disturbs the
//! other.

use crate::decide::limiter;
use crate::measure::Options;
use ratel::{Limiter, Request, Rules};
use ratel_sys as sys;
use std::hint::black_box;
use std::ptr::null_mut;
use std::time::Instant;

const CALLS: u32 = 2000;

/// The same rules as [`limiter`] makes, by C alone.
struct Registry(*mut sys::rl_registry);

fn lend(text: &str) -> sys::rl_str {
    sys::rl_str { data: text.as_ptr().cast(), size: text.len() as u64 }
}

impl Registry {
    fn new(rules: &str) -> Self {
        let (mut config, mut registry) = (null_mut(), null_mut());
        // SAFETY: as rl.h says; all pointers are to what lives.
        unsafe {
            assert_eq!(sys::rl_config_create(&mut config, null_mut()), sys::RL_OK);
            assert_eq!(sys::rl_config_load_text(config, lend(rules), lend("rules"), null_mut()), sys::RL_OK);
            assert_eq!(sys::rl_registry_create(config, &mut registry, null_mut()), sys::RL_OK);
            sys::rl_config_destroy(config);
        }
        Self(registry)
    }

    fn allow(&self, user: &str) -> bool {
        let request =
            sys::rl_request { method: lend("GET"), path: lend("/"), user: lend(user), ..sys::rl_request::INIT };
        let mut out = sys::rl_decision::INIT;
        // SAFETY: as above.
        let status = unsafe { sys::rl_allow(self.0, &request, &mut out, null_mut()) };
        status == sys::RL_OK && out.allowed == 1
    }

    fn allow_rule(&self, rule: u32, key: &str) -> bool {
        let mut out = sys::rl_decision::INIT;
        // SAFETY: as above.
        let status = unsafe { sys::rl_allow_rule(self.0, rule, key.as_ptr().cast(), key.len() as u64, 1, 0, &mut out) };
        status == sys::RL_OK && out.allowed == 1
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { sys::rl_registry_destroy(self.0) }
    }
}

pub fn run(options: &Options) {
    let text = "{version: 1, max_keys: 1, default: {name: d, scope: user, algorithm: token_bucket, limit: 2147483647, window: 1h}}";
    let c = Registry::new(text);
    let l = limiter("token_bucket", 1);
    let rule = l.rule_id("d").expect("the rule");
    let other = Limiter::new(Rules::text(text, "rules")).expect("rules");
    println!("\nthe wrapper, ns per call of one key            C       Rust  difference of medians");
    let request = |key: &str| other.allow(&Request::new("GET", "/").user(key)).expect("an answer").allowed();
    compare(options, "allow", |key| c.allow(key), request);
    let by_rule = |key: &str| l.allow_rule(rule, key, 1).expect("an answer").allowed();
    compare(options, "allow_rule", |key| c.allow_rule(1, key), by_rule);
}

fn compare(options: &Options, name: &str, c: impl Fn(&str) -> bool, rust: impl Fn(&str) -> bool) {
    let block = |ask: &dyn Fn() -> bool| {
        let begin = Instant::now();
        assert!(ask(), "denied");
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let c_block = || (0..CALLS).all(|_| c(black_box("alice")));
    let rust_block = || (0..CALLS).all(|_| rust(black_box("alice")));
    let (mut of_c, mut of_rust) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while begin.elapsed().as_millis() < u128::from(options.milliseconds) * 2 {
        of_c.push(block(&c_block));
        of_rust.push(block(&rust_block));
    }
    let median = |of: &mut Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    let (of_c, of_rust) = (median(&mut of_c), median(&mut of_rust));
    println!("{name:40} {of_c:8.1} {of_rust:10.1} {:8.1}", of_rust - of_c);
}

#[cfg(test)]
#[test]
fn every_row_runs() {
    run(&Options { milliseconds: 1, max_keys: 1 });
}
