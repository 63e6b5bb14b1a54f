//! The test of an anomaly as a directory: what it needs, what happens, and a script that plays it.

use super::page::picture;
use super::play::Outcome;
use super::sources::{Text, understand};
use crate::exit::Failure;
use crate::report::program::{edge_text, found_text, rows_text, step_text, title};
use program::analysis::{Anomaly, Consequence, LevelWitness};
use program::replay::{Dialect, schema_text};
use program::{
    Edge, EdgeKind, How, Program, Scenario, ShownStep, StoredRow, instance_name, instance_text,
    play, scenario_from_json, scenario_to_json, serial_outcomes, shown_steps, value_to_json,
};
use report::picture::Shown;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The file that a replay reads.
const SCENARIO: &str = "scenario.json";
/// Where the sources are kept.
const SOURCES: &str = "sources";

/// An anomaly and what is known of it.
pub struct Test<'a> {
    pub number: usize,
    pub program: &'a Program,
    pub files: &'a [Text],
    pub anomaly: &'a Anomaly,
    pub witness: &'a LevelWitness,
    pub outcomes: &'a [Outcome],
    /// The invariants that it can break at this level.
    pub consequences: Vec<&'a Consequence>,
}

/// The file of a scenario that breaks an invariant.
fn breaking(program: &Program, one: &Consequence) -> String {
    format!("breaks-{}.json", program.invariants[one.invariant].name)
}

impl Test<'_> {
    /// The directory of the test.
    pub fn directory(&self, root: &str) -> PathBuf {
        let kind = self.anomaly.kind.to_string().replace(' ', "-");
        Path::new(root).join(format!("{:03}-{kind}", self.number))
    }
}

/// Where the scenario of a broken invariant is.
pub fn place_of(root: &str, test: &Test<'_>, one: &Consequence) -> String {
    let path = test.directory(root).join(breaking(test.program, one));
    path.display().to_string()
}

/// Writes the directory of a test; its path.
pub fn write(root: &str, test: &Test<'_>) -> Result<PathBuf, Failure> {
    let directory = test.directory(root);
    let sources = directory.join(SOURCES);
    let failed =
        |path: &Path, error: std::io::Error| Failure::with(&path.display().to_string(), error);
    std::fs::create_dir_all(&sources).map_err(|e| failed(&sources, e))?;
    let mut names = Vec::new();
    for (number, file) in test.files.iter().enumerate() {
        let name = Path::new(&file.name).file_name().unwrap_or_default();
        let name = format!("{number:02}-{}", name.to_string_lossy());
        let path = sources.join(&name);
        std::fs::write(&path, &file.text).map_err(|e| failed(&path, e))?;
        names.push(json!({ "name": file.name, "kept": name }));
    }
    for (name, text) in contents(test, names) {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|e| failed(&path, e))?;
    }
    make_runnable(&directory.join("run.sh"));
    Ok(directory)
}

#[cfg(unix)]
fn make_runnable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // A script that cannot be marked can still be given to a shell.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
}

#[cfg(not(unix))]
fn make_runnable(_path: &Path) {}

fn contents(test: &Test<'_>, sources: Vec<Value>) -> Vec<(String, String)> {
    let (program, scenario) = (test.program, &test.witness.scenario);
    let steps = match play(program, scenario, How::Given) {
        Ok(played) => shown_steps(program, scenario, &played),
        Err(_) => Vec::new(),
    };
    let mut files = Vec::new();
    for one in &test.consequences {
        let mut json = scenario_file(test, &one.scenario, &sources);
        json["invariant"] = program.invariants[one.invariant].name.clone().into();
        files.push((breaking(program, one), format!("{json:#}\n")));
    }
    let mut json = scenario_file(test, scenario, &sources);
    json["played"] = test.outcomes.iter().map(Outcome::json).collect();
    let fixed = [
        (SCENARIO, format!("{json:#}\n")),
        ("expected.json", expected(program, scenario)),
        (
            "schema.sql",
            schema_text(Dialect::Postgres, &program.schema),
        ),
        ("rows.sql", rows_sql(program, &scenario.rows)),
        ("steps.sql", steps_sql(program, scenario, &steps)),
        ("README.md", readme(test, &steps)),
        ("cycle.dot", dot(test, &steps)),
        ("cycle.svg", svg(test, &steps)),
        ("run.sh", RUN.to_string()),
    ];
    files.extend(fixed.map(|(name, text)| (name.to_string(), text)));
    files
}

/// The script; it needs `isolde` on the path, or where `ISOLDE` says.
const RUN: &str = "#!/bin/sh
# Plays this anomaly again: in process, or with `--on postgres`, `--on mariadb` or `--on URL` on a
# database. Exit code 1: it shows. ISOLDE names the program where it is not on the path.
exec \"${ISOLDE:-isolde}\" program replay \"$(dirname \"$0\")\" \"$@\"
";

