//! TAPIR: optimistic concurrency control by timestamps, which claims strict serializability and
//! does not keep it.
//!
//! Every key lives at its preferred site. In TAPIR each such shard is a group of replicas that vote
//! on each `Prepare`; here the shard answers as one, which is the best those replicas can do.
//!
//! 1. *Read.* The shard returns the last committed version of the key.
//! 2. *Prepare.* The client proposes a timestamp by its own clock, which is not that of others, and
//!    sends each shard what it read and wrote there. The shard checks (figure 9 of the paper):
//!    a key read that has a newer version: abort; a key read whose version is older than *the
//!    smallest* timestamp of prepared writes: abstain; a key written of which a prepared transaction
//!    read a version at a later timestamp, or that has a newer version: retry.
//! 3. *Decide.* If all shards say ok it commits, and the client is told; otherwise it aborts. Then
//!    shards are told. Versions are ordered by timestamp.
//!
//! **Source.** Zhang et al., "Building consistent transactions with inconsistent replication", SOSP
//! 2015, section 5.
//!
//! **Where the model differs.** A transaction that is told to retry aborts instead: another
//! timestamp would be another transaction. The checks are those of the paper's figure as we know it;
//! the authors' code has a linearizable mode that abstains at any prepared write. Inconsistent replication, view changes and recovery are
//! abstracted away; everything survives a crash.
//!
//! **What the model shows.** (a) A shard compares a version read with the smallest timestamp among
//! prepared writes. One slow transaction with a small timestamp hides all others, so a reader sees
//! half of a transaction: not even atomic visibility holds. (b) Once a reader has committed, its
//! read is forgotten, and a write with a smaller timestamp can slip in before it. (c) The timestamp
//! of a transaction can be smaller than those of the versions it read. Each breaks serializability.
//! That TAPIR violates atomic visibility was found in VerIso (Ghasemirad et al., PVLDB 2025); (a) is
//! this model's run for it, maybe not theirs.
//!
//! **Repaired**, the model compares with the largest prepared write, remembers the latest read of
//! each key, and proposes timestamps above those of the versions read. Then it is serializable in
//! the order of timestamps; strictly it is not, as clocks differ.

use super::buffered::Buffered;
use crate::catalogue::{Entry, Mutant};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, SiteSet, Txn, Version};
use crate::protocol::{Input, Protocol, Symmetry, VersionOrder};
use crate::question::Property;
use crate::setup::{Op, Setup};
use history::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the first site's clock advances by: more than there are transactions between two ticks.
const TICK: u16 = 16;

/// Which protocol it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As published.
    Published,
    /// With all three repairs.
    Repaired,
    /// Repaired, but compares with the smallest prepared write.
    ComparesWithSmallest,
    /// Repaired, but forgets reads of transactions that committed.
    ForgetsReads,
    /// Repaired, but proposes timestamps that may be smaller than those read.
    SmallTimestamps,
    /// Repaired, but does not check what was read against committed versions.
    NoReadCheck,
    /// Repaired, but commits although a shard abstained.
    IgnoresAbstain,
}

/// The protocol.
pub struct Tapir {
    /// Which one.
    pub kind: Kind,
}

/// A site: its clients and its shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// The number of the last timestamp proposed here.
    clock: u16,
    clients: BTreeMap<Txn, Client>,
    keys: BTreeMap<Key, Item>,
    prepared: BTreeMap<Txn, Prepared>,
}

/// A transaction at its client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    ops: Buffered,
    shards: SiteSet,
    awaited: SiteSet,
    refused: bool,
}

/// A key at its shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Item {
    /// The last committed version: its timestamp.
    latest: Version,
    /// The largest timestamp of a committed reader.
    read: Version,
}

/// A transaction that a shard has prepared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prepared {
    timestamp: Version,
    reads: BTreeMap<Key, Version>,
    writes: KeySet,
}

/// What a shard says to a prepare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Nothing speaks against it.
    Ok,
    /// Something read is stale.
    Abort,
    /// Something read may become stale.
    Abstain,
    /// The timestamp is too small.
    Retry,
}

/// What sites send each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Asks for the last version of a key.
    Read(Txn, Key),
    /// That version.
    Value(Txn, Key, Version),
    /// What a transaction read and wrote at the shard.
    Prepare(Txn, Prepared),
    /// The shard's answer.
    Answer(Txn, Reply),
    /// Whether the transaction committed.
    Finish(Txn, bool),
}

