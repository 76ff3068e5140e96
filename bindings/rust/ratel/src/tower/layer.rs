use super::head::Head;
use super::service::RateLimit;
use crate::{Decision, Error, HeaderFields, Limiter};
use bytes::Bytes;
use http::{HeaderName, Response};
use std::borrow::Cow;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

type Text = dyn for<'a> Fn(Head<'a>) -> Option<Cow<'a, [u8]>> + Send + Sync;
type Facts = dyn for<'a> Fn(Head<'a>) -> Vec<(Cow<'a, [u8]>, Cow<'a, [u8]>)> + Send + Sync;
type About<T> = dyn Fn(Head<'_>) -> T + Send + Sync;
type Answers<T> = dyn Fn(Head<'_>, &T) -> Response<Bytes> + Send + Sync;
pub(super) type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A [`tower::Layer`](tower_layer::Layer) that limits rates. Clones, and all services made by them, share one limiter.
///
/// Hooks return what they borrow from the request, so nothing is copied.
#[derive(Clone)]
pub struct RateLimitLayer {
    pub(super) limiter: Limiter,
    pub(super) hooks: Arc<Hooks>,
}

#[derive(Clone)]
pub(super) struct Hooks {
    pub user: Option<Arc<Text>>,
    pub api_key: Option<Arc<Text>>,
    pub path: Option<Arc<Text>>,
    pub attributes: Option<Arc<Facts>>,
    pub cost: Option<Arc<About<Option<i64>>>>,
    pub skip: Option<Arc<About<bool>>>,
    pub peer: Option<Arc<About<Option<IpAddr>>>>,
    pub denied: Option<Arc<Answers<Decision>>>,
    pub failed: Option<Arc<Answers<Error>>>,
    pub sleep: Arc<dyn Fn(Duration) -> Timer + Send + Sync>,
    pub fields: HeaderFields,
    pub keep_decision: bool,
    pub ignore_delay: bool,
    pub idempotency_header: Option<HeaderName>,
}

impl RateLimitLayer {
    /// A layer without hooks.
    pub fn new(limiter: Limiter) -> Self {
        let hooks = Hooks {
            user: None,
            api_key: None,
            path: None,
            attributes: None,
            cost: None,
            skip: None,
            peer: None,
            denied: None,
            failed: None,
            sleep: Arc::new(|delay| Box::pin(tokio::time::sleep(delay))),
            fields: HeaderFields::default(),
            keep_decision: false,
            ignore_delay: false,
            idempotency_header: None,
        };
        Self { limiter, hooks: Arc::new(hooks) }
    }

    /// The limiter that all share.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    fn with(mut self, set: impl FnOnce(&mut Hooks)) -> Self {
        set(Arc::make_mut(&mut self.hooks));
        self
    }

    /// The authenticated user: verified, not what the client says.
    pub fn user(self, hook: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, [u8]>> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.user = Some(Arc::new(hook)))
    }

    /// The API key.
    pub fn api_key(self, hook: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, [u8]>> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.api_key = Some(Arc::new(hook)))
    }

    /// The path that rules look at, in place of the target's (with the feature `axum`: of the target before routers
    /// have cut it).
    pub fn path(self, hook: impl for<'a> Fn(Head<'a>) -> Option<Cow<'a, [u8]>> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.path = Some(Arc::new(hook)))
    }

    /// Names and values for `when` conditions and attribute scopes.
    pub fn attributes(
        self,
        hook: impl for<'a> Fn(Head<'a>) -> Vec<(Cow<'a, [u8]>, Cow<'a, [u8]>)> + Send + Sync + 'static,
    ) -> Self {
        self.with(|hooks| hooks.attributes = Some(Arc::new(hook)))
    }

    /// Units to spend, at least 1; `None` is what the rule says.
    pub fn cost(self, hook: impl Fn(Head<'_>) -> Option<i64> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.cost = Some(Arc::new(hook)))
    }

    /// `true`: neither asked nor counted.
    pub fn skip(self, hook: impl Fn(Head<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.skip = Some(Arc::new(hook)))
    }

    /// The connection's address, where it is not among the extensions.
    pub fn peer(self, hook: impl Fn(Head<'_>) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.peer = Some(Arc::new(hook)))
    }

    /// Answers a denial in place of the problem body. The decision's header fields are added to what it returns.
    pub fn denied(self, hook: impl Fn(Head<'_>, &Decision) -> Response<Bytes> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.denied = Some(Arc::new(hook)))
    }

    /// Answers when there is no decision.
    pub fn failed(self, hook: impl Fn(Head<'_>, &Error) -> Response<Bytes> + Send + Sync + 'static) -> Self {
        self.with(|hooks| hooks.failed = Some(Arc::new(hook)))
    }

    /// Chooses the header fields; by default the rules do.
    pub fn header_fields(self, fields: HeaderFields) -> Self {
        self.with(|hooks| hooks.fields = fields)
    }

    /// Lets what lies behind have the decision: an [`Asked`](super::Asked) among the request's extensions.
    pub fn keep_decision(self, on: bool) -> Self {
        self.with(|hooks| hooks.keep_decision = on)
    }

    /// Passes on at once what a `leaky_bucket` would hold back.
    pub fn ignore_delay(self, on: bool) -> Self {
        self.with(|hooks| hooks.ignore_delay = on)
    }

    /// Takes a request's id from a field, mostly [`IDEMPOTENCY_KEY`](super::IDEMPOTENCY_KEY). With a store on Redis an
    /// allowed request that comes again is then answered as before and not charged: right only where what lies behind
    /// does not do the work again either (`docs/redis.md`). A field that comes twice, is longer than 255 bytes or not
    /// printable ASCII is ignored.
    pub fn idempotency_header(self, name: HeaderName) -> Self {
        self.with(|hooks| hooks.idempotency_header = Some(name))
    }

    /// How to wait for a delay; by default `tokio::time::sleep`.
    pub fn sleep<F>(self, sleep: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.with(|hooks| hooks.sleep = Arc::new(move |delay| Box::pin(sleep(delay))))
    }
}

impl<S> tower_layer::Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, layer: self.clone() }
    }
}

impl std::fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimitLayer").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}
