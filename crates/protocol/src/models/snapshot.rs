//! Snapshot isolation at a single site: multiversion concurrency control with first committer wins.
//!
//! The first site is the database; what the setup says about placement does not matter. Clients at
//! other sites reach it by messages; requests of its own clients wait until it gets to them.
//!
//! 1. *Snapshot.* With a transaction's first request the database notes how many transactions
//!    have committed so far.
//! 2. *Read.* A read returns the last version of the key that was committed within that number.
//! 3. *Commit.* Writes are kept by the client until the end. If a written key has a version that
//!    is not in the snapshot, the transaction aborts; otherwise its versions are installed all at
//!    once. A transaction that wrote nothing commits.
//!
//! As the snapshot is taken after the transaction began, and its client is told after its versions
//! are there, real time is respected: strong snapshot isolation.
//!
//! **Source.** Berenson et al., "A critique of ANSI SQL isolation levels", SIGMOD 1995, section 4.2.
//!
//! **Abstracted away.** Garbage collection, and locks that let the second updater wait instead of
//! the second committer abort. Everything survives a crash.

use super::buffered::Buffered;
use crate::catalogue::{Entry, Mutant};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::protocol::{Protocol, Symmetry};
use crate::question::Property;
use crate::setup::Setup;
use history::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The site of the database.
const DATABASE: Site = Site(0);

/// What a mutant does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Does not look whether a written key was overwritten since the snapshot.
    NoWriteCheck,
    /// Reads the last version, not that of the snapshot.
    ReadsLatest,
    /// Installs versions before it looks for conflicts, and leaves them there.
    InstallsFirst,
    /// Takes a snapshot that is one transaction old.
    OldSnapshot,
    /// Looks for conflicts on the first written key only.
    ChecksOneKey,
}

/// The protocol.
pub struct Snapshot {
    /// What is wrong with it, if anything.
    pub bug: Option<Bug>,
}

/// A site: its clients, and at the first one the database.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    clients: BTreeMap<Txn, Buffered>,
    /// Versions made by clients here so far.
    made: u16,
    /// How many transactions have committed.
    commits: u16,
    /// Versions of each key, with the number of the commit.
    versions: BTreeMap<Key, Vec<(u16, Version)>>,
    snapshots: BTreeMap<Txn, u16>,
    /// Requests of clients at this site.
    requests: BTreeMap<Txn, Request>,
}

/// What a client asks of the database.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Request {
    /// The version of a key.
    Read(Key),
    /// To write this version of these keys and commit.
    Commit(KeySet, Version),
}

/// What sites send each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// A request.
    Ask(Txn, Request),
    /// The version of a key.
    Value(Txn, Key, Version),
    /// How it ended: whether it committed.
    Ended(Txn, bool),
}

impl Snapshot {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn go_on(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        let request = match client.next_read(context.setup(), txn) {
            Some(key) => Request::Read(key),
            None => {
                at.made += 1;
                let version = Version::new(at.made, context.here());
                for key in client.writes.iter() {
                    context.write(txn, key, version);
                }
                Request::Commit(client.writes, version)
            }
        };
        context.send(DATABASE, Message::Ask(txn, request));
    }

    /// The database does what it was asked.
    fn answer(
        &self,
        at: &mut Place,
        txn: Txn,
        request: Request,
        context: &mut Context<'_, Message>,
    ) {
        let client = context.setup().proxy(txn);
        let old = u16::from(self.has(Bug::OldSnapshot));
        let now = at.commits.saturating_sub(old);
        let snapshot = *at.snapshots.entry(txn).or_insert(now);
        match request {
            Request::Read(key) => {
                let limit = if self.has(Bug::ReadsLatest) {
                    at.commits
                } else {
                    snapshot
                };
                let versions = at.versions.get(&key).map_or(&[][..], Vec::as_slice);
                let seen = versions.iter().rev().find(|(commit, _)| *commit <= limit);
                let newest = versions.last().is_none_or(|last| last.0 <= limit);
                context.rule(if newest {
                    "read: the last version"
                } else {
                    "read: an older version"
                });
                let version = seen.map_or(Version::INITIAL, |(_, version)| *version);
                context.send(client, Message::Value(txn, key, version));
            }
            Request::Commit(keys, version) => {
                at.snapshots.remove(&txn);
                let committed = self.commit(at, keys, version, snapshot, context);
                context.send(client, Message::Ended(txn, committed));
            }
        }
    }

