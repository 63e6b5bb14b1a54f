//! The blocks of a `test.jepsen` file.
//!
//! ```text
//! file  = "JEPSEN", version: i32, offset of the block index: i64, block*
//! block = length: i64 (header included), checksum: i32, type: i16, 14 zero bytes, data
//! ```
//!
//! All numbers are big endian. The checksum is the CRC-32 of the data, then of the header with a
//! checksum of zero. The description of the format knows no zero bytes, but every file that Jepsen
//! writes has them: both are read, and the checksum of the block index tells which it is. The block
//! index is a block of type 1: the id of the root block: i32, then pairs of id: i32 and offset: i64.
//! Blocks are only ever appended, so that a file cut short still begins with whole ones.

use super::crc32::Crc32;
use crate::format::{FormatError, Place, quote};
use std::collections::HashMap;

/// The first bytes of every such file.
pub(super) const MAGIC: &[u8] = b"JEPSEN";

/// Where the first block may begin.
pub(super) const FIRST_BLOCK: usize = 18;

/// The lengths a block header may have: as written, and as described.
const HEADERS: [usize; 2] = [28, 14];

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockType {
    /// Where the other blocks are.
    Index,
    /// One Fressian value.
    Fressian,
    /// The id of another such block, and a Fressian map.
    PartialMap,
    /// Fressian values one after another.
    Stream,
    /// A count, then pairs of the index of an element and the id of the block that begins there.
    BigVector,
}

/// Why a block cannot be had.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file ends too early; what comes before may be whole.
    Cut(FormatError),
    /// The file is not what it should be.
    Damaged(FormatError),
}

impl Trouble {
    /// The error to show.
    pub fn into_error(self) -> FormatError {
        match self {
            Trouble::Cut(error) | Trouble::Damaged(error) => error,
        }
    }
}

/// The data of a block and where it is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// What it holds.
    pub kind: BlockType,
    /// Where its data begins.
    pub start: usize,
    /// Where its data ends, and so the block.
    pub end: usize,
}

/// A file whose block index was read.
pub(super) struct Store<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    /// The id of the block with the test map, or 0.
    pub root: i32,
    header: usize,
    offsets: HashMap<i32, i64>,
}

