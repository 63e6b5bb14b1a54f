//! The engines that run in this process.

use crate::checks::*;
use crate::servers::Directory;
use std::time::Duration;
use workload::driver::{Answer, Database, Fate, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::ListForm;

/// The checks of every driver but that of conflicts.
fn does_what_it_is_asked(database: &dyn Database) {
    registers_are_kept(database);
    groups_are_read(database);
    collections_are_kept(database);
    a_rollback_leaves_nothing(database);
    preparing_empties(database);
}

#[test]
fn redb_does_what_it_is_asked() {
    for isolation in ["serializable", "deferred"] {
        let directory = Directory::new("redb");
        let url = format!("redb:{}", directory.file("test.redb"));
        let database = prepared(&url, Some(isolation));
        does_what_it_is_asked(&*database);
        if isolation == "deferred" {
            a_conflict_aborts_one(&*database);
        }
        let error = try_open(&url, None).err().expect("it is open already");
        assert_eq!(error.fate, Fate::Hopeless);
    }
}

#[test]
fn waiting_for_redb_ends_and_a_dropped_connection_lets_others_go_on() {
    let directory = Directory::new("redb-busy");
    let settings = Settings {
        patience: Duration::from_millis(100),
        ..Settings::default()
    };
    let url = format!("redb:{}", directory.file("test.redb"));
    let database = drivers::open(&[url], &settings).expect("a database");
    let shape = schema(ListForm::Native);
    database.prepare(&shape).expect("the tables are made");
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    first.begin().expect("a transaction");
    first.run(&Action::Write(x(), 1)).expect("a write");
    let error = second.begin().expect_err("one at a time");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    second.rollback().expect("a rollback");
    drop(first);
    assert_eq!(answers(&mut *second, &[Action::Read(x())]), [value(0)]);
}

#[test]
fn fjall_does_what_it_is_asked() {
    for isolation in ["serializable", "batch"] {
        let directory = Directory::new("fjall");
        let url = format!("fjall:{}", directory.file("test"));
        let database = prepared(&url, Some(isolation));
        does_what_it_is_asked(&*database);
    }
}

#[test]
fn fjall_refuses_conflicts_between_transactions_and_not_between_batches() {
    let directory = Directory::new("fjall-conflict");
    let url = format!("fjall:{}", directory.file("test"));
    let database = prepared(&url, None);
    a_conflict_aborts_one(&*database);
    // A row that came into a group that was read is a conflict too.
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    let at = |row| cell(REGISTERS, row);
    first.begin().expect("a transaction");
    first.run(&Action::ReadGroup(at(400))).expect("a group");
    answers(&mut *second, &[Action::Write(at(402), 1)]);
    first.run(&Action::Write(at(500), 1)).expect("a write");
    let error = first.commit().expect_err("a phantom");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    drop((first, second, database));

    let database = prepared(&url, Some("batch"));
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    second.begin().expect("a transaction");
    second.run(&Action::Read(x())).expect("a read");
    answers(&mut *first, &[Action::Read(x()), Action::Write(x(), 2)]);
    let again = second.run(&Action::Read(x())).expect("a read");
    assert_eq!(again, Answer::Value(Some(0), None), "a snapshot");
    second.run(&Action::Write(x(), 3)).expect("a write");
    second.commit().expect("a lost update");
}
