//! Reading and writing histories, one file a format.

mod awdit;
pub mod bank;
pub mod calls;
mod cobra;
mod codes;
mod compress;
mod cut;
mod dbcop_bincode;
mod dbcop_hist;
mod dbcop_json;
mod decimal;
mod detect;
mod edn;
mod error;
mod escape;
mod events;
mod holds;
pub mod jepsen;
mod jepsen_clock;
mod jepsen_event;
mod jepsen_open;
mod jepsen_read;
mod jepsen_value;
mod jepsen_write;
mod json;
pub mod jsonl;
mod jsonl_write;
mod keys;
mod kind;
mod list_text;
pub mod parquet;
mod parquet_column;
mod parquet_group;
mod parquet_header;
mod parquet_layout;
mod parquet_pages;
mod parquet_read;
mod parquet_write;
mod sessions;
mod skip;
mod started;
pub mod store;
mod text;
mod timekiller;
mod timekiller_write;
mod viper;

pub use compress::decompress;
pub use detect::{check_head, detect};
pub use error::{FormatError, Place, WriteError};
pub use kind::{Format, UnknownFormat};

use crate::History;
use std::io::Write;
use std::ops::Range;

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of the file within its directory.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// A history and what there is to say about its file.
#[derive(Debug)]
pub struct Loaded {
    /// The history.
    pub history: History,
    /// The format it was read from.
    pub format: Format,
    /// What the reader of a report should know, such as that the recording is cut off.
    pub notes: Vec<String>,
}

/// A smaller input is read by one thread.
pub const THREADS_FROM: usize = 16 << 20;

/// How to read.
pub struct ReadOptions<'a> {
    /// The format; found out from the content if there is none.
    pub format: Option<Format>,
    /// How many threads may be used; more than one only from [`THREADS_FROM`] on.
    pub threads: usize,
    /// Told of bytes of a single source that are not needed any more, so that the pages of a
    /// mapped file can be given back. The ranges follow line ends, not pages; the bytes must stay
    /// readable, since they are read again to tell the line of an error.
    pub release: &'a (dyn Fn(Range<usize>) + Sync),
    /// Told how many bytes are done.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        ReadOptions {
            format: None,
            threads: 1,
            release: &|_| {},
            progress: &|_| {},
        }
    }
}

/// Reads a history from one file or, for the formats with a log a session, from the files of a
/// directory.
pub fn read(sources: &[Source], options: &ReadOptions) -> Result<Loaded, FormatError> {
    let format = match options.format {
        Some(format) => format,
        None => detect(sources)?,
    };
    match format {
        Format::Cobra => return cobra::read(sources, options),
        Format::Viper => return viper::read(sources, options),
        _ => {}
    }
    let source = only(sources, format)?;
    let bytes = source.bytes;
    let loaded = match format {
        Format::Text => text::read(bytes, options),
        Format::Awdit => awdit::read(bytes),
        Format::Cobra => cobra::read(sources, options),
        Format::Viper => viper::read(sources, options),
        Format::DbcopBincode => dbcop_bincode::read(bytes),
        Format::DbcopJson => dbcop_json::read(bytes),
        Format::DbcopHist => dbcop_hist::read(bytes),
        Format::JepsenEdn => noted(format, |notes| jepsen::read::<false>(bytes, options, notes)),
        Format::JepsenJson => noted(format, |notes| jepsen::read::<true>(bytes, options, notes)),
        Format::JepsenStore => noted(format, |notes| store::read(bytes, notes)),
        Format::TimeKiller => noted(format, |notes| timekiller::read(bytes, notes)),
        Format::Isolde => noted(format, |notes| jsonl::read(bytes, notes)),
        Format::Parquet => noted(format, |notes| parquet::read(bytes, notes)),
    }?;
    (options.progress)(bytes.len() as u64);
    Ok(loaded)
}

/// A reader that notes what there is to say about its file.
fn noted(
    format: Format,
    read: impl FnOnce(&mut Vec<String>) -> Result<History, FormatError>,
) -> Result<Loaded, FormatError> {
    let mut notes = Vec::new();
    let history = read(&mut notes)?;
    if history.txn_count() == 0 && notes.is_empty() {
        notes.push("the file holds no transaction".into());
    }
    Ok(Loaded {
        history,
        format,
        notes,
    })
}

/// The one file that every format without directories is.
fn only<'a>(sources: &[Source<'a>], format: Format) -> Result<Source<'a>, FormatError> {
    match sources {
        [source] => Ok(*source),
        [] => Err(FormatError::new(Place::Whole, "there is no file to read")),
        _ => Err(FormatError::new(
            Place::Whole,
            format!(
                "expected one file of the format {format}, found {}",
                sources.len()
            ),
        )
        .hint("only cobra and viper keep a history in several files")),
    }
}

/// The files, by name, of a history in a format that is a directory ([`Format::is_directory`]).
pub fn write_logs(history: &History, format: Format) -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    match format {
        Format::Viper => viper::write(history),
        _ => cobra::write(history),
    }
}

/// Writes a history. For formats that are directories see [`write_logs`].
pub fn write(history: &History, format: Format, out: &mut dyn Write) -> Result<(), WriteError> {
    match format {
        Format::Text => text::write(history, out),
        Format::Awdit => awdit::write(history, out),
        Format::Cobra | Format::Viper => Err(WriteError::CannotHold(format!(
            "the format {format} is a directory with one file a session, not one file"
        ))),
        Format::DbcopBincode => dbcop_bincode::write(history, out),
        Format::DbcopJson => dbcop_json::write(history, out),
        Format::DbcopHist => dbcop_hist::write(history, out),
        Format::JepsenEdn => jepsen::write_edn(history, out),
        Format::JepsenJson => jepsen::write_json(history, out),
        Format::JepsenStore => store::write(history, out),
        Format::TimeKiller => timekiller_write::write(history, out),
        Format::Isolde => jsonl::write(history, out),
        Format::Parquet => parquet::write(history, out),
    }
}

/// The beginning of some bytes as a person can read it, for an error message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const LENGTH: usize = 24;
    if bytes.is_empty() {
        return "the end".to_string();
    }
    let shown = &bytes[..bytes.len().min(LENGTH)];
    let dots = if bytes.len() > LENGTH { "…" } else { "" };
    format!("`{}{dots}`", shown.escape_ascii())
}

/// The error of a history beyond what the columns can number.
pub(crate) fn too_large(error: crate::TooLarge) -> FormatError {
    FormatError::new(Place::Whole, error.to_string())
}

/// The error of a file without a byte.
pub(crate) fn empty() -> FormatError {
    FormatError::new(Place::Whole, "the file is empty")
        .hint("did the recording stop before its first transaction, or is it another file?")
}
