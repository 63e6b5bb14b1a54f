//! The schedule on a server: whose turn it is, who waits, who ends.

use super::Engine;
use super::agent::{Agent, Pending};
use super::attempt::Attempt;
use super::locks::Locks;
use super::ssi::Ssi;
use crate::execute::error::ExecuteError;
use crate::execute::play::{Abort, Fate, Finished};
use crate::execute::runner::Next;
use crate::execute::store::{RowId, Store, View};
use crate::execute::trace::Trace;
use crate::ir::Program;
use crate::scenario::{Event, Point, Scenario};
use std::collections::BTreeSet;

pub(super) struct Simulation<'p> {
    pub(super) trace: Trace<'p>,
    pub(super) agents: Vec<Agent<'p>>,
    pub(super) locks: Locks,
    pub(super) ssi: Ssi,
    pub(super) inexact: Vec<Point>,
    /// Rows that an operation wrote without a change, on servers where that is no write.
    pub(super) kept: BTreeSet<(usize, RowId)>,
    commits: Vec<usize>,
    commit_times: Vec<usize>,
}

/// Plays a scenario on a server.
pub(in crate::execute) fn simulate<'p>(
    program: &'p Program,
    scenario: &Scenario,
    engine: Engine,
) -> Result<Finished<'p>, ExecuteError> {
    let instances = 0..scenario.instances.len();
    let agents = instances.map(|at| Agent::new(program, scenario, at, engine));
    let mut simulation = Simulation {
        trace: Trace::new(Store::new(program, &scenario.rows)),
        agents: agents.collect(),
        locks: Locks::default(),
        ssi: Ssi::new(scenario.instances.len()),
        inexact: Vec::new(),
        kept: BTreeSet::new(),
        commits: Vec::new(),
        commit_times: Vec::new(),
    };
    for turn in &scenario.schedule {
        simulation.turn(turn.instance, turn.event)?;
        simulation.settle()?;
    }
    for who in 0..scenario.instances.len() {
        simulation.turn(who, Event::Commit)?;
        simulation.settle()?;
    }
    // Whoever still waits is waited for by nobody who could end.
    while let Some(who) = simulation.locks.waiting().first().copied() {
        simulation.abort(who, Abort::Deadlock, DEADLOCK);
        simulation.settle()?;
    }
    Ok(Finished {
        trace: simulation.trace,
        runs: simulation
            .agents
            .into_iter()
            .map(|agent| agent.run)
            .collect(),
        commits: simulation.commits,
        commit_times: simulation.commit_times,
        inexact: simulation.inexact,
    })
}

const DEADLOCK: &str = "deadlock detected";

impl<'p> Simulation<'p> {
    pub(super) fn is_committed(&self, op: usize) -> bool {
        let instance = self.trace.instance_of(op);
        instance.is_some_and(|instance| self.agents[instance].committed)
    }

    /// What is committed now, and what the agent did itself.
    pub(super) fn current(&self, who: usize) -> Vec<bool> {
        self.trace.mask(|op| {
            let own = self.trace.instance_of(op) == Some(who);
            own || self.is_committed(op)
        })
    }

    pub(super) fn take_snapshot(&mut self, who: usize) {
        if self.agents[who].snapshot.is_none() {
            let now = self.trace.mask(|op| self.is_committed(op));
            self.agents[who].snapshot = Some(now);
            if self.agents[who].engine == Engine::PostgresSerializable {
                self.ssi.begin(who);
            }
        }
    }

    fn turn(&mut self, who: usize, event: Event) -> Result<(), ExecuteError> {
        let agent = &mut self.agents[who];
        if agent.ended {
            return Ok(());
        }
        if agent.is_blocked() {
            agent.put_off.push_back(event);
            return Ok(());
        }
        match event {
            Event::Begin => {
                if agent.engine.keeps_snapshot() && agent.begins_early {
                    self.take_snapshot(who);
                }
            }
            Event::Statement(wanted) => {
                if agent.runner.executed() <= wanted {
                    self.step(who, false)?;
                }
            }
            Event::Commit => while self.step(who, true)? {},
        }
        Ok(())
    }

