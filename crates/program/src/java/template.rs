//! Templates and clients of libraries, as Spring's: calls that take the SQL first and its values after
//! it, maps of values by name, and clients whose calls hang on each other.

use super::env::{ObjectId, PreparedId, Val, is_sql};
use super::jdbc::Named;
use super::translate::{Prepared, Translator};
use super::tree::Node;
use crate::expr::{Condition, Expr, Row, StatementId, Value};
use crate::ir::{Repeat, Step};
use crate::schema::Type;
use std::collections::BTreeMap;

/// Methods of templates that take SQL and its arguments.
pub(super) fn is_template(name: &str) -> bool {
    let known = ["update", "batchUpdate", "createNativeQuery", "sql"];
    known.contains(&name) || name.starts_with("query")
}

impl<'a> Translator<'a> {
    /// A call that takes the SQL first and its arguments after it; none where it does not.
    fn template_call(&mut self, node: &'a Node) -> Option<Val> {
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let text = self.value(arguments.first()?);
        let sql = match text.text() {
            Some(text) => is_sql(text).then(|| text.to_string())?,
            // Put together, with placeholders whose order is known.
            None => match self.known_text(node, &text) {
                (Some(sql), None) => sql,
                _ => return None,
            },
        };
        match node.name() {
            "sql" => return Some(self.fluent(node, Val::Expr(Expr::text(sql)))),
            "batchUpdate" => return Some(self.template_batch(node, &sql, &arguments[1..])),
            _ => {}
        }
        let mut given = BTreeMap::new();
        let mut named = Named::default();
        for argument in &arguments[1..] {
            if self.is_code(argument) {
                continue;
            }
            match (argument.kind, argument.child("value")) {
                ("array_creation_expression", Some(items)) => {
                    for item in items.children.iter().filter(|item| !is_type_code(item)) {
                        let value = self.value(item);
                        given.insert(given.len() + 1, self.expr_of(value));
                    }
                }
                _ => self.template_value(argument, &sql, &mut given, &mut named),
            }
        }
        let Some(statement) = self.read(node, &sql, &given, &named, None) else {
            // It was noted why.
            return Some(Val::Expr(self.unknown(Vec::new())));
        };
        let (writes, outputs) = (statement.is_write(), statement.outputs.len());
        let id = self.run(statement);
        if node.name() == "queryForObject" && !self.handles_absence() {
            self.needs_row(node, id);
        }
        let mapped = arguments.iter().find_map(mapped_class);
        Some(match (writes, mapped) {
            (true, _) => Val::Expr(Expr::RowCount(id)),
            (false, Some(class)) if node.name() == "queryForObject" => {
                self.row_of_type(node, id, class)
            }
            (false, _) => self.first_row(id, outputs),
        })
    }

    /// A call of what may be a template; what a template is given that is no text is noted.
    pub fn on_template(&mut self, node: &'a Node, object: &'a Node) -> Option<Val> {
        let val = self.template_call(node);
        if val.is_none() && self.is_template_object(object) {
            let assumed = "the SQL text is not known here: the statement is left out";
            self.left_out(node, assumed, "Write the SQL as a constant.");
        }
        val
    }

    /// The value of a result that must have a row.
    pub fn single(&mut self, node: &Node, value: Expr) -> Val {
        if let Expr::Field { statement, .. } = &value {
            self.needs_row(node, *statement);
        }
        Val::Expr(value)
    }

    /// Whether an object is a template or a client of JDBC by its declaration or its name.
    fn is_template_object(&self, object: &Node) -> bool {
        let java = self.java_type(object).unwrap_or_default();
        java.contains("Jdbc") || object.text().to_ascii_lowercase().contains("jdbc")
    }

    /// Aborts where a statement found nothing, as what asks for exactly one row throws.
    pub fn needs_row(&mut self, node: &Node, statement: StatementId) {
        let row = Row::Nth(0);
        let place = node.place();
        let abort = Step::Abort {
            place: place.clone(),
        };
        self.emit(Step::If {
            condition: Condition::HasRow { statement, row }.negated(),
            then: vec![abort],
            otherwise: Vec::new(),
            place,
        });
    }

