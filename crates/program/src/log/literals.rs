//! Literals of a statement taken out of its text.

use crate::schema::Type;
use crate::sql::split::opaque_length;

/// A statement without its literals: the text between them, and them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    /// One piece more than literals.
    pub pieces: Vec<String>,
    pub literals: Vec<Literal>,
}

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Literal {
    /// As written, without quotes.
    pub text: String,
    pub ty: LiteralType,
}

/// What kind of literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LiteralType {
    /// Digits.
    Integer,
    /// Digits with a point or an exponent.
    Real,
    /// In quotes.
    Text,
}

impl LiteralType {
    pub fn ty(self) -> Type {
        match self {
            LiteralType::Integer => Type::Integer,
            LiteralType::Real => Type::Real,
            LiteralType::Text => Type::Text,
        }
    }
}

/// Takes the literals out. A number after LIMIT or OFFSET belongs to the shape, so does a text that
/// is a unit (INTERVAL '1 day').
pub(super) fn take(sql: &str) -> Taken {
    let mut taken = Taken {
        pieces: vec![String::new()],
        literals: Vec::new(),
    };
    let mut at = 0;
    let mut word = String::new();
    let mut after_name = false;
    while at < sql.len() {
        let rest = &sql[at..];
        let keeps = matches!(word.as_str(), "limit" | "offset" | "interval");
        if let Some(length) = opaque_length(rest) {
            let text = &rest[..length];
            match rest.starts_with('\'') && !keeps {
                true => push(&mut taken, unquoted(text), LiteralType::Text),
                false => last(&mut taken).push_str(text),
            }
            at += length.max(1);
            (word, after_name) = (String::new(), true);
            continue;
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_alphabetic() || first == '_' {
            let length = word_length(rest);
            word = rest[..length].to_ascii_lowercase();
            last(&mut taken).push_str(&rest[..length]);
            at += length;
            after_name = true;
            continue;
        }
        if first.is_ascii_digit() && !after_name {
            let length = number_length(rest);
            let text = &rest[..length];
            let ty = match text.bytes().all(|b| b.is_ascii_digit()) {
                true => LiteralType::Integer,
                false => LiteralType::Real,
            };
            match keeps {
                true => last(&mut taken).push_str(text),
                false => push(&mut taken, text.to_string(), ty),
            }
            at += length;
            continue;
        }
        // A digit within a name, like t1 or $1, belongs to it.
        after_name = first == '$' || (after_name && first.is_ascii_digit());
        if !first.is_whitespace() {
            word.clear();
        }
        last(&mut taken).push(first);
        at += first.len_utf8();
    }
    taken
}

fn last(taken: &mut Taken) -> &mut String {
    if taken.pieces.is_empty() {
        taken.pieces.push(String::new());
    }
    let at = taken.pieces.len() - 1;
    &mut taken.pieces[at]
}

fn push(taken: &mut Taken, text: String, ty: LiteralType) {
    taken.literals.push(Literal { text, ty });
    taken.pieces.push(String::new());
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('\'').unwrap_or(text);
    let inner = inner.strip_suffix('\'').unwrap_or(inner);
    inner.replace("''", "'")
}

fn word_length(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.unwrap_or(text.len())
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let exponent = at > 0 && matches!(bytes[at - 1], b'e' | b'E');
        match bytes[at] {
            b'0'..=b'9' | b'.' => at += 1,
            b'e' | b'E' if bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit()) => at += 1,
            b'+' | b'-' if exponent => at += 1,
            _ => break,
        }
    }
    at.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_taken_and_names_are_not() {
        let taken = take("update t1 set a = 'it''s', b2 = b2 + 1.5 where k = 7 limit 1");
        let texts: Vec<&str> = taken.literals.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["it's", "1.5", "7"]);
        let expected = "update t1 set a = ?, b2 = b2 + ? where k = ? limit 1";
        assert_eq!(taken.pieces.join("?"), expected);
    }
}
