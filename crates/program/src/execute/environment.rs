//! What a running transaction knows: arguments, variables, results, and the values drawn for what
//! its source leaves unknown.
//!
//! Evaluation number n of an unknown is the nth execution, from 0, of a step that mentions it; one
//! step draws one value, however often it mentions the unknown.

use super::error::ExecuteError;
use super::evaluate::Scope;
use super::value::{default_of, truth};
use crate::expr::{Condition, Expr, Row, StatementId, UnknownId, Value};
use crate::ir::{Action, OnConflict, Output, Set, Shape, Statement, Transaction};
use crate::scenario::Instance;
use crate::schema::Type;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What a statement returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// The rows, a value for each output of the statement.
    pub rows: Vec<Vec<Value>>,
    /// How many rows it changed; 0 for a select.
    pub changed: u64,
}

/// A result and where its cursor stands.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub result: ResultSet,
    pub writes: bool,
    /// How often it was advanced.
    pub advanced: u32,
}

impl Cursor {
    fn row(&self, row: Row) -> Option<&Vec<Value>> {
        let at = match row {
            Row::Nth(at) => at,
            Row::Cursor => self.advanced.saturating_sub(1),
        };
        self.result.rows.get(at as usize)
    }
}

/// The state of a transaction between two steps.
#[derive(Clone, Debug)]
pub(super) struct Environment<'p> {
    transaction: &'p Transaction,
    instance: Instance,
    pub variables: FxHashMap<u32, Value>,
    pub results: FxHashMap<u32, Cursor>,
    /// How many steps drew each unknown.
    counts: FxHashMap<u32, u32>,
    /// The evaluation that the present step is, for each unknown it mentions.
    numbers: FxHashMap<u32, u32>,
    /// What the present step drew.
    drawn: RefCell<FxHashMap<u32, Value>>,
}

impl<'p> Environment<'p> {
    pub fn new(transaction: &'p Transaction, instance: &Instance) -> Environment<'p> {
        Environment {
            transaction,
            instance: instance.clone(),
            variables: FxHashMap::default(),
            results: FxHashMap::default(),
            counts: FxHashMap::default(),
            numbers: FxHashMap::default(),
            drawn: RefCell::default(),
        }
    }

    /// Begins a step that mentions these unknowns.
    pub fn begin(&mut self, mentioned: Vec<UnknownId>) {
        self.numbers.clear();
        self.drawn.borrow_mut().clear();
        for id in mentioned {
            if !self.numbers.contains_key(&id.0) {
                let count = self.counts.entry(id.0).or_insert(0);
                self.numbers.insert(id.0, *count);
                *count += 1;
            }
        }
    }

    /// The value of an unknown in this step.
    pub fn draw(&self, id: UnknownId, ty: Type) -> Value {
        let number = self.numbers.get(&id.0).copied().unwrap_or(0);
        let given = self.instance.unknowns.get(&(id, number)).cloned();
        let mut drawn = self.drawn.borrow_mut();
        let value = || given.unwrap_or_else(|| default_of(ty));
        drawn.entry(id.0).or_insert_with(value).clone()
    }

    pub fn has_row(&self, statement: StatementId, row: Row) -> bool {
        let cursor = self.results.get(&statement.0);
        cursor.is_some_and(|cursor| cursor.row(row).is_some())
    }

    fn field(&self, statement: StatementId, row: Row, output: u32) -> Value {
        let cursor = self.results.get(&statement.0);
        let row = cursor.and_then(|cursor| cursor.row(row));
        let value = row.and_then(|row| row.get(output as usize));
        value.cloned().unwrap_or(Value::Null)
    }

    fn row_count(&self, statement: StatementId) -> Value {
        let Some(cursor) = self.results.get(&statement.0) else {
            return Value::Integer(0);
        };
        let count = match cursor.writes {
            true => cursor.result.changed,
            false => cursor.result.rows.len() as u64,
        };
        Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl Scope for Environment<'_> {
    fn leaf(&self, expr: &Expr, ty: Type) -> Result<Value, ExecuteError> {
        Ok(match expr {
            Expr::Parameter(id) => match self.instance.arguments.get(id.0 as usize) {
                Some(value) => value.clone(),
                None => default_of(self.type_of(expr).unwrap_or(ty)),
            },
            Expr::Variable(id) => match self.variables.get(&id.0) {
                Some(value) => value.clone(),
                None => default_of(self.type_of(expr).unwrap_or(ty)),
            },
            Expr::Field {
                statement,
                row,
                output,
            } => self.field(*statement, *row, *output),
            Expr::RowCount(statement) => self.row_count(*statement),
            Expr::Unknown { id, .. } => self.draw(*id, ty),
            _ => return Err(ExecuteError::new("a column outside of any statement")),
        })
    }

    fn test(&self, condition: &Condition) -> Result<Option<bool>, ExecuteError> {
        match condition {
            Condition::HasRow { statement, row } => Ok(Some(self.has_row(*statement, *row))),
            Condition::Unknown { id, .. } => Ok(truth(&self.draw(*id, Type::Boolean))),
            _ => Err(ExecuteError::new("a sub-query outside of any statement")),
        }
    }

    fn type_of(&self, expr: &Expr) -> Option<Type> {
        match expr {
            Expr::Constant(value) => type_of_value(value),
            Expr::Parameter(id) => {
                let parameter = self.transaction.parameters.get(id.0 as usize)?;
                Some(parameter.ty)
            }
            Expr::Variable(id) => {
                let variable = self.transaction.variables.get(id.0 as usize)?;
                Some(variable.ty)
            }
            Expr::RowCount(_) | Expr::Size(_) => Some(Type::Integer),
            _ => None,
        }
    }
}

pub(super) fn type_of_value(value: &Value) -> Option<Type> {
    match value {
        Value::Null => None,
        Value::Boolean(_) => Some(Type::Boolean),
        Value::Integer(_) => Some(Type::Integer),
        Value::Real(_) => Some(Type::Real),
        Value::Text(_) => Some(Type::Text),
        Value::List(_) => Some(Type::List),
    }
}

/// Collects the unknowns that expressions and conditions mention.
#[derive(Default)]
pub(super) struct Mentioned<'a> {
    found: Vec<UnknownId>,
    exprs: Vec<&'a Expr>,
    conditions: Vec<&'a Condition>,
}

impl<'a> Mentioned<'a> {
    pub fn expr(mut self, expr: &'a Expr) -> Self {
        self.exprs.push(expr);
        self
    }

