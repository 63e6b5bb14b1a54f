//! P-Store: serializability by certification in the order of an atomic multicast (Schiper, Sutra
//! and Pedone, SRDS 2010).
//!
//! 1. **Execution** at the proxy: a write is kept; a read of an own write sees it; another read
//!    sees the present version at the proxy or at any replica of the key.
//! 2. **Submission**: the transaction goes, by one atomic multicast, to all replicas of what it
//!    read or wrote. So do transactions that only read.
//! 3. **Certification** in the order of delivery: a replica of keys that were read votes when all
//!    transactions queued before commute with it (neither reads what the other writes): yes, if
//!    every version read is still the present one. The vote goes to all the others.
//! 4. **Outcome**: one vote against aborts. Votes for it by a replica of each key that was read
//!    let it commit, when it is first in the queue: its writes are applied.
//! 5. **Answer**: every replica tells the proxy, which believes the first.
//!
//! A transaction that read nothing needs no votes, so one replica can commit it, and its client
//! hear of it, before it is delivered at another: the next client can still read the old version
//! there. That is serializable and not strictly so.
//!
//! Where the model differs: versions have names rather than counts, and one is current if it is
//! the very one read (the paper's equality; CAT's model asks for no less than); a key read before
//! is not read again; a replica that holds nothing that was read does not vote; the multicast is
//! the framework's, whose orders have no cycle of any length (CAT's only checks pairs). A replica
//! drops an aborted transaction wherever it is in the queue. A crash loses nothing.
//!
//! The order of a key's versions is the order in which its replicas apply them.

mod variants;

pub(crate) use variants::entries;

use crate::context::Context;
use crate::id::{Key, KeySet, Site, SiteSet, Txn, TxnSet, Version};
use crate::protocol::{Input, Protocol, Symmetry};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol, as published or with a bug.
#[derive(Clone, Copy, Debug)]
pub struct PStore {
    /// The name.
    pub name: &'static str,
    /// A seeded bug.
    pub bug: Option<Bug>,
}

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Every vote is yes.
    SkipCertify,
    /// Only keys that are also written are certified.
    CertifyWrites,
    /// A vote does not wait for transactions queued before.
    VoteAtOnce,
    /// A replica decides by its own vote.
    OwnVote,
    /// Transactions are sent by ordinary messages.
    Unordered,
    /// A transaction that only reads commits without certification.
    TrustReads,
}

/// What a replica knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// How many versions this site has named.
    named: u16,
    /// The present version of each key; initial if missing.
    store: BTreeMap<Key, Version>,
    running: BTreeMap<Txn, Running>,
    /// What was delivered and is not decided, in order.
    queue: Vec<Queued>,
    votes: BTreeMap<Txn, Votes>,
    /// Decided here: votes for them come too late.
    decided: TxnSet,
}

/// A transaction at its proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Running {
    /// The next operation, whose read is awaited if it is not here; and what was read.
    Operation(u8, BTreeMap<Key, Version>),
    /// It is submitted.
    Submitted,
}

/// A transaction that is to be certified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queued {
    txn: Txn,
    /// The name of the versions it writes.
    version: Version,
    reads: BTreeMap<Key, Version>,
    voted: bool,
}

/// Votes on a transaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Votes {
    /// The keys for which a replica voted yes.
    covered: KeySet,
    /// Whether any replica voted no.
    no: bool,
}

/// What sites tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Reads the key.
    Read(Txn, Key),
    /// The answer.
    Answer(Txn, Key, Version),
    /// The transaction is to be certified; by atomic multicast.
    Certify(Queued),
    /// A vote.
    Vote(Txn, bool),
    /// The outcome, for the proxy: whether it committed.
    Outcome(Txn, bool),
}

const RULES: &[&str] = &[
    "read here",
    "read elsewhere",
    "submit",
    "vote: yes",
    "vote: no",
    "abort",
    "commit",
    "outcome",
    "outcome: known",
];

impl Queued {
    fn reads(&self) -> KeySet {
        self.reads.keys().copied().collect()
    }

    /// All sites that have a part in it.
    fn replicas(&self, setup: &Setup) -> SiteSet {
        setup.replicas_of(self.reads().union(setup.writes(self.txn)))
    }

    fn commutes(&self, other: &Queued, setup: &Setup) -> bool {
        let disjoint = |reads: KeySet, txn| reads.intersection(setup.writes(txn)).is_empty();
        disjoint(self.reads(), other.txn) && disjoint(other.reads(), self.txn)
    }
}

