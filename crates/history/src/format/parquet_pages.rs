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
        unpack(packed, width, times, |codes| {
            codes.iter().for_each(|&code| run(code as u32, 1));
        });
        left -= times;
    }
    Ok(())
}

/// Unpacks `count` numbers of `width` bits from the front of `bytes`, least significant bit first,
/// and hands them over in groups of up to eight. Bytes that are missing count as 0.
#[inline]
fn unpack(bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(&[u64])) {
    let mut numbers = [0u64; 8];
    let mut at = 0;
    let mut left = count;
    while left > 0 {
        if width > 0 {
            let eight = EIGHT[(width as usize - 1) % EIGHT.len()];
            let rest = bytes.get(at..).unwrap_or(&[]);
            match rest.first_chunk::<WINDOW>() {
                Some(window) => eight(window, &mut numbers),
                None => {
                    let mut window = [0u8; WINDOW];
                    window[..rest.len()].copy_from_slice(rest);
                    eight(&window, &mut numbers);
                }
            }
        }
        let times = left.min(8);
        each(&numbers[..times]);
        at += width as usize;
        left -= times;
    }
}

/// Enough for eight numbers of 64 bits and the loads of eight bytes that overlap their end.
const WINDOW: usize = 80;

/// Eight numbers take `W` whole bytes; with the width known, all shifts are constants.
fn eight<const W: usize>(window: &[u8; WINDOW], numbers: &mut [u64; 8]) {
    for (i, number) in numbers.iter_mut().enumerate() {
        let (byte, shift) = (i * W / 8, i * W % 8);
        let mut raw = [0u8; 8];
        raw.copy_from_slice(&window[byte..byte + 8]);
        let mut bits = u64::from_le_bytes(raw) >> shift;
        if shift + W > 64 {
            bits |= u64::from(window[byte + 8]) << (64 - shift);
        }
        *number = bits & (u64::MAX >> (64 - W));
    }
}

type Eight = fn(&[u8; WINDOW], &mut [u64; 8]);

macro_rules! widths {
    ($($width:literal)*) => { [$(eight::<$width>),*] };
}

#[rustfmt::skip]
static EIGHT: [Eight; 64] = widths!(
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
);

/// Decodes DELTA_BINARY_PACKED numbers onto the end of `values`.
fn delta(mut bytes: &[u8], count: usize, values: &mut Vec<i64>) -> Result<()> {
    let block = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let minis = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let total = usize::try_from(varint(&mut bytes)?).map_err(|_| short())?;
    let mut number = zigzag(&mut bytes)?;
    if count == 0 {
        return Ok(());
    }
    let sizes_are_sound = minis > 0 && minis <= 1 << 16 && block <= 1 << 24;
    if total < count || !sizes_are_sound || block % (8 * minis) != 0 || block == 0 {
        return Err(short());
    }
    let per_mini = block / minis;
    values.push(number);
    let mut left = count - 1;
    while left > 0 {
        let least = zigzag(&mut bytes)?;
        for &width in take(&mut bytes, minis)? {
            if left == 0 {
                break;
            }
            let width = u32::from(width);
            let times = per_mini.min(left);
            // The last block may end with its last number.
            let held = (per_mini / 8 * width as usize).min(bytes.len());
            if width > 64 || held * 8 < times * width as usize {
                return Err(short());
            }
            unpack(bytes, width, times, |deltas| {
                let mut sums = [0i64; 8];
                for (sum, &delta) in sums.iter_mut().zip(deltas) {
                    number = number.wrapping_add(least).wrapping_add(delta as i64);
                    *sum = number;
                }
                // A copy of known length is no call.
                match deltas.len() {
                    8 => values.extend_from_slice(&sums),
                    fewer => values.extend_from_slice(&sums[..fewer]),
                }
            });
            take(&mut bytes, held)?;
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
    let mut filled = Filled::<i64> {
        values: pool.ints(),
        ..Filled::default()
    };
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
            Encoding::DELTA_BINARY_PACKED => {
                let from = values.len();
                delta(data.bytes, data.count, values)?;
                // Deltas of 32-bit numbers wrap at 32 bits.
                for number in values[from..].iter_mut().filter(|_| size == 4) {
                    *number = (*number as i32).into();
                }
            }
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
