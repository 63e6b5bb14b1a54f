//! What every driver must do, through the door that workloads use.

use workload::driver::{Answer, Commit, Connection, Database, Error, Fate, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::{Cell, Column, ColumnKind, ListForm, Schema, Table};

pub const REGISTERS: u16 = 0;
pub const LISTS: u16 = 1;
pub const SETS: u16 = 2;
pub const COUNTERS: u16 = 3;

/// A table of each kind; the registers come in groups of four.
pub fn schema(form: ListForm) -> Schema {
    let table = |name, kind, group| Table {
        name,
        columns: vec![Column { name: "v", kind }],
        rows: 8,
        group,
    };
    Schema {
        tables: vec![
            table("isolde_r", ColumnKind::Register, 4),
            table("isolde_l", ColumnKind::List(form), 0),
            table("isolde_s", ColumnKind::Set, 0),
            table("isolde_c", ColumnKind::Counter, 0),
        ],
    }
}

pub fn cell(table: u16, row: i64) -> Cell {
    Cell {
        table,
        column: 0,
        row,
    }
}

pub fn x() -> Cell {
    cell(REGISTERS, 1)
}

pub fn open(url: &str, isolation: Option<&str>) -> Box<dyn Database> {
    try_open(url, isolation).expect(url)
}

pub fn try_open(url: &str, isolation: Option<&str>) -> Result<Box<dyn Database>, Error> {
    let settings = Settings {
        isolation: isolation.map(str::to_string),
        patience: std::time::Duration::from_millis(2000),
        ..Settings::default()
    };
    drivers::open(&[url.to_string()], &settings)
}

/// Opens it with the tables of all kinds.
pub fn prepared(url: &str, isolation: Option<&str>) -> Box<dyn Database> {
    let database = open(url, isolation);
    let made = database.prepare(&schema(ListForm::Native));
    made.expect("the tables are made");
    database
}

pub fn connect(database: &dyn Database) -> Box<dyn Connection> {
    let connected = database.connect(0, &schema(ListForm::Native));
    connected.expect("a connection")
}

/// A whole transaction: the answers in order, wherever they came, and the commit.
pub fn transact(
    connection: &mut dyn Connection,
    actions: &[Action],
) -> Result<(Vec<Answer>, Commit), Error> {
    connection.begin()?;
    let mut answers = Vec::new();
    for action in actions {
        answers.push(connection.run(action)?);
    }
    let commit = connection.commit()?;
    let mut late = commit.answers.iter();
    for answer in answers.iter_mut().filter(|one| **one == Answer::Later) {
        *answer = late.next().expect("an answer for each Later").clone();
    }
    assert_eq!(late.next(), None, "no more answers than were put off");
    Ok((answers, commit))
}

/// The same for what must succeed, with answers that are sets in order and versions left out.
pub fn answers(connection: &mut dyn Connection, actions: &[Action]) -> Vec<Answer> {
    let (mut answers, _) = transact(connection, actions).expect("a commit");
    for (action, answer) in actions.iter().zip(&mut answers) {
        match answer {
            Answer::Value(_, version) => *version = None,
            Answer::Values(values) if matches!(action, Action::ReadSet(_)) => values.sort(),
            Answer::Rows(rows) => rows.sort(),
            _ => {}
        }
    }
    answers
}

pub fn value(number: i64) -> Answer {
    Answer::Value(Some(number), None)
}

/// Registers and groups of them.
pub fn registers_are_kept(database: &dyn Database) {
    let (mut first, mut second) = (connect(database), connect(database));
    let (a, far) = (x(), cell(REGISTERS, 1001));
    let write = [Action::Write(a, 5), Action::Write(far, 6)];
    assert_eq!(answers(&mut *first, &write), [Answer::Done, Answer::Done]);
    let read = [Action::Read(a), Action::Read(far)];
    assert_eq!(answers(&mut *second, &read), [value(5), value(6)]);
    let own = [Action::Write(a, 7), Action::Read(a), Action::Write(a, 8)];
    assert_eq!(answers(&mut *first, &own)[1], value(7));
    assert_eq!(answers(&mut *second, &[Action::Read(a)]), [value(8)]);
    let missing = answers(&mut *second, &[Action::Read(cell(REGISTERS, 5000))]);
    assert_eq!(missing, [Answer::Value(None, None)]);
}

/// A group is read whole, own writes included.
pub fn groups_are_read(database: &dyn Database) {
    let (mut first, mut second) = (connect(database), connect(database));
    let at = |row| cell(REGISTERS, row);
    let write = [Action::Write(at(200), 1), Action::Write(at(203), 2)];
    answers(&mut *first, &write);
    answers(&mut *first, &[Action::Write(at(204), 9)]);
    let rows = Answer::Rows(vec![(200, 1), (203, 2)]);
    let group = Action::ReadGroup(at(202));
    assert_eq!(answers(&mut *second, &[group]), [rows]);
    let own = [Action::Write(at(201), 3), group];
    let rows = Answer::Rows(vec![(200, 1), (201, 3), (203, 2)]);
    assert_eq!(answers(&mut *second, &own)[1], rows);
}

/// Lists, sets and counters, also inside the transaction that changes them.
pub fn collections_are_kept(database: &dyn Database) {
    let (mut first, mut second) = (connect(database), connect(database));
    let (list, set, counter) = (cell(LISTS, 2), cell(SETS, 2), cell(COUNTERS, 2));
    let none = Answer::Values(Vec::new());
    let empty = [Action::ReadList(list), Action::ReadSet(set)];
    assert_eq!(answers(&mut *first, &empty), [none.clone(), none]);
    assert_eq!(
        answers(&mut *first, &[Action::ReadCounter(counter)]),
        [value(0)]
    );
    for number in [3, 1, 2] {
        let change = [
            Action::Append(list, number),
            Action::Add(set, number),
            Action::Increment(counter, number),
        ];
        answers(&mut *first, &change);
    }
    let read = [
        Action::ReadList(list),
        Action::ReadSet(set),
        Action::ReadCounter(counter),
    ];
    let seen = answers(&mut *second, &read);
    let wanted = [vec![3, 1, 2], vec![1, 2, 3]].map(Answer::Values);
    assert_eq!(seen[..2], wanted);
    assert_eq!(seen[2], value(6));
    let own = [
        Action::Append(list, 9),
        Action::ReadList(list),
        Action::Add(set, 9),
        Action::ReadSet(set),
        Action::Increment(counter, -4),
        Action::ReadCounter(counter),
    ];
    let seen = answers(&mut *second, &own);
    assert_eq!(seen[1], Answer::Values(vec![3, 1, 2, 9]));
    assert_eq!(seen[3], Answer::Values(vec![1, 2, 3, 9]));
    assert_eq!(seen[5], value(2));
}

/// What is rolled back is gone, and the connection goes on.
pub fn a_rollback_leaves_nothing(database: &dyn Database) {
    let mut connection = connect(database);
    let cell = cell(REGISTERS, 3);
    answers(&mut *connection, &[Action::Write(cell, 1)]);
    connection.begin().expect("a transaction");
    connection.run(&Action::Write(cell, 2)).expect("a write");
    connection.rollback().expect("a rollback");
    assert_eq!(answers(&mut *connection, &[Action::Read(cell)]), [value(1)]);
}

/// Two transactions read and then write the same; the second to commit is refused, and goes on.
pub fn a_conflict_aborts_one(database: &dyn Database) {
    let (mut first, mut second) = (connect(database), connect(database));
    let cell = cell(REGISTERS, 4);
    answers(&mut *first, &[Action::Write(cell, 1)]);
    second.begin().expect("a transaction");
    second.run(&Action::Read(cell)).expect("a read");
    answers(&mut *first, &[Action::Read(cell), Action::Write(cell, 2)]);
    let refused = second
        .run(&Action::Write(cell, 3))
        .and_then(|_| second.commit());
    let error = refused.expect_err("a lost update");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    second.rollback().expect("a rollback");
    let again = [Action::Read(cell), Action::Write(cell, 4)];
    assert_eq!(answers(&mut *second, &again)[0], value(2));
    assert_eq!(answers(&mut *first, &[Action::Read(cell)]), [value(4)]);
}

/// Tables are empty after they were made again.
pub fn preparing_empties(database: &dyn Database) {
    let shape = schema(ListForm::Native);
    let mut connection = connect(database);
    let far = [Action::Read(cell(REGISTERS, 77))];
    answers(&mut *connection, &[Action::Write(cell(REGISTERS, 77), 7)]);
    drop(connection);
    database.prepare(&shape).expect("the tables are made again");
    let mut connection = connect(database);
    assert_eq!(answers(&mut *connection, &far), [Answer::Value(None, None)]);
    drop(connection);
    database.clean(&shape).expect("the tables are removed");
    database.clean(&shape).expect("nothing to remove is fine");
    database.prepare(&shape).expect("and made once more");
}