    /// Whether the class at hand catches what is thrown where no row is found.
    fn handles_absence(&self) -> bool {
        let text = self.index.classes[self.class()].node.text();
        [
            "EmptyResultDataAccess",
            "IncorrectResultSize",
            "DataAccessException",
            "catch (Exception",
        ]
        .iter()
        .any(|name| text.contains(name))
    }

    /// What a template gives of a result: its value, or an object that a mapper made.
    pub fn first_row(&mut self, statement: StatementId, outputs: usize) -> Val {
        let field = |output| Expr::Field {
            statement,
            row: Row::Nth(0),
            output,
        };
        match outputs {
            1 => Val::Expr(field(0)),
            _ => Val::Expr(self.unknown((0..outputs as u32).map(field).collect())),
        }
    }

    /// One argument of a template: a value, an array of them, a map, or an object with fields.
    fn template_value(
        &mut self,
        argument: &'a Node,
        sql: &str,
        given: &mut BTreeMap<usize, Expr>,
        named: &mut Named,
    ) {
        if argument.kind == "object_creation_expression"
            && argument.text().contains("BeanPropertySqlParameterSource")
        {
            let bean = self.nth(argument, 0).map(|bean| self.value(bean));
            named.object = bean.map(|bean| self.expr_of(bean));
            return;
        }
        let is_array = self
            .java_type(argument)
            .is_some_and(|ty| ty.ends_with("[]"));
        match self.value(argument) {
            Val::Object(map) => named.values.extend(self.entries(map)),
            Val::List(list) if is_array => {
                for at in 0..sql.matches('?').count() {
                    let element = Expr::Element {
                        list: Box::new(Expr::Variable(list)),
                        index: Box::new(Expr::integer(at as i64)),
                    };
                    given.insert(given.len() + 1, element);
                }
            }
            Val::Given(all) => {
                for one in all {
                    given.insert(given.len() + 1, self.expr_of(one));
                }
            }
            other => {
                given.insert(given.len() + 1, self.expr_of(other));
            }
        }
    }

    /// Whether an argument makes objects of rows, or says of which class: no value of the statement.
    fn is_code(&self, node: &Node) -> bool {
        let made = |text: &str| {
            let text = text.to_ascii_lowercase();
            ["mapper", "handler", "extractor", "callback", "class<"]
                .iter()
                .any(|word| text.contains(word))
        };
        match node.kind {
            "class_literal" | "lambda_expression" | "method_reference" => true,
            "identifier" => made(node.text()) || self.java_type(node).is_some_and(made),
            "object_creation_expression" => node.child("type").is_some_and(|ty| made(ty.text())),
            "method_invocation" => node.child("object").is_some_and(|one| made(one.text())),
            _ => false,
        }
    }

    /// A batch of a template: the statement any number of times, or once for each of a list.
    fn template_batch(&mut self, node: &'a Node, sql: &str, rest: &'a [Node]) -> Val {
        let lists = rest.iter().filter(|one| !self.is_code(one));
        let lists: Vec<&'a Node> = lists.collect();
        let list = lists.first().map(|list| self.value(list));
        let list = match list {
            Some(val) => self.expr_of(val),
            None => self.unknown(Vec::new()),
        };
        let variable = self.variable("element", Type::Other);
        let body = self.apart(|this| {
            let mut given = BTreeMap::new();
            for at in 1..=sql.matches('?').count() {
                given.insert(at, this.unknown(vec![Expr::Variable(variable)]));
            }
            let named = Named {
                values: BTreeMap::new(),
                object: Some(Expr::Variable(variable)),
            };
            if let Some(statement) = this.read(node, sql, &given, &named, None) {
                this.run(statement);
            }
        });
        let label = self.label();
        let place = node.place();
        self.emit(Step::Loop {
            label,
            repeat: Repeat::Elements { list, variable },
            body,
            place,
        });
        let assumed = "a batch: its values are any that depend on its elements";
        self.add_note(node, assumed, "", crate::place::NoteKind::Value);
        Val::Expr(self.unknown(Vec::new()))
    }

