//! Cobra's logs: a directory with one file `T<n>.log` a session, of big-endian 64-bit records.
//!
//! `S` txn | `W` write-id key value | `R` writer-txn writer-write-id key value | `C` txn, where each
//! letter is one byte. A read names the write it saw, so what a history takes for the value is the
//! write id; the recorded value (a hash) decides nothing and is not kept. A write id that means
//! another write than that of its first writer (used again, or named together with a transaction
//! that did not write it), or that is 0, which elsewhere is an initial value, becomes the text
//! `write-id@txn`, so that a read still means exactly the write it names. Logs whose writes are not
//! named (VeriStrong's, with values written twice) have one write id for all; there the recorded
//! value is the value, as the text `value@`. Keys are taken as unsigned.

mod write;

pub use write::write;

use super::keys::NumberedKeys;
use super::{
    Format, FormatError, Loaded, Place, ReadOptions, Source, cut, quote, sessions, too_large,
};
use crate::wide::WideInts;
use crate::{Builder, Op, OpKind, Status, Value, ValueCode};

/// Names the initial version, both as transaction and as write.
const INITIAL: u64 = 0xbebe_ebee;
/// Names the value of a row that does not exist.
const ABSENT: u64 = 0xdead_beef;
/// In place of a write id: the write has no name, and the recorded value tells which it may be.
const UNNAMED: u64 = 0xabdd_efee;

enum Record {
    Start(u64),
    Write {
        key: u64,
        written: Written,
    },
    Read {
        key: u64,
        txn: u64,
        written: Written,
    },
    Commit(u64),
    Abort(u64),
}

/// What a record says of a write.
#[derive(Clone, Copy)]
struct Written {
    id: u64,
    value: u64,
}

/// Reads a history from the logs of its sessions.
pub(super) fn read(sources: &[Source], options: &ReadOptions) -> Result<Loaded, FormatError> {
    let sessions = sessions::of_files(sources, 'T')?;
    let writers = Writers::of(sources)?;
    let mut reader = Reader {
        builder: Builder::new(),
        keys: NumberedKeys::default(),
        writers,
        notes: Vec::new(),
    };
    let mut done = 0;
    for (label, source) in sessions {
        reader
            .session(label, source)
            .map_err(|error| error.in_file(source.name))?;
        done += source.bytes.len() as u64;
        (options.progress)(done);
    }
    let Reader {
        mut builder,
        keys,
        notes,
        ..
    } = reader;
    if builder.txn_count() == 0 {
        return Err(FormatError::new(
            Place::Whole,
            "the logs hold no whole transaction",
        ));
    }
    builder.keys = keys.finish(&mut builder.ops);
    Ok(Loaded {
        history: builder.finish(),
        format: Format::Cobra,
        notes,
    })
}

/// The transaction that used each write id first.
#[derive(Default)]
struct Writers {
    ids: WideInts,
    txns: Vec<u64>,
}

impl Writers {
    fn of(sources: &[Source]) -> Result<Writers, FormatError> {
        let mut writers = Writers::default();
        for source in sources {
            let mut txn = 0;
            let mut at = 0;
            let fail = |error: FormatError| error.in_file(source.name);
            while let Some(record) = next(source.bytes, &mut at).map_err(fail)? {
                if let Record::Start(id) = record {
                    txn = id;
                }
                if let Record::Write { written, .. } = record
                    && writers.ids.enter(written.id) as usize == writers.txns.len()
                {
                    writers.txns.push(txn);
                }
            }
        }
        Ok(writers)
    }

    fn is_first(&self, txn: u64, id: u64) -> bool {
        let slot = self.ids.find(id);
        slot.is_some_and(|slot| self.txns[slot as usize] == txn)
    }
}

struct Reader {
    builder: Builder,
    keys: NumberedKeys,
    writers: Writers,
    notes: Vec<String>,
}

