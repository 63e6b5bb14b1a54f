//! A scenario as JSON, for the file of a test directory: names instead of numbers, so that a
//! person can read and change it, and so that it survives changes of the program around it.

use crate::expr::{UnknownId, Value};
use crate::ir::{Program, Transaction};
use crate::scenario::{Event, Instance, Scenario, StoreLevel, StoredRow, Turn};
use crate::schema::{Schema, TableId};
use serde_json::{Map, Number, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The scenario as JSON.
pub fn scenario_to_json(program: &Program, scenario: &Scenario) -> Json {
    json!({
        "rows": scenario.rows.iter().map(|row| row_to_json(&program.schema, row)).collect::<Vec<_>>(),
        "instances": scenario.instances.iter().map(|one| instance_to_json(program, one)).collect::<Vec<_>>(),
        "schedule": scenario.schedule.iter().map(turn_to_json).collect::<Vec<_>>(),
    })
}

/// The scenario that JSON describes, or what is wrong with it.
pub fn scenario_from_json(program: &Program, json: &Json) -> Result<Scenario, String> {
    let rows = list(json, "rows")?;
    let instances = list(json, "instances")?;
    let schedule = list(json, "schedule")?;
    let numbered = |what: &str, index: usize, problem: String| format!("{what} {index}: {problem}");
    let mut scenario = Scenario::default();
    for (index, row) in rows.iter().enumerate() {
        let read = row_from_json(&program.schema, row);
        scenario
            .rows
            .push(read.map_err(|problem| numbered("row", index, problem))?);
    }
    for (index, instance) in instances.iter().enumerate() {
        let read = instance_from_json(program, instance);
        scenario
            .instances
            .push(read.map_err(|problem| numbered("instance", index, problem))?);
    }
    for (index, turn) in schedule.iter().enumerate() {
        let read = turn_from_json(turn, scenario.instances.len());
        scenario
            .schedule
            .push(read.map_err(|problem| numbered("turn", index, problem))?);
    }
    Ok(scenario)
}

fn row_to_json(schema: &Schema, row: &StoredRow) -> Json {
    let table = schema.table(row.table);
    let cells = table.columns.iter().zip(&row.values);
    let cells: Map<String, Json> = cells
        .map(|(column, value)| (column.name.clone(), value_to_json(value)))
        .collect();
    json!({ "table": table.name, "values": cells })
}

fn row_from_json(schema: &Schema, json: &Json) -> Result<StoredRow, String> {
    let name = text(json, "table")?;
    let id = schema
        .find(name)
        .ok_or_else(|| format!("no table is called '{name}'"))?;
    let cells = json["values"].as_object().ok_or("'values' is missing")?;
    check_columns(schema, id, cells)?;
    let values = schema.table(id).columns.iter().map(|column| {
        let given = cells
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&column.name));
        given.map_or(Ok(Value::Null), |(_, value)| value_from_json(value))
    });
    Ok(StoredRow {
        table: id,
        values: values.collect::<Result<_, String>>()?,
    })
}

fn check_columns(schema: &Schema, id: TableId, cells: &Map<String, Json>) -> Result<(), String> {
    let table = schema.table(id);
    match cells.keys().find(|name| table.column(name).is_none()) {
        Some(name) => Err(format!("table '{}' has no column '{name}'", table.name)),
        None => Ok(()),
    }
}

fn instance_to_json(program: &Program, instance: &Instance) -> Json {
    let transaction = &program.transactions[instance.transaction];
    let pairs = transaction.parameters.iter().zip(&instance.arguments);
    let arguments: Map<String, Json> = pairs
        .map(|(parameter, value)| (parameter.name.clone(), value_to_json(value)))
        .collect();
    let unknowns = instance.unknowns.iter().map(|((id, evaluation), value)| {
        json!({ "unknown": id.0, "evaluation": evaluation, "value": value_to_json(value) })
    });
    let mut json = json!({ "transaction": transaction.name, "arguments": arguments });
    if !instance.unknowns.is_empty() {
        json["unknowns"] = unknowns.collect();
    }
    if let Some(level) = instance.level {
        json["level"] = level.name().into();
    }
    json
}

