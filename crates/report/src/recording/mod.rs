//! What the recording of a run tells besides its history: the statements, the node and the database's
//! own numbers of a transaction, and what was done to the servers.
//!
//! A history keeps none of it, for that would cost memory for every transaction, and a report shows a
//! handful. So the recording is read again, line by line, for the transactions that are shown. Cost:
//! one pass; only lines of those, and of events, are parsed. Whoever shows one handful after another
//! remembers where the lines are ([`RecordingIndex`]).

mod index;

pub use index::RecordingIndex;

use crate::escape::cut;
use crate::lanes::Fault;
use crate::page::Details;
use history::{History, Op, Status, TxnId, UNLABELLED, Value};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// A line is looked at so far.
const LINE_MAX: u64 = 1 << 20;
/// The session and the number of a transaction stand so near to the beginning of its line.
const HEAD_MAX: usize = 120;
/// So many events are looked at.
const EVENTS_MAX: usize = 10_000;
/// So many statements of a transaction are written out.
const STATEMENTS_MAX: usize = 200;

/// What was read of a recording.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What was done to the servers.
    pub faults: Vec<Fault>,
    /// The statements of every column, with `:row` and `:value` in place of numbers.
    templates: Map<String, Json>,
    notes: HashMap<TxnId, Note>,
}

#[derive(Clone, Debug)]
struct Note {
    line: usize,
    info: Vec<(String, String)>,
}

impl Recording {
    /// Reads the lines of a recording, and keeps what they tell of these transactions. Lines that are
    /// not understood are passed over: that is for the reader of the history to complain about.
    pub fn read(lines: impl BufRead, history: &History, txns: &[TxnId]) -> Recording {
        let wanted = wanted(history, txns);
        let mut recording = Recording::default();
        let mut events = 0;
        scan(lines, &mut |place, line| {
            if recording.is_of_all(place, line, &mut events) {
                return;
            }
            if let Some(txn) = owner(line).and_then(|owner| wanted.get(&owner)) {
                // The last line of a transaction is the one with its outcome.
                recording.note(*txn, place.number, line);
            }
        });
        recording
    }

    /// Takes a line that is about the whole run: its head, an event. Says whether it was one.
    fn is_of_all(&mut self, place: Place, line: &[u8], events: &mut usize) -> bool {
        if line.starts_with(b"{\"event\":") {
            if *events < EVENTS_MAX {
                *events += 1;
                self.event(&parsed(line));
            }
            return true;
        }
        let is_head = place.number == 1 && line.starts_with(b"{\"isolde\":");
        if is_head && let Some(Json::Object(found)) = parsed(line).pointer_mut("/run/statements") {
            self.templates = std::mem::take(found);
        }
        is_head
    }

    fn note(&mut self, txn: TxnId, line: usize, text: &[u8]) {
        let info = info(&parsed(text)["info"]);
        self.notes.insert(txn, Note { line, info });
    }

    fn event(&mut self, event: &Json) {
        let (Some(what), Some(at)) = (event["event"].as_str(), event["at"].as_i64()) else {
            return;
        };
        let node = event["node"].as_u64();
        let node = node.map_or(String::new(), |node| format!("n{node}"));
        let name = format!("{} {node}", cut(what, 60)).trim_end().to_string();
        match event["text"].as_str() {
            Some("begins") => self.faults.push(Fault {
                name,
                node,
                start: at,
                end: i64::MAX,
            }),
            Some("ends") => {
                let mut open = self.faults.iter_mut().rev();
                let is_it = |fault: &&mut Fault| fault.end == i64::MAX && fault.name == name;
                if let Some(fault) = open.find(is_it) {
                    fault.end = at;
                }
            }
            _ => {}
        }
    }

    /// Whether a run wrote it: then its times are in nanoseconds.
    pub fn is_of_run(&self) -> bool {
        !self.templates.is_empty()
    }

    /// The node that served a transaction, if that was recorded.
    pub fn node(&self, txn: TxnId) -> Option<String> {
        let note = self.notes.get(&txn)?;
        let node = note.info.iter().find(|(name, _)| name == "node");
        node.map(|(_, node)| format!("n{node}"))
    }

