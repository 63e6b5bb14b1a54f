//! Plain scripts, as psql and pgbench run them, rewritten as transaction files.
//!
//! What stands between `begin` and `commit` (or `rollback`) is a transaction. It is called after the comment
//! above it, else after the file; its parameters are the names it uses and does not bind. `\gset` binds the
//! columns of a row, `\set` a value, `\if` is a branch. A script without `begin` has a transaction for each
//! statement, as the server does. Everything stays on its line, so that places stay right.

use super::scan::word_of;
use crate::place::{Note, NoteKind, Place, shorten};
use crate::sql::DdlReader;
use crate::sql::split::{is_comment, opaque_length, place_at};

/// What a script consists of, by where it stands in the text.
enum Item<'a> {
    /// A statement, without what ends it; the names it binds begin with that, if it binds any.
    Statement(&'a str, Option<&'a str>),
    /// A command of the client, without its backslash.
    Command(&'a str),
}

/// An item with where it begins, where it ends, and the comment above it.
struct Placed<'a> {
    item: Item<'a>,
    from: usize,
    to: usize,
    comment: &'a str,
}

/// Whether a text is a script: something begins and ends in it, or it has commands of a client and no tables.
pub(crate) fn is_script(text: &str) -> bool {
    let all = items(text);
    let begins = all.iter().any(|one| begin_of(&one.item).is_some());
    let ends = all.iter().any(|one| is_end(&one.item));
    let commands = all.iter().any(|one| matches!(one.item, Item::Command(_)));
    let declares = all.iter().any(|one| match one.item {
        Item::Statement(text, _) => DdlReader::is_ddl(text),
        Item::Command(_) => false,
    });
    (begins && ends) || (commands && !declares && all.iter().any(|one| is_data(&one.item)))
}

/// The script as a transaction file, and what was passed over.
pub(super) fn rewritten(text: &str, file: &str) -> (String, Vec<Note>) {
    let all = items(text);
    let mut script = Script {
        text,
        file,
        single: !all.iter().any(|one| begin_of(&one.item).is_some()),
        out: String::with_capacity(text.len() + 200),
        notes: Vec::new(),
        names: Vec::new(),
        open: false,
    };
    let mut copied = 0;
    for (at, one) in all.iter().enumerate() {
        script.out.push_str(&text[copied..one.from]);
        script.item(&all, at);
        copied = one.to;
    }
    script.out.push_str(&text[copied..]);
    (script.out, script.notes)
}

struct Script<'a> {
    text: &'a str,
    file: &'a str,
    /// Whether every statement is a transaction of its own.
    single: bool,
    out: String,
    notes: Vec<Note>,
    names: Vec<String>,
    /// Whether a transaction is open.
    open: bool,
}

