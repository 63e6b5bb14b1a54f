//! An encoder of Fressian and of Jepsen's block files, written from the description of both and
//! knowing nothing of the reader.

/// A Fressian writer. Tags and cached values are numbered as they are first used.
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
    tags: Vec<String>,
    cached: Vec<String>,
}

impl Writer {
    pub fn code(&mut self, code: u8) -> &mut Writer {
        self.bytes.push(code);
        self
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Writer {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// An integer in as few bytes as hold it.
    pub fn int(&mut self, number: i64) -> &mut Writer {
        if (-1..64).contains(&number) {
            return self.code(number as u8);
        }
        // Range of the code, its middle, and how many bytes follow.
        let packed = [
            (0x50, 1, 12),
            (0x68, 2, 19),
            (0x72, 3, 25),
            (0x76, 4, 33),
            (0x7a, 5, 41),
            (0x7e, 6, 49),
        ];
        for (middle, count, bits) in packed {
            // With the sign, `bits + 1` are held.
            if (-(1i64 << bits)..1i64 << bits).contains(&number) {
                self.bytes.push((middle + (number >> (8 * count))) as u8);
                let all = number.to_be_bytes();
                self.bytes.extend_from_slice(&all[8 - count as usize..]);
                return self;
            }
        }
        self.bytes.push(0xf8);
        self.bytes.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Writer {
        if text.len() < 8 {
            self.code(0xda + text.len() as u8);
        } else {
            self.code(0xe3).int(text.len() as i64);
        }
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// A text that goes through the priority cache.
    pub fn cached_text(&mut self, text: &str) -> &mut Writer {
        if self.cached(text) {
            return self;
        }
        self.text(text)
    }

    /// Writes a place of the cache if the value is there, else puts it in: the value must follow.
    fn cached(&mut self, value: &str) -> bool {
        let Some(place) = self.cached.iter().position(|known| known == value) else {
            self.cached.push(value.to_string());
            self.code(0xcd);
            return false;
        };
        if place < 32 {
            self.code(0x80 + place as u8);
        } else {
            self.code(0xcc).int(place as i64);
        }
        true
    }

    /// A keyword without namespace.
    pub fn keyword(&mut self, name: &str) -> &mut Writer {
        self.code(0xca).code(0xf7).cached_text(name)
    }

    /// A keyword that goes through the priority cache itself.
    pub fn cached_keyword(&mut self, name: &str) -> &mut Writer {
        if self.cached(&format!(":{name}")) {
            return self;
        }
        self.keyword(name)
    }

    pub fn list(&mut self, length: usize) -> &mut Writer {
        if length < 8 {
            return self.code(0xe4 + length as u8);
        }
        self.code(0xec).int(length as i64)
    }

    pub fn tag(&mut self, name: &str, fields: i64) -> &mut Writer {
        let place = self.tags.iter().position(|known| known == name);
        match place {
            Some(place) if place < 16 => self.code(0xa0 + place as u8),
            Some(place) => self.code(0xf0).int(place as i64),
            None => {
                self.tags.push(name.to_string());
                self.code(0xef).text(name).int(fields)
            }
        }
    }

    /// The value of an operation: micro-operations `(tag, key, value)`.
    pub fn value(&mut self, ops: &[(&str, i64, Micro)]) -> &mut Writer {
        self.list(ops.len());
        for (tag, key, value) in ops {
            self.list(3).keyword(tag).int(*key);
            match value {
                Micro::Nil => {
                    self.code(0xf7);
                }
                Micro::Int(number) => {
                    self.int(*number);
                }
                Micro::List(numbers) => {
                    self.list(numbers.len());
                    for &number in *numbers {
                        self.int(number);
                    }
                }
            }
        }
        self
    }

    /// Jepsen's record of an operation.
    pub fn op(&mut self, op: &Op<'_>) -> &mut Writer {
        self.tag("jepsen.history.Op", 7).int(op.index).int(op.time);
        self.cached_keyword(op.phase);
        self.process(op).cached_keyword("txn").value(op.value);
        self.code(0xf7)
    }

    /// The same as the maps of the first version, without an index.
    pub fn map(&mut self, op: &Op<'_>) -> &mut Writer {
        self.code(0xc0).list(10).keyword("type").keyword(op.phase);
        self.keyword("time").int(op.time).keyword("process");
        self.process(op).keyword("f").keyword("txn");
        self.keyword("value").value(op.value)
    }

    fn process(&mut self, op: &Op<'_>) -> &mut Writer {
        match op.process {
            -1 => self.keyword("nemesis"),
            number => self.int(number),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Micro {
    Nil,
    Int(i64),
    List(&'static [i64]),
}

/// An operation; process -1 is the nemesis.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    pub index: i64,
    pub time: i64,
    pub phase: &'a str,
    pub process: i64,
    pub value: &'a [(&'a str, i64, Micro)],
}

/// A file under construction.
pub struct File {
    pub bytes: Vec<u8>,
    header: usize,
    offsets: Vec<(i32, i64)>,
}

pub const INDEX: i16 = 1;
pub const FRESSIAN: i16 = 2;
pub const PARTIAL_MAP: i16 = 3;
pub const STREAM: i16 = 4;
pub const BIG_VECTOR: i16 = 5;

impl File {
    /// A file with headers of so many bytes.
    pub fn new(version: i32, header: usize) -> File {
        let mut bytes = b"JEPSEN".to_vec();
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&[0; 8]);
        File {
            bytes,
            header,
            offsets: Vec::new(),
        }
    }

    /// Appends a block under an id, replacing an earlier one in the index.
    pub fn block(&mut self, id: i32, kind: i16, data: &[u8]) -> &mut File {
        self.offsets.retain(|&(known, _)| known != id);
        self.offsets.push((id, self.bytes.len() as i64));
        let mut header = vec![0; self.header];
        header[..8].copy_from_slice(&((self.header + data.len()) as i64).to_be_bytes());
        header[12..14].copy_from_slice(&kind.to_be_bytes());
        let checksum = crc32(&[data, &header].concat());
        header[8..12].copy_from_slice(&checksum.to_be_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(data);
        self
    }

    /// Appends the block index and points to it.
    pub fn index(&mut self, root: i32) -> &mut File {
        let at = self.bytes.len() as i64;
        let mut data = root.to_be_bytes().to_vec();
        for (id, offset) in &self.offsets {
            data.extend_from_slice(&id.to_be_bytes());
            data.extend_from_slice(&offset.to_be_bytes());
        }
        let kept = self.offsets.clone();
        self.block(i32::MAX, INDEX, &data);
        self.offsets = kept;
        self.bytes[10..18].copy_from_slice(&at.to_be_bytes());
        self
    }

    /// Where a block of the index is.
    pub fn offset(&self, id: i32) -> usize {
        let found = self.offsets.iter().find(|&&(known, _)| known == id);
        found.expect("a block").1 as usize
    }
}

/// The data of a big vector.
pub fn big_vector(count: i64, chunks: &[(i64, i32)]) -> Vec<u8> {
    let mut data = count.to_be_bytes().to_vec();
    for (index, id) in chunks {
        data.extend_from_slice(&index.to_be_bytes());
        data.extend_from_slice(&id.to_be_bytes());
    }
    data
}

/// The map of a test whose history is a block.
pub fn test_map(history: i32) -> Vec<u8> {
    let mut w = Writer::default();
    w.code(0xc0).list(8).keyword("name").text("a test");
    w.keyword("nodes")
        .code(0xed)
        .text("n1")
        .text("n2")
        .code(0xfd);
    w.keyword("history").tag("block-ref", 1).int(history.into());
    w.keyword("set").tag("persistent-hash-set", 1).code(0xf7);
    w.bytes
}

/// Bit by bit, as the standard has it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}
