//! Decides constraints, and finds values for their variables.
//!
//! Definition: given formulas over linear terms of whole numbers; are there values under which all
//! of them hold?
//! Steps: equalities are solved for a variable and put in everywhere (so equal keys become the same
//! term); inequalities narrow the bounds of variables; a disjunction with one side left is that
//! side. When nothing follows any more, one disjunction is split, and undone if that fails. When
//! none is left, values are chosen, the wanted default of a variable first.
//! Cost: exponential in the number of disjunctions that matter, bounded by a number of splits.
//! What it does not decide it calls undecided: too many splits, or inequalities that bounds do not
//! refute and a few values for each variable do not fulfil.

use super::assign::{Numbers, assign, narrow};
use super::constraint::{Constraints, Formula, Linear, Node, Variable};
use rustc_hash::FxHashSet;

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

/// Decides; gives up after that many splits.
pub fn solve(constraints: &Constraints, splits_max: u32) -> Outcome {
    let mut solver = Solver {
        constraints,
        known: vec![None; constraints.variables.len()],
        active: vec![false; constraints.variables.len()],
        decided: vec![None; constraints.nodes().len()],
        apart: FxHashSet::default(),
        trail: Vec::new(),
        numbers: Numbers::default(),
        waiting: Vec::new(),
    };
    let required = constraints.required.iter();
    solver.waiting = required.map(|f| Item::Formula(*f, true)).collect();
    solver.run(splits_max)
}

/// Something that must hold and is not yet used.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// A formula, or its opposite.
    Formula(Formula, bool),
    /// The definition of a variable.
    Definition(Variable),
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Known(Variable),
    Active(Variable),
    Decided(Formula),
}

/// Where a split was made, and what is left to try.
struct Split {
    trail: usize,
    at_most: usize,
    distinct: usize,
    waiting: Vec<Item>,
    options: Vec<(Formula, bool)>,
    next: usize,
}

struct Solver<'a> {
    constraints: &'a Constraints,
    known: Vec<Option<Linear>>,
    active: Vec<bool>,
    /// Whether a formula is known to hold, or not to: stays so until it is undone.
    decided: Vec<Option<bool>>,
    /// The terms that are not 0, with everything known put in.
    apart: FxHashSet<Linear>,
    trail: Vec<Change>,
    numbers: Numbers,
    waiting: Vec<Item>,
}

/// What was asserted cannot be.
struct Conflict;