impl<'a> Store<'a> {
    /// Reads the header of the file and the block index.
    pub fn open(bytes: &'a [u8]) -> Result<Store<'a>, Trouble> {
        let at = index_offset(bytes)?;
        let mut first_trouble = None;
        for header in HEADERS {
            match block_at(bytes, header, at) {
                Ok(block) if block.kind == BlockType::Index => {
                    return Store::with_index(bytes, header, block);
                }
                Ok(block) => {
                    let found = format!(
                        "expected the block index (type 1), found a block of type {:?}",
                        block.kind
                    );
                    first_trouble.get_or_insert(damaged(at, found));
                }
                Err(trouble) => {
                    first_trouble.get_or_insert(trouble);
                }
            }
        }
        Err(first_trouble.unwrap_or_else(|| damaged(at, "there is no block index")))
    }

    fn with_index(bytes: &'a [u8], header: usize, block: Block) -> Result<Store<'a>, Trouble> {
        let data = &bytes[block.start..block.end];
        let Some((root, pairs)) = data.split_first_chunk::<4>() else {
            return Err(damaged(block.start, "the block index is empty"));
        };
        let (pairs, rest) = pairs.as_chunks::<12>();
        if !rest.is_empty() {
            let problem = "the block index does not hold whole pairs of block id and offset";
            return Err(damaged(block.start, problem));
        }
        let offsets = pairs.iter().map(|pair| {
            let [a, b, c, d, offset @ ..] = *pair;
            (i32::from_be_bytes([a, b, c, d]), i64::from_be_bytes(offset))
        });
        Ok(Store {
            bytes,
            root: i32::from_be_bytes(*root),
            header,
            offsets: offsets.collect(),
        })
    }

    /// The block with this id.
    pub fn block(&self, id: i32) -> Result<Block, Trouble> {
        let Some(&offset) = self.offsets.get(&id) else {
            let problem = format!("the block index does not know block {id}, which is needed");
            return Err(damaged(10, problem));
        };
        match usize::try_from(offset) {
            Ok(offset) => block_at(self.bytes, self.header, offset),
            Err(_) => {
                let problem = format!("the block index places block {id} at {offset}");
                Err(damaged(10, problem))
            }
        }
    }

    /// Where the last block known ends; what follows was never sealed.
    pub fn end(&self) -> usize {
        let known = self.offsets.values();
        let ends = known.filter_map(|&at| {
            let at = usize::try_from(at).ok()?;
            let length = usize::try_from(number(self.bytes, at)?).ok()?;
            at.checked_add(length)
        });
        let index = index_offset(self.bytes).ok();
        let index_end = index.and_then(|at| {
            let block = block_at(self.bytes, self.header, at).ok()?;
            Some(block.end)
        });
        ends.chain(index_end).max().unwrap_or(FIRST_BLOCK)
    }

    /// The length of a block header in this file.
    pub fn header(&self) -> usize {
        self.header
    }
}

/// Checks the header of the file; the offset of the block index.
fn index_offset(bytes: &[u8]) -> Result<usize, Trouble> {
    if bytes.is_empty() {
        return Err(Trouble::Damaged(crate::format::empty()));
    }
    let head = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(head) {
        let problem = format!("expected `JEPSEN`, found {}", quote(head));
        return Err(Trouble::Damaged(
            FormatError::new(Place::Byte(0), problem)
                .hint("is this Jepsen's test.jepsen, and was it copied as binary?"),
        ));
    }
    let version = bytes.get(6..10).and_then(|v| v.try_into().ok());
    let Some(version) = version.map(i32::from_be_bytes) else {
        return Err(cut(bytes, "the file ends within its header"));
    };
    if !(0..=1).contains(&version) {
        let problem = format!("expected version 0 or 1 of the format, found {version}");
        return Err(Trouble::Damaged(
            FormatError::new(Place::Byte(6), problem).hint(
                "the file is damaged, or from a Jepsen newer than this program; its history.edn \
                 can be checked instead",
            ),
        ));
    }
    match number(bytes, 10) {
        None => Err(cut(bytes, "the file ends within its header")),
        Some(0) => Err(cut(bytes, "no block index was ever written")),
        Some(at) => usize::try_from(at)
            .ok()
            .filter(|&at| at >= FIRST_BLOCK)
            .ok_or_else(|| damaged(10, format!("the offset of the block index is {at}"))),
    }
}

/// The block at an offset, its checksum verified.
pub(super) fn block_at(bytes: &[u8], header: usize, at: usize) -> Result<Block, Trouble> {
    if at < FIRST_BLOCK {
        let problem = format!("a block cannot begin at byte {at}, within the header of the file");
        return Err(damaged(at, problem));
    }
    let Some(head) = at.checked_add(header).and_then(|end| bytes.get(at..end)) else {
        let problem = format!("a block should begin at byte {at}, beyond the end of the file");
        return Err(cut(bytes, problem));
    };
    let kind = i16::from_be_bytes([head[12], head[13]]);
    let is_block = (1..=5).contains(&kind) && head[14..].iter().all(|&byte| byte == 0);
    let length = number(bytes, at).unwrap_or(0);
    let Some(end) = usize::try_from(length)
        .ok()
        .filter(|&length| length >= header)
        .and_then(|length| at.checked_add(length))
    else {
        let problem = format!("a block of {length} bytes cannot be, its header alone has {header}");
        return Err(damaged(at, problem));
    };
    let Some(data) = bytes.get(at + header..end) else {
        if !is_block {
            return Err(damaged(at, "no block begins here"));
        }
        let problem = format!("the file ends within the block at byte {at}, of {length} bytes");
        return Err(cut(bytes, problem));
    };
    let mut crc = Crc32::new();
    crc.update(data);
    crc.update(&head[..8]);
    crc.update(&[0; 4]);
    crc.update(&head[12..14]);
    crc.update(&[0; 14][..header - 14]);
    let told = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    if told != crc.finish() {
        let (is, length) = (crc.finish(), data.len());
        let problem =
            format!("the checksum {told:08x} does not fit the {length} bytes of data ({is:08x})");
        return Err(damaged(at, problem));
    }
    let kind = match kind {
        1 => BlockType::Index,
        2 => BlockType::Fressian,
        3 => BlockType::PartialMap,
        4 => BlockType::Stream,
        5 => BlockType::BigVector,
        other => return Err(damaged(at, format!("there are no blocks of type {other}"))),
    };
    Ok(Block {
        kind,
        start: at + header,
        end,
    })
}

/// The 64-bit number at an offset.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<i64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    Some(i64::from_be_bytes(field.try_into().ok()?))
}

/// A file that is not what it should be.
#[cold]
pub(super) fn damaged(at: usize, problem: impl Into<String>) -> Trouble {
    Trouble::Damaged(
        FormatError::new(Place::Byte(at as u64), problem)
            .hint("the file is damaged: copy it again, or check the history.edn next to it"),
    )
}

#[cold]
fn cut(bytes: &[u8], problem: impl Into<String>) -> Trouble {
    Trouble::Cut(
        FormatError::new(Place::Byte(bytes.len() as u64), problem).hint(
            "was the test stopped, or the file not copied as a whole? check the history.edn next \
             to it",
        ),
    )
}
