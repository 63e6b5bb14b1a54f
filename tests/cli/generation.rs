//! `generate`: the same bytes from the same seed, the level asked for, the anomalies planted.

use super::{Folder, isolde};
use history::{ANOMALIES, LEVELS};

const SMALL: [&str; 8] = [
    "--sessions",
    "5",
    "--txns",
    "20",
    "--ops",
    "6",
    "--keys",
    "12",
];

fn generate(args: &[&str]) -> super::Run {
    let mut all = vec!["generate"];
    all.extend(SMALL);
    all.extend(args);
    isolde(&all)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new("same-seed");
    for (name, datatype) in [
        ("a.txt", "registers"),
        ("a.jsonl", "lists"),
        ("a.parquet", "lists"),
    ] {
        let bytes = |seed: &str, file: &str| {
            let path = folder.path(file);
            let path = path.as_str();
            generate(&["-o", path, "--seed", seed, "--datatype", datatype]).exits(0);
            std::fs::read(path).expect("a file")
        };
        let first = bytes("7", name);
        assert_eq!(first, bytes("7", &format!("again-{name}")), "{name}");
        assert_ne!(first, bytes("8", &format!("other-{name}")), "{name}");
    }
}

#[test]
fn every_level_is_simulated_and_kept() {
    for row in &LEVELS {
        generate(&["--check", "--level", row.name])
            .exits(0)
            .says(&["as expected"]);
    }
    for alias in ["rc", "ra", "cc", "si", "ser", "sser"] {
        generate(&["--check", "--level", alias]).exits(0);
    }
}

#[test]
fn every_anomaly_is_planted_and_found() {
    for row in &ANOMALIES {
        let registers = generate(&["--check", "--anomaly", row.name]);
        let run = match registers.code {
            2 => generate(&["--check", "--anomaly", row.name, "--datatype", "lists"]),
            _ => registers,
        };
        run.exits(0)
            .says(&[&format!("planted and found: {}", row.name)]);
    }
}

#[test]
fn many_anomalies_are_found_together() {
    let mut args = vec!["--check"];
    for row in ANOMALIES.iter().filter(|row| row.name != "G0") {
        args.extend(["--anomaly", row.name]);
    }
    generate(&args)
        .exits(0)
        .says(&["planted and found: thin-air-read, aborted-read"]);
}

#[test]
fn shapes_are_kept() {
    let folder = Folder::new("shapes");
    let path = folder.path("shape.jsonl");
    let args = [
        "-o",
        &path,
        "--aborted",
        "0.3",
        "--indeterminate",
        "0.2",
        "--times",
    ];
    generate(&args).exits(0);
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.contains("\"aborted\"") && text.contains("\"indeterminate\""));
    assert!(text.contains("\"start\""));
    let json = isolde(&["check", "--json", &path]).exits(0).json();
    assert_eq!(json["history"]["transactions"], 100);
    assert_eq!(json["history"]["operations"], 600);
    for distribution in ["uniform", "zipfian", "hotspot"] {
        generate(&["--check", "--distribution", distribution]).exits(0);
    }
}

#[test]
fn shapes_that_make_no_sense_are_refused() {
    for args in [
        ["--reads", "1.5"],
        ["--aborted", "-0.1"],
        ["--theta", "many"],
        ["--seed", "-3"],
        ["--level", "chaos"],
    ] {
        generate(&["--check", args[0], args[1]]).exits(2);
    }
    isolde(&["generate", "--check", "--sessions", "0"])
        .exits(2)
        .complains(&["sessions"]);
    isolde(&[
        "generate",
        "--check",
        "--sessions",
        "4000000000",
        "--txns",
        "4000000000",
    ])
    .exits(2);
    isolde(&["generate"]).exits(2).complains(&["--output"]);
}
