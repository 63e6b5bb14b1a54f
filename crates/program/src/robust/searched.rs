//! Where robustness is neither proved nor refuted: the search for anomalies, until it finds one.
//!
//! Definition: an anomaly at the levels of the transactions is a run that no serial order does the same as, so one is
//! enough to refute robustness.
//! Why: a counterexample of the proof is a split run. The search tries more orders, and paths apart; but nothing
//! is proved where it finds nothing, since it has bounds.
//! Cost: that of the search up to the first anomaly, or the time given.

use super::{Counterexample, Level, Method, RobustOptions, Robustness, SplitInstance, check};
use crate::analysis::{Counts, Options, Watch, analyse_with};
use crate::ir::Program;
use crate::paths::Bounds;
use crate::scenario::EdgeKind;
use std::time::Duration;

/// As [`check`]; where that leaves it open, an anomaly is searched for as long as the time allows.
pub fn check_and_search(
    program: &Program,
    levels: &[Level],
    options: &RobustOptions,
    time: Option<Duration>,
) -> Robustness {
    match check(program, levels, options) {
        Robustness::Unproved(doubt) => match searched(program, levels, time) {
            Some(found) => Robustness::NotRobust(Box::new(found)),
            None => Robustness::Unproved(doubt),
        },
        known => known,
    }
}

/// Sees whether something was found.
struct First(bool);

impl Watch for First {
    fn progress(&mut self, counts: &Counts) {
        self.0 = counts.anomalies > 0;
    }

    fn is_satisfied(&self) -> bool {
        self.0
    }
}

fn searched(program: &Program, levels: &[Level], time: Option<Duration>) -> Option<Counterexample> {
    let first = *levels.first()?;
    let mixed = levels.iter().any(|level| *level != first);
    let options = Options {
        levels: vec![first.store()],
        mixed: mixed.then(|| levels.iter().map(|level| level.store()).collect()),
        external: true,
        bounds: Bounds {
            iterations: 1,
            ..Bounds::default()
        },
        time,
        untried_max: 0,
        ..Options::default()
    };
    let analysis = analyse_with(program, &options, &mut First(false));
    let anomaly = analysis.anomalies.into_iter().next()?;
    let mut witness = anomaly.witnesses.into_iter().next()?;
    for instance in &mut witness.scenario.instances {
        instance.level = Some(levels[instance.transaction].store());
    }
    let instances = anomaly.transactions.iter().zip(witness.paths);
    let instance = |(transaction, path): (&usize, _)| SplitInstance {
        transaction: *transaction,
        level: levels[*transaction],
        path,
    };
    let edges = anomaly.edges.into_iter();
    Some(Counterexample {
        method: Method::Programs,
        instances: instances.map(instance).collect(),
        edges: edges
            .filter(|edge| edge.kind != EdgeKind::Sibling)
            .collect(),
        schedule: witness.scenario.schedule.clone(),
        scenario: Some(witness.scenario),
    })
}
