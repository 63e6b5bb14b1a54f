//! Walter: parallel snapshot isolation for replicated sites (Sovran, Power, Aguilera and Li,
//! SOSP 2011, figures 10 to 13).
//!
//! Each key has a preferred site. A version is named by the site that committed it and that
//! site's sequence number; a snapshot is a vector of sequence numbers, one a site, and sees the
//! versions whose numbers it covers.
//!
//! 1. **Start**: the snapshot is what is committed at the executing site.
//! 2. **Read** of a key held here: the latest version here that the snapshot sees. Of another
//!    key: the same at its preferred site, merged with what this site itself committed: a version
//!    may be committed here and not yet be known there.
//! 3. **Fast commit**, if all written keys are preferred here: if all are unlocked and unmodified
//!    since the snapshot, take the next number, append to the histories, answer the client.
//! 4. **Slow commit** otherwise: PREPARE to the preferred sites, which lock what is unlocked and
//!    unmodified and vote. All yes: as a fast commit. Otherwise ABORT to those that voted yes.
//! 5. **Propagation**: PROPAGATE to all; a site applies it when it has got the snapshot and the
//!    sender's previous one, and acknowledges. When for each key the preferred site and f+1
//!    replicas have it, it is disaster-safe: DS-DURABLE to all.
//! 6. **Visibility**: a site that has got it, has committed its snapshot and the sender's previous
//!    one, commits it: new snapshots see it, its locks are released, VISIBLE goes back.
//!
//! Where the model differs: f = 0 unless set; the merge is done at the preferred site, to which a
//! read takes along the latest version of the own history, with the same outcome; a site forgets
//! its own versions of keys it does not hold once they are disaster-safe; DS-DURABLE that overtakes
//! PROPAGATE waits for it (channels of the paper are in order). Counting sets are left out. CAT's
//! model compares a missing entry of a vector as unequal to 0, and does not merge: see
//! [`Walter::merges`]. A crash loses nothing: the paper logs to a replicated disk.
//!
//! The order of a key's versions is the order of commits: the lock at the preferred site is held
//! until the version is there.

mod execute;
mod spread;
mod variants;

pub(crate) use variants::entries;

use self::execute::{advance, end_abort};
use self::spread::end_spread;

use crate::context::Context;
use crate::id::{Key, Site, SiteSet, Txn, Version};
use crate::protocol::{Input, Protocol, Symmetry};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol, as published or changed.
#[derive(Clone, Copy, Debug)]
pub struct Walter {
    /// The name.
    pub name: &'static str,
    /// Keys have all their replicas, not only the preferred one.
    pub replicates: bool,
    /// A remote read is merged with what the executing site committed itself.
    pub merges: bool,
    /// How many sites may be lost in a disaster: f.
    pub disasters: u8,
    /// A seeded bug.
    pub bug: Option<Bug>,
}

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A slow commit goes on although a site voted no.
    IgnoreVotes,
    /// Whether a key was modified since the snapshot is not checked.
    SkipModified,
    /// A prepare does not lock.
    SkipLocks,
    /// A read returns the latest version, whatever the snapshot.
    ReadLatest,
    /// A transaction becomes visible at a site that does not have its snapshot.
    SkipCausal,
    /// A transaction is declared disaster-safe at once and becomes visible before it is got.
    DurableEarly,
}

/// Per site a sequence number; a missing one is 0.
pub type Vector = BTreeMap<Site, u16>;

/// What a site knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// What new snapshots see.
    committed: Vector,
    /// What was applied here.
    got: Vector,
    history: BTreeMap<Key, Vec<Version>>,
    locks: BTreeMap<Key, Txn>,
    running: BTreeMap<Txn, Running>,
    /// Own transactions that are not yet visible everywhere.
    spreading: BTreeMap<Txn, Spreading>,
    /// Propagated, and not ready to be applied.
    early: BTreeMap<Txn, Update>,
    /// Disaster-safe, and not ready to be visible here.
    durable: BTreeMap<Txn, Update>,
}

