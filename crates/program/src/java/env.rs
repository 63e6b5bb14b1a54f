//! What Java names stand for while a method is followed.

use crate::expr::{Expr, StatementId, Value, VariableId};
use crate::schema::Type;
use rustc_hash::FxHashMap;

/// A prepared statement, by its position in the translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PreparedId(pub usize);

/// An object whose fields are followed, by its position in the translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectId(pub usize);

/// What a Java expression stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    /// A value.
    Expr(Expr),
    /// A prepared statement.
    Prepared(PreparedId),
    /// A result set of a statement.
    Rows(StatementId),
    /// An object with fields.
    Object(ObjectId),
    /// A list or an array that is built here.
    List(VariableId),
    /// What was given to a method that takes any number of arguments.
    Given(Vec<Val>),
    /// A connection.
    Connection,
    /// A plain JDBC statement, without text.
    Statement,
    /// Code, by its position in the translator.
    Lambda(usize),
    /// Nothing that matters: loggers, random generators, results of void methods.
    Nothing,
}

impl Val {
    /// The text, where it is a constant.
    pub fn text(&self) -> Option<&str> {
        match self {
            Val::Expr(Expr::Constant(Value::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// The number, where it is a constant.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Val::Expr(Expr::Constant(Value::Integer(value))) => Some(*value),
            _ => None,
        }
    }

    /// Whether two branches that disagree on this must be followed apart: which statement or which
    /// SQL text it is cannot be chosen by a value.
    pub fn is_structural(&self) -> bool {
        match self {
            Val::Prepared(_) | Val::Rows(_) | Val::Lambda(_) => true,
            Val::Expr(Expr::Constant(Value::Text(text))) => is_sql(text) || is_clause(text),
            _ => false,
        }
    }
}

/// Whether a text starts like a statement.
pub(super) fn is_sql(text: &str) -> bool {
    let word: String = text
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let known = [
        "select", "insert", "update", "delete", "replace", "with", "merge", "upsert",
    ];
    known.contains(&word.to_ascii_lowercase().as_str()) || is_view(text)
}

/// Whether a text is about the session or the transaction, not about rows.
pub(super) fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let known = [
        "set",
        "use",
        "show",
        "begin",
        "start",
        "commit",
        "rollback",
        "savepoint",
        "release",
    ];
    let first = first.trim_end_matches(';').to_ascii_lowercase();
    known.contains(&first.as_str()) || is_declaration(text)
}

/// Whether a text makes, changes or drops tables.
pub(super) fn is_declaration(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let known = ["create", "drop", "alter"];
    known.iter().any(|word| first.eq_ignore_ascii_case(word)) && !is_view(text)
}

/// Whether a text makes or drops a view.
pub(super) fn is_view(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || c == '(');
    let mut words = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase);
    let first = words.next();
    let between = ["or", "replace", "temp", "temporary", "materialized"];
    let object = words.find(|word| !between.contains(&word.as_str()));
    matches!(first.as_deref(), Some("create" | "drop")) && object.as_deref() == Some("view")
}

/// Whether a text starts like a piece of a statement that is put together.
pub(super) fn is_clause(text: &str) -> bool {
    let mut words = text.split_whitespace().map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    match first.as_str() {
        "for" => words
            .next()
            .is_some_and(|word| word == "update" || word == "share"),
        "order" | "group" => words.next().is_some_and(|word| word == "by"),
        "left" | "inner" | "right" => words.next().is_some_and(|word| word == "join"),
        "and" | "or" => text.contains(['=', '<', '>', '?']),
        "where" | "limit" | "offset" | "having" | "join" | "union" | "returning" | "nowait" => true,
        _ => false,
    }
}

/// A name in scope.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// What it stands for now.
    pub val: Val,
    /// The variable that holds it, once it was assigned a value.
    pub variable: Option<VariableId>,
    /// Its type.
    pub ty: Type,
}

/// The names in scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Env {
    pub slots: FxHashMap<String, Slot>,
    /// The types that names are declared with.
    pub types: FxHashMap<String, String>,
    /// What is known of the texts of variables.
    pub samples: FxHashMap<VariableId, String>,
}

/// The type of a Java type.
pub(super) fn type_of(java: &str) -> Type {
    let bare = java.rsplit('.').next().unwrap_or(java);
    let head = bare.split('<').next().unwrap_or(bare).trim();
    match head {
        "byte[]" | "Blob" => Type::Binary,
        _ if head.ends_with(']') => Type::List,
        "int" | "long" | "short" | "byte" | "Integer" | "Long" | "Short" | "BigInteger" => {
            Type::Integer
        }
        "double" | "float" | "Double" | "Float" | "BigDecimal" => Type::Real,
        "String" | "char" | "Character" | "CharSequence" => Type::Text,
        "boolean" | "Boolean" => Type::Boolean,
        // A java.util.Date has a time, one of java.sql has none: whichever column it meets decides.
        "Timestamp" | "Date" | "LocalDateTime" | "Instant" => Type::Timestamp,
        "LocalDate" => Type::Date,
        "Time" | "LocalTime" => Type::Time,
        "List" | "ArrayList" | "LinkedList" | "Collection" | "Set" | "HashSet" | "Iterable"
        | "Queue" | "Deque" | "ArrayDeque" | "TreeSet" | "LinkedHashSet" | "Vector" => Type::List,
        _ => Type::Other,
    }
}

/// Types that carry no data of the transaction.
pub(super) fn carries_nothing(java: &str) -> bool {
    let bare = java.rsplit('.').next().unwrap_or(java);
    matches!(bare, "Random" | "Logger" | "ThreadLocalRandom") || bare.ends_with("Worker")
}
