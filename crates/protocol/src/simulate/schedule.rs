//! Who goes next: at random, or by probabilistic concurrency testing.
//!
//! Random: uniform over everything that can happen. It rarely lets one message wait while many
//! others pass.
//!
//! PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010, with the chains of Ozkan et al.,
//! OOPSLA 2018, in the place of threads). A *chain* is a line of causes: a transaction's start, the
//! first message it sends, the first message that is sent on its delivery, and so on; every further
//! message begins a chain. What a site does by itself is one more chain for each site.
//! 1. Each chain gets a random priority when it begins. The chain with the highest goes on.
//! 2. At `depth - 1` steps, drawn among the first `k`, the chain that would go on falls below all
//!    others. Among those that fell the order is random too.
//!
//! A bug of depth d (d ordered pairs of steps suffice to cause it) shows in a run with probability
//! at least 1 / (c k^(d-1)), for runs of at most c chains and k steps. Here `k` is the length of the
//! run that always does the first thing possible, which depends on the setup alone.
//!
//! Faults come between: before each step one of those that the budget allows is taken with the
//! given probability, uniform over them.

use super::random::Random;
use super::walk::Walk;
use crate::protocol::Protocol;
use crate::system::{Move, System};
use std::fmt;
use std::str::FromStr;

/// How a simulation decides who goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// Uniform over everything that can happen.
    Random,
    /// Probabilistic concurrency testing for bugs of this depth, from 1.
    Pct(u32),
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduler::Random => write!(f, "random"),
            Scheduler::Pct(depth) => write!(f, "pct:{depth}"),
        }
    }
}

impl FromStr for Scheduler {
    type Err = String;

    /// `random`, `pct` (of depth 2) or `pct:DEPTH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let depth = |text: &str| text.parse().ok().filter(|depth| (1..=100).contains(depth));
        match text.split_once(':') {
            None if text == "random" => Ok(Scheduler::Random),
            None if text == "pct" => Ok(Scheduler::Pct(2)),
            Some(("pct", text)) if depth(text).is_some() => {
                Ok(Scheduler::Pct(depth(text).unwrap_or(2)))
            }
            _ => Err(format!("{text:?} is neither `random` nor `pct:DEPTH`")),
        }
    }
}

/// How a run is scheduled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub scheduler: Scheduler,
    pub fault_chance: f64,
    pub steps_max: usize,
}

/// A finished run, its notes being the numbers of chains.
pub(crate) struct Run<'a, 's, P: Protocol> {
    pub walk: Walk<'a, 's, P, usize>,
    /// How many chains there were.
    pub chains: usize,
    /// Whether nothing more can happen.
    pub finished: bool,
}

impl Schedule {
    /// Runs a system to its end.
    pub fn run<'a, 's, P: Protocol>(
        &self,
        system: &'a System<'s, P>,
        random: &mut Random,
    ) -> Run<'a, 's, P> {
        let mut walk = Walk::new(system);
        let mut chains = Chains::new(self.scheduler, system, random, self.steps_max);
        while !walk.moves.is_empty() && walk.trace.len() < self.steps_max {
            let fault = !walk.faults.is_empty() && random.chance(self.fault_chance);
            let step = if fault {
                walk.faults[random.below(walk.faults.len())]
            } else {
                chains.pick(&walk, random)
            };
            let cause = chains.of_move(&walk, step);
            walk.take(step, random, |number, _, random| {
                let continues = number == 0 && !fault;
                if continues {
                    cause
                } else {
                    chains.begin(random)
                }
            });
        }
        Run {
            finished: walk.moves.is_empty(),
            chains: chains.priorities.len(),
            walk,
        }
    }
}

/// The chains of a run and their priorities.
struct Chains {
    scheduler: Scheduler,
    /// By chain; the first are those of the transactions, then those of the sites.
    priorities: Vec<u64>,
    txns: usize,
    /// The steps at which a chain falls, ascending, and to which priority.
    changes: Vec<(usize, u64)>,
}

/// Priorities from here up are those drawn; below are those of chains that fell.
const DRAWN: u64 = 1 << 32;

impl Chains {
    fn new<P: Protocol>(
        scheduler: Scheduler,
        system: &System<'_, P>,
        random: &mut Random,
        steps_max: usize,
    ) -> Chains {
        let txns = system.setup.txns().count();
        let mut changes = Vec::new();
        if let Scheduler::Pct(depth) = scheduler {
            let length = plain_length(system, steps_max);
            let change = |priority| (random.below(length), u64::from(priority));
            changes = (1..depth).map(change).collect();
            changes.sort_unstable();
        }
        let mut chains = Chains {
            scheduler,
            priorities: Vec::new(),
            txns,
            changes,
        };
        for _ in 0..txns + system.setup.sites().count() {
            chains.begin(random);
        }
        chains
    }

    /// A new chain.
    fn begin(&mut self, random: &mut Random) -> usize {
        self.priorities.push(self.priority(random));
        self.priorities.len() - 1
    }

    fn priority(&self, random: &mut Random) -> u64 {
        match self.scheduler {
            Scheduler::Random => 0,
            Scheduler::Pct(_) => DRAWN + (random.next() >> 1),
        }
    }

    fn of_move<P: Protocol>(&self, walk: &Walk<'_, '_, P, usize>, step: Move) -> usize {
        match step {
            Move::Start(session) => {
                let txn = walk.system.next_txn(&walk.state, usize::from(session));
                txn.map_or(0, |txn| txn.index())
            }
            Move::Deliver(place) | Move::Lose(place) | Move::Double(place) => {
                walk.notes[usize::from(place)]
            }
            Move::Step(site, _)
            | Move::Crash(site)
            | Move::Recover(site)
            | Move::Cut(site)
            | Move::Heal(site) => self.txns + site.index(),
        }
    }

    fn pick<P: Protocol>(&mut self, walk: &Walk<'_, '_, P, usize>, random: &mut Random) -> Move {
        if self.scheduler == Scheduler::Random {
            return walk.moves[random.below(walk.moves.len())];
        }
        // A fault can have taken the place of the step at which a chain should have fallen.
        while let Some((_, priority)) = self
            .changes
            .first()
            .copied()
            .filter(|change| change.0 <= walk.trace.len())
        {
            self.changes.remove(0);
            let fallen = self.of_move(walk, self.first(walk, random));
            self.priorities[fallen] = priority;
        }
        self.first(walk, random)
    }

    /// A move of the chain with the highest priority, any if it has several.
    fn first<P: Protocol>(&self, walk: &Walk<'_, '_, P, usize>, random: &mut Random) -> Move {
        let priority = |step: &Move| self.priorities[self.of_move(walk, *step)];
        let highest = walk.moves.iter().map(priority).max().unwrap_or_default();
        let first: Vec<Move> = walk
            .moves
            .iter()
            .copied()
            .filter(|step| priority(step) == highest)
            .collect();
        first[random.below(first.len())]
    }
}

/// The length of the run that always does the first thing possible, at least 1.
fn plain_length<P: Protocol>(system: &System<'_, P>, steps_max: usize) -> usize {
    let mut state = system.initial();
    let mut moves = Vec::new();
    for length in 0..steps_max {
        system.moves(&state, &mut moves);
        let repair = |step: &Move| matches!(step, Move::Recover(_) | Move::Heal(_));
        let normal =
            |step: &Move| matches!(step, Move::Start(_) | Move::Deliver(_) | Move::Step(..));
        match moves.iter().find(|step| normal(step) || repair(step)) {
            Some(step) => drop(system.apply(&mut state, *step, &[])),
            None => return length.max(1),
        }
    }
    steps_max.max(1)
}
