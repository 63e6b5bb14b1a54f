//! CRC-32 as in zip files (reflected polynomial 0xEDB88320), eight bytes a step.

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ 0xEDB8_8320
            } else {
                rest >> 1
            };
            bit += 1;
        }
        tables[0][byte] = rest;
        byte += 1;
    }
    let mut row = 1;
    while row < 8 {
        let mut byte = 0;
        while byte < 256 {
            let below = tables[row - 1][byte];
            tables[row][byte] = below >> 8 ^ tables[0][(below & 0xff) as usize];
            byte += 1;
        }
        row += 1;
    }
    tables
}

static TABLES: [[u32; 256]; 8] = tables();

/// A checksum under way.
pub(super) struct Crc32(u32);

impl Crc32 {
    /// The checksum of nothing.
    pub fn new() -> Crc32 {
        Crc32(!0)
    }

    /// Takes more bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut crc = self.0;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let low = crc ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            let table = |row: usize, byte: u32| TABLES[row][(byte & 0xff) as usize];
            crc = table(7, low)
                ^ table(6, low >> 8)
                ^ table(5, low >> 16)
                ^ table(4, low >> 24)
                ^ table(3, word[4].into())
                ^ table(2, word[5].into())
                ^ table(1, word[6].into())
                ^ table(0, word[7].into());
        }
        for &byte in rest {
            crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(byte)) & 0xff) as usize];
        }
        self.0 = crc;
    }

    /// The checksum.
    pub fn finish(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Crc32;

    #[test]
    fn the_check_value_of_the_standard() {
        for cut in 0..9 {
            let mut crc = Crc32::new();
            crc.update(&b"123456789"[..cut]);
            crc.update(&b"123456789"[cut..]);
            assert_eq!(crc.finish(), 0xCBF4_3926);
        }
        let mut long = Crc32::new();
        long.update(b"The quick brown fox jumps over the lazy dog");
        assert_eq!(long.finish(), 0x414F_A339);
    }
}
