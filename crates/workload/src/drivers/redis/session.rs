//! A transaction of Redis: reads asked at once or queued, writes queued, everything sent by the commit.

use super::node::{coded, first_word, may_pass, unexpected};
use super::resp::{Client, Commands, Reply};
use super::{EXEC, LUA, WATCH};
use crate::driver::{Answer, Commit, Connection, Error, Fate};
use crate::drivers::cells::{self, Overlay};
use crate::plan::Action;
use crate::schema::{Cell, Schema};
use std::collections::BTreeSet;
use std::io;

/// Runs the commands in ARGV, each with the count of its words before it.
const SCRIPT: &str = "local out, at = {}, 1 \
    while at <= #ARGV do \
    local words, count = {}, tonumber(ARGV[at]) \
    for place = 1, count do words[place] = ARGV[at + place] end \
    out[#out + 1] = redis.call(unpack(words)) \
    at = at + count + 1 \
    end \
    return out";

/// The command of an action.
pub fn command(schema: &Schema, action: &Action) -> Vec<String> {
    let key = cells::key(schema, action.cell());
    let words = |verb: &str, rest: &[&str]| {
        let rest = rest.iter().map(|word| word.to_string());
        [verb.to_string(), key.clone()]
            .into_iter()
            .chain(rest)
            .collect()
    };
    match *action {
        Action::Read(_) | Action::ReadCounter(_) => words("GET", &[]),
        Action::ReadGroup(cell) => {
            let keys = schema.group_of(cell).map(|cell| cells::key(schema, cell));
            ["MGET".to_string()].into_iter().chain(keys).collect()
        }
        Action::ReadList(_) => words("LRANGE", &["0", "-1"]),
        Action::ReadSet(_) => words("SMEMBERS", &[]),
        Action::Write(_, value) => words("SET", &[&value.to_string()]),
        Action::Append(_, value) => words("RPUSH", &[&value.to_string()]),
        Action::Add(_, value) => words("SADD", &[&value.to_string()]),
        Action::Increment(_, value) => words("INCRBY", &[&value.to_string()]),
    }
}

/// A connection with the transaction that is made up here.
pub struct Session {
    client: Client,
    shown: String,
    mode: &'static str,
    schema: Schema,
    /// What the commit sends: the writes, or everything where answers come with it.
    queued: Vec<Action>,
    /// The writes, for reads that are answered before the commit.
    overlay: Overlay,
    watched: BTreeSet<Cell>,
}

impl Session {
    /// A session at one of the settings.
    pub fn new(client: Client, shown: &str, mode: &'static str, schema: &Schema) -> Session {
        Session {
            client,
            shown: shown.to_string(),
            mode,
            schema: schema.clone(),
            queued: Vec::new(),
            overlay: Overlay::default(),
            watched: BTreeSet::new(),
        }
    }

    fn lost(&self, error: io::Error) -> Error {
        Error::new(Fate::Lost, format!("{}: {error}", self.shown))
    }

    /// Asks a read at once, under watch if the setting says so.
    fn read(&mut self, action: &Action) -> Result<Answer, Error> {
        let mut commands = Commands::default();
        let watch = if self.mode == WATCH {
            self.newly_watched(action)
        } else {
            Vec::new()
        };
        if !watch.is_empty() {
            let words: Vec<String> = ["WATCH".to_string()].into_iter().chain(watch).collect();
            commands.add(&words);
        }
        commands.add(&command(&self.schema, action));
        let replies = self.client.ask_all(&commands);
        for reply in replies.map_err(|error| self.lost(error))? {
            match reply {
                // WATCH says OK; reads never do.
                Reply::Status(_) => {}
                Reply::Error(text) => {
                    return Err(coded(fate_before_commit(&text), &text, &self.shown));
                }
                other => return self.answer(action, other),
            }
        }
        Err(Error::hopeless(format!("{}: no answer", self.shown)))
    }

    /// The keys that this action reads and that are not watched yet.
    fn newly_watched(&mut self, action: &Action) -> Vec<String> {
        let cells: Vec<Cell> = match action {
            Action::ReadGroup(cell) => self.schema.group_of(*cell).collect(),
            other => vec![other.cell()],
        };
        let new = cells.into_iter().filter(|cell| self.watched.insert(*cell));
        new.map(|cell| cells::key(&self.schema, cell)).collect()
    }

