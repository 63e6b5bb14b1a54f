//! Calls on one object of a Jepsen test, in EDN or JSON: a register with `:read`, `:write` and `:cas`, a
//! mutex with `:acquire` and `:release`; and reads of several keys in a row, `[key [value …]]`.
//!
//! Order is that of the file. A call that failed did nothing and is left out, and so is a read whose
//! result is nil or not known: it says nothing. Values are numbered as they come, by their text.

use super::edn::{Atom, Flaw, Scan, Scanner};
use super::events::{Taker, each_event};
use super::jepsen_event::{Event, Phase, Process};
use super::{Format, FormatError, Source};
use std::collections::HashMap;

/// What was asked of the object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Read this value.
    Read(u32),
    /// Wrote this value.
    Write(u32),
    /// Wrote the second value where the first one was.
    Cas(u32, u32),
    /// Took the mutex.
    Acquire,
    /// Gave it back.
    Release,
}

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The `:index` of the invocation, or its place in the file.
    pub index: u64,
    /// Who called.
    pub process: i64,
    /// What was asked.
    pub action: Action,
    /// The place of the invocation among all events.
    pub invoked: u64,
    /// The place of the answer; nothing if there was none, and the call may take effect at any later
    /// time, or never.
    pub answered: Option<u64>,
}

/// The calls of a test, in order of invocation.
#[derive(Clone, Default, Debug)]
pub struct Calls {
    /// The calls.
    pub calls: Vec<Call>,
    /// The texts of the values; number 0 is nil.
    pub values: Vec<Box<str>>,
}

/// Reads the calls on an object. What is to be said about the file is added to `notes`.
pub fn read(
    source: Source<'_>,
    format: Option<Format>,
    notes: &mut Vec<String>,
) -> Result<Calls, FormatError> {
    let mut reader = Reader::default();
    reader.number("nil");
    each_event(source, format, notes, &mut reader)?;
    let mut calls = reader.calls;
    calls.calls.extend(reader.open.into_values());
    calls.calls.retain(|call| match call.action {
        Action::Read(value) => value != 0 && call.answered.is_some(),
        _ => true,
    });
    calls.calls.sort_by_key(|call| call.invoked);
    Ok(calls)
}

/// Reads which of several keys each read found, in the order in which it asked for them, with its
/// `:index` or place.
pub fn read_rows(
    source: Source<'_>,
    format: Option<Format>,
    notes: &mut Vec<String>,
) -> Result<Vec<(u64, Vec<bool>)>, FormatError> {
    let mut rows = Rows::default();
    each_event(source, format, notes, &mut rows)?;
    Ok(rows.0)
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    numbers: HashMap<Box<str>, u32>,
    open: HashMap<i64, Call>,
}

impl Reader {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.calls.values.len() as u32;
        self.calls.values.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// The value that the scanner is at.
    fn value<const JSON: bool>(&mut self, scanner: &mut Scanner<'_, JSON>) -> Scan<u32> {
        scanner.space()?;
        let start = scanner.pos;
        scanner.skip()?;
        let text = scanner.text(start)?;
        let nil = if JSON { "null" } else { "nil" };
        Ok(self.number(if text == nil { "nil" } else { &text }))
    }

    /// What a map asks for.
    fn action<const JSON: bool>(&mut self, bytes: &[u8], event: &Event<'_>) -> Scan<Action> {
        let wanted = |what: &str| Flaw::new(event.at, format!("expected {what} as `:value`"));
        let mut at_value = event.value.map(|at| Scanner::<JSON>::at(bytes, at));
        Ok(match (event.f, &mut at_value) {
            (b"acquire", _) => Action::Acquire,
            (b"release", _) => Action::Release,
            (b"read", None) => Action::Read(0),
            (b"read", Some(scanner)) => Action::Read(self.value(scanner)?),
            (b"write", Some(scanner)) => Action::Write(self.value(scanner)?),
            (b"cas", Some(scanner)) => {
                if scanner.atom()? != Atom::List {
                    return Err(wanted("[old new]"));
                }
                Action::Cas(self.value(scanner)?, self.value(scanner)?)
            }
            (b"write", None) => return Err(wanted("a value")),
            (b"cas", None) => return Err(wanted("[old new]")),
            (f, _) => {
                let f = String::from_utf8_lossy(f);
                return Err(
                    Flaw::new(event.at, format!("`:{f}` is no call on the object")).hint(
                        "a register has :read, :write and :cas; a mutex :acquire and :release",
                    ),
                );
            }
        })
    }
}

impl Taker for Reader {
    fn take<const JSON: bool>(&mut self, bytes: &[u8], event: &Event<'_>, place: u64) -> Scan<()> {
        let Process::Client(process) = event.process else {
            return match event.process {
                Process::Missing => Err(Flaw::new(event.at, "expected a `:process`, found none")),
                _ => Ok(()),
            };
        };
        if event.phase == Phase::Invoke {
            let action = self.action::<JSON>(bytes, event)?;
            let call = Call {
                index: event.index.unwrap_or(place),
                process,
                action,
                invoked: place,
                answered: None,
            };
            return match self.open.insert(process, call) {
                None => Ok(()),
                Some(_) => Err(Flaw::new(
                    event.at,
                    format!("process {process} calls before its last call was answered"),
                )),
            };
        }
        let Some(mut call) = self.open.remove(&process) else {
            return Err(Flaw::new(event.at, "an answer to a call that was not made"));
        };
        if event.phase == Phase::Fail {
            return Ok(());
        }
        if event.phase == Phase::Ok {
            call.answered = Some(place);
            if event.f == b"read" {
                call.action = self.action::<JSON>(bytes, event)?;
            }
        }
        self.calls.calls.push(call);
        Ok(())
    }
}

#[derive(Default)]
struct Rows(Vec<(u64, Vec<bool>)>);

impl Taker for Rows {
    fn take<const JSON: bool>(&mut self, bytes: &[u8], event: &Event<'_>, place: u64) -> Scan<()> {
        let is_read = event.f == b"read" && event.phase == Phase::Ok;
        let (true, Some(at)) = (is_read && event.process != Process::Fault, event.value) else {
            return Ok(());
        };
        let mut scanner = Scanner::<JSON>::at(bytes, at);
        let wanted = || {
            Flaw::new(at, "expected [key [value …]] as what a read returned")
                .hint("is this a test of keys that are written one after another?")
        };
        if scanner.atom()? != Atom::List {
            return Err(wanted());
        }
        scanner.skip()?;
        if scanner.atom()? != Atom::List {
            return Err(wanted());
        }
        let mut row = Vec::new();
        while !scanner.accept(b']')? && !scanner.accept(b')')? {
            let start = scanner.pos;
            row.push(match scanner.atom()? {
                Atom::Nil => false,
                Atom::Int(_) | Atom::Text(_) => true,
                _ => {
                    scanner.pos = start;
                    scanner.skip()?;
                    true
                }
            });
        }
        self.0.push((event.index.unwrap_or(place), row));
        Ok(())
    }
}
