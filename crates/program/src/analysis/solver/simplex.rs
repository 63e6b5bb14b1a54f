//! Bounds of linear terms: are there numbers within all of them, and if not, which of the bounds
//! contradict each other?
//!
//! Definition: columns are numbers; some are sums of others. Each may have a least and a greatest
//! value, each with the literal that says so.
//! Steps (Dutertre and de Moura, CAV 2006): a sum is written by columns that are free to move; one
//! out of its bounds is exchanged with one of those. A sum that none of them can bring back gives
//! the contradiction: its bound, and the bounds that hold the others. Undoing is forgetting bounds.
//! Columns begin at values that are wanted, and move only where they must.
//! Cost: an exchange is the rows it is in; exchanges are few, since most terms are differences.
//! Where we differ: a column with one value left is moved out of the sums where possible, so that
//! what equalities say follows from single rows.

use super::clauses::Literal;
use super::fraction::Fraction;
use std::cmp::Ordering;

/// A number, by position.
pub(super) type Column = u32;

/// After so many exchanges it gives up.
const EXCHANGES_MAX: u64 = 200_000;

/// A bound, and the literal that says so.
pub(super) type Bound = Option<(i64, Literal)>;

struct Row {
    basic: Column,
    /// In ascending order of columns.
    terms: Vec<(Column, Fraction)>,
}

/// What became of a bound, or of a check.
pub(super) enum Refused {
    /// These literals cannot all hold.
    Together(Vec<Literal>),
    /// Numbers too large, or too many steps.
    Lost,
}

/// Numbers and their bounds.
#[derive(Default)]
pub(super) struct Simplex {
    value: Vec<Fraction>,
    lower: Vec<Bound>,
    upper: Vec<Bound>,
    row_of: Vec<Option<u32>>,
    rows: Vec<Row>,
    /// The rows a column may be in; some are out of date.
    inside: Vec<Vec<u32>>,
    trail: Vec<(Column, bool, Bound)>,
    /// Sums with one value left that are still written by others.
    settled: Vec<Column>,
    /// Rows about which something changed, and which those are.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Rows whose sum may be out of its bounds, and which those are.
    suspects: Vec<u32>,
    is_suspect: Vec<bool>,
    exchanges: u64,
    lost: bool,
}

impl Simplex {
    /// A new number that begins at that value.
    pub fn column(&mut self, value: i64) -> Column {
        self.value.push(Fraction::whole(value));
        self.lower.push(None);
        self.upper.push(None);
        self.row_of.push(None);
        self.inside.push(Vec::new());
        self.value.len() as Column - 1
    }

    /// A new number that is a sum of others.
    pub fn sum(&mut self, of: &[(Column, i64)]) -> Column {
        let column = self.column(0);
        let mut terms: Vec<(Column, Fraction)> = Vec::new();
        for (other, factor) in of {
            let factor = Fraction::whole(*factor);
            match self.row_of[*other as usize] {
                None => drop(add(&mut terms, *other, factor)),
                Some(row) => {
                    for (inner, times) in &self.rows[row as usize].terms {
                        add(&mut terms, *inner, times.times(factor));
                    }
                }
            }
        }
        let row = self.rows.len() as u32;
        let mut value = Fraction::ZERO;
        for (other, factor) in &terms {
            self.inside[*other as usize].push(row);
            value = value.plus(factor.times(self.value[*other as usize]));
        }
        self.value[column as usize] = value;
        self.row_of[column as usize] = Some(row);
        self.rows.push(Row {
            basic: column,
            terms,
        });
        self.is_touched.push(false);
        self.is_suspect.push(false);
        self.touch(row);
        column
    }

    fn touch(&mut self, row: u32) {
        if !std::mem::replace(&mut self.is_touched[row as usize], true) {
            self.touched.push(row);
        }
    }

    fn suspect(&mut self, row: u32) {
        if !std::mem::replace(&mut self.is_suspect[row as usize], true) {
            self.suspects.push(row);
        }
    }

