//! The layer: by single requests, in axum, and through hyper's HTTP/1 and HTTP/2.
#![cfg(feature = "axum")]
#![allow(missing_docs)]

mod support;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::{any, get};
use axum::{Extension, Router};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ratel::tower::{Asked, IDEMPOTENCY_KEY, Peer, RateLimitLayer};
use ratel::{BoxError, Features, HeaderFields, Limiter, Operation, Rules};
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use support::{ApplyFn, AsyncFn, MapStorage, RedisServer, apply_later, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::{Layer, Service, ServiceExt, service_fn};

const RULES: &str = "
version: 1
trusted_proxies: [127.0.0.0/8]
headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}
rules:
  - {name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 2, window: 2d}
  - {name: keys, path: /keys, scope: api_key, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: plans, path: /plans, scope: \"attribute:plan\", algorithm: token_bucket, limit: 1, window: 2d}
  - {name: slow, path: /slow, scope: global, algorithm: leaky_bucket, limit: 1, window: 1h, burst: 2}
  - {name: internal, path: /internal, action: block}
  - {name: closed, path: /closed, scope: ip, on_store_error: closed, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: open, path: /open, scope: ip, on_store_error: open, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: free, path: /free, action: unlimited}
  - {name: nested, path: /outer/inner, scope: ip, algorithm: token_bucket, limit: 1, window: 2d}
default: {name: others, scope: ip, algorithm: token_bucket, limit: 3, window: 3d}
";

fn limiter() -> Limiter {
    Limiter::new(Rules::text(RULES, "rules")).unwrap()
}

fn layer() -> RateLimitLayer {
    hooked(limiter())
}

fn hooked(limiter: Limiter) -> RateLimitLayer {
    RateLimitLayer::new(limiter)
        .user(|head| head.field("x-user"))
        .api_key(|head| head.field("x-api-key"))
        .attributes(|head| vec![(Cow::from(&b"plan"[..]), head.field("x-plan").unwrap_or_default())])
        .skip(|head| head.uri.path() == "/health")
}

async fn served(_: Request<Body>) -> Result<Response<Body>, Infallible> {
    Ok(Response::new("served".into()))
}

fn request(method: &str, path: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.extension(Peer([127, 0, 0, 1].into())).body(Body::empty()).unwrap()
}

async fn ask(layer: &RateLimitLayer, method: &str, path: &str, fields: &[(&str, &str)]) -> Response<String> {
    text(layer.layer(service_fn(served)).oneshot(request(method, path, fields)).await.unwrap()).await
}

async fn text<B: http_body::Body<Data = Bytes>>(response: Response<B>) -> Response<String>
where
    B::Error: std::fmt::Debug,
{
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Response::from_parts(parts, String::from_utf8(bytes.to_vec()).unwrap())
}

async fn statuses(layer: &RateLimitLayer, path: &str, fields: &[(&str, &str)], times: usize) -> Vec<u16> {
    let mut out = Vec::new();
    for _ in 0..times {
        out.push(ask(layer, "GET", path, fields).await.status().as_u16());
    }
    out
}

fn field<'a, T>(response: &'a Response<T>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn the_first_429() {
    let layer = layer();
    let alice = [("x-user", "alice")];
    let answer = ask(&layer, "POST", "/orders", &alice).await;
    assert_eq!((answer.status(), answer.body().as_str()), (StatusCode::OK, "served"));
    assert_eq!(field(&answer, "x-ratelimit-remaining"), Some("1"));
    let _ = ask(&layer, "POST", "/orders", &alice).await;
    let answer = ask(&layer, "POST", "/orders?x=1", &alice).await;
    assert_eq!(answer.status(), 429);
    assert_eq!(field(&answer, "retry-after"), Some("86400"));
    assert_eq!(field(&answer, "ratelimit-policy"), Some("\"orders\";q=2;w=172800"));
    assert_eq!(field(&answer, "content-type"), Some("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
    assert_eq!((&problem["status"], &problem["reason"]), (&429.into(), &"limited".into()));
    assert_eq!(problem["retry_after"], 86400);
    assert_eq!(ask(&layer, "POST", "/orders", &[("x-user", "bob")]).await.status(), 200);
}

#[tokio::test]
async fn hooks() {
    let layer = layer();
    assert_eq!(statuses(&layer, "/keys", &[("x-api-key", "a")], 2).await, [200, 429]);
    assert_eq!(statuses(&layer, "/keys", &[("x-api-key", "b")], 1).await, [200]);
    assert_eq!(statuses(&layer, "/plans", &[("x-plan", "pro")], 2).await, [200, 429]);
    assert_eq!(statuses(&layer, "/plans", &[("x-plan", "free")], 1).await, [200]);
    assert_eq!(statuses(&layer, "/health", &[], 9).await, [200; 9]);
    assert_eq!(layer.limiter().metrics().unwrap().requests, 6, "what is skipped is not counted");
    let by_path = layer.clone().path(|_| Some(Cow::from(&b"/internal"[..])));
    assert_eq!(statuses(&by_path, "/keys", &[], 1).await, [403]);
    let costly = layer.clone().cost(|head| head.headers.get("x-cost")?.to_str().ok()?.parse().ok());
    let answer = ask(&costly, "POST", "/orders", &[("x-user", "carol"), ("x-cost", "2")]).await;
    assert_eq!(field(&answer, "x-ratelimit-remaining"), Some("0"));
    let quiet = layer.clone().header_fields(HeaderFields::NONE);
    assert_eq!(field(&ask(&quiet, "GET", "/x", &[]).await, "x-ratelimit-limit"), None);
}

#[tokio::test]
async fn the_client_s_address() {
    let layer = layer();
    let two = [("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "198.51.100.7")];
    assert_eq!(statuses(&layer, "/x", &two, 3).await, [200; 3]);
    assert_eq!(statuses(&layer, "/x", &[("x-forwarded-for", "2.2.2.2, 198.51.100.7")], 1).await, [429]);
    assert_eq!(statuses(&layer, "/x", &[("x-forwarded-for", "198.51.100.8")], 1).await, [200]);
    assert_eq!(statuses(&layer, "/x", &[("forwarded", "for=198.51.100.7")], 1).await, [429]);
    let elsewhere = layer.clone().peer(|_| Some("2001:db8::1".parse::<IpAddr>().unwrap()));
    assert_eq!(statuses(&elsewhere, "/x", &two, 4).await, [200, 200, 200, 429], "not trusted");
    assert_eq!(layer.limiter().metrics().unwrap().unknown_client, 0);
    let nobody = layer.clone().peer(|_| None);
    assert_eq!(statuses(&nobody, "/x", &two, 1).await, [200]);
    assert_eq!(layer.limiter().metrics().unwrap().unknown_client, 1);
}

#[tokio::test]
async fn never_fits_has_no_retry_after() {
    let answer = ask(&layer().cost(|_| Some(9)), "POST", "/orders", &[("x-user", "alice")]).await;
    assert_eq!((answer.status().as_u16(), field(&answer, "retry-after")), (429, None));
    assert!(answer.body().contains("never_fits"), "{}", answer.body());
}

#[tokio::test]
async fn blocked_and_unlimited() {
    let layer = layer();
    let answer = ask(&layer, "GET", "/internal/x", &[]).await;
    assert_eq!((answer.status().as_u16(), field(&answer, "x-ratelimit-limit")), (403, None));
    assert_eq!(statuses(&layer, "/free", &[], 9).await, [200; 9]);
}

#[tokio::test]
async fn store_trouble_follows_the_rule() {
    let broken = |_: &mut Operation<'_>| -> Result<(), BoxError> { Err("no connection".into()) };
    let sync = Limiter::builder(Rules::text(RULES, "r")).storage(ApplyFn(broken)).build().unwrap();
    let lost = AsyncFn(MapStorage::default(), |_, operation| drop(operation));
    let later = Limiter::builder(Rules::text(RULES, "r")).storage(lost).build().unwrap();
    for limiter in [sync, later] {
        let layer = hooked(limiter);
        assert_eq!(statuses(&layer, "/closed", &[], 1).await, [503]);
        assert_eq!(statuses(&layer, "/open", &[], 2).await, [200, 200]);
        assert_eq!(statuses(&layer, "/other", &[], 1).await, [200]);
    }
}

#[tokio::test]
async fn no_decision() {
    let limiter = limiter();
    let layer = hooked(limiter.clone()).cost(|_| Some(-1));
    assert_eq!(statuses(&layer, "/x", &[], 1).await, [400]);
    assert_eq!(statuses(&layer.clone().cost(|_| Some(i64::MIN)), "/x", &[], 1).await, [400]);
    assert_eq!(statuses(&layer.clone().cost(|_| None), "/x", &[], 1).await, [200]);
    let answer = ask(&layer, "GET", "/x", &[]).await;
    assert!(answer.body().starts_with("cost is -1: at least 1"), "{answer:?}");
    let told = layer.failed(|_, error| Response::builder().status(500).body(error.to_string().into()).unwrap());
    let answer = ask(&told, "GET", "/x", &[]).await;
    assert!(answer.status() == 500 && answer.body().contains("cost"), "{answer:?}");
    let broken = || -> std::time::SystemTime { panic!("no battery") };
    let limiter = Limiter::builder(Rules::text(RULES, "r")).clock(broken).build().unwrap();
    assert_eq!(statuses(&hooked(limiter), "/x", &[], 1).await, [503]);
}

#[tokio::test]
async fn the_denied_hook() {
    let layer = layer().denied(|head, decision| {
        let body = format!("{} {}", head.method, decision.reason());
        Response::builder().status(418).header("x-ratelimit-limit", "mine").body(body.into()).unwrap()
    });
    let answer = ask(&layer, "GET", "/internal", &[]).await;
    assert_eq!((answer.status().as_u16(), answer.body().as_str()), (418, "GET blocked"));
    let _ = statuses(&layer, "/x", &[], 3).await;
    let answer = ask(&layer, "GET", "/x", &[]).await;
    assert_eq!((answer.status().as_u16(), field(&answer, "x-ratelimit-limit")), (418, Some("3")));
}

#[tokio::test]
async fn an_id_from_a_header() {
    if !ratel::features().contains(Features::REDIS) {
        return;
    }
    let server = RedisServer::start();
    let gateway = || {
        let rules = Rules::text(RULES, "rules");
        hooked(Limiter::builder(rules).secret("sixteen bytes or more").redis(server.url("")).build().unwrap())
    };
    let (one, other) = (gateway().idempotency_header(IDEMPOTENCY_KEY), gateway().idempotency_header(IDEMPOTENCY_KEY));
    let own = gateway().idempotency_header(http::HeaderName::from_static("x-request-id"));
    let left = async |layer: &RateLimitLayer, from: &str, fields: &[(&str, &str)]| {
        let fields = [&[("x-forwarded-for", from)], fields].concat();
        let response = ask(layer, "GET", "/x", &fields).await;
        assert_eq!(response.status(), 200);
        field(&response, "x-ratelimit-remaining").unwrap().parse::<u32>().unwrap()
    };
    let key = [("Idempotency-Key", "\"8e03978e\"")];
    for layer in [&one, &other, &one] {
        assert_eq!(left(layer, "198.51.100.1", &key).await, 2);
    }
    assert_eq!(left(&own, "198.51.100.1", &[("X-Request-Id", key[0].1)]).await, 2);
    assert_eq!(left(&gateway(), "198.51.100.1", &key).await, 1, "nobody asked for it");
    assert_eq!(left(&one, "198.51.100.2", &key).await, 2, "of another client");
    let long = "i".repeat(256);
    for _ in 0..2 {
        assert_eq!(left(&one, "198.51.100.3", &[("Idempotency-Key", &long[1..])]).await, 2);
    }
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
    let bad = [&[("Idempotency-Key", &*long)][..], &[("Idempotency-Key", "")], &[("Idempotency-Key", "a\tb")], &twice];
    for (i, fields) in bad.into_iter().enumerate() {
        let from = format!("203.0.113.{i}");
        assert_eq!((left(&one, &from, fields).await, left(&one, &from, fields).await), (2, 1), "{fields:?} is ignored");
    }
}

#[tokio::test]
async fn ours_replace_fields_of_the_same_name() {
    let inner = service_fn(|_: Request<Body>| async {
        let theirs = Response::builder().header("X-RateLimit-Limit", "99").header("X-RateLimit-Limit", "98");
        Ok::<_, Infallible>(theirs.body(Body::empty()).unwrap())
    });
    let service = layer().layer(inner);
    let answer = service.clone().oneshot(request("GET", "/x", &[])).await.unwrap();
    assert_eq!(answer.headers().get_all("x-ratelimit-limit").iter().collect::<Vec<_>>(), ["3"]);
    let answer = service.oneshot(request("GET", "/free", &[])).await.unwrap();
    assert_eq!(answer.headers().get_all("x-ratelimit-limit").iter().count(), 2, "where there is no limit of ours");
}

#[tokio::test]
async fn settling_from_behind() {
    let later = AsyncFn(MapStorage::default(), |map, operation| {
        tokio::spawn(async move { apply_later(&map, operation) });
    });
    let later = Limiter::builder(Rules::text(RULES, "r")).storage(later).build().unwrap();
    for limiter in [limiter(), later] {
        let inner = service_fn(|request: Request<Body>| async move {
            let asked = request.extensions().get::<Asked>().expect("what was asked");
            assert!(asked.decision().allowed() && asked.settle(0).unwrap().allowed());
            served(request).await
        });
        let service = hooked(limiter).keep_decision(true).layer(inner);
        for _ in 0..9 {
            let answer = service.clone().oneshot(request("POST", "/orders", &[("x-user", "alice")])).await.unwrap();
            assert_eq!(answer.status(), 200);
        }
    }
}

#[tokio::test]
async fn a_storage_that_takes_its_time() {
    let storage = AsyncFn(MapStorage::default(), |map, operation| {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            apply_later(&map, operation);
        });
    });
    let limiter = Limiter::builder(Rules::text(RULES, "r")).storage(storage).build().unwrap();
    let layer = hooked(limiter);
    assert_eq!(statuses(&layer, "/x", &[], 4).await, [200, 200, 200, 429]);
    let answer = ask(&layer, "POST", "/orders", &[("x-user", "alice")]).await;
    assert_eq!(field(&answer, "x-ratelimit-remaining"), Some("1"));
}

// ---- What tower asks of a service ----

/// A service that wants to be made ready before each call, and whose clones are not ready.
struct Strict {
    ready: bool,
    calls: Arc<AtomicU32>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false, calls: self.calls.clone() }
    }
}

impl Service<Request<Body>> for Strict {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without being ready");
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(Response::new(Body::empty())))
    }
}

