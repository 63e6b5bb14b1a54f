//! Foreign text made harmless: what a history holds is shown, never interpreted.
//!
//! First [`visible`] or [`cut`] make one line of it in which nothing is hidden, then one of the
//! others makes it fit the language it is put into.

/// Letters that change how others are shown, or show nothing.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}' | '\u{fdd0}'..='\u{fdef}')
        || (u32::from(letter) & 0xfffe) == 0xfffe
}

/// The text on one line; line ends, other control characters and those that turn the direction of
/// writing are spelled out.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            hidden if is_hidden(hidden) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(hidden)));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// At most `max` letters of the text, on one line; what is cut off is marked by `…`.
pub fn cut(text: &str, max: usize) -> String {
    // A letter becomes at most 10; what is far beyond is not even looked at.
    let end = text
        .char_indices()
        .nth(max + 1)
        .map_or(text.len(), |(at, _)| at);
    let shown = visible(&text[..end]);
    if end == text.len() && shown.chars().count() <= max {
        return shown;
    }
    let kept: String = shown.chars().take(max.saturating_sub(1)).collect();
    kept + "…"
}

/// As text or as a quoted attribute of HTML, SVG or XML.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML knows no way to write these.
            letter if letter.is_control() && letter != '\n' && letter != '\t' => {
                out.push('\u{fffd}')
            }
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
    out
}

/// Between double quotes of a DOT file.
pub fn dot(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            plain => out.push(plain),
        }
    }
    out
}

/// Between double quotes of a Mermaid file. All but letters, digits and a few marks become codes.
pub fn mermaid(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        let is_plain = letter.is_alphanumeric() || " .,:-_()=/…→".contains(letter);
        if is_plain {
            out.push(letter);
        } else {
            out.push_str(&format!("#{};", u32::from(letter)));
        }
    }
    out
}

/// In the text of a LaTeX file that uses the T1 encoding. Letters beyond ASCII are spelled out
/// unless TeX has them.
pub fn tex(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' => out.push_str("\\{"),
            '}' => out.push_str("\\}"),
            '$' => out.push_str("\\$"),
            '&' => out.push_str("\\&"),
            '#' => out.push_str("\\#"),
            '%' => out.push_str("\\%"),
            '_' => out.push_str("\\_"),
            '^' => out.push_str("\\textasciicircum{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\textquotedbl{}"),
            '`' => out.push_str("\\textasciigrave{}"),
            '…' => out.push_str("\\ldots{}"),
            '·' => out.push_str("\\textperiodcentered{}"),
            '-' => out.push_str("{-}"),
            letter if letter.is_ascii() && !letter.is_control() => out.push(letter),
            letter => out.push_str(&format!("U+{:04X}", u32::from(letter))),
        }
    }
    out
}

/// How many columns of a terminal the text takes: East Asian letters and pictures take two.
pub fn columns(text: &str) -> usize {
    text.chars().map(letter_columns).sum()
}

/// The same for one letter.
pub(crate) fn letter_columns(letter: char) -> usize {
    match u32::from(letter) {
        // Marks of colours, which no text from outside can have: `visible` spells them out.
        0xe000..=0xe00f => 0,
        0x300..=0x36f | 0x1ab0..=0x1aff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text with spaces up to a number of columns.
pub fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks a text at spaces into lines of at most `width` columns; a word that is too long by itself
/// is cut into pieces.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut()
            && columns(line) + 1 + columns(word) <= width
        {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        let mut line = String::new();
        for letter in word.chars() {
            if columns(&line) + letter_columns(letter) > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden_and_everything_is_bounded() {
        assert_eq!(visible("a\nb\u{202e}c\u{0}"), "a\\nb\\u{202e}c\\u{0}");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut(&"x".repeat(1 << 20), 5), "xxxx…");
        assert_eq!(cut("\n\n\n\n", 4).chars().count(), 4);
    }

    #[test]
    fn each_language_gets_its_own_escapes() {
        assert_eq!(
            html("<a b=\"'&'\">"),
            "&lt;a b=&quot;&#39;&amp;&#39;&quot;&gt;"
        );
        assert_eq!(dot("\\N\"\n"), "\\\\N\\\"\\n");
        assert_eq!(mermaid("a\"]`;"), "a#34;#93;#96;#59;");
        assert_eq!(tex("\\end{x}_%"), "\\textbackslash{}end\\{x\\}\\_\\%");
        assert_eq!(tex("é"), "U+00E9");
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("ab cd efghij", 5), ["ab cd", "efghi", "j"]);
        assert_eq!(columns("日本"), 4);
        assert_eq!(padded("日", 3), "日 ");
    }
}
