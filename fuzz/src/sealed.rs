//! Files of Jepsen with right checksums around arbitrary data: a fuzzer does not guess these.

/// A `test.jepsen` whose history is one block of this type with this data.
pub fn sealed_store(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut file = b"JEPSEN\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec();
    // A map with the tag `block-ref` under the keyword `history`.
    let test = b"\xc0\xe6\xca\xf7\xe1history\xef\xe3\x09block-ref\x01\x01";
    let mut index = 2i32.to_be_bytes().to_vec();
    for (id, kind, data) in [(1i32, i16::from(kind), data), (2, 2, test)] {
        index.extend_from_slice(&id.to_be_bytes());
        index.extend_from_slice(&(file.len() as i64).to_be_bytes());
        block(&mut file, kind, data);
    }
    let at = file.len() as i64;
    file[10..18].copy_from_slice(&at.to_be_bytes());
    block(&mut file, 1, &index);
    file
}

fn block(file: &mut Vec<u8>, kind: i16, data: &[u8]) {
    let mut header = [0; 28];
    header[..8].copy_from_slice(&((28 + data.len()) as i64).to_be_bytes());
    header[12..14].copy_from_slice(&kind.to_be_bytes());
    let mut crc = !0u32;
    for &byte in data.iter().chain(&header) {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    header[8..12].copy_from_slice(&(!crc).to_be_bytes());
    file.extend_from_slice(&header);
    file.extend_from_slice(data);
}
