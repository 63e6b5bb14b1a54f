//! The solver behind the choices, and the only place that knows which one it is.
//!
//! BatSat searches; after every propagation the new literals are inserted into the order of events
//! (`theory`), and a cycle comes back as a conflict. The first guess for each choice is what the
//! order says at the moment it is made. CaDiCaL does the same where it is asked for (`cadical`).

#[cfg(feature = "cadical")]
use super::cadical::Cadical;
use super::theory::Theory;
use crate::Budget;
use crate::budget::Count;
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

/// Which solver makes the choices that are left. The verdict does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SatSolver {
    /// In Rust, and always there.
    #[cfg_attr(not(feature = "cadical"), default)]
    BatSat,
    /// In C++; the one that is asked where it is there.
    #[cfg(feature = "cadical")]
    #[default]
    Cadical,
}

/// A solver over the choices of a theory.
pub struct Solver<'b> {
    engine: Engine<'b>,
    required: Vec<Vec<i32>>,
}

enum Engine<'b> {
    BatSat(Box<Batsat<'b>>),
    #[cfg(feature = "cadical")]
    Cadical(Cadical<'b>),
}

impl<'b> Solver<'b> {
    pub fn new(which: SatSolver, budget: &Budget<'b>) -> Solver<'b> {
        let engine = match which {
            SatSolver::BatSat => Engine::BatSat(Box::new(Batsat::new(budget))),
            #[cfg(feature = "cadical")]
            SatSolver::Cadical => Engine::Cadical(Cadical::new(budget)),
        };
        Solver {
            engine,
            required: Vec::new(),
        }
    }

    /// Makes room for the choice with this number, to be tried as `first` says.
    pub fn add_choice(&mut self, number: i32, first: bool) {
        match &mut self.engine {
            Engine::BatSat(solver) => solver.add_choice(number, first),
            #[cfg(feature = "cadical")]
            Engine::Cadical(solver) => solver.add_choice(number, first),
        }
    }

    pub fn add_clause(&mut self, clause: &[i32]) {
        match &mut self.engine {
            Engine::BatSat(solver) => solver.add_clause(clause),
            #[cfg(feature = "cadical")]
            Engine::Cadical(solver) => solver.add_clause(clause),
        }
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

    /// Searches for choices without a cycle; `left` conflicts are the reason to.
    pub fn solve(&mut self, theory: &mut Theory<'_>, left: usize) -> Answer {
        match &mut self.engine {
            Engine::BatSat(solver) => solver.solve(theory, left),
            #[cfg(feature = "cadical")]
            Engine::Cadical(solver) => solver.solve(theory, left),
        }
    }

    /// Whether the literal is true in the solution found last.
    pub fn is_true(&self, literal: i32) -> bool {
        match &self.engine {
            Engine::BatSat(solver) => solver.is_true(literal),
            #[cfg(feature = "cadical")]
            Engine::Cadical(solver) => solver.is_true(literal),
        }
    }
}

/// How far a search is that has so many conflicts still to put right.
pub fn counts(theory: &Theory<'_>, left: usize) -> [Count; 3] {
    [
        ("choices", theory.choice_count() as u64),
        ("cycles", theory.lemmas.len() as u64),
        ("conflicts left", left as u64),
    ]
}

/// How far a search is is told once in so many cycles.
const TELL_EVERY: usize = 64;

/// Asks the budget whether to go on.
struct Watch<'b> {
    budget: Budget<'b>,
}

impl Callbacks for Watch<'_> {
    fn stop(&self) -> bool {
        (self.budget.probe)().is_some()
    }
}

struct Batsat<'b> {
    budget: Budget<'b>,
    solver: BatSat<Watch<'b>>,
    /// How much of the solver's trail the theory has seen, and at the start of each level.
    seen: usize,
    seen_at: Vec<usize>,
}

impl<'b> Batsat<'b> {
    fn new(budget: &Budget<'b>) -> Batsat<'b> {
        let watch = Watch { budget: *budget };
        Batsat {
            budget: *budget,
            solver: BatSat::new(options(), watch),
            seen: 0,
            seen_at: Vec::new(),
        }
    }

    fn add_choice(&mut self, number: i32, first: bool) {
        let first = if first { lbool::TRUE } else { lbool::FALSE };
        let var = self.solver.new_var(first, true);
        debug_assert_eq!(
            var.idx() as i32 + 1,
            number,
            "choices are numbered in order"
        );
    }

    fn add_clause(&mut self, clause: &[i32]) {
        let mut literals: Vec<Lit> = clause.iter().map(|&literal| lit(literal)).collect();
        self.solver.add_clause_reuse(&mut literals);
    }

    fn solve(&mut self, theory: &mut Theory<'_>, left: usize) -> Answer {
        if !self.solver.is_ok() {
            return Answer::Contradiction;
        }
        let mut plugin = Bridge {
            tell: self.budget.counts,
            left,
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

    fn is_true(&self, literal: i32) -> bool {
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

/// A solution of some clauses: by choice, whether it is true.
pub fn model(clauses: &[Vec<i32>], choice_count: usize) -> Option<Vec<bool>> {
    let mut solver = batsat::BasicSolver::default();
    for _ in 0..choice_count {
        solver.new_var_default();
    }
    for clause in clauses {
        let mut literals: Vec<Lit> = clause.iter().map(|&literal| lit(literal)).collect();
        solver.add_clause_reuse(&mut literals);
    }
    if !solver.is_ok() || solver.solve_limited(&[]) != lbool::TRUE {
        return None;
    }
    let is_true = |number: usize| solver.value_lit(lit(number as i32)) == lbool::TRUE;
    Some((1..=choice_count).map(is_true).collect())
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
    /// Told how far the search is, and the conflicts that are the reason for it.
    tell: &'t (dyn Fn(&[Count]) + Sync + 't),
    left: usize,
    seen: usize,
    seen_at: Vec<usize>,
}

impl Bridge<'_, '_> {
    fn check(&mut self, arg: &mut TheoryArg<'_>) {
        while self.seen < arg.model().len() {
            let literal = arg.model()[self.seen];
            self.seen += 1;
            if let Err(clause) = self.theory.choose(number(literal)) {
                if self.theory.lemmas.len().is_multiple_of(TELL_EVERY) {
                    (self.tell)(&counts(self.theory, self.left));
                }
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
