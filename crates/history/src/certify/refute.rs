//! A small check that clauses cannot be satisfied: unit propagation, then cases.
//!
//! Davis, Logemann & Loveland 1962, with two watched literals for each clause. Every case is
//! closed before the next one is opened, so an answer of "cannot" rests on nothing but unit
//! propagation in each of them. Variables that closed cases lately are tried first. The number of
//! cases is limited, not the depth: the trail is a list, and nothing recurses.

/// A variable or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Literal(u32);

impl Literal {
    pub(super) fn new(variable: usize, is_true: bool) -> Literal {
        Literal(variable as u32 * 2 + u32::from(!is_true))
    }

    pub(super) fn variable(self) -> usize {
        self.0 as usize / 2
    }

    pub(super) fn is_positive(self) -> bool {
        self.0.is_multiple_of(2)
    }

    pub(super) fn negated(self) -> Literal {
        Literal(self.0 ^ 1)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What came of the attempt.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// No assignment satisfies all clauses.
    Refuted,
    /// This one does, by variable.
    Satisfied(Vec<bool>),
    /// The limit was reached.
    TooManyCases,
}

/// Tries to satisfy the clauses, opening at most `cases_max` cases.
pub(super) fn refute(variables: usize, clauses: &[Vec<Literal>], cases_max: usize) -> Outcome {
    let mut cases = Cases::new(variables, clauses);
    for clause in &cases.clauses {
        match clause.as_slice() {
            [] => return Outcome::Refuted,
            &[only] => cases.units.push(only),
            _ => {}
        }
    }
    for unit in std::mem::take(&mut cases.units) {
        if !cases.assign(unit) {
            return Outcome::Refuted;
        }
    }
    let mut opened = 0;
    loop {
        if let Some(clause) = cases.propagate() {
            cases.blame(clause);
            if !cases.close() {
                return Outcome::Refuted;
            }
            continue;
        }
        let Some(decision) = cases.next_decision() else {
            let is_true = |value: &Option<bool>| value.unwrap_or(false);
            return Outcome::Satisfied(cases.values.iter().map(is_true).collect());
        };
        opened += 1;
        if opened > cases_max {
            return Outcome::TooManyCases;
        }
        cases.open.push(cases.trail.len());
        cases.assign(decision);
    }
}

struct Cases {
    clauses: Vec<Vec<Literal>>,
    units: Vec<Literal>,
    /// By literal: the clauses that watch it, as one of their first two.
    watches: Vec<Vec<u32>>,
    values: Vec<Option<bool>>,
    /// The literals made true, in order, and how many of them were propagated.
    trail: Vec<Literal>,
    propagated: usize,
    /// Where on the trail the decisions are whose other side is still to be looked at.
    open: Vec<usize>,
    /// By literal: how much it had to do with closing cases.
    weights: Vec<f64>,
    increment: f64,
}

impl Cases {
    fn new(variables: usize, clauses: &[Vec<Literal>]) -> Cases {
        let mut cases = Cases {
            clauses: Vec::with_capacity(clauses.len()),
            units: Vec::new(),
            watches: vec![Vec::new(); variables * 2],
            values: vec![None; variables],
            trail: Vec::new(),
            propagated: 0,
            open: Vec::new(),
            weights: vec![0.0; variables * 2],
            increment: 1.0,
        };
        for clause in clauses {
            let mut clause = clause.clone();
            clause.sort_unstable();
            clause.dedup();
            let is_tautology = clause.windows(2).any(|pair| pair[0].negated() == pair[1]);
            if is_tautology {
                continue;
            }
            for &literal in &clause {
                cases.weights[literal.index()] += 0.5f64.powi(clause.len().min(30) as i32);
            }
            if let [first, second, ..] = clause[..] {
                let number = cases.clauses.len() as u32;
                cases.watches[first.index()].push(number);
                cases.watches[second.index()].push(number);
            }
            cases.clauses.push(clause);
        }
        cases
    }

    fn value(&self, literal: Literal) -> Option<bool> {
        self.values[literal.variable()].map(|value| value == literal.is_positive())
    }

    /// Makes a literal true; false if it is false already.
    fn assign(&mut self, literal: Literal) -> bool {
        match self.value(literal) {
            Some(value) => value,
            None => {
                self.values[literal.variable()] = Some(literal.is_positive());
                self.trail.push(literal);
                true
            }
        }
    }

    /// Follows every unit; the clause that became false, if one did.
    fn propagate(&mut self) -> Option<usize> {
        while let Some(&literal) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let falsified = literal.negated();
            let watching = std::mem::take(&mut self.watches[falsified.index()]);
            for (index, &number) in watching.iter().enumerate() {
                if self.keep_watch(number, falsified) {
                    self.watches[falsified.index()].push(number);
                    let first = self.clauses[number as usize][0];
                    if !self.assign(first) {
                        let rest = &watching[index + 1..];
                        self.watches[falsified.index()].extend_from_slice(rest);
                        return Some(number as usize);
                    }
                }
            }
        }
        None
    }

