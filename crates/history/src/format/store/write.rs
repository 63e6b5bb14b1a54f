//! Writes a history as `test.jepsen`, in the way Jepsen does: operations in streams of so many, a
//! big vector of these, and the map of a test that refers to it.
//!
//! The lines of the EDN writer are taken one by one, so that both formats hold the same. The file
//! is made in memory: its beginning says where its end is.

use super::block::MAGIC;
use super::codes;
use super::crc32::Crc32;
use crate::History;
use crate::format::edn::{Atom, Scan, Scanner};
use crate::format::{WriteError, jepsen_write};
use std::io::{self, Write};

/// How many operations a stream holds.
const CHUNK_OPS: usize = 16384;

/// The length of a block's header.
const HEADER: usize = 28;

/// The ids of the first blocks; those of the streams follow.
const HISTORY_ID: i32 = 1;
const TEST_ID: i32 = 2;

/// Writes the file.
pub(in crate::format) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut file = StoreFile::new();
    jepsen_write::write::<false>(history, &mut file)?;
    out.write_all(&file.finish())?;
    Ok(out.flush()?)
}

/// A file under construction, which takes lines of EDN.
struct StoreFile {
    bytes: Vec<u8>,
    offsets: Vec<(i32, usize)>,
    /// The big vector: the index of the first operation and the id of each stream.
    chunks: Vec<(usize, i32)>,
    op_count: usize,
    stream: Encoder,
    stream_count: usize,
    line: Vec<u8>,
}

impl StoreFile {
    fn new() -> StoreFile {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&1i32.to_be_bytes());
        bytes.extend_from_slice(&[0; 8]);
        StoreFile {
            bytes,
            offsets: Vec::new(),
            chunks: Vec::new(),
            op_count: 0,
            stream: Encoder::default(),
            stream_count: 0,
            line: Vec::new(),
        }
    }

    fn block(&mut self, id: i32, kind: i16, data: &[u8]) {
        self.offsets.push((id, self.bytes.len()));
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&((HEADER + data.len()) as i64).to_be_bytes());
        header[12..14].copy_from_slice(&kind.to_be_bytes());
        let mut crc = Crc32::new();
        crc.update(data);
        crc.update(&header);
        header[8..12].copy_from_slice(&crc.finish().to_be_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(data);
    }

    /// Ends the present stream.
    fn seal(&mut self) {
        let stream = std::mem::take(&mut self.stream);
        let id = TEST_ID + 1 + self.chunks.len() as i32;
        self.block(id, 4, &stream.bytes);
        self.chunks.push((self.op_count - self.stream_count, id));
        self.stream_count = 0;
    }

    fn take_line(&mut self, line: &[u8]) -> io::Result<()> {
        let encoded = self.stream.operation(line);
        // The line is our own, so that this does not happen.
        encoded.map_err(|flaw| io::Error::other(flaw.problem))?;
        self.op_count += 1;
        self.stream_count += 1;
        if self.stream_count == CHUNK_OPS {
            self.seal();
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        if self.stream_count > 0 || self.chunks.is_empty() {
            self.seal();
        }
        let mut vector = (self.op_count as i64).to_be_bytes().to_vec();
        for (index, id) in &self.chunks {
            vector.extend_from_slice(&(*index as i64).to_be_bytes());
            vector.extend_from_slice(&id.to_be_bytes());
        }
        self.block(HISTORY_ID, 5, &vector);
        let mut test = Encoder::default();
        let map = format!("{{:name \"isolde\" :history {HISTORY_ID}}}");
        // This map is our own, too.
        let _ = test.test_map(map.as_bytes());
        self.block(TEST_ID, 2, &test.bytes);
        let index = self.bytes.len();
        let mut data = TEST_ID.to_be_bytes().to_vec();
        for (id, offset) in &self.offsets {
            data.extend_from_slice(&id.to_be_bytes());
            data.extend_from_slice(&(*offset as i64).to_be_bytes());
        }
        self.block(0, 1, &data);
        self.bytes[10..18].copy_from_slice(&(index as i64).to_be_bytes());
        self.bytes
    }
}

impl Write for StoreFile {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for part in text.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(&line)?;
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer of Fressian.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    has_op_tag: bool,
    /// Keywords that have a place in the priority cache, and those places.
    cached: Vec<(Vec<u8>, u8)>,
}

impl Encoder {
    /// Writes the operation of one line.
    fn operation(&mut self, line: &[u8]) -> Scan<()> {
        let names: [&[u8]; 7] = [
            b":index",
            b":time",
            b":type",
            b":process",
            b":f",
            b":value",
            b":isolde/label",
        ];
        let mut fields: [&[u8]; 7] = [b"nil"; 7];
        let mut has_label = false;
        let mut scanner = Scanner::<false>::at(line, 0);
        scanner.accept(b'{')?;
        while !scanner.accept(b'}')? {
            let start = scanner.pos;
            scanner.skip()?;
            let name = &line[start..scanner.pos];
            scanner.space()?;
            let start = scanner.pos;
            scanner.skip()?;
            if let Some(place) = names.iter().position(|known| *known == name) {
                fields[place] = &line[start..scanner.pos];
                has_label |= place == 6;
            }
        }
        if self.has_op_tag {
            self.bytes.push(codes::STRUCT_CACHE_PACKED);
        } else {
            self.has_op_tag = true;
            self.bytes.push(codes::STRUCT_TYPE);
            self.text("jepsen.history.Op");
            self.int(7);
        }
        for (place, field) in fields[..6].iter().enumerate() {
            match place {
                2 | 4 => self.cached_keyword(field),
                _ => self.values(field)?,
            }
        }
        if !has_label {
            self.bytes.push(codes::NULL);
            return Ok(());
        }
        self.bytes
            .extend_from_slice(&[codes::MAP, codes::LIST_PACKED + 2]);
        self.keyword(names[6]);
        self.values(fields[6])
    }

