//! Methods of values: lists, objects, texts and numbers.

use super::condition::truth;
use super::env::{Val, type_of};
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr, Operator};
use crate::ir::Step;
use crate::resolve::FIELD;
use crate::schema::Type;

impl<'a> Translator<'a> {
    pub fn list_call(
        &mut self,
        node: &'a Node,
        list: crate::expr::VariableId,
        name: &str,
        used: bool,
    ) -> Val {
        let arguments = self.arguments(node);
        let variable = Expr::Variable(list);
        match (name, arguments.as_slice()) {
            ("add" | "addLast" | "offer" | "push", [value]) => {
                let value = value.clone();
                let value = self.expr_of(value);
                self.emit(Step::Push {
                    variable: list,
                    value,
                });
                Val::Nothing
            }
            ("get" | "elementAt", [index]) => {
                let index = self.expr_of(index.clone());
                Val::Expr(Expr::Element {
                    list: Box::new(variable),
                    index: Box::new(index),
                })
            }
            ("findFirst" | "findAny" | "getFirst" | "peek", []) => Val::Expr(Expr::Element {
                list: Box::new(variable),
                index: Box::new(Expr::integer(0)),
            }),
            ("size" | "count", []) => Val::Expr(Expr::Size(Box::new(variable))),
            ("isEmpty", []) => Val::Expr(is_empty(variable)),
            ("clear", []) => {
                let value = Expr::List(Vec::new());
                self.emit(Step::Let {
                    variable: list,
                    value,
                });
                Val::Nothing
            }
            ("toArray" | "stream" | "iterator", _) => Val::List(list),
            _ => {
                let mut reads = self.exprs(arguments);
                reads.push(variable);
                self.any_value(node, reads, used)
            }
        }
    }

    /// Getters and setters of an object made here are its fields.
    pub fn object_call(
        &mut self,
        node: &'a Node,
        object: super::env::ObjectId,
        name: &str,
        used: bool,
    ) -> Val {
        let arguments = self.arguments(node);
        if let Some(val) = self.map_call(object, name, &arguments) {
            return val;
        }
        let field = |prefix: &str| {
            let rest = name.strip_prefix(prefix)?;
            let first = rest.chars().next()?.to_ascii_lowercase();
            Some(format!("{first}{}", &rest[first.len_utf8()..]))
        };
        match arguments.as_slice() {
            [value] if name.starts_with("set") => {
                let value = self.expr_of(value.clone());
                if let Some(field) = field("set") {
                    let variable = self.object_field(object, &field);
                    self.emit(Step::Let { variable, value });
                }
                Val::Nothing
            }
            [] => {
                let own = self.objects[object.0].contains_key(name);
                let field = match own {
                    true => Some(name.to_string()),
                    false => field("get").or_else(|| field("is")),
                };
                match field {
                    Some(field) => Val::Expr(Expr::Variable(self.object_field(object, &field))),
                    None => self.any_value(node, Vec::new(), used),
                }
            }
            _ => self.lost(node, arguments, used),
        }
    }

    /// A method of a value: a text, a number, a parameter.
    pub fn value_call(
        &mut self,
        node: &'a Node,
        object: &'a Node,
        value: Expr,
        name: &str,
        used: bool,
    ) -> Val {
        let arguments = self.arguments(node);
        let data = self.exprs(arguments.clone());
        match (name, data.as_slice()) {
            ("equals" | "equalsIgnoreCase", [other]) => {
                let same = Condition::compare(Comparison::Equal, value, other.clone());
                Val::Expr(truth(same))
            }
            ("append" | "concat", [_]) => {
                let first = arguments.into_iter().next().unwrap_or(Val::Nothing);
                let joined = self.joined(value, first);
                if name == "append"
                    && let Some(root) = root(object)
                {
                    self.store(root, joined.clone());
                }
                joined
            }
            ("size" | "length", []) if is_list(self, &value) => {
                Val::Expr(Expr::Size(Box::new(value)))
            }
            ("get", [index]) if is_list(self, &value) => Val::Expr(Expr::Element {
                list: Box::new(value),
                index: Box::new(index.clone()),
            }),
            ("isEmpty", []) if is_list(self, &value) => Val::Expr(is_empty(value)),
            ("negate", []) if used => Val::Expr(Expr::arithmetic(
                Operator::Subtract,
                Expr::integer(0),
                value,
            )),
            ("add" | "subtract" | "multiply" | "divide", [other]) if used => {
                Val::Expr(Expr::arithmetic(operator(name), value, other.clone()))
            }
            (
                "toString" | "intValue" | "longValue" | "doubleValue" | "floatValue" | "trim"
                | "getTime" | "strip" | "optional",
                [],
            ) => Val::Expr(value),
            _ if is_pure(name) => Val::Expr(Expr::Call {
                name: name.to_ascii_lowercase(),
                arguments: std::iter::once(value).chain(data).collect(),
            }),
            // A separator is taken off the end of a text.
            ("setLength" | "deleteCharAt" | "delete", _) if self.text_of(&value).is_some() => {
                Val::Nothing
            }
            _ if arguments.contains(&Val::Connection) => self.foreign(node, name, arguments, used),
            (_, [new]) if !used && is_setter(name) => {
                self.store_field(object, value, &getter_field(name), new.clone());
                Val::Nothing
            }
            (_, []) if used && is_getter(self, object, name) => Val::Expr(Expr::Call {
                name: format!("{FIELD}{}", getter_field(name)),
                arguments: vec![value],
            }),
            _ => {
                let reads = std::iter::once(value).chain(data).collect();
                self.unfollowed(node, object, reads, used)
            }
        }
    }

