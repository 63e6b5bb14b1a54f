//! A statement with the values of one execution put in: nothing but constants and columns is left,
//! so that a store needs to know nothing of the transaction.
//!
//! Where the front end kept of a sub-query only what it reads, its meaning is restored:
//! `x not in (select y …)` is that no row there has an equal y. Any other unknown gets the value of
//! this execution.

use super::environment::{Environment, type_of_value};
use super::error::ExecuteError;
use super::evaluate::Scope;
use crate::expr::{Comparison, Condition, Expr, Value};
use crate::ir::{
    Action, Insert, Nested, OnConflict, Ordering, Output, Part, Set, Shape, Statement,
};
use crate::schema::{ColumnId, Schema, TableId, Type};

/// Deeper expressions are refused; the front ends refuse them earlier.
const DEPTH_MAX: usize = 500;

/// A statement over constants and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// As [`Statement::parts`].
    pub parts: Vec<Part>,
    /// As [`Statement::outputs`].
    pub outputs: Vec<Output>,
    /// As [`Statement::shape`].
    pub shape: Box<Shape>,
    /// As [`Statement::nested`].
    pub nested: Vec<Nested>,
}

pub(super) struct Grounder<'a, 'p> {
    pub schema: &'a Schema,
    pub environment: &'a Environment<'p>,
    pub parts: &'a [Part],
    pub depth: usize,
}

type Grounded<T> = Result<T, ExecuteError>;

impl Grounder<'_, '_> {
    pub fn statement(&mut self, statement: &Statement) -> Grounded<Bound> {
        let mut parts = Vec::new();
        for part in &statement.parts {
            parts.push(Part {
                id: part.id,
                table: part.table,
                filter: self.condition(&part.filter)?,
                action: self.action(&part.action, part.table)?,
            });
        }
        let mut nested = Vec::new();
        for one in &statement.nested {
            nested.push(Nested {
                parts: one.parts.clone(),
                from: one.from.clone(),
                outputs: self.outputs(&one.outputs)?,
                shape: self.shape(&one.shape)?,
                filter: self.condition(&one.filter)?,
                ..*one
            });
        }
        Ok(Bound {
            parts,
            outputs: self.outputs(&statement.outputs)?,
            shape: Box::new(self.shape(&statement.shape)?),
            nested,
        })
    }

    fn outputs(&mut self, outputs: &[Output]) -> Grounded<Vec<Output>> {
        let mut found = Vec::new();
        for output in outputs {
            found.push(Output {
                name: output.name.clone(),
                value: self.expr(&output.value, Type::Other)?,
            });
        }
        Ok(found)
    }

    fn shape(&mut self, shape: &Shape) -> Grounded<Shape> {
        let mut order_by = Vec::new();
        for order in &shape.order_by {
            order_by.push(Ordering {
                value: self.expr(&order.value, Type::Other)?,
                descending: order.descending,
            });
        }
        let (limit, offset) = (shape.limit.as_ref(), shape.offset.as_ref());
        let (filter, having) = (shape.filter.as_ref(), shape.having.as_ref());
        Ok(Shape {
            filter: filter.map(|one| self.condition(one)).transpose()?,
            distinct: shape.distinct,
            group_by: self.exprs(&shape.group_by, Type::Other)?,
            having: having.map(|one| self.condition(one)).transpose()?,
            order_by,
            limit: limit.map(|most| self.limit(most)).transpose()?,
            offset: offset
                .map(|first| self.expr(first, Type::Integer))
                .transpose()?,
            aggregate: shape.aggregate,
        })
    }

    /// A limit of which nothing is known cuts nothing off.
    fn limit(&mut self, most: &Expr) -> Grounded<Expr> {
        match self.expr(most, Type::Integer)? {
            Expr::Constant(Value::Integer(0)) if matches!(most, Expr::Unknown { .. }) => {
                Ok(Expr::integer(i64::MAX))
            }
            limit => Ok(limit),
        }
    }

