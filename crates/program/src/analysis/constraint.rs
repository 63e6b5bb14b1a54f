//! Constraints over whole numbers: what must hold for a scenario to happen.
//!
//! A variable is a number; a truth value is 0 or 1, and a text is the number of its place among
//! the texts. Terms are linear. A variable may have a definition by cases, which matters only
//! where the variable does: a value that is written and never looked at is not decided.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A variable of [`Constraints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(pub u32);

/// The greatest constant that is kept; beyond it arithmetic is not followed.
pub const CONSTANT_MAX: i64 = 1 << 40;

/// A sum of variables with factors, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// The constant.
    pub constant: i64,
    /// Variables in ascending order with their factors, none of which is 0.
    pub terms: Vec<(Variable, i64)>,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: i64) -> Linear {
        Linear {
            constant,
            terms: Vec::new(),
        }
    }

    /// A variable.
    pub fn variable(variable: Variable) -> Linear {
        Linear {
            constant: 0,
            terms: vec![(variable, 1)],
        }
    }

    /// Its value where it is a constant.
    pub fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The variable, where it is nothing but that.
    pub fn single(&self) -> Option<Variable> {
        match (self.constant, self.terms.as_slice()) {
            (0, [(variable, 1)]) => Some(*variable),
            _ => None,
        }
    }

    /// `self + factor * other`.
    pub fn plus(&self, other: &Linear, factor: i64) -> Linear {
        let scaled = other.constant.saturating_mul(factor);
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => a.next().copied(),
                (None, Some(_)) => b.next().map(|(v, f)| (*v, f.saturating_mul(factor))),
                (Some((left, _)), Some((right, _))) => match left.cmp(right) {
                    std::cmp::Ordering::Less => a.next().copied(),
                    std::cmp::Ordering::Greater => {
                        b.next().map(|(v, f)| (*v, f.saturating_mul(factor)))
                    }
                    std::cmp::Ordering::Equal => a
                        .next()
                        .zip(b.next())
                        .map(|(x, y)| (x.0, x.1.saturating_add(y.1.saturating_mul(factor)))),
                },
            };
            terms.extend(next.filter(|(_, factor)| *factor != 0));
        }
        Linear {
            constant: self.constant.saturating_add(scaled),
            terms,
        }
    }

    /// `self - other`.
    pub fn minus(&self, other: &Linear) -> Linear {
        self.plus(other, -1)
    }

    /// `factor * self`.
    pub fn times(&self, factor: i64) -> Linear {
        Linear::constant(0).plus(self, factor)
    }

    /// The factor of a variable.
    pub fn factor(&self, variable: Variable) -> i64 {
        let at = self.terms.binary_search_by_key(&variable, |(v, _)| *v);
        at.map_or(0, |at| self.terms[at].1)
    }

    /// Whether all numbers in it are small enough to be trusted.
    pub fn is_small(&self) -> bool {
        let small = |number: i64| number.checked_abs().is_some_and(|n| n <= CONSTANT_MAX);
        small(self.constant) && self.terms.iter().all(|(_, factor)| small(*factor))
    }

    /// Its value, given those of the variables.
    pub fn value(&self, of: impl Fn(Variable) -> i64) -> i64 {
        let sum = |sum: i64, (variable, factor): &(Variable, i64)| {
            sum.saturating_add(of(*variable).saturating_mul(*factor))
        };
        self.terms.iter().fold(self.constant, sum)
    }
}

/// A formula of [`Constraints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Formula(u32);

impl Formula {
    /// Its number; what it is made of has smaller ones.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// What a formula says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Always.
    True,
    /// Never.
    False,
    /// The term is 0.
    Zero(Linear),
    /// The term is at most 0.
    AtMostZero(Linear),
    /// All of them; at least two.
    And(Vec<Formula>),
    /// One of them; at least two. The solver tries them in this order.
    Or(Vec<Formula>),
    /// Not that.
    Not(Formula),
}

/// What a variable stands for, so that a number can become a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// For reading.
    pub name: String,
    /// Whether it is 0 or 1.
    pub truth: bool,
    /// What to take where nothing else is asked for.
    pub default: i64,
    /// The value by cases: that of the first case that holds, else the last term.
    pub definition: Option<Definition>,
}

