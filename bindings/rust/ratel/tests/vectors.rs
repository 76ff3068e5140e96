//! Replays tests/vectors field by field: on the embedded store, on a storage of the host's and on a Redis, with the
//! time as an argument and by a clock.
#![allow(missing_docs)]

mod support;

use ratel::*;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};
use support::{Instant, MapStorage, RedisServer, block_on, root};

type Object = Map<String, Value>;

/// One vector under way.
struct Replay<'a> {
    vector: &'a Object,
    redis: bool,
    by_clock: bool,
    base: u64,
    now: Instant,
    limiter: Limiter,
    decided: HashMap<usize, (Object, Option<Decision>)>,
}

/// A request of a vector, with its strings.
struct Form {
    strings: [Vec<u8>; 6],
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    rule: Option<RuleId>,
    cost: Option<i64>,
    now_ns: u64,
}

#[test]
fn embedded_store_time_by_argument() {
    replay_all(&Store::Embedded, false);
}

#[test]
fn embedded_store_time_by_clock() {
    replay_all(&Store::Embedded, true);
}

#[test]
fn host_storage_time_by_argument() {
    replay_all(&Store::Host, false);
}

#[test]
fn host_storage_time_by_clock() {
    replay_all(&Store::Host, true);
}

/// Through allow_async, which waits for the engine's own thread there.
#[test]
fn redis() {
    if !features().contains(Features::REDIS) {
        let rules = Rules::text("{version: 1, default: {name: d, action: unlimited}}", "r");
        let refused = Limiter::builder(rules).redis("redis://localhost").build();
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
        return;
    }
    let server = Store::Redis(RedisServer::start());
    replay_all(&server, false);
    replay_all(&server, true);
}

enum Store {
    Embedded,
    Host,
    Redis(RedisServer),
}

fn replay_all(store: &Store, by_clock: bool) {
    let mut wrong = Vec::new();
    let (mut files, mut steps) = (0, 0);
    for entry in std::fs::read_dir(root().join("tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".json") || name.ends_with(".schema.json") {
            continue;
        }
        files += 1;
        let document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for vector in document["vectors"].as_array().unwrap() {
            let (faults, count) = replay(vector.as_object().unwrap(), store, by_clock);
            wrong.extend(faults);
            steps += count;
        }
    }
    assert!(files >= 12 && steps > 1000, "{files} files, {steps} steps");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn replay(vector: &Object, store: &Store, by_clock: bool) -> (Vec<String>, usize) {
    let base = decimal(&vector["base"]);
    let now = Instant::default();
    now.set(base);
    let mut builder = Limiter::builder(rules_of(vector)).secret("0123456789abcdef");
    if by_clock {
        builder = builder.clock(now.clone());
    }
    builder = match store {
        Store::Embedded => builder,
        Store::Host => builder.storage(MapStorage { now: now.clone(), ..MapStorage::default() }),
        // One secret for each vector, so that they share no key. Keys are kept through a timeline that passes in no
        // time.
        Store::Redis(server) => {
            let secret = format!("{by_clock} {}, a secret of its own", vector["name"]);
            builder.secret(secret).redis(server.url("&time=caller&ttl_margin_ms=3600000"))
        }
    };
    let limiter = builder.build().unwrap_or_else(|error| panic!("{}: {error}", vector["name"]));
    let redis = matches!(store, Store::Redis(_));
    let mut replay = Replay { vector, redis, by_clock, base, now, limiter, decided: HashMap::new() };
    let steps = vector["steps"].as_array().unwrap();
    let mut wrong = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let faults = replay.step(i, step.as_object().unwrap());
        wrong.extend(faults.into_iter().map(|fault| format!("{}, step {i}: {fault}", vector["name"])));
    }
    (wrong, steps.len())
}

fn rules_of(holder: &Object) -> Rules {
    match holder.get("rules_text") {
        Some(text) => Rules::text(text.as_str().unwrap(), "vector"),
        None => Rules::text(holder["rules"].to_string(), "vector"),
    }
}

