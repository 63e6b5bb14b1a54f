//! The store that asks all sites first, and then tells all of them the same: two-phase commit. What
//! was read must still be the newest when the sites are asked, and nobody else gets in between.

use isolde::protocol::{
    Context, Entry, Key, KeySet, Op, Property, Protocol, Setup, Site, SiteSet, Symmetry, Txn,
    Version,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol.
pub struct Store;

/// All that a site knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// The newest version of each key that is kept here.
    latest: BTreeMap<Key, Version>,
    /// Who may change a key next, and nobody else.
    locks: BTreeMap<Key, Txn>,
    /// How many versions this site has named.
    named: u16,
    /// The transactions that clients of this site run.
    running: BTreeMap<Txn, Running>,
}

/// A transaction at work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Running {
    /// The keys whose values have not come yet.
    reading: KeySet,
    /// What it read.
    seen: BTreeMap<Key, Version>,
    /// The sites whose votes have not come yet, once they are asked.
    voting: SiteSet,
    /// The sites that voted yes.
    ready: SiteSet,
    /// Whether a site voted no.
    refused: bool,
}

/// What sites tell each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum Message {
    /// What is the newest version of the key?
    Get { txn: Txn, key: Key },
    /// This one.
    Value {
        txn: Txn,
        key: Key,
        version: Version,
    },
    /// May the transaction commit? This is what it read at your site.
    Prepare {
        txn: Txn,
        seen: BTreeMap<Key, Version>,
    },
    /// Yes or no.
    Vote { txn: Txn, yes: bool },
    /// It commits, and this is what it writes.
    Commit { txn: Txn, version: Version },
    /// It aborts.
    Abort { txn: Txn },
}

impl Protocol for Store {
    type Site = Server;
    type Message = Message;

    fn name(&self) -> &str {
        "store-two-phase"
    }

    fn site(&self, _: &Setup, _: Site) -> Server {
        Server::default()
    }

    fn start(&self, at: &mut Server, txn: Txn, context: &mut Context<'_, Message>) {
        let reading = read_from_outside(context.setup(), txn);
        let running = Running {
            reading,
            ..Running::default()
        };
        at.running.insert(txn, running);
        for key in reading.iter() {
            let to = context.setup().preferred(key);
            context.send(to, Message::Get { txn, key });
        }
        if reading.is_empty() {
            prepare(at, txn, context);
        }
    }

    fn receive(
        &self,
        at: &mut Server,
        from: Site,
        message: Message,
        context: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Get { txn, key } => {
                context.rule("get");
                let version = at.latest.get(&key).copied().unwrap_or_default();
                context.send(from, Message::Value { txn, key, version });
            }
            Message::Value { txn, key, version } => {
                context.rule("value");
                context.read(txn, key, version);
                if let Some(running) = at.running.get_mut(&txn) {
                    running.seen.insert(key, version);
                    running.reading.remove(key);
                    if running.reading.is_empty() {
                        prepare(at, txn, context);
                    }
                }
            }
            Message::Prepare { txn, seen } => {
                let yes = may_commit(at, txn, &seen, context);
                context.rule(if yes { "vote yes" } else { "vote no" });
                if yes {
                    let kept = kept_here(txn, context);
                    at.locks.extend(kept.iter().map(|key| (key, txn)));
                }
                context.send(from, Message::Vote { txn, yes });
            }
            Message::Vote { txn, yes } => vote(at, from, txn, yes, context),
            Message::Commit { txn, version } => {
                context.rule("commit");
                at.locks.retain(|_, holder| *holder != txn);
                let written = context.setup().writes(txn);
                for key in written.intersection(kept_here(txn, context)).iter() {
                    at.latest.insert(key, version);
                    context.install(key, version);
                }
            }
            Message::Abort { txn } => {
                context.rule("abort");
                at.locks.retain(|_, holder| *holder != txn);
            }
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &["get", "value", "vote yes", "vote no", "commit", "abort"]
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: true,
            keys: true,
        }
    }
}

/// The keys that a transaction reads before it writes them. A read after that sees its own write
/// and asks nobody.
fn read_from_outside(setup: &Setup, txn: Txn) -> KeySet {
    let (mut read, mut written) = (KeySet::EMPTY, KeySet::EMPTY);
    for op in setup.ops(txn) {
        match op {
            Op::Read(key) if !written.contains(*key) => read.insert(*key),
            Op::Read(_) => false,
            Op::Write(key) => written.insert(*key),
        };
    }
    read
}

/// The keys of a transaction that this site keeps.
fn kept_here(txn: Txn, context: &Context<'_, Message>) -> KeySet {
    let setup = context.setup();
    let keys = setup.reads(txn).union(setup.writes(txn));
    keys.iter()
        .filter(|key| setup.preferred(*key) == context.here())
        .collect()
}

/// Asks every site that keeps a key of the transaction.
fn prepare(at: &mut Server, txn: Txn, context: &mut Context<'_, Message>) {
    let Some(running) = at.running.get_mut(&txn) else {
        return;
    };
    let setup = context.setup();
    let keys = setup.reads(txn).union(setup.writes(txn));
    running.voting = keys.iter().map(|key| setup.preferred(key)).collect();
    let seen = running.seen.clone();
    for site in running.voting.iter() {
        let seen = seen.clone();
        context.send(site, Message::Prepare { txn, seen });
    }
}

/// Whether nobody else is about to change the keys that are here, and what was read of them is
/// still the newest.
fn may_commit(
    at: &Server,
    txn: Txn,
    seen: &BTreeMap<Key, Version>,
    context: &Context<'_, Message>,
) -> bool {
    kept_here(txn, context).iter().all(|key| {
        let latest = at.latest.get(&key).copied().unwrap_or_default();
        let current = seen.get(&key).is_none_or(|version| *version == latest);
        current && !at.locks.contains_key(&key)
    })
}

/// A vote is in: the last one decides.
fn vote(at: &mut Server, from: Site, txn: Txn, yes: bool, context: &mut Context<'_, Message>) {
    let Some(running) = at.running.get_mut(&txn) else {
        return;
    };
    running.voting.remove(from);
    if yes {
        running.ready.insert(from);
    } else {
        running.refused = true;
    }
    if !running.voting.is_empty() {
        return;
    }
    let (ready, refused) = (running.ready, running.refused);
    at.running.remove(&txn);
    if refused {
        context.abort(txn);
        for site in ready.iter() {
            context.send(site, Message::Abort { txn });
        }
        return;
    }
    at.named += 1;
    let version = Version::new(at.named, context.here());
    for key in context.setup().writes(txn).iter() {
        context.write(txn, key, version);
    }
    context.commit(txn);
    for site in ready.iter() {
        context.send(site, Message::Commit { txn, version });
    }
}

/// What is said of the protocol, and what it is meant to guarantee.
pub fn entry() -> Entry {
    Entry {
        model: Box::new(Store),
        title: "The store, in two phases",
        source: "docs/protocols.md",
        summary: "sites vote on what was read and written before anything is changed",
        promises: &[Property::Level(isolde::Level::StrictSerializable)],
        mutants: Vec::new(),
    }
}
