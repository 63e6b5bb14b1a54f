//! The application's own Java code on a server: its methods run behind a JDBC driver that asks for
//! every turn.
//!
//! `Replayer.java` is compiled together with the application's sources by the user's `javac`. One
//! process runs all instances, each in a thread with a connection of its own. The thread asks over
//! a socket of the loopback interface before a statement, a commit or a rollback goes to the
//! database, and tells what came of it. What the application reads from its results is reported,
//! too: two runs of a transaction are the same if it saw the same.

mod actor;
mod compile;
mod host;

pub use compile::JavaApplication;
pub use host::JavaHost;

use super::error::ReplayError;
use super::level::ServerLevel;
use super::played::{Played, PlayedInstance};
use super::schedule::{Kept, keep};
use super::server::Server;
use crate::ir::Program;
use crate::scenario::Scenario;

/// The text of our part, compiled with the application.
const REPLAYER: &str = include_str!("Replayer.java");

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
            if !error.unplayable {
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
    Ok((host.unseat(actors, deadline)?, kept))
}