    fn action(&mut self, action: &Action, table: TableId) -> Grounded<Action> {
        Ok(match action {
            Action::Update { sets } => Action::Update {
                sets: self.sets(sets, table)?,
            },
            Action::Insert(insert) => Action::Insert(Insert {
                values: self.sets(&insert.values, table)?,
                on_conflict: match &insert.on_conflict {
                    OnConflict::Update(sets) => OnConflict::Update(self.sets(sets, table)?),
                    other => other.clone(),
                },
                from_select: insert.from_select,
            }),
            Action::Select(_) | Action::Delete => action.clone(),
        })
    }

    fn sets(&mut self, sets: &[Set], table: TableId) -> Grounded<Vec<Set>> {
        let mut found = Vec::new();
        for set in sets {
            let ty = self.column_type(table, set.column).unwrap_or(Type::Other);
            found.push(Set {
                column: set.column,
                value: self.expr(&set.value, ty)?,
            });
        }
        Ok(found)
    }

    fn column_type(&self, table: TableId, column: ColumnId) -> Option<Type> {
        let table = self.schema.tables.get(table.index())?;
        Some(table.columns.get(column.index())?.ty)
    }

    fn type_of(&self, expr: &Expr) -> Option<Type> {
        match expr {
            Expr::Column { part, column } => {
                let part = self.parts.get(part.0 as usize)?;
                self.column_type(part.table, *column)
            }
            Expr::Nested { value, .. } => self.type_of(value),
            Expr::Arithmetic { left, right, .. } => {
                let found = self.environment.type_of(left);
                found.or_else(|| self.environment.type_of(right))
            }
            other => self.environment.type_of(other),
        }
    }

    fn exprs(&mut self, all: &[Expr], ty: Type) -> Grounded<Vec<Expr>> {
        all.iter().map(|one| self.expr(one, ty)).collect()
    }

    /// The type that something must have to stand beside that expression.
    fn beside(&self, expr: &Expr) -> Type {
        self.type_of(expr).unwrap_or(Type::Other)
    }

