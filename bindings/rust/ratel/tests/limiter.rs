//! The safe API: decisions, errors, reloads, texts, and what is refused.
#![allow(missing_docs)]

mod support;

use ratel::*;
use std::error::Error as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::*;

const DAY: Duration = Duration::from_secs(86400);

macro_rules! assert_error {
    ($result:expr, $pattern:pat) => {
        match $result {
            Err($pattern) => {}
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn decides() {
    let l = limiter();
    let alice = orders("alice");
    for left in (0..5).rev() {
        let d = allow(&l, &alice);
        assert!(d.allowed() && d.remaining() == left && d.window() == 5 * DAY && d.limit() == 5, "{d:?}");
        assert_eq!((d.source(), d.reason(), d.retry_after()), (Source::Exact, Reason::None, Some(Duration::ZERO)));
    }
    let d = allow(&l, &alice);
    assert!(!d.allowed() && d.reason() == Reason::Limited, "{d:?}");
    let wait = d.retry_after().unwrap();
    assert!(wait > DAY - Duration::from_secs(600) && wait <= DAY, "{wait:?}");
    assert_eq!(l.rule_name(d.rule().unwrap()), "orders");
    assert!(SystemTime::now().duration_since(d.time()).unwrap() < Duration::from_secs(60));
    let d = l.allow_n(&orders("bob"), 6).unwrap();
    assert_eq!((d.reason(), d.retry_after()), (Reason::NeverFits, None));
    l.reset(&alice).unwrap();
    assert!(allow(&l, &alice).allowed());
    assert_eq!(l.allow_rule(l.rule_id("orders").unwrap(), "carol", 2).unwrap().remaining(), 3);
    let d = l.peek(&orders("carol")).unwrap();
    assert!(d.peeked() && d.remaining() == 3, "{d:?}");
}

#[test]
fn a_clone_is_the_same_limiter() {
    let l = limiter();
    let other = l.clone();
    let _ = allow(&l, &orders("alice"));
    drop(l);
    assert_eq!(allow(&other, &orders("alice")).remaining(), 3);
}

#[test]
fn attributes() {
    let l = limiter();
    let long = "x".repeat(2000);
    for (i, want) in [true, true, false].into_iter().enumerate() {
        let mut attributes = vec![Attribute::new("plan", "pro")];
        attributes.resize(1 + i * 31, Attribute::new("other", &long));
        assert_eq!(allow(&l, &Request::new("GET", "/plans").attributes(&attributes)).allowed(), want);
    }
    let none = [Attribute::new("plan", "")];
    assert!(allow(&l, &Request::new("GET", "/plans").attributes(&none)).allowed(), "a plan of its own");
    let many = vec![Attribute::new("plan", "pro"); 65];
    assert_error!(l.allow(&Request::new("GET", "/plans").attributes(&many)), Error::InvalidArgument(_));
}

#[test]
fn many_at_once() {
    for l in [limiter(), builder().storage(MapStorage::default()).build().unwrap()] {
        let plan = [Attribute::new("plan", "pro")];
        let requests = [
            orders("a").cost(4),
            orders("a").cost(-1),
            orders("a").cost(2),
            Request::new("GET", "/plans").attributes(&plan),
        ];
        let decisions = l.allow_many(&requests).unwrap();
        assert_error!(decisions[1].answered(), Error::InvalidArgument(_));
        assert!(decisions[0].allowed() && !decisions[1].allowed() && !decisions[2].allowed() && decisions[3].allowed());
        assert!(decisions[2].answered().is_ok());
        assert_eq!(decisions[0].time_ns(), decisions[2].time_ns(), "one instant");
        assert!(l.allow_many(&[]).unwrap().is_empty());
        let mut room = [Decision::EMPTY; 3];
        assert_error!(l.allow_many_into(&requests, &mut room), Error::InvalidArgument(_));
        assert!(!Decision::EMPTY.allowed() && Decision::EMPTY.answered().is_err());
    }
}

#[test]
fn each_of_many_says_why() {
    let l = limiter();
    let attributes = [Attribute::new("a", "b"); 65];
    let requests = [
        orders("a"),
        orders("a").cost(-3),
        orders("a").cost(i64::MIN),
        orders("a").key("k"),
        Request::for_rule(RuleId::new(4711)).key("k"),
        orders("a").at(UNIX_EPOCH - DAY),
        orders("a").attributes(&attributes),
    ];
    let before = l.metrics().unwrap().requests;
    let decisions = l.allow_many(&requests).unwrap();
    let told = [
        "",
        "cost is -3: at least 1",
        "cost is below -9223372036854775806: it has to be at least 1",
        "key goes with request.rule",
        "no rule in force has the id 4711",
        "the instant lies before 1970",
        "65, more than 64",
    ];
    assert!(l.refusal(&requests[0], &decisions[0]).is_none());
    for i in 1..requests.len() {
        let error = l.refusal(&requests[i], &decisions[i]).unwrap();
        assert!(error.to_string().contains(told[i]), "{i}: {error}");
    }
    assert_eq!(l.metrics().unwrap().requests - before, 1);
    let error = l.allow_rule(RuleId::new(4711), "k", 1).unwrap_err();
    assert_eq!(error.to_string(), "no rule in force has the id 4711");
    let error = l.allow_rule(l.rule_id("orders").unwrap(), "k", -7).unwrap_err();
    assert!(error.to_string().contains("cost is -7: at least 1"), "{error}");
    let error = l.allow_n(&orders("a"), i64::MIN).unwrap_err();
    assert!(error.to_string().contains("cost is below"), "{error}");
    let error = l.evict_idle(Some(UNIX_EPOCH - DAY)).unwrap_err();
    assert!(error.to_string().contains("cutoff"), "{error}");
    let error = l.watch("x", std::time::Duration::from_micros(10)).unwrap_err();
    assert!(error.to_string().contains("every is 10µs"), "{error}");
}

#[test]
fn settles() {
    let l = limiter();
    let request = orders("alice").cost(4);
    let d = allow(&l, &request);
    assert_eq!(l.settle(&request, &d, 1).unwrap().remaining(), 4);
    assert_error!(l.settle(&request, &d, -1), Error::InvalidArgument(_));
    assert_error!(l.settle(&request, &Decision::EMPTY, 1), Error::InvalidArgument(_));
    let peeked = l.peek(&request).unwrap();
    assert_error!(l.settle(&request, &peeked, 1), Error::InvalidArgument(_));
    let denied = l.allow_n(&request, 9).unwrap();
    assert_error!(l.settle(&request, &denied, 1), Error::InvalidArgument(_));
}

#[test]
fn waits() {
    let l = limiter();
    let start = Instant::now();
    let fast = Request::new("GET", "/fast").user("a");
    for _ in 0..3 {
        assert!(l.wait(&fast, None).unwrap().allowed());
    }
    for _ in 0..3 {
        assert!(l.wait(&Request::new("GET", "/shaped"), Some(Duration::from_secs(60))).unwrap().allowed());
    }
    assert!(start.elapsed() >= Duration::from_millis(80), "two refills and two delays");
    assert_error!(l.wait(&Request::new("GET", "/internal"), None), Error::Denied(_));
    let never = l.wait(&fast.cost(2), None).unwrap_err();
    assert_eq!(never.to_string(), "denied: the cost is above the capacity");
    assert_error!(l.wait(&fast.at(SystemTime::now()), None), Error::InvalidArgument(_));
}

#[test]
fn a_wait_that_is_too_long_ends_at_once() {
    let l = limiter();
    let soon = Some(Duration::from_secs(1200));
    let alice = orders("alice").cost(5);
    let _ = allow(&l, &alice);
    match l.wait(&alice, soon) {
        Err(Error::TooLong(d)) => assert!(d.retry_after().unwrap() > Duration::from_secs(1200)),
        other => panic!("{other:?}"),
    }
    let hours = Request::new("GET", "/hours");
    let _ = allow(&l, &hours);
    assert_error!(l.wait(&hours, soon), Error::TooLong(_));
    assert_eq!(allow(&l, &hours).remaining(), 1, "what nobody waited for is given back");
}

#[test]
fn rules_in_code() {
    let limits = vec![
        Limit {
            name: "mine".into(),
            overrides: vec![Override { value: "vip".into(), limit: 40, ..Override::default() }],
            ..Limit::new(Algorithm::SlidingCounter, "user", 4, Duration::from_secs(3600))
        },
        Limit { burst: 10, ..Limit::new(Algorithm::TokenBucket, "global", 100, Duration::from_secs(1)) },
    ];
    let api = Rule {
        name: "api".into(),
        method: "GET".into(),
        path: "/api".into(),
        path_match: PathMatch::Exact,
        on_store_error: OnStoreError::Open,
        cost: 2,
        local_tier: LocalTier::Denials,
        when: vec![("plan".into(), "pro".into()), ("region".into(), "eu".into())],
        limits,
        ..Rule::default()
    };
    let rest = Rule { name: "rest".into(), is_default: true, action: Action::Block, ..Rule::default() };
    let l = Limiter::new(Rules::list([api, rest])).unwrap();
    let facts = [Attribute::new("region", "eu"), Attribute::new("plan", "pro")];
    let d = allow(&l, &Request::new("GET", "/api").user("u").attributes(&facts));
    assert_eq!((d.cost(), d.remaining(), d.limit_count()), (2, 2, 2));
    assert_eq!(l.limit_name(d.limit_id().unwrap()), "mine");
    assert_eq!(d.window(), Duration::from_secs(3600));
    assert_eq!(allow(&l, &Request::new("GET", "/api").user("vip").attributes(&facts)).limit_count(), 2);
    assert_eq!(l.peek(&Request::new("GET", "/api").user("vip").attributes(&facts)).unwrap().limit(), 100);
    let told = l.explain(&Request::new("GET", "/api").user("u").attributes(&facts), TextForm::Lines).unwrap();
    assert!(told.contains("local tier denials"), "{told}");
    let d = allow(&l, &Request::new("GET", "/api/x").user("u"));
    assert_eq!(d.reason(), Reason::Blocked);
    let names: Vec<_> = l.rules().into_iter().map(|rule| l.rule_name(rule).to_string()).collect();
    assert_eq!(names, ["api", "rest"]);

    let bad = |limit| Limiter::new(Rule { name: "bad".into(), limits: vec![limit], ..Rule::default() });
    let window = Limit::new(Algorithm::FixedWindow, "user", 1, Duration::from_secs(1));
    match bad(Limit { burst: 3, ..window.clone() }) {
        Err(Error::Config(faults)) => {
            assert_eq!((faults[0].file.as_str(), faults[0].line), ("<rule>", 0));
            assert!(!faults[0].path.is_empty() && !faults[0].message.is_empty(), "{faults:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_error!(bad(Limit { window: Duration::MAX, ..window.clone() }), Error::Config(_));
    assert_error!(bad(Limit { limit: 0, ..window }), Error::Config(_));
    assert_error!(Limiter::new(Rules::list([])), Error::Config(_));
}

#[test]
fn faults_tell_their_place() {
    let text =
        "version: 1\nrules:\n  - name: a\n    limit: 0\n    window: 1x\n    scope: user\n    algorithm: token_bucket\n";
    let error = Limiter::new(Rules::text(text, "mine.yaml")).unwrap_err();
    let faults = error.faults();
    assert_eq!(faults.len(), 2, "{error}");
    assert_eq!((faults[0].file.as_str(), faults[0].line), ("mine.yaml", 4));
    assert!(faults[0].column > 0);
    assert_eq!(faults[1].line, 5);
    assert!(!faults[1].message.is_empty() && faults[1].path.contains("window"), "{faults:?}");
    assert!(error.to_string().starts_with("mine.yaml:4:"), "{error}");
    assert!(error.to_string().ends_with("(and 1 more)"), "{error}");
    assert_eq!(error.name(), "RL_E_CONFIG");
    let error = Limiter::new(Rules::file("no/such/file.yaml")).unwrap_err();
    assert_eq!(error.name(), "RL_E_IO");
    assert!(error.to_string().starts_with("no/such/file.yaml: "), "{error}");
    assert_error!(Limiter::new(Rules::file("nul\0inside")), Error::InvalidArgument(_));
}

#[test]
fn reloads_and_watches() {
    let folder = TempDir::new();
    let file = folder.join("rules.yaml");
    std::fs::write(&file, RULES).unwrap();
    let messages = Messages::default();
    let l = Limiter::builder(Rules::file(&file)).log(messages.write()).build().unwrap();
    let alice = orders("alice");
    let _ = allow(&l, &alice);
    l.reload(Rules::text(RULES.replace("limit: 5", "limit: 7"), "x")).unwrap();
    assert_eq!(l.generation(), 2);
    let d = allow(&l, &alice);
    assert_eq!((d.limit(), d.remaining()), (7, 3));
    assert_error!(l.reload(Rules::text("version: 2", "x")), Error::Config(_));
    assert_error!(l.reload(Rules::default()), Error::Config(_));
    assert!(l.diff(Rules::file(&file), TextForm::Lines).unwrap().contains("orders"));
    assert!(l.diff(Rules::file(&file), TextForm::Json).unwrap().starts_with(['{', '[']));
    l.reload_file(&file).unwrap();
    assert_eq!(l.generation(), 3);
    assert_error!(l.reload_file(folder.join("no")), Error::Io(_));
    assert_error!(l.watch(&file, Duration::from_nanos(1)), Error::InvalidArgument(_));
    assert_error!(l.watch(&file, Duration::MAX), Error::InvalidArgument(_));
    assert_error!(l.watch("", Duration::ZERO), Error::InvalidArgument(_));
    l.watch(&file, Duration::from_millis(10)).unwrap();
    let before = l.generation();
    std::fs::write(&file, RULES.replace("limit: 5", "limit: 9")).unwrap();
    eventually("the change", || l.generation() > before && l.peek(&alice).unwrap().limit() == 9);
    std::fs::write(&file, "rules: nonsense").unwrap();
    eventually("a refusal", || l.metrics().unwrap().reload_failures > 0 && messages.text().contains("rules.yaml"));
    l.unwatch().unwrap();
}

#[test]
fn tells() {
    let l = limiter();
    let request = orders("alice");
    let d = allow(&l, &request);
    let lines = l.headers(&d, HeaderFields::X | HeaderFields::RESET_DELTA).unwrap();
    assert!(lines.starts_with("X-RateLimit-Limit: 5\r\n"), "{lines}");
    let mut out = b"before".to_vec();
    l.headers_into(&d, HeaderFields::DRAFT_11, &mut out).unwrap();
    assert!(out.starts_with(b"beforeRateLimit-Policy: "));
    assert_eq!(l.headers(&d, HeaderFields::NONE).unwrap(), "");
    assert_error!(l.headers(&d, HeaderFields::DRAFT_11 | HeaderFields::DRAFT_6), Error::InvalidArgument(_));
    assert_error!(l.headers(&Decision::EMPTY, HeaderFields::default()), Error::InvalidArgument(_));
    assert_error!(l.problem(&d), Error::InvalidArgument(_));
    let denied = l.allow_n(&request, 9).unwrap();
    assert!(l.problem(&denied).unwrap().contains("\"never_fits\""));
    assert!(l.explain(&request, TextForm::Lines).unwrap().contains("orders"));
    let long = format!("/{}", "a/".repeat(3000));
    assert!(l.explain(&Request::new("GET", &long), TextForm::Json).unwrap().starts_with('{'));
    assert!(l.prometheus().unwrap().contains("\nratel_allowed_total 1\n"));
    let m = l.metrics().unwrap();
    assert_eq!((m.requests, m.allowed, m.denied, m.never_fits, m.keys), (2, 1, 1, 1, 1));
    assert_eq!(l.rule_metrics(d.rule().unwrap()).unwrap().cost_allowed, 1);
    assert_error!(l.rule_metrics(RuleId::new(4711)), Error::NotFound(_));
    assert_eq!(l.key_count().unwrap(), 1);
    assert_eq!(l.evict_idle(None).unwrap(), 0);
    assert_eq!(l.rule_name(RuleId::new(4711)), "");
    assert_eq!(l.limit_name(LimitId::new(4711)), "");
}

#[test]
fn the_client_s_address() {
    let l = limiter();
    let peer = |peer| Origin { peer, ..Origin::default() };
    let forged = Origin { x_forwarded_for: &[b"1.1.1.1"], ..peer(b"[::ffff:192.0.2.1]:80") };
    assert_eq!(l.client_ip(&forged).unwrap(), "192.0.2.1");
    let lines = [&b""[..]; 100];
    let nobody = Origin { x_forwarded_for: &lines, forwarded: &lines, ..peer(b"nowhere") };
    assert_eq!(l.client_ip(&nobody).unwrap(), "");
    let behind = "{version: 1, trusted_proxies: [10.0.0.0/8], default: {name: d, scope: ip, algorithm: token_bucket, limit: 1, window: 1d}}";
    let l = Limiter::new(Rules::text(behind, "r")).unwrap();
    let mut lines = vec![&b"203.0.113.9"[..]];
    lines.extend([&b"10.0.0.1"[..]; 40]);
    assert_eq!(l.client_ip(&Origin { x_forwarded_for: &lines, ..peer(b"10.0.0.2") }).unwrap(), "203.0.113.9");
}

#[test]
fn one_call_for_http() {
    let text = "{version: 1, trusted_proxies: [10.0.0.0/8], headers: {x_ratelimit: true, reset: delta}, default: {name: d, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}}";
    let l = Limiter::new(Rules::text(text, "r")).unwrap();
    let origin = Origin { peer: b"10.0.0.1", x_forwarded_for: &[b"203.0.113.9"], forwarded: &[] };
    let mut fields = b"before\r\n".to_vec();
    let d = l.allow_http(&Request::new("GET", "/"), &origin, HeaderFields::default(), &mut fields).unwrap();
    let fields = String::from_utf8(fields).unwrap();
    assert!(d.allowed() && fields.starts_with("before\r\nX-RateLimit-Limit: 2\r\n"), "{fields}");
    assert_eq!(l.peek(&Request::new("GET", "/").ip("203.0.113.9")).unwrap().remaining(), 1);
    let mut out = Vec::new();
    let _ = l.allow_http(&Request::new("GET", "/").ip("192.0.2.1"), &origin, HeaderFields::NONE, &mut out).unwrap();
    assert!(out.is_empty());
    assert_eq!(l.peek(&Request::new("GET", "/").ip("192.0.2.1")).unwrap().remaining(), 1);
    let refused = l.allow_http(&Request::new("GET", "/").cost(0), &origin, HeaderFields::default(), &mut out);
    assert_error!(refused, Error::InvalidArgument(_));
}

#[test]
fn a_cost_that_is_not_stated_is_the_rules() {
    let rule = Rule {
        name: "twos".into(),
        path: "/".into(),
        cost: 2,
        limits: vec![Limit::new(Algorithm::TokenBucket, "user", 10, DAY)],
        ..Rule::default()
    };
    let l = Limiter::new(rule).unwrap();
    let id = l.rule_id("twos").unwrap();
    let a = Request::new("GET", "/").user("a");
    for (i, (result, cost)) in [
        (l.allow(&a), 2),
        (l.allow(&a.cost(3).cost(None)), 2),
        (l.allow(&a.cost(COST_OF_RULE)), 2),
        (l.allow(&a.cost(3)), 3),
        (l.allow_n(&a.cost(None), 1), 1),
        (l.allow_rule(id, "k", COST_OF_RULE), 2),
        (l.allow_rule(id, "k", None), 2),
        (l.allow_rule(id, "k", 3), 3),
    ]
    .into_iter()
    .enumerate()
    {
        let d = result.unwrap();
        assert!(d.allowed() && d.cost() == cost, "{i}: {d:?}");
    }
    assert!(format!("{a:?}").contains("cost: None") && format!("{:?}", a.cost(3)).contains("cost: Some(3)"));
}

#[test]
fn bad_arguments() {
    let l = limiter();
    let rule = l.rule_id("orders").unwrap();
    let a = orders("a");
    for (i, result) in [
        l.allow_n(&a, 0),
        l.allow_n(&a, -1),
        l.allow(&a.cost(i64::MIN + 1)),
        l.allow_rule(rule, "k", 0),
        l.allow(&a.at(UNIX_EPOCH - DAY)),
        l.allow(&a.at(UNIX_EPOCH)),
        l.allow(&a.at(UNIX_EPOCH + 365 * 1000 * DAY)),
        l.allow(&a.at_ns(u64::MAX)),
        l.allow(&a.key("k")),
        l.wait(&a.cost(0), None),
        l.allow_n(&a, i64::MIN),
        l.allow(&a.cost(i64::MIN)),
        l.allow(&a.cost(Some(i64::MIN))),
        l.peek(&a.cost(i64::MIN)),
        l.wait(&a.cost(i64::MIN), None),
        l.allow_rule(rule, "k", i64::MIN),
        l.allow_rule(rule, "k", Some(i64::MIN)),
        l.allow_many(&[a.cost(i64::MIN)]).and_then(|all| all[0].answered().map(|()| all[0])),
        l.allow_http(&a.cost(i64::MIN), &Origin::default(), HeaderFields::default(), &mut Vec::new()),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(matches!(result, Err(Error::InvalidArgument(_))), "{i}: {result:?}");
    }
    assert_error!(builder().secret("short").build(), Error::InvalidArgument(_));
    assert_error!(l.allow(&Request::for_rule(RuleId::new(4711)).key("k")), Error::NotFound(_));
    assert_error!(l.allow_rule(RuleId::new(4711), "k", 1), Error::NotFound(_));
    assert_error!(l.rule_id("no such"), Error::NotFound(_));
    assert_error!(Limiter::new(Rules::text("", "")), Error::Config(_));
    assert!(builder().redis("http://localhost").build().is_err(), "no Redis, or no URL of one");
    let error = l.allow(&a.cost(0)).unwrap_err();
    assert!(error.to_string().contains("cost") && error.source().is_none(), "{error}");
    let huge = "k".repeat(10 << 20);
    for text in [&b"\xff\xfe"[..], b"a\0b", b"", huge.as_bytes(), b"\xed\xa0\x80"] {
        let path = [b"/orders/", text].concat();
        let facts = [Attribute::new(text, text)];
        let request = Request::new(text, &path).user(text).api_key(text).ip(text).attributes(&facts);
        assert_eq!(allow(&l, &request).rule(), Some(rule));
        assert!(l.allow_rule(rule, [b"key", text].concat(), 1).unwrap().allowed());
        assert!(!format!("{request:?}").is_empty());
    }
    assert!(allow(&l, &Request::default()).allowed());
}

/// Exactly the limit, over reloads, with every other call going on meanwhile.
#[test]
fn threads() {
    let l = limiter();
    let allowed = AtomicU64::new(0);
    let deciding = AtomicUsize::new(4);
    let start = Barrier::new(9);
    let others: [Box<dyn Fn() + Send + '_>; 5] = [
        Box::new(|| {
            l.reload(Rules::text(RULES, "x")).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }),
        Box::new(|| drop((l.metrics().unwrap(), l.prometheus().unwrap()))),
        Box::new(|| assert_eq!(l.peek(&orders("alice")).unwrap().limit(), 5)),
        Box::new(|| assert!(l.evict_idle(None).unwrap() + l.key_count().unwrap() <= 1)),
        Box::new(|| drop(l.diff(Rules::text(RULES, "x"), TextForm::Lines).unwrap())),
    ];
    std::thread::scope(|scope| {
        for work in others {
            let (start, deciding) = (&start, &deciding);
            scope.spawn(move || {
                start.wait();
                while deciding.load(Ordering::SeqCst) > 0 {
                    work();
                }
            });
        }
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..2000 {
                    allowed.fetch_add(allow(&l, &orders("alice")).allowed().into(), Ordering::SeqCst);
                }
                deciding.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(allowed.into_inner(), 5);
}

/// What the host supplied ends with the limiter, and once.
#[test]
fn ends_what_it_was_given() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let make = |rules: &str| {
        let (clock, log, store) = (Counted(count.clone()), Counted(count.clone()), Counted(count.clone()));
        let map = MapStorage::default();
        Limiter::builder(Rules::text(rules, "x"))
            .clock(move || {
                let _ = &clock;
                SystemTime::now()
            })
            .log(move |_, _| {
                let _ = &log;
            })
            .storage(ApplyFn(move |operation: &mut Operation<'_>| {
                let _ = &store;
                map.apply(operation)
            }))
            .build()
    };
    let l = make(RULES).unwrap();
    let _ = allow(&l, &orders("a"));
    assert_eq!(count.load(Ordering::SeqCst), 0);
    drop(l);
    assert_eq!(count.load(Ordering::SeqCst), 3);
    assert!(make("nonsense").is_err());
    assert_eq!(count.load(Ordering::SeqCst), 6);
}

#[test]
fn versions() {
    assert_eq!(std::fs::read_to_string(root().join("VERSION")).unwrap().trim(), VERSION);
    assert_eq!(engine_version(), VERSION);
    assert!(features().contains(Features::MEMORY | Features::HOST_STORAGE));
}

#[test]
fn is_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Limiter>();
    check::<Decision>();
    check::<Error>();
    fn lent<T: Send + Sync>(_: T) {}
    lent(Request::default());
    lent(Attribute::new("a", "b"));
    fn sent<T: Send>(_: T) {}
    let l = limiter();
    sent(l.allow_async(&Request::default()));
}

#[test]
fn a_queue_and_its_bounds() {
    let l = limiter();
    let queue = CompletionQueue::new(1).unwrap();
    let mut answers = Vec::new();
    queue.drain(&mut answers, 4, Some(Duration::from_micros(1))).unwrap();
    assert!(answers.is_empty());
    assert!(matches!(l.allow_queued(&orders("a").cost(0), &queue, 1), Err(Error::InvalidArgument(_))));
    l.allow_queued(&orders("a"), &queue, u64::MAX).unwrap();
    assert!(matches!(l.allow_queued(&orders("a"), &queue, 2), Err(Error::State(_))));
    assert!(matches!(queue.drain(&mut answers, 0, None), Err(Error::InvalidArgument(_))));
    queue.drain(&mut answers, 4, None).unwrap();
    assert_eq!((answers.len(), answers[0].tag, answers[0].decision.remaining()), (1, u64::MAX, 4));
    queue.shutdown();
    assert!(matches!(l.allow_queued(&orders("a"), &queue, 3), Err(Error::Cancelled)));
    assert!(matches!(queue.drain(&mut answers, 4, None), Err(Error::Cancelled)));
    let dropped = CompletionQueue::new(0).unwrap();
    l.allow_queued(&orders("a"), &dropped, 4).unwrap();
    drop(dropped);
    assert_eq!(l.peek(&orders("a")).unwrap().remaining(), 3);
}

#[test]
fn a_region_has_its_share() {
    let rules = format!("regions: {{eu: 3, us: 2}}\n{RULES}");
    let limit = |region: &str| {
        let l = Limiter::builder(Rules::text(&rules, "r")).region(region).build()?;
        Ok::<u64, Error>(l.peek(&orders("a"))?.limit())
    };
    assert_eq!((limit("").unwrap(), limit("eu").unwrap(), limit("us").unwrap()), (5, 3, 2));
    assert!(matches!(limit("ap"), Err(Error::Config(_))));
}
