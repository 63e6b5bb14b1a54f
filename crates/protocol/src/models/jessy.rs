//! Jessy: non-monotonic snapshot isolation (Ardekani, Sutra and Shapiro, SRDS 2013), committed by
//! votes as in the model that was published with CAT.
//!
//! A version of a key counts the versions of the key up to itself, and carries a dependence
//! vector: for each key, the count of the latest version that it depends on, itself included.
//! Versions of two keys are compatible if neither depends on a later version of the other's key.
//!
//! 1. **Read**: the latest version of the key, here or at its preferred site, that is compatible
//!    with all read so far. A replica that has none yet keeps the question until it has. The
//!    snapshot is thus made while reading, and may be newer than the transaction's start.
//! 2. **Write**: reads the key first, if it was not read, without telling the client.
//! 3. **Commit**: a read-only transaction at once. Otherwise the new versions depend on all read,
//!    and count one more for each key written; PREPARE to the preferred sites of those.
//! 4. **Vote**: no, if another transaction is prepared here that writes a key in common, or if a
//!    version is here that counts as many; else yes, and the transaction stays prepared.
//! 5. **Decision** when all votes are in: COMMIT to all replicas of the written keys, which add
//!    the versions, or ABORT to those that voted yes.
//!
//! Where the model differs: CAT's certifies in a step of its own after it queued the transaction;
//! nothing that happens in between can change the outcome, so here both are one. CAT's reads any
//! one compatible version, here the latest; it cannot write without reading. The paper commits by
//! a group communication primitive; votes are one of its instances. What was read is kept as the
//! keys and the maximum of their vectors: all that compatibility asks for. Acknowledgements of
//! decisions have no effect and are left out. A crash loses nothing: the paper gives no recovery.
//!
//! The order of a key's versions is their count, which is the order of commits: while one is
//! prepared at the preferred site, no other is.

mod variants;

pub(crate) use variants::entries;

use crate::context::Context;
use crate::id::{Key, KeySet, Site, SiteSet, Txn, Version};
use crate::protocol::{Input, Protocol, Symmetry};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol, as published or with a bug.
#[derive(Clone, Copy, Debug)]
pub struct Jessy {
    /// The name.
    pub name: &'static str,
    /// A seeded bug.
    pub bug: Option<Bug>,
}

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A read returns the latest version, compatible or not.
    ReadLatest,
    /// New versions depend on nothing but what they overwrite.
    LoseDependencies,
    /// A vote does not look at the versions.
    SkipCertify,
    /// A vote does not look at what is prepared.
    SkipPrepared,
    /// One vote for it is enough.
    OneVote,
    /// A prepared version can be read.
    ReadPrepared,
}

/// Per key the count of a version; a missing one is 0, the initial version's.
pub type Vector = BTreeMap<Key, u16>;

/// What a transaction has read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    keys: KeySet,
    /// The maximum of the dependence vectors; at a key read, the count of the version read.
    depends: Vector,
}

/// What a site knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// How many versions this site has named.
    named: u16,
    /// Per key and count, the version and what it depends on.
    store: BTreeMap<Key, BTreeMap<u16, (Version, Vector)>>,
    /// Transactions that this site voted for and that are not decided.
    prepared: BTreeMap<Txn, ()>,
    running: BTreeMap<Txn, Running>,
    /// Reads without a compatible version yet.
    questions: BTreeMap<Txn, (Key, Snapshot)>,
}

/// A transaction that is being executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Running {
    /// The next operation, whose read is awaited if it is not here.
    Operation(u8, Snapshot),
    /// Votes are awaited.
    Voting {
        /// From which sites.
        awaited: SiteSet,
        /// Which sites voted yes.
        yes: SiteSet,
        /// What the new versions depend on.
        depends: Vector,
        /// Their name.
        version: Version,
    },
}

/// What sites tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Reads the key, compatible with what was read.
    Read(Txn, Key, Snapshot),
    /// The answer: a version and what it depends on.
    Answer(Txn, Key, Version, Vector),
    /// Asks for a vote.
    Prepare(Txn, Version, Vector),
    /// The vote.
    Vote(Txn, bool),
    /// The transaction is committed.
    Commit(Txn, Version, Vector),
    /// It is aborted.
    Abort(Txn),
}

const RULES: &[&str] = &[
    "read",
    "read: an older version is compatible",
    "read: none is compatible yet",
    "commit: read-only",
    "vote: yes",
    "vote: no, another is prepared",
    "vote: no, there is a newer version",
    "commit",
    "abort",
    "apply",
];

