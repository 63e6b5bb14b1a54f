//! Method calls: those of JDBC and of values by what they stand for, those of the sources by
//! following them.

use super::entries::is_marked;
use super::env::{Env, Slot, Val, carries_nothing, type_of};
use super::index::parameters;
use super::lambda::CALLS_MAX;
use super::methods::is_accessor;
use super::receivers::Meant;
use super::spread::{fits, gathered, is_spread, parameter_name, parameter_type};
use super::template::is_template;
use super::translate::{Frame, Translator, executes};
use super::tree::Node;
use crate::expr::Expr;
use crate::ir::Step;
use crate::schema::Type;

impl<'a> Translator<'a> {
    /// The values of the arguments.
    pub fn arguments(&mut self, node: &'a Node) -> Vec<Val> {
        let all: &[Node] = node.child("arguments").map_or(&[], |all| &all.children);
        all.iter().map(|one| self.value(one)).collect()
    }

    pub fn exprs(&mut self, vals: Vec<Val>) -> Vec<Expr> {
        let data = |val: &Val| {
            matches!(
                val,
                Val::Expr(_) | Val::List(_) | Val::Given(_) | Val::Object(_)
            )
        };
        let vals: Vec<Val> = vals.into_iter().filter(data).collect();
        vals.into_iter().map(|val| self.expr_of(val)).collect()
    }

    /// What a call stands for; `used` says whether somebody looks at it.
    pub fn call(&mut self, node: &'a Node, used: bool) -> Val {
        let constant = self.index.constant(self.class(), node);
        let constant = constant.map(|value| Val::Expr(Expr::Constant(value)));
        if let Some(val) = constant.or_else(|| self.placeholder_list(node)) {
            return val;
        }
        let (name, object) = (node.name(), node.child("object"));
        let object = match object {
            None => return self.own_call(node, self.class(), name, used),
            Some(this) if this.kind == "this" => {
                return self.own_call(node, self.class(), name, used);
            }
            Some(above) if above.kind == "super" => {
                let above = self.index.ancestry(self.class()).get(1).copied();
                return match above {
                    Some(class) => self.own_call(node, class, name, used),
                    None => {
                        let arguments = self.arguments(node);
                        self.lost(node, arguments, used)
                    }
                };
            }
            Some(object) => object,
        };
        let is_name = object.kind == "identifier" && self.env.slots.contains_key(object.text());
        if !is_name && let Some(class) = self.index.class(object.text()) {
            return self.class_call(node, class, used);
        }
        let known = self.put_together(node).or_else(|| self.optional_call(node));
        if let Some(val) = known.or_else(|| self.kept_call(node, object)) {
            return val;
        }
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let meant = match self.is_jdbc(object) {
            true => Meant::Nothing,
            false => self.meant(object, name, count),
        };
        if matches!(meant, Meant::Nothing) && self.hands_code(node) {
            return self.hand_over(node);
        }
        // Whatever gives connections, these are the calls of one.
        if name == "getConnection" {
            return Val::Connection;
        }
        if matches!(name, "prepareStatement" | "prepareCall" | "createStatement") {
            return self.connection_call(node, name);
        }
        let receiver = self.value(object);
        match (&receiver, meant) {
            (Val::Lambda(id), _) => {
                let arguments = self.arguments(node);
                return self.run_lambda(node, *id, arguments);
            }
            (Val::Expr(_) | Val::Nothing | Val::Object(_), Meant::One(class, method)) => {
                let arguments = self.arguments(node);
                return self.follow(node, class, method, arguments);
            }
            (Val::Expr(_) | Val::Nothing | Val::Object(_), Meant::Several(classes)) => {
                self.note_several(node, &classes);
            }
            _ => {}
        }
        if matches!(receiver, Val::Nothing | Val::Expr(_))
            && is_template(name)
            && let Some(val) = self.on_template(node, object)
        {
            return val;
        }
        self.call_on(node, object, receiver, used)
    }

    /// A call on what an object stands for.
    fn call_on(&mut self, node: &'a Node, object: &'a Node, receiver: Val, used: bool) -> Val {
        let name = node.name();
        let computes = !is_accessor(name) || self.is_computed(object, name);
        let plain = matches!(receiver, Val::Expr(_) | Val::Object(_)) && computes;
        if plain && let Some(val) = self.entity_call(node, object, &receiver) {
            return val;
        }
        match receiver {
            Val::Connection => self.connection_call(node, name),
            Val::Prepared(id) => self.prepared_call(node, id, name, used),
            Val::Statement => self.statement_call(node, name),
            Val::Rows(id) => self.rows_call(node, id, name),
            Val::List(list) => self.list_call(node, list, name, used),
            Val::Object(id) => self.object_call(node, id, name, used),
            Val::Expr(_) | Val::Nothing if name.starts_with("execute") => {
                let advice = "Give the file that prepares it, too.";
                self.left_out(
                    node,
                    "which statement it executes is not known: left out",
                    advice,
                );
                let arguments = self.arguments(node);
                self.lost(node, arguments, false)
            }
            Val::Expr(value) if matches!(name, "single" | "singleValue") => {
                self.single(node, value)
            }
            Val::Expr(value) => self.value_call(node, object, value, name, used),
            Val::Nothing | Val::Lambda(_) | Val::Given(_) => {
                self.other_call(node, object, name, used)
            }
        }
    }

