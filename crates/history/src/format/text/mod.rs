//! PolySI, Plume and IsoVista text: `r(key,value,session,txn)` or `w(…)`, one operation a line.
//!
//! The file is read in windows of some megabytes; the lines of a window are shared out among
//! threads, and the columns each thread makes are appended in the order of the file, so beside the
//! finished columns only a window's worth of memory is needed. Numbers below 2³¹ are their own
//! codes; larger ones are interned while appending. Linear in the file, but for a sort of the keys
//! where they have gaps and of the transaction numbers where those do not ascend.

mod chunk;
mod cut;
mod fast;
mod line;
mod problem;
mod rows;
mod write;

pub(super) use write::write;

use super::keys::{NumberedKeys, is_dense};
use super::{Format, FormatError, Loaded, ReadOptions, THREADS_FROM};
use crate::wide::WideInts;
use crate::{Builder, KeyTable, Ops, ValueCode, ValueTable};
use chunk::{Chunk, ChunkError};
use rows::Rows;
use std::ops::Range;

/// Bytes that each thread reads before the columns of all are joined; what is read is given back
/// to the system as often.
const WINDOW: usize = 1 << 20;
/// The same where one thread reads alone, and nobody waits for anybody: less memory for the window.
const WINDOW_ALONE: usize = 1 << 18;
/// Bytes that tell how much room the whole file takes.
const SAMPLE: usize = 64 << 10;
/// No more large values are expected by the beginning of a file: the rest may be different.
const EXPECTED_MAX: usize = 1 << 21;

/// Reads a history.
pub(super) fn read(text: &[u8], options: &ReadOptions) -> Result<Loaded, FormatError> {
    let whole = cut::whole_lines(text);
    let mut reader = Reader::new(text, whole.start..whole.end);
    reader.read_windows(text, whole.start..whole.end, options)?;
    let Reader {
        main,
        mut rows,
        wide_keys,
        values,
    } = reader;
    if let Some(reused) = rows.reused() {
        return Err(problem::of_reused(text, reused));
    }
    let mut ops = main.ops;
    let mut notes = Vec::new();
    if let Some(fragment) = whole.fragment {
        let count = rows.doubt(&cut::unfinished(&rows, fragment));
        notes.push(cut::note(text, whole.end, count));
    }
    if rows.scattered() {
        rows.gather(&mut ops);
    }
    if rows.txns.is_empty() {
        return Err(problem::empty(text));
    }
    let keys = name_keys(&mut ops, main.largest_key, wide_keys);
    let mut builder = Builder::from_rows(rows.labels, rows.txns, ops).map_err(super::too_large)?;
    builder.keys = keys;
    builder.values = values;
    Ok(Loaded {
        history: builder.finish(),
        format: Format::Text,
        notes,
    })
}

struct Reader {
    /// What is read so far; a chunk of every window is parsed right into it.
    main: Chunk,
    rows: Rows,
    wide_keys: WideInts,
    values: ValueTable,
}

impl Reader {
    fn new(text: &[u8], range: Range<usize>) -> Reader {
        let sample = &text[range.start..range.end.min(range.start + SAMPLE)];
        let lines = memchr::memchr_iter(b'\n', sample).count();
        let expected = (range.len() as u128 * lines as u128 / sample.len().max(1) as u128) as usize;
        let mut main = Chunk::default();
        if range.len() > sample.len() {
            let expected = expected + expected / 16;
            main.ops.kinds.reserve_exact(expected);
            main.ops.keys.reserve_exact(expected);
            main.ops.values.reserve_exact(expected);
        }
        Reader {
            main,
            rows: Rows::default(),
            wide_keys: WideInts::default(),
            values: ValueTable::default(),
        }
    }

    fn read_windows(
        &mut self,
        text: &[u8],
        range: Range<usize>,
        options: &ReadOptions,
    ) -> Result<(), FormatError> {
        let threads = if range.len() < THREADS_FROM {
            1
        } else {
            options.threads.max(1)
        };
        let share = if threads == 1 { WINDOW_ALONE } else { WINDOW };
        let mut side: Vec<Chunk> = (1..threads).map(|_| Chunk::default()).collect();
        let mut at = range.start;
        while at < range.end {
            let is_first = at == range.start;
            let window = if is_first { SAMPLE } else { share * threads };
            let end = line_end(text, at + window, range.end);
            self.read_window(text, at..end, &mut side)
                .map_err(|bad| problem::of_line(text, bad))?;
            if self.main.ops.len() >= u32::MAX as usize - WINDOW * threads {
                return Err(super::too_large(crate::TooLarge));
            }
            (options.release)(at..end);
            (options.progress)(end as u64);
            if is_first {
                self.expect(end - at, range.end - end);
            }
            at = end;
        }
        Ok(())
    }

