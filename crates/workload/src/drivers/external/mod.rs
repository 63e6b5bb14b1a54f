//! Any program that speaks JSON lines is a database: `exec:COMMAND ARGS…`. The protocol is in
//! docs/drivers.md. Each connection is a process of its own; several URLs are several nodes.
//!
//! A driver that dies or falls silent loses the connection; one that breaks the protocol ends the run,
//! because what it says next means nothing. While a commit is under way, all of these leave the
//! transaction unknown.

mod command;
mod process;
mod protocol;

use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::plan::Action;
use crate::schema::Schema;
use command::Command;
use process::{Process, Trouble};
use protocol::{Description, Object, Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

struct External {
    nodes: Vec<(Arc<Command>, Description)>,
    isolations: &'static [Isolation],
    isolation: Isolation,
    settings: Settings,
}

/// Asks the driver of each node what it is.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let mut nodes = Vec::new();
    for url in urls {
        let command = Arc::new(Command::of_url(url)?);
        let described = describe(&command, settings.patience);
        let description = described.map_err(|error| Error {
            fate: Fate::Hopeless,
            ..error
        })?;
        nodes.push((command, description));
    }
    let Some((_, first)) = nodes.first() else {
        return Err(Error::hopeless("exec: no driver was named"));
    };
    // A few words for each database opened, which are mostly one.
    let isolations: &'static [Isolation] = first.isolations.clone().leak();
    let isolation = choose_isolation(settings.isolation.as_deref(), isolations)?;
    Ok(Box::new(External {
        nodes,
        isolations,
        isolation,
        settings: settings.clone(),
    }))
}

fn describe(command: &Arc<Command>, patience: Duration) -> Result<Description, Error> {
    let mut driver = Driver::start(command, patience)?;
    let answer = driver.ask(&json!({"do": "describe"}), Fate::Lost)?;
    protocol::description(&answer).map_err(|what| driver.broken(&what, Fate::Lost))
}

/// A process and the number of the last request.
struct Driver {
    process: Process,
    asked: u64,
}

impl Driver {
    fn start(command: &Arc<Command>, patience: Duration) -> Result<Driver, Error> {
        let process = Process::start(command, patience).map_err(|error| {
            let program = command.scrub(&command.words[0]);
            Error::hopeless(format!("exec: cannot start {program}: {error}"))
        })?;
        Ok(Driver { process, asked: 0 })
    }

    /// Asks, and gives the answer unless it is an error. `fate` is what becomes of the transaction if
    /// there is no clear answer.
    fn ask(&mut self, request: &Value, fate: Fate) -> Result<Object, Error> {
        self.asked += 1;
        let mut request = request.clone();
        request["id"] = Value::from(self.asked);
        let answered = self.process.exchange(&request.to_string());
        let line = answered.map_err(|trouble| lost(trouble, fate))?;
        let object = match protocol::reply(&line) {
            Ok(Reply::Done(object)) => object,
            Ok(Reply::Refused(error)) => {
                let message = self.process.scrub(&error.message);
                return Err(Error { message, ..error });
            }
            Err(what) => return Err(self.broken(&what, fate)),
        };
        match object.get("id") {
            Some(id) if id.as_u64() != Some(self.asked) => {
                let what = format!("answered request {id} when asked {}", self.asked);
                Err(self.broken(&what, fate))
            }
            _ => Ok(object),
        }
    }

    fn broken(&mut self, what: &str, fate: Fate) -> Error {
        lost(self.process.trouble(true, what), fate)
    }
}

fn lost(trouble: Trouble, fate: Fate) -> Error {
    let fate = match fate {
        Fate::Lost if trouble.breaks_rules => Fate::Hopeless,
        other => other,
    };
    Error::new(fate, trouble.message)
}

impl External {
    fn start(&self, node: usize, schema: &Schema) -> Result<Driver, Error> {
        let Some((command, _)) = self.nodes.get(node) else {
            return Err(Error::hopeless(format!("exec: there is no node {node}")));
        };
        let mut driver = Driver::start(command, self.settings.patience)?;
        let patience_ms = u64::try_from(self.settings.patience.as_millis()).unwrap_or(u64::MAX);
        let request = json!({
            "do": "open",
            "node": node,
            "isolation": self.isolation.name,
            "patience_ms": patience_ms,
            "schema": protocol::schema_object(schema),
        });
        match driver.ask(&request, Fate::Lost) {
            Ok(_) => Ok(driver),
            // There is no transaction yet whose fate could be unknown.
            Err(error) if error.fate == Fate::Unknown => Err(Error {
                fate: Fate::Lost,
                ..error
            }),
            Err(error) => Err(error),
        }
    }

    fn ask_once(&self, what: &str, schema: &Schema) -> Result<(), Error> {
        let writes = self.nodes.iter().position(|(_, node)| node.takes_writes);
        let mut driver = self.start(writes.unwrap_or(0), schema)?;
        driver.ask(&json!({"do": what}), Fate::Lost).map(|_| ())
    }
}

impl Database for External {
    fn product(&self) -> String {
        let (command, description) = &self.nodes[0];
        command.scrub(&description.product)
    }

    fn isolations(&self) -> &'static [Isolation] {
        self.isolations
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn answers_at_once(&self) -> bool {
        self.nodes.iter().all(|(_, node)| node.answers_at_once)
    }

    fn takes_writes(&self, node: usize) -> bool {
        self.nodes
            .get(node)
            .is_some_and(|(_, node)| node.takes_writes)
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        self.ask_once("prepare", schema)
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.ask_once("clean", schema)
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(Session {
            driver: self.start(node, schema)?,
            schema: schema.clone(),
            waiting: Vec::new(),
            may_wait: !self.answers_at_once(),
        }))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        protocol::request(schema, action).to_string()
    }

    fn frame(&self) -> [String; 3] {
        ["begin", "commit", "rollback"].map(|word| json!({"do": word}).to_string())
    }
}

struct Session {
    driver: Driver,
    schema: Schema,
    /// Actions to be answered by the commit.
    waiting: Vec<Action>,
    may_wait: bool,
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.waiting.clear();
        let begun = self.driver.ask(&json!({"do": "begin"}), Fate::Lost);
        begun.map(|_| ())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        let request = protocol::request(&self.schema, action);
        let object = self.driver.ask(&request, Fate::Lost)?;
        let answer = protocol::answer(&self.schema, action, &object)
            .map_err(|what| self.driver.broken(&what, Fate::Lost))?;
        if answer == Answer::Later {
            if !self.may_wait {
                let what = "put an answer off, but described itself as answering at once";
                return Err(self.driver.broken(what, Fate::Lost));
            }
            self.waiting.push(*action);
        }
        Ok(answer)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        let object = self.driver.ask(&json!({"do": "commit"}), Fate::Unknown)?;
        protocol::commit(&self.schema, &self.waiting, &object)
            .map_err(|what| self.driver.broken(&what, Fate::Unknown))
    }

    fn rollback(&mut self) -> Result<(), Error> {
        let rolled_back = self.driver.ask(&json!({"do": "rollback"}), Fate::Lost);
        rolled_back.map(|_| ())
    }
}
