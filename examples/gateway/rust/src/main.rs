//! gateway: an HTTP server, or a reverse proxy, with Ratel in front. docs/gateway.md tells its story.

mod body;
mod gateway;
mod names;
mod options;
mod proxy;

use gateway::Gateway;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use options::{Options, USAGE};
use ratel::{Limiter, LogLevel, Rules};
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Room for a head: one with a target of a mebibyte is still told that it is too long.
const MAX_HEAD: usize = 2 << 20;

fn open_limiter(options: &Options) -> Result<Limiter, Box<dyn Error>> {
    let log = |level, text: &str| {
        let name = match level {
            LogLevel::Error => "error",
            LogLevel::Warning => "warning",
            LogLevel::Info => "info",
        };
        eprintln!("{name}: {text}");
    };
    let mut builder = Limiter::builder(Rules::file(&options.rules)).log(log);
    if let Some(url) = &options.redis {
        let secret = std::env::var("RATEL_SECRET").ok().filter(|secret| !secret.is_empty());
        let secret = secret
            .ok_or("--redis needs RATEL_SECRET in the environment, 16 to 1024 bytes, the same for all gateways")?;
        builder = builder.redis(url).secret(secret);
    }
    let limiter = builder.build()?;
    limiter.watch(&options.rules, options.watch)?;
    Ok(limiter)
}

/// Serves until a signal ends it; requests under way are answered first.
async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let limiter = open_limiter(&options)?;
    let listen = &options.listen;
    let listener =
        TcpListener::bind(listen.as_str()).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
    let gateway = Gateway::new(limiter, options.upstream, options.idempotency_header, names::exact().await?);
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    println!("listening on {}", listener.local_addr()?);
    std::io::stdout().flush()?;

    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(30));
    builder.max_buf_size(MAX_HEAD).title_case_headers(true);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await; // out of descriptors, say: others end meanwhile
            continue;
        };
        let _ = stream.set_nodelay(true);
        let gateway = gateway.clone();
        let service = service_fn(move |request| {
            let gateway = gateway.clone();
            async move { gateway.handle(request, peer.ip()).await }
        });
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(connection);
    }
    drop(listener);
    graceful.shutdown().await;
    println!("stopped");
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(lexopt::Parser::from_env())? else {
        print!("{USAGE}");
        return Ok(());
    };
    tokio::runtime::Runtime::new()?.block_on(serve(options))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gateway: {error}");
            ExitCode::from(2)
        }
    }
}
