//! Recordings that stop in the middle of a line.

use super::line::careful;
use super::rows::Rows;
use crate::format::Place;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines to read, and what is known of one that was cut off.
pub(super) struct Whole {
    pub start: usize,
    pub end: usize,
    pub fragment: Option<Fragment>,
}

/// A last line that stops in the middle, and its session if that was still there.
pub(super) struct Fragment {
    session: Option<i64>,
}

/// Finds the lines that are whole.
pub(super) fn whole_lines(text: &[u8]) -> Whole {
    let start = if text.starts_with(BYTE_ORDER_MARK) {
        3
    } else {
        0
    };
    let last = memchr::memrchr(b'\n', text).map_or(start, |at| at + 1);
    let cut = careful(&text[last..]).is_err_and(|error| error.at_end);
    if !cut || last == start {
        return Whole {
            start,
            end: text.len(),
            fragment: None,
        };
    }
    let mut fields = text[last..].split(|&byte| byte == b',').skip(2);
    let session = match (fields.next(), fields.next()) {
        (Some(session), Some(_)) => std::str::from_utf8(session.trim_ascii()).ok(),
        _ => None,
    };
    Whole {
        start,
        end: last,
        fragment: Some(Fragment {
            session: session.and_then(|text| text.parse().ok()),
        }),
    }
}

/// The transactions that may miss operations: the last one of the file and of the cut line's
/// session; the last one of every session where sessions interleave.
pub(super) fn unfinished(rows: &Rows, cut: Fragment) -> Vec<u32> {
    let mut unfinished: Vec<u32> = rows.last().into_iter().collect();
    if rows.scattered() {
        unfinished.extend(rows.last_of_sessions());
    } else if let Some(session) = cut.session {
        unfinished.extend(rows.last_of(session));
    }
    unfinished
}

/// What the report says about a cut recording.
pub(super) fn note(text: &[u8], end: usize, unfinished: usize) -> String {
    let line = match Place::of_offset(text, end) {
        Place::Line { line, .. } => line,
        _ => 0,
    };
    let stop = format!("the recording is cut off in line {line}");
    crate::format::cut::note(&stop, unfinished)
}
