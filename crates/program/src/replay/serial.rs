//! All serial runs of a scenario in one transaction of one session.
//!
//! The rows are loaded, and every order of the instances is run from a savepoint that is then gone
//! back to: nothing is committed, nothing need be loaded again, and nobody waits for anybody. Orders
//! that begin alike share their beginning. An instance that is undone or refused goes back to the
//! savepoint before it, which is what an abort leaves of it.
//!
//! Cost: a round trip a statement and one a table; no thread. Not where the server chooses a key: its
//! counters do not go back, so that orders would differ by the values they were given.

use super::error::ReplayError;
use super::judge::{Outcome, steps};
use super::numbers;
use super::played::{Executed, Fate, PlayedInstance};
use super::run::{is_refusal, unplayable};
use super::server::{Server, rows_of};
use super::text::text_of;
use crate::execute::{Call, Next, ResultSet, Runner};
use crate::ir::Program;
use crate::scenario::{Instance, Scenario};
use workload::driver::Error;

/// Whether the runs of such a program can share a transaction.
pub(super) fn applies(program: &Program) -> bool {
    numbers::covers(program)
}

/// What each order does, in their sequence.
pub(super) fn outcomes(
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    orders: &[Vec<usize>],
) -> Result<Vec<Outcome>, ReplayError> {
    server.load_within(&scenario.rows)?;
    let found = all_orders(server, program, scenario, orders);
    // After an error the session is given up by whoever gets it.
    let undone = server.ask("rollback");
    let found = found?;
    undone?;
    Ok(found)
}

fn all_orders(
    server: &mut Server,
    program: &Program,
    scenario: &Scenario,
    orders: &[Vec<usize>],
) -> Result<Vec<Outcome>, ReplayError> {
    let mut found = Vec::new();
    // What the session stands at: the instances that ran, and what they did.
    let mut ran: Vec<(usize, Vec<String>)> = Vec::new();
    for order in orders {
        let pairs = ran.iter().zip(order);
        let shared = pairs.take_while(|((one, _), other)| one == *other).count();
        if shared < ran.len() {
            server.ask(&format!("rollback to savepoint run_{shared}"))?;
            ran.truncate(shared);
        }
        for at in order.iter().skip(shared) {
            let instance = &scenario.instances[*at];
            let savepoint = format!("run_{}", ran.len());
            let played = alone(server, program, (*at, instance), &savepoint)?;
            ran.push((*at, steps(&played)));
        }
        let rows = server.rows()?;
        found.push(Outcome::new(&program.schema, ran.iter().cloned(), &rows));
    }
    Ok(found)
}

/// One instance from its savepoint on.
fn alone(
    server: &mut Server,
    program: &Program,
    (at, instance): (usize, &Instance),
    savepoint: &str,
) -> Result<PlayedInstance, ReplayError> {
    let mut runner = Runner::new(program, instance);
    let mut executed = Vec::new();
    // Sent with the first statement.
    let mut before = format!("savepoint {savepoint}; ");
    let fate = loop {
        let call = match runner.next()? {
            Next::Execute(call) => call,
            Next::Commit => break Fate::Committed,
            Next::Abort { .. } => break Fate::Undone,
        };
        let text = text_of(server.dialect(), &program.schema, &call, Some(at))?;
        let reply = server.ask(&format!("{before}{text}"));
        before.clear();
        match reply {
            Ok(reply) => {
                let result = ResultSet {
                    rows: rows_of(&reply),
                    changed: match call.statement.is_write() {
                        true => reply.count,
                        false => 0,
                    },
                };
                runner.feed(result.clone());
                executed.push(did(&call, text, result));
            }
            Err(error) if is_refusal(&error) => break refused(error, call.position),
            Err(error) => return Err(unplayable(error).during(&format!("`{text}`"))),
        }
    };
    if !before.is_empty() {
        server.ask(&format!("savepoint {savepoint}"))?;
    } else if fate != Fate::Committed {
        server.ask(&format!("rollback to savepoint {savepoint}"))?;
    }
    Ok(PlayedInstance {
        executed,
        fate,
        thrown: None,
    })
}

fn did(call: &Call<'_>, text: String, result: ResultSet) -> Executed {
    Executed {
        origin: call.statement.origin,
        text,
        result,
        ordered: !call.statement.shape.order_by.is_empty(),
        accesses: Vec::new(),
    }
}

fn refused(error: Error, statement: u32) -> Fate {
    Fate::Refused {
        code: error.code.unwrap_or_default(),
        message: error.message,
        statement: Some(statement),
    }
}