    /// A method of the class at hand, or of the one above.
    fn own_call(&mut self, node: &'a Node, class: usize, name: &'a str, used: bool) -> Val {
        if name.starts_with("getPreparedStatement") {
            return self.bench_prepared(node, name);
        }
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let found = self.own_method(node, class, name, count);
        // A method that runs what it is given (`inTransaction(c -> …)`) need not get to the database by itself.
        let hands = self.hands_code(node);
        match found {
            Some((class, method)) if hands || worth_following(method) || self.reaches(method) => {
                let arguments = self.arguments(node);
                self.follow(node, class, method, arguments)
            }
            None if hands => self.hand_over(node),
            _ => {
                let arguments = self.arguments(node);
                self.lost(node, arguments, used)
            }
        }
    }

    fn class_call(&mut self, node: &'a Node, class: usize, used: bool) -> Val {
        let count = node.child("arguments").map_or(0, |all| all.children.len());
        let found = self.index.method(class, node.name(), count);
        let hands = self.hands_code(node);
        let arguments = self.arguments(node);
        match found {
            Some((class, method)) if hands || reaches_database(method) || self.reaches(method) => {
                self.follow(node, class, method, arguments)
            }
            None if hands => self.hand_over(node),
            _ => self.lost(node, arguments, used),
        }
    }

    /// The method of the object at hand that a call means: of several with as many parameters, the
    /// one that takes a connection where one is given.
    fn own_method(
        &mut self,
        node: &'a Node,
        class: usize,
        name: &str,
        count: usize,
    ) -> Option<(usize, &'a Node)> {
        let from = match node
            .child("object")
            .is_some_and(|object| object.kind == "super")
        {
            true => class,
            false => self.this_class(),
        };
        let found = self.index.method(from, name, count)?;
        let same = self.index.overloads(found.0, name, count);
        if same.len() < 2 {
            return Some(found);
        }
        let given: &[Node] = node.child("arguments").map_or(&[], |all| &all.children);
        let fits: Vec<&'a Node> = same
            .into_iter()
            .filter(|method| self.takes(method, given))
            .collect();
        if fits.len() > 1 && fits.iter().any(|method| self.reaches(method)) {
            let assumed = "one of several methods of that name; the first is followed";
            self.note(node, assumed, "Give them different names.");
        }
        fits.first()
            .map_or(Some(found), |method| Some((found.0, method)))
    }

    /// Whether a method may be given these arguments, as far as their types are known.
    fn takes(&self, method: &Node, given: &[Node]) -> bool {
        let all = parameters(method).into_iter().zip(given);
        let mut known = all.filter_map(|(parameter, argument)| {
            let wanted = parameter.child("type").map_or("", Node::text);
            Some((wanted, self.java_type(argument)?))
        });
        known.all(|(wanted, given)| {
            let wanted = wanted.split('<').next().unwrap_or(wanted);
            let given = given.split('<').next().unwrap_or(given);
            let same_kind = type_of(wanted) == type_of(given) && type_of(given) != Type::Other;
            let class = |name: &str| self.index.class(name);
            let below = match (class(wanted), class(given)) {
                (Some(above), Some(below)) => self.index.ancestry(below).contains(&above),
                _ => false,
            };
            wanted == given || same_kind || below || matches!(wanted, "Object" | "T")
        })
    }

    /// The type of an argument, where it is declared or a literal.
    pub fn java_type<'n>(&'n self, node: &'n Node) -> Option<&'n str> {
        match node.kind {
            "identifier" => match self.env.types.get(node.text()) {
                Some(java) if java != "var" => Some(java),
                Some(_) => None,
                None => self
                    .index
                    .field(self.class(), node.text())
                    .map(|(_, field)| field.ty),
            },
            "string_literal" => Some("String"),
            "decimal_integer_literal" => Some("int"),
            "decimal_floating_point_literal" => Some("double"),
            "true" | "false" => Some("boolean"),
            "object_creation_expression" => node.child("type").map(Node::text),
            _ => None,
        }
    }

