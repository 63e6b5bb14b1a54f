//! Recordings in JSON lines that say when a transaction starts.

use history::format::jsonl;
use history::{History, Status, TxnId};

fn read(text: &str) -> (History, Vec<String>) {
    let mut notes = Vec::new();
    let history = jsonl::read(text.as_bytes(), &mut notes).expect("readable");
    (history, notes)
}

fn statuses(history: &History) -> Vec<Status> {
    let txns = (0..history.txn_count()).map(|txn| TxnId(txn as u32));
    txns.map(|txn| history.status(txn)).collect()
}

#[test]
fn an_outcome_takes_the_place_of_the_start() {
    let (history, notes) = read(concat!(
        "{\"isolde\":\"history\",\"version\":1,\"run\":{\"seed\":7,\"deep\":[{}]}}\n",
        "{\"session\":0,\"txn\":1,\"status\":\"started\",\"start\":5,\"ops\":[[\"w\",1,10]]}\n",
        "{\"event\":\"kill\",\"at\":6,\"node\":0,\"text\":\"SIGKILL\"}\n",
        "{\"session\":0,\"txn\":1,\"start\":5,\"end\":9,\"ops\":[[\"w\",1,10]],\"info\":{\"xid\":3}}\n",
    ));
    assert_eq!(statuses(&history), [Status::Committed]);
    assert_eq!(history.op_count(), 1);
    assert!(history.has_intervals());
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn a_start_without_an_outcome_is_indeterminate() {
    let (history, notes) = read(concat!(
        "{\"session\":1,\"txn\":1,\"status\":\"started\",\"start\":5,\"ops\":[[\"w\",1,10],[\"r\",2]]}\n",
        "{\"session\":0,\"txn\":4,\"status\":\"started\",\"start\":6,\"ops\":[[\"w\",1,11]]}\n",
        "{\"session\":1,\"txn\":2,\"start\":7,\"end\":8,\"ops\":[[\"r\",1,10,4]]}\n",
    ));
    let mut found = statuses(&history);
    found.sort();
    let mut wanted = [
        Status::Committed,
        Status::Indeterminate,
        Status::Indeterminate,
    ];
    wanted.sort();
    assert_eq!(found, wanted);
    assert_eq!(history.op_count(), 4);
    assert_eq!(history.txn_count(), 3);
    assert!(notes[0].contains("2 transactions started"), "{notes:?}");
}

#[test]
fn a_start_needs_its_numbers_and_an_event_its_own_line() {
    for text in [
        "{\"session\":1,\"status\":\"started\",\"ops\":[]}\n{\"session\":1,\"ops\":[]}\n",
        "{\"txn\":1,\"status\":\"started\",\"ops\":[]}\n{\"session\":1,\"ops\":[]}\n",
        "{\"session\":1,\"event\":\"kill\",\"ops\":[]}\n{\"session\":1,\"ops\":[]}\n",
        "{\"session\":1,\"at\":3,\"ops\":[]}\n{\"session\":1,\"ops\":[]}\n",
    ] {
        assert!(
            jsonl::read(text.as_bytes(), &mut Vec::new()).is_err(),
            "{text}"
        );
    }
}
