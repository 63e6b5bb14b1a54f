//! Choices among several arms: switches, handlers of errors, and texts chosen in the middle of a
//! statement.

use super::branch::Arm;
use super::env::Val;
use super::loops::Target;
use super::spread::known;
use super::translate::{Chain, Translator};
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr, Value};
use crate::ir::{Label, Step};
use crate::place::Place;

/// A case falls through this many others at most.
const FALLS_MAX: usize = 8;

impl<'a> Translator<'a> {
    /// A switch as a chain of branches. Returns whether what comes after was followed, too.
    pub fn switch(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        let Some(scrutinee) = node.child("condition") else {
            return false;
        };
        let scrutinee = self.value(scrutinee);
        let scrutinee = self.expr_of(scrutinee);
        let label = self.label();
        let continues = self.loops.last().map_or(label, |target| target.continues);
        self.loops.push(Target {
            breaks: label,
            continues,
            name: None,
        });
        let groups: &'a [Node] = node.child("body").map_or(&[], |body| &body.children);
        let (mut arms, mut default) = (Vec::new(), None);
        for (at, group) in groups.iter().enumerate() {
            let labels: Vec<&'a Node> = group.of_kind("switch_label").collect();
            let condition = self.case_condition(&labels, &scrutinee);
            let bodies = fallen(groups, at);
            if bodies.len() > FALLS_MAX {
                let advice = "Add break, or return.";
                self.note(group, "falling through so many cases is left out", advice);
            }
            let most = bodies.len().min(FALLS_MAX);
            let arm = self.arm_of(chain, |this, chain| this.bodies(&bodies[..most], chain));
            match condition {
                Condition::True => default = Some(arm),
                _ => arms.push((condition, arm)),
            }
        }
        self.loops.pop();
        let default = match default {
            Some(default) => default,
            None => self.arm_of(chain, |_, _| false),
        };
        self.alternatives(arms, default, chain, label, &node.place())
    }

