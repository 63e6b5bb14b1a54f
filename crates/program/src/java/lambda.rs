//! Code that is handed over: lambdas, anonymous classes, references to methods. Where the method
//! that gets it is in the sources it runs where that calls it, else once, where it is handed over.

use super::env::{Env, Slot, Val, type_of};
use super::translate::{Frame, Translator, executes};
use super::tree::Node;
use crate::expr::Expr;
use crate::ir::{Repeat, Step};
use crate::place::NoteKind;
use crate::schema::Type;

/// Calls are followed this deep.
pub(super) const CALLS_MAX: usize = 12;

/// Code with what it sees.
#[derive(Clone)]
pub(super) struct Lambda<'a> {
    /// A lambda, or the method that is meant.
    node: &'a Node,
    env: Env,
    class: usize,
    this: usize,
}

impl<'a> Translator<'a> {
    /// The code that an expression is, where it gets to the database.
    pub fn lambda(&mut self, node: &'a Node) -> Option<Val> {
        let count = self.lambdas.len();
        let val = self.code(node)?;
        let found = self.lambdas.last().map(|lambda| lambda.node)?;
        if self.reaches(found) {
            return Some(val);
        }
        self.lambdas.truncate(count);
        None
    }

    /// The code that an expression is.
    pub fn code(&mut self, node: &'a Node) -> Option<Val> {
        let (class, this) = (self.class(), self.this_class());
        let (found, class, this) = match node.kind {
            "lambda_expression" => (node, class, this),
            "method_reference" => {
                let name = node.children.last()?.text();
                let owner = match node.children.first()?.kind {
                    "this" => Some(this),
                    _ => self.class_of(node.children.first()?),
                };
                let owner = owner.or_else(|| self.index.class(node.children.first()?.text()))?;
                let (at, method) = self.index.any_method(owner, name)?;
                (method, at, owner)
            }
            "object_creation_expression" => {
                let body = node.of_kind("class_body").next()?;
                let mut methods = body.of_kind("method_declaration");
                (methods.find(|method| executes(method))?, class, this)
            }
            _ => return None,
        };
        self.lambdas.push(Lambda {
            node: found,
            env: self.env.clone(),
            class,
            this,
        });
        Some(Val::Lambda(self.lambdas.len() - 1))
    }

    /// Runs the code with these arguments.
    pub fn run_lambda(&mut self, node: &'a Node, id: usize, arguments: Vec<Val>) -> Val {
        let Some(lambda) = self.lambdas.get(id).cloned() else {
            return Val::Nothing;
        };
        let Some(body) = lambda.node.child("body") else {
            return Val::Nothing;
        };
        if self.frames.len() >= CALLS_MAX {
            self.note(node, "the call is left out", "Calls are followed 12 deep.");
            return Val::Expr(self.unknown(Vec::new()));
        }
        let label = self.label();
        let result = self.variable("lambda()", Type::Other);
        let mut inner = lambda.env;
        inner.samples.extend(self.env.samples.clone());
        let outer = std::mem::replace(&mut self.env, inner);
        let loops = std::mem::take(&mut self.loops);
        let names = parameter_names(lambda.node);
        let mut arguments = arguments.into_iter();
        for (name, java) in names {
            let given = arguments.next().unwrap_or(Val::Nothing);
            let val = match java {
                "Connection" => Val::Connection,
                _ => given,
            };
            let slot = Slot {
                val,
                variable: None,
                ty: type_of(java),
            };
            self.env.types.insert(name.to_string(), java.to_string());
            self.env.slots.insert(name.to_string(), slot);
        }
        self.frames.push(Frame {
            class: lambda.class,
            this: lambda.this,
            label,
            returned: None,
            result,
        });
        let mut value = None;
        let steps = self.apart(|this| match body.kind {
            "block" => {
                this.block(&body.children, None);
            }
            "method_invocation" => value = Some(this.call(body, true)),
            _ => value = Some(this.value(body)),
        });
        let frame = self.frames.pop();
        self.ended = false;
        self.loops = loops;
        let inner = std::mem::replace(&mut self.env, outer);
        self.env.samples.extend(inner.samples);
        self.emit(Step::Block { label, body: steps });
        let returned = frame.and_then(|frame| frame.returned);
        value.or(returned).unwrap_or(Val::Nothing)
    }

    /// Code handed to a method that is not in the sources: once for each element where it is for
    /// that, else once.
    pub fn hand_over(&mut self, node: &'a Node) -> Val {
        let name = node.name();
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let object = node.child("object");
        self.opened |= super::boundary::is_transactional(name, object.map_or("", Node::text));
        let elements = match (name, object) {
            ("forEach" | "forEachOrdered", Some(object)) => {
                let list = self.value(object);
                Some(self.expr_of(list))
            }
            // What it is called on is asked first: `find(id).ifAbsent(() -> …)`.
            (_, Some(object)) if object.kind == "method_invocation" => {
                self.value(object);
                None
            }
            _ => None,
        };
        let mut last = Val::Nothing;
        for argument in arguments {
            let val = match self.lambda(argument) {
                Some(val) => val,
                None => self.value(argument),
            };
            let Val::Lambda(id) = val else {
                continue;
            };
            match &elements {
                Some(list) => {
                    let variable = self.variable("element", Type::Other);
                    let element = Val::Expr(Expr::Variable(variable));
                    let body = self.apart(|this| {
                        this.run_lambda(node, id, vec![element]);
                    });
                    let label = self.label();
                    let place = node.place();
                    self.emit(Step::Loop {
                        label,
                        repeat: Repeat::Elements {
                            list: list.clone(),
                            variable,
                        },
                        body,
                        place,
                    });
                }
                None => {
                    let assumed = "what it is given runs once, here";
                    self.add_note(node, assumed, "", NoteKind::Value);
                    last = self.run_lambda(node, id, Vec::new());
                }
            }
        }
        last
    }

    /// Whether some argument is code that gets to the database.
    pub fn hands_code(&mut self, node: &'a Node) -> bool {
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        arguments.iter().any(|argument| {
            let count = self.lambdas.len();
            let found = self.lambda(argument).is_some();
            self.lambdas.truncate(count);
            found
        })
    }
}

/// The parameters of a lambda or a method, with their types where these are said.
fn parameter_names(node: &Node) -> Vec<(&str, &str)> {
    let Some(list) = node.child("parameters") else {
        return Vec::new();
    };
    if list.kind == "identifier" {
        return vec![(list.text(), "")];
    }
    let named = |one: &'_ Node| one.kind == "identifier" || one.kind.ends_with("parameter");
    let mut found = Vec::new();
    for one in list.children.iter().filter(|one| named(one)) {
        match one.kind {
            "identifier" => found.push((one.text(), "")),
            _ => found.push((one.name(), one.child("type").map_or("", Node::text))),
        }
    }
    found
}
