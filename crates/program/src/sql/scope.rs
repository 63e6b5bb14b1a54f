//! The names a statement can use, and the statement that is being built.

use super::{Arguments, Placeholder};
use crate::expr::{Condition, Expr, NestedId, PartId, StatementId};
use crate::ir::{Action, Argument, Nested, Output, Part, Role, Select, Shape, Statement};
use crate::place::{Note, NoteKind, Place, ProgramError, shorten};
use crate::schema::{ColumnId, Schema, TableId, bare_name};
use std::collections::BTreeSet;

/// Deeper expressions and queries are refused.
pub(super) const DEPTH_MAX: usize = 100;
/// More accesses in one statement are refused.
const PARTS_MAX: usize = 200;

/// A table or a sub-query in FROM.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The names it answers to: its alias, or else its table.
    pub name: String,
    /// What its columns are.
    pub columns: Columns,
}

/// The columns of a source.
#[derive(Clone, Debug)]
pub(super) enum Columns {
    /// Those of a table, read by a part.
    Table(PartId, TableId),
    /// The outputs of a sub-query.
    Outputs(Vec<Output>),
}

/// One SELECT's names; the last scope is the innermost.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub sources: Vec<Source>,
    /// What its FROM joins.
    pub joined: Joined,
}

/// Parts and nested queries that are joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    pub parts: Vec<PartId>,
    pub nested: Vec<NestedId>,
}

impl Joined {
    /// What was added since then.
    pub fn since(&self, before: &Joined) -> Joined {
        Joined {
            parts: self
                .parts
                .iter()
                .skip(before.parts.len())
                .copied()
                .collect(),
            nested: self
                .nested
                .iter()
                .skip(before.nested.len())
                .copied()
                .collect(),
        }
    }
}

/// A statement on its way.
pub(super) struct Builder<'a> {
    pub schema: &'a Schema,
    pub place: &'a Place,
    pub arguments: &'a mut dyn Arguments,
    pub notes: &'a mut Vec<Note>,
    pub sql: &'a str,
    pub parts: Vec<Part>,
    pub nested: Vec<Nested>,
    pub given: Vec<Argument>,
    pub scopes: Vec<Scope>,
    /// The queries of WITH, by name.
    pub named_queries: Vec<(String, sqlparser::ast::Query)>,
    pub placeholders: usize,
    pub depth: usize,
}

