//! etcd, through its JSON gateway: `etcd://host:port`, one URL for each member.
//!
//! etcd has transactions of one round trip: conditions, then writes. Longer ones are made of reads that note
//! revisions, writes kept here, and one such transaction at the end. Each setting says what it compares:
//! - `serializable`: reads are linearizable; the commit demands that nothing read has changed. This is
//!   what etcd's own client library calls software transactional memory with serializable reads.
//! - `snapshot`: all reads are as of the revision of the first; the commit demands that nothing written has
//!   changed since.
//! - `stale`: reads are what etcd calls serializable, from the member asked and perhaps late; nothing is compared.
//!
//! Lists, sets and counters are texts that are read, changed and written, which takes a comparison.

mod gateway;
mod http;
mod session;

use crate::driver::{Connection, Database, Error, Fate, Isolation, Settings, choose_isolation};
use crate::drivers::address::Address;
use crate::drivers::cells;
use crate::plan::Action;
use crate::schema::Schema;
use gateway::{Failure, Freshness, encode};
use history::Level;
use http::Client;
use serde_json::{Value, json};
use session::Session;

const SERIALIZABLE: &str = "serializable";
const SNAPSHOT: &str = "snapshot";
const STALE: &str = "stale";

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: SERIALIZABLE,
        promises: Level::StrictSerializable,
        because: "etcd.io/docs, KV API guarantees: transactions are strict serializable",
    },
    Isolation {
        name: SNAPSHOT,
        promises: Level::SnapshotIsolation,
        because: "etcd.io/docs, KV API guarantees: reads of a revision are of one state",
    },
    Isolation {
        name: STALE,
        promises: Level::ReadCommitted,
        because: "etcd.io/docs, KV API guarantees: serializable reads may be stale",
    },
];

struct Etcd {
    nodes: Vec<Node>,
    product: String,
    isolation: Isolation,
    settings: Settings,
}

struct Node {
    address: String,
    shown: String,
}

impl Node {
    fn of_url(url: &str) -> Result<Node, Error> {
        let parts = Address::parse(url)?;
        if parts.user.is_some() || parts.password.is_some() {
            return Err(parts.hopeless("this driver cannot log in; leave user and password out"));
        }
        if parts.database.is_some() {
            return Err(parts.hopeless("etcd has no databases: etcd://host[:port]"));
        }
        Ok(Node {
            address: parts.place(2379)?,
            shown: parts.shown,
        })
    }

    fn connect(&self, settings: &Settings) -> Result<Client, Error> {
        Client::connect(&self.address, settings.patience)
            .map_err(|error| Error::new(Fate::Lost, format!("{}: {error}", self.shown)))
    }
}

/// Asks the first member for its version.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    let nodes: Vec<Node> = urls
        .iter()
        .map(|url| Node::of_url(url))
        .collect::<Result<_, Error>>()?;
    let Some(first) = nodes.first() else {
        return Err(Error::hopeless("etcd: no node was named"));
    };
    let hopeless = |what: String| Error::hopeless(format!("{}: {what}", first.shown));
    let mut client = Client::connect(&first.address, settings.patience)
        .map_err(|error| hopeless(error.to_string()))?;
    let answer = client
        .request("GET", "/version", "")
        .map_err(|error| hopeless(error.to_string()))?;
    let about: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let version = about
        .as_ref()
        .and_then(|about| about["etcdserver"].as_str());
    let version = version.ok_or_else(|| hopeless("this is not etcd".to_string()))?;
    Ok(Box::new(Etcd {
        product: format!("etcd {version}"),
        nodes,
        isolation,
        settings: settings.clone(),
    }))
}

impl Etcd {
    fn remove(&self, schema: &Schema) -> Result<(), Error> {
        let node = &self.nodes[0];
        let mut client = node.connect(&self.settings)?;
        for prefix in cells::prefixes(schema) {
            // All keys from "table:" on, up to the letter after the colon.
            let end = format!("{};", prefix.trim_end_matches(':'));
            let request = json!({
                "key": encode(prefix.as_bytes()),
                "range_end": encode(end.as_bytes()),
            });
            gateway::post(&mut client, "/v3/kv/deleterange", &request)
                .map_err(|failure| setup(failure, &node.shown))?;
        }
        Ok(())
    }
}

/// A failure before the run begins.
fn setup(failure: Failure, shown: &str) -> Error {
    Error {
        fate: Fate::Hopeless,
        ..failure.harmless(shown)
    }
}

impl Database for Etcd {
    fn product(&self) -> String {
        self.product.clone()
    }

    fn isolations(&self) -> &'static [Isolation] {
        ISOLATIONS
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        self.remove(schema)?;
        for node in &self.nodes {
            // A member answers a linearizable read only when it has all that was committed before.
            let mut client = node.connect(&self.settings)?;
            let key = ["isolde:".to_string()];
            gateway::read(&mut client, &key, Freshness::Linearizable)
                .map_err(|failure| setup(failure, &node.shown))?;
        }
        Ok(())
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.remove(schema)
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let Some(node) = self.nodes.get(node) else {
            return Err(Error::hopeless(format!("etcd: there is no node {node}")));
        };
        let client = node.connect(&self.settings)?;
        let mode = self.isolation.name;
        Ok(Box::new(Session::new(client, &node.shown, mode, schema)))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        let key = cells::key(schema, action.cell());
        match (action, action.value()) {
            (Action::Write(..), Some(value)) => format!("put {key} {value}"),
            (_, Some(value)) => format!("put {key} (with {value})"),
            (Action::ReadGroup(cell), None) => {
                let keys = schema.group_of(*cell).map(|one| cells::key(schema, one));
                let keys: Vec<String> = keys.collect();
                format!("txn get {}", keys.join(", "))
            }
            (_, None) => format!("get {key}"),
        }
    }

    fn frame(&self) -> [String; 3] {
        let commit = match self.isolation.name {
            SERIALIZABLE => "txn if nothing read has changed",
            SNAPSHOT => "txn if nothing written has changed",
            _ => "txn",
        };
        ["", commit, ""].map(str::to_string)
    }
}