impl Tapir {
    fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    fn go_on(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        if let Some(key) = client.ops.next_read(context.setup(), txn) {
            let site = context.setup().preferred(key);
            context.send(site, Message::Read(txn, key));
            return;
        }
        let mut above = at.clock;
        if !self.is(Kind::Published) && !self.is(Kind::SmallTimestamps) {
            let read = client.ops.reads.values().map(|version| version.number);
            above = above.max(read.max().unwrap_or(0));
        }
        at.clock = next_time(above, context);
        let timestamp = Version::new(at.clock, context.here());
        for key in client.ops.writes.iter() {
            context.write(txn, key, timestamp);
        }
        let read = client.ops.reads.keys().copied();
        let touched = client.ops.writes.iter().chain(read);
        let setup = context.setup();
        client.shards = touched.map(|key| setup.preferred(key)).collect();
        client.awaited = client.shards;
        for site in client.shards.iter() {
            let here = |key: Key| context.setup().preferred(key) == site;
            let reads = client.ops.reads.iter().filter(|(key, _)| here(**key));
            let part = Prepared {
                timestamp,
                reads: reads.map(|(key, version)| (*key, *version)).collect(),
                writes: client.ops.writes.iter().filter(|key| here(*key)).collect(),
            };
            context.send(site, Message::Prepare(txn, part));
        }
    }

    /// The shard's checks, in the order of the paper.
    fn check(&self, at: &Place, txn: Txn, part: &Prepared) -> (Reply, &'static str) {
        let others = || at.prepared.iter().filter(|(other, _)| **other != txn);
        let item = |key: Key| at.keys.get(&key).cloned().unwrap_or_default();
        for (key, version) in &part.reads {
            if *version < item(*key).latest && !self.is(Kind::NoReadCheck) {
                return (Reply::Abort, "abort: a newer version");
            }
            let writes = others().filter(|(_, other)| other.writes.contains(*key));
            let writes = writes.map(|(_, other)| other.timestamp);
            let smallest = self.is(Kind::Published) || self.is(Kind::ComparesWithSmallest);
            let compared = if smallest { writes.min() } else { writes.max() };
            if compared.is_some_and(|write| *version < write) {
                return (Reply::Abstain, "abstain: a prepared write");
            }
        }
        for key in part.writes.iter() {
            let reads = others().filter(|(_, other)| other.reads.contains_key(&key));
            let prepared = reads.map(|(_, other)| other.timestamp).max();
            let last = prepared.unwrap_or_default().max(item(key).read);
            if part.timestamp < last {
                return (Reply::Retry, "retry: read at a later timestamp");
            }
            if part.timestamp < item(key).latest {
                return (Reply::Retry, "retry: a later version");
            }
        }
        (Reply::Ok, "ok")
    }

    fn answered(
        &self,
        at: &mut Place,
        txn: Txn,
        from: Site,
        reply: Reply,
        context: &mut Context<'_, Message>,
    ) {
        let Some(client) = at.clients.get_mut(&txn) else {
            return;
        };
        client.awaited.remove(from);
        let ignored = reply == Reply::Abstain && self.is(Kind::IgnoresAbstain);
        client.refused |= reply != Reply::Ok && !ignored;
        if !client.awaited.is_empty() {
            return;
        }
        let committed = !client.refused;
        if committed {
            context.rule("commit");
            context.commit(txn);
        } else {
            context.rule("abort");
            context.abort(txn);
        }
        for site in client.shards.iter() {
            context.send(site, Message::Finish(txn, committed));
        }
        at.clients.remove(&txn);
    }

    fn finish(&self, at: &mut Place, txn: Txn, committed: bool) {
        let Some(part) = at.prepared.remove(&txn) else {
            return;
        };
        if !committed {
            return;
        }
        for key in part.writes.iter() {
            let item = at.keys.entry(key).or_default();
            item.latest = item.latest.max(part.timestamp);
        }
        if !self.is(Kind::Published) && !self.is(Kind::ForgetsReads) {
            for key in part.reads.keys() {
                let item = at.keys.entry(*key).or_default();
                item.read = item.read.max(part.timestamp);
            }
        }
    }
}

impl Protocol for Tapir {
    type Site = Place;
    type Message = Message;