    /// Makes room for what the `rest` of a file holds, if it is like the `read` bytes so far.
    fn expect(&mut self, read: usize, rest: usize) {
        self.rows.expect(read, rest);
        if self.values.interned_count() == 0 {
            return;
        }
        // Nearly every value is written somewhere, and most are written once.
        let is_wide = |value: &ValueCode| value.0 >= ValueCode::SMALL_LIMIT;
        let columns = self.main.ops.kinds.iter().zip(&self.main.ops.values);
        let written = columns.filter(|(kind, value)| kind.is_write() && is_wide(value));
        let total = written.count() as u128 * (read + rest) as u128 / read.max(1) as u128;
        let more = (total as usize).saturating_sub(self.values.interned_count());
        self.values.expect_wide(more.min(EXPECTED_MAX));
    }

    fn read_window(
        &mut self,
        text: &[u8],
        window: Range<usize>,
        side: &mut [Chunk],
    ) -> Result<(), ChunkError> {
        let share = window.len().div_ceil(side.len() + 1).max(1);
        let mut starts = vec![window.start];
        for _ in 0..side.len() {
            let last = starts[starts.len() - 1];
            starts.push(line_end(text, last + share, window.end));
        }
        starts.push(window.end);
        let main_start = self.main.ops.len();
        let main = &mut self.main;
        let results: Vec<Result<(), ChunkError>> = std::thread::scope(|scope| {
            let parts = starts.windows(2).skip(1).map(|pair| pair[0]..pair[1]);
            let parsers: Vec<_> = side
                .iter_mut()
                .zip(parts)
                .map(|(chunk, part)| {
                    scope.spawn(move || {
                        chunk.clear();
                        chunk.parse(text, part)
                    })
                })
                .collect();
            let mut results = vec![main.parse(text, starts[0]..starts[1])];
            for parser in parsers {
                results.push(
                    parser
                        .join()
                        .unwrap_or_else(|p| std::panic::resume_unwind(p)),
                );
            }
            results
        });
        results.into_iter().collect::<Result<(), ChunkError>>()?;
        self.settle(main_start);
        for chunk in side.iter_mut() {
            self.append(chunk);
        }
        Ok(())
    }

    /// Moves a chunk behind what is read so far.
    fn append(&mut self, chunk: &mut Chunk) {
        let start = self.main.ops.len();
        self.main.ops.kinds.append(&mut chunk.ops.kinds);
        self.main.ops.keys.append(&mut chunk.ops.keys);
        self.main.ops.values.append(&mut chunk.ops.values);
        self.main.wide_keys.append(&mut chunk.wide_keys);
        self.main.wide_values.append(&mut chunk.wide_values);
        self.main.largest_key = self.main.largest_key.max(chunk.largest_key);
        let moved = chunk.runs.drain(..).map(|mut run| {
            run.start += start;
            run
        });
        self.main.runs.extend(moved);
        self.settle(start);
    }

    /// Turns the runs from operation `start` on into transactions, and wide numbers into codes.
    fn settle(&mut self, start: usize) {
        let main = &mut self.main;
        let ends = main.runs.iter().skip(1).map(|run| run.start);
        let ends = ends.chain([main.ops.len()]);
        for (run, end) in main.runs.iter().zip(ends) {
            self.rows.add(run.owner, (end - run.start) as u32);
        }
        main.runs.clear();
        self.wide_keys.enter_all(&mut main.wide_keys);
        let mut wide = main.wide_keys.drain(..);
        for key in &mut main.ops.keys[start..] {
            if wide.len() == 0 {
                break;
            }
            if key.0 == ValueCode::SMALL_LIMIT
                && let Some(slot) = wide.next()
            {
                key.0 += slot as u32;
            }
        }
        drop(wide);
        self.values.codes_of_wide(&mut main.wide_values);
        let mut wide = main.wide_values.drain(..);
        for value in &mut main.ops.values[start..] {
            if wide.len() == 0 {
                break;
            }
            if value.0 == ValueCode::SMALL_LIMIT
                && let Some(code) = wide.next()
            {
                value.0 = code as u32;
            }
        }
    }
}

/// The end of the line that `at` lies in, or `limit`.
fn line_end(text: &[u8], at: usize, limit: usize) -> usize {
    if at >= limit {
        return limit;
    }
    memchr::memchr(b'\n', &text[at..limit]).map_or(limit, |found| at + found + 1)
}

/// Names keys by their own numbers where these are dense, else by their rank.
fn name_keys(ops: &mut Ops, largest: u32, wide: WideInts) -> KeyTable {
    if wide.len() == 0 && is_dense(largest.into(), ops.len()) {
        return KeyTable::Dense { limit: largest + 1 };
    }
    let mut known = NumberedKeys::default();
    for key in &mut ops.keys {
        *key = known.id(match key.0.checked_sub(ValueCode::SMALL_LIMIT) {
            Some(slot) => wide.number(slot),
            None => key.0.into(),
        });
    }
    drop(wide);
    known.finish(ops)
}
