//! What the binary prints as JSON is what docs/schema says, and nothing besides.

use super::{Folder, corpus, isolde, pages};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The files of docs/schema.
const FILES: [&str; 14] = [
    "check.json",
    "levels.json",
    "matrix.json",
    "model-estimate.json",
    "model-list.json",
    "model-mutants.json",
    "model-replay.json",
    "model-simulate.json",
    "model-table.json",
    "model.json",
    "program-replay.json",
    "program-robust.json",
    "program.json",
    "run.json",
];

/// The part of JSON Schema that docs/schema uses. Stricter in one thing: a field that no schema mentions is a
/// problem, so that none goes undocumented.
struct Schemas(HashMap<&'static str, Value>);

impl Schemas {
    fn read() -> Schemas {
        let read = |name: &'static str| {
            let text = pages::read(&format!("docs/schema/{name}"));
            (name, serde_json::from_str(&text).expect("a schema is JSON"))
        };
        Schemas(FILES.map(read).into())
    }

    /// Fails unless the value is what the file says.
    fn accept(&self, file: &'static str, value: &Value) {
        let problem = self.problem(file, &self.0[file], value, "");
        assert!(problem.is_none(), "{file}: {problem:?} in {value}");
    }

    /// What is wrong with a value, and where. The values come from our own binary, which nests them a few levels.
    fn problem(&self, file: &str, schema: &Value, value: &Value, at: &str) -> Option<String> {
        let schema = schema.as_object().expect("a schema is an object");
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let (other, path) = target.split_once('#').expect("a place in a file");
            let other = if other.is_empty() { file } else { other };
            let target = self.0[other].pointer(path).expect("a place that is there");
            return self.problem(other, target, value, at);
        }
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            let problems: Option<Vec<String>> = choices
                .iter()
                .map(|choice| self.problem(file, choice, value, at))
                .collect();
            return problems.map(|all| format!("{at}: none of: {}", all.join("; ")));
        }
        if let Some(known) = schema.get("enum").and_then(Value::as_array)
            && !known.contains(value)
        {
            return Some(format!("{at}: {value} is none of {known:?}"));
        }
        if !has_type(schema, value) {
            return Some(format!("{at}: {value} is no {}", schema["type"]));
        }
        let least = schema.get("minimum").and_then(Value::as_f64);
        if let (Some(least), Some(number)) = (least, value.as_f64())
            && number < least
        {
            return Some(format!("{at}: {number} is below {least}"));
        }
        match value {
            Value::Object(fields) => self.fields(file, schema, fields, at),
            Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
                let of_items = schema.get("items").expect("an array has items");
                self.problem(file, of_items, item, &format!("{at}/{place}"))
            }),
            _ => None,
        }
    }

    fn fields(
        &self,
        file: &str,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        at: &str,
    ) -> Option<String> {
        let none = Map::new();
        let known = schema
            .get("properties")
            .map_or(&none, |p| p.as_object().expect("an object"));
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
            return Some(format!("{at}: {missing} is missing"));
        }
        fields.iter().find_map(|(name, value)| {
            let place = format!("{at}/{name}");
            match known
                .get(name)
                .or_else(|| schema.get("additionalProperties"))
            {
                Some(schema) => self.problem(file, schema, value, &place),
                None => Some(format!("{place}: no schema mentions it")),
            }
        })
    }
}

fn has_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let fits = |name: &Value| match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the validator does not know the type {other}"),
    };
    match schema.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().any(fits),
        Some(name) => fits(name),
    }
}

