//! `check`: exit codes, the text, and the JSON that scripts read.

use super::{Folder, HOLDS, VIOLATED, command, corpus, isolde, isolde_reading};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn the_exit_code_is_the_verdict() {
    let (holds, violated) = (corpus(HOLDS), corpus(VIOLATED));
    isolde(&["check", &holds])
        .exits(0)
        .says(&["strongest that hold: strong-session-serializable"]);
    isolde(&["check", &violated]).exits(1).says(&[
        "violated  read-atomic                       fractured-read",
        "read-atomic is violated: fractured-read",
        "[TAP-h, read skew (A5A)]",
    ]);
    isolde(&["check", &violated, "--level", "rc"]).exits(0);
    isolde(&["check", "no-such-file"]).exits(2);
    isolde(&["check", &holds, "-l", "serializable"])
        .exits(0)
        .says(&["holds     serializable"]);
}

#[test]
fn a_stronger_level_is_violated_if_a_weaker_one_is() {
    isolde(&["check", &corpus(VIOLATED), "-l", "ser", "-l", "sser"])
        .exits(1)
        .says(&[
            "violated  strong-session-serializable",
            "violated  strict-serializable",
        ]);
}

#[test]
fn several_files_give_the_worst_exit_code() {
    let (holds, violated) = (corpus(HOLDS), corpus(VIOLATED));
    let both = isolde(&["check", &holds, &violated]).exits(1);
    assert!(both.out.contains(&holds) && both.out.contains(&violated));
    isolde(&["check", &violated, "no-such-file", &holds])
        .exits(2)
        .complains(&["no-such-file"])
        .says(&["serial.txt", "h-fractured-read.txt"]);
    isolde(&["check", &holds, &violated, "--certificate", "x"]).exits(2);
}

#[test]
fn several_files_give_one_json_object_a_line() {
    let run = isolde(&["check", "--json", &corpus(HOLDS), &corpus(VIOLATED)]).exits(1);
    let objects: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert_eq!(objects.len(), 2);
}

#[test]
fn standard_input_is_read() {
    let history = std::fs::read(corpus(VIOLATED)).expect("a file");
    isolde_reading(&["check", "-"], &history)
        .exits(1)
        .says(&["fractured-read"]);
    let packed = std::fs::read(corpus("formats/same.txt.gz")).expect("a file");
    isolde_reading(&["check", "-"], &packed).exits(0);
    isolde_reading(&["check", "-"], b"")
        .exits(2)
        .complains(&["empty"]);
}

/// The fields of every result, and those of every anomaly and edge in it.
fn assert_contract(object: &Value, verdicts: &[(&str, &str)]) {
    for field in ["sessions", "transactions", "operations", "keys"] {
        assert!(object["history"][field].is_u64(), "{field}");
    }
    assert!(object["strongest"].is_array());
    let results = object["results"].as_array().expect("results");
    assert_eq!(results.len(), verdicts.len());
    for (result, (level, verdict)) in results.iter().zip(verdicts) {
        assert_eq!(
            (&result["level"], &result["verdict"]),
            (&(*level).into(), &(*verdict).into())
        );
        assert!(result["seconds"].is_f64());
        for stage in result["stages"].as_array().expect("stages") {
            assert!(stage["name"].is_string() && stage["seconds"].is_f64());
            assert!(stage["counts"].is_object());
        }
        let anomalies = result["anomalies"].as_array().expect("anomalies");
        assert_eq!(anomalies.is_empty(), *verdict != "violated");
        assert_eq!(result["reason"].is_string(), *verdict == "unknown");
        for anomaly in anomalies {
            assert!(anomaly["kind"].is_string() && anomaly["explanation"].is_string());
            assert!(anomaly["count"].as_u64().is_some_and(|count| count > 0));
            assert!(
                anomaly["transactions"]
                    .as_array()
                    .is_some_and(|names| !names.is_empty())
            );
            for edge in anomaly["edges"].as_array().expect("edges") {
                assert!(edge["from"].is_string() && edge["to"].is_string());
                assert!(edge["kind"].is_string());
                assert_eq!(edge["key"].is_string(), edge["kind"] != "so");
            }
        }
    }
}

