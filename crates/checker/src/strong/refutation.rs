//! From the cycles that a search ran into to evidence: as few of them as still leave no choice.

use super::known::Why;
use super::solver;
use super::theory::{Lemma, Theory};
use super::topological::{ChosenEdge, Step};

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

/// Cycles of which one closes whatever is chosen; none of them can be left out.
pub fn cycles(theory: &Theory<'_>) -> Vec<Cycle> {
    let mut clauses: Vec<Vec<i32>> = Vec::new();
    for lemma in &theory.lemmas {
        clauses.push(lemma.because.iter().map(|literal| -literal).collect());
    }
    let core = minimal(&clauses, theory.choice_count());
    core.into_iter()
        .map(|place| cycle(&theory.lemmas[place]))
        .collect()
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
fn minimal(clauses: &[Vec<i32>], choice_count: usize) -> Vec<usize> {
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
