//! The bytes of Fressian below the level of values: integers, lengths, texts.

use super::codes;
use super::names::{self, Name};
use crate::format::edn::{Flaw, Scan};

/// A place in the data.
pub(super) struct Input<'a> {
    /// The file up to the end of the data, so that offsets are those of the file.
    pub bytes: &'a [u8],
    /// The next byte.
    pub pos: usize,
}

impl<'a> Input<'a> {
    /// An integer whose first byte was read at `at`.
    pub fn integer(&mut self, code: u8, at: usize) -> Scan<i64> {
        // The code holds the highest bits: below the middle of its range they are negative.
        let (zero, bytes) = match code {
            0..=0x3f => return Ok(code.into()),
            0xff => return Ok(-1),
            0x40..=0x5f => (0x50, 1),
            0x60..=0x6f => (0x68, 2),
            0x70..=0x73 => (0x72, 3),
            0x74..=0x77 => (0x76, 4),
            0x78..=0x7b => (0x7a, 5),
            0x7c..=0x7f => (0x7e, 6),
            codes::INT => return Ok(self.unsigned(8)? as i64),
            _ => {
                let problem = format!("expected a value, found the byte 0x{code:02x}");
                return Err(Flaw::new(at, problem));
            }
        };
        let high = i64::from(code) - zero;
        Ok(high << (8 * bytes) | self.unsigned(bytes)? as i64)
    }

    /// A length or a place: an integer that is not negative.
    pub fn count(&mut self) -> Scan<usize> {
        let at = self.pos;
        let code = self.byte()?;
        let number = self.integer(code, at)?;
        usize::try_from(number)
            .map_err(|_| Flaw::new(at, format!("expected a length or a place, found {number}")))
    }

    /// A text whose first code was read.
    pub fn text(&mut self, first: u8) -> Scan<Name<'a>> {
        let at = self.pos;
        if first != codes::STRING_CHUNK {
            return Ok(names::text(self.part(first, codes::STRING_PACKED)?));
        }
        let mut code = first;
        let mut whole = Vec::new();
        loop {
            if !(codes::STRING_PACKED..=codes::STRING).contains(&code) {
                return Err(Flaw::new(at, "expected the next part of a text"));
            }
            whole.extend_from_slice(self.part(code, codes::STRING_PACKED)?);
            if code != codes::STRING_CHUNK {
                break;
            }
            code = self.byte()?;
        }
        Ok(Name::Owned(names::text(&whole).into_owned()))
    }

    /// Bytes whose first code was read at `at`.
    pub fn binary(&mut self, first: u8, at: usize) -> Scan<Vec<u8>> {
        let mut code = first;
        let mut whole = Vec::new();
        loop {
            if !(codes::BYTES_PACKED..=codes::BYTES).contains(&code) {
                return Err(Flaw::new(at, "expected bytes"));
            }
            whole.extend_from_slice(self.part(code, codes::BYTES_PACKED)?);
            if code != codes::BYTES_CHUNK {
                return Ok(whole);
            }
            code = self.byte()?;
        }
    }

    /// The bytes of one part of a text or of bytes: their number is in the code, or follows it.
    pub fn part(&mut self, code: u8, packed: u8) -> Scan<&'a [u8]> {
        let length = match code - packed {
            length @ 0..=7 => length.into(),
            _ => self.count()?,
        };
        self.take(length)
    }

    /// A number of so many bytes, big endian.
    pub fn unsigned(&mut self, count: usize) -> Scan<u64> {
        let bytes = self.take(count)?;
        Ok(bytes
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// The next byte.
    pub fn byte(&mut self) -> Scan<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Scan<&'a [u8]> {
        let end = self.pos.checked_add(count);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.pos..end)) else {
            let mut flaw = Flaw::new(self.bytes.len(), "the data ends in the middle of a value");
            flaw.at_end = true;
            return Err(flaw);
        };
        self.pos += count;
        Ok(taken)
    }
}
