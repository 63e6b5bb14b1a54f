//! Statements that run several times, or that are one of several.

use super::env::{PreparedId, Val};
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr};
use crate::ir::{Repeat, Step};
use crate::schema::Type;
use std::collections::BTreeMap;

impl<'a> Translator<'a> {
    /// `STATEMENTS[i]` of a constant array: the texts and which one.
    pub fn choices(&mut self, node: &'a Node) -> Option<(Expr, Vec<String>)> {
        let (array, index) = (node.child("array")?, node.child("index")?);
        let texts = self.index.constant_list(self.class(), array)?;
        let texts = texts.into_iter().map(|text| match text {
            crate::expr::Value::Text(text) => Some(text),
            _ => None,
        });
        let texts: Option<Vec<String>> = texts.collect();
        let index = self.value(index);
        Some((self.expr_of(index), texts?))
    }

    /// Executes one of several statements, by a chain of branches; the number of rows it changed.
    pub fn execute_choice(
        &mut self,
        node: &'a Node,
        id: PreparedId,
        which: Expr,
        texts: Vec<String>,
    ) -> Val {
        let changed = self.variable("changed", Type::Integer);
        let mut arms = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            self.prepared[id.0].sql = Some(text);
            let steps = self.apart(|this| {
                if let Some(statement) = this.execute(node, id) {
                    let value = Expr::RowCount(statement);
                    let variable = changed;
                    this.emit(Step::Let { variable, value });
                }
            });
            let at = Expr::integer(at as i64);
            arms.push((
                Condition::compare(Comparison::Equal, which.clone(), at),
                steps,
            ));
        }
        let place = node.place();
        let chain = |otherwise: Vec<Step>, (condition, then)| {
            vec![Step::If {
                condition,
                then,
                otherwise,
                place: place.clone(),
            }]
        };
        let steps = arms.into_iter().rev().fold(Vec::new(), chain);
        steps.into_iter().for_each(|step| self.emit(step));
        Val::Expr(Expr::Variable(changed))
    }

    /// A batch keeps the arguments in lists.
    pub fn add_batch(&mut self, id: PreparedId) -> Val {
        let prepared = self.prepared[id.0].clone();
        for (at, variable) in &prepared.batches {
            let value = match prepared.arguments.get(at) {
                Some(argument) => Expr::Variable(*argument),
                None => match prepared.anywhere {
                    Some(anywhere) => self.unknown(vec![Expr::Variable(anywhere)]),
                    None => Expr::Constant(crate::expr::Value::Null),
                },
            };
            self.emit(Step::Push {
                variable: *variable,
                value,
            });
        }
        Val::Nothing
    }

    /// Executes once for each time of `addBatch`.
    pub fn execute_batch(&mut self, node: &'a Node, id: PreparedId) -> Val {
        let prepared = self.prepared[id.0].clone();
        let Some(first) = prepared.batches.values().next().copied() else {
            return Val::Nothing;
        };
        let counter = self.variable("batch", Type::Integer);
        let element = |variable: crate::expr::VariableId| Expr::Element {
            list: Box::new(Expr::Variable(variable)),
            index: Box::new(Expr::Variable(counter)),
        };
        let given: BTreeMap<usize, Expr> = prepared
            .batches
            .iter()
            .map(|(at, variable)| (*at, element(*variable)))
            .collect();
        let zero = Expr::integer(0);
        self.emit(Step::Let {
            variable: counter,
            value: zero,
        });
        let body = self.apart(|this| {
            this.execute_with(node, id, &given);
            let value = Expr::arithmetic(
                crate::expr::Operator::Add,
                Expr::Variable(counter),
                Expr::integer(1),
            );
            this.emit(Step::Let {
                variable: counter,
                value,
            });
        });
        let size = Expr::Size(Box::new(Expr::Variable(first)));
        let condition = Condition::compare(Comparison::Less, Expr::Variable(counter), size);
        let label = self.label();
        let place = node.place();
        self.emit(Step::Loop {
            label,
            repeat: Repeat::While {
                before: Vec::new(),
                condition,
            },
            body,
            place,
        });
        for variable in prepared.batches.values() {
            let value = Expr::List(Vec::new());
            self.emit(Step::Let {
                variable: *variable,
                value,
            });
        }
        Val::Nothing
    }
}