    /// Whether an object is one of JDBC's, by what is known of it.
    pub fn is_jdbc(&self, object: &'a Node) -> bool {
        let slot = match object.kind {
            "identifier" => self.env.slots.get(object.text()),
            _ => None,
        };
        slot.is_some_and(|slot| {
            matches!(
                slot.val,
                Val::Connection | Val::Prepared(_) | Val::Rows(_) | Val::Statement | Val::List(_)
            )
        })
    }

    /// A call that is not followed. With a connection or a statement in its arguments it may
    /// execute anything.
    pub fn lost(&mut self, node: &'a Node, arguments: Vec<Val>, used: bool) -> Val {
        let reaches =
            |val: &Val| matches!(val, Val::Connection | Val::Prepared(_) | Val::Lambda(_));
        if arguments.iter().any(reaches) {
            let advice = "Give the file that has the method, too.";
            self.left_out(node, "what it does to the database is left out", advice);
        }
        let reads = self.exprs(arguments);
        self.any_value(node, reads, used)
    }

    /// Follows a method of the sources.
    pub fn follow(
        &mut self,
        node: &'a Node,
        class: usize,
        method: &'a Node,
        arguments: Vec<Val>,
    ) -> Val {
        let this = match self.index.ancestry(self.this_class()).contains(&class) {
            true => self.this_class(),
            false => class,
        };
        let same = this == self.this_class();
        let own = self.callee_env(same);
        // A transaction of its own, where it is not called in one.
        let begins = !self.marked && !self.opened && !same && is_marked(self.index, class, method);
        if begins {
            self.emit(Step::Commit);
            self.marked = true;
        }
        let (val, fields) = self.follow_in(node, (class, this), method, arguments, own);
        if begins {
            self.marked = false;
            self.emit(Step::Commit);
        }
        if same {
            self.env.slots.extend(fields);
        }
        val
    }

    /// Follows a method of a class, on an object of another one or the same, whose fields are given; what it
    /// returns, and the fields after it.
    pub fn follow_in(
        &mut self,
        node: &'a Node,
        (class, this): (usize, usize),
        method: &'a Node,
        arguments: Vec<Val>,
        own: Env,
    ) -> (Val, Vec<(String, Slot)>) {
        let label = self.label();
        if self.frames.len() >= CALLS_MAX {
            let advice = "Calls are followed 12 deep.";
            self.left_out(node, "the call is left out", advice);
            return (Val::Expr(self.unknown(Vec::new())), Vec::new());
        }
        let Some(body) = method.child("body") else {
            return (self.declared(node, class, method, &arguments), Vec::new());
        };
        let java = method.child("type").map_or("", Node::text);
        let result = self.variable(&format!("{}()", method.name()), type_of(java));
        let outer = std::mem::replace(&mut self.env, own);
        let loops = std::mem::take(&mut self.loops);
        let arguments = gathered(method, arguments);
        for (parameter, argument) in parameters(method).into_iter().zip(arguments) {
            self.bind_parameter(parameter, argument);
        }
        self.frames.push(Frame {
            class,
            this,
            label,
            returned: None,
            result,
        });
        let steps = self.apart(|this| {
            this.block(&body.children, None);
        });
        let frame = self.frames.pop();
        self.ended = false;
        self.loops = loops;
        let inner = std::mem::replace(&mut self.env, outer);
        self.env.samples.extend(inner.samples);
        let fields = inner.slots.into_iter();
        let fields = fields.filter(|(name, _)| name.starts_with("this."));
        // A body that always throws never comes back.
        let aborts = always_aborts(&steps);
        self.emit(Step::Block { label, body: steps });
        self.ended = aborts;
        let returned = frame.and_then(|frame| frame.returned);
        (returned.unwrap_or(Val::Nothing), fields.collect())
    }

    /// The fields of the object are seen by the method that is called.
    pub fn callee_env(&self, same_object: bool) -> Env {
        let mut inner = Env {
            samples: self.env.samples.clone(),
            ..Env::default()
        };
        if !same_object {
            return inner;
        }
        for (name, slot) in &self.env.slots {
            if name.starts_with("this.") {
                inner.slots.insert(name.clone(), slot.clone());
            }
        }
        inner
    }

    fn bind_parameter(&mut self, parameter: &'a Node, argument: Val) {
        let (name, java) = (parameter_name(parameter), parameter_type(parameter));
        self.env.types.insert(name.to_string(), java.to_string());
        let argument = match argument {
            Val::Given(all) => return self.bind_given(name, all),
            other => other,
        };
        let argument = match java {
            "Connection" => Val::Connection,
            _ => argument,
        };
        let slot = Slot {
            val: argument.clone(),
            variable: None,
            ty: type_of(java),
        };
        self.env.slots.insert(name.to_string(), slot);
        // A field moves with its cursor and must be taken now; the rest cannot change meanwhile.
        let moves = match &argument {
            Val::Expr(value) => !matches!(
                value,
                Expr::Constant(_) | Expr::Parameter(_) | Expr::Variable(_)
            ),
            _ => false,
        };
        if moves {
            self.assign(name, argument);
        }
    }