#[test]
fn json_keeps_the_contract() {
    let args = [
        "check",
        "--json",
        "-l",
        "rc",
        "-l",
        "causal",
        "-l",
        "serializable",
    ];
    let check = |name: &str| {
        let file = corpus(name);
        let mut args = args.to_vec();
        args.push(&file);
        isolde(&args)
    };
    let object = check(HOLDS).exits(0).json();
    assert_contract(
        &object,
        &[
            ("read-committed", "holds"),
            ("causal", "holds"),
            ("serializable", "holds"),
        ],
    );
    assert_eq!(
        object["strongest"],
        serde_json::json!(["causal", "serializable"])
    );
    let object = check(VIOLATED).exits(1).json();
    assert_contract(
        &object,
        &[
            ("read-committed", "holds"),
            ("causal", "violated"),
            ("serializable", "holds"),
        ],
    );
    assert_eq!(
        object["results"][1]["anomalies"][0]["kind"],
        "fractured-read"
    );
    assert_eq!(
        object["strongest"],
        serde_json::json!(["read-committed", "serializable"])
    );
}

#[test]
fn initial_values_can_be_chosen() {
    let folder = Folder::new("initial");
    let file = folder.file("nine.txt", "r(1,9,0,0)\nw(1,1,0,1)\n");
    isolde(&["check", &file]).exits(1).says(&["thin-air-read"]);
    isolde(&["check", &file, "--initial", "9"]).exits(0);
    let file = folder.file("zero.txt", "r(1,0,0,0)\nw(1,1,0,1)\n");
    isolde(&["check", &file]).exits(0);
    isolde(&["check", &file, "--initial", "none"])
        .exits(1)
        .says(&["thin-air-read"]);
}

#[test]
fn sets_are_decided_and_explained_by_their_elements() {
    let folder = Folder::new("sets");
    let lines = "{\"session\":0,\"ops\":[[\"add\",\"s\",1]]}\n{\"session\":1,\"ops\":[[\"rset\",\"s\",[1]]]}\n";
    let file = folder.file("set.jsonl", lines);
    isolde(&["check", &file]).exits(0);
    let lines = "{\"session\":0,\"ops\":[[\"add\",\"s\",1]]}\n{\"session\":0,\"ops\":[[\"rset\",\"s\",[]]]}\n";
    let file = folder.file("lost.jsonl", lines);
    let certificate = folder.path("lost.certificate");
    isolde(&["check", &file, "--certificate", &certificate])
        .exits(1)
        .says(&["read set s without 1, which s0n0 added"]);
    isolde(&["certify", &file, &certificate]).exits(0);
}

#[test]
fn a_key_of_two_datatypes_is_undecided_and_said_so() {
    let folder = Folder::new("datatypes");
    let lines = "{\"session\":0,\"ops\":[[\"add\",\"s\",1],[\"w\",\"s\",2]]}\n";
    let file = folder.file("both.jsonl", lines);
    isolde(&["check", &file])
        .exits(3)
        .says(&["key s is used as different datatypes"]);
}

