//! An instance on a server: its statements, and what the server answers to them.

use super::cells;
use super::dialect::Dialect;
use super::error::ReplayError;
use super::level::ServerLevel;
use super::numbers;
use super::played::{Executed, Fate, Played, PlayedInstance};
use super::schedule::{Actor, Began, keep};
use super::server::{Server, rows_of};
use super::text::text_of;
use super::worker::Worker;
use crate::execute::{Call, Next, ResultSet, Runner};
use crate::expr::Value;
use crate::ir::Program;
use crate::scenario::{Event, Scenario};
use crate::schema::Schema;
use std::time::Duration;
use workload::driver::{Error, Fate as Meaning};
use workload::session::Reply;

/// What was sent and not answered.
enum Sent<'p> {
    Begin,
    Statement(Call<'p>, String),
    /// The rows that a write left, which are asked for after it.
    Look(Call<'p>, String, ResultSet),
    Commit,
    Rollback(Fate),
}

/// An instance and its session.
struct Sql<'p> {
    runner: Runner<'p>,
    schema: &'p Schema,
    dialect: Dialect,
    /// Its number, where it gives keys to new rows.
    numbered: Option<usize>,
    worker: Worker,
    /// The text that begins the transaction, until it is sent.
    begin: Option<String>,
    next: Option<Next<'p>>,
    sent: Option<Sent<'p>>,
    executed: Vec<Executed>,
    fate: Option<Fate>,
}

/// Plays a scenario with each instance at a level of its own, on the rows of the scenario.
pub(super) fn play(
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    levels: &[ServerLevel],
) -> Result<Played, ReplayError> {
    let played = try_play(server, program, scenario, levels);
    if played.is_err() {
        // Somebody may still wait for a lock.
        server.unseat();
    }
    played
}

fn try_play(
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    levels: &[ServerLevel],
) -> Result<Played, ReplayError> {
    let count = scenario.instances.len();
    if levels.len() != count {
        let problem = format!("{} levels for {count} instances", levels.len());
        return Err(ReplayError::new(problem));
    }
    server.seat(count)?;
    server.load(&scenario.rows)?;
    let (dialect, deadline) = (server.dialect, server.options.deadline);
    let mut begins = Vec::new();
    for (at, level) in levels.iter().enumerate() {
        server.check_level(*level)?;
        let mut texts = server.set_level(at, *level);
        texts.push(level.begin(dialect, scenario.begins_early(at)));
        begins.push(texts.join("; "));
    }
    let (workers, spare) = server.take_workers(count);
    let numbered = numbers::covers(program);
    let mut actors = Vec::new();
    for (at, (worker, begin)) in workers.into_iter().zip(begins).enumerate() {
        actors.push(Sql {
            runner: Runner::new(program, &scenario.instances[at]),
            schema: &program.schema,
            dialect,
            numbered: numbered.then_some(at),
            worker,
            begin: Some(begin),
            next: None,
            sent: None,
            executed: Vec::new(),
            fate: None,
        });
    }
    let kept = keep(scenario, actors, deadline, &mut |ids| server.waits(ids));
    server.workers = spare;
    let (actors, kept) = kept?;
    let mut instances = Vec::new();
    let mut workers = Vec::new();
    for actor in actors {
        workers.push(actor.worker);
        instances.push(PlayedInstance {
            executed: actor.executed,
            fate: actor.fate.unwrap_or(Fate::Committed),
            thrown: None,
        });
    }
    workers.append(&mut server.workers);
    server.workers = workers;
    Ok(Played {
        instances,
        rows: server.rows()?,
        waits: kept.waits,
        order: kept.order,
    })
}

impl<'p> Sql<'p> {
    fn send(&mut self, text: String, sent: Sent<'p>) -> Result<(), ReplayError> {
        self.worker.send(text)?;
        self.sent = Some(sent);
        Ok(())
    }

    fn execute(&mut self, call: Call<'p>) -> Result<(), ReplayError> {
        let text = text_of(self.dialect, self.schema, &call, self.numbered)?;
        let sent = match self.dialect {
            Dialect::Postgres => cells::with_returning(self.schema, &call, &text),
            Dialect::MariaDb => text.clone(),
        };
        self.send(sent, Sent::Statement(call, text))
    }

    /// Notes what a statement did, and lets the program go on.
    fn finish(
        &mut self,
        call: &Call<'p>,
        text: String,
        result: ResultSet,
        left: Option<&[Vec<Value>]>,
    ) -> Event {
        let accesses = cells::accesses(self.schema, call, &result, left);
        self.runner.feed(result.clone());
        self.executed.push(Executed {
            origin: call.statement.origin,
            text,
            result,
            ordered: !call.statement.shape.order_by.is_empty(),
            accesses,
        });
        Event::Statement(call.position)
    }

