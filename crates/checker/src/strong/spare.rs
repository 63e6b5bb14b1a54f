//! The edges that a refutation can do without.
//!
//! Definition: a counterexample is minimal if, whatever is chosen, its edges close a cycle, and
//! without any one of these edges something can be chosen. That no cycle can be left out is not
//! enough: the edges of some may close another one. Steps, for each edge in turn: without it, choose;
//! look for a shortest cycle among the edges that stand; it is a clause; choose again. If nothing is
//! left to choose the edge was spare, and the cycles found are the refutation from then on.
//!
//! Cost: edges times cycles searches in a graph of so many edges; large refutations, which are made
//! smaller as histories first, are left as they are. Source: PolySI (VLDB 2023), appendix E.

use super::known::Why;
use super::refutation;
use super::solver;
use super::theory::Lemma;
use super::topological::{ChosenEdge, Label};
use std::collections::VecDeque;

/// Refutations with more edges are left as they are.
const EDGES_MAX: usize = 64;

/// An edge of a cycle.
#[derive(Clone, Copy)]
struct Line {
    from: u32,
    to: u32,
    why: Why,
    chosen: Option<ChosenEdge>,
}

impl Line {
    fn is_same(&self, other: &Line) -> bool {
        let chosen = |line: &Line| line.chosen.map(|edge| (edge.label, edge.because));
        let ends = |line: &Line| (line.from, line.to);
        let is_known = self.chosen.is_none() && self.why == other.why;
        ends(self) == ends(other)
            && chosen(self) == chosen(other)
            && (is_known || self.chosen.is_some())
    }

    fn is_overwritten(&self) -> bool {
        let label = self.chosen.map(|edge| edge.label);
        matches!(label, Some(Label::Overwritten { .. })) || matches!(self.why, Why::ListRead(..))
    }

    /// Whether all that the edge rests on is chosen.
    fn stands(&self, model: &[bool]) -> bool {
        let literals = self.chosen.iter().flat_map(|edge| edge.because);
        let mut literals = literals.filter(|&literal| literal != 0);
        literals.all(|literal| model[literal.unsigned_abs() as usize - 1] == (literal > 0))
    }
}

/// Cycles that refute what these refute, with the clauses that go with them, by no edge too many.
/// In `parallel` only cycles with at most one read of an overwritten version are any.
pub fn without_spare(
    cycles: Vec<Lemma>,
    required: &[Vec<i32>],
    choice_count: usize,
    parallel: bool,
) -> Vec<Lemma> {
    let mut cycles = cycles;
    let mut lines = lines(&cycles);
    if cycles.len() < 2 || lines.len() > EDGES_MAX {
        return cycles;
    }
    let mut place = 0;
    while place < lines.len() {
        let mut fewer = lines.clone();
        let tried = fewer.remove(place);
        match refute(&fewer, required, choice_count, parallel) {
            Some(found) => {
                // What stands before the place was needed with more edges, so it is still.
                cycles = found;
                lines = self::lines(&cycles);
                lines.sort_by_key(|line| fewer.iter().position(|other| line.is_same(other)));
                debug_assert!(!lines.iter().any(|line| line.is_same(&tried)));
            }
            None => place += 1,
        }
    }
    cycles
}

/// The edges of cycles, each once.
fn lines(cycles: &[Lemma]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for cycle in cycles {
        let mut chosen = cycle.chosen.iter();
        for &(from, to, why) in &cycle.steps {
            let chosen = match why {
                Why::Choice(_) => chosen.next().copied(),
                _ => None,
            };
            let line = Line {
                from,
                to,
                why,
                chosen,
            };
            if !lines.iter().any(|other| other.is_same(&line)) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Cycles among these edges of which one closes whatever is chosen; None if there are not enough.
fn refute(
    lines: &[Line],
    required: &[Vec<i32>],
    choice_count: usize,
    parallel: bool,
) -> Option<Vec<Lemma>> {
    let mut cycles: Vec<Lemma> = Vec::new();
    let mut clauses = required.to_vec();
    while let Some(model) = solver::model(&clauses, choice_count) {
        let standing = lines.iter().filter(|line| line.stands(&model));
        let standing: Vec<Line> = standing.copied().collect();
        let cycle = shortest(&standing, parallel)?;
        clauses.push(cycle.because.iter().map(|literal| -literal).collect());
        cycles.push(cycle);
    }
    let core = refutation::minimal(&clauses, choice_count);
    let is_needed = |place: usize| core.contains(&(required.len() + place));
    let places = cycles.into_iter().enumerate();
    Some(
        places
            .filter(|&(place, _)| is_needed(place))
            .map(|(_, cycle)| cycle)
            .collect(),
    )
}

/// A shortest cycle; see `without_spare` for which ones count.
fn shortest(lines: &[Line], parallel: bool) -> Option<Lemma> {
    let from_each = lines
        .iter()
        .filter_map(|first| cycle(lines, first, parallel));
    let places = from_each.min_by_key(Vec::len)?;
    let mut steps = Vec::new();
    let mut chosen: Vec<ChosenEdge> = Vec::new();
    for line in places {
        steps.push((line.from, line.to, line.why));
        chosen.extend(line.chosen);
    }
    let literals = chosen.iter().flat_map(|edge| edge.because);
    let mut because: Vec<i32> = literals.filter(|&literal| literal != 0).collect();
    because.sort_unstable();
    because.dedup();
    Some(Lemma {
        steps,
        chosen,
        because,
    })
}

/// Where a search came to, and along which edge from which place of it.
struct Reached {
    state: (u32, bool),
    by: Option<(usize, Line)>,
}

/// A shortest cycle that begins with an edge, breadth first over events and whether there was a read
/// of an overwritten version on the way.
fn cycle(lines: &[Line], first: &Line, parallel: bool) -> Option<Vec<Line>> {
    let counts = |line: &Line| parallel && line.is_overwritten();
    let mut came = vec![Reached {
        state: (first.to, counts(first)),
        by: None,
    }];
    let mut queue = VecDeque::from([0]);
    while let Some(at) = queue.pop_front() {
        let (event, had) = came[at].state;
        if event == first.from {
            let mut path = vec![*first];
            let mut place = at;
            while let Some((before, line)) = came[place].by {
                path.push(line);
                place = before;
            }
            path[1..].reverse();
            return Some(path);
        }
        for line in lines.iter().filter(|line| line.from == event) {
            let state = (line.to, had || counts(line));
            let is_allowed = !(had && counts(line));
            if is_allowed && !came.iter().any(|seen| seen.state == state) {
                queue.push_back(came.len());
                let by = Some((at, *line));
                came.push(Reached { state, by });
            }
        }
    }
    None
}
