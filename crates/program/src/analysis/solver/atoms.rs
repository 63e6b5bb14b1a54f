//! Comparisons of terms as propositions, and what follows among them.

use super::super::constraint::{Linear, Variable};
use super::clauses::{Clauses, Literal};
use super::simplex::{Column, Refused, Simplex};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// What a proposition says about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Atom {
    /// It is at most that; if not, it is more.
    AtMost(Column, i64),
    /// It is that; if not, it is not.
    Is(Column, i64),
}

impl Atom {
    fn column(self) -> Column {
        match self {
            Atom::AtMost(column, _) | Atom::Is(column, _) => column,
        }
    }
}

/// Comparisons, and the numbers they are about.
pub(super) struct Atoms {
    pub numbers: Simplex,
    columns: Vec<Option<Column>>,
    sums: FxHashMap<Vec<(Variable, i64)>, Column>,
    known: FxHashMap<Atom, usize>,
    /// By proposition.
    atoms: Vec<Option<Atom>>,
    /// By column.
    about: Vec<Vec<usize>>,
    /// The whole numbers among the columns.
    whole: Vec<Column>,
    /// Columns that are 0 or 1.
    truths: Vec<bool>,
}

/// A variable as the solver sees it.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub truth: bool,
    pub wanted: i64,
}

impl Atoms {
    pub fn new(variables: usize) -> Atoms {
        Atoms {
            numbers: Simplex::default(),
            columns: vec![None; variables],
            sums: FxHashMap::default(),
            known: FxHashMap::default(),
            atoms: Vec::new(),
            about: Vec::new(),
            whole: Vec::new(),
            truths: Vec::new(),
        }
    }

    /// The column of a variable, if some comparison is about it.
    pub fn column_of(&self, variable: Variable) -> Option<Column> {
        self.columns[variable.0 as usize]
    }

    fn variable(&mut self, variable: Variable, number: Number) -> Column {
        if let Some(known) = self.columns[variable.0 as usize] {
            return known;
        }
        let column = self.numbers.column(number.wanted);
        if number.truth {
            let _ = self.numbers.at_least(column, 0, Literal::TRUE);
            let _ = self.numbers.at_most(column, 1, Literal::TRUE);
        }
        self.columns[variable.0 as usize] = Some(column);
        self.whole.push(column);
        self.listed(column, number.truth);
        column
    }

    fn listed(&mut self, column: Column, truth: bool) {
        self.about.resize(column as usize + 1, Vec::new());
        self.truths.resize(column as usize + 1, false);
        self.truths[column as usize] = truth;
    }

    /// The column of a sum whose first factor is positive and whose factors have no divisor.
    fn sum(&mut self, terms: Vec<(Variable, i64)>, of: &impl Fn(Variable) -> Number) -> Column {
        if let [(variable, 1)] = terms.as_slice() {
            return self.variable(*variable, of(*variable));
        }
        if let Some(known) = self.sums.get(&terms) {
            return *known;
        }
        let mut inside: Vec<(Column, i64)> = Vec::new();
        for (variable, factor) in &terms {
            inside.push((self.variable(*variable, of(*variable)), *factor));
        }
        let column = self.numbers.sum(&inside);
        self.listed(column, false);
        self.sums.insert(terms, column);
        column
    }

    /// That a term is 0, or at most 0.
    pub fn compare(
        &mut self,
        clauses: &mut Clauses,
        term: &Linear,
        equal: bool,
        of: &impl Fn(Variable) -> Number,
    ) -> Literal {
        let common = term
            .terms
            .iter()
            .fold(0, |common, (_, factor)| divisor(common, *factor));
        if common == 0 {
            let holds = if equal {
                term.constant == 0
            } else {
                term.constant <= 0
            };
            return if holds { Literal::TRUE } else { Literal::FALSE };
        }
        if equal && term.constant % common != 0 {
            return Literal::FALSE;
        }
        let positive = term.terms[0].1 > 0;
        let sign = if positive { 1 } else { -1 };
        let scaled = |(variable, factor): &(Variable, i64)| (*variable, factor / common * sign);
        let column = self.sum(term.terms.iter().map(scaled).collect(), of);
        match (equal, positive) {
            (true, _) => self.is(clauses, column, -term.constant / common * sign),
            (false, true) => self.at_most(clauses, column, (-term.constant).div_euclid(common)),
            // c - g t <= 0 is t >= c / g.
            (false, false) => {
                let least = -(-term.constant).div_euclid(common);
                self.at_most(clauses, column, least - 1).not()
            }
        }
    }

    fn at_most(&mut self, clauses: &mut Clauses, column: Column, most: i64) -> Literal {
        if self.truths[column as usize] {
            match most {
                i64::MIN..=-1 => return Literal::FALSE,
                1.. => return Literal::TRUE,
                0 => {}
            }
        }
        self.atom(clauses, Atom::AtMost(column, most))
    }

    fn is(&mut self, clauses: &mut Clauses, column: Column, value: i64) -> Literal {
        if self.truths[column as usize] {
            return match value {
                0 => self.at_most(clauses, column, 0),
                1 => self.at_most(clauses, column, 0).not(),
                _ => Literal::FALSE,
            };
        }
        self.atom(clauses, Atom::Is(column, value))
    }

    fn atom(&mut self, clauses: &mut Clauses, atom: Atom) -> Literal {
        if let Some(known) = self.known.get(&atom) {
            return Literal::new(*known, true);
        }
        let proposition = clauses.proposition();
        self.known.insert(atom, proposition);
        self.atoms.resize(proposition + 1, None);
        self.atoms[proposition] = Some(atom);
        self.about[atom.column() as usize].push(proposition);
        Literal::new(proposition, true)
    }

