//! Redis: `redis://[[user]:password@]host[:port][/db]`. The first URL is the primary, others are its replicas.
//!
//! Redis has no transactions of several round trips; each setting makes one of what there is:
//! - `watch`: reads at once, each key watched before its first read; writes queued here and sent as one
//!   MULTI/EXEC, which the server refuses if a watched key has changed. A transaction that only
//!   reads is checked the same way, by an empty MULTI/EXEC.
//! - `multi`: the same without watching.
//! - `exec`: everything in one MULTI/EXEC, answered at the commit.
//! - `lua`: everything in one script, answered at the commit.
//!
//! What is queued here is laid over what is read, so that a transaction sees its own writes.
//! Registers are strings, counters too, lists are lists, sets are sets.

mod node;
mod resp;
mod session;

use crate::driver::{Connection, Database, Error, Fate, Isolation, Settings, choose_isolation};
use crate::drivers::cells;
use crate::plan::Action;
use crate::schema::Schema;
use history::Level;
use node::{Node, unexpected};
use resp::{Client, Reply};
use session::{Session, command};
use std::io;
use std::time::{Duration, Instant};

const WATCH: &str = "watch";
const MULTI: &str = "multi";
const EXEC: &str = "exec";
const LUA: &str = "lua";

const fn isolation(name: &'static str, promises: Level, because: &'static str) -> Isolation {
    Isolation {
        name,
        promises,
        because,
    }
}

const TRANSACTIONS: &str = "redis.io/docs, Transactions: MULTI, EXEC and WATCH";
const SCRIPTS: &str = "redis.io/docs, Scripting: a script's effects are atomic";
const REPLICATION: &str = "redis.io/docs, Replication: replicas follow the primary, late";

const ISOLATIONS: &[Isolation] = &[
    isolation(WATCH, Level::StrictSerializable, TRANSACTIONS),
    isolation(MULTI, Level::ReadCommitted, TRANSACTIONS),
    isolation(EXEC, Level::StrictSerializable, TRANSACTIONS),
    isolation(LUA, Level::StrictSerializable, SCRIPTS),
];

/// With replicas, reads may be late.
const ISOLATIONS_REPLICATED: &[Isolation] = &[
    isolation(WATCH, Level::Serializable, REPLICATION),
    isolation(MULTI, Level::ReadCommitted, REPLICATION),
    isolation(EXEC, Level::Serializable, REPLICATION),
    isolation(LUA, Level::Serializable, REPLICATION),
];

/// Keys that are asked for or removed by one command.
const KEYS_PER_COMMAND: &str = "1000";

struct Redis {
    nodes: Vec<Node>,
    product: String,
    takes_writes: Vec<bool>,
    isolation: Isolation,
    settings: Settings,
}

/// Connects to all nodes once, to learn what they are.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let nodes: Vec<Node> = urls
        .iter()
        .map(|url| Node::of_url(url))
        .collect::<Result<_, Error>>()?;
    let known = match nodes.len() {
        1 => ISOLATIONS,
        _ => ISOLATIONS_REPLICATED,
    };
    let isolation = choose_isolation(settings.isolation.as_deref(), known)?;
    let (mut product, mut takes_writes) = (String::new(), Vec::new());
    for node in &nodes {
        let hopeless = |error: Error| Error {
            fate: Fate::Hopeless,
            ..error
        };
        let mut client = node.connect(settings.patience).map_err(hopeless)?;
        let broken = |error: io::Error| Error::hopeless(format!("{}: {error}", node.shown));
        let about = client.ask(&["INFO", "server"]).map_err(broken)?;
        node.expect_ok(about.clone())?;
        if product.is_empty() {
            product = product_of(&about);
        }
        let role = client.ask(&["ROLE"]).map_err(broken)?;
        let Reply::Array(Some(role)) = role else {
            return Err(Error::hopeless(format!("{}: has no role", node.shown)));
        };
        takes_writes.push(role.first() == Some(&Reply::Text(Some("master".to_string()))));
    }
    Ok(Box::new(Redis {
        nodes,
        product,
        takes_writes,
        isolation,
        settings: settings.clone(),
    }))
}

fn product_of(about: &Reply) -> String {
    let Reply::Text(Some(text)) = about else {
        return "Redis".to_string();
    };
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    match (field("valkey_version:"), field("redis_version:")) {
        (Some(version), _) => format!("Valkey {}", version.trim()),
        (None, Some(version)) => format!("Redis {}", version.trim()),
        (None, None) => "Redis".to_string(),
    }
}

