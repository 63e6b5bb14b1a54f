//! What is wrong with a file as a whole, looked up once it is known that something is.

use super::chunk::ChunkError;
use super::line::{Line, careful};
use super::rows::Reused;
use crate::UNLABELLED;
use crate::format::{FormatError, Place};

/// The error of a line, with its place in the file.
pub(super) fn of_line(text: &[u8], bad: ChunkError) -> FormatError {
    let place = Place::of_offset(text, bad.line_start + bad.error.column);
    FormatError::new(place, bad.error.problem).hint(bad.error.hint)
}

/// The error of a file without a whole operation.
pub(super) fn empty(text: &[u8]) -> FormatError {
    if text.iter().all(u8::is_ascii_whitespace) {
        return crate::format::empty();
    }
    FormatError::new(Place::Whole, "there is no whole operation in the file")
        .hint("it holds only comments and blank lines, or it was cut off in its first operation")
}

/// Looks up the lines in which a transaction begins, is left and continues.
pub(super) fn of_reused(text: &[u8], reused: Reused) -> FormatError {
    let mut first_line = None;
    let mut left = None;
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let Ok(Line::Op { owner, .. }) = careful(line) else {
            continue;
        };
        if owner.session != reused.session {
            continue;
        }
        let same = owner.txn == reused.txn && !owner.aborted;
        match (first_line, left) {
            (None, _) if same => first_line = Some(index + 1),
            (Some(_), None) if !same => left = Some((index + 1, owner)),
            (Some(first), Some((line, other))) if same => {
                let Reused { session, txn } = reused;
                let other = match other.txn {
                    UNLABELLED => "an aborted transaction".to_string(),
                    number => format!("transaction {number}"),
                };
                let place = Place::Line {
                    line: index as u64 + 1,
                    column: 1,
                };
                let problem = format!(
                    "transaction {txn} of session {session}, begun in line {first}, \
                     goes on after {other} began in line {line}"
                );
                return FormatError::new(place, problem).hint(
                    "the transactions of a session follow one another; \
                     is the number used for two transactions?",
                );
            }
            _ => {}
        }
    }
    FormatError::new(
        Place::Whole,
        "a transaction number is used twice in a session",
    )
}