    fn commit(
        &self,
        at: &mut Place,
        keys: KeySet,
        version: Version,
        snapshot: u16,
        context: &mut Context<'_, Message>,
    ) -> bool {
        if keys.is_empty() {
            context.rule("commit: read only");
            return true;
        }
        let overwritten = |key: &Key| {
            let last = at.versions.get(key).and_then(|versions| versions.last());
            last.is_some_and(|(commit, _)| *commit > snapshot)
        };
        let checked = if self.has(Bug::ChecksOneKey) {
            1
        } else {
            keys.len()
        };
        let conflict = keys.iter().take(checked).any(|key| overwritten(&key));
        let conflict = conflict && !self.has(Bug::NoWriteCheck);
        if !conflict || self.has(Bug::InstallsFirst) {
            at.commits += 1;
            for key in keys.iter() {
                let versions = at.versions.entry(key).or_default();
                versions.push((at.commits, version));
                context.install(key, version);
            }
        }
        context.rule(if conflict {
            "abort: overwritten since the snapshot"
        } else {
            "commit"
        });
        !conflict
    }
}

impl Protocol for Snapshot {
    type Site = Place;
    type Message = Message;

    fn name(&self) -> &str {
        match self.bug {
            None => "si",
            Some(Bug::NoWriteCheck) => "si/no-write-check",
            Some(Bug::ReadsLatest) => "si/reads-latest",
            Some(Bug::InstallsFirst) => "si/installs-first",
            Some(Bug::OldSnapshot) => "si/old-snapshot",
            Some(Bug::ChecksOneKey) => "si/checks-one-key",
        }
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Place {
        Place::default()
    }

    fn start(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        at.clients.insert(txn, Buffered::default());
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
            Message::Ask(txn, request) if from == context.here() => {
                at.requests.insert(txn, request);
            }
            Message::Ask(txn, request) => self.answer(at, txn, request, context),
            Message::Value(txn, key, version) => {
                if let Some(client) = at.clients.get_mut(&txn) {
                    client.reads.insert(key, version);
                }
                context.read(txn, key, version);
                self.go_on(at, txn, context);
            }
            Message::Ended(txn, committed) => {
                at.clients.remove(&txn);
                if committed {
                    context.commit(txn);
                } else {
                    context.abort(txn);
                }
            }
        }
    }

    fn steps(&self, _setup: &Setup, _site: Site, at: &Place) -> usize {
        at.requests.len()
    }

    fn step(&self, at: &mut Place, step: usize, context: &mut Context<'_, Message>) {
        let request = at
            .requests
            .iter()
            .nth(step)
            .map(|(txn, request)| (*txn, *request));
        if let Some((txn, request)) = request {
            at.requests.remove(&txn);
            self.answer(at, txn, request, context);
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &[
            "read: the last version",
            "read: an older version",
            "commit",
            "commit: read only",
            "abort: overwritten since the snapshot",
        ]
    }

    fn symmetry(&self) -> Symmetry {
        // The mutant that looks at one key takes the first one.
        Symmetry {
            sites: false,
            keys: self.bug != Some(Bug::ChecksOneKey),
        }
    }
}

/// The entry of the catalogue.
pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |bug: Bug, what: &'static str, breaks: Level, workload: &str| Mutant {
        model: Box::new(Snapshot { bug: Some(bug) }),
        what,
        breaks: Property::Level(breaks),
        setup: crate::workloads::named(workload),
    };
    let snapshot = Level::SnapshotIsolation;
    vec![Entry {
        model: Box::new(Snapshot { bug: None }),
        title: "SI, one site",
        source: "Berenson et al., SIGMOD 1995",
        summary: "Multiversion concurrency control at one site, the first committer wins",
        promises: &[Property::Level(Level::StrongSnapshotIsolation)],
        mutants: vec![
            mutant(
                Bug::NoWriteCheck,
                "does not look for overwritten keys",
                snapshot,
                "lost-update/1",
            ),
            mutant(
                Bug::ReadsLatest,
                "reads the last version, not the snapshot's",
                snapshot,
                "fractured-read/1",
            ),
            mutant(
                Bug::InstallsFirst,
                "installs before it looks for conflicts",
                Level::ReadCommitted,
                "three-updates/1",
            ),
            mutant(
                Bug::OldSnapshot,
                "takes a snapshot that is one transaction old",
                Level::StrongSnapshotIsolation,
                "stale-read/1",
            ),
            mutant(
                Bug::ChecksOneKey,
                "looks for conflicts on one key only",
                snapshot,
                "update-both/1",
            ),
        ],
    }]
}
