//! Methods of an object's own class that compute with its fields (`account.withdraw(amount)`): followed with the
//! fields that the object has, and what they change is changed in the object.

use super::calls::worth_following;
use super::env::{Env, Slot, Val, type_of};
use super::methods::getter_field;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::Expr;
use crate::ir::Step;
use crate::resolve::FIELD;

impl<'a> Translator<'a> {
    /// A call of a method of the sources on a value or an object made here; none where there is no such method,
    /// or it is not worth following.
    pub fn entity_call(&mut self, node: &'a Node, object: &'a Node, receiver: &Val) -> Option<Val> {
        let class = self.class_of(object)?;
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let (owner, method) = self.index.method(class, node.name(), count)?;
        if method.child("body").is_none() || !worth_following(method) {
            return None;
        }
        let arguments = self.arguments(node);
        let (own, before) = self.fields_of(class, receiver);
        let (val, after) = self.follow_in(node, (owner, class), method, arguments, own);
        for (key, slot) in after {
            let name = key.trim_start_matches("this.");
            let known = before.iter().find(|(field, _)| *field == name);
            let same = known.is_some_and(|(_, value)| slot.val == Val::Expr(value.clone()));
            if slot.variable.is_none() || same {
                continue;
            }
            let value = self.expr_of(slot.val);
            match receiver {
                Val::Object(id) => {
                    let variable = self.object_field(*id, name);
                    self.emit(Step::Let { variable, value });
                }
                // What a call gave is kept by nobody.
                _ if object.kind == "method_invocation" => {}
                _ => {
                    // As it is now: an earlier field may have changed it.
                    let now = self.value(object);
                    let now = self.expr_of(now);
                    self.store_field(object, now, name, value);
                }
            }
        }
        Some(val)
    }

    /// Whether a method that is called like a getter is none: its class has no such field.
    pub fn is_computed(&self, object: &Node, name: &str) -> bool {
        let Some(class) = self.class_of(object) else {
            return false;
        };
        let declared = self.index.method(class, name, 0);
        let body = declared.is_some_and(|(_, method)| method.child("body").is_some());
        body && self.index.field(class, &getter_field(name)).is_none()
    }

    /// The fields of an object as a method of its class sees them, and their values.
    fn fields_of(&mut self, class: usize, receiver: &Val) -> (Env, Vec<(&'a str, Expr)>) {
        let mut own = self.callee_env(false);
        let mut values = Vec::new();
        for name in self.index.field_names(class) {
            let field = self.index.field(class, name);
            if field.is_some_and(|(_, field)| field.constant && field.value.is_some()) {
                continue;
            }
            let value = match receiver {
                Val::Object(id) => Expr::Variable(self.object_field(*id, name)),
                other => Expr::Call {
                    name: format!("{FIELD}{name}"),
                    arguments: vec![self.expr_of(other.clone())],
                },
            };
            let slot = Slot {
                val: Val::Expr(value.clone()),
                variable: None,
                ty: field.map_or(crate::schema::Type::Other, |(_, field)| type_of(field.ty)),
            };
            own.slots.insert(format!("this.{name}"), slot);
            values.push((name, value));
        }
        (own, values)
    }
}
