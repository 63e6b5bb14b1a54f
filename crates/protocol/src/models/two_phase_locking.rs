//! Strict two-phase locking with two-phase commit: strict serializability.
//!
//! Every key lives at its preferred site, which keeps its lock; other replicas are not used. The
//! site of a transaction's session coordinates it.
//!
//! 1. *Read.* The coordinator sends `Read` to the key's site, which takes a shared lock and answers
//!    with the version. If somebody else holds the exclusive lock it refuses, and the transaction
//!    aborts: nobody ever waits for a lock ("no-wait"), so there is no deadlock.
//! 2. *Prepare.* Writes are kept until the end. Then each site of a written key gets `Prepare` and
//!    takes exclusive locks on its keys. It votes no if somebody else holds a lock on one of them,
//!    shared or exclusive.
//! 3. *Decide.* When all votes are in, the transaction commits if all are yes, and its client is
//!    told. Sites that hold a lock of it get `Finish`: they install the versions if it committed,
//!    and give all its locks back.
//!
//! Locks are held from first use to the end, which is what makes it two-phase and strict.
//!
//! **Source.** Bernstein, Hadzilacos & Goodman, "Concurrency Control and Recovery in Database
//! Systems", 1987, chapters 3 and 7.
//!
//! **Abstracted away.** Logging and recovery: a site keeps everything over a crash.

use super::buffered::Buffered;
use crate::catalogue::{Entry, Mutant};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, SiteSet, Txn, TxnSet, Version};
use crate::protocol::{Protocol, Symmetry};
use crate::question::Property;
use crate::setup::Setup;
use history::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a mutant does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Gives a shared lock back as soon as the version is read.
    ShortReadLocks,
    /// Commits although a site voted no.
    IgnoresVotes,
    /// Gives exclusive locks back with the vote, before the versions are installed.
    ReleasesWithVote,
    /// Takes an exclusive lock although others hold shared ones.
    SharedDoNotBlock,
    /// Installs versions with the vote, and leaves them there after an abort.
    InstallsWithVote,
}

/// The protocol.
pub struct TwoPhaseLocking {
    /// What is wrong with it, if anything.
    pub bug: Option<Bug>,
}

/// A site: coordinator of its own transactions, keeper of its keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// Versions made here so far.
    made: u16,
    running: BTreeMap<Txn, Running>,
    keys: BTreeMap<Key, Item>,
}

/// A transaction at its coordinator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Running {
    client: Buffered,
    /// The name of the versions it writes.
    version: Version,
    /// Sites where it may hold locks.
    locked: SiteSet,
    /// Sites that did not vote yet.
    awaited: SiteSet,
    refused: bool,
}

/// A key at its site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Item {
    version: Version,
    shared: TxnSet,
    exclusive: Option<Txn>,
}

/// What sites send each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Asks for a version and a shared lock.
    Read(Txn, Key),
    /// The version, or none if the lock was refused.
    Value(Txn, Key, Option<Version>),
    /// Asks for exclusive locks on these keys, to write this version.
    Prepare(Txn, KeySet, Version),
    /// Whether all locks were taken.
    Vote(Txn, bool),
    /// The end: the version to install on these keys if it committed.
    Finish(Txn, KeySet, Option<Version>),
}

impl TwoPhaseLocking {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Reads on, or goes on to the writes.
    fn go_on(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        if let Some(key) = running.client.next_read(context.setup(), txn) {
            let site = context.setup().preferred(key);
            context.send(site, Message::Read(txn, key));
            return;
        }
        let written = running.client.writes;
        if written.is_empty() {
            context.rule("commit: read only");
            return self.finish(at, txn, context);
        }
        at.made += 1;
        running.version = Version::new(at.made, context.here());
        for key in written.iter() {
            context.write(txn, key, running.version);
            running.awaited.insert(context.setup().preferred(key));
        }
        running.locked = running.locked.union(running.awaited);
        for site in running.awaited.iter() {
            let keys = at_site(context.setup(), written, site);
            context.send(site, Message::Prepare(txn, keys, running.version));
        }
    }

    /// Tells the client, and the sites that hold locks.
    fn finish(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        let Some(running) = at.running.remove(&txn) else {
            return;
        };
        let committed = !running.refused || self.has(Bug::IgnoresVotes);
        if committed {
            context.commit(txn);
        } else {
            context.rule("abort");
            context.abort(txn);
        }
        for site in running.locked.iter() {
            let keys = at_site(context.setup(), running.client.writes, site);
            let version = committed.then_some(running.version);
            context.send(site, Message::Finish(txn, keys, version));
        }
    }

    fn read(
        &self,
        at: &mut Place,
        txn: Txn,
        key: Key,
        from: Site,
        context: &mut Context<'_, Message>,
    ) {
        let item = at.keys.entry(key).or_default();
        let free = item.exclusive.is_none_or(|holder| holder == txn);
        if free {
            if !self.has(Bug::ShortReadLocks) {
                item.shared.insert(txn);
            }
            context.rule("shared lock");
        } else {
            context.rule("shared lock refused");
        }
        let version = free.then_some(item.version);
        context.send(from, Message::Value(txn, key, version));
    }