    /// The sums for which something new may follow since the last time.
    pub fn take_touched(&mut self) -> Vec<Column> {
        let rows = std::mem::take(&mut self.touched);
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            self.is_touched[row as usize] = false;
            found.push(self.rows[row as usize].basic);
        }
        found
    }

    pub fn value(&self, column: Column) -> Fraction {
        self.value[column as usize]
    }

    pub fn lower(&self, column: Column) -> Bound {
        self.lower[column as usize]
    }

    pub fn upper(&self, column: Column) -> Bound {
        self.upper[column as usize]
    }

    /// How much was said, to come back to.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Forgets bounds.
    pub fn back_to(&mut self, mark: usize) {
        while self.trail.len() > mark
            && let Some((column, upper, before)) = self.trail.pop()
        {
            match upper {
                true => self.upper[column as usize] = before,
                false => self.lower[column as usize] = before,
            }
        }
    }

    /// The column is at most that; whether that is new.
    pub fn at_most(&mut self, column: Column, most: i64, why: Literal) -> Result<bool, Refused> {
        let at = column as usize;
        if self.upper[at].is_some_and(|(known, _)| known <= most) {
            return Ok(false);
        }
        if let Some((least, because)) = self.lower[at]
            && least > most
        {
            return Err(Refused::Together(vec![why, because]));
        }
        self.trail.push((column, true, self.upper[at]));
        self.upper[at] = Some((most, why));
        self.bounded(column, most, Ordering::Greater);
        Ok(true)
    }

    /// The column is at least that; whether that is new.
    pub fn at_least(&mut self, column: Column, least: i64, why: Literal) -> Result<bool, Refused> {
        let at = column as usize;
        if self.lower[at].is_some_and(|(known, _)| known >= least) {
            return Ok(false);
        }
        if let Some((most, because)) = self.upper[at]
            && least > most
        {
            return Err(Refused::Together(vec![why, because]));
        }
        self.trail.push((column, false, self.lower[at]));
        self.lower[at] = Some((least, why));
        self.bounded(column, least, Ordering::Less);
        Ok(true)
    }

    fn bounded(&mut self, column: Column, bound: i64, outside: Ordering) {
        let at = column as usize;
        if self.row_of[at].is_none() && self.value[at].against(bound) == outside {
            self.move_to(column, Fraction::whole(bound));
        }
        if let Some(row) = self.row_of[at] {
            self.suspect(row);
            if self.fixed(column) {
                self.settled.push(column);
            }
        }
        for holder in 0..self.inside[at].len() {
            self.touch(self.inside[at][holder]);
        }
    }

    fn fixed(&self, column: Column) -> bool {
        let at = column as usize;
        match (self.lower[at], self.upper[at]) {
            (Some((least, _)), Some((most, _))) => least == most,
            _ => false,
        }
    }

    /// Moves a column that is not a sum.
    fn move_to(&mut self, column: Column, value: Fraction) {
        let by = value.minus(self.value[column as usize]);
        self.value[column as usize] = value;
        let holders = self.holders(column);
        for row in &holders {
            let Row { basic, terms } = &self.rows[*row as usize];
            if let Some(factor) = factor(terms, column) {
                let at = *basic as usize;
                self.value[at] = self.value[at].plus(factor.times(by));
                self.lost |= self.value[at].is_lost();
                self.suspect(*row);
            }
        }
        self.inside[column as usize] = holders;
        self.lost |= by.is_lost();
    }

    /// The rows a column is in, each once; they must be given back.
    fn holders(&mut self, column: Column) -> Vec<u32> {
        let mut holders = std::mem::take(&mut self.inside[column as usize]);
        holders.sort_unstable();
        holders.dedup();
        holders.retain(|row| factor(&self.rows[*row as usize].terms, column).is_some());
        holders
    }

    /// Brings every sum within its bounds.
    pub fn check(&mut self) -> Result<(), Refused> {
        loop {
            if self.lost || self.exchanges > EXCHANGES_MAX {
                return Err(Refused::Lost);
            }
            let Some((row, bound, rises)) = self.outside() else {
                self.settle();
                return Ok(());
            };
            let Some(entering) = self.entering(row, rises) else {
                return Err(Refused::Together(self.explain(row, rises)));
            };
            let basic = self.rows[row].basic;
            self.exchange(row, entering);
            self.move_to(basic, Fraction::whole(bound));
        }
    }

    /// The first sum out of its bounds: its row, the bound, and whether it must rise.
    fn outside(&mut self) -> Option<(usize, i64, bool)> {
        let mut found: Option<(Column, usize, i64, bool)> = None;
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.retain(|row| {
            let basic = self.rows[*row as usize].basic;
            let Some((bound, rises)) = self.broken(basic) else {
                self.is_suspect[*row as usize] = false;
                return false;
            };
            if found.is_none_or(|(least, ..)| basic < least) {
                found = Some((basic, *row as usize, bound, rises));
            }
            true
        });
        self.suspects = suspects;
        found.map(|(_, row, bound, rises)| (row, bound, rises))
    }

    /// The bound that a column is out of, and whether it must rise.
    fn broken(&self, column: Column) -> Option<(i64, bool)> {
        let at = column as usize;
        let value = &self.value[at];
        let below = |(least, _): &(i64, Literal)| value.against(*least) == Ordering::Less;
        let above = |(most, _): &(i64, Literal)| value.against(*most) == Ordering::Greater;
        let low = self.lower[at].filter(below).map(|(least, _)| (least, true));
        let high = || self.upper[at].filter(above).map(|(most, _)| (most, false));
        low.or_else(high)
    }

    /// A column of the row that can move so that the sum rises or falls.
    fn entering(&self, row: usize, rises: bool) -> Option<Column> {
        let can = |(column, factor): &&(Column, Fraction)| {
            let at = *column as usize;
            match factor.is_positive() == rises {
                true => self.upper[at].is_none_or(|(most, _)| self.value[at].against(most).is_lt()),
                false => {
                    self.lower[at].is_none_or(|(least, _)| self.value[at].against(least).is_gt())
                }
            }
        };
        let mut able = self.rows[row].terms.iter().filter(can);
        able.next().map(|(column, _)| *column)
    }

    /// The bounds that keep a sum where it must not be.
    fn explain(&self, row: usize, rises: bool) -> Vec<Literal> {
        let Row { basic, terms } = &self.rows[row];
        let own = match rises {
            true => self.lower[*basic as usize],
            false => self.upper[*basic as usize],
        };
        let mut why: Vec<Literal> = own.iter().map(|(_, literal)| *literal).collect();
        why.extend(self.holding(terms, rises));
        why
    }

    /// The bounds that keep a sum of these from rising, or from falling.
    fn holding(&self, terms: &[(Column, Fraction)], rises: bool) -> Vec<Literal> {
        let mut why = Vec::new();
        for (column, factor) in terms {
            let bound = match factor.is_positive() == rises {
                true => self.upper[*column as usize],
                false => self.lower[*column as usize],
            };
            why.extend(bound.iter().map(|(_, literal)| *literal));
        }
        why
    }

    /// Sums with one value left make room for columns that can still move.
    fn settle(&mut self) {
        while let Some(column) = self.settled.pop() {
            let Some(row) = self.row_of[column as usize] else {
                continue;
            };
            if !self.fixed(column) {
                continue;
            }
            let terms = &self.rows[row as usize].terms;
            let loose = terms.iter().find(|(other, _)| !self.fixed(*other));
            if let Some((entering, _)) = loose {
                self.exchange(row as usize, *entering);
            }
        }
    }

    /// The sum of a row and one of its columns change places.
    fn exchange(&mut self, row: usize, entering: Column) {
        self.exchanges += 1;
        let leaving = self.rows[row].basic;
        let mut terms = std::mem::take(&mut self.rows[row].terms);
        let Some(by) = factor(&terms, entering) else {
            self.lost = true;
            return;
        };
        // leaving = by * entering + rest, so entering = leaving / by - rest / by.
        terms.retain(|(column, _)| *column != entering);
        for (_, factor) in &mut terms {
            *factor = factor.opposite().over(by);
        }
        add(&mut terms, leaving, Fraction::ONE.over(by));
        self.lost |= terms.iter().any(|(_, factor)| factor.is_lost());
        self.inside[leaving as usize].push(row as u32);
        for other in self.holders(entering) {
            let other = other as usize;
            if other == row {
                continue;
            }
            let Some(times) = factor(&self.rows[other].terms, entering) else {
                continue;
            };
            let mut sum = std::mem::take(&mut self.rows[other].terms);
            sum.retain(|(column, _)| *column != entering);
            for (column, factor) in &terms {
                if add(&mut sum, *column, factor.times(times)) {
                    self.inside[*column as usize].push(other as u32);
                }
            }
            self.lost |= sum.iter().any(|(_, factor)| factor.is_lost());
            self.rows[other].terms = sum;
            self.touch(other as u32);
        }
        self.touch(row as u32);
        self.rows[row] = Row {
            basic: entering,
            terms,
        };
        self.row_of[leaving as usize] = None;
        self.row_of[entering as usize] = Some(row as u32);
    }

    /// What follows for a sum from the bounds of what it is made of: its least or its greatest
    /// value, if there is one.
    pub fn implied(&self, column: Column, greatest: bool) -> Option<i64> {
        let row = self.row_of[column as usize]?;
        let mut sum = Fraction::ZERO;
        for (other, factor) in &self.rows[row as usize].terms {
            let bound = match factor.is_positive() == greatest {
                true => self.upper[*other as usize],
                false => self.lower[*other as usize],
            };
            let (bound, _) = bound?;
            sum = sum.plus(factor.times(Fraction::whole(bound)));
        }
        if sum.is_lost() {
            return None;
        }
        Some(match greatest {
            true => sum.floor(),
            false => sum.opposite().floor().checked_neg()?,
        })
    }

    /// Why that follows.
    pub fn implied_by(&self, column: Column, greatest: bool) -> Vec<Literal> {
        match self.row_of[column as usize] {
            Some(row) => self.holding(&self.rows[row as usize].terms, greatest),
            None => Vec::new(),
        }
    }
}

fn factor(terms: &[(Column, Fraction)], column: Column) -> Option<Fraction> {
    let at = terms.binary_search_by_key(&column, |(one, _)| *one).ok()?;
    Some(terms[at].1)
}

/// Adds a term; whether the column is new.
fn add(terms: &mut Vec<(Column, Fraction)>, column: Column, factor: Fraction) -> bool {
    match terms.binary_search_by_key(&column, |(one, _)| *one) {
        Ok(at) => {
            let sum = terms[at].1.plus(factor);
            match sum.is_zero() {
                true => drop(terms.remove(at)),
                false => terms[at].1 = sum,
            }
            false
        }
        Err(at) => {
            if !factor.is_zero() {
                terms.insert(at, (column, factor));
            }
            true
        }
    }
}
