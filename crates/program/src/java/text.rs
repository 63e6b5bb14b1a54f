//! SQL texts that are put together: what is known of them.
//!
//! The text of a variable is kept as a sample, with marks of our own: a part that is not known, a
//! list of placeholders of any length, and the part that a loop adds, which is there once. So
//! `in (` + `?,` for each of a list + `)` is one placeholder that stands for a list.

use super::env::{Val, is_sql};
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Expr, Operator, Value, VariableId};
use crate::schema::Type;

/// A part that is not known.
pub(super) const HOLE: char = '\u{f8f0}';
/// Placeholders, any number of them.
const LIST: char = '\u{f8f1}';
/// Around what a loop adds.
const OPEN: char = '\u{f8f2}';
const CLOSE: char = '\u{f8f3}';

/// A text made fit to be read.
pub(super) struct Fitted {
    pub sql: String,
    /// How many placeholders have a known index.
    pub exact: usize,
    /// Whether a part is not known.
    pub holes: bool,
    /// Whether something else than placeholders repeats.
    pub repeats: bool,
}

impl<'a> Translator<'a> {
    /// What is known of a text, with marks; nothing where nothing is.
    pub fn text_of(&self, value: &Expr) -> Option<String> {
        let mut text = String::new();
        let mut known = false;
        let mut waiting = vec![value];
        while let Some(next) = waiting.pop() {
            match next {
                Expr::Constant(Value::Text(part)) => {
                    known = true;
                    text.push_str(part);
                }
                Expr::Constant(Value::Integer(number)) => text.push_str(&number.to_string()),
                Expr::Arithmetic {
                    operator: Operator::Concatenate,
                    left,
                    right,
                } => {
                    waiting.push(right);
                    waiting.push(left);
                }
                // What is cut off its end is a separator.
                Expr::Call { name, arguments } if name == "substring" && !arguments.is_empty() => {
                    waiting.push(&arguments[0]);
                }
                Expr::Variable(variable) if self.env.samples.contains_key(variable) => {
                    known = true;
                    text.push_str(&self.env.samples[variable]);
                }
                _ => text.push(HOLE),
            }
        }
        known.then_some(text)
    }

    /// Remembers what a variable holds.
    pub fn remember(&mut self, variable: VariableId, value: &Expr) {
        match self.text_of(value) {
            Some(text) => self.env.samples.insert(variable, text),
            None => self.env.samples.remove(&variable),
        };
    }

    /// Remembers what a method returns; where its returns differ, that is not known.
    pub fn remember_result(&mut self, result: VariableId, text: Option<String>) {
        let text = match (self.results.get(&result), text) {
            (Some(before), Some(text)) if *before != text => Some(HOLE.to_string()),
            (_, text) => text,
        };
        match text {
            Some(text) => {
                self.results.insert(result, text.clone());
                self.env.samples.insert(result, text);
            }
            None => {
                self.env.samples.remove(&result);
            }
        }
    }

    /// A value whose text is known by a sample.
    fn sampled(&mut self, text: String) -> Val {
        let variable = self.variable("text", Type::Text);
        self.env.samples.insert(variable, text);
        Val::Expr(Expr::Variable(variable))
    }

    /// After a loop: what it added to texts repeats; what it changed otherwise is not known.
    pub fn repeated(&mut self, before: &[(VariableId, String)]) {
        for (variable, old) in before {
            let Some(new) = self.env.samples.get(variable) else {
                continue;
            };
            if new == old {
                continue;
            }
            let text = match new.strip_prefix(old.as_str()) {
                Some(added) => format!("{old}{OPEN}{added}{CLOSE}"),
                None => HOLE.to_string(),
            };
            self.env.samples.insert(*variable, text);
        }
    }

    /// `String.join(",", nCopies(n, "?"))`, `"?,".repeat(n)` and the like: a list of placeholders.
    pub fn placeholder_list(&mut self, node: &'a Node) -> Option<Val> {
        if !matches!(node.name(), "join" | "repeat" | "collect" | "joining") {
            return None;
        }
        let mark = |one: &&Node| {
            one.kind == "string_literal"
                && one.text().contains('?')
                && one.text().chars().all(|c| "\"?, ".contains(c))
        };
        let found = node.all().into_iter().any(|one| mark(&one));
        found.then(|| self.sampled(LIST.to_string()))
    }