    /// A method that is not followed; what is called for what it does to the object leaves any value.
    fn unfollowed(&mut self, node: &Node, object: &'a Node, reads: Vec<Expr>, used: bool) -> Val {
        let val = self.any_value(node, reads, used);
        if !used && object.kind == "identifier" {
            self.store(object, val.clone());
        }
        val
    }

    fn joined(&mut self, value: Expr, more: Val) -> Val {
        let more = self.expr_of(more);
        let folded = match (&value, &more) {
            (Expr::Constant(a), Expr::Constant(b)) => {
                let text =
                    super::index::combine("+", crate::expr::Value::Text(String::new()), a.clone());
                text.and_then(|text| super::index::combine("+", text, b.clone()))
            }
            _ => None,
        };
        match folded {
            Some(text) => Val::Expr(Expr::Constant(text)),
            None => Val::Expr(Expr::arithmetic(Operator::Concatenate, value, more)),
        }
    }
}

/// Whether a list has no elements.
fn is_empty(list: Expr) -> Expr {
    let size = Expr::Size(Box::new(list));
    truth(Condition::compare(
        Comparison::Equal,
        size,
        Expr::integer(0),
    ))
}

/// The operator that a method of numbers is.
fn operator(name: &str) -> Operator {
    match name {
        "add" => Operator::Add,
        "subtract" => Operator::Subtract,
        "multiply" => Operator::Multiply,
        _ => Operator::Divide,
    }
}

/// Whether a method gives a part of an object, the same one each time.
fn is_getter<'a>(translator: &Translator<'a>, object: &'a Node, name: &str) -> bool {
    // `name.isBlank()` of a text is no part of it.
    let java = translator.java_type(object);
    if java.is_some_and(|java| type_of(java) != Type::Other) {
        return false;
    }
    if let Some(class) = translator.class_of(object) {
        let declared = translator.index.classes[class].node;
        let component = |one: &&Node| one.name() == name;
        if declared.kind == "record_declaration" {
            return super::index::parameters(declared).iter().any(component);
        }
    }
    let rest = name.strip_prefix("get").or_else(|| name.strip_prefix("is"));
    let named = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    named && !name.starts_with("getAnd") && !name.starts_with("getNext")
}

/// Whether a method gives or sets a part of an object, by its name.
pub(super) fn is_accessor(name: &str) -> bool {
    let rest = |prefix: &str| name.strip_prefix(prefix);
    let rest = rest("get").or_else(|| rest("is")).or_else(|| rest("set"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a method sets a part of an object.
fn is_setter(name: &str) -> bool {
    let rest = name.strip_prefix("set");
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The field that a getter gives, or a setter sets.
pub(super) fn getter_field(name: &str) -> String {
    let rest = name.strip_prefix("get").or_else(|| name.strip_prefix("is"));
    let rest = rest.or_else(|| name.strip_prefix("set"));
    let rest = rest.filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    let rest = rest.unwrap_or(name);
    let mut characters = rest.chars();
    match characters.next() {
        Some(first) => format!("{}{}", first.to_ascii_lowercase(), characters.as_str()),
        None => String::new(),
    }
}

/// Functions of texts and numbers.
fn is_pure(name: &str) -> bool {
    let known = [
        "substring",
        "length",
        "toLowerCase",
        "toUpperCase",
        "replace",
        "indexOf",
        "charAt",
        "startsWith",
        "endsWith",
        "contains",
        "negate",
        "abs",
        "min",
        "max",
        "compareTo",
        "hashCode",
        "ordinal",
        "encode",
        "name",
    ];
    known.contains(&name)
}

fn is_list(translator: &Translator<'_>, value: &Expr) -> bool {
    match value {
        Expr::List(_) => true,
        Expr::Variable(id) => {
            let variable = translator.variables.get(id.0 as usize);
            variable.is_some_and(|one| one.ty == Type::List)
        }
        Expr::Parameter(_) => true,
        _ => false,
    }
}

/// The name at the start of `a.append(x).append(y)`.
pub(super) fn root(node: &Node) -> Option<&Node> {
    let mut at = node;
    while at.kind == "method_invocation" {
        at = at.child("object")?;
    }
    (at.kind == "identifier").then_some(at)
}
