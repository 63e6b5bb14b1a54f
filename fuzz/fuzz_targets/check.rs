#![no_main]
//! Checks an arbitrary small history, and certifies every verdict.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isolde_fuzz::check(bytes));
