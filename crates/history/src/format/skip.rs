//! Skipping a value of EDN or JSON without looking at it, but for its brackets.
//!
//! Most of a large file is numbers in long lists, so what is between brackets is passed eight bytes at
//! a time. Nesting is kept in two bits a level, so that there is little to clear for each value.

use super::edn::{CLASS, CLOSE, DELIMITER, Flaw, OPEN, SPACE, Scan, Scanner};

/// How deep brackets may nest.
const DEPTH_MAX: usize = 256;
/// How deep vectors nest that are skipped by counting.
const VECTOR_DEPTH_MAX: usize = 8;

impl<const JSON: bool> Scanner<'_, JSON> {
    /// Skips one value of any shape; the brackets in it must match.
    pub fn skip(&mut self) -> Scan<()> {
        let mut open = [0u64; DEPTH_MAX / 32];
        let mut depth = 0usize;
        loop {
            if depth > 0 {
                self.skip_plain();
            }
            let Some(byte) = self.peek() else {
                return Err(self.end("the rest of a value"));
            };
            let class = CLASS[byte as usize];
            if class & SPACE != 0 || (JSON && byte == b':' && depth > 0) {
                self.pos += 1;
                continue;
            } else if class & OPEN != 0 {
                if depth == DEPTH_MAX {
                    return Err(self.too_deep());
                }
                let (word, shift) = (depth / 32, depth % 32 * 2);
                open[word] = open[word] & !(3 << shift) | bracket(byte) << shift;
                depth += 1;
                self.pos += 1;
                continue;
            } else if class & CLOSE != 0 {
                depth = depth.wrapping_sub(1);
                let last = open
                    .get(depth / 32)
                    .map(|word| word >> (depth % 32 * 2) & 3);
                if last != Some(bracket(byte)) {
                    return Err(self.unexpected("a value or the matching bracket"));
                }
                self.pos += 1;
            } else if byte == b'"' {
                self.skip_string()?;
            } else if self.skip_token(byte) {
                continue;
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips a vector of vectors and plain tokens, such as the value of most transactions; false,
    /// with nothing consumed, if anything else is in it.
    #[inline]
    pub fn skip_vectors(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        let (mut at, mut depth) = (self.pos, 0);
        while let Some(chunk) = self.bytes[at..].first_chunk::<8>() {
            let mut marks = marks(u64::from_le_bytes(*chunk));
            while marks != 0 {
                let place = marks.trailing_zeros() as usize / 8;
                match chunk[place] {
                    b'[' if depth < VECTOR_DEPTH_MAX => depth += 1,
                    b']' if depth > 1 => depth -= 1,
                    b']' if depth == 1 => {
                        self.pos = at + place + 1;
                        return true;
                    }
                    byte if CLASS[byte as usize] & (OPEN | CLOSE) != 0 => return false,
                    b'"' | b'#' | b';' | b'\\' => return false,
                    _ => {}
                }
                marks &= marks - 1;
            }
            at += 8;
        }
        false
    }

    /// Skips what has no meaning within a collection, eight bytes at a time, and ends where a token
    /// may start, so that a mark such as `#` within one means nothing.
    #[inline]
    fn skip_plain(&mut self) {
        let start = self.pos;
        while let Some(word) = self.bytes[self.pos..].first_chunk::<8>() {
            let marks = marks(u64::from_le_bytes(*word));
            self.pos += marks.trailing_zeros() as usize / 8;
            if marks != 0 {
                break;
            }
        }
        let inside = |byte: u8| CLASS[byte as usize] & DELIMITER == 0;
        if self.pos > start && inside(self.bytes[self.pos - 1]) {
            self.token();
        }
    }

    /// Skips a token; true if it is not a value by itself (a comment, a tag, `#_`).
    #[inline]
    fn skip_token(&mut self, byte: u8) -> bool {
        match byte {
            b';' if !JSON => {
                self.comment();
                true
            }
            b'\\' if !JSON => {
                self.character();
                false
            }
            b'#' if !JSON => {
                self.pos += 1;
                match self.peek() {
                    Some(b'{' | b'"') => {}
                    // `##Inf`: a symbol follows, which is the value.
                    Some(b'#') => self.pos += 1,
                    // A tag or `_`; the form that follows is skipped with it.
                    _ => {
                        self.token();
                    }
                }
                true
            }
            _ => {
                let start = self.pos;
                self.token();
                self.pos = self.pos.max(start + 1);
                false
            }
        }
    }

    fn too_deep(&self) -> Box<Flaw> {
        Flaw::new(
            self.pos,
            format!("brackets nest deeper than {DEPTH_MAX} levels"),
        )
        .hint("no known recorder nests values like this; is this a history?")
    }
}

/// The highest bit of each byte that may have a meaning of its own: brackets, quotes, `#`, `;`, `\\`,
/// and some that have none.
#[inline]
fn marks(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    // Adding to seven bits carries into the eighth and never beyond.
    let differs = |word: u64, byte: u8| {
        let word = word ^ each(byte);
        ((word & LOW) + LOW) | word
    };
    // With this bit set `[`, `\\` and `]` become `{`, `|` and `}`, nearly the last of ASCII.
    let folded = word | each(0x20);
    let braces = ((folded & LOW) + each(0x80 - b'{')) | word;
    // With this bit set `(` becomes `)`, and `"` becomes `#`.
    let odd = word | each(1);
    let others = differs(odd, b')') & differs(odd, b'#') & differs(word, b';');
    (braces | !others) & !LOW
}

/// Which kind of bracket opens or closes, in two bits.
fn bracket(byte: u8) -> u64 {
    match byte {
        b'(' | b')' => 1,
        b'[' | b']' => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_with_a_meaning_is_passed() {
        for byte in 0..=255u8 {
            for place in 0..8 {
                let mut word = *b"a0 ,:-Zz";
                word[place] = byte;
                let found = marks(u64::from_le_bytes(word)).trailing_zeros() as usize / 8;
                let active = b"()[]{}\"#;\\".contains(&byte);
                assert!(
                    found == place || (!active && found == 8),
                    "{byte} at {place}"
                );
                let plain = byte < b'{' && !active && byte | 0x20 < b'{';
                assert!(found == 8 || !plain, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_value_is_skipped_to_its_end() {
        for (value, rest) in [
            ("[[:append 13 1] [:r 49 [1 2 3 4 5 6 7 8 9 10 11]]]", "]"),
            ("{:a (1 2 #{3 4}) \"b]\" \\] ; ]\n :c #_[] d# }", " :e"),
            ("[abcdefgh#ijk abcdefg\\ijk #tag[1] ##Inf ~^|é]", "}"),
            ("12345678901234", " [1]"),
            ("\"a \\\" b\"", "]"),
        ] {
            let text = format!("{value}{rest}");
            let mut scanner = Scanner::<false>::at(text.as_bytes(), 0);
            scanner.skip().expect(value);
            assert_eq!(&text[..scanner.pos], value);
        }
        for wrong in [
            "[1 2 3 4 5)",
            "]",
            "[[1 2 3 4 5 6 7 8 9]",
            "{1 2 3 4 5 6 7]",
        ] {
            assert!(Scanner::<false>::at(wrong.as_bytes(), 0).skip().is_err());
        }
    }

    #[test]
    fn vectors_are_skipped_as_other_values_are() {
        let rest = ", :time 5, :x [1 2]}";
        let vectors = [
            "[]",
            "[[:append 1 2] [:r 3 nil]]",
            "[[:r 255 [1 2 3]], [:w \u{e9} -1e9]]",
            "[[[[[[[1]]]]]]]",
        ];
        for text in vectors {
            let text = format!("{text}{rest}");
            let (mut one, mut other) = (
                Scanner::<false>::at(text.as_bytes(), 0),
                Scanner::<false>::at(text.as_bytes(), 0),
            );
            assert!(one.skip_vectors() && other.skip().is_ok(), "{text}");
            assert_eq!(one.pos, other.pos, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(9), "]".repeat(9));
        let left = [
            "nil [1]",
            "(1 [2])",
            "[(1)]",
            "[{1 2}]",
            "[#{1}]",
            "[\"]\" 1]",
            "[\\]]",
            "[; ]\n]",
            "]",
            "[[1 2]",
            &deep,
        ];
        for text in left {
            let text = format!("{text}        ");
            let mut scanner = Scanner::<false>::at(text.as_bytes(), 0);
            assert!(!scanner.skip_vectors() && scanner.pos == 0, "{text}");
        }
    }
}
