//! Decodes the pages this crate writes: delta-packed or plain integers and dictionary codes.
//!
//! Source: the Parquet format's Encodings.md (RLE/bit-packing hybrid, DELTA_BINARY_PACKED, plain).
//! Each function gives `None` at the first page in another encoding, and the caller starts over
//! with the parquet crate. All lengths come from the file and are checked against the page.

use super::parquet_column::Filled;
use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::{ParquetError, Result};
use std::cell::RefCell;

/// Buffers to decode into, kept from one row group to the next: fresh ones of this size come from
/// the system page by page and cost as much as the decoding.
#[derive(Default)]
pub(super) struct Pool {
    ints: RefCell<Vec<Vec<i64>>>,
    codes: RefCell<Vec<Vec<u32>>>,
}

impl Pool {
    /// An empty buffer for integers.
    pub fn ints(&self) -> Vec<i64> {
        self.ints.borrow_mut().pop().unwrap_or_default()
    }

    /// An empty buffer for codes.
    pub fn codes(&self) -> Vec<u32> {
        self.codes.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub fn keep_ints(&self, mut ints: Vec<i64>) {
        ints.clear();
        self.ints.borrow_mut().push(ints);
    }

    /// Takes a buffer back.
    pub fn keep_codes(&self, mut codes: Vec<u32>) {
        codes.clear();
        self.codes.borrow_mut().push(codes);
    }
}

/// Texts as codes into a dictionary.
pub(super) struct Codes {
    /// The dictionary.
    pub words: Vec<String>,
    /// One code a value.
    pub codes: Vec<u32>,
}

fn short() -> ParquetError {
    ParquetError::EOF("a page is shorter than it says".into())
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(count).ok_or_else(short)?;
    *bytes = tail;
    Ok(head)
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(number);
        }
    }
    Err(short())
}

fn zigzag(bytes: &mut &[u8]) -> Result<i64> {
    let number = varint(bytes)?;
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

/// A data page with its levels taken off.
struct Data<'a> {
    encoding: Encoding,
    /// How many values the rest holds.
    count: usize,
    bytes: &'a [u8],
}

/// Strips the definition levels of a page, appending them to `defined`.
fn data<'a>(page: &'a Page, nullable: bool, defined: &mut Vec<i16>) -> Result<Data<'a>> {
    let rows = page.num_values() as usize;
    let mut bytes: &[u8] = page.buffer();
    let mut count = rows;
    if nullable {
        let levels = match page {
            Page::DataPageV2 {
                def_levels_byte_len,
                ..
            } => take(&mut bytes, *def_levels_byte_len as usize)?,
            _ => {
                let length = take(&mut bytes, 4)?;
                let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
                take(&mut bytes, length as usize)?
            }
        };
        let start = defined.len();
        hybrid(levels, 1, rows, |level, times| {
            defined.extend(std::iter::repeat_n(level as i16, times));
        })?;
        count = defined[start..].iter().filter(|&&level| level == 1).count();
    }
    Ok(Data {
        encoding: page.encoding(),
        count,
        bytes,
    })
}

/// Decodes `count` codes of the RLE/bit-packing hybrid, as runs.
fn hybrid(
    mut bytes: &[u8],
    width: u32,
    count: usize,
    mut run: impl FnMut(u32, usize),
) -> Result<()> {
    let mut left = count;
    if width > 32 {
        return Err(short());
    }
    while left > 0 {
        let header = varint(&mut bytes)?;
        if header & 1 == 0 {
            let raw = take(&mut bytes, width.div_ceil(8) as usize)?;
            let mut code = [0u8; 4];
            code[..raw.len()].copy_from_slice(raw);
            let times = usize::try_from(header >> 1).map_err(|_| short())?.min(left);
            run(u32::from_le_bytes(code), times);
            left -= times;
            if times == 0 {
                return Err(short());
            }
            continue;
        }
        let groups = usize::try_from(header >> 1).map_err(|_| short())?;
        let length = groups.checked_mul(width as usize).ok_or_else(short)?;
        let held = length.min(bytes.len());
        let packed = take(&mut bytes, held)?;
        let available = packed.len() * 8 / width.max(1) as usize;
        let times = groups.checked_mul(8).ok_or_else(short)?.min(left);
        if (width > 0 && available < times) || times == 0 {
            return Err(short());
        }
        unpack(packed, width, times, |code| run(code as u32, 1));
        left -= times;
    }
    Ok(())
}

