//! The general log of MySQL and MariaDB.

use super::Entry;

/// Commands of the log that are not SQL of the application, and those that are.
const COMMANDS: [&str; 9] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Quit",
    "Init DB",
    "Close stmt",
    "Reset stmt",
    "Field List",
];

/// Whether a text looks like a general log.
pub(super) fn is_general_log(text: &str) -> bool {
    text.lines().take(200).any(|line| head(line).is_some())
}

/// A line that starts an entry: `time id command argument`, the time maybe left out.
fn head(line: &str) -> Option<(&str, &str, &str)> {
    for command in COMMANDS {
        let mut from = 0;
        while let Some(at) = line[from..].find(command).map(|at| at + from) {
            let rest = &line[at + command.len()..];
            let before = line[..at].trim_end();
            let digits = before
                .rsplit(|c: char| c.is_whitespace())
                .next()
                .unwrap_or("");
            let number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
            let ends = rest.is_empty() || rest.starts_with(['\t', ' ']);
            // The id stands between blanks, after a time or at the start.
            let time = before[..before.len() - digits.len()].trim();
            let timed = time.is_empty() || time.starts_with(|c: char| c.is_ascii_digit());
            if number && ends && timed && line[..at].ends_with([' ', '\t']) && time.len() <= 40 {
                return Some((digits, command, rest.trim_start_matches(['\t', ' '])));
            }
            from = at + command.len();
        }
    }
    None
}

/// The statements of a log, in order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        match head(line) {
            Some((session, command, argument)) => {
                open = matches!(command, "Query" | "Execute");
                let sql = match command {
                    _ if open => argument,
                    // A session that goes away without commit loses what it did.
                    "Quit" => "rollback",
                    _ => continue,
                };
                entries.push(Entry {
                    session: session.to_string(),
                    sql: sql.to_string(),
                    line: number as u32 + 1,
                });
            }
            None => {
                if let (true, Some(last)) = (open, entries.last_mut()) {
                    last.sql.push('\n');
                    last.sql.push_str(line);
                }
            }
        }
    }
    entries
}
