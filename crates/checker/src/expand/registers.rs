//! Sets and counters as registers, with a table back.
//!
//! Definition (docs/levels.md): x∋e is a register for each element e of a set x, initially absent;
//! an add of e writes it. A read of x is a read of every x∋e that somebody may have written: first
//! those it contains, then those it lacks, each in ascending order. For a counter, x∋t is one for
//! each transaction t that increments x; a read that is decoded (see `counters`) reads as a set
//! does, one that is impossible reads something that nobody wrote, and one that is unclear is left
//! out, which can only make a level hold that does not.
//!
//! An element that only aborted transactions added is read where it is shown, and not where it is
//! lacking: nobody can have written it. Registers and lists stay as they are. Transactions keep
//! their numbers.
//!
//! Cost: reads of a key times its elements.

use super::counters::{Counter, Sight};
use crate::Budget;
use crate::part::Part;
use history::{Builder, History, Initial, KeyId, KeyTable, Op, OpId, OpKind, Status, TxnId};
use history::{Value, ValueCode};
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// So many operations a history may have once it is expanded.
const OPS_MAX: u64 = 1 << 26;

/// The elements of the sets of a history.
#[derive(Default)]
struct Elements {
    /// The register of each element that was added or read.
    registers: FxHashMap<(KeyId, ValueCode), KeyId>,
    /// By set: the registers of elements added by a transaction that did not abort, ascending.
    live: FxHashMap<KeyId, Vec<KeyId>>,
}

/// What makes an expansion.
pub struct Source<'a> {
    pub history: &'a History,
    pub counters: &'a [(KeyId, Counter)],
    pub sights: &'a [Vec<Sight>],
    pub initial: &'a Initial,
}

/// Names registers so that no two have the same name.
struct Names {
    names: Vec<Value>,
    ids: HashMap<Value, u32>,
    /// The key of the original history that each register belongs to.
    origins: Vec<KeyId>,
}

impl Names {
    fn of(history: &History) -> Names {
        let mut names = Names {
            names: Vec::new(),
            ids: HashMap::new(),
            origins: Vec::new(),
        };
        for key in (0..history.keys().limit() as u32).map(KeyId) {
            names.add(history.key_name(key), key);
        }
        names
    }

    fn add(&mut self, mut name: Value, origin: KeyId) -> KeyId {
        let id = self.names.len() as u32;
        while self.ids.contains_key(&name) {
            name = Value::from(format!("{name}'").as_str());
        }
        self.ids.insert(name.clone(), id);
        self.names.push(name);
        self.origins.push(origin);
        KeyId(id)
    }
}

/// The registers of one history.
struct Expansion<'a> {
    source: &'a Source<'a>,
    elements: Elements,
    /// By counter and place of the transaction among those who increment it.
    of_counters: Vec<Vec<KeyId>>,
    /// For each counter a register that nobody writes.
    unwritten: Vec<KeyId>,
    /// The last increment of a transaction that counts, with its register.
    increments: FxHashMap<OpId, KeyId>,
    /// Reads of counters: the counter, and the place of the read in it.
    reads: FxHashMap<OpId, (usize, usize)>,
    present: ValueCode,
    builder: Builder,
    ops: Vec<OpId>,
}

/// The history with registers in place of sets and counters, or why there are too many.
pub fn expand(source: &Source<'_>, budget: &Budget<'_>) -> Result<Part, String> {
    let history = source.history;
    let mut names = Names::of(history);
    let elements = elements(history, &mut names);
    let cost = cost(source, &elements);
    if cost > OPS_MAX {
        return Err(format!(
            "reads of sets and counters times their elements make {cost} operations, more than \
             the {OPS_MAX} that are tried"
        ));
    }
    let mut builder = Builder::new();
    let names_present = match source.initial {
        Initial::Value(value) if *value == Value::from("present") => "there",
        _ => "present",
    };
    let present = builder.value(&Value::from(names_present));
    let mut expansion = Expansion {
        source,
        elements,
        of_counters: Vec::new(),
        unwritten: Vec::new(),
        increments: FxHashMap::default(),
        reads: FxHashMap::default(),
        present,
        builder,
        ops: Vec::with_capacity(cost as usize),
    };
    expansion.name_increments(&mut names);
    for txn in history.txn_ids() {
        expansion.add_txn(txn)?;
        if txn.0.is_multiple_of(4096) {
            budget.check("observe").map_err(|limit| limit.0)?;
        }
    }
    let mut builder = expansion.builder;
    builder.keys = KeyTable::Named {
        names: names.names,
        ids: names.ids,
    };
    let txns = history.txn_ids().collect();
    let ops = expansion.ops;
    Ok(Part::of_tables(builder.finish(), txns, ops, names.origins))
}

/// The elements of all sets, with registers in ascending order.
fn elements(history: &History, names: &mut Names) -> Elements {
    // Whether a transaction that did not abort added it.
    let mut found: FxHashMap<(KeyId, ValueCode), bool> = FxHashMap::default();
    for txn in history.txn_ids() {
        let may_commit = history.status(txn) != Status::Aborted;
        for (_, op) in history.txn_ops(txn) {
            if op.kind == OpKind::Add {
                *found.entry((op.key, op.value)).or_default() |= may_commit;
            } else if op.kind == OpKind::ReadSet {
                for &element in history.list(op.value) {
                    found.entry((op.key, element)).or_default();
                }
            }
        }
    }
    let mut sorted: Vec<(KeyId, Value, ValueCode, bool)> = found
        .into_iter()
        .map(|((key, code), live)| (key, history.value(code), code, live))
        .collect();
    sorted.sort_unstable();
    let mut elements = Elements::default();
    for (key, element, code, live) in sorted {
        let name = format!("{}∋{element}", history.key_name(key));
        let register = names.add(Value::from(name.as_str()), key);
        elements.registers.insert((key, code), register);
        if live {
            elements.live.entry(key).or_default().push(register);
        }
    }
    elements
}

