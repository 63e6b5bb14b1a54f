//! Bank histories of Jepsen, in EDN or JSON: reads of all balances, and transfers.
//!
//! `{:f :read, :type :ok, :value {0 10, 1 20}}`; the values of transfers do not matter. Accounts
//! are named by their text, so that `0` in EDN is `"0"` in JSON.

use super::edn::{Atom, Flaw, Scan, Scanner};
use super::jepsen_event::{Event, Phase, Process, next_event};
use super::{Format, FormatError, Source, detect, store};

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
    let format = match format {
        Some(format) => format,
        None => detect(&[source])?,
    };
    let bytes = source.bytes;
    match format {
        Format::JepsenJson => read_text::<true>(bytes, notes).map_err(|flaw| flaw.in_text(bytes)),
        Format::JepsenStore => {
            let text = store::edn_text(bytes, notes)?;
            read_text::<false>(&text, notes).map_err(|flaw| flaw.in_text(&text))
        }
        _ => read_text::<false>(bytes, notes).map_err(|flaw| flaw.in_text(bytes)),
    }
}

fn read_text<const JSON: bool>(bytes: &[u8], notes: &mut Vec<String>) -> Scan<BankHistory> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let mut scanner = Scanner::<JSON>::at(bytes, start);
    let mut bank = BankHistory::default();
    let mut count = 0u64;
    loop {
        let event = match next_event(&mut scanner, count == 0) {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(bank),
            Err(flaw) if flaw.at_end => {
                notes.push(format!(
                    "the file ends in the middle of an operation; the {count} whole ones before \
                     it were read"
                ));
                return Ok(bank);
            }
            Err(flaw) => return Err(flaw),
        };
        take(&mut bank, bytes, &event, count, JSON)?;
        count += 1;
    }
}

fn take(
    bank: &mut BankHistory,
    bytes: &[u8],
    event: &Event<'_>,
    place: u64,
    json: bool,
) -> Scan<()> {
    if event.process == Process::Fault {
        return Ok(());
    }
    if event.f == b"transfer" && event.phase == Phase::Invoke {
        bank.transfer_count += 1;
    }
    if event.f != b"read" || event.phase != Phase::Ok {
        return Ok(());
    }
    let at = event.value.unwrap_or(event.at);
    let accounts = match json {
        _ if event.value.is_none() => Vec::new(),
        true => balances(&mut Scanner::<true>::at(bytes, at))?,
        false => balances(&mut Scanner::<false>::at(bytes, at))?,
    };
    bank.reads.push(Balances {
        index: event.index.unwrap_or(place),
        accounts,
    });
    Ok(())
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
