//! Calls of JDBC: preparing, binding, executing, and walking through rows.

use super::env::{PreparedId, Val, is_declaration, is_view};
use super::text::fitted;
use super::translate::{Prepared, Translator};
use super::tree::Node;
use crate::expr::{Expr, PartId, StatementId, UnknownId};
use crate::ir::{Action, Output, Statement, Step};
use crate::place::{NoteKind, shorten};
use crate::resolve::FIELD;
use crate::schema::Type;
use crate::sql::{Arguments, Placeholder, Sql, only_reads, read_sql};
use std::collections::BTreeMap;

/// Values for placeholders with names.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// By name.
    pub values: BTreeMap<String, Expr>,
    /// An object whose fields the others are.
    pub object: Option<Expr>,
}

impl Named {
    fn value(&self, name: &str) -> Option<Expr> {
        if let Some(value) = self.values.get(name) {
            return Some(value.clone());
        }
        let object = self.object.clone()?;
        Some(Expr::Call {
            name: format!("{FIELD}{name}"),
            arguments: vec![object],
        })
    }
}

/// The arguments of a prepared statement.
struct Bound<'b> {
    given: &'b BTreeMap<usize, Expr>,
    named: &'b Named,
    anywhere: Option<Expr>,
    unknown_next: &'b mut u32,
    /// Placeholders that nobody set.
    missing: Vec<String>,
}

impl Arguments for Bound<'_> {
    fn is_lenient(&self) -> bool {
        true
    }

    fn value(&mut self, placeholder: &Placeholder) -> Option<Expr> {
        let (known, name) = match placeholder {
            Placeholder::Nth(at) | Placeholder::Numbered(at) => {
                (self.given.get(&(at + 1)).cloned(), (at + 1).to_string())
            }
            Placeholder::Named(name) => (self.named.value(name), format!(":{name}")),
        };
        if known.is_some() {
            return known;
        }
        if self.anywhere.is_none() && !self.missing.contains(&name) {
            self.missing.push(name);
        }
        let reads = self.anywhere.iter().cloned().collect();
        Some(self.unknown(reads))
    }

    /// A placeholder of JDBC is one value: a list has one for each member, or `= any (?)`.
    fn is_single(&self, value: &Expr) -> bool {
        self.anywhere.is_none() && !matches!(value, Expr::List(_) | Expr::Unknown { .. })
    }

    fn unknown(&mut self, reads: Vec<Expr>) -> Expr {
        *self.unknown_next += 1;
        Expr::Unknown {
            id: UnknownId(*self.unknown_next - 1),
            reads,
        }
    }
}

