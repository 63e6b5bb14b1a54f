//! The classes of all files: their methods, fields and constants.

use super::declared::declares_sql;
use super::spread::fits;
use super::tree::Node;
use crate::expr::Value;
use rustc_hash::FxHashMap;

/// A constant is followed through this many others.
const CONSTANT_DEPTH_MAX: usize = 30;
/// `??` of BenchBase stands for at most so many placeholders.
const REPEATED_MAX: usize = 100;

/// A class, an interface, an enum or a record.
pub(super) struct Class<'a> {
    pub name: &'a str,
    pub node: &'a Node,
    /// The name of the class it extends.
    pub parent: &'a str,
    /// The names of its interfaces.
    pub interfaces: Vec<&'a str>,
    pub methods: Vec<&'a Node>,
    /// The constants of an enum, in order.
    pub constants: Vec<&'a str>,
    /// The initial values of its fields, by name.
    pub fields: FxHashMap<&'a str, Field<'a>>,
}

/// A field with its initial value.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub ty: &'a str,
    pub value: Option<&'a Node>,
    /// Whether it cannot change, or is a statement of BenchBase, which nobody changes.
    pub constant: bool,
}

/// All classes.
pub(super) struct Index<'a> {
    pub classes: Vec<Class<'a>>,
    by_name: FxHashMap<&'a str, Vec<(usize, &'a Node)>>,
}

impl<'a> Index<'a> {
    pub fn new(files: &'a [Node]) -> Index<'a> {
        let mut classes = Vec::new();
        for node in files.iter().flat_map(|file| file.all()) {
            let declares = matches!(
                node.kind,
                "class_declaration"
                    | "interface_declaration"
                    | "enum_declaration"
                    | "record_declaration"
            );
            if declares {
                classes.push(class(node));
            }
        }
        let mut by_name: FxHashMap<&'a str, Vec<(usize, &'a Node)>> = FxHashMap::default();
        for (at, class) in classes.iter().enumerate() {
            for method in &class.methods {
                by_name.entry(method.name()).or_default().push((at, method));
            }
        }
        Index { classes, by_name }
    }

    /// The class of a name, the last part of a qualified one.
    pub fn class(&self, name: &str) -> Option<usize> {
        let last = name.rsplit('.').next().unwrap_or(name);
        self.classes.iter().position(|class| class.name == last)
    }

