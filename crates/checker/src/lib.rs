//! Decides which levels a history satisfies, with evidence either way.
//!
//! The pipeline is [`check`]: observe the operations once, then answer each level. Weak levels are
//! decided by witness orders (`rounds`) and diagnosed by saturation (`diagnose`). Nothing here is
//! trusted: [`history::certify`] re-checks every verdict without this crate.

mod ancestors;
mod bank;
mod blocks;
mod budget;
mod cases;
mod causal;
mod clocks;
mod counted;
mod cycles;
mod diagnose;
mod direct;
mod engine;
mod evidence;
mod expand;
mod explain;
mod graph;
mod hinted;
mod instances;
mod interpret;
mod jepsen_tests;
mod linearizable;
mod long_fork;
mod lost_update;
mod nearby;
mod obeyed;
mod observe;
mod onward;
mod op_set;
mod order;
mod part;
mod reach;
mod repair;
mod rounds;
mod rule;
mod saturate;
mod shared_keys;
mod short_paths;
mod shrink;
mod sight;
mod single_reads;
mod stage;
mod stale;
mod stamped;
mod strong;
mod versions;
mod visible;
mod windows;
mod witness;
mod writers;

pub use bank::{BankError, BankOptions, check_bank};
pub use budget::{Budget, Count, Limit, in_words};
pub use jepsen_tests::{JepsenTest, check_jepsen_test};
pub use linearizable::{CONFIGURATIONS_MAX, Linearizability, check_linearizable};
pub use long_fork::find_long_fork;
pub use part::Part;
pub use stage::Stage;
pub use strong::{SatSolver, Strategy};

use history::{Anomaly, AnomalyKind, History, Initial, KeyOrder, Level, LevelResult, Verdict};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// How to check.
#[derive(Clone)]
pub struct Options<'a> {
    /// Which values read the initial version of a key.
    pub initial: Initial,
    /// What is assumed of each key by itself.
    pub keys: KeyOrder,
    /// Limits, and who is told of progress.
    pub budget: Budget<'a>,
    /// Told each answer as soon as it is found, for whoever may not wait for the others.
    pub answered: &'a (dyn Fn(&Checked) + Sync + 'a),
    /// Which shortcuts the strong levels take.
    pub strategy: Strategy,
    /// After so long a strong level makes way for the weak ones, and is asked again behind them.
    pub patience: Duration,
}

/// Longer than nearly every strong level takes that holds, and answers the weak ones with it.
const PATIENCE: Duration = Duration::from_secs(60);

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            initial: Initial::default(),
            keys: KeyOrder::Free,
            budget: Budget::default(),
            answered: &|_| {},
            strategy: Strategy::default(),
            patience: PATIENCE,
        }
    }
}

/// A verdict on a level, and how long it took beyond what earlier ones already found out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The level and its verdict.
    pub result: LevelResult,
    /// Seconds of wall-clock time.
    pub seconds: f64,
    /// What those seconds were spent on.
    pub stages: Vec<Stage>,
}

/// Answers every level asked about, in that order.
pub fn check(history: &History, levels: &[Level], options: &Options<'_>) -> Vec<Checked> {
    if expand::is_needed(history) {
        // What the elements show decides, and not only their verdict.
        let mut options = options.clone();
        options.strategy.explain = true;
        return expand::check(history, levels, &options, check_registers);
    }
    check_registers(history, levels, options)
}

/// The answer about a level that follows from one about a stronger level that holds.
pub fn follows(known: &[Checked], level: Level) -> Option<Checked> {
    known
        .iter()
        .find_map(|answer| match &answer.result.verdict {
            Verdict::Holds(order) if answer.result.level.implies(level) => Some(Checked {
                result: LevelResult {
                    level,
                    verdict: Verdict::Holds(engine::order_for(level, order)),
                },
                seconds: 0.0,
                stages: Vec::new(),
            }),
            _ => None,
        })
}

