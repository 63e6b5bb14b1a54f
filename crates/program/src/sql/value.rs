//! Expressions and conditions of SQL.

use super::builtin::{is_advisory, is_builtin};
use super::ddl::object_name;
use super::scope::Builder;
use crate::expr::{Aggregate, Comparison, Condition, Expr, Operator, Value};
use crate::place::ProgramError;
use sqlparser::ast::{
    self, BinaryOperator, CaseWhen, DuplicateTreatment, FunctionArg, FunctionArgExpr,
    FunctionArguments, Query, UnaryOperator, WindowType,
};

type Translated<T> = Result<T, ProgramError>;

/// Sums of more terms are refused: they are as deep as they are long.
const CHAIN_MAX: usize = 400;

impl Builder<'_> {
    /// The value of an expression.
    pub fn expr(&mut self, expr: &ast::Expr) -> Translated<Expr> {
        self.enter()?;
        let value = self.expr_of(expr);
        self.leave();
        value
    }

    fn exprs(&mut self, all: &[ast::Expr]) -> Translated<Vec<Expr>> {
        all.iter().map(|one| self.expr(one)).collect()
    }

    /// A sum such as a + b + c hangs on its left side; it is followed in a loop, as there are long
    /// ones.
    fn sum(&mut self, expr: &ast::Expr) -> Translated<Expr> {
        let mut waiting = Vec::new();
        let mut first = expr;
        while let ast::Expr::BinaryOp { left, op, right } = first
            && let Some(operator) = arithmetic(op)
        {
            waiting.push((operator, right));
            first = left;
        }
        match waiting.len() {
            0 => return self.as_value(expr),
            1..=CHAIN_MAX => {}
            _ => {
                let problem = format!("a sum of more than {CHAIN_MAX} terms");
                return Err(self.error(problem, "Split the statement."));
            }
        }
        let mut value = self.expr(first)?;
        while let Some((operator, right)) = waiting.pop() {
            value = Expr::arithmetic(operator, value, self.expr(right)?);
        }
        Ok(value)
    }

    fn expr_of(&mut self, expr: &ast::Expr) -> Translated<Expr> {
        use ast::Expr as E;
        match expr {
            E::Identifier(name) => self.identifier(name),
            E::CompoundIdentifier(names) => self.qualified(names),
            E::Value(value) => self.constant(&value.value),
            E::TypedString(typed) => self.constant(&typed.value.value),
            E::Nested(inner) | E::Cast { expr: inner, .. } | E::Collate { expr: inner, .. } => {
                self.expr(inner)
            }
            E::Convert { expr: inner, .. }
            | E::AtTimeZone {
                timestamp: inner, ..
            } => self.expr(inner),
            E::UnaryOp { op, expr: inner } => match op {
                UnaryOperator::Plus => self.expr(inner),
                UnaryOperator::Minus => Ok(negative(self.expr(inner)?)),
                _ => self.as_value(expr),
            },
            E::BinaryOp { .. } => self.sum(expr),
            E::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            E::Function(function) => self.function(function),
            E::Subquery(query) => self.scalar(query),
            E::Tuple(all) => Ok(Expr::List(self.exprs(all)?)),
            E::Extract { field, expr, .. } => {
                let value = self.expr(expr)?;
                let field = field.to_string().to_ascii_lowercase();
                Ok(call(&format!("extract_{field}"), vec![value]))
            }
            E::Ceil { expr, .. } => Ok(call("ceil", vec![self.expr(expr)?])),
            E::Floor { expr, .. } => Ok(call("floor", vec![self.expr(expr)?])),
            E::Trim { expr, .. } => Ok(call("trim", vec![self.expr(expr)?])),
            E::Position { expr, r#in } => {
                let what = self.expr(expr)?;
                Ok(call("position", vec![what, self.expr(r#in)?]))
            }
            E::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let mut arguments = vec![self.expr(expr)?];
                for bound in [substring_from, substring_for].into_iter().flatten() {
                    arguments.push(self.expr(bound)?);
                }
                Ok(call("substring", arguments))
            }
            E::Interval(interval) => Ok(Expr::text(interval.to_string())),
            E::Array(array) => Ok(Expr::List(self.exprs(&array.elem)?)),
            _ => self.as_value(expr),
        }
    }

    fn qualified(&mut self, names: &[ast::Ident]) -> Translated<Expr> {
        let found = match names {
            [.., of, name] => self.column(Some(&of.value), &name.value),
            [name] => self.column(None, &name.value),
            [] => Err(self.unsupported("an empty name")),
        };
        found.or_else(|error| {
            self.missing(error)?;
            Ok(self.arguments.unknown(Vec::new()))
        })
    }

    /// A truth value where a value is expected: what it was computed from is kept.
    fn as_value(&mut self, expr: &ast::Expr) -> Translated<Expr> {
        let condition = self.condition(expr)?;
        Ok(Expr::If {
            condition: Box::new(condition),
            then: Box::new(Expr::Constant(Value::Boolean(true))),
            otherwise: Box::new(Expr::Constant(Value::Boolean(false))),
        })
    }

    fn identifier(&mut self, name: &ast::Ident) -> Translated<Expr> {
        let found = self.column(None, &name.value);
        match (name.quote_style, &found) {
            // MySQL writes texts so, too.
            (Some('"'), Err(_)) => Ok(Expr::text(name.value.clone())),
            (None, Err(_)) if is_clock(&name.value) => Ok(self.arguments.unknown(Vec::new())),
            (None, Err(_)) if name.value.starts_with('@') => Ok(self.arguments.unknown(Vec::new())),
            (None, Err(_)) => match (self.arguments.word(&name.value), found) {
                (Some(value), _) => Ok(value),
                (None, Err(error)) => {
                    self.missing(error)?;
                    Ok(self.arguments.unknown(Vec::new()))
                }
                (None, found) => found,
            },
            _ => found,
        }
    }

    fn constant(&mut self, value: &ast::Value) -> Translated<Expr> {
        use ast::Value as V;
        let value = match value {
            V::Placeholder(text) => return self.placeholder(text),
            V::Null => Value::Null,
            V::Boolean(value) => Value::Boolean(*value),
            V::Number(text, _) => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(value), _) => Value::Integer(value),
                (_, Ok(value)) => Value::Real(value),
                _ => Value::Text(text.clone()),
            },
            other => Value::Text(other.clone().into_string().unwrap_or(other.to_string())),
        };
        Ok(Expr::Constant(value))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&ast::Expr>,
    ) -> Translated<Expr> {
        let operand = operand.map(|one| self.expr(one)).transpose()?;
        // In the order of the text, which is that of the placeholders.
        let mut cases = Vec::new();
        for case in conditions {
            let condition = match &operand {
                None => self.condition(&case.condition)?,
                Some(operand) => {
                    let value = self.expr(&case.condition)?;
                    Condition::compare(Comparison::Equal, operand.clone(), value)
                }
            };
            cases.push((condition, self.expr(&case.result)?));
        }
        let last = match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => Expr::Constant(Value::Null),
        };
        let choose = |otherwise, (condition, then)| Expr::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Ok(cases.into_iter().rev().fold(last, choose))
    }

    fn function(&mut self, function: &ast::Function) -> Translated<Expr> {
        let name = object_name(&function.name).to_ascii_lowercase();
        let mut arguments = Vec::new();
        let mut distinct = false;
        if let FunctionArguments::List(list) = &function.args {
            distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            for argument in &list.args {
                let argument = match argument {
                    FunctionArg::Named { arg, .. }
                    | FunctionArg::ExprNamed { arg, .. }
                    | FunctionArg::Unnamed(arg) => arg,
                };
                if let FunctionArgExpr::Expr(expr) = argument {
                    arguments.push(self.function_argument(&name, expr)?);
                }
            }
        }
        if let Some(window) = &function.over {
            return self.window(function, window, arguments);
        }
        let aggregate = match name.as_str() {
            "count" => Some(Aggregate::Count),
            "sum" => Some(Aggregate::Sum),
            "min" => Some(Aggregate::Min),
            "max" => Some(Aggregate::Max),
            "avg" => Some(Aggregate::Average),
            _ => None,
        };
        match aggregate {
            Some(function) => Ok(Expr::Aggregate {
                function,
                argument: arguments.into_iter().next().map(Box::new),
                distinct,
            }),
            None if is_clock(&name) || is_drawn(&name) => Ok(self.arguments.unknown(arguments)),
            None if !is_builtin(&name) => {
                self.routine_called(&function.to_string());
                Ok(self.arguments.unknown(arguments))
            }
            None if is_advisory(&name) => {
                self.note(
                    &function.to_string(),
                    "a lock that the application gives a meaning is not taken: what it prevents may be shown",
                );
                Ok(self.arguments.unknown(arguments))
            }
            None => Ok(call(&name, arguments)),
        }
    }

    /// A function over a window of rows: any value that depends on the columns it names.
    fn window(
        &mut self,
        function: &ast::Function,
        window: &WindowType,
        mut reads: Vec<Expr>,
    ) -> Translated<Expr> {
        if let WindowType::WindowSpec(window) = window {
            for expr in &window.partition_by {
                reads.push(self.expr(expr)?);
            }
            for order in &window.order_by {
                reads.push(self.expr(&order.expr)?);
            }
        }
        self.note(
            &function.to_string(),
            "a window function is taken for any value; the columns it names are read",
        );
        Ok(self.arguments.unknown(reads))
    }

    /// MySQL's `VALUES(c)` names the inserted value like `excluded.c`.
    fn function_argument(&mut self, name: &str, expr: &ast::Expr) -> Translated<Expr> {
        match (name, expr) {
            ("values", ast::Expr::Identifier(column)) => {
                self.column(Some("excluded"), &column.value)
            }
            // date_add(x, unit, …): a word that is not a column.
            (_, ast::Expr::Identifier(word)) => match self.identifier(word) {
                Err(_) if name.contains("date") || name.contains("time") => {
                    Ok(Expr::text(word.value.clone()))
                }
                found => found,
            },
            _ => self.expr(expr),
        }
    }

    /// The value of `(select …)`.
    fn scalar(&mut self, query: &Query) -> Translated<Expr> {
        let first = self.inner(query, true)?.into_iter().next();
        Ok(first.unwrap_or_else(|| self.arguments.unknown(Vec::new())))
    }

    /// The truth of an expression. Chains of AND and OR are followed without recursion.
    pub fn condition(&mut self, expr: &ast::Expr) -> Translated<Condition> {
        self.enter()?;
        let condition = self.condition_of(expr);
        self.leave();
        condition
    }

    /// `value in (…)`; with one member that is no list, `value = member`.
    fn in_list(&mut self, value: &ast::Expr, list: &[ast::Expr]) -> Translated<Condition> {
        let value = self.expr(value)?;
        let mut members = self.exprs(list)?;
        Ok(match members.as_slice() {
            [only] if self.arguments.is_single(only) => {
                Condition::compare(Comparison::Equal, value, members.remove(0))
            }
            _ => Condition::In { value, members },
        })
    }

    fn condition_of(&mut self, expr: &ast::Expr) -> Translated<Condition> {
        use ast::Expr as E;
        match expr {
            E::Nested(inner) => self.condition(inner),
            E::BinaryOp { op, .. } if logical(op) => self.chain(expr, op),
            E::BinaryOp { left, op, right } => self.binary(left, op, right, expr),
            E::UnaryOp {
                op: UnaryOperator::Not | UnaryOperator::BangNot,
                expr,
            } => Ok(self.condition(expr)?.negated()),
            E::IsNull(value) => Ok(Condition::IsNull(self.expr(value)?)),
            E::IsNotNull(value) => Ok(Condition::IsNull(self.expr(value)?).negated()),
            E::IsTrue(inner) | E::IsNotFalse(inner) => self.condition(inner),
            E::IsFalse(inner) | E::IsNotTrue(inner) => Ok(self.condition(inner)?.negated()),
            E::InList {
                expr,
                list,
                negated,
            } => Ok(negate_if(*negated, self.in_list(expr, list)?)),
            E::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let value = self.expr(expr)?;
                let low = self.expr(low)?;
                let high = self.expr(high)?;
                Ok(negate_if(*negated, Condition::Between { value, low, high }))
            }
            E::Like { .. } | E::ILike { .. } | E::SimilarTo { .. } | E::RLike { .. } => {
                self.like(expr)
            }
            E::InSubquery {
                expr,
                subquery,
                negated,
            } => self.in_query(expr, subquery, *negated),
            E::Exists { subquery, negated } => {
                let exists = self.exists(subquery)?;
                Ok(negate_if(*negated, exists))
            }
            E::AnyOp {
                left,
                compare_op,
                right,
                ..
            } if *compare_op == BinaryOperator::Eq => {
                let value = self.expr(left)?;
                let members = vec![self.expr(right)?];
                Ok(Condition::In { value, members })
            }
            E::Value(value) => match value.value {
                ast::Value::Boolean(true) => Ok(Condition::True),
                ast::Value::Boolean(false) => Ok(Condition::False),
                _ => self.is_true(expr),
            },
            E::Identifier(_) | E::CompoundIdentifier(_) | E::Function(_) | E::Case { .. } => {
                self.is_true(expr)
            }
            other => Err(self.unsupported(&format!("the condition `{other}`"))),
        }
    }

    fn like(&mut self, expr: &ast::Expr) -> Translated<Condition> {
        use ast::Expr as E;
        match expr {
            E::Like {
                negated,
                expr,
                pattern,
                ..
            }
            | E::ILike {
                negated,
                expr,
                pattern,
                ..
            }
            | E::SimilarTo {
                negated,
                expr,
                pattern,
                ..
            }
            | E::RLike {
                negated,
                expr,
                pattern,
                ..
            } => {
                let value = self.expr(expr)?;
                let pattern = self.expr(pattern)?;
                Ok(negate_if(*negated, Condition::Like { value, pattern }))
            }
            other => Err(self.unsupported(&format!("the condition `{other}`"))),
        }
    }

    /// A value used as a truth value.
    fn is_true(&mut self, expr: &ast::Expr) -> Translated<Condition> {
        let value = self.expr(expr)?;
        let truth = Expr::Constant(Value::Boolean(true));
        if let Expr::If {
            condition, then, ..
        } = &value
            && **then == truth
        {
            return Ok((**condition).clone());
        }
        Ok(Condition::compare(Comparison::Equal, value, truth))
    }

    fn chain(&mut self, expr: &ast::Expr, wanted: &BinaryOperator) -> Translated<Condition> {
        let mut members = Vec::new();
        let mut waiting = vec![expr];
        while let Some(next) = waiting.pop() {
            match next {
                ast::Expr::BinaryOp { left, op, right } if op == wanted => {
                    waiting.push(right);
                    waiting.push(left);
                }
                other => members.push(self.condition(other)?),
            }
        }
        match wanted {
            BinaryOperator::And => Ok(members.into_iter().fold(Condition::True, Condition::and)),
            _ => Ok(Condition::Or(members)),
        }
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        whole: &ast::Expr,
    ) -> Translated<Condition> {
        let Some(comparison) = comparison(op) else {
            return match arithmetic(op) {
                Some(_) => self.is_true(whole),
                None => Err(self.unsupported(&format!("the operator {op}"))),
            };
        };
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        // (a, b) = (x, y): one by one.
        if let (Comparison::Equal, Expr::List(a), Expr::List(b)) = (comparison, &left, &right)
            && a.len() == b.len()
        {
            let pairs = a.iter().cloned().zip(b.iter().cloned());
            let equal = pairs.map(|(a, b)| Condition::compare(comparison, a, b));
            return Ok(equal.fold(Condition::True, Condition::and));
        }
        Ok(Condition::compare(comparison, left, right))
    }

    /// `x in (select y …)` is `x = y` of some row there. `not in` is no such equality, so only what
    /// it reads is kept.
    fn in_query(
        &mut self,
        expr: &ast::Expr,
        query: &Query,
        negated: bool,
    ) -> Translated<Condition> {
        let value = self.expr(expr)?;
        let members = self.inner(query, false)?;
        if let (Expr::List(values), false) = (&value, negated) {
            let pairs = values.iter().cloned().zip(members);
            let equal = pairs.map(|(a, b)| Condition::compare(Comparison::Equal, a, b));
            return Ok(equal.fold(Condition::True, Condition::and));
        }
        let first = members.into_iter().next();
        let member = first.unwrap_or_else(|| self.arguments.unknown(Vec::new()));
        if !negated {
            return Ok(Condition::compare(Comparison::Equal, value, member));
        }
        match self.arguments.unknown(vec![value, member]) {
            Expr::Unknown { id, reads } => Ok(Condition::Unknown { id, reads }),
            other => Ok(Condition::IsNull(other).negated()),
        }
    }
}

fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call {
        name: name.to_string(),
        arguments,
    }
}

fn negative(value: Expr) -> Expr {
    match value {
        Expr::Constant(Value::Integer(value)) => Expr::integer(value.wrapping_neg()),
        Expr::Constant(Value::Real(value)) => Expr::Constant(Value::Real(-value)),
        other => Expr::arithmetic(Operator::Subtract, Expr::integer(0), other),
    }
}

fn negate_if(negated: bool, condition: Condition) -> Condition {
    match negated {
        true => condition.negated(),
        false => condition,
    }
}

/// Names whose value is the time.
fn is_clock(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let known = [
        "now",
        "sysdate",
        "getdate",
        "localtime",
        "localtimestamp",
        "curdate",
        "curtime",
    ];
    name.starts_with("current_") || known.contains(&name.as_str())
}

/// Functions that give another value each time.
fn is_drawn(name: &str) -> bool {
    let known = [
        "rand",
        "random",
        "uuid",
        "gen_random_uuid",
        "nextval",
        "currval",
        "lastval",
        "last_insert_id",
        "identity",
        "unix_timestamp",
        "clock_timestamp",
    ];
    known.contains(&name)
}

fn logical(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or)
}

fn arithmetic(op: &BinaryOperator) -> Option<Operator> {
    match op {
        BinaryOperator::Plus => Some(Operator::Add),
        BinaryOperator::Minus => Some(Operator::Subtract),
        BinaryOperator::Multiply => Some(Operator::Multiply),
        BinaryOperator::Divide => Some(Operator::Divide),
        BinaryOperator::Modulo => Some(Operator::Remainder),
        BinaryOperator::StringConcat => Some(Operator::Concatenate),
        _ => None,
    }
}

fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    match op {
        BinaryOperator::Eq | BinaryOperator::Spaceship => Some(Comparison::Equal),
        BinaryOperator::NotEq => Some(Comparison::NotEqual),
        BinaryOperator::Lt => Some(Comparison::Less),
        BinaryOperator::LtEq => Some(Comparison::LessOrEqual),
        BinaryOperator::Gt => Some(Comparison::Greater),
        BinaryOperator::GtEq => Some(Comparison::GreaterOrEqual),
        _ => None,
    }
}
