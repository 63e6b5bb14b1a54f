//! An `Optional` is what it holds, or null; code that is given to it runs where it holds something.

use super::condition::truth;
use super::env::{ObjectId, Val};
use super::methods::getter_field;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Value};
use crate::ir::Step;
use crate::resolve::FIELD;
use crate::schema::Type;

impl<'a> Translator<'a> {
    /// `Optional.of(x)`, `Optional.empty()`.
    pub fn optional_made(&self, class: &str, name: &str, data: &[Val]) -> Option<Val> {
        match (class.starts_with("Optional"), name, data) {
            (true, "of" | "ofNullable", [held]) => Some(held.clone()),
            (true, "empty", []) => Some(Val::Expr(Expr::Constant(Value::Null))),
            _ => None,
        }
    }

    /// `Objects.isNull(x)`, `Objects.nonNull(x)`, `Objects.requireNonNull(x, …)`.
    pub fn null_asked(&mut self, node: &'a Node, name: &str, data: &[Val]) -> Option<Val> {
        let asked = data.first()?;
        let held = asked.clone();
        let none = self.is_null(asked);
        match name {
            "isNull" => Some(Val::Expr(truth(none))),
            "nonNull" => Some(Val::Expr(truth(none.negated()))),
            "requireNonNull" => {
                self.abort_where(node, none);
                Some(held)
            }
            _ => None,
        }
    }

    /// What a method of an optional gives. Some names tell that it is one; for others the type of
    /// the object must say so.
    pub fn optional_call(&mut self, node: &'a Node) -> Option<Val> {
        let (name, object) = (node.name(), node.child("object")?);
        if self.is_jdbc(object) {
            return None;
        }
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        match (name, arguments.len()) {
            ("orElseThrow", 0 | 1) | ("isPresent", 0) | ("orElse" | "orElseGet", 1) => {}
            ("get" | "getAsInt" | "getAsLong" | "isEmpty", 0)
            | ("map" | "flatMap" | "filter" | "ifPresent", 1)
            | ("ifPresentOrElse", 2)
                if self.is_optional(object) => {}
            _ => return None,
        }
        let held = match self.value(object) {
            Val::Nothing => Val::Expr(self.unknown(Vec::new())),
            held => held,
        };
        let none = self.is_null(&held);
        Some(match (name, arguments) {
            ("isPresent", _) => Val::Expr(truth(none.negated())),
            ("isEmpty", _) => Val::Expr(truth(none)),
            ("orElseThrow", _) => {
                self.abort_where(node, none);
                held
            }
            ("orElse", [other]) => {
                let other = self.value(other);
                self.instead(held, none, other)
            }
            ("orElseGet", [code]) => {
                let mut other = Val::Nothing;
                let steps = self.apart(|this| other = this.run_code(node, code, Vec::new()));
                self.emit_if(node, none.clone(), steps, Vec::new());
                self.instead(held, none, other)
            }
            ("ifPresent", [code]) => {
                let steps = self.apart(|this| {
                    this.run_code(node, code, vec![held]);
                });
                self.emit_if(node, none, Vec::new(), steps);
                Val::Nothing
            }
            ("ifPresentOrElse", [code, other]) => {
                let steps = self.apart(|this| {
                    this.run_code(node, code, vec![held]);
                });
                let others = self.apart(|this| {
                    this.run_code(node, other, Vec::new());
                });
                self.emit_if(node, none, others, steps);
                Val::Nothing
            }
            ("map" | "flatMap" | "filter", [code]) => self.mapped(node, held, none, code),
            _ => held,
        })
    }