fn scenario_file(test: &Test<'_>, scenario: &Scenario, sources: &[Value]) -> Value {
    let mut json = scenario_to_json(test.program, scenario);
    json["isolde"] = env!("CARGO_PKG_VERSION").into();
    json["anomaly"] = test.anomaly.kind.to_string().into();
    json["level"] = test.witness.level.map(|level| level.name()).into();
    json["sources"] = sources.into();
    json["cycle"] = cycle(test).into();
    json
}

fn cycle(test: &Test<'_>) -> Vec<String> {
    let edges = test.anomaly.edges.iter();
    let edges = edges.filter(|edge| edge.kind != EdgeKind::Sibling);
    edges.map(|edge| edge_text(test.program, edge)).collect()
}

/// What every serial order would give.
fn expected(program: &Program, scenario: &Scenario) -> String {
    let all: Vec<usize> = (0..scenario.instances.len()).collect();
    let outcomes = match serial_outcomes(program, scenario, &all) {
        Ok(outcomes) => outcomes,
        Err(error) => return format!("{:#}\n", json!({ "not_computed": error.to_string() })),
    };
    let rows = |rows: &[StoredRow]| -> Vec<Value> {
        let row = |row: &StoredRow| {
            let values: Vec<Value> = row.values.iter().map(value_to_json).collect();
            json!({ "table": program.schema.table_name(row.table), "values": values })
        };
        rows.iter().map(row).collect()
    };
    let list: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let order = outcome.order.iter().map(|at| instance_name(*at));
            let results = outcome.results.iter().map(|results| match results {
                None => Value::from("aborted"),
                Some(results) => results
                    .iter()
                    .map(|result| {
                        let rows: Vec<Vec<Value>> = result
                            .rows
                            .iter()
                            .map(|row| row.iter().map(value_to_json).collect())
                            .collect();
                        json!({ "rows": rows, "changed": result.changed })
                    })
                    .collect(),
            });
            json!({
                "order": order.collect::<Vec<_>>(),
                "results": results.collect::<Vec<_>>(),
                "rows": rows(&outcome.rows),
            })
        })
        .collect();
    format!("{:#}\n", json!({ "serial_orders": list }))
}

fn rows_sql(program: &Program, rows: &[StoredRow]) -> String {
    let mut out = String::new();
    for row in rows {
        let table = program.schema.table(row.table);
        let columns: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let values: Vec<String> = row.values.iter().map(|value| value.to_string()).collect();
        let _ = writeln!(
            out,
            "insert into {} ({}) values ({});",
            table.name,
            columns.join(", "),
            values.join(", ")
        );
    }
    out
}

fn steps_sql(program: &Program, scenario: &Scenario, steps: &[ShownStep]) -> String {
    let mut out = String::from("-- Each session is one connection; the steps in this order.\n");
    for (number, instance) in scenario.instances.iter().enumerate() {
        let name = instance_name(number);
        let _ = writeln!(out, "-- {name}: {}", instance_text(program, instance));
    }
    for step in steps {
        let name = instance_name(step.instance);
        let _ = writeln!(out, "/* {name} */ {};", step.text);
        if let Some(result) = &step.result {
            let _ = writeln!(out, "--      {result}");
        }
    }
    out
}

fn readme(test: &Test<'_>, steps: &[ShownStep]) -> String {
    let (program, scenario) = (test.program, &test.witness.scenario);
    let mut out = format!("# {}\n\n", title(program, test.anomaly));
    if let Some(level) = test.witness.level {
        let _ = writeln!(out, "Possible at {}.\n", level.name());
    }
    out.push_str("## Who\n\n");
    for (number, instance) in scenario.instances.iter().enumerate() {
        let _ = writeln!(
            out,
            "- {}: `{}`",
            instance_name(number),
            instance_text(program, instance)
        );
    }
    let _ = writeln!(
        out,
        "\nRows before: `{}`\n",
        rows_text(program, &scenario.rows)
    );
    out.push_str("## What happens\n\n```\n");
    for step in steps {
        out.push_str(&step_text(step));
    }
    out.push_str("```\n\n## Why no serial order does that\n\n");
    for edge in cycle(test) {
        let _ = writeln!(out, "- {edge}");
    }
    out.push_str(
        "\nTogether these are a circle, drawn in `cycle.svg`. `expected.json` has what every serial \
         order gives.\n",
    );
    out.push_str("\n## Where\n");
    for site in &test.anomaly.sites {
        out.push_str(&excerpt(test, site.place.line, &site.place.file));
    }
    if !test.consequences.is_empty() {
        out.push_str("\n## Invariants that it can break\n\n");
        for one in &test.consequences {
            let name = &program.invariants[one.invariant].name;
            let file = breaking(program, one);
            let found = program::shorten(&found_text(&one.rows), 76);
            let _ = writeln!(out, "- {name}, in `{file}`, where it finds {found}");
        }
    }
    if !test.outcomes.is_empty() {
        out.push_str("\n## Played\n\n");
        for outcome in test.outcomes {
            let _ = writeln!(out, "- {}", outcome.text());
        }
    }
    out
}

