//! `isolde model`: verdicts, findings with their files, replays, and what is refused.

use super::{Folder, isolde};

const LOST_UPDATE: &str = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
const FRACTURED: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";

#[test]
fn protocols_are_listed() {
    isolde(&["model"])
        .exits(0)
        .says(&["ramp-f", "walter", "promises psi", "isolde model NAME"]);
    let object = isolde(&["model", "--json"]).exits(0).json();
    let rows = object["protocols"].as_array().expect("an array");
    let walter = rows.iter().find(|row| row["name"] == "walter");
    let walter = walter.expect("Walter is there");
    assert_eq!(walter["promises"][0], "parallel-snapshot-isolation");
    assert!(walter["mutants"].as_array().is_some_and(|m| m.len() >= 3));
    isolde(&["model", "--workload", "help"])
        .exits(0)
        .says(&["lost-update/1", "long-fork/2"]);
}

#[test]
fn a_promise_that_is_kept_exits_with_0() {
    // RAMP does not promise that no update is lost, so that it shows is no failure.
    isolde(&[
        "model",
        "ramp-f",
        "--setup",
        LOST_UPDATE,
        "--setup",
        FRACTURED,
    ])
    .exits(0)
    .says(&["✓ read-atomic", "✗ cursor-stability", "lost-update"]);
}

#[test]
fn a_violated_property_exits_with_1_and_shows_the_run() {
    let run = isolde(&["model", "ramp-f", "-l", "cs", "--setup", LOST_UPDATE]).exits(1);
    let run = run.says(&["✗ cursor-stability", "lost-update", "t1 starts", "COMMITS"]);
    let widest = run.out.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 100), "{}", run.out);
}

#[test]
fn a_run_without_what_could_break_it_is_vacuous_not_a_tick() {
    let alone = "k1@s1 | s1: r(k1)";
    isolde(&["model", "walter", "-l", "si", "--setup", alone])
        .exits(3)
        .says(&["○ snapshot-isolation", "vacuous"]);
}

#[test]
fn a_limit_that_is_reached_is_unknown() {
    isolde(&[
        "model",
        "walter",
        "-l",
        "psi",
        "--states",
        "20",
        "--setup",
        LOST_UPDATE,
    ])
    .exits(3)
    .says(&["? parallel-snapshot-isolation", "NOT all visited"]);
}

#[test]
fn what_is_no_protocol_property_or_setup_is_refused() {
    isolde(&["model", "waltr"])
        .exits(2)
        .complains(&["waltr", "walter"]);
    isolde(&["model", "walter", "-l", "snapshot"])
        .exits(2)
        .complains(&["snapshot", "psi"]);
    isolde(&["model", "walter", "--setup", "k1@s1 | s1: x(k1)"])
        .exits(2)
        .complains(&["x(k1)"]);
    isolde(&["model", "walter", "--workload", "none"])
        .exits(2)
        .complains(&["none", "lost-update"]);
    isolde(&["model", "walter", "--mutant", "none"])
        .exits(2)
        .complains(&["none"]);
    isolde(&["model", "walter", "-l", "causal", "--form", "paper"])
        .exits(2)
        .complains(&["paper", "causal"]);
    isolde(&["model", "replay", "Cargo.toml"])
        .exits(2)
        .complains(&["Cargo.toml", "no replay"]);
}

#[test]
fn a_finding_is_written_and_replayed_and_its_history_judged_the_same() {
    let folder = Folder::new("model-files");
    let directory = folder.path("found");
    let args = [
        "model",
        "ramp-f",
        "-l",
        "cs",
        "--setup",
        LOST_UPDATE,
        "-o",
        &directory,
    ];
    isolde(&args).exits(1).says(&["ramp-f-cs.replay.json"]);
    let file = |extension: &str| format!("{directory}/ramp-f-cs.{extension}");
    let read = |extension: &str| std::fs::read_to_string(file(extension)).expect("a file");
    assert!(read("svg").starts_with("<svg"));
    assert!(read("html").contains("lost-update"));
    assert!(!read("html").contains("src=\"http"), "nothing is loaded");
    assert!(read("mmd").starts_with("sequenceDiagram"));
    assert!(read("chart.txt").contains("t1 COMMITS"));
    isolde(&["check", "--keys", "recorded", "-l", "cs", &file("jsonl")])
        .exits(1)
        .says(&["lost-update"]);
    isolde(&["model", "replay", &file("replay.json")])
        .exits(1)
        .says(&["t2 COMMITS", "cursor-stability is violated", "lost-update"]);
    let object = isolde(&["model", "replay", "--json", &file("replay.json")]).exits(1);
    assert_eq!(object.json()["violated"], true);
    let changed = read("replay.json").replace("t1 starts", "t1 sleeps");
    let changed = folder.file("changed.json", changed);
    isolde(&["model", "replay", &changed]).exits(2).complains(&[
        "the model changed",
        "step",
        "t1 sleeps",
        "t1 starts",
    ]);
    let other = read("replay.json").replace("\"ramp-f\"", "\"nobody\"");
    let other = folder.file("other.json", other);
    isolde(&["model", "replay", &other])
        .exits(2)
        .complains(&["nobody"]);
}

