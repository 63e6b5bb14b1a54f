#![no_main]
//! Reads arbitrary bytes as the logs of a Cobra directory; see [`isolde_fuzz::split_files`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    isolde_fuzz::logs(bytes, history::format::Format::Cobra);
});
