//! Histories with sets and counters: as registers for the engines, and evidence back again.
//!
//! Steps: find out what reads of counters saw (`counters`); make a register of every element and
//! of every transaction's increments (`registers`); answer the levels on that history; turn
//! operations and keys of the evidence back (`whole`). A read of a counter that several sets of
//! increments explain takes no part in this: it can still be too small or too large for a level
//! (`bounds`), which is a violation, and a level that holds without such reads holds only if an
//! order explains them too (`replay`), which is left to [`history::certify`] to say. Where the ways
//! to explain such reads are few, all are tried (`choices`).
//!
//! Cost: that of the engines on a history with an operation for each element of each read.

mod bounds;
mod choices;
mod counters;
mod registers;
mod replay;
mod retrace;
mod whole;

use crate::{Checked, Options};
use counters::{Counter, Sight};
use history::{Anomaly, History, KeyId, KeyOrder, Level, LevelResult, OpKind, TxnId, Verdict};
use history::{CommitOrder, OpId};
use std::time::Instant;

/// How histories of registers and lists are checked.
pub type Check = fn(&History, &[Level], &Options<'_>) -> Vec<Checked>;

/// Whether a history has sets or counters.
pub fn is_needed(history: &History) -> bool {
    let kinds = &history.ops().kinds;
    kinds.iter().any(|&kind| datatype(kind) >= 2)
}

fn datatype(kind: OpKind) -> u8 {
    match kind {
        OpKind::Read | OpKind::Write => 0,
        OpKind::Append | OpKind::ReadList => 1,
        OpKind::Add | OpKind::ReadSet => 2,
        OpKind::Increment | OpKind::ReadCounter => 3,
    }
}

/// A history with sets or counters, as one without.
struct Expanded<'a> {
    history: &'a History,
    options: &'a Options<'a>,
    keys: Vec<(KeyId, Counter)>,
    sights: Vec<Vec<Sight>>,
    part: crate::part::Part,
}

/// Answers every level asked about, in that order.
pub fn check(
    history: &History,
    levels: &[Level],
    options: &Options<'_>,
    check: Check,
) -> Vec<Checked> {
    let started = Instant::now();
    (options.budget.progress)("expanding");
    let answer = |reason: String| {
        let answers = crate::all_unknown(levels, &reason, started);
        answers.iter().for_each(|answer| (options.answered)(answer));
        answers
    };
    let expanded = match Expanded::of(history, options) {
        Ok(expanded) => expanded,
        Err(reason) => return answer(reason),
    };
    if !expanded.is_unclear() {
        let answered = |checked: &Checked| (options.answered)(&expanded.whole(checked));
        let inner = Options {
            answered: &answered,
            ..options.clone()
        };
        let checked = check(&expanded.part.history, levels, &inner);
        return checked.iter().map(|one| expanded.whole(one)).collect();
    }
    let answers = expanded.check_unclear(levels, check);
    answers.iter().for_each(|answer| (options.answered)(answer));
    answers
}

impl<'a> Expanded<'a> {
    fn of(history: &'a History, options: &'a Options<'a>) -> Result<Expanded<'a>, String> {
        if options.keys != KeyOrder::Free {
            return Err(format!(
                "nothing like {} is assumed of keys in a history with sets or counters",
                options.keys
            ));
        }
        require_one_datatype(history)?;
        let keys = counters::gather(history)?;
        let sights: Vec<Vec<Sight>> = keys.iter().map(|(_, counter)| counter.sights()).collect();
        Expanded::with(history, options, keys, sights)
    }

    fn with(
        history: &'a History,
        options: &'a Options<'a>,
        keys: Vec<(KeyId, Counter)>,
        sights: Vec<Vec<Sight>>,
    ) -> Result<Expanded<'a>, String> {
        let source = registers::Source {
            history,
            counters: &keys,
            sights: &sights,
            initial: &options.initial,
        };
        let part = registers::expand(&source, &options.budget)?;
        Ok(Expanded {
            history,
            options,
            keys,
            sights,
            part,
        })
    }

    /// Whether some read of a counter can be explained in several ways.
    fn is_unclear(&self) -> bool {
        self.sights.iter().flatten().any(|s| *s == Sight::Unclear)
    }

