//! SQL text cut into words, quotes and marks, as far as a dialect changes them.

use crate::sql::split::{is_comment, opaque_length};

/// A piece of SQL text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, a name or a number, in lower case.
    Word(String),
    /// A text in single quotes, as written.
    Text(String),
    /// Something in double quotes, without them.
    Double(String),
    /// A name in backticks or brackets, without them.
    Name(String),
    /// `?`, `:name`, `:row.column`, `$1`, as written.
    Placeholder(String),
    /// Anything else.
    Mark(String),
}

impl Token {
    /// Whether it is that word.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Token::Word(word) if word == wanted)
    }

    /// Whether it is that mark.
    pub fn is_mark(&self, wanted: &str) -> bool {
        matches!(self, Token::Mark(mark) if mark == wanted)
    }
}

/// The tokens of a text; comments are left out.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (token, length) = match opaque_length(rest) {
            Some(length) if is_comment(rest) => (None, length),
            Some(length) => (Some(quoted(&rest[..length])), length),
            None => plain(rest),
        };
        found.extend(token);
        at += length.max(1);
    }
    found
}

fn quoted(text: &str) -> Token {
    let inner = || {
        let quote = &text[..1];
        let inside = text[1..].strip_suffix(quote).unwrap_or(&text[1..]);
        inside.replace(&quote.repeat(2), quote)
    };
    match text.as_bytes()[0] {
        b'"' => Token::Double(inner()),
        b'`' => Token::Name(inner()),
        _ => Token::Text(text.to_string()),
    }
}

/// A token outside of quotes, none for blanks, and its length.
fn plain(rest: &str) -> (Option<Token>, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if first == '?' {
        let length = 1 + digits(&rest[1..]);
        return (Some(Token::Placeholder(rest[..length].to_string())), length);
    }
    if first == '$' && digits(&rest[1..]) > 0 {
        let length = 1 + digits(&rest[1..]);
        return (Some(Token::Placeholder(rest[..length].to_string())), length);
    }
    if rest.starts_with("::") {
        return (Some(Token::Mark("::".to_string())), 2);
    }
    if first == ':' && word(&rest[1..]) > 0 {
        let mut length = 1 + word(&rest[1..]);
        let column = rest[length..].strip_prefix('.').map_or(0, word);
        if column > 0 {
            length += 1 + column;
        }
        return (Some(Token::Placeholder(rest[..length].to_string())), length);
    }
    let length = number(rest).max(word(rest));
    if length > 0 {
        return (Some(Token::Word(rest[..length].to_lowercase())), length);
    }
    let two = ["<=", ">=", "<>", "!=", "||"];
    if let Some(mark) = two.iter().find(|mark| rest.starts_with(**mark)) {
        return (Some(Token::Mark((*mark).to_string())), 2);
    }
    (Some(Token::Mark(first.to_string())), first.len_utf8())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn word(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// `1`, `1.5`, `1e3`; 0 where it is none.
fn number(text: &str) -> usize {
    let whole = digits(text);
    if whole == 0 {
        return 0;
    }
    let fraction = text[whole..].strip_prefix('.').map(digits);
    whole + fraction.map_or(0, |length| length + 1)
}

/// The tokens as one text.
pub(super) fn join(pieces: &[String]) -> String {
    let mut out = String::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let tight = matches!(piece.as_str(), "," | ")" | "." | "::" | ";" | "(" | "]");
        let open = out.ends_with(['(', '.', '[']) || out.ends_with("::") || out.is_empty();
        // `count (*)` is no function call to MariaDB; `in(…)` is fine for both.
        if !tight && !open {
            out.push(' ');
        }
        out.push_str(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_tokens() {
        let text = "Select T.a, `Key` /* ? */ from \"T\" where b >= :x and c='it''s?' \
                    and d in (?) and e=$2::int and f = :r.item and 1.5 < g -- ?";
        let words: Vec<String> = tokens(text)
            .iter()
            .map(|token| match token {
                Token::Word(word) => word.clone(),
                Token::Mark(mark) => mark.clone(),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(
            words.join(" "),
            "select t . a , Name(\"Key\") from Double(\"T\") where b >= Placeholder(\":x\") and c = \
             Text(\"'it''s?'\") and d in ( Placeholder(\"?\") ) and e = Placeholder(\"$2\") :: int \
             and f = Placeholder(\":r.item\") and 1.5 < g"
        );
    }

    #[test]
    fn nothing_panics() {
        for text in [
            "'", "\"", "`é", ":", "$", "?", "é:é.é", "1.", "::", "--", "/*",
        ] {
            tokens(text);
        }
    }

    #[test]
    fn calls_stay_calls() {
        let pieces: Vec<String> = ["count", "(", "*", ")", "from", "t", "where", "a", "in", "("]
            .map(str::to_string)
            .to_vec();
        assert_eq!(join(&pieces), "count(*) from t where a in(");
    }
}
