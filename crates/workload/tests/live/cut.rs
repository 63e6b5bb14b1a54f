//! Recordings that end anywhere: the recorder was killed, or the disk is full.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::{Recorded, options, registers, run};
use history::{History, OpId, Status, TxnId};
use std::collections::BTreeMap;
use workload::driver::{Error, Fate};

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
