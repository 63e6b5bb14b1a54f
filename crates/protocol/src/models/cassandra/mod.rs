//! Cassandra without transactions: replicated registers, the last writer wins.
//!
//! Promises nothing to transactions. A transaction here is a sequence of single operations, each
//! independent of the others. With transactions of one operation each, the session guarantees can
//! be asked for; explored, these hold:
//!
//! | | read your writes | monotonic reads | monotonic writes | writes follow reads |
//! |---|---|---|---|---|
//! | ONE | no | no | yes | yes |
//! | QUORUM | yes | no | yes | yes |
//! | QUORUM with read repair | yes | yes | yes | yes |
//! | ALL | yes | yes | yes | yes |
//!
//! Sources: Lakshman, Malik, "Cassandra: a decentralized structured storage system", LADIS 2009;
//! Liu, Rahman, Skeirik, Gupta, Meseguer, ICFEM 2014.
//!
//! 1. The client's site coordinates each operation and answers the client as soon as enough
//!    replicas of the key have answered: one, more than half, or all.
//! 2. A write goes to all replicas, with a timestamp of its coordinator. A replica keeps the newest
//!    version it ever got and says that it has the write, also if it keeps a newer one.
//! 3. A read goes to as many replicas as must answer, any of them, but always to the coordinator
//!    itself if it is one. The newest version is the answer.
//! 4. With read repair, a coordinator that got different versions first brings the newest to those
//!    that sent older ones, and answers when they have it.
//!
//! Where this differs: clocks are logical and follow everything a site saw, which stands for clocks
//! that differ by less than a message takes (CAT's model has one clock for all; a seeded bug lets
//! clocks go their own ways). Hinted handoff, repair in the background, the ring and digests are
//! left out; without failures they change no answer that is not already possible.

mod coordinator;
mod entries;

pub(crate) use entries::entries;

use crate::context::Context;
use crate::id::{Key, Site, SiteSet, Txn, Version};
use crate::protocol::{Input, Protocol, Symmetry, VersionOrder};
use crate::setup::Setup;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many replicas must answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enough {
    /// One.
    One,
    /// More than half.
    Quorum,
    /// All.
    All,
}

/// A seeded bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// One answer is enough for a read.
    ReadsOne,
    /// One answer is enough for a write.
    WritesOne,
    /// A read is answered by the oldest version that came.
    Oldest,
    /// A replica keeps what came last instead of what is newest.
    LastArrival,
    /// A clock follows only the writes of its own site.
    OwnClock,
    /// A clock runs backwards.
    Backwards,
    /// Read repair is not waited for.
    HastyRepair,
}

/// A level of consistency.
#[derive(Clone, Debug)]
pub struct Cassandra {
    /// The name.
    pub name: Cow<'static, str>,
    /// How many replicas must answer.
    pub enough: Enough,
    /// Whether stale replicas are brought up to date before a read is answered.
    pub repair: bool,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What a site knows, as a replica and as a coordinator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CassandraSite {
    clock: u16,
    store: BTreeMap<Key, Version>,
    running: BTreeMap<Txn, Running>,
}

/// A transaction at its coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Running {
    /// The place of its operation.
    place: u8,
    step: Step,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Step {
    /// What replicas answered to a read.
    Reading(BTreeMap<Site, Version>),
    /// Who has the write.
    Writing(SiteSet),
    /// Who is still to be repaired, and what the read found.
    Repairing(SiteSet, Version),
}

/// What sites say to each other, each about an operation of a transaction, by its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CassandraMessage {
    /// Asks for the version of a key.
    Read(Txn, u8, Key),
    /// The version.
    Value(Txn, u8, Version),
    /// Keep this version of the key.
    Write(Txn, u8, Key, Version),
    /// It is kept, or a newer one.
    Written(Txn, u8),
}

use CassandraMessage::{Read, Value, Write, Written};

impl Protocol for Cassandra {
    type Site = CassandraSite;
    type Message = CassandraMessage;

    fn name(&self) -> &str {
        &self.name
    }

    fn site(&self, _setup: &Setup, _site: Site) -> CassandraSite {
        CassandraSite::default()
    }

    fn start(&self, at: &mut CassandraSite, txn: Txn, context: &mut Context<'_, CassandraMessage>) {
        self.operation(at, txn, 0, context);
    }

    fn receive(
        &self,
        at: &mut CassandraSite,
        from: Site,
        message: CassandraMessage,
        context: &mut Context<'_, CassandraMessage>,
    ) {
        match message {
            Read(txn, place, key) => {
                let version = at.store.get(&key).copied().unwrap_or_default();
                context.send(from, Value(txn, place, version));
            }
            Value(txn, place, version) => self.value(at, from, (txn, place, version), context),
            Write(txn, place, key, version) => {
                self.see(at, version);
                let held = at.store.entry(key).or_default();
                if version > *held || self.bug == Some(Bug::LastArrival) {
                    *held = version;
                } else if version < *held {
                    context.rule("write: too late");
                }
                context.send(from, Written(txn, place));
            }
            Written(txn, place) => self.written(at, from, txn, place, context),
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        match self.repair {
            true => &["read", "write", "write: too late", "repair"],
            false => &["read", "write", "write: too late"],
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
        _site: Site,
        at: &CassandraSite,
        input: Input<'_, CassandraMessage>,
    ) -> bool {
        let Input::Message(from, message) = input else {
            return false;
        };
        let operation = |txn: &Txn, place: u8| {
            let running = at.running.get(txn).filter(|one| one.place == place)?;
            let op = setup.ops(*txn)[usize::from(place)];
            Some((op, &running.step))
        };
        match message {
            // One of several answers only ticks itself off.
            Written(txn, place) => match operation(txn, *place) {
                Some((op, Step::Writing(heard))) => {
                    let replicas = setup.replicas(op.key()).len();
                    heard.len() + 1 < self.needed(op, replicas)
                }
                Some((_, Step::Repairing(stale, _))) => stale.len() > 1 || !stale.contains(from),
                Some((_, Step::Reading(_))) | None => true,
            },
            _ => false,
        }
    }
}
