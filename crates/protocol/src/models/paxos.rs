//! Single-decree Paxos as a register that is written once (Lamport, The part-time parliament,
//! 1998), with the messages and rules of the example of the model checker Stateright, so that the
//! two can be compared.
//!
//! The sites of a key are its servers; other sites are clients. Each operation is a request to
//! one server, the next one for each request. A transaction is its operations one after another,
//! which is atomic if it has one only: then the register is strictly serializable.
//!
//! 1. **Put** at a server that led no ballot yet: it starts one and sends PREPARE.
//! 2. **Prepare** of a higher ballot than any before: a promise, with the proposal last accepted.
//! 3. **Promises** of a majority: the leader proposes what was accepted in the highest ballot, or
//!    else what its client put; ACCEPT to the others.
//! 4. **Accept** of a ballot as high as any promised: accepted.
//! 5. **Accepted** by a majority: decided; the others are told, and the client whose value it is.
//! 6. **Get** at a server that knows the decision: the value. Other servers do not answer: they
//!    cannot know. So a client can wait for ever, as can one whose value was not chosen.
//!
//! Where the model differs from the example: a server forgets what cannot matter any more: the
//! promises once it proposes, its own ballot once it promised another, everything but the value
//! once it is decided. A crash loses the leader's part; promises and acceptances are durable.

mod variants;

pub(crate) use variants::entries;

use crate::context::Context;
use crate::id::{Key, Site, SiteSet, Txn, Version};
use crate::protocol::{Input, Protocol, Symmetry};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol, as published or with a bug.
#[derive(Clone, Copy, Debug)]
pub struct Paxos {
    /// The name.
    pub name: &'static str,
    /// A seeded bug.
    pub bug: Option<Bug>,
}

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Half of the servers are taken for a majority.
    SmallQuorum,
    /// A leader proposes its client's value, whatever was accepted before.
    IgnoreAccepted,
    /// A server accepts ballots lower than it promised.
    BreakPromise,
    /// A server that knows no decision answers that there is no value.
    AnswerUndecided,
    /// A leader takes its proposal for decided when it is promised.
    DecideEarly,
}

/// A round, and the server that leads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Ballot(u16, Site);

/// The transaction that wants it written, and what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal(Txn, Version);

/// What a server knows of a key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Register {
    /// No decision.
    Open {
        /// The highest ballot heard of.
        ballot: Ballot,
        /// The proposal last accepted, with its ballot.
        accepted: Option<(Ballot, Proposal)>,
        /// The server's own ballot.
        leader: Leader,
    },
    /// The decision.
    Decided(Version),
}

/// How far a server is with its own ballot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Leader {
    /// It had none.
    Idle,
    /// Promises are awaited.
    Preparing {
        /// What its client wants.
        proposal: Proposal,
        /// Who promised.
        promised: SiteSet,
        /// The latest of what they accepted.
        accepted: Option<(Ballot, Proposal)>,
    },
    /// Acceptances are awaited.
    Proposing {
        /// What is proposed.
        proposal: Proposal,
        /// Who accepted.
        accepted: SiteSet,
    },
    /// It cannot win any more.
    Over,
}

/// What a site knows, as server and as client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Node {
    registers: BTreeMap<Key, Register>,
    /// Requests made.
    asked: u8,
    /// Per transaction, the operation whose answer is awaited.
    running: BTreeMap<Txn, u8>,
}

/// What sites tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// A client writes.
    Put(Key, Proposal),
    /// It is written.
    PutDone(Txn, Key),
    /// A client reads.
    Get(Txn, Key),
    /// What it reads.
    GetDone(Txn, Key, Version),
    /// Phase 1: asks for a promise.
    Prepare(Key, Ballot),
    /// The promise.
    Prepared(Key, Ballot, Option<(Ballot, Proposal)>),
    /// Phase 2: asks to accept.
    Accept(Key, Ballot, Proposal),
    /// Accepted.
    Accepted(Key, Ballot),
    /// The decision.
    Decided(Key, Version),
}

const RULES: &[&str] = &[
    "start a ballot",
    "promise",
    "propose",
    "propose what was accepted",
    "accept",
    "decide",
    "learn",
    "get",
    "get: not decided",
];

impl Paxos {
    /// As published.
    pub const PUBLISHED: Paxos = Paxos {
        name: "paxos",
        bug: None,
    };

    fn quorum(&self, setup: &Setup, key: Key) -> usize {
        let servers = setup.replicas(key).len();
        match self.bug {
            Some(Bug::SmallQuorum) => servers.div_ceil(2).max(2) - 1,
            _ => servers / 2 + 1,
        }
    }