/// Unpacks `count` numbers of `width` bits, least significant first.
#[inline]
fn unpack(packed: &[u8], width: u32, count: usize, mut each: impl FnMut(u64)) {
    let width = width as usize;
    let mask = u64::MAX >> (64 - width.clamp(1, 64)) & if width == 0 { 0 } else { u64::MAX };
    // Eight numbers take `width` whole bytes; a padded copy lets every load be of eight bytes.
    let mut window = [0u8; 80];
    let mut left = count;
    let mut at = 0;
    while left > 0 {
        let held = packed.get(at..).unwrap_or(&[]);
        let held = &held[..held.len().min(width)];
        window[..held.len()].copy_from_slice(held);
        let times = left.min(8);
        for i in 0..times {
            let bit = i * width;
            let (byte, shift) = (bit / 8, bit % 8);
            let mut raw = [0u8; 8];
            raw.copy_from_slice(&window[byte..byte + 8]);
            let mut number = u64::from_le_bytes(raw) >> shift;
            if shift + width > 64 {
                number |= u64::from(window[byte + 8]) << (64 - shift);
            }
            each(number & mask);
        }
        at += width;
        left -= times;
    }
}

/// Decodes DELTA_BINARY_PACKED numbers.
fn delta(mut bytes: &[u8], count: usize, mut each: impl FnMut(i64)) -> Result<()> {
    let block = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let minis = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let total = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let mut number = zigzag(&mut bytes)?;
    if total < count || minis == 0 || minis > 1 << 16 || block % minis != 0 || block > 1 << 24 {
        return Err(short());
    }
    let per_mini = block / minis;
    if per_mini == 0 || per_mini % 8 != 0 || count == 0 {
        return if count == 0 { Ok(()) } else { Err(short()) };
    }
    each(number);
    let mut left = count - 1;
    while left > 0 {
        let least = zigzag(&mut bytes)?;
        for &width in take(&mut bytes, minis)? {
            if left == 0 {
                break;
            }
            let width = u32::from(width);
            let held = (per_mini / 8 * width as usize).min(bytes.len());
            let packed = take(&mut bytes, held)?;
            let times = per_mini.min(left);
            if width > 64 || packed.len() * 8 < times * width as usize {
                return Err(short());
            }
            if width == 0 {
                for _ in 0..times {
                    number = number.wrapping_add(least);
                    each(number);
                }
            } else {
                unpack(packed, width, times, |add| {
                    number = number.wrapping_add(least).wrapping_add(add as i64);
                    each(number);
                });
            }
            left -= times;
        }
    }
    Ok(())
}

fn is_dictionary(encoding: Encoding) -> bool {
    #[allow(deprecated)] // Older writers still say PLAIN_DICTIONARY for the same bytes.
    let old = Encoding::PLAIN_DICTIONARY;
    encoding == Encoding::RLE_DICTIONARY || encoding == old
}

/// Decodes 64-bit integers.
pub(super) fn ints(
    pages: &mut dyn PageReader,
    pool: &Pool,
    nullable: bool,
    rows: usize,
) -> Result<Option<Filled<i64>>> {
    sized_ints(pages, pool, nullable, rows, 8)
}

/// Decodes 32-bit integers, signed ones only.
pub(super) fn short_ints(
    pages: &mut dyn PageReader,
    pool: &Pool,
    nullable: bool,
    rows: usize,
) -> Result<Option<Filled<i64>>> {
    sized_ints(pages, pool, nullable, rows, 4)
}

