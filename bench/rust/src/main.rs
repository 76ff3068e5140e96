//! Decisions per key next to governor, the wrapper next to C, and a layer's cost per request next to tower_governor:
//! all in one process, in memory. README.md says how to run it and how to read it.

mod decide;
mod http;
mod measure;
mod wrapper;

use measure::Options;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let milliseconds = arguments.next().unwrap_or(1000);
    let max_keys = arguments.next().unwrap_or(10_000_000) as usize;
    let options = Options { milliseconds, max_keys };
    measure::print_machine();
    decide::run(&options);
    wrapper::run(&options);
    http::run(&options);
}
