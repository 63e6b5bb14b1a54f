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
    let core = minimal(&clauses, theory.choice_count());
    let in_core: Vec<Vec<i32>> = core.iter().map(|&place| clauses[place].clone()).collect();
    let (last, by_cases) = last_settled(&in_core);
    let mut places: Vec<usize> = core.clone();
    places.retain(|&place| place < cycle_count);
    if let Some(main) = last.map(|at| core[at]).filter(|place| *place < cycle_count) {
        places.retain(|&place| place != main);
        places.insert(0, main);
    } else {
        places.sort_by_key(|&place| theory.lemmas[place].steps.len());
    }
    let found = |place: usize| cycle(&theory.lemmas[place]);
    Refutation {
        cycles: places.into_iter().map(found).collect(),
        by_cases,
    }
}

/// The clause that no value is left for once the others have been used in turn, each settling one
/// literal; or that there is none.
fn last_settled(clauses: &[Vec<i32>]) -> (Option<usize>, bool) {
    let mut settled: Vec<i32> = Vec::new();
    loop {
        let mut changed = false;
        for (at, clause) in clauses.iter().enumerate() {
            if clause.iter().any(|literal| settled.contains(literal)) {
                continue;
            }
            let mut open = clause
                .iter()
                .filter(|literal| !settled.contains(&-**literal));
            match (open.next(), open.next()) {
                (None, _) => return (Some(at), false),
                (Some(&only), None) => {
                    settled.push(only);
                    changed = true;
                }
                _ => {}
            }
        }
        if !changed {
            return (None, true);
        }
    }
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