fn sized_ints(
    pages: &mut dyn PageReader,
    pool: &Pool,
    nullable: bool,
    rows: usize,
    size: usize,
) -> Result<Option<Filled<i64>>> {
    let mut filled = Filled::<i64>::default();
    filled.values = pool.ints();
    filled.values.try_reserve_exact(rows).map_err(|_| short())?;
    let mut dictionary = Vec::new();
    let mut seen = 0usize;
    while let Some(page) = pages.get_next_page()? {
        let count = page.num_values() as usize;
        if let Page::DictionaryPage { buf, .. } = &page {
            plain(buf, size, count, |number| dictionary.push(number))?;
            continue;
        }
        seen += count;
        if seen > rows {
            return Err(short());
        }
        let mut data = data(&page, nullable, &mut filled.defined)?;
        let values = &mut filled.values;
        if is_dictionary(data.encoding) {
            dictionary_ints(&mut data, &dictionary, values)?;
            continue;
        }
        match data.encoding {
            Encoding::PLAIN => plain(data.bytes, size, data.count, |n| values.push(n))?,
            // Deltas of 32-bit numbers wrap at 32 bits.
            Encoding::DELTA_BINARY_PACKED if size == 4 => {
                delta(data.bytes, data.count, |n| values.push((n as i32).into()))?
            }
            Encoding::DELTA_BINARY_PACKED => delta(data.bytes, data.count, |n| values.push(n))?,
            _ => return Ok(None),
        }
    }
    finished(filled, seen, rows)
}

fn finished<T>(filled: Filled<T>, seen: usize, rows: usize) -> Result<Option<Filled<T>>> {
    match seen == rows {
        true => Ok(Some(filled)),
        false => Err(short()),
    }
}

fn plain(mut bytes: &[u8], size: usize, count: usize, mut each: impl FnMut(i64)) -> Result<()> {
    let length = count.checked_mul(size).ok_or_else(short)?;
    for raw in take(&mut bytes, length)?.chunks_exact(size) {
        let mut number = [0u8; 8];
        number[..size].copy_from_slice(raw);
        let number = i64::from_le_bytes(number);
        each(if size == 4 {
            (number as i32).into()
        } else {
            number
        });
    }
    Ok(())
}

fn dictionary_ints(data: &mut Data<'_>, dictionary: &[i64], values: &mut Vec<i64>) -> Result<()> {
    if data.count == 0 {
        return Ok(());
    }
    let width = take(&mut data.bytes, 1)?[0];
    let mut beyond = false;
    hybrid(data.bytes, width.into(), data.count, |code, times| {
        let number = dictionary.get(code as usize);
        beyond |= number.is_none();
        values.extend(std::iter::repeat_n(number.copied().unwrap_or(0), times));
    })?;
    if beyond { Err(short()) } else { Ok(()) }
}

/// Decodes texts of a column that is all dictionary.
pub(super) fn codes(
    pages: &mut dyn PageReader,
    pool: &Pool,
    nullable: bool,
    rows: usize,
) -> Result<Option<Filled<Codes>>> {
    let mut defined = Vec::new();
    let mut all = Codes {
        words: Vec::new(),
        codes: pool.codes(),
    };
    all.codes.try_reserve_exact(rows).map_err(|_| short())?;
    let mut seen = 0usize;
    while let Some(page) = pages.get_next_page()? {
        let count = page.num_values() as usize;
        if let Page::DictionaryPage { buf, .. } = &page {
            all.words = words(buf, count)?;
            continue;
        }
        seen += count;
        if seen > rows {
            return Err(short());
        }
        let mut data = data(&page, nullable, &mut defined)?;
        if !is_dictionary(data.encoding) {
            return Ok(None);
        }
        if data.count > 0 {
            let width = take(&mut data.bytes, 1)?[0];
            let limit = all.words.len();
            let mut beyond = false;
            hybrid(data.bytes, width.into(), data.count, |code, times| {
                beyond |= code as usize >= limit;
                all.codes.extend(std::iter::repeat_n(code, times));
            })?;
            if beyond {
                return Err(short());
            }
        }
    }
    let filled = Filled {
        values: vec![all],
        defined,
        repeated: Vec::new(),
    };
    finished(filled, seen, rows)
}

fn words(mut bytes: &[u8], count: usize) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..count {
        let length = take(&mut bytes, 4)?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        let text = take(&mut bytes, length as usize)?;
        let text = std::str::from_utf8(text);
        words.push(
            text.map_err(|_| ParquetError::General("a text is not UTF-8".into()))?
                .into(),
        );
    }
    Ok(words)
}
