//! Percolator: snapshot isolation over sharded storage, by a timestamp oracle and locks in the data.
//!
//! The first site hands out timestamps. Every key lives at its preferred site; other replicas are
//! not used. A key has versions with commit timestamps, and maybe a lock.
//!
//! 1. *Start.* The client gets a start timestamp.
//! 2. *Read.* A read waits while the key is locked by a transaction with a smaller start timestamp,
//!    which may be about to commit before it; then it returns the last version committed before
//!    the start.
//! 3. *Prewrite.* Writes are kept until the end. Each key's site locks it and keeps the new
//!    version, unless the key is locked or has a version committed after the start: then the
//!    transaction aborts and takes its locks back.
//! 4. *Commit.* With all keys locked, the client gets a commit timestamp and commits the primary,
//!    which is the first key written: the lock becomes a version. That is the moment at which the
//!    transaction commits, and its client is told. The other keys follow.
//!
//! A transaction's start timestamp is taken after it began, so real time is respected too: strong
//! snapshot isolation.
//!
//! **Source.** Peng & Dabek, "Large-scale incremental processing using distributed transactions and
//! notifications", OSDI 2010, section 2.2.
//!
//! **Where the model differs.** All keys are prewritten at once, as TiKV does, not the primary first.
//! A reader waits for a lock and never takes it away: that is for clients that crashed, which do not
//! here. Everything survives a crash.

use super::buffered::Buffered;
use crate::catalogue::{Entry, Mutant};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::protocol::{Protocol, Symmetry};
use crate::question::Property;
use crate::setup::{Op, Setup};
use history::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The site that hands out timestamps.
const ORACLE: Site = Site(0);

/// What a mutant does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Reads do not wait for locks.
    IgnoresLocks,
    /// A prewrite does not look for newer versions.
    NoConflictCheck,
    /// The commit timestamp is taken before the keys are locked.
    EarlyTimestamp,
    /// Commits although a prewrite was refused.
    IgnoresRefusal,
    /// A prewrite takes the lock of another transaction away.
    StealsLocks,
}

/// The protocol.
pub struct Percolator {
    /// What is wrong with it, if anything.
    pub bug: Option<Bug>,
}

/// A site: its clients, its keys, and at the first one the oracle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// The last timestamp, at the oracle.
    clock: u16,
    clients: BTreeMap<Txn, Client>,
    keys: BTreeMap<Key, Item>,
}

/// A transaction at its client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    ops: Buffered,
    start: u16,
    commit: u16,
    /// Keys whose prewrite was not answered.
    awaited: KeySet,
    /// Keys that were locked.
    locked: KeySet,
    refused: bool,
}

/// A key at its site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Item {
    /// Versions by commit timestamp.
    versions: BTreeMap<u16, Version>,
    /// The start timestamp of who holds it, and its version.
    lock: Option<(u16, Version)>,
    /// Reads that wait for the lock, with their start timestamps.
    waiting: BTreeMap<Txn, u16>,
}

/// What sites send each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Asks the oracle for a timestamp.
    Tick(Txn),
    /// A timestamp.
    Time(Txn, u16),
    /// Reads a key as of a timestamp.
    Get(Txn, Key, u16),
    /// The version read.
    Value(Txn, Key, Version),
    /// Locks a key for the transaction that started then, to write this version.
    Prewrite(Txn, Key, u16, Version),
    /// Whether it was locked.
    Locked(Txn, Key, bool),
    /// Makes the lock of the transaction that started first a version committed second.
    Commit(Txn, Key, u16, u16),
    /// Says that the primary is committed.
    Committed(Txn),
    /// Takes back the lock of the transaction that started then.
    Rollback(Key, u16),
}

impl Percolator {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn go_on(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        if let Some(key) = client.ops.next_read(context.setup(), txn) {
            let site = context.setup().preferred(key);
            context.send(site, Message::Get(txn, key, client.start));
            return;
        }
        let written = client.ops.writes;
        if written.is_empty() {
            context.rule("commit: read only");
            context.commit(txn);
            at.clients.remove(&txn);
        } else if self.has(Bug::EarlyTimestamp) && client.commit == 0 {
            context.send(ORACLE, Message::Tick(txn));
        } else {
            client.awaited = written;
            let version = Version::new(client.start, context.here());
            for key in written.iter() {
                context.write(txn, key, version);
                let site = context.setup().preferred(key);
                context.send(site, Message::Prewrite(txn, key, client.start, version));
            }
        }
    }

