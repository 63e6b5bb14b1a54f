//! Opening history files: mapped into memory, decompressed, or read from standard input.
//!
//! Files are mapped and not read: the readers walk through them once from the front, and pages
//! already parsed are given back at once, so a file of any size adds almost nothing to the memory
//! in use. This is the one place with `unsafe` code; each use says why it is sound.

use crate::exit::Failure;
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use crate::store;
use history::format::{self, Format, FormatError, Loaded, ReadOptions, Source};
use memmap2::{Mmap, UncheckedAdvice};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The bytes of one file.
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// Gives back the pages of a range that is not needed any more.
    fn release(&self, range: Range<usize>) {
        const PAGE: usize = 4096;
        let Bytes::Mapped(map) = self else { return };
        let start = range.start.next_multiple_of(PAGE);
        let end = range.end.min(map.len()) / PAGE * PAGE;
        if start < end {
            // SAFETY: the mapping is shared, read-only and backed by the file, so dropped pages
            // are read from the file again if anybody looks at them; no data can be lost. Failure
            // only means that the pages stay.
            let _ = unsafe {
                map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start)
            };
        }
    }
}

/// Why there is no history: a bad file, or a limit that was reached before it was read.
pub enum LoadError {
    Failure(Failure),
    Limit(String),
}

impl From<Failure> for LoadError {
    fn from(failure: Failure) -> LoadError {
        LoadError::Failure(failure)
    }
}

/// Reads a history from a file, a directory, or standard input (`-`).
pub fn load(
    name: &str,
    format: Option<Format>,
    limits: &Limits,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    progress.stage("reading");
    let started = Instant::now();
    let run = run_files(name, format)?;
    let loaded = match &run[..] {
        [] => load_files(name, open(name, format, limits)?, format, limits, progress),
        files => load_run(files, format, limits, progress),
    }?;
    output::detail(|| {
        let (count, format) = (loaded.history.txn_count(), loaded.format);
        let seconds = started.elapsed().as_secs_f64();
        format!("{name}: {count} transactions read as {format} in {seconds:.3} s")
    });
    Ok(loaded)
}

/// Whether a name leads to a file that is read in an instant.
pub fn is_small(name: &str) -> bool {
    let metadata = std::fs::metadata(name);
    metadata.is_ok_and(|file| file.is_file() && file.len() < format::THREADS_FROM as u64)
}

/// The files of a run of Jepsen, if that is what the name leads to.
fn run_files(name: &str, format: Option<Format>) -> Result<Vec<PathBuf>, Failure> {
    let path = Path::new(name);
    match name != "-" && path.is_dir() {
        true => store::files(path, format),
        false => Ok(Vec::new()),
    }
}

/// Reads the first file of a run that is whole; what is wrong with those before it is noted. A file
/// that is cut off is read as far as it goes if there is no other.
fn load_run(
    files: &[PathBuf],
    format: Option<Format>,
    limits: &Limits,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    let mut notes = Vec::new();
    let mut errors = Vec::new();
    for (place, path) in files.iter().enumerate() {
        let name = path.display().to_string();
        let opened = open(&name, format, limits)?;
        let bytes = opened
            .first()
            .map_or(&[][..], |(_, bytes)| bytes.as_slice());
        let is_store = path.ends_with("test.jepsen");
        let format = format.or(is_store.then_some(Format::JepsenStore));
        let cut = match is_store && place + 1 < files.len() {
            true => format::store::check_whole(bytes).err(),
            false => None,
        };
        let loaded = match cut {
            Some(error) => Err(Failure::with(&name, error).into()),
            None => load_files(&name, opened, format, limits, progress),
        };
        match loaded {
            Ok(mut loaded) => {
                notes.append(&mut loaded.notes);
                return Ok(Loaded { notes, ..loaded });
            }
            Err(LoadError::Limit(reason)) => return Err(LoadError::Limit(reason)),
            Err(LoadError::Failure(failure)) => {
                if let Some(next) = files.get(place + 1) {
                    let next = next.file_name().unwrap_or_default().to_string_lossy();
                    let problem = failure.0.lines().next().unwrap_or_default();
                    notes.push(format!("{next} is read instead of {problem}"));
                }
                errors.push(failure.0);
            }
        }
    }
    Err(Failure(errors.join("\n")).into())
}

