#![no_main]
//! Reads arbitrary bytes as the logs of `viper`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    isolde_fuzz::logs(bytes, history::format::Format::Viper);
});
