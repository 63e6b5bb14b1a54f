//! Which reads matter to the database: whose values flow into a write, or decide about one.
//!
//! Definition: an anomaly is *internal* if every read on its cycle matters, and *external* otherwise
//! (Rahmani et al., section 4.2): only the first leaves the database in a state that no serial order
//! does. What an update or a delete reads matters by itself. Of a select, a column of its result
//! matters if it flows into something written, into what finds the rows of a write or of another read that
//! matters, or into a condition that a write depends on; its *rows* (which there are, and how many) matter
//! if some column does, or if such a condition asks for them.
//! Steps: on each path, from the writes and the conditions backwards. A write depends on the
//! conditions before it; and where the transaction aborts after it, on all of them.
//! Where we differ: the paper speaks of whole reads. Here a column that nobody uses does not matter
//! beside one that somebody does.

use super::conflict::Conflict;
use super::encode::expressions;
use crate::expr::{Condition, Expr, StatementId};
use crate::ir::Transaction;
use crate::paths::{End, Path};
use std::collections::BTreeSet;

/// What of a statement's result matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// Whether it writes: then all that it reads does.
    pub writes: bool,
    /// The columns of the result, by position.
    pub outputs: BTreeSet<u32>,
    /// Which rows there are, or how many.
    pub rows: bool,
}

impl Use {
    /// Whether what a statement reads there matters.
    pub fn matters(&self, conflict: &Conflict) -> bool {
        let chosen = conflict.exists || conflict.chooses;
        self.writes || !self.outputs.is_disjoint(&conflict.outputs) || (self.rows && chosen)
    }

    fn add(&mut self, other: Use) {
        self.writes |= other.writes;
        self.outputs.extend(other.outputs);
        self.rows |= other.rows;
    }
}

/// For each statement of a transaction (in the order of the text), what of its result matters on
/// some path.
pub(super) fn uses(transaction: &Transaction, paths: &[Path]) -> Vec<Use> {
    let statements = transaction.statements();
    let mut uses: Vec<Use> = vec![Use::default(); statements.len()];
    for path in paths {
        let found = Backwards::uses(path);
        for (statement, used) in path.statements.iter().zip(found) {
            let origin = statement.origin;
            if let Some(at) = statements.iter().position(|one| one.id == origin) {
                uses[at].add(used);
            }
        }
    }
    uses
}

/// What matters on a path, found from its end.
struct Backwards<'a> {
    path: &'a Path,
    uses: Vec<Use>,
    /// What matters, and was not looked into yet.
    expressions: Vec<&'a Expr>,
    conditions: Vec<&'a Condition>,
}

impl<'a> Backwards<'a> {
    fn uses(path: &'a Path) -> Vec<Use> {
        let mut found = Backwards {
            path,
            uses: vec![Use::default(); path.statements.len()],
            expressions: Vec::new(),
            conditions: Vec::new(),
        };
        let writes = |from: usize| path.statements[from..].iter().any(|s| s.is_write());
        for guard in &path.guards {
            let from = match path.end {
                End::Commit => guard.after.min(path.statements.len()),
                End::Abort => 0,
            };
            if writes(from) {
                found.conditions.push(&guard.condition);
            }
        }
        for (position, statement) in path.statements.iter().enumerate() {
            if statement.is_write() {
                found.uses[position].writes = true;
                found.rows(StatementId(position as u32));
            }
        }
        while found.step() {}
        found.uses
    }

    /// Looks into one thing that matters; whether there was one.
    fn step(&mut self) -> bool {
        if let Some(condition) = self.conditions.pop() {
            self.expressions.extend(condition.expressions());
            match condition {
                Condition::And(all) | Condition::Or(all) => self.conditions.extend(all),
                Condition::Not(inner) => self.conditions.push(inner),
                Condition::HasRow { statement, .. } => self.rows(*statement),
                _ => {}
            }
            return true;
        }
        let Some(expr) = self.expressions.pop() else {
            return false;
        };
        for inside in expr.all() {
            match inside {
                Expr::Field {
                    statement, output, ..
                } => {
                    if let Some(used) = self.uses.get_mut(statement.0 as usize) {
                        used.outputs.insert(*output);
                    }
                    self.rows(*statement);
                }
                Expr::RowCount(statement) => self.rows(*statement),
                // A value that is chosen by whether a row was found.
                Expr::If { condition, .. } => self.conditions.push(condition),
                _ => {}
            }
        }
        true
    }

    /// The rows of a statement matter: so does what they were looked up by.
    fn rows(&mut self, statement: StatementId) {
        let at = statement.0 as usize;
        let (path, Some(used)) = (self.path, self.uses.get_mut(at)) else {
            return;
        };
        if !std::mem::replace(&mut used.rows, true) {
            self.expressions.extend(expressions(&path.statements[at]));
        }
    }
}
