//! One Jepsen operation map: which fields it has, with the value left as a place in the text.

use super::edn::{Atom, Flaw, Scan, Scanner};

/// The `:type` of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The client asks.
    Invoke,
    /// It was done.
    Ok,
    /// It was not done.
    Fail,
    /// Nobody knows.
    Info,
}

/// The `:process` of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Process {
    /// The map names none.
    Missing,
    /// A client.
    Client(i64),
    /// The nemesis, or anything else that is not a number.
    Fault,
}

/// A map, with its value not yet looked at: the value of an invocation matters only if the
/// operation fails, so most are never parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    /// Where the map starts.
    pub at: usize,
    /// Its `:type`.
    pub phase: Phase,
    /// Its `:process`.
    pub process: Process,
    /// Its `:f` without the colon; empty if it has none.
    pub f: &'a [u8],
    /// Its `:time`.
    pub time: Option<i64>,
    /// Its `:index`.
    pub index: Option<u64>,
    /// Its `:isolde/label`: a number, or nil for a transaction without one.
    pub label: Option<Option<u64>>,
    /// Where its `:value` starts.
    pub value: Option<usize>,
}

/// Is asked to read a value, given the `:type` and `:f` that stand before it; false, with nothing
/// consumed, if it does not. Reading a value at once spares looking for its end first.
pub(crate) trait ValueReader<const JSON: bool> {
    /// See the trait.
    fn read(&mut self, scanner: &mut Scanner<'_, JSON>, phase: Option<Phase>, f: &[u8]) -> bool;
}

/// Reads no value.
pub(crate) struct Later;

impl<const JSON: bool> ValueReader<JSON> for Later {
    fn read(&mut self, _: &mut Scanner<'_, JSON>, _: Option<Phase>, _: &[u8]) -> bool {
        false
    }
}

/// Reads the map whose `{` was consumed at `at`.
#[inline]
fn scan_event<'a, const JSON: bool>(
    scanner: &mut Scanner<'a, JSON>,
    at: usize,
    values: &mut impl ValueReader<JSON>,
) -> Scan<Event<'a>> {
    let mut phase = None;
    let mut event = Event {
        at,
        phase: Phase::Info,
        process: Process::Missing,
        f: b"",
        time: None,
        index: None,
        label: None,
        value: None,
    };
    loop {
        // As Jepsen separates fields.
        if !JSON && let [b',', b' ', b':', ..] = &scanner.bytes[scanner.pos..] {
            scanner.pos += 2;
        } else if scanner.accept(b'}')? {
            break;
        }
        match field(scanner)? {
            Field::Type => phase = Some(scan_phase(scanner)?),
            Field::F => event.f = function(scanner)?,
            Field::Process => event.process = scan_process(scanner)?,
            Field::Time => event.time = integer(scanner, "time")?,
            // Jepsen gives operations outside of a history the index -1.
            Field::Index => {
                let index: Option<i128> = integer(scanner, "index")?;
                event.index = index.and_then(|index| index.try_into().ok());
            }
            Field::Label => event.label = Some(integer(scanner, "isolde/label")?),
            Field::Value => {
                event.value = Some(scanner.pos);
                if !values.read(scanner, phase, event.f) && (JSON || !scanner.skip_vectors()) {
                    scanner.skip()?;
                }
            }
            Field::Other => scanner.skip()?,
        }
    }
    match phase {
        Some(phase) => Ok(Event { phase, ..event }),
        None => Err(
            Flaw::new(at, "expected `:type` in an operation map, found none").hint(
                "an operation is {:type :invoke|:ok|:fail|:info, :process 0, :f :txn, :value …}",
            ),
        ),
    }
}

/// The fields of a map that mean something.
enum Field {
    Type,
    F,
    Process,
    Time,
    Index,
    Label,
    Value,
    Other,
}