#[test]
fn counters_have_to_lie_in_the_bounds_of_real_time() {
    let folder = Folder::new("counters");
    let event = |kind: &str, f: &str, value: &str, process: u32, time: u32| {
        format!(
            "{{:type :{kind}, :f :{f}, :value {value}, :process {process}, :time {time}, :index {time}}}\n"
        )
    };
    let history = |read: &str| {
        [
            event("invoke", "add", "1", 0, 0),
            event("ok", "add", "1", 0, 1),
            event("invoke", "add", "1", 1, 2),
            event("ok", "add", "1", 1, 3),
            event("invoke", "add", "1", 2, 4),
            event("invoke", "read", "nil", 3, 5),
            event("ok", "read", read, 3, 6),
            event("ok", "add", "1", 2, 7),
        ]
        .concat()
    };
    for (read, exit) in [("2", 0), ("3", 0), ("1", 1), ("4", 1)] {
        let file = folder.file("counter.edn", history(read));
        isolde(&["check", &file, "--level", "strict-serializable"]).exits(exit);
    }
    let file = folder.file("counter.edn", history("1"));
    isolde(&["check", &file, "--level", "strict-serializable"]).says(&["impossible-count"]);
    isolde(&["check", &file, "--level", "serializable"]).exits(0);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("closed-pipe");
    let file = folder.path("big.jsonl");
    isolde(&["generate", "-o", &file, "--seed", "3"]).exits(0);
    for args in [
        &["convert", &file, "-", "--to", "isolde"][..],
        &["check", &file, "--json"],
        &["levels"],
        &["generate", "-o", "-", "--to", "text"],
    ] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("a line");
        drop(out);
        let output = child.wait_with_output().expect("the binary ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {err}");
        assert!(err.is_empty(), "{args:?}: {err}");
    }
}

#[test]
fn a_violation_is_shrunk_to_a_file_that_is_rejected_again() {
    let folder = Folder::new("shrunk");
    let (file, out) = (folder.path("big.jsonl"), folder.path("small.txt"));
    let plant = ["--anomaly", "lost-update", "--seed", "5"];
    let mut args = vec!["generate", "-o", &file];
    args.extend(plant);
    isolde(&args).exits(0);
    let run = isolde(&["check", &file, "-l", "si", "--shrink", &out]).exits(1);
    run.complains(&[
        "operations of",
        "still violate strong-session-snapshot-isolation",
    ]);
    let small = isolde(&["check", &out, "-l", "si", "--json"])
        .exits(1)
        .json();
    let count = small["history"]["transactions"].as_u64();
    assert!(count.is_some_and(|count| count <= 3), "{small}");
    isolde(&[
        "check",
        &corpus(HOLDS),
        "--shrink",
        &folder.path("none.txt"),
    ])
    .exits(0)
    .complains(&["no violation to shrink"]);
    assert!(!std::path::Path::new(&folder.path("none.txt")).exists());
    isolde(&["check", &file, &file, "--shrink", &out]).exits(2);
}

#[test]
fn stages_are_told_to_who_asks() {
    isolde(&["check", &corpus(HOLDS), "-l", "ser", "--verbose"])
        .exits(0)
        .says(&["serializable: 0.", "observe", "guess", "operations"]);
}

/// The stale read of section 6 of the Elle paper: three seconds after the write.
#[test]
fn what_is_assumed_of_keys_counts_or_is_refuted() {
    let stale = corpus("elle/dgraph-stale-read.edn");
    let args = ["check", "-l", "si", "--keys", "linearizable", &stale];
    isolde(&args).exits(1).says(&[
        "holds     strong-session-snapshot-isolation",
        "assuming of each key: linearizable, but 1 key contradicts it and is left out",
        "s0t0 did w(540, 2) and ended before s1t2 began, which did r(540, nil)",
    ]);
    let json = isolde(&["check", "--json", "--keys", "linearizable", &stale]);
    let json = json.exits(1).json();
    assert_eq!(json["keys"]["verdict"], "violated");
    assert_eq!(json["keys"]["anomalies"][0]["kind"], "cyclic-versions");
    isolde(&["check", "-l", "si", "--keys", "sequential", &stale]).exits(0);
    isolde(&["check", "--keys", "total", &stale])
        .exits(2)
        .complains(&["expected one of free, writes-follow-reads, recorded, sequential"]);
}

