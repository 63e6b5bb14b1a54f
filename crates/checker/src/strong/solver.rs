//! The solver behind the choices, and the only place that knows which one it is.
//!
//! BatSat searches; after every propagation the new literals are inserted into the order of events
//! (`theory`), and a cycle comes back as a conflict. The first guess for each choice is what the
//! order says at the moment it is made.

use super::theory::Theory;
use crate::Budget;
use batsat::theory::{Theory as Plugin, TheoryArg};
use batsat::{Callbacks, Lit, Solver as BatSat, SolverInterface, SolverOpts, Var, lbool};

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Satisfied,
    Contradiction,
    /// A limit was reached.
    Stopped,
}

/// Asks the budget whether to go on.
struct Watch<'b> {
    budget: Budget<'b>,
}

impl Callbacks for Watch<'_> {
    fn stop(&self) -> bool {
        (self.budget.probe)().is_some()
    }
}

/// A solver over the choices of a theory.
pub struct Solver<'b> {
    solver: BatSat<Watch<'b>>,
    /// How much of the solver's trail the theory has seen, and at the start of each level.
    seen: usize,
    seen_at: Vec<usize>,
    required: Vec<Vec<i32>>,
}

impl<'b> Solver<'b> {
    pub fn new(budget: &Budget<'b>) -> Solver<'b> {
        let watch = Watch { budget: *budget };
        Solver {
            solver: BatSat::new(options(), watch),
            seen: 0,
            seen_at: Vec::new(),
            required: Vec::new(),
        }
    }

    /// Makes room for the choice with this number, to be tried as `first` says.
    pub fn add_choice(&mut self, number: i32, first: bool) {
        let first = if first { lbool::TRUE } else { lbool::FALSE };
        let var = self.solver.new_var(first, true);
        debug_assert_eq!(
            var.idx() as i32 + 1,
            number,
            "choices are numbered in order"
        );
    }

    pub fn add_clause(&mut self, clause: &[i32]) {
        let mut literals: Vec<Lit> = clause.iter().map(|&literal| lit(literal)).collect();
        self.solver.add_clause_reuse(&mut literals);
    }

    /// Adds a clause that comes from the meaning of choices rather than from a cycle.
    pub fn require(&mut self, clause: &[i32]) {
        self.required.push(clause.to_vec());
        self.add_clause(clause);
    }

    /// The clauses that do not come from cycles.
    pub fn required(&self) -> &[Vec<i32>] {
        &self.required
    }

    /// Searches for choices without a cycle.
    pub fn solve(&mut self, theory: &mut Theory<'_>) -> Answer {
        if !self.solver.is_ok() {
            return Answer::Contradiction;
        }
        let mut plugin = Bridge {
            theory,
            seen: self.seen,
            seen_at: std::mem::take(&mut self.seen_at),
        };
        let answer = self.solver.solve_limited_th(&mut plugin, &[]);
        self.seen = plugin.seen;
        self.seen_at = plugin.seen_at;
        if answer == lbool::TRUE {
            Answer::Satisfied
        } else if answer == lbool::FALSE {
            Answer::Contradiction
        } else {
            Answer::Stopped
        }
    }

    /// Whether the literal is true in the solution found last.
    pub fn is_true(&self, literal: i32) -> bool {
        self.solver.value_lit(lit(literal)) == lbool::TRUE
    }
}

/// A restart takes back and repeats every choice, which costs more here than in plain search.
fn options() -> SolverOpts {
    SolverOpts {
        restart_first: 2000,
        ..SolverOpts::default()
    }
}

/// Of clauses without a solution, some that have none either.
pub fn core(clauses: &[Vec<i32>], choice_count: usize) -> Option<Vec<usize>> {
    let mut solver = batsat::BasicSolver::default();
    for _ in 0..choice_count + clauses.len() {
        solver.new_var_default();
    }
    let selector =
        |place: usize| Lit::new(Var::unsafe_from_idx((choice_count + place) as u32), true);
    for (place, clause) in clauses.iter().enumerate() {
        let mut literals: Vec<Lit> = clause.iter().map(|&literal| lit(literal)).collect();
        literals.push(!selector(place));
        solver.add_clause_reuse(&mut literals);
    }
    let all: Vec<Lit> = (0..clauses.len()).map(selector).collect();
    if solver.solve_limited(&all) != lbool::FALSE {
        return None;
    }
    let failed = solver.unsat_core();
    let in_core = |place: &usize| {
        failed
            .iter()
            .any(|literal| literal.var() == selector(*place).var())
    };
    Some((0..clauses.len()).filter(in_core).collect())
}

fn lit(literal: i32) -> Lit {
    let var = Var::unsafe_from_idx(literal.unsigned_abs() - 1);
    Lit::new(var, literal > 0)
}

fn number(literal: Lit) -> i32 {
    let number = literal.var().idx() as i32 + 1;
    if literal.sign() { number } else { -number }
}

/// The theory as the solver sees it.
struct Bridge<'t, 'a> {
    theory: &'t mut Theory<'a>,
    seen: usize,
    seen_at: Vec<usize>,
}

impl Bridge<'_, '_> {
    fn check(&mut self, arg: &mut TheoryArg<'_>) {
        while self.seen < arg.model().len() {
            let literal = arg.model()[self.seen];
            self.seen += 1;
            if let Err(clause) = self.theory.choose(number(literal)) {
                let clause: Vec<Lit> = clause.into_iter().map(lit).collect();
                arg.raise_conflict(&clause, true);
                return;
            }
        }
    }
}

impl Plugin for Bridge<'_, '_> {
    fn final_check(&mut self, arg: &mut TheoryArg<'_>) {
        self.check(arg);
    }

    fn create_level(&mut self) {
        self.seen_at.push(self.seen);
        self.theory.push_level();
    }

    fn pop_levels(&mut self, count: usize) {
        let left = self.seen_at.len() - count;
        if let Some(&seen) = self.seen_at.get(left) {
            self.seen = seen;
        }
        self.seen_at.truncate(left);
        self.theory.backtrack(left);
    }

    fn n_levels(&self) -> usize {
        self.seen_at.len()
    }

    fn partial_check(&mut self, arg: &mut TheoryArg<'_>) {
        self.check(arg);
    }

    fn explain_propagation(&mut self, _literal: Lit) -> &[Lit] {
        unreachable!("the theory propagates nothing, it only objects")
    }
}