    /// A method of something that is not followed: a library's class, a logger, another object.
    fn other_call(&mut self, node: &'a Node, object: &'a Node, name: &'a str, used: bool) -> Val {
        if let Some(val) = self.map_made(node, object.text(), name) {
            return val;
        }
        let arguments = self.arguments(node);
        let known = self.only_method(name, arguments.len()).is_some();
        if arguments.contains(&Val::Connection) || known {
            return self.foreign(node, name, arguments, used);
        }
        let made = match object.text() {
            "Objects" => self.null_asked(node, name, &arguments),
            class => self.optional_made(class, name, &arguments),
        };
        if let Some(val) = made {
            return val;
        }
        let data = self.exprs(arguments);
        match (object.text(), name) {
            (
                "BigDecimal" | "Long" | "Integer" | "Double" | "String" | "Float" | "Boolean"
                | "Short",
                "valueOf" | "parseInt" | "parseLong" | "parseDouble" | "parseFloat" | "toString",
            ) if data.len() == 1 => Val::Expr(data.into_iter().next().unwrap_or(Expr::text(""))),
            ("Math", _) if name != "random" => {
                let call = Expr::Call {
                    name: name.to_ascii_lowercase(),
                    arguments: data.clone(),
                };
                Val::Expr(self.unless_unknown(call, data))
            }
            // A text for people, or the time.
            ("String", "format") | ("System", _) => Val::Expr(self.unknown(data)),
            _ => self.any_value(node, data, used),
        }
    }

    /// A method of another object that gets the connection: followed if only one class has it.
    pub fn foreign(&mut self, node: &'a Node, name: &str, arguments: Vec<Val>, used: bool) -> Val {
        match self.only_method(name, arguments.len()) {
            Some((class, method)) => self.follow(node, class, method, arguments),
            None => self.lost(node, arguments, used),
        }
    }

    /// The method of that name and number of parameters that executes SQL, if there is one only.
    pub fn only_method(&self, name: &str, arguments: usize) -> Option<(usize, &'a Node)> {
        let index = self.index;
        let mut found = None;
        for (at, class) in index.classes.iter().enumerate() {
            for method in &class.methods {
                let able = method.name() == name && fits(method, arguments);
                if able && executes(method) {
                    match found {
                        None => found = Some((at, *method)),
                        Some(_) => return None,
                    }
                }
            }
        }
        found
    }

    /// The parameters of a transaction's method as those of the transaction.
    pub fn transaction_parameters(&mut self, method: &'a Node) -> Vec<crate::ir::Parameter> {
        let mut found: Vec<crate::ir::Parameter> = Vec::new();
        for parameter in parameters(method) {
            let (name, java) = (parameter_name(parameter), parameter_type(parameter));
            let array = parameter.child("dimensions").is_some() || is_spread(parameter);
            self.env.types.insert(name.to_string(), java.to_string());
            let ty = if array { Type::List } else { type_of(java) };
            let val = match java {
                "Connection" => Val::Connection,
                _ if carries_nothing(java) => Val::Nothing,
                _ => {
                    found.push(crate::ir::Parameter {
                        name: name.to_string(),
                        ty,
                    });
                    let id = crate::expr::ParameterId(found.len() as u32 - 1);
                    Val::Expr(Expr::Parameter(id))
                }
            };
            let slot = Slot {
                val,
                variable: None,
                ty,
            };
            self.env.slots.insert(name.to_string(), slot);
        }
        found
    }
}

/// Methods with SQL are followed, and others where that is cheap.
pub(super) fn worth_following(method: &Node) -> bool {
    let body = method.child("body");
    let loops = |node: &&Node| node.kind.ends_with("for_statement") || node.kind.contains("while");
    match body {
        None => false,
        Some(body) => reaches_database(method) || !body.all().iter().any(loops),
    }
}

fn reaches_database(method: &Node) -> bool {
    let takes = |parameter: &&Node| {
        let java = parameter.child("type").map_or("", Node::text);
        matches!(
            java,
            "Connection" | "PreparedStatement" | "ResultSet" | "Statement"
        )
    };
    executes(method) || parameters(method).iter().any(takes)
}

/// The steps end in an abort whatever happens.
fn always_aborts(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Abort { .. }))
        && steps.iter().all(|step| {
            matches!(
                step,
                Step::Let { .. } | Step::Advance(_) | Step::Execute(_) | Step::Abort { .. }
            )
        })
}