    /// A class and those it extends, nearest first.
    pub fn ancestry(&self, class: usize) -> Vec<usize> {
        let mut found = vec![class];
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            let class = &self.classes[at];
            for above in std::iter::once(&class.parent).chain(&class.interfaces) {
                let above = self.class(above).filter(|above| !found.contains(above));
                found.extend(above);
            }
            next += 1;
        }
        found
    }

    /// Whether a class extends one of that name, known or not.
    pub fn extends(&self, class: usize, wanted: &str) -> bool {
        let ancestry = self.ancestry(class);
        let mut parents = ancestry.iter().map(|at| self.classes[*at].parent);
        parents.any(|parent| parent == wanted)
    }

    /// The method of that name and number of parameters, in the class or above.
    pub fn method(&self, class: usize, name: &str, arguments: usize) -> Option<(usize, &'a Node)> {
        for at in self.ancestry(class) {
            let methods = self.classes[at].methods.iter();
            let named = methods.filter(|method| method.name() == name);
            let mut exact = named
                .clone()
                .filter(|method| parameters(method).len() == arguments);
            let mut able = named.filter(|method| fits(method, arguments));
            if let Some(found) = exact.next().or_else(|| able.next()) {
                return Some((at, found));
            }
        }
        None
    }

    /// The methods of that name and number of parameters of one class.
    pub fn overloads(&self, class: usize, name: &str, arguments: usize) -> Vec<&'a Node> {
        let methods = self.classes[class].methods.iter().copied();
        let named = methods.filter(|method| method.name() == name);
        named
            .filter(|method| parameters(method).len() == arguments)
            .collect()
    }

    /// The first method of that name, in the class or above.
    pub fn any_method(&self, class: usize, name: &str) -> Option<(usize, &'a Node)> {
        let ancestry = self.ancestry(class);
        ancestry.into_iter().find_map(|at| {
            let mut methods = self.classes[at].methods.iter();
            let found = methods.find(|method| method.name() == name)?;
            Some((at, *found))
        })
    }

    /// All methods of that name and number of parameters.
    pub fn named(&self, name: &str, arguments: usize) -> Vec<&'a Node> {
        let found = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let all = found.iter().map(|(_, method)| *method);
        all.filter(|method| fits(method, arguments)).collect()
    }

    /// The methods with a body, or a statement for it, of that name and number of parameters, with their classes.
    pub fn with_bodies(&self, name: &str, arguments: usize) -> Vec<(usize, &'a Node)> {
        let found = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let able = found
            .iter()
            .copied()
            .filter(|(_, method)| fits(method, arguments) && is_runnable(method));
        able.collect()
    }

    /// The methods of classes that extend or implement this one.
    pub fn overriding(&self, class: usize, name: &str, arguments: usize) -> Vec<(usize, &'a Node)> {
        let mut found = self.with_bodies(name, arguments);
        found.retain(|(at, _)| self.ancestry(*at).contains(&class));
        found
    }

    /// Whether a class is declared abstract.
    pub fn is_abstract(&self, class: usize) -> bool {
        let node = self.classes[class].node;
        let modifiers = node.of_kind("modifiers").next().map_or("", Node::text);
        modifiers.split_whitespace().any(|word| word == "abstract")
    }

    /// Whether a class has others that extend it.
    pub fn is_extended(&self, class: usize) -> bool {
        let mut all = 0..self.classes.len();
        all.any(|other| other != class && self.ancestry(other).contains(&class))
    }

    /// The field of that name, in the class or above.
    pub fn field(&self, class: usize, name: &str) -> Option<(usize, Field<'a>)> {
        let ancestry = self.ancestry(class);
        let mut found = ancestry
            .into_iter()
            .filter_map(|at| Some((at, *self.classes[at].fields.get(name)?)));
        found.next().or_else(|| self.imported(name))
    }

    /// A constant that comes by a static import or from an interface: the only one of its name.
    fn imported(&self, name: &str) -> Option<(usize, Field<'a>)> {
        let all = self.classes.iter().enumerate();
        let mut found = all.filter_map(|(at, class)| Some((at, *class.fields.get(name)?)));
        let first = found.find(|(_, field)| field.constant && is_upper(name))?;
        let others = found.any(|(_, field)| field.constant);
        (!others).then_some(first)
    }

    /// The names of the fields that objects of a class have.
    pub fn field_names(&self, class: usize) -> Vec<&'a str> {
        let mut found: Vec<&'a str> = Vec::new();
        for at in self.ancestry(class) {
            let class = &self.classes[at];
            let fields = class.fields.keys().copied();
            match class.node.kind {
                "record_declaration" => {
                    found.extend(parameters(class.node).iter().map(|one| one.name()))
                }
                _ => found.extend(fields),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The texts of a constant array.
    pub fn constant_list(&self, class: usize, node: &'a Node) -> Option<Vec<Value>> {
        self.list_of(class, node, 0)
    }

    fn list_of(&self, class: usize, node: &'a Node, depth: usize) -> Option<Vec<Value>> {
        if depth > CONSTANT_DEPTH_MAX {
            return None;
        }
        match node.kind {
            "array_initializer" => {
                let all = node.children.iter();
                all.map(|one| self.constant_of(class, one, depth + 1))
                    .collect()
            }
            "array_creation_expression" => self.list_of(class, node.child("value")?, depth),
            "identifier" => {
                let (at, field) = self.field(class, node.text())?;
                self.list_of(at, field.value.filter(|_| field.constant)?, depth + 1)
            }
            "field_access" => {
                let object = node.child("object")?;
                let owner = match object.kind {
                    "this" => class,
                    _ => self.class(object.text())?,
                };
                let (at, field) = self.field(owner, node.child("field")?.text())?;
                self.list_of(at, field.value.filter(|_| field.constant)?, depth + 1)
            }
            _ => None,
        }
    }

    /// `Status.CLOSED.ordinal()`.
    fn ordinal(&self, object: &'a Node) -> Option<Value> {
        let class = &self.classes[self.class(object.child("object")?.text())?];
        let name = object.child("field")?.text();
        let at = class.constants.iter().position(|one| *one == name)?;
        i64::try_from(at).ok().map(Value::Integer)
    }

    /// `String.join(", ", COLUMNS)` and its like.
    fn join(&self, class: usize, arguments: &'a [Node], depth: usize) -> Option<Value> {
        let [separator, list] = arguments else {
            return None;
        };
        let Value::Text(separator) = self.constant_of(class, separator, depth)? else {
            return None;
        };
        let list = self.list_of(class, list, depth)?;
        let texts: Vec<String> = list.iter().map(shown).collect();
        Some(Value::Text(texts.join(&separator)))
    }

    /// The value of a constant expression.
    pub fn constant(&self, class: usize, node: &'a Node) -> Option<Value> {
        self.constant_of(class, node, 0)
    }

    pub(super) fn constant_of(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        if depth > CONSTANT_DEPTH_MAX {
            return None;
        }
        match node.kind {
            "string_literal" => Some(Value::Text(string_value(node))),
            "decimal_integer_literal" | "hex_integer_literal" => integer(node.text()),
            "decimal_floating_point_literal" => {
                let text = node.text().replace('_', "");
                let text = text.trim_end_matches(['f', 'F', 'd', 'D']);
                text.parse().ok().map(Value::Real)
            }
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            "null_literal" => Some(Value::Null),
            "character_literal" => Some(Value::Text(node.text().trim_matches('\'').to_string())),
            "parenthesized_expression" => self.constant_of(class, node.children.first()?, depth),
            "cast_expression" => self.constant_of(class, node.child("value")?, depth),
            "unary_expression" => match self.constant_of(class, node.child("operand")?, depth)? {
                Value::Integer(value) if node.text().starts_with('-') => {
                    Some(Value::Integer(value.checked_neg()?))
                }
                Value::Real(value) if node.text().starts_with('-') => Some(Value::Real(-value)),
                _ => None,
            },
            "binary_expression" => self.sum(class, node, depth),
            "identifier" => {
                let (at, field) = self.field(class, node.text())?;
                let value = self.only_value(at, node.text(), field)?;
                self.constant_of(at, value, depth + 1)
            }
            "field_access" => self.constant_field(class, node, depth),
            "object_creation_expression" => self.created(class, node, depth),
            "method_invocation" => self.formatted(class, node, depth),
            _ => None,
        }
    }

    fn constant_field(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        let object = node.child("object")?;
        let name = node.child("field")?.text();
        if let Some(value) = self.enum_value(class, node, depth) {
            return Some(value);
        }
        let owner = match object.kind {
            "this" | "super" => class,
            _ => self.class(object.text())?,
        };
        let (at, field) = self.field(owner, name)?;
        let value = self.only_value(at, name, field)?;
        self.constant_of(at, value, depth + 1)
    }

    /// The value of a field that never changes: at its declaration, or the only one it is assigned.
    fn only_value(&self, class: usize, name: &str, field: Field<'a>) -> Option<&'a Node> {
        if !field.constant {
            return None;
        }
        field.value.or_else(|| self.only_assigned(class, name))
    }

    /// What a field is assigned, where that happens once in its class.
    pub fn only_assigned(&self, class: usize, name: &str) -> Option<&'a Node> {
        let all = self.classes[class].node.all();
        let mut assigned = all.into_iter().filter(|one| {
            let left = one.child("left").map_or("", Node::text);
            let left = left.strip_prefix("this.").unwrap_or(left);
            one.kind == "assignment_expression" && left == name
        });
        let first = assigned.next()?;
        let plain = first.child("operator").is_none_or(|one| one.text() == "=");
        match assigned.next() {
            None if plain => first.child("right"),
            _ => None,
        }
    }

    /// The statements of an initializer (`{ … }` in a class) that come before what a field is assigned there.
    pub fn before_assigned(&self, class: usize, made: &Node) -> &'a [Node] {
        let body = self.classes[class].node.child("body");
        let members = body.map_or(&[][..], |body| &body.children);
        for block in members.iter().filter(|one| one.kind == "block") {
            let place = block.children.iter().position(|one| one.holds(made));
            if let Some(place) = place {
                return &block.children[..place];
            }
        }
        &[]
    }

    /// `a + b + …`: numbers are added, anything else is joined. The chain leans to the left and is
    /// followed without recursion.
    fn sum(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        let mut at = node;
        while at.kind == "binary_expression" {
            members.push((at.child("operator")?.text(), at.child("right")?));
            at = at.child("left")?;
        }
        let mut total = self.constant_of(class, at, depth)?;
        for (operator, member) in members.into_iter().rev() {
            let value = self.constant_of(class, member, depth)?;
            total = combine(operator, total, value)?;
        }
        Some(total)
    }

    /// `new SQLStmt("…", 3)`, `new StringBuilder("…")`, `new String("…")`.
    fn created(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        let ty = node.child("type")?.text();
        if !matches!(ty, "SQLStmt" | "StringBuilder" | "StringBuffer" | "String") {
            return None;
        }
        let arguments = &node.child("arguments")?.children;
        let text = match arguments.first() {
            None => String::new(),
            Some(first) => match self.constant_of(class, first, depth)? {
                Value::Text(text) => text,
                _ => return None,
            },
        };
        if ty != "SQLStmt" {
            return Some(Value::Text(text));
        }
        // Each further number says how many placeholders a `??` is.
        let mut text = text;
        for count in &arguments[1..] {
            let Some(Value::Integer(count)) = self.constant_of(class, count, depth) else {
                return None;
            };
            let count = usize::try_from(count).ok()?.clamp(1, REPEATED_MAX);
            text = text.replacen("??", &vec!["?"; count].join(", "), 1);
        }
        Some(Value::Text(text))
    }

    /// `"…%s…".formatted(x)`, `String.format("…%s…", x)`, `"…".trim()`, `"…".concat("…")`.
    fn formatted(&self, class: usize, node: &'a Node, depth: usize) -> Option<Value> {
        let object = node.child("object")?;
        let arguments = &node.child("arguments")?.children;
        if let Some(value) = self.enum_value(class, node, depth) {
            return Some(value);
        }
        let (pattern, rest) = match (object.text(), node.name()) {
            ("String", "format") => (arguments.first()?, arguments.get(1..)?),
            (_, "formatted") => (object, &arguments[..]),
            (_, "ordinal") if arguments.is_empty() => return self.ordinal(object),
            (_, "join") => return self.join(class, arguments, depth),
            (_, "trim" | "strip" | "toString" | "stripIndent" | "getSQL")
                if arguments.is_empty() =>
            {
                return self.constant_of(class, object, depth);
            }
            _ => return None,
        };
        let Value::Text(pattern) = self.constant_of(class, pattern, depth)? else {
            return None;
        };
        let mut values = Vec::new();
        for value in rest {
            values.push(shown(&self.constant_of(class, value, depth)?));
        }
        format_text(&pattern, &values).map(Value::Text)
    }
}

