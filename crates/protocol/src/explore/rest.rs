//! Everything of a state that is not a site or a packet, as bytes.
//!
//! Written by hand, not by serde: the log is encoded for almost every generated state, and is most
//! of what is encoded.

use crate::codec::{CodecError, Renaming, decode, encode};
use crate::fault::Spent;
use crate::id::{Key, Site, Txn, TxnSet, Version};
use crate::log::{Detail, Event, Log, Status};
use crate::protocol::Protocol;
use crate::system::State;

/// Appends the rest of a state, with its names changed.
pub(crate) fn encode_rest<P: Protocol>(
    state: &State<P>,
    names: Option<&Renaming>,
    to: &mut Vec<u8>,
) -> Result<(), CodecError> {
    match names {
        None => {
            to.extend_from_slice(&state.started);
            encode_log(&state.log, to);
        }
        Some(names) => {
            let start = to.len();
            to.resize(start + state.started.len(), 0);
            for (from, session) in names.sessions.iter().enumerate() {
                to[start + usize::from(*session)] = state.started[from];
            }
            encode_log(&state.log.renamed(names), to);
        }
    }
    let quiet = state.multicasts.is_empty()
        && state.spent == Spent::default()
        && state.down.is_empty()
        && state.cut.is_empty();
    if !quiet {
        let more = (&state.multicasts, state.spent, state.down, state.cut);
        encode(&more, names, to)?;
    }
    Ok(())
}

/// Makes the rest of `state` what the bytes say. The state is one of the same setup, whose lists
/// are reused.
pub(crate) fn decode_rest<P: Protocol>(
    bytes: &[u8],
    state: &mut State<P>,
) -> Result<(), CodecError> {
    let mut reader = Reader { rest: bytes };
    let started = reader.take(state.started.len())?;
    state.started.copy_from_slice(started);
    decode_log(&mut reader, &mut state.log)?;
    (state.multicasts, state.spent, state.down, state.cut) = if reader.rest.is_empty() {
        Default::default()
    } else {
        decode(reader.rest)?
    };
    Ok(())
}

#[inline]
fn number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[inline]
fn version(version: Version, to: &mut Vec<u8>) {
    number(version.number.into(), to);
    if !version.is_initial() {
        to.push(version.site.0);
    }
}

fn versions(list: &[(Key, Version)], to: &mut Vec<u8>) {
    number(list.len() as u64, to);
    for (key, of) in list {
        to.push(key.0);
        version(*of, to);
    }
}

