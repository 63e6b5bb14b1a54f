//! What reads of counters can have seen, worked out anew.
//!
//! Somebody's increments of a key count together or not at all. A read is explained by a set of
//! other transactions whose totals sum up to what it returned less what its own transaction had
//! added. Sets are counted sum by sum where a key has few possible sums or few transactions
//! increment it, each sum keeping the one set it is known by; elsewhere only the least and the greatest sum are known to have one set.

use crate::certify::{Refusal, require};
use crate::{History, KeyId, Op, OpId, OpKind, Status, TxnId, Value, ValueCode};
use std::collections::BTreeMap;

/// A key with at most so many sums is counted.
const WIDTH_MAX: i128 = 1024;
/// For a reader that increments the key itself, whose part has to be taken out first.
const WIDTH_OF_OWN_MAX: i128 = 128;
/// So few transactions are always counted.
const FEW: usize = 10;

/// One counter: who increments it by how much in all, and its reads.
#[derive(Default)]
pub(super) struct Counter {
    /// Of transactions that did not abort; none is 0.
    pub(super) totals: BTreeMap<TxnId, i128>,
    /// The reader, the read, and what others' increments have to sum up to. No aborted reader.
    pub(super) reads: Vec<(TxnId, OpId, i128)>,
}

/// Which sets explain a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Explained {
    By(Vec<TxnId>),
    ByNone,
    BySeveral,
}

pub(super) fn gather(history: &History) -> Result<BTreeMap<KeyId, Counter>, Refusal> {
    let mut counters: BTreeMap<KeyId, Counter> = BTreeMap::new();
    let may_commit = |txn: &TxnId| history.status(*txn) != Status::Aborted;
    for txn in history.txn_ids().filter(may_commit) {
        for (id, op) in history.txn_ops(txn) {
            match op.kind {
                OpKind::Increment => {
                    let totals = &mut counters.entry(op.key).or_default().totals;
                    *totals.entry(txn).or_default() += number(history, op)?;
                }
                OpKind::ReadCounter if op.value != ValueCode::UNKNOWN => {
                    let counter = counters.entry(op.key).or_default();
                    let own = counter.totals.get(&txn).copied().unwrap_or(0);
                    let target = number(history, op)? - own;
                    counter.reads.push((txn, id, target));
                }
                _ => {}
            }
        }
    }
    for counter in counters.values_mut() {
        counter.totals.retain(|_, total| *total != 0);
    }
    Ok(counters)
}

fn number(history: &History, op: Op) -> Result<i128, Refusal> {
    let number = match history.value(op.value) {
        Value::Int(number) => Some(number),
        Value::Nil => Some(0),
        Value::Text(_) => None,
    };
    let number = number.filter(|number| number.unsigned_abs() < 1 << 64);
    require!(
        number.is_some() && op.value != ValueCode::UNKNOWN,
        "counter {} has to do with something that is no integer of up to 127 bits",
        history.key_name(op.key)
    );
    Ok(number.unwrap_or(0))
}

impl Counter {
    /// What explains each read.
    pub(super) fn explained(&self) -> Vec<Explained> {
        let everybody = Subsets::of(&self.totals, None, WIDTH_MAX);
        let explain = |&(reader, _, target): &(TxnId, OpId, i128)| {
            if self.totals.contains_key(&reader) {
                let others = Subsets::of(&self.totals, Some(reader), WIDTH_OF_OWN_MAX);
                return others.explain(&self.totals, Some(reader), target);
            }
            everybody.explain(&self.totals, None, target)
        };
        self.reads.iter().map(explain).collect()
    }

    /// Every set of others that explains a target; none if there are too many increments.
    pub(super) fn all_sets(&self, reader: TxnId, target: i128) -> Option<Vec<Vec<TxnId>>> {
        const OTHERS_MAX: usize = 16;
        let others: Vec<(TxnId, i128)> = self
            .totals
            .iter()
            .filter(|(txn, _)| **txn != reader)
            .map(|(&txn, &total)| (txn, total))
            .collect();
        if others.len() > OTHERS_MAX {
            return None;
        }
        let members = |set: u32| {
            let of_set = others.iter().enumerate();
            of_set.filter(move |(bit, _)| set >> bit & 1 == 1)
        };
        let explains = |set: &u32| members(*set).map(|(_, other)| other.1).sum::<i128>() == target;
        let sets = (0..1u32 << others.len()).filter(explains);
        Some(
            sets.map(|set| members(set).map(|(_, other)| other.0).collect())
                .collect(),
        )
    }
}

/// The sums of the subsets of some totals.
struct Subsets {
    least: i128,
    greatest: i128,
    divisor: u128,
    /// For each sum how many subsets have it, up to 2, and the chain of one of them; if counted.
    known: Option<BTreeMap<i128, (u8, u32)>>,
    /// Chains: a transaction and the rest of the chain; number 0 is the empty one.
    chains: Vec<(TxnId, u32)>,
}

impl Subsets {
    fn of(totals: &BTreeMap<TxnId, i128>, except: Option<TxnId>, width_max: i128) -> Subsets {
        let others = || totals.iter().filter(|(txn, _)| Some(**txn) != except);
        let mut subsets = Subsets {
            least: others().map(|(_, &total)| total.min(0)).sum(),
            greatest: others().map(|(_, &total)| total.max(0)).sum(),
            divisor: others().fold(0, |a, (_, total)| common_divisor(a, total.unsigned_abs())),
            known: None,
            chains: vec![(TxnId::INITIAL, 0)],
        };
        if subsets.greatest - subsets.least >= width_max && others().count() > FEW {
            return subsets;
        }
        let mut known: BTreeMap<i128, (u8, u32)> = BTreeMap::from([(0, (1, 0))]);
        for (&txn, &total) in others() {
            let before: Vec<(i128, (u8, u32))> = known.iter().map(|(&s, &k)| (s, k)).collect();
            for (sum, (count, chain)) in before {
                let with = known.entry(sum + total).or_default();
                with.0 = (with.0 + count).min(2);
                if with.0 == 1 {
                    subsets.chains.push((txn, chain));
                    with.1 = subsets.chains.len() as u32 - 1;
                }
            }
        }
        subsets.known = Some(known);
        subsets
    }

    fn explain(
        &self,
        totals: &BTreeMap<TxnId, i128>,
        except: Option<TxnId>,
        target: i128,
    ) -> Explained {
        let others = totals.iter().filter(|(txn, _)| Some(**txn) != except);
        let of_sign = |sign: i128| {
            let chosen = others.filter(|(_, total)| **total * sign > 0);
            Explained::By(chosen.map(|(&txn, _)| txn).collect())
        };
        if target < self.least
            || target > self.greatest
            || !target.unsigned_abs().is_multiple_of(self.divisor.max(1))
        {
            Explained::ByNone
        } else if target == self.greatest {
            of_sign(1)
        } else if target == self.least {
            of_sign(-1)
        } else {
            match self.known.as_ref().map(|known| known.get(&target)) {
                None => Explained::BySeveral,
                Some(None) => Explained::ByNone,
                Some(Some((1, chain))) => Explained::By(self.members(*chain)),
                Some(Some(_)) => Explained::BySeveral,
            }
        }
    }

    fn members(&self, mut chain: u32) -> Vec<TxnId> {
        let mut members = Vec::new();
        while chain != 0 {
            let (txn, rest) = self.chains[chain as usize];
            members.push(txn);
            chain = rest;
        }
        members.reverse();
        members
    }
}

fn common_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
