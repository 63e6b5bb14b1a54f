//! Answers levels for one interpretation of a history, keeping what one answer can lend another.

use crate::Budget;
use crate::budget::{self, Limit};
use crate::cycles::{Cycles, Finding};
use crate::diagnose;
use crate::explain;
use crate::graph::Graph;
use crate::hinted;
use crate::lost_update;
use crate::nearby::{self, Asked};
use crate::observe::{Observed, observe};
use crate::order::{ForcedEdges, Schedule};
use crate::rounds::{self, Decision};
use crate::rule::Rule;
use crate::shrink;
use crate::single_reads::{read_anomalies, read_anomalies_if};
use crate::stage::{self, Stage};
use crate::strong::shape::Shape;
use crate::strong::{self, Effort, FirstGuess, Strategy, early};
use crate::witness;
use history::{
    Anomaly, AnomalyKind, CommitOrder, History, Initial, KeyOrder, Level, OpKind, TxnId, Verdict,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// What is known of a rule.
#[derive(Clone)]
enum Outcome {
    Holds(Vec<u32>),
    Violated(Vec<Anomaly>),
}

/// The levels of one interpretation.
pub struct Engine<'a> {
    observed: &'a Observed<'a>,
    budget: &'a Budget<'a>,
    first: Option<Schedule>,
    outcomes: Vec<(Rule, Outcome)>,
    lost_update: Option<Option<Anomaly>>,
    /// The graph of a history with lists.
    cycles: Option<Cycles<'a>>,
    /// Strong levels that hold, with the orders that prove it.
    held: Vec<(Level, CommitOrder)>,
    strategy: Strategy,
    /// Which values are initial and what is assumed of keys, if evidence is to be made as small as it can be.
    minimizing: Option<(&'a Initial, KeyOrder)>,
    /// Whether this is a part of another history already.
    is_part: bool,
    stages: Vec<Stage>,
}

/// So many operations are checked at most to make the evidence of a strong level smaller.
const MINIMIZE_WORK_MAX: u64 = 1 << 22;

/// So often a weak level asks whether to go on before a strong one is decided without it; a few dozen times is
/// common, and a few thousand take less than a second.
const WEAK_ASKED_MAX: u32 = 1 << 12;

const AGAINST_LISTS: &str = "a value that was written more than once is taken to be of a transaction of unknown \
    outcome, and then lists contradict the order that was found; other writers were not tried";

impl<'a> Engine<'a> {
    pub fn new(observed: &'a Observed<'a>, budget: &'a Budget<'a>) -> Engine<'a> {
        Engine {
            observed,
            budget,
            first: None,
            outcomes: Vec::new(),
            lost_update: None,
            cycles: None,
            held: Vec::new(),
            strategy: Strategy::default(),
            minimizing: None,
            is_part: false,
            stages: Vec::new(),
        }
    }

    /// From now on the evidence of strong levels is made as small as it can be.
    pub fn minimizing(mut self, initial: &'a Initial, keys: KeyOrder) -> Engine<'a> {
        self.minimizing = Some((initial, keys));
        self
    }

    /// Looks at no part of this history, since it is one.
    pub fn of_part(mut self) -> Engine<'a> {
        self.is_part = true;
        self
    }

    /// Takes only these shortcuts.
    pub fn by(mut self, strategy: Strategy) -> Engine<'a> {
        self.strategy = strategy;
        self
    }

    /// The stages since the last call.
    pub fn take_stages(&mut self) -> Vec<Stage> {
        std::mem::take(&mut self.stages)
    }

    /// The verdict on a level.
    pub fn verdict(&mut self, level: Level) -> Result<Verdict, Limit> {
        if let Some((_, order)) = self.held.iter().find(|(held, _)| held.implies(level)) {
            return Ok(Verdict::Holds(order_for(level, order)));
        }
        if !Level::WEAK.contains(&level) {
            let verdict = self.strong_verdict(level)?;
            if let Verdict::Holds(order) = &verdict {
                if !self.observed.lists_allow(order) {
                    return Ok(Verdict::Unknown(AGAINST_LISTS.to_string()));
                }
                self.held.push((level, order.clone()));
            }
            return Ok(verdict);
        }
        let started = Instant::now();
        let verdict = self.weak_verdict(level);
        self.end_weak_stage(started);
        verdict
    }

    fn end_weak_stage(&mut self, started: Instant) {
        self.stages.push(Stage {
            name: "weak levels",
            seconds: started.elapsed().as_secs_f64(),
            counts: vec![("rules decided", self.outcomes.len() as u64)],
        });
    }

    fn weak_verdict(&mut self, level: Level) -> Result<Verdict, Limit> {
        if level == Level::ReadUncommitted {
            return Ok(self.read_uncommitted());
        }
        let rule = Rule::of(level).expect("every weak level but the weakest has a rule");
        let mut anomalies = match self.outcome(rule)? {
            Outcome::Violated(anomalies) => anomalies,
            Outcome::Holds(order) => {
                if !lost_update::is_forbidden(level) || self.lost_update().is_none() {
                    return Ok(Verdict::Holds(commit_order(&order)));
                }
                Vec::new()
            }
        };
        if lost_update::is_forbidden(level) {
            anomalies.extend(self.lost_update());
        }
        Ok(Verdict::Violated(anomalies))
    }

    /// The order that proves a level with a rule, if there is one; finds no anomalies.
    pub fn commit_order(&mut self, level: Level) -> Result<Option<CommitOrder>, Limit> {
        let Some(rule) = Rule::of(level) else {
            return Ok(None);
        };
        let observed = self.observed;
        if !read_anomalies(observed, rule).is_empty() {
            return Ok(None);
        }
        if lost_update::is_forbidden(level) && lost_update::find(observed).is_some() {
            return Ok(None);
        }
        let first = hinted::first(observed);
        Ok(match rounds::decide(observed, rule, &first, self.budget)? {
            Decision::Holds(order) => Some(commit_order(&order)),
            Decision::Violated(_) => None,
        })
    }

    fn read_uncommitted(&self) -> Verdict {
        let dirty = self.observed.of_dirty_reads();
        let observed = dirty.as_ref().unwrap_or(self.observed);
        let mut anomalies = read_anomalies_if(observed, |anomaly| {
            anomaly.kind == AnomalyKind::DuplicateElement
        });
        let known = ForcedEdges::new(rounds::known_edges(observed));
        let graph = Graph {
            observed,
            forced: &known,
            base: false,
        };
        let components = graph.components();
        if components.sizes.iter().any(|&size| size > 1) {
            anomalies.push(witness::dirty_write(observed, &known));
        }
        for anomaly in &mut anomalies {
            anomaly.explanation = explain::explain(observed, anomaly);
        }
        if anomalies.is_empty() {
            Verdict::Holds(commit_order(&components.order))
        } else {
            Verdict::Violated(anomalies)
        }
    }

    /// A strong level is violated if a weak one that it implies is; else versions are ordered.
    fn strong_verdict(&mut self, level: Level) -> Result<Verdict, Limit> {
        if self.strategy.cycles
            && self.has_lists()
            && let Some(verdict) = self.verdict_by_cycles(level)?
        {
            return Ok(verdict);
        }
        let mut guessed = None;
        if self.strategy.guess && read_anomalies(self.observed, Rule::Causal).is_empty() {
            let mut first = strong::guess_order(self.observed, level, self.budget)?;
            if let Some(order) = first.order.take() {
                self.stages.extend(stage::of_effort(&first.effort));
                return Ok(Verdict::Holds(order));
            }
            if let Some(anomalies) = self.violated_nearby(level, &first)? {
                return Ok(Verdict::Violated(anomalies));
            }
            guessed = Some(first);
        }
        let early = self.decided_early(level, guessed.as_ref())?;
        if let Some(early) = &early
            && let Some(verdict) = self.early_verdict(level, early)?
        {
            return Ok(verdict);
        }
        let started = Instant::now();
        let by_weak = self.violated_by_weak(level);
        self.end_weak_stage(started);
        if let Some(anomalies) = by_weak? {
            return Ok(Verdict::Violated(anomalies));
        }
        if self.strategy.guess
            && let Some(anomalies) = self.violated_by_lost_update(level)?
        {
            return Ok(Verdict::Violated(anomalies));
        }
        if let Some(order) = self.by_snapshots(level, guessed.as_ref())? {
            return Ok(Verdict::Holds(order));
        }
        let mut effort = Effort::default();
        let (observed, strategy, budget) = (self.observed, self.strategy, self.budget);
        let decision = match early {
            Some((decision, spent)) => {
                effort = spent;
                Ok(decision)
            }
            None => strong::decide(observed, level, guessed, strategy, budget, &mut effort),
        };
        self.stages.extend(stage::of_effort(&effort));
        Ok(self.strong_answer(level, decision?))
    }

    /// A decision on a strong level as a verdict, with evidence as small as it can be made.
    fn strong_answer(&mut self, level: Level, decision: strong::Decision) -> Verdict {
        match decision {
            strong::Decision::Holds(order) => Verdict::Holds(order),
            strong::Decision::Violated(_) if self.observed.lacks_writers => Verdict::Unknown(
                "values were written so often that not every possible writer could be tried"
                    .to_string(),
            ),
            strong::Decision::Violated(anomaly) => {
                let started = Instant::now();
                let mut anomaly = self.smaller(level, anomaly);
                anomaly.explanation = explain::explain(self.observed, &anomaly);
                let seconds = started.elapsed().as_secs_f64();
                self.stages.push(stage::of_evidence(&anomaly, seconds));
                Verdict::Violated(vec![anomaly])
            }
        }
    }

    /// A strong level decided before the weaker ones, where that may cost less. Two transactions that overwrote the same
    /// version are looked for first.
    fn decided_early(
        &mut self,
        level: Level,
        first: Option<&FirstGuess>,
    ) -> Result<Option<(strong::Decision, Effort)>, Limit> {
        let (observed, strategy) = (self.observed, self.strategy);
        let is_worth_it = |it: &&FirstGuess| early::is_worth_it(observed, level, it, strategy);
        let Some(first) = first.filter(is_worth_it).filter(|_| !self.is_part) else {
            return Ok(None);
        };
        if level.implies(Level::NonMonotonicSnapshotIsolation) && self.lost_update().is_some() {
            return Ok(None);
        }
        early::decide_early(observed, level, first, strategy, self.budget)
    }

    /// The answer that an early decision is, if it says as much as any: a cycle may violate a weaker level, too.
    fn early_verdict(
        &mut self,
        level: Level,
        (decision, effort): &(strong::Decision, Effort),
    ) -> Result<Option<Verdict>, Limit> {
        let verdict = match decision {
            strong::Decision::Holds(order) => Some(Verdict::Holds(order.clone())),
            strong::Decision::Violated(anomaly) => self
                .violated_among(level, anomaly.transactions.clone())?
                .map(Verdict::Violated),
        };
        if verdict.is_some() {
            self.stages.extend(stage::of_effort(effort));
        }
        Ok(verdict)
    }

    /// The anomalies of a part round what is wrong with the first guess, if that is little and violates the level.
    fn violated_nearby(
        &mut self,
        level: Level,
        first: &FirstGuess,
    ) -> Result<Option<Vec<Anomaly>>, Limit> {
        let started = Instant::now();
        let found = self.found_nearby(level, level, first)?;
        Ok(found.map(|found| {
            self.stages.extend(stage::of_effort(&first.effort));
            self.stages.push(found.stage(started));
            found.anomalies
        }))
    }

    /// The anomalies of two transactions that read the same version and both overwrote it, and what they read, if
    /// there are such: they are found in one pass, before any order.
    fn violated_by_lost_update(&mut self, level: Level) -> Result<Option<Vec<Anomaly>>, Limit> {
        let is_asked = level.implies(Level::NonMonotonicSnapshotIsolation);
        match self.lost_update().filter(|_| is_asked) {
            Some(lost) => self.violated_among(level, lost.transactions),
            None => Ok(None),
        }
    }

    /// The anomalies of these transactions and what they read, if that violates the level.
    fn violated_among(
        &mut self,
        level: Level,
        txns: Vec<TxnId>,
    ) -> Result<Option<Vec<Anomaly>>, Limit> {
        let started = Instant::now();
        let Some((initial, keys)) = self.minimizing.filter(|_| !self.is_part) else {
            return Ok(None);
        };
        let asked = Asked {
            level,
            shape: Shape::of(level).expect("a strong level has a shape"),
            strategy: self.strategy,
            initial,
            keys,
        };
        let txns = txns.into_iter().collect();
        let found = nearby::violated_among(self.observed, asked, &txns, self.budget)?;
        Ok(found.map(|found| {
            self.stages.push(found.stage(started));
            found.anomalies
        }))
    }

    /// What violates a level round what is wrong with the first guess at an order for `guessed`.
    fn found_nearby(
        &self,
        level: Level,
        guessed: Level,
        first: &FirstGuess,
    ) -> Result<Option<nearby::Found>, Limit> {
        let Some((initial, keys)) = self.minimizing.filter(|_| !self.is_part) else {
            return Ok(None);
        };
        (self.budget.progress)("looking round what is wrong");
        let asked = Asked {
            level,
            shape: Shape::of(guessed).expect("a strong level has a shape"),
            strategy: self.strategy,
            initial,
            keys,
        };
        nearby::violated(self.observed, asked, first, self.budget)
    }

    /// An order that proves a parallel level because it proves snapshot isolation, which is decided
    /// sooner: no stale read is looked at from both ends. Nothing if that takes long.
    fn by_snapshots(
        &mut self,
        level: Level,
        first: Option<&FirstGuess>,
    ) -> Result<Option<CommitOrder>, Limit> {
        let is_parallel = Shape::of(level).is_some_and(|shape| shape.parallel);
        if !is_parallel || !self.strategy.guess {
            return Ok(None);
        }
        let stronger = Level::StrongSessionSnapshotIsolation;
        if let Some(first) = first
            && self.found_nearby(stronger, level, first)?.is_some()
        {
            return Ok(None);
        }
        let asked = AtomicU32::new(0);
        let probe = || self.budget.patience(&asked, budget::ASKED_MAX);
        let budget = Budget {
            probe: &probe,
            ..*self.budget
        };
        let mut effort = Effort::default();
        let (observed, strategy) = (self.observed, self.strategy);
        let decision = strong::decide(observed, stronger, None, strategy, &budget, &mut effort);
        self.budget.check("solve")?;
        Ok(match decision {
            Ok(strong::Decision::Holds(order)) => {
                self.stages.extend(stage::of_effort(&effort));
                Some(order)
            }
            _ => None,
        })
    }

    fn has_lists(&self) -> bool {
        let mut kinds = self.observed.history.ops().kinds.iter();
        let is_list = |kind: &OpKind| matches!(kind, OpKind::ReadList | OpKind::Append);
        self.cycles.is_some() || kinds.any(is_list)
    }

    /// What the known version orders say about a strong level, if they decide it.
    fn verdict_by_cycles(&mut self, level: Level) -> Result<Option<Verdict>, Limit> {
        let started = Instant::now();
        (self.budget.progress)("sorting");
        let observed = self.observed;
        let mut anomalies = read_anomalies(observed, Rule::Causal);
        let cycles = self.cycles.get_or_insert_with(|| Cycles::new(observed));
        let finding = cycles.finding(level, anomalies.is_empty(), self.budget)?;
        let edge_count = cycles.edge_count();
        let (verdict, cycle_count) = match finding {
            Finding::Open => (None, 0),
            Finding::Order(order) => (Some(Verdict::Holds(order)), 0),
            Finding::Contradictions(found) => {
                let cycle_count = found.iter().map(|anomaly| anomaly.count).sum();
                anomalies.extend(found);
                for anomaly in &mut anomalies {
                    anomaly.explanation = explain::explain(observed, anomaly);
                }
                (Some(Verdict::Violated(anomalies)), cycle_count)
            }
        };
        self.stages.push(Stage {
            name: "cycles",
            seconds: started.elapsed().as_secs_f64(),
            counts: match edge_count {
                Some(edges) => vec![("edges", edges as u64), ("cycles", cycle_count)],
                None => Vec::new(),
            },
        });
        Ok(verdict)
    }

    /// The anomalies of a weak level that a strong one implies, or of single reads.
    fn violated_by_weak(&mut self, level: Level) -> Result<Option<Vec<Anomaly>>, Limit> {
        let implied: Vec<Level> = Level::WEAK
            .into_iter()
            .rev()
            .filter(|&weak| level.implies(weak))
            .collect();
        for weak in implied {
            match self.soon_known(weak)? {
                Some(Verdict::Violated(anomalies)) => return Ok(Some(anomalies)),
                Some(_) => {}
                None => break,
            }
        }
        let mut anomalies = read_anomalies(self.observed, Rule::Causal);
        for anomaly in &mut anomalies {
            anomaly.explanation = explain::explain(self.observed, anomaly);
        }
        // Lists show what both overwrote, if not in which order: either way one is overlooked.
        if self.has_lists() && level.implies(Level::NonMonotonicSnapshotIsolation) {
            anomalies.extend(self.lost_update());
        }
        Ok((!anomalies.is_empty()).then_some(anomalies))
    }

    /// The verdict on a weak level that is only a step to a strong one; None if it takes long, as causality does
    /// where many sessions have many transactions: the strong level can be decided without.
    fn soon_known(&mut self, weak: Level) -> Result<Option<Verdict>, Limit> {
        let budget = self.budget;
        let asked = AtomicU32::new(0);
        let probe = || budget.patience(&asked, WEAK_ASKED_MAX);
        let hasty = Budget {
            probe: &probe,
            ..*budget
        };
        let mut engine = Engine::new(self.observed, &hasty).by(self.strategy);
        engine.first = self.first.take();
        engine.outcomes = std::mem::take(&mut self.outcomes);
        engine.lost_update = self.lost_update.take();
        let verdict = engine.weak_verdict(weak);
        self.first = engine.first;
        self.outcomes = engine.outcomes;
        self.lost_update = engine.lost_update;
        if let Err(limit) = &verdict {
            budget.check("weak levels").map_err(|_| limit.clone())?;
        }
        Ok(verdict.ok())
    }

    /// The anomaly of the smallest part of the history that still violates a strong level, unless
    /// the one given is smaller or nobody asks for more than the verdict.
    fn smaller(&self, level: Level, anomaly: Anomaly) -> Anomaly {
        let Some((initial, keys)) = self.minimizing.filter(|_| self.strategy.explain) else {
            return anomaly;
        };
        (self.budget.progress)("making the evidence smaller");
        let asked = AtomicU32::new(0);
        let probe = || self.budget.patience(&asked, budget::ASKED_MAX);
        let budget = Budget {
            probe: &probe,
            ..Budget::default()
        };
        // The whole satisfies the weaker levels, so every part does.
        let decide = |part: &History| -> Option<Anomaly> {
            asked.store(0, Ordering::Relaxed);
            let observed = observe(part, initial, keys, &budget).ok()?;
            let mut effort = Effort::default();
            match strong::decide(&observed, level, None, self.strategy, &budget, &mut effort)
                .ok()?
            {
                strong::Decision::Violated(anomaly) if !observed.lacks_writers => Some(anomaly),
                _ => None,
            }
        };
        let violates = |part: &History| decide(part).is_some();
        let given = std::slice::from_ref(&anomaly);
        let history = self.observed.history;
        let part = shrink::smallest(history, given, &violates, MINIMIZE_WORK_MAX);
        let found = part.and_then(|part| Some(part.whole_anomaly(&decide(&part.history)?)));
        let size = |anomaly: &Anomaly| {
            let edges: usize = anomaly.otherwise.iter().map(Vec::len).sum();
            (anomaly.transactions.len(), anomaly.edges.len() + edges)
        };
        found
            .filter(|found| size(found) < size(&anomaly))
            .unwrap_or(anomaly)
    }

    fn outcome(&mut self, rule: Rule) -> Result<Outcome, Limit> {
        let known = self.outcomes.iter().find(|(other, outcome)| {
            *other == rule || (matches!(outcome, Outcome::Holds(_)) && other.covers(rule))
        });
        if let Some((_, outcome)) = known {
            return Ok(outcome.clone());
        }
        let observed = self.observed;
        let first = self.first.get_or_insert_with(|| {
            (self.budget.progress)("scheduling");
            hinted::first(observed)
        });
        let mut anomalies = read_anomalies(observed, rule);
        let explain = self.strategy.explain;
        let decide = match explain {
            true => rounds::decide,
            false => rounds::decide_unexplained,
        };
        let mut outcome = match decide(observed, rule, first, self.budget)? {
            Decision::Holds(order) if anomalies.is_empty() => Outcome::Holds(order),
            Decision::Violated(found) if explain => {
                anomalies.extend(diagnose::diagnose(observed, rule, found, self.budget)?);
                Outcome::Violated(anomalies)
            }
            _ => Outcome::Violated(anomalies),
        };
        if let Outcome::Violated(all) = &mut outcome {
            all.iter_mut()
                .for_each(|anomaly| anomaly.explanation = explain::explain(observed, anomaly));
        }
        self.outcomes.push((rule, outcome.clone()));
        Ok(outcome)
    }

    fn lost_update(&mut self) -> Option<Anomaly> {
        let observed = self.observed;
        self.lost_update
            .get_or_insert_with(|| {
                let mut anomaly = lost_update::find(observed)?;
                anomaly.explanation = explain::explain(observed, &anomaly);
                Some(anomaly)
            })
            .clone()
    }
}

/// What proves a level, made from what proves a stronger one.
pub fn order_for(level: Level, stronger: &CommitOrder) -> CommitOrder {
    let mut order = stronger.clone();
    if Level::WEAK.contains(&level) {
        order.snapshots.clear();
    }
    order
}

fn commit_order(order: &[u32]) -> CommitOrder {
    CommitOrder {
        txns: order.iter().map(|&txn| TxnId(txn)).collect(),
        reads: Vec::new(),
        snapshots: Vec::new(),
    }
}
