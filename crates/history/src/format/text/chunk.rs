//! Parses a stretch of whole lines into columns.

use super::fast::{self, LOOKAHEAD, Tail};
use super::line::{self, Line, LineError, Owner};
use super::rows::Run;
use crate::{KeyId, Op, OpKind, Ops, ValueCode};
use std::ops::Range;

/// Stands in a column for a number of 2³¹ or more, which lies in the list beside it.
const WIDE: u32 = ValueCode::SMALL_LIMIT;

/// Operations in the order of the file, as far as one parser has come.
#[derive(Default)]
pub(super) struct Chunk {
    /// Keys and values below 2³¹ as they are; larger ones as [`WIDE`].
    pub ops: Ops,
    pub runs: Vec<Run>,
    /// The keys that did not fit, in order.
    pub wide_keys: Vec<u64>,
    /// The values that did not fit, in order.
    pub wide_values: Vec<u64>,
    /// The largest key that did fit.
    pub largest_key: u32,
}

/// What is wrong with a line, and where it starts.
pub(super) struct ChunkError {
    pub line_start: usize,
    pub error: LineError,
}

impl Chunk {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.ops.kinds.clear();
        self.ops.keys.clear();
        self.ops.values.clear();
        self.runs.clear();
        self.wide_keys.clear();
        self.wide_values.clear();
    }

    /// Parses the lines of `range`, which ends behind a line end or at the end of `text`.
    pub fn parse(&mut self, text: &[u8], range: Range<usize>) -> Result<(), ChunkError> {
        let mut at = range.start;
        let mut tail = Tail::NONE;
        let mut owner = None;
        while at < range.end {
            if let Some(ahead) = text.get(at..at + LOOKAHEAD)
                && let Ok(ahead) = ahead.try_into()
                && let Some(line) = fast::parse(ahead, &mut tail)
            {
                if line.owner.is_some() && line.owner != owner {
                    owner = line.owner;
                    self.begin(owner);
                }
                self.push(line.kind, line.key, line.value);
                at += line.len;
                continue;
            }
            let len = memchr::memchr(b'\n', &text[at..range.end]).unwrap_or(range.end - at);
            let parsed = line::careful(&text[at..at + len]).map_err(|error| ChunkError {
                line_start: at,
                error,
            })?;
            if let Line::Op {
                kind,
                key,
                value,
                owner: found,
            } = parsed
            {
                tail = Tail::NONE;
                if owner != Some(found) {
                    owner = Some(found);
                    self.begin(owner);
                }
                self.push(kind, key, value);
            }
            at += len + 1;
        }
        Ok(())
    }

    fn begin(&mut self, owner: Option<Owner>) {
        let start = self.ops.len();
        self.runs.extend(owner.map(|owner| Run { owner, start }));
    }

    #[inline(always)]
    fn push(&mut self, kind: OpKind, key: u64, value: u64) {
        let key = if key < WIDE.into() {
            self.largest_key = self.largest_key.max(key as u32);
            key as u32
        } else {
            self.wide_keys.push(key);
            WIDE
        };
        let value = if value < WIDE.into() {
            value as u32
        } else {
            self.wide_values.push(value);
            WIDE
        };
        self.ops.push(Op {
            kind,
            key: KeyId(key),
            value: ValueCode(value),
        });
    }
}
