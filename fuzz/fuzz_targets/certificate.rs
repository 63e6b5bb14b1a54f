#![no_main]
//! Reads arbitrary text as a certificate of one small history, and certifies what it says.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isolde_fuzz::certificate(bytes));
