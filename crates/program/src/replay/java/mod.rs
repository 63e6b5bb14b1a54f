//! The application's own Java code on a server: its methods run behind a JDBC driver that asks for
//! every turn.
//!
//! `Replayer.java` and what is beside it is compiled together with the application's sources by the
//! user's `javac`. One process runs all instances, each in a thread with a connection of its own. The thread asks over
//! a socket of the loopback interface before a statement, a commit or a rollback goes to the
//! database, and tells what came of it. What the application reads from its results is reported,
//! too: two runs of a transaction are the same if it saw the same.

mod actor;
mod compile;
mod host;
mod own;

pub use compile::JavaApplication;
pub use host::JavaHost;

use super::error::ReplayError;
use super::level::ServerLevel;
use super::played::{Fate, Played, PlayedInstance};
use super::schedule::{Kept, keep};
use super::server::Server;
use crate::ir::Program;
use crate::scenario::{Event, Scenario, Turn};

/// Plays a scenario by the methods of the application. Where these cannot be played, others can: the
/// application is started anew for them.
pub(super) fn play(
    host: &mut JavaHost,
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    levels: &[ServerLevel],
) -> Result<Played, ReplayError> {
    for level in levels {
        server.check_level(*level)?;
    }
    server.load(&scenario.rows)?;
    host.run(server)?;
    let (instances, kept) =
        run_methods(host, server, program, scenario, levels).map_err(|error| {
            if !error.unplayable || host.lacks_threads() {
                host.stop();
            }
            ReplayError::unplayable(error.problem)
        })?;
    Ok(Played {
        instances,
        rows: server.rows()?,
        waits: kept.waits,
        order: kept.order,
    })
}

fn run_methods(
    host: &mut JavaHost,
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    levels: &[ServerLevel],
) -> Result<(Vec<PlayedInstance>, Kept), ReplayError> {
    let deadline = server.options.deadline;
    let actors = host.seat(server, program, scenario, levels)?;
    let (actors, kept) = keep(scenario, actors, deadline, &mut |ids| server.waits(ids))?;
    let instances = host.unseat(actors, deadline)?;
    does_something(program, scenario, &instances)?;
    Ok((instances, kept))
}

/// Refuses a run in which a method that is to execute statements executed none: whatever it looks like,
/// it says nothing about the anomaly.
fn does_something(
    program: &Program,
    scenario: &Scenario,
    instances: &[PlayedInstance],
) -> Result<(), ReplayError> {
    for (at, one) in instances.iter().enumerate() {
        let has_turn =
            |turn: &Turn| turn.instance == at && matches!(turn.event, Event::Statement(_));
        let refused = matches!(one.fate, Fate::Refused { .. });
        if !one.executed.is_empty() || refused || !scenario.schedule.iter().any(has_turn) {
            continue;
        }
        let transaction = program.transactions.get(scenario.instances[at].transaction);
        let name = transaction.map_or("", |one| one.name.as_str());
        let why = match &one.thrown {
            Some(thrown) => format!(": {thrown}"),
            None => String::new(),
        };
        return Err(ReplayError::unplayable(format!(
            "the code of {name} ends before its first statement{why}; without --java its statements are \
             played"
        )));
    }
    Ok(())
}
