//! The `:value` of a Jepsen operation, as operations on keys.
//!
//! A value is either a vector of micro-operations (`[[:append 1 2] [:r 1 [2]]]`) or belongs to a
//! plain operation on the one object the test has (`:f :add, :value 3`). What a key is (register,
//! list, set, counter) is known only at the end: a read of nil looks the same on all of them.

use super::codes::Codes;
use super::edn::{Atom, Flaw, Scan, Scanner};
use super::jepsen_event::{Event, word};
use super::list_text;
use crate::{Builder, KeyId, Op, OpKind, ValueCode};

/// Whether reads in a value are results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Certainty {
    /// The value of an `:ok`: nil was read.
    Observed,
    /// The value of anything else: nil says that nothing is known.
    Attempted,
}

impl Certainty {
    fn nil(self) -> ValueCode {
        match self {
            Certainty::Observed => ValueCode::NIL,
            Certainty::Attempted => ValueCode::UNKNOWN,
        }
    }
}

/// The key of plain operations until [`Values::settle`] names it; no value has this code.
const THE_OBJECT: KeyId = KeyId(ValueCode::UNKNOWN.0);

/// Keys and values met so far.
#[derive(Default)]
pub(crate) struct Values {
    /// Key names.
    pub keys: Codes,
    /// Values.
    pub values: Codes,
    /// Whether the operation just read is none on data, such as one that creates a table.
    pub is_strange: bool,
    /// The first such operation, as an error in case there is no other kind.
    pub first_strange: Option<Box<Flaw>>,
    elements: Vec<ValueCode>,
    /// Whether nobody has looked whether the brackets of the value match.
    is_unchecked: bool,
    has_plain: bool,
    /// Whether plain operations are on one of several objects: `[key value]`.
    is_independent: bool,
}

