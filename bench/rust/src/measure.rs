use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What the command line says.
pub struct Options {
    pub rounds: usize,
    /// Milliseconds of a candidate's turn in a round.
    pub block: u64,
    pub max_keys: usize,
    /// Part of the names of those that are wanted.
    pub only: Option<String>,
}

impl Options {
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }
}

/// A row that takes its turn in each round: so many decisions, and the nanoseconds of one.
pub struct Runner<'a> {
    pub row: usize,
    calls: usize,
    turn: Box<dyn FnMut(usize) -> f64 + 'a>,
}

impl<'a> Runner<'a> {
    pub fn new(row: usize, turn: impl FnMut(usize) -> f64 + 'a) -> Self {
        Self { row, calls: 64, turn: Box::new(turn) }
    }

    /// Finds how many decisions fill a turn.
    fn calibrate(&mut self, block: u64) {
        let want = block as f64 * 1e6;
        loop {
            let ns = (self.turn)(self.calls) * self.calls as f64;
            if ns > want / 4.0 || self.calls >= 1 << 24 {
                self.calls = ((self.calls as f64 * want / ns) as usize).max(64);
                return;
            }
            self.calls *= 4;
        }
    }
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, out: *mut Timespec) -> i32;
}

/// Nanoseconds of processor time that this thread has used: what else runs on the machine is not in it.
pub fn thread_time() -> f64 {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut told = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: a timespec of this platform, which is 64-bit Linux.
    assert_eq!(unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut told) }, 0);
    told.seconds as f64 * 1e9 + told.nanoseconds as f64
}

/// What asks for keys in turn, by `threads`; one alone is told in its processor time, several, which are about each
/// other, in the time that passed. `ask` gets a place in the keys and says how many it decided there, all as
/// expected.
pub fn asking<'a>(
    keys: usize,
    threads: usize,
    ask: impl Fn(usize) -> usize + Sync + 'a,
) -> impl FnMut(usize) -> f64 + 'a {
    let places: Vec<_> = (0..threads).map(|thread| AtomicUsize::new(keys / threads * thread)).collect();
    move |calls| {
        let work = |place: &AtomicUsize| {
            let (mut at, mut count) = (place.load(Ordering::Relaxed), 0);
            while count < calls {
                let done = black_box(ask(black_box(at)));
                assert!(done > 0, "not the answer that was expected");
                count += done;
                at += done;
                if at >= keys {
                    at = 0;
                }
            }
            place.store(at, Ordering::Relaxed);
            count
        };
        if let [place] = places.as_slice() {
            let begin = thread_time();
            let count = work(place);
            return (thread_time() - begin) / count as f64;
        }
        let start = Barrier::new(threads);
        let run = |place| {
            start.wait();
            let begin = Instant::now();
            let count = work(place);
            (begin, Instant::now(), count)
        };
        let times: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = places.iter().map(|place| scope.spawn(|| run(place))).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
        });
        let begin = times.iter().map(|(begin, ..)| *begin).min().expect("one");
        let end = times.iter().map(|(_, end, _)| *end).max().expect("one");
        (end - begin).as_nanos() as f64 / times.iter().map(|(.., count)| count).sum::<usize>() as f64
    }
}

struct Row {
    section: String,
    name: String,
    keys: usize,
    threads: usize,
    bytes_per_key: Option<usize>,
    ns: Vec<f64>,
}

pub struct Report {
    rounds: usize,
    versions: Vec<(&'static str, String)>,
    rows: Vec<Row>,
}

impl Report {
    pub fn new(rounds: usize) -> Self {
        let report = Self { rounds, versions: versions(), rows: Vec::new() };
        for (name, version) in &report.versions {
            println!("{name} {version}");
        }
        report
    }

    pub fn row(&mut self, section: &str, name: &str, keys: usize, threads: usize) -> usize {
        let (section, name) = (section.to_string(), name.to_string());
        self.rows.push(Row { section, name, keys, threads, bytes_per_key: None, ns: Vec::new() });
        self.rows.len() - 1
    }

    pub fn bytes_per_key(&mut self, row: usize, bytes: usize) {
        self.rows[row].bytes_per_key = Some(bytes);
    }

    /// Gives each its turn, round after round, so that what disturbs one disturbs the others; and prints the medians, the
    /// lowest in brackets.
    pub fn measure(&mut self, options: &Options, mut runners: Vec<Runner<'_>>) {
        for runner in &mut runners {
            runner.calibrate(options.block);
        }
        for _ in 0..options.rounds {
            for runner in &mut runners {
                let ns = (runner.turn)(runner.calls);
                self.rows[runner.row].ns.push(ns);
            }
        }
        if let Some(runner) = runners.first() {
            println!("\n{}, {} keys", self.rows[runner.row].section, self.rows[runner.row].keys);
        }
        for runner in &runners {
            let row = &self.rows[runner.row];
            let mut ns = row.ns.clone();
            ns.sort_by(f64::total_cmp);
            let memory = row.bytes_per_key.map_or(String::new(), |bytes| format!(", {bytes} bytes a key"));
            let median = ns[ns.len() / 2];
            println!("  {:34} {} thread(s) {median:9.1} ns ({:.1}){memory}", row.name, row.threads, ns[0]);
        }
    }

    /// Names and versions hold nothing that JSON would have to escape.
    pub fn json(&self) -> String {
        let versions = self.versions.iter().map(|(name, text)| match text.parse::<f64>() {
            Ok(number) if *name == "load_average_at_start" => format!("\"{name}\": {number}"),
            _ => format!("\"{name}\": \"{text}\""),
        });
        let rows = self.rows.iter().map(|row| {
            let ns: Vec<_> = row.ns.iter().map(|ns| format!("{ns:.2}")).collect();
            let memory = row.bytes_per_key.map_or(String::new(), |bytes| format!(", \"bytes_per_key\": {bytes}"));
            format!(
                "{{\"section\": \"{}\", \"name\": \"{}\", \"keys\": {}, \"threads\": {}, \"ns\": [{}]{memory}}}",
                row.section,
                row.name,
                row.keys,
                row.threads,
                ns.join(", ")
            )
        });
        let (versions, rows): (Vec<_>, Vec<_>) = (versions.collect(), rows.collect());
        format!(
            "{{\"versions\": {{{}}}, \"rounds\": {}, \"rows\": [\n{}\n]}}\n",
            versions.join(", "),
            self.rounds,
            rows.join(",\n")
        )
    }
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

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
}

fn versions() -> Vec<(&'static str, String)> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let machine =
        format!("{}, {cores} cores, {}", model.trim_start_matches([' ', '\t', ':']), output_of("uname", &["-sr"]));
    let mut told = vec![
        ("machine", machine),
        ("date", output_of("date", &["-u", "+%F"])),
        ("load_average_at_start", load.split(' ').next().unwrap_or("0").to_string()),
        ("rustc", output_of("rustc", &["--version"])),
        ("ratel", ratel::engine_version().to_string()),
    ];
    for name in ["governor", "dashmap", "tower_governor", "axum"] {
        let entry = include_str!("../Cargo.lock").split(&format!("name = \"{name}\"\nversion = \"")).nth(1);
        told.push((name, entry.and_then(|rest| rest.split('"').next()).unwrap_or("unknown").to_string()));
    }
    told
}
