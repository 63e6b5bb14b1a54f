//! Branches: each side followed apart, and what is known after both.

use super::env::{Env, ObjectId, Slot, Val, is_sql};
use super::translate::{Chain, Translator, executes};
use super::tree::Node;
use crate::expr::{Condition, Expr, Value, VariableId};
use crate::ir::Step;
use crate::schema::Type;
use rustc_hash::FxHashMap;

impl<'a> Translator<'a> {
    /// The steps of a statement as the arm of something, with what is known afterwards.
    pub fn arm(&mut self, node: Option<&'a Node>, chain: &Chain<'_, 'a>) -> Arm {
        self.arm_of(chain, |this, chain| match node {
            Some(node) if node.kind == "block" => this.block(&node.children, Some(chain)),
            Some(node) => this.statement(node, chain),
            None => false,
        })
    }

    pub fn branch(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        let Some(test) = node.child("condition") else {
            return false;
        };
        let (then, otherwise) = (node.child("consequence"), node.child("alternative"));
        if is_about_logging(test.text()) && !executes(node) {
            return false;
        }
        let condition = self.condition(test);
        match condition {
            Condition::True => return then.is_some_and(|then| self.statement(then, chain)),
            Condition::False => return otherwise.is_some_and(|one| self.statement(one, chain)),
            _ => {}
        }
        let place = node.place();
        let mut yes = self.arm(then, chain);
        let mut no = self.arm(otherwise, chain);
        let apart = yes.consumed || no.consumed || self.disagree(&yes, &no);
        if apart {
            for arm in [&mut yes, &mut no] {
                self.go_on(arm, chain);
            }
        } else {
            self.join(&mut yes, &mut no);
        }
        self.ended = yes.ended && no.ended;
        self.emit(Step::If {
            condition,
            then: yes.steps,
            otherwise: no.steps,
            place,
        });
        apart
    }

    /// Follows what comes after, at the end of an arm.
    pub fn go_on(&mut self, arm: &mut Arm, chain: &Chain<'_, 'a>) {
        if arm.consumed || arm.ended {
            return;
        }
        let before = std::mem::replace(&mut self.env, arm.env.clone());
        let steps = self.apart(|this| this.rest(chain));
        arm.steps.extend(steps);
        arm.env = std::mem::replace(&mut self.env, before);
        arm.ended = std::mem::replace(&mut self.ended, false);
        arm.consumed = true;
    }

    /// Whether two arms that both go on leave different statements behind a name.
    pub fn disagree(&self, yes: &Arm, no: &Arm) -> bool {
        if yes.ended || no.ended {
            return false;
        }
        let known = |name: &&String| self.env.slots.contains_key(*name);
        yes.env.slots.keys().filter(known).any(|name| {
            let (Some(one), Some(two)) = (yes.env.slots.get(name), no.env.slots.get(name)) else {
                return false;
            };
            let texts = match (one.variable, two.variable) {
                (Some(a), Some(b)) if a == b => {
                    let (a, b) = (yes.env.samples.get(&a), no.env.samples.get(&b));
                    a.zip(b).is_some_and(|(a, b)| differ(a, b))
                }
                _ => false,
            };
            texts || one.val != two.val && (one.val.is_structural() || two.val.is_structural())
        })
    }

    /// What is known after two arms.
    pub fn join(&mut self, yes: &mut Arm, no: &mut Arm) {
        match (yes.ended, no.ended) {
            (true, _) => self.env = no.env.clone(),
            (false, true) => self.env = yes.env.clone(),
            (false, false) => {
                let names: Vec<String> = self.env.slots.keys().cloned().collect();
                for name in names {
                    self.join_slot(&name, yes, no);
                }
            }
        }
    }

