//! INSERT, UPDATE and DELETE, and what each SQL text is.

use super::ddl::object_name;
use super::parse::is_upsert;
use super::scope::{Builder, Columns, Scope};
use super::{Arguments, Sql};
use crate::expr::{Condition, Expr, PartId, StatementId};
use crate::ir::{Action, Insert, OnConflict, Output, Role, Set, Shape, Statement};
use crate::place::{Note, Place, ProgramError};
use crate::schema::{ColumnId, Schema, TableId};
use sqlparser::ast::{
    self, Assignment, AssignmentTarget, FromTable, OnConflictAction, OnInsert, SelectItem, SetExpr,
    SqliteOnConflict, TableObject, TableWithJoins, UpdateTableFromKind,
};

type Translated<T> = Result<T, ProgramError>;

/// What a parsed text is.
pub(super) fn read(
    schema: &Schema,
    parsed: &ast::Statement,
    sql: &str,
    place: &Place,
    id: StatementId,
    arguments: &mut dyn Arguments,
    notes: &mut Vec<Note>,
) -> Translated<Sql> {
    use ast::Statement as S;
    let mut builder = Builder::new(schema, sql, place, arguments, notes);
    let (outputs, shape) = match parsed {
        S::Query(query) => {
            let found = builder.query(query, Role::From)?;
            (found.outputs, found.shape)
        }
        S::Insert(insert) => (builder.insert(insert)?, Shape::default()),
        S::Update(update) => (builder.update(update)?, Shape::default()),
        S::Delete(delete) => (builder.delete(delete)?, Shape::default()),
        S::Merge(merge) => (builder.merge(merge)?, Shape::default()),
        S::Truncate(truncate) => {
            for target in &truncate.table_names {
                let table = builder.table(&object_name(&target.name))?;
                builder.add_part(table, Action::Delete)?;
            }
            (Vec::new(), Shape::default())
        }
        S::StartTransaction { .. } => return Ok(Sql::Begin),
        S::Commit { .. } => return Ok(Sql::Commit),
        S::Rollback { savepoint, .. } => {
            return Ok(match savepoint {
                None => Sql::Rollback,
                Some(_) => {
                    builder.note(sql, "what was done since the savepoint is taken for done");
                    Sql::Ignored
                }
            });
        }
        S::Set(_) => return Ok(level(sql)),
        S::Savepoint { .. }
        | S::ReleaseSavepoint { .. }
        | S::Explain { .. }
        | S::ExplainTable { .. }
        | S::Use(_)
        | S::Analyze(_)
        | S::Deallocate { .. }
        | S::Reset(_)
        | S::Discard { .. }
        | S::ShowVariable { .. }
        | S::ShowVariables { .. }
        | S::Vacuum(_) => return Ok(Sql::Ignored),
        S::Lock(_) | S::LockTables { .. } => {
            builder.note(sql, "table locks are not modelled");
            return Ok(Sql::Ignored);
        }
        other => {
            let text = other.to_string();
            let verb = text.split_whitespace().next().unwrap_or("it");
            return Err(builder.unsupported(verb));
        }
    };
    let statement: Statement = builder.finish(id, outputs, shape);
    Ok(Sql::Data(Box::new(statement)))
}

/// `set transaction isolation level …`, `set session characteristics …`.
fn level(sql: &str) -> Sql {
    let text = sql.to_ascii_lowercase();
    match text.find("isolation level") {
        Some(at) => {
            let rest = text[at + "isolation level".len()..].trim();
            Sql::Level(rest.trim_end_matches(';').trim().to_string())
        }
        None => Sql::Ignored,
    }
}