    /// Everything that was recorded of a transaction.
    pub fn details(&self, history: &History, txn: TxnId) -> Details {
        let note = self.notes.get(&txn);
        Details {
            statements: self.statements(history, txn),
            ids: note.map_or(Vec::new(), |note| note.info.clone()),
            place: note.map_or(String::new(), |note| format!("line {}", note.line)),
        }
    }

    /// What a transaction said to the database, a statement a line, with the results of reads as
    /// comments; nothing where the recording has no statements.
    fn statements(&self, history: &History, txn: TxnId) -> Vec<String> {
        if self.templates.is_empty() || txn == TxnId::INITIAL {
            return Vec::new();
        }
        let frame = |name: &str| self.templates.get(name).and_then(Json::as_str);
        let mut lines: Vec<String> = frame("begin").map(str::to_string).into_iter().collect();
        for (id, op) in history.txn_ops(txn).take(STATEMENTS_MAX) {
            let result = history.op_text_around(id, &[]);
            lines.push(match self.statement(history, op) {
                Some(statement) if op.kind.is_write() => statement,
                Some(statement) => format!("{statement}   -- {result}"),
                None => result,
            });
        }
        let count = history.txn(txn).op_count as usize;
        if let Some(more @ 1..) = count.checked_sub(STATEMENTS_MAX) {
            lines.push(format!("-- … and {more} more"));
        }
        let (end, remark) = match history.status(txn) {
            Status::Committed => ("commit", ""),
            Status::Aborted => ("rollback", ""),
            Status::Indeterminate => ("commit", "   -- no answer"),
        };
        lines.extend(frame(end).map(|end| format!("{end}{remark}")));
        lines
    }

    /// The statement behind an operation. A key is a row, or a table, a row and a column.
    fn statement(&self, history: &History, op: Op) -> Option<String> {
        let (column, row) = match history.key_name(op.key) {
            Value::Int(row) => {
                let mut columns = self.templates.values().filter_map(Json::as_object);
                (columns.next()?, row.to_string())
            }
            Value::Text(key) => {
                let mut parts = key.split(':');
                let (table, row, column) = (parts.next()?, parts.next()?, parts.next()?);
                let column = self.templates.get(&format!("{table}.{column}"))?;
                (column.as_object()?, row.to_string())
            }
            Value::Nil => return None,
        };
        let way = if op.kind.is_write() { "write" } else { "read" };
        let text = column.get(way)?.as_str()?.replace(":row", &row);
        let value = history.value(op.value).to_string();
        Some(match op.kind.is_write() {
            true => text.replace(":value", &value),
            false => text,
        })
    }
}

/// Where a line is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its number, from 1.
    number: usize,
    /// The bytes before it.
    offset: u64,
}

/// Shows every line, of long ones the beginning.
fn scan(mut lines: impl BufRead, tell: &mut dyn FnMut(Place, &[u8])) {
    let mut line = Vec::new();
    let mut place = Place {
        number: 0,
        offset: 0,
    };
    loop {
        line.clear();
        let count = match (&mut lines).take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(count) if count > 0 => count as u64,
            _ => return,
        };
        place.number += 1;
        tell(place, &line);
        place.offset += count;
        if line.last() != Some(&b'\n') {
            match lines.skip_until(b'\n') {
                Ok(more) => place.offset += more as u64,
                Err(_) => return,
            }
        }
    }
}

/// The transactions by session and number, as a recording names them.
fn wanted(history: &History, txns: &[TxnId]) -> HashMap<(i64, u64), TxnId> {
    let mut wanted = HashMap::new();
    for &txn in txns.iter().filter(|&&txn| txn != TxnId::INITIAL) {
        let row = history.txn(txn);
        if row.label != UNLABELLED {
            wanted.insert((history.session_label(row.session), row.label), txn);
        }
    }
    wanted
}

fn parsed(line: &[u8]) -> Json {
    serde_json::from_slice(line).unwrap_or(Json::Null)
}

