//! The crate as a database author uses it: record, check, read the explanation.

use super::{Folder, isolde, pages};
use isolde::history::format::{self, Format};
use isolde::history::{Initial, Status};
use isolde::{AnomalyKind, Level, Recorder, check, check_with, checker, strongest};

#[test]
fn the_page_shows_what_the_broken_store_prints() {
    pages::shows_real_output("docs/library.md", 2);
}

/// Two clients that both read 0 and both write.
fn lost_update() -> Recorder {
    let recorder = Recorder::new();
    let (mut one, mut two) = (recorder.session(), recorder.session());
    let (first, second) = (one.begin(), two.begin());
    first.read("x", 0);
    second.read("x", 0);
    first.write("x", 1);
    second.write("x", 2);
    first.commit();
    second.commit();
    recorder
}

#[test]
fn a_lost_update_is_explained_and_weaker_levels_hold() {
    let history = lost_update().history();
    let outcome = check(&history, Level::SnapshotIsolation);
    assert!(outcome.is_violated() && !outcome.holds());
    assert_eq!(outcome.anomalies()[0].kind, AnomalyKind::LostUpdate);
    assert_eq!(outcome.still_held(), [Level::Prefix]);
    let text = outcome.to_string();
    for part in ["snapshot-isolation is violated", "s0t0", "s1t0", "w(x, 2)"] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    assert!(!text.contains('\u{1b}'), "colours: {text}");
    assert!(check(&history, Level::ReadAtomic).holds());
    assert!(strongest(&history).contains(&Level::Prefix));
    isolde::history::certify(
        &history,
        &Initial::default(),
        &isolde::history::LevelResult {
            level: outcome.level(),
            verdict: outcome.verdict().clone(),
        },
    )
    .expect("evidence that can be certified");
}

#[test]
#[should_panic(expected = "serializable is violated: lost-update")]
fn an_assertion_fails_with_the_explanation() {
    check(&lost_update().history(), Level::Serializable).assert();
}

#[test]
fn a_transaction_that_is_dropped_may_have_committed_and_an_aborted_one_not() {
    let seen = |end: fn(isolde::Transaction<'_>)| {
        let recorder = Recorder::new();
        let (mut one, mut two) = (recorder.session(), recorder.session());
        let txn = one.begin();
        txn.write("x", 1);
        end(txn);
        let reader = two.begin();
        reader.read("x", 1);
        reader.commit();
        let history = recorder.history();
        (
            history.txns()[0].status,
            check(&history, Level::ReadCommitted).holds(),
        )
    };
    assert_eq!(seen(|txn| txn.commit()), (Status::Committed, true));
    assert_eq!(seen(|txn| drop(txn)), (Status::Indeterminate, true));
    assert_eq!(seen(|txn| txn.abort()), (Status::Aborted, false));
}

#[test]
fn what_is_under_way_is_part_of_the_history() {
    let recorder = Recorder::new();
    let (mut one, mut two) = (recorder.session(), recorder.session());
    let writer = one.begin();
    writer.write("x", 1);
    let reader = two.begin();
    reader.read("x", 1);
    reader.commit();
    assert!(check(&recorder.history(), Level::StrictSerializable).holds());
    writer.abort();
    assert!(check(&recorder.history(), Level::ReadCommitted).is_violated());
}

/// The reader began after the writer had ended, and did not see it.
#[test]
fn a_stale_read_violates_only_levels_of_real_time() {
    let recorder = Recorder::new();
    let (mut one, mut two) = (recorder.session(), recorder.session());
    let writer = one.begin();
    writer.write("x", 1);
    writer.commit();
    let reader = two.begin();
    reader.read("x", None::<i64>);
    reader.commit();
    let history = recorder.history();
    assert!(check(&history, Level::StrictSerializable).is_violated());
    assert!(check(&history, Level::StrongSessionSerializable).holds());
}

#[test]
fn lists_sets_and_counters_are_recorded() {
    let recorder = Recorder::new();
    let mut session = recorder.session();
    let txn = session.begin();
    txn.append("list", "a");
    txn.add("set", 7);
    txn.increment("counter", 2);
    txn.commit();
    let txn = session.begin();
    txn.read_list("list", ["a"]);
    txn.read_set("set", [7]);
    txn.read_counter("counter", 2);
    txn.commit();
    assert!(check(&recorder.history(), Level::StrictSerializable).holds());
    let txn = session.begin();
    txn.read_list("list", Vec::<&str>::new());
    txn.commit();
    assert!(check(&recorder.history(), Level::ReadYourWrites).is_violated());
}

#[test]
fn threads_record_into_one_history() {
    let recorder = Recorder::new();
    let store = std::sync::Mutex::new(0u64);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let mut session = recorder.session();
            let store = &store;
            scope.spawn(move || {
                for _ in 0..200 {
                    let txn = session.begin();
                    let mut value = store.lock().expect("nobody panics");
                    txn.read("x", *value);
                    *value += 1;
                    txn.write("x", *value);
                    drop(value);
                    txn.commit();
                }
            });
        }
    });
    let history = recorder.history();
    assert_eq!((history.session_count(), history.txn_count()), (8, 1600));
    check(&history, Level::StrictSerializable).assert();
}

#[test]
fn a_budget_leaves_a_level_unknown() {
    let options = checker::Options {
        budget: checker::Budget {
            probe: &|| Some("out of patience".to_string()),
            ..Default::default()
        },
        ..Default::default()
    };
    let outcome = check_with(&lost_update().history(), Level::Serializable, &options);
    assert!(!outcome.holds() && !outcome.is_violated());
    assert!(outcome.to_string().contains("out of patience"), "{outcome}");
}

#[test]
fn a_recorded_history_can_be_saved_and_checked_by_the_program() {
    let folder = Folder::new("recorded-in-rust");
    let mut bytes = Vec::new();
    format::write(&lost_update().history(), Format::Isolde, &mut bytes).expect("it can be held");
    let file = folder.file("lost.jsonl", bytes);
    isolde(&["check", "-l", "si", &file])
        .exits(1)
        .says(&["lost-update"]);
}
