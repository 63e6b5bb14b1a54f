#![no_main]
//! Reads arbitrary bytes as `jepsen-store`, or as the data of its history; see
//! [`isolde_fuzz::jepsen_store`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isolde_fuzz::jepsen_store(bytes));