impl Server {
    fn present(&self, key: Key) -> Version {
        self.store.get(&key).copied().unwrap_or(Version::INITIAL)
    }

    /// Nothing more is to be known of the transaction here.
    fn forget(&mut self, txn: Txn) {
        self.queue.retain(|queued| queued.txn != txn);
        self.votes.remove(&txn);
        self.decided.insert(txn);
    }
}

impl PStore {
    /// As published.
    pub const PUBLISHED: PStore = PStore {
        name: "p-store",
        bug: None,
    };

    /// Goes on with a transaction until it must wait.
    fn execute(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let setup = ctx.setup;
        while let Some(Running::Operation(place, reads)) = server.running.get_mut(&txn) {
            let (before, after) = setup.ops(txn).split_at(usize::from(*place));
            let Some(op) = after.first() else {
                return self.submit(server, txn, ctx);
            };
            if let Op::Read(key) = *op
                && !reads.contains_key(&key)
                && !before.contains(&Op::Write(key))
            {
                if !setup.holds(ctx.here(), key) {
                    let replicas = setup.replicas(key);
                    let to = replicas[ctx.choose(replicas.len()) % replicas.len()];
                    return ctx.send(to, Message::Read(txn, key));
                }
                ctx.rule("read here");
                let version = server.store.get(&key).copied();
                let version = version.unwrap_or(Version::INITIAL);
                ctx.read(txn, key, version);
                reads.insert(key, version);
            }
            *place += 1;
        }
    }

    fn submit(&self, server: &mut Server, txn: Txn, ctx: &mut Context<'_, Message>) {
        let writes = ctx.setup.writes(txn);
        let Some(Running::Operation(_, reads)) = server.running.insert(txn, Running::Submitted)
        else {
            return;
        };
        let trusted = writes.is_empty() && self.bug == Some(Bug::TrustReads);
        if trusted || ctx.setup.ops(txn).is_empty() {
            server.running.remove(&txn);
            return ctx.commit(txn);
        }
        ctx.rule("submit");
        let mut version = Version::INITIAL;
        if !writes.is_empty() {
            server.named += 1;
            version = Version::new(server.named, ctx.here());
        }
        for key in writes.iter() {
            ctx.write(txn, key, version);
        }
        let queued = Queued {
            txn,
            version,
            reads,
            voted: false,
        };
        let to = queued.replicas(ctx.setup);
        if self.bug == Some(Bug::Unordered) {
            for site in to.iter() {
                ctx.send(site, Message::Certify(queued.clone()));
            }
        } else {
            ctx.multicast(to, Message::Certify(queued));
        }
    }

    /// Votes and decides as long as something can be voted on or decided.
    fn certify(&self, server: &mut Server, ctx: &mut Context<'_, Message>) {
        loop {
            while self.vote(server, ctx) {}
            if !self.decide(server, ctx) {
                return;
            }
        }
    }

    /// Votes on the first transaction that can be voted on; whether there was one.
    fn vote(&self, server: &mut Server, ctx: &mut Context<'_, Message>) -> bool {
        let (setup, here) = (ctx.setup, ctx.here());
        let ready = (0..server.queue.len()).find(|place| {
            let queued = &server.queue[*place];
            let mut before = server.queue[..*place].iter();
            let waits = before.any(|other| !queued.commutes(other, setup));
            let concerned = queued.reads.keys().any(|key| setup.holds(here, *key));
            !queued.voted && concerned && (!waits || self.bug == Some(Bug::VoteAtOnce))
        });
        let Some(place) = ready else {
            return false;
        };
        let queued = &server.queue[place];
        let (txn, replicas) = (queued.txn, queued.replicas(setup));
        let writes = setup.writes(txn);
        let current = |(key, version): (&Key, &Version)| {
            let skip = match self.bug {
                Some(Bug::SkipCertify) => true,
                Some(Bug::CertifyWrites) => !writes.contains(*key),
                _ => false,
            };
            let present = server.present(*key);
            let same = present == *version || present.is_initial() && version.is_initial();
            skip || same || !setup.holds(here, *key)
        };
        let vote = queued.reads.iter().all(current);
        ctx.rule(if vote { "vote: yes" } else { "vote: no" });
        server.queue[place].voted = true;
        count(server, setup, here, (txn, vote));
        for site in replicas.iter().filter(|site| *site != here) {
            ctx.send(site, Message::Vote(txn, vote));
        }
        true
    }

