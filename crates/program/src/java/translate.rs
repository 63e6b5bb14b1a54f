//! The statements of a method, followed into steps.
//!
//! Which prepared statement a name stands for is known while following, values are not. Where the
//! branches of an `if` leave different statements (or different SQL texts) behind one name, what
//! comes after the `if` is followed once for each branch.

use super::declared::declares_sql;
use super::env::{Env, ObjectId, PreparedId, Slot, Val, is_sql, type_of};
use super::index::Index;
use super::kept::KeptStatements;
use super::lambda::Lambda;
use super::loops::Target;
use super::template::is_template;
use super::tree::Node;
use crate::expr::{Expr, StatementId, UnknownId, Value, VariableId};
use crate::ir::{Label, Step, Variable};
use crate::place::{Note, NoteKind, Place, shorten};
use crate::schema::{Schema, Type};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A transaction that grows beyond this is followed no further.
const STEPS_MAX: usize = 20_000;
/// So are statements that are nested deeper, through calls and through what comes after branches.
const DEPTH_MAX: usize = 150;

/// A prepared statement: its text and the variables that hold its arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct Prepared {
    pub sql: Option<String>,
    /// By the index of the placeholder, from 1.
    pub arguments: BTreeMap<usize, VariableId>,
    /// The lists of a batch, by index; 0 is there where the statement has no arguments.
    pub batches: BTreeMap<usize, VariableId>,
    /// What was set at an index that is not known.
    pub anywhere: Option<VariableId>,
    /// Whether it returns generated keys.
    pub returns_keys: bool,
    /// What it executed last.
    pub last: Option<StatementId>,
    /// Placeholders beyond this one have no known index: the text is put together.
    pub exact: Option<usize>,
    /// The texts it is one of, and which: `STATEMENTS[i]`.
    pub choices: Option<(Expr, Vec<String>)>,
    /// The variables of placeholders with names.
    pub named: BTreeMap<String, VariableId>,
    /// The variable of an object whose fields the other names are.
    pub object: Option<VariableId>,
    /// Whether it is one of a client (`client.sql(…).param(…).update()`).
    pub fluent: bool,
}

/// A method that is being followed.
pub(super) struct Frame {
    /// The class that has the method.
    pub class: usize,
    /// The class of the object, which may extend that one.
    pub this: usize,
    /// Where a return goes.
    pub label: Label,
    /// What it returned so far.
    pub returned: Option<Val>,
    /// The variable that holds a returned value.
    pub result: VariableId,
}

/// Statements that come after those at hand, in the same method and the same loop.
pub(super) struct Chain<'c, 'a> {
    pub rest: &'a [Node],
    pub outer: Option<&'c Chain<'c, 'a>>,
}

/// A transaction on its way.
pub(super) struct Translator<'a> {
    pub index: &'a Index<'a>,
    pub schema: &'a Schema,
    pub notes: Vec<Note>,
    pub variables: Vec<Variable>,
    pub prepared: Vec<Prepared>,
    pub objects: Vec<FxHashMap<String, VariableId>>,
    /// Variables that are NULL until an object is made, by object.
    pub made_later: FxHashMap<usize, VariableId>,
    pub outputs: FxHashMap<u32, Vec<String>>,
    pub env: Env,
    pub frames: Vec<Frame>,
    /// The steps of the block at hand.
    pub out: Vec<Step>,
    /// Where `break` and `continue` go.
    pub loops: Vec<Target>,
    /// The label of the source before the loop that comes next.
    pub labelled: Option<String>,
    /// Which side of a choice in the middle of a statement is followed.
    pub forced: Vec<(*const Node, bool)>,
    /// What methods returned so far, where these are texts.
    pub results: FxHashMap<VariableId, String>,
    /// Code that is handed over.
    pub lambdas: Vec<Lambda<'a>>,
    /// Whether methods get to the database, as far as known.
    pub reached: FxHashMap<*const Node, bool>,
    pub statement_next: u32,
    pub unknown_next: u32,
    pub label_next: u32,
    pub step_count: usize,
    /// The level the source asks for.
    pub level: Option<String>,
    pub depth: usize,
    /// Whether following ended here (return, throw, break).
    pub ended: bool,
    /// Whether something shows where the transaction begins or ends.
    pub opened: bool,
    /// Whether what is followed is in a transaction by an annotation.
    pub marked: bool,
    /// Whether what is followed puts the text of a field together.
    pub building: bool,
    /// The texts of SQL that were met.
    pub met: Vec<String>,
    /// The statements that are prepared before the transaction.
    pub kept: KeptStatements,
    /// What happens before the transaction.
    pub before: Vec<Step>,
}

