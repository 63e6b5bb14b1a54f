//! Result sets: walking through rows and taking their columns.

use super::condition::truth;
use super::env::Val;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Row, StatementId};
use crate::ir::Step;

impl<'a> Translator<'a> {
    pub fn rows_call(&mut self, node: &'a Node, id: StatementId, name: &str) -> Val {
        match name {
            "next" | "first" => {
                self.emit(Step::Advance(id));
                let row = Condition::HasRow {
                    statement: id,
                    row: Row::Cursor,
                };
                Val::Expr(truth(row))
            }
            "close" | "isClosed" | "getStatement" | "getMetaData" | "setFetchSize" => Val::Nothing,
            "wasNull" => Val::Expr(self.unknown(Vec::new())),
            // Asked before the first row is, this is whether there is one.
            "isBeforeFirst" => Val::Expr(truth(Condition::HasRow {
                statement: id,
                row: Row::Nth(0),
            })),
            "updateRow" | "insertRow" | "deleteRow" => {
                let assumed = "a row is changed through the result: that is left out";
                self.left_out(node, assumed, "Write it as a statement of its own.");
                Val::Nothing
            }
            _ if name.starts_with("get") => self.get(node, id),
            // What a row is to be set to, before `updateRow()`.
            _ if name.starts_with("update") || name.starts_with("moveTo") => Val::Nothing,
            _ => {
                self.note(
                    node,
                    "the place in the result is not followed",
                    "Use next() only.",
                );
                Val::Expr(self.unknown(Vec::new()))
            }
        }
    }

    fn get(&mut self, node: &'a Node, id: StatementId) -> Val {
        let column = self.nth(node, 0).map(|column| self.value(column));
        let column = column.unwrap_or(Val::Nothing);
        let names = self.outputs.get(&id.0).cloned().unwrap_or_default();
        let output = match (&column, column.integer()) {
            (_, Some(at)) => usize::try_from(at - 1).ok().filter(|at| *at < names.len()),
            (val, None) => val.text().and_then(|wanted| {
                let wanted = wanted.rsplit('.').next().unwrap_or(wanted);
                let same = |name: &String| name.eq_ignore_ascii_case(wanted);
                names.iter().position(same)
            }),
        };
        match output {
            Some(output) => Val::Expr(Expr::Field {
                statement: id,
                row: Row::Cursor,
                output: output as u32,
            }),
            None => {
                let known = !matches!(column, Val::Expr(Expr::Constant(_)));
                let (assumed, kind) = match known {
                    true => (
                        "which column is not known: taken for any value of the row",
                        crate::place::NoteKind::Value,
                    ),
                    false => (
                        "the statement has no such column: taken for any value",
                        crate::place::NoteKind::Statement,
                    ),
                };
                self.add_note(node, assumed, "Name the column by a constant.", kind);
                let field = |output| Expr::Field {
                    statement: id,
                    row: Row::Cursor,
                    output,
                };
                let reads = (0..names.len() as u32).map(field).collect();
                Val::Expr(self.unknown(reads))
            }
        }
    }
}