    /// Bodies one after the other.
    fn bodies(&mut self, bodies: &[&'a [Node]], chain: &Chain<'_, 'a>) -> bool {
        match bodies {
            [] => false,
            [last] => self.block(last, Some(chain)),
            [first, others @ ..] => {
                // At most FALLS_MAX deep.
                let next = others[0];
                let behind = Chain {
                    rest: next,
                    outer: Some(chain),
                };
                self.block(first, Some(&behind)) || self.bodies(others, chain)
            }
        }
    }

    /// Follows something as an arm, with what is known afterwards.
    pub fn arm_of(
        &mut self,
        chain: &Chain<'_, 'a>,
        follow: impl FnOnce(&mut Self, &Chain<'_, 'a>) -> bool,
    ) -> Arm {
        let before = self.env.clone();
        let mut consumed = false;
        let steps = self.apart(|this| consumed = follow(this, chain));
        Arm {
            steps,
            env: std::mem::replace(&mut self.env, before),
            ended: std::mem::replace(&mut self.ended, false),
            consumed,
        }
    }

    /// One of several arms, the first whose condition holds. Where they leave different statements
    /// behind a name, what comes after is followed once for each; returns whether it was.
    pub fn alternatives(
        &mut self,
        mut arms: Vec<(Condition, Arm)>,
        mut default: Arm,
        chain: &Chain<'_, 'a>,
        label: Label,
        place: &Place,
    ) -> bool {
        let all = || arms.iter().map(|(_, arm)| arm).chain([&default]);
        let apart = all().any(|arm| arm.consumed)
            || all().any(|one| all().any(|two| self.disagree(one, two)));
        if apart {
            let leaves = all().any(|arm| !arm.ended && breaks_to(&arm.steps, label));
            if leaves {
                let assumed = "what comes after it is left out where a case is left early";
                let advice = "Prepare the statement in one place, or end each case by one break.";
                self.note_at(place, "switch", assumed, advice);
            }
            for (_, arm) in &mut arms {
                self.go_on(arm, chain);
            }
            self.go_on(&mut default, chain);
        }
        let base = self.env.clone();
        let mut rest = default;
        for (condition, mut arm) in arms.into_iter().rev() {
            if !apart {
                self.env = base.clone();
                self.join(&mut arm, &mut rest);
            }
            rest = Arm {
                env: self.env.clone(),
                ended: arm.ended && rest.ended,
                consumed: apart,
                steps: vec![Step::If {
                    condition,
                    then: arm.steps,
                    otherwise: rest.steps,
                    place: place.clone(),
                }],
            };
        }
        self.env = if apart { base } else { rest.env };
        self.ended = rest.ended;
        self.emit(Step::Block {
            label,
            body: rest.steps,
        });
        apart
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
                    // The name of an enum's constant, unless it is a constant of ours.
                    "identifier" if !self.env.slots.contains_key(value.text()) => {
                        match self.index.constant(self.class(), value) {
                            Some(constant) => Expr::Constant(constant),
                            None => Expr::text(value.text()),
                        }
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

    /// A statement in which a text is chosen: followed once for each.
    pub fn forked(&mut self, node: &'a Node, choice: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        let Some(test) = choice.child("condition") else {
            return false;
        };
        let condition = self.condition(test);
        let key = std::ptr::from_ref(choice);
        let mut sides = Vec::new();
        for side in [true, false] {
            self.forced.push((key, side));
            let mut arm = self.arm_of(chain, |this, chain| this.statement(node, chain));
            self.forced.pop();
            // What the statement declares is known to what comes after only there.
            self.go_on(&mut arm, chain);
            sides.push(arm);
        }
        let (Some(no), Some(yes)) = (sides.pop(), sides.pop()) else {
            return false;
        };
        self.ended = yes.ended && no.ended;
        self.emit(Step::If {
            condition,
            then: yes.steps,
            otherwise: no.steps,
            place: node.place(),
        });
        true
    }

    /// Which side of a choice is followed at the moment.
    pub fn forced_side(&self, choice: &'a Node) -> Option<bool> {
        let key = std::ptr::from_ref(choice);
        let found = self.forced.iter().find(|(forced, _)| *forced == key);
        found.map(|(_, side)| *side)
    }

    /// `c ? "select …" : "select …"` in a statement, not looked at yet.
    pub fn choice_in(&self, node: &'a Node) -> Option<&'a Node> {
        let heads: Vec<&'a Node> = match node.kind {
            "local_variable_declaration" | "expression_statement" | "return_statement" => {
                vec![node]
            }
            "try_with_resources_statement" => node.child("resources").into_iter().collect(),
            _ => return None,
        };
        let all = heads.iter().flat_map(|head| head.all());
        let mut choices = all.filter(|one| one.kind == "ternary_expression");
        choices.find(|choice| self.forced_side(choice).is_none() && self.chooses_sql(choice, node))
    }

    fn chooses_sql(&self, choice: &'a Node, statement: &'a Node) -> bool {
        let side = |name: &str| choice.child(name).and_then(|side| self.static_text(side));
        let (Some(one), Some(two)) = (side("consequence"), side("alternative")) else {
            return false;
        };
        let is_part = |text: &str| super::env::is_sql(text) || super::env::is_clause(text);
        let literal = |node: &&Node| {
            node.kind == "string_literal" && super::env::is_sql(node.text().trim_matches('"'))
        };
        one != two && (is_part(&one) || is_part(&two) || statement.all().iter().any(literal))
    }

    /// The text of a constant or of a name that holds one.
    fn static_text(&self, node: &'a Node) -> Option<String> {
        let val = match node.kind {
            "identifier" => self.env.slots.get(node.text()).map(|slot| slot.val.clone()),
            "parenthesized_expression" => return self.static_text(node.children.first()?),
            _ => None,
        };
        if let Some(val) = val {
            return val.text().map(str::to_string);
        }
        match self.index.constant(self.class(), node) {
            Some(crate::expr::Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The choice of a value; what one side executes is executed there only.
    pub fn ternary(&mut self, node: &'a Node) -> Val {
        let (Some(test), Some(then), Some(otherwise)) = (
            node.child("condition"),
            node.child("consequence"),
            node.child("alternative"),
        ) else {
            return Val::Nothing;
        };
        match self.forced_side(node) {
            Some(true) => return self.value(then),
            Some(false) => return self.value(otherwise),
            None => {}
        }
        let condition = self.condition(test);
        match known(&condition) {
            Some(true) => return self.value(then),
            Some(false) => return self.value(otherwise),
            None => {}
        }
        let mut sides = (Val::Nothing, Val::Nothing);
        let mut one = self.apart(|this| sides.0 = this.value(then));
        let mut two = self.apart(|this| sides.1 = this.value(otherwise));
        let (then, otherwise) = sides;
        let null = Val::Expr(Expr::Constant(Value::Null));
        let object = match (&then, &otherwise) {
            (Val::Object(object), other) if *other == null => {
                Some(self.made_or_null(*object, &mut one, &mut two))
            }
            (other, Val::Object(object)) if *other == null => {
                Some(self.made_or_null(*object, &mut two, &mut one))
            }
            _ => None,
        };
        if !one.is_empty() || !two.is_empty() {
            self.emit(Step::If {
                condition: condition.clone(),
                then: one,
                otherwise: two,
                place: node.place(),
            });
        }
        if let Some(object) = object {
            return Val::Object(object);
        }
        if then == otherwise {
            return then;
        }
        if then.is_structural() || otherwise.is_structural() {
            let advice = "Write it as if and else, which are followed apart.";
            self.note(node, "the choice of a statement is not followed", advice);
        }
        let (then, otherwise) = (self.expr_of(then), self.expr_of(otherwise));
        Val::Expr(Expr::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        })
    }
}

/// The bodies that run from a case on: its own, and those it falls through to. The break at the
/// end is left out: it ends the case and nothing else.
fn fallen(groups: &[Node], at: usize) -> Vec<&[Node]> {
    let mut bodies = Vec::new();
    for group in &groups[at..] {
        let own = group.children.iter();
        let first = own.take_while(|one| one.kind == "switch_label").count();
        let body = &group.children[first..];
        let plain_break = |last: &Node| last.kind == "break_statement" && last.children.is_empty();
        let ends = body.last().is_some_and(|last| {
            matches!(
                last.kind,
                "break_statement"
                    | "return_statement"
                    | "throw_statement"
                    | "continue_statement"
                    | "yield_statement"
            )
        });
        match body.last() {
            Some(last) if plain_break(last) => bodies.push(&body[..body.len() - 1]),
            _ => bodies.push(body),
        }
        if ends || group.kind != "switch_block_statement_group" {
            break;
        }
    }
    bodies
}

fn breaks_to(steps: &[Step], label: Label) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if *step == Step::Break(label) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}
