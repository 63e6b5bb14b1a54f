//! Anomalies together: each one is re-checked, and those that assume a writer for an ambiguous
//! read have to leave no choice open.

use super::cycle::Scene;
use super::facts::Facts;
use super::read::txn_of;
use super::{Refusal, alternatives, name, require, single};
use crate::{Anomaly, History, Initial, KeyOrder, Level, OpId, Status, TxnId};
use std::collections::BTreeMap;

const COMBINATIONS_MAX: usize = 4096;

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
    let uncertain = assumed.values().filter(|&&writer| !facts.is_taken(writer));
    let with_assumed = facts.taken_with(uncertain.copied());
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

/// The possible writers of a read, whose transaction has to be taken as committed.
fn candidates(facts: &Facts<'_>, read: OpId) -> Result<Vec<TxnId>, Refusal> {
    let reader = txn_of(facts.history, read).filter(|&txn| facts.is_taken(txn));
    let Some(reader) = reader else {
        return Err(Refusal::new(format!(
            "a writer is assumed for operation number {}, which need not have committed",
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
/// one of the anomalies is there.
fn check_every_choice(facts: &Facts<'_>, anomalies: &[Anomaly]) -> Result<(), Refusal> {
    if anomalies.iter().any(|anomaly| anomaly.assuming.is_empty()) {
        return Ok(());
    }
    let mut reads: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
    for &(read, _) in anomalies.iter().flat_map(|anomaly| &anomaly.assuming) {
        reads.insert(read, candidates(facts, read)?);
    }
    let combinations = reads
        .values()
        .try_fold(1usize, |product, writers| {
            product.checked_mul(writers.len())
        })
        .filter(|&product| product <= COMBINATIONS_MAX);
    let Some(combinations) = combinations else {
        return Err(Refusal::new(
            "the anomalies assume too much to re-check every choice",
        ));
    };
    for combination in 0..combinations {
        let mut rest = combination;
        let mut choice: BTreeMap<OpId, TxnId> = BTreeMap::new();
        for (&read, writers) in &reads {
            choice.insert(read, writers[rest % writers.len()]);
            rest /= writers.len();
        }
        let agrees = |anomaly: &Anomaly| {
            let mut assuming = anomaly.assuming.iter();
            assuming.all(|(read, writer)| choice.get(read) == Some(writer))
        };
        require!(
            anomalies.iter().any(agrees),
            "no anomaly is left if {}",
            words_of(facts.history, &choice)
        );
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