    /// Whether an expression is an optional, by its declaration or by how it is made.
    pub fn is_optional(&self, node: &'a Node) -> bool {
        let declared = self.declared_type(node);
        if declared.is_some_and(|java| java.starts_with("Optional")) {
            return true;
        }
        if node.kind != "method_invocation" {
            return false;
        }
        let object = node.child("object");
        match node.name() {
            "findFirst" | "findAny" => true,
            "map" | "flatMap" | "filter" | "or" => object.is_some_and(|one| self.is_optional(one)),
            "of" | "ofNullable" | "empty" => {
                object.is_some_and(|one| one.text().starts_with("Optional"))
            }
            _ => false,
        }
    }

    /// What an optional holds, or something else where it is empty.
    fn instead(&mut self, held: Val, none: Condition, other: Val) -> Val {
        let null = Val::Expr(Expr::Constant(Value::Null));
        if other == null || none == Condition::False {
            return held;
        }
        let (held, other) = (self.expr_of(held), self.expr_of(other));
        Val::Expr(Expr::If {
            condition: Box::new(none),
            then: Box::new(other),
            otherwise: Box::new(held),
        })
    }

    /// `map`, `flatMap` and `filter`: what the code makes of what is held, null where nothing is.
    fn mapped(&mut self, node: &'a Node, held: Val, none: Condition, code: &'a Node) -> Val {
        let result = self.variable("mapped", Type::Other);
        let null = Expr::Constant(Value::Null);
        let mut given = Val::Nothing;
        let steps = self.apart(|this| {
            let made = this.run_code(node, code, vec![held.clone()]);
            let value = match node.name() {
                "filter" => {
                    given = held;
                    let passes = this.is_true(made);
                    Expr::If {
                        condition: Box::new(passes),
                        then: Box::new(this.present(&given)),
                        otherwise: Box::new(null.clone()),
                    }
                }
                _ => {
                    given = made;
                    this.present(&given)
                }
            };
            this.emit(Step::Let {
                variable: result,
                value,
            });
        });
        let absent = vec![Step::Let {
            variable: result,
            value: null,
        }];
        self.emit_if(node, none, absent, steps);
        match given {
            Val::Object(object) => {
                let copy = self.add_object();
                self.copy_fields(object, copy);
                self.made_later.insert(copy.0, result);
                Val::Object(copy)
            }
            _ => Val::Expr(Expr::Variable(result)),
        }
    }

    /// A value as it is; of an object only whether there is one.
    fn present(&mut self, val: &Val) -> Expr {
        match val {
            Val::Object(object) => self.is_made(*object),
            val => self.expr_of(val.clone()),
        }
    }

    /// Runs code that is given, whether or not it gets to the database. A reference to a getter is
    /// that field of what it is given.
    fn run_code(&mut self, node: &'a Node, code: &'a Node, arguments: Vec<Val>) -> Val {
        if code.kind == "method_reference"
            && let Some(first) = code.children.first()
            && self.index.class(first.text()).is_some()
            && let (Some(name), Some(given)) = (code.children.last(), arguments.first())
            && super::methods::is_accessor(name.text())
        {
            let field = getter_field(name.text());
            return self.field_of(given.clone(), &field);
        }
        if let Some(Val::Lambda(id)) = self.code(code) {
            return self.run_lambda(node, id, arguments);
        }
        let reads = self.exprs(arguments);
        self.any_value(code, reads, true)
    }

    fn field_of(&mut self, val: Val, field: &str) -> Val {
        Val::Expr(match val {
            Val::Object(ObjectId(id)) => Expr::Variable(self.object_field(ObjectId(id), field)),
            val => Expr::Call {
                name: format!("{FIELD}{field}"),
                arguments: vec![self.expr_of(val)],
            },
        })
    }

    fn abort_where(&mut self, node: &'a Node, condition: Condition) {
        let place = node.place();
        self.emit_if(node, condition, vec![Step::Abort { place }], Vec::new());
    }

    fn emit_if(
        &mut self,
        node: &'a Node,
        condition: Condition,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    ) {
        if then.is_empty() && otherwise.is_empty() {
            return;
        }
        self.emit(Step::If {
            condition,
            then,
            otherwise,
            place: node.place(),
        });
    }
}
