//! Other people's Jepsen histories, where they are at hand: each loads, or is refused with a reason.

use history::format::jepsen;
use history::{History, OpKind, Status};
use std::path::PathBuf;

fn corpus(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/corpus")
        .join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            println!("skipped: {name} is not here");
            None
        }
    }
}

fn load(name: &str) -> Option<(History, Vec<String>)> {
    let bytes = corpus(name)?;
    let mut notes = Vec::new();
    let read = if name.ends_with("json") {
        jepsen::read_json
    } else {
        jepsen::read_edn
    };
    let history = read(&bytes, &mut notes).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!(
        "{name}: {} sessions, {} transactions, {} operations {notes:?}",
        history.session_count(),
        history.txn_count(),
        history.op_count()
    );
    Some((history, notes))
}

fn ops_text(history: &History) -> Vec<String> {
    let ops = (0..history.op_count() as u32).map(history::OpId);
    ops.map(|op| history.op_text(op)).collect()
}

fn has_kinds(history: &History, kinds: &[OpKind]) -> bool {
    history.ops().kinds.iter().all(|kind| kinds.contains(kind))
}

#[test]
fn list_append_files_load() {
    let lists = [OpKind::Append, OpKind::ReadList];
    for name in ["elle/paper-example.edn", "elle-cli/elle/paper-example.edn"] {
        let Some((history, _)) = load(name) else {
            continue;
        };
        assert_eq!((history.txn_count(), history.op_count()), (4, 19), "{name}");
        assert!(has_kinds(&history, &lists));
        assert!(ops_text(&history).contains(&"r(255, [2 3 4 5 8])".into()));
    }
    if let Some((history, _)) = load("elle-cli/elle/paper-example.json") {
        assert_eq!((history.session_count(), history.txn_count()), (1, 4));
        assert!(has_kinds(&history, &lists));
    }
    if let Some((history, _)) = load("elle-cli/elle/list-append-gh-30.edn") {
        assert_eq!((history.session_count(), history.txn_count()), (3, 5));
        assert!(has_kinds(&history, &lists));
        assert!(history.has_intervals());
    }
    if let Some((history, _)) = load("elle/si-without-g-single.edn") {
        assert_eq!(history.txn_count(), 4);
        assert!(!history.has_intervals(), "time 0 throughout says nothing");
    }
}

#[test]
fn register_files_load() {
    for name in [
        "elle-cli/elle/rw-register.edn",
        "elle-cli/elle/rw-register.json",
    ] {
        let Some((history, _)) = load(name) else {
            continue;
        };
        assert_eq!((history.txn_count(), history.op_count()), (3, 3));
        assert!(has_kinds(&history, &[OpKind::Read, OpKind::Write]));
    }
    if let Some((history, notes)) = load("elle-cli/jepsen/long-fork.edn") {
        assert_eq!(ops_text(&history)[..3], ["r(0, 1)", "r(1, 1)", "r(2, nil)"]);
        assert!(notes[0].contains("name no process"), "{notes:?}");
    }
}

#[test]
fn set_and_counter_files_load() {
    if let Some((history, _)) = load("elle-cli/jepsen/set.edn") {
        assert_eq!(ops_text(&history).last().unwrap(), "r(set, [0 1 2])");
        assert!(has_kinds(&history, &[OpKind::Add, OpKind::ReadSet]));
    }
    if let Some((history, _)) = load("elle-cli/custom/comments.edn") {
        assert!(has_kinds(&history, &[OpKind::Add, OpKind::ReadSet]));
        assert_eq!(history.txn_count(), 3);
    }
    if let Some((history, _)) = load("elle-cli/jepsen/counter.json") {
        assert!(has_kinds(&history, &[OpKind::Increment]));
        assert_eq!(history.txn_count(), 287);
        assert!(
            history
                .txns()
                .iter()
                .all(|txn| txn.status == Status::Committed)
        );
    }
}

#[test]
fn bank_files_are_refused_with_a_reason() {
    for name in [
        "bank.edn",
        "bank-neg.edn",
        "bank.json",
        "bank-negative-balances.json",
    ] {
        let Some(bytes) = corpus(&format!("elle-cli/jepsen/{name}")) else {
            continue;
        };
        let read = if name.ends_with("json") {
            jepsen::read_json
        } else {
            jepsen::read_edn
        };
        let error = read(&bytes, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("bank history"), "{name}: {error}");
    }
}
