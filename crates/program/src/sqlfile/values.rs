//! What names stand for while a body is read.

use crate::expr::{Condition, Expr, ParameterId, Row, StatementId, UnknownId, Value, VariableId};
use crate::ir::{Statement, Transaction, Variable};
use crate::schema::Type;
use crate::sql::{Arguments, Placeholder};

/// Between the name of a row and of its column, once rewritten: `:line.item` cannot be parsed as a
/// placeholder, `:line__dot__item` can.
pub(crate) const DOT: &str = "__dot__";

/// A name that is bound to rows: by a loop over a query.
#[derive(Clone, Debug)]
pub(super) struct RowName {
    pub name: String,
    pub statement: StatementId,
    /// The names of its columns.
    pub columns: Vec<String>,
}

/// The names of a transaction.
#[derive(Default)]
pub(super) struct Names {
    pub parameters: Vec<String>,
    /// The parameters that are lists, by position.
    lists: Vec<usize>,
    pub variables: Vec<Variable>,
    pub rows: Vec<RowName>,
    /// The statement that `found` and `row_count` speak of, and whether it returns rows.
    pub last: Option<(StatementId, bool)>,
    pub unknown_next: u32,
    /// Whether a `?` was met, which has no meaning here.
    pub met_question_mark: bool,
    /// The name that had no meaning.
    pub not_found: Option<String>,
}

impl Names {
    pub fn new(transaction: &Transaction) -> Names {
        let parameters = transaction.parameters.iter();
        let lists = parameters.clone().enumerate();
        let lists = lists.filter(|(_, one)| one.ty == Type::List);
        Names {
            lists: lists.map(|(at, _)| at).collect(),
            parameters: parameters.map(|one| one.name.clone()).collect(),
            ..Names::default()
        }
    }

    /// The variable of that name, made if it is new. A parameter's name cannot be assigned.
    pub fn variable(&mut self, name: &str) -> VariableId {
        let same = |one: &Variable| one.name.eq_ignore_ascii_case(name);
        let at = self.variables.iter().position(same).unwrap_or_else(|| {
            self.variables.push(Variable {
                name: name.to_string(),
                ty: Type::Other,
            });
            self.variables.len() - 1
        });
        VariableId(at as u32)
    }

    pub fn is_parameter(&self, name: &str) -> bool {
        let mut parameters = self.parameters.iter();
        parameters.any(|one| one.eq_ignore_ascii_case(name))
    }

    /// Remembers what a statement gives.
    pub fn executed(&mut self, statement: &Statement) {
        self.last = Some((statement.id, !statement.outputs.is_empty()));
    }

    fn find(&self, name: &str) -> Option<Expr> {
        let same = |one: &str| one.eq_ignore_ascii_case(name);
        if let Some((row, column)) = name.split_once(DOT) {
            return self.field(row, column);
        }
        if let Some(at) = self.variables.iter().position(|one| same(&one.name)) {
            return Some(Expr::Variable(VariableId(at as u32)));
        }
        if let Some(at) = self.parameters.iter().position(|one| same(one)) {
            return Some(Expr::Parameter(ParameterId(at as u32)));
        }
        // The row of a query with one column is its value.
        let row = self.rows.iter().rev().find(|row| same(&row.name))?;
        match row.columns.as_slice() {
            [only] => self.field(&row.name, only),
            _ => None,
        }
    }

    fn field(&self, row: &str, column: &str) -> Option<Expr> {
        let same = |one: &&RowName| one.name.eq_ignore_ascii_case(row);
        let row = self.rows.iter().rev().find(same)?;
        let output = row
            .columns
            .iter()
            .position(|one| one.eq_ignore_ascii_case(column))?;
        Some(Expr::Field {
            statement: row.statement,
            row: Row::Cursor,
            output: output as u32,
        })
    }
}

impl Arguments for Names {
    fn value(&mut self, placeholder: &Placeholder) -> Option<Expr> {
        match placeholder {
            Placeholder::Named(name) => {
                let found = self.find(name);
                if found.is_none() {
                    self.not_found = Some(name.replace(DOT, "."));
                }
                found
            }
            Placeholder::Nth(_) => {
                self.met_question_mark = true;
                None
            }
            // $1 is the first parameter.
            Placeholder::Numbered(at) => {
                let known = *at < self.parameters.len();
                known.then_some(Expr::Parameter(ParameterId(*at as u32)))
            }
        }
    }

    fn is_single(&self, value: &Expr) -> bool {
        match value {
            Expr::Parameter(id) => !self.lists.contains(&(id.0 as usize)),
            Expr::Field { .. } => true,
            _ => false,
        }
    }

    fn word(&mut self, name: &str) -> Option<Expr> {
        let (last, returns) = match (name.to_ascii_lowercase().as_str(), self.last) {
            ("found" | "row_count", Some(last)) => last,
            _ => return self.find(name),
        };
        if name.eq_ignore_ascii_case("row_count") {
            return Some(Expr::RowCount(last));
        }
        let condition = match returns {
            true => Condition::HasRow {
                statement: last,
                row: Row::Nth(0),
            },
            false => Condition::compare(
                crate::expr::Comparison::Greater,
                Expr::RowCount(last),
                Expr::integer(0),
            ),
        };
        Some(Expr::If {
            condition: Box::new(condition),
            then: Box::new(Expr::Constant(Value::Boolean(true))),
            otherwise: Box::new(Expr::Constant(Value::Boolean(false))),
        })
    }

    fn unknown(&mut self, reads: Vec<Expr>) -> Expr {
        self.unknown_next += 1;
        Expr::Unknown {
            id: UnknownId(self.unknown_next - 1),
            reads,
        }
    }
}
