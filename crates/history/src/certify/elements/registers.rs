//! A history with a register for each element of a set and for each transaction that increments a
//! counter, and where its operations are found.

use super::counters::Counter;
use crate::certify::Refusal;
use crate::{Builder, History, KeyId, KeyTable, Op, OpId, OpKind, Status, TxnId, Value, ValueCode};
use std::collections::{BTreeMap, HashMap, HashSet};

/// So many operations are re-checked at most.
const OPS_MAX: u64 = 1 << 26;

/// What a register is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Element {
    /// An element of a set.
    Value(ValueCode),
    /// The increments of a transaction.
    Of(TxnId),
}

/// What reads of counters are taken to have seen; a read that is not here is left out.
pub(super) type Sights = HashMap<OpId, Option<Vec<TxnId>>>;

/// Elements of sets.
pub(super) type Members = HashSet<(KeyId, ValueCode)>;

pub(super) struct Registers<'a> {
    pub(super) original: &'a History,
    pub(super) history: History,
    /// By operation of the original: where its operations begin, and how many they are.
    places: Vec<(u32, u32)>,
    by_element: HashMap<(KeyId, Element), KeyId>,
    /// The write of each register of a counter.
    increments: HashMap<KeyId, OpId>,
    /// Registers that somebody writes.
    written: HashSet<KeyId>,
    pub(super) present: ValueCode,
}

struct Making<'a> {
    original: &'a History,
    counters: &'a BTreeMap<KeyId, Counter>,
    builder: Builder,
    names: Vec<Value>,
    places: Vec<(u32, u32)>,
    by_element: HashMap<(KeyId, Element), KeyId>,
    /// The registers of a key that a read has to tell about, ascending.
    told: HashMap<KeyId, Vec<KeyId>>,
    increments: HashMap<KeyId, OpId>,
    written: HashSet<KeyId>,
    present: ValueCode,
}

impl<'a> Registers<'a> {
    /// Writes the history out. With `only`, the sets have no other elements.
    pub(super) fn make(
        original: &'a History,
        counters: &'a BTreeMap<KeyId, Counter>,
        sights: &Sights,
        only: Option<&Members>,
        present: &str,
    ) -> Result<Registers<'a>, Refusal> {
        let mut builder = Builder::new();
        let present = builder.value(&Value::from(present));
        let keys = (0..original.keys().limit() as u32).map(KeyId);
        let mut making = Making {
            original,
            counters,
            builder,
            names: keys.map(|key| original.key_name(key)).collect(),
            places: vec![(0, 0); original.op_count()],
            by_element: HashMap::new(),
            told: HashMap::new(),
            increments: HashMap::new(),
            written: HashSet::new(),
            present,
        };
        making.name_elements(only);
        making.name_increments();
        for txn in original.txn_ids() {
            making.add_txn(txn, sights)?;
        }
        let mut builder = making.builder;
        builder.keys = KeyTable::Named {
            names: making.names,
            ids: HashMap::new(),
        };
        Ok(Registers {
            original,
            history: builder.finish(),
            places: making.places,
            by_element: making.by_element,
            increments: making.increments,
            written: making.written,
            present,
        })
    }

    /// The operations that one of the original stands for.
    pub(super) fn ops(&self, op: OpId) -> impl DoubleEndedIterator<Item = OpId> + use<> {
        let (start, count) = self.places.get(op.index()).copied().unwrap_or((0, 0));
        (start..start + count).map(OpId)
    }

    pub(super) fn register(&self, key: KeyId, element: Element) -> Option<KeyId> {
        self.by_element.get(&(key, element)).copied()
    }

    /// The operation on a register that one of the original contains.
    pub(super) fn op_on(&self, op: OpId, register: KeyId) -> Option<OpId> {
        if op.index() >= self.original.op_count() {
            return None;
        }
        if self.original.op(op).kind == OpKind::Increment {
            return self.increments.get(&register).copied();
        }
        let mut ops = self.ops(op);
        ops.find(|&id| self.history.op(id).key == register)
    }

    pub(super) fn is_written(&self, register: KeyId) -> bool {
        self.written.contains(&register)
    }
}