    fn join_slot(&mut self, name: &str, yes: &mut Arm, no: &mut Arm) {
        let (Some(one), Some(two)) = (yes.env.slots.get(name), no.env.slots.get(name)) else {
            return;
        };
        let (one, two) = (one.clone(), two.clone());
        let sampled = |env: &Env| {
            one.variable
                .map(|variable| env.samples.get(&variable).cloned())
        };
        if one.val == two.val && sampled(&yes.env) == sampled(&no.env) {
            self.env.slots.insert(name.to_string(), one);
            return;
        }
        if let Some(variable) = one.variable.filter(|_| one.variable == two.variable) {
            let (a, b) = (
                yes.env.samples.get(&variable),
                no.env.samples.get(&variable),
            );
            // What differs is a separator: the longer one has it.
            let longer = a.zip(b).map(|(a, b)| if a.len() < b.len() { b } else { a });
            match longer.cloned() {
                Some(text) => self.env.samples.insert(variable, text),
                None => self.env.samples.remove(&variable),
            };
        }
        let ty = one.ty;
        let (val, variable) = match (&one.val, &two.val) {
            (Val::Object(a), Val::Object(b)) => {
                (Val::Object(self.join_objects(*a, *b, yes, no)), None)
            }
            (Val::Object(_), other) if is_nothing(other) => (one.val.clone(), None),
            (other, Val::Object(_)) if is_nothing(other) => (two.val.clone(), None),
            _ => {
                // The same variable in both arms, or else one for both.
                let shared = match (one.variable, two.variable) {
                    (Some(a), Some(b)) if a == b => a,
                    _ => self.variable(name, ty),
                };
                for (slot, arm) in [(&one, &mut *yes), (&two, &mut *no)] {
                    let value = match slot.val {
                        Val::Object(object) => Some(self.packed(object)),
                        _ => held(&slot.val),
                    };
                    let held = slot.variable == Some(shared) && !matches!(slot.val, Val::Object(_));
                    if !held && let Some(value) = value {
                        arm.steps.push(Step::Let {
                            variable: shared,
                            value,
                        });
                    }
                }
                (Val::Expr(Expr::Variable(shared)), Some(shared))
            }
        };
        let slot = Slot { val, variable, ty };
        self.env.slots.insert(name.to_string(), slot);
    }

    /// An object whose fields are those of one or the other.
    fn join_objects(&mut self, a: ObjectId, b: ObjectId, yes: &mut Arm, no: &mut Arm) -> ObjectId {
        let joined = self.add_object();
        let either = [a, b];
        if either
            .iter()
            .any(|one| self.made_later.contains_key(&one.0))
        {
            let variable = self.variable("made", Type::Boolean);
            self.made_later.insert(joined.0, variable);
            for (object, arm) in either.into_iter().zip([&mut *yes, &mut *no]) {
                let value = self.is_made(object);
                arm.steps.push(Step::Let { variable, value });
            }
        }
        for (object, arm) in [(a, yes), (b, no)] {
            let fields: Vec<(String, VariableId)> = sorted(&self.objects[object.0]);
            for (name, field) in fields {
                let variable = self.object_field(joined, &name);
                arm.steps.push(Step::Let {
                    variable,
                    value: Expr::Variable(field),
                });
            }
        }
        joined
    }
}

fn is_nothing(val: &Val) -> bool {
    matches!(val, Val::Nothing | Val::Expr(Expr::Constant(Value::Null)))
}

/// The value of a slot, where it is one.
fn held(val: &Val) -> Option<Expr> {
    match val {
        Val::Expr(value) => Some(value.clone()),
        Val::List(variable) => Some(Expr::Variable(*variable)),
        Val::Nothing => Some(Expr::Constant(Value::Null)),
        _ => None,
    }
}

/// One side of a branch.
pub(super) struct Arm {
    pub steps: Vec<Step>,
    pub env: Env,
    pub ended: bool,
    pub consumed: bool,
}

pub(super) fn sorted(fields: &FxHashMap<String, VariableId>) -> Vec<(String, VariableId)> {
    let mut fields: Vec<(String, VariableId)> = fields
        .iter()
        .map(|(name, id)| (name.clone(), *id))
        .collect();
    fields.sort();
    fields
}

/// Whether two texts of SQL differ in more than placeholders and what separates them.
fn differ(one: &str, two: &str) -> bool {
    let (longer, shorter) = match one.len() < two.len() {
        true => (two, one),
        false => (one, two),
    };
    if !is_sql(one) && !is_sql(two) {
        return false;
    }
    match longer.strip_prefix(shorter) {
        Some(more) => !more.chars().all(|c| "?,() \n\t".contains(c)),
        None => true,
    }
}

fn is_about_logging(test: &str) -> bool {
    let words = [
        "isDebugEnabled",
        "isTraceEnabled",
        "isInfoEnabled",
        "debug.val",
        "trace.val",
    ];
    words.iter().any(|word| test.contains(word))
}
