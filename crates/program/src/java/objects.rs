//! Objects of the sources' own classes.

use super::env::{Slot, Val};
use super::index::parameters;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Expr, Value};
use crate::ir::Step;

impl<'a> Translator<'a> {
    /// `new X(…)` of a class of the sources: its constructor where that gets to the database; else
    /// a record, or an object whose constructor only keeps what it is given.
    pub fn made(&mut self, node: &'a Node) -> Option<Val> {
        let java = node.child("type")?.text();
        let class = self.index.class(java.split('<').next().unwrap_or(java))?;
        let arguments: &'a [Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let declared = self.index.classes[class].node;
        let body = declared.child("body")?;
        let constructor = body
            .of_kind("constructor_declaration")
            .find(|one| parameters(one).len() == arguments.len());
        if let Some(constructor) = constructor
            && self.reaches(constructor)
        {
            let arguments = self.arguments(node);
            self.follow(node, class, constructor, arguments);
            return None;
        }
        let fields = match declared.kind {
            "record_declaration" => {
                let names = parameters(declared).into_iter().map(Node::name);
                names.map(str::to_string).collect()
            }
            _ => match kept_fields(constructor?) {
                Some(fields) => fields,
                None => return self.constructed(node, class, constructor?),
            },
        };
        if fields.len() != arguments.len() || arguments.is_empty() {
            return None;
        }
        let arguments = self.arguments(node);
        let object = self.add_object();
        for (field, value) in fields.iter().zip(arguments) {
            let value = self.expr_of(value);
            let variable = self.object_field(object, field);
            self.emit(Step::Let { variable, value });
        }
        Some(Val::Object(object))
    }

    /// The object that a constructor makes, by following it.
    fn constructed(&mut self, node: &'a Node, class: usize, constructor: &'a Node) -> Option<Val> {
        if !only_assigns(constructor) {
            return None;
        }
        let arguments = self.arguments(node);
        let own = self.callee_env(false);
        let (_, mut fields) = self.follow_in(node, (class, class), constructor, arguments, own);
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        let object = self.add_object();
        for (key, slot) in fields {
            let value = self.expr_of(slot.val);
            let variable = self.object_field(object, key.trim_start_matches("this."));
            self.emit(Step::Let { variable, value });
        }
        Some(Val::Object(object))
    }

    /// An object in a place that was null: where it is made in a loop or a branch, it may never be.
    pub fn note_made(&mut self, slot: &Slot, val: &Val) {
        let own = |variable| Val::Expr(Expr::Variable(variable));
        let null = Val::Expr(Expr::Constant(Value::Null));
        if let (Val::Object(object), Some(variable)) = (val, slot.variable)
            && (slot.val == null || slot.val == own(variable))
        {
            let value = Expr::Constant(Value::Boolean(true));
            self.emit(Step::Let { variable, value });
            self.made_later.insert(object.0, variable);
        }
    }

    /// `this(…)` in a constructor: the other one of as many parameters.
    pub fn other_constructor(&mut self, node: &'a Node) {
        let class = self.class();
        let own = node
            .children
            .first()
            .is_some_and(|first| first.kind == "this");
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let body = self.index.classes[class].node.child("body");
        let all = body.into_iter();
        let mut all = all.flat_map(|body| body.of_kind("constructor_declaration"));
        let other = all.find(|one| parameters(one).len() == count);
        if let (true, Some(other)) = (own, other) {
            let arguments = self.arguments(node);
            self.follow(node, class, other, arguments);
        }
    }
}

/// Whether a constructor does nothing but assign fields, or have another one do it.
fn only_assigns(constructor: &Node) -> bool {
    let body = constructor.child("body");
    body.is_some_and(|body| {
        body.children.iter().all(|statement| match statement.kind {
            "explicit_constructor_invocation" => true,
            "expression_statement" => {
                let mut parts = statement.children.iter();
                parts.all(|part| part.kind == "assignment_expression")
            }
            _ => false,
        })
    })
}

/// The field that each parameter is kept in, where a constructor does nothing else.
pub(super) fn kept_fields(constructor: &Node) -> Option<Vec<String>> {
    let parameters = parameters(constructor);
    let mut fields = vec![None; parameters.len()];
    for statement in &constructor.child("body")?.children {
        let assignment = statement.children.first()?;
        if assignment.kind != "assignment_expression" {
            return None;
        }
        let (left, right) = (assignment.child("left")?, assignment.child("right")?);
        let at = parameters
            .iter()
            .position(|one| one.name() == right.text())?;
        let left = left.text();
        fields[at] = Some(left.strip_prefix("this.").unwrap_or(left).to_string());
    }
    fields.into_iter().collect()
}
