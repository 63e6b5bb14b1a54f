//! From the cycles that a search ran into to evidence: as few of them as still leave no choice.

use super::known::Why;
use super::solver;
use super::spare;
use super::theory::{Lemma, Theory};
use super::topological::{ChosenEdge, Label, Step};

/// A cycle of events, with the chosen edges in it.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub steps: Vec<(u32, u32, CycleWhy)>,
}

/// Why one event of a cycle precedes the next.
#[derive(Clone, Copy, Debug)]
pub enum CycleWhy {
    Known(Why),
    Chosen(ChosenEdge),
}

/// Cycles of which one closes whatever is chosen; none of them, and none of their edges, can be left
/// out.
pub struct Refutation {
    /// The one that closes once the others have settled what it rests on comes first.
    pub cycles: Vec<Cycle>,
    /// Whether the others settle nothing by themselves: every choice leads to some cycle, but no
    /// choice is forced.
    pub by_cases: bool,
}

/// The cycles that prove that a theory's choices have no way out.
pub fn refute(theory: &Theory<'_>, required: &[Vec<i32>]) -> Refutation {
    let cycles = theory.lemmas.iter().map(|lemma| &lemma.because);
    let mut clauses: Vec<Vec<i32>> = cycles
        .map(|because| because.iter().map(|literal| -literal).collect())
        .collect();
    let cycle_count = clauses.len();
    clauses.extend(required.iter().cloned());
    let choice_count = theory.choice_count();
    let core = minimal(&clauses, choice_count);
    let (cycles, others): (Vec<usize>, Vec<usize>) =
        core.into_iter().partition(|&place| place < cycle_count);
    let cycles = cycles.into_iter().map(|place| theory.lemmas[place].clone());
    let others: Vec<Vec<i32>> = others.iter().map(|&place| clauses[place].clone()).collect();
    let parallel = theory.order.known.shape.parallel;
    let cycles = spare::without_spare(cycles.collect(), &others, choice_count, parallel);
    arranged(&cycles, others)
}

/// The cycles with the main one first; `others` are the clauses that go with them.
fn arranged(cycles: &[Lemma], others: Vec<Vec<i32>>) -> Refutation {
    let clause = |lemma: &Lemma| lemma.because.iter().map(|literal| -literal).collect();
    let mut clauses: Vec<Vec<i32>> = cycles.iter().map(clause).collect();
    clauses.extend(others);
    let (main, by_cases) = last_settled(&clauses, |place| cycles.get(place).map(weight));
    let mut places: Vec<usize> = (0..cycles.len()).collect();
    // In an order that does not depend on how the search went.
    places.sort_by_cached_key(|&place| {
        let steps = cycles[place].steps.iter();
        let ends: Vec<(u32, u32)> = steps.map(|&(from, to, _)| (from, to)).collect();
        (ends.len(), ends)
    });
    if let Some(main) = main {
        places.retain(|&place| place != main);
        places.insert(0, main);
    }
    Refutation {
        cycles: places
            .into_iter()
            .map(|place| cycle(&cycles[place]))
            .collect(),
        by_cases,
    }
}

/// So many cycles are tried as the main one.
const MAINS_MAX: usize = 64;

/// Whether a cycle has a read of an overwritten version, and its length.
type Weight = (bool, usize);

/// A cycle without a read of an overwritten version only says how two writes are ordered; one with
/// it is what went wrong.
fn weight(lemma: &Lemma) -> Weight {
    let is_rw = |edge: &ChosenEdge| matches!(edge.label, Label::Overwritten { .. });
    (lemma.chosen.iter().any(is_rw), lemma.steps.len())
}

/// The clause that no value is left for once the others have been used in turn, each settling one
/// literal; or that there is none. Of several the one that rests on most: what settles a single
/// order by itself is better told as the reason for that order.
/// `weight` is that of the clause's cycle, if it has one.
fn last_settled(
    clauses: &[Vec<i32>],
    weight: impl Fn(usize) -> Option<Weight>,
) -> (Option<usize>, bool) {
    let is_cycle = |at: &usize| weight(*at).is_some();
    let mut mains: Vec<usize> = (0..clauses.len()).filter(is_cycle).collect();
    mains.sort_by_key(|&at| std::cmp::Reverse((clauses[at].len(), weight(at))));
    let is_last = |&main: &usize| {
        let settled = settled_without(clauses, main);
        clauses[main]
            .iter()
            .all(|literal| settled.contains(&-literal))
    };
    let last = mains.into_iter().take(MAINS_MAX).find(is_last);
    if last.is_some() {
        return (last, false);
    }
    (None, !leads_to_contradiction(clauses))
}

/// What the clauses other than one settle, each when all but one of its literals are.
fn settled_without(clauses: &[Vec<i32>], without: usize) -> Vec<i32> {
    let mut settled: Vec<i32> = Vec::new();
    loop {
        let before = settled.len();
        for (at, clause) in clauses.iter().enumerate() {
            if at == without || clause.iter().any(|literal| settled.contains(literal)) {
                continue;
            }
            let mut open = clause
                .iter()
                .filter(|literal| !settled.contains(&-**literal));
            if let (Some(&only), None) = (open.next(), open.next()) {
                settled.push(only);
            }
        }
        if settled.len() == before {
            return settled;
        }
    }
}

/// Whether settling in turn leaves some clause no value.
fn leads_to_contradiction(clauses: &[Vec<i32>]) -> bool {
    let settled = settled_without(clauses, usize::MAX);
    let is_empty = |clause: &Vec<i32>| clause.iter().all(|literal| settled.contains(&-literal));
    clauses.iter().any(is_empty)
}

fn cycle(lemma: &Lemma) -> Cycle {
    let mut chosen = lemma.chosen.iter();
    let steps = lemma.steps.iter().map(|&(from, to, why)| {
        let why = match why {
            Why::Choice(_) => CycleWhy::Chosen(*chosen.next().expect("one for each choice")),
            known => CycleWhy::Known(known),
        };
        (from, to, why)
    });
    Cycle {
        steps: steps.collect(),
    }
}

/// A cycle of known edges only.
pub fn known_cycle(steps: &[Step]) -> Cycle {
    let known = |&(from, to, why): &Step| (from, to, CycleWhy::Known(why));
    Cycle {
        steps: steps.iter().map(known).collect(),
    }
}

/// Clauses without a solution, of which none can be left out.
pub fn minimal(clauses: &[Vec<i32>], choice_count: usize) -> Vec<usize> {
    if let Some(empty) = clauses.iter().position(Vec::is_empty) {
        return vec![empty];
    }
    let mut kept: Vec<usize> = (0..clauses.len()).collect();
    let shrink = |kept: &[usize]| -> Option<Vec<usize>> {
        let some: Vec<Vec<i32>> = kept.iter().map(|&place| clauses[place].clone()).collect();
        let core = solver::core(&some, choice_count)?;
        Some(core.into_iter().map(|place| kept[place]).collect())
    };
    while let Some(core) = shrink(&kept) {
        if core.len() == kept.len() {
            break;
        }
        kept = core;
    }
    let mut place = 0;
    while place < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(place);
        match shrink(&fewer) {
            Some(core) => kept = core,
            None => place += 1,
        }
    }
    kept
}
