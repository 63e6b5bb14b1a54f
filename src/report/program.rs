//! Anomalies of programs, in words.

use program::analysis::{Anomaly, Consequence};
use program::{
    Broken, Edge, EdgeKind, How, Judgement, Play, Program, Scenario, ShownStep, StoredRow,
    broken_invariants, instance_name, instance_text, judge, play, shorten, shown_steps,
};
use std::fmt::Write;

/// How wide a statement is shown.
const SQL_WIDTH: usize = 76;
/// How wide the name of a file is shown beside it.
const FILE_WIDTH: usize = 50;

/// So many of them: `1 anomaly`, `2 anomalies`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The first line about an anomaly: its name and its transactions.
pub fn title(program: &Program, anomaly: &Anomaly) -> String {
    let names: Vec<&str> = anomaly
        .transactions
        .iter()
        .map(|txn| program.transactions[*txn].name.as_str())
        .collect();
    format!("{}: {}", anomaly.kind, names.join(" / "))
}

/// A scenario as it is played, with the cycle that it shows.
pub fn story(program: &Program, scenario: &Scenario, edges: &[Edge]) -> String {
    match play(program, scenario, How::Given) {
        Ok(played) => told(program, scenario, edges, &played),
        Err(error) => format!("    it cannot be played: {error}\n"),
    }
}

fn told(program: &Program, scenario: &Scenario, edges: &[Edge], played: &Play) -> String {
    let mut out = String::new();
    for (number, instance) in scenario.instances.iter().enumerate() {
        let name = instance_name(number);
        let _ = writeln!(out, "    {name} is {}", instance_text(program, instance));
    }
    let _ = writeln!(out, "    before: {}", rows_text(program, &scenario.rows));
    for step in shown_steps(program, scenario, played) {
        if step.statement.is_some() || step.text != "begin" {
            out.push_str(&step_text(&step));
        }
    }
    let _ = writeln!(out, "    after:  {}", rows_text(program, &played.rows));
    for edge in edges.iter().filter(|edge| edge.kind != EdgeKind::Sibling) {
        let _ = writeln!(out, "    {}", edge_text(program, edge));
    }
    let verdict = match judge(program, scenario, played) {
        Ok(Judgement::NotSerializable) => {
            "    No serial order of these gives the same results and rows.\n".to_string()
        }
        Ok(Judgement::Serializable { order }) => {
            let order: Vec<String> = order.into_iter().map(instance_name).collect();
            format!("    The same as {}.\n", order.join(", then "))
        }
        Err(error) => format!("    Not judged: {error}\n"),
    };
    out.push_str(&verdict);
    match broken_invariants(program, scenario, played) {
        Ok(broken) if broken.is_empty() => {}
        Ok(broken) => {
            let _ = writeln!(
                out,
                "    Broken invariants: {}",
                broken_text(program, &broken)
            );
        }
        Err(error) => {
            let _ = writeln!(out, "    Invariants not tested: {error}");
        }
    }
    out
}

/// Invariants with what their selects found: `total (140)`.
fn broken_text(program: &Program, broken: &[Broken]) -> String {
    let one = |broken: &Broken| {
        let name = &program.invariants[broken.invariant].name;
        format!("{name} {}", shorten(&found_text(&broken.rows), SQL_WIDTH))
    };
    let all: Vec<String> = broken.iter().map(one).collect();
    all.join(", ")
}

/// What a select found: `(1, 2) (3, 4)`.
pub fn found_text(rows: &[Vec<program::Value>]) -> String {
    let row = |row: &Vec<program::Value>| {
        let values: Vec<String> = row.iter().map(|value| value.to_string()).collect();
        format!("({})", values.join(", "))
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    rows.join(" ")
}

/// The invariants that an anomaly can break, on a line: alone, and where other cycles help.
pub fn can_break_text(program: &Program, found: &[Consequence]) -> String {
    let list = |alone: bool| -> Vec<&str> {
        let own = found.iter().filter(|one| one.alone == alone);
        own.map(|one| program.invariants[one.invariant].name.as_str())
            .collect()
    };
    let (alone, helped) = (list(true).join(", "), list(false).join(", "));
    match (alone.is_empty(), helped.is_empty()) {
        (true, true) => "nothing found".to_string(),
        (false, true) => alone,
        (true, false) => format!("with other cycles: {helped}"),
        (false, false) => format!("{alone}; with other cycles: {helped}"),
    }
}

/// The names of the invariants that a scenario breaks on the store in process.
pub fn broken_names(program: &Program, scenario: &Scenario) -> Vec<String> {
    let played = play(program, scenario, How::Given);
    let broken = played.and_then(|played| broken_invariants(program, scenario, &played));
    let name = |one: &Broken| program.invariants[one.invariant].name.clone();
    broken.map_or(Vec::new(), |all| all.iter().map(name).collect())
}

/// One step on a line or two.
pub fn step_text(step: &ShownStep) -> String {
    let name = instance_name(step.instance);
    let waited = if step.waited {
        "  (waited for a lock)"
    } else {
        ""
    };
    let mut out = format!("      {name}  {}{waited}\n", shorten(&step.text, SQL_WIDTH));
    let place = step
        .place
        .as_ref()
        .map(|place| format!("{}:{}", short_file(&place.file), place.line));
    if let (Some(place), Some(result)) = (place, &step.result) {
        let _ = writeln!(
            out,
            "          → {}   [{place}]",
            shorten(result, SQL_WIDTH)
        );
    }
    out
}

/// A file's name that fits beside a statement: of a long one its end.
fn short_file(file: &str) -> String {
    let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
    match file.chars().count() > FILE_WIDTH && last.len() < file.len() {
        true => format!("…/{last}"),
        false => file.to_string(),
    }
}

/// Why one comes before the other.
pub fn edge_text(program: &Program, edge: &Edge) -> String {
    let (from, to) = (
        instance_name(edge.from.instance),
        instance_name(edge.to.instance),
    );
    let table = edge.table.map(|id| program.schema.table(id));
    let name = table.map_or("?", |table| table.name.as_str());
    let columns: Vec<&str> = table
        .map(|table| {
            edge.columns
                .iter()
                .map(|id| table.column_name(*id))
                .collect()
        })
        .unwrap_or_default();
    let what = match columns.is_empty() {
        true => format!("a row of {name}"),
        false => format!("{name}.{}", columns.join(",")),
    };
    let why = match edge.kind {
        EdgeKind::WriteRead => "read what it wrote",
        EdgeKind::ReadWrite => "changed what it read",
        EdgeKind::WriteWrite => "overwrote what it wrote",
        EdgeKind::Sibling => "is the same transaction",
    };
    format!("{from} before {to}: {to} {why} ({what})")
}

/// Rows on one line: `account(1, 'a', 100), …`.
pub fn rows_text(program: &Program, rows: &[StoredRow]) -> String {
    if rows.is_empty() {
        return "no rows".to_string();
    }
    let one = |row: &StoredRow| {
        let values: Vec<String> = row
            .values
            .iter()
            .map(|v| shorten(&v.to_string(), 20))
            .collect();
        format!(
            "{}({})",
            program.schema.table_name(row.table),
            values.join(", ")
        )
    };
    let all: Vec<String> = rows.iter().map(one).collect();
    shorten(&all.join("  "), 400)
}
