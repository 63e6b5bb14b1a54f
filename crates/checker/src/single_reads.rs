//! Anomalies of single reads, as observed, in the form of evidence.
//!
//! Cost: a look at each of them.

use crate::observe::{Observed, ReadAnomaly};
use crate::rule::Rule;
use history::{Anomaly, AnomalyKind, TxnId};
use std::collections::BTreeMap;

/// The anomalies of single reads that break a rule, one for each kind, counted.
pub fn read_anomalies(observed: &Observed<'_>, rule: Rule) -> Vec<Anomaly> {
    read_anomalies_if(observed, |anomaly| {
        anomaly.kind != AnomalyKind::NonRepeatableRead || !rule.allows_non_repeatable_reads()
    })
}

/// The same of those that break something else.
pub fn read_anomalies_if(
    observed: &Observed<'_>,
    breaks: impl Fn(&ReadAnomaly) -> bool,
) -> Vec<Anomaly> {
    let mut by_kind: BTreeMap<AnomalyKind, (u64, &ReadAnomaly)> = BTreeMap::new();
    let counts = |anomaly: &&ReadAnomaly| observed.taken[anomaly.txn.index()] && breaks(anomaly);
    for anomaly in observed.read_anomalies.iter().filter(counts) {
        by_kind.entry(anomaly.kind).or_insert((0, anomaly)).0 += 1;
    }
    let shown = |(kind, (count, anomaly)): (AnomalyKind, (u64, &ReadAnomaly))| {
        let mut transactions: Vec<TxnId> =
            anomaly.ops.iter().map(|&op| observed.txn_of(op)).collect();
        transactions.dedup();
        Anomaly {
            kind,
            count,
            transactions,
            ops: anomaly.ops.clone(),
            edges: Vec::new(),
            otherwise: Vec::new(),
            assuming: Vec::new(),
            explanation: String::new(),
        }
    };
    by_kind.into_iter().map(shown).collect()
}
