//! Expressions as symbols.

use super::super::constraint::{Constraints, Formula, Linear};
use super::{Encoder, Here, Symbol};
use crate::expr::{Condition, Expr, Operator, Row};
use crate::resolve::FIELD;

/// How many calls of a function are held against each other.
const CONGRUENT_MAX: usize = 24;

impl Encoder<'_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr, here: &Here) -> Symbol {
        match expr {
            Expr::Constant(value) => self.constant(value),
            Expr::Parameter(id) => {
                let found = self.arguments[here.instance].get(id.0 as usize).cloned();
                found.unwrap_or_else(|| self.opaque())
            }
            Expr::Column { part, column } => {
                match here.rows.get(part.0 as usize).copied().flatten() {
                    Some(name) => self.cell(name, *column, &here.view),
                    None => Encoder::null(),
                }
            }
            Expr::Field {
                statement,
                row: Row::Nth(row),
                output,
            } => self.known_field(here.instance, statement.0 as usize, *row, *output),
            Expr::RowCount(statement) => self.row_count(here.instance, statement.0 as usize),
            Expr::Arithmetic {
                operator,
                left,
                right,
            } => {
                let (left, right) = (self.value(left, here), self.value(right, here));
                self.arithmetic(*operator, left, right)
            }
            Expr::If {
                condition,
                then,
                otherwise,
            } => self.if_value(condition, then, otherwise, here),
            Expr::List(all) => {
                let items: Vec<Symbol> = all.iter().map(|one| self.value(one, here)).collect();
                Symbol::List {
                    size: Linear::constant(items.len() as i64),
                    items,
                }
            }
            Expr::Element { list, index } => self.element(list, index, here),
            Expr::Size(list) => match self.value(list, here) {
                Symbol::List { size, .. } => Encoder::scalar(size),
                Symbol::Scalar { .. } => self.opaque(),
            },
            Expr::Call { name, arguments } => self.call_value(name, arguments, here),
            // What it is made of, of any of the rows; a value made of several is not followed.
            Expr::Nested { value, .. } => self.value(value, here),
            Expr::Unknown { id, .. } => self.unknown(here.instance, id.0),
            // A variable or a cursor is not in a path; an aggregate is an output.
            Expr::Variable(_) | Expr::Field { .. } | Expr::Aggregate { .. } => self.opaque(),
        }
    }

    /// The number and whether it is NULL.
    pub(super) fn scalar_of(&mut self, expr: &Expr, here: &Here) -> (Formula, Linear) {
        match self.value(expr, here) {
            Symbol::Scalar { null, value } => (null, value),
            Symbol::List { .. } => match self.opaque() {
                Symbol::Scalar { null, value } => (null, value),
                Symbol::List { size, .. } => (Constraints::FALSE, size),
            },
        }
    }

    fn if_value(
        &mut self,
        condition: &Condition,
        then: &Expr,
        other: &Expr,
        here: &Here,
    ) -> Symbol {
        let holds = self.holds(condition, here);
        let (then, other) = (self.value(then, here), self.value(other, here));
        self.choice(vec![(holds, then)], other)
    }

    pub(super) fn arithmetic(&mut self, operator: Operator, left: Symbol, right: Symbol) -> Symbol {
        let (Symbol::Scalar { null: a, value: x }, Symbol::Scalar { null: b, value: y }) =
            (left, right)
        else {
            return self.opaque();
        };
        let value = match operator {
            Operator::Add => Some(x.plus(&y, 1)),
            Operator::Subtract => Some(x.minus(&y)),
            Operator::Multiply => match (x.known(), y.known()) {
                (Some(factor), _) => Some(y.times(factor)),
                (_, Some(factor)) => Some(x.times(factor)),
                _ => None,
            },
            Operator::Divide | Operator::Remainder | Operator::Concatenate => None,
        };
        let null = self.constraints.or([a, b]);
        match value.filter(Linear::is_small) {
            Some(value) => Symbol::Scalar { null, value },
            None => {
                let name = format!("{operator:?}");
                let given = vec![Encoder::scalar(x), Encoder::scalar(y)];
                match self.function(name, given) {
                    Symbol::Scalar { value, .. } => Symbol::Scalar { null, value },
                    list => list,
                }
            }
        }
    }

    fn element(&mut self, list: &Expr, index: &Expr, here: &Here) -> Symbol {
        let list = self.value(list, here);
        let (_, index) = self.scalar_of(index, here);
        match (list, index.known()) {
            (Symbol::List { items, size }, Some(at)) => {
                let at = usize::try_from(at).ok();
                let found = at.and_then(|at| items.get(at).cloned().zip(Some(at)));
                match found {
                    Some((item, at)) => self.within(item, at, &size),
                    None => Encoder::null(),
                }
            }
            (Symbol::List { items, size }, None) => {
                let mut cases = Vec::new();
                for (at, item) in items.into_iter().enumerate() {
                    let here = self.constraints.equal(&index, &Linear::constant(at as i64));
                    let item = self.within(item, at, &size);
                    cases.push((here, item));
                }
                self.choice(cases, Encoder::null())
            }
            (Symbol::Scalar { .. }, _) => self.opaque(),
        }
    }

    /// An element of a list of that size: NULL beyond the end, as in a play.
    fn within(&mut self, item: Symbol, at: usize, size: &Linear) -> Symbol {
        match item {
            Symbol::Scalar { null, value } => {
                let at = Linear::constant(at as i64);
                let beyond = self.constraints.at_most(size, &at);
                let null = self.constraints.or([null, beyond]);
                Symbol::Scalar { null, value }
            }
            list @ Symbol::List { .. } => list,
        }
    }

    fn call_value(&mut self, name: &str, arguments: &[Expr], here: &Here) -> Symbol {
        let mut given: Vec<Symbol> = Vec::new();
        for argument in arguments {
            given.push(self.value(argument, here));
        }
        self.called(name, given)
    }

    /// What a function makes of its arguments.
    pub(super) fn called(&mut self, name: &str, given: Vec<Symbol>) -> Symbol {
        if matches!(name, "coalesce" | "ifnull" | "nvl") {
            let mut chosen = Encoder::null();
            for symbol in given.into_iter().rev() {
                let there = match &symbol {
                    Symbol::Scalar { null, .. } => self.constraints.not(*null),
                    Symbol::List { .. } => Constraints::TRUE,
                };
                chosen = self.choice(vec![(there, symbol)], chosen);
            }
            return chosen;
        }
        if let ("min" | "max" | "least" | "greatest", [one, two]) = (name, given.as_slice())
            && let Some(found) = self.extreme(matches!(name, "min" | "least"), one, two)
        {
            return found;
        }
        self.function(name.to_string(), given)
    }

    /// The lesser or the greater of two values; NULL where one is.
    fn extreme(&mut self, least: bool, one: &Symbol, two: &Symbol) -> Option<Symbol> {
        let (Symbol::Scalar { null: a, value: x }, Symbol::Scalar { null: b, value: y }) =
            (one, two)
        else {
            return None;
        };
        let first = match least {
            true => self.constraints.at_most(x, y),
            false => self.constraints.at_most(y, x),
        };
        self.link(x, y);
        let value = self.constraints.cases(vec![(first, x.clone())], y.clone());
        self.link(x, &value);
        let null = self.constraints.or([*a, *b]);
        Some(Symbol::Scalar { null, value })
    }

    /// A function that is not interpreted: the same for the same arguments.
    pub(super) fn function(&mut self, name: String, given: Vec<Symbol>) -> Symbol {
        let same = |(other, arguments, _): &&(String, Vec<Symbol>, Symbol)| {
            *other == name && *arguments == given
        };
        if let Some((_, _, value)) = self.calls.iter().find(same) {
            return value.clone();
        }
        let value = self.opaque();
        let known: Vec<usize> = (0..self.calls.len())
            .filter(|at| self.calls[*at].0 == name)
            .collect();
        // Objects are told apart by their fields, not by what stands for them here.
        if !name.starts_with(FIELD) && known.len() < CONGRUENT_MAX {
            for at in known {
                let (_, arguments, result) = self.calls[at].clone();
                self.agree_on_results((&arguments, &result), (&given, &value));
            }
        }
        self.calls.push((name, given, value.clone()));
        value
    }

    /// Where the arguments of two calls are equal, so are their results.
    fn agree_on_results(&mut self, one: (&[Symbol], &Symbol), two: (&[Symbol], &Symbol)) {
        if one.0.len() != two.0.len() {
            return;
        }
        let mut all = Vec::new();
        for pair in one.0.iter().zip(two.0) {
            let differ = match pair {
                (Symbol::Scalar { .. }, Symbol::Scalar { .. }) => {
                    self.symbols_differ(pair.0, pair.1)
                }
                (left, right) if left == right => Constraints::FALSE,
                _ => return,
            };
            all.push(self.constraints.not(differ));
        }
        let same = self.constraints.and(all);
        let differ = self.symbols_differ(one.1, two.1);
        let both = self.constraints.and([same, differ]);
        let agree = self.constraints.not(both);
        self.constraints.require(agree);
    }

    /// The fields of an object that are looked at, and their values.
    pub(in super::super) fn fields_of<'s>(
        &'s self,
        object: &'s Symbol,
    ) -> impl Iterator<Item = (&'s str, &'s Symbol)> {
        // Whether it is NULL depends on the place: of an element of a list, on whether that is long enough.
        let same = move |one: &Symbol| match (one, object) {
            (Symbol::Scalar { value: one, .. }, Symbol::Scalar { value: other, .. }) => {
                one == other
            }
            (one, other) => one == other,
        };
        self.calls.iter().filter_map(move |(name, given, value)| {
            let field = name.strip_prefix(FIELD)?;
            matches!(given.as_slice(), [one] if same(one)).then_some((field, value))
        })
    }

    /// An unknown of an instance.
    pub(super) fn unknown(&mut self, instance: usize, id: u32) -> Symbol {
        let instance = self.original[instance];
        if let Some(known) = self.unknowns.get(&(instance, id)) {
            return known.clone();
        }
        let count = self.constraints.variables.len() as i64;
        let name = format!("any{id} of {instance}");
        let variable = self.constraints.number(name, 3 + count);
        let symbol = Encoder::scalar(Linear::variable(variable));
        self.unknowns.insert((instance, id), symbol.clone());
        symbol
    }
}