    /// Asks for the next operation that needs a server, or commits.
    fn request(&self, node: &mut Node, txn: Txn, ctx: &mut Context<'_, Message>) {
        let (setup, here) = (ctx.setup, ctx.here());
        let Some(place) = node.running.get_mut(&txn) else {
            return;
        };
        loop {
            let (before, after) = setup.ops(txn).split_at(usize::from(*place));
            let Some(op) = after.first() else {
                node.running.remove(&txn);
                return ctx.commit(txn);
            };
            let key = op.key();
            if before.contains(&Op::Write(key)) {
                *place += 1;
                continue;
            }
            let servers = setup.replicas(key);
            let to = servers[(here.index() + usize::from(node.asked)) % servers.len()];
            node.asked += 1;
            let message = if matches!(op, Op::Read(_)) {
                Message::Get(txn, key)
            } else {
                let version = Version::new(node.asked.into(), here);
                ctx.write(txn, key, version);
                Message::Put(key, Proposal(txn, version))
            };
            return ctx.send(to, message);
        }
    }

    /// The answer to the awaited operation, if it is that.
    fn answered(&self, node: &mut Node, txn: Txn, op: Op, ctx: &mut Context<'_, Message>) -> bool {
        let place = node.running.get_mut(&txn);
        let Some(place) = place.filter(|at| ctx.setup.ops(txn).get(usize::from(**at)) == Some(&op))
        else {
            return false;
        };
        *place += 1;
        true
    }
}

/// Tells all other servers of the key.
fn broadcast(key: Key, message: &Message, ctx: &mut Context<'_, Message>) {
    let here = ctx.here();
    for site in ctx.setup.replicas(key).iter().filter(|to| **to != here) {
        ctx.send(*site, message.clone());
    }
}

/// The parts of a server.
impl Paxos {
    fn serve(
        &self,
        register: &mut Register,
        from: Site,
        message: &Message,
        ctx: &mut Context<'_, Message>,
    ) {
        let Register::Open {
            ballot,
            accepted,
            leader,
        } = register
        else {
            return;
        };
        match *message {
            Message::Put(key, proposal) if matches!(leader, Leader::Idle) => {
                ctx.rule("start a ballot");
                *ballot = Ballot(ballot.0 + 1, ctx.here());
                *leader = Leader::Preparing {
                    proposal,
                    promised: [ctx.here()].into_iter().collect(),
                    accepted: *accepted,
                };
                broadcast(key, &Message::Prepare(key, *ballot), ctx);
                self.propose(register, key, ctx);
            }
            Message::Prepare(key, higher) if higher > *ballot => {
                ctx.rule("promise");
                *ballot = higher;
                give_up(leader);
                ctx.send(from, Message::Prepared(key, higher, *accepted));
            }
            Message::Prepared(key, same, theirs) if same == *ballot => {
                count_promise(leader, from, theirs);
                self.propose(register, key, ctx);
            }
            Message::Accept(key, theirs, proposal)
                if theirs >= *ballot || self.bug == Some(Bug::BreakPromise) =>
            {
                ctx.rule("accept");
                if theirs >= *ballot {
                    *ballot = theirs;
                    give_up(leader);
                }
                *accepted = Some((theirs, proposal));
                ctx.send(from, Message::Accepted(key, theirs));
            }
            Message::Accepted(key, same) if same == *ballot => {
                if let Leader::Proposing { accepted, .. } = leader {
                    accepted.insert(from);
                    self.decide(register, key, ctx);
                }
            }
            Message::Decided(_, version) => {
                ctx.rule("learn");
                *register = Register::Decided(version);
            }
            _ => {}
        }
    }

    /// Proposes a value if a majority promised.
    fn propose(&self, register: &mut Register, key: Key, ctx: &mut Context<'_, Message>) {
        let Register::Open {
            ballot,
            accepted: own,
            leader,
        } = register
        else {
            return;
        };
        let Leader::Preparing {
            proposal,
            promised,
            accepted,
        } = *leader
        else {
            return;
        };
        if promised.len() < self.quorum(ctx.setup, key) {
            return;
        }
        let proposal = match accepted {
            Some((_, earlier)) if self.bug != Some(Bug::IgnoreAccepted) => {
                ctx.rule("propose what was accepted");
                earlier
            }
            _ => {
                ctx.rule("propose");
                proposal
            }
        };
        *own = Some((*ballot, proposal));
        broadcast(key, &Message::Accept(key, *ballot, proposal), ctx);
        *leader = Leader::Proposing {
            proposal,
            accepted: [ctx.here()].into_iter().collect(),
        };
        self.decide(register, key, ctx);
    }

    /// Decides if a majority accepted.
    fn decide(&self, register: &mut Register, key: Key, ctx: &mut Context<'_, Message>) {
        let Register::Open {
            leader: Leader::Proposing { proposal, accepted },
            ..
        } = *register
        else {
            return;
        };
        let early = self.bug == Some(Bug::DecideEarly);
        if accepted.len() < self.quorum(ctx.setup, key) && !early {
            return;
        }
        ctx.rule("decide");
        let Proposal(txn, version) = proposal;
        ctx.install(key, version);
        broadcast(key, &Message::Decided(key, version), ctx);
        ctx.send(ctx.setup.proxy(txn), Message::PutDone(txn, key));
        *register = Register::Decided(version);
    }
}