/// The same as [`check`], for a history of registers and lists.
fn check_registers(history: &History, levels: &[Level], options: &Options<'_>) -> Vec<Checked> {
    let started = Instant::now();
    (options.budget.progress)("observing");
    let observed = match observe::observe(history, &options.initial, options.keys, &options.budget)
    {
        Ok(observed) => observed,
        Err(limit) => return all_unknown(levels, &limit.0, started),
    };
    if let Some(reason) = &observed.undecidable {
        return all_unknown(levels, reason, started);
    }
    let hurry = Hurry::default();
    let probe = || (options.budget.probe)().or_else(|| hurry.is_over());
    let budget = Budget {
        probe: &probe,
        ..options.budget
    };
    let mut strategy = options.strategy;
    // Without proofs, what is shown decides.
    strategy.explain |= observed.unprovable.is_some();
    let mut engine = engine::Engine::new(&observed, &budget)
        .by(strategy)
        .minimizing(&options.initial, options.keys);
    let mut asked: Vec<(usize, Level)> = levels.iter().copied().enumerate().collect();
    // What a strong level finds out answers weaker ones too; the last is asked next.
    asked.sort_by_key(|&(_, level)| level);
    let mut stages = vec![observing(&observed, started)];
    let mut since = started;
    let mut checked: Vec<(usize, Checked)> = Vec::new();
    let mut failed: Vec<Level> = Vec::new();
    while let Some((place, level)) = asked.pop() {
        (options.budget.progress)(level.name());
        let is_weak = |(_, level): &(usize, Level)| Level::WEAK.contains(level);
        let makes_way = !is_weak(&(place, level)) && asked.iter().any(is_weak);
        hurry.until(makes_way.then(|| Instant::now() + options.patience));
        let verdict = interpret::verdict(&observed, &mut engine, level, &budget);
        if verdict.is_err() && hurry.is_over().is_some() && (options.budget.probe)().is_none() {
            asked.push((place, level));
            asked.sort_by_key(|&(_, level)| (Level::WEAK.contains(&level), level));
            continue;
        }
        let verdict = verdict.unwrap_or_else(|limit| Verdict::Unknown(limit.0));
        let verdict = match &observed.unprovable {
            Some(reason) => without_proof(&observed, verdict, reason),
            None => verdict,
        };
        if !matches!(verdict, Verdict::Holds(_)) {
            // The weak levels take a pass each, and what implies a violated one is violated; the other
            // strong ones take any time. Whoever has set a limit is to know the first.
            failed.extend(matches!(verdict, Verdict::Violated(_)).then_some(level));
            let quick = |level: Level| failed.iter().any(|weaker| level.implies(*weaker));
            asked.sort_by_key(|&(_, level)| (Level::WEAK.contains(&level), quick(level), level));
        }
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        stages.extend(engine.take_stages());
        let answer = Checked {
            result: LevelResult { level, verdict },
            seconds,
            stages: std::mem::take(&mut stages),
        };
        (options.answered)(&answer);
        checked.push((place, answer));
    }
    checked.sort_by_key(|&(place, _)| place);
    checked.into_iter().map(|(_, checked)| checked).collect()
}

/// When a level that others wait for has to make way.
#[derive(Default)]
struct Hurry(Mutex<Option<Instant>>);

impl Hurry {
    fn until(&self, end: Option<Instant>) {
        if let Ok(mut known) = self.0.lock() {
            *known = end;
        }
    }

    fn is_over(&self) -> Option<String> {
        let end = self.0.lock().ok().and_then(|end| *end)?;
        (Instant::now() >= end).then(|| "others wait".to_string())
    }
}

/// What is left of a verdict where lists do not show the order of versions, since elements are appended twice: no order
/// proves anything, and somebody else may have appended what makes a transaction of unknown outcome count as committed.
fn without_proof(observed: &observe::Observed<'_>, verdict: Verdict, reason: &str) -> Verdict {
    let mut anomalies = match verdict {
        Verdict::Violated(anomalies) => anomalies,
        Verdict::Holds(_) => return Verdict::Unknown(reason.to_string()),
        unknown => return unknown,
    };
    anomalies.retain(|anomaly| !evidence::is_of_unknown_outcome(observed, anomaly));
    match anomalies.is_empty() {
        true => Verdict::Unknown(reason.to_string()),
        false => Verdict::Violated(anomalies),
    }
}