/// Consumes a key, and what stands between it and its value. Nearly all keys of a file are written
/// the same way, so they are first compared as they would be written.
#[inline]
fn field<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<Field> {
    if !JSON && let Some((length, field)) = usual_field(&scanner.bytes[scanner.pos..]) {
        scanner.pos += length;
        return Ok(field);
    }
    let field = match map_key(scanner)? {
        b"type" => Field::Type,
        b"f" => Field::F,
        b"process" => Field::Process,
        b"time" => Field::Time,
        b"index" => Field::Index,
        b"isolde/label" => Field::Label,
        b"value" => Field::Value,
        _ => Field::Other,
    };
    scanner.colon()?;
    scanner.space()?;
    Ok(field)
}

/// A key as Jepsen writes it, with the beginning of the usual kind of value, and the length up to
/// that. Eight bytes are compared at once.
#[inline]
fn usual_field(rest: &[u8]) -> Option<(usize, Field)> {
    const TYPE: u64 = u64::from_le_bytes(*b":type :\0");
    const F: u64 = u64::from_le_bytes(*b":f :\0\0\0\0");
    const VALUE: u64 = u64::from_le_bytes(*b":value [");
    const PROCESS: u64 = u64::from_le_bytes(*b":process");
    const TIME: u64 = u64::from_le_bytes(*b":time \0\0");
    const INDEX: u64 = u64::from_le_bytes(*b":index \0");
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let begins = |bytes: u32| word & (u64::MAX >> (64 - 8 * bytes));
    let is_digit = |place: usize| rest.get(place).is_some_and(u8::is_ascii_digit);
    if begins(7) == TYPE {
        Some((6, Field::Type))
    } else if begins(4) == F {
        Some((3, Field::F))
    } else if word == VALUE {
        Some((7, Field::Value))
    } else if begins(6) == TIME && is_digit(6) {
        Some((6, Field::Time))
    } else if begins(7) == INDEX && is_digit(7) {
        Some((7, Field::Index))
    } else if word == PROCESS && rest.get(8) == Some(&b' ') && is_digit(9) {
        Some((9, Field::Process))
    } else {
        None
    }
}

/// The name of a key without its colon or quotes; empty for a key that is no name.
fn map_key<'a, const JSON: bool>(scanner: &mut Scanner<'a, JSON>) -> Scan<&'a [u8]> {
    match scanner.peek() {
        Some(b':') if !JSON => Ok(&scanner.token()[1..]),
        Some(b'"') => scanner.raw_string(),
        _ if JSON => Err(scanner.unexpected("a key in quotes or `}`")),
        _ => {
            scanner.skip()?;
            Ok(b"")
        }
    }
}

/// A keyword, symbol or string as a bare word.
pub(crate) fn word<'a, const JSON: bool>(scanner: &mut Scanner<'a, JSON>) -> Scan<&'a [u8]> {
    scanner.space()?;
    match scanner.peek() {
        Some(b'"') => scanner.raw_string(),
        Some(b':') if !JSON => Ok(&scanner.token()[1..]),
        Some(byte) if byte.is_ascii_alphabetic() => {
            let token = scanner.token();
            let nothing: &[u8] = if JSON { b"null" } else { b"nil" };
            Ok(if token == nothing { b"" } else { token })
        }
        _ => Err(scanner.unexpected("a keyword such as :txn")),
    }
}

/// The `:f` of a map: a word, or for what a nemesis does, anything at all.
#[inline]
fn function<'a, const JSON: bool>(scanner: &mut Scanner<'a, JSON>) -> Scan<&'a [u8]> {
    let start = scanner.pos;
    let rest = &scanner.bytes[start..];
    // Patterns, since a comparison of slices is a call.
    if !JSON && let [b':', b't', b'x', b'n', b',' | b' ' | b'}', ..] = rest {
        scanner.pos += 4;
        return Ok(&rest[1..4]);
    }
    match scanner.peek() {
        Some(byte) if byte == b'"' || byte == b':' || byte.is_ascii_alphabetic() => word(scanner),
        _ => {
            scanner.skip()?;
            Ok(&scanner.bytes[start..scanner.pos])
        }
    }
}