/// How many operations the expansion has, about.
fn cost(source: &Source<'_>, elements: &Elements) -> u64 {
    let history = source.history;
    let ops = (0..history.op_count()).map(|index| history.op(OpId(index as u32)));
    let of_sets: u64 = ops
        .map(|op| match op.kind {
            OpKind::ReadSet => {
                let live = elements.live.get(&op.key).map_or(0, Vec::len);
                live.max(history.list(op.value).len()) as u64
            }
            _ => 1,
        })
        .sum();
    let of_counters = source.counters.iter().zip(source.sights);
    let of_counters = of_counters.map(|((_, counter), sights)| {
        let decoded = sights.iter().filter(|s| matches!(s, Sight::Decoded(_)));
        decoded.count() as u64 * counter.increments.len() as u64
    });
    of_sets + of_counters.sum::<u64>()
}

impl Expansion<'_> {
    fn name_increments(&mut self, names: &mut Names) {
        let history = self.source.history;
        for (at, (key, counter)) in self.source.counters.iter().enumerate() {
            let key_name = history.key_name(*key);
            let mut registers = Vec::new();
            for own in &counter.increments {
                let txn = history.txn_name(own.txn);
                let name = format!("{key_name}∋{}", txn);
                let register = names.add(Value::from(name.as_str()), *key);
                self.increments.insert(own.last, register);
                registers.push(register);
            }
            self.of_counters.push(registers);
            let name = format!("{key_name}∋?");
            let unwritten = names.add(Value::from(name.as_str()), *key);
            self.unwritten.push(unwritten);
            for (place, read) in counter.reads.iter().enumerate() {
                self.reads.insert(read.op, (at, place));
            }
        }
    }

    fn add_txn(&mut self, txn: TxnId) -> Result<(), String> {
        let history = self.source.history;
        let ops_start = self.builder.ops.len();
        for (id, op) in history.txn_ops(txn) {
            match op.kind {
                OpKind::Add => {
                    let register = self.elements.registers[&(op.key, op.value)];
                    self.push(id, OpKind::Write, register, self.present);
                }
                OpKind::ReadSet if op.value != ValueCode::UNKNOWN => self.read_set(id, op),
                OpKind::Increment => {
                    if let Some(&register) = self.increments.get(&id) {
                        self.push(id, OpKind::Write, register, self.present);
                    }
                }
                OpKind::ReadCounter => self.read_counter(id),
                OpKind::ReadSet => {}
                _ => {
                    let value = crate::part::copied_value(history, &mut self.builder, op);
                    self.push(id, op.kind, op.key, value);
                }
            }
        }
        let row = history.txn(txn);
        let session = self.builder.session(history.session_label(row.session));
        let interval = history.interval(txn);
        let ended = self
            .builder
            .end_txn(session, row.label, row.status, interval, ops_start);
        ended.map_err(|error| error.to_string())
    }

    fn push(&mut self, origin: OpId, kind: OpKind, key: KeyId, value: ValueCode) {
        self.builder.ops.push(Op { kind, key, value });
        self.ops.push(origin);
    }

    fn read_set(&mut self, id: OpId, op: Op) {
        let list = self.source.history.list(op.value);
        let registers = list
            .iter()
            .map(|&element| self.elements.registers[&(op.key, element)]);
        let mut shown: Vec<KeyId> = registers.collect();
        shown.sort_unstable();
        shown.dedup();
        let live = self.elements.live.remove(&op.key).unwrap_or_default();
        self.read_all(id, &shown, &live);
        self.elements.live.insert(op.key, live);
    }

    fn read_counter(&mut self, id: OpId) {
        let Some(&(counter, place)) = self.reads.get(&id) else {
            return;
        };
        let source = self.source;
        match &source.sights[counter][place] {
            Sight::Unclear => {}
            Sight::Impossible => {
                self.push(id, OpKind::Read, self.unwritten[counter], self.present);
            }
            Sight::Decoded(seen) => {
                let (_, table) = &source.counters[counter];
                let reader = table.reads[place].reader;
                let all = std::mem::take(&mut self.of_counters[counter]);
                let shown: Vec<KeyId> = seen.iter().map(|&at| all[at as usize]).collect();
                let others = table.increments.iter().zip(&all);
                let others = others.filter(|(own, _)| own.txn != reader);
                let others: Vec<KeyId> = others.map(|(_, &register)| register).collect();
                self.read_all(id, &shown, &others);
                self.of_counters[counter] = all;
            }
        }
    }

    /// Reads the registers shown, then those of `all` that are not; both ascend.
    fn read_all(&mut self, id: OpId, shown: &[KeyId], all: &[KeyId]) {
        for &register in shown {
            self.push(id, OpKind::Read, register, self.present);
        }
        let mut rest = shown;
        for &register in all {
            while rest.first().is_some_and(|&next| next < register) {
                rest = &rest[1..];
            }
            if rest.first() != Some(&register) {
                self.push(id, OpKind::Read, register, ValueCode::NIL);
            }
        }
    }
}
