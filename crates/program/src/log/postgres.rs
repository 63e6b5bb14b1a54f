//! PostgreSQL's log: stderr lines with any prefix, and csv.

use super::Entry;
use crate::sql::split::opaque_length;

/// The statements of a log, in order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    match is_csv(text) {
        true => of_csv(text),
        false => of_lines(text),
    }
}

fn is_csv(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.matches(',').count() >= 12 && !line.contains("LOG:  "))
}

/// A line that starts a message: what stands before its severity, and the message.
fn message(line: &str) -> Option<(&str, &str, &str)> {
    for severity in [
        "LOG:  ",
        "DETAIL:  ",
        "ERROR:  ",
        "STATEMENT:  ",
        "HINT:  ",
        "FATAL:  ",
    ] {
        if let Some(at) = line.find(severity) {
            return Some((&line[..at], severity, &line[at + severity.len()..]));
        }
    }
    None
}

fn of_lines(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    // Whether the next lines that start with a tab belong to the last entry.
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        if let Some(more) = line.strip_prefix('\t') {
            if let (true, Some(last)) = (open, entries.last_mut()) {
                last.sql.push('\n');
                last.sql.push_str(more);
            }
            continue;
        }
        open = false;
        let Some((prefix, severity, rest)) = message(line) else {
            continue;
        };
        let session = session_of(prefix);
        match severity {
            "LOG:  " => {
                if let Some(sql) = statement(rest) {
                    open = true;
                    entries.push(Entry {
                        session,
                        sql: sql.to_string(),
                        line: number as u32 + 1,
                    });
                }
            }
            "DETAIL:  " => {
                let of_session = |entry: &&mut Entry| entry.session == session;
                if let (Some(values), Some(last)) =
                    (parameters(rest), entries.iter_mut().rev().find(of_session))
                {
                    last.sql = filled(&last.sql, &values);
                }
            }
            // A failed statement ends its transaction, unless the application goes on anyway.
            "ERROR:  " | "FATAL:  " => entries.push(Entry {
                session,
                sql: "rollback".to_string(),
                line: number as u32 + 1,
            }),
            _ => {}
        }
    }
    entries
}

/// The SQL of `statement: …` or `execute name: …`, maybe after a duration.
fn statement(message: &str) -> Option<&str> {
    let message = match message.strip_prefix("duration: ") {
        Some(rest) => rest.split_once("  ").map_or("", |(_, rest)| rest),
        None => message,
    };
    if let Some(sql) = message.strip_prefix("statement: ") {
        return Some(sql);
    }
    let rest = message.strip_prefix("execute ")?;
    rest.split_once(": ").map(|(_, sql)| sql)
}

/// What tells sessions apart: the session id (%c), or a number in brackets (%p), or else all that
/// stands there.
fn session_of(prefix: &str) -> String {
    let is_hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    let words =
        prefix.split(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | ',' | '|' | '='));
    for word in words.clone() {
        let word = word.trim_end_matches(':');
        if let Some((one, two)) = word.split_once('.')
            && is_hex(one)
            && is_hex(two)
            && one.len() >= 7
        {
            return word.to_string();
        }
    }
    let bracket = prefix.find('[').and_then(|at| {
        let rest = &prefix[at + 1..];
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    });
    bracket.unwrap_or_else(|| prefix.trim().to_string())
}

/// The values of `Parameters: $1 = '5', $2 = NULL`.
fn parameters(message: &str) -> Option<Vec<String>> {
    let rest = message
        .strip_prefix("parameters: ")
        .or_else(|| message.strip_prefix("Parameters: "))?;
    let mut values = Vec::new();
    let mut rest = rest;
    while let Some(at) = rest.find(" = ") {
        rest = &rest[at + 3..];
        let length = match opaque_length(rest) {
            Some(length) if rest.starts_with('\'') => length,
            _ => rest.find(',').unwrap_or(rest.len()),
        };
        values.push(rest[..length].trim().to_string());
        rest = &rest[length..];
    }
    Some(values)
}

/// The statement with `$1` … replaced by values; a text that is a number is written as one.
fn filled(sql: &str, values: &[String]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < sql.len() {
        let rest = &sql[at..];
        if let Some(length) = opaque_length(rest) {
            out.push_str(&rest[..length]);
            at += length.max(1);
            continue;
        }
        if let Some(digits) = rest.strip_prefix('$') {
            let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
            let number = digits.parse::<usize>().ok();
            if let Some(value) = number.and_then(|n| values.get(n.wrapping_sub(1))) {
                out.push_str(&bare_number(value));
                at += 1 + digits.len();
                continue;
            }
        }
        let length = rest.chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..length]);
        at += length;
    }
    out
}

fn bare_number(value: &str) -> String {
    let inner = value.trim_matches('\'');
    let number = !inner.is_empty() && inner.chars().all(|c| c.is_ascii_digit() || c == '.');
    match number {
        true => inner.to_string(),
        false => value.to_string(),
    }
}

fn of_csv(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (line, record) in records(text) {
        let field = |at: usize| record.get(at).map_or("", String::as_str);
        let session = field(5).to_string();
        match field(11) {
            "LOG" => {
                if let Some(sql) = statement(field(13)) {
                    let sql = match parameters(field(14)) {
                        Some(values) => filled(sql, &values),
                        None => sql.to_string(),
                    };
                    entries.push(Entry { session, sql, line });
                }
            }
            "ERROR" | "FATAL" => entries.push(Entry {
                session,
                sql: "rollback".to_string(),
                line,
            }),
            _ => {}
        }
    }
    entries
}

/// The records of a csv text, each with its first line. Quotes are doubled inside quotes.
fn records(text: &str) -> Vec<(u32, Vec<String>)> {
    let mut all = Vec::new();
    let mut record: Vec<String> = vec![String::new()];
    let (mut line, mut start, mut quoted) = (1, 1, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        line += u32::from(c == '\n');
        let at = record.len() - 1;
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                record[at].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(String::new()),
            '\n' if !quoted => {
                all.push((start, std::mem::replace(&mut record, vec![String::new()])));
                start = line;
            }
            '\r' if !quoted => {}
            c => record[at].push(c),
        }
    }
    if record.len() > 1 {
        all.push((start, record));
    }
    all
}
