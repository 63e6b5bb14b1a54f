//! SQLite, in this process.

use crate::checks::*;
use crate::servers::Directory;
use workload::driver::{Answer, Fate, Form, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::ListForm;

fn file(directory: &Directory) -> String {
    format!("sqlite:{}", directory.file("test.db"))
}

#[test]
fn sqlite_does_what_it_is_asked() {
    let directory = Directory::new("sqlite");
    let database = prepared(&file(&directory), None);
    assert!(database.product().starts_with("SQLite 3."));
    registers_are_kept(&*database);
    groups_are_read(&*database);
    collections_are_kept(&*database);
    a_rollback_leaves_nothing(&*database);
    a_conflict_aborts_one(&*database);
    preparing_empties(&*database);
}

#[test]
fn sqlite_in_memory_does_what_it_is_asked() {
    let database = prepared("sqlite::memory:", None);
    registers_are_kept(&*database);
    groups_are_read(&*database);
    collections_are_kept(&*database);
    a_rollback_leaves_nothing(&*database);
}

#[test]
fn lists_of_every_form_are_kept() {
    for form in [ListForm::Native, ListForm::Text, ListForm::Json] {
        let shape = schema(form);
        let database = open("sqlite::memory:", None);
        database.prepare(&shape).expect("tables");
        let mut connection = database.connect(0, &shape).expect("a connection");
        let list = cell(LISTS, 5);
        for number in [4, -1, 7] {
            answers(&mut *connection, &[Action::Append(list, number)]);
            let seen = answers(&mut *connection, &[Action::ReadList(list)]);
            let Answer::Values(values) = &seen[0] else {
                panic!("{form:?}: {seen:?}");
            };
            assert_eq!(values.last(), Some(&number), "{form:?}");
        }
        let seen = answers(&mut *connection, &[Action::ReadList(list)]);
        assert_eq!(seen, [Answer::Values(vec![4, -1, 7])], "{form:?}");
    }
}

#[test]
fn other_forms_of_statements_do_the_same() {
    for (by_secondary, upsert) in [(true, true), (false, false), (true, false)] {
        let settings = Settings {
            form: Form {
                by_secondary,
                upsert,
                for_update: true,
            },
            ..Settings::default()
        };
        let urls = ["sqlite::memory:".to_string()];
        let database = drivers::open(&urls, &settings).expect("a database");
        database
            .prepare(&schema(ListForm::Native))
            .expect("the tables are made");
        registers_are_kept(&*database);
        groups_are_read(&*database);
        collections_are_kept(&*database);
    }
}

#[test]
fn a_write_while_another_writes_is_aborted() {
    let directory = Directory::new("sqlite-busy");
    let settings = Settings {
        patience: std::time::Duration::from_millis(50),
        ..Settings::default()
    };
    let database = drivers::open(&[file(&directory)], &settings).expect("a database");
    let shape = schema(ListForm::Native);
    database.prepare(&shape).expect("the tables are made");
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    first.begin().expect("a transaction");
    first.run(&Action::Write(x(), 1)).expect("a write");
    second.begin().expect("a transaction");
    let error = second
        .run(&Action::Write(x(), 2))
        .expect_err("two cannot write");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    second.rollback().expect("a rollback");
    first.commit().expect("a commit");
    assert_eq!(answers(&mut *second, &[Action::Read(x())]), [value(1)]);
}

#[test]
fn two_databases_in_memory_share_nothing() {
    let one = prepared("sqlite::memory:", None);
    let other = prepared("sqlite::memory:", None);
    answers(&mut *connect(&*one), &[Action::Write(x(), 1)]);
    let seen = answers(&mut *connect(&*other), &[Action::Read(x())]);
    assert_eq!(seen, [value(0)]);
    let seen = answers(&mut *connect(&*one), &[Action::Read(x())]);
    assert_eq!(seen, [value(1)]);
}

#[test]
fn read_uncommitted_reads_what_is_not_committed() {
    let directory = Directory::new("sqlite-dirty");
    for url in ["sqlite::memory:".to_string(), file(&directory)] {
        let database = prepared(&url, Some("read uncommitted"));
        let (mut first, mut second) = (connect(&*database), connect(&*database));
        first.begin().expect("a transaction");
        first.run(&Action::Write(x(), 1)).expect("a write");
        let seen = answers(&mut *second, &[Action::Read(x())]);
        assert_eq!(seen, [value(1)], "{url}");
        first.rollback().expect("a rollback");
        let seen = answers(&mut *second, &[Action::Read(x())]);
        assert_eq!(seen, [value(0)], "{url}");
    }
}

#[test]
fn a_wrong_isolation_or_file_is_told() {
    let error = try_open("sqlite::memory:", Some("snapshot")).err();
    let error = error.expect("no such setting");
    assert_eq!(error.fate, Fate::Hopeless);
    assert!(error.message.contains("read uncommitted"), "{error}");
    let error = try_open("sqlite:/nowhere/at/all.db", None).err();
    assert!(error.expect("no such file").message.contains("/nowhere"));
}
