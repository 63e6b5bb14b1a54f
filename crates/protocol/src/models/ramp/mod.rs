//! RAMP: read atomic transactions that never wait for each other and never abort.
//!
//! Promises read atomicity: who sees one write of a transaction sees all of them, or later ones.
//! Source: Bailis, Fekete, Ghodsi, Hellerstein, Stoica, "Scalable atomic visibility with RAMP
//! transactions", SIGMOD 2014 and TODS 41(3), 2016, algorithms 1 to 3. Variants: the same, and Liu,
//! Ölveczky, Ganhotra, Gupta, Meseguer, ICFEM 2017.
//!
//! Writing, at the proxy of the transaction (proxy.rs):
//! 1. It makes a timestamp: the version of every key written. PREPARE(key, version, metadata) goes
//!    to every replica of every key. Metadata: the transaction's keys (Fast), nothing (Small), a
//!    Bloom filter of the keys (Hybrid).
//! 2. A server keeps the version, shows it to nobody, and answers PREPARED.
//! 3. All are prepared: COMMIT to every server. A server (server.rs) makes the version the key's
//!    committed one unless that is newer, and answers COMMITTED.
//! 4. All have answered: the transaction has committed.
//!
//! Reading, all keys at once:
//! 1. GET(key): the committed version and its metadata.
//! 2. Where the answers show that a newer version of a key belongs to what was read of another, a
//!    second GET asks for it by its timestamp: the newest that the metadata tell of (Fast), the
//!    newest among those that may be (Hybrid), the newest among all timestamps seen (Small, which
//!    always asks twice). It is there: what is committed anywhere is prepared everywhere.
//! 3. A transaction that also writes then does so.
//!
//! Variants: `+1pw` answers the client when all is prepared and commits afterwards; `+fc` lets a
//! server that is asked for a version by its timestamp take it for committed, which it is
//! elsewhere; `-2pc` commits each version as soon as it is prepared, without waiting for the
//! others; `faster` commits it on arrival, in one round trip. The last two lose read atomicity. In
//! `faster+fc` nothing is left to be detected: who has a version has committed it.
//!
//! Replication, which RAMP leaves to others: each key is prepared and committed at all its replicas
//! and read at one, that of the proxy if it has one. The second step of a read works at any
//! replica for the same reason as at a single one.
//!
//! Where this differs from the paper and from CAT's model:
//! - A timestamp is greater than those of all versions the transaction read. The paper has no
//!   transactions that read and write; CAT counts at each site alone, so that a transaction can
//!   overwrite what it read with an older version (`ramp-f/own-clock`).
//! - A version that is not there (`-2pc`, `faster`, false positives of a Bloom filter) leaves what
//!   the first round read; CAT's servers answer with the initial version.
//! - The published models of `-2pc` have no public source; this is our reading of the name, in
//!   which it differs from `faster`.
//! - The metadata name all keys of the transaction, its own included, which changes nothing.
//! - A Bloom filter is any superset of the keys, chosen by the writer: a filter gives every reader
//!   the same answer.
//! - A site's own transactions run side by side. Servers lose nothing in a crash, and no one
//!   finishes the work of a proxy that is gone. Old versions are never dropped.

mod entries;
mod proxy;
mod server;

pub(crate) use entries::entries;

use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::models::waiting::only;
use crate::protocol::{Input, Protocol, Symmetry, VersionOrder};
use crate::setup::Setup;
use proxy::Running;
use serde::{Deserialize, Serialize};
use server::Stored;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What is told of a transaction with each of its versions, and how readers use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// The keys of the transaction.
    Fast,
    /// Nothing; readers go by timestamps.
    Small,
    /// A Bloom filter of the keys.
    Hybrid,
}

/// How the writes of a transaction become visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// Prepared everywhere, then committed.
    TwoPhase,
    /// The same, but the client is answered when all is prepared.
    OnePhase,
    /// Each committed when it is prepared.
    Alone,
    /// Each committed when it arrives.
    AtOnce,
}

/// A seeded bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Readers are content with their first answers.
    NoSecondRound,
    /// Versions carry no metadata.
    NoMetadata,
    /// COMMIT goes out when the first server has prepared.
    EarlyCommit,
    /// COMMIT goes out when one replica of each key has prepared.
    OneReplica,
    /// A server asked for a version answers with the committed one.
    WrongVersion,
    /// A server asked for the newest of several versions answers with the oldest.
    OldestVersion,
    /// A server shows versions that are only prepared.
    ShowsPrepared,
    /// Timestamps do not follow what the transaction read.
    OwnClock,
    /// Each write of a transaction has a timestamp of its own.
    ManyTimestamps,
}

