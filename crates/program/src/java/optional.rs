//! An `Optional` is what it holds, or null.

use super::condition::truth;
use super::env::Val;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Value};
use crate::ir::Step;

impl<'a> Translator<'a> {
    /// `Optional.of(x)`, `Optional.empty()`.
    pub fn optional_made(&self, class: &str, name: &str, data: &[Expr]) -> Option<Val> {
        let null = Expr::Constant(Value::Null);
        let held = match (class.starts_with("Optional"), name, data) {
            (true, "of" | "ofNullable", [held]) => held.clone(),
            (true, "empty", []) => null,
            _ => return None,
        };
        Some(Val::Expr(held))
    }

    /// What a method of an optional gives. Some names tell that it is one; for others the type of
    /// the object must say so.
    pub fn optional_call(&mut self, node: &'a Node) -> Option<Val> {
        let (name, object) = (node.name(), node.child("object")?);
        if self.is_jdbc(object) {
            return None;
        }
        let arguments = node.child("arguments").map_or(0, |all| all.children.len());
        let java = self.java_type(object).unwrap_or_default();
        let declared = java.starts_with("Optional");
        match (name, arguments) {
            ("orElseThrow", 0 | 1) | ("isPresent", 0) | ("orElse", 1) => {}
            ("get" | "getAsInt" | "getAsLong" | "isEmpty", 0) if declared => {}
            _ => return None,
        }
        let held = self.value(object);
        let held = self.expr_of(held);
        let none = Condition::IsNull(held.clone());
        Some(Val::Expr(match name {
            "isPresent" => truth(none.negated()),
            "isEmpty" => truth(none),
            "orElse" => {
                let other = self.arguments(node).into_iter().next()?;
                Expr::If {
                    condition: Box::new(none),
                    then: Box::new(self.expr_of(other)),
                    otherwise: Box::new(held),
                }
            }
            "orElseThrow" => {
                let place = node.place();
                self.emit(Step::If {
                    condition: none,
                    then: vec![Step::Abort {
                        place: place.clone(),
                    }],
                    otherwise: Vec::new(),
                    place,
                });
                held
            }
            _ => held,
        }))
    }
}
