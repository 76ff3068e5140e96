//! What the wrapper adds to a call of C. Both ask the same limiter in turns, so that what disturbs one disturbs the
//! other.

use crate::decide::limiter;
use crate::measure::{Options, Report, Runner, asking};
use ratel::{Limiter, Request, Rules};
use ratel_sys as sys;
use std::ptr::null_mut;

/// The same rules as [`limiter`] makes, by C alone.
struct Registry(*mut sys::rl_registry);

fn lend(text: &str) -> sys::rl_str {
    sys::rl_str { data: text.as_ptr().cast(), size: text.len() as u64 }
}

// SAFETY: rl.h lets any thread use a registry.
unsafe impl Sync for Registry {}

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

pub fn run(options: &Options, report: &mut Report) {
    let text = "{version: 1, max_keys: 1, default: {name: d, scope: user, algorithm: token_bucket, limit: 2147483647, window: 1h}}";
    let (c, other) = (Registry::new(text), Registry::new(text));
    let (l, m) = (limiter("token_bucket", 1), Limiter::new(Rules::text(text, "rules")).expect("rules"));
    let rule = l.rule_id("d").expect("the rule");
    let key = "alice";
    let mut runners = Vec::new();
    let mut add = |name: &str, ask: Box<dyn Fn() -> bool + Sync>| {
        if options.wants(name) {
            let row = report.row("wrapper", name, 1, 1);
            runners.push(Runner::new(row, asking(1, 1, move |_| usize::from(ask()))));
        }
    };
    add("rl_allow", Box::new(move || c.allow(key)));
    add(
        "ratel allow",
        Box::new(move || m.allow(&Request::new("GET", "/").user(key)).is_ok_and(|decision| decision.allowed())),
    );
    add("rl_allow_rule", Box::new(move || other.allow_rule(1, key)));
    add("ratel allow_rule", Box::new(move || l.allow_rule(rule, key, 1).is_ok_and(|decision| decision.allowed())));
    report.measure(options, runners);
}

#[cfg(test)]
#[test]
fn every_row_runs() {
    run(&Options { rounds: 1, block: 1, max_keys: 1, only: None }, &mut Report::new(1));
}
