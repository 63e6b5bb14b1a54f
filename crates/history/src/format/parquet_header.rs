//! Looks at the page headers of a column before the parquet crate does, so that a small file cannot
//! ask for a large allocation: that crate believes the sizes it finds there.
//!
//! Source: the Parquet format's `parquet.thrift` (`PageHeader`) and Thrift's compact protocol. A
//! header is a struct with the sizes of its page in fields 2 and 3 and, in one of the fields 5, 7
//! and 8, a struct whose field 1 counts the values. Linear in the headers; nothing is allocated.

/// More than LZ4 (255 to 1) and Snappy (about 21 to 1) can compress.
const RATIO_MAX: u64 = 256;
/// Structs lie in each other: a header, that of its kind of page, statistics.
const DEPTH_MAX: usize = 4;

/// What a page says of itself.
#[derive(Default, PartialEq, Eq, Debug)]
struct Header {
    unpacked: i64,
    packed: i64,
    /// The values of a page, or of a dictionary.
    values: i64,
}

/// Refuses a column chunk whose pages claim more bytes than they can hold or more than
/// `values_max` values in all.
pub(super) fn check_pages(
    mut chunk: &[u8],
    compressed: bool,
    values_max: u64,
) -> Result<(), String> {
    let mut values_total = 0u64;
    while !chunk.is_empty() {
        let header = header(&mut chunk).ok_or("a page header is cut off or of an unknown form")?;
        let number = |number: i64| u64::try_from(number).map_err(|_| "a page has a negative size");
        let (unpacked, packed) = (number(header.unpacked)?, number(header.packed)?);
        let Some(rest) = usize::try_from(packed).ok().and_then(|at| chunk.get(at..)) else {
            return Err("a page reaches beyond its column".into());
        };
        let room = if compressed {
            packed.saturating_mul(RATIO_MAX)
        } else {
            packed
        };
        if unpacked > room {
            return Err(format!(
                "a page of {packed} bytes claims to hold {unpacked}"
            ));
        }
        values_total = values_total.saturating_add(number(header.values)?);
        if values_total > values_max {
            return Err(format!(
                "a column claims {values_total} values, more than the file can hold"
            ));
        }
        chunk = rest;
    }
    Ok(())
}

/// Reads a header and moves behind it.
fn header(bytes: &mut &[u8]) -> Option<Header> {
    let mut header = Header::default();
    // The field last read in each struct that is open.
    let mut fields = [0i64; DEPTH_MAX];
    let mut depth = 0;
    loop {
        let byte = byte(bytes)?;
        let (step, kind) = (i64::from(byte >> 4), byte & 15);
        if kind == 0 {
            if depth == 0 {
                return Some(header);
            }
            depth -= 1;
            continue;
        }
        fields[depth] = match step {
            0 => zigzag(bytes)?,
            step => fields[depth].checked_add(step)?,
        };
        match kind {
            // Truth values are in the kind itself.
            1 | 2 => {}
            3 => drop(self::byte(bytes)?),
            4..=6 => {
                let number = zigzag(bytes)?;
                match fields[..=depth] {
                    [2] => header.unpacked = number,
                    [3] => header.packed = number,
                    [5 | 7 | 8, 1] => header.values = header.values.max(number),
                    _ => {}
                }
            }
            7 => skip(bytes, 8)?,
            8 => {
                let length = varint(bytes)?;
                skip(bytes, length)?;
            }
            12 => {
                depth += 1;
                *fields.get_mut(depth)? = 0;
            }
            // No field of a page header is a list, a set or a map.
            _ => return None,
        }
    }
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}

fn skip(bytes: &mut &[u8], count: u64) -> Option<()> {
    *bytes = bytes.get(usize::try_from(count).ok()?..)?;
    Some(())
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = byte(bytes)?;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let number = varint(bytes)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 3 bytes, 30 unpacked, with 7 values and statistics that are skipped.
    const PAGE: &[u8] = &[
        0x15, 0x00, 0x15, 60, 0x15, 6, 0x2c, 0x15, 14, 0x15, 0, 0x3c, 0x18, 2, 9, 9, 0, 0, 0, 1, 2,
        3,
    ];

    #[test]
    fn a_header_is_read_to_its_end() {
        let mut bytes = PAGE;
        let expected = Header {
            unpacked: 30,
            packed: 3,
            values: 7,
        };
        assert_eq!(header(&mut bytes), Some(expected));
        assert_eq!(bytes, [1, 2, 3]);
    }

    #[test]
    fn impossible_pages_are_refused() {
        let table: &[(bool, u64, &str)] = &[
            (true, 7, ""),
            (true, 6, "7 values"),
            (false, 7, "claims to hold 30"),
        ];
        for (compressed, values_max, expected) in table {
            let error = check_pages(PAGE, *compressed, *values_max).err();
            assert!(error.unwrap_or_default().contains(expected));
        }
        for cut in 1..PAGE.len() {
            assert!(check_pages(&PAGE[..cut], true, 7).is_err(), "cut at {cut}");
        }
    }
}
