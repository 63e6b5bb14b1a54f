//! The consequences of an anomaly: the invariants that some play of its cycle breaks.
//!
//! Definition: an anomaly *can break* an invariant if there is a scenario in which its instances
//! commit, every dependency of its cycle happens between the same statements, its level allows what
//! happens, the invariant holds of the initial rows and at the end of every serial order, and the
//! play breaks it as [`crate::broken_invariants`] defines. An *outcome* needs no initial rows to hold
//! of. Where the other dependencies of the play alone have no circle, the cycle breaks it *alone*.
//! Steps: from the anomaly's own scenario, first rows and arguments under which the invariants hold
//! (`repair`); then variations of these, one at a time: rows copied under another key, one instance
//! sent to the copy or all to the same rows, a longer list, one more transaction (`vary`); each with
//! the schedule of the scenario, and with those where one instance is interrupted by the others
//! (`schedule`). Every play is judged by the definition above (`same`), so nothing is assumed of the
//! variations. Nothing is random.
//! Cost: at most the given number of plays for each level, and the serial orders of each variation.
//! Complete only for what these variations reach: what is found is certain, what is not may be
//! possible still.
//! Source: Rahmani et al. (OOPSLA 2019, table 4) say by hand which anomaly of TPC-C can break which
//! invariant; this is the search for it.

mod furnish;
mod links;
mod repair;
mod same;
mod schedule;
mod vary;

use super::report::Anomaly;
use crate::execute::{Checks, Fate, How, Known, Play, allows, play};
use crate::expr::Value;
use crate::ir::{Invariant, Program, Transaction};
use crate::scenario::{Scenario, StoreLevel, Turn};
use links::Links;
use same::Wanted;
pub(crate) use schedule::explicit;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most processors that are used.
const THREADS_MAX: usize = 16;

/// How many schedules are tried with the same rows and instances.
const SCHEDULES_MAX: usize = 250;

/// An invariant that an anomaly can break.
#[derive(Clone, Debug, PartialEq)]
pub struct Consequence {
    /// The position in [`Program::invariants`].
    pub invariant: usize,
    /// What its select finds at the end.
    pub rows: Vec<Vec<Value>>,
    /// Whether the cycle does it alone: the other dependencies of the play have no circle.
    pub alone: bool,
    /// The level; none where the transactions have levels of their own.
    pub level: Option<StoreLevel>,
    /// How it happens.
    pub scenario: Scenario,
}

/// What an anomaly can break.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consequences {
    /// Each invariant at most once, in their order.
    pub found: Vec<Consequence>,
    /// How many plays were tried.
    pub plays: usize,
    /// Whether there were more to try.
    pub cut: bool,
}

/// The invariants that an anomaly can break, by at most so many plays for each of its levels.
pub fn consequences(program: &Program, anomaly: &Anomaly, plays_max: usize) -> Consequences {
    let mut all = Consequences::default();
    if program.invariants.is_empty() {
        return all;
    }
    let mut best: BTreeMap<usize, Consequence> = BTreeMap::new();
    let wanted = Wanted::new(program, anomaly);
    for witness in &anomaly.witnesses {
        let mut search = Search {
            program,
            checks: Checks::of(program, |invariant| is_touched(program, anomaly, invariant)),
            links: Links::new(program),
            wanted: &wanted,
            level: witness.level,
            best: std::mem::take(&mut best),
            plays: 0,
            plays_max,
        };
        search.run(&witness.scenario);
        all.plays += search.plays;
        all.cut |= search.plays >= plays_max;
        best = search.best;
    }
    all.found = best.into_values().collect();
    all
}