    /// Decides the first transaction that can be decided; whether there was one.
    fn decide(&self, server: &mut Server, ctx: &mut Context<'_, Message>) -> bool {
        let (setup, here) = (ctx.setup, ctx.here());
        let no = |queued: &&Queued| server.votes.get(&queued.txn).is_some_and(|votes| votes.no);
        if let Some(txn) = server.queue.iter().find(no).map(|queued| queued.txn) {
            ctx.rule("abort");
            server.forget(txn);
            ctx.send(setup.proxy(txn), Message::Outcome(txn, false));
            return true;
        }
        let Some(first) = server.queue.first() else {
            return false;
        };
        let (txn, version) = (first.txn, first.version);
        let votes = server.votes.get(&txn);
        let covered = votes.map_or(KeySet::EMPTY, |votes| votes.covered);
        let own = self.bug == Some(Bug::OwnVote) && first.voted;
        if !own && !first.reads().without(covered).is_empty() {
            return false;
        }
        ctx.rule("commit");
        server.forget(txn);
        let writes = setup.writes(txn).iter();
        for key in writes.filter(|key| setup.holds(here, *key)) {
            server.store.insert(key, version);
            ctx.install(key, version);
        }
        if here != setup.proxy(txn) {
            ctx.applied(txn);
        }
        ctx.send(setup.proxy(txn), Message::Outcome(txn, true));
        true
    }
}

/// The keys that a vote of a site speaks for.
fn spoken_for(setup: &Setup, site: Site, txn: Txn) -> KeySet {
    let reads = setup.reads(txn).iter();
    reads.filter(|key| setup.holds(site, *key)).collect()
}

fn count(server: &mut Server, setup: &Setup, from: Site, (txn, vote): (Txn, bool)) {
    let votes = server.votes.entry(txn).or_default();
    if vote {
        votes.covered = votes.covered.union(spoken_for(setup, from, txn));
    } else {
        votes.no = true;
    }
}

impl Protocol for PStore {
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
        let running = Running::Operation(0, BTreeMap::new());
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
            Message::Read(txn, key) => {
                let version = server.present(key);
                ctx.send(from, Message::Answer(txn, key, version));
            }
            Message::Answer(txn, key, version) => {
                if let Some(Running::Operation(place, reads)) = server.running.get_mut(&txn)
                    && ctx.setup.ops(txn).get(usize::from(*place)) == Some(&Op::Read(key))
                {
                    ctx.rule("read elsewhere");
                    ctx.read(txn, key, version);
                    reads.insert(key, version);
                    *place += 1;
                    self.execute(server, txn, ctx);
                }
            }
            Message::Certify(queued) => {
                server.queue.push(queued);
                self.certify(server, ctx);
            }
            Message::Vote(txn, vote) => {
                if !server.decided.contains(txn) {
                    count(server, ctx.setup, from, (txn, vote));
                    self.certify(server, ctx);
                }
            }
            Message::Outcome(txn, committed) => {
                if server.running.remove(&txn).is_none() {
                    ctx.rule("outcome: known");
                } else if committed {
                    ctx.rule("outcome");
                    ctx.commit(txn);
                } else {
                    ctx.rule("outcome");
                    ctx.abort(txn);
                }
            }
        }
    }

    /// Versions are only compared for being the same.
    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: true,
            keys: true,
        }
    }

    /// What comes too late to matter or says nothing new; and an answer after which the
    /// transaction only asks for the next read.
    fn commutes(
        &self,
        setup: &Setup,
        site: Site,
        server: &Server,
        input: Input<'_, Message>,
    ) -> bool {
        let Input::Message(from, message) = input else {
            return false;
        };
        match message {
            Message::Outcome(txn, _) => !server.running.contains_key(txn),
            Message::Vote(txn, vote) => {
                let votes = server.votes.get(txn);
                let known = |votes: &Votes| {
                    let keys = spoken_for(setup, from, *txn);
                    votes.no || *vote && keys.without(votes.covered).is_empty()
                };
                server.decided.contains(*txn) || votes.is_some_and(known)
            }
            Message::Answer(txn, key, _) => match server.running.get(txn) {
                Some(Running::Operation(place, reads)) => {
                    let (before, after) = setup.ops(*txn).split_at(usize::from(*place));
                    let asks = |op: &&Op| {
                        let new = op.key() != *key && !reads.contains_key(&op.key());
                        matches!(op, Op::Read(_)) && new && !before.contains(&Op::Write(op.key()))
                    };
                    let own = |op: &Op| after.contains(&Op::Write(op.key()));
                    let next = after.iter().find(asks);
                    next.is_some_and(|op| !setup.holds(site, op.key()) && !own(op))
                }
                _ => true,
            },
            Message::Read(..) | Message::Certify(_) => false,
        }
    }
}
