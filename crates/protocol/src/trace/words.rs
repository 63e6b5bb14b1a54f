//! Steps and messages in words.

use super::{Cause, Happened, Run, Step};
use crate::id::{Key, Txn, Version};
use crate::log::Log;
use crate::setup::shape;
use std::fmt::Debug;

/// Field names that say no more than their value does.
const PLAIN: [&str; 8] = [
    "txn",
    "key",
    "version",
    "site",
    "t",
    "k",
    "v",
    "transaction",
];

/// Who wrote a version.
pub(crate) fn writer(log: &Log, key: Key, version: Version) -> Option<Txn> {
    let wrote = |txn: &Txn| log.record(*txn).writes.contains(&(key, version));
    Txn::first(log.records.len()).find(wrote)
}

/// A message as `Prepare(t1, k1, 1.s1, previous initial)`.
pub(crate) fn message<M: Debug>(message: &M) -> String {
    tidy(&format!("{message:?}"))
}

/// What `{:?}` prints, in fewer characters: braces of named fields become parentheses, a field
/// name that says nothing goes, `Some(x)` is `x`, an empty part is `-`.
fn tidy(debug: &str) -> String {
    let mut text = debug.replace("None", "-").replace(": ()", "");
    while let Some(start) = text.find("Some(") {
        let Some(length) = closing(&text[start + 5..]) else {
            break;
        };
        text.remove(start + 5 + length);
        text.replace_range(start..start + 5, "");
    }
    text = text.replace(" { ", "(").replace(" }", ")");
    let mut out = String::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            ':' if rest.peek() == Some(&' ') && is_field(&word) => {
                rest.next();
                if !PLAIN.contains(&word.as_str()) {
                    out.push_str(&word.replace('_', " "));
                    out.push(' ');
                }
                word.clear();
            }
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            letter => {
                out.push_str(&word);
                word.clear();
                out.push(letter);
            }
        }
    }
    out + &word
}

/// Where the parenthesis that is open at the start of `text` closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(place, letter)| {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(place),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })
}

/// Whether a word is the name of a field, not a key of a map: those are names with a number.
fn is_field(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !(word.len() > 1 && word[1..].chars().all(|letter| letter.is_ascii_digit()))
}

/// A version with the transaction that wrote it.
pub(crate) fn version(version: Version, writer: Option<Txn>) -> String {
    match writer {
        Some(txn) => format!("{version} of {txn}"),
        None => version.to_string(),
    }
}

/// An event in words.
pub(crate) fn event(event: &Happened) -> String {
    match event {
        Happened::Read(txn, key, read, writer) => {
            format!("{txn} reads {key}: {}", version(*read, *writer))
        }
        Happened::Write(txn, key, version) => format!("{txn} writes {key}: {version}"),
        Happened::Installed(key, installed, writer) => {
            format!("{key} is now {}", version(*installed, *writer))
        }
        Happened::Commit(txn) => format!("{txn} COMMITS"),
        Happened::Abort(txn) => format!("{txn} ABORTS"),
        Happened::Applied(txn) => format!("{txn} becomes visible here"),
        Happened::Wrong(error) => format!("ERROR OF THE MODEL: {error}"),
    }
}

/// What reached the site, without arrows.
pub(crate) fn cause(run: &Run, step: &Step) -> String {
    let message = |place: &usize| {
        let message = &run.messages[*place];
        format!("{} from {}", message.text, message.from)
    };
    match &step.cause {
        Cause::Start(txn) => format!("{txn} starts: {}", shape(run.setup.ops(*txn))),
        Cause::Delivery(place) => format!("receives {}", message(place)),
        Cause::Internal(0) => "acts by itself".to_string(),
        Cause::Internal(number) => format!("acts by itself (step {number})"),
        Cause::Lost(place) => format!("never gets {}", message(place)),
        Cause::Doubled(place) => format!("will get {}", message(place)),
        Cause::Crash => "CRASHES".to_string(),
        Cause::Recovery => "is up again".to_string(),
        Cause::Cut(lost) if lost.is_empty() => "is CUT OFF".to_string(),
        Cause::Cut(lost) => format!("is CUT OFF; {} lost", count(lost.len(), "message")),
        Cause::Healed => "is connected again".to_string(),
    }
}

/// A step in one line: where, what, which rules, what was recorded, what was sent.
pub(crate) fn line(run: &Run, step: &Step) -> String {
    let mut line = format!("{} {}", step.site, cause(run, step));
    if !step.rules.is_empty() {
        line.push_str(&format!(" [{}]", step.rules.join("; ")));
    }
    for event_ in &step.events {
        line.push_str("; ");
        line.push_str(&event(event_));
    }
    for place in &step.sent {
        let message = &run.messages[*place];
        line.push_str(&format!("; to {}: {}", message.to, message.text));
    }
    line
}

/// A number of things.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn a_message_reads_like_a_call() {
        let debug = "Prepare { txn: t1, key: k2, previous_version: Some(initial), by: {k1: 2.s1} }";
        assert_eq!(
            tidy(debug),
            "Prepare(t1, k2, previous version initial, by {k1: 2.s1})"
        );
        assert_eq!(tidy("Ack(t1)"), "Ack(t1)");
        assert_eq!(
            tidy("Vote { t: t1, yes: true, why: None }"),
            "Vote(t1, yes true, why -)"
        );
    }
}
