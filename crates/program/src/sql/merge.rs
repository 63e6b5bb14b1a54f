//! MERGE of one row of values: an upsert, an insert that may find its row, or an update.

use super::ddl::object_name;
use super::scope::{Builder, Columns, Scope};
use crate::access::Reach;
use crate::expr::{Condition, Expr, PartId};
use crate::ir::{Action, Insert, OnConflict, Output, Role, Set};
use crate::place::ProgramError;
use crate::schema::{ColumnId, TableId};
use sqlparser::ast::{
    self, MergeAction, MergeClauseKind, MergeInsertKind, MergeUpdateKind, SetExpr, TableFactor,
};

type Translated<T> = Result<T, ProgramError>;

/// What the clauses of a merge do.
#[derive(Default)]
struct Clauses {
    /// With the row that is there.
    sets: Option<Vec<Set>>,
    /// The new row.
    values: Option<Vec<Set>>,
}

impl Builder<'_> {
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Translated<Vec<Output>> {
        let TableFactor::Table { name, alias, .. } = &merge.table else {
            return Err(self.unmerged("its target is not a table"));
        };
        let name = object_name(name);
        let table = self.table(&name)?;
        let part = self.add_part(table, Action::Update { sets: Vec::new() })?;
        let given = self.one_row(&merge.source)?;
        let alias = alias.as_ref().map(|alias| alias.name.value.clone());
        self.scopes.push(Scope::default());
        self.source(alias.unwrap_or(name), Columns::Table(part, table));
        self.source(given.0, Columns::Outputs(given.1));
        let on = self.condition(&merge.on)?;
        let clauses = self.clauses(merge, table)?;
        self.scopes.pop();
        self.parts[part.0 as usize].filter = on;
        match (clauses.values, clauses.sets) {
            (Some(values), sets) => self.merge_row(part, values, sets)?,
            (None, Some(sets)) => self.parts[part.0 as usize].action = Action::Update { sets },
            (None, None) => return Err(self.unmerged("it changes nothing")),
        }
        Ok(Vec::new())
    }

    fn unmerged(&self, why: &str) -> ProgramError {
        self.error(
            format!("this MERGE is not supported: {why}"),
            "A merge is read where it gives one row of values (`using (values (…)) as s (…)`, or a \
             select without tables) to a key, and updates or inserts that row; write others as an \
             update and an insert.",
        )
    }

    /// The name and the columns of a source that is one row of values.
    fn one_row(&mut self, source: &TableFactor) -> Translated<(String, Vec<Output>)> {
        let (subquery, alias) = match source {
            TableFactor::Derived {
                subquery, alias, ..
            } => (subquery, alias),
            // Oracle's table of one row that has nothing of interest.
            TableFactor::Table { name, .. } if is_dual(&object_name(name)) => {
                return Ok((object_name(name), Vec::new()));
            }
            _ => return Err(self.unmerged("its source is a table")),
        };
        let before = self.parts.len();
        let mut outputs = match &*subquery.body {
            SetExpr::Values(values) => {
                let [row] = values.rows.as_slice() else {
                    return Err(self.unmerged("its source has several rows"));
                };
                let mut outputs = Vec::new();
                for value in &row.content {
                    outputs.push(Output {
                        name: String::new(),
                        value: self.expr(value)?,
                    });
                }
                outputs
            }
            SetExpr::Select(select) if select.from.iter().all(is_from_dual) => {
                self.scopes.push(Scope::default());
                let outputs = self.outputs(&select.projection);
                self.scopes.pop();
                outputs?
            }
            _ => self.query(subquery, Role::From)?.outputs,
        };
        if self.parts.len() > before {
            return Err(self.unmerged("its source reads a table"));
        }
        let Some(alias) = alias else {
            return Ok((String::new(), outputs));
        };
        for (output, column) in outputs.iter_mut().zip(&alias.columns) {
            output.name.clone_from(&column.name.value);
        }
        Ok((alias.name.value.clone(), outputs))
    }

    fn clauses(&mut self, merge: &ast::Merge, table: TableId) -> Translated<Clauses> {
        let mut found = Clauses::default();
        for clause in &merge.clauses {
            if clause.predicate.is_some() {
                return Err(self.unmerged("a clause has a condition of its own"));
            }
            match (&clause.clause_kind, &clause.action) {
                (_, MergeAction::DoNothing { .. }) => {}
                (MergeClauseKind::Matched, MergeAction::Update(update)) => {
                    let MergeUpdateKind::Set(assignments) = &update.kind else {
                        return Err(self.unmerged("it updates all columns"));
                    };
                    if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                        return Err(self.unmerged("its update has a condition of its own"));
                    }
                    let sets = found.sets.get_or_insert_with(Vec::new);
                    for assignment in assignments {
                        sets.extend(self.assignment(assignment, table)?);
                    }
                }
                (
                    MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget,
                    MergeAction::Insert(insert),
                ) => {
                    if insert.insert_predicate.is_some() {
                        return Err(self.unmerged("its insert has a condition of its own"));
                    }
                    found.values = Some(self.merged_values(insert, table)?);
                }
                _ => return Err(self.unmerged("it does more than update or insert a row")),
            }
        }
        Ok(found)
    }

    fn merged_values(
        &mut self,
        insert: &ast::MergeInsertExpr,
        table: TableId,
    ) -> Translated<Vec<Set>> {
        let MergeInsertKind::Values(values) = &insert.kind else {
            return Err(self.unmerged("it inserts whole rows"));
        };
        let [row] = values.rows.as_slice() else {
            return Err(self.unmerged("it inserts several rows"));
        };
        let mut columns: Vec<ColumnId> = Vec::new();
        for name in &insert.columns {
            columns.push(self.target(table, &object_name(name))?);
        }
        if columns.is_empty() {
            columns.extend(self.schema.table(table).column_ids());
        }
        if row.content.len() > columns.len() {
            let problem = format!("{} values for {} columns", row.content.len(), columns.len());
            return Err(self.error(problem, "Name the columns, or drop values."));
        }
        let mut sets = Vec::new();
        for (column, value) in columns.into_iter().zip(&row.content) {
            let value = self.expr(value)?;
            sets.push(Set { column, value });
        }
        Ok(sets)
    }

    /// The new row, and what becomes of one with its key: the condition of the merge must be that
    /// key, with the values of the new row.
    fn merge_row(
        &mut self,
        part: PartId,
        values: Vec<Set>,
        sets: Option<Vec<Set>>,
    ) -> Translated<()> {
        let known = &self.parts[part.0 as usize];
        let keyed = matches!(known.reach(self.schema), Reach::Key(_) | Reach::Unique(_));
        let bindings = known.bindings();
        let is_given = |column: ColumnId, value: &Expr| {
            let mut values = values.iter();
            values.any(|set| set.column == column && set.value == *value)
        };
        let mut bound = bindings.iter();
        let same = bound.all(|bound| is_given(bound.column, bound.value));
        let only = known.filter.conjuncts().len() == bindings.len();
        if !keyed || !same || !only {
            return Err(self.unmerged("ON is not just the key of the row that it inserts"));
        }
        let row = Insert {
            values,
            on_conflict: sets.map_or(OnConflict::Ignore, OnConflict::Update),
            from_select: false,
        };
        let part = &mut self.parts[part.0 as usize];
        part.filter = Condition::True;
        part.action = Action::Insert(row);
        Ok(())
    }
}

fn is_dual(name: &str) -> bool {
    let bare = name.rsplit('.').next().unwrap_or(name);
    bare.eq_ignore_ascii_case("dual") || bare.eq_ignore_ascii_case("sysdummy1")
}

fn is_from_dual(from: &ast::TableWithJoins) -> bool {
    let dual =
        matches!(&from.relation, TableFactor::Table { name, .. } if is_dual(&object_name(name)));
    dual && from.joins.is_empty()
}