/// A member of the family.
#[derive(Clone, Debug)]
pub struct Ramp {
    /// The name.
    pub name: Cow<'static, str>,
    /// How it reads.
    pub reads: Reads,
    /// How it writes.
    pub writes: Writes,
    /// Whether a server takes a version it is asked for as committed.
    pub fast_commit: bool,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What a site knows, as a server and as a proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RampSite {
    /// The number of the last timestamp made here.
    clock: u16,
    /// The keys that were written; all others have their initial version only.
    store: BTreeMap<Key, Stored>,
    /// The transactions at work here.
    running: BTreeMap<Txn, Running>,
}

/// What sites say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RampMessage {
    /// Asks for the committed version.
    Get(Txn, Key),
    /// The committed version and its metadata.
    First(Txn, Key, Version, KeySet),
    /// Asks for the newest version of those named.
    GetAmong(Txn, Key, Vec<Version>),
    /// That version, if there is one.
    Second(Txn, Key, Option<Version>),
    /// Keep this version and its metadata.
    Prepare(Txn, Key, Version, KeySet),
    /// It is kept.
    Prepared(Txn, Key),
    /// Show the version of these keys.
    Commit(Txn, KeySet, Version),
    /// They are shown.
    Committed(Txn, KeySet),
}

impl Protocol for Ramp {
    type Site = RampSite;
    type Message = RampMessage;

    fn name(&self) -> &str {
        &self.name
    }

    fn site(&self, _setup: &Setup, _site: Site) -> RampSite {
        RampSite {
            clock: 0,
            store: BTreeMap::new(),
            running: BTreeMap::new(),
        }
    }

    fn start(&self, at: &mut RampSite, txn: Txn, context: &mut Context<'_, RampMessage>) {
        self.begin(at, txn, context);
    }

    fn receive(
        &self,
        at: &mut RampSite,
        from: Site,
        message: RampMessage,
        context: &mut Context<'_, RampMessage>,
    ) {
        use RampMessage::*;
        match message {
            Get(txn, key) => self.get(at, from, txn, key, context),
            First(txn, key, version, keys) => {
                self.first(at, from, txn, (key, version, keys), context);
            }
            GetAmong(txn, key, among) => self.get_among(at, from, txn, key, &among, context),
            Second(txn, key, version) => self.second(at, from, txn, key, version, context),
            Prepare(txn, key, version, keys) => {
                self.prepare(at, from, txn, (key, version, keys), context);
            }
            Prepared(txn, key) => self.prepared(at, from, txn, key, context),
            Commit(txn, keys, version) => self.commit(at, from, txn, keys, version, context),
            Committed(txn, keys) => self.committed(at, from, txn, keys, context),
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.bug.is_some() {
            return ALL_RULES;
        }
        match (self.reads, self.writes, self.fast_commit) {
            (Reads::Hybrid, ..) => &[
                "write",
                "prepare",
                "commit",
                "read: first round is enough",
                "read: second round",
                "second read: false positive",
            ],
            (Reads::Small, ..) => &["write", "prepare", "commit", "read: second round"],
            (Reads::Fast, Writes::TwoPhase, true) => &[
                "write",
                "prepare",
                "commit",
                "read: first round is enough",
                "read: second round",
                "second read: taken for committed",
            ],
            (Reads::Fast, Writes::TwoPhase | Writes::OnePhase, _) => &[
                "write",
                "prepare",
                "commit",
                "read: first round is enough",
                "read: second round",
            ],
            (Reads::Fast, Writes::Alone, _) => &[
                "write",
                "prepare",
                "commit",
                "read: first round is enough",
                "read: second round",
                "second read: not there yet",
            ],
            (Reads::Fast, Writes::AtOnce, _) => &[
                "write",
                "commit",
                "read: first round is enough",
                "read: second round",
                "second read: not there yet",
            ],
        }
    }

    fn version_order(&self) -> VersionOrder {
        VersionOrder::Compared
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: false,
            keys: true,
        }
    }

    fn commutes(
        &self,
        setup: &Setup,
        site: Site,
        at: &RampSite,
        input: Input<'_, RampMessage>,
    ) -> bool {
        let Input::Message(from, message) = input else {
            return false;
        };
        if self.bug.is_some() {
            return false;
        }
        let two_phase = matches!(self.writes, Writes::TwoPhase | Writes::OnePhase);
        match message {
            // Nobody can ask for the version before all its transaction's are prepared.
            RampMessage::Prepare(..) => two_phase,
            // What is asked for by its timestamp is there for good.
            RampMessage::GetAmong(..) => two_phase && !self.fast_commit,
            RampMessage::Commit(_, keys, version) => {
                keys.iter().all(|key| at.committed_version(key) >= *version)
            }
            // One of several answers only ticks itself off. The last PREPARED only sends, too,
            // if nothing of it is for this site.
            RampMessage::First(txn, key, ..) | RampMessage::Second(txn, key, _) => {
                !at.is_last(*txn, from, only(*key))
            }
            RampMessage::Prepared(txn, key) => match self.writes {
                Writes::Alone => from != site,
                _ => {
                    !at.is_last(*txn, from, only(*key))
                        || !setup.writes(*txn).iter().any(|key| setup.holds(site, key))
                }
            },
            RampMessage::Committed(txn, keys) => !at.is_last(*txn, from, *keys),
            RampMessage::Get(..) => false,
        }
    }
}

/// What any member can do.
const ALL_RULES: &[&str] = &[
    "write",
    "prepare",
    "commit",
    "read: first round is enough",
    "read: second round",
    "second read: not there yet",
    "second read: false positive",
    "second read: taken for committed",
];
