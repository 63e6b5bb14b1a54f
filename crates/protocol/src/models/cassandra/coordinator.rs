//! The coordinator's side of an operation.

use super::CassandraMessage::{self, Read, Write};
use super::{Bug, Cassandra, CassandraSite, Enough, Running, Step};
use crate::context::Context;
use crate::id::{Site, SiteSet, Txn, Version};
use crate::setup::Op;
use std::collections::BTreeMap;

impl Cassandra {
    /// How many of `replicas` must answer an operation.
    pub(super) fn needed(&self, op: Op, replicas: usize) -> usize {
        match (self.bug, op) {
            (Some(Bug::ReadsOne), Op::Read(_)) | (Some(Bug::WritesOne), Op::Write(_)) => 1,
            _ => match self.enough {
                Enough::One => 1,
                Enough::Quorum => replicas / 2 + 1,
                Enough::All => replicas,
            },
        }
    }

    pub(super) fn see(&self, at: &mut CassandraSite, version: Version) {
        if !matches!(self.bug, Some(Bug::OwnClock | Bug::Backwards)) {
            at.clock = at.clock.max(version.number);
        }
    }

    /// Begins the operation at this place, or ends the transaction if there is none.
    pub(super) fn operation(
        &self,
        at: &mut CassandraSite,
        txn: Txn,
        place: u8,
        context: &mut Context<'_, CassandraMessage>,
    ) {
        let setup = context.setup();
        let Some(op) = setup.ops(txn).get(usize::from(place)).copied() else {
            at.running.remove(&txn);
            context.commit(txn);
            return;
        };
        let mut asked: SiteSet = setup.replicas(op.key()).iter().copied().collect();
        let (step, message) = match op {
            Op::Read(key) => {
                context.rule("read");
                asked = choose(asked, self.needed(op, asked.len()), context);
                (Step::Reading(BTreeMap::new()), Read(txn, place, key))
            }
            Op::Write(key) => {
                context.rule("write");
                at.clock += 1;
                let number = match self.bug {
                    Some(Bug::Backwards) => u16::MAX - at.clock,
                    _ => at.clock,
                };
                let version = Version::new(number, context.here());
                context.write(txn, key, version);
                let message = Write(txn, place, key, version);
                (Step::Writing(SiteSet::EMPTY), message)
            }
        };
        at.running.insert(txn, Running { place, step });
        for site in asked.iter() {
            context.send(site, message.clone());
        }
    }

    pub(super) fn value(
        &self,
        at: &mut CassandraSite,
        from: Site,
        (txn, place, version): (Txn, u8, Version),
        context: &mut Context<'_, CassandraMessage>,
    ) {
        self.see(at, version);
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        let Step::Reading(answers) = &mut running.step else {
            return;
        };
        if running.place != place {
            return;
        }
        answers.insert(from, version);
        let op = context.setup().ops(txn)[usize::from(place)];
        let replicas = context.setup().replicas(op.key()).len();
        if answers.len() < self.needed(op, replicas) {
            return;
        }
        let newest = answers.values().copied().max().unwrap_or_default();
        let answer = match self.bug {
            Some(Bug::Oldest) => answers.values().copied().min().unwrap_or_default(),
            _ => newest,
        };
        let stale = answers.iter().filter(|(_, version)| **version < newest);
        let mut stale: SiteSet = stale.map(|(site, _)| *site).collect();
        if self.repair && !stale.is_empty() {
            context.rule("repair");
            for site in stale.iter() {
                context.send(site, Write(txn, place, op.key(), newest));
            }
        }
        if !self.repair || self.bug == Some(Bug::HastyRepair) {
            stale = SiteSet::EMPTY;
        }
        if stale.is_empty() {
            context.read(txn, op.key(), answer);
            self.operation(at, txn, place + 1, context);
        } else {
            running.step = Step::Repairing(stale, answer);
        }
    }

    pub(super) fn written(
        &self,
        at: &mut CassandraSite,
        from: Site,
        txn: Txn,
        place: u8,
        context: &mut Context<'_, CassandraMessage>,
    ) {
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        if running.place != place {
            return;
        }
        let op = context.setup().ops(txn)[usize::from(place)];
        let done = match &mut running.step {
            Step::Reading(_) => false,
            Step::Writing(heard) => {
                heard.insert(from);
                heard.len() >= self.needed(op, context.setup().replicas(op.key()).len())
            }
            Step::Repairing(stale, version) => {
                let was_last = stale.remove(from) && stale.is_empty();
                if was_last {
                    context.read(txn, op.key(), *version);
                }
                was_last
            }
        };
        if done {
            self.operation(at, txn, place + 1, context);
        }
    }
}

/// Any `count` of these sites, this one among them if it can be.
fn choose(sites: SiteSet, count: usize, context: &mut Context<'_, CassandraMessage>) -> SiteSet {
    let mut chosen = SiteSet::EMPTY;
    if sites.contains(context.here()) {
        chosen.insert(context.here());
    }
    let mut rest: Vec<Site> = sites.without(chosen).iter().collect();
    while chosen.len() < count && !rest.is_empty() {
        // Ascending, so that each set is chosen in one way; enough must be left to complete it.
        let spare = (chosen.len() + rest.len()).saturating_sub(count);
        let next = context.choose(spare + 1);
        chosen.insert(rest[next]);
        rest.drain(..=next);
    }
    chosen
}
