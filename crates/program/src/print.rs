//! Programs as text, for people and for tests.
//!
//! A statement is `s1`, its rows `s1[0]`, `s1[1]`, … (`s1[*]` where the cursor stands); in a
//! statement with several parts a column is `t2.name`, of part 2. Unknowns are `any1`, ….

use crate::expr::{Aggregate, Comparison, Condition, Expr, Operator, Row, StatementId, Value};
use crate::ir::{
    Action, Lock, OnConflict, Part, Program, Repeat, Role, Set, Statement, Step, Transaction,
};
use crate::paths::{End, Path};
use crate::schema::Schema;
use std::fmt::{self, Write};

/// Writes what belongs to one transaction.
pub struct Printer<'a> {
    schema: &'a Schema,
    transaction: &'a Transaction,
    statements: Vec<&'a Statement>,
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.schema)?;
        for transaction in &self.transactions {
            let printer = Printer::new(&self.schema, transaction);
            write!(out, "\n{}", printer.transaction())?;
        }
        for note in &self.notes {
            write!(out, "\nnote: {note}")?;
        }
        Ok(())
    }
}

impl<'a> Printer<'a> {
    /// For the body of a transaction.
    pub fn new(schema: &'a Schema, transaction: &'a Transaction) -> Printer<'a> {
        Printer {
            schema,
            transaction,
            statements: transaction.statements(),
        }
    }

    /// For a path of a transaction.
    pub fn of_path(schema: &'a Schema, transaction: &'a Transaction, path: &'a Path) -> Self {
        Printer {
            schema,
            transaction,
            statements: path.statements.iter().collect(),
        }
    }

    /// The whole transaction.
    pub fn transaction(&self) -> String {
        let parameters = self.transaction.parameters.iter();
        let parameters: Vec<String> = parameters.map(|p| format!("{} {}", p.name, p.ty)).collect();
        let mut out = format!("{}({})", self.transaction.name, parameters.join(", "));
        if self.transaction.count > 1 {
            let _ = write!(out, " × {}", self.transaction.count);
        }
        out.push('\n');
        self.steps(&self.transaction.body, 1, &mut out);
        out
    }

    /// A path: its guards where they stand, its statements, its end.
    pub fn path(&self, path: &Path) -> String {
        let mut out = String::new();
        for (index, statement) in path.statements.iter().enumerate() {
            self.guards(path, index, &mut out);
            let _ = writeln!(out, "  {}", self.statement(statement));
        }
        self.guards(path, path.statements.len(), &mut out);
        let end = match path.end {
            End::Commit => "commit",
            End::Abort => "abort",
        };
        let cut = if path.cut { " (a loop was cut)" } else { "" };
        let _ = writeln!(out, "  {end}{cut}");
        out
    }

    fn guards(&self, path: &Path, after: usize, out: &mut String) {
        for guard in path.guards.iter().filter(|guard| guard.after == after) {
            let _ = writeln!(out, "  when {}", self.condition(&guard.condition, None));
        }
    }

    fn steps(&self, steps: &[Step], depth: usize, out: &mut String) {
        for step in steps {
            self.step(step, depth, out);
        }
    }

    fn step(&self, step: &Step, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        let mut line = |text: String| {
            let _ = writeln!(out, "{indent}{text}");
        };
        match step {
            Step::Execute(statement) => line(self.statement(statement)),
            Step::Advance(statement) => line(format!("advance {}", name(*statement))),
            Step::Let { variable, value } => {
                let variable = self.expr(&Expr::Variable(*variable), None);
                line(format!("{variable} := {}", self.expr(value, None)));
            }
            Step::Push { variable, value } => {
                let variable = self.expr(&Expr::Variable(*variable), None);
                line(format!("push {} to {variable}", self.expr(value, None)));
            }
            Step::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                line(format!("if {}", self.condition(condition, None)));
                self.steps(then, depth + 1, out);
                if !otherwise.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    self.steps(otherwise, depth + 1, out);
                }
            }
            Step::Loop {
                label,
                repeat,
                body,
                ..
            } => {
                line(format!("{} #{}", self.repeat(repeat), label.0));
                if let Repeat::While { before, .. } = repeat {
                    self.steps(before, depth + 2, out);
                }
                self.steps(body, depth + 1, out);
            }
            Step::Block { label, body } => {
                line(format!("block #{}", label.0));
                self.steps(body, depth + 1, out);
            }
            Step::Break(label) => line(format!("break #{}", label.0)),
            Step::Abort { .. } => line("abort".to_string()),
            Step::Commit => line("commit".to_string()),
        }
    }

    fn repeat(&self, repeat: &Repeat) -> String {
        match repeat {
            Repeat::While { condition, .. } => format!("while {}", self.condition(condition, None)),
            Repeat::Rows(statement) => format!("for each row of {}", name(*statement)),
            Repeat::Elements { list, variable } => {
                let variable = self.expr(&Expr::Variable(*variable), None);
                format!("for each {variable} of {}", self.expr(list, None))
            }
        }
    }

    /// A statement on one line.
    pub fn statement(&self, statement: &Statement) -> String {
        let mut out = format!("{} = ", name(statement.id));
        let parts: Vec<String> = statement
            .parts
            .iter()
            .map(|part| self.part(part, statement))
            .collect();
        out.push_str(&parts.join(" + "));
        if !statement.outputs.is_empty() {
            let output = |value: &Expr| self.expr(value, Some(statement));
            let outputs: Vec<String> = statement.outputs.iter().map(|o| output(&o.value)).collect();
            let _ = write!(out, " -> ({})", outputs.join(", "));
        }
        let shape = &statement.shape;
        if let Some(having) = &shape.having {
            let _ = write!(out, " having {}", self.condition(having, Some(statement)));
        }
        for order in &shape.order_by {
            let way = if order.descending { " desc" } else { "" };
            let _ = write!(
                out,
                " order by {}{way}",
                self.expr(&order.value, Some(statement))
            );
        }
        if let Some(limit) = &shape.limit {
            let _ = write!(out, " limit {}", self.expr(limit, None));
        }
        if let Some(offset) = &shape.offset {
            let _ = write!(out, " offset {}", self.expr(offset, None));
        }
        out
    }

    fn part(&self, part: &Part, statement: &Statement) -> String {
        let table = self.schema.table_name(part.table);
        let filter = match part.filter {
            Condition::True => String::new(),
            _ => format!(" where {}", self.condition(&part.filter, Some(statement))),
        };
        match &part.action {
            Action::Select(select) => {
                let columns: Vec<&str> = select
                    .columns
                    .iter()
                    .map(|column| self.column(part, column.index()))
                    .collect();
                let verb = match select.role {
                    Role::From => "select",
                    Role::Outer => "outer select",
                    Role::SubQuery => "sub-select",
                };
                let lock = match select.lock {
                    Lock::None => "",
                    Lock::Share => " for share",
                    Lock::Update => " for update",
                };
                format!("{verb} {{{}}} of {table}{filter}{lock}", columns.join(", "))
            }
            Action::Update { sets } => {
                let sets = self.sets(sets, part, statement);
                format!("update {table} set {sets}{filter}")
            }
            Action::Insert(insert) => {
                let values = self.sets(&insert.values, part, statement);
                let conflict = match &insert.on_conflict {
                    OnConflict::Fail => String::new(),
                    OnConflict::Ignore => " or ignore".to_string(),
                    OnConflict::Replace => " or replace".to_string(),
                    OnConflict::Update(sets) => {
                        format!(" or set {}", self.sets(sets, part, statement))
                    }
                };
                format!("insert {table} {{{values}}}{conflict}")
            }
            Action::Delete => format!("delete {table}{filter}"),
        }
    }

    fn column(&self, part: &Part, index: usize) -> &str {
        let table = self.schema.tables.get(part.table.index());
        let column = table.and_then(|table| table.columns.get(index));
        column.map_or("?", |column| column.name.as_str())
    }

    fn sets(&self, sets: &[Set], part: &Part, statement: &Statement) -> String {
        let set = |set: &Set| {
            let column = self.column(part, set.column.index());
            format!("{column} = {}", self.expr(&set.value, Some(statement)))
        };
        sets.iter().map(set).collect::<Vec<String>>().join(", ")
    }

    fn list(&self, all: &[Expr], within: Option<&Statement>) -> String {
        let all = all.iter().map(|one| self.expr(one, within));
        all.collect::<Vec<String>>().join(", ")
    }

    /// An expression; columns are those of the statement it stands in.
    pub fn expr(&self, expr: &Expr, within: Option<&Statement>) -> String {
        let inner = |one: &Expr| self.expr(one, within);
        match expr {
            Expr::Constant(value) => constant(value),
            Expr::Parameter(id) => match self.transaction.parameters.get(id.0 as usize) {
                Some(parameter) => parameter.name.clone(),
                None => format!("parameter{}", id.0),
            },
            Expr::Variable(id) => match self.transaction.variables.get(id.0 as usize) {
                Some(variable) => variable.name.clone(),
                None => format!("variable{}", id.0),
            },
            Expr::Column { part, column } => {
                let parts = within.map_or(&[][..], |statement| &statement.parts);
                let found = parts.iter().find(|known| known.id == *part);
                let column = found.map_or("?", |found| self.column(found, column.index()));
                match parts.len() {
                    0 | 1 => column.to_string(),
                    _ => format!("t{}.{column}", part.0 + 1),
                }
            }
            Expr::Field {
                statement,
                row,
                output,
            } => {
                let found = self.statements.iter().find(|known| known.id == *statement);
                let output = *output as usize;
                let output = match found.and_then(|found| found.outputs.get(output)) {
                    Some(output) => output.name.clone(),
                    None => (output + 1).to_string(),
                };
                format!("{}[{}].{output}", name(*statement), place_of(*row))
            }
            Expr::RowCount(statement) => format!("count({})", name(*statement)),
            Expr::Arithmetic {
                operator,
                left,
                right,
            } => format!("({} {} {})", inner(left), symbol(*operator), inner(right)),
            Expr::Aggregate {
                function,
                argument,
                distinct,
            } => {
                let distinct = if *distinct { "distinct " } else { "" };
                let argument = argument
                    .as_ref()
                    .map_or_else(|| "*".to_string(), |a| inner(a));
                format!("{}({distinct}{argument})", aggregate(*function))
            }
            Expr::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.condition(condition, within);
                format!("({condition} ? {} : {})", inner(then), inner(otherwise))
            }
            Expr::List(all) => format!("[{}]", self.list(all, within)),
            Expr::Element { list, index } => format!("{}[{}]", inner(list), inner(index)),
            Expr::Size(list) => format!("size({})", inner(list)),
            Expr::Call { name, arguments } => {
                format!("{name}({})", self.list(arguments, within))
            }
            Expr::Nested { value, .. } => inner(value),
            Expr::Unknown { id, reads } => unknown(id.0, self.list(reads, within)),
        }
    }

    /// A condition; columns are those of the statement it stands in.
    pub fn condition(&self, condition: &Condition, within: Option<&Statement>) -> String {
        let expr = |one: &Expr| self.expr(one, within);
        let joined = |all: &[Condition], by: &str| {
            let all = all.iter().map(|one| self.condition(one, within));
            format!("({})", all.collect::<Vec<String>>().join(by))
        };
        match condition {
            Condition::True => "true".to_string(),
            Condition::False => "false".to_string(),
            Condition::Compare {
                comparison,
                left,
                right,
            } => format!("{} {} {}", expr(left), sign(*comparison), expr(right)),
            Condition::IsNull(value) => format!("{} is null", expr(value)),
            Condition::In { value, members } => {
                format!("{} in ({})", expr(value), self.list(members, within))
            }
            Condition::Between { value, low, high } => {
                format!("{} between {} and {}", expr(value), expr(low), expr(high))
            }
            Condition::Like { value, pattern } => {
                format!("{} like {}", expr(value), expr(pattern))
            }
            Condition::Exists(part) => format!("exists t{}", part.0 + 1),
            Condition::HasRow { statement, row } => {
                format!("row {}[{}]", name(*statement), place_of(*row))
            }
            Condition::And(all) => joined(all, " and "),
            Condition::Or(all) => joined(all, " or "),
            Condition::Not(inner) => format!("not ({})", self.condition(inner, within)),
            Condition::Unknown { id, reads } => unknown(id.0, self.list(reads, within)),
        }
    }
}

fn name(id: StatementId) -> String {
    format!("s{}", id.0 + 1)
}

fn unknown(id: u32, reads: String) -> String {
    match reads.is_empty() {
        true => format!("any{}", id + 1),
        false => format!("any{}({reads})", id + 1),
    }
}

fn place_of(row: Row) -> String {
    match row {
        Row::Nth(row) => row.to_string(),
        Row::Cursor => "*".to_string(),
    }
}

fn constant(value: &Value) -> String {
    value.to_string()
}

impl fmt::Display for Value {
    /// As a literal of SQL.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("null"),
            Value::Boolean(value) => write!(out, "{value}"),
            Value::Integer(value) => write!(out, "{value}"),
            Value::Real(value) => write!(out, "{value:?}"),
            Value::Text(value) => write!(out, "'{}'", value.replace('\'', "''")),
            Value::List(values) => {
                let all: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(out, "({})", all.join(", "))
            }
        }
    }
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
        Operator::Concatenate => "||",
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn aggregate(function: Aggregate) -> &'static str {
    match function {
        Aggregate::Count => "count",
        Aggregate::Sum => "sum",
        Aggregate::Min => "min",
        Aggregate::Max => "max",
        Aggregate::Average => "avg",
    }
}
