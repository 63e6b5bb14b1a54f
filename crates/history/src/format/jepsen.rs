//! Jepsen operation maps, in EDN and in JSON: `{:type :invoke, :process 0, :f :txn, :value …}`.
//!
//! An operation is two maps, its invocation and its completion, paired by process. What the maps
//! may hold and how they become transactions is said in `docs/formats.md`; in short: `:ok` is
//! committed with the completion's values, `:fail` is aborted, `:info` and a missing completion are
//! indeterminate; the session is the process; faults (`:nemesis`) are skipped and counted.

use super::jepsen_read::Reader;
use super::{FormatError, ReadOptions, WriteError, jepsen_write};
use crate::History;
use std::io::Write;

/// Reads EDN: a stream of maps or one vector of them, plain or tagged `#jepsen.history.Op`.
/// What was left out (faults, an unfinished last map) is said in `notes`.
pub fn read_edn(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    read::<false>(bytes, &ReadOptions::default(), notes)
}

/// Reads JSON: an array of objects, or one after another.
pub fn read_json(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    read::<true>(bytes, &ReadOptions::default(), notes)
}

/// Reads EDN or JSON, giving back what was read.
pub(super) fn read<const JSON: bool>(
    bytes: &[u8],
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<History, FormatError> {
    Reader::<JSON>::read(bytes, options, notes).map_err(|flaw| flaw.in_text(bytes))
}

/// Writes EDN, one map a line, in order of time. Without times, every map gets time 0, which reads
/// back as no times at all; a time at which nothing is known to have completed is not kept.
pub fn write_edn(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    jepsen_write::write::<false>(history, out)
}

/// Writes JSON: an array with one object a line; otherwise as [`write_edn`].
pub fn write_json(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    jepsen_write::write::<true>(history, out)
}