/// What contradicts what is assumed of each key: how many keys have versions that go in a circle,
/// and the shortest of those circles. Such keys are left out of [`check`]'s assumptions.
pub fn cyclic_versions(history: &History, options: &Options<'_>) -> Result<Option<Anomaly>, Limit> {
    let Options {
        initial,
        keys,
        budget,
        ..
    } = options;
    if expand::is_needed(history) {
        return Ok(None);
    }
    let observed = observe::observe(history, initial, *keys, budget)?;
    let circles = &observed.circles;
    let Some((key, circle)) = circles.iter().min_by_key(|(_, circle)| circle.len()) else {
        return Ok(None);
    };
    let mut anomaly = Anomaly {
        kind: AnomalyKind::CyclicVersions,
        count: circles.len() as u64,
        transactions: circle.iter().map(|known| known.from).collect(),
        ops: Vec::new(),
        edges: evidence::of_circle(*key, circle),
        otherwise: Vec::new(),
        assuming: Vec::new(),
        explanation: String::new(),
    };
    anomaly.explanation = explain::explain(&observed, &anomaly);
    Ok(Some(anomaly))
}

/// The stage that looked at every operation, which all levels share.
fn observing(observed: &observe::Observed<'_>, started: Instant) -> Stage {
    Stage {
        name: "observe",
        seconds: started.elapsed().as_secs_f64(),
        counts: vec![
            ("operations", observed.links.len() as u64),
            ("ambiguous reads", observed.ambiguous.len() as u64),
            ("known orders", observed.known.len() as u64),
        ],
    }
}

/// So many operations are checked at most to make a part smaller.
const SHRINK_WORK_MAX: u64 = 1 << 28;

/// The smallest part of a history that still violates the level of a violated verdict: no
/// transaction and no operation of it can be left out. None if the verdict is not a violation, or
/// if a limit is reached before any part is found.
pub fn shrink(history: &History, result: &LevelResult, options: &Options<'_>) -> Option<Part> {
    let Verdict::Violated(anomalies) = &result.verdict else {
        return None;
    };
    (options.budget.progress)("shrinking");
    let violates = |part: &History| violates(part, result.level, options);
    shrink::smallest(history, anomalies, &violates, SHRINK_WORK_MAX)
}

/// Whether a history is known to violate a level; evidence is not made smaller.
fn violates(history: &History, level: Level, options: &Options<'_>) -> bool {
    let asked = AtomicU32::new(0);
    let probe = || options.budget.patience(&asked, budget::ASKED_MAX);
    let budget = Budget {
        probe: &probe,
        ..Budget::default()
    };
    if expand::is_needed(history) {
        let options = Options {
            initial: options.initial.clone(),
            keys: options.keys,
            budget,
            ..Options::default()
        };
        let checked = expand::check(history, &[level], &options, check_registers);
        return matches!(checked[0].result.verdict, Verdict::Violated(_));
    }
    let Ok(observed) = observe::observe(history, &options.initial, options.keys, &budget) else {
        return false;
    };
    if observed.undecidable.is_some() {
        return false;
    }
    let mut engine = engine::Engine::new(&observed, &budget);
    let verdict = interpret::verdict(&observed, &mut engine, level, &budget);
    matches!(verdict, Ok(Verdict::Violated(_)))
}

fn all_unknown(levels: &[Level], reason: &str, started: Instant) -> Vec<Checked> {
    let seconds = started.elapsed().as_secs_f64();
    let unknown = |&level: &Level| Checked {
        result: LevelResult {
            level,
            verdict: Verdict::Unknown(reason.to_string()),
        },
        seconds,
        stages: Vec::new(),
    };
    levels.iter().map(unknown).collect()
}
