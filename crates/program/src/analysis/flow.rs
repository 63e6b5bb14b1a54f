//! Which reads matter to the database: whose values flow into a later write, or decide about one.
//!
//! An anomaly is *internal* if every read on its cycle does, and *external* otherwise (Rahmani et
//! al., section 4.2): only the first leaves the database in a state that no serial order does. The
//! result of an update or a delete matters by itself.

use super::encode::expressions;
use crate::expr::{Condition, Expr, Row, StatementId};
use crate::ir::Transaction;
use crate::paths::Path;
use std::collections::BTreeSet;

/// What of a statement's result matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// The values.
    pub values: bool,
    /// Which rows there are, or how many.
    pub rows: bool,
}

/// For each statement of a transaction (in the order of the text), what of its result matters on
/// some path.
pub(super) fn uses(transaction: &Transaction, paths: &[Path]) -> Vec<Use> {
    let statements = transaction.statements();
    let mut uses: Vec<Use> = vec![Use::default(); statements.len()];
    for path in paths {
        for (position, used) in uses_of_path(path).into_iter().enumerate() {
            let origin = path.statements[position].origin;
            if let Some(at) = statements.iter().position(|one| one.id == origin) {
                uses[at].values |= used.values;
                uses[at].rows |= used.rows;
            }
        }
    }
    uses
}

fn uses_of_path(path: &Path) -> Vec<Use> {
    let mut uses: Vec<Use> = vec![Use::default(); path.statements.len()];
    let writes = |from: usize| path.statements[from..].iter().any(|s| s.is_write());
    // What decides about a later write, or is written; then what those read, and so on.
    let mut waiting: Vec<&Expr> = Vec::new();
    let mut conditions: Vec<&Condition> = Vec::new();
    for guard in &path.guards {
        if writes(guard.after.min(path.statements.len())) {
            waiting.extend(guard.condition.expressions());
            conditions.push(&guard.condition);
        }
    }
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for (position, statement) in path.statements.iter().enumerate() {
        if statement.is_write() {
            uses[position] = Use {
                values: true,
                rows: true,
            };
            seen.insert(position);
            waiting.extend(expressions(statement));
        }
    }
    while let Some(condition) = conditions.pop() {
        match condition {
            Condition::And(all) | Condition::Or(all) => conditions.extend(all),
            Condition::Not(inner) => conditions.push(inner),
            Condition::HasRow {
                statement,
                row: Row::Nth(_),
            } => mark_rows(&mut uses, *statement),
            _ => {}
        }
    }
    while let Some(expr) = waiting.pop() {
        for inside in expr.all() {
            let statement = match inside {
                Expr::Field { statement, .. } => *statement,
                Expr::RowCount(statement) => {
                    mark_rows(&mut uses, *statement);
                    continue;
                }
                _ => continue,
            };
            let at = statement.0 as usize;
            if at < uses.len() {
                uses[at].values = true;
                uses[at].rows = true;
            }
            // What this statement was looked up by matters as well.
            if at < path.statements.len() && seen.insert(at) {
                waiting.extend(expressions(&path.statements[at]));
            }
        }
    }
    uses
}

fn mark_rows(uses: &mut [Use], statement: StatementId) {
    if let Some(found) = uses.get_mut(statement.0 as usize) {
        found.rows = true;
    }
}