impl<'a> Builder<'a> {
    pub fn new(
        schema: &'a Schema,
        sql: &'a str,
        place: &'a Place,
        arguments: &'a mut dyn Arguments,
        notes: &'a mut Vec<Note>,
    ) -> Builder<'a> {
        Builder {
            schema,
            place,
            arguments,
            notes,
            sql,
            parts: Vec::new(),
            nested: Vec::new(),
            given: Vec::new(),
            scopes: Vec::new(),
            named_queries: Vec::new(),
            placeholders: 0,
            depth: 0,
        }
    }

    pub fn error(&self, problem: impl Into<String>, advice: impl Into<String>) -> ProgramError {
        let problem = format!("{}, in `{}`", problem.into(), shorten(self.sql, 80));
        ProgramError::new(self.place, problem, advice)
    }

    /// The statement is outside of what we read.
    pub fn unsupported(&self, what: &str) -> ProgramError {
        self.error(
            format!("{} is not supported", shorten(what, 60)),
            "Rewrite the statement with plain select, insert, update or delete; or leave the \
             transaction out.",
        )
    }

    pub fn note(&mut self, text: &str, assumed: &str) {
        self.notes.push(Note {
            place: self.place.clone(),
            text: shorten(text, 60),
            assumed: assumed.to_string(),
            advice: String::new(),
            kind: NoteKind::Statement,
        });
    }

    /// A function that no database has: what it does is in the application's own code.
    pub fn routine_called(&mut self, call: &str) {
        let note = Note {
            place: self.place.clone(),
            text: shorten(call, 60),
            assumed: "a function of the application: what it does to the tables is left out"
                .to_string(),
            advice: "Write what it does as statements, in its place.".to_string(),
            kind: NoteKind::LeftOut,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What becomes of a name that is not there: an error, or a note.
    pub fn missing(&mut self, error: ProgramError) -> Result<(), ProgramError> {
        if !self.arguments.is_lenient() {
            return Err(error);
        }
        let note = Note {
            place: error.place,
            text: shorten(self.sql, 60),
            assumed: error.problem,
            advice: error.advice,
            kind: NoteKind::Statement,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Ok(())
    }

    /// Goes one level down; the caller comes up again by [`Builder::leave`].
    pub fn enter(&mut self) -> Result<(), ProgramError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(self.error(
                format!("nested more than {DEPTH_MAX} deep"),
                "Split the statement.",
            )),
            false => Ok(()),
        }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    pub fn table(&self, name: &str) -> Result<TableId, ProgramError> {
        let found = self.schema.find(name);
        found.ok_or_else(|| {
            let known = self.schema.tables.iter().map(|table| table.name.as_str());
            let advice = match nearest(bare_name(name), known) {
                Some(near) => format!("Did you mean {near}?"),
                None => "Declare it with create table, or give the schema file.".to_string(),
            };
            self.error(
                format!("no table {} in the schema", bare_name(name)),
                advice,
            )
        })
    }

    pub fn add_part(&mut self, table: TableId, action: Action) -> Result<PartId, ProgramError> {
        if self.parts.len() >= PARTS_MAX {
            let problem = format!("more than {PARTS_MAX} tables or rows");
            return Err(self.error(problem, "Split the statement."));
        }
        let id = PartId(self.parts.len() as u32);
        self.parts.push(Part {
            id,
            table,
            filter: Condition::True,
            action,
        });
        Ok(id)
    }

    pub fn add_select(&mut self, table: TableId, role: Role) -> Result<PartId, ProgramError> {
        let select = Select {
            role,
            ..Select::default()
        };
        self.add_part(table, Action::Select(select))
    }

    pub fn placeholder(&mut self, text: &str) -> Result<Expr, ProgramError> {
        let rest = text.get(1..).unwrap_or("");
        let number = rest.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let placeholder = match (text.chars().next(), number) {
            (Some('?' | '$' | ':'), Some(number)) => Placeholder::Numbered(number),
            (Some('?'), None) if rest.is_empty() => {
                self.placeholders += 1;
                Placeholder::Nth(self.placeholders - 1)
            }
            _ => Placeholder::Named(rest.to_string()),
        };
        match self.arguments.value(&placeholder) {
            Some(value) => {
                self.given.push(Argument {
                    placeholder: text.to_string(),
                    value: value.clone(),
                });
                Ok(value)
            }
            None => {
                let problem = format!("the placeholder {text} has no value");
                let advice = "Declare it as a parameter, or bind it before the statement runs.";
                Err(self.error(problem, advice))
            }
        }
    }

    /// The value of `name` or `qualifier.name`.
    pub fn column(&self, qualifier: Option<&str>, name: &str) -> Result<Expr, ProgramError> {
        for scope in self.scopes.iter().rev() {
            for source in &scope.sources {
                if qualifier.is_some_and(|wanted| !source.name.eq_ignore_ascii_case(wanted)) {
                    continue;
                }
                if let Some(found) = self.column_of(source, name) {
                    return Ok(found);
                }
            }
        }
        let known: Vec<&str> = self.names().collect();
        let shown = qualifier.map_or(name.to_string(), |of| format!("{of}.{name}"));
        let advice = match nearest(name, known.into_iter()) {
            Some(near) => format!("Did you mean {near}?"),
            None => "Check the name against the create table.".to_string(),
        };
        Err(self.error(format!("no column {shown}"), advice))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let sources = self.scopes.iter().flat_map(|scope| &scope.sources);
        sources.flat_map(|source| -> Vec<&str> {
            match &source.columns {
                Columns::Table(_, table) => {
                    let columns = self.schema.table(*table).columns.iter();
                    columns.map(|column| column.name.as_str()).collect()
                }
                Columns::Outputs(outputs) => outputs.iter().map(|o| o.name.as_str()).collect(),
            }
        })
    }

    fn column_of(&self, source: &Source, name: &str) -> Option<Expr> {
        match &source.columns {
            Columns::Table(part, table) => {
                let column = self.schema.table(*table).column(name)?;
                Some(Expr::Column {
                    part: *part,
                    column,
                })
            }
            Columns::Outputs(outputs) => {
                let same = |output: &&Output| output.name.eq_ignore_ascii_case(name);
                outputs.iter().find(same).map(|output| output.value.clone())
            }
        }
    }

    /// All columns of a source.
    pub fn all_columns(&self, source: &Source) -> Vec<Output> {
        match &source.columns {
            Columns::Table(part, table) => {
                let table = self.schema.table(*table);
                let output = |column: ColumnId| Output {
                    name: table.column_name(column).to_string(),
                    value: Expr::Column {
                        part: *part,
                        column,
                    },
                };
                table.column_ids().map(output).collect()
            }
            Columns::Outputs(outputs) => outputs.clone(),
        }
    }

    /// The finished statement.
    pub fn finish(mut self, id: StatementId, outputs: Vec<Output>, shape: Shape) -> Statement {
        for at in 0..self.parts.len() {
            let used = self.used_elsewhere(PartId(at as u32), &outputs, &shape);
            if let Action::Select(select) = &mut self.parts[at].action {
                select.columns.extend(used);
            }
        }
        Statement {
            id,
            origin: id,
            sql: self.sql.to_string(),
            arguments: self.given,
            place: self.place.clone(),
            parts: self.parts,
            outputs,
            shape: Box::new(shape),
            nested: self.nested,
        }
    }

    /// The columns of a part that something other than its own filter mentions.
    fn used_elsewhere(
        &self,
        part: PartId,
        outputs: &[Output],
        shape: &Shape,
    ) -> BTreeSet<ColumnId> {
        let mut values: Vec<&Expr> = Vec::new();
        let inside = self.nested.iter().map(|one| (&one.outputs[..], &one.shape));
        for (outputs, shape) in inside.chain([(outputs, shape)]) {
            values.extend(outputs.iter().map(|output| &output.value));
            values.extend(&shape.group_by);
            values.extend(shape.order_by.iter().map(|order| &order.value));
            values.extend(shape.filter.iter().flat_map(Condition::expressions));
        }
        let nested = self.nested.iter();
        values.extend(nested.flat_map(|one| one.filter.expressions()));
        for other in self.parts.iter().filter(|other| other.id != part) {
            values.extend(other.filter.expressions());
            match &other.action {
                Action::Update { sets } => values.extend(sets.iter().map(|set| &set.value)),
                Action::Insert(insert) => {
                    values.extend(insert.values.iter().map(|set| &set.value));
                }
                Action::Select(_) | Action::Delete => {}
            }
        }
        let columns = values.into_iter().flat_map(|value| value.columns_of(part));
        columns.collect()
    }
}

/// The known name that differs least, if it is close.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_ascii_lowercase();
    let scored = known.map(|one| (distance(&name, &one.to_ascii_lowercase()), one));
    let (score, best) = scored.min_by_key(|(score, _)| *score)?;
    (score * 3 <= name.len().max(3)).then_some(best)
}

/// How many characters must change (Levenshtein), for names up to 64 characters.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