#[tokio::test(start_paused = true)]
async fn the_service_behind_is_ready_when_it_is_called() {
    let storage = AsyncFn(MapStorage::default(), |map, operation| {
        tokio::spawn(async move { apply_later(&map, operation) });
    });
    let later = Limiter::builder(Rules::text(RULES, "r")).storage(storage).build().unwrap();
    for layer in [layer(), hooked(later)] {
        let calls = Arc::new(AtomicU32::new(0));
        let mut service = layer.layer(Strict { ready: false, calls: calls.clone() });
        for path in ["/free", "/slow", "/slow", "/health", "/internal", "/free"] {
            let answer = service.ready().await.unwrap().call(request("GET", path, &[])).await.unwrap();
            assert_eq!(answer.status(), if path == "/internal" { 403 } else { 200 });
        }
        assert_eq!(calls.load(Ordering::SeqCst), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn delays_are_waited_for() {
    let layer = layer();
    let start = tokio::time::Instant::now();
    assert_eq!(statuses(&layer, "/slow", &[], 2).await, [200, 200]);
    let held = start.elapsed();
    assert!(held > Duration::from_secs(3500) && held < Duration::from_secs(3700), "{held:?}");
    let slept = Arc::new(AtomicU32::new(0));
    let count = slept.clone();
    let other = hooked(limiter()).sleep(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(())
    });
    assert_eq!(statuses(&other, "/slow", &[], 2).await, [200, 200]);
    assert_eq!(slept.load(Ordering::SeqCst), 1);
    let start = tokio::time::Instant::now();
    assert_eq!(statuses(&hooked(limiter()).ignore_delay(true), "/slow", &[], 2).await, [200, 200]);
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_delay_ends_when_the_client_goes() {
    let calls = Arc::new(AtomicU32::new(0));
    let service = layer().layer(Strict { ready: false, calls: calls.clone() });
    let _ = service.clone().oneshot(request("GET", "/slow", &[])).await;
    let held = service.oneshot(request("GET", "/slow", &[]));
    assert!(tokio::time::timeout(Duration::from_millis(20), held).await.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

// ---- axum and hyper ----

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    });
    address
}

fn app(layer: RateLimitLayer) -> Router {
    let behind = |request: Request<Body>| async move {
        let version = format!("{:?}", request.version());
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        assert_eq!(peer, Some(IpAddr::from([127, 0, 0, 1])));
        version
    };
    Router::new()
        .route("/free/echo", any(|body: Body| async move { Response::new(body) }))
        .fallback(behind)
        .layer(layer)
        .route("/bare", get(|| async { "not limited" }))
}

type Http1 = hyper::client::conn::http1::SendRequest<Full<Bytes>>;

async fn http1(address: SocketAddr) -> Http1 {
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn fetch(client: &mut Http1, path: &str) -> Response<String> {
    client.ready().await.unwrap();
    let request = Request::builder().uri(path).header("host", "x").body(Full::default()).unwrap();
    text(client.send_request(request).await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_axum() {
    let address = serve(app(layer())).await;
    let mut client = http1(address).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let answer = fetch(&mut client, "/x").await;
        seen.push(answer.status().as_u16());
        assert!(field(&answer, "ratelimit").is_some());
    }
    assert_eq!(seen, [200, 200, 200, 429]);
    let answer = fetch(&mut client, "/bare").await;
    assert_eq!((answer.status().as_u16(), field(&answer, "ratelimit")), (200, None));
}

/// Inside of nested routers the path is cut; rules see the whole.
#[tokio::test]
async fn in_a_nested_router() {
    let inner = Router::new().route("/inner", get(|| async { "in" })).layer(layer());
    let address = serve(Router::new().nest("/outer", inner)).await;
    let mut client = http1(address).await;
    for status in [200, 429] {
        assert_eq!(fetch(&mut client, "/outer/inner").await.status().as_u16(), status);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_requests_admit_exactly_the_limit() {
    let layer = layer();
    let address = serve(app(layer.clone())).await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn(async move {
                let mut client = http1(address).await;
                let mut allowed = 0;
                for _ in 0..10 {
                    allowed += u32::from(fetch(&mut client, "/x").await.status() == 200);
                }
                allowed
            })
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += task.await.unwrap();
    }
    assert_eq!(allowed, 3);
    assert_eq!(layer.limiter().metrics().unwrap().requests, 80);
}

#[tokio::test]
async fn http2_and_streams() {
    let address = serve(app(layer())).await;
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut client, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let (pieces, body) = tokio::sync::mpsc::channel::<Result<http_body::Frame<Bytes>, Infallible>>(1);
    let stream = StreamBody::new(Pieces(body)).boxed();
    let uri = format!("http://{address}/free/echo");
    let answer = client.send_request(Request::post(&uri).body(stream).unwrap()).await.unwrap();
    let mut body = answer.into_body();
    for piece in ["first", "second"] {
        pieces.send(Ok(http_body::Frame::data(piece.into()))).await.unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), piece);
    }
    drop(pieces);
    assert!(body.collect().await.unwrap().to_bytes().is_empty(), "nothing follows");
    let uri = format!("http://{address}/x");
    let mut seen = Vec::new();
    for _ in 0..4 {
        let request = Request::get(&uri).body(Full::<Bytes>::default().boxed()).unwrap();
        let answer = text(client.send_request(request).await.unwrap()).await;
        seen.push((answer.status().as_u16(), field(&answer, "retry-after").is_some()));
    }
    assert_eq!(seen, [(200, false), (200, false), (200, false), (429, true)]);
}

struct Pieces(tokio::sync::mpsc::Receiver<Result<http_body::Frame<Bytes>, Infallible>>);

impl futures_core::Stream for Pieces {
    type Item = Result<http_body::Frame<Bytes>, Infallible>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// A client that leaves: while it is held back, and while the answer streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_requests() {
    struct Gone(Arc<AtomicBool>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (gone, called) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let (state, count) = (gone.clone(), called.clone());
    let endless = move || {
        let gone = Gone(state.clone());
        async move {
            let first = futures_once(gone);
            Response::new(Body::new(StreamBody::new(first)))
        }
    };
    let slow = move || {
        count.fetch_add(1, Ordering::SeqCst);
        async { "slow" }
    };
    let layer = layer();
    let router = Router::new().route("/free/endless", get(endless)).route("/slow", get(slow)).layer(layer.clone());
    let address = serve(router).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /free/endless HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    drop(stream);
    tokio::task::spawn_blocking(move || eventually("the body's end", || gone.load(Ordering::SeqCst))).await.unwrap();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(50), stream.read_exact(&mut start)).await;
    }
    assert_eq!(called.load(Ordering::SeqCst), 1, "the second is held back for an hour");
    assert_eq!(ask(&layer, "GET", "/free", &[]).await.status(), 200);
}

/// One piece, and then nothing.
fn futures_once<T: Send + 'static>(
    kept: T,
) -> impl futures_core::Stream<Item = Result<http_body::Frame<Bytes>, Infallible>> {
    struct Once<T>(Option<Bytes>, T);
    impl<T: Unpin> futures_core::Stream for Once<T> {
        type Item = Result<http_body::Frame<Bytes>, Infallible>;
        fn poll_next(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            match self.0.take() {
                Some(bytes) => Poll::Ready(Some(Ok(http_body::Frame::data(bytes)))),
                None => Poll::Pending,
            }
        }
    }
    Once(Some("first".into()), Box::new(kept))
}

#[tokio::test]
async fn hostile_requests() {
    let address = serve(app(layer())).await;
    let many =
        format!("GET / HTTP/1.1\r\nHost: x\r\n{}Connection: close\r\n\r\n", "X-Forwarded-For: 1.2.3.4\r\n".repeat(90));
    for raw in [
        &b"GET /%00%ff HTTP/1.1\r\nHost: x\r\nX-User: \xff\xfe\r\nX-Forwarded-For: ,,,\x80\r\nConnection: close\r\n\r\n"[..],
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET http://x/y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        many.as_bytes(),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(raw).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 ") && !answer.starts_with("HTTP/1.1 5"), "{answer}");
    }
}

#[tokio::test]
async fn extensions_reach_what_lies_behind() {
    let inner = Router::new().fallback(|Extension(text): Extension<&'static str>| async move { text });
    let service = layer().layer(inner);
    let mut asked = request("GET", "/x", &[]);
    asked.extensions_mut().insert("kept");
    assert_eq!(text(service.oneshot(asked).await.unwrap()).await.body(), "kept");
}
