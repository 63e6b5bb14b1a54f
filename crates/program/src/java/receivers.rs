//! Which method of the sources a call means, and whether it gets to the database.

use super::declared::declares_sql;
use super::translate::{Translator, executes};
use super::tree::Node;

/// Whether a method executes SQL is looked for this many calls deep.
const REACH_MAX: usize = 6;

/// What a call of a method may mean.
pub(super) enum Meant<'a> {
    /// This method, of that class.
    One(usize, &'a Node),
    /// One of several: their classes.
    Several(Vec<usize>),
    /// Nothing in the sources that gets to the database.
    Nothing,
}

impl<'a> Translator<'a> {
    /// Whether a method executes SQL, by itself or through those it calls.
    pub fn reaches(&mut self, method: &'a Node) -> bool {
        let key = std::ptr::from_ref(method);
        if let Some(known) = self.reached.get(&key) {
            return *known;
        }
        let mut seen: Vec<*const Node> = vec![key];
        let mut level: Vec<&'a Node> = vec![method];
        let mut found = false;
        for _ in 0..REACH_MAX {
            found = level.iter().any(|one| executes(one));
            if found || level.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for one in level {
                for called in self.called_by(one) {
                    let key = std::ptr::from_ref(called);
                    if !seen.contains(&key) {
                        seen.push(key);
                        next.push(called);
                    }
                }
            }
            level = next;
        }
        self.reached.insert(key, found);
        found
    }

    /// The methods of the sources that are called inside, by name and number of arguments.
    fn called_by(&self, node: &'a Node) -> Vec<&'a Node> {
        let mut found = Vec::new();
        for call in node.all() {
            if call.kind == "method_invocation" {
                let count = call.child("arguments").map_or(0, |all| all.children.len());
                found.extend(self.index.named(call.name(), count));
            }
        }
        found
    }

    /// The class of the sources that an expression is an object of, by its declaration.
    pub fn class_of(&self, node: &Node) -> Option<usize> {
        if node.kind == "this" {
            return Some(self.class());
        }
        let java = self.declared_type(node)?;
        self.index.class(java.split('<').next().unwrap_or(java))
    }

    /// The type that the sources declare for an expression: of a variable, a field, or what a method returns.
    pub fn declared_type<'n>(&'n self, node: &'n Node) -> Option<&'n str> {
        match node.kind {
            "parenthesized_expression" => self.declared_type(node.children.first()?),
            "identifier" => match self.env.types.get(node.text()) {
                Some(java) => Some(java.as_str()),
                None => Some(self.index.field(self.class(), node.text())?.1.ty),
            },
            "field_access" => {
                let owner = self.class_of(node.child("object")?)?;
                Some(self.index.field(owner, node.child("field")?.text())?.1.ty)
            }
            "object_creation_expression" | "cast_expression" => Some(node.child("type")?.text()),
            "method_invocation" => {
                let count = node.child("arguments").map_or(0, |all| all.children.len());
                let owner = match node.child("object") {
                    None => self.class(),
                    Some(object) => self
                        .class_of(object)
                        .or_else(|| self.index.class(object.text()))?,
                };
                let (_, method) = self.index.method(owner, node.name(), count)?;
                Some(method.child("type")?.text())
            }
            _ => None,
        }
    }

    /// The method that a call on an object means, where it gets to the database.
    pub fn meant(&mut self, object: &'a Node, name: &str, arguments: usize) -> Meant<'a> {
        let mut candidates: Vec<(usize, &'a Node)> = match self.class_of(object) {
            Some(class) => match self.index.method(class, name, arguments) {
                Some((at, method)) if method.child("body").is_some() || declares_sql(method) => {
                    vec![(at, method)]
                }
                _ => self.index.overriding(class, name, arguments),
            },
            // Declared elsewhere: a class that is not given cannot have a method of ours.
            None if self.is_foreign(object) => Vec::new(),
            None => self.index.with_bodies(name, arguments),
        };
        let declared = self.class_of(object).is_some();
        candidates
            .retain(|(_, method)| self.reaches(method) || declared && ends_transactions(method));
        match candidates.as_slice() {
            [] => Meant::Nothing,
            [(class, method)] => Meant::One(*class, method),
            several => Meant::Several(several.iter().map(|(class, _)| *class).collect()),
        }
    }

    /// Whether an object is declared to be of a well-known class of Java.
    fn is_foreign(&self, object: &'a Node) -> bool {
        let java = match object.kind {
            "identifier" => self.env.types.get(object.text()).map(String::as_str),
            _ => return false,
        };
        let java = java.or_else(|| {
            let field = self.index.field(self.class(), object.text());
            field.map(|(_, field)| field.ty)
        });
        let head = java.map(|java| java.split('<').next().unwrap_or(java));
        head.is_some_and(|head| {
            matches!(
                head,
                "Map"
                    | "HashMap"
                    | "TreeMap"
                    | "List"
                    | "ArrayList"
                    | "Set"
                    | "HashSet"
                    | "String"
                    | "StringBuilder"
                    | "Logger"
                    | "Random"
                    | "Iterator"
                    | "Optional"
                    | "Thread"
                    | "Properties"
            )
        })
    }

    /// Says that a call was left out because it may mean several methods.
    pub fn note_several(&mut self, node: &'a Node, classes: &[usize]) {
        let names: Vec<&str> = classes
            .iter()
            .map(|class| self.index.classes[*class].name)
            .collect();
        let assumed = format!(
            "which method it calls is not known ({}): left out",
            names.join(", ")
        );
        let advice = "Give only the files of the class that is used, or declare its type.";
        self.note(node, &assumed, advice);
    }
}

/// Whether a method begins or ends transactions for those who call it.
fn ends_transactions(method: &Node) -> bool {
    let calls = [".commit()", ".rollback()", ".setAutoCommit("];
    let text = method.text();
    calls.iter().any(|call| text.contains(call))
}
