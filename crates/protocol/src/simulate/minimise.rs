//! Makes a run that violates a question small enough to be read.
//!
//! Steps: leave out sessions, transactions, operations, keys, sites and faults, one at a time, as
//! long as some of a given number of runs of what is left still violates the question; then explore
//! what is left for a shortest run. Where that is too much, the shortest of as many runs is taken.
//!
//! Cost: runs times parts of the setup, squared in the worst case.
//!
//! Source: Zeller and Hildebrandt's minimisation (TSE 2002), with parts of the setup in the place of
//! parts of an input. The schedule itself is not cut: a run ends when nothing more can happen, so
//! its length follows from the setup and from who wins.

use super::schedule::{Run, Schedule};
use super::tally::counterexample;
use super::{Random, SimulateOptions};
use crate::explore::explore;
use crate::id::{Key, Site};
use crate::property::Judge;
use crate::protocol::Protocol;
use crate::question::{Answer, Counterexample, Question, Request};
use crate::setup::{Op, Setup};
use crate::system::{System, World};

/// The smallest run found that violates the question as `run` does.
pub(crate) fn minimise<P: Protocol>(
    run: &Run<'_, '_, P>,
    options: &SimulateOptions<'_>,
    question: Question,
) -> Counterexample {
    let system = run.walk.system;
    let mut search = Search {
        protocol: system.protocol,
        options,
        question,
        best: counterexample(run, &options.request, Some(question)),
        world: system.world,
    };
    if options.shrink_runs > 0 {
        search.leave_out();
        search.shorten();
    }
    search.best
}

struct Search<'a, P: Protocol> {
    protocol: &'a P,
    options: &'a SimulateOptions<'a>,
    question: Question,
    best: Counterexample,
    /// The world that is needed, with as few faults as found to suffice.
    world: World,
}

