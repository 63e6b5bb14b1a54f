//! `try`: its resources, its body, its handlers, and what comes finally.

use super::env::Val;
use super::translate::{Chain, Translator, executes};
use super::tree::Node;
use crate::expr::Condition;
use crate::schema::Type;

impl<'a> Translator<'a> {
    pub fn tried(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        self.resources(node);
        let Some(body) = node.child("body") else {
            return false;
        };
        let last = node.of_kind("finally_clause").next();
        let last = last.filter(|last| executes(last));
        let last = last.and_then(|last| last.children.first());
        let handlers: Vec<&'a Node> = node
            .of_kind("catch_clause")
            .filter(|handler| executes(handler))
            .collect();
        let Some(last) = last else {
            return self.handled(body, &handlers, chain);
        };
        let returns = |one: &&Node| one.kind == "return_statement";
        if body.all().iter().any(returns) {
            let advice = "Return behind it.";
            self.note(last, "what a return gets to is left out", advice);
        }
        let behind = Chain {
            rest: &last.children,
            outer: Some(chain),
        };
        self.handled(body, &handlers, &behind) || {
            self.ended = false;
            self.block(&last.children, Some(chain))
        }
    }

    fn resources(&mut self, node: &'a Node) {
        let Some(resources) = node.child("resources") else {
            return;
        };
        for resource in resources.of_kind("resource") {
            let Some(value) = resource.child("value") else {
                continue;
            };
            let java = resource.child("type").map_or("", Node::text);
            let val = match (java, self.value(value)) {
                ("Connection", _) => Val::Connection,
                (_, val) => val,
            };
            let name = resource.name();
            self.env.types.insert(name.to_string(), java.to_string());
            self.declare(name, Type::Other, val);
        }
    }

    /// The body, or what comes before its last statement and then a handler: that one failed. A
    /// statement that fails changes nothing.
    fn handled(&mut self, body: &'a Node, handlers: &[&'a Node], chain: &Chain<'_, 'a>) -> bool {
        if handlers.is_empty() {
            return self.block(&body.children, Some(chain));
        }
        let failing = body.children.iter().rposition(executes).unwrap_or(0);
        let executing = body.children.iter().filter(|one| executes(one)).count();
        let mut arms = Vec::new();
        for handler in handlers {
            if executing > 1 {
                let assumed = "the handler is followed for the last statement of the try only";
                let advice = "Put the statement that may fail into a try of its own.";
                self.note(handler, assumed, advice);
            }
            let unknown = self.unknown(Vec::new());
            let condition = match unknown {
                crate::expr::Expr::Unknown { id, reads } => Condition::Unknown { id, reads },
                _ => Condition::True,
            };
            let steps: &'a [Node] = handler.child("body").map_or(&[], |body| &body.children);
            let arm = self.arm_of(chain, |this, chain| {
                let behind = Chain {
                    rest: steps,
                    outer: Some(chain),
                };
                this.block(&body.children[..failing], Some(&behind))
                    || this.block(steps, Some(chain))
            });
            arms.push((condition, arm));
        }
        let normal = self.arm_of(chain, |this, chain| this.block(&body.children, Some(chain)));
        let label = self.label();
        self.alternatives(arms, normal, chain, label, &body.place())
    }
}
