//! `--timeout` and `--memory`: exit code 3 and a report, also where no engine asks.

use super::{Folder, Run, command, corpus, isolde, started};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_short_timeout_gives_unknown() {
    let folder = Folder::new("timeout");
    let path = folder.path("big.jsonl");
    isolde(&["generate", "-o", &path, "--txns", "400"]).exits(0);
    let run = isolde(&["check", &path, "--timeout", "0.000001"]).exits(3);
    run.says(&["unknown   causal", "timeout of 0.000001 s"]);
    let json = isolde(&["check", &path, "--timeout", "0.000001", "--json"])
        .exits(3)
        .json();
    assert_eq!(json["results"].as_array().map(Vec::len), Some(19));
    assert_eq!(json["results"][0]["verdict"], "unknown");
    isolde(&["check", &path, "--timeout", "600", "--memory", "8"]).exits(0);
}

/// About fifty megabytes of text do not fit in fifty megabytes of memory.
#[test]
fn a_file_beyond_the_memory_limit_gives_unknown() {
    let folder = Folder::new("memory");
    let path = folder.path("big.txt");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
    for txn in 0..3_200_000 {
        writeln!(file, "w({},{txn},0,{txn})", txn % 10).expect("space for 50 MB");
    }
    drop(file);
    let started = Instant::now();
    let run = isolde(&["check", &path, "--memory", "0.04", "--json"]).exits(3);
    assert!(started.elapsed() < Duration::from_secs(20));
    let reason = run.json()["results"][0]["reason"].to_string();
    assert!(
        reason.contains("memory limit") && reason.contains("0.04 GiB allowed"),
        "{reason}"
    );
    std::fs::remove_file(&path).expect("the file goes");
}

/// Nothing that reads from a silent pipe asks about limits; the watchdog does.
#[test]
fn a_pipe_that_never_ends_gives_unknown() {
    let other = corpus("levels/serial.txt");
    for json in [false, true] {
        let mut args = vec!["check", "-", &other, "--timeout", "0.2"];
        if json {
            args.push("--json");
        }
        let (child, mut pipe) = started(&args);
        pipe.write_all(b"w(1,1,0,0)\n").expect("the binary reads");
        let run = Run::of(child.wait_with_output().expect("the binary ends")).exits(3);
        drop(pipe);
        if json {
            let lines: Vec<&str> = run.out.lines().collect();
            assert_eq!(lines.len(), 2, "one object a file");
            for line in lines {
                let object: serde_json::Value = serde_json::from_str(line).expect("an object");
                assert_eq!(object["results"][9]["verdict"], "unknown");
                assert_eq!(object["strongest"], serde_json::json!([]));
            }
        } else {
            run.says(&[
                "timeout of 0.2 s (stage: reading)",
                "serial.txt",
                "not reached",
            ]);
        }
    }
}

/// Sends the signal of Ctrl-C.
fn interrupt(child: &std::process::Child) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(sent.expect("kill runs").success());
}

/// An interruption while a pipe is read: nothing is known yet, but there is a report.
#[test]
fn an_interruption_gives_unknown() {
    let (child, mut pipe) = started(&["check", "-", "-l", "serializable"]);
    pipe.write_all(b"w(1,1,0,0)\n").expect("the binary reads");
    // The binary must have come to listen before it is interrupted.
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&child);
    let run = Run::of(child.wait_with_output().expect("the binary ends")).exits(3);
    drop(pipe);
    run.says(&["unknown   serializable", "interrupted (stage: reading)"]);
}

/// Few reads of arbitrary versions among blind writes: nothing but a search can order these. (Many contradict each other.)
fn hard_history() -> String {
    let mut random = 7u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005);
        random = random.wrapping_add(1);
        (random >> 33) as usize % limit
    };
    let mut text = String::new();
    let mut written: Vec<Vec<u32>> = vec![Vec::new(); 40];
    for txn in 0..20_000 {
        let first = below(40);
        for key in [first, (first + 1 + below(39)) % 40] {
            written[key].push(txn + 1);
            text.push_str(&format!("w({key},{},{txn},{txn})\n", txn + 1));
        }
    }
    for txn in 20_000..20_400 {
        let first = below(40);
        for key in [first, (first + 1 + below(39)) % 40] {
            if !written[key].is_empty() {
                let version = written[key][below(written[key].len())];
                text.push_str(&format!("r({key},{version},{txn},{txn})\n"));
            }
        }
    }
    text
}

/// An interruption of a search: the stage is named, and answers found before it stay.
#[test]
fn an_interruption_of_a_search_names_the_stage() {
    let folder = Folder::new("interrupted");
    let (easy, hard) = (
        corpus("levels/serial.txt"),
        folder.file("hard.txt", hard_history()),
    );
    let child = command(&["check", &easy, &hard, &easy, "-l", "snapshot-isolation"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(&child);
    let run = Run::of(child.wait_with_output().expect("the binary ends")).exits(3);
    run.says(&[
        "holds     snapshot-isolation",
        "interrupted (stage: ",
        "not reached: ",
    ]);
}

/// Writes a text again and again until nobody reads on; returns how much was taken, and what came of it.
fn fed_for_ever(args: &[&str], text: &[u8]) -> (usize, Run) {
    let (child, mut pipe) = started(args);
    let block = text.repeat((1 << 16) / text.len() + 1);
    let mut taken = 0;
    // An end, should the binary never stop reading.
    while taken < 1 << 30 && pipe.write_all(&block).is_ok() {
        taken += block.len();
    }
    drop(pipe);
    let output = child.wait_with_output().expect("the binary ends");
    (taken, Run::of(output))
}

#[test]
fn a_stream_that_is_no_history_is_refused_by_its_beginning() {
    let (taken, run) = fed_for_ever(&["check", "-"], b"y\n");
    run.exits(2)
        .complains(&["standard input: the format is unknown", "`y\\ny"]);
    assert!(taken < 8 << 20, "{taken} bytes were read");
    if std::path::Path::new("/dev/zero").exists() {
        isolde(&["check", "/dev/zero"])
            .exits(2)
            .complains(&["/dev/zero", "only zero bytes"]);
    }
}

#[test]
fn a_stream_beyond_the_memory_limit_gives_unknown() {
    let args = ["check", "-", "--memory", "0.1", "--json"];
    let (taken, run) = fed_for_ever(&args, b"w(1,1,0,1)\n");
    let reason = run.exits(3).json()["results"][0]["reason"].to_string();
    assert!(
        reason.contains("memory limit") && reason.contains("stage: reading"),
        "{reason}"
    );
    assert!(taken < 256 << 20, "{taken} bytes were read");
}
