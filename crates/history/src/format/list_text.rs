//! Reads of lists of small integers, compared as text.
//!
//! Most lists in a file of appends are prefixes of one read before, or extend it by an element or
//! two, byte for byte. So the text is first compared with that of the key's longest list, and only
//! what follows is parsed; what differs is left to the reader of arbitrary values.
//!
//! Why this is right: only texts of one form are remembered, `1 2 3` (in JSON `1,2,3` or `1, 2, 3`),
//! which this module parsed itself. Equal bytes are equal elements as long as the common part ends
//! where an element ends in both texts, and then it has one element more than separators.

use super::edn::Scanner;
use crate::{Builder, ValueCode};

/// Reads a list whose opening bracket was consumed, with its closing one; none, and nothing
/// consumed, if it has another form. `key` is a number that stands for the key.
pub(crate) fn read<const JSON: bool>(
    scanner: &mut Scanner<'_, JSON>,
    builder: &mut Builder,
    key: u32,
    elements: &mut Vec<ValueCode>,
) -> Option<ValueCode> {
    let (bytes, start) = (scanner.bytes, scanner.pos);
    let (lists, shared) = (&mut builder.lists, &mut builder.shared);
    let slot = shared.slot(key);
    let known = &bytes[shared.text(slot)];
    let common = common_len(known, &bytes[start..]);
    let at = start + common;
    elements.clear();
    if common == 0 {
        let end = parse::<JSON>(bytes, start, elements)?;
        scanner.pos = end + 1;
        let (list, longest) = shared.push(lists, slot, elements);
        if longest {
            shared.set_text(slot, start..end);
        }
        return Some(list);
    }
    if common < known.len() {
        let ends = bytes.get(at) == Some(&b']')
            && known[common] == separator::<JSON>()
            && known[common - 1].is_ascii_digit();
        if !ends {
            return None;
        }
        scanner.pos = at + 1;
        let count = 1 + count_of(separator::<JSON>(), &known[..common]);
        return Some(shared.push_prefix(lists, slot, count));
    }
    if bytes.get(at) == Some(&b']') {
        scanner.pos = at + 1;
        let count = shared.longest_len(slot);
        return Some(shared.push_prefix(lists, slot, count));
    }
    if bytes.get(at) != Some(&separator::<JSON>()) {
        return None;
    }
    let mut next = at + 1;
    next += usize::from(JSON && bytes.get(next) == Some(&b' '));
    let end = parse::<JSON>(bytes, next, elements)?;
    scanner.pos = end + 1;
    let list = shared.extend(lists, slot, elements);
    shared.set_text(slot, start..end);
    Some(list)
}

const fn separator<const JSON: bool>() -> u8 {
    if JSON { b',' } else { b' ' }
}

/// Reads integers up to the closing bracket and says where that is; none if there is anything else.
fn parse<const JSON: bool>(
    bytes: &[u8],
    mut at: usize,
    elements: &mut Vec<ValueCode>,
) -> Option<usize> {
    loop {
        let first = at;
        let mut number = 0u64;
        while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0'))
            && digit <= 9
        {
            number = number.wrapping_mul(10).wrapping_add(digit.into());
            at += 1;
        }
        // Ten digits do not overflow 64 bits.
        let small = number < u64::from(ValueCode::SMALL_LIMIT);
        if at == first || at - first > 10 || !small {
            return None;
        }
        elements.push(ValueCode(number as u32));
        match bytes.get(at) {
            Some(b']') => return Some(at),
            Some(&byte) if byte == separator::<JSON>() => at += 1,
            _ => return None,
        }
        at += usize::from(JSON && bytes.get(at) == Some(&b' '));
    }
}

/// How many bytes two texts have in common at their beginning.
#[inline]
fn common_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<32>(), b[at..].first_chunk::<32>())
        && x == y
    {
        at += 32;
    }
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
        let differs = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differs != 0 {
            return at + differs.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..]
        .iter()
        .zip(&b[at..])
        .take_while(|(x, y)| x == y)
        .count()
}

fn count_of(wanted: u8, text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == wanted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads lists of one key, one after another; an empty one stands for "another form".
    fn read_all<const JSON: bool>(text: &str) -> Vec<Vec<u32>> {
        let mut builder = Builder::new();
        let mut scanner = Scanner::<JSON>::at(text.as_bytes(), 0);
        let mut read_lists = Vec::new();
        while let Some(open) = text[scanner.pos..].find('[') {
            scanner.pos += open + 1;
            let list = read(&mut scanner, &mut builder, 7, &mut Vec::new());
            read_lists.push(match list {
                Some(code) => builder.lists.get(code).iter().map(|e| e.0).collect(),
                None => Vec::new(),
            });
        }
        read_lists
    }

    #[test]
    fn prefixes_extensions_and_strangers() {
        let text = "[1 2 3] [1 2] [1 2 3] [1 2 3 14 15] [1 2 3 14] [1 2 3 1] [2] [1 2 3 14 15 16]";
        let expected: [&[u32]; 8] = [
            &[1, 2, 3],
            &[1, 2],
            &[1, 2, 3],
            &[1, 2, 3, 14, 15],
            &[1, 2, 3, 14],
            // Cut within an element: not a prefix.
            &[],
            &[2],
            &[1, 2, 3, 14, 15, 16],
        ];
        assert_eq!(read_all::<false>(text), expected);
        assert_eq!(read_all::<true>(&text.replace(' ', ",")), expected);
        let spaced = text.replace("] [", "]\n[").replace(' ', ", ");
        assert_eq!(read_all::<true>(&spaced), expected);
    }

    #[test]
    fn other_forms_are_left_alone() {
        for text in [
            "[]",
            "[ 1]",
            "[1 ]",
            "[1  2]",
            "[1,2]",
            "[-1]",
            "[:a]",
            "[1.5]",
            "[1",
            "[1 2",
            "[12N]",
            "[2147483648]",
            "[99999999999]",
            "[1 \"2\"]",
            "[[1]]",
            "[",
        ] {
            assert_eq!(read_all::<false>(text)[0], [0u32; 0], "{text}");
        }
        // The same behind a list that is known.
        for text in ["[1 2 ]", "[1 2 x]", "[1 2", "[1 23]", "[1 2,3]", "[1 2  3]"] {
            let both = format!("[1 2] {text}");
            assert_eq!(read_all::<false>(&both)[1], [0u32; 0], "{text}");
        }
    }
}
