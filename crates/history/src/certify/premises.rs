//! What cycles rest on, and whether all of it can be avoided at once.
//!
//! A cycle exists only under its premises: that one version of a key is older than another, that
//! an ambiguous read returned the version of a certain writer, that an indeterminate transaction
//! committed. An interpretation in which the level holds has to break one premise of each cycle,
//! and also
//! - give every ambiguous read of a transaction that it takes a writer that it takes too;
//! - take everybody whose element is in a list that a transaction read that it takes;
//! - take no transaction with a read that nothing explains.
//!
//! These are clauses; the cycles prove the violation if `refute` shows that they cannot be
//! satisfied. What the clauses leave out (that version orders are transitive, say) would only add
//! to them, so leaving it out is safe; a cycle of ww edges says it where it matters.

use super::facts::Facts;
use super::newest::IdMap;
use super::read::{Seen, last_write, seen};
use super::refute::{Literal, Outcome, refute};
use super::{Refusal, name, require};
use crate::{KeyId, OpId, OpKind, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Something that a cycle takes to be so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Premise {
    /// The first one's version of the key is older than the second one's.
    Order {
        key: KeyId,
        first: TxnId,
        second: TxnId,
    },
    /// The read returned the version of this writer.
    ReadsFrom {
        reader: TxnId,
        read: OpId,
        writer: TxnId,
    },
    /// The transaction committed, though nothing says so for certain.
    Taken(TxnId),
}

const LITERALS_MAX: usize = 20_000_000;
/// How many literals may be looked at in choosing cases.
const STEPS_MAX: usize = 2_000_000_000;
/// Transactions with more operations are not looked into; this only loses clauses.
const OPS_EXPLAINED_MAX: usize = 10_000;

/// Clauses over premises.
pub(super) struct Clauses<'a> {
    facts: &'a Facts<'a>,
    numbers: HashMap<Premise, usize>,
    premises: Vec<Premise>,
    clauses: Vec<Vec<Literal>>,
    literal_count: usize,
    /// Reads whose possible writers are clauses already.
    explained: BTreeSet<OpId>,
    /// Indeterminate transactions that are mentioned and not looked into yet.
    open: Vec<TxnId>,
}

