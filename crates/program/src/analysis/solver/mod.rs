//! Decides constraints, and finds values for their variables.
//!
//! Definition: given formulas over linear terms of whole numbers; are there values under which all
//! of them hold?
//! Steps: the formulas that matter become clauses over comparisons; comparisons that hold become
//! bounds of terms. When nothing follows any more, an open comparison is decided, first as the
//! numbers at the moment have it; from a contradiction is learned which comparisons cannot hold
//! together, and what it does not depend on is not tried again. When all are decided, values that
//! are not whole, or are those they must not be, are split.
//! Cost: exponential at worst, bounded by a number of contradictions and by a time; what it does
//! not decide it calls undecided.
//! Source: Nieuwenhuis, Oliveras, Tinelli (JACM 2006); Dutertre, de Moura (CAV 2006).

mod atoms;
mod clauses;
mod fraction;
mod simplex;
mod translate;

use super::constraint::{Constraints, Variable};
use atoms::Atoms;
use clauses::{Clauses, Literal};
use simplex::Refused;
use std::time::Instant;
use translate::Translator;

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A value for each variable.
    Satisfied(Vec<i64>),
    /// There are none.
    Unsatisfied,
    /// Not decided.
    Undecided,
}

/// How long to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The greatest number of contradictions.
    pub contradictions: u32,
    /// When to stop.
    pub until: Option<Instant>,
}

/// How many steps there are between looks at the clock.
const STEPS: u32 = 64;
/// How many values may be split.
const SPLITS_MAX: u32 = 2000;

/// Decides.
pub fn solve(constraints: &Constraints, effort: Effort) -> Outcome {
    let mut clauses = Clauses::new();
    let mut atoms = Atoms::new(constraints.variables.len());
    let mut translator = Translator::new(constraints);
    translator.translate(&mut clauses, &mut atoms);
    let mut solver = Solver {
        clauses,
        atoms,
        marks: Vec::new(),
    };
    match solver.run(effort) {
        Some(true) => match solver.values(constraints, &translator.defined) {
            Some(values) => Outcome::Satisfied(values),
            None => Outcome::Undecided,
        },
        Some(false) => Outcome::Unsatisfied,
        None => Outcome::Undecided,
    }
}

struct Solver {
    clauses: Clauses,
    atoms: Atoms,
    /// For each decision, how many bounds there were.
    marks: Vec<usize>,
}

impl Solver {
    /// Whether there are values; nothing where that is not decided.
    fn run(&mut self, effort: Effort) -> Option<bool> {
        let (mut contradictions, mut steps, mut splits) = (0, 0, 0);
        loop {
            if self.clauses.contradictory {
                return Some(false);
            }
            steps += 1;
            let late = |until: Instant| steps % STEPS == 0 && Instant::now() > until;
            if contradictions > effort.contradictions || effort.until.is_some_and(late) {
                return None;
            }
            match self.propagate() {
                Ok(()) => {}
                Err(Refused::Lost) => return None,
                Err(Refused::Together(literals)) => {
                    contradictions += 1;
                    if !self.clauses.learn(&literals) {
                        return Some(false);
                    }
                    self.follow_back();
                    continue;
                }
            }
            if let Some(proposition) = self.clauses.next_open() {
                let likely = self.atoms.likely(proposition);
                self.marks.push(self.atoms.numbers.mark());
                self.clauses.decide(Literal::new(proposition, likely));
                continue;
            }
            splits += 1;
            if !self.atoms.split(&mut self.clauses) {
                return Some(true);
            }
            if splits > SPLITS_MAX {
                return None;
            }
            self.follow_back();
        }
    }

    /// The bounds of what was undone are forgotten.
    fn follow_back(&mut self) {
        if let Some(mark) = self.marks.get(self.clauses.depth()) {
            self.atoms.numbers.back_to(*mark);
            self.marks.truncate(self.clauses.depth());
        }
    }

    /// Everything that follows.
    fn propagate(&mut self) -> Result<(), Refused> {
        loop {
            self.clauses.propagate().map_err(Refused::Together)?;
            self.atoms.tell(&mut self.clauses)?;
            if self.clauses.told < self.clauses.trail().len() {
                continue;
            }
            let before = self.clauses.trail().len();
            self.clauses.propagate().map_err(Refused::Together)?;
            if self.clauses.trail().len() > before {
                continue;
            }
            self.atoms.numbers.check()?;
            self.atoms.infer(&mut self.clauses)?;
            if self.clauses.trail().len() == before {
                return Ok(());
            }
        }
    }

    /// Values for all variables; nothing where they turn out not to do.
    fn values(&self, constraints: &Constraints, defined: &[bool]) -> Option<Vec<i64>> {
        let mut values: Vec<i64> = constraints.variables.iter().map(|v| v.default).collect();
        for (at, meaning) in constraints.variables.iter().enumerate() {
            if let Some(column) = self.atoms.column_of(Variable(at as u32)) {
                values[at] = self.atoms.numbers.value(column).floor();
            } else if let (Some(definition), false) = (&meaning.definition, defined[at]) {
                // What a definition is made of is older.
                let mut cases = definition.cases.iter();
                let case = cases.find(|(condition, _)| constraints.is(*condition, &values));
                let value = case.map_or(&definition.otherwise, |(_, value)| value);
                values[at] = value.value(|variable| values[variable.0 as usize]);
            }
        }
        let mut required = constraints.required.iter();
        let all = required.all(|formula| constraints.is(*formula, &values));
        all.then_some(values)
    }
}
