//! Loops and switches.

use super::env::{Env, Slot, Val, type_of};
use super::translate::{Chain, Translator};
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr};
use crate::ir::{Repeat, Step};

impl<'a> Translator<'a> {
    /// A name that a loop assigns is no constant in it.
    pub fn forget_assigned(&mut self, node: &Node) {
        for one in node.all() {
            let target = match one.kind {
                "assignment_expression" => one.child("left"),
                "update_expression" => one.children.first(),
                "method_invocation" if one.name() == "append" => one.child("object"),
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
        self.forget_assigned(node);
        let (label, continues) = (self.label(), self.label());
        self.loops.push((label, continues));
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
        let arm = self.arm(body, &chain);
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
            _ => self.unknown(Vec::new()),
        };
        let java = node.child("type").map_or("", Node::text);
        let (name, ty) = (node.name(), type_of(java));
        let variable = self.variable(name, ty);
        let slot = Slot {
            val: Val::Expr(Expr::Variable(variable)),
            variable: Some(variable),
            ty,
        };
        self.env.slots.insert(name.to_string(), slot);
        self.forget_assigned(node);
        let (label, continues) = (self.label(), self.label());
        self.loops.push((label, continues));
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

    /// A switch as a chain of branches. A case that falls through to the next is noted.
    pub fn switch(&mut self, node: &'a Node) {
        let Some(scrutinee) = node.child("condition") else {
            return;
        };
        let scrutinee = self.value(scrutinee);
        let scrutinee = self.expr_of(scrutinee);
        let label = self.label();
        let continues = self.loops.last().map_or(label, |(_, continues)| *continues);
        self.loops.push((label, continues));
        let mut cases = Vec::new();
        let groups: &[Node] = node.child("body").map_or(&[], |body| &body.children);
        for group in groups {
            let labels: Vec<&Node> = group.of_kind("switch_label").collect();
            let condition = self.case_condition(&labels, &scrutinee);
            let first = group
                .children
                .iter()
                .position(|one| one.kind != "switch_label");
            let body = first.map_or(&[][..], |first| &group.children[first..]);
            let before = self.env.clone();
            let steps = self.apart(|this| {
                this.block(body, None);
            });
            if !self.ended && group.kind == "switch_block_statement_group" && !body.is_empty() {
                let last = groups.last().is_some_and(|last| std::ptr::eq(last, group));
                if !last {
                    self.note(
                        group,
                        "falling through to the next case is left out",
                        "Add break.",
                    );
                }
            }
            self.ended = false;
            let after = std::mem::replace(&mut self.env, before);
            self.forget_different(&after);
            cases.push((condition, steps));
        }
        self.loops.pop();
        let place = node.place();
        let chain = |otherwise: Vec<Step>, (condition, then): (Condition, Vec<Step>)| {
            vec![Step::If {
                condition,
                then,
                otherwise,
                place: place.clone(),
            }]
        };
        let (plain, default): (Vec<_>, Vec<_>) = cases
            .into_iter()
            .partition(|(condition, _)| *condition != Condition::True);
        let default: Vec<Step> = default.into_iter().flat_map(|(_, steps)| steps).collect();
        let body = plain.into_iter().rev().fold(default, chain);
        self.emit(Step::Block { label, body });
    }

    /// Constants that an arm changed are not known any more.
    fn forget_different(&mut self, after: &Env) {
        for (name, slot) in &mut self.env.slots {
            let Some(changed) = after.slots.get(name).filter(|new| new.val != slot.val) else {
                continue;
            };
            match changed.variable {
                Some(variable) if slot.variable == Some(variable) => {
                    slot.val = Val::Expr(Expr::Variable(variable));
                }
                _ => *slot = changed.clone(),
            }
        }
    }

    /// Whether the scrutinee is one of the labels; always for `default`.
    pub fn case_condition(&mut self, labels: &[&'a Node], scrutinee: &Expr) -> Condition {
        let mut any = Vec::new();
        for label in labels {
            if label.text().starts_with("default") {
                return Condition::True;
            }
            for value in &label.children {
                let value = match value.kind {
                    // The name of an enum's constant.
                    "identifier" if !self.env.slots.contains_key(value.text()) => {
                        Expr::text(value.text())
                    }
                    _ => {
                        let value = self.value(value);
                        self.expr_of(value)
                    }
                };
                any.push(Condition::compare(
                    Comparison::Equal,
                    scrutinee.clone(),
                    value,
                ));
            }
        }
        match any.len() {
            1 => any.remove(0),
            _ => Condition::Or(any),
        }
    }
}