fn decimal(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// A string of a vector: as it stands, as hex, or repeated.
fn bytes(value: Option<&Value>) -> Vec<u8> {
    match value {
        None => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(Value::Object(form)) => match form.get("hex") {
            Some(digits) => {
                let digits = digits.as_str().unwrap();
                (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
            }
            None => form["repeat"].as_str().unwrap().repeat(form["times"].as_u64().unwrap() as usize).into_bytes(),
        },
        Some(other) => panic!("no string: {other}"),
    }
}

fn list(value: Option<&Value>) -> Vec<Vec<u8>> {
    value.map(|value| value.as_array().unwrap().iter().map(|one| bytes(Some(one))).collect()).unwrap_or_default()
}

fn merged(parts: [Option<&Value>; 2]) -> Object {
    parts.into_iter().flatten().flat_map(|part| part.as_object().unwrap().clone()).collect()
}

fn status_of<T>(result: &Result<T>) -> &'static str {
    result.as_ref().err().map_or("RL_OK", Error::name)
}

/// Compares every member that is expected.
fn differences(expected: &Object, told: &Value) -> Vec<String> {
    let wrong = expected.iter().filter(|(name, value)| told.get(name.as_str()).unwrap_or(&Value::Null) != *value);
    wrong.map(|(name, value)| format!("{name}: expected {value}, told {}", told[name])).collect()
}

impl Form {
    fn with<T>(&self, use_it: impl FnOnce(&Request<'_>) -> T) -> T {
        let [method, path, user, api_key, ip, key] = &self.strings;
        let attributes: Vec<_> = self.attributes.iter().map(|(name, value)| Attribute::new(name, value)).collect();
        let request = match self.rule {
            None => Request::new(method, path),
            Some(rule) => Request::for_rule(rule),
        };
        let request = request.user(user).api_key(api_key).ip(ip).key(key).attributes(&attributes);
        use_it(&request.cost(self.cost).at_ns(self.now_ns))
    }
}

impl Replay<'_> {
    fn form(&self, form: &Object) -> Form {
        let names = ["method", "path", "user", "api_key", "ip", "key"];
        let attributes = form.get("attributes").map(|value| value.as_array().unwrap().as_slice()).unwrap_or_default();
        Form {
            strings: names.map(|name| bytes(form.get(name))),
            attributes: attributes.iter().map(|one| (bytes(one.get("name")), bytes(one.get("value")))).collect(),
            rule: form.get("rule").map(|name| self.limiter.rule_id(name.as_str().unwrap()).unwrap()),
            cost: form.get("cost").map(|cost| cost.as_i64().unwrap()),
            now_ns: if self.by_clock { 0 } else { self.now.get() },
        }
    }

    fn told(&self, result: &Result<Decision>) -> Value {
        let d = result.as_ref().copied().unwrap_or(Decision::EMPTY);
        let ns = |time: Duration| time.as_nanos().to_string();
        json!({
            "status": status_of(result), "allowed": d.allowed(), "source": d.source().to_string(),
            "reason": d.reason().to_string(), "shadow_denied": d.shadow_denied(), "peeked": d.peeked(),
            "rule": d.rule().map_or("", |rule| self.limiter.rule_name(rule)),
            "limit_name": d.limit_id().map_or("", |limit| self.limiter.limit_name(limit)),
            "limit_count": d.limit_count(), "generation": d.generation(), "cost": d.cost(), "limit": d.limit(),
            "window_ns": ns(d.window()), "capacity": d.capacity(), "remaining": d.remaining(),
            "retry_after_ns": d.retry_after().map_or(u64::MAX.to_string(), ns), "reset_after_ns": ns(d.reset_after()),
            "delay_ns": ns(d.delay()),
        })
    }

    fn step(&mut self, i: usize, step: &Object) -> Vec<String> {
        self.now.set(self.base + decimal(&step["at"]));
        let expect = || step["expect"].as_object().unwrap();
        let of = || step["of"].as_u64().unwrap() as usize;
        match step["op"].as_str().unwrap() {
            "allow" => self.decide(i, step, false),
            "peek" => self.decide(i, step, true),
            "many" => self.many(step),
            "repeat" => self.repeat(step),
            "settle" => {
                let (form, decision) = &self.decided[&of()];
                let decision = decision.unwrap_or(Decision::EMPTY);
                let actual = step["actual"].as_i64().unwrap();
                let result = self.form(form).with(|request| self.limiter.settle(request, &decision, actual));
                differences(expect(), &self.told(&result))
            }
            "reset" => {
                let form = self.form(&merged([step.get("request"), None]));
                let result = form.with(|request| self.limiter.reset(request));
                differences(expect(), &json!({"status": status_of(&result)}))
            }
            "reload" => {
                let result = self.limiter.reload(rules_of(step));
                differences(expect(), &json!({"status": status_of(&result), "generation": self.limiter.generation()}))
            }
            "load" => {
                let result = Limiter::new(rules_of(step));
                let silent = result.as_ref().is_err_and(|error| error.faults().iter().any(|f| f.message.is_empty()));
                assert!(!silent, "refused without a message");
                differences(expect(), &json!({"status": status_of(&result)}))
            }
            "headers" => self.headers(step, of()),
            "problem" => self.problem(expect(), of()),
            "client_ip" => {
                let (peer, x_forwarded_for) = (bytes(step.get("peer")), list(step.get("x_forwarded_for")));
                let forwarded = list(step.get("forwarded"));
                let x_forwarded_for: Vec<&[u8]> = x_forwarded_for.iter().map(Vec::as_slice).collect();
                let forwarded: Vec<&[u8]> = forwarded.iter().map(Vec::as_slice).collect();
                let origin = Origin { peer: &peer, x_forwarded_for: &x_forwarded_for, forwarded: &forwarded };
                differences(expect(), &json!({"ip": self.limiter.client_ip(&origin).unwrap()}))
            }
            // Redis drops by itself what is as new, and does not count ours.
            "evict_idle" | "key_count" if self.redis => Vec::new(),
            "evict_idle" => {
                let cutoff = UNIX_EPOCH + Duration::from_nanos(self.base + decimal(&step["cutoff"]));
                differences(expect(), &json!({"evicted": self.limiter.evict_idle(Some(cutoff)).unwrap()}))
            }
            "key_count" => differences(expect(), &json!({"keys": self.limiter.key_count().unwrap()})),
            "metrics" => self.metrics(expect()),
            other => vec![format!("no such op: {other}")],
        }
    }

    /// By the clock, a request that is a rule and a key takes the short way.
    fn decide(&mut self, i: usize, step: &Object, peek: bool) -> Vec<String> {
        let defaults = self.vector.get("defaults");
        let form = merged([defaults.and_then(|defaults| defaults.get("request")), step.get("request")]);
        let asked = self.form(&form);
        let result = match asked.rule {
            _ if peek => asked.with(|request| self.limiter.peek(request)),
            Some(rule) if self.by_clock && form.contains_key("key") => {
                self.limiter.allow_rule(rule, &asked.strings[5], asked.cost)
            }
            _ if self.redis => asked.with(|request| block_on(self.limiter.allow_async(request))),
            _ => asked.with(|request| self.limiter.allow(request)),
        };
        self.decided.insert(i, (form, result.as_ref().ok().copied()));
        let own = step.get("expect");
        let stands_alone = own.and_then(|own| own.get("status")).is_some_and(|status| status != "RL_OK");
        let shared = defaults.and_then(|defaults| defaults.get("expect")).filter(|_| !stands_alone);
        differences(&merged([shared, own]), &self.told(&result))
    }

    fn many(&self, step: &Object) -> Vec<String> {
        let forms: Vec<Form> =
            step["requests"].as_array().unwrap().iter().map(|form| self.form(form.as_object().unwrap())).collect();
        let attributes: Vec<Vec<Attribute>> = forms
            .iter()
            .map(|form| form.attributes.iter().map(|(name, value)| Attribute::new(name, value)).collect())
            .collect();
        let requests: Vec<Request> = forms
            .iter()
            .zip(&attributes)
            .map(|(form, attributes)| {
                let [method, path, user, api_key, ip, key] = &form.strings;
                let request = form.rule.map_or(Request::new(method, path), Request::for_rule);
                let request = request.user(user).api_key(api_key).ip(ip).key(key).attributes(attributes);
                request.cost(form.cost).at_ns(form.now_ns)
            })
            .collect();
        let decisions = self.limiter.allow_many(&requests).unwrap();
        let expected = step["expect"].as_array().unwrap();
        assert_eq!(expected.len(), decisions.len());
        let results = decisions.into_iter().map(|decision| decision.answered().map(|()| decision));
        results
            .zip(expected)
            .flat_map(|(result, expected)| differences(expected.as_object().unwrap(), &self.told(&result)))
            .collect()
    }

    fn repeat(&self, step: &Object) -> Vec<String> {
        let mut allowed = 0;
        for _ in 0..step["times"].as_u64().unwrap() {
            let form = self.form(step["request"].as_object().unwrap());
            allowed += u64::from(form.with(|request| self.limiter.allow(request)).unwrap().allowed());
            self.now.set(self.now.get() + decimal(&step["every"]));
        }
        differences(step["expect"].as_object().unwrap(), &json!({"allowed_count": allowed}))
    }

    fn headers(&self, step: &Object, of: usize) -> Vec<String> {
        let mut fields = HeaderFields::default();
        for name in list(step.get("forms")) {
            fields = fields
                | match name.as_slice() {
                    b"x" => HeaderFields::X,
                    b"reset_delta" => HeaderFields::RESET_DELTA,
                    b"retry_after" => HeaderFields::RETRY_AFTER,
                    b"draft_11" => HeaderFields::DRAFT_11,
                    b"draft_8" => HeaderFields::DRAFT_8,
                    b"draft_7" => HeaderFields::DRAFT_7,
                    b"draft_6" => HeaderFields::DRAFT_6,
                    b"none" => HeaderFields::NONE,
                    other => panic!("{other:?}"),
                };
        }
        let told = self.limiter.headers(&self.decided[&of].1.unwrap(), fields).unwrap();
        let lines = list(step["expect"].get("lines"));
        let expected: String = lines.iter().map(|line| String::from_utf8_lossy(line) + "\r\n").collect();
        if told == expected { Vec::new() } else { vec![format!("expected\n{expected}told\n{told}")] }
    }

    fn problem(&self, expect: &Object, of: usize) -> Vec<String> {
        let result = self.limiter.problem(&self.decided[&of].1.unwrap());
        let status = &expect["status_name"];
        if status_of(&result) != status {
            return vec![format!("expected {status}, told {}", status_of(&result))];
        }
        let Ok(body) = result else { return Vec::new() };
        differences(expect["members"].as_object().unwrap(), &serde_json::from_str(&body).unwrap())
    }

    fn metrics(&self, expect: &Object) -> Vec<String> {
        let m = self.limiter.metrics().unwrap();
        let totals = json!({
            "requests": m.requests, "allowed": m.allowed, "denied": m.denied, "never_fits": m.never_fits,
            "blocked": m.blocked, "shadow_denied": m.shadow_denied, "no_rule": m.no_rule,
            "unknown_client": m.unknown_client,
        });
        let mut wrong = differences(&merged([expect.get("totals"), None]), &totals);
        for (name, expected) in merged([expect.get("rules"), None]) {
            let m = self.limiter.rule_metrics(self.limiter.rule_id(&name).unwrap()).unwrap();
            let told = json!({
                "allowed": m.allowed, "denied": m.denied, "never_fits": m.never_fits, "shadow_denied": m.shadow_denied,
                "cost_allowed": m.cost_allowed,
            });
            wrong.extend(differences(expected.as_object().unwrap(), &told));
        }
        wrong
    }
}
