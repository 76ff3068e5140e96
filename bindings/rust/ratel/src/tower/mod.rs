//! Middleware: a [`RateLimitLayer`] asks for each request, sets the header fields of the decision, and answers denials
//! by itself: 429, 403 for
//! `action: block`, 503 when the store failed and the rule is closed, with an RFC 9457 body.
//!
//! ```
//! # async fn example() {
//! use ratel::{Limiter, Rules, tower::RateLimitLayer};
//!
//! # let rules = Rules::text("{version: 1, default: {name: d, action: unlimited}}", "r");
//! # /*
//! let rules = Rules::file("rules.yaml");
//! # */
//! let layer = RateLimitLayer::new(Limiter::new(rules).unwrap())
//!     .api_key(|head| head.field("x-api-key"))
//!     .skip(|head| head.uri.path() == "/health");
//! let app: axum::Router = axum::Router::new().layer(layer);
//! # }
//! ```
//!
//! # Who asks
//!
//! The peer's address comes from the hook [`peer`](RateLimitLayer::peer), else from a [`Peer`] among the request's
//! extensions, else, with the feature `axum`, from its `ConnectInfo`. Without any of them the client is unknown, and
//! all unknown clients share one bucket of an `ip` scope. From there on the engine walks X-Forwarded-For and Forwarded
//! as far as `trusted_proxies` believes them.
//!
//! # When there is no decision
//!
//! A cost below 1, or more than 64 attributes: 400; all else: 503; or what [`failed`](RateLimitLayer::failed) answers.
//! A storage that fails is not such a case: the rule's `on_store_error` decides.

/// The field that requests name themselves by (draft-ietf-httpapi-idempotency-key-header): see
/// [`RateLimitLayer::idempotency_header`].
pub const IDEMPOTENCY_KEY: http::HeaderName = http::HeaderName::from_static("idempotency-key");

mod ask;
mod body;
mod fields;
mod future;
mod head;
mod layer;
mod service;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use head::{Asked, Head, Peer};
pub use layer::RateLimitLayer;
pub use service::{RateLimit, status_of};
