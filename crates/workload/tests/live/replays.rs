//! Scripts that are run move by move.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::cell;
use history::{History, Status};
use std::time::{Duration, Instant};
use workload::driver::{Answer, Error, Fate};
use workload::plan::Action;
use workload::replay::{Came, Move, Replayed, Script, replay};
use workload::schema::{ColumnKind, Schema};

const PATIENCE: Duration = Duration::from_secs(10);

fn write(row: i64, value: i64) -> Move {
    Move::Act(Action::Write(cell(row), value))
}

fn read(row: i64) -> Move {
    Move::Act(Action::Read(cell(row)))
}

fn play(fake: &Fake, clients: usize, moves: &[(usize, Move)], patience: Duration) -> Replayed {
    let schema = Schema::single(ColumnKind::Register, 0);
    let script = Script {
        moves: moves.to_vec(),
        nodes: vec![0; clients],
    };
    let replayed = replay(fake, &schema, &script, patience).expect("connections");
    assert_eq!(replayed.came.len(), moves.len());
    assert_eq!(replayed.waited.len(), moves.len());
    replayed
}

fn history(replayed: &Replayed) -> History {
    let text = format!(
        "{{\"isolde\":\"history\",\"version\":1}}\n{}",
        replayed.lines
    );
    let mut notes = Vec::new();
    let history = history::format::jsonl::read(text.as_bytes(), &mut notes);
    assert!(notes.is_empty(), "{notes:?}");
    history.expect("lines of a recording")
}

fn value(value: Option<i64>) -> Option<Came> {
    Some(Came::Done(Answer::Value(value, None)))
}

fn done() -> Option<Came> {
    Some(Came::Done(Answer::Done))
}

fn locking() -> Fake {
    Fake::sound(Kind {
        locks: true,
        ..Kind::default()
    })
}

#[test]
fn moves_are_made_in_the_order_of_the_script() {
    let fake = Fake::sound(Kind::default());
    let moves = [
        (0, Move::Begin),
        (1, Move::Begin),
        (0, write(1, 5)),
        (1, read(1)),
        (0, Move::Commit),
        (1, read(1)),
        (1, Move::Rollback),
        (1, Move::Begin),
        (1, read(1)),
        (1, Move::Commit),
    ];
    let replayed = play(&fake, 2, &moves, PATIENCE);
    assert_eq!(replayed.came[3], value(None));
    assert_eq!(replayed.came[5], value(Some(5)));
    assert_eq!(replayed.came[8], value(Some(5)));
    let plain = [0, 1, 2, 4, 6, 7, 9];
    assert!(plain.iter().all(|&at| replayed.came[at] == done()));
    assert_eq!(replayed.waited, [false; 10]);
    let history = history(&replayed);
    let statuses: Vec<Status> = history.txns().iter().map(|txn| txn.status).collect();
    assert_eq!(
        statuses,
        [Status::Committed, Status::Aborted, Status::Committed]
    );
    assert_eq!(history.session_count(), 2);
    assert!(history.has_intervals());
}

#[test]
fn a_move_that_waits_gets_its_own_answer() {
    let moves = [
        (0, Move::Begin),
        (1, Move::Begin),
        (0, write(1, 5)),
        // Waits for the commit of client 0, as do the moves of client 1 behind it.
        (1, write(1, 6)),
        (1, read(1)),
        (1, read(2)),
        (0, read(1)),
        (0, Move::Commit),
        (1, Move::Commit),
        (0, Move::Begin),
        (0, read(1)),
        (0, Move::Commit),
    ];
    let replayed = play(&locking(), 2, &moves, PATIENCE);
    assert_eq!(replayed.came[3], done());
    assert_eq!(replayed.came[4], value(Some(6)));
    assert_eq!(replayed.came[5], value(None));
    assert_eq!(replayed.came[6], value(Some(5)));
    assert_eq!(replayed.came[8], done());
    assert_eq!(replayed.came[10], value(Some(6)));
    let waited: Vec<usize> = (0..moves.len()).filter(|&at| replayed.waited[at]).collect();
    assert_eq!(waited, [3, 4, 5]);
    let history = history(&replayed);
    assert_eq!(history.txn_count(), 3);
    assert!(history.txns().iter().all(|t| t.status == Status::Committed));
}