    /// One statement, or the end where it may end; whether there may be more at once.
    fn step(&mut self, who: usize, may_end: bool) -> Result<bool, ExecuteError> {
        let agent = &mut self.agents[who];
        if agent.ended {
            return Ok(false);
        }
        let next = match agent.next.take() {
            Some(next) => next,
            None => agent.runner.next()?,
        };
        match next {
            Next::Execute(call) => {
                let view = self.statement_view(who);
                self.agents[who].pending = Some(Pending {
                    call,
                    view,
                    fresh: Default::default(),
                });
                self.go_on(who);
                let agent = &mut self.agents[who];
                if agent.is_blocked() && may_end {
                    agent.put_off.push_front(Event::Commit);
                }
                Ok(!agent.is_blocked() && !agent.ended)
            }
            end if !may_end => {
                agent.next = Some(end);
                Ok(false)
            }
            Next::Commit => {
                self.commit(who);
                Ok(false)
            }
            Next::Abort { place } => {
                self.end(who, Fate::AbortedByProgram { place });
                Ok(false)
            }
        }
    }

    /// What the snapshot of a statement of PostgreSQL shows; MariaDB's come later.
    fn statement_view(&mut self, who: usize) -> View {
        if !self.agents[who].engine.is_postgres() {
            return View::default();
        }
        if self.agents[who].engine == Engine::PostgresReadCommitted {
            return View {
                base: self.current(who),
                ..View::default()
            };
        }
        self.take_snapshot(who);
        let snapshot = self.agents[who].snapshot.clone().unwrap_or_default();
        View {
            base: self.trace.mask(|op| {
                let own = self.trace.instance_of(op) == Some(who);
                own || snapshot.get(op).copied().unwrap_or(false)
            }),
            ..View::default()
        }
    }

    /// Tries the pending statement, and breaks a circle of waiting.
    fn go_on(&mut self, who: usize) {
        match self.attempt(who) {
            Attempt::Done => {}
            Attempt::Fails(reason, message) => self.abort(who, reason, &message),
            Attempt::Waits(request) => {
                let agent = &mut self.agents[who];
                let position = agent.pending.as_ref().map_or(0, |p| p.call.position);
                if agent.run.waits.last() != Some(&position) {
                    agent.run.waits.push(position);
                }
                self.locks.wait(who, request);
                if let Some(circle) = self.locks.circle(who) {
                    let victim = self.victim(who, &circle);
                    self.abort(victim, Abort::Deadlock, DEADLOCK);
                }
            }
        }
    }

    /// PostgreSQL: who began to wait first finds the circle. MariaDB: who changed and locked least,
    /// or else who closed it.
    fn victim(&self, who: usize, circle: &[usize]) -> usize {
        if self.agents[who].engine.is_postgres() {
            let waiting = self.locks.waiting();
            let first = waiting.into_iter().find(|one| circle.contains(one));
            return first.unwrap_or(who);
        }
        let weight = |one: &usize| {
            let writes = self.agents[*one].written.len();
            (writes + self.locks.held(*one), *one != who)
        };
        circle.iter().copied().min_by_key(weight).unwrap_or(who)
    }

    /// Lets everybody go on who can.
    fn settle(&mut self) -> Result<(), ExecuteError> {
        loop {
            if let Some(who) = self.locks.grantable() {
                self.go_on(who);
                continue;
            }
            let free = |agent: &Agent<'_>| {
                !agent.is_blocked() && !agent.ended && !agent.put_off.is_empty()
            };
            let Some(who) = self.agents.iter().position(free) else {
                return Ok(());
            };
            if let Some(event) = self.agents[who].put_off.pop_front() {
                self.turn(who, event)?;
            }
        }
    }

    fn commit(&mut self, who: usize) {
        if self.ssi.is_doomed(who) {
            let message = "could not serialize access due to read/write dependencies";
            return self.abort(who, Abort::Serialization, message);
        }
        if self.agents[who].engine == Engine::PostgresSerializable {
            self.ssi.commit(who);
        }
        self.agents[who].committed = true;
        self.commits.push(who);
        self.commit_times.push(self.trace.records.len());
        self.end(who, Fate::Committed);
    }

    fn abort(&mut self, who: usize, reason: Abort, message: &str) {
        let message = message.to_string();
        self.end(who, Fate::AbortedByStore { reason, message });
    }

    fn end(&mut self, who: usize, fate: Fate) {
        if fate != Fate::Committed {
            self.trace.undo(who);
            self.ssi.abort(who);
        }
        let agent = &mut self.agents[who];
        agent.run.fate = fate;
        agent.ended = true;
        agent.pending = None;
        agent.put_off.clear();
        self.locks.release(who);
    }
}