/// As [`consequences`], of each of these anomalies, on all processors.
pub fn all_consequences(
    program: &Program,
    anomalies: &[Anomaly],
    plays_max: usize,
    done: &(dyn Fn(usize) + Sync),
) -> Vec<Consequences> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(THREADS_MAX).min(anomalies.len());
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(vec![Consequences::default(); anomalies.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(anomaly) = anomalies.get(at) else {
                        return;
                    };
                    let answer = consequences(program, anomaly, plays_max);
                    found.lock().unwrap_or_else(PoisonError::into_inner)[at] = answer;
                    done(ended.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The search at one level.
struct Search<'a> {
    program: &'a Program,
    checks: Checks,
    links: Links,
    wanted: &'a Wanted,
    level: Option<StoreLevel>,
    best: BTreeMap<usize, Consequence>,
    plays: usize,
    plays_max: usize,
}

impl Search<'_> {
    fn run(&mut self, witness: &Scenario) {
        let own = witness.schedule.as_slice();
        self.try_schedules(witness, std::iter::once(own.to_vec()));
        // No definition says what a play at mixed levels may do.
        if self.level.is_none() {
            return;
        }
        let base = self.base(witness);
        let cycle = witness.instances.len();
        let mut with_more = vec![base.clone()];
        self.try_all(&base, own, cycle);
        for varied in vary::variations(self.program, &self.links, &base) {
            if self.plays >= self.plays_max {
                return;
            }
            let repaired = self.repaired(varied.scenario);
            self.try_all(&repaired, own, cycle);
            if varied.longer {
                with_more.push(repaired);
            }
        }
        for base in with_more {
            for number in 0..self.program.transactions.len() {
                let Some(more) = vary::with_another(self.program, &self.links, &base, number)
                else {
                    continue;
                };
                if self.plays >= self.plays_max {
                    return;
                }
                let more = furnish::furnished(self.program, &self.links, &more, false);
                let repaired = self.repaired(more);
                self.try_all(&repaired, own, cycle);
            }
        }
    }

    /// The scenario with other numbers, where the cycle stays; the invariants hold as far as they can
    /// be made to.
    fn base(&self, witness: &Scenario) -> Scenario {
        let furnished = furnish::furnished(self.program, &self.links, witness, true);
        let mut candidates = vary::spread(self.program, &self.links, &furnished);
        candidates.extend(vary::spread(self.program, &self.links, witness));
        for candidate in candidates {
            let repaired = self.repaired(candidate);
            if self.has_cycle(&repaired) {
                return repaired;
            }
        }
        let repaired = self.repaired(witness.clone());
        match self.has_cycle(&repaired) {
            true => repaired,
            false => witness.clone(),
        }
    }

    fn has_cycle(&self, scenario: &Scenario) -> bool {
        let played = play(self.program, scenario, How::Given);
        played.is_ok_and(|played| {
            is_committed(&played) && self.wanted.holds(self.program, scenario, &played)
        })
    }

    /// Tries rows and instances in all orders: the first `cycle` instances are those of the cycle.
    fn try_all(&mut self, data: &Scenario, own: &[Turn], cycle: usize) {
        if self.plays >= self.plays_max {
            return;
        }
        let serial = Scenario {
            schedule: Vec::new(),
            ..data.clone()
        };
        let Ok(played) = play(self.program, &serial, How::Given) else {
            return;
        };
        let lengths: Vec<u32> = played.runs.iter().map(|r| r.results.len() as u32).collect();
        let splits = schedule::splits(&lengths, cycle, self.level, &self.wanted.edges);
        // Some of them, from everywhere, where there are too many.
        let step = splits.len().div_ceil(SCHEDULES_MAX).max(1);
        let splits = splits.into_iter().step_by(step);
        self.try_schedules(data, std::iter::once(own.to_vec()).chain(splits));
    }

    fn try_schedules(&mut self, data: &Scenario, schedules: impl Iterator<Item = Vec<Turn>>) {
        let all: Vec<usize> = (0..data.instances.len()).collect();
        let Ok(known) = Known::new(&self.checks, self.program, data, &all) else {
            return;
        };
        let count = self.program.invariants.len();
        if !(0..count).any(|at| known.holds(self.program, at) && self.is_open(at, true)) {
            return;
        }
        let mut scenario = data.clone();
        for schedule in schedules {
            if self.plays >= self.plays_max {
                return;
            }
            self.plays += 1;
            scenario.schedule = schedule;
            self.try_play(&scenario, &known);
        }
    }

    /// Whether an invariant is not known to break, or only with the help of other cycles.
    fn is_open(&self, invariant: usize, alone: bool) -> bool {
        let known = self.best.get(&invariant);
        known.is_none_or(|known| alone && !known.alone)
    }

    fn try_play(&mut self, scenario: &Scenario, known: &Known) {
        let program = self.program;
        let Ok(played) = play(program, scenario, How::Given) else {
            return;
        };
        if !is_committed(&played) {
            return;
        }
        let Ok(found) = self.checks.found(&played.rows) else {
            return;
        };
        let mut broken = known.broken(program, found);
        broken
            .retain(|one| known.holds(program, one.invariant) && self.is_open(one.invariant, true));
        let allowed = |level: StoreLevel| allows(level, &played);
        if broken.is_empty()
            || !self.wanted.holds(program, scenario, &played)
            || !self.level.is_none_or(allowed)
        {
            return;
        }
        let alone = self.wanted.is_alone(program, scenario, &played);
        broken.retain(|one| self.is_open(one.invariant, alone));
        let shown = self.explicit(scenario, &played);
        for one in broken {
            let consequence = Consequence {
                invariant: one.invariant,
                rows: one.rows,
                alone,
                level: self.level,
                scenario: shown.clone(),
            };
            self.best.insert(one.invariant, consequence);
        }
    }

    /// The scenario with every statement as a turn of its own, where that is the same play.
    fn explicit(&self, scenario: &Scenario, played: &Play) -> Scenario {
        let is_timed = self.level.is_none_or(|level| !level.is_replicated());
        let shown = Scenario {
            schedule: schedule::explicit(played, is_timed),
            ..scenario.clone()
        };
        match play(self.program, &shown, How::Given) {
            Ok(again) if again.rows == played.rows && again.edges == played.edges => shown,
            _ => scenario.clone(),
        }
    }
}

/// Whether a transaction of an anomaly writes what an invariant reads.
fn is_touched(program: &Program, anomaly: &Anomaly, invariant: &Invariant) -> bool {
    let reads = invariant.statement.reads(&program.schema);
    let touches = |transaction: &Transaction| {
        transaction.statements().iter().any(|statement| {
            let writes = statement.writes(&program.schema);
            let mut pairs = writes
                .iter()
                .flat_map(|write| reads.iter().map(move |read| (write, read)));
            pairs.any(|((table, written), (other, read))| table == other && written.meets(read))
        })
    };
    let mut transactions = anomaly.transactions.iter();
    transactions.any(|at| program.transactions.get(*at).is_some_and(touches))
}

fn is_committed(played: &Play) -> bool {
    played.runs.iter().all(|run| run.fate == Fate::Committed)
}
