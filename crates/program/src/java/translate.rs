//! The statements of a method, followed into steps.
//!
//! Which prepared statement a name stands for is known while following, values are not. Where the
//! branches of an `if` leave different statements (or different SQL texts) behind one name, what
//! comes after the `if` is followed once for each branch.

use super::env::{Env, ObjectId, PreparedId, Slot, Val, type_of};
use super::index::Index;
use super::tree::Node;
use crate::expr::{Comparison, Condition, Expr, StatementId, UnknownId, Value, VariableId};
use crate::ir::{Label, Repeat, Step, Variable};
use crate::place::{Note, NoteKind, shorten};
use crate::schema::{Schema, Type};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A transaction that grows beyond this is followed no further.
const STEPS_MAX: usize = 20_000;

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
    /// The texts it is one of, and which: `STATEMENTS[i]`.
    pub choices: Option<(Expr, Vec<String>)>,
}

/// A method that is being followed.
pub(super) struct Frame {
    pub class: usize,
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
    pub outputs: FxHashMap<u32, Vec<String>>,
    pub env: Env,
    pub frames: Vec<Frame>,
    /// The steps of the block at hand.
    pub out: Vec<Step>,
    /// Where `break` and `continue` go.
    pub loops: Vec<(Label, Label)>,
    pub statement_next: u32,
    pub unknown_next: u32,
    pub label_next: u32,
    pub step_count: usize,
    /// Whether following ended here (return, throw, break).
    pub ended: bool,
    /// How many statements there were at a commit in the middle, and where.
    pub commits: Vec<(u32, crate::place::Place)>,
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
            outputs: FxHashMap::default(),
            env: Env::default(),
            frames: Vec::new(),
            out: Vec::new(),
            loops: Vec::new(),
            statement_next: 0,
            unknown_next: 0,
            label_next: 0,
            step_count: 0,
            ended: false,
            commits: Vec::new(),
        }
    }

    pub fn note(&mut self, node: &Node, assumed: &str, advice: &str) {
        self.add_note(node, assumed, advice, NoteKind::Statement);
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
                self.emit(Step::Let {
                    variable,
                    value: value.clone(),
                });
                match constant {
                    true => (Val::Expr(value), Some(variable)),
                    false => (Val::Expr(Expr::Variable(variable)), Some(variable)),
                }
            }
            other => (other, slot.variable),
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
                return false;
            }
            if self.step_count > STEPS_MAX {
                let advice = "Split the method.";
                self.note(node, "too large: the rest is left out", advice);
                self.ended = true;
                return false;
            }
            let chain = Chain {
                rest: &nodes[at + 1..],
                outer,
            };
            if self.statement(node, &chain) {
                return true;
            }
        }
        false
    }

    /// Follows what comes after.
    fn rest(&mut self, chain: &Chain<'_, 'a>) {
        let mut next = Some(chain);
        while let Some(chain) = next {
            if self.ended || self.block(chain.rest, chain.outer) {
                return;
            }
            next = chain.outer;
        }
    }

    /// Follows one statement; returns whether what comes after was followed, too.
    fn statement(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
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
            "break_statement" | "continue_statement" => {
                if let Some((breaks, continues)) = self.loops.last().copied() {
                    let label = match node.kind {
                        "break_statement" => breaks,
                        _ => continues,
                    };
                    self.emit(Step::Break(label));
                    self.ended = true;
                }
            }
            "switch_expression" | "switch_statement" => self.switch(node),
            "synchronized_statement" => {
                if let Some(body) = node.child("body") {
                    return self.block(&body.children, Some(chain));
                }
            }
            "labeled_statement" => {
                if let Some(body) = node.children.last() {
                    return self.statement(body, chain);
                }
            }
            _ => {}
        }
        false
    }

    fn locals(&mut self, node: &'a Node) {
        let java = node.child("type").map_or("", Node::text);
        for declared in node.of_kind("variable_declarator") {
            let array = declared.child("dimensions").is_some();
            let ty = if array { Type::List } else { type_of(java) };
            let val = declared.child("value").map(|value| self.value(value));
            self.declare(declared.name(), ty, val.unwrap_or(Val::Nothing));
        }
    }

    /// The steps of a statement as the arm of something, with what is known afterwards.
    fn arm(&mut self, node: Option<&'a Node>, chain: &Chain<'_, 'a>) -> Arm {
        let before = self.env.clone();
        let mut consumed = false;
        let steps = self.apart(|this| {
            if let Some(node) = node {
                consumed = match node.kind {
                    "block" => this.block(&node.children, Some(chain)),
                    _ => this.statement(node, chain),
                };
            }
        });
        Arm {
            steps,
            env: std::mem::replace(&mut self.env, before),
            ended: std::mem::replace(&mut self.ended, false),
            consumed,
        }
    }

    fn branch(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        let Some(test) = node.child("condition") else {
            return false;
        };
        let (then, otherwise) = (node.child("consequence"), node.child("alternative"));
        if is_about_logging(test.text()) && !executes(node) {
            return false;
        }
        let condition = self.condition(test);
        match condition {
            Condition::True => return then.is_some_and(|then| self.statement(then, chain)),
            Condition::False => return otherwise.is_some_and(|one| self.statement(one, chain)),
            _ => {}
        }
        let place = node.place();
        let mut yes = self.arm(then, chain);
        let mut no = self.arm(otherwise, chain);
        let apart = yes.consumed || no.consumed || self.disagree(&yes, &no);
        if apart {
            for arm in [&mut yes, &mut no] {
                self.go_on(arm, chain);
            }
        } else {
            self.join(&mut yes, &mut no);
        }
        self.ended = yes.ended && no.ended;
        self.emit(Step::If {
            condition,
            then: yes.steps,
            otherwise: no.steps,
            place,
        });
        apart
    }

    /// Follows what comes after, at the end of an arm.
    fn go_on(&mut self, arm: &mut Arm, chain: &Chain<'_, 'a>) {
        if arm.consumed || arm.ended {
            return;
        }
        let before = std::mem::replace(&mut self.env, arm.env.clone());
        let steps = self.apart(|this| this.rest(chain));
        arm.steps.extend(steps);
        arm.env = std::mem::replace(&mut self.env, before);
        arm.ended = std::mem::replace(&mut self.ended, false);
        arm.consumed = true;
    }

    /// Whether two arms that both go on leave different statements behind a name.
    fn disagree(&self, yes: &Arm, no: &Arm) -> bool {
        if yes.ended || no.ended {
            return false;
        }
        let known = |name: &&String| self.env.slots.contains_key(*name);
        yes.env.slots.keys().filter(known).any(|name| {
            let (Some(one), Some(two)) = (yes.env.slots.get(name), no.env.slots.get(name)) else {
                return false;
            };
            one.val != two.val && (one.val.is_structural() || two.val.is_structural())
        })
    }

    /// What is known after two arms.
    fn join(&mut self, yes: &mut Arm, no: &mut Arm) {
        match (yes.ended, no.ended) {
            (true, _) => self.env = no.env.clone(),
            (false, true) => self.env = yes.env.clone(),
            (false, false) => {
                let names: Vec<String> = self.env.slots.keys().cloned().collect();
                for name in names {
                    self.join_slot(&name, yes, no);
                }
            }
        }
    }

    fn join_slot(&mut self, name: &str, yes: &mut Arm, no: &mut Arm) {
        let (Some(one), Some(two)) = (yes.env.slots.get(name), no.env.slots.get(name)) else {
            return;
        };
        let (one, two) = (one.clone(), two.clone());
        if one.val == two.val {
            self.env.slots.insert(name.to_string(), one);
            return;
        }
        let ty = one.ty;
        let (val, variable) = match (&one.val, &two.val) {
            (Val::Object(a), Val::Object(b)) => {
                (Val::Object(self.join_objects(*a, *b, yes, no)), None)
            }
            (Val::Object(_), _) => (one.val.clone(), None),
            (_, Val::Object(_)) => (two.val.clone(), None),
            _ => {
                // The same variable in both arms, or else one for both.
                let shared = match (one.variable, two.variable) {
                    (Some(a), Some(b)) if a == b => a,
                    _ => self.variable(name, ty),
                };
                for (slot, arm) in [(&one, &mut *yes), (&two, &mut *no)] {
                    if slot.variable != Some(shared)
                        && let Some(value) = held(&slot.val)
                    {
                        arm.steps.push(Step::Let {
                            variable: shared,
                            value,
                        });
                    }
                }
                (Val::Expr(Expr::Variable(shared)), Some(shared))
            }
        };
        let slot = Slot { val, variable, ty };
        self.env.slots.insert(name.to_string(), slot);
    }

    /// An object whose fields are those of one or the other.
    fn join_objects(&mut self, a: ObjectId, b: ObjectId, yes: &mut Arm, no: &mut Arm) -> ObjectId {
        let joined = self.add_object();
        for (object, arm) in [(a, yes), (b, no)] {
            let fields: Vec<(String, VariableId)> = sorted(&self.objects[object.0]);
            for (name, field) in fields {
                let variable = self.object_field(joined, &name);
                arm.steps.push(Step::Let {
                    variable,
                    value: Expr::Variable(field),
                });
            }
        }
        joined
    }

    fn tried(&mut self, node: &'a Node, chain: &Chain<'_, 'a>) -> bool {
        if let Some(resources) = node.child("resources") {
            for resource in resources.of_kind("resource") {
                let val = match resource.child("value") {
                    Some(value) => self.value(value),
                    None => continue,
                };
                self.declare(resource.name(), Type::Other, val);
            }
        }
        for handler in node.of_kind("catch_clause") {
            if executes(handler) {
                let advice = "Statements in it belong to no transaction; move them out if they do.";
                self.note(handler, "the handler of an error is not followed", advice);
            }
        }
        let Some(body) = node.child("body") else {
            return false;
        };
        let last = node.of_kind("finally_clause").next();
        let last = last.filter(|last| executes(last) && last.text().contains("executeUpdate"));
        match last.and_then(|last| last.children.first()) {
            None => self.block(&body.children, Some(chain)),
            Some(last) => {
                let behind = Chain {
                    rest: &last.children,
                    outer: Some(chain),
                };
                self.block(&body.children, Some(&behind)) || {
                    self.ended = false;
                    self.block(&last.children, Some(chain))
                }
            }
        }
    }

    fn returned(&mut self, node: &'a Node) {
        let val = node.children.first().map(|value| self.value(value));
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (label, result) = (frame.label, frame.result);
        let kept = match val {
            None => None,
            Some(Val::Expr(value)) => {
                self.emit(Step::Let {
                    variable: result,
                    value,
                });
                Some(Val::Expr(Expr::Variable(result)))
            }
            Some(other) => Some(other),
        };
        let kept = self.join_returned(kept);
        if let Some(frame) = self.frames.last_mut() {
            frame.returned = kept;
        }
        self.emit(Step::Break(label));
        self.ended = true;
    }

    /// What a method returns, after one more return.
    fn join_returned(&mut self, new: Option<Val>) -> Option<Val> {
        let before = self
            .frames
            .last_mut()
            .and_then(|frame| frame.returned.take());
        match (before, new) {
            (Some(Val::Object(kept)), Some(Val::Object(object))) if kept != object => {
                for (name, field) in sorted(&self.objects[object.0]) {
                    let variable = self.object_field(kept, &name);
                    self.emit(Step::Let {
                        variable,
                        value: Expr::Variable(field),
                    });
                }
                Some(Val::Object(kept))
            }
            (Some(object @ Val::Object(_)), _) => Some(object),
            (_, Some(object @ Val::Object(_))) => Some(object),
            (Some(before), None) => Some(before),
            (_, new) => new,
        }
    }

    /// A name that a loop assigns is no constant in it.
    pub fn forget_assigned(&mut self, node: &Node) {
        for one in node.all() {
            let target = match one.kind {
                "assignment_expression" => one.child("left"),
                "update_expression" => one.children.first(),
                "method_invocation" if one.name() == "append" => one.child("object"),
                _ => None,
            };
            let Some(target) = target.filter(|target| target.kind == "identifier") else {
                continue;
            };
            let name = target.text();
            match self
                .env
                .slots
                .get(name)
                .map(|slot| (slot.val.clone(), slot.variable))
            {
                Some((val @ Val::Expr(_), None)) => {
                    self.assign(name, val);
                }
                Some((Val::Expr(_), Some(_))) => {}
                _ => continue,
            }
            if let Some(slot) = self.env.slots.get_mut(name)
                && let Some(variable) = slot.variable
            {
                slot.val = Val::Expr(Expr::Variable(variable));
            }
        }
    }

    fn looped(&mut self, node: &'a Node) {
        let place = node.place();
        for init in node.children.iter().filter(|one| one.field == Some("init")) {
            match init.kind {
                "local_variable_declaration" => self.locals(init),
                _ => {
                    self.value(init);
                }
            }
        }
        self.forget_assigned(node);
        let (label, continues) = (self.label(), self.label());
        self.loops.push((label, continues));
        let mut condition = Condition::True;
        let test = node.child("condition");
        let body = node.child("body");
        let mut before = Vec::new();
        if node.kind == "do_statement" {
            let body = self.body(body, continues);
            before.push(Step::Block {
                label: continues,
                body,
            });
        }
        before.extend(self.apart(|this| {
            if let Some(test) = test {
                condition = this.condition(test);
            }
        }));
        let mut steps = Vec::new();
        if node.kind != "do_statement" {
            let body = self.body(body, continues);
            steps.push(Step::Block {
                label: continues,
                body,
            });
            steps.extend(self.apart(|this| {
                for update in node
                    .children
                    .iter()
                    .filter(|one| one.field == Some("update"))
                {
                    this.value(update);
                }
            }));
        }
        self.loops.pop();
        self.forget_assigned(node);
        self.emit(Step::Loop {
            label,
            repeat: Repeat::While { before, condition },
            body: steps,
            place,
        });
    }

    /// The steps of a loop's body.
    fn body(&mut self, body: Option<&'a Node>, _continues: Label) -> Vec<Step> {
        let chain = Chain {
            rest: &[],
            outer: None,
        };
        let arm = self.arm(body, &chain);
        // Objects and statements made in the body stay known after it.
        for (name, slot) in &arm.env.slots {
            if let Some(known) = self.env.slots.get_mut(name)
                && known.val != slot.val
            {
                match slot.val {
                    Val::Expr(Expr::Constant(_)) => {}
                    _ => *known = slot.clone(),
                }
            }
        }
        arm.steps
    }

    fn each(&mut self, node: &'a Node) {
        let place = node.place();
        let list = node.child("value").map(|value| self.value(value));
        let list = match list {
            Some(Val::List(variable)) => Expr::Variable(variable),
            Some(Val::Expr(value)) => value,
            _ => self.unknown(Vec::new()),
        };
        let java = node.child("type").map_or("", Node::text);
        let (name, ty) = (node.name(), type_of(java));
        let variable = self.variable(name, ty);
        let slot = Slot {
            val: Val::Expr(Expr::Variable(variable)),
            variable: Some(variable),
            ty,
        };
        self.env.slots.insert(name.to_string(), slot);
        self.forget_assigned(node);
        let (label, continues) = (self.label(), self.label());
        self.loops.push((label, continues));
        let body = self.body(node.child("body"), continues);
        self.loops.pop();
        self.forget_assigned(node);
        self.emit(Step::Loop {
            label,
            repeat: Repeat::Elements { list, variable },
            body: vec![Step::Block {
                label: continues,
                body,
            }],
            place,
        });
    }

    /// A switch as a chain of branches. A case that falls through to the next is noted.
    fn switch(&mut self, node: &'a Node) {
        let Some(scrutinee) = node.child("condition") else {
            return;
        };
        let scrutinee = self.value(scrutinee);
        let scrutinee = self.expr_of(scrutinee);
        let label = self.label();
        let continues = self.loops.last().map_or(label, |(_, continues)| *continues);
        self.loops.push((label, continues));
        let mut cases = Vec::new();
        let groups: &[Node] = node.child("body").map_or(&[], |body| &body.children);
        for group in groups {
            let labels: Vec<&Node> = group.of_kind("switch_label").collect();
            let condition = self.case_condition(&labels, &scrutinee);
            let first = group
                .children
                .iter()
                .position(|one| one.kind != "switch_label");
            let body = first.map_or(&[][..], |first| &group.children[first..]);
            let before = self.env.clone();
            let steps = self.apart(|this| {
                this.block(body, None);
            });
            if !self.ended && group.kind == "switch_block_statement_group" && !body.is_empty() {
                let last = groups.last().is_some_and(|last| std::ptr::eq(last, group));
                if !last {
                    self.note(
                        group,
                        "falling through to the next case is left out",
                        "Add break.",
                    );
                }
            }
            self.ended = false;
            let after = std::mem::replace(&mut self.env, before);
            self.forget_different(&after);
            cases.push((condition, steps));
        }
        self.loops.pop();
        let place = node.place();
        let chain = |otherwise: Vec<Step>, (condition, then): (Condition, Vec<Step>)| {
            vec![Step::If {
                condition,
                then,
                otherwise,
                place: place.clone(),
            }]
        };
        let (plain, default): (Vec<_>, Vec<_>) = cases
            .into_iter()
            .partition(|(condition, _)| *condition != Condition::True);
        let default: Vec<Step> = default.into_iter().flat_map(|(_, steps)| steps).collect();
        let body = plain.into_iter().rev().fold(default, chain);
        self.emit(Step::Block { label, body });
    }

    /// Constants that an arm changed are not known any more.
    fn forget_different(&mut self, after: &Env) {
        for (name, slot) in &mut self.env.slots {
            let Some(changed) = after.slots.get(name).filter(|new| new.val != slot.val) else {
                continue;
            };
            match changed.variable {
                Some(variable) if slot.variable == Some(variable) => {
                    slot.val = Val::Expr(Expr::Variable(variable));
                }
                _ => *slot = changed.clone(),
            }
        }
    }

    /// Whether the scrutinee is one of the labels; always for `default`.
    pub fn case_condition(&mut self, labels: &[&'a Node], scrutinee: &Expr) -> Condition {
        let mut any = Vec::new();
        for label in labels {
            if label.text().starts_with("default") {
                return Condition::True;
            }
            for value in &label.children {
                let value = match value.kind {
                    // The name of an enum's constant.
                    "identifier" if !self.env.slots.contains_key(value.text()) => {
                        Expr::text(value.text())
                    }
                    _ => {
                        let value = self.value(value);
                        self.expr_of(value)
                    }
                };
                any.push(Condition::compare(
                    Comparison::Equal,
                    scrutinee.clone(),
                    value,
                ));
            }
        }
        match any.len() {
            1 => any.remove(0),
            _ => Condition::Or(any),
        }
    }
}

/// The value of a slot, where it is one.
fn held(val: &Val) -> Option<Expr> {
    match val {
        Val::Expr(value) => Some(value.clone()),
        Val::List(variable) => Some(Expr::Variable(*variable)),
        Val::Nothing => Some(Expr::Constant(Value::Null)),
        _ => None,
    }
}

/// One side of a branch.
struct Arm {
    steps: Vec<Step>,
    env: Env,
    ended: bool,
    consumed: bool,
}

pub(super) fn sorted(fields: &FxHashMap<String, VariableId>) -> Vec<(String, VariableId)> {
    let mut fields: Vec<(String, VariableId)> = fields
        .iter()
        .map(|(name, id)| (name.clone(), *id))
        .collect();
    fields.sort();
    fields
}

fn is_about_logging(test: &str) -> bool {
    let words = [
        "isDebugEnabled",
        "isTraceEnabled",
        "isInfoEnabled",
        "debug.val",
        "trace.val",
    ];
    words.iter().any(|word| test.contains(word))
}

/// Whether SQL may be executed inside.
pub(super) fn executes(node: &Node) -> bool {
    let text = node.text();
    text.contains(".execute") || text.contains("execute(") || text.contains("repareStatement(")
}
