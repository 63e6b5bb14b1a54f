//! A logged-in connection that runs prepared statements.
//!
//! A request is one write: Parse where the statement is new here, Bind, Execute, and Sync, which makes
//! the server answer. Parameters are 64-bit integers in binary, results are texts.

use super::fate::{Phase, Report};
use super::login::{Login, parameter};
use super::wire::{Fields, Unsent, Wire, garbage, put_text, take_i32, take_text, told};
use crate::driver::{Error, Fate};
use std::io;
use std::time::Duration;

/// The type `int8` in PostgreSQL's catalog.
const INT8: u32 = 20;

/// A connection.
pub struct Link {
    wire: Wire,
    patience: Duration,
    /// The version that the server tells, "15.18 (Debian …)".
    pub version: String,
    /// Whether the server is a replica, from PostgreSQL 14 on; it tells when that changes.
    pub standby: Option<bool>,
    /// The process that serves us.
    pub pid: i32,
    /// Whether a transaction is under way, failed or not.
    pub in_transaction: bool,
    /// The columns of the last rows that a statement without parameters gave.
    pub columns: Vec<Described>,
    broken: bool,
    /// Whether an answer to the request under way said that a statement was parsed.
    parsed: bool,
}

/// What the last statement of a request did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// How many rows it changed, or gave.
    pub rows: u64,
    /// Whether the server said ROLLBACK, which it also says to a COMMIT of a failed transaction.
    pub rolled_back: bool,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Its type, as PostgreSQL's catalog numbers them.
    pub oid: i32,
}