    fn atom_of(&self, proposition: usize) -> Option<Atom> {
        self.atoms.get(proposition).copied().flatten()
    }

    /// What the numbers at the moment say about a proposition; no for others.
    pub fn likely(&self, proposition: usize) -> bool {
        match self.atom_of(proposition) {
            Some(Atom::AtMost(column, most)) => self.numbers.value(column).against(most).is_le(),
            Some(Atom::Is(column, value)) => self.numbers.value(column).against(value).is_eq(),
            None => false,
        }
    }

    /// Tells the numbers what holds newly, and the clauses what follows.
    pub fn tell(&mut self, clauses: &mut Clauses) -> Result<(), Refused> {
        while let Some(literal) = clauses.trail().get(clauses.told).copied() {
            clauses.told += 1;
            let Some(atom) = self.atom_of(literal.proposition()) else {
                continue;
            };
            let changed = match (atom, literal.is_positive()) {
                (Atom::AtMost(column, most), true) => {
                    self.numbers.at_most(column, most, literal)?
                }
                (Atom::AtMost(column, most), false) => {
                    self.numbers
                        .at_least(column, most.saturating_add(1), literal)?
                }
                (Atom::Is(column, value), true) => {
                    let above = self.numbers.at_least(column, value, literal)?;
                    self.numbers.at_most(column, value, literal)? || above
                }
                (Atom::Is(..), false) => true,
            };
            if changed {
                self.spread(clauses, atom.column())?;
            }
        }
        Ok(())
    }

    /// What the bounds of a column say about the comparisons of it.
    fn spread(&self, clauses: &mut Clauses, column: Column) -> Result<(), Refused> {
        let (lower, upper) = (self.numbers.lower(column), self.numbers.upper(column));
        for proposition in &self.about[column as usize] {
            let Some(atom) = self.atom_of(*proposition) else {
                continue;
            };
            if let Some((holds, above)) = decided(atom, lower.map(|b| b.0), upper.map(|b| b.0)) {
                let why = match above {
                    Side::Lower => lower.iter().map(|(_, why)| *why).collect(),
                    Side::Upper => upper.iter().map(|(_, why)| *why).collect(),
                    Side::Both => lower.iter().chain(&upper).map(|(_, why)| *why).collect(),
                };
                follow(clauses, Literal::new(*proposition, holds), why)?;
            }
        }
        Ok(())
    }

    /// What follows from the bounds of what sums are made of.
    pub fn infer(&mut self, clauses: &mut Clauses) -> Result<(), Refused> {
        for column in &self.numbers.take_touched() {
            let about = &self.about[*column as usize];
            let open = |at: &usize| clauses.value(Literal::new(*at, true)).is_none();
            if !about.iter().any(open) {
                continue;
            }
            let least = self.numbers.implied(*column, false);
            let most = self.numbers.implied(*column, true);
            if least.is_none() && most.is_none() {
                continue;
            }
            for proposition in about {
                if clauses.value(Literal::new(*proposition, true)).is_some() {
                    continue;
                }
                let Some(atom) = self.atom_of(*proposition) else {
                    continue;
                };
                let Some((holds, side)) = decided(atom, least, most) else {
                    continue;
                };
                let mut why = Vec::new();
                if side != Side::Upper {
                    why.extend(self.numbers.implied_by(*column, false));
                }
                if side != Side::Lower {
                    why.extend(self.numbers.implied_by(*column, true));
                }
                follow(clauses, Literal::new(*proposition, holds), why)?;
            }
        }
        Ok(())
    }

    /// Something that the numbers do not fulfil yet, which bounds do not say: a value that is not
    /// whole, or one that must not be. Adds what makes it a question of bounds.
    pub fn split(&mut self, clauses: &mut Clauses) -> bool {
        let whole = |column: &&Column| !self.numbers.value(**column).is_whole();
        if let Some(column) = self.whole.iter().find(whole).copied() {
            let below = self.numbers.value(column).floor();
            self.atom(clauses, Atom::AtMost(column, below));
            return true;
        }
        let mut broken: Vec<(Column, i64, usize)> = Vec::new();
        for (proposition, atom) in self.atoms.iter().enumerate() {
            if let Some(Atom::Is(column, value)) = atom
                && clauses.value(Literal::new(proposition, false)) == Some(true)
                && self.numbers.value(*column).against(*value) == Ordering::Equal
            {
                broken.push((*column, *value, proposition));
            }
        }
        for (column, value, proposition) in &broken {
            let less = self.atom(clauses, Atom::AtMost(*column, value.saturating_sub(1)));
            let most = self.atom(clauses, Atom::AtMost(*column, *value));
            clauses.add(&[Literal::new(*proposition, true), less, most.not()]);
        }
        !broken.is_empty()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
    Both,
}

/// Whether bounds decide a comparison, and which of them do.
fn decided(atom: Atom, least: Option<i64>, most: Option<i64>) -> Option<(bool, Side)> {
    let above = |value: i64| least.is_some_and(|least| least > value);
    let below = |value: i64| most.is_some_and(|most| most < value);
    match atom {
        Atom::AtMost(_, value) if above(value) => Some((false, Side::Lower)),
        Atom::AtMost(_, value) if most.is_some_and(|most| most <= value) => {
            Some((true, Side::Upper))
        }
        Atom::Is(_, value) if above(value) => Some((false, Side::Lower)),
        Atom::Is(_, value) if below(value) => Some((false, Side::Upper)),
        Atom::Is(_, value) if least == Some(value) && most == Some(value) => {
            Some((true, Side::Both))
        }
        _ => None,
    }
}

fn follow(clauses: &mut Clauses, literal: Literal, why: Vec<Literal>) -> Result<(), Refused> {
    clauses.follow(literal, why).map_err(Refused::Together)
}

fn divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
