//! `isolde program` on a real server: advice is played, and tests that were written play again.

use super::install::has;
use super::{directory, isolde, one_at_a_time, texts};
use serde_json::Value;

/// Runs `isolde program` with these arguments; the exit code and what it printed.
fn program(arguments: &[&str]) -> (i32, String) {
    let mut command = isolde();
    command.arg("program").args(arguments);
    let output = command.output().expect("isolde runs");
    let (out, err) = texts(&output);
    assert!(!err.contains("panicked"), "{err}");
    let code = output.status.code().expect("no signal ended it");
    assert!(!out.is_empty(), "{err}");
    (code, out)
}

#[test]
fn what_is_advised_is_played_before_and_after() {
    if !has("postgres") {
        return;
    }
    let _guard = one_at_a_time();
    let arguments = [
        "robust",
        "programs/smallbank.sql",
        "-l",
        "si",
        "--advice",
        "--replay",
        "postgres",
        // However slow the machine is.
        "--timeout",
        "0",
    ];
    let (code, out) = program(&arguments);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("manifested at repeatable-read; then"), "{out}");
    assert!(!out.contains("STILL THERE"), "{out}");
    let (_, out) = program(&[&arguments[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let advice = &answer["advice"];
    let mut played = Vec::new();
    for list in [&advice["all_at_played"], &advice["each_at_played"]] {
        played.extend(list.as_array().into_iter().flatten());
    }
    for repair in advice["repairs"].as_array().expect("repairs") {
        let own = repair["played"].as_array().expect("played");
        assert!(!own.is_empty(), "{repair}");
        played.extend(own);
    }
    // Read committed and snapshot isolation, each by all serializable, by levels, by promotions.
    assert!(played.len() >= 5, "{advice}");
    for trial in played {
        assert_eq!(trial["before"]["outcome"], "manifested", "{trial}");
        assert_ne!(trial["after"]["outcome"], "manifested", "{trial}");
    }
}

#[test]
fn every_test_that_is_written_plays_again() {
    if !has("postgres") {
        return;
    }
    let _guard = one_at_a_time();
    let root = directory("program-tests");
    let root = root.to_str().expect("a path");
    program(&["programs/micro/write_skew.sql", "-l", "si", "--out", root]);
    let mut tests: Vec<String> = std::fs::read_dir(root)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .collect();
    tests.sort();
    assert!(!tests.is_empty());
    let svg = std::fs::read_to_string(format!("{}/cycle.svg", tests[0])).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains("</svg>"), "{svg}");
    let mut arguments = vec!["replay", "--on", "postgres", "--on", "store", "--json"];
    arguments.extend(["--isolation", "repeatable-read"]);
    arguments.extend(tests.iter().map(String::as_str));
    let (code, out) = program(&arguments);
    assert_eq!(code, 1, "{out}");
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    for test in answer["tests"].as_array().expect("tests") {
        for played in test["played"].as_array().expect("played") {
            assert_eq!(played["outcome"], "manifested", "{test}");
        }
    }
    let _ = std::fs::remove_dir_all(root);
}