fn class(node: &Node) -> Class<'_> {
    let parent = node
        .child("superclass")
        .and_then(|one| one.children.first());
    let mut class = Class {
        name: node.name(),
        node,
        interfaces: interfaces(node),
        parent: parent.map_or("", |one| one.text().split('<').next().unwrap_or("")),
        methods: Vec::new(),
        constants: Vec::new(),
        fields: FxHashMap::default(),
    };
    let Some(body) = node.child("body") else {
        return class;
    };
    let in_interface = node.kind == "interface_declaration";
    let inner = body.of_kind("enum_body_declarations");
    let inner = inner.flat_map(|inner| &inner.children);
    for member in body.children.iter().chain(inner) {
        match member.kind {
            "enum_constant" => class.constants.push(member.name()),
            "method_declaration" => class.methods.push(member),
            "field_declaration" | "constant_declaration" => {
                let ty = member.child("type").map_or("", Node::text);
                let modifiers = member.of_kind("modifiers").next().map_or("", Node::text);
                let has = |wanted: &str| modifiers.split_whitespace().any(|word| word == wanted);
                for declared in member.of_kind("variable_declarator") {
                    let field = Field {
                        ty,
                        value: declared.child("value"),
                        // A setting that looks like a constant and is set once.
                        constant: has("final")
                            || in_interface
                            || ty.starts_with("SQLStmt")
                            || (has("static") && is_upper(declared.name())),
                    };
                    class.fields.insert(declared.name(), field);
                }
            }
            _ => {}
        }
    }
    class
}

