//! A server that answers three times an hour: the shortest use of ratel. Try: curl -i 127.0.0.1:8080/

use axum::{Router, routing::get};
use ratel::{Limiter, Rules, tower::RateLimitLayer};
use std::net::SocketAddr;

const RULES: &str = "
version: 1
default: {name: everyone, scope: ip, algorithm: token_bucket, limit: 3, window: 1h}
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::new(Rules::text(RULES, "rules"))?;
    let app = Router::new().route("/", get(|| async { "hello\n" })).layer(RateLimitLayer::new(limiter));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("listening on 127.0.0.1:8080");
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
