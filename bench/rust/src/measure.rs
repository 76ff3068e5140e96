use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Options {
    pub milliseconds: u64,
    pub max_keys: usize,
}

/// Work between two looks at the clock.
const CHUNK: usize = 1024;

/// Nanoseconds per decision. `ask` gets a place in the keys and says how many it decided there, all admitted.
pub fn time(options: &Options, keys: usize, threads: usize, ask: impl Fn(usize) -> usize + Sync) -> f64 {
    let (decided, start) = (AtomicU64::new(0), Barrier::new(threads));
    let span = Duration::from_millis(options.milliseconds);
    let mut elapsed = Duration::ZERO;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let (decided, start, ask) = (&decided, &start, &ask);
                scope.spawn(move || {
                    let mut at = keys / threads * number;
                    let mut count = 0;
                    start.wait();
                    let begin = Instant::now();
                    while begin.elapsed() < span {
                        let until = count + CHUNK;
                        while count < until {
                            let done = black_box(ask(black_box(at)));
                            assert!(done > 0, "not admitted");
                            count += done;
                            at += done;
                            if at >= keys {
                                at = 0;
                            }
                        }
                    }
                    decided.fetch_add(count as u64, Ordering::Relaxed);
                    begin.elapsed()
                })
            })
            .collect();
        elapsed = workers.into_iter().map(|worker| worker.join().expect("a worker")).max().expect("one");
    });
    elapsed.as_nanos() as f64 / decided.into_inner() as f64
}

/// Keys in an order that no cache knows.
pub fn keys(count: usize) -> Vec<String> {
    let mut keys: Vec<String> = (0..count).map(|i| format!("user-{i:09}")).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for i in (1..count).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        keys.swap(i, (random % (i as u64 + 1)) as usize);
    }
    keys
}

pub fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) * 1024
}

pub fn print_machine() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("machine: {cores} cores, {}", model.trim_start_matches([' ', '\t', ':']));
    let rustc = std::process::Command::new("rustc").arg("--version").output();
    println!("{}", rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default());
    println!("ratel {}, engine {}", ratel::VERSION, ratel::engine_version());
    for name in ["governor", "dashmap", "tower_governor", "axum"] {
        let entry = include_str!("../Cargo.lock").split(&format!("name = \"{name}\"\nversion = \"")).nth(1);
        println!("{name} {}", entry.and_then(|rest| rest.split('"').next()).unwrap_or("unknown"));
    }
}
