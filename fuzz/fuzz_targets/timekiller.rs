#![no_main]
//! Reads arbitrary bytes as `timekiller`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    isolde_fuzz::one_file(bytes, history::format::Format::TimeKiller);
});