    /// `client.sql("…")`.
    fn fluent(&mut self, node: &'a Node, text: Val) -> Val {
        let val = self.prepare(node, text, false);
        if let Val::Prepared(id) = val {
            self.prepared[id.0].fluent = true;
        }
        val
    }

    /// What follows `client.sql("…")`: its values, and its end.
    pub fn fluent_call(&mut self, node: &'a Node, id: PreparedId, name: &str) -> Val {
        match name {
            "update" => match self.execute(node, id) {
                Some(statement) => return Val::Expr(Expr::RowCount(statement)),
                None => return Val::Expr(self.unknown(Vec::new())),
            },
            "query" => {
                let Some(statement) = self.execute(node, id) else {
                    return Val::Expr(self.unknown(Vec::new()));
                };
                let outputs = self.outputs.get(&statement.0).map_or(0, Vec::len);
                return self.first_row(statement, outputs);
            }
            _ => {}
        }
        let arguments = self.arguments(node);
        match arguments.as_slice() {
            [Val::Object(map)] => {
                for (name, value) in self.entries(*map) {
                    self.set_named(id, &name, value);
                }
            }
            [key, value] if name == "param" => {
                let value = self.expr_of(value.clone());
                match (
                    key.text(),
                    key.integer().and_then(|at| usize::try_from(at).ok()),
                ) {
                    (Some(key), _) => self.set_named(id, key, value),
                    (None, Some(at)) => self.set(id, at, value),
                    _ => {}
                }
            }
            [bean] if name == "paramSource" => {
                let value = self.expr_of(bean.clone());
                let variable = self.variable("values", Type::Other);
                self.prepared[id.0].object = Some(variable);
                self.emit(Step::Let { variable, value });
            }
            _ => {
                for one in arguments {
                    let value = self.expr_of(one);
                    let at = self.prepared[id.0].arguments.len() + 1;
                    self.set(id, at, value);
                }
            }
        }
        Val::Prepared(id)
    }

    fn set_named(&mut self, id: PreparedId, name: &str, value: Expr) {
        let known = self.prepared[id.0].named.get(name).copied();
        let variable = match known {
            Some(variable) => variable,
            None => {
                let variable = self.variable(&format!(":{name}"), Type::Other);
                let Prepared { named, .. } = &mut self.prepared[id.0];
                named.insert(name.to_string(), variable);
                variable
            }
        };
        self.emit(Step::Let { variable, value });
    }

    /// What a map holds, by its keys.
    fn entries(&self, map: ObjectId) -> Vec<(String, Expr)> {
        let fields = super::branch::sorted(&self.objects[map.0]).into_iter();
        fields
            .map(|(name, variable)| (name, Expr::Variable(variable)))
            .collect()
    }

    /// A new map: empty, a copy, or with one entry.
    pub fn map_of(&mut self, arguments: &'a [Node]) -> Val {
        let values: Vec<Val> = arguments.iter().map(|one| self.value(one)).collect();
        let map = self.add_object();
        match values.as_slice() {
            [Val::Object(other)] => self.put_all(map, *other),
            [key, value] => self.put(map, key, value),
            _ => {}
        }
        Val::Object(map)
    }

    /// `Map.of(…)` and what is like it.
    pub fn map_made(&mut self, node: &'a Node, class: &str, name: &str) -> Option<Val> {
        let makes = matches!(
            (class, name),
            ("Map" | "ImmutableMap", "of") | ("Collections", "singletonMap" | "emptyMap")
        );
        if !makes {
            return None;
        }
        let values = self.arguments(node);
        let map = self.add_object();
        for pair in values.chunks(2) {
            if let [key, value] = pair {
                self.put(map, key, value);
            }
        }
        Some(Val::Object(map))
    }

