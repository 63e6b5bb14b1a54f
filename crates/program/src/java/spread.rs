//! Methods that take any number of arguments (`Object... values`), and loops over what they were given: how
//! many there are is known where the call is followed, so each turn of such a loop is followed on its own.

use super::env::{Slot, Val, type_of};
use super::index::parameters;
use super::translate::{Chain, Translator};
use super::tree::Node;
use crate::expr::{Condition, Expr, Value};
use crate::ir::Step;
use crate::schema::Type;

/// So many turns are followed one by one.
const TURNS_MAX: usize = 64;

/// Whether a method can be called with that many arguments.
pub(super) fn fits(method: &Node, arguments: usize) -> bool {
    let all = parameters(method);
    match all.last() {
        Some(last) if is_spread(last) => arguments + 1 >= all.len(),
        _ => all.len() == arguments,
    }
}

/// Whether a parameter takes any number of arguments.
pub(super) fn is_spread(parameter: &Node) -> bool {
    parameter.kind == "spread_parameter"
}

/// The name of a parameter; one that is spread keeps it deeper.
pub(super) fn parameter_name(parameter: &Node) -> &str {
    match parameter.of_kind("variable_declarator").next() {
        Some(declared) => declared.name(),
        None => parameter.name(),
    }
}

/// The type of a parameter, that of one argument where it is spread.
pub(super) fn parameter_type(parameter: &Node) -> &str {
    let spread = |one: &&Node| one.kind != "modifiers" && one.kind != "variable_declarator";
    match is_spread(parameter) {
        true => parameter
            .children
            .iter()
            .find(spread)
            .map_or("", Node::text),
        false => parameter.child("type").map_or("", Node::text),
    }
}

/// The arguments as the parameters of a method take them.
pub(super) fn gathered(method: &Node, mut arguments: Vec<Val>) -> Vec<Val> {
    let all = parameters(method);
    let Some(first) = all.len().checked_sub(1).filter(|at| is_spread(all[*at])) else {
        return arguments;
    };
    let passed_on = matches!(arguments.get(first), Some(Val::Given(_) | Val::List(_)));
    if arguments.len() != all.len() || !passed_on {
        let rest = arguments.split_off(first.min(arguments.len()));
        arguments.push(Val::Given(rest));
    }
    arguments
}

/// Whether constants decide a condition.
pub(super) fn known(condition: &Condition) -> Option<bool> {
    let Condition::Compare {
        comparison,
        left: Expr::Constant(Value::Integer(left)),
        right: Expr::Constant(Value::Integer(right)),
    } = condition
    else {
        return match condition {
            Condition::True => Some(true),
            Condition::False => Some(false),
            _ => None,
        };
    };
    Some(comparison.holds(left.cmp(right)))
}

impl<'a> Translator<'a> {
    /// What was given is kept as it is now.
    pub fn bind_given(&mut self, name: &str, given: Vec<Val>) {
        let mut kept = Vec::new();
        for val in given {
            kept.push(match val {
                Val::Expr(value @ (Expr::Constant(_) | Expr::Parameter(_) | Expr::Variable(_))) => {
                    Val::Expr(value)
                }
                Val::Expr(value) => {
                    let variable = self.variable(name, Type::Other);
                    self.emit(Step::Let { variable, value });
                    Val::Expr(Expr::Variable(variable))
                }
                other => other,
            });
        }
        let slot = Slot {
            val: Val::Given(kept),
            variable: None,
            ty: Type::List,
        };
        self.env.slots.insert(name.to_string(), slot);
    }

    /// Whether the end of a loop depends on what was given to the method.
    pub fn is_over_given(&self, node: &Node) -> bool {
        let test = node.child("condition");
        node.kind == "for_statement"
            && test.is_some_and(|test| {
                test.all().into_iter().any(|one| {
                    let slot = self.env.slots.get(one.text());
                    one.kind == "identifier"
                        && slot.is_some_and(|slot| matches!(slot.val, Val::Given(_)))
                })
            })
    }

