//! The search for an order without conflicts: look what is wrong, make choices of it, solve, and
//! look again. Every round either ends or adds a choice or a clause that the last order violates, and
//! there are finitely many of both.

use super::conflicts::{self, Chosen, Conflict, NO_WRITER, Walk};
use super::known::{Known, Why};
use super::parallel::{self, Dependencies, PathChoice};
use super::solver::{Answer, SatSolver, Solver, counts};
use super::theory::{Choice, Theory, older_choice};
use super::topological::{ChosenEdge, Label, Step};
use super::{Decision, Effort, commit_order, refutation};
use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use history::{KeyId, OpId, TxnId};
use rustc_hash::FxHashMap;

/// See the module's text.
pub struct Search<'s, 'a, 'b> {
    known: &'a Known<'a>,
    theory: Theory<'a>,
    solver: Solver<'b>,
    budget: &'s Budget<'b>,
    effort: &'s mut Effort,
    /// Whether there has been a solution to ask about.
    is_solved: bool,
}

/// Every round should add something; after so many that do not, the answer is unknown.
const IDLE_ROUNDS_MAX: usize = 8;

/// The choices of the last solution.
struct Solution<'s, 'a, 'b> {
    observed: &'a Observed<'a>,
    theory: &'s Theory<'a>,
    solver: &'s Solver<'b>,
    is_solved: bool,
}

impl Chosen for Solution<'_, '_, '_> {
    fn counts(&self, txn: u32) -> bool {
        let is_chosen = || {
            let taken = self.theory.literal(Choice::Taken { txn });
            self.is_solved && taken.is_some_and(|literal| self.solver.is_true(literal))
        };
        self.observed.taken[txn as usize] || is_chosen()
    }

    fn may_read(&self, ambiguous: u32, writer: u32) -> bool {
        let writers = &self.observed.ambiguous[ambiguous as usize].writers;
        writers.binary_search(&TxnId(writer)).is_ok()
    }
}

