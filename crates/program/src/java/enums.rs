//! Constants of an enum that carry values, as an enum of queries does: `Sql.CLAIM.text`, `Sql.CLAIM.text()`.

use super::env::Val;
use super::index::Index;
use super::objects::kept_fields;
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Expr, Value};
use crate::ir::Step;

impl<'a> Index<'a> {
    /// The enum and the constant that an expression names.
    pub fn enum_constant(&self, class: usize, node: &Node) -> Option<(usize, &'a Node)> {
        let (owner, name) = match node.kind {
            "identifier" => (class, node.text()),
            "field_access" => {
                let owner = self.class(node.child("object")?.text())?;
                (owner, node.child("field")?.text())
            }
            _ => return None,
        };
        let body = self.classes[owner].node.child("body")?;
        let mut constants = body.of_kind("enum_constant");
        Some((owner, constants.find(|one| one.name() == name)?))
    }

    /// The expressions that the fields of a constant have, by name.
    pub fn enum_fields(&self, class: usize, constant: &'a Node) -> Option<Vec<(String, &'a Node)>> {
        let given = &constant.child("arguments")?.children;
        let body = self.classes[class].node.child("body")?;
        let inner = body.of_kind("enum_body_declarations");
        let mut members = inner.flat_map(|inner| &inner.children);
        let constructor = members.find(|one| {
            let count = super::index::parameters(one).len();
            one.kind == "constructor_declaration" && count == given.len()
        })?;
        Some(kept_fields(constructor)?.into_iter().zip(given).collect())
    }

    /// The value of a field of a constant, or of the method that returns it.
    pub(super) fn enum_value(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        let (owner, constant) = self.enum_constant(class, node.child("object")?)?;
        let named = matches!(node.name(), "name" | "toString");
        if node.kind == "method_invocation" && named && self.method(owner, node.name(), 0).is_none()
        {
            return Some(Value::Text(constant.name().to_string()));
        }
        let field = match node.kind {
            "field_access" => node.child("field")?.text(),
            _ => self.returned_field(owner, node.name())?,
        };
        let fields = self.enum_fields(owner, constant)?;
        let (_, value) = fields.into_iter().find(|(name, _)| name == field)?;
        self.constant_of(owner, value, depth + 1)
    }

    /// The field that a method returns and does nothing else.
    fn returned_field(&self, class: usize, method: &str) -> Option<&'a str> {
        let (_, method) = self.method(class, method, 0)?;
        let [only] = method.child("body")?.children.as_slice() else {
            return None;
        };
        let value = only
            .children
            .first()
            .filter(|_| only.kind == "return_statement")?;
        let text = value.text();
        Some(text.strip_prefix("this.").unwrap_or(text))
    }
}

impl<'a> Translator<'a> {
    /// A constant of an enum with values, as an object with fields.
    pub fn enum_object(&mut self, node: &Node) -> Option<Val> {
        let (owner, constant) = self.index.enum_constant(self.class(), node)?;
        let mut fields = Vec::new();
        for (name, value) in self.index.enum_fields(owner, constant)? {
            fields.push((name, self.index.constant(owner, value)?));
        }
        let object = self.add_object();
        for (name, value) in fields {
            let variable = self.object_field(object, &name);
            let value = Expr::Constant(value);
            self.remember(variable, &value);
            self.emit(Step::Let { variable, value });
        }
        Some(Val::Object(object))
    }
}