/// Keeps the latest of what those who promised had accepted.
fn count_promise(leader: &mut Leader, from: Site, theirs: Option<(Ballot, Proposal)>) {
    if let Leader::Preparing {
        promised, accepted, ..
    } = leader
    {
        promised.insert(from);
        let known = accepted.map(|(ballot, _)| ballot);
        if theirs.map(|(ballot, _)| ballot) > known {
            *accepted = theirs;
        }
    }
}

/// A higher ballot was promised to another.
fn give_up(leader: &mut Leader) {
    if !matches!(leader, Leader::Idle) {
        *leader = Leader::Over;
    }
}

impl Protocol for Paxos {
    type Site = Node;
    type Message = Message;

    fn name(&self) -> &str {
        self.name
    }

    /// Single operations: the register knows no transactions.
    fn accepts(&self, setup: &Setup) -> bool {
        setup.txns().all(|txn| setup.ops(txn).len() == 1)
    }

    fn rules(&self) -> &'static [&'static str] {
        RULES
    }

    fn site(&self, setup: &Setup, site: Site) -> Node {
        let open = Register::Open {
            ballot: Ballot::default(),
            accepted: None,
            leader: Leader::Idle,
        };
        let keys = setup.keys().filter(|key| setup.holds(site, *key));
        Node {
            registers: keys.map(|key| (key, open)).collect(),
            ..Node::default()
        }
    }

    fn start(&self, node: &mut Node, txn: Txn, ctx: &mut Context<'_, Message>) {
        node.running.insert(txn, 0);
        self.request(node, txn, ctx);
    }

    fn receive(
        &self,
        node: &mut Node,
        from: Site,
        message: Message,
        ctx: &mut Context<'_, Message>,
    ) {
        match message {
            Message::PutDone(txn, key) => {
                if self.answered(node, txn, Op::Write(key), ctx) {
                    self.request(node, txn, ctx);
                }
            }
            Message::GetDone(txn, key, version) => {
                if self.answered(node, txn, Op::Read(key), ctx) {
                    ctx.read(txn, key, version);
                    self.request(node, txn, ctx);
                }
            }
            Message::Get(txn, key) => match node.registers.get(&key) {
                Some(Register::Decided(version)) => {
                    ctx.rule("get");
                    ctx.send(from, Message::GetDone(txn, key, *version));
                }
                _ if self.bug == Some(Bug::AnswerUndecided) => {
                    ctx.send(from, Message::GetDone(txn, key, Version::INITIAL));
                }
                _ => ctx.rule("get: not decided"),
            },
            Message::Put(key, _)
            | Message::Prepare(key, _)
            | Message::Prepared(key, ..)
            | Message::Accept(key, ..)
            | Message::Accepted(key, _)
            | Message::Decided(key, _) => {
                if let Some(register) = node.registers.get_mut(&key) {
                    self.serve(register, from, &message, ctx);
                }
            }
        }
    }

    fn crash(&self, _setup: &Setup, _site: Site, node: &mut Node) {
        for register in node.registers.values_mut() {
            if let Register::Open { leader, .. } = register {
                give_up(leader);
            }
        }
    }

    /// Ballots are ordered by their servers.
    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: false,
            keys: true,
        }
    }

    /// What comes too late stays too late: ballots only rise, a decision stays.
    fn commutes(
        &self,
        _setup: &Setup,
        _site: Site,
        node: &Node,
        input: Input<'_, Message>,
    ) -> bool {
        let Input::Message(_, message) = input else {
            return false;
        };
        let key = match message {
            Message::PutDone(txn, _) | Message::GetDone(txn, ..) => {
                return !node.running.contains_key(txn);
            }
            Message::Put(key, _)
            | Message::Get(_, key)
            | Message::Prepare(key, _)
            | Message::Prepared(key, ..)
            | Message::Accept(key, ..)
            | Message::Accepted(key, _)
            | Message::Decided(key, _) => key,
        };
        let Some(Register::Open { ballot, leader, .. }) = node.registers.get(key) else {
            return true;
        };
        match message {
            Message::Put(..) => !matches!(leader, Leader::Idle),
            Message::Prepare(_, other) => other <= ballot,
            Message::Accept(_, other, _) => other < ballot && self.bug != Some(Bug::BreakPromise),
            Message::Prepared(_, other, _) => {
                other < ballot || !matches!(leader, Leader::Preparing { .. })
            }
            Message::Accepted(_, other) => {
                other < ballot || !matches!(leader, Leader::Proposing { .. })
            }
            _ => false,
        }
    }
}
