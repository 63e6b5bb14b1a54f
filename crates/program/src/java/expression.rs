//! Java expressions: values and conditions. What an expression does on the way (moving a cursor,
//! counting up, executing) becomes steps before it is used.

use super::condition::truth;
use super::env::{Val, carries_nothing};
use super::index::combine;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Operator, Value};
use crate::ir::Step;
use crate::place::NoteKind;
use crate::resolve::{FIELD, STORE, WITH};
use crate::schema::Type;

impl<'a> Translator<'a> {
    /// The class of the method at hand.
    pub fn class(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.class)
    }

    /// The class of the object whose method is at hand.
    pub fn this_class(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.this)
    }

    /// The value a Java value is for a statement.
    pub fn expr_of(&mut self, val: Val) -> Expr {
        match val {
            Val::Expr(value) => value,
            Val::List(variable) => Expr::Variable(variable),
            Val::Object(object) => self.packed(object),
            Val::Given(all) => Expr::List(all.into_iter().map(|one| self.expr_of(one)).collect()),
            _ => self.unknown(Vec::new()),
        }
    }

    fn expr(&mut self, node: &'a Node) -> Expr {
        let val = self.value(node);
        self.expr_of(val)
    }

    /// What an expression stands for.
    pub fn value(&mut self, node: &'a Node) -> Val {
        match node.kind {
            "parenthesized_expression" => match node.children.first() {
                Some(inner) => self.value(inner),
                None => Val::Nothing,
            },
            "cast_expression" => match node.child("value") {
                Some(inner) => self.value(inner),
                None => Val::Nothing,
            },
            "identifier" => self.name(node.text(), node),
            "this" => Val::Nothing,
            "field_access" => self.field(node),
            "assignment_expression" => self.assignment(node),
            "update_expression" => self.counted(node),
            "binary_expression" => self.binary(node),
            "unary_expression" => self.unary(node),
            "ternary_expression" => self.ternary(node),
            "method_invocation" => self.call(node, true),
            "object_creation_expression" => self.created(node),
            "array_creation_expression" | "array_initializer" => self.array(node),
            "array_access" => self.element(node),
            "switch_expression" => self.switched(node),
            "lambda_expression" | "method_reference" => match self.lambda(node) {
                Some(val) => val,
                None => Val::Expr(self.unknown(Vec::new())),
            },
            _ => match self.index.constant(self.class(), node) {
                Some(value) => Val::Expr(Expr::Constant(value)),
                None => Val::Expr(self.unknown(Vec::new())),
            },
        }
    }

    /// A name: a local, a constant, or a field of the class.
    fn name(&mut self, name: &str, node: &'a Node) -> Val {
        if let Some(slot) = self.env.slots.get(name) {
            return slot.val.clone();
        }
        if let Some(value) = self.index.constant(self.class(), node) {
            return Val::Expr(Expr::Constant(value));
        }
        match self.enum_object(node) {
            Some(val) => val,
            None => self.own_field(name),
        }
    }

    /// A field of the object the method belongs to: any value, but the same one each time.
    fn own_field(&mut self, name: &str) -> Val {
        let key = format!("this.{name}");
        if let Some(slot) = self.env.slots.get(&key) {
            return slot.val.clone();
        }
        let ty = self
            .index
            .field(self.class(), name)
            .map(|(_, field)| field.ty);
        match ty {
            Some("Connection") => Val::Connection,
            // Prepared once, or where it is first used.
            Some("PreparedStatement" | "Statement" | "ResultSet" | "CallableStatement") => {
                match self.prepared_field(name) {
                    Some(val) => val,
                    None => Val::Expr(Expr::Constant(Value::Null)),
                }
            }
            Some(ty) if carries_nothing(ty) => Val::Nothing,
            Some(ty) => {
                if ty == "SQLStmt"
                    && let Some(val) = self.built_field(name)
                {
                    return val;
                }
                let variable = self.variable(name, super::env::type_of(ty));
                let slot = super::env::Slot {
                    val: Val::Expr(Expr::Variable(variable)),
                    variable: Some(variable),
                    ty: super::env::type_of(ty),
                };
                self.env.slots.insert(key, slot.clone());
                slot.val
            }
            // A class name, or something inherited.
            None => Val::Nothing,
        }
    }

    /// A statement whose text is put together where the object is made.
    fn built_field(&mut self, name: &str) -> Option<Val> {
        let (class, field) = self.index.field(self.class(), name)?;
        let made = field
            .value
            .or_else(|| self.index.only_assigned(class, name))?;
        let before = self.index.before_assigned(class, made);
        let hidden = std::mem::take(&mut self.env.slots);
        let building = std::mem::replace(&mut self.building, true);
        let mut val = Val::Nothing;
        // What it does on the way happened before.
        self.apart(|this| {
            this.block(before, None);
            val = this.value(made);
        });
        self.building = building;
        self.env.slots = hidden;
        match &val {
            Val::Expr(value) => self.text_of(value).map(|_| val),
            _ => None,
        }
    }

    /// A statement that another method, as the constructor, prepares for all to use.
    fn prepared_field(&mut self, name: &str) -> Option<Val> {
        let (class, field) = self.index.field(self.class(), name)?;
        // Where it is first used, it is null before.
        let text = self.index.classes[class].node.text();
        if text.contains(&format!("{name} == null")) {
            return None;
        }
        if let Some(val) = self.kept(class, name, None) {
            return Some(val);
        }
        let made = field
            .value
            .or_else(|| self.index.only_assigned(class, name))?;
        let prepares = ["prepareStatement", "prepareCall", "createStatement"];
        let direct = made.kind == "method_invocation" && prepares.contains(&made.name());
        if !direct {
            return None;
        }
        let val = self.value(made);
        let slot = super::env::Slot {
            val: val.clone(),
            variable: None,
            ty: Type::Other,
        };
        self.env.slots.insert(format!("this.{name}"), slot);
        Some(val)
    }

    fn field(&mut self, node: &'a Node) -> Val {
        let (Some(object), Some(field)) = (node.child("object"), node.child("field")) else {
            return Val::Nothing;
        };
        if let Some(value) = self.index.constant(self.class(), node) {
            return Val::Expr(Expr::Constant(value));
        }
        let name = field.text();
        if object.kind == "this" {
            return self.own_field(name);
        }
        if let Some(val) = self.enum_object(node) {
            return val;
        }
        match (object.text(), name) {
            ("BigDecimal" | "BigInteger", "ZERO") => return Val::Expr(Expr::integer(0)),
            ("BigDecimal" | "BigInteger", "ONE") => return Val::Expr(Expr::integer(1)),
            ("BigDecimal" | "BigInteger", "TEN") => return Val::Expr(Expr::integer(10)),
            _ => {}
        }
        if let Some(val) = self.kept_field(object, name) {
            return val;
        }
        match self.value(object) {
            Val::Object(object) => Val::Expr(Expr::Variable(self.object_field(object, name))),
            Val::Given(all) if name == "length" => Val::Expr(Expr::integer(all.len() as i64)),
            Val::List(list) if name == "length" => {
                Val::Expr(Expr::Size(Box::new(Expr::Variable(list))))
            }
            Val::Expr(list) if name == "length" => Val::Expr(Expr::Size(Box::new(list))),
            Val::Expr(object) => Val::Expr(Expr::Call {
                name: format!("{FIELD}{name}"),
                arguments: vec![object],
            }),
            _ => Val::Expr(self.unknown(Vec::new())),
        }
    }

    fn assignment(&mut self, node: &'a Node) -> Val {
        let (Some(left), Some(right)) = (node.child("left"), node.child("right")) else {
            return Val::Nothing;
        };
        let operator = node.child("operator").map_or("=", Node::text);
        let val = match operator.strip_suffix('=') {
            Some("") | None => self.value(right),
            Some(operator) => {
                let (one, two) = (self.value(left), self.value(right));
                self.combined(operator, one, two)
            }
        };
        self.store(left, val.clone());
        val
    }

    /// Puts a value where an expression says.
    pub fn store(&mut self, target: &'a Node, val: Val) {
        match target.kind {
            "identifier" => {
                let name = target.text();
                match self.env.slots.contains_key(name) {
                    true => self.assign(name, val),
                    false => self.assign_field(name, val),
                }
            }
            "field_access" => {
                let (Some(object), Some(field)) = (target.child("object"), target.child("field"))
                else {
                    return;
                };
                if object.kind == "this" {
                    return self.assign_field(field.text(), val);
                }
                let value = self.expr_of(val);
                match self.value(object) {
                    Val::Object(object) => {
                        let variable = self.object_field(object, field.text());
                        self.emit(Step::Let { variable, value });
                    }
                    Val::Expr(before) => self.store_field(object, before, field.text(), value),
                    _ => {}
                }
            }
            "array_access" => {
                let (Some(array), Some(index)) = (target.child("array"), target.child("index"))
                else {
                    return;
                };
                if let Val::List(variable) = self.value(array) {
                    let index = self.expr(index);
                    let value = self.expr_of(val);
                    let value = Expr::Call {
                        name: STORE.to_string(),
                        arguments: vec![Expr::Variable(variable), index, value],
                    };
                    self.emit(Step::Let { variable, value });
                }
            }
            "parenthesized_expression" => {
                if let Some(inner) = target.children.first() {
                    self.store(inner, val);
                }
            }
            _ => {}
        }
    }

    /// Puts a value into a field of an object that is somewhere.
    pub fn store_field(&mut self, object: &'a Node, before: Expr, field: &str, value: Expr) {
        let arguments = vec![before, Expr::text(field), value];
        let name = WITH.to_string();
        self.store(object, Val::Expr(Expr::Call { name, arguments }));
    }

    fn assign_field(&mut self, name: &str, val: Val) {
        self.own_field(name);
        self.assign(&format!("this.{name}"), val);
    }

    /// `i++`, `--i`: the value before or after.
    fn counted(&mut self, node: &'a Node) -> Val {
        let Some(target) = node.children.first() else {
            return Val::Nothing;
        };
        let text = node.text();
        let before = self.value(target);
        let one = Val::Expr(Expr::integer(1));
        let operator = if text.contains("++") { "+" } else { "-" };
        // The old value is wanted after the new one is stored: keep it.
        let is_prefix = text.starts_with(['+', '-']);
        let kept = match (&before, is_prefix) {
            (Val::Expr(Expr::Constant(_)), _) | (_, true) => before.clone(),
            _ => {
                let value = self.expr_of(before.clone());
                let variable = self.variable("before", Type::Integer);
                self.emit(Step::Let { variable, value });
                Val::Expr(Expr::Variable(variable))
            }
        };
        let after = self.combined(operator, before, one);
        self.store(target, after);
        match is_prefix {
            true => self.value(target),
            false => kept,
        }
    }

    /// Two values combined by an operator.
    fn combined(&mut self, operator: &str, left: Val, right: Val) -> Val {
        if let (Val::Expr(Expr::Constant(a)), Val::Expr(Expr::Constant(b))) = (&left, &right)
            && let Some(value) = combine(operator, a.clone(), b.clone())
        {
            return Val::Expr(Expr::Constant(value));
        }
        let (left, right) = (self.expr_of(left), self.expr_of(right));
        let is_text = |expr: &Expr| match expr {
            Expr::Constant(Value::Text(_)) => true,
            Expr::Arithmetic { operator, .. } => *operator == Operator::Concatenate,
            Expr::Variable(id) => self
                .variables
                .get(id.0 as usize)
                .is_some_and(|variable| variable.ty == Type::Text),
            _ => false,
        };
        let operator = match operator {
            "+" if is_text(&left) || is_text(&right) => Operator::Concatenate,
            "+" => Operator::Add,
            "-" => Operator::Subtract,
            "*" => Operator::Multiply,
            "/" => Operator::Divide,
            "%" => Operator::Remainder,
            _ => return Val::Expr(self.unknown(vec![left, right])),
        };
        match operator {
            Operator::Multiply | Operator::Divide | Operator::Remainder => {
                let whole = Expr::arithmetic(operator, left.clone(), right.clone());
                Val::Expr(self.unless_unknown(whole, vec![left, right]))
            }
            _ => Val::Expr(Expr::arithmetic(operator, left, right)),
        }
    }

    /// A value computed from others: any value, where one of these is.
    pub fn unless_unknown(&mut self, value: Expr, from: Vec<Expr>) -> Expr {
        if !from.iter().any(|one| matches!(one, Expr::Unknown { .. })) {
            return value;
        }
        let mut reads = Vec::new();
        for one in from {
            match one {
                Expr::Unknown { reads: inner, .. } => reads.extend(inner),
                other => reads.push(other),
            }
        }
        self.unknown(reads)
    }

    /// Chains of `+` lean to the left and are followed without recursion.
    fn binary(&mut self, node: &'a Node) -> Val {
        let operator = node.child("operator").map_or("", Node::text);
        if is_logical(operator) {
            let condition = self.condition(node);
            return Val::Expr(truth(condition));
        }
        let mut members = Vec::new();
        let mut at = node;
        while at.kind == "binary_expression" {
            let (Some(operator), Some(right), Some(left)) =
                (at.child("operator"), at.child("right"), at.child("left"))
            else {
                return Val::Nothing;
            };
            if is_logical(operator.text()) {
                break;
            }
            members.push((operator.text(), right));
            at = left;
        }
        let mut total = self.value(at);
        for (operator, member) in members.into_iter().rev() {
            let right = self.value(member);
            total = self.combined(operator, total, right);
        }
        total
    }

    fn unary(&mut self, node: &'a Node) -> Val {
        let operator = node.child("operator").map_or("", Node::text);
        let Some(operand) = node.child("operand") else {
            return Val::Nothing;
        };
        match operator {
            "!" => {
                let condition = self.condition(operand).negated();
                Val::Expr(truth(condition))
            }
            "-" => {
                let zero = Val::Expr(Expr::integer(0));
                let value = self.value(operand);
                self.combined("-", zero, value)
            }
            "+" => self.value(operand),
            _ => {
                let value = self.expr(operand);
                Val::Expr(self.unknown(vec![value]))
            }
        }
    }

    /// `switch` as a value, of arms that are plain expressions.
    fn switched(&mut self, node: &'a Node) -> Val {
        let (Some(test), Some(body)) = (node.child("condition"), node.child("body")) else {
            return Val::Nothing;
        };
        let scrutinee = self.expr(test);
        let mut arms = Vec::new();
        for rule in &body.children {
            let labels: Vec<&Node> = rule.of_kind("switch_label").collect();
            let condition = self.case_condition(&labels, &scrutinee);
            let value = rule.children.iter().find(|one| one.kind != "switch_label");
            let value = match value {
                Some(value) if value.kind == "expression_statement" => {
                    value.children.first().map(|value| self.expr(value))
                }
                _ => None,
            };
            let value = value.unwrap_or_else(|| self.unknown(Vec::new()));
            arms.push((condition, value));
        }
        let default = arms.iter().position(|(test, _)| *test == Condition::True);
        let last = match default {
            Some(at) => arms.remove(at).1,
            None => Expr::Constant(Value::Null),
        };
        let choose = |otherwise, (condition, then)| Expr::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Val::Expr(arms.into_iter().rev().fold(last, choose))
    }

    fn created(&mut self, node: &'a Node) -> Val {
        if let Some(value) = self.index.constant(self.class(), node) {
            return Val::Expr(Expr::Constant(value));
        }
        if let Some(val) = self.lambda(node) {
            return val;
        }
        if let Some(val) = self.made(node) {
            return val;
        }
        let java = node.child("type").map_or("", Node::text);
        let arguments: &[Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let head = java.split('<').next().unwrap_or(java);
        let head = head.rsplit('.').next().unwrap_or(head);
        if super::env::type_of(java) == Type::List {
            let value = match arguments.first() {
                Some(first) if arguments.len() == 1 => match self.value(first) {
                    Val::List(list) => Expr::Variable(list),
                    _ => Expr::List(Vec::new()),
                },
                _ => Expr::List(Vec::new()),
            };
            let variable = self.variable("list", Type::List);
            self.emit(Step::Let { variable, value });
            return Val::List(variable);
        }
        match head {
            "BigDecimal" | "Long" | "Integer" | "Double" | "String" | "BigInteger" | "SQLStmt" => {
                match arguments.first() {
                    Some(first) => self.value(first),
                    None => Val::Expr(Expr::text("")),
                }
            }
            "StringBuilder" | "StringBuffer" => match arguments.first() {
                Some(first) if first.kind != "decimal_integer_literal" => {
                    let value = self.expr(first);
                    match self.text_of(&value) {
                        Some(_) => Val::Expr(value),
                        None => Val::Expr(Expr::text("")),
                    }
                }
                _ => Val::Expr(Expr::text("")),
            },
            "MapSqlParameterSource" | "HashMap" | "LinkedHashMap" | "TreeMap" => {
                self.map_of(arguments)
            }
            _ => match arguments.first() {
                // A value object: what it was made of is all that is known.
                Some(_) => {
                    let reads: Vec<Expr> = arguments.iter().map(|one| self.expr(one)).collect();
                    Val::Expr(self.unknown(reads))
                }
                None => Val::Object(self.add_object()),
            },
        }
    }

    fn array(&mut self, node: &'a Node) -> Val {
        let items = match node.kind {
            "array_initializer" => Some(node),
            _ => node.child("value"),
        };
        let value = match items {
            Some(items) => {
                let items: Vec<Expr> = items.children.iter().map(|one| self.expr(one)).collect();
                Expr::List(items)
            }
            None => Expr::Call {
                name: "array".to_string(),
                arguments: Vec::new(),
            },
        };
        let variable = self.variable("array", Type::List);
        self.emit(Step::Let { variable, value });
        Val::List(variable)
    }

    fn element(&mut self, node: &'a Node) -> Val {
        let (Some(array), Some(index)) = (node.child("array"), node.child("index")) else {
            return Val::Nothing;
        };
        if let Some(val) = self.kept_place(array, index) {
            return val;
        }
        let list = self.value(array);
        let index = self.value(index);
        let at = index.integer().and_then(|at| usize::try_from(at).ok());
        if let (Val::Given(all), Some(at)) = (&list, at)
            && let Some(val) = all.get(at)
        {
            return val.clone();
        }
        let (list, index) = (self.expr_of(list), self.expr_of(index));
        Val::Expr(Expr::Element {
            list: Box::new(list),
            index: Box::new(index),
        })
    }

    /// A value that is not followed.
    pub fn any_value(&mut self, node: &Node, reads: Vec<Expr>, used: bool) -> Val {
        if self.hands_sql(node, &reads) {
            let assumed = "what it does with the SQL that it is given is not known: left out";
            self.left_out(
                node,
                assumed,
                "Give the file that has the method, too, or use JDBC.",
            );
        } else if used {
            let assumed = "taken for any value";
            self.add_note(node, assumed, "", NoteKind::Value);
        }
        Val::Expr(self.unknown(reads))
    }
}

fn is_logical(operator: &str) -> bool {
    matches!(
        operator,
        "&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">="
    )
}