/// Nobody reads the two writes together, so only an assumption orders them.
#[test]
fn an_order_that_is_assumed_is_certified_with_the_assumption() {
    let folder = Folder::new("keys");
    let history = folder.path("blind.jsonl");
    let lines = "{\"isolde\":\"history\",\"version\":1}\n\
        {\"session\":0,\"start\":0,\"end\":1,\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",1]]}\n\
        {\"session\":1,\"start\":2,\"end\":3,\"ops\":[[\"w\",\"x\",2]]}\n\
        {\"session\":2,\"start\":4,\"end\":9,\"ops\":[[\"r\",\"x\",2],[\"r\",\"y\",0]]}\n";
    std::fs::write(&history, lines).expect("a file");
    let certificate = folder.path("certificate.json");
    isolde(&["check", "-l", "serializable", &history]).exits(0);
    let args = ["check", "-l", "serializable", "--keys", "linearizable"];
    let more = ["--certificate", &certificate, &history];
    let run = isolde(&[&args[..], &more[..]].concat());
    run.exits(1).says(&["violated  serializable"]);
    isolde(&["certify", &history, &certificate])
        .exits(0)
        .says(&["certified  serializable: violated"]);
    let text = std::fs::read_to_string(&certificate).expect("a certificate");
    let without = text.replace("\"keys\":\"linearizable\",", "");
    assert_ne!(text, without);
    std::fs::write(&certificate, without).expect("a file");
    isolde(&["certify", &history, &certificate])
        .exits(1)
        .says(&["nothing is assumed"]);
}

/// The numbers that a database gave versions order them, if that is asked for.
#[test]
fn recorded_versions_order_writes_that_nobody_read() {
    let folder = Folder::new("recorded");
    let history = folder.path("numbered.jsonl");
    let lines = "{\"isolde\":\"history\",\"version\":1}\n\
        {\"session\":0,\"txn\":0,\"ops\":[[\"w\",\"x\",1,12],[\"w\",\"y\",1]]}\n\
        {\"session\":1,\"txn\":1,\"ops\":[[\"w\",\"x\",2,11],[\"r\",\"y\",1]]}\n";
    std::fs::write(&history, lines).expect("a file");
    isolde(&["check", "-l", "serializable", &history]).exits(0);
    let args = [
        "check",
        "-l",
        "serializable",
        "--keys",
        "recorded",
        &history,
    ];
    isolde(&args).exits(1).says(&[
        "s1t1 did w(x, 2) at version 11 and s0t0 did w(x, 1) at 12",
        "assuming of each key: recorded",
    ]);
    let copy = folder.path("copy.jsonl");
    isolde(&["convert", &history, &copy]).exits(0);
    let copied = std::fs::read_to_string(&copy).expect("a file");
    assert_eq!(copied, lines);
    isolde(&[
        "convert",
        &history,
        &folder.path("copy.txt"),
        "--to",
        "dbcop-hist",
    ])
    .exits(0)
    .complains(&["keeps no version numbers"]);
    let bad = lines.replace(",12]", ",-1]");
    std::fs::write(&history, bad).expect("a file");
    isolde(&args)
        .exits(2)
        .complains(&["the `version of an operation` -1 is out of range"]);
}

/// The format of the history, where that can hold the part.
#[test]
fn a_name_without_a_format_gets_that_of_the_history() {
    let folder = Folder::new("shrink-format");
    let part = folder.path("part");
    for name in ["levels/write-skew.txt", "levels/bank-transfer.jsonl"] {
        let file = corpus(name);
        let format = isolde(&["check", &file, "--json"]).json()["format"].to_string();
        let format = format.trim_matches('"');
        isolde(&["check", &file, "-l", "ser", "--shrink", &part])
            .exits(1)
            .complains(&[&format!(
                "does not tell a format, so this is written as {format}"
            )]);
        let again = isolde(&["check", &part, "-l", "ser", "--json"])
            .exits(1)
            .json();
        assert_eq!(again["format"], format, "{name}");
    }
    // What Viper would take for the initial value stays what it is.
    let logs = folder.path("logs");
    std::fs::create_dir(&logs).expect("a folder");
    folder.file(
        "logs/J0.log",
        "{\"value\": [[\"r\", 1, 5], [\"r\", 1, 6]]}\n",
    );
    let shrunk = isolde(&["check", &logs, "-l", "rc", "--shrink", &part]).exits(1);
    shrunk.complains(&["written as isolde"]);
    isolde(&["check", &part, "-l", "rc"])
        .exits(1)
        .says(&["thin-air-read"]);
}
