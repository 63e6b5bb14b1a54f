//! Executing a transaction: figures 10 to 12 of the paper.

use super::{Bug, Message, Phase, Server, Spreading, Update, Vector, Walter, at};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, SiteSet, Txn, Version};
use crate::setup::{Op, Setup};

impl Walter {
    pub(super) fn holds(&self, setup: &Setup, site: Site, key: Key) -> bool {
        if self.replicates {
            setup.holds(site, key)
        } else {
            setup.preferred(key) == site
        }
    }

    /// Goes on with a transaction until it must wait.
    pub(super) fn execute(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let setup = ctx.setup;
        while let Some(running) = server.running.get_mut(&txn)
            && let Phase::Operation(place) = running.phase
        {
            let Some(op) = setup.ops(txn).get(usize::from(place)) else {
                return self.finish(server, txn, ctx);
            };
            if let Op::Read(key) = *op
                && !wrote(setup, txn, place, key)
            {
                let snapshot = running.snapshot.clone();
                if !self.holds(setup, ctx.here(), key) {
                    let own = match self.merges {
                        true => server.latest(key, &snapshot),
                        false => Version::INITIAL,
                    };
                    let to = setup.preferred(key);
                    return ctx.send(to, Message::Read(txn, key, snapshot, own));
                }
                ctx.rule("read here");
                ctx.read(txn, key, self.look(server, key, &snapshot));
            }
            advance(server, txn, place);
        }
    }

    pub(super) fn look(&self, server: &Server, key: Key, snapshot: &Vector) -> Version {
        let latest = server
            .history
            .get(&key)
            .and_then(|versions| versions.last());
        match latest {
            Some(latest) if self.bug == Some(Bug::ReadLatest) => *latest,
            _ => server.latest(key, snapshot),
        }
    }

    /// All operations are done: commits or asks for votes.
    pub(super) fn finish(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let writes = ctx.setup.writes(txn);
        let Some(running) = server.running.get_mut(&txn) else {
            return;
        };
        if writes.is_empty() {
            ctx.rule("commit: read-only");
            server.running.remove(&txn);
            return ctx.commit(txn);
        }
        let sites: SiteSet = writes.iter().map(|key| ctx.setup.preferred(key)).collect();
        if sites.len() > 1 || !sites.contains(ctx.here()) {
            for site in sites.iter() {
                ctx.send(site, Message::Prepare(txn, running.snapshot.clone()));
            }
            running.phase = Phase::Voting {
                awaited: sites,
                yes: SiteSet::EMPTY,
            };
            return;
        }
        let snapshot = std::mem::take(&mut running.snapshot);
        server.running.remove(&txn);
        if self.may_write(server, writes, &snapshot) {
            ctx.rule("fast commit");
            self.commit(server, txn, snapshot, ctx);
        } else {
            ctx.rule("fast commit: abort");
            ctx.abort(txn);
        }
    }

    /// Whether none of `keys` is locked or was modified since the snapshot.
    pub(super) fn may_write(&self, server: &Server, keys: KeySet, snapshot: &Vector) -> bool {
        let skip = self.bug == Some(Bug::SkipModified);
        keys.iter().all(|key| {
            let unmodified = skip || server.unmodified(key, snapshot);
            unmodified && !server.locks.contains_key(&key)
        })
    }

    pub(super) fn prepare(
        &self,
        server: &mut Server,
        from: Site,
        txn: Txn,
        snapshot: &Vector,
        ctx: &mut Context<'_, Message>,
    ) {
        let (setup, here) = (ctx.setup, ctx.here());
        let writes = setup.writes(txn).iter();
        let keys: KeySet = writes.filter(|key| setup.preferred(*key) == here).collect();
        let vote = self.may_write(server, keys, snapshot);
        ctx.rule(if vote { "prepare: yes" } else { "prepare: no" });
        if vote && self.bug != Some(Bug::SkipLocks) {
            server.locks.extend(keys.iter().map(|key| (key, txn)));
        }
        ctx.send(from, Message::Vote(txn, vote));
    }

    pub(super) fn count_vote(
        &self,
        server: &mut Server,
        from: Site,
        txn: Txn,
        vote: bool,
        ctx: &mut Context<'_, Message>,
    ) {
        let Some(running) = server.running.get_mut(&txn) else {
            return;
        };
        let Phase::Voting { awaited, yes } = &mut running.phase else {
            return;
        };
        awaited.remove(from);
        if vote || self.bug == Some(Bug::IgnoreVotes) {
            yes.insert(from);
        }
        if !awaited.is_empty() {
            return;
        }
        let yes = *yes;
        let writes = ctx.setup.writes(txn).iter();
        let asked: SiteSet = writes.map(|key| ctx.setup.preferred(key)).collect();
        if yes == asked {
            ctx.rule("slow commit");
            let snapshot = std::mem::take(&mut running.snapshot);
            server.running.remove(&txn);
            return self.commit(server, txn, snapshot, ctx);
        }
        ctx.rule("slow commit: abort");
        running.snapshot.clear();
        running.phase = Phase::Aborting { awaited: yes };
        for site in yes.iter() {
            ctx.send(site, Message::Abort(txn));
        }
        end_abort(server, txn, ctx);
    }

    /// The transaction takes the next number of this site and is told to all.
    pub(super) fn commit(
        &self,
        server: &mut Server,
        txn: Txn,
        snapshot: Vector,
        ctx: &mut Context<'_, Message>,
    ) {
        let (setup, here) = (ctx.setup, ctx.here());
        let number = at(&server.committed, here) + 1;
        let version = Version::new(number, here);
        for key in setup.writes(txn).iter() {
            ctx.write(txn, key, version);
            ctx.install(key, version);
            server.history.entry(key).or_default().push(version);
        }
        server.committed.insert(here, number);
        server.got.insert(here, number);
        server.release(txn);
        ctx.commit(txn);
        let update = Update { number, snapshot };
        for site in setup.sites().filter(|site| *site != here) {
            ctx.send(site, Message::Propagate(txn, update.clone()));
        }
        let copied = Spreading::Copied(update, [here].into_iter().collect());
        server.spreading.insert(txn, copied);
        self.spread(server, txn, ctx);
    }
}

/// Whether the transaction wrote the key before its operation `place`.
pub(super) fn wrote(setup: &Setup, txn: Txn, place: u8, key: Key) -> bool {
    setup.ops(txn)[..usize::from(place)].contains(&Op::Write(key))
}

pub(super) fn advance(server: &mut Server, txn: Txn, place: u8) {
    if let Some(running) = server.running.get_mut(&txn) {
        running.phase = Phase::Operation(place + 1);
    }
}

/// The client hears of an abort when the locks are released.
pub(super) fn end_abort(server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
    let running = server.running.get(&txn);
    if let Some(Phase::Aborting { awaited }) = running.map(|running| &running.phase)
        && awaited.is_empty()
    {
        server.running.remove(&txn);
        ctx.abort(txn);
    }
}
