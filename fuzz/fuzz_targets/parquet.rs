#![no_main]
//! Reads arbitrary bytes as `parquet`.
//!
//! The parquet crate panics on some damage, and the reader catches that. The fuzzer's own hook ends
//! the process at any panic, so panics that begin in that crate go past it; ours do not.

libfuzzer_sys::fuzz_target!(init: isolde_fuzz::let_panics_pass("/parquet-"), |bytes: &[u8]| {
    isolde_fuzz::one_file(bytes, history::format::Format::Parquet);
});