impl<'a> Translator<'a> {
    pub fn nth<'n>(&self, node: &'n Node, at: usize) -> Option<&'n Node> {
        node.child("arguments").and_then(|all| all.children.get(at))
    }

    pub fn connection_call(&mut self, node: &'a Node, name: &str) -> Val {
        let first = self.nth(node, 0).map_or("", Node::text);
        self.opened |= match name {
            "setAutoCommit" => first != "true",
            "commit" | "rollback" | "setSavepoint" => true,
            _ => false,
        };
        match name {
            "prepareStatement" | "prepareCall" => {
                let text = self.nth(node, 0).map(|text| self.value(text));
                let keys = node.text().contains("RETURN_GENERATED_KEYS");
                self.prepare(node, text.unwrap_or(Val::Nothing), keys)
            }
            "createStatement" => Val::Statement,
            "rollback" if self.nth(node, 0).is_some() => {
                let assumed = "back to a savepoint: what was done since then is taken for done";
                let advice = "Put what may fail into a transaction of its own.";
                self.note(node, assumed, advice);
                Val::Nothing
            }
            "rollback" => {
                let place = node.place();
                self.emit(Step::Abort { place });
                self.ended = true;
                Val::Nothing
            }
            "setTransactionIsolation" => {
                let level = self.nth(node, 0).map_or("", Node::text);
                let level = level.rsplit("TRANSACTION_").next().unwrap_or(level);
                self.level = Some(level.to_ascii_lowercase().replace('_', " "));
                Val::Nothing
            }
            "commit" => {
                self.emit(Step::Commit);
                Val::Nothing
            }
            _ => Val::Nothing,
        }
    }

    pub fn prepare(&mut self, node: &'a Node, text: Val, returns_keys: bool) -> Val {
        let (sql, exact) = self.known_text(node, &text);
        if sql.is_none() {
            let advice = "Write the SQL as a constant; parts that vary belong into placeholders.";
            self.left_out(
                node,
                "the SQL text is not known here: the statement is left out",
                advice,
            );
        }
        let holders = sql.as_deref().map_or(0, |sql| sql.matches('?').count());
        let mut prepared = Prepared {
            sql,
            returns_keys,
            exact,
            ..Prepared::default()
        };
        // Batches are lists, and empty to begin with; where there are none, nobody reads them.
        for at in (1..=holders).chain((holders == 0).then_some(0)) {
            let variable = self.variable(&format!("batch{at}"), Type::List);
            prepared.batches.insert(at, variable);
            let value = Expr::List(Vec::new());
            self.emit(Step::Let { variable, value });
        }
        self.add_prepared(prepared)
    }

    /// The text of a statement, and how many of its placeholders have a known index where it is
    /// put together.
    pub fn known_text(&mut self, node: &'a Node, text: &Val) -> (Option<String>, Option<usize>) {
        if let Some(text) = text.text() {
            self.met.push(text.to_string());
            return (Some(text.to_string()), None);
        }
        let known = match text {
            Val::Expr(value) => self.text_of(value),
            _ => None,
        };
        let Some(known) = known.filter(|text| super::env::is_sql(text)) else {
            return (None, None);
        };
        self.met.push(known.clone());
        let fitted = fitted(&known);
        if fitted.holes {
            let assumed = format!(
                "a part of the SQL is not known: read as `{}`",
                shorten(&fitted.sql, 120)
            );
            let advice = "Write the SQL as a constant; parts that vary belong into placeholders.";
            self.note(node, &assumed, advice);
        }
        if fitted.repeats {
            let assumed = format!(
                "a part of the SQL repeats, and is read once: `{}`",
                shorten(&fitted.sql, 120)
            );
            let advice = "Write the SQL as a constant, or execute a statement for each.";
            self.note(node, &assumed, advice);
        }
        let exact = fitted.exact;
        let plain = fitted.sql.matches('?').count() == exact;
        (Some(fitted.sql), (!plain).then_some(exact))
    }

    /// BenchBase: `getPreparedStatement(conn, stmt, arguments…)`.
    pub fn bench_prepared(&mut self, node: &'a Node, name: &str) -> Val {
        let returns_keys = name.ends_with("ReturnKeys");
        let val = match self.nth(node, 1).and_then(|text| self.choices(text)) {
            Some(choices) => self.add_prepared(Prepared {
                choices: Some(choices),
                ..Prepared::default()
            }),
            None => {
                let text = self.nth(node, 1).map(|text| self.value(text));
                self.prepare(node, text.unwrap_or(Val::Nothing), returns_keys)
            }
        };
        let all: &[Node] = node.child("arguments").map_or(&[], |all| &all.children);
        if let (Val::Prepared(id), false) = (&val, returns_keys) {
            for (at, argument) in all.iter().skip(2).enumerate() {
                let value = self.value(argument);
                let value = self.expr_of(value);
                self.set(*id, at + 1, value);
            }
        }
        val
    }

    /// Sets a placeholder, one of those whose index is not known.
    fn set_anywhere(&mut self, id: PreparedId, value: Expr) {
        let (variable, value) = match self.prepared[id.0].anywhere {
            Some(variable) => {
                let reads = vec![Expr::Variable(variable), value];
                (variable, self.unknown(reads))
            }
            None => (self.variable("?", Type::Other), value),
        };
        self.prepared[id.0].anywhere = Some(variable);
        self.emit(Step::Let { variable, value });
    }

    pub fn set(&mut self, id: PreparedId, at: usize, value: Expr) {
        if self.prepared[id.0].exact.is_some_and(|exact| at > exact) {
            return self.set_anywhere(id, value);
        }
        let known = self.prepared[id.0].arguments.get(&at).copied();
        let variable = match known {
            Some(variable) => variable,
            None => {
                let variable = self.variable(&format!("?{at}"), Type::Other);
                self.prepared[id.0].arguments.insert(at, variable);
                variable
            }
        };
        self.emit(Step::Let { variable, value });
    }

    pub fn prepared_call(&mut self, node: &'a Node, id: PreparedId, name: &str, used: bool) -> Val {
        if let Some((which, texts)) = self.prepared[id.0].choices.clone()
            && name.starts_with("execute")
        {
            if name == "executeQuery" {
                let advice = "Write the choice as if and else, which are followed apart.";
                self.note(
                    node,
                    "the rows of a chosen statement are not followed",
                    advice,
                );
            }
            return self.execute_choice(node, id, which, texts);
        }
        match name {
            "executeQuery" => match self.execute(node, id) {
                Some(statement) => Val::Rows(statement),
                None => Val::Nothing,
            },
            "executeUpdate" | "executeLargeUpdate" => match self.execute(node, id) {
                Some(statement) => Val::Expr(Expr::RowCount(statement)),
                None => Val::Expr(self.unknown(Vec::new())),
            },
            "execute" => {
                self.execute(node, id);
                Val::Expr(self.unknown(Vec::new()))
            }
            "getGeneratedKeys" | "getResultSet" => match self.prepared[id.0].last {
                Some(statement) => Val::Rows(statement),
                None => Val::Nothing,
            },
            "getUpdateCount" => match self.prepared[id.0].last {
                Some(statement) => Val::Expr(Expr::RowCount(statement)),
                None => Val::Expr(self.unknown(Vec::new())),
            },
            "param" | "params" | "paramSource" | "query" | "update"
                if self.prepared[id.0].fluent =>
            {
                self.fluent_call(node, id, name)
            }
            "addBatch" => self.add_batch(id),
            "executeBatch" | "executeLargeBatch" => self.execute_batch(node, id),
            "setFetchSize" | "setMaxRows" | "setQueryTimeout" | "setFetchDirection" => Val::Nothing,
            _ if name.starts_with("set") => self.set_call(node, id, name),
            "close" | "clearBatch" | "clearParameters" | "isClosed" | "closeOnCompletion" => {
                Val::Nothing
            }
            _ => self.any_value(node, Vec::new(), used),
        }
    }

    fn set_call(&mut self, node: &'a Node, id: PreparedId, name: &str) -> Val {
        let (Some(at), value) = (self.nth(node, 0), self.nth(node, 1)) else {
            return Val::Nothing;
        };
        let at = self.value(at);
        let value = match (name, value) {
            ("setNull", _) | (_, None) => Expr::Constant(crate::expr::Value::Null),
            (_, Some(value)) => {
                let value = self.value(value);
                self.expr_of(value)
            }
        };
        match at.integer().and_then(|at| usize::try_from(at).ok()) {
            Some(at) => self.set(id, at, value),
            None => {
                if self.prepared[id.0].exact.is_none() {
                    let assumed = "set at an index not known: taken for any value";
                    let advice = "Set each placeholder at a constant index.";
                    let kind = crate::place::NoteKind::Value;
                    self.add_note(node, assumed, advice, kind);
                }
                self.set_anywhere(id, value);
            }
        }
        Val::Nothing
    }

    fn given(&self, id: PreparedId) -> BTreeMap<usize, Expr> {
        let arguments = self.prepared[id.0].arguments.iter();
        arguments
            .map(|(at, variable)| (*at, Expr::Variable(*variable)))
            .collect()
    }

    pub fn execute(&mut self, node: &'a Node, id: PreparedId) -> Option<StatementId> {
        let given = self.given(id);
        self.execute_with(node, id, &given)
    }

    /// Executes a prepared statement with these arguments.
    pub fn execute_with(
        &mut self,
        node: &'a Node,
        id: PreparedId,
        given: &BTreeMap<usize, Expr>,
    ) -> Option<StatementId> {
        let prepared = self.prepared[id.0].clone();
        let sql = prepared.sql?;
        let values = prepared.named.iter();
        let named = Named {
            values: values
                .map(|(name, variable)| (name.clone(), Expr::Variable(*variable)))
                .collect(),
            object: prepared.object.map(Expr::Variable),
        };
        let anywhere = prepared.anywhere.map(Expr::Variable);
        let mut statement = self.read(node, &sql, given, &named, anywhere)?;
        if prepared.returns_keys {
            self.add_keys(&mut statement);
        }
        let executed = self.run(statement);
        self.prepared[id.0].last = Some(executed);
        Some(executed)
    }

    /// Whether a text has nothing to read: it is empty, or calls a procedure, which is noted.
    fn does_nothing(&mut self, node: &'a Node, sql: &str) -> bool {
        self.met.push(sql.to_string());
        if let Some(name) = procedure_of(sql) {
            let assumed = format!("what the stored procedure {name} does is left out");
            let advice = "Write what it does as `transaction name(…) … end;` in a .sql file.";
            self.left_out(node, &assumed, advice);
            return true;
        }
        if is_view(sql) {
            let assumed = "a view is made or dropped, which changes no row";
            self.note(
                node,
                assumed,
                "Write the query of the view where it is used.",
            );
            return true;
        }
        if is_declaration(sql) {
            let assumed = "what makes, changes or drops tables is passed over";
            self.add_note(node, assumed, "", NoteKind::Value);
            return true;
        }
        sql.trim_matches(|c: char| c == ';' || c.is_whitespace())
            .is_empty()
    }

    pub fn read(
        &mut self,
        node: &'a Node,
        sql: &str,
        given: &BTreeMap<usize, Expr>,
        named: &Named,
        anywhere: Option<Expr>,
    ) -> Option<Statement> {
        if self.does_nothing(node, sql) {
            return None;
        }
        let mut unknown_next = self.unknown_next;
        let mut bound = Bound {
            given,
            named,
            anywhere,
            unknown_next: &mut unknown_next,
            missing: Vec::new(),
        };
        let id = StatementId(self.statement_next);
        let mut notes = Vec::new();
        let read = read_sql(self.schema, sql, &node.place(), id, &mut bound, &mut notes);
        let missing = bound.missing;
        self.unknown_next = unknown_next;
        self.notes.extend(notes);
        if !missing.is_empty() {
            let assumed = format!("placeholder {} is never set: any value", missing.join(", "));
            self.note(node, &assumed, "Set it before the statement runs.");
        }
        match read {
            Ok(Sql::Data(mut statement)) => {
                self.statement_next += 1;
                statement.sql = shorten(sql, 100_000);
                Some(*statement)
            }
            Ok(Sql::Commit) => {
                self.opened = true;
                self.emit(Step::Commit);
                None
            }
            Ok(Sql::Rollback) => {
                self.opened = true;
                let place = node.place();
                self.emit(Step::Abort { place });
                self.ended = true;
                None
            }
            Ok(Sql::Level(level)) => {
                self.level = Some(level);
                None
            }
            Ok(Sql::Begin) => {
                self.opened = true;
                None
            }
            Ok(Sql::Ignored) => None,
            Err(error) => {
                let assumed = format!("the statement is left out: {}", error.problem);
                let kind = match only_reads(sql) {
                    true => NoteKind::Unread,
                    false => NoteKind::LeftOut,
                };
                self.add_note(node, &assumed, &error.advice, kind);
                None
            }
        }
    }

    pub fn run(&mut self, statement: Statement) -> StatementId {
        let id = statement.id;
        let names = statement.outputs.iter().map(|one| one.name.clone());
        self.outputs.insert(id.0, names.collect());
        self.emit(Step::Execute(statement));
        id
    }

    /// The keys that an insert generates are its outputs.
    pub fn add_keys(&self, statement: &mut Statement) {
        let Some(part) = statement.parts.last() else {
            return;
        };
        if !matches!(part.action, Action::Insert(_)) || !statement.outputs.is_empty() {
            return;
        }
        let table = self.schema.table(part.table);
        let id: PartId = part.id;
        let mut keys: Vec<_> = table
            .column_ids()
            .filter(|column| table.columns[column.index()].generated)
            .collect();
        if keys.is_empty() {
            keys = table.primary_key.clone();
        }
        for column in keys {
            statement.outputs.push(Output {
                name: table.column_name(column).to_string(),
                value: Expr::Column { part: id, column },
            });
        }
    }

    /// A plain statement: the text comes with the call.
    pub fn statement_call(&mut self, node: &'a Node, name: &str) -> Val {
        if !name.starts_with("execute") {
            return Val::Nothing;
        }
        let text = self.nth(node, 0).map(|text| self.value(text));
        let text = text.unwrap_or(Val::Nothing);
        let (sql, given) = match text {
            Val::Expr(text) => self.placeholders_of(text),
            _ => (None, BTreeMap::new()),
        };
        let Some(sql) = sql else {
            let advice = "Use a prepared statement with a constant text.";
            self.left_out(
                node,
                "the SQL text is not known here: the statement is left out",
                advice,
            );
            return Val::Nothing;
        };
        match self.read(node, &sql, &given, &Named::default(), None) {
            Some(statement) => {
                let id = self.run(statement);
                match name {
                    "executeQuery" => Val::Rows(id),
                    _ => Val::Expr(Expr::RowCount(id)),
                }
            }
            None => Val::Nothing,
        }
    }

    /// A text joined from constants and values, with a placeholder for each value.
    fn placeholders_of(&mut self, text: Expr) -> (Option<String>, BTreeMap<usize, Expr>) {
        use crate::expr::{Operator, Value};
        let mut sql = String::new();
        let mut given = BTreeMap::new();
        let mut waiting = vec![text];
        while let Some(next) = waiting.pop() {
            match next {
                Expr::Constant(Value::Text(text)) => sql.push_str(&text),
                Expr::Constant(Value::Integer(value)) => sql.push_str(&value.to_string()),
                Expr::Arithmetic {
                    operator: Operator::Concatenate,
                    left,
                    right,
                } => {
                    waiting.push(*right);
                    waiting.push(*left);
                }
                value => match self.text_of(&value) {
                    Some(known) => {
                        let known = fitted(&known).sql;
                        for _ in known.matches('?') {
                            let unknown = self.unknown(vec![value.clone()]);
                            given.insert(given.len() + 1, unknown);
                        }
                        sql.push_str(&known);
                    }
                    None => {
                        // '…' around a value are its quotes.
                        given.insert(given.len() + 1, value);
                        sql.push('?');
                    }
                },
            }
        }
        let sql = sql.replace("'?'", "?");
        let known = super::env::is_sql(&sql) || super::env::is_command(&sql);
        (known.then_some(sql), given)
    }
}

/// The procedure that `{call name(…)}`, `{? = call name(…)}` or `call name(…)` calls.
fn procedure_of(sql: &str) -> Option<&str> {
    let rest = sql.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '?' | '='));
    let word = rest
        .get(..4)
        .filter(|word| word.eq_ignore_ascii_case("call"))?;
    let rest = rest[word.len()..].strip_prefix(char::is_whitespace)?;
    rest.split(['(', '}', ';']).next().map(str::trim)
}