impl Builder<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Translated<Vec<Output>> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(self.unsupported("an insert into something other than a table"));
        };
        let table = self.table(&object_name(name))?;
        let columns = self.insert_columns(insert, table)?;
        let mut rows: Vec<Vec<Set>> = Vec::new();
        let mut from_select = false;
        self.scopes.push(Scope::default());
        let rows_of = |columns: &[Option<ColumnId>], values: Vec<Expr>| -> Vec<Set> {
            let pairs = columns.iter().copied().zip(values);
            pairs
                .filter_map(|(column, value)| column.map(|column| Set { column, value }))
                .collect()
        };
        match insert.source.as_deref() {
            Some(query) => match &*query.body {
                SetExpr::Values(values) => {
                    for row in &values.rows {
                        let values = self.row_values(&row.content, &columns)?;
                        rows.push(rows_of(&columns, values));
                    }
                }
                _ => {
                    from_select = true;
                    let values = self.inserted(query)?;
                    rows.push(rows_of(&columns, values));
                }
            },
            // MySQL: insert into t set a = 1.
            None => {
                let mut sets = Vec::new();
                for assignment in &insert.assignments {
                    sets.extend(self.assignment(assignment, table)?);
                }
                rows.push(sets);
            }
        }
        let mut last = None;
        for values in rows {
            last = Some(self.insert_row(insert, table, values, from_select)?);
        }
        self.scopes.pop();
        match last {
            Some(part) => self.returning(&insert.returning, part, table),
            None => Ok(Vec::new()),
        }
    }

    fn insert_columns(
        &mut self,
        insert: &ast::Insert,
        table: TableId,
    ) -> Translated<Vec<Option<ColumnId>>> {
        // A column that is not there keeps its place among the values.
        if insert.columns.is_empty() {
            return Ok(self.schema.table(table).column_ids().map(Some).collect());
        }
        let mut columns = Vec::new();
        for name in insert.columns.iter().map(object_name) {
            columns.push(match self.target(table, &name) {
                Ok(column) => Some(column),
                Err(error) => {
                    self.missing(error)?;
                    None
                }
            });
        }
        Ok(columns)
    }

    /// The values of one row; `default` is left out of the row by being the column itself.
    fn row_values(
        &mut self,
        row: &[ast::Expr],
        columns: &[Option<ColumnId>],
    ) -> Translated<Vec<Expr>> {
        if row.len() > columns.len() {
            let problem = format!("{} values for {} columns", row.len(), columns.len());
            let error = self.error(problem, "Name the columns, or drop values.");
            self.missing(error)?;
        }
        let mut values = Vec::new();
        for value in row {
            let text = value.to_string();
            values.push(match text.eq_ignore_ascii_case("default") {
                true => self.arguments.unknown(Vec::new()),
                false => self.expr(value)?,
            });
        }
        Ok(values)
    }

    fn insert_row(
        &mut self,
        insert: &ast::Insert,
        table: TableId,
        values: Vec<Set>,
        from_select: bool,
    ) -> Translated<PartId> {
        let on_conflict = match insert {
            _ if insert.replace_into || insert.or == Some(SqliteOnConflict::Replace) => {
                OnConflict::Replace
            }
            _ if insert.ignore || insert.or == Some(SqliteOnConflict::Ignore) => OnConflict::Ignore,
            _ => OnConflict::Fail,
        };
        let given = values.clone();
        let row = Insert {
            values,
            on_conflict,
            from_select,
        };
        let part = self.add_part(table, Action::Insert(row))?;
        let Some(on) = &insert.on else {
            if is_upsert(self.sql) {
                let key = &self.schema.table(table).primary_key;
                let sets = given.into_iter().filter(|set| !key.contains(&set.column));
                self.set_conflict(part, OnConflict::Update(sets.collect()));
            }
            return Ok(part);
        };
        let mut only_where = None;
        let assignments = match on {
            OnInsert::DuplicateKeyUpdate(assignments) => assignments,
            OnInsert::OnConflict(conflict) => match &conflict.action {
                OnConflictAction::DoNothing => {
                    self.set_conflict(part, OnConflict::Ignore);
                    return Ok(part);
                }
                OnConflictAction::DoUpdate(update) => {
                    only_where = update.selection.as_ref();
                    &update.assignments
                }
            },
            _ => return Err(self.unsupported("this ON clause")),
        };
        self.conflict_scope(part, table, &given);
        let mut sets = Vec::new();
        for assignment in assignments {
            sets.extend(self.assignment(assignment, table)?);
        }
        if let Some(condition) = only_where {
            let condition = self.condition(condition)?;
            self.only_where(part, &condition, &mut sets);
        }
        self.scopes.pop();
        self.set_conflict(part, OnConflict::Update(sets));
        Ok(part)
    }

    /// The row stays as it is where the condition of an upsert does not hold.
    fn only_where(&mut self, part: PartId, condition: &Condition, sets: &mut [Set]) {
        for set in sets {
            let column = set.column;
            set.value = Expr::If {
                condition: Box::new(condition.clone()),
                then: Box::new(set.value.clone()),
                otherwise: Box::new(Expr::Column { part, column }),
            };
        }
        self.note(
            self.sql,
            "a row that the WHERE of DO UPDATE leaves as it is counts as changed",
        );
    }

    /// In the update of an upsert, the table's name is the old row and `excluded` the new one.
    fn conflict_scope(&mut self, part: PartId, table: TableId, given: &[Set]) {
        let known = self.schema.table(table);
        let excluded = |set: &Set| Output {
            name: known.column_name(set.column).to_string(),
            value: set.value.clone(),
        };
        let excluded: Vec<Output> = given.iter().map(excluded).collect();
        self.scopes.push(Scope::default());
        self.source(known.name.clone(), Columns::Table(part, table));
        self.source("excluded".to_string(), Columns::Outputs(excluded));
    }

    fn set_conflict(&mut self, part: PartId, conflict: OnConflict) {
        if let Action::Insert(insert) = &mut self.parts[part.0 as usize].action {
            insert.on_conflict = conflict;
        }
    }

    pub(super) fn target(&self, table: TableId, name: &str) -> Translated<ColumnId> {
        let known = self.schema.table(table);
        known.column(name).ok_or_else(|| {
            let names = known.columns.iter().map(|column| column.name.as_str());
            let advice = match super::scope::nearest(name, names) {
                Some(near) => format!("Did you mean {near}?"),
                None => "Check the name against the create table.".to_string(),
            };
            self.error(format!("no column {name} in {}", known.name), advice)
        })
    }

    pub(super) fn assignment(
        &mut self,
        assignment: &Assignment,
        table: TableId,
    ) -> Translated<Vec<Set>> {
        match &assignment.target {
            AssignmentTarget::ColumnName(name) => {
                let column = self.target(table, &object_name(name));
                let value = self.expr(&assignment.value)?;
                match column {
                    Ok(column) => Ok(vec![Set { column, value }]),
                    Err(error) => self.missing(error).map(|()| Vec::new()),
                }
            }
            AssignmentTarget::Tuple(names) => {
                let value = self.expr(&assignment.value)?;
                let mut sets = Vec::new();
                for (at, name) in names.iter().enumerate() {
                    let value = match &value {
                        Expr::List(all) => all.get(at).cloned(),
                        _ => None,
                    };
                    let reads = Vec::new();
                    sets.push(Set {
                        column: self.target(table, &object_name(name))?,
                        value: value.unwrap_or_else(|| self.arguments.unknown(reads)),
                    });
                }
                Ok(sets)
            }
        }
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Translated<Vec<Output>> {
        let mut conditions = Vec::new();
        self.scopes.push(Scope::default());
        self.from(&update.table, Role::From, &mut conditions)?;
        let (part, table) = self.written(None)?;
        let mut from: &[TableWithJoins] = &[];
        if let Some(UpdateTableFromKind::BeforeSet(all) | UpdateTableFromKind::AfterSet(all)) =
            &update.from
        {
            from = all;
        }
        let mut sets = Vec::new();
        for joined in from {
            self.from(joined, Role::From, &mut conditions)?;
        }
        let joined = self.joined();
        for assignment in &update.assignments {
            sets.extend(self.assignment(assignment, table)?);
        }
        if let Some(condition) = &update.selection {
            conditions.push(self.condition(condition)?);
        }
        self.parts[part.0 as usize].action = Action::Update { sets };
        self.give(conditions, &joined, Some(part));
        if update.limit.is_some() {
            self.note(
                self.sql,
                "the limit of an update is left out: any of its rows may change",
            );
        }
        let outputs = self.returning(&update.returning, part, table);
        self.scopes.pop();
        outputs
    }

    /// The table a statement writes: the first of its scope, or the one of that name.
    fn written(&self, name: Option<&str>) -> Translated<(PartId, TableId)> {
        let sources = self.scopes.last().map_or(&[][..], |scope| &scope.sources);
        let wanted = sources.iter().find(|source| match name {
            Some(name) => source.name.eq_ignore_ascii_case(name),
            None => true,
        });
        match wanted.map(|source| &source.columns) {
            Some(Columns::Table(part, table)) => Ok((*part, *table)),
            _ => Err(self.unsupported("writing to something other than a table")),
        }
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Translated<Vec<Output>> {
        let mut conditions = Vec::new();
        self.scopes.push(Scope::default());
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        for table in from {
            self.from(table, Role::From, &mut conditions)?;
        }
        let name = delete.tables.first().map(object_name);
        let (part, table) = self.written(name.as_deref())?;
        for table in delete.using.iter().flatten() {
            self.from(table, Role::From, &mut conditions)?;
        }
        let joined = self.joined();
        if let Some(condition) = &delete.selection {
            conditions.push(self.condition(condition)?);
        }
        self.parts[part.0 as usize].action = Action::Delete;
        self.give(conditions, &joined, Some(part));
        let outputs = self.returning(&delete.returning, part, table);
        self.scopes.pop();
        outputs
    }

    fn returning(
        &mut self,
        items: &Option<Vec<SelectItem>>,
        part: PartId,
        table: TableId,
    ) -> Translated<Vec<Output>> {
        let Some(items) = items else {
            return Ok(Vec::new());
        };
        self.scopes.push(Scope::default());
        let name = self.schema.table(table).name.clone();
        self.source(name, Columns::Table(part, table));
        let outputs = self.outputs(items);
        self.scopes.pop();
        outputs
    }
}
