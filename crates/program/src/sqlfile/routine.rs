//! Stored procedures, functions and triggers in `.sql` files. What they do is not read: each is taken out of
//! the text, line by line, and noted, so that the statements inside are not taken for those of a script.

use crate::place::{Note, NoteKind, Place, shorten};
use crate::sql::split::{opaque_length, place_at};
use std::borrow::Cow;

/// A text whose batches end with a semicolon, where the clients of SQL Server (`GO` on a line of its own) and of
/// Oracle (`/` behind the end of a block) end them otherwise. Every character stays in its place.
pub(crate) fn with_semicolons(text: &str) -> Cow<'_, str> {
    let ends = |line: &str| matches!(line.trim(), "GO" | "go" | "Go" | "/");
    if !text.lines().any(ends) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut ended = true;
    for line in text.split_inclusive('\n') {
        match line.trim() {
            "/" if ended => kept.push_str(&line.replacen('/', ";", 1)),
            go if go.eq_ignore_ascii_case("go") => kept.push_str(&line.replacen(go, "; ", 1)),
            "" => kept.push_str(line),
            other => {
                ended = other.ends_with(';');
                kept.push_str(line);
            }
        }
    }
    Cow::Owned(kept)
}

/// A text without its routines, and a note on each of them.
pub(crate) fn without_routines(text: &str, file: &str) -> (String, Vec<Note>) {
    let start = Place::new(file, 1, 1);
    let mut kept = String::with_capacity(text.len());
    let mut notes = Vec::new();
    let (mut at, mut delimiter, mut fresh) = (0, ";".to_string(), true);
    while at < text.len() {
        let rest = &text[at..];
        if fresh && let Some(length) = routine_length(rest, &delimiter) {
            notes.push(note(&rest[..length], place_at(text, at, &start)));
            kept.extend(rest[..length].chars().filter(|c| *c == '\n'));
            at += length;
            continue;
        }
        if fresh && starts_with_word(rest, "delimiter") {
            // A command of MySQL's client: what ends a statement from here on.
            let line = rest.lines().next().unwrap_or(rest);
            let told = line["delimiter".len()..].trim();
            delimiter = if told.is_empty() { ";" } else { told }.to_string();
            at += line.len();
            continue;
        }
        if delimiter != ";" && rest.starts_with(&delimiter) {
            kept.push(';');
            at += delimiter.len();
            fresh = true;
            continue;
        }
        let opaque = opaque_length(rest);
        let length = match opaque {
            Some(length) => length.max(1),
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        let blank = rest.starts_with(char::is_whitespace) || crate::sql::split::is_comment(rest);
        fresh = rest.starts_with(';') || fresh && blank;
        kept.push_str(&rest[..length]);
        at += length;
    }
    (kept, notes)
}

/// What is assumed of routines.
pub(crate) const ROUTINE: &str =
    "what a stored procedure, a function or a trigger does is left out";

fn note(routine: &str, place: Place) -> Note {
    Note {
        place,
        text: shorten(routine.trim(), 60),
        assumed: ROUTINE.to_string(),
        advice: "Write what it does as `transaction name(…) … end;` in a .sql file.".to_string(),
        kind: NoteKind::LeftOut,
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let head = text.get(..word.len());
    let after = text.get(word.len()..).and_then(|rest| rest.chars().next());
    head.is_some_and(|head| head.eq_ignore_ascii_case(word))
        && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// How far a routine goes that a text begins with, with what ends it; none where it begins with none.
fn routine_length(text: &str, delimiter: &str) -> Option<usize> {
    if !starts_with_word(text, "create") {
        return None;
    }
    let head: Vec<String> = text
        .split_whitespace()
        .take(12)
        .map(str::to_ascii_lowercase)
        .collect();
    let is_routine = |word: &&String| matches!(word.as_str(), "procedure" | "function" | "trigger");
    let other = |word: &&String| {
        matches!(
            word.as_str(),
            "table" | "view" | "index" | "unique" | "type"
        )
    };
    let at = head.iter().position(|word| is_routine(&word))?;
    if head[..at].iter().any(|word| other(&word)) {
        return None;
    }
    let (mut at, mut depth, mut word_before) = (0, 0_usize, String::new());
    while at < text.len() {
        let rest = &text[at..];
        if depth == 0 && rest.starts_with(delimiter) {
            return Some(at + delimiter.len());
        }
        if let Some(length) = opaque_length(rest) {
            at += length.max(1);
            continue;
        }
        let word: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if word.is_empty() {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        at += word.len();
        if delimiter == ";" {
            depth = depth_after(depth, &word_before, &word, &text[at..]);
        }
        word_before = word.to_ascii_lowercase();
    }
    Some(text.len())
}

/// How deep blocks are nested after a word: what `begin`, `case`, `if` and loops open, `end` closes.
fn depth_after(depth: usize, before: &str, word: &str, after: &str) -> usize {
    let closes = before == "end";
    let until = after
        .split(';')
        .next()
        .unwrap_or(after)
        .to_ascii_lowercase();
    let has = |wanted: &str| until.split_whitespace().any(|word| word == wanted);
    let opens = match word.to_ascii_lowercase().as_str() {
        "begin" | "case" => true,
        // There are functions of these names, too.
        "if" => depth > 0 && has("then"),
        "while" => depth > 0 && has("do"),
        "loop" => depth > 0,
        "repeat" => depth > 0 && !after.trim_start().starts_with('('),
        "end" => return depth.saturating_sub(1),
        _ => false,
    };
    depth + usize::from(opens && !closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routines_are_taken_out_and_the_rest_stays_on_its_line() {
        let text = "create table t (a int primary key);\n\
            DELIMITER //\n\
            CREATE PROCEDURE p(IN x INT)\nBEGIN\n  START TRANSACTION;\n  IF x > 1 THEN\n    \
            UPDATE t SET a = x;\n  END IF;\n  COMMIT;\nEND //\n\
            DELIMITER ;\n\
            create function f() returns int as $$ begin; return 1; end; $$ language plpgsql;\n\
            create trigger g before insert on t for each row begin\n  set new.a = 1;\nend;\n\
            create table u (b int primary key);\n";
        let (kept, notes) = without_routines(text, "f.sql");
        let lines: Vec<usize> = notes.iter().map(|note| note.place.line as usize).collect();
        assert_eq!(lines, [3, 12, 13]);
        assert_eq!(kept.matches('\n').count(), text.matches('\n').count());
        assert!(!kept.to_lowercase().contains("update"), "{kept}");
        let line = kept
            .lines()
            .position(|line| line.starts_with("create table u"));
        assert_eq!(line, Some(15));
    }

    #[test]
    fn batches_of_other_clients_end_where_these_end_them() {
        let text =
            "create database d\nGO\n  use d\r\n go\r\nbegin null; end;\n/\nselect a\n/\nb;\n";
        let expected =
            "create database d\n; \n  use d\r\n ; \r\nbegin null; end;\n;\nselect a\n/\nb;\n";
        assert_eq!(with_semicolons(text), expected);
    }

    #[test]
    fn a_text_without_routines_is_as_it_was() {
        let text = "create table function_log (a int);\nselect 'create procedure'; -- begin\n";
        assert_eq!(
            without_routines(text, "f.sql"),
            (text.to_string(), Vec::new())
        );
    }
}