/// What is done with each row.
pub type OnRow<'a> = &'a mut dyn FnMut(&mut Fields<'_>) -> io::Result<()>;

impl Link {
    /// Connects and waits until the server is ready.
    pub fn open(login: &Login, patience: Duration) -> Result<Link, Error> {
        let mut link = Link {
            wire: login.connect(patience)?,
            patience,
            version: String::new(),
            standby: None,
            pid: 0,
            in_transaction: false,
            columns: Vec::new(),
            broken: false,
            parsed: false,
        };
        let answered = link.answers(Phase::Connect, &mut |_| Ok(()));
        answered.map_err(|error| Error {
            message: format!("{}: {}", login.shown, error.message),
            ..error
        })?;
        Ok(link)
    }

    /// Runs a statement that is not prepared and takes no parameters.
    pub fn simple(&mut self, text: &str, on_row: OnRow<'_>) -> Result<Done, Error> {
        self.columns.clear();
        self.wire.put(b'Q', |out| put_text(out, text));
        self.exchange(Phase::Statement, on_row)
    }

    /// Adds the parsing of a statement to the request.
    pub fn put_parse(&mut self, name: &str, text: &str, parameter_count: usize) {
        self.parsed = false;
        self.wire.put(b'P', |out| {
            put_text(out, name);
            put_text(out, text);
            out.extend_from_slice(&(parameter_count as u16).to_be_bytes());
            for _ in 0..parameter_count {
                out.extend_from_slice(&INT8.to_be_bytes());
            }
        });
    }

    /// Adds the execution of a parsed statement to the request.
    pub fn put_execute(&mut self, name: &str, parameters: impl Iterator<Item = i64>) {
        self.wire.put(b'B', |out| {
            // The portal without a name.
            out.push(0);
            put_text(out, name);
            // One format, binary, for all parameters.
            out.extend_from_slice(&[0, 1, 0, 1]);
            let count_at = out.len();
            out.extend_from_slice(&[0, 0]);
            let mut count = 0u16;
            for value in parameters {
                out.extend_from_slice(&8u32.to_be_bytes());
                out.extend_from_slice(&value.to_be_bytes());
                count += 1;
            }
            out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
            // No format: all results are texts.
            out.extend_from_slice(&[0, 0]);
        });
        // The portal without a name, all rows.
        self.wire.put(b'E', |out| out.extend_from_slice(&[0; 5]));
    }

    /// Sends the request and takes the answers.
    pub fn finish(&mut self, phase: Phase, on_row: OnRow<'_>) -> Result<Done, Error> {
        self.wire.put(b'S', |_| {});
        self.exchange(phase, on_row)
    }

    /// Whether the last request's statement was parsed, even if it failed then.
    pub fn has_parsed(&self) -> bool {
        self.parsed
    }

    fn exchange(&mut self, phase: Phase, on_row: OnRow<'_>) -> Result<Done, Error> {
        if self.broken {
            return Err(Error::new(Fate::Lost, "the connection was lost before"));
        }
        if let Err(Unsent { partly, error }) = self.wire.send() {
            // What never left this machine commits nothing.
            let phase = if partly { phase } else { Phase::Statement };
            return Err(self.broke(error, phase));
        }
        self.answers(phase, on_row)
    }

    /// Takes answers until the server is ready for the next request.
    fn answers(&mut self, phase: Phase, on_row: OnRow<'_>) -> Result<Done, Error> {
        let mut done = Done::default();
        let mut committed = false;
        let mut failed: Option<Error> = None;
        loop {
            let (letter, body) = match self.wire.receive() {
                Ok(message) => message,
                // The word COMMIT is the server's promise, whatever comes after it.
                Err(_) if committed => {
                    self.broken = true;
                    return Ok(done);
                }
                Err(error) => return Err(self.broke_after(failed, error, phase)),
            };
            let taken = match letter {
                b'1' => {
                    self.parsed = true;
                    Ok(())
                }
                b'C' => {
                    let tag = body.strip_suffix(&[0]).unwrap_or(body);
                    committed = tag == b"COMMIT";
                    done = Done {
                        rows: last_number(tag),
                        rolled_back: tag == b"ROLLBACK",
                    };
                    Ok(())
                }
                b'D' => on_row(&mut Fields::new(body)),
                b'E' => {
                    let report = Report::parse(body);
                    self.broken |= report.ends_connection;
                    let error = report.error(phase);
                    if self.broken {
                        return Err(error);
                    }
                    failed = Some(error);
                    Ok(())
                }
                b'Z' => {
                    self.in_transaction = body != b"I";
                    return failed.map_or(Ok(done), Err);
                }
                b'S' => note_parameter(body, &mut self.version, &mut self.standby),
                b'K' => take_i32(&mut &body[..]).map(|pid| self.pid = pid),
                b'T' => described(body).map(|columns| self.columns = columns),
                // Bound; closed; empty; no data; notices, notifications; parameters; a newer version
                // of the protocol that we did not ask for.
                b'2' | b'3' | b'I' | b'n' | b'N' | b'A' | b't' | b'v' => Ok(()),
                _ => Err(garbage("an unexpected message")),
            };
            if let Err(error) = taken {
                return Err(self.broke(error, phase));
            }
        }
    }

    /// The connection ended after the server had said what failed.
    fn broke_after(&mut self, failed: Option<Error>, error: io::Error, phase: Phase) -> Error {
        match failed {
            Some(failed) if failed.fate == Fate::Aborted => {
                self.broken = true;
                Error {
                    fate: Fate::Lost,
                    ..failed
                }
            }
            Some(failed) => {
                self.broken = true;
                failed
            }
            None => self.broke(error, phase),
        }
    }

    fn broke(&mut self, error: io::Error, phase: Phase) -> Error {
        self.broken = true;
        let fate = match phase {
            Phase::Connect | Phase::Statement => Fate::Lost,
            Phase::Commit => Fate::Unknown,
        };
        Error::new(fate, told(&error, self.patience))
    }
}

impl Drop for Link {
    /// Says goodbye, so that the server need not find out.
    fn drop(&mut self) {
        if !self.broken {
            self.wire.put(b'X', |_| {});
            // Nobody waits for it any more.
            let _ = self.wire.send();
        }
    }
}

fn note_parameter(body: &[u8], version: &mut String, standby: &mut Option<bool>) -> io::Result<()> {
    let (name, value) = parameter(body)?;
    match name {
        b"server_version" => *version = String::from_utf8_lossy(value).into_owned(),
        b"in_hot_standby" => *standby = Some(value == b"on"),
        _ => {}
    }
    Ok(())
}

/// The columns in the body of a RowDescription message.
fn described(body: &[u8]) -> io::Result<Vec<Described>> {
    // Two bytes tell the number of columns; each ends with its type's length (2), modifier (4) and
    // format (2), and has its table (4) and number (2) before its type.
    let mut rest = body.get(2..).unwrap_or_default();
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let name = String::from_utf8_lossy(take_text(&mut rest)?).into_owned();
        let mut fixed = rest.get(6..18).unwrap_or_default();
        let oid = take_i32(&mut fixed)?;
        rest = &rest[18..];
        columns.push(Described { name, oid });
    }
    Ok(columns)
}

/// The number at the end of a tag such as `UPDATE 1` or `INSERT 0 1`.
fn last_number(tag: &[u8]) -> u64 {
    let digits = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    let text = std::str::from_utf8(digits).unwrap_or_default();
    text.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_ends_with_the_number_of_rows() {
        assert_eq!(last_number(b"UPDATE 12"), 12);
        assert_eq!(last_number(b"INSERT 0 1"), 1);
        assert_eq!(last_number(b"COMMIT"), 0);
        assert_eq!(last_number(b""), 0);
    }

    #[test]
    fn a_description_names_columns_and_types() {
        let mut body = vec![0, 2];
        for (name, oid) in [("id", 20u32), ("?column?", 1700)] {
            put_text(&mut body, name);
            body.extend_from_slice(&[0; 6]);
            body.extend_from_slice(&oid.to_be_bytes());
            body.extend_from_slice(&[0; 8]);
        }
        let found = described(&body).expect("two columns");
        let found: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.oid)).collect();
        assert_eq!(found, [("id", 20), ("?column?", 1700)]);
        for cut in 3..body.len() - 1 {
            let whole = described(&body[..cut]).is_ok_and(|columns| columns.len() == 1);
            assert_eq!(whole, cut == 23, "{cut}");
        }
    }
}