    /// An answer on the registers as one on the sets and counters.
    fn whole(&self, checked: &Checked) -> Checked {
        let level = checked.result.level;
        let verdict = match &checked.result.verdict {
            Verdict::Violated(anomalies) => {
                let whole = anomalies.iter().map(|anomaly| self.whole_anomaly(anomaly));
                Verdict::Violated(whole.collect())
            }
            Verdict::Holds(order) => match self.whole_order(level, order) {
                Some(order) => Verdict::Holds(order),
                None => Verdict::Unknown(self.unclear_reads()),
            },
            Verdict::Unknown(reason) => Verdict::Unknown(reason.clone()),
        };
        let result = LevelResult {
            level,
            verdict: self.with_bounds(level, verdict),
        };
        Checked {
            result,
            seconds: checked.seconds,
            stages: checked.stages.clone(),
        }
    }

    /// The verdict, or the violation that counters out of bounds are.
    fn with_bounds(&self, level: Level, verdict: Verdict) -> Verdict {
        let mut found = bounds::anomalies(self.history, &self.keys, level);
        for anomaly in &mut found {
            anomaly.explanation = crate::explain::of_elements(self.history, anomaly);
        }
        match verdict {
            Verdict::Violated(mut anomalies) => {
                let is_new = |a: &Anomaly| anomalies.iter().all(|other| other.kind != a.kind);
                found.retain(is_new);
                anomalies.extend(found);
                Verdict::Violated(anomalies)
            }
            verdict if found.is_empty() => verdict,
            _ => Verdict::Violated(found),
        }
    }

    /// The answers where reads of counters are unclear.
    fn check_unclear(&self, levels: &[Level], check: Check) -> Vec<Checked> {
        // What proves a strong level may prove a weak one too.
        let strong = [
            Level::StrictSerializable,
            Level::StrongSessionSerializable,
            Level::Serializable,
        ];
        let mut asked = levels.to_vec();
        asked.extend(strong.into_iter().filter(|level| !levels.contains(level)));
        let quiet = Options {
            answered: &|_| {},
            ..self.options.clone()
        };
        let checked = check(&self.part.history, &asked, &quiet);
        let held = |one: &Checked| match &one.result.verdict {
            Verdict::Holds(order) => Some(order.clone()),
            _ => None,
        };
        let mut orders: Vec<CommitOrder> = checked.iter().filter_map(held).collect();
        orders.extend(replay::orders(self.history, &self.keys));
        let mut answers: Vec<Checked> = Vec::new();
        for one in &checked[..levels.len()] {
            let mut answer = self.whole(one);
            if !matches!(answer.result.verdict, Verdict::Violated(_)) {
                let found = held(one).into_iter().chain(orders.iter().cloned());
                answer.result.verdict = self.proved(answer.result.level, found);
            }
            answers.push(answer);
        }
        choices::settle(self, &mut answers, check);
        answers
    }

    /// Holds by the first of the orders that explains every read, if one does.
    fn proved(&self, level: Level, orders: impl Iterator<Item = CommitOrder>) -> Verdict {
        for mut order in orders {
            if Level::WEAK.contains(&level) {
                order.snapshots.clear();
            }
            let Some(order) = self.whole_order(level, &order) else {
                continue;
            };
            let verdict = Verdict::Holds(order);
            let result = LevelResult { level, verdict };
            if history::certify(self.history, &self.options.initial, &result).is_ok() {
                return result.verdict;
            }
        }
        Verdict::Unknown(self.unclear_reads())
    }

    fn unclear_reads(&self) -> String {
        let unclear = self.sights.iter().flatten();
        let count = unclear.filter(|s| **s == Sight::Unclear).count();
        format!(
            "{count} reads of counters can have seen different sets of increments; no order that \
             was tried explains all of them, and nothing that was tried rules them out"
        )
    }
}

fn require_one_datatype(history: &History) -> Result<(), String> {
    let mut used: Vec<Option<u8>> = vec![None; history.keys().limit()];
    let ops = history.ops();
    for (&kind, &key) in ops.kinds.iter().zip(&ops.keys) {
        let found = *used[key.index()].get_or_insert(datatype(kind));
        if found != datatype(kind) {
            return Err(format!(
                "key {} is used as different datatypes",
                history.key_name(key)
            ));
        }
    }
    Ok(())
}

/// A read and a transaction it read from.
type Choice = (OpId, TxnId);
