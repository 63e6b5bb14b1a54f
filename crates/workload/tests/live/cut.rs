//! Recordings that end anywhere: the recorder was killed, or the disk is full.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::{Place, Recorded, options, registers, run};
use history::{History, OpId, Status, TxnId};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use workload::driver::{Error, Fate};
use workload::execute::{Counters, Options, Run};
use workload::record::Recording;

/// A small recording with every outcome.
fn recording() -> Recorded {
    let kind = Kind {
        has_versions: true,
        ..Kind::default()
    };
    let fake = Fake::new(
        kind,
        Box::new(|point, count| match (point, count) {
            (Point::Commit, 3) => Some(Error::new(Fate::Unknown, "no \"answer\"\n")),
            (Point::Commit, 6) => Some(Error::new(Fate::Aborted, "conflict").with_code("40001")),
            (Point::Run, 20) => Some(Error::new(Fate::Lost, "gone")),
            _ => None,
        }),
    );
    run(&fake, registers().as_ref(), options(3, 12))
}

/// The transactions of a history by name: status and operations.
fn by_name(history: &History) -> BTreeMap<String, (Status, Vec<String>)> {
    let ops = |txn: TxnId| {
        let text = |(op, _): (OpId, _)| history.op_text(op);
        history.txn_ops(txn).map(text).collect()
    };
    let ids = history.txn_ids();
    ids.map(|txn| (history.txn_name(txn), (history.status(txn), ops(txn))))
        .collect()
}

fn read(text: &str) -> Result<History, history::format::FormatError> {
    history::format::jsonl::read(text.as_bytes(), &mut Vec::new())
}

#[test]
fn every_cut_of_a_recording_is_read_and_keeps_its_promises() {
    let recorded = recording();
    let text = &recorded.text;
    assert!(text.is_ascii());
    let whole = by_name(&recorded.history);
    let first = text.find('\n').expect("a first line");
    for end in 0..=text.len() {
        let cut = &text[..end];
        let history = match read(cut) {
            Ok(history) => history,
            Err(error) => {
                assert!(end < first, "cut at {end}: {error}");
                continue;
            }
        };
        let found = by_name(&history);
        for (name, (status, ops)) in &found {
            let (true_status, true_ops) = &whole[name];
            match status {
                Status::Committed => assert_eq!((status, ops), (true_status, true_ops), "{end}"),
                Status::Aborted => assert_eq!(status, true_status, "cut at {end}: {name}"),
                Status::Indeterminate => {}
            }
        }
        for line in cut.split_inclusive('\n').filter(|l| l.ends_with("}\n")) {
            let line: serde_json::Value = serde_json::from_str(line).expect("whole");
            let (Some(session), Some(txn)) = (line["session"].as_i64(), line["txn"].as_i64())
            else {
                continue;
            };
            let name = format!("s{session}t{txn}");
            match line["status"].as_str() {
                None => assert_eq!(found[&name].0, Status::Committed, "cut at {end}"),
                Some("started") => assert!(found.contains_key(&name), "cut at {end}"),
                Some(_) => assert_eq!(found[&name], whole[&name], "cut at {end}"),
            }
        }
    }
    assert_eq!(by_name(&read(text).expect("whole")), whole);
}

#[test]
fn a_recording_that_cannot_grow_ends_the_run() {
    // Files of this process must not grow beyond a few blocks; the signal that would end it is ignored.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact cut::with_little_space --ignored";
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new("sh");
    let output = child
        .arg("-c")
        .arg(script)
        .arg(program)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "runs where files must not grow, in a process of another test"]
fn with_little_space() {
    let fake = Fake::sound(Kind::default());
    let workload = registers();
    let place = Place::new();
    let recording = Recording::create(&place.0, "{}").expect("a new file");
    let time = Duration::from_secs(20);
    let began = Instant::now();
    let run = Run {
        database: &fake,
        workload: workload.as_ref(),
        recording: &recording,
        options: Options {
            transactions: None,
            time: Some(time),
            ..options(3, 0)
        },
        stop: &AtomicBool::new(false),
        counters: &Counters::default(),
    };
    let error = run.execute().expect_err("no more space");
    assert!(error.message.starts_with("the recording: "), "{error}");
    assert!(began.elapsed() < time / 2, "clients went on for nothing");
    assert!(recording.problem().is_some());
    assert!(!recording.append("{}\n"));
    let text = std::fs::read_to_string(&place.0).expect("the recording");
    let history = read(&text).expect("a cut recording");
    // All that the database did is there.
    let begun = fake.count(Point::Begin);
    assert!(history.txn_count() as u64 >= begun && begun > 0);
}

#[test]
fn a_cut_outcome_does_not_lose_writes_that_its_start_told_of() {
    let head = "{\"isolde\":\"history\",\"version\":1,\"run\":{}}\n";
    let start = "{\"session\":0,\"txn\":0,\"status\":\"started\",\"start\":1,\"ops\":[[\"w\",1,5],[\"w\",2,6]]}\n";
    // Session 1 has read what the commit of session 0 made visible, before its outcome is written.
    let reader = "{\"session\":1,\"txn\":0,\"start\":2,\"end\":3,\"ops\":[[\"r\",2,6]]}\n";
    let outcome =
        "{\"session\":0,\"txn\":0,\"start\":1,\"end\":4,\"ops\":[[\"w\",1,5],[\"w\",2,6]]}\n";
    let before = format!("{head}{start}{reader}");
    for end in 0..outcome.len() {
        let history = read(&format!("{before}{}", &outcome[..end])).expect("a cut recording");
        let ops = &by_name(&history)["s0t0"].1;
        assert_eq!(ops, &["w(1, 5)", "w(2, 6)"], "cut at {end}");
    }
}
