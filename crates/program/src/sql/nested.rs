//! Queries inside of a statement: those whose rows are just the rows of their tables are joined, the others make rows
//! of their own.

use super::lookup::set_role;
use super::query::Found;
use super::scope::{Builder, Columns, Joined};
use crate::expr::{Condition, Expr, NestedId, PartId};
use crate::ir::{Nested, Output, Role, SetKind, SetOperation, Shape};
use crate::place::ProgramError;
use sqlparser::ast::{self, Query, SetQuantifier};

type Translated<T> = Result<T, ProgramError>;

impl Builder<'_> {
    /// A query in FROM.
    pub fn derived(&mut self, query: &Query, name: String, role: Role) -> Translated<()> {
        let inside = match role {
            Role::Outer => Role::From,
            Role::From | Role::SubQuery => role,
        };
        let found = self.query(query, inside)?;
        let outputs = match makes_rows(&found.shape) || found.shape.distinct {
            true => {
                let id = self.nest(found, role, false);
                self.join_nested(id);
                self.outputs_of(id)
            }
            false => {
                if role == Role::Outer {
                    self.set_outer(&found.joined);
                }
                let all = found.joined;
                all.parts.into_iter().for_each(|one| self.join_part(one));
                all.nested.into_iter().for_each(|one| self.join_nested(one));
                found.outputs
            }
        };
        self.source(name, Columns::Outputs(outputs));
        Ok(())
    }

    /// Makes these the side of an outer join that may have no match.
    pub fn set_outer(&mut self, joined: &Joined) {
        for part in &joined.parts {
            set_role(&mut self.parts[part.0 as usize], Role::Outer);
        }
        for id in &joined.nested {
            self.nested[id.0 as usize].role = Role::Outer;
        }
    }

    /// The columns of a query in a condition, or of one that stands for a value.
    pub fn inner(&mut self, query: &Query, scalar: bool) -> Translated<Vec<Expr>> {
        let found = self.query(query, Role::SubQuery)?;
        let column = |output: &Output| {
            matches!(
                output.value,
                Expr::Column { .. } | Expr::Constant(_) | Expr::Parameter(_)
            )
        };
        if is_one_table(&found) && !makes_rows(&found.shape) && found.outputs.iter().all(column) {
            return Ok(found.outputs.into_iter().map(|one| one.value).collect());
        }
        let id = self.nest(found, Role::SubQuery, scalar);
        let mut values = Vec::new();
        for (output, inside) in (0..).zip(self.nested[id.0 as usize].outputs.clone()) {
            // Of an expression of the query's rows only what it reads matters to others.
            let value = match column(&inside) {
                true => inside.value,
                false => self.arguments.unknown(vec![inside.value]),
            };
            values.push(Expr::Nested {
                nested: id,
                output,
                value: Box::new(value),
            });
        }
        Ok(values)
    }

    /// That a query finds a row.
    pub fn exists(&mut self, query: &Query) -> Translated<Condition> {
        let found = self.query(query, Role::SubQuery)?;
        let first = found.first;
        let shape = &found.shape;
        let chosen = shape.having.is_some() || shape.offset.is_some() || shape.aggregate;
        if !is_one_table(&found) || chosen {
            self.nest(found, Role::SubQuery, false);
        }
        Ok(first.map_or(Condition::True, Condition::Exists))
    }

    /// The rows of a set operation.
    pub fn combined(
        &mut self,
        left: Found,
        right: Found,
        set: SetOperation,
        role: Role,
    ) -> Translated<Found> {
        let first = left.first.or(right.first);
        let pairs = left.outputs.iter().zip(&right.outputs);
        let pairs: Vec<(Output, Expr)> = pairs
            .map(|(one, two)| (one.clone(), two.value.clone()))
            .collect();
        let sides = vec![self.nest(left, role, false), self.nest(right, role, false)];
        let nested = self.add_nested(Nested {
            parts: Vec::new(),
            from: sides,
            outputs: Vec::new(),
            shape: Shape::default(),
            filter: Condition::True,
            role,
            scalar: false,
            set: Some(set),
        });
        let mut outputs = Vec::new();
        for (output, (left, right)) in (0..).zip(pairs) {
            outputs.push(Output {
                name: left.name,
                value: Expr::Nested {
                    nested,
                    output,
                    value: Box::new(self.arguments.unknown(vec![left.value, right])),
                },
            });
        }
        let joined = Joined {
            parts: Vec::new(),
            nested: vec![nested],
        };
        Ok(Found {
            outputs,
            shape: Shape::default(),
            first,
            joined,
        })
    }

    /// What an insert takes from a query: a value for each column.
    pub fn inserted(&mut self, query: &Query) -> Translated<Vec<Expr>> {
        let found = self.query(query, Role::From)?;
        let shape = &found.shape;
        let one = shape.aggregate && shape.group_by.is_empty() && shape.having.is_none();
        let cut = shape.limit.is_some() || shape.offset.is_some();
        let plain = shape.filter.is_none() && !shape.distinct && !cut;
        let outputs = match plain && (one || !makes_rows(shape)) {
            true => found.outputs,
            false => {
                let id = self.nest(found, Role::From, false);
                self.join_nested(id);
                self.outputs_of(id)
            }
        };
        Ok(outputs.into_iter().map(|output| output.value).collect())
    }

    fn nest(&mut self, found: Found, role: Role, scalar: bool) -> NestedId {
        self.add_nested(Nested {
            parts: found.joined.parts,
            from: found.joined.nested,
            outputs: found.outputs,
            shape: found.shape,
            filter: Condition::True,
            role,
            scalar,
            set: None,
        })
    }

    fn add_nested(&mut self, nested: Nested) -> NestedId {
        let id = NestedId(self.nested.len() as u32);
        self.nested.push(nested);
        id
    }

    fn outputs_of(&self, id: NestedId) -> Vec<Output> {
        let all = (0..).zip(&self.nested[id.0 as usize].outputs);
        all.map(|(output, inside)| Output {
            name: inside.name.clone(),
            value: Expr::Nested {
                nested: id,
                output,
                value: Box::new(inside.value.clone()),
            },
        })
        .collect()
    }

    pub fn join_part(&mut self, part: PartId) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.joined.parts.push(part);
        }
    }

    pub fn join_nested(&mut self, id: NestedId) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.joined.nested.push(id);
        }
    }

    pub fn clear_scope(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            *scope = super::scope::Scope::default();
        }
    }
}

/// Whether the rows of a query are others than those of its tables, joined.
fn makes_rows(shape: &Shape) -> bool {
    shape.aggregate
        || !shape.group_by.is_empty()
        || shape.having.is_some()
        || shape.limit.is_some()
        || shape.offset.is_some()
        || shape.filter.is_some()
}

fn is_one_table(found: &Found) -> bool {
    found.joined.parts.len() == 1 && found.joined.nested.is_empty()
}

pub(super) fn set_operation(kind: ast::SetOperator, quantifier: SetQuantifier) -> SetOperation {
    SetOperation {
        kind: match kind {
            ast::SetOperator::Union => SetKind::Union,
            ast::SetOperator::Intersect => SetKind::Intersect,
            ast::SetOperator::Except | ast::SetOperator::Minus => SetKind::Except,
        },
        all: matches!(quantifier, SetQuantifier::All | SetQuantifier::AllByName),
    }
}
