//! Writes seeds for every target under `fuzz/corpus`: small histories in every format that holds
//! them, compressed and plain, certificates, and the bytes of the histories themselves.

use history::Initial;
use history::certificate::to_json;
use history::format::{Format, write, write_logs};
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

/// Logs of one transaction each: every byte is a write of its own, and a read of an earlier one.
/// Small histories write a value more than once, which Cobra cannot hold.
fn cobra_logs(bytes: &[u8]) -> Vec<u8> {
    let mut logs = Vec::new();
    let mut record = |letter: u8, numbers: &[u64]| {
        logs.push(letter);
        for number in numbers {
            logs.extend_from_slice(&number.to_be_bytes());
        }
    };
    for (txn, ops) in (1..).zip(bytes.chunks(4).take(6)) {
        record(b'S', &[txn]);
        for (id, &op) in (8 * txn..).zip(ops) {
            let (key, seen) = (u64::from(op % 4), u64::from(op / 4));
            record(b'W', &[id, key, id]);
            record(b'R', &[seen / 8, seen, key, seen]);
        }
        record(b'C', &[txn]);
        record(b'/', &[]);
        record(b'F', &[]);
    }
    logs
}

fn main() -> std::io::Result<()> {
    for seed in 0..64 {
        let bytes = seed_bytes(seed);
        keep("check", seed, &bytes)?;
        let history = small_history(&bytes);
        for (target, format) in FORMATS {
            let mut written = Vec::new();
            let done = match format {
                Format::Cobra => {
                    written = cobra_logs(&bytes);
                    true
                }
                Format::Viper => write_logs(&history, format).is_ok_and(|logs| {
                    let logs: Vec<Vec<u8>> = logs.into_iter().map(|log| log.1).collect();
                    written = logs.join(&b"/F"[..]);
                    true
                }),
                _ => write(&history, format, &mut written).is_ok(),
            };
            if done && format == Format::JepsenStore {
                // The first block is a stream, of type 4: its data behind a header of 28 bytes.
                let length = u64::from_be_bytes(written[18..26].try_into().expect("8 bytes"));
                let data = &written[18 + 28..18 + length as usize];
                keep(target, 1000 + seed, &[&[4], data].concat())?;
            }
            if done {
                keep(target, seed, &written)?;
                keep("detect", 100 * seed + format as u64, &written)?;
            }
        }
    }
    let history = certified_history();
    let results = verdicts(&history);
    for (place, result) in results.iter().enumerate() {
        let text = to_json(
            &history,
            &Initial::default(),
            history::KeyOrder::Free,
            std::slice::from_ref(result),
        );
        keep("certificate", place as u64, text.as_bytes())?;
    }
    let text = to_json(
        &history,
        &Initial::NilOnly,
        history::KeyOrder::Free,
        &results,
    );
    keep("certificate", 100, text.as_bytes())
}