#[test]
fn a_client_that_holds_a_lock_to_the_end_does_not_keep_another_for_ever() {
    // Client 1 never ends its transaction; its connection ends with the script, and frees client 0.
    let moves = [
        (1, Move::Begin),
        (1, write(1, 5)),
        (0, Move::Begin),
        (0, write(1, 6)),
        (0, Move::Commit),
    ];
    let began = Instant::now();
    let replayed = play(&locking(), 2, &moves, Duration::from_millis(200));
    assert!(began.elapsed() < Duration::from_secs(10), "it hung");
    assert_eq!(replayed.came[3], None, "no answer within the patience");
    assert!(replayed.waited[3]);
    // What became of them is in the history all the same.
    let history = history(&replayed);
    let statuses: Vec<Status> = history.txns().iter().map(|txn| txn.status).collect();
    assert_eq!(statuses, [Status::Committed, Status::Aborted]);
}

#[test]
fn a_failure_ends_a_transaction_and_skips_what_is_left_of_it() {
    let fates = [
        (Fate::Aborted, Status::Aborted),
        (Fate::Lost, Status::Aborted),
        (Fate::Unknown, Status::Indeterminate),
    ];
    for (fate, status) in fates {
        let fake = Fake::new(
            Kind::default(),
            Box::new(move |point, count| {
                (point == Point::Run && count == 1).then(|| Error::new(fate, "conflict"))
            }),
        );
        let moves = [
            (0, Move::Begin),
            (0, write(1, 5)),
            (0, write(2, 6)),
            (0, read(1)),
            (0, Move::Commit),
            (0, Move::Begin),
            (0, read(1)),
            (0, Move::Commit),
        ];
        let replayed = play(&fake, 1, &moves, PATIENCE);
        let failed = Some(Came::Failed(Error::new(fate, "conflict")));
        assert_eq!(replayed.came[2], failed);
        assert_eq!(replayed.came[3], Some(Came::Skipped));
        assert_eq!(replayed.came[4], Some(Came::Skipped));
        assert_eq!(replayed.came[6], value(None));
        let history = history(&replayed);
        let statuses: Vec<Status> = history.txns().iter().map(|txn| txn.status).collect();
        assert_eq!(statuses, [status, Status::Committed]);
        assert_eq!(history.op_count(), 3);
    }
}

#[test]
fn answers_that_come_with_the_commit_are_in_the_history() {
    let fake = Fake::sound(Kind {
        answers_later: true,
        ..Kind::default()
    });
    let moves = [
        (0, Move::Begin),
        (0, write(1, 5)),
        (0, write(2, 6)),
        (0, Move::Commit),
        (1, Move::Begin),
        (1, read(2)),
        (1, read(3)),
        (1, read(1)),
        (1, Move::Commit),
    ];
    let replayed = play(&fake, 2, &moves, PATIENCE);
    assert_eq!(replayed.came[5], Some(Came::Done(Answer::Later)));
    let line = replayed.lines.lines().last().expect("a line");
    assert!(line.contains("[[\"r\",2,6],[\"r\",3,null],[\"r\",1,5]]"));
}

#[test]
fn nobody_to_connect_to_is_an_error() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, count| {
            let fails = point == Point::Connect && count == 1;
            fails.then(|| Error::new(Fate::Lost, "refused"))
        }),
    );
    let schema = Schema::single(ColumnKind::Register, 0);
    let script = Script {
        moves: vec![(0, Move::Begin)],
        nodes: vec![0, 0],
    };
    let error = replay(&fake, &schema, &script, PATIENCE).expect_err("refused");
    assert_eq!(error.message, "refused");
    let empty = replay(&fake, &schema, &Script::default(), PATIENCE).expect("nothing to do");
    assert!(empty.came.is_empty() && empty.lines.is_empty());
}

#[test]
fn a_script_that_names_nobody_is_an_error() {
    let fake = Fake::sound(Kind::default());
    let schema = Schema::single(ColumnKind::Register, 0);
    let script = Script {
        moves: vec![(0, Move::Begin), (2, Move::Begin)],
        nodes: vec![0, 0],
    };
    let error = replay(&fake, &schema, &script, PATIENCE).expect_err("there is no client 2");
    assert_eq!(error.fate, Fate::Hopeless);
}
