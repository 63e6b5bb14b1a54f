//! Changes of a program that make a read hold its row.
//!
//! `select … for update` holds the rows it finds until the transaction ends. Where that is not
//! enough (on a snapshot, a row that was held but not changed can be changed by the next), the read
//! is followed by an update that sets a column to itself.

use crate::expr::{Expr, StatementId};
use crate::ir::{
    Action, Argument, Lock, Part, Program, Repeat, Role, Select, Set, Statement, Step,
};
use crate::place::Place;
use crate::schema::ColumnId;

/// How a read is made to hold its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// `for update` at the end of the select.
    ForUpdate,
    /// An update behind the select that sets a column to itself.
    IdentityUpdate,
}

/// A read to be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Promotion {
    /// The position in [`Program::transactions`].
    pub transaction: usize,
    /// The statement, by its number in the body.
    pub statement: StatementId,
    /// Where it stands.
    pub place: Place,
    /// How it is changed.
    pub change: Change,
    /// The statement as it is.
    pub before: String,
    /// What it becomes; of an identity update: the statement to add behind it.
    pub after: String,
}

/// The program with one read changed; none where the statement is not a plain select of one table.
pub(super) fn promote(
    program: &Program,
    transaction: usize,
    statement: StatementId,
    change: Change,
) -> Option<(Program, Promotion)> {
    let mut changed = program.clone();
    let body = &mut changed.transactions.get_mut(transaction)?.body;
    let next = next_id(body);
    let (steps, at) = find(body, statement)?;
    let Step::Execute(found) = &mut steps[at] else {
        return None;
    };
    let before = found.sql.clone();
    let place = found.place.clone();
    let after = match change {
        Change::ForUpdate => {
            let select = select_of(found)?;
            select.lock = Lock::Update;
            found.sql = format!("{} for update", found.sql.trim_end().trim_end_matches(';'));
            found.sql.clone()
        }
        Change::IdentityUpdate => {
            let update = identity(program, found, next)?;
            let sql = update.sql.clone();
            steps.insert(at + 1, Step::Execute(update));
            sql
        }
    };
    let promotion = Promotion {
        transaction,
        statement,
        place,
        change,
        before,
        after,
    };
    Some((changed, promotion))
}

/// The select of a statement that `for update` can be added to.
fn select_of(statement: &mut Statement) -> Option<&mut Select> {
    let shape = &statement.shape;
    let nested = !statement.nested.is_empty();
    if nested || shape.aggregate || shape.distinct || !shape.group_by.is_empty() {
        return None;
    }
    match statement.parts.as_mut_slice() {
        [
            Part {
                action: Action::Select(select),
                ..
            },
        ] if select.lock == Lock::None && select.role == Role::From => Some(select),
        _ => None,
    }
}

/// `update t set c = c where …` with the condition of a select.
fn identity(program: &Program, select: &Statement, id: StatementId) -> Option<Statement> {
    let mut copy = select.clone();
    select_of(&mut copy)?;
    let part = copy.parts.first_mut()?;
    let table = program.schema.table(part.table);
    let free = |column: &ColumnId| !table.primary_key.contains(column);
    let column = table.column_ids().find(free)?;
    part.action = Action::Update {
        sets: vec![Set {
            column,
            value: Expr::Column {
                part: part.id,
                column,
            },
        }],
    };
    let lower = select.sql.to_ascii_lowercase();
    let start = lower.find(" where ")?;
    let ends = [" order by ", " limit ", " for "];
    let end = ends.iter().filter_map(|end| lower[start..].find(end)).min();
    let condition = &select.sql[start..end.map_or(select.sql.len(), |end| start + end)];
    let name = table.column_name(column);
    copy.sql = format!("update {} set {name} = {name}{condition}", table.name);
    copy.arguments = arguments_after(&select.sql[..start], &select.arguments);
    (copy.id, copy.origin) = (id, id);
    copy.outputs.clear();
    copy.shape = Box::default();
    Some(copy)
}

/// The arguments whose placeholders do not stand in the text given.
fn arguments_after(text: &str, arguments: &[Argument]) -> Vec<Argument> {
    let mut rest = text;
    let mut left = arguments;
    while let [first, others @ ..] = left {
        let Some(at) = rest.find(first.placeholder.as_str()) else {
            break;
        };
        rest = &rest[at + first.placeholder.len()..];
        left = others;
    }
    left.to_vec()
}

fn next_id(body: &[Step]) -> StatementId {
    let mut next = 0;
    let mut waiting: Vec<&Step> = body.iter().collect();
    while let Some(step) = waiting.pop() {
        if let Step::Execute(statement) = step {
            next = next.max(statement.id.0 + 1);
        }
        waiting.extend(step.inner());
    }
    StatementId(next)
}

/// The list of steps that a statement is in, and its position there.
fn find(body: &mut Vec<Step>, wanted: StatementId) -> Option<(&mut Vec<Step>, usize)> {
    let mut waiting: Vec<&mut Vec<Step>> = vec![body];
    while let Some(steps) = waiting.pop() {
        let is = |step: &Step| matches!(step, Step::Execute(found) if found.id == wanted);
        if let Some(at) = steps.iter().position(is) {
            return Some((steps, at));
        }
        for step in steps {
            match step {
                Step::If {
                    then, otherwise, ..
                } => waiting.extend([then, otherwise]),
                Step::Loop { repeat, body, .. } => {
                    if let Repeat::While { before, .. } = repeat {
                        waiting.push(before);
                    }
                    waiting.push(body);
                }
                Step::Block { body, .. } => waiting.push(body),
                _ => {}
            }
        }
    }
    None
}
