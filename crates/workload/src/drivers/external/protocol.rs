//! The protocol of external drivers, as docs/drivers.md has it: requests written, answers read. A driver is
//! somebody else's program, so an answer is believed only where it has the form that was asked for.

use super::process::shown;
use crate::driver::{Answer, Commit, Error, Fate, Isolation};
use crate::drivers::cells::key;
use crate::plan::Action;
use crate::schema::{Cell, Column, ColumnKind, ListForm, Schema};
use crate::sql::group_number;
use history::Level;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// An object of the protocol.
pub type Object = Map<String, Value>;

/// What a driver says of itself.
pub struct Description {
    /// The database's name and version.
    pub product: String,
    /// At least one; the default first.
    pub isolations: Vec<Isolation>,
    /// Whether reads are answered while the transaction runs.
    pub answers_at_once: bool,
    /// Whether this node takes writes.
    pub takes_writes: bool,
}

/// What a driver answered.
pub enum Reply {
    /// It did what it was asked to.
    Done(Object),
    /// It did not.
    Refused(Error),
}

/// Reads an answer.
pub fn reply(line: &str) -> Result<Reply, String> {
    let wrong = |what: &str| format!("{what}: {}", shown(line.as_bytes()));
    let Ok(value) = serde_json::from_str::<Value>(line) else {
        return Err(wrong("said what is not JSON"));
    };
    let Value::Object(object) = value else {
        return Err(wrong("said what is not an object"));
    };
    if object.contains_key("ok") || object.contains_key("later") {
        return Ok(Reply::Done(object));
    }
    let Some(message) = object.get("error") else {
        return Err(wrong("said neither \"ok\" nor \"error\""));
    };
    let fate = match object.get("fate").map(Value::as_str) {
        Some(Some("aborted")) => Fate::Aborted,
        Some(Some("lost")) => Fate::Lost,
        Some(Some("hopeless")) => Fate::Hopeless,
        Some(Some("unknown")) | None => Fate::Unknown,
        Some(_) => return Err(wrong("named a fate that is none")),
    };
    Ok(Reply::Refused(Error {
        fate,
        code: object.get("code").and_then(word),
        message: word(message).unwrap_or_default(),
    }))
}

/// A text or a number as a text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Reads the answer to "describe".
pub fn description(answer: &Object) -> Result<Description, String> {
    let Some(Value::Object(about)) = answer.get("ok") else {
        return Err("did not answer \"describe\" with an object".to_string());
    };
    let flag = |name: &str| match about.get(name) {
        None => Ok(true),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("described \"{name}\" as neither true nor false")),
    };
    let product = about.get("product").and_then(Value::as_str);
    let listed = about.get("isolations").and_then(Value::as_array);
    let isolations = listed.map(Vec::as_slice).unwrap_or_default();
    let isolations: Vec<Isolation> = isolations
        .iter()
        .map(isolation)
        .collect::<Result<_, String>>()?;
    if isolations.is_empty() {
        return Err("described no \"isolations\"".to_string());
    }
    Ok(Description {
        product: product
            .ok_or("described no \"product\"")?
            .chars()
            .take(100)
            .collect(),
        isolations,
        answers_at_once: flag("answers_at_once")?,
        takes_writes: flag("takes_writes")?,
    })
}

fn isolation(listed: &Value) -> Result<Isolation, String> {
    let text = |name: &str| listed.get(name).and_then(Value::as_str);
    let name = text("name").ok_or("described an isolation without a \"name\"")?;
    let promises = text("promises")
        .ok_or_else(|| format!("described '{name}' without what it \"promises\""))?;
    let level: Level = promises
        .parse()
        .map_err(|error| format!("promises what is no level: {error}"))?;
    Ok(Isolation {
        name: intern(&name.to_lowercase()),
        promises: level,
        because: intern(text("because").unwrap_or("the driver says so")),
    })
}

/// A text that stays. Drivers say the same few words again and again; each is kept once.
fn intern(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    const LETTERS_MAX: usize = 200;
    let text: String = text.chars().take(LETTERS_MAX).collect();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text.as_str()) {
        return known;
    }
    let leaked: &'static str = Box::leak(text.into_boxed_str());
    kept.insert(leaked);
    leaked
}

/// The request for an action.
pub fn request(schema: &Schema, action: &Action) -> Value {
    let cell = action.cell();
    let verb = match action {
        Action::Read(_) => "read",
        Action::ReadGroup(_) => return group_request(schema, cell),
        Action::Write(..) => "write",
        Action::ReadList(_) => "rlist",
        Action::Append(..) => "append",
        Action::ReadSet(_) => "rset",
        Action::Add(..) => "add",
        Action::ReadCounter(_) => "rcount",
        Action::Increment(..) => "inc",
    };
    match action.value() {
        Some(value) => json!({"do": verb, "key": key(schema, cell), "value": value}),
        None => json!({"do": verb, "key": key(schema, cell)}),
    }
}

