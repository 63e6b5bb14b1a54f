//! Statements that are prepared once and kept for all transactions: in a field (`db.payment`), in an
//! array (`statements[9]`) or in a map (`statements.get("payment")`), of the class at hand or of
//! another one, also behind a method that returns them.
//!
//! Such a statement has one text, that of its place in the class that prepares it. Where a
//! constructor, or one method that only prepares it, has several texts (one for each database), the
//! first counts that is one plain statement, which is noted.

use super::env::{PreparedId, Val, is_sql};
use super::translate::Translator;
use super::tree::Node;
use crate::expr::{Expr, Value};

/// Whether a type is, or holds, statements that have their text.
pub(super) fn holds_statements(java: &str) -> bool {
    java.contains("PreparedStatement") || java.contains("CallableStatement")
}

impl<'a> Translator<'a> {
    /// The statement that a field of a class is, or that an array or a map in it has at a place.
    pub fn kept(&mut self, class: usize, name: &str, at: Option<&Value>) -> Option<Val> {
        let (owner, field) = self.index.field(class, name)?;
        if !holds_statements(field.ty) {
            return None;
        }
        let place = at.map_or(String::new(), Value::to_string);
        let key = (owner, name.to_string(), place);
        if let Some(id) = self.kept.get(&key) {
            return Some(Val::Prepared(*id));
        }
        let (made, text, others) = self.kept_text(owner, name, at)?;
        if others {
            let assumed = "prepared with one of several texts; the first counts";
            let advice = "Give only the file for the database that counts.";
            self.note(made, assumed, advice);
        }
        let keys = made.text().contains("RETURN_GENERATED_KEYS");
        let mut val = Val::Nothing;
        // What is prepared once has empty batches before the transaction, wherever it is first used.
        let steps = self.apart(|this| {
            val = this.prepare(made, Val::Expr(Expr::text(&text)), keys);
        });
        self.before.extend(steps);
        if let Val::Prepared(id) = &val {
            self.kept.insert(key, *id);
        }
        Some(val)
    }

    /// Where a statement is prepared, its text, and whether there are others.
    fn kept_text(
        &self,
        class: usize,
        name: &str,
        at: Option<&Value>,
    ) -> Option<(&'a Node, String, bool)> {
        let declared = self.index.classes[class].node;
        let all = declared.all();
        let initial = self.index.classes[class].fields.get(name);
        let initial = initial.and_then(|field| field.value.filter(|_| at.is_none()));
        let put = all
            .iter()
            .filter_map(|one| self.put_at(class, one, name, at));
        let mut found: Vec<(&'a Node, String)> = Vec::new();
        // What closes a statement may forget it.
        let made = initial.into_iter().chain(put);
        for made in made.filter(|made| made.kind != "null_literal") {
            let text = self.prepared_text(class, made)?;
            if !found.iter().any(|(_, known)| *known == text) {
                found.push((made, text));
            }
        }
        if found.len() > 1 {
            // A field that methods use one after the other is none that is kept.
            let body = declared.child("body")?;
            let constructors: Vec<&Node> = body.of_kind("constructor_declaration").collect();
            let mut methods = body.of_kind("method_declaration");
            let only_prepares = |method: &&Node| {
                let all = found.iter().all(|(made, _)| method.holds(made));
                all && !method.text().contains(&format!("{name}.execute"))
            };
            if methods.find(only_prepares).is_none() {
                found.retain(|(made, _)| constructors.iter().any(|one| one.holds(made)));
            }
            // The sort is stable: of those alike the first stays in front.
            found.sort_by_key(|(_, text)| is_peculiar(text));
        }
        let others = found.len() > 1;
        let (made, text) = found.into_iter().next()?;
        Some((made, text, others))
    }

    /// What a node puts into a field, or at a place of it.
    fn put_at(
        &self,
        class: usize,
        node: &'a Node,
        name: &str,
        at: Option<&Value>,
    ) -> Option<&'a Node> {
        let is_field = |one: &Node| one.text().strip_prefix("this.").unwrap_or(one.text()) == name;
        let is_place = |one: &'a Node| self.index.constant(class, one).as_ref() == at;
        match (node.kind, at) {
            ("assignment_expression", None) => {
                let left = node.child("left").filter(|left| is_field(left));
                left.and(node.child("right"))
            }
            ("assignment_expression", Some(_)) => {
                let left = node
                    .child("left")
                    .filter(|one| one.kind == "array_access")?;
                let here = is_field(left.child("array")?) && is_place(left.child("index")?);
                node.child("right").filter(|_| here)
            }
            ("method_invocation", Some(_)) if matches!(node.name(), "put" | "set") => {
                let arguments = &node.child("arguments")?.children;
                let here = is_field(node.child("object")?) && is_place(arguments.first()?);
                arguments.get(1).filter(|_| here)
            }
            _ => None,
        }
    }