/// The line of a source with those around it.
fn excerpt(test: &Test<'_>, line: u32, file: &str) -> String {
    let Some(found) = test.files.iter().find(|one| one.name == file) else {
        return String::new();
    };
    let mut out = format!("\n{file}:{line}\n\n```\n");
    let first = (line as usize).saturating_sub(3);
    for (number, text) in found.text.lines().enumerate().skip(first).take(6) {
        let mark = if number + 1 == line as usize {
            '>'
        } else {
            ' '
        };
        let _ = writeln!(out, "{mark} {:>4}  {text}", number + 1);
    }
    out.push_str("```\n");
    out
}

/// The dependencies as a picture that browsers show.
fn svg(test: &Test<'_>, steps: &[ShownStep]) -> String {
    let edges = test.anomaly.edges.iter();
    let edges: Vec<&Edge> = edges
        .filter(|edge| edge.kind != EdgeKind::Sibling)
        .collect();
    picture(test.program, &test.witness.scenario, steps, &edges).svg(Shown::Alone)
}

/// The dependencies as a picture for Graphviz: a box for each instance.
fn dot(test: &Test<'_>, steps: &[ShownStep]) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let scenario = &test.witness.scenario;
    let mut out =
        String::from("digraph cycle {\n  rankdir=LR; node [shape=box, fontname=monospace];\n");
    for (number, instance) in scenario.instances.iter().enumerate() {
        let label = format!(
            "{}: {}",
            instance_name(number),
            instance_text(test.program, instance)
        );
        let _ = writeln!(
            out,
            "  subgraph cluster_{number} {{ label=\"{}\";",
            quoted(&label)
        );
        for step in steps.iter().filter(|step| step.instance == number) {
            if let Some(statement) = step.statement {
                let text = program::shorten(&step.text, 60);
                let _ = writeln!(
                    out,
                    "    s{number}_{statement} [label=\"{}\"];",
                    quoted(&text)
                );
            }
        }
        out.push_str("  }\n");
    }
    for edge in test
        .anomaly
        .edges
        .iter()
        .filter(|edge| edge.kind != EdgeKind::Sibling)
    {
        let _ = writeln!(
            out,
            "  s{}_{} -> s{}_{} [label=\"{}\", color=red];",
            edge.from.instance,
            edge.from.statement,
            edge.to.instance,
            edge.to.statement,
            edge.kind.name()
        );
    }
    out.push_str("}\n");
    out
}

/// A test that was written before.
pub struct Kept {
    /// The sources.
    pub files: Vec<Text>,
    /// What they are.
    pub program: Program,
    /// The scenario.
    pub scenario: Scenario,
    /// The name of the anomaly.
    pub anomaly: String,
    /// The directory.
    pub directory: String,
}

/// Reads the directory of a test, or the file of a broken invariant in it.
pub fn read(place: &str) -> Result<Kept, Failure> {
    let given = Path::new(place);
    let (directory, path) = match given.is_file() {
        true => (given.parent().unwrap_or(Path::new("")), given.to_path_buf()),
        false => (given, given.join(SCENARIO)),
    };
    let name = path.display().to_string();
    let failed = |problem: String| Failure::with(&name, problem);
    let text = std::fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| failed(format!("no JSON: {e}")))?;
    let sources = json["sources"].as_array().ok_or_else(|| {
        failed("'sources' is missing: not a file that 'isolde program --out' wrote".into())
    })?;
    let mut files = Vec::new();
    for source in sources {
        let (Some(shown), Some(kept)) = (source["name"].as_str(), source["kept"].as_str()) else {
            return Err(failed("a source without a name".into()));
        };
        // A name, not a path: nothing outside of the directory is read.
        let kept = Path::new(kept).file_name().unwrap_or_default();
        let path = directory.join(SOURCES).join(kept);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|e| Failure::with(&path.display().to_string(), e))?;
        files.push(Text {
            name: shown.to_string(),
            text,
        });
    }
    let program = understand(&files)?;
    let scenario = scenario_from_json(&program, &json).map_err(failed)?;
    let anomaly = json["anomaly"].as_str().unwrap_or("anomaly").to_string();
    Ok(Kept {
        files,
        program,
        scenario,
        anomaly,
        directory: directory.display().to_string(),
    })
}