/// A transaction that is being executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Running {
    snapshot: Vector,
    phase: Phase,
}

/// How far it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// The next operation is this one; if it is a remote read, its answer is awaited.
    Operation(u8),
    /// Votes are awaited.
    Voting {
        /// From which sites.
        awaited: SiteSet,
        /// Which sites voted yes.
        yes: SiteSet,
    },
    /// Acknowledgements of the abort are awaited.
    Aborting {
        /// From which sites.
        awaited: SiteSet,
    },
}

/// A committed transaction on its way to the other sites.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Spreading {
    /// Not disaster-safe: which sites have it.
    Copied(Update, SiteSet),
    /// Disaster-safe: where it is not known to be visible.
    Durable(SiteSet),
}

/// A committed transaction, as told to other sites.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Update {
    number: u16,
    snapshot: Vector,
}

/// What sites tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Reads the key for a snapshot; with the sender's own latest version.
    Read(Txn, Key, Vector, Version),
    /// The answer.
    Answer(Txn, Key, Version),
    /// Asks for a vote.
    Prepare(Txn, Vector),
    /// The vote.
    Vote(Txn, bool),
    /// Releases the locks.
    Abort(Txn),
    /// They are released.
    Aborted(Txn),
    /// The transaction is committed at the sender.
    Propagate(Txn, Update),
    /// It is applied here.
    Applied(Txn),
    /// It is disaster-safe.
    Durable(Txn, Update),
    /// It is visible here.
    Visible(Txn),
}

const RULES: &[&str] = &[
    "read here",
    "read at the preferred site",
    "read at the preferred site: the reader's own version is newer",
    "commit: read-only",
    "fast commit",
    "fast commit: abort",
    "prepare: yes",
    "prepare: no",
    "slow commit",
    "slow commit: abort",
    "propagate",
    "disaster-safe",
    "visible",
    "visible: too early",
    "visible everywhere",
];

/// Whether a snapshot sees a version.
fn sees(snapshot: &Vector, version: Version) -> bool {
    version.number <= at(snapshot, version.site)
}

fn at(vector: &Vector, site: Site) -> u16 {
    vector.get(&site).copied().unwrap_or(0)
}

/// Whether everything that `part` sees, `whole` sees.
fn covers(whole: &Vector, part: &Vector) -> bool {
    part.iter()
        .all(|(site, number)| *number <= at(whole, *site))
}

impl Server {
    /// The latest version of a key here that a snapshot sees.
    fn latest(&self, key: Key, snapshot: &Vector) -> Version {
        let versions = self.history.get(&key).map_or(&[][..], Vec::as_slice);
        let seen = versions.iter().rev().find(|v| sees(snapshot, **v));
        seen.copied().unwrap_or(Version::INITIAL)
    }

    fn unmodified(&self, key: Key, snapshot: &Vector) -> bool {
        let versions = self.history.get(&key);
        versions.is_none_or(|versions| versions.iter().all(|v| sees(snapshot, *v)))
    }

    fn knows(&self, key: Key, version: Version) -> bool {
        let versions = self.history.get(&key);
        version.is_initial() || versions.is_some_and(|versions| versions.contains(&version))
    }

    fn release(&mut self, txn: Txn) {
        self.locks.retain(|_, owner| *owner != txn);
    }
}

impl Protocol for Walter {
    type Site = Server;
    type Message = Message;

    fn name(&self) -> &str {
        self.name
    }

