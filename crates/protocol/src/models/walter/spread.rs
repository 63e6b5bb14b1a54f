//! Telling the other sites of a commit: figure 13 of the paper.

use super::{Bug, Message, Server, Spreading, Update, Walter, at, covers};
use crate::context::Context;
use crate::id::{Key, SiteSet, Txn, Version};
use crate::setup::Setup;

impl Walter {
    /// Declares an own transaction disaster-safe when it is.
    pub(super) fn spread(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let (setup, here) = (ctx.setup, ctx.here());
        let Some(Spreading::Copied(update, copies)) = server.spreading.get_mut(&txn) else {
            return;
        };
        let safe = |key: Key| {
            let replicas = setup.replicas(key).iter();
            let replicas = replicas.filter(|site| self.holds(setup, **site, key));
            let have = replicas.clone().filter(|site| copies.contains(**site));
            let needed = replicas.count().min(usize::from(self.disasters) + 1);
            copies.contains(setup.preferred(key)) && have.count() >= needed
        };
        let writes = setup.writes(txn);
        if !writes.iter().all(safe) && self.bug != Some(Bug::DurableEarly) {
            return;
        }
        ctx.rule("disaster-safe");
        let version = Version::new(update.number, here);
        let others: SiteSet = setup.sites().filter(|site| *site != here).collect();
        for site in others.iter() {
            ctx.send(site, Message::Durable(txn, update.clone()));
        }
        server.spreading.insert(txn, Spreading::Durable(others));
        for key in writes.iter().filter(|key| !self.holds(setup, here, *key)) {
            if let Some(versions) = server.history.get_mut(&key) {
                versions.retain(|other| *other != version);
            }
        }
        server.history.retain(|_, versions| !versions.is_empty());
        end_spread(server, txn, ctx);
    }

    /// Applies and makes visible what is ready here.
    pub(super) fn catch_up(&self, server: &mut Server, ctx: &mut Context<'_, Message>) {
        let setup = ctx.setup;
        loop {
            let mut early = server.early.iter();
            let ready = early.find(|(txn, update)| self.may_apply(server, setup, **txn, update));
            if let Some(txn) = ready.map(|(txn, _)| *txn) {
                self.apply(server, txn, ctx);
                continue;
            }
            let mut durable = server.durable.iter();
            let ready = durable.find(|(txn, update)| self.may_show(server, setup, **txn, update));
            let Some(txn) = ready.map(|(txn, _)| *txn) else {
                return;
            };
            self.show(server, txn, ctx);
        }
    }

    pub(super) fn may_apply(
        &self,
        server: &Server,
        setup: &Setup,
        txn: Txn,
        update: &Update,
    ) -> bool {
        let causal = self.bug == Some(Bug::SkipCausal) || covers(&server.got, &update.snapshot);
        causal && at(&server.got, setup.proxy(txn)) + 1 == update.number
    }

    pub(super) fn apply(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let (setup, here, from) = (ctx.setup, ctx.here(), ctx.setup.proxy(txn));
        let Some(update) = server.early.remove(&txn) else {
            return;
        };
        ctx.rule("propagate");
        let writes = setup.writes(txn).iter();
        for key in writes.filter(|key| self.holds(setup, here, *key)) {
            let version = Version::new(update.number, from);
            server.history.entry(key).or_default().push(version);
        }
        server.got.insert(from, update.number);
        ctx.send(from, Message::Applied(txn));
    }

    pub(super) fn may_show(
        &self,
        server: &Server,
        setup: &Setup,
        txn: Txn,
        update: &Update,
    ) -> bool {
        let from = setup.proxy(txn);
        let got = self.bug == Some(Bug::DurableEarly) || at(&server.got, from) >= update.number;
        let causal =
            self.bug == Some(Bug::SkipCausal) || covers(&server.committed, &update.snapshot);
        got && causal && at(&server.committed, from) + 1 == update.number
    }

    pub(super) fn show(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let from = ctx.setup.proxy(txn);
        let Some(update) = server.durable.remove(&txn) else {
            return;
        };
        ctx.rule("visible");
        server.committed.insert(from, update.number);
        server.release(txn);
        ctx.applied(txn);
        ctx.send(from, Message::Visible(txn));
    }
}

pub(super) fn end_spread(server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
    if let Some(Spreading::Durable(awaited)) = server.spreading.get(&txn)
        && awaited.is_empty()
    {
        ctx.rule("visible everywhere");
        server.spreading.remove(&txn);
    }
}
