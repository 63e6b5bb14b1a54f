//! ROLA: read atomic transactions that prevent lost updates.
//!
//! Promises update atomicity: read atomicity, and of two transactions that read the same version of
//! a key and write the key, one aborts. Source: Liu, Ölveczky, Santhanam, Wang, Gupta, Meseguer,
//! "ROLA: a new distributed transaction protocol and its formal analysis", FASE 2018.
//!
//! Reading is that of RAMP-Fast: the committed versions first, then by timestamp what their
//! metadata show to be missing. Writing:
//! 1. The proxy makes a timestamp, the version of every key written, and sends it to every replica
//!    of every key: PREPARE for a key that the transaction did not read, PREPARE-UPDATE with the
//!    version read for one that it did.
//! 2. A server keeps the versions of a key in the order in which they arrived. It accepts a
//!    PREPARE always, and a PREPARE-UPDATE if the version read is the last that it prepared. It
//!    votes.
//! 3. All votes are yes: COMMIT. A server makes the version the committed one unless the committed
//!    one arrived later, and answers COMMITTED; the transaction has committed when all did.
//! 4. A vote is no: the transaction aborts at once. Whoever voted yes, before or after, is told
//!    ABORT and forgets the version.
//!
//! Replication, which the paper leaves out: each key is prepared at all its replicas, each of which
//! votes for itself, and read at one. Replicas can get blind writes in different orders; then they
//! show different versions, and updates abort until somebody overwrites the key blindly again.
//! Nothing that is promised is lost by that.
//!
//! Where this differs from the paper and from CAT's model:
//! - CAT's proxies do not tell servers of an abort: the version prepared stays, and every later
//!   update of the key aborts (`rola/no-abort-message`).
//! - A timestamp is greater than those of all versions the transaction read; CAT's follow the
//!   prepares at the proxy's own site only, so that an update can be older than what it updates
//!   (`rola/own-clock`).
//! - Readers compare timestamps, so the order of versions is that of timestamps. It is not the order
//!   of arrival, in which servers choose what to show: of two blind writes, the one with the smaller
//!   timestamp can come last, and by the order of arrival reads would then be fractured.
//! - The votes of an aborted transaction are awaited, to tell who accepted.
//! - Servers lose nothing in a crash, and no one finishes the work of a proxy that is gone.

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
use std::collections::BTreeMap;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Servers are not told of aborts, as in CAT's model.
    NoAbortMessage,
    /// Servers accept every update.
    NoCheck,
    /// Servers compare the version read with the committed one, not with the last prepared.
    ChecksCommitted,
    /// The proxy commits whatever the votes.
    IgnoresNo,
    /// Readers are content with their first answers.
    NoSecondRound,
    /// Servers show versions that are only prepared.
    ShowsPrepared,
    /// Timestamps do not follow what the transaction read.
    OwnClock,
}

/// ROLA, or ROLA with something changed.
#[derive(Clone, Debug)]
pub struct Rola {
    /// The name.
    pub name: &'static str,
    /// What is changed.
    pub change: Option<Change>,
}

/// What a site knows, as a server and as a proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RolaSite {
    /// The number of the last timestamp made here.
    clock: u16,
    /// The keys that were written; all others have their initial version only.
    store: BTreeMap<Key, Stored>,
    /// The transactions at work here.
    running: BTreeMap<Txn, Running>,
}

/// What sites say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RolaMessage {
    /// Asks for the committed version.
    Get(Txn, Key),
    /// The committed version and the keys of its transaction.
    First(Txn, Key, Version, KeySet),
    /// Asks for this version.
    GetVersion(Txn, Key, Version),
    /// The version, if it is there.
    Second(Txn, Key, Option<Version>),
    /// Keep this version and the keys of its transaction.
    Prepare(Txn, Key, Version, KeySet),
    /// The same, if the last version kept is the second one.
    PrepareUpdate(Txn, Key, Version, KeySet, Version),
    /// Whether it is kept.
    Vote(Txn, Key, bool),
    /// Show the version of these keys.
    Commit(Txn, KeySet, Version),
    /// They are shown.
    Committed(Txn, KeySet),
    /// Forget this version.
    Abort(Key, Version),
}

impl Protocol for Rola {
    type Site = RolaSite;
    type Message = RolaMessage;

    fn name(&self) -> &str {
        self.name
    }

    fn site(&self, _setup: &Setup, _site: Site) -> RolaSite {
        RolaSite {
            clock: 0,
            store: BTreeMap::new(),
            running: BTreeMap::new(),
        }
    }

    fn start(&self, at: &mut RolaSite, txn: Txn, context: &mut Context<'_, RolaMessage>) {
        self.begin(at, txn, context);
    }

    fn receive(
        &self,
        at: &mut RolaSite,
        from: Site,
        message: RolaMessage,
        context: &mut Context<'_, RolaMessage>,
    ) {
        use RolaMessage::*;
        match message {
            Get(txn, key) => self.get(at, from, txn, key, context),
            First(txn, key, version, keys) => {
                self.first(at, from, txn, (key, version, keys), context);
            }
            GetVersion(txn, key, version) => {
                let found = at.holds(key, version).then_some(version);
                context.send(from, Second(txn, key, found));
            }
            Second(txn, key, version) => self.second(at, from, txn, key, version, context),
            Prepare(txn, key, version, keys) => {
                context.rule("prepare");
                at.keep(key, version, keys);
                context.send(from, Vote(txn, key, true));
            }
            PrepareUpdate(txn, key, version, keys, read) => {
                let yes = self.accepts(at, key, version, read);
                context.rule(if yes { "vote yes" } else { "vote no" });
                if yes {
                    at.keep(key, version, keys);
                }
                context.send(from, Vote(txn, key, yes));
            }
            Vote(txn, key, yes) => self.vote(at, from, txn, key, yes, context),
            Commit(txn, keys, version) => {
                context.rule("commit");
                at.show(keys, version);
                context.send(from, Committed(txn, keys));
            }
            Committed(txn, keys) => self.committed(at, from, txn, keys, context),
            Abort(key, version) => {
                context.rule("forget an aborted version");
                at.forget(key, version);
            }
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        let all = &[
            "read: first round is enough",
            "read: second round",
            "prepare",
            "vote yes",
            "vote no",
            "commit",
            "abort",
            "forget an aborted version",
        ];
        match self.change {
            Some(Change::NoAbortMessage) => &all[..7],
            _ => all,
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
        _setup: &Setup,
        _site: Site,
        at: &RolaSite,
        input: Input<'_, RolaMessage>,
    ) -> bool {
        let Input::Message(from, message) = input else {
            return false;
        };
        if self
            .change
            .is_some_and(|change| change != Change::NoAbortMessage)
        {
            return false;
        }
        match message {
            // What is asked for by its timestamp is there for good.
            RolaMessage::GetVersion(..) => true,
            // One of several answers only ticks itself off, and so does a yes: should a no come
            // before or after it, the server is told to forget the version.
            RolaMessage::First(txn, key, ..)
            | RolaMessage::Second(txn, key, _)
            | RolaMessage::Vote(txn, key, true) => !at.is_last(*txn, from, only(*key)),
            RolaMessage::Committed(txn, keys) => !at.is_last(*txn, from, *keys),
            _ => false,
        }
    }
}
