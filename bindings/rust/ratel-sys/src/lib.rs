//! The C ABI of [Ratel](https://github.com/ratel/ratel), one for one: `ratel/rl.h` in Rust. That header is the
//! documentation of every item here; the crate `ratel` is the safe API.
//!
//! The engine is found by pkg-config (`ratel.pc`), or built from the sources in this crate and linked statically with
//! the feature `vendored`.
#![no_std]
#![allow(non_camel_case_types, missing_docs)]

mod constants;
mod functions;
mod structs;

pub use constants::*;
pub use functions::*;
pub use structs::*;