/// The one file behind a name that is not a directory of logs: itself, standard input, or the best
/// file of a run. `work` gets its content.
pub fn with_bytes<T>(
    name: &str,
    work: impl FnOnce(Source<'_>) -> Result<T, FormatError>,
) -> Result<T, Failure> {
    let run = run_files(name, None)?;
    let name = match run.first() {
        Some(path) => path.display().to_string(),
        None => name.to_string(),
    };
    let files = match open(&name, None, &Limits::new(None, None)) {
        Ok(files) => files,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => return Err(Failure::with(&name, reason)),
    };
    let bytes = files.first().map_or(&[][..], |(_, bytes)| bytes.as_slice());
    let source = Source { name: &name, bytes };
    work(source).map_err(|error| Failure::with(&name, error))
}

/// Reads a history from the files behind a name.
fn load_files(
    name: &str,
    files: Vec<(String, Bytes)>,
    format: Option<Format>,
    limits: &Limits,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    let mut sources = Vec::with_capacity(files.len());
    let mut size = 0;
    for (name, bytes) in &files {
        let bytes = bytes.as_slice();
        size += bytes.len();
        sources.push(Source { name, bytes });
    }
    let sample = files.first().map_or(&[][..], |(_, bytes)| bytes.as_slice());
    if let Some(reason) = limits.too_large(size as u64, sample) {
        return Err(LoadError::Limit(reason));
    }
    let options = ReadOptions {
        format,
        threads: threads_for(size),
        release: &|range| {
            if let [(_, bytes)] = &files[..] {
                bytes.release(range);
            }
        },
        progress: &|done| progress.bytes(done, size as u64),
    };
    let loaded = format::read(&sources, &options).map_err(|error| Failure::with(name, error))?;
    match limits.reached() {
        Some(reason) => Err(LoadError::Limit(format!("{reason} (stage: reading)"))),
        None => Ok(loaded),
    }
}

/// How many threads read so many bytes. How many there could be is asked only if it matters: the answer is in a dozen
/// small files.
fn threads_for(size: usize) -> usize {
    match size < format::THREADS_FROM {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, |count| count.get()),
    }
}

/// The files behind a name, decompressed.
fn open(
    name: &str,
    format: Option<Format>,
    limits: &Limits,
) -> Result<Vec<(String, Bytes)>, LoadError> {
    let path = Path::new(name);
    let mut files = Vec::new();
    if name == "-" {
        let bytes = read_stream("standard input", std::io::stdin().lock(), format, limits)?;
        files.push((name.to_string(), Bytes::Owned(bytes)));
    } else if path.is_dir() {
        for (file, path) in files_of(path).map_err(|error| Failure::with(name, error))? {
            files.push((file, map(&path, format, limits)?));
        }
        if files.is_empty() {
            let problem = "there is no file in this directory\n  hint: a directory is read as \
                           a run of Jepsen (test.jepsen, history.edn) or as the logs of Cobra \
                           or Viper, one file T<n>.log or J<n>.log a session";
            return Err(Failure::with(name, problem).into());
        }
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
    } else {
        files.push((name.to_string(), map(path, format, limits)?));
    }
    for (name, bytes) in &mut files {
        let plain = format::decompress(bytes.as_slice());
        if let Some(plain) = plain.map_err(|error| Failure::with(name, error))? {
            *bytes = Bytes::Owned(plain);
        }
    }
    Ok(files)
}

/// The files of a directory by name; where some are Cobra's or Viper's logs, only those, since
/// drivers leave notes of their own beside them.
fn files_of(directory: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, entry.path()));
        }
    }
    for letter in ['T', 'J'] {
        let is_log = |(name, _): &(String, PathBuf)| {
            let number = name
                .strip_prefix(letter)
                .and_then(|n| n.strip_suffix(".log"));
            number.is_some_and(|number| number.parse::<u64>().is_ok())
        };
        if files.iter().any(is_log) {
            files.retain(is_log);
        }
    }
    Ok(files)
}

/// So much of a stream is read before its format is asked for, and so much at a time.
const STREAM_PART: u64 = 1 << 20;

/// Reads what cannot be mapped. It may go on for ever, so it is refused as soon as its beginning shows
/// that no format fits, and given up at a limit.
fn read_stream(
    name: &str,
    mut stream: impl Read,
    format: Option<Format>,
    limits: &Limits,
) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    loop {
        let part = stream.by_ref().take(STREAM_PART).read_to_end(&mut bytes);
        let count = part.map_err(|error| Failure::with(name, error))?;
        if (count as u64) < STREAM_PART {
            return Ok(bytes);
        }
        if bytes.len() == count && format.is_none() {
            format::check_head(&bytes).map_err(|error| Failure::with(name, error))?;
        }
        let too_large = || limits.too_large(bytes.len() as u64, &bytes);
        if let Some(reason) = limits.reached().or_else(too_large) {
            return Err(LoadError::Limit(format!("{reason} (stage: reading)")));
        }
    }
}

fn map(path: &Path, format: Option<Format>, limits: &Limits) -> Result<Bytes, LoadError> {
    let failure = |error: std::io::Error| Failure::with(&path.display().to_string(), error);
    let file = File::open(path).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if !metadata.is_file() || metadata.len() == 0 {
        // Pipes and devices cannot be mapped, and an empty mapping is not allowed.
        let bytes = read_stream(&path.display().to_string(), file, format, limits)?;
        return Ok(Bytes::Owned(bytes));
    }
    // SAFETY: the slice is only valid while nobody shortens the file. A recording that is still
    // being written only grows, and the bytes seen are parsed with every bound checked, so a
    // change in place can at worst make a malformed history. Truncation while reading ends the
    // process with a signal instead of a wrong answer. Measured reason: mapping avoids holding a
    // file of many gigabytes in memory next to the history read from it.
    let map = unsafe { Mmap::map(&file) }.map_err(failure)?;
    Ok(Bytes::Mapped(map))
}
