#![no_main]
//! Decompresses arbitrary bytes, finds out their format and reads them in it.

libfuzzer_sys::fuzz_target!(init: isolde_fuzz::let_panics_pass("/parquet-"), |bytes: &[u8]| {
    isolde_fuzz::any_file(bytes);
});