    fn name(&self) -> &str {
        match self.kind {
            Kind::Published => "tapir",
            Kind::Repaired => "tapir-repaired",
            Kind::ComparesWithSmallest => "tapir-repaired/compares-with-smallest",
            Kind::ForgetsReads => "tapir-repaired/forgets-reads",
            Kind::SmallTimestamps => "tapir-repaired/small-timestamps",
            Kind::NoReadCheck => "tapir-repaired/no-read-check",
            Kind::IgnoresAbstain => "tapir-repaired/ignores-abstain",
        }
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Place {
        Place::default()
    }

    fn start(&self, at: &mut Place, txn: Txn, context: &mut Context<'_, Message>) {
        at.clients.insert(txn, Client::default());
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
            Message::Read(txn, key) => {
                let version = at
                    .keys
                    .get(&key)
                    .map_or(Version::INITIAL, |item| item.latest);
                context.send(from, Message::Value(txn, key, version));
            }
            Message::Value(txn, key, version) => {
                if let Some(client) = at.clients.get_mut(&txn) {
                    client.ops.reads.insert(key, version);
                }
                context.read(txn, key, version);
                self.go_on(at, txn, context);
            }
            Message::Prepare(txn, part) => {
                let (reply, rule) = self.check(at, txn, &part);
                context.rule(rule);
                if reply == Reply::Ok || self.is(Kind::IgnoresAbstain) {
                    at.prepared.insert(txn, part);
                }
                context.send(from, Message::Answer(txn, reply));
            }
            Message::Answer(txn, reply) => self.answered(at, txn, from, reply, context),
            Message::Finish(txn, committed) => self.finish(at, txn, committed),
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &[
            "ok",
            "abort: a newer version",
            "abstain: a prepared write",
            "retry: read at a later timestamp",
            "retry: a later version",
            "commit",
            "abort",
        ]
    }

    fn version_order(&self) -> VersionOrder {
        VersionOrder::Compared
    }

    fn symmetry(&self) -> Symmetry {
        // Timestamps compare by site. Which of several refusals a shard gives depends on the order
        // of keys, which matters to the mutant that listens to some of them only.
        Symmetry {
            sites: false,
            keys: !self.is(Kind::IgnoresAbstain),
        }
    }

    /// An answer that is not the last; a value after which the transaction only asks for the next
    /// one; the end of what was never prepared; and what meets no other transaction at its keys.
    fn commutes(&self, setup: &Setup, _site: Site, at: &Place, input: Input<'_, Message>) -> bool {
        let Input::Message(_, message) = input else {
            return false;
        };
        match message {
            Message::Answer(txn, _) => {
                let client = at.clients.get(txn);
                client.is_none_or(|client| client.awaited.len() > 1)
            }
            Message::Value(txn, key, version) => {
                let Some(client) = at.clients.get(txn) else {
                    return true;
                };
                let mut ops = client.ops.clone();
                ops.reads.insert(*key, *version);
                ops.next_read(setup, *txn).is_some()
            }
            Message::Finish(txn, _) => match at.prepared.get(txn) {
                Some(part) => is_alone(setup, *txn, part),
                None => true,
            },
            Message::Prepare(txn, part) => is_alone(setup, *txn, part),
            Message::Read(txn, key) => !others(setup, *txn).any(|op| op == Op::Write(*key)),
        }
    }
}

/// What a client's clock shows when it proposes a timestamp: more than `above`. The clock of the
/// first site ticks once a transaction; those of the others stand anywhere between its ticks.
fn next_time(above: u16, context: &mut Context<'_, Message>) -> u16 {
    let setup = context.setup();
    let tick_next = above / TICK + 1;
    let first = setup.sites().next();
    if first == Some(context.here()) {
        return tick_next * TICK;
    }
    let there = setup.txns().filter(|txn| Some(setup.proxy(*txn)) == first);
    let tick_last = there.count() as u16;
    let ticks = tick_last.saturating_sub(above / TICK);
    match context.choose(usize::from(ticks) + 1) as u16 {
        0 => above + 1,
        further => (above / TICK + further) * TICK + 1,
    }
}

/// What the other transactions do.
fn others(setup: &Setup, txn: Txn) -> impl Iterator<Item = Op> + '_ {
    let rest = setup.txns().filter(move |other| *other != txn);
    rest.flat_map(|other| setup.ops(other).iter().copied())
}

/// Whether no other transaction writes what this one read, or reads or writes what it wrote.
fn is_alone(setup: &Setup, txn: Txn, part: &Prepared) -> bool {
    !others(setup, txn).any(|op| {
        let overwrites = matches!(op, Op::Write(key) if part.reads.contains_key(&key));
        overwrites || part.writes.contains(op.key())
    })
}

/// The entries of the catalogue.
pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |kind: Kind, what: &'static str, workload: &str| Mutant {
        model: Box::new(Tapir { kind }),
        what,
        breaks: Property::Level(Level::Serializable),
        setup: crate::workloads::named(workload),
    };
    let source = "Zhang et al., SOSP 2015";
    vec![
        Entry {
            model: Box::new(Tapir {
                kind: Kind::Published,
            }),
            title: "TAPIR",
            source,
            summary: "Optimistic timestamps; claims strict serializability, shows half transactions",
            promises: &[Property::Level(Level::ReadUncommitted)],
            mutants: Vec::new(),
        },
        Entry {
            model: Box::new(Tapir {
                kind: Kind::Repaired,
            }),
            title: "TAPIR, repaired",
            source,
            summary: "TAPIR with three repairs that make it serializable in the order of timestamps",
            promises: &[Property::Level(Level::Serializable)],
            mutants: vec![
                mutant(
                    Kind::ComparesWithSmallest,
                    "compares a read with the smallest prepared write",
                    "hidden-write/1",
                ),
                mutant(
                    Kind::ForgetsReads,
                    "forgets reads of transactions that committed",
                    "forgotten-read/1",
                ),
                mutant(
                    Kind::SmallTimestamps,
                    "proposes timestamps smaller than those read",
                    "small-timestamp/1",
                ),
                mutant(
                    Kind::NoReadCheck,
                    "does not check what was read",
                    "lost-update/1",
                ),
                mutant(
                    Kind::IgnoresAbstain,
                    "commits although a shard abstained",
                    "lost-update/1",
                ),
            ],
        },
    ]
}