impl<'s, 'a, 'b> Search<'s, 'a, 'b> {
    /// Goes on from a theory; `likely` are the values that its choices had in the best order so far.
    pub fn new(
        known: &'a Known<'a>,
        theory: Theory<'a>,
        likely: &[i8],
        solver: SatSolver,
        budget: &'s Budget<'b>,
        effort: &'s mut Effort,
    ) -> Search<'s, 'a, 'b> {
        let mut solver = Solver::new(solver, budget);
        for number in 1..=theory.choice_count() as i32 {
            solver.add_choice(number, likely[number as usize - 1] > 0);
        }
        for read in &known.observed.ambiguous {
            let from = |writer: &TxnId| Choice::From {
                read: read.op.0,
                writer: writer.0,
            };
            let writers: Option<Vec<i32>> = read
                .writers
                .iter()
                .map(|w| theory.literal(from(w)))
                .collect();
            if let Some(writers) = writers {
                solver.require(&writers);
            }
        }
        for lemma in &theory.lemmas {
            let clause: Vec<i32> = lemma.because.iter().map(|literal| -literal).collect();
            solver.add_clause(&clause);
        }
        Search {
            known,
            theory,
            solver,
            budget,
            effort,
            is_solved: false,
        }
    }

    pub fn run(mut self) -> Result<Decision, Limit> {
        let (mut size, mut idle) = (0, 0);
        loop {
            self.budget.check("solve")?;
            self.effort.rounds += 1;
            idle = if self.theory.size() == size {
                idle + 1
            } else {
                0
            };
            size = self.theory.size();
            if idle > IDLE_ROUNDS_MAX {
                return Err(Limit("no progress (stage: solve)".to_string()));
            }
            let mut walk = self.walk();
            let left = walk.conflicts.len();
            self.budget.check_at("solve", &counts(&self.theory, left))?;
            let wrong = if self.known.shape.parallel {
                self.use_chosen_writers(&mut walk);
                self.admit_paths(&walk)
            } else {
                self.admit_all(&walk.conflicts)
            };
            let Some(is_open) = wrong else {
                let counts = |txn| self.solution().counts(txn);
                let (shape, events) = (self.known.shape, self.theory.order.events());
                let observed = self.known.observed;
                let order = commit_order(observed, shape, events, &walk.writers, counts);
                return Ok(Decision::Holds(order));
            };
            self.effort.choices = self.theory.choice_count();
            let answer = if is_open {
                self.solver.solve(&mut self.theory, left)
            } else {
                Answer::Contradiction
            };
            self.effort.cycles = self.theory.lemmas.len();
            self.effort.visits = self.theory.order.visits;
            match answer {
                Answer::Satisfied => self.is_solved = true,
                Answer::Contradiction => {
                    let refutation = refutation::refute(&self.theory, self.solver.required());
                    if refutation.cycles.is_empty() {
                        return Err(Limit(
                            "every possible writer of some read is an indeterminate transaction \
                             that cannot have committed, for which there is no evidence yet \
                             (stage: solve)"
                                .to_string(),
                        ));
                    }
                    return Ok(super::violated(self.known, &refutation));
                }
                Answer::Stopped => {
                    let counts = counts(&self.theory, left);
                    self.budget.check_at("solve", &counts)?;
                }
            }
        }
    }

    fn solution(&self) -> Solution<'_, 'a, 'b> {
        Solution {
            observed: self.known.observed,
            theory: &self.theory,
            solver: &self.solver,
            is_solved: self.is_solved,
        }
    }

    fn walk(&self) -> Walk {
        let events = self.theory.order.events();
        let (observed, shape) = (self.known.observed, self.known.shape);
        conflicts::walk(observed, shape, events, &self.solution())
    }

    /// Makes choices of all conflicts; None if there are none, else whether there may be a way out.
    fn admit_all(&mut self, conflicts: &[Conflict]) -> Option<bool> {
        let mut is_open = true;
        for &conflict in conflicts {
            is_open &= self.admit(conflict);
        }
        (!conflicts.is_empty()).then_some(is_open)
    }

    /// Makes choices of a conflict. False if that alone is a contradiction.
    fn admit(&mut self, conflict: Conflict) -> bool {
        let shape = self.known.shape;
        match conflict {
            Conflict::Stale {
                read,
                reader,
                writer,
                other,
                ..
            } if writer == Link::INITIAL => {
                let edge = ChosenEdge {
                    from: shape.start(reader),
                    to: shape.commit(other),
                    label: Label::Overwritten {
                        read,
                        version_of: Link::INITIAL,
                    },
                    because: self.counting(&[reader, other]),
                };
                if edge.because == [0; 4] {
                    let result = self.theory.add_fixed(edge);
                    self.keep(result)
                } else {
                    self.admit_optional(edge)
                }
            }
            Conflict::Stale {
                read,
                key,
                writer,
                other,
                ..
            } => {
                let literal = self.choice_between(key, writer, other);
                let result = self.theory.want(literal, read);
                self.keep(result)
            }
            Conflict::Overlap { key, first, second } => {
                self.choice_between(key, first, second);
                true
            }
            Conflict::Unexplained { ambiguous, last } => self.admit_unexplained(ambiguous, last),
        }
    }

    /// The literals that these transactions count.
    fn counting(&self, txns: &[u32]) -> [i32; 4] {
        let mut because = [0; 4];
        for (place, &txn) in txns.iter().enumerate() {
            if !self.known.observed.taken[txn as usize] {
                let taken = self.theory.literal(Choice::Taken { txn });
                because[place] = taken.expect("a transaction that counts has a choice");
            }
        }
        because
    }

    /// An edge from a read of an initial version that stands only if its ends count.
    fn admit_optional(&mut self, edge: ChosenEdge) -> bool {
        let result = self.theory.add_conditional(edge);
        self.keep(result)
    }

    /// Keeps the clause of a cycle that closed at once; false if it leaves no way out.
    fn keep(&mut self, result: Result<(), Vec<i32>>) -> bool {
        match result {
            Ok(()) => true,
            Err(clause) if clause.is_empty() => false,
            Err(clause) => {
                self.solver.add_clause(&clause);
                true
            }
        }
    }

    /// The literal for `older` before `newer`, made if it is not there.
    fn choice_between(&mut self, key: u32, older: u32, newer: u32) -> i32 {
        let (choice, sign) = older_choice(key, older, newer);
        if let Some(literal) = self.theory.literal(choice) {
            return sign * literal;
        }
        let shape = self.known.shape;
        let literal = self.theory.add(choice);
        let (first, second) = (
            shape.commit(older.min(newer)),
            shape.commit(older.max(newer)),
        );
        let likely = self.theory.order.is_before(first, second);
        self.solver.add_choice(literal, likely);
        sign * literal
    }

    /// Gives a read its possible writers to choose from; or, if it has them, an order to those
    /// chosen and the version that came between.
    fn admit_unexplained(&mut self, ambiguous: u32, last: u32) -> bool {
        let observed = self.known.observed;
        let read = &observed.ambiguous[ambiguous as usize];
        let from = |writer: &TxnId| Choice::From {
            read: read.op.0,
            writer: writer.0,
        };
        let key = observed.history.op(read.op).key.0;
        let known: Option<Vec<i32>> = read
            .writers
            .iter()
            .map(|w| self.theory.literal(from(w)))
            .collect();
        let Some(literals) = known else {
            return self.add_writers(ambiguous);
        };
        if !self.is_solved || last == Link::INITIAL {
            // The chosen writer comes later: the next solution puts it first.
            return true;
        }
        for (literal, writer) in literals.into_iter().zip(&*read.writers) {
            if self.solver.is_true(literal) && writer.0 != last {
                self.choice_between(key, writer.0, last);
            }
        }
        true
    }

    fn add_writers(&mut self, ambiguous: u32) -> bool {
        let observed = self.known.observed;
        let read = &observed.ambiguous[ambiguous as usize];
        let mut clause = Vec::new();
        if !observed.taken[read.reader.index()] {
            clause.push(-self.taken(read.reader.0));
        }
        for writer in &*read.writers {
            let literal = self.theory.add(Choice::From {
                read: read.op.0,
                writer: writer.0,
            });
            let likely = self.theory.is_last_before(read.op.0, writer.0);
            self.solver.add_choice(literal, likely);
            clause.push(literal);
            if !observed.taken[writer.index()] {
                let taken = self.taken(writer.0);
                self.solver.require(&[-literal, taken]);
            }
        }
        self.solver.require(&clause);
        true
    }

    /// The literal that an indeterminate transaction counts, with what follows from it.
    fn taken(&mut self, txn: u32) -> i32 {
        if let Some(literal) = self.theory.literal(Choice::Taken { txn }) {
            return literal;
        }
        let observed = self.known.observed;
        let literal = self.theory.add(Choice::Taken { txn });
        self.solver.add_choice(literal, false);
        let is_odd = observed.read_anomalies.iter().any(|read| read.txn.0 == txn);
        if is_odd {
            self.solver.require(&[-literal]);
        }
        for (_, _, writer) in observed.reads(TxnId(txn)) {
            if !observed.taken[writer.index()] {
                let other = self.taken(writer.0);
                self.solver.require(&[-literal, other]);
            }
        }
        literal
    }

    /// Where a read need not return the last version, it returns the one that was chosen.
    fn use_chosen_writers(&self, walk: &mut Walk) {
        let observed = self.known.observed;
        for (place, read) in observed.ambiguous.iter().enumerate() {
            let is_chosen = |writer: &&TxnId| {
                let choice = Choice::From {
                    read: read.op.0,
                    writer: writer.0,
                };
                let literal = self.theory.literal(choice);
                self.is_solved && literal.is_some_and(|literal| self.solver.is_true(literal))
            };
            if let Some(writer) = read.writers.iter().find(is_chosen)
                && self.solution().counts(read.reader.0)
            {
                walk.writers[place] = writer.0;
                walk.conflicts.push(Conflict::Stale {
                    read: read.op.0,
                    reader: read.reader.0,
                    key: observed.history.op(read.op).key.0,
                    writer: writer.0,
                    other: Link::INITIAL,
                });
            }
        }
        let writers = &walk.writers;
        walk.conflicts.retain(|conflict| match conflict {
            Conflict::Unexplained { ambiguous, .. } => writers[*ambiguous as usize] == NO_WRITER,
            _ => true,
        });
    }

    /// The same for parallel snapshot isolation: stale reads that dependencies forbid.
    fn admit_paths(&mut self, walk: &Walk) -> Option<bool> {
        let known = self.known;
        let observed = known.observed;
        let mut dependencies =
            Dependencies::new(known, self.theory.order.events(), &self.solution());
        let chosen_reads = chosen_reads(observed, &walk.writers);
        let (mut is_open, mut is_wrong) = (true, false);
        for &conflict in &walk.conflicts {
            // One that nothing can put right is enough; a path to each may be a long search.
            if !is_open {
                break;
            }
            match conflict {
                Conflict::Stale {
                    read,
                    reader,
                    key,
                    writer,
                    ..
                } => {
                    if let Some(path) = dependencies.path_to(reader, key, writer, &chosen_reads) {
                        is_wrong = true;
                        is_open &= self.learn_path(&path, (read, reader, key, writer));
                    }
                }
                Conflict::Unexplained { ambiguous, last } => {
                    is_wrong = true;
                    is_open &= self.admit_unexplained(ambiguous, last);
                }
                Conflict::Overlap { .. } => {}
            }
        }
        is_wrong.then_some(is_open)
    }

    /// A path from an overwriter to a reader as a cycle.
    fn learn_path(
        &mut self,
        path: &parallel::Path,
        (read, reader, key, writer): (u32, u32, u32, u32),
    ) -> bool {
        let mut steps: Vec<Step> = Vec::new();
        let mut chosen = Vec::new();
        for &(from, to, why) in &path.steps {
            let mut because = self.counting(&[from, to]);
            let label = match why {
                Ok(known) if because == [0; 4] => {
                    steps.push((from, to, known));
                    continue;
                }
                Ok(Why::Read(read)) => Label::Read(read),
                Ok(_) => Label::Session,
                Err(PathChoice::Older(key)) => {
                    because[2] = self.choice_between(key, from, to);
                    Label::Older(key)
                }
                Err(PathChoice::Read(read)) => {
                    let choice = Choice::From { read, writer: from };
                    because[2] = self.writer_choice(choice);
                    Label::Read(read)
                }
            };
            steps.push((from, to, Why::Choice(u32::MAX)));
            chosen.push(ChosenEdge {
                from,
                to,
                label,
                because,
            });
        }
        let mut because = self.counting(&[reader, path.overwriter]);
        // A list that lacks what was appended says itself that this came later.
        let observed = self.known.observed;
        let append = observed.write_to(TxnId(path.overwriter), KeyId(key));
        let shows_it = append.is_some_and(|append| observed.lacks(OpId(read), append));
        if writer != Link::INITIAL && !shows_it {
            because[2] = self.choice_between(key, writer, path.overwriter);
        }
        if self.known.observed.links[read as usize] == Link::AMBIGUOUS {
            because[3] = self.writer_choice(Choice::From { read, writer });
        }
        steps.push((reader, path.overwriter, Why::Choice(u32::MAX)));
        chosen.push(ChosenEdge {
            from: reader,
            to: path.overwriter,
            label: Label::Overwritten {
                read,
                version_of: writer,
            },
            because,
        });
        let clause = self.theory.learn_chosen(steps, chosen);
        self.keep(Err(clause))
    }

    /// The literal of a read's writer, made together with those of its other possible writers.
    fn writer_choice(&mut self, choice: Choice) -> i32 {
        if self.theory.literal(choice).is_none()
            && let Choice::From { read, .. } = choice
        {
            let ambiguous = &self.known.observed.ambiguous;
            let place = ambiguous.iter().position(|other| other.op.0 == read);
            self.add_writers(place.expect("only ambiguous reads have a choice") as u32);
        }
        self.theory.literal(choice).expect("it was just made")
    }
}

/// By reader, its ambiguous reads with the writers they have in an order.
fn chosen_reads(observed: &Observed<'_>, writers: &[u32]) -> FxHashMap<u32, Vec<(u32, u32)>> {
    let mut by_reader: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
    for (read, &writer) in observed.ambiguous.iter().zip(writers) {
        if writer != NO_WRITER && writer != Link::INITIAL {
            let reads = by_reader.entry(read.reader.0).or_default();
            reads.push((read.op.0, writer));
        }
    }
    by_reader
}
