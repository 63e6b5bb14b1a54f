//! What operations return, in every form that answers have.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::{Place, Planned, cell, options, outcomes, registers, run};
use history::{OpKind, Value, ValueCode};
use workload::driver::{Error, Fate};
use workload::fault::Fault;
use workload::plan::{Action, Plan, Step, Unique, Workload};
use workload::record::Recording;
use workload::schema::{Cell, Column, ColumnKind, ListForm, Schema, Table};

/// A table with a column of each kind.
fn all_kinds() -> Box<dyn Workload> {
    let column = |name, kind| Column { name, kind };
    let table = Table {
        name: "t",
        columns: vec![
            column("reg", ColumnKind::Register),
            column("list", ColumnKind::List(ListForm::Native)),
            column("set", ColumnKind::Set),
            column("count", ColumnKind::Counter),
        ],
        rows: 0,
        group: 3,
    };
    Box::new(Planned {
        schema: Schema {
            tables: vec![table],
        },
        plan: |_: u32, unique: &mut Unique, plan: &mut Plan| {
            let value = unique.take();
            let at = |column| Cell {
                table: 0,
                column,
                row: value % 5 - 1,
            };
            plan.act(Action::ReadGroup(at(0)));
            plan.act(Action::Write(at(0), value));
            plan.act(Action::Append(at(1), value));
            plan.act(Action::Read(at(0)));
            plan.act(Action::ReadList(at(1)));
            plan.steps.push(Step::AwaitCommits(0));
            plan.act(Action::Add(at(2), value));
            plan.act(Action::ReadSet(at(2)));
            plan.act(Action::Increment(at(3), value));
            plan.act(Action::ReadCounter(at(3)));
        },
    })
}

#[test]
fn answers_of_every_kind_are_recorded() {
    for answers_later in [false, true] {
        for has_versions in [false, true] {
            let kind = Kind {
                answers_later,
                has_versions,
                ..Kind::default()
            };
            let fake = Fake::sound(kind);
            let recorded = run(&fake, all_kinds().as_ref(), options(3, 60));
            assert_eq!(recorded.count("committed"), 60);
            recorded.is_what_was_done(&fake);
            assert_eq!(recorded.history.has_recorded_versions(), has_versions);
        }
    }
}

#[test]
fn answers_that_were_to_come_with_a_failed_commit_are_unknown() {
    for fate in [Fate::Aborted, Fate::Lost, Fate::Unknown] {
        let kind = Kind {
            answers_later: true,
            ..Kind::default()
        };
        let fake = Fake::new(
            kind,
            Box::new(move |point, count| {
                let fails = point == Point::Commit && count % 2 == 1;
                fails.then(|| Error::new(fate, "conflict"))
            }),
        );
        let recorded = run(&fake, all_kinds().as_ref(), options(2, 40));
        assert_eq!(recorded.count("committed"), 20);
        recorded.is_what_was_done(&fake);
        let history = &recorded.history;
        for txn in history.txn_ids() {
            let is_committed = history.status(txn) == history::Status::Committed;
            for (_, op) in history.txn_ops(txn).filter(|(_, op)| !op.kind.is_write()) {
                assert_eq!(op.value != ValueCode::UNKNOWN, is_committed);
            }
        }
    }
}

#[test]
fn versions_are_the_fourth_element() {
    let kind = Kind {
        has_versions: true,
        ..Kind::default()
    };
    let recorded = run(&Fake::sound(kind), registers().as_ref(), options(1, 20));
    let history = &recorded.history;
    let mut version = 0;
    for txn in history.txn_ids() {
        version += 1;
        let (write, _) = history.txn_ops(txn).next().expect("a write");
        assert_eq!(history.recorded_version(write), Some(version));
        let one = &recorded.outcomes[txn.index()];
        assert_eq!(one.line["ops"][0][3], version);
        assert_eq!(one.line["info"]["id"], format!("txn \"{version}\""));
    }
}

#[test]
fn rows_that_a_group_lacks_read_as_nil() {
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, all_kinds().as_ref(), options(1, 2));
    // The first transaction is on row 0, the second on row 1 of the same group.
    let second: Vec<&str> = recorded.outcomes[1].ops[..3]
        .iter()
        .map(String::as_str)
        .collect();
    assert_eq!(
        second,
        [
            "[\"r\",\"t:0:reg\",1]",
            "[\"r\",\"t:1:reg\",null]",
            "[\"r\",\"t:2:reg\",null]"
        ]
    );
    let history = &recorded.history;
    let reads = history.txn_ops(history::TxnId(1)).take(3);
    let values: Vec<Value> = reads
        .inspect(|(_, op)| assert_eq!(op.kind, OpKind::Read))
        .map(|(_, op)| history.value(op.value))
        .collect();
    assert_eq!(values, [Value::Int(1), Value::Nil, Value::Nil]);
}

#[test]
fn nodes_without_writes_get_reads_only() {
    let mut fake = Fake::sound(Kind::default());
    fake.nodes = 3;
    fake.read_only = vec![1, 2];
    let recorded = run(&fake, registers().as_ref(), options(6, 300));
    recorded.is_what_was_done(&fake);
    for one in &recorded.outcomes {
        let node = one.line["info"]["node"].as_u64().expect("a node");
        assert_eq!(node, one.session as u64 % 6 % 3);
        let writes = one.ops.iter().filter(|op| op.starts_with("[\"w\""));
        assert_eq!(writes.count(), usize::from(node == 0));
    }
}

#[test]
fn a_node_without_writes_and_a_workload_of_nothing_else() {
    let workload = Planned {
        schema: Schema::single(ColumnKind::Register, 0),
        plan: |_: u32, unique: &mut Unique, plan: &mut Plan| {
            plan.act(Action::Write(cell(1), unique.take()));
        },
    };
    let mut fake = Fake::sound(Kind::default());
    fake.read_only = vec![0];
    let recorded = run(&fake, &workload, options(2, 6));
    assert!(recorded.outcomes.iter().all(|one| one.ops.is_empty()));
    recorded.is_what_was_done(&fake);
}

#[test]
fn a_recording_is_never_written_over() {
    let place = Place::new();
    let first = Recording::create(&place.0, "{}").expect("a new file");
    let before = first.len();
    let error = Recording::create(&place.0, "{}").err().expect("refused");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    let text = std::fs::read_to_string(&place.0).expect("the recording");
    assert_eq!(text.len() as u64, before);
    assert!(!first.is_empty());
}

#[test]
fn events_stand_between_transactions() {
    let place = Place::new();
    let recording = Recording::create(&place.0, "{\"a\":[1]}").expect("a new file");
    recording.event("kill", Some(2), "be\"gins\n\u{1}");
    recording.event("no\"te", None, "");
    let text = std::fs::read_to_string(&place.0).expect("the recording");
    assert!(outcomes(&text).is_empty());
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["run"]["a"][0], 1);
    assert_eq!(lines[1]["event"], "kill");
    assert_eq!(lines[1]["node"], 2);
    assert_eq!(lines[1]["text"], "be\"gins\n\u{1}");
    assert_eq!(lines[2]["event"], "no\"te");
    let mut notes = Vec::new();
    let read = history::format::jsonl::read(text.as_bytes(), &mut notes);
    assert_eq!(read.expect("a recording").txn_count(), 0);
}

#[test]
fn every_fault_has_a_word_of_its_own() {
    let faults = [
        Fault::Kill,
        Fault::Pause,
        Fault::Partition,
        Fault::Slow,
        Fault::Restart,
    ];
    let mut names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["kill", "partition", "pause", "restart", "slow"]);
}
