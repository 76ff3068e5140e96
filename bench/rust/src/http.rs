//! What a layer adds to a request in axum: the router is called as a service, without a network. By the peer's address,
//! all admitted.

use crate::measure::Options;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use axum::{Router, routing::get};
use ratel::tower::RateLimitLayer;
use ratel::{Limiter, Rules};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tower::ServiceExt;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::PeerIpKeyExtractor;

const REQUESTS: u32 = 500;

pub fn run(options: &Options) {
    let bare = || Router::new().route("/hello", get(|| async { "hello" }));
    let mut builder = GovernorConfigBuilder::default().key_extractor(PeerIpKeyExtractor);
    let builder = builder.per_nanosecond(1).burst_size(u32::MAX);
    let plain = Arc::new(builder.finish().expect("a configuration"));
    let with_fields = Arc::new(builder.use_headers().finish().expect("a configuration"));
    let routers = [
        ("no layer", bare()),
        ("ratel", bare().layer(layer("{x_ratelimit: true, retry_after: true}"))),
        ("ratel, no fields", bare().layer(layer("off"))),
        ("tower_governor, with fields", bare().layer(GovernorLayer::new(with_fields))),
        ("tower_governor, no fields", bare().layer(GovernorLayer::new(plain))),
    ];
    println!("\nthe layer in axum, median ns per request    whole  added");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut medians = vec![Vec::new(); routers.len()];
    let begin = Instant::now();
    while begin.elapsed().as_millis() < u128::from(options.milliseconds) * 2 {
        for ((_, router), times) in routers.iter().zip(&mut medians) {
            times.push(runtime.block_on(requests(router)));
        }
    }
    let medians: Vec<f64> = medians.into_iter().map(median).collect();
    for ((name, _), time) in routers.iter().zip(&medians) {
        println!("{name:40} {time:8.1} {:6.1}", time - medians[0]);
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn layer(headers: &str) -> RateLimitLayer {
    let rule = "{name: d, scope: ip, algorithm: token_bucket, limit: 2147483647, window: 1h}";
    let text = format!("{{version: 1, headers: {headers}, default: {rule}}}");
    RateLimitLayer::new(Limiter::new(Rules::text(text, "rules")).expect("rules"))
}

async fn requests(router: &Router) -> f64 {
    let peer: SocketAddr = "192.0.2.1:80".parse().expect("an address");
    let begin = Instant::now();
    for _ in 0..REQUESTS {
        let request = Request::get("/hello").extension(ConnectInfo(peer)).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), StatusCode::OK);
    }
    begin.elapsed().as_nanos() as f64 / f64::from(REQUESTS)
}

#[cfg(test)]
#[test]
fn every_row_runs() {
    run(&Options { milliseconds: 1, max_keys: 1 });
}
