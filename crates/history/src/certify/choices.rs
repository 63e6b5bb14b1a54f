//! Anomalies together: each one is re-checked, and those that assume a writer for an ambiguous
//! read have to leave no choice open.

use super::cycle::Scene;
use super::facts::Facts;
use super::read::txn_of;
use super::{Refusal, alternatives, name, require, single};
use crate::{Anomaly, History, Initial, KeyOrder, Level, OpId, Status, TxnId};
use std::collections::{BTreeMap, HashSet};

/// So many choices of writers are looked at, partial ones among them.
const CHOICES_MAX: usize = 1 << 14;

pub(super) fn certify_anomalies(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    level: Level,
    anomalies: &[Anomaly],
) -> Result<(), Refusal> {
    require!(
        !anomalies.is_empty(),
        "a violation needs an anomaly as evidence"
    );
    let facts = Facts::gather(history, initial, keys, level, anomalies);
    for anomaly in anomalies {
        check_anomaly(&facts, level, anomaly)?;
    }
    check_every_choice(&facts, anomalies)
}

fn check_anomaly(facts: &Facts<'_>, level: Level, anomaly: &Anomaly) -> Result<(), Refusal> {
    let history = facts.history;
    require!(
        anomaly.count > 0,
        "{} is said to occur 0 times",
        anomaly.kind
    );
    for &txn in &anomaly.transactions {
        require!(
            txn.index() < history.txn_count() || txn == TxnId::INITIAL,
            "{} lists {} among its transactions",
            anomaly.kind,
            name(history, txn)
        );
    }
    let assumed = assumptions(facts, level, anomaly)?;
    let with_assumed = taken_with(facts, &assumed)?;
    let takes = |txn: TxnId| {
        if level == Level::ReadUncommitted {
            // Where reads of aborted data are legal, no read forces a transaction to have
            // committed.
            txn.index() < history.txn_count() && history.status(txn) == Status::Committed
        } else {
            facts.is_taken(txn) || with_assumed.contains(&txn)
        }
    };
    let writer = |reader: TxnId, read: OpId| match assumed.get(&read) {
        Some(&writer) => Ok(writer),
        None => only_writer(facts, reader, read),
    };
    if alternatives::is_alternative(level, anomaly) {
        return alternatives::check(facts, level, anomaly, &assumed);
    }
    if single::is_single(anomaly.kind) {
        require!(
            single::breaks(anomaly.kind, level),
            "{} does not break {level}",
            anomaly.kind
        );
        return single::check(facts, anomaly, &takes, &writer);
    }
    let scene = Scene {
        facts,
        level,
        takes: &takes,
        writer: &writer,
    };
    scene.check(anomaly)
}

/// The writers that an anomaly assumes; each has to be possible.
fn assumptions(
    facts: &Facts<'_>,
    level: Level,
    anomaly: &Anomaly,
) -> Result<BTreeMap<OpId, TxnId>, Refusal> {
    let mut assumed = BTreeMap::new();
    require!(
        anomaly.assuming.is_empty() || level != Level::ReadUncommitted,
        "at {level} nothing depends on who wrote what was read"
    );
    for &(read, writer) in &anomaly.assuming {
        let candidates = candidates(facts, read)?;
        require!(
            candidates.contains(&writer),
            "{} cannot have read from {}, as {} assumes",
            facts.history.op_text(read),
            name(facts.history, writer),
            anomaly.kind
        );
        require!(
            assumed.insert(read, writer).is_none(),
            "{} assumes two writers for {}",
            anomaly.kind,
            facts.history.op_text(read)
        );
    }
    Ok(assumed)
}