impl Values {
    /// Pushes the operations of one map whose value starts at the scanner (if it has one).
    pub fn operation<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        event: &Event<'_>,
        has_value: bool,
        how: Certainty,
    ) -> Scan<()> {
        if !has_value {
            return match event.f {
                b"" | b"txn" => Ok(()),
                b"read" => {
                    self.has_plain = true;
                    push(builder, OpKind::Read, THE_OBJECT, ValueCode::UNKNOWN);
                    Ok(())
                }
                b"transfer" => Err(bank(event.at)),
                b"write" | b"cas" | b"add" => Err(Flaw::new(
                    event.at,
                    "expected a `:value` in this operation, found none",
                )),
                _ => {
                    self.strange(event);
                    Ok(())
                }
            };
        }
        if is_micro(scanner) || matches!(event.f, b"" | b"txn") {
            return self.micro_ops(builder, scanner, how);
        }
        self.plain(builder, scanner, event, how)
    }

    /// The same for a transaction whose brackets nobody has looked at: those of this value are square
    /// and match, or it is an error.
    #[inline]
    pub fn unchecked_txn<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
    ) -> Scan<()> {
        self.is_unchecked = true;
        let result = self.micro_ops(builder, scanner, Certainty::Observed);
        self.is_unchecked = false;
        result
    }

    /// Consumes an opening bracket.
    #[inline]
    fn open<const JSON: bool>(&self, scanner: &mut Scanner<'_, JSON>) -> Scan<bool> {
        if !self.is_unchecked {
            return open_bracket(scanner);
        }
        scanner.accept(b'[')
    }

    /// Consumes a closing bracket.
    #[inline]
    fn close<const JSON: bool>(&self, scanner: &mut Scanner<'_, JSON>, of_set: bool) -> Scan<bool> {
        if !self.is_unchecked {
            return close_bracket(scanner);
        }
        scanner.accept(if of_set { b'}' } else { b']' })
    }

    fn micro_ops<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        how: Certainty,
    ) -> Scan<()> {
        if !self.open(scanner)? {
            let nil: &[u8] = if JSON { b"null" } else { b"nil" };
            if scanner.bytes[scanner.pos..].starts_with(nil) {
                return Ok(());
            }
            return Err(scanner
                .unexpected("a vector of micro-operations")
                .hint("the :value of a transaction is like [[:append 1 2] [:r 3 nil]]"));
        }
        let mut is_first = true;
        loop {
            // As Jepsen separates them.
            if !JSON && let [b' ', b'[', ..] = &scanner.bytes[scanner.pos..] {
                scanner.pos += 2;
                self.micro_op(builder, scanner, None, how)?;
            } else if self.close(scanner, false)? {
                return Ok(());
            } else if self.open(scanner)? {
                self.micro_op(builder, scanner, None, how)?;
            } else if is_first {
                return self.independent_txn(builder, scanner, how);
            } else {
                return Err(scanner.unexpected("a micro-operation `[` or `]`"));
            }
            is_first = false;
        }
    }

    /// A transaction on one of several independent sets of keys, `[key [micro …]]`, of which the
    /// first bracket was read. Its keys are named `[key name]`.
    #[cold]
    fn independent_txn<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        how: Certainty,
    ) -> Scan<()> {
        let start = scanner.pos;
        let one_of_two = |scanner: &Scanner<'_, JSON>| {
            scanner
                .unexpected("a vector of micro-operations")
                .hint("the :value of a transaction is like [[:append 1 2] [:r 3 nil]]")
        };
        if !matches!(scanner.atom()?, Atom::Int(_) | Atom::Text(_)) {
            scanner.pos = start;
            return Err(one_of_two(scanner));
        }
        let object = scanner.text(start)?;
        if self.open(scanner)? {
            while !self.close(scanner, false)? {
                if !self.open(scanner)? {
                    return Err(scanner.unexpected("a micro-operation `[` or `]`"));
                }
                self.micro_op(builder, scanner, Some(&object), how)?;
            }
        } else if scanner.atom()? != Atom::Nil {
            return Err(one_of_two(scanner));
        }
        match self.close(scanner, false)? {
            true => Ok(()),
            false => Err(scanner.unexpected("`]` after a key and its micro-operations")),
        }
    }

    /// The key of a micro-operation, within the object if there are several.
    #[inline(always)]
    fn key<const JSON: bool>(
        &mut self,
        scanner: &mut Scanner<'_, JSON>,
        object: Option<&str>,
    ) -> Scan<KeyId> {
        let Some(object) = object else {
            return Ok(KeyId(self.keys.scan(scanner)?.0));
        };
        scanner.space()?;
        let start = scanner.pos;
        scanner.skip()?;
        let name = format!("[{object} {}]", scanner.text(start)?);
        Ok(KeyId(self.keys.text(&name).0))
    }

    #[inline(always)] // Twice: the caller without an object pays nothing for the one that has one.
    fn micro_op<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        object: Option<&str>,
        how: Certainty,
    ) -> Scan<()> {
        let kind = micro_kind(scanner)?;
        let key = self.key(scanner, object)?;
        let (kind, value) = if kind == OpKind::Read {
            self.read_result(builder, scanner, key, how)?
        } else {
            (kind, self.values.scan(scanner)?)
        };
        push(builder, kind, key, value);
        if !self.close(scanner, false)? {
            return Err(scanner.unexpected("`]` after a micro-operation"));
        }
        Ok(())
    }

    /// What a read returned: a list, a set, or a value of its own.
    #[inline]
    fn read_result<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        key: KeyId,
        how: Certainty,
    ) -> Scan<(OpKind, ValueCode)> {
        scanner.space()?;
        let kind = match scanner.peek() {
            Some(b']' | b')') => return Ok((OpKind::Read, ValueCode::UNKNOWN)),
            Some(b'[' | b'(') => {
                if !self.open(scanner)? {
                    return Err(scanner.unexpected("a list in square brackets"));
                }
                let known = list_text::read(scanner, builder, key.0, &mut self.elements);
                if let Some(list) = known {
                    return Ok((OpKind::ReadList, list));
                }
                OpKind::ReadList
            }
            Some(b'#') if scanner.bytes[scanner.pos..].starts_with(b"#{") => {
                scanner.pos += 2;
                OpKind::ReadSet
            }
            _ => {
                let value = self.values.scan(scanner)?;
                let nothing = value == ValueCode::NIL;
                return Ok((OpKind::Read, if nothing { how.nil() } else { value }));
            }
        };
        self.elements.clear();
        while !self.close(scanner, kind == OpKind::ReadSet)? {
            let element = self.values.scan(scanner)?;
            self.elements.push(element);
        }
        let list = match self.elements.is_empty() {
            true => ValueCode::NIL,
            false if kind == OpKind::ReadList => builder.push_list(key, &self.elements),
            false => builder.lists.push(&self.elements),
        };
        Ok((kind, list))
    }

    /// A plain operation on the one object of the test.
    fn plain<const JSON: bool>(
        &mut self,
        builder: &mut Builder,
        scanner: &mut Scanner<'_, JSON>,
        event: &Event<'_>,
        how: Certainty,
    ) -> Scan<()> {
        if !matches!(event.f, b"read" | b"write" | b"add" | b"cas" | b"transfer") {
            self.strange(event);
            return Ok(());
        }
        let mut key = THE_OBJECT;
        let is_tuple = event.f != b"add" && self.is_tuple(scanner, event);
        if is_tuple && open_bracket(scanner)? {
            key = KeyId(self.keys.scan(scanner)?.0);
            scanner.space()?;
        } else {
            self.has_plain = true;
        }
        let (kind, value) = match event.f {
            b"read" if scanner.peek() == Some(b'{') => return Err(bank(scanner.pos)),
            b"read" => self.read_result(builder, scanner, THE_OBJECT, how)?,
            b"write" => (OpKind::Write, self.values.scan(scanner)?),
            b"add" => (OpKind::Add, self.values.scan(scanner)?),
            b"cas" if open_bracket(scanner)? => {
                let old = self.values.scan(scanner)?;
                let observed = how == Certainty::Observed;
                let old = if observed { old } else { ValueCode::UNKNOWN };
                push(builder, OpKind::Read, key, old);
                (OpKind::Write, self.values.scan(scanner)?)
            }
            b"cas" => return Err(scanner.unexpected("the old and the new value of a :cas")),
            _ => return Err(bank(event.at)),
        };
        push(builder, kind, key, value);
        Ok(())
    }

    /// Takes note of an operation that is none on data.
    #[cold]
    fn strange(&mut self, event: &Event<'_>) {
        self.is_strange = true;
        if self.first_strange.is_none() {
            let name = String::from_utf8_lossy(event.f);
            let problem = format!("operations of `:f :{name}` are not known");
            let known = "known are :txn with micro-operations, and :read, :write, :cas, :add";
            self.first_strange = Some(Flaw::new(event.at, problem).hint(known));
        }
    }

    /// Takes note of what a read was asked for: `[key nil]` is one of several registers.
    pub fn note_asked<const JSON: bool>(&mut self, scanner: &mut Scanner<'_, JSON>) {
        if self.is_independent {
            return;
        }
        let nil: &[u8] = if JSON { b"null" } else { b"nil" };
        let second = second_of_two(scanner);
        self.is_independent = second.is_some_and(|second| second == nil);
    }

    /// Whether the value of a plain operation is a key and the value proper.
    fn is_tuple<const JSON: bool>(&self, scanner: &Scanner<'_, JSON>, event: &Event<'_>) -> bool {
        let second = second_of_two(&mut Scanner::<JSON>::at(scanner.bytes, scanner.pos));
        match event.f {
            b"write" => second.is_some(),
            b"cas" => second.is_some_and(|second| matches!(second[0], b'[' | b'(')),
            _ => self.is_independent && second.is_some(),
        }
    }

    /// Decides what the object of the plain operations is, by what its reads returned.
    pub fn settle(&mut self, builder: &mut Builder) -> Scan<()> {
        if !self.has_plain {
            return Ok(());
        }
        let ops = &mut builder.ops;
        let plain = || (0..ops.len()).filter(|&i| ops.keys[i] == THE_OBJECT);
        let is_number =
            |code: ValueCode| !matches!(self.values.table.value(code), crate::Value::Text(_));
        let adds = plain().any(|i| ops.kinds[i] == OpKind::Add);
        let collections = plain().any(|i| ops.kinds[i].reads_list());
        let texts = plain().any(|i| ops.kinds[i] == OpKind::Add && !is_number(ops.values[i]));
        let (name, write, read) = if collections || texts {
            ("set", OpKind::Add, OpKind::ReadSet)
        } else if adds {
            ("counter", OpKind::Increment, OpKind::ReadCounter)
        } else {
            ("register", OpKind::Write, OpKind::Read)
        };
        let places: Vec<usize> = plain().collect();
        let key = KeyId(self.keys.text(name).0);
        for i in places {
            ops.keys[i] = key;
            let unknown = [ValueCode::NIL, ValueCode::UNKNOWN].contains(&ops.values[i]);
            ops.kinds[i] = match ops.kinds[i] {
                OpKind::Add => write,
                // A "comments" test adds by :write and reads the set of all.
                OpKind::Write if name == "set" => write,
                OpKind::ReadList => read,
                OpKind::Read if name != "set" || unknown => read,
                kind => kind,
            };
        }
        Ok(())
    }

    /// Gives reads their kind by what else happens to their key.
    pub fn settle_kinds(&self, builder: &mut Builder) {
        let mut uses = vec![KeyUse::default(); builder.keys.limit()];
        let ops = &mut builder.ops;
        for (kind, key) in ops.kinds.iter().zip(&ops.keys) {
            uses[key.index()].note(*kind);
        }
        for i in 0..ops.len() {
            if !ops.kinds[i].is_write() {
                ops.kinds[i] = uses[ops.keys[i].index()].settle(ops.kinds[i], ops.values[i]);
            }
        }
    }
}