fn instance_from_json(program: &Program, json: &Json) -> Result<Instance, String> {
    let name = text(json, "transaction")?;
    let same = |txn: &Transaction| txn.name.eq_ignore_ascii_case(name);
    let transaction = program
        .transactions
        .iter()
        .position(same)
        .ok_or_else(|| format!("no transaction is called '{name}'"))?;
    let given = json["arguments"]
        .as_object()
        .ok_or("'arguments' is missing")?;
    let parameters = program.transactions[transaction].parameters.iter();
    let arguments = parameters.map(|parameter| {
        let value = given.get(&parameter.name);
        value.map_or_else(
            || Err(format!("argument '{}' is missing", parameter.name)),
            value_from_json,
        )
    });
    Ok(Instance {
        transaction,
        arguments: arguments.collect::<Result<_, String>>()?,
        unknowns: unknowns_from_json(&json["unknowns"])?,
        level: match &json["level"] {
            Json::Null => None,
            level => Some(level_from_json(level)?),
        },
    })
}

fn unknowns_from_json(json: &Json) -> Result<BTreeMap<(UnknownId, u32), Value>, String> {
    let all = match json {
        Json::Null => return Ok(BTreeMap::new()),
        json => json.as_array().ok_or("'unknowns' is not a list")?,
    };
    let one = |json: &Json| {
        let id = UnknownId(small(json, "unknown")?);
        Ok((
            (id, small(json, "evaluation")?),
            value_from_json(&json["value"])?,
        ))
    };
    all.iter().map(one).collect()
}

fn level_from_json(json: &Json) -> Result<StoreLevel, String> {
    let name = json.as_str().ok_or("'level' is not a text")?;
    name.parse()
}

fn turn_to_json(turn: &Turn) -> Json {
    let mut json = json!({ "instance": turn.instance });
    match turn.event {
        Event::Begin => json["event"] = "begin".into(),
        Event::Commit => json["event"] = "commit".into(),
        Event::Statement(position) => json["statement"] = position.into(),
    }
    if let Some(sees) = &turn.sees {
        json["sees"] = sees.iter().copied().collect();
    }
    json
}

fn turn_from_json(json: &Json, instances: usize) -> Result<Turn, String> {
    let instance = small(json, "instance")? as usize;
    if instance >= instances {
        return Err(format!("there is no instance {instance}"));
    }
    let event = match json["event"].as_str() {
        Some("begin") => Event::Begin,
        Some("commit") => Event::Commit,
        Some(other) => return Err(format!("no event is called '{other}'")),
        None => Event::Statement(small(json, "statement")?),
    };
    let sees = match &json["sees"] {
        Json::Null => None,
        Json::Array(all) => {
            let number = |one: &Json| one.as_u64().map(|n| n as usize);
            let all: Option<BTreeSet<usize>> = all.iter().map(number).collect();
            Some(all.ok_or("'sees' is not a list of turns")?)
        }
        _ => return Err("'sees' is not a list of turns".to_string()),
    };
    Ok(Turn {
        instance,
        event,
        sees,
    })
}

/// A value as JSON. What JSON has no number for is a text.
pub fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::Bool(*value),
        Value::Integer(value) => Json::from(*value),
        Value::Real(value) => {
            Number::from_f64(*value).map_or_else(|| Json::from(value.to_string()), Json::Number)
        }
        Value::Text(value) => Json::from(value.as_str()),
        Value::List(values) => values.iter().map(value_to_json).collect(),
    }
}

fn value_from_json(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Integer(value),
            None => Value::Real(number.as_f64().ok_or("a number that is out of range")?),
        },
        Json::String(value) => Value::Text(value.clone()),
        Json::Array(values) => Value::List(
            values
                .iter()
                .map(value_from_json)
                .collect::<Result<_, _>>()?,
        ),
        Json::Object(_) => return Err("an object is no value".to_string()),
    })
}

fn list<'a>(json: &'a Json, name: &str) -> Result<&'a Vec<Json>, String> {
    json[name]
        .as_array()
        .ok_or_else(|| format!("'{name}' is missing, or not a list"))
}

fn text<'a>(json: &'a Json, name: &str) -> Result<&'a str, String> {
    json[name]
        .as_str()
        .ok_or_else(|| format!("'{name}' is missing, or not a text"))
}

fn small(json: &Json, name: &str) -> Result<u32, String> {
    let number = json[name].as_u64().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| format!("'{name}' is missing, or not a small number"))
}