    fn executed(
        &mut self,
        call: Call<'p>,
        text: String,
        reply: &Reply,
    ) -> Result<Option<Event>, ReplayError> {
        let mut result = ResultSet {
            rows: rows_of(reply),
            changed: if call.statement.is_write() {
                reply.count
            } else {
                0
            },
        };
        if !call.statement.outputs.is_empty() {
            return Ok(Some(self.finish(&call, text, result, None)));
        }
        // Rows that come all the same were asked for by us.
        let left = std::mem::take(&mut result.rows);
        if !left.is_empty() {
            return Ok(Some(self.finish(&call, text, result, Some(&left))));
        }
        if let Some(look) = cells::look(self.dialect, self.schema, &call) {
            self.send(look, Sent::Look(call, text, result))?;
            return Ok(None);
        }
        Ok(Some(self.finish(&call, text, result, None)))
    }

    fn refused(
        &mut self,
        error: Error,
        text: &str,
        statement: Option<u32>,
    ) -> Result<Option<Event>, ReplayError> {
        if !is_refusal(&error) {
            return Err(unplayable(error).during(&format!("`{text}`")));
        }
        let fate = Fate::Refused {
            code: error.code.unwrap_or_default(),
            message: error.message,
            statement,
        };
        self.send("rollback".to_string(), Sent::Rollback(fate))?;
        Ok(None)
    }
}

impl Actor for Sql<'_> {
    fn session(&self) -> u64 {
        self.worker.id
    }

    fn perform(&mut self, event: Event) -> Result<Began, ReplayError> {
        if let Some(begin) = self.begin.take() {
            self.send(begin, Sent::Begin)?;
            return Ok(match event {
                Event::Begin => Began::Turn,
                _ => Began::Before,
            });
        }
        if event == Event::Begin {
            return Ok(Began::Nothing);
        }
        let next = match self.next.take() {
            Some(next) => next,
            None => self.runner.next()?,
        };
        match (event, next) {
            (Event::Commit, Next::Execute(call)) => {
                self.execute(call)?;
                return Ok(Began::Before);
            }
            (_, Next::Execute(call)) => self.execute(call)?,
            (Event::Commit, Next::Commit) => self.send("commit".to_string(), Sent::Commit)?,
            (Event::Commit, Next::Abort { .. }) => {
                self.send("rollback".to_string(), Sent::Rollback(Fate::Undone))?;
            }
            (_, end) => {
                self.next = Some(end);
                return Ok(Began::Nothing);
            }
        }
        Ok(Began::Turn)
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Event>, ReplayError> {
        let Some(answer) = self.worker.answer(within)? else {
            return Ok(None);
        };
        let Some(sent) = self.sent.take() else {
            return Ok(None);
        };
        match (sent, answer) {
            (Sent::Begin, answer) => {
                answer?;
                Ok(Some(Event::Begin))
            }
            (Sent::Statement(call, text), Ok(reply)) => self.executed(call, text, &reply),
            (Sent::Look(call, text, result), Ok(reply)) => {
                let left = rows_of(&reply);
                Ok(Some(self.finish(&call, text, result, Some(&left))))
            }
            (Sent::Statement(call, text) | Sent::Look(call, text, _), Err(error)) => {
                self.refused(error, &text, Some(call.position))
            }
            (Sent::Commit, Ok(_)) => {
                self.fate = Some(Fate::Committed);
                Ok(Some(Event::Commit))
            }
            (Sent::Commit, Err(error)) => self.refused(error, "commit", None),
            (Sent::Rollback(fate), answer) => {
                answer?;
                self.fate = Some(fate);
                Ok(Some(Event::Commit))
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.fate.is_some()
    }

    fn statements(&self) -> u32 {
        self.runner.executed()
    }

    fn doing(&self) -> String {
        match &self.sent {
            Some(Sent::Statement(_, text) | Sent::Look(_, text, _)) => format!("`{text}`"),
            Some(Sent::Begin) => "begin".to_string(),
            Some(Sent::Commit) => "commit".to_string(),
            Some(Sent::Rollback(_)) => "rollback".to_string(),
            None => "nothing".to_string(),
        }
    }
}

/// An error that is no answer to concurrency. Where the server gave it, it is about this scenario.
pub(super) fn unplayable(error: Error) -> ReplayError {
    ReplayError {
        unplayable: error.code.is_some(),
        ..ReplayError::from(error)
    }
}

/// Whether an error is an answer to the transaction, and not a statement that the server cannot read.
pub(super) fn is_refusal(error: &Error) -> bool {
    let code = error.code.as_deref().unwrap_or_default();
    // Values that a column cannot hold: PostgreSQL's class 22, and MariaDB's numbers for the same.
    let bad_value = code.len() == 5 && code.starts_with("22")
        || matches!(code, "1264" | "1365" | "1366" | "1406" | "1690");
    // A text that is no date comes of values that are not followed, not of what ran beside it.
    let no_date = matches!(code, "1292" | "22007");
    !no_date && (error.fate == Meaning::Aborted || bad_value)
}