    pub fn condition(mut self, condition: &'a Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    fn sets(&mut self, sets: &'a [Set]) {
        self.exprs.extend(sets.iter().map(|set| &set.value));
    }

    pub fn statement(mut self, statement: &'a Statement) -> Self {
        for part in &statement.parts {
            self.conditions.push(&part.filter);
            match &part.action {
                Action::Update { sets } => self.sets(sets),
                Action::Insert(insert) => {
                    self.sets(&insert.values);
                    if let OnConflict::Update(sets) = &insert.on_conflict {
                        self.sets(sets);
                    }
                }
                Action::Select(_) | Action::Delete => {}
            }
        }
        self.query(&statement.outputs, &statement.shape);
        for nested in &statement.nested {
            self.query(&nested.outputs, &nested.shape);
            self.conditions.push(&nested.filter);
        }
        let arguments = statement.arguments.iter().map(|argument| &argument.value);
        self.exprs.extend(arguments);
        self
    }

    fn query(&mut self, outputs: &'a [Output], shape: &'a Shape) {
        self.exprs
            .extend(outputs.iter().map(|output| &output.value));
        self.exprs.extend(&shape.group_by);
        self.exprs
            .extend(shape.order_by.iter().map(|order| &order.value));
        self.conditions.extend(&shape.filter);
        self.conditions.extend(&shape.having);
        self.exprs.extend(&shape.limit);
        self.exprs.extend(&shape.offset);
    }

    pub fn unknowns(mut self) -> Vec<UnknownId> {
        loop {
            if let Some(condition) = self.conditions.pop() {
                match condition {
                    Condition::And(all) | Condition::Or(all) => self.conditions.extend(all),
                    Condition::Not(inner) => self.conditions.push(inner),
                    Condition::Unknown { id, .. } => {
                        self.found.push(*id);
                        self.exprs.extend(condition.expressions());
                    }
                    other => self.exprs.extend(other.expressions()),
                }
            } else if let Some(expr) = self.exprs.pop() {
                match expr {
                    Expr::If {
                        condition,
                        then,
                        otherwise,
                    } => {
                        self.conditions.push(condition);
                        self.exprs.extend([&**then, &**otherwise]);
                    }
                    Expr::Unknown { id, .. } => {
                        self.found.push(*id);
                        self.exprs.extend(expr.children());
                    }
                    other => self.exprs.extend(other.children()),
                }
            } else {
                return self.found;
            }
        }
    }
}