    /// A timestamp arrives: the start, or the commit.
    fn time(&self, at: &mut Place, txn: Txn, time: u16, context: &mut Context<'_, Message>) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        if client.start == 0 {
            client.start = time;
            return self.go_on(at, txn, context);
        }
        client.commit = time;
        if client.locked.is_empty() {
            return self.go_on(at, txn, context);
        }
        self.commit_primary(client, txn, context);
    }

    fn commit_primary(&self, client: &Client, txn: Txn, context: &mut Context<'_, Message>) {
        let primary = primary(context.setup(), txn);
        let site = context.setup().preferred(primary);
        context.send(
            site,
            Message::Commit(txn, primary, client.start, client.commit),
        );
    }

    /// A prewrite was answered.
    fn locked(
        &self,
        at: &mut Place,
        txn: Txn,
        key: Key,
        yes: bool,
        context: &mut Context<'_, Message>,
    ) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        client.awaited.remove(key);
        if yes {
            client.locked.insert(key);
        }
        client.refused |= !yes && !self.has(Bug::IgnoresRefusal);
        if !client.awaited.is_empty() {
            return;
        }
        if client.refused {
            context.rule("abort");
            context.abort(txn);
            for key in client.locked.iter() {
                let site = context.setup().preferred(key);
                context.send(site, Message::Rollback(key, client.start));
            }
            at.clients.remove(&txn);
        } else if self.has(Bug::EarlyTimestamp) {
            self.commit_primary(client, txn, context);
        } else {
            client.locked = client.ops.writes;
            context.send(ORACLE, Message::Tick(txn));
        }
    }

    fn get(
        &self,
        at: &mut Place,
        txn: Txn,
        key: Key,
        start: u16,
        context: &mut Context<'_, Message>,
    ) {
        let item = at.keys.entry(key).or_default();
        let locked = item.lock.is_some_and(|(other, _)| other < start);
        if locked && !self.has(Bug::IgnoresLocks) {
            context.rule("read: wait for a lock");
            item.waiting.insert(txn, start);
            return;
        }
        let seen = item.versions.range(..start).next_back();
        context.rule(if item.versions.range(start..).next().is_none() {
            "read: the last version"
        } else {
            "read: an older version"
        });
        let version = seen.map_or(Version::INITIAL, |(_, version)| *version);
        let client = context.setup().proxy(txn);
        context.send(client, Message::Value(txn, key, version));
    }

    fn prewrite(&self, at: &mut Place, key: Key, start: u16, version: Version) -> &'static str {
        let item = at.keys.entry(key).or_default();
        let newer = item.versions.range(start..).next().is_some();
        if newer && !self.has(Bug::NoConflictCheck) {
            return "prewrite: refused, newer version";
        }
        if item.lock.is_some() && !self.has(Bug::StealsLocks) {
            return "prewrite: refused, locked";
        }
        item.lock = Some((start, version));
        "prewrite: locked"
    }

    /// The lock goes; who waited for it reads.
    fn unlock(&self, at: &mut Place, key: Key, context: &mut Context<'_, Message>) {
        let item = at.keys.entry(key).or_default();
        item.lock = None;
        for (txn, start) in std::mem::take(&mut item.waiting) {
            self.get(at, txn, key, start, context);
        }
    }

    fn commit_key(
        &self,
        at: &mut Place,
        key: Key,
        start: u16,
        commit: u16,
        context: &mut Context<'_, Message>,
    ) {
        let item = at.keys.entry(key).or_default();
        if let Some((holder, version)) = item.lock
            && holder == start
        {
            item.versions.insert(commit, version);
            context.install(key, version);
            self.unlock(at, key, context);
        }
    }
}

/// The first key that a transaction writes.
fn primary(setup: &Setup, txn: Txn) -> Key {
    let write = |op: &&Op| matches!(op, Op::Write(_));
    let first = setup.ops(txn).iter().find(write);
    first.map_or(Key(0), |op| op.key())
}

