//! Limits rates: decides, for each request, whether it may pass, by rules that are read from a file, a text or Rust
//! values. A thin binding of the [Ratel](https://github.com/ratel/ratel) engine through its C ABI; every decision, wait
//! and header is computed there.
//!
//! ```
//! use ratel::{Limiter, Request, Rules};
//!
//! # let rules = Rules::text("{version: 1, default: {name: d, action: unlimited}}", "r");
//! # /*
//! let rules = Rules::file("rules.yaml");
//! # */
//! let limiter = Limiter::new(rules)?;
//! let decision = limiter.allow(&Request::new("POST", "/orders").user("alice"))?;
//! if !decision.allowed() {
//!     println!("again in {:?}", decision.retry_after()); // a denial is an answer, not an error
//! }
//! # Ok::<(), ratel::Error>(())
//! ```
//!
//! # Features
//!
//! - `tower`: a `tower::RateLimitLayer` for hyper, axum and all else that speaks tower.
//! - `axum`: the same, and it finds the peer's address and the original path where axum puts them.
//! - `vendored`: builds the engine with the crate and links it statically. Without it pkg-config finds the engine
//!   (`ratel.pc`), with what it was built with.
//! - `redis`, `redis-tls`: `vendored` with the storage on Redis, and with `rediss://` for it.
//!
//! # Threads
//!
//! A [`Limiter`] is `Send` and `Sync`, and a clone is the same limiter. With the embedded store a decision allocates
//! nothing and waits for nothing. With a [`Storage`] of your own [`Limiter::allow_async`] holds no thread when the
//! storage offers [`apply_async`](Storage::apply_async); all else calls it on the thread that asks.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod clock;
mod decision;
mod error;
mod future;
mod limiter;
mod log;
mod queue;
mod request;
mod rules;
mod storage;
mod tell;
mod trouble;
mod version;
mod wait;

#[cfg(feature = "tower")]
pub mod tower;

pub use builder::Builder;
pub use clock::Clock;
pub use decision::{Decision, Reason, Source};
pub use error::{BoxError, Detail, Error, Fault, Result};
pub use future::AllowAsync;
pub use limiter::Limiter;
pub use log::LogLevel;
pub use queue::{Answer, CompletionQueue};
pub use request::{Attribute, COST_OF_RULE, LimitId, Request, RuleId};
pub use rules::{Action, Algorithm, Limit, LocalTier, OnStoreError, Override, PathMatch, Rule, Rules};
pub use storage::{AsyncOperation, Change, Changes, Offers, Operation, Storage};
pub use tell::{HeaderFields, Metrics, Origin, RuleMetrics, TextForm};
pub use version::{Features, VERSION, engine_version, features};