impl Redis {
    /// The node that writes go to, and a connection to it.
    fn primary(&self) -> Result<(&Node, Client), Error> {
        let place = self.takes_writes.iter().position(|&writes| writes);
        let Some(place) = place else {
            return Err(Error::hopeless("Redis: all nodes are replicas"));
        };
        let node = &self.nodes[place];
        Ok((node, node.connect(self.settings.patience)?))
    }

    fn remove(&self, node: &Node, client: &mut Client, schema: &Schema) -> Result<(), Error> {
        let broken = |error: io::Error| Error::hopeless(format!("{}: {error}", node.shown));
        for prefix in cells::prefixes(schema) {
            let pattern = format!("{prefix}*");
            let mut cursor = "0".to_string();
            loop {
                let words = [
                    "SCAN",
                    &cursor,
                    "MATCH",
                    &pattern,
                    "COUNT",
                    KEYS_PER_COMMAND,
                ];
                let (next, keys) = match client.ask(&words).map_err(broken)? {
                    Reply::Array(Some(parts)) => scanned(parts),
                    other => return Err(unexpected(&other, &node.shown)),
                };
                if !keys.is_empty() {
                    let words: Vec<String> = ["DEL".to_string()].into_iter().chain(keys).collect();
                    node.expect_ok(client.ask(&words).map_err(broken)?)?;
                }
                cursor = next;
                if cursor == "0" {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Waits until all replicas have what the primary has now: a mark that it is given.
    fn await_replicas(&self, node: &Node, client: &mut Client) -> Result<(), Error> {
        let broken = |error: io::Error| Error::hopeless(format!("{}: {error}", node.shown));
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
        let mark = since.unwrap_or_default().as_nanos().to_string();
        const MARK: &str = "isolde:mark";
        node.expect_ok(client.ask(&["SET", MARK, &mark]).map_err(broken)?)?;
        let until = Instant::now() + self.settings.patience;
        for (place, replica) in self.nodes.iter().enumerate() {
            if self.takes_writes[place] {
                continue;
            }
            let mut follower = replica.connect(self.settings.patience)?;
            while follower.ask(&["GET", MARK]).map_err(broken)? != Reply::Text(Some(mark.clone())) {
                if Instant::now() > until {
                    let shown = &replica.shown;
                    return Err(Error::hopeless(format!(
                        "{shown}: does not follow {}",
                        node.shown
                    )));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        client.ask(&["DEL", MARK]).map_err(broken).map(|_| ())
    }
}

/// The cursor and the keys of a SCAN.
fn scanned(parts: Vec<Reply>) -> (String, Vec<String>) {
    let (mut cursor, mut keys) = ("0".to_string(), Vec::new());
    for part in parts {
        match part {
            Reply::Text(Some(text)) => cursor = text,
            Reply::Array(Some(items)) => {
                keys.extend(items.into_iter().filter_map(|item| match item {
                    Reply::Text(text) => text,
                    _ => None,
                }))
            }
            _ => {}
        }
    }
    (cursor, keys)
}

impl Database for Redis {
    fn product(&self) -> String {
        self.product.clone()
    }

    fn isolations(&self) -> &'static [Isolation] {
        match self.nodes.len() {
            1 => ISOLATIONS,
            _ => ISOLATIONS_REPLICATED,
        }
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn answers_at_once(&self) -> bool {
        matches!(self.isolation.name, WATCH | MULTI)
    }

    fn takes_writes(&self, node: usize) -> bool {
        self.takes_writes.get(node).copied().unwrap_or(false)
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        let (node, mut client) = self.primary()?;
        self.remove(node, &mut client, schema)?;
        self.await_replicas(node, &mut client)
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        let (node, mut client) = self.primary()?;
        self.remove(node, &mut client, schema)
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let Some(node) = self.nodes.get(node) else {
            return Err(Error::hopeless(format!("Redis: there is no node {node}")));
        };
        let client = node.connect(self.settings.patience)?;
        let mode = self.isolation.name;
        Ok(Box::new(Session::new(client, &node.shown, mode, schema)))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        command(schema, action).join(" ")
    }

    fn frame(&self) -> [String; 3] {
        match self.isolation.name {
            LUA => ["", "EVAL", ""].map(str::to_string),
            _ => ["MULTI", "EXEC", "DISCARD"].map(str::to_string),
        }
    }
}