impl<P: Protocol> Search<'_, P> {
    fn leave_out(&mut self) {
        // A place that could not be left out may be once others are: until nothing changes.
        loop {
            let parts = parts_of(&self.best.setup).len() + FAULTS;
            let mut changed = false;
            let mut place = 0;
            while place < parts {
                match self.without(place) {
                    // What comes next has moved here.
                    true => changed = true,
                    false => place += 1,
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Leaves out one part; whether the question is still violated.
    fn without(&mut self, place: usize) -> bool {
        let parts = parts_of(&self.best.setup);
        let (setup, world) = match parts.get(place) {
            Some(part) => (part.left_out(&self.best.setup), self.world),
            None => {
                let world = fewer_faults(self.world, place.saturating_sub(parts.len()));
                (Ok(self.best.setup.clone()), world)
            }
        };
        let Ok(setup) = setup else { return false };
        if setup == self.best.setup && world == self.world {
            return false;
        }
        let found = self.runs(&setup, world).next();
        let smaller = found.is_some();
        if let Some(found) = found {
            self.best = found;
            self.world = world;
        }
        smaller
    }

    fn shorten(&mut self) {
        let request = Request {
            questions: vec![self.question],
            sessions: self.options.request.sessions,
            world: self.world,
            states_max: self.options.shrink_states,
            ..Request::default()
        };
        let setup = self.best.setup.clone();
        let explored = match self.options.shrink_states {
            0 => None,
            _ => explore(self.protocol, std::slice::from_ref(&setup), 1, &request)
                .answers
                .into_iter()
                .find_map(|(_, answer)| match answer {
                    Answer::Violated(run) => Some(*run),
                    _ => None,
                }),
        };
        let length = |run: &Counterexample| run.trace.len();
        let shortest = match explored {
            Some(run) => Some(run),
            None => self.runs(&setup, self.world).min_by_key(length),
        };
        if let Some(run) = shortest.filter(|run| length(run) < length(&self.best)) {
            self.best = run;
        }
    }

    /// Runs of a setup that violate the question.
    fn runs(&self, setup: &Setup, world: World) -> impl Iterator<Item = Counterexample> {
        let options = self.options;
        let schedule = Schedule {
            scheduler: options.scheduler,
            fault_chance: options.fault_chance,
            steps_max: options.steps_max as usize,
        };
        let order = self.protocol.version_order();
        let mut judge = Judge::new(&[self.question], order, options.request.sessions);
        (0..u64::from(options.shrink_runs)).filter_map(move |number| {
            let system = System {
                protocol: self.protocol,
                setup,
                world,
            };
            let mut random = Random::new(options.seed.wrapping_add(number));
            let run = schedule.run(&system, &mut random);
            let log = &run.walk.state.log;
            let violated = run.finished && log.error.is_none() && judge.violated(setup, log) != 0;
            violated.then(|| counterexample(&run, &options.request, Some(self.question)))
        })
    }
}

/// Kinds of faults.
const FAULTS: usize = 4;

fn fewer_faults(mut world: World, kind: usize) -> World {
    let faults = &mut world.faults;
    let budgets = [
        &mut faults.lose,
        &mut faults.double,
        &mut faults.crash,
        &mut faults.cut,
    ];
    if let Some(budget) = budgets.into_iter().nth(kind) {
        *budget = budget.saturating_sub(1);
    }
    world
}

/// Something that a setup may do without.
#[derive(Clone, Copy)]
enum Part {
    Session(usize),
    Txn(usize, usize),
    Op(usize, usize, usize),
    Key(Key),
    Site(Site),
}

/// All parts, the largest first.
fn parts_of(setup: &Setup) -> Vec<Part> {
    let sessions = || setup.sessions().iter().enumerate();
    let txns = || {
        sessions().flat_map(|(session, all)| {
            let txns = all.txns.iter().enumerate();
            txns.map(move |(txn, ops)| (session, txn, ops.len()))
        })
    };
    let mut parts: Vec<Part> = sessions().map(|(place, _)| Part::Session(place)).collect();
    parts.extend(txns().map(|(session, txn, _)| Part::Txn(session, txn)));
    parts.extend(
        txns().flat_map(|(session, txn, ops)| (0..ops).map(move |op| Part::Op(session, txn, op))),
    );
    parts.extend(setup.keys().map(Part::Key));
    parts.extend(setup.sites().map(Part::Site));
    parts
}

impl Part {
    /// The setup without it; an error if it is needed.
    fn left_out(self, setup: &Setup) -> Result<Setup, String> {
        let mut sites = setup.sites().count();
        let mut sessions = setup.sessions().to_vec();
        let mut placement: Vec<Vec<Site>> = setup
            .keys()
            .map(|key| setup.replicas(key).to_vec())
            .collect();
        match self {
            Part::Session(session) => drop(sessions.remove(session)),
            Part::Txn(session, txn) => drop(sessions[session].txns.remove(txn)),
            Part::Op(session, txn, op) => drop(sessions[session].txns[txn].remove(op)),
            Part::Key(key) => {
                placement.remove(key.index());
                for op in sessions
                    .iter_mut()
                    .flat_map(|all| all.txns.iter_mut().flatten())
                {
                    *op = match *op {
                        op if op.key() == key => return Err("the key is used".into()),
                        Op::Read(other) if other > key => Op::Read(Key(other.0 - 1)),
                        Op::Write(other) if other > key => Op::Write(Key(other.0 - 1)),
                        op => op,
                    };
                }
            }
            Part::Site(site) => {
                if sessions.iter().any(|session| session.site == site) {
                    return Err("the site runs a session".into());
                }
                sites -= 1;
                let replicas = placement.iter_mut();
                replicas.for_each(|replicas| replicas.retain(|other| *other != site));
                let named = placement.iter_mut().flatten();
                for other in named.chain(sessions.iter_mut().map(|session| &mut session.site)) {
                    other.0 -= u8::from(*other > site);
                }
            }
        }
        for session in &mut sessions {
            session.txns.retain(|ops| !ops.is_empty());
        }
        sessions.retain(|session| !session.txns.is_empty());
        Setup::new(sites, placement, sessions)
    }
}
