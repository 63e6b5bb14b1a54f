//! What the fuzz targets do with their bytes. Each either returns or panics; libFuzzer's own limits
//! on time and memory catch what hangs or allocates wildly.

mod plain;
mod sealed;
mod small;

pub use sealed::sealed_store;
pub use small::{FORMATS, seed_bytes, small_history};

use history::certificate::{from_json, to_json};
use history::format::{self, Format, ReadOptions, Source};
use history::{History, Initial, Level, LevelResult, Verdict};
use plain::{Kept, consistent, plain};

fn read(sources: &[Source], format: Format) -> Option<History> {
    let options = ReadOptions {
        format: Some(format),
        ..ReadOptions::default()
    };
    let loaded = format::read(sources, &options).ok()?;
    consistent(&loaded.history);
    Some(loaded.history)
}

/// Reads a file; what was read is sound, and is the same after writing and reading it.
pub fn one_file(bytes: &[u8], format: Format) {
    let name = "fuzz";
    let Some(first) = read(&[Source { name, bytes }], format) else {
        return;
    };
    let mut written = Vec::new();
    if format::write(&first, format, &mut written).is_err() {
        return;
    }
    let source = Source {
        name,
        bytes: &written,
    };
    let second = read(&[source], format).expect("what was written can be read");
    let kept = Kept::by(format, &first);
    assert_eq!(plain(&first, kept), plain(&second, kept));
}

/// As [`one_file`], for Jepsen's files. Bytes that do not begin like one are the data of its
/// history's block, whose type is the first byte; the checksums around it are right.
pub fn jepsen_store(bytes: &[u8]) {
    match bytes.split_first() {
        Some((&kind, data)) if kind <= 5 => {
            one_file(&sealed_store(kind, data), Format::JepsenStore)
        }
        _ => one_file(bytes, Format::JepsenStore),
    }
}

/// Cuts bytes into files of a directory: each file ends at the bytes `/F`.
pub fn split_files(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    let mut rest = bytes;
    while files.len() < 8 {
        let end = rest.windows(2).position(|pair| pair == b"/F");
        let (file, after) = match end {
            Some(end) => (&rest[..end], &rest[end + 2..]),
            None => (rest, &rest[rest.len()..]),
        };
        files.push((format!("T{}.log", files.len() + 1), file));
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    files
}

/// As [`one_file`], for the files of a directory of logs.
pub fn logs(bytes: &[u8], format: Format) {
    let files = split_files(bytes);
    let sources: Vec<Source> = files
        .iter()
        .map(|(name, bytes)| Source { name, bytes })
        .collect();
    let Some(first) = read(&sources, format) else {
        return;
    };
    let Ok(written) = format::write_logs(&first, format) else {
        return;
    };
    let sources: Vec<Source> = written
        .iter()
        .map(|(name, bytes)| Source { name, bytes })
        .collect();
    let second = read(&sources, format).expect("what was written can be read");
    let kept = Kept::by(format, &first);
    assert_eq!(plain(&first, kept), plain(&second, kept));
}

/// Decompresses, finds out the format, and reads.
pub fn any_file(bytes: &[u8]) {
    let content = match format::decompress(bytes) {
        Ok(content) => content,
        Err(_) => return,
    };
    let bytes = content.as_deref().unwrap_or(bytes);
    let name = "fuzz";
    let Ok(loaded) = format::read(&[Source { name, bytes }], &ReadOptions::default()) else {
        return;
    };
    consistent(&loaded.history);
}

/// The history that [`certificate`] takes evidence about: a long fork, a lost update, a read of an
/// aborted write, a transaction of unknown outcome and a list.
pub fn certified_history() -> History {
    let text = br#"{"isolde":"history","version":1}
{"session":0,"txn":0,"ops":[["w","x",1],["w","y",1]]}
{"session":0,"txn":1,"ops":[["r","x",1],["w","x",2]]}
{"session":1,"txn":2,"ops":[["r","x",1],["w","x",3]]}
{"session":1,"txn":3,"status":"aborted","ops":[["w","y",4]]}
{"session":2,"txn":4,"ops":[["r","y",4],["r","x",2]]}
{"session":2,"txn":5,"status":"indeterminate","ops":[["w","z",1]]}
{"session":3,"txn":6,"ops":[["append","l",1],["append","l",2]]}
{"session":3,"txn":7,"ops":[["rlist","l",[1,2]],["r","x",3],["r","x",2]]}
"#;
    read(
        &[Source {
            name: "fuzz",
            bytes: text,
        }],
        Format::Isolde,
    )
    .expect("a good history")
}

/// Verdicts on a history, as the checker gives them.
pub fn verdicts(history: &History) -> Vec<LevelResult> {
    let checked = checker::check(history, &Level::WEAK, &checker::Options::default());
    checked.into_iter().map(|checked| checked.result).collect()
}

/// Reads a certificate; what was read is the same after writing and reading it.
pub fn certificate(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let history = certified_history();
    let Ok(first) = from_json(&history, text) else {
        return;
    };
    for result in &first.results {
        // Either answer is right; it must come.
        let _ = history::certify(&history, &first.initial, result);
    }
    let written = to_json(&history, &first.initial, first.keys, &first.results);
    let second = from_json(&history, &written).expect("what was written can be read");
    assert_eq!(first, second);
}

/// Checks a small history; every verdict but "unknown" must pass the certifier, also after a trip
/// through a certificate file.
pub fn check(bytes: &[u8]) {
    let history = small_history(bytes);
    consistent(&history);
    let initial = Initial::default();
    let results = verdicts(&history);
    for result in &results {
        if matches!(result.verdict, Verdict::Unknown(_)) {
            continue;
        }
        if let Err(refusal) = history::certify(&history, &initial, result) {
            panic!("{}: {}\n{result:#?}", result.level, refusal.reason());
        }
    }
    let written = to_json(&history, &initial, history::KeyOrder::Free, &results);
    let read = from_json(&history, &written).expect("what was written can be read");
    assert_eq!(read.results, results);
}

/// Lets panics that begin in files with this in their path unwind, instead of ending the process.
pub fn let_panics_pass(path: &'static str) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let begins = info.location().is_some_and(|at| at.file().contains(path));
        if !begins {
            hook(info);
        }
    }));
}
