use crate::body::{Body, Slot, linger, text, typed};
use crate::proxy::Proxy;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::Extensions;
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode, Version};
use ratel::Limiter;
use ratel::tower::{Head, Peer, RateLimit, RateLimitLayer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::{Layer, Service, ServiceExt};

/// Above that a path is refused, as in the gateways of the other languages.
const MAX_PATH: usize = 2048;

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Decides on every request before anything else happens to it.
#[derive(Clone)]
pub struct Gateway {
    limiter: Limiter,
    limited: RateLimit<Behind>,
    names: Extensions,
}

impl Gateway {
    pub fn new(
        limiter: Limiter,
        upstream: Option<Authority>,
        idempotency_header: Option<HeaderName>,
        names: Extensions,
    ) -> Self {
        let mut layer = RateLimitLayer::new(limiter)
            .user(user)
            .api_key(|head| head.field("x-api-key"))
            .cost(|head| cost(head.headers).ok().flatten());
        if let Some(name) = idempotency_header {
            layer = layer.idempotency_header(name);
        }
        let limited = layer.layer(Behind { proxy: upstream.map(Proxy::new) });
        Self { limiter: layer.limiter().clone(), limited, names }
    }

    pub async fn handle(&self, request: Request<Incoming>, peer: IpAddr) -> Result<Response<Body>, Infallible> {
        let (mut parts, body) = request.into_parts();
        let slot = Slot::new(body);
        parts.extensions.insert(Peer(peer));
        let mut response = match refusal(&parts) {
            Some(response) => response,
            None if parts.uri.path() == "/metrics" => metrics(&self.limiter),
            None => {
                let limited = self.limited.clone().oneshot(Request::from_parts(parts, slot.clone())).await?;
                limited.map(BodyExt::boxed_unsync)
            }
        };
        if let Some(unread) = slot.take() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            tokio::spawn(linger(unread));
        }
        response.extensions_mut().extend(self.names.clone());
        Ok(response)
    }
}

/// What is wrong with a request, before anybody is asked.
fn refusal(parts: &hyper::http::request::Parts) -> Option<Response<Body>> {
    let has_host = parts.headers.get_all(HOST).iter().count() == 1 || parts.version < Version::HTTP_11;
    if !METHODS.contains(&parts.method) || !has_host {
        return Some(text(StatusCode::BAD_REQUEST, "bad request"));
    }
    if parts.uri.path().len() > MAX_PATH {
        return Some(text(StatusCode::URI_TOO_LONG, "the path is too long"));
    }
    cost(&parts.headers).err().map(|wrong| text(StatusCode::BAD_REQUEST, wrong))
}

fn metrics(limiter: &Limiter) -> Response<Body> {
    match limiter.prometheus() {
        Ok(body) => typed(StatusCode::OK, "text/plain; version=0.0.4", body),
        Err(error) => text(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

/// A stand-in for authentication: believes what it is told. A real gateway verifies the token and takes the user from
/// it.
fn user(head: Head<'_>) -> Option<Cow<'_, [u8]>> {
    let bearer = || head.headers.get(AUTHORIZATION)?.as_bytes().strip_prefix(b"Bearer ").map(Cow::from);
    head.field("x-user").filter(|user| !user.is_empty()).or_else(bearer)
}

/// Another stand-in: a real gateway works it out from the request. `None` is what the rule says.
fn cost(headers: &HeaderMap) -> Result<Option<i64>, &'static str> {
    let Some(field) = headers.get("x-cost").filter(|field| !field.is_empty()) else { return Ok(None) };
    let digits = field.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let units = digits.and_then(|text| text.parse().ok()).filter(|&units| units >= 1);
    units.map(Some).ok_or("X-Cost is a whole number, at least 1")
}

/// What lies behind the limiter: a server, or the gateway's own answer.
#[derive(Clone)]
struct Behind {
    proxy: Option<Proxy>,
}

impl Service<Request<Slot>> for Behind {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Slot>) -> Self::Future {
        let (parts, slot) = request.into_parts();
        let body = if takes_body(&parts.method) { slot.take() } else { None };
        let request = Request::from_parts(parts, body);
        let proxy = self.proxy.clone();
        Box::pin(async move {
            Ok(match proxy {
                Some(proxy) => proxy.pass(request).await,
                None => answer(request).await,
            })
        })
    }
}

fn takes_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE)
}

/// What the gateway says by itself.
async fn answer(request: Request<Option<Incoming>>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let mut received = 0;
    if let Some(mut body) = body {
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => received += frame.data_ref().map_or(0, Bytes::len),
                Err(_) => return text(StatusCode::BAD_REQUEST, "bad request"),
            }
        }
    }
    text(StatusCode::OK, &format!("served {}, {received} bytes of body", parts.method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-cost", text.parse().unwrap());
            cost(&headers)
        };
        assert_eq!((of("7"), of(""), cost(&HeaderMap::new())), (Ok(Some(7)), Ok(None), Ok(None)));
        for wrong in ["0", "-1", "+1", "1.5", "ten", "1 2", "99999999999999999999"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