fn at(vector: &Vector, key: Key) -> u16 {
    vector.get(&key).copied().unwrap_or(0)
}

impl Snapshot {
    /// Whether a version of `key` with these dependences fits to all read so far.
    fn fits(&self, key: Key, depends: &Vector) -> bool {
        let known = |other: Key| at(depends, other) <= at(&self.depends, other);
        at(depends, key) >= at(&self.depends, key) && self.keys.iter().all(known)
    }

    fn add(&mut self, key: Key, depends: &Vector) {
        self.keys.insert(key);
        for (key, count) in depends {
            let most = self.depends.entry(*key).or_default();
            *most = (*most).max(*count);
        }
    }
}

impl Jessy {
    /// As published.
    pub const PUBLISHED: Jessy = Jessy {
        name: "jessy",
        bug: None,
    };

    /// Goes on with a transaction until it must wait.
    fn execute(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let (setup, here) = (ctx.setup, ctx.here());
        while let Some(Running::Operation(place, snapshot)) = server.running.get_mut(&txn) {
            let Some(op) = setup.ops(txn).get(usize::from(*place)) else {
                return self.finish(server, txn, ctx);
            };
            if !snapshot.keys.contains(op.key()) {
                let question = (op.key(), snapshot.clone());
                if !setup.holds(here, op.key()) {
                    let to = setup.preferred(op.key());
                    return ctx.send(to, Message::Read(txn, question.0, question.1));
                }
                server.questions.insert(txn, question);
                return self.answer(server, txn, ctx);
            }
            *place += 1;
        }
    }

    /// Answers a question, if a compatible version is here.
    fn answer(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let Some((key, snapshot)) = server.questions.get(&txn) else {
            return;
        };
        let key = *key;
        let versions = server.store.get(&key).into_iter().flatten().rev();
        let initial = (Version::INITIAL, Vector::new());
        let mut versions = versions.map(|(_, version)| version).chain([&initial]);
        let any = self.bug == Some(Bug::ReadLatest);
        let mut skipped = 0;
        let found = versions.find(|(_, depends)| {
            skipped += 1;
            any || snapshot.fits(key, depends)
        });
        let Some((version, depends)) = found.cloned() else {
            return ctx.rule("read: none is compatible yet");
        };
        ctx.rule(match skipped {
            1 => "read",
            _ => "read: an older version is compatible",
        });
        server.questions.remove(&txn);
        let to = ctx.setup.proxy(txn);
        ctx.send(to, Message::Answer(txn, key, version, depends));
    }

    /// All operations are done: commits or asks for votes.
    fn finish(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let (setup, here) = (ctx.setup, ctx.here());
        let writes = setup.writes(txn);
        let Some(Running::Operation(_, snapshot)) = server.running.remove(&txn) else {
            return;
        };
        if writes.is_empty() {
            ctx.rule("commit: read-only");
            return ctx.commit(txn);
        }
        server.named += 1;
        let version = Version::new(server.named, here);
        let mut depends = snapshot.depends;
        if self.bug == Some(Bug::LoseDependencies) {
            depends.retain(|key, _| writes.contains(*key));
        }
        for key in writes.iter() {
            *depends.entry(key).or_default() += 1;
            ctx.write(txn, key, version);
        }
        let awaited: SiteSet = writes.iter().map(|key| setup.preferred(key)).collect();
        for site in awaited.iter() {
            ctx.send(site, Message::Prepare(txn, version, depends.clone()));
        }
        let voting = Running::Voting {
            awaited,
            yes: SiteSet::EMPTY,
            depends,
            version,
        };
        server.running.insert(txn, voting);
    }

    fn vote(
        &self,
        server: &mut Server,
        txn: Txn,
        (version, depends): (Version, Vector),
        ctx: &mut Context<'_, Message>,
    ) {
        let (setup, here) = (ctx.setup, ctx.here());
        let writes = setup.writes(txn);
        let mut prepared = server.prepared.keys().filter(|other| **other != txn);
        let mut mine = writes.iter().filter(|key| setup.preferred(*key) == here);
        let another = prepared.any(|other| !setup.writes(*other).intersection(writes).is_empty());
        let newer = mine.any(|key| {
            let latest = server.store.get(&key).and_then(BTreeMap::last_key_value);
            latest.is_some_and(|(count, _)| *count >= at(&depends, key))
        });
        let vote = if another && self.bug != Some(Bug::SkipPrepared) {
            ctx.rule("vote: no, another is prepared");
            false
        } else if newer && self.bug != Some(Bug::SkipCertify) {
            ctx.rule("vote: no, there is a newer version");
            false
        } else {
            ctx.rule("vote: yes");
            server.prepared.insert(txn, ());
            if self.bug == Some(Bug::ReadPrepared) {
                self.store(server, txn, version, &depends, ctx);
            }
            true
        };
        ctx.send(setup.proxy(txn), Message::Vote(txn, vote));
    }