/// How a key is used anywhere in a history.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeyUse(u8);

impl KeyUse {
    const APPEND: u8 = 1;
    const LIST: u8 = 2;
    const SET: u8 = 4;
    const COUNTER: u8 = 8;

    /// Takes note of an operation on the key, as the file shows it.
    #[inline]
    pub fn note(&mut self, shown: OpKind) {
        self.0 |= match shown {
            OpKind::Append => Self::APPEND,
            OpKind::ReadList => Self::LIST,
            OpKind::Add | OpKind::ReadSet => Self::SET,
            OpKind::Increment | OpKind::ReadCounter => Self::COUNTER,
            OpKind::Read | OpKind::Write => 0,
        };
    }

    /// The kind of a read that the file shows as `shown`.
    #[inline]
    pub fn settle(self, shown: OpKind, value: ValueCode) -> OpKind {
        let set = self.0 & Self::SET != 0 && self.0 & Self::APPEND == 0;
        let list = self.0 & (Self::APPEND | Self::LIST) != 0 && !set;
        let empty = value == ValueCode::NIL || value == ValueCode::UNKNOWN;
        match shown {
            OpKind::ReadList if set => OpKind::ReadSet,
            OpKind::Read if self.0 & Self::COUNTER != 0 => OpKind::ReadCounter,
            OpKind::Read if empty && list => OpKind::ReadList,
            OpKind::Read if empty && set => OpKind::ReadSet,
            kind => kind,
        }
    }
}

