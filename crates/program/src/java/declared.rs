//! Statements in the annotations of an interface, which a library implements: MyBatis (`@Select`, `@Insert`,
//! `@Update`, `@Delete`, values as `#{name}`), JDBI (`@SqlQuery`, `@SqlUpdate`) and Spring Data (`@Query`), both with
//! values as `:name` or `?1`. A call of such a method is its statement.

use super::dynamic::{Variant, Written, is_dynamic, written};
use super::env::{Val, type_of};
use super::index::{Index, parameters};
use super::jdbc::Named;
use super::spread::{parameter_name, parameter_type};
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Row, StatementId, Value};
use crate::ir::Step;
use crate::place::{NoteKind, shorten};
use crate::resolve::{FIELD, OBJECT};
use crate::schema::Type;
use std::collections::BTreeMap;

/// How a library writes the values of its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `#{name}`, and `${name}` for what is put into the text.
    Braces,
    /// `:name`, `:#{#name}` or `?1`.
    Colons,
    /// Not SQL: the objects of a mapping.
    Objects,
}

/// A call of a method that is a statement.
struct Declared<'a> {
    node: &'a Node,
    class: usize,
    method: &'a Node,
    annotation: &'a Node,
    style: Style,
}

/// Whether a method without a body is a statement in an annotation.
pub(super) fn declares_sql(method: &Node) -> bool {
    method.kind == "method_declaration"
        && method.child("body").is_none()
        && annotation(method).is_some()
}

/// The annotation with the statement of a method.
fn annotation(method: &Node) -> Option<(&Node, Style)> {
    annotations(method).find_map(|one| {
        let name = one.name().rsplit('.').next().unwrap_or_default();
        let style = match name {
            "Select" | "Insert" | "Update" | "Delete" => Style::Braces,
            "SqlQuery" | "SqlUpdate" => Style::Colons,
            "Query" if is_mapped(one) => Style::Objects,
            "Query" => Style::Colons,
            _ => return None,
        };
        Some((one, style))
    })
}

/// Whether a `@Query` is one of JPA that speaks of objects, not of tables.
fn is_mapped(annotation: &Node) -> bool {
    let native = annotation.text().replace(' ', "");
    annotation.source_text().contains("data.jpa") && !native.contains("nativeQuery=true")
}

fn annotations(node: &Node) -> impl Iterator<Item = &Node> {
    let modifiers = node.of_kind("modifiers");
    modifiers.flat_map(|all| {
        all.children
            .iter()
            .filter(|one| one.kind.ends_with("annotation"))
    })
}

/// The text of an annotation: its only value, or that called `value`; an array is joined.
fn text_of<'a>(index: &Index<'a>, class: usize, annotation: &'a Node) -> Option<String> {
    let all = &annotation.child("arguments")?.children;
    let mut named = all.iter().filter(|one| one.kind == "element_value_pair");
    let value = match named.find(|one| one.child("key").is_some_and(|key| key.text() == "value")) {
        Some(pair) => pair.child("value")?,
        None => all.first()?,
    };
    let parts: Vec<&Node> = match value.kind {
        "element_value_array_initializer" => value.children.iter().collect(),
        _ => vec![value],
    };
    let mut texts = Vec::new();
    for part in parts {
        match index.constant(class, part)? {
            Value::Text(text) => texts.push(text),
            _ => return None,
        }
    }
    Some(texts.join(" "))
}

