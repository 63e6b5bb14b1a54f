//! CaDiCaL as the solver behind the choices, where it is built in (feature `cadical`).
//!
//! CaDiCaL wants to own whatever it calls, for as long as it likes, and a theory borrows the history.
//! So CaDiCaL runs on a thread of its own, and what it assigns and takes back is told to the thread
//! that has the theory, which answers with the clause of a cycle, if there is one. Steps of a search:
//!
//! 1. CaDiCaL propagates, and tells what happened since it last did;
//! 2. the theory's thread follows (`Follower`): it makes the choices in turn up to the first that
//!    closes a cycle, and replies with the clause; those behind it wait, and are made later unless
//!    CaDiCaL takes them back first;
//! 3. once CaDiCaL has a solution, all its choices are made again from nothing. A cycle that was
//!    missed is a clause more, and CaDiCaL goes on.
//!
//! Every clause is a cycle whatever the two threads believe of each other, and every solution is seen
//! to have none, so an assignment that got lost on the way would cost time only.
//!
//! Cost: a message and its reply for each propagation. CaDiCaL itself takes options from variables
//! `CADICAL_…` of the environment; they can change how long it takes, and no verdict. Source: IPASIR-UP
//! (Fazekas et al., SAT 2023).

use super::solver::{Answer, counts};
use super::theory::Theory;
use crate::Budget;
use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the solver's thread is to do.
enum Order {
    /// Know a choice, and try it this way round first.
    Choice(i32),
    Clause(Vec<i32>),
    Solve,
}

/// What happened in the solver.
enum Event {
    Assigned(i32),
    Level,
    Backtrack(usize),
}

/// What the solver's thread tells.
enum Told {
    /// What happened since the last time. A clause is awaited, or that there is none.
    Happened(Vec<Event>),
    /// The search is over; by choice, whether it is true.
    Ended(Answer, Vec<bool>),
}

/// See the module's text.
pub struct Cadical<'b> {
    budget: Budget<'b>,
    orders: Option<Sender<Order>>,
    replies: Sender<Option<Vec<i32>>>,
    told: Receiver<Told>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    follower: Follower,
    choice_count: usize,
    model: Vec<bool>,
}

/// How long to wait for the solver before the budget is asked, and how often it is asked besides.
const PATIENCE: Duration = Duration::from_millis(50);
const ASK_EVERY: u64 = 256;

impl<'b> Cadical<'b> {
    pub fn new(budget: &Budget<'b>) -> Cadical<'b> {
        let (orders, ordered) = channel();
        let (replies, replied) = channel();
        let (tell, told) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&stop);
        let thread = std::thread::spawn(move || serve(&ordered, tell, replied, end));
        Cadical {
            budget: *budget,
            orders: Some(orders),
            replies,
            told,
            stop,
            thread: Some(thread),
            follower: Follower::default(),
            choice_count: 0,
            model: Vec::new(),
        }
    }

    pub fn add_choice(&mut self, number: i32, first: bool) {
        self.choice_count += 1;
        self.order(Order::Choice(if first { number } else { -number }));
    }

    pub fn add_clause(&mut self, clause: &[i32]) {
        self.order(Order::Clause(clause.to_vec()));
    }

    /// A thread that is gone shows when its answer is awaited.
    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }

    pub fn solve(&mut self, theory: &mut Theory<'_>, left: usize) -> Answer {
        loop {
            self.order(Order::Solve);
            let answer = self.follow(theory, left);
            self.follower.backtrack(0, theory);
            if answer != Answer::Satisfied {
                return answer;
            }
            match missed(&self.model, theory) {
                None => return Answer::Satisfied,
                Some(clause) => self.add_clause(&clause),
            }
        }
    }

    pub fn is_true(&self, literal: i32) -> bool {
        let value = self.model.get(literal.unsigned_abs() as usize - 1);
        value.is_some_and(|&value| value == (literal > 0))
    }

    /// Does in the theory what happens in the solver, until that has an answer.
    fn follow(&mut self, theory: &mut Theory<'_>, left: usize) -> Answer {
        let mut asked = 0u64;
        loop {
            match self.told.recv_timeout(PATIENCE) {
                Ok(Told::Happened(events)) => {
                    asked += 1;
                    if asked.is_multiple_of(ASK_EVERY) {
                        self.ask();
                        (self.budget.counts)(&counts(theory, left));
                    }
                    self.follower.hear(events, theory);
                    let _ = self.replies.send(self.follower.clause(theory));
                }
                Ok(Told::Ended(answer, model)) => {
                    self.model = model;
                    return answer;
                }
                Err(RecvTimeoutError::Timeout) => self.ask(),
                Err(RecvTimeoutError::Disconnected) => return Answer::Stopped,
            }
        }
    }

    fn ask(&self) {
        if (self.budget.probe)().is_some() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Cadical<'_> {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It has no result of its own that could get lost.
            let _ = thread.join();
        }
    }
}

/// The clause of a cycle that a solution has, if it has one.
fn missed(model: &[bool], theory: &mut Theory<'_>) -> Option<Vec<i32>> {
    theory.push_level();
    let literals = (1..).zip(model).map(|(number, &value)| match value {
        true => number,
        false => -number,
    });
    let mut found = None;
    for literal in literals {
        if let Err(clause) = theory.choose(literal) {
            found = Some(clause);
            break;
        }
    }
    theory.backtrack(0);
    found
}