impl<'a> Translator<'a> {
    pub fn new(index: &'a Index<'a>, schema: &'a Schema) -> Translator<'a> {
        Translator {
            index,
            schema,
            notes: Vec::new(),
            variables: Vec::new(),
            prepared: Vec::new(),
            objects: Vec::new(),
            made_later: FxHashMap::default(),
            outputs: FxHashMap::default(),
            env: Env::default(),
            frames: Vec::new(),
            out: Vec::new(),
            loops: Vec::new(),
            labelled: None,
            forced: Vec::new(),
            results: FxHashMap::default(),
            lambdas: Vec::new(),
            reached: FxHashMap::default(),
            statement_next: 0,
            unknown_next: 0,
            label_next: 0,
            step_count: 0,
            level: None,
            depth: 0,
            ended: false,
            opened: false,
            marked: false,
            building: false,
            met: Vec::new(),
            kept: KeptStatements::default(),
            before: Vec::new(),
        }
    }

    pub fn note(&mut self, node: &Node, assumed: &str, advice: &str) {
        self.add_note(node, assumed, advice, NoteKind::Statement);
    }

    /// Notes that a statement is missing.
    pub fn left_out(&mut self, node: &Node, assumed: &str, advice: &str) {
        self.add_note(node, assumed, advice, NoteKind::LeftOut);
    }

    pub fn note_at(&mut self, place: &Place, text: &str, assumed: &str, advice: &str) {
        let note = Note {
            place: place.clone(),
            text: text.to_string(),
            assumed: assumed.to_string(),
            advice: advice.to_string(),
            kind: NoteKind::Statement,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub fn add_note(&mut self, node: &Node, assumed: &str, advice: &str, kind: NoteKind) {
        let note = Note {
            place: node.place(),
            text: shorten(node.text(), 70),
            assumed: assumed.to_string(),
            advice: advice.to_string(),
            kind,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub fn emit(&mut self, step: Step) {
        self.step_count += 1;
        self.out.push(step);
    }

    pub fn unknown(&mut self, reads: Vec<Expr>) -> Expr {
        self.unknown_next += 1;
        Expr::Unknown {
            id: UnknownId(self.unknown_next - 1),
            reads,
        }
    }

    pub fn label(&mut self) -> Label {
        self.label_next += 1;
        Label(self.label_next - 1)
    }

    pub fn variable(&mut self, name: &str, ty: Type) -> VariableId {
        self.variables.push(Variable {
            name: name.to_string(),
            ty,
        });
        VariableId(self.variables.len() as u32 - 1)
    }

    pub fn add_prepared(&mut self, prepared: Prepared) -> Val {
        self.prepared.push(prepared);
        Val::Prepared(PreparedId(self.prepared.len() - 1))
    }

    pub fn add_object(&mut self) -> ObjectId {
        self.objects.push(FxHashMap::default());
        ObjectId(self.objects.len() - 1)
    }

    /// The variable that is a field of an object.
    pub fn object_field(&mut self, object: ObjectId, name: &str) -> VariableId {
        if let Some(found) = self.objects[object.0].get(name) {
            return *found;
        }
        let variable = self.variable(name, Type::Other);
        self.objects[object.0].insert(name.to_string(), variable);
        variable
    }

    /// Runs something with steps of its own, which it returns.
    pub fn apart(&mut self, follow: impl FnOnce(&mut Self)) -> Vec<Step> {
        let outer = std::mem::take(&mut self.out);
        follow(self);
        std::mem::replace(&mut self.out, outer)
    }

    /// Declares a name.
    pub fn declare(&mut self, name: &str, ty: Type, val: Val) {
        let slot = Slot {
            val: Val::Nothing,
            variable: None,
            ty,
        };
        self.env.slots.insert(name.to_string(), slot);
        self.assign(name, val);
    }

    /// Assigns to a name; a value goes into a variable, so that loops and branches can change it.
    pub fn assign(&mut self, name: &str, val: Val) {
        let slot = self.env.slots.get(name).cloned().unwrap_or(Slot {
            val: Val::Nothing,
            variable: None,
            ty: Type::Other,
        });
        let (val, variable) = match val {
            Val::Expr(value) => {
                let variable = match slot.variable {
                    Some(variable) => variable,
                    None => self.variable(name, slot.ty),
                };
                let constant = matches!(value, Expr::Constant(_));
                self.remember(variable, &value);
                self.emit(Step::Let {
                    variable,
                    value: value.clone(),
                });
                match constant {
                    true => (Val::Expr(value), Some(variable)),
                    false => (Val::Expr(Expr::Variable(variable)), Some(variable)),
                }
            }
            other => {
                self.note_made(&slot, &other);
                (other, slot.variable)
            }
        };
        let slot = Slot {
            val,
            variable,
            ty: slot.ty,
        };
        self.env.slots.insert(name.to_string(), slot);
    }

    /// Follows statements and what comes after them as long as a branch demands it. Returns whether
    /// what comes after was followed already.
    pub fn block(&mut self, nodes: &'a [Node], outer: Option<&Chain<'_, 'a>>) -> bool {
        for (at, node) in nodes.iter().enumerate() {
            if self.ended {
                let undone = nodes[..at].last();
                let undone = undone.is_some_and(|last| last.text().contains(".rollback("));
                if undone && executes(node) {
                    let advice = "Put it into a method of its own.";
                    self.note(node, "what follows a rollback is left out", advice);
                }
                return false;
            }
            if self.step_count > STEPS_MAX || self.depth > DEPTH_MAX {
                let advice = "Split the method.";
                self.note(node, "too large: the rest is left out", advice);
                self.ended = true;
                return false;
            }
            let chain = Chain {
                rest: &nodes[at + 1..],
                outer,
            };
            self.depth += 1;
            let consumed = self.statement(node, &chain);
            self.depth -= 1;
            if consumed {
                return true;
            }
        }
        false
    }

    /// Follows what comes after.
    pub fn rest(&mut self, chain: &Chain<'_, 'a>) {
        let mut next = Some(chain);
        while let Some(chain) = next {
            if self.ended || self.block(chain.rest, chain.outer) {
                return;
            }
            next = chain.outer;
        }
    }

    /// Follows one statement; returns whether what comes after was followed, too.
    pub fn statement(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        if let Some(choice) = self.choice_in(node) {
            return self.forked(node, choice, chain);
        }
        match node.kind {
            "block" => return self.block(&node.children, Some(chain)),
            "local_variable_declaration" => self.locals(node),
            "expression_statement" => {
                for child in &node.children {
                    match child.kind {
                        "method_invocation" => self.call(child, false),
                        _ => self.value(child),
                    };
                }
            }
            "explicit_constructor_invocation" => self.other_constructor(node),
            "if_statement" => return self.branch(node, chain),
            "while_statement" | "do_statement" | "for_statement" => self.looped(node),
            "enhanced_for_statement" => self.each(node),
            "try_statement" | "try_with_resources_statement" => return self.tried(node, chain),
            "return_statement" => self.returned(node),
            "throw_statement" => {
                let place = node.place();
                self.emit(Step::Abort { place });
                self.ended = true;
            }
            "break_statement" | "continue_statement" => self.leave(node),
            "switch_expression" | "switch_statement" => return self.switch(node, chain),
            "synchronized_statement" => {
                if let Some(body) = node.child("body") {
                    return self.block(&body.children, Some(chain));
                }
            }
            "labeled_statement" => {
                if let Some(body) = node.children.last() {
                    self.labelled = node.children.first().map(|name| name.text().to_string());
                    return self.statement(body, chain);
                }
            }
            _ => {}
        }
        false
    }

    pub fn locals(&mut self, node: &'a Node) {
        let java = node.child("type").map_or("", Node::text);
        for declared in node.of_kind("variable_declarator") {
            let array = declared.child("dimensions").is_some();
            let ty = if array { Type::List } else { type_of(java) };
            let val = declared.child("value").map(|value| self.value(value));
            let val = match java {
                "Connection" => Some(Val::Connection),
                _ => val,
            };
            let java = match declared.child("value") {
                Some(made) if java == "var" && self.is_optional(made) => "Optional",
                Some(made) if java == "var" => self.declared_type(made).unwrap_or(java),
                _ => java,
            };
            let java = java.to_string();
            self.env.types.insert(declared.name().to_string(), java);
            self.declare(declared.name(), ty, val.unwrap_or(Val::Nothing));
        }
    }

    fn returned(&mut self, node: &'a Node) {
        let val = node.children.first().map(|value| self.value(value));
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (label, result) = (frame.label, frame.result);
        let kept = val.map(|val| match val {
            Val::Expr(value) => {
                let is_null = value == Expr::Constant(Value::Null);
                let text = self.text_of(&value);
                self.emit(Step::Let {
                    variable: result,
                    value,
                });
                self.remember_result(result, text);
                match is_null {
                    true => Val::Expr(Expr::Constant(Value::Null)),
                    false => Val::Expr(Expr::Variable(result)),
                }
            }
            Val::List(_) | Val::Object(_) => {
                let value = self.returned_value(&val);
                self.emit(Step::Let {
                    variable: result,
                    value,
                });
                val
            }
            other => other,
        });
        let kept = self.join_returned(kept, result);
        if let Some(frame) = self.frames.last_mut() {
            frame.returned = kept;
        }
        self.emit(Step::Break(label));
        self.ended = true;
    }
}

/// Whether SQL may be executed inside.
pub(super) fn executes(node: &Node) -> bool {
    if declares_sql(node) {
        return true;
    }
    // A method that is called `execute` does not call itself.
    let node = node.child("body").unwrap_or(node);
    let text = node.text();
    let calls = [
        "repareStatement(",
        "emplate.update(",
        "emplate.query",
        "createNativeQuery(",
        ".batchUpdate(",
    ];
    let runs = [".execute", "execute("]
        .iter()
        .any(|call| text.contains(call));
    calls.iter().any(|call| text.contains(call))
        || runs && !only_starts_threads(node)
        || has_template_call(node, text)
}

/// Whether all that is executed inside are tasks, on other threads.
fn only_starts_threads(node: &Node) -> bool {
    let starts = |call: &Node| {
        let object = call.child("object").map_or("", Node::text);
        let object = object.to_ascii_lowercase();
        call.name() == "execute" && (object.contains("exec") || object.contains("pool"))
    };
    let all = node.all().into_iter();
    let mut calls =
        all.filter(|one| one.kind == "method_invocation" && one.name().starts_with("execute"));
    calls.clone().next().is_some() && calls.all(starts)
}

/// Whether a template by another name (`jdbc.update("update …", …)`) is called inside.
fn has_template_call(node: &Node, text: &str) -> bool {
    if ![".update(", ".query", ".sql("]
        .iter()
        .any(|call| text.contains(call))
    {
        return false;
    }
    let has_text = |call: &&Node| {
        let first = call.child("arguments").and_then(|all| all.children.first());
        let quoted = first.filter(|first| first.kind == "string_literal");
        quoted.is_some_and(|first| is_sql(first.text().trim_matches('"').trim()))
    };
    let is_jdbc = |call: &&Node| {
        let object = call.child("object").map_or("", Node::text);
        let object = object.to_ascii_lowercase();
        object.contains("jdbc") || call.name() == "sql" && object.ends_with("client")
    };
    let all = node.all();
    let mut calls = all.iter().copied().filter(|one| {
        one.kind == "method_invocation" && is_template(one.name()) && one.child("object").is_some()
    });
    calls.any(|call| has_text(&call) || is_jdbc(&call))
}