#[test]
fn checks_keep_the_schema() {
    let schemas = Schemas::read();
    let files = [
        "levels/bank-transfer.jsonl",
        "levels/write-skew.txt",
        "levels/long-fork.txt",
        "patterns/h-fractured-read.txt",
        "elle/dgraph-read-skew.edn",
        "elle/crossed-registers.edn",
    ];
    let mut seen = 0;
    for file in files {
        for options in [
            &[][..],
            &["--keys", "linearizable"],
            &["--timeout", "0.000001"],
        ] {
            let mut args = vec!["check", "--json"];
            args.extend(options);
            let file = corpus(file);
            args.push(&file);
            let object = isolde(&args).json();
            schemas.accept("check.json", &object);
            seen += object["results"].as_array().expect("results").len();
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn ambiguous_writers_and_sets_keep_the_schema() {
    let folder = Folder::new("schema");
    let schemas = Schemas::read();
    for (seed, anomaly) in ["lost-update", "write-skew", "G1c", "fractured-read"]
        .iter()
        .enumerate()
    {
        for datatype in ["registers", "lists", "mixed"] {
            let file = folder.path("generated.jsonl");
            let seed = seed.to_string();
            let size = [
                "--sessions",
                "4",
                "--txns",
                "20",
                "--ops",
                "4",
                "--keys",
                "9",
            ];
            let mut args = vec![
                "generate",
                "-o",
                &file,
                "--anomaly",
                anomaly,
                "--seed",
                &seed,
            ];
            args.extend(["--datatype", datatype, "--indeterminate", "0.05", "--times"]);
            args.extend(size);
            if isolde(&args).code == 0 {
                schemas.accept("check.json", &isolde(&["check", "--json", &file]).json());
            }
        }
    }
}

#[test]
fn runs_keep_the_schema() {
    let folder = Folder::new("schema-run");
    let schemas = Schemas::read();
    for (place, isolation, workload) in [
        ("good", "serializable", "bank"),
        ("bad", "read uncommitted", "registers"),
    ] {
        let directory = folder.path(place);
        let args = [
            "run", "sqlite", "--json", "-n", "300", "-c", "4", "--seed", "7", "--replay", "2",
            "--aborts", "0.3", "--keys", "20", "-l", "ser", "-i", isolation, "-w", workload, "-o",
            &directory,
        ];
        let run = isolde(&args);
        assert!(run.code <= 1, "{}\n{}", run.err, run.out);
        schemas.accept("run.json", &run.json());
        let report = std::fs::read_to_string(folder.path(&format!("{place}/report.json")));
        let report: Value = serde_json::from_str(&report.expect("a report")).expect("JSON");
        schemas.accept("run.json", &report);
    }
}

#[test]
fn models_and_levels_keep_the_schema() {
    let schemas = Schemas::read();
    let small = ["--txns", "2", "--keys", "1", "--json"];
    for protocol in ["rola/no-abort-message", "2pl", "cassandra-one"] {
        let args = [&["model", protocol][..], &small].concat();
        schemas.accept("model.json", &isolde(&args).json());
    }
    let levels = isolde(&["levels", "--json"]).json();
    schemas.accept("levels.json", &levels);
    let names: Vec<&Value> = levels
        .as_array()
        .expect("an array")
        .iter()
        .map(|level| &level["name"])
        .collect();
    assert_eq!(
        json!(names),
        schemas.0["check.json"]["$defs"]["level"]["enum"]
    );
}

#[test]
fn every_schema_is_on_the_page_about_scripts() {
    let page = pages::read("docs/ci.md");
    let root = env!("CARGO_MANIFEST_DIR");
    let files = std::fs::read_dir(format!("{root}/docs/schema")).expect("the schemas");
    let names = files.map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into()).collect();
    names.sort();
    assert_eq!(names, FILES);
    for name in FILES {
        let link = format!("[schema/{name}](schema/{name})");
        assert!(page.contains(&link), "{link}");
    }
}

#[test]
fn matrices_keep_the_schema() {
    let schemas = Schemas::read();
    let args = ["matrix", "sqlite", "--json", "--runs", "1", "--workloads"];
    let size = ["registers", "-n", "200", "-c", "4", "--seed", "7"];
    let matrix = isolde(&[&args[..], &size].concat()).json();
    schemas.accept("matrix.json", &matrix);
    // Whether a dirty read happens is up to the scheduler.
    let settings = matrix["settings"].as_array().expect("settings");
    assert_eq!(settings.len(), 2, "{matrix}");
}

#[test]
fn other_answers_about_models_keep_their_schemas() {
    let schemas = Schemas::read();
    let folder = Folder::new("schema-model");
    let directory = folder.path("found");
    let ask = |args: &[&str]| isolde(&[&["model"][..], args, &["--json"]].concat()).json();
    schemas.accept("model-list.json", &ask(&[]));
    schemas.accept("model-mutants.json", &ask(&["mutants", "rola"]));
    let table = ask(&["table", "faster", "--txns", "1"]);
    schemas.accept("model-table.json", &table);
    let simulated = ask(&["simulate", "walter", "-l", "psi", "-l", "ser", "-n", "200"]);
    schemas.accept("model-simulate.json", &simulated);
    let found = &simulated["models"][0]["results"][1]["found"];
    assert!(found["seed"].is_u64(), "{simulated}");
    let estimate = ask(&["estimate", "ramp-f", "-l", "ra", "-n", "50"]);
    schemas.accept("model-estimate.json", &estimate);
    let setup = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
    let asked = ["ramp-f", "-l", "cs", "--setup", setup, "-o", &directory];
    let asked = ask(&asked);
    schemas.accept("model.json", &asked);
    let files = asked["models"][0]["results"][0]["counterexample"]["files"].as_array();
    let files = files.expect("files").iter().filter_map(Value::as_str);
    let mut files = files.filter(|file| file.ends_with(".replay.json"));
    let file = files.next().expect("a replay");
    let replayed = ask(&["replay", file]);
    schemas.accept("model-replay.json", &replayed);
    assert_eq!(replayed["violated"], true, "{replayed}");
}

#[test]
fn programs_keep_their_schemas() {
    let schemas = Schemas::read();
    let folder = Folder::new("schema-program");
    let directory = folder.path("tests");
    let ask = |args: &[&str]| isolde(&[&["program"][..], args, &["--json"]].concat()).json();
    let mut scenarios = 0;
    for file in ["lost_update", "write_skew", "dirty_read", "nonrep_read"] {
        let file = format!("programs/micro/{file}.sql");
        let small = ["--instances", "2", "--replay", "store"];
        let found = ask(&[&[file.as_str()][..], &small].concat());
        schemas.accept("program.json", &found);
        let anomalies = found["anomalies"].as_array().expect("anomalies");
        scenarios += anomalies
            .iter()
            .filter(|a| !a["scenario"].is_null())
            .count();
    }
    assert!(scenarios >= 2, "{scenarios}");
    let lost_update = "programs/micro/lost_update.sql";
    ask(&[lost_update, "--instances", "2", "--out", &directory]);
    let test = format!("{directory}/001-lost-update");
    schemas.accept("program-replay.json", &ask(&["replay", &test]));
    for (file, answer) in [("smallbank", "not robust"), ("auction", "robust")] {
        let file = format!("programs/{file}.sql");
        let robust = ask(&["robust", &file, "-l", "rc", "--subsets", "--advice"]);
        schemas.accept("program-robust.json", &robust);
        assert_eq!(robust["answers"][0]["answer"], answer, "{robust}");
    }
}

#[test]
fn the_validator_refuses_what_is_wrong() {
    let schemas = Schemas::read();
    let file = corpus("levels/bank-transfer.jsonl");
    let good = isolde(&["check", "--json", "-l", "ra", &file]).json();
    let broken = |change: fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        schemas.problem("check.json", &schemas.0["check.json"], &value, "")
    };
    assert_eq!(broken(|_| ()), None);
    for (change, part) in [
        (
            (|v| v["surprise"] = json!(1)) as fn(&mut Value),
            "/surprise",
        ),
        (
            |v| v["results"][0]["verdict"] = json!("maybe"),
            "/results/0/verdict",
        ),
        (|v| v["history"]["keys"] = json!(-1), "below 0"),
        (
            |v| v["results"][0]["seconds"] = json!("1"),
            "/results/0/seconds",
        ),
        (
            |v| v["results"][0]["anomalies"][0]["edges"][0]["because"] = json!({}),
            "none of",
        ),
        (
            |v| drop(v.as_object_mut().map(|o| o.remove("file"))),
            "file is missing",
        ),
    ] {
        let problem = broken(change).expect("a problem");
        assert!(problem.contains(part), "{problem}");
    }
}