/// The names of the interfaces that a class implements, or an interface extends.
fn interfaces(node: &Node) -> Vec<&str> {
    let listed = |one: &&Node| matches!(one.kind, "super_interfaces" | "extends_interfaces");
    let lists = node.children.iter().filter(listed);
    let types = lists.flat_map(|list| list.of_kind("type_list"));
    let names = types.flat_map(|list| &list.children);
    names
        .map(|one| one.text().split('<').next().unwrap_or(""))
        .collect()
}

fn is_upper(name: &str) -> bool {
    !name.chars().any(char::is_lowercase)
}

/// Whether something is known of what a method does.
fn is_runnable(method: &Node) -> bool {
    method.child("body").is_some() || declares_sql(method)
}

/// The parameters of a method.
pub(super) fn parameters(method: &Node) -> Vec<&Node> {
    let list = method.child("parameters");
    list.map_or(Vec::new(), |list| {
        let is_parameter = |one: &&Node| one.kind.ends_with("parameter");
        list.children.iter().filter(is_parameter).collect()
    })
}

fn integer(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let text = text.trim_end_matches(['l', 'L']);
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.ok().map(Value::Integer)
}

/// Two constants combined by a Java operator.
pub(super) fn combine(operator: &str, left: Value, right: Value) -> Option<Value> {
    match (operator, &left, &right) {
        ("+", Value::Text(_), _) | ("+", _, Value::Text(_)) => {
            Some(Value::Text(format!("{}{}", shown(&left), shown(&right))))
        }
        (_, Value::Integer(a), Value::Integer(b)) => {
            let value = match operator {
                "+" => a.checked_add(*b),
                "-" => a.checked_sub(*b),
                "*" => a.checked_mul(*b),
                "/" => a.checked_div(*b),
                "%" => a.checked_rem(*b),
                _ => None,
            };
            value.map(Value::Integer)
        }
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(value) => value.clone(),
        Value::List(_) => value.to_string(),
    }
}

/// `%s` and `%d` replaced in order.
pub(super) fn format_text(pattern: &str, values: &[String]) -> Option<String> {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let directive = rest[at + 1..].chars().next()?;
        match directive {
            's' | 'd' => out.push_str(values.next()?),
            'n' => out.push('\n'),
            '%' => out.push('%'),
            _ => return None,
        }
        rest = &rest[at + 1 + directive.len_utf8()..];
    }
    out.push_str(rest);
    Some(out)
}

/// The text of a literal or a text block.
fn string_value(node: &Node) -> String {
    let text = node.text();
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return unescape(block.strip_suffix("\"\"\"").unwrap_or(block));
    }
    let inner = text.strip_prefix('"').unwrap_or(text);
    unescape(inner.strip_suffix('"').unwrap_or(inner))
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\n') => {}
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