    /// The text that a call prepares: of JDBC, or of a method for it.
    fn prepared_text(&self, class: usize, made: &'a Node) -> Option<String> {
        let named = made.name().to_ascii_lowercase();
        if made.kind != "method_invocation" || !named.contains("prepare") {
            return None;
        }
        let first = made.child("arguments")?.children.first()?;
        match self.index.constant(class, first)? {
            Value::Text(text) if is_sql(&text) => Some(text),
            _ => None,
        }
    }

    /// `object.field`, where that is a statement of another class.
    pub fn kept_field(&mut self, object: &'a Node, name: &str) -> Option<Val> {
        let class = self.class_of(object)?;
        self.kept(class, name, None)
    }

    /// `statements[9]` or `statements.get("payment")`, of the class at hand.
    pub fn kept_place(&mut self, holder: &'a Node, place: &'a Node) -> Option<Val> {
        let (class, name) = match holder.kind {
            "identifier" if !self.env.slots.contains_key(holder.text()) => {
                (self.class(), holder.text())
            }
            "field_access" => {
                let class = self.class_of(holder.child("object")?)?;
                (class, holder.child("field")?.text())
            }
            _ => return None,
        };
        let (_, field) = self.index.field(class, name)?;
        if !holds_statements(field.ty) {
            return None;
        }
        let at = match self.value(place) {
            Val::Expr(Expr::Constant(at)) => at,
            _ => return None,
        };
        self.kept(class, name, Some(&at))
    }

    /// A call that hands out a kept statement: of a map, or of a method of another class.
    pub fn kept_call(&mut self, node: &'a Node, object: &'a Node) -> Option<Val> {
        let name = node.name();
        if let ("get", Some(place)) = (name, self.nth(node, 0))
            && let Some(val) = self.kept_place(object, place)
        {
            return Some(val);
        }
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let (class, method) = self.statement_getter(object, name, count)?;
        let arguments = self.arguments(node);
        Some(self.follow(node, class, method, arguments))
    }

    /// The method of another object that hands out statements.
    fn statement_getter(
        &self,
        object: &'a Node,
        name: &str,
        count: usize,
    ) -> Option<(usize, &'a Node)> {
        let class = self.class_of(object)?;
        let (at, method) = self.index.method(class, name, count)?;
        let hands = method
            .child("type")
            .is_some_and(|ty| holds_statements(ty.text()));
        (hands && method.child("body").is_some()).then_some((at, method))
    }
}

/// Whether a text is for SQL Server: it locks by hints, or is several statements at once.
fn is_peculiar(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let hints = ["updlock", "holdlock", "rowlock"];
    let several = lower.trim_end().trim_end_matches(';').contains(';');
    several || hints.iter().any(|hint| lower.contains(hint))
}

/// Which statements are kept: by class, field and place.
pub(super) type KeptStatements = rustc_hash::FxHashMap<(usize, String, String), PreparedId>;