    fn rules(&self) -> &'static [&'static str] {
        RULES
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Server {
        Server::default()
    }

    fn start(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let running = Running {
            snapshot: server.committed.clone(),
            phase: Phase::Operation(0),
        };
        server.running.insert(txn, running);
        self.execute(server, txn, ctx);
    }

    fn receive(
        &self,
        server: &mut Server,
        from: Site,
        message: Message,
        ctx: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Read(txn, key, snapshot, own) => {
                let merged = if server.knows(key, own) {
                    ctx.rule("read at the preferred site");
                    self.look(server, key, &snapshot)
                } else {
                    ctx.rule("read at the preferred site: the reader's own version is newer");
                    own
                };
                ctx.send(from, Message::Answer(txn, key, merged));
            }
            Message::Answer(txn, key, version) => {
                if let Some(running) = server.running.get(&txn)
                    && let Phase::Operation(place) = running.phase
                    && ctx.setup.ops(txn).get(usize::from(place)) == Some(&Op::Read(key))
                {
                    ctx.read(txn, key, version);
                    advance(server, txn, place);
                    self.execute(server, txn, ctx);
                }
            }
            Message::Prepare(txn, snapshot) => self.prepare(server, from, txn, &snapshot, ctx),
            Message::Vote(txn, vote) => self.count_vote(server, from, txn, vote, ctx),
            Message::Abort(txn) => {
                server.release(txn);
                ctx.send(from, Message::Aborted(txn));
            }
            Message::Aborted(txn) => {
                let running = server.running.get_mut(&txn);
                if let Some(Phase::Aborting { awaited }) = running.map(|r| &mut r.phase) {
                    awaited.remove(from);
                    end_abort(server, txn, ctx);
                }
            }
            Message::Propagate(txn, update) => {
                if update.number > at(&server.got, from) {
                    server.early.insert(txn, update);
                    self.catch_up(server, ctx);
                }
            }
            Message::Applied(txn) => {
                if let Some(Spreading::Copied(_, copies)) = server.spreading.get_mut(&txn) {
                    copies.insert(from);
                    self.spread(server, txn, ctx);
                }
            }
            Message::Durable(txn, update) => {
                if update.number > at(&server.committed, from) {
                    if !self.may_show(server, ctx.setup, txn, &update) {
                        ctx.rule("visible: too early");
                    }
                    server.durable.insert(txn, update);
                    self.catch_up(server, ctx);
                }
            }
            Message::Visible(txn) => {
                if let Some(Spreading::Durable(awaited)) = server.spreading.get_mut(&txn) {
                    awaited.remove(from);
                    end_spread(server, txn, ctx);
                }
            }
        }
    }

    /// Sites and keys are compared with nothing but themselves.
    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: true,
            keys: true,
        }
    }

    /// What only counts: acknowledgements and votes. What nobody can see yet: a propagated version
    /// is behind a lock here or outside of all snapshots here. What depends on a snapshot alone:
    /// the answer to a read, as all that the snapshot sees is here or came along.
    fn commutes(
        &self,
        setup: &Setup,
        site: Site,
        server: &Server,
        input: Input<'_, Message>,
    ) -> bool {
        let Input::Message(_, message) = input else {
            return false;
        };
        let sound = self.bug.is_none() && self.merges;
        match message {
            Message::Applied(_) | Message::Visible(_) => true,
            Message::Read(..) => sound,
            // One that a reader at its own site may have to bring along is left to the merge.
            Message::Propagate(txn, _) => {
                let mut writes = setup.writes(*txn).iter();
                let away = |key| {
                    setup.preferred(key) == site && !self.holds(setup, setup.proxy(*txn), key)
                };
                sound && server.durable.is_empty() && !writes.any(away)
            }
            // The last vote may take the next number of the site.
            Message::Vote(txn, _) | Message::Aborted(txn) => {
                let running = server.running.get(txn);
                running.is_some_and(|running| match running.phase {
                    Phase::Voting { awaited, .. } | Phase::Aborting { awaited } => {
                        awaited.len() > 1
                    }
                    Phase::Operation(_) => false,
                })
            }
            // If it ends the reads, the transaction commits or locks, but not here.
            Message::Answer(txn, ..) => {
                let mut writes = setup.writes(*txn).iter();
                sound && writes.all(|key| setup.preferred(key) != site)
            }
            Message::Prepare(..) | Message::Abort(_) | Message::Durable(..) => false,
        }
    }
}
