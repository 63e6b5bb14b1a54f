//! Java conditions.

use super::env::Val;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr, Value};
use crate::ir::Step;
use crate::schema::Type;

impl<'a> Translator<'a> {
    /// The truth of an expression.
    pub fn condition(&mut self, node: &'a Node) -> Condition {
        match node.kind {
            "parenthesized_expression" | "condition" => match node.children.first() {
                Some(inner) => self.condition(inner),
                None => Condition::True,
            },
            "unary_expression" if node.text().starts_with('!') => match node.child("operand") {
                Some(operand) => self.condition(operand).negated(),
                None => Condition::True,
            },
            "binary_expression" => self.compared(node),
            _ => {
                let val = self.value(node);
                self.is_true(val)
            }
        }
    }

    pub fn is_true(&mut self, val: Val) -> Condition {
        match self.expr_of(val) {
            Expr::Constant(Value::Boolean(true)) => Condition::True,
            Expr::Constant(Value::Boolean(false)) => Condition::False,
            Expr::Unknown { id, reads } => Condition::Unknown { id, reads },
            Expr::If {
                condition,
                then,
                otherwise,
            } if *then == Expr::Constant(Value::Boolean(true))
                && *otherwise == Expr::Constant(Value::Boolean(false)) =>
            {
                *condition
            }
            value => {
                let truth = Expr::Constant(Value::Boolean(true));
                Condition::compare(Comparison::Equal, value, truth)
            }
        }
    }

    /// Two conditions, the second of which is looked at only where the first holds (`&&`), or does
    /// not (`||`): so is what it executes.
    fn guarded(&mut self, node: &'a Node, first: Condition, both: bool) -> Condition {
        let mut second = Condition::True;
        let mut steps = self.apart(|this| second = this.condition(node));
        if !executes_any(&steps) {
            self.out.extend(steps);
            return match both {
                true => first.and(second),
                false => Condition::Or(vec![first, second]),
            };
        }
        let variable = self.variable("holds", Type::Boolean);
        let holds = |value: bool| Step::Let {
            variable,
            value: Expr::Constant(Value::Boolean(value)),
        };
        self.emit(holds(!both));
        let place = node.place();
        steps.push(Step::If {
            condition: second,
            then: vec![holds(true)],
            otherwise: vec![holds(false)],
            place: place.clone(),
        });
        self.emit(Step::If {
            condition: if both { first } else { first.negated() },
            then: steps,
            otherwise: Vec::new(),
            place,
        });
        self.is_true(Val::Expr(Expr::Variable(variable)))
    }

    pub fn compared(&mut self, node: &'a Node) -> Condition {
        let (Some(operator), Some(left), Some(right)) = (
            node.child("operator"),
            node.child("left"),
            node.child("right"),
        ) else {
            return Condition::True;
        };
        match operator.text() {
            "&&" | "&" => {
                let one = self.condition(left);
                return self.guarded(right, one, true);
            }
            "||" | "|" => {
                let one = self.condition(left);
                return self.guarded(right, one, false);
            }
            _ => {}
        }
        let Some(comparison) = comparison(operator.text()) else {
            let value = self.value(node);
            return self.is_true(value);
        };
        if let Some(comparison) = of_order(comparison, right.text())
            && let Some((one, two)) = self.compared_to(left)
        {
            return Condition::compare(comparison, one, two);
        }
        let (one, two) = (self.value(left), self.value(right));
        if let Some(condition) = self.null_test(comparison, &one, &two) {
            return condition;
        }
        let (one, two) = (self.expr_of(one), self.expr_of(two));
        Condition::compare(comparison, one, two)
    }

    /// `x == null`; statements, result sets and objects made here are not null.
    fn null_test(&self, comparison: Comparison, one: &Val, two: &Val) -> Option<Condition> {
        let null = Val::Expr(Expr::Constant(Value::Null));
        let tested = match (one == &null, two == &null) {
            (false, true) => one,
            (true, false) => two,
            (true, true) => match comparison {
                Comparison::Equal => return Some(Condition::True),
                _ => return Some(Condition::False),
            },
            (false, false) => return None,
        };
        if *tested == Val::Nothing {
            return None;
        }
        let is_null = self.is_null(tested);
        match comparison {
            Comparison::Equal => Some(is_null),
            Comparison::NotEqual => Some(is_null.negated()),
            _ => None,
        }
    }

    /// Whether something is null.
    pub fn is_null(&self, val: &Val) -> Condition {
        match val {
            Val::Expr(Expr::Constant(Value::Null)) => Condition::True,
            Val::Expr(value) => Condition::IsNull(value.clone()),
            Val::Object(object) => match self.made_later.get(&object.0) {
                Some(made) => Condition::IsNull(Expr::Variable(*made)),
                None => Condition::False,
            },
            _ => Condition::False,
        }
    }

    /// The two sides of `a.compareTo(b)`, or of `a.signum()`, which is compared with 0.
    fn compared_to(&mut self, node: &'a Node) -> Option<(Expr, Expr)> {
        let object = node
            .child("object")
            .filter(|_| node.kind == "method_invocation")?;
        let arguments = &node.child("arguments")?.children;
        let other = match (node.name(), arguments.as_slice()) {
            ("compareTo", [other]) => Some(other),
            ("signum", []) => None,
            _ => return None,
        };
        let one = self.value(object);
        let one = self.expr_of(one);
        let two = match other {
            Some(other) => {
                let two = self.value(other);
                self.expr_of(two)
            }
            None => Expr::integer(0),
        };
        Some((one, two))
    }
}

/// A condition as a value.
pub(super) fn truth(condition: Condition) -> Expr {
    Expr::If {
        condition: Box::new(condition),
        then: Box::new(Expr::Constant(Value::Boolean(true))),
        otherwise: Box::new(Expr::Constant(Value::Boolean(false))),
    }
}

fn executes_any(steps: &[Step]) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if matches!(step, Step::Execute(_)) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}

fn comparison(operator: &str) -> Option<Comparison> {
    match operator {
        "==" => Some(Comparison::Equal),
        "!=" => Some(Comparison::NotEqual),
        "<" => Some(Comparison::Less),
        "<=" => Some(Comparison::LessOrEqual),
        ">" => Some(Comparison::Greater),
        ">=" => Some(Comparison::GreaterOrEqual),
        _ => None,
    }
}

/// What a comparison of `a.compareTo(b)`, which is -1, 0 or 1, with such a number says of a and b.
fn of_order(comparison: Comparison, number: &str) -> Option<Comparison> {
    use Comparison as C;
    match (number, comparison) {
        ("0", _) => Some(comparison),
        ("1", C::Less | C::NotEqual) => Some(C::LessOrEqual),
        ("-1", C::Greater | C::NotEqual) => Some(C::GreaterOrEqual),
        ("1", C::Equal | C::GreaterOrEqual) => Some(C::Greater),
        ("-1", C::Equal | C::LessOrEqual) => Some(C::Less),
        _ => None,
    }
}