    fn prepare(
        &self,
        at: &mut Place,
        txn: Txn,
        keys: KeySet,
        version: Version,
        context: &mut Context<'_, Message>,
    ) -> bool {
        let own: TxnSet = [txn].into_iter().collect();
        let free = keys.iter().all(|key| {
            let item = at.keys.entry(key).or_default();
            let read = item.shared.without(own).is_empty() || self.has(Bug::SharedDoNotBlock);
            item.exclusive.is_none() && read
        });
        if !free {
            context.rule("vote no: locked");
            return false;
        }
        context.rule("vote yes");
        for key in keys.iter() {
            let item = at.keys.entry(key).or_default();
            if !self.has(Bug::ReleasesWithVote) {
                item.exclusive = Some(txn);
            }
            if self.has(Bug::InstallsWithVote) {
                item.version = version;
                item.exclusive = None;
                context.install(key, version);
            }
        }
        true
    }
}

/// Of some keys, those that live at a site.
fn at_site(setup: &Setup, keys: KeySet, site: Site) -> KeySet {
    keys.iter()
        .filter(|key| setup.preferred(*key) == site)
        .collect()
}

impl Protocol for TwoPhaseLocking {
    type Site = Place;
    type Message = Message;

    fn name(&self) -> &str {
        match self.bug {
            None => "2pl",
            Some(Bug::ShortReadLocks) => "2pl/short-read-locks",
            Some(Bug::IgnoresVotes) => "2pl/ignores-votes",
            Some(Bug::ReleasesWithVote) => "2pl/releases-with-vote",
            Some(Bug::SharedDoNotBlock) => "2pl/shared-do-not-block",
            Some(Bug::InstallsWithVote) => "2pl/installs-with-vote",
        }
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Place {
        Place::default()
    }

    fn start(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        at.running.insert(txn, Running::default());
        self.go_on(at, txn, context);
    }

    fn receive(
        &self,
        at: &mut Place,
        from: Site,
        message: Message,
        context: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Read(txn, key) => self.read(at, txn, key, from, context),
            Message::Value(txn, key, version) => {
                let Some(running) = at.running.get_mut(&txn) else {
                    return;
                };
                if let Some(version) = version {
                    running.locked.insert(from);
                    running.client.reads.insert(key, version);
                    context.read(txn, key, version);
                    self.go_on(at, txn, context);
                } else {
                    running.refused = true;
                    self.finish(at, txn, context);
                }
            }
            Message::Prepare(txn, keys, version) => {
                let yes = self.prepare(at, txn, keys, version, context);
                context.send(from, Message::Vote(txn, yes));
            }
            Message::Vote(txn, yes) => {
                let Some(running) = at.running.get_mut(&txn) else {
                    return;
                };
                running.awaited.remove(from);
                running.refused |= !yes;
                if running.awaited.is_empty() {
                    if !running.refused {
                        context.rule("commit");
                    }
                    self.finish(at, txn, context);
                }
            }
            Message::Finish(txn, keys, version) => {
                for item in at.keys.values_mut() {
                    item.shared.remove(txn);
                    if item.exclusive == Some(txn) {
                        item.exclusive = None;
                    }
                }
                for (key, version) in keys.iter().filter_map(|key| Some((key, version?))) {
                    at.keys.entry(key).or_default().version = version;
                    context.install(key, version);
                }
            }
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &[
            "shared lock",
            "shared lock refused",
            "vote yes",
            "vote no: locked",
            "commit",
            "commit: read only",
            "abort",
        ]
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: true,
            keys: true,
        }
    }
}

/// The entry of the catalogue.
pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |bug: Bug, what: &'static str, breaks: Level, workload: &str| Mutant {
        model: Box::new(TwoPhaseLocking { bug: Some(bug) }),
        what,
        breaks: Property::Level(breaks),
        setup: crate::workloads::named(workload),
    };
    vec![Entry {
        model: Box::new(TwoPhaseLocking { bug: None }),
        title: "2PL + 2PC",
        source: "Bernstein, Hadzilacos & Goodman 1987, chapters 3 and 7",
        summary: "Strict two-phase locking without waiting, with two-phase commit",
        promises: &[Property::Level(Level::StrictSerializable)],
        mutants: vec![
            mutant(
                Bug::ShortReadLocks,
                "gives shared locks back at once",
                Level::Serializable,
                "write-skew/1",
            ),
            mutant(
                Bug::IgnoresVotes,
                "commits although a site voted no",
                Level::Serializable,
                "write-skew/1",
            ),
            mutant(
                Bug::ReleasesWithVote,
                "gives exclusive locks back with the vote",
                Level::ReadAtomic,
                "fractured-read/1",
            ),
            mutant(
                Bug::SharedDoNotBlock,
                "takes exclusive locks although others hold shared ones",
                Level::Serializable,
                "lost-update/1",
            ),
            mutant(
                Bug::InstallsWithVote,
                "installs with the vote, and does not undo it after an abort",
                Level::ReadCommitted,
                "dirty-read/1",
            ),
        ],
    }]
}