/// The assignments of the solver, made in the theory up to a point.
#[derive(Default)]
struct Follower {
    assigned: Vec<i32>,
    /// By level, how many assignments there were when it began.
    starts: Vec<usize>,
    /// How many of the assignments are made in the theory, and how many of the levels.
    made: usize,
    levels: usize,
}

impl Follower {
    fn hear(&mut self, events: Vec<Event>, theory: &mut Theory<'_>) {
        for event in events {
            match event {
                Event::Assigned(literal) => self.assigned.push(literal),
                Event::Level => self.starts.push(self.assigned.len()),
                Event::Backtrack(level) => self.backtrack(level, theory),
            }
        }
    }

    fn backtrack(&mut self, level: usize, theory: &mut Theory<'_>) {
        let Some(&start) = self.starts.get(level) else {
            return;
        };
        self.assigned.truncate(start);
        self.starts.truncate(level);
        self.made = self.made.min(start);
        self.levels = self.levels.min(level);
        theory.backtrack(level);
    }

    /// Makes the assignments that are not made yet, or returns the clause that forbids one.
    fn clause(&mut self, theory: &mut Theory<'_>) -> Option<Vec<i32>> {
        while self.made < self.assigned.len() {
            while self.levels < self.starts.len() && self.starts[self.levels] <= self.made {
                self.levels += 1;
                theory.push_level();
            }
            let literal = self.assigned[self.made];
            if let Err(clause) = theory.choose(literal) {
                // It waits: it may stand on a level that is not taken back.
                theory.unchoose(literal);
                return Some(clause);
            }
            self.made += 1;
        }
        None
    }
}

/// The solver's thread: does what is ordered until nobody can order any more.
fn serve(
    ordered: &Receiver<Order>,
    tell: Sender<Told>,
    replied: Receiver<Option<Vec<i32>>>,
    stop: Arc<AtomicBool>,
) {
    let mut solver = CaDiCal::new();
    for (option, value) in [("quiet", 1), ("chrono", 0), ("ilb", 0)] {
        solver.set(option, value);
    }
    solver.connect_terminator(Stop(Arc::clone(&stop)));
    solver.connect_external_propagator(Messenger {
        tell: tell.clone(),
        replied,
        stop,
        events: Vec::new(),
        clause: None,
    });
    let mut choice_count = 0;
    while let Ok(order) = ordered.recv() {
        match order {
            Order::Choice(literal) => {
                choice_count += 1;
                solver.add_observed_var(literal.abs());
                solver.phase(literal);
            }
            Order::Clause(clause) => {
                clause.into_iter().for_each(|literal| solver.add(literal));
                solver.add(0);
            }
            Order::Solve => {
                let answer = match solver.solve() {
                    Status::SATISFIABLE => Answer::Satisfied,
                    Status::UNSATISFIABLE => Answer::Contradiction,
                    Status::UNKNOWN => Answer::Stopped,
                };
                let mut model = Vec::new();
                if answer == Answer::Satisfied {
                    model.extend((1..=choice_count).map(|number| solver.val(number) > 0));
                }
                if tell.send(Told::Ended(answer, model)).is_err() {
                    return;
                }
            }
        }
    }
}

/// Ends a search from outside.
struct Stop(Arc<AtomicBool>);

impl Terminator for Stop {
    fn terminated(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells the theory's thread what happens, and hands its clauses to the solver.
struct Messenger {
    tell: Sender<Told>,
    replied: Receiver<Option<Vec<i32>>>,
    stop: Arc<AtomicBool>,
    events: Vec<Event>,
    /// The clause that the solver is to take next.
    clause: Option<Vec<i32>>,
}

impl Messenger {
    /// Whether there is a clause for the solver.
    fn has_clause(&mut self) -> bool {
        if self.clause.is_some() {
            return true;
        }
        if self.events.is_empty() {
            return false;
        }
        let events = std::mem::take(&mut self.events);
        let reply = self.tell.send(Told::Happened(events)).ok();
        let reply = reply.and_then(|()| self.replied.recv().ok());
        match reply {
            Some(clause) => self.clause = clause,
            None => self.stop.store(true, Ordering::Relaxed),
        }
        self.clause.is_some()
    }
}

impl ExternalPropagator for Messenger {
    fn notify_assignment(&mut self, literals: &[i32]) {
        let assigned = literals.iter().map(|&literal| Event::Assigned(literal));
        self.events.extend(assigned);
    }

    fn notify_new_decision_level(&mut self) {
        self.events.push(Event::Level);
    }

    fn notify_backtrack(&mut self, level: usize) {
        self.events.push(Event::Backtrack(level));
    }

    fn cb_check_found_model(&mut self, _model: &[i32]) -> bool {
        !self.has_clause()
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = false;
        self.has_clause()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        let literal = self.clause.as_mut().and_then(Vec::pop);
        if literal.is_none() {
            self.clause = None;
        }
        literal.unwrap_or(0)
    }
}