fn group_request(schema: &Schema, cell: Cell) -> Value {
    let keys: Vec<String> = schema.group_of(cell).map(|one| key(schema, one)).collect();
    let group = group_number(i64::from(schema.table(cell).group), cell.row);
    json!({
        "do": "rgroup",
        "table": schema.table(cell).name,
        "column": schema.column(cell).name,
        "group": group,
        "keys": keys,
    })
}

/// The schema, as "open" has it.
pub fn schema_object(schema: &Schema) -> Value {
    let column = |column: &Column| match column.kind {
        ColumnKind::Register => json!({"name": column.name, "kind": "register"}),
        ColumnKind::Set => json!({"name": column.name, "kind": "set"}),
        ColumnKind::Counter => json!({"name": column.name, "kind": "counter"}),
        ColumnKind::List(form) => {
            let form = match form {
                ListForm::Native => "native",
                ListForm::Text => "text",
                ListForm::Json => "json",
            };
            json!({"name": column.name, "kind": "list", "form": form})
        }
    };
    let tables = schema.tables.iter().map(|table| {
        let columns: Vec<Value> = table.columns.iter().map(column).collect();
        json!({"name": table.name, "rows": table.rows, "group": table.group, "columns": columns})
    });
    json!({"tables": tables.collect::<Vec<Value>>()})
}

/// Reads the answer to an action.
pub fn answer(schema: &Schema, action: &Action, answer: &Object) -> Result<Answer, String> {
    if answer.contains_key("later") {
        return Ok(Answer::Later);
    }
    let version = match answer.get("version") {
        None | Some(Value::Null) => None,
        Some(version) => Some(version.as_u64().ok_or("gave a version that is no number")?),
    };
    let value = answer.get("ok").unwrap_or(&Value::Null);
    result(schema, action, value, version).ok_or_else(|| {
        let asked = request(schema, action).to_string();
        let given = shown(value.to_string().as_bytes());
        format!(
            "answered {} with what it cannot have read: {given}",
            shown(asked.as_bytes())
        )
    })
}

/// The answer to an action, if the value has the form for it.
fn result(schema: &Schema, action: &Action, value: &Value, version: Option<u64>) -> Option<Answer> {
    match action {
        _ if action.writes() => Some(Answer::Done),
        Action::Read(_) | Action::ReadCounter(_) => {
            number_or_null(value).map(|value| Answer::Value(value, version))
        }
        Action::ReadGroup(cell) => {
            let values = value.as_array()?;
            let cells: Vec<Cell> = schema.group_of(*cell).collect();
            if values.len() != cells.len() {
                return None;
            }
            let mut rows = Vec::new();
            for (cell, value) in cells.iter().zip(values) {
                if let Some(value) = number_or_null(value)? {
                    rows.push((cell.row, value));
                }
            }
            Some(Answer::Rows(rows))
        }
        _ if value.is_null() => Some(Answer::Values(Vec::new())),
        _ => {
            let numbers = value.as_array()?.iter().map(Value::as_i64);
            numbers.collect::<Option<Vec<i64>>>().map(Answer::Values)
        }
    }
}

fn number_or_null(value: &Value) -> Option<Option<i64>> {
    match value {
        Value::Null => Some(None),
        other => other.as_i64().map(Some),
    }
}

/// Reads the answer to "commit"; `waiting` are the actions to be answered by it.
pub fn commit(schema: &Schema, waiting: &[Action], answer: &Object) -> Result<Commit, String> {
    let given = answer.get("answers").and_then(Value::as_array);
    let given = given.map(Vec::as_slice).unwrap_or_default();
    if given.len() != waiting.len() {
        let (given, wanted) = (given.len(), waiting.len());
        return Err(format!(
            "gave {given} answers with the commit, not {wanted}"
        ));
    }
    let mut answers = Vec::new();
    for (action, value) in waiting.iter().zip(given) {
        let fits = result(schema, action, value, None);
        answers.push(fits.ok_or_else(|| {
            let value = shown(value.to_string().as_bytes());
            format!("gave an answer with the commit that nothing asked for: {value}")
        })?);
    }
    let about = answer.get("info").and_then(Value::as_object);
    let about = about.into_iter().flatten().take(INFO_MAX);
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_word = |name: &str| !name.is_empty() && name.bytes().all(is_letter);
    let info = about
        .filter(|(name, _)| is_word(name) && name.len() <= INFO_NAME_BYTES_MAX)
        .filter_map(|(name, value)| Some((intern(name), word(value)?)));
    Ok(Commit {
        answers,
        version: answer.get("version").and_then(Value::as_u64),
        info: info.collect(),
    })
}

/// How much a driver may say about a transaction.
const INFO_MAX: usize = 8;
const INFO_NAME_BYTES_MAX: usize = 20;