/// The session and the transaction that a line is about.
fn owner(line: &[u8]) -> Option<(i64, u64)> {
    let head = &line[..line.len().min(HEAD_MAX)];
    let rest = after(after(head, b"{")?, b"\"session\"")?;
    let (session, rest) = number(after(rest, b":")?)?;
    let rest = after(after(rest, b",")?, b"\"txn\"")?;
    let (txn, _) = number(after(rest, b":")?)?;
    Some((session, u64::try_from(txn).ok()?))
}

/// What stands behind a word, and spaces around it.
fn after<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    Some(
        text.trim_ascii_start()
            .strip_prefix(word)?
            .trim_ascii_start(),
    )
}

fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
    let end = text.iter().position(|byte| !is_digit(byte))?;
    let digits = std::str::from_utf8(&text[..end]).ok()?;
    Some((digits.parse().ok()?, &text[end..]))
}

/// What was recorded besides the operations: a name and a text each.
fn info(info: &Json) -> Vec<(String, String)> {
    let fields = info.as_object().into_iter().flatten();
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    fields
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::format::jsonl;

    const LINES: &str = concat!(
        r#"{"isolde":"history","version":1,"run":{"statements":{"begin":"BEGIN","commit":"COMMIT","#,
        r#""rollback":"ROLLBACK","t.v":{"read":"select v from t where id = :row","#,
        r#""write":"update t set v = :value where id = :row"}}}}"#,
        "\n",
        r#"{"session":1,"txn":4,"status":"started","start":1,"ops":[["r",7],["w",7,5]]}"#,
        "\n",
        r#"{"event":"kill","at":2,"node":1,"text":"begins"}"#,
        "\n",
        r#"{"session":1,"txn":4,"start":1,"end":9,"ops":[["r",7,3],["w",7,5]],"info":{"node":2,"xid":"77"}}"#,
        "\n",
        r#"{"event":"kill","at":8,"node":1,"text":"ends"}"#,
        "\n",
        r#"{"event":"pause","at":11,"node":0,"text":"begins"}"#,
        "\n{\"event\":",
    );

    fn read(text: &str) -> (History, Recording) {
        let whole = text.rsplit_once('\n').expect("lines").0;
        let history = jsonl::read(whole.as_bytes(), &mut Vec::new()).expect("a history");
        let txns: Vec<TxnId> = history.txn_ids().collect();
        let recording = Recording::read(text.as_bytes(), &history, &txns);
        (history, recording)
    }

    #[test]
    fn statements_and_numbers_are_those_of_the_recording() {
        let (history, recording) = read(LINES);
        let txn = history.txn_ids().next().expect("a transaction");
        let details = recording.details(&history, txn);
        assert_eq!(
            details.statements,
            [
                "BEGIN",
                "select v from t where id = 7   -- r(7, 3)",
                "update t set v = 5 where id = 7",
                "COMMIT"
            ]
        );
        let xid = ("xid".to_string(), "77".to_string());
        assert!(details.ids.contains(&xid), "{details:?}");
        assert_eq!(details.place, "line 4");
        assert_eq!(recording.node(txn).as_deref(), Some("n2"));
    }

    #[test]
    fn a_fault_lasts_from_its_beginning_to_its_end() {
        let (_, recording) = read(LINES);
        let faults = &recording.faults;
        assert_eq!(faults.len(), 2);
        assert_eq!((faults[0].start, faults[0].end), (2, 8));
        assert_eq!(faults[0].name, "kill n1");
        assert_eq!(faults[1].end, i64::MAX);
    }

    #[test]
    fn what_is_no_recording_tells_nothing() {
        let (history, _) = read(LINES);
        let txns: Vec<TxnId> = history.txn_ids().collect();
        let long = "x".repeat(3 << 20);
        for text in ["", "{\"session\":", "{\"isolde\":7}\n\u{0}\n", &long] {
            let recording = Recording::read(text.as_bytes(), &history, &txns);
            assert_eq!(recording.details(&history, txns[0]), Details::default());
            assert!(recording.faults.is_empty());
        }
    }
}