impl Making<'_> {
    fn name(&mut self, key: KeyId, element: Element, text: &str) -> KeyId {
        let register = KeyId(self.names.len() as u32);
        let name = format!("{}∋{text}", self.original.key_name(key));
        self.names.push(Value::from(name.as_str()));
        self.by_element.insert((key, element), register);
        register
    }

    fn name_elements(&mut self, only: Option<&Members>) {
        let original = self.original;
        let mut elements: BTreeMap<(KeyId, Value), (ValueCode, bool)> = BTreeMap::new();
        let mut known: HashSet<(KeyId, ValueCode)> = HashSet::new();
        for txn in original.txn_ids() {
            let may_commit = original.status(txn) != Status::Aborted;
            for (_, op) in original.txn_ops(txn) {
                let shown = match op.kind {
                    OpKind::ReadSet => original.list(op.value),
                    OpKind::Add => std::slice::from_ref(&op.value),
                    _ => continue,
                };
                let is_meant = |code: &&ValueCode| {
                    only.is_none_or(|members| members.contains(&(op.key, **code)))
                };
                for &code in shown.iter().filter(is_meant) {
                    if op.kind == OpKind::Add || known.insert((op.key, code)) {
                        let entry = elements.entry((op.key, original.value(code)));
                        let entry = entry.or_insert((code, false));
                        entry.1 |= may_commit && op.kind == OpKind::Add;
                    }
                }
            }
        }
        for ((key, element), (code, may_be_there)) in elements {
            let register = self.name(key, Element::Value(code), &element.to_string());
            if may_be_there {
                self.told.entry(key).or_default().push(register);
            }
        }
    }

    fn name_increments(&mut self) {
        for (&key, counter) in self.counters {
            for &txn in counter.totals.keys() {
                let name = self.original.txn_name(txn);
                let register = self.name(key, Element::Of(txn), &name);
                self.told.entry(key).or_default().push(register);
            }
            self.name(key, Element::Of(TxnId::INITIAL), "?");
        }
    }

    fn add_txn(&mut self, txn: TxnId, sights: &Sights) -> Result<(), Refusal> {
        let original = self.original;
        let start = self.builder.ops.len();
        for (id, op) in original.txn_ops(txn) {
            let at = self.builder.ops.len();
            match op.kind {
                OpKind::Add => self.write(op.key, Element::Value(op.value)),
                OpKind::Increment => {
                    let register = self.by_element.get(&(op.key, Element::Of(txn)));
                    // One write is enough, and nobody reads in between.
                    if register.is_some_and(|register| !self.increments.contains_key(register)) {
                        self.increments.insert(
                            self.by_element[&(op.key, Element::Of(txn))],
                            OpId(at as u32),
                        );
                        self.write(op.key, Element::Of(txn));
                    }
                }
                OpKind::ReadSet if op.value == ValueCode::UNKNOWN => {}
                OpKind::ReadSet => {
                    let codes = original.list(op.value).iter();
                    let shown = codes.map(|&code| Element::Value(code)).collect();
                    self.read(op.key, shown, None);
                }
                OpKind::ReadCounter => match sights.get(&id) {
                    Some(Some(seen)) => {
                        let shown = seen.iter().map(|&other| Element::Of(other)).collect();
                        self.read(op.key, shown, Some(txn));
                    }
                    Some(None) => {
                        let nobody = self.by_element[&(op.key, Element::Of(TxnId::INITIAL))];
                        self.push(OpKind::Read, nobody, self.present);
                    }
                    None => {}
                },
                _ => self.copy(op),
            }
            let count = self.builder.ops.len() - at;
            self.places[id.index()] = (at as u32, count as u32);
            if self.builder.ops.len() as u64 > OPS_MAX {
                return Err(Refusal::new(
                    "reads of sets and counters times their elements are too many to re-check",
                ));
            }
        }
        let row = original.txn(txn);
        let session = self.builder.session(original.session_label(row.session));
        let interval = original.interval(txn);
        let ended = self
            .builder
            .end_txn(session, row.label, row.status, interval, start);
        ended.map_err(|error| Refusal::new(error.to_string()))
    }

    fn push(&mut self, kind: OpKind, key: KeyId, value: ValueCode) {
        self.builder.ops.push(Op { kind, key, value });
    }

    fn write(&mut self, key: KeyId, element: Element) {
        if let Some(&register) = self.by_element.get(&(key, element)) {
            self.written.insert(register);
            self.push(OpKind::Write, register, self.present);
        }
    }

    /// Reads what is shown, then what else there is to tell about, but for the reader's own.
    fn read(&mut self, key: KeyId, shown: Vec<Element>, reader: Option<TxnId>) {
        let own = reader.and_then(|txn| self.by_element.get(&(key, Element::Of(txn))).copied());
        let registers = shown.iter();
        let registers = registers.filter_map(|&element| self.by_element.get(&(key, element)));
        let mut shown: Vec<KeyId> = registers.copied().collect();
        shown.sort_unstable();
        shown.dedup();
        for &register in &shown {
            self.push(OpKind::Read, register, self.present);
        }
        let told = self.told.get(&key).cloned().unwrap_or_default();
        for register in told {
            if Some(register) != own && shown.binary_search(&register).is_err() {
                self.push(OpKind::Read, register, ValueCode::NIL);
            }
        }
    }

    /// A register or a list stays what it is.
    fn copy(&mut self, op: Op) {
        let is_known = op.value != ValueCode::NIL && op.value != ValueCode::UNKNOWN;
        let value = if !is_known {
            op.value
        } else if op.kind == OpKind::ReadList {
            let mut list = Vec::new();
            for &code in self.original.list(op.value) {
                list.push(self.builder.value(&self.original.value(code)));
            }
            self.builder.lists.push(&list)
        } else {
            self.builder.value(&self.original.value(op.value))
        };
        self.push(op.kind, op.key, value);
    }
}