/// A statement with a `?` for each value, and what the values are called, in order.
fn with_placeholders(text: &str, style: Style) -> (String, Vec<String>) {
    let mut sql = String::new();
    let mut names = Vec::new();
    let mut rest = text;
    let mut quoted = false;
    while let Some(next) = rest.chars().next() {
        let value = match style {
            // Text is put in as it is, so quotes around it are part of the statement.
            Style::Braces => braces(rest),
            Style::Colons | Style::Objects if !quoted => colon(rest),
            _ => None,
        };
        match value {
            Some((name, length)) => {
                sql.push('?');
                names.push(name.to_string());
                rest = &rest[length..];
            }
            None if !quoted && rest.starts_with("::") => {
                sql.push_str("::");
                rest = &rest[2..];
            }
            None => {
                quoted ^= next == '\'';
                sql.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    (sql.replace("'?'", "?"), names)
}

/// The name in `#{name, jdbcType=…}` or `${name}` at the start of a text, and how long that is.
fn braces(text: &str) -> Option<(&str, usize)> {
    let inner = text
        .strip_prefix("#{")
        .or_else(|| text.strip_prefix("${"))?;
    let end = inner.find('}')?;
    let name = inner[..end].split([',', ':']).next()?.trim();
    Some((name, end + 3))
}

/// The name in `:name`, `:a.b`, `:#{#a.b}` or `?1` at the start of a text, and how long that is.
fn colon(text: &str) -> Option<(&str, usize)> {
    if let Some(inner) = text.strip_prefix(":#{#") {
        let end = inner.find('}')?;
        return Some((&inner[..end], end + 5));
    }
    let inner = text.strip_prefix([':', '?'])?;
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let end = inner.find(|c| !part(c)).unwrap_or(inner.len());
    let name = inner[..end].trim_end_matches('.');
    let numbered = name.starts_with(|c: char| c.is_ascii_digit());
    match !name.is_empty() && text.starts_with('?') == numbered {
        true => Some((name, name.len() + 1)),
        false => None,
    }
}

impl<'a> Translator<'a> {
    /// Runs the statement of a method that has it in an annotation.
    pub fn declared(
        &mut self,
        node: &'a Node,
        class: usize,
        method: &'a Node,
        arguments: &[Val],
    ) -> Val {
        let Some((annotation, style)) = annotation(method) else {
            return self.lost(node, arguments.to_vec(), true);
        };
        let call = Declared {
            node,
            class,
            method,
            annotation,
            style,
        };
        let text = text_of(self.index, class, annotation);
        self.met.extend(text.clone());
        let constant = "Write the SQL as a constant.";
        match text {
            _ if style == Style::Objects => self.left_out(
                annotation,
                "a query about objects, not about tables: left out",
                "Write it as SQL, with nativeQuery = true.",
            ),
            None => self.left_out(
                annotation,
                "the SQL text is not known here: the statement is left out",
                constant,
            ),
            Some(sql) if !is_dynamic(&sql) => {
                let only = Variant {
                    sql,
                    ..Variant::default()
                };
                return self.declared_text(&call, &only, arguments);
            }
            Some(text) => match written(&text) {
                Written::Out(all) => return self.one_of(&call, &all, arguments),
                Written::Whole(whole) => {
                    let assumed = "more variants than are followed: read with all its parts";
                    self.left_out(annotation, assumed, "Write fewer <if> in one statement.");
                    return self.declared_text(&call, &whole, arguments);
                }
                Written::Not(tag) => {
                    let assumed = format!("<{tag}> is not followed: the statement is left out");
                    self.left_out(annotation, &assumed, constant);
                }
            },
        }
        Val::Expr(self.unknown(Vec::new()))
    }

    /// Runs one of several variants of a statement: any, since what chooses is not followed.
    fn one_of(&mut self, call: &Declared<'a>, all: &[Variant], arguments: &[Val]) -> Val {
        if let [only] = all {
            return self.declared_text(call, only, arguments);
        }
        let assumed = "what its <if> test may be anything: asked with and without each part";
        self.add_note(call.annotation, assumed, "", NoteKind::Value);
        let result = self.variable("result", Type::Other);
        let mut arms: Vec<Vec<Step>> = Vec::new();
        for variant in all {
            arms.push(self.apart(|this| {
                let val = this.declared_text(call, variant, arguments);
                let value = this.expr_of(val);
                this.emit(Step::Let {
                    variable: result,
                    value,
                });
            }));
        }
        let mut steps = arms.pop().unwrap_or_default();
        for then in arms.into_iter().rev() {
            let condition = match self.any_of(arguments) {
                Expr::Unknown { id, reads } => Condition::Unknown { id, reads },
                _ => Condition::True,
            };
            steps = vec![Step::If {
                condition,
                then,
                otherwise: steps,
                place: call.annotation.place(),
            }];
        }
        for step in steps {
            self.emit(step);
        }
        Val::Expr(Expr::Variable(result))
    }

    /// Any value that depends on these.
    fn any_of(&mut self, arguments: &[Val]) -> Expr {
        let reads = arguments.iter().map(|one| self.expr_of(one.clone()));
        let reads = reads.collect();
        self.unknown(reads)
    }

    fn declared_text(&mut self, call: &Declared<'a>, variant: &Variant, arguments: &[Val]) -> Val {
        let Declared { node, method, .. } = *call;
        let (sql, names) = with_placeholders(&variant.sql, call.style);
        if !variant.members.is_empty() {
            let assumed = format!(
                "a part of the SQL repeats, and is read once: `{}`",
                shorten(&sql, 120)
            );
            self.note(call.annotation, &assumed, "Execute a statement for each.");
        }
        let mut given = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            let first = name.split('.').next().unwrap_or_default().trim();
            let value = match variant.members.iter().any(|member| member == first) {
                true => Some(self.any_of(arguments)),
                false => self.named_value(call.class, method, arguments, name),
            };
            if let Some(value) = value {
                given.insert(at + 1, value);
            }
        }
        let anywhere = variant.lists.then(|| self.any_of(arguments));
        let read = self.read(call.annotation, &sql, &given, &Named::default(), anywhere);
        let Some(mut statement) = read else {
            return Val::Expr(self.unknown(Vec::new()));
        };
        let key = generated_key(method);
        if key.is_some() {
            self.add_keys(&mut statement);
        }
        let (writes, outputs) = (statement.is_write(), statement.outputs.len());
        let id = self.run(statement);
        match (writes, key) {
            (true, Some(Some(property))) => {
                self.keep_key(node, arguments, &property, id);
                Val::Expr(Expr::RowCount(id))
            }
            (true, None) => Val::Expr(Expr::RowCount(id)),
            (true, Some(None)) => self.first_row(id, outputs),
            (false, _) => self.row_of_type(node, id, method.child("type").map_or("", Node::text)),
        }
    }

    /// The value that a statement calls so: a parameter, or a part of one.
    fn named_value(
        &mut self,
        class: usize,
        method: &'a Node,
        arguments: &[Val],
        name: &str,
    ) -> Option<Expr> {
        let all = parameters(method);
        let mut path: Vec<&str> = name.split('.').map(str::trim).collect();
        let first = *path.first()?;
        let numbered = |prefix: &str, from: usize| {
            let number: usize = first.strip_prefix(prefix)?.parse().ok()?;
            number.checked_sub(from)
        };
        let called = |one: &&'a Node| given_name(self.index, class, one) == first;
        let by_name = all.iter().position(called);
        let by_number = || {
            numbered("", 1)
                .or_else(|| numbered("param", 1))
                .or_else(|| numbered("arg", 0))
        };
        let at = match by_name.or_else(by_number) {
            Some(at) => {
                path.remove(0);
                at
            }
            // A part of the only object, or the only value by any name.
            None => {
                let at = the_object(&all)?;
                if type_of(parameter_type(all[at])) != Type::Other {
                    path.clear();
                }
                at
            }
        };
        let mut val = arguments.get(at)?.clone();
        for field in path {
            val = Val::Expr(match val {
                Val::Object(object) => Expr::Variable(self.object_field(object, field)),
                other => Expr::Call {
                    name: format!("{FIELD}{field}"),
                    arguments: vec![self.expr_of(other)],
                },
            });
        }
        Some(self.expr_of(val))
    }

    /// Puts a generated key into the object that was given.
    fn keep_key(
        &mut self,
        node: &'a Node,
        arguments: &[Val],
        property: &str,
        statement: StatementId,
    ) {
        let field = property.rsplit('.').next().unwrap_or(property);
        let value = Expr::Field {
            statement,
            row: Row::Nth(0),
            output: 0,
        };
        match arguments.first() {
            Some(Val::Object(object)) => {
                let variable = self.object_field(*object, field);
                self.emit(Step::Let { variable, value });
            }
            Some(Val::Expr(before)) => {
                if let Some(target) = self.nth(node, 0) {
                    self.store_field(target, before.clone(), field, value);
                }
            }
            _ => {}
        }
    }

    /// What a library makes of the first row of a result for a type of Java: a value, an object with the columns
    /// as fields, or null where there is no row.
    pub fn row_of_type(&mut self, node: &'a Node, statement: StatementId, java: &str) -> Val {
        let names = self.outputs.get(&statement.0).cloned().unwrap_or_default();
        let inner = java
            .strip_prefix("Optional<")
            .and_then(|rest| rest.strip_suffix('>'));
        let inner = inner.unwrap_or(java);
        match type_of(inner) {
            Type::Other | Type::List => {}
            _ if names.len() == 1 => {
                if inner.starts_with(|c: char| c.is_ascii_lowercase()) {
                    self.needs_row(node, statement);
                }
                return self.first_row(statement, 1);
            }
            _ => return self.first_row(statement, names.len()),
        }
        let bare = inner.split('<').next().unwrap_or(inner);
        match self.index.class(bare) {
            Some(class) if type_of(inner) == Type::Other => {
                Val::Expr(self.row_object(statement, &names, class))
            }
            _ => self.first_row(statement, names.len()),
        }
    }

    /// An object of a class whose fields are the columns of their names; null without a row.
    fn row_object(&mut self, statement: StatementId, names: &[String], class: usize) -> Expr {
        let row = Row::Nth(0);
        let field = |output: usize| Expr::Field {
            statement,
            row,
            output: output as u32,
        };
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let mut arguments = Vec::new();
        for name in self.index.field_names(class) {
            let column = names.iter().position(|one| plain(one) == plain(name));
            arguments.push(Expr::text(name));
            arguments.push(match column {
                Some(column) => field(column),
                None => self.unknown((0..names.len()).map(field).collect()),
            });
        }
        Expr::If {
            condition: Box::new(Condition::HasRow { statement, row }),
            then: Box::new(Expr::Call {
                name: OBJECT.to_string(),
                arguments,
            }),
            otherwise: Box::new(Expr::Constant(Value::Null)),
        }
    }
}

/// What a statement calls a parameter: as its annotation says (`@Param`, `@Bind`), else by its own name.
fn given_name<'a>(index: &Index<'a>, class: usize, parameter: &'a Node) -> String {
    let named = annotations(parameter).find_map(|one| match one.name() {
        "Param" | "Bind" => text_of(index, class, one),
        _ => None,
    });
    named.unwrap_or_else(|| parameter_name(parameter).to_string())
}

/// The parameter whose parts are called by their names alone: the only one, or one that says so.
fn the_object(all: &[&Node]) -> Option<usize> {
    let is_bean = |one: &&Node| annotations(one).any(|one| one.name().starts_with("BindBean"));
    match all {
        [only] if !annotations(only).any(|one| one.name() == "Param") => Some(0),
        _ => all.iter().position(is_bean),
    }
}

/// Whether a method gets generated keys: into a property of what it is given, or as what it returns.
fn generated_key(method: &Node) -> Option<Option<String>> {
    annotations(method).find_map(|one| match one.name() {
        "GetGeneratedKeys" => Some(None),
        "Options" => {
            let (_, rest) = one.text().split_once("keyProperty")?;
            Some(rest.split('"').nth(1).map(str::to_string))
        }
        _ => None,
    })
}
