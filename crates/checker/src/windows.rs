//! Where in an order the cycles are: most of a large history that breaks a rule obeys it.
//!
//! Definition: let an order extend so ∪ wr and the known versions. A forced edge is *backward* if it
//! leads from a later transaction to an earlier one. The windows are the unions of the stretches that
//! backward edges span, where they touch.
//!
//! Every cycle lies within one window: between the first and the last of its transactions it must
//! come back over every gap, and only backward edges do. And a backward edge comes from a *stale* read
//! only: one whose version is not the last before the reader. Otherwise whatever else the reader saw
//! lies before the version.
//!
//! Steps: one walk along the order finds the stale reads; their forced edges give the windows.
//! Cost: linear in the operations, and a sort of the backward edges.

use crate::observe::{Link, Observed};
use crate::order::Forced;
use history::TxnId;

/// The operations that are stale reads in an order.
pub struct Stale(Vec<u64>);

impl Stale {
    pub fn of(observed: &Observed<'_>, order: &[u32]) -> Stale {
        let history = observed.history;
        let keys = &history.ops().keys;
        let mut stale = vec![0u64; history.op_count().div_ceil(64)];
        let mut last = vec![Link::INITIAL; history.keys().limit()];
        for &txn in order {
            let range = history.op_range(TxnId(txn));
            for op in range.clone() {
                let link = observed.links[op];
                let is_read = Link::is_txn(link) || link == Link::INITIAL;
                if is_read && last[keys[op].index()] != link {
                    stale[op / 64] |= 1 << (op % 64);
                }
            }
            for op in range.filter(|&op| observed.links[op] == Link::WRITE) {
                last[keys[op].index()] = txn;
            }
        }
        Stale(stale)
    }

    pub fn has(&self, op: u32) -> bool {
        self.0[op as usize / 64] >> (op % 64) & 1 == 1
    }
}

/// The windows of an order.
pub struct Windows {
    /// By transaction, the window it lies in.
    of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Windows {
    /// The windows that some forced edges make; those that lead forward make none.
    pub fn new(observed: &Observed<'_>, order: &[u32], edges: &[Forced]) -> Windows {
        let mut place = vec![NONE; observed.history.txn_count()];
        for (at, &txn) in order.iter().enumerate() {
            place[txn as usize] = at as u32;
        }
        let ends = |edge: &Forced| (place[edge.to as usize], place[edge.from as usize]);
        let mut spans: Vec<(u32, u32)> = edges.iter().map(ends).collect();
        spans.retain(|(to, from)| to < from && *from != NONE);
        spans.sort_unstable();
        let mut of = vec![NONE; place.len()];
        let (mut window, mut until) = (0, None);
        for (start, end) in spans {
            let start = match until {
                Some(until) if start <= until => until + 1,
                _ => {
                    window += 1;
                    start
                }
            };
            for &txn in order.get(start as usize..=end as usize).unwrap_or(&[]) {
                of[txn as usize] = window;
            }
            until = until.max(Some(end));
        }
        Windows { of }
    }

    /// Whether a transaction lies in a window.
    pub fn has(&self, txn: u32) -> bool {
        self.of[txn as usize] != NONE
    }

    /// Whether two transactions lie in the same window.
    pub fn same(&self, a: u32, b: u32) -> bool {
        self.has(a) && self.of[a as usize] == self.of[b as usize]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::Budget;
    use crate::diagnose::diagnose;
    use crate::observe::observe;
    use crate::order::schedule;
    use crate::rounds::{self, Decision};
    use crate::rule::Rule;
    use history::format::jsonl;
    use history::{AnomalyKind, History, Initial, KeyOrder};

    /// Numbers that depend on the seed only.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % limit
        }
    }

    /// Transactions that mostly read what was written last, and sometimes something older.
    pub(crate) fn random_history(seed: u64, txn_count: u64) -> History {
        let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut versions = vec![vec![0u64]; 4];
        let mut lines = Vec::new();
        for txn in 0..txn_count {
            let session = numbers.below(4);
            let mut ops = Vec::new();
            let mut written: Vec<u64> = Vec::new();
            for _ in 0..3 {
                let key = numbers.below(4);
                if written.contains(&key) {
                    continue;
                }
                let known = &mut versions[key as usize];
                if numbers.below(2) == 0 {
                    let back = match numbers.below(8) {
                        0 => numbers.below(3) as usize,
                        _ => 0,
                    };
                    let value = known[known.len().saturating_sub(1 + back)];
                    ops.push(format!("[\"r\",{key},{value}]"));
                } else {
                    known.push(known.len() as u64);
                    ops.push(format!("[\"w\",{key},{}]", known.len() - 1));
                    written.push(key);
                }
            }
            let ops = ops.join(",");
            lines.push(format!(
                "{{\"session\":{session},\"txn\":{txn},\"ops\":[{ops}]}}"
            ));
        }
        jsonl::read(lines.join("\n").as_bytes(), &mut Vec::new()).expect("a history")
    }

    fn found(history: &History, rule: Rule, with_order: bool) -> Option<Vec<(AnomalyKind, u64)>> {
        let budget = Budget::default();
        let observed = observe(history, &Initial::default(), KeyOrder::Free, &budget).ok()?;
        let first = schedule(&observed, &rounds::known_edges(&observed));
        let Decision::Violated(mut found) =
            rounds::decide(&observed, rule, &first, &budget).ok()?
        else {
            return None;
        };
        if !with_order {
            found.order = None;
        }
        let anomalies = diagnose(&observed, rule, found, &budget).ok()?;
        Some(anomalies.iter().map(|one| (one.kind, one.count)).collect())
    }

    #[test]
    fn windows_hide_no_anomaly() {
        let mut violated = 0;
        for seed in 0..400 {
            let history = random_history(seed, 60);
            for rule in [Rule::ReadCommitted, Rule::ReadAtomic, Rule::Causal] {
                let all = found(&history, rule, false);
                assert_eq!(found(&history, rule, true), all, "seed {seed}, {rule:?}");
                violated += u32::from(all.is_some());
            }
        }
        assert!(violated > 300, "{violated} of 1200 violated");
    }
}
