//! Writes seeds for every target under `fuzz/corpus`: small histories in every format that holds
//! them, compressed and plain, certificates, and the bytes of the histories themselves.

use history::Initial;
use history::certificate::to_json;
use history::format::{Format, write, write_cobra};
use isolde_fuzz::{FORMATS, certified_history, seed_bytes, small_history, verdicts};
use std::fs;
use std::path::Path;

fn keep(target: &str, name: u64, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("seed-{name}")), bytes)
}

fn main() -> std::io::Result<()> {
    for seed in 0..64 {
        let bytes = seed_bytes(seed);
        keep("check", seed, &bytes)?;
        let history = small_history(&bytes);
        for (target, format) in FORMATS {
            let mut written = Vec::new();
            let done = match format {
                Format::Cobra => write_cobra(&history).map(|files| {
                    let files: Vec<Vec<u8>> = files.into_iter().map(|file| file.1).collect();
                    written = files.join(&b"/F"[..]);
                }),
                _ => write(&history, format, &mut written),
            };
            if done.is_ok() {
                keep(target, seed, &written)?;
                keep("detect", 100 * seed + format as u64, &written)?;
            }
        }
    }
    let history = certified_history();
    let results = verdicts(&history);
    for (place, result) in results.iter().enumerate() {
        let text = to_json(&history, &Initial::default(), std::slice::from_ref(result));
        keep("certificate", place as u64, text.as_bytes())?;
    }
    let text = to_json(&history, &Initial::NilOnly, &results);
    keep("certificate", 100, text.as_bytes())
}
