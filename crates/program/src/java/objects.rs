//! Objects of the sources' own classes.

use super::branch::sorted;
use super::env::{ObjectId, Slot, Val};
use super::index::parameters;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Condition, Expr, Value, VariableId};
use crate::ir::Step;
use crate::resolve::{FIELD, OBJECT};
use crate::schema::Type;

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

    /// An object as a value, as it is now; null where it was not made.
    pub fn packed(&self, object: ObjectId) -> Expr {
        let mut arguments = Vec::new();
        for (name, variable) in sorted(&self.objects[object.0]) {
            arguments.push(Expr::text(name));
            arguments.push(Expr::Variable(variable));
        }
        let packed = Expr::Call {
            name: OBJECT.to_string(),
            arguments,
        };
        match self.made_later.get(&object.0) {
            Some(made) => Expr::If {
                condition: Box::new(Condition::IsNull(Expr::Variable(*made))),
                then: Box::new(Expr::Constant(Value::Null)),
                otherwise: Box::new(packed),
            },
            None => packed,
        }
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

    /// What a method returns, after one more return. Its variable holds what was returned each time, so
    /// an object that is returned in one place and null in another is null where that variable is.
    pub fn join_returned(&mut self, new: Option<Val>, result: VariableId) -> Option<Val> {
        let frame = self.frames.last_mut();
        let before = frame.and_then(|frame| frame.returned.take());
        let null = Expr::Constant(Value::Null);
        match (before, new) {
            (Some(Val::Object(kept)), Some(Val::Object(object))) => {
                if kept != object {
                    self.copy_fields(object, kept);
                    let either = [kept, object];
                    if either
                        .iter()
                        .any(|one| self.made_later.contains_key(&one.0))
                    {
                        self.made_later.insert(kept.0, result);
                    }
                }
                Some(Val::Object(kept))
            }
            (Some(Val::Object(object)), Some(Val::Expr(value))) => {
                self.made_later.insert(object.0, result);
                if value != null {
                    self.take_fields(object, result);
                }
                Some(Val::Object(object))
            }
            (Some(Val::Expr(value)), Some(Val::Object(object))) if value == null => {
                self.made_later.insert(object.0, result);
                Some(Val::Object(object))
            }
            (Some(Val::Expr(_)), Some(Val::Object(_) | Val::List(_)))
            | (Some(Val::List(_)), Some(Val::Expr(_))) => Some(Val::Expr(Expr::Variable(result))),
            (Some(Val::Expr(one)), Some(Val::Expr(two))) if one != two => {
                Some(Val::Expr(Expr::Variable(result)))
            }
            (Some(object @ Val::Object(_)), _) => Some(object),
            (_, Some(object @ Val::Object(_))) => Some(object),
            (Some(before), None) => Some(before),
            (_, new) => new,
        }
    }

    /// What the variable of a method holds where it returns an object or a list: of an object only that
    /// there is one, unless other returns give values that it is put beside.
    pub fn returned_value(&mut self, val: &Val) -> Expr {
        let frame = self.frames.last();
        let before = frame.and_then(|frame| frame.returned.as_ref());
        let beside =
            matches!(before, Some(Val::Expr(value)) if *value != Expr::Constant(Value::Null));
        match val {
            Val::Object(object) if !beside => self.is_made(*object),
            val => self.expr_of(val.clone()),
        }
    }

    /// Not null where there is such an object.
    pub fn is_made(&self, object: ObjectId) -> Expr {
        match self.made_later.get(&object.0) {
            Some(made) => Expr::Variable(*made),
            None => Expr::Constant(Value::Boolean(true)),
        }
    }

    /// The object that is there after one side of a choice, and null after the other.
    pub fn made_or_null(
        &mut self,
        object: ObjectId,
        there: &mut Vec<Step>,
        absent: &mut Vec<Step>,
    ) -> ObjectId {
        let variable = self.variable("made", Type::Boolean);
        let copy = self.add_object();
        let value = self.is_made(object);
        let copied = self.apart(|this| this.copy_fields(object, copy));
        there.extend(copied);
        there.push(Step::Let { variable, value });
        let value = Expr::Constant(Value::Null);
        absent.push(Step::Let { variable, value });
        self.made_later.insert(copy.0, variable);
        copy
    }

    /// The fields of an object that is kept under another name.
    fn take_fields(&mut self, object: ObjectId, held: VariableId) {
        for (name, variable) in sorted(&self.objects[object.0]) {
            let value = Expr::Call {
                name: format!("{FIELD}{name}"),
                arguments: vec![Expr::Variable(held)],
            };
            self.emit(Step::Let { variable, value });
        }
    }

    pub fn copy_fields(&mut self, from: ObjectId, to: ObjectId) {
        for (name, field) in sorted(&self.objects[from.0]) {
            let variable = self.object_field(to, &name);
            let value = Expr::Variable(field);
            self.emit(Step::Let { variable, value });
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