/// Appends a log; its detail and error too, so that nothing is lost.
pub(crate) fn encode_log(log: &Log, to: &mut Vec<u8>) {
    let detail = match log.detail {
        Detail::Untimed => 0,
        Detail::RealTime => 1,
        Detail::Full => 2,
    };
    to.push(detail | u8::from(log.error.is_some()) << 2);
    for record in &log.records {
        let status = match record.status {
            Status::Waiting => 0,
            Status::Running => 1,
            Status::Committed => 2,
            Status::Aborted => 3,
        };
        to.push(status);
        if record.status != Status::Waiting {
            number(record.after.bits(), to);
            versions(&record.reads, to);
            versions(&record.writes, to);
        }
    }
    for order in &log.installed {
        number(order.len() as u64, to);
        for of in order {
            version(*of, to);
        }
    }
    if log.detail == Detail::Full {
        number(log.events.len() as u64, to);
        for event in &log.events {
            let (kind, txn, site) = match *event {
                Event::Start(txn) => (0, txn, 0),
                Event::Commit(txn) => (1, txn, 0),
                Event::Abort(txn) => (2, txn, 0),
                Event::Applied(txn, site) => (3, txn, site.0),
            };
            to.extend_from_slice(&[kind, txn.0, site]);
        }
    }
    if let Some(error) = &log.error {
        number(error.len() as u64, to);
        to.extend_from_slice(error.as_bytes());
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        if length > self.rest.len() {
            return Err(serde::de::Error::custom("bytes cut short"));
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, CodecError> {
        self.take(1).map(|taken| taken[0])
    }

    #[inline]
    fn number(&mut self) -> Result<u64, CodecError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(number)
    }

    fn version(&mut self) -> Result<Version, CodecError> {
        match self.number()? {
            0 => Ok(Version::INITIAL),
            number => Ok(Version::new(number as u16, Site(self.byte()?))),
        }
    }

    fn versions(&mut self, to: &mut Vec<(Key, Version)>) -> Result<(), CodecError> {
        to.clear();
        for _ in 0..self.number()? {
            to.push((Key(self.byte()?), self.version()?));
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event, CodecError> {
        let (kind, txn, site) = (self.byte()?, Txn(self.byte()?), Site(self.byte()?));
        Ok(match kind {
            0 => Event::Start(txn),
            1 => Event::Commit(txn),
            2 => Event::Abort(txn),
            _ => Event::Applied(txn, site),
        })
    }
}

fn decode_log(reader: &mut Reader<'_>, log: &mut Log) -> Result<(), CodecError> {
    let flags = reader.byte()?;
    log.detail = match flags & 3 {
        0 => Detail::Untimed,
        1 => Detail::RealTime,
        _ => Detail::Full,
    };
    for record in &mut log.records {
        record.status = match reader.byte()? {
            0 => Status::Waiting,
            1 => Status::Running,
            2 => Status::Committed,
            _ => Status::Aborted,
        };
        if record.status == Status::Waiting {
            record.after = TxnSet::EMPTY;
            record.reads.clear();
            record.writes.clear();
        } else {
            record.after = TxnSet::from_bits(reader.number()?);
            reader.versions(&mut record.reads)?;
            reader.versions(&mut record.writes)?;
        }
    }
    for order in &mut log.installed {
        order.clear();
        for _ in 0..reader.number()? {
            order.push(reader.version()?);
        }
    }
    log.events.clear();
    if log.detail == Detail::Full {
        for _ in 0..reader.number()? {
            log.events.push(reader.event()?);
        }
    }
    log.error = None;
    if flags & 4 != 0 {
        let length = reader.number()? as usize;
        log.error = Some(String::from_utf8_lossy(reader.take(length)?).into_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Record;

    #[test]
    fn a_log_survives() {
        let v = |number, site| Version::new(number, Site(site));
        let sessions = vec![crate::setup::Session {
            site: Site(0),
            txns: vec![Vec::new(); 3],
        }];
        let placement = vec![vec![Site(0)], vec![Site(1)]];
        let setup = crate::setup::Setup::new(2, placement, sessions).unwrap();
        let mut log = Log::new(&setup, Detail::Full);
        log.records[1] = Record {
            status: Status::Committed,
            after: [Txn(0), Txn(2)].into_iter().collect(),
            reads: vec![(Key(0), Version::INITIAL), (Key(1), v(300, 1))],
            writes: vec![(Key(1), v(301, 0))],
        };
        log.installed = vec![vec![], vec![v(300, 1), v(301, 0)]];
        log.events = vec![
            Event::Start(Txn(1)),
            Event::Applied(Txn(1), Site(1)),
            Event::Commit(Txn(1)),
            Event::Abort(Txn(2)),
        ];
        log.error = Some("wrong".to_string());
        let mut bytes = Vec::new();
        encode_log(&log, &mut bytes);
        let mut decoded = Log::new(&setup, Detail::Untimed);
        decode_log(&mut Reader { rest: &bytes }, &mut decoded).unwrap();
        assert_eq!(decoded, log);
        for end in 0..bytes.len() {
            assert!(
                decode_log(
                    &mut Reader {
                        rest: &bytes[..end]
                    },
                    &mut decoded
                )
                .is_err()
            );
        }
        bytes.clear();
        encode_log(&Log::new(&setup, Detail::Full), &mut bytes);
        decode_log(&mut Reader { rest: &bytes }, &mut decoded).unwrap();
        assert_eq!(decoded, Log::new(&setup, Detail::Full));
    }
}
