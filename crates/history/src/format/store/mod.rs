//! Jepsen's `test.jepsen`: blocks of Fressian (see `block` and `fressian`).
//!
//! Steps: find the block index, the root block (the map of the test) and in it the block of the
//! history; read the operations of that block, or of the blocks a big vector is made of, as EDN text,
//! one operation a line; give that to the reader of EDN. A file that was cut off, because the test
//! was killed or the file not copied as a whole, is read up to its last whole operation: blocks
//! follow one another, and the last one need not be complete. Cost: one pass over the history, and
//! memory for its text.

mod block;
mod cache;
mod codes;
mod crc32;
mod fressian;
mod input;
mod names;
mod write;

use super::edn::{Flaw, Scan, Scanner};
use super::jepsen_read::Reader;
use super::{FormatError, Place, ReadOptions};
use crate::History;
use block::{Block, BlockType, FIRST_BLOCK, MAGIC, Store, Trouble, block_at, damaged, number};
use fressian::Fressian;
use std::collections::HashSet;

pub(super) use write::write;

/// Whether these are the first bytes of such a file.
pub(super) fn is_store(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads the history of a test. What was left out is said in `notes`.
pub fn read(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    let text = edn_text(bytes, notes)?;
    // The pages of the file are not those of the text.
    Reader::<false>::read(&text, &ReadOptions::default(), notes)
        .map_err(|flaw| in_operation(*flaw, &text))
}

/// The operations of a test as EDN, one map a line. Used where something other than a history is
/// made of them, such as a check of balances.
pub fn edn_text(bytes: &[u8], notes: &mut Vec<String>) -> Result<Vec<u8>, FormatError> {
    let mut ops = Ops {
        bytes,
        text: Vec::new(),
        count: 0,
    };
    let trouble = match Store::open(bytes).and_then(|store| ops.of_store(&store)) {
        Ok(None) => return Ok(ops.text),
        Ok(Some(stop)) => stop,
        Err(Trouble::Damaged(error)) => return Err(error),
        Err(Trouble::Cut(error)) => {
            ops.text.clear();
            ops.count = 0;
            if !ops.of_blocks() {
                return Err(error);
            }
            error.problem
        }
    };
    notes.push(format!(
        "the recording is cut off ({trouble}); the {} whole operations that are there were read; a \
         read of a write that was lost looks like one out of thin air",
        ops.count
    ));
    Ok(ops.text)
}

/// Whether the file was finished: its block index is there, and nothing comes behind it. Says what
/// is wrong otherwise. The blocks in between are not looked at.
pub fn check_whole(bytes: &[u8]) -> Result<(), FormatError> {
    let store = Store::open(bytes).map_err(Trouble::into_error)?;
    store.block(store.root).map_err(Trouble::into_error)?;
    let end = store.end();
    if end < bytes.len() {
        let problem = "operations were still being written when the file ended";
        return Err(FormatError::new(Place::Byte(end as u64), problem));
    }
    Ok(())
}

/// The error of the EDN reader, whose lines are operations.
fn in_operation(flaw: Flaw, text: &[u8]) -> FormatError {
    let before = &text[..flaw.at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count();
    let problem = format!("operation {line} of the history: {}", flaw.problem);
    FormatError::new(Place::Whole, problem).hint(flaw.hint)
}

/// The operations read so far.
struct Ops<'a> {
    bytes: &'a [u8],
    text: Vec<u8>,
    count: usize,
}

impl<'a> Ops<'a> {
    /// Reads the history by way of the block index. If operations follow that were never made a
    /// block of, says so.
    fn of_store(&mut self, store: &Store<'a>) -> Result<Option<String>, Trouble> {
        if store.root == 0 {
            return Err(damaged(10, "the block index names no root block"));
        }
        let id = self.history_id(store)?;
        self.of_block(store, id)?;
        let end = store.end();
        if end >= self.bytes.len() {
            return Ok(None);
        }
        self.unsealed(end + store.header());
        Ok(Some("the test was stopped while it ran".to_string()))
    }

    /// The id of the history's block, from the root block or, if that is a partial map, from one
    /// of the blocks that continue it.
    fn history_id(&self, store: &Store<'a>) -> Result<i32, Trouble> {
        let mut next = store.root;
        let mut met = HashSet::new();
        while next != 0 && met.insert(next) {
            let block = store.block(next)?;
            next = 0;
            let start = match block.kind {
                BlockType::Fressian => block.start,
                BlockType::PartialMap => {
                    let Some(rest) = self.bytes[block.start..block.end].first_chunk::<4>() else {
                        return Err(damaged(block.start, "the partial map has no data"));
                    };
                    next = i32::from_be_bytes(*rest);
                    block.start + 4
                }
                other => {
                    let problem = format!("expected the map of a test, found a block of {other:?}");
                    return Err(damaged(block.start, problem));
                }
            };
            let mut text = Vec::new();
            let mut reader = Fressian::new(self.bytes, start, block.end);
            reader.value(&mut text)?;
            match history_reference(&text) {
                Ok(Some(id)) => return Ok(id),
                Ok(None) => {}
                Err(flaw) => return Err(damaged(start, flaw.problem)),
            }
        }
        let problem = "the map of the test has no :history";
        Err(Trouble::Damaged(
            FormatError::new(Place::Whole, problem)
                .hint("did the test end before its first operation?"),
        ))
    }

    /// Reads the operations of a block and of those it is made of.
    fn of_block(&mut self, store: &Store<'a>, id: i32) -> Result<(), Trouble> {
        let mut met = HashSet::new();
        // Each with the index that its first operation should have.
        let mut waiting = vec![(id, None)];
        while let Some((id, index)) = waiting.pop() {
            if id == 0 && index.is_some() {
                let (is, told) = (self.count, index.unwrap_or(0));
                if told != is as i64 {
                    let problem = format!("the history should have {told} operations, it has {is}");
                    return Err(damaged(10, problem));
                }
                continue;
            }
            let block = store.block(id)?;
            if !met.insert(id) {
                let problem = format!("block {id} is twice in the history");
                return Err(damaged(block.start, problem));
            }
            if index.is_some_and(|index| index != self.count as i64) {
                let problem = format!(
                    "block {id} should begin with operation {}, but {} come before it",
                    index.unwrap_or(0),
                    self.count
                );
                return Err(damaged(block.start, problem));
            }
            match block.kind {
                BlockType::Fressian => self.vector(block)?,
                BlockType::Stream => self.stream(block)?,
                BlockType::BigVector => self.big_vector(block, &mut waiting)?,
                other => {
                    let problem = format!("expected operations, found a block of {other:?}");
                    return Err(damaged(block.start, problem));
                }
            }
        }
        Ok(())
    }

    fn big_vector(
        &self,
        block: Block,
        waiting: &mut Vec<(i32, Option<i64>)>,
    ) -> Result<(), Trouble> {
        let data = &self.bytes[block.start..block.end];
        let (chunks, rest) = data.get(8..).unwrap_or(&[]).as_chunks::<12>();
        let Some(count) = number(data, 0).filter(|_| rest.is_empty()) else {
            let problem = "the big vector does not hold a count and whole pairs of index and block";
            return Err(damaged(block.start, problem));
        };
        // Within another vector, indices count from its own first element. There is no block 0: it
        // stands for the end, so that the count is looked at, too.
        let index = |index: i64| Some(index.saturating_add(self.count as i64));
        waiting.push((0, index(count)));
        for chunk in chunks.iter().rev() {
            let [first @ .., a, b, c, d] = *chunk;
            let id = i32::from_be_bytes([a, b, c, d]);
            waiting.push((id, index(i64::from_be_bytes(first))));
        }
        Ok(())
    }

    /// A block of one list of operations, or of nothing.
    fn vector(&mut self, block: Block) -> Scan<()> {
        let mut reader = Fressian::new(self.bytes, block.start, block.end);
        let Some(mut left) = reader.begin_list()? else {
            return Ok(());
        };
        while match left {
            Some(left) => left > 0,
            None => !reader.ends_list() && !reader.is_done(),
        } {
            self.operation(&mut reader)?;
            left = left.map(|left| left - 1);
        }
        Ok(())
    }

    fn stream(&mut self, block: Block) -> Scan<()> {
        let mut reader = Fressian::new(self.bytes, block.start, block.end);
        while !reader.is_done() {
            self.operation(&mut reader)?;
        }
        Ok(())
    }

    /// Reads one operation as a line; nothing is left of one that cannot be read.
    fn operation(&mut self, reader: &mut Fressian<'a>) -> Scan<()> {
        let (start, at) = (self.text.len(), reader.pos());
        let result = reader.value(&mut self.text);
        let is_map = self.text[start..].starts_with(b"{");
        if let Err(flaw) = result {
            self.text.truncate(start);
            return Err(flaw);
        }
        if !is_map {
            let shown = super::quote(&self.text[start..]);
            self.text.truncate(start);
            return Err(Flaw::new(
                at,
                format!("expected an operation, found {shown}"),
            ));
        }
        self.text.push(b'\n');
        self.count += 1;
        Ok(())
    }

    /// Operations that were written but not yet made a block of, or are in a block that is cut off,
    /// as many as are whole.
    fn unsealed(&mut self, start: usize) {
        let start = start.min(self.bytes.len());
        let mut reader = Fressian::new(self.bytes, start, self.bytes.len());
        // They may be in a list.
        if !matches!(reader.begin_list(), Ok(Some(_))) {
            reader = Fressian::new(self.bytes, start, self.bytes.len());
        }
        let kept = self.text.len();
        while !reader.is_done() && self.operation(&mut reader).is_ok() {}
        // What is cut off may be the test itself, or its results.
        if !is_operation(&self.text[kept..]) {
            let lines = self.text[kept..].iter().filter(|&&byte| byte == b'\n');
            self.count -= lines.count();
            self.text.truncate(kept);
        }
    }

    /// Reads what there is without a block index: blocks one after another, of which streams and
    /// lists hold operations, up to the first that is not whole. False if there are none.
    fn of_blocks(&mut self) -> bool {
        for header in [28, 14] {
            let mut at = FIRST_BLOCK;
            let stop = loop {
                let block = match block_at(self.bytes, header, at) {
                    Ok(block) => block,
                    Err(trouble) => break trouble,
                };
                // A list that is no history is left out as a whole.
                let kept = (self.text.len(), self.count);
                let read = match block.kind {
                    BlockType::Stream => self.stream(block),
                    BlockType::Fressian => self.vector(block),
                    _ => Ok(()),
                };
                if read.is_err() || !is_operation(&self.text[kept.0..]) {
                    self.text.truncate(kept.0);
                    self.count = kept.1;
                }
                at = block.end;
            };
            // The header is written last: until then there are zeros.
            let head = self.bytes.get(at..at + header).unwrap_or(&[]);
            if matches!(stop, Trouble::Cut(_)) || head.iter().all(|&byte| byte == 0) {
                self.unsealed(at + header);
            }
            if self.count > 0 {
                return true;
            }
        }
        false
    }
}

/// What is wrong within a block, whose checksum was right.
impl From<Box<Flaw>> for Trouble {
    fn from(flaw: Box<Flaw>) -> Trouble {
        let problem = format!("the checksum fits, but {}", flaw.problem);
        Trouble::Damaged(FormatError::new(Place::Byte(flaw.at as u64), problem).hint(flaw.hint))
    }
}

/// Whether a text begins with an operation and not with another map.
fn is_operation(text: &[u8]) -> bool {
    matches!(value_in_map(text, b":type"), Ok(Some(_)))
}

/// The block that `:history` of a test map refers to.
fn history_reference(text: &[u8]) -> Scan<Option<i32>> {
    let value = value_in_map(text, b":history")?;
    let value = value.map_or("", |value| std::str::from_utf8(value).unwrap_or(""));
    let id = value.strip_prefix("#block-ref ");
    Ok(id.and_then(|id| id.trim().parse().ok()))
}

/// What a map that a text begins with has under a key.
fn value_in_map<'a>(text: &'a [u8], key: &[u8]) -> Scan<Option<&'a [u8]>> {
    let mut scanner = Scanner::<false>::at(text, 0);
    if !scanner.accept(b'{')? {
        return Err(scanner.unexpected("the map of a test"));
    }
    while !scanner.accept(b'}')? {
        let start = scanner.pos;
        scanner.skip()?;
        let is_key = &text[start..scanner.pos] == key;
        scanner.space()?;
        let value = scanner.pos;
        scanner.skip()?;
        if is_key {
            return Ok(Some(&text[value..scanner.pos]));
        }
    }
    Ok(None)
}