impl Script<'_> {
    fn item(&mut self, all: &[Placed<'_>], at: usize) {
        let one = &all[at];
        let whole = &self.text[one.from..one.to];
        match &one.item {
            Item::Command(command) => match self.open {
                true => self.command(command),
                false => self.blank(whole),
            },
            Item::Statement(..) if self.open && is_end(&one.item) => {
                let undone = matches!(first_word(&one.item).as_str(), "rollback" | "abort");
                self.out
                    .push_str(if undone { "abort; end;" } else { "end;" });
                self.open = false;
            }
            Item::Statement(text, bound) if self.open => self.statement(text, *bound),
            Item::Statement(text, _) => match begin_of(&one.item) {
                Some(level) => {
                    let rest = &all[at + 1..];
                    let end = rest.iter().position(|one| is_end(&one.item));
                    self.head(one, &rest[..end.unwrap_or(rest.len())]);
                    if let Some(level) = level {
                        self.out.push_str(&format!(" level {level};"));
                    }
                    self.open = true;
                }
                None if DdlReader::is_ddl(text) => self.out.push_str(whole),
                None if self.single && is_data(&one.item) => {
                    self.head(one, std::slice::from_ref(one));
                    self.out.push(' ');
                    self.statement(text, None);
                    self.out.push_str(" end;");
                }
                None => {
                    if is_data(&one.item) {
                        self.pass_over(one, text);
                    }
                    self.blank(whole);
                }
            },
        }
    }

    /// The head of a transaction that consists of these.
    fn head(&mut self, begin: &Placed<'_>, body: &[Placed<'_>]) {
        let mut parameters: Vec<String> = Vec::new();
        let mut bound: Vec<String> = Vec::new();
        let mut prefixes: Vec<&str> = Vec::new();
        for one in body {
            let (text, binds) = match one.item {
                Item::Statement(text, binds) => (text, binds),
                Item::Command(text) => (text, None),
            };
            for name in used_names(text) {
                let given = bound.contains(&name) || parameters.contains(&name);
                let columns = prefixes.iter().any(|prefix| name.starts_with(prefix));
                if !given && !columns {
                    parameters.push(name);
                }
            }
            match (&one.item, binds) {
                // Which columns there are is known to who reads the statement.
                (_, Some(prefix)) if !prefix.is_empty() => prefixes.push(prefix),
                (_, Some(_)) => bound.extend(selected_names(text)),
                (Item::Command(command), _) if word_of(command) == "set" => {
                    bound.extend(command.split_whitespace().nth(1).map(str::to_string));
                }
                _ => {}
            }
        }
        let name = self.name(begin.comment);
        let typed: Vec<String> = parameters.iter().map(|one| format!("{one} any")).collect();
        self.out
            .push_str(&format!("transaction {name}({})", typed.join(", ")));
    }

    /// A name that is not taken: that of the comment, else that of the file with a number.
    fn name(&mut self, comment: &str) -> String {
        let words = |text: &str| {
            let letters = text.to_ascii_lowercase();
            let words = letters.split(|c: char| !c.is_ascii_alphanumeric());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(4).collect();
            words.join("_")
        };
        let stem = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        let stem = words(stem.split('.').next().unwrap_or(stem));
        let own = words(comment);
        let named = own.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = match named && !self.names.contains(&own) {
            true => own,
            false => {
                let number = |at: &usize| !self.names.contains(&format!("{stem}_{at}"));
                let at = (1..).find(number).unwrap_or(1);
                let stem = stem.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
                format!("{}_{at}", if stem.is_empty() { "script" } else { stem })
            }
        };
        self.names.push(name.clone());
        name
    }

    fn statement(&mut self, text: &str, binds: Option<&str>) {
        // psql puts quotes around the value of :'name'; it is a value in any case.
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let quoted = rest.strip_prefix(":'").or_else(|| rest.strip_prefix(":\""));
            if let Some(name) = quoted.map(word_of).filter(|name| !name.is_empty()) {
                self.out.push_str(&format!(":{name}"));
                at += name.len() + 3;
                continue;
            }
            let length = opaque_length(rest).unwrap_or(0);
            let length = match length {
                0 => rest.chars().next().map_or(1, char::len_utf8),
                length => length,
            };
            self.out.push_str(&rest[..length]);
            at += length;
        }
        if let Some(prefix) = binds {
            self.out.push_str(&format!(" \\gset {prefix}"));
        }
        self.out.push(';');
    }

    /// A command of the client inside of a transaction.
    fn command(&mut self, command: &str) {
        let rest = command[word_of(command).len()..].trim();
        let told = match word_of(command) {
            "set" => {
                let name = word_of(rest);
                let value = rest[name.len()..].trim();
                format!(
                    "let {name} = {};",
                    if value.is_empty() { "null" } else { value }
                )
            }
            "if" => format!("if {rest} then"),
            "elif" => format!("elsif {rest} then"),
            "else" => "else".to_string(),
            "endif" => "end if;".to_string(),
            _ => String::new(),
        };
        self.out.push_str(&told);
    }

    fn blank(&mut self, text: &str) {
        let kept = text.chars().filter(|c| *c == '\n');
        self.out.extend(kept);
    }

    fn pass_over(&mut self, one: &Placed<'_>, text: &str) {
        let start = Place::new(self.file, 1, 1);
        self.notes.push(Note {
            place: place_at(self.text, one.from, &start),
            text: shorten(text, 60),
            assumed: "outside of begin and commit: passed over".to_string(),
            advice: "Put `begin;` and `commit;` around what your application runs.".to_string(),
            kind: NoteKind::Statement,
        });
    }
}