    /// Whether a clause has to go on watching a literal that became false, because no other of its
    /// literals can be watched instead; then the first one is all that is left.
    fn keep_watch(&mut self, number: u32, falsified: Literal) -> bool {
        let values = &self.values;
        let is_false = |literal: Literal| {
            values[literal.variable()].is_some_and(|value| value != literal.is_positive())
        };
        let clause = &mut self.clauses[number as usize];
        if clause[0] == falsified {
            clause.swap(0, 1);
        }
        let other = (2..clause.len()).find(|&index| !is_false(clause[index]));
        match other {
            Some(index) => {
                clause.swap(1, index);
                let watched = clause[1];
                self.watches[watched.index()].push(number);
                false
            }
            None => true,
        }
    }

    /// Remembers which variables closed a case.
    fn blame(&mut self, clause: usize) {
        for literal in &self.clauses[clause] {
            self.weights[literal.index()] += self.increment;
        }
        self.increment *= 1.05;
        if self.increment > 1e100 {
            self.weights.iter_mut().for_each(|weight| *weight *= 1e-100);
            self.increment *= 1e-100;
        }
    }

    /// Ends the current case and turns to the other side of its last decision; false if there is
    /// none left.
    fn close(&mut self) -> bool {
        let Some(start) = self.open.pop() else {
            return false;
        };
        let decision = self.trail[start];
        for literal in self.trail.drain(start..) {
            self.values[literal.variable()] = None;
        }
        self.propagated = start;
        self.assign(decision.negated())
    }

    /// A literal of a clause that is not true yet, the one with most weight.
    fn next_decision(&self) -> Option<Literal> {
        let is_true = |&literal: &Literal| self.value(literal) == Some(true);
        let open_clauses = self
            .clauses
            .iter()
            .filter(|clause| !clause.iter().any(is_true));
        let undecided = |&literal: &Literal| self.value(literal).is_none();
        let weight = |literal: Literal| {
            let (this, other) = (literal.index(), literal.negated().index());
            self.weights[this] + self.weights[other]
        };
        open_clauses
            .flatten()
            .copied()
            .filter(undecided)
            .max_by(|&a, &b| weight(a).total_cmp(&weight(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(clause: &[i32]) -> Vec<Literal> {
        let literal = |&number: &i32| Literal::new(number.unsigned_abs() as usize - 1, number > 0);
        clause.iter().map(literal).collect()
    }

    fn outcome(variables: usize, clauses: &[&[i32]]) -> Outcome {
        let clauses: Vec<Vec<Literal>> = clauses.iter().map(|clause| literals(clause)).collect();
        refute(variables, &clauses, 1000)
    }

    #[test]
    fn clauses_are_refuted_by_units_and_by_cases() {
        assert_eq!(outcome(0, &[]), Outcome::Satisfied(vec![]));
        assert_eq!(outcome(0, &[&[]]), Outcome::Refuted);
        assert_eq!(outcome(1, &[&[1], &[-1]]), Outcome::Refuted);
        assert_eq!(outcome(2, &[&[1], &[-1, 2], &[-2]]), Outcome::Refuted);
        let square: [&[i32]; 4] = [&[1, 2], &[1, -2], &[-1, 2], &[-1, -2]];
        assert_eq!(outcome(2, &square), Outcome::Refuted);
        let found = outcome(2, &square[..3]);
        assert_eq!(found, Outcome::Satisfied(vec![true, true]));
        assert_eq!(
            outcome(1, &[&[1, -1], &[-1, -1]]),
            Outcome::Satisfied(vec![false])
        );
    }

    /// Against trying every assignment.
    #[test]
    fn random_clauses_are_refuted_iff_nothing_satisfies_them() {
        let mut state = 7u32;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        let mut refuted = 0;
        for _ in 0..3000 {
            let variables = 1 + below(7) as usize;
            let clauses: Vec<Vec<Literal>> = (0..below(30))
                .map(|_| {
                    let literal = |_| Literal::new(below(variables as u32) as usize, below(2) == 0);
                    (0..3).map(literal).collect()
                })
                .collect();
            let satisfies = |assignment: &dyn Fn(usize) -> bool| {
                clauses.iter().all(|clause| {
                    let mut literals = clause.iter();
                    literals.any(|l| assignment(l.variable()) == l.is_positive())
                })
            };
            let expect = (0..1usize << variables).any(|bits| satisfies(&|v| bits >> v & 1 == 1));
            match refute(variables, &clauses, 1_000_000) {
                Outcome::Refuted => {
                    refuted += 1;
                    assert!(!expect);
                }
                Outcome::Satisfied(values) => assert!(satisfies(&|v| values[v])),
                Outcome::TooManyCases => panic!("few variables"),
            }
        }
        assert!(refuted > 500, "{refuted}");
    }

    #[test]
    fn the_number_of_cases_is_limited() {
        // Seven pigeons in six holes.
        let at = |pigeon: usize, hole: usize| pigeon * 6 + hole;
        let mut clauses: Vec<Vec<Literal>> = (0..7)
            .map(|pigeon| {
                (0..6)
                    .map(|hole| Literal::new(at(pigeon, hole), true))
                    .collect()
            })
            .collect();
        for hole in 0..6 {
            for a in 0..7 {
                for b in 0..a {
                    let not = |pigeon| Literal::new(at(pigeon, hole), false);
                    clauses.push(vec![not(a), not(b)]);
                }
            }
        }
        assert_eq!(refute(42, &clauses, 10), Outcome::TooManyCases);
        assert_eq!(refute(42, &clauses, 100_000), Outcome::Refuted);
    }
}