    /// Whether a loop does nothing but put together the text of a field, as often as constants say.
    pub fn is_counted(&self, node: &'a Node) -> bool {
        let children = node.child("condition").zip(node.child("body"));
        let Some((test, body)) = children.filter(|_| self.building) else {
            return false;
        };
        let joins = |one: &Node| match one.kind {
            "method_invocation" => matches!(one.name(), "append" | "format" | "valueOf"),
            "object_creation_expression" | "break_statement" | "continue_statement" => false,
            _ => true,
        };
        let counter = test.child("left").map_or("", Node::text);
        let slot = self.env.slots.get(counter);
        let from = slot.and_then(|slot| match &slot.val {
            Val::Expr(Expr::Constant(Value::Integer(from))) => Some(*from),
            _ => None,
        });
        let end = test.child("right");
        let to = end.and_then(|end| self.index.constant(self.class(), end));
        let turns = match (from, to) {
            (Some(from), Some(Value::Integer(to))) => to.saturating_sub(from),
            _ => return false,
        };
        let assigned = |one: &Node| {
            let left = one.child("left").or(one.children.first());
            let assigns = matches!(one.kind, "assignment_expression" | "update_expression");
            assigns && left.is_some_and(|left| left.text() == counter)
        };
        let updates: Vec<&Node> = node
            .children
            .iter()
            .filter(|c| c.field == Some("update"))
            .collect();
        let counts = matches!(updates.as_slice(), [one] if one.kind == "update_expression"
            && assigned(one) && one.text().contains("++"));
        let all = body.all();
        let plain = node.kind == "for_statement" && (0..TURNS_MAX as i64).contains(&turns);
        plain && counts && all.iter().all(|one| joins(one) && !assigned(one))
    }

    /// `for (int i = 0; i < values.length; i++)`, turn by turn.
    pub fn each_turn(&mut self, node: &'a Node) {
        let (breaks, _) = self.enter();
        let steps = self.apart(|this| {
            for _ in 0..TURNS_MAX {
                let mut goes_on = None;
                if let Some(test) = node.child("condition") {
                    goes_on = known(&this.condition(test));
                }
                if goes_on != Some(true) || this.turn(node.child("body")) {
                    break;
                }
                for update in node
                    .children
                    .iter()
                    .filter(|one| one.field == Some("update"))
                {
                    this.value(update);
                }
            }
        });
        self.loops.pop();
        self.emit(Step::Block {
            label: breaks,
            body: steps,
        });
    }

    /// `for (Object value : values)`, turn by turn.
    pub fn each_given(&mut self, node: &'a Node, given: Vec<Val>) {
        let java = node.child("type").map_or("", Node::text);
        let name = node.name();
        self.env.types.insert(name.to_string(), java.to_string());
        let (breaks, _) = self.enter();
        let steps = self.apart(|this| {
            for val in given.into_iter().take(TURNS_MAX) {
                let slot = Slot {
                    val,
                    variable: None,
                    ty: type_of(java),
                };
                this.env.slots.insert(name.to_string(), slot);
                if this.turn(node.child("body")) {
                    break;
                }
            }
        });
        self.loops.pop();
        self.emit(Step::Block {
            label: breaks,
            body: steps,
        });
    }

    /// One turn; whether it always leaves the loop.
    fn turn(&mut self, body: Option<&'a Node>) -> bool {
        let label = self.label();
        if let Some(target) = self.loops.last_mut() {
            target.continues = label;
        }
        let body = self.apart(|this| {
            if let Some(body) = body {
                let chain = Chain {
                    rest: &[],
                    outer: None,
                };
                this.statement(body, &chain);
            }
        });
        let ended = std::mem::replace(&mut self.ended, false);
        let continues = matches!(body.last(), Some(Step::Break(to)) if *to == label);
        self.emit(Step::Block { label, body });
        ended && !continues
    }
}
