//! What a layer adds to a request in axum: the router is called as a service, without a network; and the processor time of
//! a server without one, for its share. By the peer's address, all admitted.

use crate::measure::{Options, Report, Runner, thread_time};
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use axum::{Router, routing::get};
use ratel::tower::RateLimitLayer;
use ratel::{Limiter, Rules};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tower::ServiceExt;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::PeerIpKeyExtractor;

const NAMES: [&str; 5] =
    ["none", "ratel", "ratel, no fields", "tower_governor, with fields", "tower_governor, no fields"];

fn router(name: &str) -> Router {
    let bare = Router::new().route("/hello", get(|| async { "hello" }));
    let mut builder = GovernorConfigBuilder::default().key_extractor(PeerIpKeyExtractor);
    let builder = builder.per_nanosecond(1).burst_size(u32::MAX);
    match name {
        "none" => bare,
        "ratel" => bare.layer(layer("{x_ratelimit: true, retry_after: true}")),
        "ratel, no fields" => bare.layer(layer("off")),
        "tower_governor, no fields" => {
            bare.layer(GovernorLayer::new(Arc::new(builder.finish().expect("a configuration"))))
        }
        _ => bare.layer(GovernorLayer::new(Arc::new(builder.use_headers().finish().expect("a configuration")))),
    }
}

pub fn run(options: &Options, report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut runners = Vec::new();
    for name in NAMES.into_iter().filter(|name| options.wants(name)) {
        let (router, runtime) = (router(name), &runtime);
        let row = report.row("middleware", name, 1, 1);
        runners.push(Runner::new(row, move |calls| runtime.block_on(requests(&router, calls))));
    }
    report.measure(options, runners);
    if options.wants("server") {
        let mut server = Server::start();
        let row = report.row("http", "none", 1, 1);
        report.measure(options, vec![Runner::new(row, move |calls| server.requests(calls))]);
    }
}

fn layer(headers: &str) -> RateLimitLayer {
    let rule = "{name: d, scope: ip, algorithm: token_bucket, limit: 2147483647, window: 1h}";
    let text = format!("{{version: 1, headers: {headers}, default: {rule}}}");
    RateLimitLayer::new(Limiter::new(Rules::text(text, "rules")).expect("rules"))
}

async fn requests(router: &Router, calls: usize) -> f64 {
    let peer: SocketAddr = "192.0.2.1:80".parse().expect("an address");
    let begin = thread_time();
    for _ in 0..calls {
        let request = Request::get("/hello").extension(ConnectInfo(peer)).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), StatusCode::OK);
    }
    (thread_time() - begin) / calls as f64
}

/// The program of a server of its own: it tells its address, and its thread's processor time whenever a line comes in.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        std::thread::spawn(|| {
            for _ in std::io::stdin().lines() {
                let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
                println!("{}", told.split(' ').next().unwrap_or("0"));
            }
            std::process::exit(0);
        });
        axum::serve(listener, router("none")).await.expect("a server");
    });
}

/// A hello world that runs beside this program, asked over kept connections.
struct Server {
    child: Child,
    line: ChildStdin,
    told: BufReader<ChildStdout>,
    connections: Vec<TcpStream>,
}

const CONNECTIONS: usize = 8;

impl Server {
    fn start() -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        let mut child = command.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
        let line = child.stdin.take().expect("a pipe");
        let mut told = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut address = String::new();
        told.read_line(&mut address).expect("an address");
        let connect = |_| TcpStream::connect(address.trim()).expect("a connection");
        let connections = (0..CONNECTIONS).map(connect).collect();
        Self { child, line, told, connections }
    }

    /// Nanoseconds so far.
    fn processor_time(&mut self) -> f64 {
        self.line.write_all(b"\n").expect("a server");
        let mut told = String::new();
        self.told.read_line(&mut told).expect("an answer");
        told.trim().parse().expect("a number")
    }

    /// The server's processor time of each request.
    fn requests(&mut self, calls: usize) -> f64 {
        let turns = calls.div_ceil(CONNECTIONS);
        let begin = self.processor_time();
        for _ in 0..turns {
            for connection in &mut self.connections {
                connection.write_all(b"GET /hello HTTP/1.1\r\nHost: bench\r\n\r\n").expect("a connection");
            }
            for connection in &mut self.connections {
                let (mut room, mut size) = ([0; 1024], 0);
                while !room[..size].ends_with(b"hello") {
                    size += connection.read(&mut room[size..]).expect("an answer");
                    assert!(size > 0 && room[..size].starts_with(b"HTTP/1.1 200"), "not the answer that was expected");
                }
            }
        }
        (self.processor_time() - begin) / (turns * CONNECTIONS) as f64
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[test]
fn every_row_runs() {
    let options = Options { rounds: 1, block: 1, max_keys: 1, only: None };
    let mut report = Report::new(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut runners = Vec::new();
    for name in NAMES {
        let (router, runtime) = (router(name), &runtime);
        let row = report.row("middleware", name, 1, 1);
        runners.push(Runner::new(row, move |calls| runtime.block_on(requests(&router, calls))));
    }
    report.measure(&options, runners);
}