    fn decide(
        &self,
        server: &mut Server,
        from: Site,
        txn: Txn,
        vote: bool,
        ctx: &mut Context<'_, Message>,
    ) {
        let setup = ctx.setup;
        let Some(Running::Voting {
            awaited,
            yes,
            depends,
            version,
        }) = server.running.get_mut(&txn)
        else {
            return;
        };
        awaited.remove(from);
        if vote {
            yes.insert(from);
        }
        if !awaited.is_empty() {
            return;
        }
        let writes = setup.writes(txn);
        let asked: SiteSet = writes.iter().map(|key| setup.preferred(key)).collect();
        let enough = self.bug == Some(Bug::OneVote) && !yes.is_empty();
        if *yes == asked || enough {
            ctx.rule("commit");
            for key in writes.iter() {
                ctx.install(key, *version);
            }
            ctx.commit(txn);
            for site in setup.replicas_of(writes).iter() {
                ctx.send(site, Message::Commit(txn, *version, depends.clone()));
            }
        } else {
            ctx.rule("abort");
            for site in yes.iter() {
                ctx.send(site, Message::Abort(txn));
            }
            ctx.abort(txn);
        }
        server.running.remove(&txn);
    }

    fn store(
        &self,
        server: &mut Server,
        txn: Txn,
        version: Version,
        depends: &Vector,
        ctx: &mut Context<'_, Message>,
    ) {
        let (setup, here) = (ctx.setup, ctx.here());
        let writes = setup.writes(txn).iter();
        for key in writes.filter(|key| setup.holds(here, *key)) {
            let versions = server.store.entry(key).or_default();
            versions.insert(at(depends, key), (version, depends.clone()));
        }
        let questions: Vec<Txn> = server.questions.keys().copied().collect();
        for question in questions {
            self.answer(server, question, ctx);
        }
    }
}

impl Protocol for Jessy {
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
        let running = Running::Operation(0, Snapshot::default());
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
            Message::Read(txn, key, snapshot) => {
                server.questions.insert(txn, (key, snapshot));
                self.answer(server, txn, ctx);
            }
            Message::Answer(txn, key, version, depends) => {
                if let Some(Running::Operation(place, snapshot)) = server.running.get_mut(&txn)
                    && let Some(op) = ctx.setup.ops(txn).get(usize::from(*place))
                    && op.key() == key
                    && !snapshot.keys.contains(key)
                {
                    snapshot.add(key, &depends);
                    if matches!(op, Op::Read(_)) {
                        ctx.read(txn, key, version);
                    }
                    self.execute(server, txn, ctx);
                }
            }
            Message::Prepare(txn, version, depends) => {
                self.vote(server, txn, (version, depends), ctx);
            }
            Message::Vote(txn, vote) => self.decide(server, from, txn, vote, ctx),
            Message::Commit(txn, version, depends) => {
                ctx.rule("apply");
                server.prepared.remove(&txn);
                if from != ctx.here() {
                    ctx.applied(txn);
                }
                self.store(server, txn, version, &depends, ctx);
            }
            Message::Abort(txn) => {
                server.prepared.remove(&txn);
            }
        }
    }

    /// Counts of one key are compared, names of versions never.
    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: true,
            keys: true,
        }
    }

    /// A vote that is not the last one only counts; after some answers the transaction only asks
    /// for its next read.
    fn commutes(
        &self,
        setup: &Setup,
        site: Site,
        server: &Server,
        input: Input<'_, Message>,
    ) -> bool {
        match input {
            Input::Message(_, Message::Vote(txn, _)) => {
                let running = server.running.get(txn);
                matches!(running, Some(Running::Voting { awaited, .. }) if awaited.len() > 1)
            }
            Input::Message(_, Message::Answer(txn, key, ..)) => match server.running.get(txn) {
                Some(Running::Operation(place, snapshot)) => {
                    let mut after = setup.ops(*txn)[usize::from(*place)..].iter();
                    let asks = |op: &&Op| op.key() != *key && !snapshot.keys.contains(op.key());
                    let next = after.find(asks);
                    next.is_some_and(|op| !setup.holds(site, op.key()))
                }
                _ => true,
            },
            _ => false,
        }
    }
}
