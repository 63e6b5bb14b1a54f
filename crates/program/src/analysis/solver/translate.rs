//! Formulas as clauses: those that matter to what is required, and each in the direction in which
//! it matters (Plaisted and Greenbaum 1986). A definition matters where its variable does.

use super::super::constraint::{Constraints, Formula, Linear, Node, Variable};
use super::atoms::{Atoms, Number};
use super::clauses::{Clauses, Literal};

/// Which way a formula is used: it must be able to hold, or to fail.
#[derive(Clone, Copy, Default)]
struct Wanted {
    holds: bool,
    fails: bool,
}

pub(super) struct Translator<'a> {
    constraints: &'a Constraints,
    wanted: Vec<Wanted>,
    literals: Vec<Literal>,
    /// Whether the definition of a variable is used.
    pub defined: Vec<bool>,
}

impl<'a> Translator<'a> {
    pub fn new(constraints: &'a Constraints) -> Translator<'a> {
        let formulas = constraints.nodes().len();
        Translator {
            constraints,
            wanted: vec![Wanted::default(); formulas],
            literals: vec![Literal::TRUE; formulas],
            defined: vec![false; constraints.variables.len()],
        }
    }

    /// Adds everything required to the clauses.
    pub fn translate(&mut self, clauses: &mut Clauses, atoms: &mut Atoms) {
        let required = self.required();
        for formula in required.iter().flatten() {
            self.wanted[formula.number() as usize].holds = true;
        }
        self.look_inside();
        self.make(clauses, atoms);
        for clause in required {
            let literals: Vec<Literal> = clause.iter().map(|one| self.literal(*one)).collect();
            clauses.add(&literals);
        }
        for variable in 0..self.defined.len() {
            if self.defined[variable] {
                self.define(Variable(variable as u32), clauses, atoms);
            }
        }
    }

    /// What is required, as disjunctions.
    fn required(&self) -> Vec<Vec<Formula>> {
        let mut waiting: Vec<Formula> = self.constraints.required.iter().rev().copied().collect();
        let mut found = Vec::new();
        while let Some(formula) = waiting.pop() {
            match self.constraints.node(formula) {
                Node::And(all) => waiting.extend(all.iter().rev()),
                Node::Or(all) => found.push(all.clone()),
                _ => found.push(vec![formula]),
            }
        }
        found
    }

    /// What is inside of something is older, so one pass from the youngest finds all that matters.
    fn look_inside(&mut self) {
        let constraints = self.constraints;
        for at in (0..self.wanted.len()).rev() {
            let wanted = self.wanted[at];
            if !wanted.holds && !wanted.fails {
                continue;
            }
            match constraints.node_at(at) {
                Node::True | Node::False => {}
                Node::Zero(term) | Node::AtMostZero(term) => self.use_term(term),
                Node::And(all) | Node::Or(all) => {
                    for inner in all {
                        let inside = &mut self.wanted[inner.number() as usize];
                        inside.holds |= wanted.holds;
                        inside.fails |= wanted.fails;
                    }
                }
                Node::Not(inner) => {
                    let inside = &mut self.wanted[inner.number() as usize];
                    inside.holds |= wanted.fails;
                    inside.fails |= wanted.holds;
                }
            }
        }
    }

    /// The definitions of the variables of a term matter, and what those are made of.
    fn use_term(&mut self, term: &Linear) {
        let constraints = self.constraints;
        let mut waiting: Vec<&Linear> = vec![term];
        while let Some(term) = waiting.pop() {
            for (variable, _) in &term.terms {
                let at = variable.0 as usize;
                let Some(definition) = &constraints.variables[at].definition else {
                    continue;
                };
                if std::mem::replace(&mut self.defined[at], true) {
                    continue;
                }
                for (condition, value) in &definition.cases {
                    self.wanted[condition.number() as usize] = Wanted {
                        holds: true,
                        fails: true,
                    };
                    waiting.push(value);
                }
                waiting.push(&definition.otherwise);
            }
        }
    }

    fn literal(&self, formula: Formula) -> Literal {
        self.literals[formula.number() as usize]
    }

    fn compare(
        &self,
        clauses: &mut Clauses,
        atoms: &mut Atoms,
        term: &Linear,
        equal: bool,
    ) -> Literal {
        let constraints = self.constraints;
        let number = |variable: Variable| {
            let meaning = &constraints.variables[variable.0 as usize];
            Number {
                truth: meaning.truth,
                wanted: meaning.default,
            }
        };
        atoms.compare(clauses, term, equal, &number)
    }

    /// A literal for every formula that matters.
    fn make(&mut self, clauses: &mut Clauses, atoms: &mut Atoms) {
        let constraints = self.constraints;
        for at in 0..self.wanted.len() {
            let wanted = self.wanted[at];
            if !wanted.holds && !wanted.fails {
                continue;
            }
            self.literals[at] = match constraints.node_at(at) {
                Node::True => Literal::TRUE,
                Node::False => Literal::FALSE,
                Node::Zero(term) => self.compare(clauses, atoms, term, true),
                Node::AtMostZero(term) => self.compare(clauses, atoms, term, false),
                Node::Not(inner) => self.literal(*inner).not(),
                Node::And(all) => {
                    let all: Vec<Literal> = all.iter().map(|one| self.literal(*one)).collect();
                    join(clauses, &all, wanted)
                }
                Node::Or(all) => {
                    // Not all of them fail.
                    let all: Vec<Literal> =
                        all.iter().map(|one| self.literal(*one).not()).collect();
                    let opposite = Wanted {
                        holds: wanted.fails,
                        fails: wanted.holds,
                    };
                    join(clauses, &all, opposite).not()
                }
            };
        }
    }

    /// The variable has the value of the first case that holds.
    fn define(&self, variable: Variable, clauses: &mut Clauses, atoms: &mut Atoms) {
        let constraints = self.constraints;
        let Some(definition) = &constraints.variables[variable.0 as usize].definition else {
            return;
        };
        let own = Linear::variable(variable);
        let mut before: Vec<Literal> = Vec::new();
        for (condition, value) in &definition.cases {
            let condition = self.literal(*condition);
            let equal = self.compare(clauses, atoms, &own.minus(value), true);
            let mut clause = before.clone();
            clause.extend([condition.not(), equal]);
            clauses.add(&clause);
            before.push(condition);
        }
        let equal = self.compare(clauses, atoms, &own.minus(&definition.otherwise), true);
        before.push(equal);
        clauses.add(&before);
    }
}

/// A literal that stands for all of them together.
fn join(clauses: &mut Clauses, all: &[Literal], wanted: Wanted) -> Literal {
    let joined = Literal::new(clauses.proposition(), true);
    if wanted.holds {
        for literal in all {
            clauses.add(&[joined.not(), *literal]);
        }
    }
    if wanted.fails {
        let mut clause: Vec<Literal> = all.iter().map(|literal| literal.not()).collect();
        clause.push(joined);
        clauses.add(&clause);
    }
    joined
}
