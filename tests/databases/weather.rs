//! Bad weather: killed servers, a killed Isolde, wrong names and passwords, disks that are full.

use crate::install::has;
use crate::{directory, isolde, one_at_a_time, run, texts, verdict};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_killed_server_costs_no_verdict() {
    let _guard = one_at_a_time();
    if !has("postgres") {
        return;
    }
    let arguments = [
        "postgres",
        "-i",
        "serializable",
        "-t",
        "6",
        "--fault",
        "kill",
        "--fault",
        "pause",
        "--fault-every",
        "1.5",
        "--fault-for",
        "0.4",
    ];
    let (code, report) = run(&arguments);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verdict(&report, "serializable"), "holds");
    assert!(
        report["run"]["faults"].as_u64() > Some(1),
        "{}",
        report["run"]
    );
}

#[test]
fn a_killed_isolde_leaves_a_recording_that_checks() {
    for wait_ms in [150, 400, 900] {
        let place = directory(&format!("killed-{wait_ms}"));
        let mut command = isolde();
        command
            .args(["run", "sqlite", "-t", "30", "--seed", "1", "--output"])
            .arg(&place);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("isolde runs");
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().expect("killed");
        let _ = child.wait();
        let recording = place.join("history.jsonl");
        if !recording.exists() {
            println!("killed before the recording began, after {wait_ms} ms");
            continue;
        }
        let mut check = isolde();
        check
            .arg("check")
            .arg(&recording)
            .args(["--level", "strict-serializable"]);
        let output = check.output().expect("isolde runs");
        assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
        let _ = std::fs::remove_dir_all(&place);
    }
}

#[test]
fn what_a_killed_isolde_left_running_is_cleaned_up() {
    let _guard = one_at_a_time();
    if !has("redis") {
        return;
    }
    let place = directory("left");
    let mut command = isolde();
    command
        .args(["run", "redis", "-t", "30", "--output"])
        .arg(&place);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("isolde runs");
    let recording = place.join("history.jsonl");
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        if recording.metadata().is_ok_and(|about| about.len() > 10_000) {
            break;
        }
    }
    let before = servers_of(child.id());
    child.kill().expect("killed");
    let _ = child.wait();
    assert!(!before.is_empty(), "a server was running");
    let (code, _) = run(&["redis", "-n", "100"]);
    assert_eq!(code, 0);
    assert!(
        !before.iter().any(|pid| is_running(*pid)),
        "{before:?} still run"
    );
    let _ = std::fs::remove_dir_all(&place);
}

/// Whether a process runs; one that nobody has waited for yet does not.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    !matches!(state.split_whitespace().next(), None | Some("Z" | "X"))
}

/// The processes that were started by this one.
fn servers_of(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default();
        after.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

#[test]
fn wrong_names_are_explained() {
    for (database, part) in [
        ("postgrse", "neither a server"),
        ("galera:99", "galera:99"),
        ("oracle://h/db", "no driver for 'oracle'"),
        ("sqlite:/no/such/place/db", "/no/such/place/db"),
        ("exec:/no/such/program", "/no/such/program"),
        ("postgres://me:hush@127.0.0.1:1/db", "127.0.0.1"),
    ] {
        let mut command = isolde();
        command.args(["run", database, "-n", "10", "--patience", "1", "--output"]);
        command.arg(directory("wrong"));
        let output = command.output().expect("isolde runs");
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{database}: {out}{err}");
        assert!(err.contains(part), "{database}: {err}");
        assert!(!format!("{out}{err}").contains("hush"), "{database}: {err}");
    }
    let output = isolde()
        .args(["run", "sqlite", "-i", "causal"])
        .output()
        .expect("isolde runs");
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("read uncommitted"), "{err}");
    let output = isolde()
        .args(["run", "sqlite", "-w", "bonk"])
        .output()
        .expect("isolde runs");
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("long-fork"), "{err}");
}

#[test]
fn a_run_that_committed_nothing_shows_nothing() {
    let (code, report) = run(&["sqlite", "-n", "0"]);
    assert_eq!(code, 3, "{report}");
}

#[test]
fn numbers_of_any_size_are_taken() {
    let arguments = ["sqlite", "-n", "50", "-t", "1e300", "--patience", "1e300"];
    let (code, report) = run(&arguments);
    assert_eq!(code, 0, "{report}");
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_the_recording() {
    let place = directory("full");
    std::fs::create_dir_all(&place).expect("a directory");
    let program = env!("CARGO_BIN_EXE_isolde");
    // Files of at most 256 blocks: what is written beyond is refused, as on a full disk.
    let script = format!(
        "trap '' XFSZ; ulimit -f 256; exec {program} run sqlite::memory: -t 20 --seed 1 --output {}",
        place.join("out").display()
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .output()
        .expect("bash runs");
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(err.contains("recording"), "{err}");
    let mut check = isolde();
    check.arg("check").arg(place.join("out/history.jsonl"));
    check.args(["--level", "strict-serializable"]);
    let checked = check.output().expect("isolde runs");
    assert_eq!(checked.status.code(), Some(0), "{:?}", texts(&checked));
    let _ = std::fs::remove_dir_all(&place);
}