/// Who counts as committed with the writers assumed. A read of a transaction that need not have committed says nothing,
/// unless other reads are assumed to have read from it: each reader has to count because of others.
fn taken_with(
    facts: &Facts<'_>,
    assumed: &BTreeMap<OpId, TxnId>,
) -> Result<HashSet<TxnId>, Refusal> {
    let mut taken = HashSet::new();
    let mut open: Vec<(OpId, TxnId)> = assumed.iter().map(|(&read, &txn)| (read, txn)).collect();
    while !open.is_empty() {
        let counts = |&(read, _): &(OpId, TxnId)| {
            let reader = txn_of(facts.history, read);
            reader.is_some_and(|txn| facts.is_taken(txn) || taken.contains(&txn))
        };
        let (known, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(counts);
        if let (true, Some((read, _))) = (known.is_empty(), rest.first()) {
            return Err(Refusal::new(format!(
                "a writer is assumed for operation number {}, which need not have committed",
                read.0
            )));
        }
        let writers = known.into_iter().map(|(_, writer)| writer);
        taken.extend(facts.taken_with(writers.filter(|&txn| !facts.is_taken(txn))));
        open = rest;
    }
    Ok(taken)
}

/// The possible writers of a read.
fn candidates(facts: &Facts<'_>, read: OpId) -> Result<Vec<TxnId>, Refusal> {
    let Some(reader) = txn_of(facts.history, read) else {
        return Err(Refusal::new(format!(
            "a writer is assumed for operation number {}, which does not exist",
            read.0
        )));
    };
    let version = facts.external(reader, read)?;
    Ok(facts.possible_writers(reader, read, version))
}

/// The transaction that a read reads from in every interpretation.
pub(super) fn only_writer(facts: &Facts<'_>, reader: TxnId, read: OpId) -> Result<TxnId, Refusal> {
    let version = facts.external(reader, read)?;
    match facts.possible_writers(reader, read, version).as_slice() {
        [writer] => Ok(*writer),
        [] => Err(Refusal::new(format!(
            "{} of {} has no possible writer",
            facts.history.op_text(read),
            name(facts.history, reader)
        ))),
        _ => Err(Refusal::new(format!(
            "{} of {} has several possible writers",
            facts.history.op_text(read),
            name(facts.history, reader)
        ))),
    }
}

/// For every way to choose the writers of the reads that the anomalies assume something about,
/// one of the anomalies is there. Writers are chosen for one read after another, until an anomaly assumes nothing else.
fn check_every_choice(facts: &Facts<'_>, anomalies: &[Anomaly]) -> Result<(), Refusal> {
    let mut step_count = 0;
    let mut open: Vec<BTreeMap<OpId, TxnId>> = vec![BTreeMap::new()];
    while let Some(choice) = open.pop() {
        step_count += 1;
        require!(
            step_count <= CHOICES_MAX,
            "the anomalies assume too much to re-check every choice"
        );
        let mut unchosen: BTreeMap<OpId, usize> = BTreeMap::new();
        let mut is_covered = false;
        for anomaly in anomalies {
            let fits = |(read, writer): &(OpId, TxnId)| {
                choice.get(read).is_none_or(|chosen| chosen == writer)
            };
            if anomaly.assuming.iter().all(fits) {
                let rest = anomaly.assuming.iter().map(|&(read, _)| read);
                let rest: Vec<OpId> = rest.filter(|read| !choice.contains_key(read)).collect();
                is_covered |= rest.is_empty();
                rest.into_iter()
                    .for_each(|read| *unchosen.entry(read).or_default() += 1);
            }
        }
        if is_covered {
            continue;
        }
        // What most of them assume something about splits them best.
        let Some((&read, _)) = unchosen.iter().max_by_key(|&(_, count)| count) else {
            return Err(Refusal::new(format!(
                "no anomaly is left if {}",
                words_of(facts.history, &choice)
            )));
        };
        open.extend(candidates(facts, read)?.into_iter().map(|writer| {
            let mut next = choice.clone();
            next.insert(read, writer);
            next
        }));
    }
    Ok(())
}

fn words_of(history: &History, choice: &BTreeMap<OpId, TxnId>) -> String {
    let words: Vec<String> = choice
        .iter()
        .map(|(&read, &writer)| {
            format!(
                "{} reads from {}",
                history.op_text(read),
                name(history, writer)
            )
        })
        .collect();
    words.join(" and ")
}