    /// `String.format`, `formatted`, `replace` of a text whose parts are not all constants.
    pub fn put_together(&mut self, node: &'a Node) -> Option<Val> {
        let object = node.child("object")?;
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let (pattern, rest) = match (object.text(), node.name()) {
            ("String", "format") => (arguments.first()?, &arguments[1..]),
            (_, "formatted") => (object, arguments),
            (_, "replace" | "replaceFirst" | "replaceAll") => return self.replaced(node),
            _ => return None,
        };
        let pattern = self.value(pattern);
        let Val::Expr(pattern) = pattern else {
            return None;
        };
        let pattern = self.text_of(&pattern)?;
        if !is_sql(&pattern) {
            return None;
        }
        let mut values = Vec::new();
        for one in rest {
            let value = self.value(one);
            let value = self.expr_of(value);
            values.push(self.text_of(&value).unwrap_or_else(|| HOLE.to_string()));
        }
        let text = super::index::format_text(&pattern, &values)?;
        Some(self.sampled(text))
    }

    fn replaced(&mut self, node: &'a Node) -> Option<Val> {
        let [from, to] = node.child("arguments")?.children.as_slice() else {
            return None;
        };
        let whole = self.value(node.child("object")?);
        let Val::Expr(whole) = whole else {
            return None;
        };
        let text = self.text_of(&whole).filter(|text| is_sql(text))?;
        let from = self.value(from);
        let from = from.text()?.to_string();
        let to = self.value(to);
        let to = self.expr_of(to);
        let to = self.text_of(&to).unwrap_or_else(|| HOLE.to_string());
        Some(self.sampled(text.replace(&from, &to)))
    }
}

/// Makes a text with marks one that can be read.
pub(super) fn fitted(text: &str) -> Fitted {
    let marks = [HOLE, LIST, OPEN, CLOSE];
    let first = text.find(marks).unwrap_or(text.len());
    let exact = text[..first].matches('?').count();
    let mut repeats = false;
    for part in text.split(OPEN).skip(1) {
        let part = part.split(CLOSE).next().unwrap_or(part);
        let plain = |c: char| "?,() \n\t".contains(c) || c == LIST;
        repeats |= !part.chars().all(|c| plain(c) || c == HOLE);
    }
    let mut out = String::new();
    let mut holes = false;
    let characters: Vec<char> = text.chars().collect();
    for (at, c) in characters.iter().enumerate() {
        match *c {
            OPEN | CLOSE => {}
            // The last of a list that is written without a separator behind it.
            '?' if at > 0 && characters[at - 1] == LIST => {}
            LIST => out.push('?'),
            HOLE => {
                // A list of values is as good as a list of placeholders.
                let listed = in_list(&out);
                holes |= !listed;
                let columns = ends_with_word(&out, "select") || ends_with_word(&out, "distinct");
                let rest: String = characters[at + 1..].iter().take(12).collect();
                let from = rest.trim_start().to_ascii_lowercase().starts_with("from");
                out.push(if columns && from { '*' } else { '?' });
            }
            ',' => {
                let mut rest = characters[at + 1..].iter();
                let next = rest.find(|c| !c.is_whitespace() && !matches!(**c, OPEN | CLOSE));
                let before = out.trim_end().chars().last();
                let superfluous = matches!(next, None | Some(')' | ',')) || before == Some('(');
                if !(superfluous && first < text.len()) {
                    out.push(',');
                }
            }
            c => out.push(c),
        }
    }
    Fitted {
        sql: out.replace("'?'", "?"),
        exact,
        holes,
        repeats,
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let text = text.trim_end().to_ascii_lowercase();
    text.ends_with(word)
}

/// Whether a text ends inside of `in (…`.
fn in_list(text: &str) -> bool {
    let Some(at) = text.rfind('(') else {
        return false;
    };
    !text[at..].contains(')') && ends_with_word(&text[..at], " in")
}
