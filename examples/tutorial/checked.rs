//! The store whose sites refuse to replace a version that the writer has not seen. A transaction
//! that is refused aborts. What it wrote elsewhere stays, which is wrong.

use isolde::protocol::{
    Context, Entry, Key, KeySet, Op, Property, Protocol, Setup, Site, Symmetry, Txn, Version,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol. What all sites know from the start would be fields of it.
pub struct Store;

/// All that a site knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// The newest version of each key that is kept here.
    latest: BTreeMap<Key, Version>,
    /// How many versions this site has named.
    named: u16,
    /// The transactions that clients of this site run.
    running: BTreeMap<Txn, Running>,
}

/// A transaction at work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Running {
    /// The keys whose values or acknowledgements have not come yet.
    awaited: KeySet,
    /// Whether it has come to its writes.
    writing: bool,
    /// What it read.
    seen: BTreeMap<Key, Version>,
    /// Whether a site refused a write.
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
    /// Here is a newer version, if the newest is still the one expected.
    Put {
        txn: Txn,
        key: Key,
        version: Version,
        expected: Option<Version>,
    },
    /// It is stored, or it is not.
    Done { txn: Txn, key: Key, stored: bool },
}

impl Protocol for Store {
    type Site = Server;
    type Message = Message;

    fn name(&self) -> &str {
        "store-checked"
    }

    /// A site before anything happened.
    fn site(&self, _: &Setup, _: Site) -> Server {
        Server::default()
    }

    /// A client begins a transaction: ask for what it reads.
    fn start(&self, at: &mut Server, txn: Txn, context: &mut Context<'_, Message>) {
        let awaited = read_from_outside(context.setup(), txn);
        let running = Running {
            awaited,
            ..Running::default()
        };
        at.running.insert(txn, running);
        for key in awaited.iter() {
            let to = context.setup().preferred(key);
            context.send(to, Message::Get { txn, key });
        }
        proceed(at, txn, context);
    }

    /// A message arrives.
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
                }
                answered(at, txn, key);
                proceed(at, txn, context);
            }
            Message::Put {
                txn,
                key,
                version,
                expected,
            } => {
                let latest = at.latest.get(&key).copied().unwrap_or_default();
                let stored = expected.is_none_or(|expected| expected == latest);
                if stored {
                    context.rule("put");
                    at.latest.insert(key, version);
                    context.install(key, version);
                } else {
                    context.rule("put refused");
                }
                context.send(from, Message::Done { txn, key, stored });
            }
            Message::Done { txn, key, stored } => {
                context.rule("done");
                if let Some(running) = at.running.get_mut(&txn) {
                    running.refused |= !stored;
                }
                answered(at, txn, key);
                proceed(at, txn, context);
            }
        }
    }

    /// The names used above: one that never fires in any run is reported.
    fn rules(&self) -> &'static [&'static str] {
        &["get", "value", "put", "put refused", "done"]
    }

    /// Nothing here depends on which key is which, or which site.
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

/// What the transaction waited for is here.
fn answered(at: &mut Server, txn: Txn, key: Key) {
    if let Some(running) = at.running.get_mut(&txn) {
        running.awaited.remove(key);
    }
}

/// Goes on with a transaction that waits for nothing: first to its writes, then to its end.
fn proceed(at: &mut Server, txn: Txn, context: &mut Context<'_, Message>) {
    let Some(running) = at.running.get_mut(&txn) else {
        return;
    };
    let writes = context.setup().writes(txn);
    if !running.awaited.is_empty() {
        return;
    }
    if running.writing || writes.is_empty() {
        if running.refused {
            context.abort(txn);
        } else {
            context.commit(txn);
        }
        at.running.remove(&txn);
        return;
    }
    running.writing = true;
    running.awaited = writes;
    at.named += 1;
    let version = Version::new(at.named, context.here());
    for key in writes.iter() {
        context.write(txn, key, version);
        let to = context.setup().preferred(key);
        let expected = running.seen.get(&key).copied();
        let put = Message::Put {
            txn,
            key,
            version,
            expected,
        };
        context.send(to, put);
    }
}

/// What is said of the protocol, and what it is meant to guarantee.
pub fn entry() -> Entry {
    Entry {
        model: Box::new(Store),
        title: "The store, checked",
        source: "docs/protocols.md",
        summary: "a write is refused where the version that was read is no longer the newest",
        promises: &[Property::Level(isolde::Level::CursorStability)],
        mutants: Vec::new(),
    }
}
