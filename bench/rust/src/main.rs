//! Decisions per key next to governor, the wrapper next to C, and a layer's cost per request next to tower_governor:
//! all in one process, in memory. README.md says how to run it and how to read it.

mod decide;
mod http;
mod measure;
mod wrapper;

use measure::{Options, Report};

fn main() {
    let mut options = Options { rounds: 9, block: 10, max_keys: 1_000_000, only: None };
    let mut json = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--serve" {
            return http::serve();
        }
        let value = arguments.next().unwrap_or_else(|| panic!("{name} wants a value"));
        let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("{name} wants a number"));
        match name.as_str() {
            "--rounds" => options.rounds = number() as usize,
            "--block" => options.block = number(),
            "--keys" => options.max_keys = number() as usize,
            "--only" => options.only = Some(value),
            "--json" => json = Some(value),
            _ => panic!("no option {name}: there are --rounds, --block, --keys, --only and --json"),
        }
    }
    let mut report = Report::new(options.rounds);
    decide::run(&options, &mut report);
    wrapper::run(&options, &mut report);
    http::run(&options, &mut report);
    if let Some(file) = json {
        std::fs::write(file, report.json()).expect("a file");
    }
}