impl Solver<'_> {
    fn run(&mut self, splits_max: u32) -> Outcome {
        let mut stack: Vec<Split> = Vec::new();
        let (mut splits, mut doubtful) = (0, false);
        let mut held = self.propagate().is_ok();
        loop {
            if held {
                match self.choose() {
                    Some((at, options)) => {
                        let mut waiting = self.waiting.clone();
                        if matches!(waiting[at], Item::Formula(..)) {
                            waiting.remove(at);
                        }
                        stack.push(Split {
                            trail: self.trail.len(),
                            at_most: self.numbers.at_most.len(),
                            distinct: self.numbers.distinct.len(),
                            waiting,
                            options,
                            next: 0,
                        });
                    }
                    None => match self.values() {
                        Some(values) => return Outcome::Satisfied(values),
                        None => doubtful = true,
                    },
                }
            }
            let Some((split, option)) = next_option(&mut stack) else {
                return match doubtful {
                    true => Outcome::Undecided,
                    false => Outcome::Unsatisfied,
                };
            };
            splits += 1;
            if splits > splits_max {
                return Outcome::Undecided;
            }
            self.waiting = split.waiting.clone();
            let tried = split.options[..option].iter();
            let refused: Vec<Item> = tried.map(|(f, sign)| Item::Formula(*f, !sign)).collect();
            let (formula, sign) = split.options[option];
            let (trail, at_most, distinct) = (split.trail, split.at_most, split.distinct);
            self.undo(trail, at_most, distinct);
            self.waiting.splice(0..0, refused);
            self.waiting.insert(0, Item::Formula(formula, sign));
            held = self.propagate().is_ok();
        }
    }

    fn undo(&mut self, trail: usize, at_most: usize, distinct: usize) {
        for change in self.trail.drain(trail..) {
            match change {
                Change::Known(variable) => self.known[variable.0 as usize] = None,
                Change::Active(variable) => self.active[variable.0 as usize] = false,
                Change::Decided(formula) => self.decided[formula.number() as usize] = None,
            }
        }
        self.numbers.at_most.truncate(at_most);
        self.numbers.distinct.truncate(distinct);
        self.put_apart();
    }

    /// Puts everything known into the terms that are not 0; whether one of them is.
    fn put_apart(&mut self) -> bool {
        let mut apart = std::mem::take(&mut self.apart);
        apart.clear();
        let mut fails = false;
        for term in &self.numbers.distinct {
            let term = self.normal(term);
            match term.known() {
                Some(value) => fails |= value == 0,
                None => drop(apart.insert(positive(term))),
            }
        }
        self.apart = apart;
        fails
    }

    /// The term with everything known put in.
    fn normal(&self, term: &Linear) -> Linear {
        let mut term = term.clone();
        loop {
            let found = term.terms.iter().find_map(|(variable, factor)| {
                let value = self.known[variable.0 as usize].as_ref()?;
                Some((*variable, *factor, value))
            });
            let Some((variable, factor, value)) = found else {
                return term;
            };
            let without = term.plus(&Linear::variable(variable), -factor);
            term = without.plus(value, factor);
        }
    }

    /// Whether a formula is known to hold, or not to.
    fn holds(&mut self, formula: Formula) -> Option<bool> {
        let at = formula.number() as usize;
        if self.decided[at].is_some() {
            return self.decided[at];
        }
        let constraints = self.constraints;
        let holds = match constraints.node(formula) {
            Node::True => Some(true),
            Node::False => Some(false),
            Node::Not(inner) => self.holds(*inner).map(|holds| !holds),
            Node::Zero(term) => {
                let term = self.normal(term);
                match term.known() {
                    Some(value) => Some(value == 0),
                    None => self.differs(term).then_some(false),
                }
            }
            Node::AtMostZero(term) => {
                let term = self.normal(term);
                match term.known() {
                    Some(value) => Some(value <= 0),
                    None => self.numbers.is_at_most(&term),
                }
            }
            Node::And(all) => self.all_hold(all, true),
            Node::Or(all) => self.all_hold(all, false).map(|none| !none),
        };
        if holds.is_some() {
            self.decided[at] = holds;
            self.trail.push(Change::Decided(formula));
        }
        holds
    }

    /// Whether the term is known not to be 0: it was said, or it is less, or it is more.
    fn differs(&self, term: Linear) -> bool {
        if self.numbers.is_at_most(&term) == Some(false) {
            return true;
        }
        let less = self.numbers.is_at_most(&term.plus(&Linear::constant(1), 1));
        less == Some(true) || self.apart.contains(&positive(term))
    }

    /// Whether each of them is as wanted.
    fn all_hold(&mut self, all: &[Formula], wanted: bool) -> Option<bool> {
        let mut open = false;
        for formula in all {
            match self.holds(*formula) {
                Some(holds) if holds != wanted => return Some(false),
                Some(_) => {}
                None => open = true,
            }
        }
        (!open).then_some(true)
    }

    fn propagate(&mut self) -> Result<(), Conflict> {
        loop {
            let mut kept = Vec::new();
            let mut next = 0;
            let mut moved = false;
            while next < self.waiting.len() {
                let item = self.waiting[next];
                next += 1;
                let keep = match item {
                    Item::Formula(formula, sign) => self.use_formula(formula, sign, &mut kept)?,
                    Item::Definition(variable) => self.use_definition(variable)?,
                };
                match keep {
                    true => kept.push(item),
                    false => moved = true,
                }
            }
            self.waiting = kept;
            self.check_numbers()?;
            if !moved {
                return Ok(());
            }
        }
    }

    /// Uses a formula as far as it goes; whether it must be kept.
    fn use_formula(
        &mut self,
        formula: Formula,
        sign: bool,
        kept: &mut Vec<Item>,
    ) -> Result<bool, Conflict> {
        let constraints = self.constraints;
        let (all, conjunction) = match constraints.node(formula) {
            Node::True => return self.fail_if(!sign),
            Node::False => return self.fail_if(sign),
            Node::Not(inner) => return self.use_formula(*inner, !sign, kept),
            Node::Zero(term) => return self.use_zero(term, sign),
            Node::AtMostZero(term) => return self.use_at_most(term, sign),
            Node::And(all) => (all, sign),
            Node::Or(all) => (all, !sign),
        };
        if conjunction {
            for inner in all {
                if self.use_formula(*inner, sign, kept)? {
                    kept.push(Item::Formula(*inner, sign));
                }
            }
            return Ok(false);
        }
        let mut open = None;
        for inner in all {
            match self.holds(*inner) {
                Some(holds) if holds == sign => return Ok(false),
                Some(_) => {}
                None if open.is_some() => return Ok(true),
                None => open = Some(*inner),
            }
        }
        match open {
            None => Err(Conflict),
            Some(inner) => {
                if self.use_formula(inner, sign, kept)? {
                    kept.push(Item::Formula(inner, sign));
                }
                Ok(false)
            }
        }
    }

    fn fail_if(&self, fails: bool) -> Result<bool, Conflict> {
        match fails {
            true => Err(Conflict),
            false => Ok(false),
        }
    }

    fn use_zero(&mut self, term: &Linear, sign: bool) -> Result<bool, Conflict> {
        let term = self.normal(term);
        self.activate(&term);
        if let Some(value) = term.known() {
            return self.fail_if((value == 0) != sign);
        }
        if !sign {
            if let [(variable, factor)] = term.terms.as_slice()
                && self.is_truth(*variable)
                && factor.abs() == 1
            {
                // Not this one, so the other.
                let refused = -term.constant * factor;
                return match refused {
                    0 | 1 => self.learn(*variable, Linear::constant(1 - refused)),
                    _ => Ok(false),
                };
            }
            self.apart.insert(positive(term.clone()));
            self.numbers.distinct.push(term);
            return Ok(false);
        }
        let units = term.terms.iter().filter(|(_, factor)| factor.abs() == 1);
        // Those defined by cases first: the rest is then about what is chosen freely.
        let wanted = units.max_by_key(|(variable, _)| {
            let meaning = &self.constraints.variables[variable.0 as usize];
            (meaning.definition.is_some(), !meaning.truth, *variable)
        });
        match wanted {
            Some((variable, factor)) => {
                let without = term.plus(&Linear::variable(*variable), -factor);
                self.learn(*variable, without.times(-factor))
            }
            None => match term.terms.as_slice() {
                [(variable, factor)] => {
                    let exact = term.constant % factor == 0;
                    let value = Linear::constant(-term.constant / factor);
                    self.fail_if(!exact)?;
                    self.learn(*variable, value)
                }
                _ => {
                    self.numbers.at_most.push(term.times(-1));
                    self.numbers.at_most.push(term);
                    Ok(false)
                }
            },
        }
    }

    fn use_at_most(&mut self, term: &Linear, sign: bool) -> Result<bool, Conflict> {
        let term = match sign {
            true => self.normal(term),
            false => Linear::constant(1).minus(&self.normal(term)),
        };
        self.activate(&term);
        match term.known() {
            Some(value) => self.fail_if(value > 0),
            None => {
                self.numbers.at_most.push(term);
                Ok(false)
            }
        }
    }

    fn is_truth(&self, variable: Variable) -> bool {
        self.constraints.variables[variable.0 as usize].truth
    }

    /// A variable is that.
    fn learn(&mut self, variable: Variable, value: Linear) -> Result<bool, Conflict> {
        if self.is_truth(variable) {
            match value.known() {
                Some(known) => {
                    self.fail_if(known != 0 && known != 1)?;
                }
                None => {
                    self.numbers.at_most.push(value.times(-1));
                    self.numbers.at_most.push(value.minus(&Linear::constant(1)));
                }
            }
        }
        self.known[variable.0 as usize] = Some(value);
        self.trail.push(Change::Known(variable));
        Ok(false)
    }

    /// From now on the definitions of these variables matter.
    fn activate(&mut self, term: &Linear) {
        for (variable, _) in &term.terms {
            let at = variable.0 as usize;
            if self.constraints.variables[at].definition.is_some() && !self.active[at] {
                self.active[at] = true;
                self.trail.push(Change::Active(*variable));
                self.waiting.push(Item::Definition(*variable));
            }
        }
    }

    /// Uses a definition as far as it goes; whether it must be kept.
    fn use_definition(&mut self, variable: Variable) -> Result<bool, Conflict> {
        let constraints = self.constraints;
        let Some(definition) = &constraints.variables[variable.0 as usize].definition else {
            return Ok(false);
        };
        let mut value = &definition.otherwise;
        for (condition, case) in &definition.cases {
            match self.holds(*condition) {
                Some(true) => {
                    value = case;
                    break;
                }
                Some(false) => {}
                None => return Ok(true),
            }
        }
        let term = Linear::variable(variable).minus(value);
        // Both sides may be defined: activate what the value is made of.
        self.activate(value);
        self.use_zero(&term, true)
    }

    fn check_numbers(&mut self) -> Result<(), Conflict> {
        if self.put_apart() {
            return Err(Conflict);
        }
        if self.numbers.at_most.is_empty() {
            return Ok(());
        }
        let normal = |term: &Linear| self.normal(term);
        let at_most: Vec<Linear> = self.numbers.at_most.iter().map(normal).collect();
        match narrow(&at_most, self.constraints) {
            Some(_) => Ok(()),
            None => Err(Conflict),
        }
    }

    /// What to split, and how.
    fn choose(&mut self) -> Option<(usize, Vec<(Formula, bool)>)> {
        let constraints = self.constraints;
        let defined = |item: &Item| matches!(item, Item::Definition(_));
        let at = self.waiting.iter().rposition(defined).unwrap_or(0);
        let options = match *self.waiting.get(at)? {
            Item::Definition(variable) => {
                let definition = &constraints.variables[variable.0 as usize].definition;
                let mut cases = definition.iter().flat_map(|all| &all.cases);
                let (open, _) = cases.find(|(condition, _)| self.holds(*condition).is_none())?;
                let atom = self.open_atom(*open);
                vec![(atom, true), (atom, false)]
            }
            Item::Formula(formula, sign) => {
                let (Node::And(all) | Node::Or(all)) = constraints.node(formula) else {
                    return None;
                };
                let mut open = Vec::new();
                for inner in all {
                    if self.holds(*inner).is_none() {
                        open.push((*inner, sign));
                    }
                }
                open
            }
        };
        Some((at, options))
    }

    /// An undecided comparison inside an undecided formula.
    fn open_atom(&mut self, formula: Formula) -> Formula {
        let constraints = self.constraints;
        let mut formula = formula;
        loop {
            let inner = match constraints.node(formula) {
                Node::Not(inner) => Some(*inner),
                Node::And(all) | Node::Or(all) => {
                    all.iter().copied().find(|one| self.holds(*one).is_none())
                }
                _ => None,
            };
            match inner {
                Some(inner) => formula = inner,
                None => return formula,
            }
        }
    }

    /// Values for all variables under which everything required holds.
    fn values(&self) -> Option<Vec<i64>> {
        let normal = |term: &Linear| self.normal(term);
        let numbers = Numbers {
            at_most: self.numbers.at_most.iter().map(normal).collect(),
            distinct: self.numbers.distinct.iter().map(normal).collect(),
        };
        let free = |at: usize| self.known[at].is_none();
        let mut values = assign(&numbers, self.constraints, free)?;
        for at in 0..values.len() {
            if self.known[at].is_some() {
                let term = self.normal(&Linear::variable(Variable(at as u32)));
                values[at] = term.value(|variable| values[variable.0 as usize]);
            }
        }
        for at in 0..values.len() {
            if let (Some(definition), false) =
                (&self.constraints.variables[at].definition, self.active[at])
            {
                let mut cases = definition.cases.iter();
                let case = cases.find(|(condition, _)| self.constraints.is(*condition, &values));
                let value = case.map_or(&definition.otherwise, |(_, value)| value);
                values[at] = value.value(|variable| values[variable.0 as usize]);
            }
        }
        let mut required = self.constraints.required.iter();
        let all = required.all(|formula| self.constraints.is(*formula, &values));
        all.then_some(values)
    }
}

/// The term or its opposite, whichever begins with a positive factor.
fn positive(term: Linear) -> Linear {
    match term.terms.first() {
        Some((_, factor)) if *factor < 0 => term.times(-1),
        _ => term,
    }
}

/// The next thing to try: of the latest split that has one.
fn next_option(stack: &mut Vec<Split>) -> Option<(&Split, usize)> {
    while let Some(split) = stack.last_mut() {
        if split.next < split.options.len() {
            split.next += 1;
            break;
        }
        stack.pop();
    }
    let split = stack.last()?;
    Some((split, split.next - 1))
}