/// The next map of a file, looking through one enclosing vector if it is the first.
#[inline]
pub(crate) fn next_event<'a, const JSON: bool>(
    scanner: &mut Scanner<'a, JSON>,
    is_first: bool,
    values: &mut impl ValueReader<JSON>,
) -> Scan<Option<Event<'a>>> {
    scanner.space()?;
    let mut at = scanner.pos;
    match scanner.peek() {
        Some(b'[' | b'(') if is_first => {
            scanner.pos += 1;
            scanner.space()?;
            at = scanner.pos;
        }
        _ => {}
    }
    match scanner.peek() {
        None => return Ok(None),
        Some(b']' | b')') => {
            scanner.pos += 1;
            scanner.space()?;
            return match scanner.peek() {
                None => Ok(None),
                Some(_) => Err(scanner.unexpected("the end of the file after the operations")),
            };
        }
        Some(b'#') if !JSON => {
            scanner.token();
            scanner.space()?;
        }
        _ => {}
    }
    if !scanner.accept(b'{')? {
        let flaw = scanner.unexpected("an operation map `{`");
        return Err(flaw.hint("a Jepsen history is a sequence of maps, or one vector of them"));
    }
    scan_event(scanner, at, values).map(Some)
}

#[inline]
fn scan_phase<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<Phase> {
    let at = scanner.pos;
    // As Jepsen writes the two common ones.
    let rest = &scanner.bytes[at..];
    let known = match rest {
        [b':', b'o', b'k', b',' | b' ' | b'}', ..] if !JSON => Some((3, Phase::Ok)),
        [b':', b'i', b'n', b'v', b'o', b'k', b'e', b',', ..] if !JSON => Some((7, Phase::Invoke)),
        _ => None,
    };
    if let Some((length, phase)) = known {
        scanner.pos += length;
        return Ok(phase);
    }
    match word(scanner)? {
        b"invoke" => Ok(Phase::Invoke),
        b"ok" => Ok(Phase::Ok),
        b"fail" => Ok(Phase::Fail),
        b"info" => Ok(Phase::Info),
        other => Err(Flaw::new(
            at,
            format!(
                "expected :invoke, :ok, :fail or :info, found `{}`",
                String::from_utf8_lossy(other)
            ),
        )),
    }
}

#[inline]
fn scan_process<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<Process> {
    let start = scanner.pos;
    if let Some(number) = scanner.unsigned() {
        return Ok(Process::Client(number as i64));
    }
    Ok(match scanner.atom()? {
        Atom::Int(number) => match i64::try_from(number) {
            Ok(number) => Process::Client(number),
            Err(_) => return Err(Flaw::new(start, "a process number beyond 64 bits")),
        },
        Atom::Nil => Process::Missing,
        Atom::Text(_) => Process::Fault,
        Atom::List | Atom::Set | Atom::Map => {
            scanner.pos = start;
            scanner.skip()?;
            Process::Fault
        }
    })
}

#[inline]
fn integer<T: TryFrom<i128> + TryFrom<u64>, const JSON: bool>(
    scanner: &mut Scanner<'_, JSON>,
    name: &str,
) -> Scan<Option<T>> {
    let at = scanner.pos;
    if let Some(number) = scanner.unsigned()
        && let Ok(number) = T::try_from(number)
    {
        return Ok(Some(number));
    }
    scanner.pos = at;
    integer_slow(scanner, name)
}

#[cold]
fn integer_slow<T: TryFrom<i128>, const JSON: bool>(
    scanner: &mut Scanner<'_, JSON>,
    name: &str,
) -> Scan<Option<T>> {
    let at = scanner.pos;
    match scanner.atom()? {
        Atom::Nil => Ok(None),
        Atom::Int(number) => match T::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Flaw::new(
                at,
                format!("the :{name} {number} is out of range"),
            )),
        },
        _ => Err(Flaw::new(at, format!("expected an integer as :{name}"))),
    }
}