/// What a micro-operation does. The two of list tests are first compared as they are mostly written.
#[inline]
fn micro_kind<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<OpKind> {
    // As Jepsen writes the two common ones. Patterns, since a comparison of slices is a call.
    let known = match &scanner.bytes[scanner.pos..] {
        [b':', b'r', b' ', ..] if !JSON => Some((3, OpKind::Read)),
        [b':', b'a', b'p', b'p', b'e', b'n', b'd', b' ', ..] if !JSON => Some((8, OpKind::Append)),
        _ => None,
    };
    if let Some((length, kind)) = known {
        scanner.pos += length;
        return Ok(kind);
    }
    scanner.space()?;
    let at = scanner.pos;
    Ok(match word(scanner)? {
        b"r" | b"read" => OpKind::Read,
        b"append" => OpKind::Append,
        b"w" | b"write" => OpKind::Write,
        b"add" => OpKind::Add,
        b"inc" | b"increment" => OpKind::Increment,
        other => {
            let other = String::from_utf8_lossy(other);
            return Err(Flaw::new(at, format!("unknown micro-operation `{other}`"))
                .hint("known are :r, :w, :append, :add and :inc"));
        }
    })
}

fn push(builder: &mut Builder, kind: OpKind, key: KeyId, value: ValueCode) {
    builder.ops.push(Op { kind, key, value });
}

#[cold]
fn bank(at: usize) -> Box<Flaw> {
    Flaw::new(at, "this is a bank history (balances and :transfer)").hint(
        "no isolation level is defined on balances: `isolde elle-cli --model bank` checks them, or \
         record the reads and writes of each account",
    )
}

/// The text of the second element of a vector of two.
fn second_of_two<'a, const JSON: bool>(scanner: &mut Scanner<'a, JSON>) -> Option<&'a [u8]> {
    if !open_bracket(scanner).ok()? {
        return None;
    }
    scanner.skip().ok()?;
    scanner.space().ok()?;
    let start = scanner.pos;
    scanner.skip().ok()?;
    let second = &scanner.bytes[start..scanner.pos];
    (close_bracket(scanner).ok()? && !second.is_empty()).then_some(second)
}

/// Whether the value at the scanner is a vector of micro-operations: `[[:r …` or `[["r", …`.
fn is_micro<const JSON: bool>(scanner: &Scanner<'_, JSON>) -> bool {
    let mut ahead = Scanner::<JSON>::at(scanner.bytes, scanner.pos);
    let mut brackets = || Some(open_bracket(&mut ahead).ok()? && open_bracket(&mut ahead).ok()?);
    brackets() == Some(true)
        && word(&mut ahead).is_ok_and(|tag| {
            matches!(
                tag,
                b"r" | b"w" | b"append" | b"add" | b"inc" | b"read" | b"write"
            )
        })
}

#[inline]
fn open_bracket<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<bool> {
    scanner.space()?;
    let found = matches!(scanner.peek(), Some(b'[' | b'('));
    scanner.pos += usize::from(found);
    Ok(found)
}

#[inline]
fn close_bracket<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<bool> {
    scanner.space()?;
    let found = matches!(scanner.peek(), Some(b']' | b')' | b'}'));
    scanner.pos += usize::from(found);
    Ok(found)
}