    pub fn expr(&mut self, expr: &Expr, ty: Type) -> Grounded<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = format!("an expression is nested more than {DEPTH_MAX} deep");
            return Err(ExecuteError::new(problem));
        }
        let found = self.expr_of(expr, ty);
        self.depth -= 1;
        found
    }

    fn boxed(&mut self, expr: &Expr, ty: Type) -> Grounded<Box<Expr>> {
        Ok(Box::new(self.expr(expr, ty)?))
    }

    fn expr_of(&mut self, expr: &Expr, ty: Type) -> Grounded<Expr> {
        Ok(match expr {
            // Its value comes from the rows of that query.
            Expr::Nested { nested, output, .. } => Expr::Nested {
                nested: *nested,
                output: *output,
                value: Box::new(Expr::Constant(Value::Null)),
            },
            Expr::Parameter(_)
            | Expr::Variable(_)
            | Expr::Field { .. }
            | Expr::RowCount(_)
            | Expr::Unknown { .. } => Expr::Constant(self.environment.leaf(expr, ty)?),
            Expr::Constant(_) | Expr::Column { .. } => expr.clone(),
            Expr::Arithmetic {
                operator,
                left,
                right,
            } => {
                let beside = self.type_of(right).unwrap_or(ty);
                let one = self.expr(left, beside)?;
                let beside = self.type_of(left).unwrap_or(ty);
                Expr::arithmetic(*operator, one, self.expr(right, beside)?)
            }
            Expr::Aggregate {
                function,
                argument,
                distinct,
            } => Expr::Aggregate {
                function: *function,
                argument: match argument {
                    Some(argument) => Some(self.boxed(argument, ty)?),
                    None => None,
                },
                distinct: *distinct,
            },
            Expr::If {
                condition,
                then,
                otherwise,
            } => Expr::If {
                condition: Box::new(self.condition(condition)?),
                then: self.boxed(then, ty)?,
                otherwise: self.boxed(otherwise, ty)?,
            },
            Expr::List(all) => Expr::List(self.exprs(all, ty)?),
            Expr::Element { list, index } => Expr::Element {
                list: self.boxed(list, Type::List)?,
                index: self.boxed(index, Type::Integer)?,
            },
            Expr::Size(list) => Expr::Size(self.boxed(list, Type::List)?),
            Expr::Call { name, arguments } => Expr::Call {
                name: name.clone(),
                arguments: self.exprs(arguments, ty)?,
            },
        })
    }

    fn pair(&mut self, left: &Expr, right: &Expr) -> Grounded<(Expr, Expr)> {
        let beside = self.beside(right);
        let one = self.expr(left, beside)?;
        let beside = self.beside(left);
        Ok((one, self.expr(right, beside)?))
    }

    fn condition(&mut self, condition: &Condition) -> Grounded<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = format!("a condition is nested more than {DEPTH_MAX} deep");
            return Err(ExecuteError::new(problem));
        }
        let found = self.condition_of(condition);
        self.depth -= 1;
        found
    }

    fn conditions(&mut self, all: &[Condition]) -> Grounded<Vec<Condition>> {
        all.iter().map(|one| self.condition(one)).collect()
    }

    fn condition_of(&mut self, condition: &Condition) -> Grounded<Condition> {
        Ok(match condition {
            Condition::True | Condition::False | Condition::Exists(_) => condition.clone(),
            Condition::Compare {
                comparison,
                left,
                right,
            } => {
                let (left, right) = self.pair(left, right)?;
                Condition::compare(*comparison, left, right)
            }
            Condition::IsNull(value) => Condition::IsNull(self.expr(value, Type::Other)?),
            Condition::In { value, members } => Condition::In {
                value: self.expr(value, Type::Other)?,
                members: self.exprs(members, self.beside(value))?,
            },
            Condition::Between { value, low, high } => {
                let beside = self.beside(value);
                Condition::Between {
                    low: self.expr(low, beside)?,
                    high: self.expr(high, beside)?,
                    value: self.expr(value, Type::Other)?,
                }
            }
            Condition::Like { value, pattern } => Condition::Like {
                value: self.expr(value, Type::Text)?,
                pattern: self.expr(pattern, Type::Text)?,
            },
            Condition::And(all) => Condition::And(self.conditions(all)?),
            Condition::Or(all) => Condition::Or(self.conditions(all)?),
            Condition::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Condition::Unknown { reads, .. } if is_not_in(reads) => {
                let (left, right) = self.pair(&reads[0], &reads[1])?;
                let member = Condition::compare(Comparison::Equal, left, right);
                Condition::Not(Box::new(member))
            }
            Condition::HasRow { .. } | Condition::Unknown { .. } => {
                match self.environment.test(condition)? {
                    Some(true) => Condition::True,
                    _ => Condition::False,
                }
            }
        })
    }
}

/// Whether what an unknown condition reads is a value and a column of a sub-query.
fn is_not_in(reads: &[Expr]) -> bool {
    matches!(reads, [_, Expr::Column { .. } | Expr::Nested { .. }])
}

/// Whether a statement means exactly what its text says, so that evaluating it here gives what a
/// database would give.
pub(super) fn is_exact(statement: &Statement) -> bool {
    let plain = |expr: &Expr| {
        let odd = |expr: &&Expr| match expr {
            Expr::Unknown { .. } => true,
            Expr::Constant(value) => type_of_value(value) == Some(Type::List),
            _ => false,
        };
        !expr.own().iter().any(odd)
    };
    let outer = |part: &Part| match &part.action {
        Action::Select(select) => select.role == crate::ir::Role::Outer,
        _ => false,
    };
    let outputs = statement.outputs.iter().all(|output| plain(&output.value));
    let filters = statement
        .parts
        .iter()
        .all(|part| part.filter.expressions().into_iter().all(plain));
    let inside = |one: &Nested| {
        let outputs = one.outputs.iter().all(|output| plain(&output.value));
        outputs && one.role != crate::ir::Role::Outer
    };
    outputs && filters && !statement.parts.iter().any(outer) && statement.nested.iter().all(inside)
}