    fn put_all(&mut self, map: ObjectId, other: ObjectId) {
        for (key, value) in self.entries(other) {
            let variable = self.object_field(map, &key);
            self.emit(Step::Let { variable, value });
        }
    }

    /// Puts a value into a map; under a key that is not known it may be any of those there.
    fn put(&mut self, map: ObjectId, key: &Val, value: &Val) {
        let value = self.expr_of(value.clone());
        if let Some(key) = key.text() {
            let variable = self.object_field(map, key);
            self.emit(Step::Let { variable, value });
            return;
        }
        for (_, variable) in super::branch::sorted(&self.objects[map.0]) {
            let either = self.unknown(vec![Expr::Variable(variable), value.clone()]);
            self.emit(Step::Let {
                variable,
                value: either,
            });
        }
    }

    /// A call of a map; none where it is another object's.
    pub fn map_call(&mut self, map: ObjectId, name: &str, arguments: &[Val]) -> Option<Val> {
        match (name, arguments) {
            ("put" | "addValue", [key, value, ..]) => {
                self.put(map, key, value);
                Some(Val::Object(map))
            }
            ("putAll" | "addValues", [Val::Object(other)]) => {
                self.put_all(map, *other);
                Some(Val::Object(map))
            }
            ("get" | "getOrDefault", [key, ..]) => {
                let known = key.text().and_then(|key| self.objects[map.0].get(key));
                known.map(|variable| Val::Expr(Expr::Variable(*variable)))
            }
            _ => None,
        }
    }

    /// Whether a call that is not followed is given a statement of SQL, and is none that only shows
    /// or keeps it.
    pub fn hands_sql(&self, node: &Node, given: &[Expr]) -> bool {
        if node.kind != "method_invocation" || keeps_text(node.name()) {
            return false;
        }
        given.iter().any(|value| match value {
            Expr::Constant(Value::Text(text)) => is_whole_statement(text),
            Expr::Arithmetic { .. } => self
                .text_of(value)
                .is_some_and(|text| is_whole_statement(&text)),
            _ => false,
        })
    }
}

/// The class whose fields are the columns of their names, of a mapper that is of the library.
fn mapped_class(mapper: &Node) -> Option<&str> {
    let known = ["BeanPropertyRowMapper", "DataClassRowMapper"];
    let text = mapper.text();
    known.iter().find(|name| text.contains(**name))?;
    let all = mapper.all();
    let class = all.iter().find(|one| one.kind == "class_literal")?;
    class.children.first().map(Node::text)
}

/// A constant of `java.sql.Types`, which says how a value is sent.
fn is_type_code(node: &Node) -> bool {
    node.text().starts_with("Types.") || node.text().starts_with("java.sql.Types.")
}

/// Methods that show or keep a text, and do nothing with it.
fn keeps_text(name: &str) -> bool {
    let known = [
        "println",
        "print",
        "printf",
        "format",
        "log",
        "info",
        "debug",
        "warn",
        "error",
        "trace",
        "fine",
        "finer",
        "severe",
        "warning",
        "add",
        "put",
        "append",
        "equals",
        "contains",
        "requireNonNull",
        "addSuppressed",
        "assertEquals",
    ];
    known.contains(&name) || name.starts_with("set")
}

/// Whether a text is a whole statement, and not a sentence that begins like one.
pub(super) fn is_whole_statement(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    match words.first().copied() {
        Some("select") => has("from"),
        Some("insert" | "replace" | "merge") => words.get(1) == Some(&"into") && words.len() > 3,
        Some("update") => {
            words.get(2..).is_some_and(|rest| rest.contains(&"set")) && text.contains('=')
        }
        Some("delete") => words.get(1) == Some(&"from"),
        Some("with") => has("as") && has("select"),
        _ => false,
    }
}