impl Clauses<'_> {
    pub(super) fn new<'a>(facts: &'a Facts<'a>) -> Clauses<'a> {
        Clauses {
            facts,
            numbers: HashMap::new(),
            premises: Vec::new(),
            clauses: Vec::new(),
            literal_count: 0,
            explained: BTreeSet::new(),
            open: Vec::new(),
        }
    }

    /// The literal of a premise: an order and its reverse are one variable.
    fn literal(&mut self, premise: Premise) -> Literal {
        let (premise, is_true) = match premise {
            Premise::Order { key, first, second } if second < first => {
                let (first, second) = (second, first);
                (Premise::Order { key, first, second }, false)
            }
            other => (other, true),
        };
        if let Some(&number) = self.numbers.get(&premise) {
            return Literal::new(number, is_true);
        }
        let number = self.premises.len();
        self.numbers.insert(premise, number);
        self.premises.push(premise);
        if let Premise::Taken(txn) = premise {
            self.open.push(txn);
        }
        Literal::new(number, is_true)
    }

    fn add(&mut self, clause: Vec<Literal>) {
        self.literal_count += clause.len() + 1;
        self.clauses.push(clause);
    }

    /// One of the premises is false.
    pub(super) fn forbid<'p>(&mut self, premises: impl IntoIterator<Item = &'p Premise>) {
        let clause = premises
            .into_iter()
            .map(|&premise| self.literal(premise).negated())
            .collect();
        self.add(clause);
    }

    /// Where all premises are true, so is the conclusion.
    pub(super) fn imply<'p>(
        &mut self,
        premises: impl IntoIterator<Item = &'p Premise>,
        conclusion: Premise,
    ) {
        let mut clause: Vec<Literal> = premises
            .into_iter()
            .map(|&premise| self.literal(premise).negated())
            .collect();
        clause.push(self.literal(conclusion));
        self.add(clause);
    }

    /// Not taken, for a transaction that need not have committed; nothing otherwise.
    fn not_taken(&mut self, txn: TxnId) -> Option<Literal> {
        let is_certain = txn == TxnId::INITIAL || self.facts.is_taken(txn);
        (!is_certain).then(|| self.literal(Premise::Taken(txn)).negated())
    }

    /// An external read has one of its possible writers, who committed, if the reader did.
    pub(super) fn explain_read(&mut self, reader: TxnId, read: OpId) -> Result<(), Refusal> {
        if !self.explained.insert(read) {
            return Ok(());
        }
        let version = self.facts.external(reader, read)?;
        let writers = self.facts.possible_writers(reader, read, version);
        let not_reader = self.not_taken(reader);
        let mut some: Vec<Literal> = not_reader.into_iter().collect();
        for &writer in &writers {
            let premise = Premise::ReadsFrom {
                reader,
                read,
                writer,
            };
            let reads_from = self.literal(premise);
            some.push(reads_from);
            if let Some(not_writer) = self.not_taken(writer) {
                let mut clause = vec![reads_from.negated(), not_writer.negated()];
                clause.extend(not_reader);
                self.add(clause);
            }
        }
        self.add(some);
        require!(
            self.literal_count <= LITERALS_MAX,
            "the cycles mention values with too many possible writers to re-check"
        );
        Ok(())
    }

    /// Adds what has to be true of the indeterminate transactions mentioned, and of those that
    /// this mentions in turn.
    fn explain_indeterminate(&mut self) -> Result<(), Refusal> {
        if self.open.is_empty() {
            return Ok(());
        }
        let readers = readers_of_indeterminate(self.facts);
        while let Some(txn) = self.open.pop() {
            self.explain_txn(txn)?;
            let history = self.facts.history;
            for (id, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
                let found = readers.get(&(op.key, op.value)).into_iter().flatten();
                for &(reader, read) in found {
                    if reader != txn && last_write(history, txn, op) == Some(id) {
                        self.explain_read(reader, read)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A transaction is taken only if all its reads are possible.
    fn explain_txn(&mut self, txn: TxnId) -> Result<(), Refusal> {
        let history = self.facts.history;
        if history.op_range(txn).len() > OPS_EXPLAINED_MAX {
            return Ok(());
        }
        let mut versions: BTreeMap<KeyId, ValueCode> = BTreeMap::new();
        for (id, op) in history.txn_ops(txn) {
            match seen(history, txn, id) {
                Some(Seen::External(version)) => {
                    if *versions.entry(op.key).or_insert(version) == version {
                        self.explain_read(txn, id)?;
                    } else {
                        self.forbid(&[Premise::Taken(txn)]);
                    }
                }
                Some(Seen::OwnOverwritten | Seen::NotOwn) => self.forbid(&[Premise::Taken(txn)]),
                Some(Seen::Own | Seen::Unknown) | None => {}
            }
            if op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN {
                self.explain_list(txn, op.key, history.list(op.value));
            }
        }
        Ok(())
    }

    /// A transaction is taken only with everybody whose elements its lists show.
    fn explain_list(&mut self, txn: TxnId, key: KeyId, list: &[ValueCode]) {
        for &element in list {
            if let Some(writer) = self.facts.one_append(key, element)
                && writer != txn
                && !self.facts.is_taken(writer)
            {
                self.imply(&[Premise::Taken(txn)], Premise::Taken(writer));
            }
        }
    }

    /// Refuses unless no interpretation is left.
    pub(super) fn check(mut self) -> Result<(), Refusal> {
        self.explain_indeterminate()?;
        let cases_max = (STEPS_MAX / self.literal_count.max(1)).clamp(100, 1_000_000);
        match refute(self.premises.len(), &self.clauses, cases_max) {
            Outcome::Refuted => Ok(()),
            Outcome::TooManyCases => Err(Refusal::new(format!(
                "it takes more than {cases_max} cases to see whether the cycles leave a version \
                 order"
            ))),
            Outcome::Satisfied(values) => Err(Refusal::new(format!(
                "no cycle is left if {}",
                self.words_of(&values)
            ))),
        }
    }

    /// The beginning of an assignment, in words.
    fn words_of(&self, values: &[bool]) -> String {
        const SHOWN_MAX: usize = 6;
        let history = self.facts.history;
        let words = |(&premise, &value): (&Premise, &bool)| match premise {
            Premise::Order { key, first, second } => {
                let (first, second) = if value {
                    (first, second)
                } else {
                    (second, first)
                };
                Some(format!(
                    "{} wrote {} before {}",
                    name(history, first),
                    history.key_name(key),
                    name(history, second)
                ))
            }
            Premise::ReadsFrom { read, writer, .. } => value.then(|| {
                let writer = name(history, writer);
                format!("{} reads from {writer}", history.op_text(read))
            }),
            Premise::Taken(txn) => {
                let not = if value { "" } else { "not " };
                Some(format!("{} did {not}commit", name(history, txn)))
            }
        };
        let all: Vec<String> = self.premises.iter().zip(values).filter_map(words).collect();
        let more = if all.len() > SHOWN_MAX {
            " and so on"
        } else {
            ""
        };
        let shown = &all[..all.len().min(SHOWN_MAX)];
        format!("{}{more}", shown.join(" and "))
    }
}

type Readers = IdMap<(KeyId, ValueCode), Vec<(TxnId, OpId)>>;

/// The external reads, by transactions that did not abort, of what indeterminate ones wrote last.
fn readers_of_indeterminate(facts: &Facts<'_>) -> Readers {
    let history = facts.history;
    let mut readers = Readers::default();
    let mut keys = vec![false; history.keys().limit()];
    let is_uncertain =
        |txn: &TxnId| history.status(*txn) == Status::Indeterminate && !facts.is_taken(*txn);
    for txn in history.txn_ids().filter(is_uncertain) {
        for (id, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
            if last_write(history, txn, op) == Some(id) {
                readers.entry((op.key, op.value)).or_default();
                keys[op.key.index()] = true;
            }
        }
    }
    let may_count = |txn: &TxnId| history.status(*txn) != Status::Aborted;
    for txn in history.txn_ids().filter(may_count) {
        for (id, op) in history.txn_ops(txn) {
            if op.kind.is_write() || !keys[op.key.index()] {
                continue;
            }
            if op.kind == OpKind::Read && !readers.contains_key(&(op.key, op.value)) {
                continue;
            }
            if let Some(Seen::External(version)) = seen(history, txn, id)
                && let Some(found) = readers.get_mut(&(op.key, version))
            {
                found.push((txn, id));
            }
        }
    }
    readers
}