/// The statements and commands of a script.
fn items(text: &str) -> Vec<Placed<'_>> {
    let mut found = Vec::new();
    let (mut at, mut comment) = (0, "");
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().map_or(1, char::len_utf8);
        if rest.starts_with(char::is_whitespace) || rest.starts_with(';') {
            at += first;
            continue;
        }
        if is_comment(rest) {
            let length = opaque_length(rest).unwrap_or(first).max(1);
            comment = &rest[..length];
            at += length;
            continue;
        }
        let (item, length) = match rest.strip_prefix('\\') {
            Some(command) => {
                let end = command.find('\n').unwrap_or(command.len());
                (Item::Command(command[..end].trim_end()), end + 1)
            }
            None => statement(rest),
        };
        found.push(Placed {
            item,
            from: at,
            to: at + length,
            comment: std::mem::take(&mut comment),
        });
        at += length;
    }
    found
}

/// The statement that a text begins with, and its length with what ends it.
fn statement(text: &str) -> (Item<'_>, usize) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = opaque_length(rest) {
            at += length.max(1);
            continue;
        }
        if rest.starts_with(';') {
            return (Item::Statement(&text[..at], None), at + 1);
        }
        if let Some(command) = rest.strip_prefix('\\') {
            let end = command.find('\n').unwrap_or(command.len());
            let told = command[..end].trim_end().trim_end_matches(';');
            let binds = told.strip_prefix("gset").map(str::trim);
            return (Item::Statement(&text[..at], binds), at + 1 + end);
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    (Item::Statement(text, None), text.len())
}

/// The first word of a statement, in lower case; nothing of a command.
fn first_word(item: &Item<'_>) -> String {
    match item {
        Item::Statement(text, _) => word_of(text).to_ascii_lowercase(),
        Item::Command(_) => String::new(),
    }
}

/// Where a statement begins a transaction: the level it asks for, if any.
fn begin_of(item: &Item<'_>) -> Option<Option<String>> {
    let Item::Statement(text, _) = item else {
        return None;
    };
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let begins = matches!(
        words.as_slice(),
        ["begin"]
            | ["begin", "work" | "transaction" | "isolation" | "read", ..]
            | ["start", "transaction", ..]
    );
    let level = lower.split_once("isolation level").map(|(_, level)| {
        let level = level.split(',').next().unwrap_or(level);
        let words = level.split_whitespace().filter(|word| *word != "only");
        words.take(2).collect::<Vec<_>>().join(" ")
    });
    begins.then_some(level)
}

/// Whether a statement ends a transaction.
fn is_end(item: &Item<'_>) -> bool {
    let Item::Statement(text, _) = item else {
        return false;
    };
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let ends = ["commit", "end", "rollback", "abort"];
    let plain = words
        .get(1)
        .is_none_or(|word| ["work", "transaction", "and"].contains(word));
    words.first().is_some_and(|word| ends.contains(word)) && plain
}

/// Whether a statement reads or writes rows.
fn is_data(item: &Item<'_>) -> bool {
    let known = [
        "select", "insert", "update", "delete", "with", "merge", "replace",
    ];
    known.contains(&first_word(item).as_str())
}

/// The names with a colon in a text, in order; `::type` is a cast.
fn used_names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = opaque_length(rest) {
            at += length.max(1);
            continue;
        }
        if rest.starts_with("::") {
            at += 2;
            continue;
        }
        if let Some(name) = rest.strip_prefix(':') {
            let name = word_of(name.trim_start_matches(['\'', '"']));
            if !name.is_empty() && !found.iter().any(|one| one == name) {
                found.push(name.to_string());
            }
            // Past an opening quote as well, which would hide what follows.
            at += 1 + usize::from(rest[1..].starts_with(['\'', '"'])) + name.len();
            at += usize::from(
                text[at..].starts_with(['\'', '"']) && rest[1..].starts_with(['\'', '"']),
            );
            continue;
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// The names of the columns that a select gives, as far as they are plain or named by AS.
fn selected_names(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let list = lower.split_once("select").map_or("", |(_, rest)| rest);
    let list = list.split(" from ").next().unwrap_or(list);
    let list = lower
        .rsplit_once("returning")
        .map_or(list, |(_, returned)| returned);
    let last = |item: &str| {
        let word = item.split_whitespace().next_back().unwrap_or("");
        word.rsplit('.').next().unwrap_or(word).to_string()
    };
    let words = list.split([',', '\n']).map(last);
    words.filter(|word| !word.is_empty()).collect()
}
