//! SQLite in this process: the first command of the README, and what can be tried without a server.

use crate::{directory, isolde, kinds, run, texts, verdict};
use std::process::Command;

#[test]
fn the_first_command_shows_both_sides_of_sqlite() {
    let place = directory("tour");
    std::fs::create_dir_all(&place).expect("a directory");
    let output = isolde()
        .arg("run")
        .args(["--seed", "1"])
        .current_dir(&place)
        .output();
    let output = output.expect("isolde runs");
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(
        out.contains("promised  strict-serializable: holds"),
        "{out}"
    );
    // Both are dirty reads; which of them clients run into, and whether in this recording both, is chance.
    let dirty = ["aborted-read", "intermediate-read"];
    let is_shown = |kind: &&str| out.contains(&format!("read-committed is violated: {kind}"));
    assert!(dirty.iter().any(is_shown), "{out}");
    assert!(out.contains("select v from isolde_kv"), "{out}");
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn every_workload_holds_on_sqlite() {
    let help = isolde()
        .args(["run", "-w", "help"])
        .output()
        .expect("isolde runs");
    let (names, _) = texts(&help);
    let names: Vec<&str> = names
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let arguments = ["sqlite", "-w", name, "-n", "400", "--wait", "20", "-c", "4"];
        let (code, report) = run(&arguments);
        // Sums of counters that many sets of increments explain may stay without an answer.
        let undecided = ["counters", "mixed", "bank"].contains(&name);
        assert!(
            code == 0 || code == 3 && undecided,
            "{name}: {code} {report}"
        );
        assert!(kinds(&report).is_empty(), "{name}: {:?}", kinds(&report));
        assert!(
            report["run"]["committed"].as_u64() > Some(0),
            "{name}: {report}"
        );
    }
}

#[test]
fn a_dirty_read_is_replayed_as_a_script() {
    let arguments = [
        "sqlite",
        "-i",
        "read uncommitted",
        "--keys",
        "50",
        "--aborts",
        "0.3",
        "--replay",
        "5",
    ];
    let (code, report) = run(&arguments);
    assert_eq!(code, 0);
    assert_eq!(verdict(&report, "read-committed"), "violated");
    assert_eq!(report["replay"]["reproduced"], true, "{}", report["replay"]);
    assert_eq!(report["replay"]["shown"], 5, "{}", report["replay"]);
}

#[test]
fn a_broken_promise_reaches_junit_and_sarif() {
    let place = directory("files");
    std::fs::create_dir_all(&place).expect("a directory");
    let (junit, sarif) = (place.join("junit.xml"), place.join("sarif.json"));
    let mut command = isolde();
    command.args([
        "run",
        "sqlite",
        "-i",
        "read uncommitted",
        "--keys",
        "50",
        "--aborts",
        "0.3",
    ]);
    command.args(["--level", "read-committed", "--seed", "3"]);
    command
        .arg("--junit")
        .arg(&junit)
        .arg("--sarif")
        .arg(&sarif);
    command.arg("--output").arg(place.join("out"));
    let output = command.output().expect("isolde runs");
    assert_eq!(output.status.code(), Some(1), "{:?}", texts(&output));
    let xml = std::fs::read_to_string(&junit).expect("JUnit XML");
    assert!(
        xml.contains("failures=\"1\"") && xml.contains("aborted-read"),
        "{xml}"
    );
    let text = std::fs::read_to_string(&sarif).expect("SARIF");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["version"], "2.1.0");
    let results = value["runs"][0]["results"].as_array().expect("results");
    assert!(
        results
            .iter()
            .any(|result| result["ruleId"] == "aborted-read"),
        "{text}"
    );
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn the_first_violation_ends_the_run_on_request() {
    let arguments = [
        "sqlite",
        "-i",
        "read uncommitted",
        "--level",
        "read-committed",
        "--keys",
        "20",
        "--aborts",
        "0.3",
        "-t",
        "60",
        "--stop-at-first",
    ];
    let (code, report) = run(&arguments);
    assert_eq!(code, 1);
    assert!(
        report["run"]["seconds"].as_f64() < Some(30.0),
        "{}",
        report["run"]
    );
}

#[test]
fn the_matrix_tells_what_each_setting_delivers() {
    let mut command = isolde();
    command.args([
        "matrix",
        "sqlite",
        "--runs",
        "2",
        "--workloads",
        "registers",
    ]);
    // So few keys that some of four thousand transactions read what an aborted one wrote, on a busy machine, too.
    command.args([
        "-n", "4000", "--seed", "5", "--keys", "4", "--aborts", "0.3", "--json",
    ]);
    let output = command.output().expect("isolde runs");
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let rows = value["settings"].as_array().expect("settings");
    assert_eq!(rows.len(), 2, "{out}");
    assert_eq!(rows[0]["delivered"][0], "strict-serializable", "{out}");
    assert_eq!(rows[1]["delivered"][0], "read-uncommitted", "{out}");
    assert!(rows[1]["anomalies"][0]["again"].as_str().is_some(), "{out}");
}

#[test]
fn a_driver_in_python_is_a_database() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3");
        return;
    }
    let driver = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/drivers/sqlite_driver.py"
    );
    let place = directory("python-data");
    std::fs::create_dir_all(&place).expect("a directory");
    let url = format!("exec:python3 {driver} {}", place.join("db").display());
    let (code, report) = run(&[&url, "-n", "300", "-c", "4"]);
    assert_eq!(code, 0, "{report}");
    let _ = std::fs::remove_dir_all(&place);
}
