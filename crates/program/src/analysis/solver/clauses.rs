//! Clauses, what follows from them, and what is learned where they contradict each other.
//!
//! Definition: a literal is a proposition or its opposite; a clause says that one of its literals
//! holds.
//! Steps (Marques-Silva and Sakallah 1996, Moskewicz et al. 2001): each clause watches two of its
//! literals; where one fails and no other can be watched, the second must hold. A contradiction is
//! traced to the last decision it follows from in one way only; the clause that forbids it is
//! kept, and everything is undone up to where that clause says something new. Propositions that
//! took part in contradictions lately are decided first.
//! Cost: exponential at worst; here a few hundred contradictions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A proposition or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Literal(u32);

impl Literal {
    /// What always holds.
    pub const TRUE: Literal = Literal(0);
    /// What never holds.
    pub const FALSE: Literal = Literal(1);

    /// A proposition, or its opposite.
    pub fn new(proposition: usize, positive: bool) -> Literal {
        Literal((proposition as u32) << 1 | u32::from(!positive))
    }

    pub fn proposition(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    pub fn not(self) -> Literal {
        Literal(self.0 ^ 1)
    }

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// Why a literal holds.
#[derive(Clone, Debug)]
enum Reason {
    Decided,
    /// The only literal left of a clause.
    Clause(usize),
    /// It follows from these.
    From(Vec<Literal>),
}

/// Clauses and what holds at the moment.
pub(super) struct Clauses {
    /// The literals of all clauses, one after the other.
    literals: Vec<Literal>,
    /// Where each clause starts in them, and where it ends.
    spans: Vec<(u32, u32)>,
    /// The clause that is being added.
    adding: Vec<Literal>,
    watching: Vec<Vec<(usize, Literal)>>,
    value: Vec<Option<bool>>,
    level: Vec<u32>,
    reason: Vec<Reason>,
    trail: Vec<Literal>,
    decisions: Vec<usize>,
    next: usize,
    /// How much of the trail has been told to others; undone with it.
    pub told: usize,
    weight: Vec<f64>,
    step: f64,
    order: BinaryHeap<(u64, Reverse<usize>)>,
    /// Whether a proposition is in the order with its weight.
    queued: Vec<bool>,
    seen: Vec<bool>,
    /// Whether the clauses contradict each other without any decision.
    pub contradictory: bool,
}

impl Clauses {
    /// No clauses; proposition 0 holds.
    pub fn new() -> Clauses {
        let mut clauses = Clauses {
            literals: Vec::new(),
            spans: Vec::new(),
            adding: Vec::new(),
            watching: Vec::new(),
            value: Vec::new(),
            level: Vec::new(),
            reason: Vec::new(),
            trail: Vec::new(),
            decisions: Vec::new(),
            next: 0,
            told: 0,
            weight: Vec::new(),
            step: 1.0,
            order: BinaryHeap::new(),
            queued: Vec::new(),
            seen: Vec::new(),
            contradictory: false,
        };
        let truth = clauses.proposition();
        clauses.hold(Literal::new(truth, true), Reason::Decided);
        clauses
    }

    /// A new proposition.
    pub fn proposition(&mut self) -> usize {
        let number = self.value.len();
        self.watching.extend([Vec::new(), Vec::new()]);
        self.value.push(None);
        self.level.push(0);
        self.reason.push(Reason::Decided);
        self.weight.push(0.0);
        self.seen.push(false);
        self.queued.push(true);
        self.order.push((0, Reverse(number)));
        number
    }

    /// Whether a literal holds, or its opposite.
    pub fn value(&self, literal: Literal) -> Option<bool> {
        let value = self.value[literal.proposition()]?;
        Some(value == literal.is_positive())
    }

    /// What holds, in the order in which it came.
    pub fn trail(&self) -> &[Literal] {
        &self.trail
    }

    /// The number of decisions that stand.
    pub fn depth(&self) -> usize {
        self.decisions.len()
    }

    fn hold(&mut self, literal: Literal, reason: Reason) {
        let at = literal.proposition();
        self.value[at] = Some(literal.is_positive());
        self.level[at] = self.decisions.len() as u32;
        self.reason[at] = reason;
        self.trail.push(literal);
    }

    /// Adds a clause. What stands is undone as far as the clause says something new about it.
    pub fn add(&mut self, literals: &[Literal]) {
        let mut kept = std::mem::take(&mut self.adding);
        kept.clear();
        self.add_to(literals, &mut kept);
        self.adding = kept;
    }

    fn add_to(&mut self, literals: &[Literal], kept: &mut Vec<Literal>) {
        for literal in literals {
            let settled = self.level[literal.proposition()] == 0;
            match self.value(*literal).filter(|_| settled) {
                Some(true) => return,
                Some(false) => {}
                None if kept.contains(&literal.not()) => return,
                None if kept.contains(literal) => {}
                None => kept.push(*literal),
            }
        }
        // Watched are two that do not fail, or else those that failed last.
        let failed = |literal: &Literal| match self.value(*literal) {
            Some(false) => self.level[literal.proposition()],
            _ => u32::MAX,
        };
        kept.sort_by_key(|literal| Reverse(failed(literal)));
        match kept.as_slice() {
            [] => self.contradictory = true,
            [one] => {
                let one = *one;
                self.back_to(0);
                self.hold(one, Reason::Decided);
            }
            [first, second, ..] => {
                let (first, second) = (*first, *second);
                let (top, below) = (failed(&first), failed(&second));
                if below != u32::MAX {
                    // All but one fail, or all do: back to where the first does not.
                    let to = if top == below { below - 1 } else { below };
                    self.back_to(to as usize);
                }
                let number = self.watch(kept.as_slice());
                if self.value(first).is_none() && self.value(second) == Some(false) {
                    self.hold(first, Reason::Clause(number));
                }
            }
        }
    }

    fn watch(&mut self, clause: &[Literal]) -> usize {
        let number = self.spans.len();
        self.watching[clause[0].at()].push((number, clause[1]));
        self.watching[clause[1].at()].push((number, clause[0]));
        let start = self.literals.len() as u32;
        self.literals.extend_from_slice(clause);
        self.spans.push((start, self.literals.len() as u32));
        number
    }

    /// The literals of a clause.
    fn clause(&self, number: usize) -> &[Literal] {
        let (start, end) = self.spans[number];
        &self.literals[start as usize..end as usize]
    }

    /// A literal follows from others, which hold. Where its opposite holds, what contradicts.
    pub fn follow(&mut self, literal: Literal, from: Vec<Literal>) -> Result<(), Vec<Literal>> {
        match self.value(literal) {
            Some(true) => Ok(()),
            Some(false) => {
                let mut all = from;
                all.push(literal.not());
                Err(all)
            }
            None => {
                self.hold(literal, Reason::From(from));
                Ok(())
            }
        }
    }

    /// Decides a literal.
    pub fn decide(&mut self, literal: Literal) {
        self.decisions.push(self.trail.len());
        self.hold(literal, Reason::Decided);
    }

    /// What follows from the clauses. Where they contradict what holds, the literals that do.
    pub fn propagate(&mut self) -> Result<(), Vec<Literal>> {
        while self.next < self.trail.len() {
            let failed = self.trail[self.next].not();
            self.next += 1;
            let mut watching = std::mem::take(&mut self.watching[failed.at()]);
            let mut conflict = None;
            // Nobody else is put on this list meanwhile: its literal fails.
            watching.retain_mut(|(number, other)| {
                if conflict.is_some() || self.value(*other) == Some(true) {
                    return true;
                }
                match self.look(*number, failed) {
                    Looked::Moved => return false,
                    Looked::Holds(first) => *other = first,
                    Looked::Fails => conflict = Some(*number),
                }
                true
            });
            self.watching[failed.at()] = watching;
            if let Some(number) = conflict {
                let clause = self.clause(number).iter();
                return Err(clause.map(|literal| literal.not()).collect());
            }
        }
        Ok(())
    }

    /// A watched literal of a clause failed.
    fn look(&mut self, number: usize, failed: Literal) -> Looked {
        let (start, end) = self.spans[number];
        let (start, end) = (start as usize, end as usize);
        if self.literals[start] == failed {
            self.literals.swap(start, start + 1);
        }
        let first = self.literals[start];
        if self.value(first) == Some(true) {
            return Looked::Holds(first);
        }
        let able = |at: &usize| self.value(self.literals[*at]) != Some(false);
        match (start + 2..end).find(able) {
            Some(at) => {
                self.literals.swap(start + 1, at);
                let watched = self.literals[start + 1];
                self.watching[watched.at()].push((number, first));
                Looked::Moved
            }
            None if self.value(first) == Some(false) => Looked::Fails,
            None => {
                self.hold(first, Reason::Clause(number));
                Looked::Holds(first)
            }
        }
    }

    /// Undoes decisions until that many stand.
    pub fn back_to(&mut self, depth: usize) {
        if depth >= self.decisions.len() {
            return;
        }
        let from = self.decisions[depth];
        self.decisions.truncate(depth);
        for literal in self.trail.drain(from..) {
            let at = literal.proposition();
            self.value[at] = None;
            if !std::mem::replace(&mut self.queued[at], true) {
                self.order.push((self.weight[at].to_bits(), Reverse(at)));
            }
        }
        self.next = self.next.min(from);
        self.told = self.told.min(from);
    }

    /// These hold and cannot: learns why, and undoes. Whether anything is left to undo.
    pub fn learn(&mut self, together: &[Literal]) -> bool {
        let level = |this: &Clauses, literal: &Literal| this.level[literal.proposition()];
        let top = together.iter().map(|one| level(self, one)).max();
        let top = top.unwrap_or(0);
        if top == 0 {
            self.contradictory = true;
            return false;
        }
        self.back_to(top as usize);
        let clause = self.first_in_one_way(together, top);
        self.step *= 1.05;
        self.add(&clause);
        !self.contradictory
    }

    /// The clause that forbids the contradiction, with one literal of the last decision's level.
    fn first_in_one_way(&mut self, together: &[Literal], top: u32) -> Vec<Literal> {
        let mut clause: Vec<Literal> = Vec::new();
        let mut marked: Vec<usize> = Vec::new();
        let mut open = 0;
        let mut from: Vec<Literal> = together.to_vec();
        let mut at = self.trail.len();
        loop {
            for literal in from.drain(..) {
                let proposition = literal.proposition();
                let level = self.level[proposition];
                if level == 0 || self.seen[proposition] {
                    continue;
                }
                self.seen[proposition] = true;
                marked.push(proposition);
                self.bump(proposition);
                match level == top {
                    true => open += 1,
                    false => clause.push(literal.not()),
                }
            }
            while at > 0 && !self.seen[self.trail[at - 1].proposition()] {
                at -= 1;
            }
            if at == 0 {
                break;
            }
            at -= 1;
            let literal = self.trail[at];
            if open <= 1 {
                clause.push(literal.not());
                break;
            }
            open -= 1;
            from = self.causes(literal);
        }
        // A literal whose causes are all in the clause adds nothing to it.
        let implied = |literal: &Literal| match &self.reason[literal.proposition()] {
            Reason::Decided => false,
            _ => self.causes(literal.not()).iter().all(|cause| {
                let at = cause.proposition();
                self.seen[at] || self.level[at] == 0
            }),
        };
        let last = clause.pop();
        let mut kept: Vec<Literal> = Vec::new();
        kept.extend(clause.iter().filter(|literal| !implied(literal)));
        kept.extend(last);
        for proposition in marked {
            self.seen[proposition] = false;
        }
        kept
    }

    fn causes(&self, literal: Literal) -> Vec<Literal> {
        match &self.reason[literal.proposition()] {
            Reason::Decided => Vec::new(),
            Reason::Clause(number) => {
                let others = self.clause(*number).iter().filter(|one| **one != literal);
                others.map(|one| one.not()).collect()
            }
            Reason::From(from) => from.clone(),
        }
    }

    fn bump(&mut self, proposition: usize) {
        self.weight[proposition] += self.step;
        let weight = self.weight[proposition].to_bits();
        self.queued[proposition] = true;
        self.order.push((weight, Reverse(proposition)));
    }

    /// The proposition to decide next: of those open, the one that mattered most lately.
    pub fn next_open(&mut self) -> Option<usize> {
        while let Some((weight, Reverse(proposition))) = self.order.pop() {
            if self.weight[proposition].to_bits() != weight {
                continue;
            }
            self.queued[proposition] = false;
            if self.value[proposition].is_none() {
                return Some(proposition);
            }
        }
        None
    }
}

enum Looked {
    /// Another literal is watched now.
    Moved,
    /// This literal holds.
    Holds(Literal),
    Fails,
}