    /// What a reply means to an action.
    fn answer(&self, action: &Action, reply: Reply) -> Result<Answer, Error> {
        let cell = action.cell();
        let wrong = |reply: &Reply| unexpected(reply, &self.shown);
        match (action, &reply) {
            (Action::Read(_) | Action::ReadCounter(_), Reply::Text(text)) => {
                let stored = number(text).ok_or_else(|| wrong(&reply))?;
                let stored = stored.or_else(|| cells::absent(&self.schema, cell));
                Ok(Answer::Value(self.overlay.number(cell, stored), None))
            }
            (_, Reply::Array(Some(items))) => {
                let numbers = items.iter().map(|item| match item {
                    Reply::Text(text) => number(text),
                    _ => None,
                });
                let numbers: Option<Vec<Option<i64>>> = numbers.collect();
                let numbers = numbers.ok_or_else(|| wrong(&reply))?;
                if let Action::ReadGroup(cell) = action {
                    let group: Vec<Cell> = self.schema.group_of(*cell).collect();
                    let stored = numbers.into_iter();
                    return Ok(cells::rows(&self.schema, &self.overlay, &group, stored));
                }
                let stored = numbers.into_iter().flatten().collect();
                Ok(Answer::Values(match action {
                    Action::ReadList(_) => self.overlay.list(cell, stored),
                    _ => self.overlay.set(cell, stored),
                }))
            }
            _ => Err(wrong(&reply)),
        }
    }

    /// Everything that the commit sends.
    fn commit_commands(&self) -> Commands {
        let mut commands = Commands::default();
        if self.mode == LUA {
            let keys: BTreeSet<String> = self
                .queued
                .iter()
                .map(|action| cells::key(&self.schema, action.cell()))
                .collect();
            let mut words = vec![
                "EVAL".to_string(),
                SCRIPT.to_string(),
                keys.len().to_string(),
            ];
            words.extend(keys);
            for action in &self.queued {
                let command = command(&self.schema, action);
                words.push(command.len().to_string());
                words.extend(command);
            }
            commands.add(&words);
            return commands;
        }
        commands.add(&["MULTI"]);
        for action in &self.queued {
            commands.add(&command(&self.schema, action));
        }
        commands.add(&["EXEC"]);
        commands
    }

    fn send_commit(&mut self) -> Result<Commit, Error> {
        if self.client.is_closed() {
            let message = format!("{}: the server closed the connection", self.shown);
            return Err(Error::new(Fate::Lost, message));
        }
        let replies = self.client.ask_all(&self.commit_commands());
        let replies = replies
            .map_err(|error| Error::new(Fate::Unknown, format!("{}: {error}", self.shown)))?;
        // Of MULTI … EXEC, the last reply has the results; so has the only one of EVAL.
        let results = match replies.into_iter().next_back() {
            Some(Reply::Array(Some(results))) => results,
            Some(Reply::Array(None)) => {
                let message = "a watched key has changed";
                return Err(Error::new(Fate::Aborted, message).with_code("EXEC"));
            }
            Some(Reply::Error(text)) => {
                return Err(coded(fate_of_commit(&text), &text, &self.shown));
            }
            other => {
                let message = format!("{}: answered a commit with {other:?}", self.shown);
                return Err(Error::new(Fate::Unknown, message));
            }
        };
        let mut answers = Vec::new();
        for (action, reply) in self.queued.iter().zip(results) {
            if let Reply::Error(text) = &reply {
                // Redis goes on after an error: the other writes were made.
                return Err(coded(Fate::Hopeless, text, &self.shown));
            }
            if !action.writes() {
                answers.push(self.answer(action, reply)?);
            }
        }
        Ok(Commit {
            answers,
            ..Commit::default()
        })
    }

    fn forget(&mut self) {
        self.queued.clear();
        self.overlay.clear();
        self.watched.clear();
    }
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.forget();
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        if !cells::fits(&self.schema, action) {
            return Err(Error::hopeless(
                "Redis: an action on a column of another kind",
            ));
        }
        if matches!(self.mode, EXEC | LUA) {
            self.queued.push(*action);
            return Ok(match action.writes() {
                true => Answer::Done,
                false => Answer::Later,
            });
        }
        if action.writes() {
            self.queued.push(*action);
            self.overlay.write(action);
            return Ok(Answer::Done);
        }
        self.read(action)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        if self.queued.is_empty() && self.watched.is_empty() {
            return Ok(Commit::default());
        }
        let commit = self.send_commit();
        self.forget();
        commit
    }

    fn rollback(&mut self) -> Result<(), Error> {
        let watches = !self.watched.is_empty();
        self.forget();
        if watches {
            let reply = self.client.ask(&["UNWATCH"]);
            reply.map_err(|error| self.lost(error))?;
        }
        Ok(())
    }
}

/// A number, or nothing; none of both is `None`.
fn number(text: &Option<String>) -> Option<Option<i64>> {
    match text {
        None => Some(None),
        Some(text) => text.parse().ok().map(Some),
    }
}

fn fate_before_commit(text: &str) -> Fate {
    match may_pass(text) {
        true => Fate::Aborted,
        false => Fate::Hopeless,
    }
}

/// After an error in place of all results nothing was executed, but for a script that stopped halfway.
fn fate_of_commit(text: &str) -> Fate {
    match first_word(text) {
        "EXECABORT" => Fate::Aborted,
        _ => fate_before_commit(text),
    }
}