#[test]
fn one_object_has_everything() {
    let args = [
        "model",
        "ramp-f",
        "--json",
        "--form",
        "both",
        "--setup",
        LOST_UPDATE,
    ];
    let object = isolde(&args).exits(3).json();
    let model = &object["models"][0];
    assert_eq!(model["protocol"], "ramp-f");
    assert_eq!(model["evidence"]["exhausted"], true);
    assert_eq!(model["stuck"], serde_json::Value::Null);
    let results = model["results"].as_array().expect("results");
    assert_eq!(results.len(), 20);
    let of = |property: &str, form: &str| {
        let wanted = |r: &&serde_json::Value| r["property"] == property && r["form"] == form;
        results.iter().find(wanted).expect("a result")
    };
    for form in ["strict", "paper"] {
        assert_eq!(of("cursor-stability", form)["verdict"], "violated");
    }
    let found = &of("cursor-stability", "strict");
    assert_eq!(found["anomalies"][0]["kind"], "lost-update");
    assert!(
        found["counterexample"]["steps"]
            .as_array()
            .is_some_and(|s| s.len() > 4)
    );
    // Nobody reads two keys here, so that nobody saw half of a transaction says nothing.
    assert_eq!(of("read-atomic", "strict")["verdict"], "vacuous");
}

#[test]
fn mutants_are_noticed() {
    isolde(&["model", "mutants", "rola"])
        .exits(0)
        .says(&["✓ rola/no-check", "breaks in"]);
    let mutants = [
        "model",
        "rola",
        "--mutant",
        "no-check",
        "-l",
        "ua",
        "--setup",
        LOST_UPDATE,
    ];
    isolde(&mutants)
        .exits(1)
        .says(&["rola/no-check", "lost-update"]);
}

#[test]
fn the_table_stands_beside_the_published_one() {
    let args = ["model", "table", "jessy", "--txns", "1"];
    isolde(&args).says(&["jessy", "published", "Verdicts that differ", "psi"]);
    let object = isolde(&["model", "table", "faster", "--txns", "1", "--json"]).json();
    let cells = object["rows"][0]["cells"].as_array().expect("cells");
    let fractured = cells.iter().find(|cell| cell["property"] == "read-atomic");
    let fractured = fractured.expect("read-atomic");
    assert_eq!(fractured["verdict"], "violated");
    assert_eq!(fractured["published"], false);
    assert_eq!(fractured["differs"], false);
}

#[test]
fn chance_finds_what_is_there_and_proves_nothing() {
    let found = [
        "model",
        "simulate",
        "ramp-f",
        "-l",
        "cs",
        "--setup",
        LOST_UPDATE,
    ];
    let first = isolde(&found)
        .exits(1)
        .says(&["✗ cursor-stability", "seed"]);
    assert_eq!(
        first.out,
        isolde(&found).out,
        "the same seed, the same answer"
    );
    isolde(&["model", "simulate", "walter", "-l", "psi", "-n", "50"])
        .exits(3)
        .says(&["? parallel-snapshot-isolation", "50 runs"]);
    isolde(&["model", "estimate", "ramp-f", "-n", "50"])
        .exits(0)
        .says(&["aborted", "latency", "95 %"]);
}

#[test]
fn a_new_project_has_what_cargo_needs() {
    let folder = Folder::new("model-new");
    let project = folder.path("my store");
    isolde(&["model", "new", &project])
        .exits(0)
        .says(&["cargo run"]);
    let manifest = std::fs::read_to_string(format!("{project}/Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("name = \"my-store\""), "{manifest}");
    let main = std::fs::read_to_string(format!("{project}/src/main.rs")).expect("a program");
    assert!(main.contains("impl Protocol for Store"));
    isolde(&["model", "new", &project])
        .exits(2)
        .complains(&["is there already"]);
    let elsewhere = folder.path("other");
    isolde(&["model", "new", &elsewhere, "--isolde", &project])
        .exits(0)
        .says(&["other"]);
    let nowhere = folder.path("none");
    isolde(&["model", "new", &nowhere, "--isolde", "/nowhere"])
        .exits(2)
        .complains(&["--isolde"]);
}