    /// Writes the map of a test, whose last value is the id of the history's block.
    fn test_map(&mut self, map: &[u8]) -> Scan<()> {
        let mut scanner = Scanner::<false>::at(map, 0);
        scanner.accept(b'{')?;
        self.bytes
            .extend_from_slice(&[codes::MAP, codes::CLOSED_LIST]);
        while !scanner.accept(b'}')? {
            let start = scanner.pos;
            scanner.skip()?;
            let item = &map[start..scanner.pos];
            if item.iter().all(u8::is_ascii_digit) {
                self.bytes.push(codes::STRUCT_TYPE);
                self.text("block-ref");
                self.int(1);
            }
            self.values(item)?;
        }
        self.bytes.push(codes::END_COLLECTION);
        Ok(())
    }

    /// Writes EDN text as it stands, value by value. Lists are closed by a code, so that nothing
    /// needs to be counted.
    fn values(&mut self, text: &[u8]) -> Scan<()> {
        let mut scanner = Scanner::<false>::at(text, 0);
        loop {
            scanner.space()?;
            match scanner.peek() {
                None => return Ok(()),
                Some(b']' | b')' | b'}') => {
                    scanner.pos += 1;
                    self.bytes.push(codes::END_COLLECTION);
                }
                Some(b':') => {
                    let token = scanner.token();
                    self.keyword(token);
                }
                Some(b'"') => {
                    let word = scanner.string()?;
                    self.text(&word);
                }
                _ => match scanner.atom()? {
                    Atom::Nil => self.bytes.push(codes::NULL),
                    Atom::Int(number) => self.big_int(number),
                    Atom::Text(text) if text == "true" => self.bytes.push(codes::TRUE),
                    Atom::Text(text) if text == "false" => self.bytes.push(codes::FALSE),
                    Atom::Text(text) => self.text(&text),
                    Atom::List => self.bytes.push(codes::CLOSED_LIST),
                    Atom::Set => self
                        .bytes
                        .extend_from_slice(&[codes::SET, codes::CLOSED_LIST]),
                    Atom::Map => self
                        .bytes
                        .extend_from_slice(&[codes::MAP, codes::CLOSED_LIST]),
                },
            }
        }
    }

    /// A keyword of which there are few.
    fn cached_keyword(&mut self, token: &[u8]) {
        if let Some((_, place)) = self.cached.iter().find(|(known, _)| known == token) {
            self.bytes.push(codes::PRIORITY_CACHE_PACKED + place);
            return;
        }
        let place = self.cached.len();
        if place < 32 && token.starts_with(b":") {
            self.cached.push((token.to_vec(), place as u8));
            self.bytes.push(codes::PUT_PRIORITY_CACHE);
        }
        self.keyword(token);
    }

    fn keyword(&mut self, token: &[u8]) {
        let name = String::from_utf8_lossy(token.strip_prefix(b":").unwrap_or(token));
        self.bytes.push(codes::KEY);
        match name
            .split_once('/')
            .filter(|(space, name)| !space.is_empty() && !name.is_empty())
        {
            Some((space, name)) => {
                self.text(space);
                self.text(name);
            }
            None => {
                self.bytes.push(codes::NULL);
                self.text(&name);
            }
        }
    }

    fn text(&mut self, text: &str) {
        let mut data = Vec::with_capacity(text.len());
        let mut units = [0; 2];
        for character in text.chars() {
            if (character as u32) < 0x1_0000 {
                data.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            // Java knows characters of 16 bits only, and writes each in three bytes.
            for unit in character.encode_utf16(&mut units) {
                let low = |shift: u16| 0x80 | (*unit >> shift & 0x3f) as u8;
                data.extend_from_slice(&[0xe0 | (*unit >> 12) as u8, low(6), low(0)]);
            }
        }
        if data.len() < 8 {
            self.bytes.push(codes::STRING_PACKED + data.len() as u8);
        } else {
            self.bytes.push(codes::STRING);
            self.int(data.len() as i64);
        }
        self.bytes.extend_from_slice(&data);
    }

    fn big_int(&mut self, number: i128) {
        if let Ok(number) = i64::try_from(number) {
            return self.int(number);
        }
        self.bytes
            .extend_from_slice(&[codes::BIGINT, codes::BYTES, 16]);
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    fn int(&mut self, number: i64) {
        if (-1..64).contains(&number) {
            return self.bytes.push(number as u8);
        }
        // The middle of the range of codes, the bytes that follow, and the bits held with the sign.
        let packed: [(i64, usize, u32); 6] = [
            (0x50, 1, 13),
            (0x68, 2, 20),
            (0x72, 3, 26),
            (0x76, 4, 34),
            (0x7a, 5, 42),
            (0x7e, 6, 50),
        ];
        let bytes = number.to_be_bytes();
        let fits = |bits: u32| number >> (bits - 1) == 0 || number >> (bits - 1) == -1;
        match packed.into_iter().find(|&(_, _, bits)| fits(bits)) {
            Some((middle, count, _)) => {
                self.bytes.push((middle + (number >> (8 * count))) as u8);
                self.bytes.extend_from_slice(&bytes[8 - count..]);
            }
            None => {
                self.bytes.push(codes::INT);
                self.bytes.extend_from_slice(&bytes);
            }
        }
    }
}
