//! Bank histories of Jepsen, in EDN or JSON: reads of all balances, and transfers.
//!
//! `{:f :read, :type :ok, :value {0 10, 1 20}}`; the values of transfers do not matter. Accounts
//! are named by their text, so that `0` in EDN is `"0"` in JSON.

use super::edn::{Atom, Flaw, Scan, Scanner};
use super::events::{Taker, each_event};
use super::jepsen_event::{Event, Phase, Process};
use super::{Format, FormatError, Source};

/// What one read returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balances {
    /// Its `:index`, or its place among all operations.
    pub index: u64,
    /// Accounts and their balances; nothing for nil.
    pub accounts: Vec<(Box<str>, Option<i128>)>,
}

/// The reads of a bank test that succeeded, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BankHistory {
    /// The reads.
    pub reads: Vec<Balances>,
    /// How many transfers were tried.
    pub transfer_count: u64,
}

/// Reads a bank history. What is to be said about the file is added to `notes`.
pub fn read(
    source: Source<'_>,
    format: Option<Format>,
    notes: &mut Vec<String>,
) -> Result<BankHistory, FormatError> {
    let mut bank = BankHistory::default();
    each_event(source, format, notes, &mut bank)?;
    Ok(bank)
}

impl Taker for BankHistory {
    fn take<const JSON: bool>(&mut self, bytes: &[u8], event: &Event<'_>, place: u64) -> Scan<()> {
        if event.process == Process::Fault {
            return Ok(());
        }
        if event.f == b"transfer" && event.phase == Phase::Invoke {
            self.transfer_count += 1;
        }
        if event.f != b"read" || event.phase != Phase::Ok {
            return Ok(());
        }
        let accounts = match event.value {
            None => Vec::new(),
            Some(at) => balances(&mut Scanner::<JSON>::at(bytes, at))?,
        };
        self.reads.push(Balances {
            index: event.index.unwrap_or(place),
            accounts,
        });
        Ok(())
    }
}

fn balances<const JSON: bool>(
    scanner: &mut Scanner<'_, JSON>,
) -> Scan<Vec<(Box<str>, Option<i128>)>> {
    let at = scanner.pos;
    match scanner.atom()? {
        Atom::Map => {}
        Atom::Nil => return Ok(Vec::new()),
        _ => {
            let problem = "expected a map of accounts to balances";
            return Err(Flaw::new(at, problem).hint("is this a bank history?"));
        }
    }
    let mut accounts = Vec::new();
    while !scanner.accept(b'}')? {
        let start = scanner.pos;
        scanner.skip()?;
        let name = scanner.text(start)?;
        scanner.colon()?;
        scanner.space()?;
        let at = scanner.pos;
        let balance = match scanner.atom()? {
            Atom::Int(number) => Some(number),
            Atom::Nil => None,
            _ => return Err(Flaw::new(at, "expected a balance, an integer or nil")),
        };
        accounts.push((name.trim_matches('"').into(), balance));
    }
    Ok(accounts)
}