impl Protocol for Percolator {
    type Site = Place;
    type Message = Message;

    fn name(&self) -> &str {
        match self.bug {
            None => "percolator",
            Some(Bug::IgnoresLocks) => "percolator/ignores-locks",
            Some(Bug::NoConflictCheck) => "percolator/no-conflict-check",
            Some(Bug::EarlyTimestamp) => "percolator/early-timestamp",
            Some(Bug::IgnoresRefusal) => "percolator/ignores-refusal",
            Some(Bug::StealsLocks) => "percolator/steals-locks",
        }
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Place {
        Place::default()
    }

    fn start(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        at.clients.insert(txn, Client::default());
        context.send(ORACLE, Message::Tick(txn));
    }

    fn receive(
        &self,
        at: &mut Place,
        from: Site,
        message: Message,
        context: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Tick(txn) => {
                at.clock += 1;
                context.send(from, Message::Time(txn, at.clock));
            }
            Message::Time(txn, time) => self.time(at, txn, time, context),
            Message::Get(txn, key, start) => self.get(at, txn, key, start, context),
            Message::Value(txn, key, version) => {
                if let Some(client) = at.clients.get_mut(&txn) {
                    client.ops.reads.insert(key, version);
                }
                context.read(txn, key, version);
                self.go_on(at, txn, context);
            }
            Message::Prewrite(txn, key, start, version) => {
                let rule = self.prewrite(at, key, start, version);
                context.rule(rule);
                let yes = rule == "prewrite: locked";
                context.send(from, Message::Locked(txn, key, yes));
            }
            Message::Locked(txn, key, yes) => self.locked(at, txn, key, yes, context),
            Message::Commit(txn, key, start, commit) => {
                self.commit_key(at, key, start, commit, context);
                if primary(context.setup(), txn) == key {
                    context.send(from, Message::Committed(txn));
                }
            }
            Message::Committed(txn) => {
                let Some(client) = at.clients.remove(&txn) else {
                    return;
                };
                context.rule("commit");
                context.commit(txn);
                let first = primary(context.setup(), txn);
                for key in client.ops.writes.iter().filter(|key| *key != first) {
                    let site = context.setup().preferred(key);
                    context.send(site, Message::Commit(txn, key, client.start, client.commit));
                }
            }
            Message::Rollback(key, start) => {
                let item = at.keys.entry(key).or_default();
                if item.lock.is_some_and(|(holder, _)| holder == start) {
                    self.unlock(at, key, context);
                }
            }
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &[
            "read: the last version",
            "read: an older version",
            "read: wait for a lock",
            "prewrite: locked",
            "prewrite: refused, locked",
            "prewrite: refused, newer version",
            "commit",
            "commit: read only",
            "abort",
        ]
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: false,
            keys: true,
        }
    }
}

/// The entry of the catalogue.
pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |bug: Bug, what: &'static str, workload: &str| Mutant {
        model: Box::new(Percolator { bug: Some(bug) }),
        what,
        breaks: Property::Level(Level::SnapshotIsolation),
        setup: crate::workloads::named(workload),
    };
    vec![Entry {
        model: Box::new(Percolator { bug: None }),
        title: "Percolator",
        source: "Peng & Dabek, OSDI 2010",
        summary: "Snapshot isolation by a timestamp oracle and locks in the data",
        promises: &[Property::Level(Level::StrongSnapshotIsolation)],
        mutants: vec![
            mutant(
                Bug::IgnoresLocks,
                "reads do not wait for locks",
                "fractured-read/1",
            ),
            mutant(
                Bug::NoConflictCheck,
                "a prewrite does not look for newer versions",
                "lost-update/1",
            ),
            mutant(
                Bug::EarlyTimestamp,
                "the commit timestamp is taken before the keys are locked",
                "fractured-read-reverse/1",
            ),
            mutant(
                Bug::IgnoresRefusal,
                "commits although a prewrite was refused",
                "update-both/1",
            ),
            mutant(
                Bug::StealsLocks,
                "a prewrite takes the lock of another transaction away",
                "update-both/1",
            ),
        ],
    }]
}