/// A value by cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The cases, the first that holds counts.
    pub cases: Vec<(Formula, Linear)>,
    /// Where none holds.
    pub otherwise: Linear,
}

/// Variables and formulas, and which of them must hold.
#[derive(Clone, Debug)]
pub struct Constraints {
    /// The variables.
    pub variables: Vec<Meaning>,
    /// What must hold, the most telling first.
    pub required: Vec<Formula>,
    nodes: Vec<Node>,
    /// By hash: the youngest formula, and for each formula an older one of the same hash.
    known: FxHashMap<u64, Formula>,
    older: Vec<Option<Formula>>,
}

impl Default for Constraints {
    fn default() -> Constraints {
        let mut empty = Constraints {
            variables: Vec::new(),
            required: Vec::new(),
            nodes: Vec::new(),
            known: FxHashMap::default(),
            older: Vec::new(),
        };
        empty.add(Node::False);
        empty.add(Node::True);
        empty
    }
}

impl Constraints {
    /// Never.
    pub const FALSE: Formula = Formula(0);
    /// Always.
    pub const TRUE: Formula = Formula(1);

    /// What a formula says.
    pub fn node(&self, formula: Formula) -> &Node {
        &self.nodes[formula.0 as usize]
    }

    /// What the formula of a number says.
    pub(super) fn node_at(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    /// Whether a formula holds for these values.
    pub fn is(&self, formula: Formula, values: &[i64]) -> bool {
        let of = |variable: Variable| values[variable.0 as usize];
        match self.node(formula) {
            Node::True => true,
            Node::False => false,
            Node::Zero(term) => term.value(of) == 0,
            Node::AtMostZero(term) => term.value(of) <= 0,
            Node::And(all) => all.iter().all(|inner| self.is(*inner, values)),
            Node::Or(all) => all.iter().any(|inner| self.is(*inner, values)),
            Node::Not(inner) => !self.is(*inner, values),
        }
    }

    /// All formulas, those inside others first.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (Formula, &Node)> {
        let numbered = self.nodes.iter().enumerate();
        numbered.map(|(number, node)| (Formula(number as u32), node))
    }

    fn add(&mut self, node: Node) -> Formula {
        let hash = FxBuildHasher.hash_one(&node);
        if let Some(known) = self.known_as(hash, &node) {
            return known;
        }
        let formula = Formula(self.nodes.len() as u32);
        self.nodes.push(node);
        self.older.push(self.known.insert(hash, formula));
        formula
    }

    /// The formula that says this, if there is one already.
    fn known_as(&self, hash: u64, node: &Node) -> Option<Formula> {
        let mut next = self.known.get(&hash).copied();
        while let Some(formula) = next {
            if self.node(formula) == node {
                return next;
            }
            next = self.older[formula.0 as usize];
        }
        None
    }

    /// A new number.
    pub fn number(&mut self, name: String, default: i64) -> Variable {
        self.variable(name, false, default, None)
    }

    /// A new truth value.
    pub fn truth(&mut self, name: String, default: bool) -> Formula {
        let variable = self.variable(name, true, i64::from(default), None);
        self.is_true(variable)
    }

    fn variable(
        &mut self,
        name: String,
        truth: bool,
        default: i64,
        definition: Option<Definition>,
    ) -> Variable {
        let variable = Variable(self.variables.len() as u32);
        self.variables.push(Meaning {
            name,
            truth,
            default,
            definition,
        });
        variable
    }

    /// That a variable is 1.
    pub fn is_true(&mut self, variable: Variable) -> Formula {
        self.zero(Linear::variable(variable).plus(&Linear::constant(1), -1))
    }

    /// The value of the first case that holds.
    pub fn cases(&mut self, cases: Vec<(Formula, Linear)>, otherwise: Linear) -> Linear {
        let mut kept: Vec<(Formula, Linear)> = Vec::new();
        let mut last = otherwise;
        for (condition, value) in cases {
            match condition {
                Constraints::FALSE => {}
                Constraints::TRUE => {
                    last = value;
                    break;
                }
                _ => kept.push((condition, value)),
            }
        }
        while kept.last().is_some_and(|(_, value)| *value == last) {
            kept.pop();
        }
        if kept.is_empty() {
            return last;
        }
        let name = format!("d{}", self.variables.len());
        let definition = Definition {
            cases: kept,
            otherwise: last,
        };
        Linear::variable(self.variable(name, false, 0, Some(definition)))
    }

