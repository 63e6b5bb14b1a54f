//! Loops.

use super::env::{Slot, Val, type_of};
use super::methods::root;
use super::translate::{Chain, Translator};
use super::tree::Node;
use crate::expr::{Condition, Expr, VariableId};
use crate::ir::{Label, Repeat, Step};

/// Where `break` and `continue` go.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub breaks: Label,
    pub continues: Label,
    /// The label of the source.
    pub name: Option<String>,
}

impl<'a> Translator<'a> {
    /// Enters a loop.
    pub fn enter(&mut self) -> (Label, Label) {
        let (breaks, continues) = (self.label(), self.label());
        let name = self.labelled.take();
        self.loops.push(Target {
            breaks,
            continues,
            name,
        });
        (breaks, continues)
    }

    /// `break`, `continue`, with or without a label.
    pub fn leave(&mut self, node: &Node) {
        let named = node.children.first().map(Node::text);
        let mut targets = self.loops.iter().rev();
        let target = targets.find(|one| named.is_none() || one.name.as_deref() == named);
        match target {
            Some(target) => {
                let label = match node.kind {
                    "break_statement" => target.breaks,
                    _ => target.continues,
                };
                self.emit(Step::Break(label));
                self.ended = true;
            }
            None => {
                let advice = "Leave the loop by a condition.";
                self.note(node, "the jump is left out", advice);
            }
        }
    }

    /// A name that a loop assigns is no constant in it.
    pub fn forget_assigned(&mut self, node: &Node) {
        for one in node.all() {
            let target = match one.kind {
                "assignment_expression" => one.child("left"),
                "update_expression" => one.children.first(),
                "method_invocation" if one.name() == "append" => root(one),
                _ => None,
            };
            let Some(target) = target.filter(|target| target.kind == "identifier") else {
                continue;
            };
            let name = target.text();
            match self
                .env
                .slots
                .get(name)
                .map(|slot| (slot.val.clone(), slot.variable))
            {
                Some((val @ Val::Expr(_), None)) => {
                    self.assign(name, val);
                }
                Some((Val::Expr(_), Some(_))) => {}
                _ => continue,
            }
            if let Some(slot) = self.env.slots.get_mut(name)
                && let Some(variable) = slot.variable
            {
                slot.val = Val::Expr(Expr::Variable(variable));
            }
        }
    }

    pub fn looped(&mut self, node: &'a Node) {
        let place = node.place();
        for init in node.children.iter().filter(|one| one.field == Some("init")) {
            match init.kind {
                "local_variable_declaration" => self.locals(init),
                _ => {
                    self.value(init);
                }
            }
        }
        if self.is_over_given(node) || self.is_counted(node) {
            return self.each_turn(node);
        }
        self.forget_assigned(node);
        let (label, continues) = self.enter();
        let mut condition = Condition::True;
        let test = node.child("condition");
        let body = node.child("body");
        let mut before = Vec::new();
        if node.kind == "do_statement" {
            let body = self.body(body);
            before.push(Step::Block {
                label: continues,
                body,
            });
        }
        before.extend(self.apart(|this| {
            if let Some(test) = test {
                condition = this.condition(test);
            }
        }));
        let mut steps = Vec::new();
        if node.kind != "do_statement" {
            let body = self.body(body);
            steps.push(Step::Block {
                label: continues,
                body,
            });
            steps.extend(self.apart(|this| {
                for update in node
                    .children
                    .iter()
                    .filter(|one| one.field == Some("update"))
                {
                    this.value(update);
                }
            }));
        }
        self.loops.pop();
        self.forget_assigned(node);
        self.emit(Step::Loop {
            label,
            repeat: Repeat::While { before, condition },
            body: steps,
            place,
        });
    }

    /// The steps of a loop's body.
    fn body(&mut self, body: Option<&'a Node>) -> Vec<Step> {
        let chain = Chain {
            rest: &[],
            outer: None,
        };
        let texts = self.env.samples.iter();
        let before: Vec<(VariableId, String)> = texts
            .map(|(variable, text)| (*variable, text.clone()))
            .collect();
        let arm = self.arm(body, &chain);
        self.env.samples.extend(arm.env.samples.clone());
        self.repeated(&before);
        // Objects and statements made in the body stay known after it.
        for (name, slot) in &arm.env.slots {
            if let Some(known) = self.env.slots.get_mut(name)
                && known.val != slot.val
            {
                match slot.val {
                    Val::Expr(Expr::Constant(_)) => {}
                    _ => *known = slot.clone(),
                }
            }
        }
        arm.steps
    }

    pub fn each(&mut self, node: &'a Node) {
        let place = node.place();
        let list = node.child("value").map(|value| self.value(value));
        let list = match list {
            Some(Val::List(variable)) => Expr::Variable(variable),
            Some(Val::Expr(value)) => value,
            Some(Val::Given(all)) => return self.each_given(node, all),
            _ => self.unknown(Vec::new()),
        };
        let java = node.child("type").map_or("", Node::text);
        let (name, ty) = (node.name(), type_of(java));
        self.env.types.insert(name.to_string(), java.to_string());
        let variable = self.variable(name, ty);
        let slot = Slot {
            val: Val::Expr(Expr::Variable(variable)),
            variable: Some(variable),
            ty,
        };
        self.env.slots.insert(name.to_string(), slot);
        self.forget_assigned(node);
        let (label, continues) = self.enter();
        let body = self.body(node.child("body"));
        self.loops.pop();
        self.forget_assigned(node);
        self.emit(Step::Loop {
            label,
            repeat: Repeat::Elements { list, variable },
            body: vec![Step::Block {
                label: continues,
                body,
            }],
            place,
        });
    }
}