impl Reader {
    fn session(&mut self, label: i64, source: &Source) -> Result<(), FormatError> {
        let session = self.builder.session(label);
        let mut open: Option<(u64, usize)> = None;
        let mut at = 0;
        loop {
            let place = Place::Byte(at as u64);
            let Some(record) = next(source.bytes, &mut at)? else {
                break;
            };
            let outside = || FormatError::new(place, "expected S, the start of a transaction");
            match record {
                Record::Start(id) => {
                    if let Some((before, _)) = open {
                        let problem = format!("transaction {id} starts within {before}");
                        return Err(FormatError::new(place, problem));
                    }
                    open = Some((id, self.builder.ops.len()));
                }
                Record::Write { key, written } => {
                    let (txn, _) = open.ok_or_else(outside)?;
                    self.push(OpKind::Write, key, txn, written);
                }
                Record::Read { key, txn, written } => {
                    open.ok_or_else(outside)?;
                    self.push(OpKind::Read, key, txn, written);
                }
                Record::Commit(id) | Record::Abort(id) => {
                    let (txn, start) = open.take().ok_or_else(outside)?;
                    if id != txn {
                        let problem = format!("expected the end of {txn}, found that of {id}");
                        return Err(FormatError::new(place, problem));
                    }
                    let committed = matches!(record, Record::Commit(_));
                    let status = if committed {
                        Status::Committed
                    } else {
                        Status::Aborted
                    };
                    let ended = self.builder.end_txn(session, txn, status, None, start);
                    ended.map_err(too_large)?;
                }
            }
        }
        if at < source.bytes.len() || open.is_some() {
            let stop = format!("{} is cut off", source.name);
            self.notes.push(cut::note(&stop, open.is_some().into()));
        }
        if let Some((txn, start)) = open {
            let status = Status::Indeterminate;
            let ended = self.builder.end_txn(session, txn, status, None, start);
            ended.map_err(too_large)?;
        }
        Ok(())
    }

    fn push(&mut self, kind: OpKind, key: u64, txn: u64, Written { id, value }: Written) {
        let initial = kind == OpKind::Read && (id == INITIAL || id == ABSENT);
        let value = if initial {
            ValueCode::NIL
        } else if id == UNNAMED {
            let name = format!("{value}@");
            self.builder.value(&Value::from(name.as_str()))
        } else if id != 0 && self.writers.is_first(txn, id) {
            self.builder.values.code_of_unsigned(id)
        } else {
            let name = format!("{id}@{txn}");
            self.builder.value(&Value::from(name.as_str()))
        };
        let key = self.keys.id(key);
        self.builder.ops.push(Op { kind, key, value });
    }
}

/// The record at `at`, which moves behind it; `None` at the end or where a record is cut off.
fn next(bytes: &[u8], at: &mut usize) -> Result<Option<Record>, FormatError> {
    let Some(&letter) = bytes.get(*at) else {
        return Ok(None);
    };
    let field_count = match letter {
        b'S' | b'C' | b'A' => 1,
        b'W' => 3,
        b'R' => 4,
        _ => {
            let found = quote(&bytes[*at..bytes.len().min(*at + 8)]);
            let problem = format!("expected a record S, R, W, C or A, found {found}");
            return Err(FormatError::new(Place::Byte(*at as u64), problem)
                .hint("records are a letter and 1, 3 or 4 big-endian 64-bit numbers"));
        }
    };
    let Some(fields) = bytes.get(*at + 1..*at + 1 + 8 * field_count) else {
        return Ok(None);
    };
    let mut numbers = [0u64; 4];
    for (number, field) in numbers.iter_mut().zip(fields.chunks_exact(8)) {
        *number = field
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    }
    *at += 1 + 8 * field_count;
    let [first, second, third, fourth] = numbers;
    Ok(Some(match letter {
        b'S' => Record::Start(first),
        b'C' => Record::Commit(first),
        b'A' => Record::Abort(first),
        b'W' => Record::Write {
            key: second,
            written: Written {
                id: first,
                value: third,
            },
        },
        _ => Record::Read {
            key: third,
            txn: first,
            written: Written {
                id: second,
                value: fourth,
            },
        },
    }))
}

/// Whether these are records from the start of a transaction on; an empty log is a session without
/// any transaction.
pub(super) fn is_log(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 16;
    let mut at = 0;
    for index in 0..LOOKED_AT {
        match next(bytes, &mut at) {
            Ok(Some(Record::Start(_))) => {}
            Ok(Some(_)) if index > 0 => {}
            Ok(None) => return index > 0 || bytes.is_empty(),
            Ok(Some(_)) | Err(_) => return false,
        }
    }
    true
}