    /// That the term is 0.
    pub fn zero(&mut self, term: Linear) -> Formula {
        match term.known() {
            Some(0) => Constraints::TRUE,
            Some(_) => Constraints::FALSE,
            // One of two opposite terms stands for both.
            None => match term.terms[0].1 < 0 {
                true => self.add(Node::Zero(term.times(-1))),
                false => self.add(Node::Zero(term)),
            },
        }
    }

    /// That the term is at most 0.
    pub fn at_most_zero(&mut self, term: Linear) -> Formula {
        match term.known() {
            Some(value) if value <= 0 => Constraints::TRUE,
            Some(_) => Constraints::FALSE,
            None => self.add(Node::AtMostZero(term)),
        }
    }

    /// `left = right`.
    pub fn equal(&mut self, left: &Linear, right: &Linear) -> Formula {
        self.zero(left.minus(right))
    }

    /// `left <= right`.
    pub fn at_most(&mut self, left: &Linear, right: &Linear) -> Formula {
        self.at_most_zero(left.minus(right))
    }

    /// `left < right`.
    pub fn less(&mut self, left: &Linear, right: &Linear) -> Formula {
        let mut term = left.minus(right);
        term.constant = term.constant.saturating_add(1);
        self.at_most_zero(term)
    }

    /// Not that.
    pub fn not(&mut self, formula: Formula) -> Formula {
        match self.node(formula).clone() {
            Node::True => Constraints::FALSE,
            Node::False => Constraints::TRUE,
            Node::Not(inner) => inner,
            // not (t <= 0) is 1 - t <= 0.
            Node::AtMostZero(term) => self.at_most_zero(Linear::constant(1).minus(&term)),
            _ => self.add(Node::Not(formula)),
        }
    }

    /// The formula that says the opposite, if there is one already.
    fn opposite(&self, formula: Formula) -> Option<Formula> {
        match self.node(formula) {
            Node::Not(inner) => Some(*inner),
            _ => {
                let not = Node::Not(formula);
                self.known_as(FxBuildHasher.hash_one(&not), &not)
            }
        }
    }

    /// All of them.
    pub fn and(&mut self, all: impl IntoIterator<Item = Formula>) -> Formula {
        self.connected(all, true)
    }

    /// One of them.
    pub fn or(&mut self, all: impl IntoIterator<Item = Formula>) -> Formula {
        self.connected(all, false)
    }

    /// All of them, or else one of them.
    fn connected(&mut self, all: impl IntoIterator<Item = Formula>, is_and: bool) -> Formula {
        // What changes nothing, and what decides alone.
        let (neutral, decisive) = match is_and {
            true => (Constraints::TRUE, Constraints::FALSE),
            false => (Constraints::FALSE, Constraints::TRUE),
        };
        let mut kept: Vec<Formula> = Vec::new();
        for formula in all {
            match self.node(formula) {
                _ if formula == neutral => {}
                _ if formula == decisive => return decisive,
                Node::And(inner) if is_and => kept.extend(inner),
                Node::Or(inner) if !is_and => kept.extend(inner),
                _ => kept.push(formula),
            }
        }
        let mut seen: Vec<Formula> = Vec::new();
        for formula in kept {
            if self
                .opposite(formula)
                .is_some_and(|not| seen.contains(&not))
            {
                return decisive;
            }
            if !seen.contains(&formula) {
                seen.push(formula);
            }
        }
        match seen.as_slice() {
            [] => neutral,
            [one] => *one,
            _ if is_and => self.add(Node::And(seen)),
            _ => self.add(Node::Or(seen)),
        }
    }

    /// One of the two, not both.
    pub fn differ(&mut self, left: Formula, right: Formula) -> Formula {
        if left == right {
            return Constraints::FALSE;
        }
        let (no_left, no_right) = (self.not(left), self.not(right));
        let first = self.and([left, no_right]);
        let second = self.and([no_left, right]);
        self.or([first, second])
    }

    /// If the first holds, so does the second.
    pub fn implies(&mut self, first: Formula, second: Formula) -> Formula {
        let not = self.not(first);
        self.or([not, second])
    }

    /// Adds what must hold.
    pub fn require(&mut self, formula: Formula) {
        if formula != Constraints::TRUE {
            self.required.push(formula);
        }
    }
}
