//! A decision on the embedded store allocates nothing.
#![allow(missing_docs)]

mod support;

use ratel::{Attribute, Decision, HeaderFields, Origin, Request};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use support::{limiter, orders};

/// Counts what the thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator, looked at.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[test]
fn none_on_the_hot_path() {
    let l = limiter();
    let rule = l.rule_id("orders").unwrap();
    let request = orders("alice").ip("192.0.2.1");
    let plan = [Attribute::new("plan", "pro"), Attribute::new("region", "eu")];
    let attributed = Request::new("GET", "/plans").attributes(&plan);
    let decision = l.allow(&request).unwrap();
    let origin = Origin { peer: b"192.0.2.1", x_forwarded_for: &[b"198.51.100.1"], forwarded: &[] };
    let mut fields = Vec::with_capacity(4096);
    let mut many = [Decision::EMPTY; 8];
    let calls: [(&str, &mut dyn FnMut()); 8] = [
        ("allow", &mut || drop(l.allow(&request))),
        ("allow with attributes", &mut || drop(l.allow(&attributed))),
        ("allow_n", &mut || drop(l.allow_n(&request, 9))),
        ("allow_rule", &mut || drop(l.allow_rule(rule, "alice", 1))),
        ("peek", &mut || drop(l.peek(&request))),
        ("allow_many_into", &mut || l.allow_many_into(&[request; 8], &mut many).unwrap()),
        ("allow_http, headers_into", &mut || {
            fields.clear();
            let _ = l.allow_http(&orders("bob"), &origin, HeaderFields::X, &mut fields);
            let _ = l.headers_into(&decision, HeaderFields::default(), &mut fields);
        }),
        ("allow_async", &mut || {
            let asked = pin!(l.allow_async(&request));
            assert!(asked.poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }),
    ];
    for (name, call) in calls {
        call();
        let before = ASKED.get();
        for _ in 0..100 {
            call();
        }
        assert_eq!(ASKED.get() - before, 0, "{name}");
    }
    let before = ASKED.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ASKED.get() - before, 1, "it does count");
}
