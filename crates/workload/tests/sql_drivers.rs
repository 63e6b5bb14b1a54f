//! The drivers of PostgreSQL and MySQL against real servers, where those are installed.

mod servers;

use servers::{Server, free_port, mariadb, postgres_pair, signal, stop};
use std::io::{Read, Write};
use std::time::Duration;
use workload::driver::{Answer, Connection, Database, Error, Fate, Form, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::{Cell, Column, ColumnKind, ListForm, Schema, Table};

const SECRET: &str = "hush";

fn settings(isolation: &str) -> Settings {
    Settings {
        isolation: Some(isolation.to_string()),
        // A machine may be busy with other tests.
        patience: Duration::from_secs(20),
        ..Settings::default()
    }
}

fn open(url: &str, settings: &Settings) -> Result<Box<dyn Database>, Error> {
    drivers::open(&[url.to_string()], settings)
}

/// A table with all but lists, and a table with the three kinds of lists.
fn schema() -> Schema {
    let column = |name, kind| Column { name, kind };
    let list = |name, form| column(name, ColumnKind::List(form));
    Schema {
        tables: vec![
            Table {
                name: "isolde_plain",
                columns: vec![
                    column("reg", ColumnKind::Register),
                    column("tally", ColumnKind::Counter),
                    column("bag", ColumnKind::Set),
                ],
                rows: 10,
                group: 5,
            },
            Table {
                name: "isolde_lists",
                columns: vec![
                    list("native", ListForm::Native),
                    list("plain", ListForm::Text),
                    list("js", ListForm::Json),
                ],
                rows: 10,
                group: 0,
            },
        ],
    }
}

fn cell(table: u16, column: u16, row: i64) -> Cell {
    Cell { table, column, row }
}

const REG: fn(i64) -> Cell = |row| cell(0, 0, row);

fn connect(database: &dyn Database) -> Box<dyn Connection> {
    database.connect(0, &schema()).expect("a connection")
}

/// Runs a transaction and commits it.
fn commit(session: &mut dyn Connection, actions: &[Action]) -> Vec<Answer> {
    session.begin().expect("a beginning");
    let answers = actions.iter().map(|action| {
        let answer = session.run(action);
        answer.unwrap_or_else(|error| panic!("{action:?}: {error}"))
    });
    let answers = answers.collect();
    session.commit().expect("a commit");
    answers
}

/// Every kind of action, in every form, is seen by another session.
fn everything_written_is_read(url: &str) {
    let form = |by_secondary, for_update, upsert| Form {
        by_secondary,
        for_update,
        upsert,
    };
    for form in [
        form(false, false, true),
        form(false, false, false),
        form(true, false, false),
        form(true, true, true),
    ] {
        let settings = Settings {
            form,
            ..settings("repeatable read")
        };
        let database = open(url, &settings).expect("a database");
        database.prepare(&schema()).expect("tables");
        let (mut one, mut two) = (connect(&*database), connect(&*database));
        for row in [3, 100] {
            written_is_read(&mut *one, &mut *two, row);
        }
        group_is_read(&mut *one, &mut *two);
        one.begin().expect("a beginning");
        one.run(&Action::Write(REG(3), 99)).expect("a write");
        one.rollback().expect("a rollback");
        let read = commit(&mut *two, &[Action::Read(REG(3))]);
        assert_eq!(read, [Answer::Value(Some(8), None)], "{form:?}");
        let text = database.statement(&schema(), &Action::Write(REG(3), 99));
        assert!(text.contains("99") && !text.contains(['?', '$']), "{text}");
    }
    let database = open(url, &settings("repeatable read")).expect("a database");
    database.clean(&schema()).expect("no more tables");
    let mut session = connect(&*database);
    session.begin().expect("a beginning");
    let gone = session.run(&Action::Read(REG(3))).expect_err("no table");
    assert_eq!(gone.fate, Fate::Hopeless, "{gone}");
}

fn written_is_read(one: &mut dyn Connection, two: &mut dyn Connection, row: i64) {
    let (tally, bag) = (cell(0, 1, row), cell(0, 2, row));
    let lists = [0, 1, 2].map(|column| cell(1, column, row));
    let mut writes = vec![
        Action::Write(REG(row), 7),
        // The same value again changes nothing, and finds its row.
        Action::Write(REG(row), 7),
        Action::Write(REG(row), 8),
        Action::Increment(tally, 5),
        Action::Increment(tally, -2),
        Action::Add(bag, 4),
        Action::Add(bag, 6),
    ];
    let mut reads = vec![
        Action::Read(REG(row)),
        Action::ReadCounter(tally),
        Action::ReadSet(bag),
    ];
    for list in lists {
        writes.extend([1, 2, 3].map(|value| Action::Append(list, value)));
        reads.push(Action::ReadList(list));
    }
    let before = commit(two, &reads);
    let nothing = (row < 10).then_some(0);
    assert_eq!(before[0], Answer::Value(nothing, None));
    assert_eq!(before[1], Answer::Value(nothing, None));
    assert_eq!(before[2..], [const { Answer::Values(Vec::new()) }; 4]);
    assert!(
        commit(one, &writes)
            .iter()
            .all(|answer| *answer == Answer::Done)
    );
    let mut after = commit(two, &reads);
    if let Answer::Values(values) = &mut after[2] {
        values.sort();
    }
    assert_eq!(after[0], Answer::Value(Some(8), None));
    assert_eq!(after[1], Answer::Value(Some(3), None));
    assert_eq!(after[2], Answer::Values(vec![4, 6]));
    assert_eq!(after[3..], [1, 2, 3].map(|_| Answer::Values(vec![1, 2, 3])));
}

fn group_is_read(one: &mut dyn Connection, two: &mut dyn Connection) {
    commit(one, &[Action::Write(REG(7), 70), Action::Write(REG(-1), 9)]);
    let read =
        |session: &mut dyn Connection, row| match commit(session, &[Action::ReadGroup(REG(row))])
            .pop()
        {
            Some(Answer::Rows(mut rows)) => {
                rows.sort();
                rows
            }
            other => panic!("{other:?}"),
        };
    assert_eq!(read(two, 5), [(5, 0), (6, 0), (7, 70), (8, 0), (9, 0)]);
    assert_eq!(read(two, -3), [(-1, 9)]);
    assert_eq!(read(two, 1000), []);
}

/// A write after another session's is refused, and the session goes on.
fn conflict_aborts(url: &str, isolation: &str, code: &str) {
    let database = open(url, &settings(isolation)).expect("a database");
    database.prepare(&schema()).expect("tables");
    let (mut one, mut two) = (connect(&*database), connect(&*database));
    for ends_by_commit in [false, true] {
        one.begin().expect("a beginning");
        one.run(&Action::Read(REG(1))).expect("a read");
        commit(&mut *two, &[Action::Write(REG(1), 5)]);
        let refused = one.run(&Action::Write(REG(1), 6)).expect_err("a conflict");
        assert_eq!(refused.fate, Fate::Aborted, "{refused}");
        assert_eq!(refused.code.as_deref(), Some(code), "{refused}");
        if ends_by_commit {
            let failed = one.commit().expect_err("a failed transaction");
            assert_eq!(failed.fate, Fate::Aborted, "{failed}");
        }
        one.rollback().expect("a rollback");
        let read = commit(&mut *one, &[Action::Read(REG(1)), Action::Write(REG(1), 7)]);
        assert_eq!(read[0], Answer::Value(Some(5), None));
    }
}

/// Refused or not, and never with the password in the words.
fn fate_of_opening(url: &str, expected: Fate, word: &str) {
    let error = open(url, &settings("read committed")).err();
    let error = error.unwrap_or_else(|| panic!("{url} was opened"));
    assert_eq!(error.fate, expected, "{url}: {error}");
    assert!(error.message.contains(word), "{url}: {error}");
    assert!(!error.message.contains(SECRET), "{url}: {error}");
}

/// A process that stops answers nothing: before a commit that is a loss, after it nobody knows.
fn silence(url: &str, pid_of: &dyn Fn(&mut dyn Connection) -> String) {
    let patient = open(url, &settings("read committed")).expect("a database");
    patient.prepare(&schema()).expect("tables");
    let settings = Settings {
        ids: true,
        patience: Duration::from_secs(2),
        ..settings("read committed")
    };
    let database = open(url, &settings).expect("a database");
    for (commits, fate) in [(false, Fate::Lost), (true, Fate::Unknown)] {
        let mut session = connect(&*database);
        let pid = pid_of(&mut *session);
        session.begin().expect("a beginning");
        session.run(&Action::Write(REG(1), 1)).expect("a write");
        stop(&pid);
        let error = match commits {
            false => session.run(&Action::Write(REG(2), 1)).map(|_| ()),
            true => session.commit().map(|_| ()),
        };
        signal("-CONT", &pid);
        let error = error.expect_err("silence");
        assert_eq!(error.fate, fate, "{error}");
        let again = session.begin().expect_err("a lost connection");
        assert_eq!(again.fate, Fate::Lost, "{again}");
    }
}

/// After the server is gone.
fn death(url: &str, server: &mut Server, by: &str) {
    let database = open(url, &settings("read committed")).expect("a database");
    let (mut one, mut two) = (connect(&*database), connect(&*database));
    for session in [&mut one, &mut two] {
        session.begin().expect("a beginning");
        session.run(&Action::Read(REG(1))).expect("a read");
    }
    server.end_by(by);
    // Processes that served sessions notice the end of their parent.
    std::thread::sleep(Duration::from_millis(500));
    let error = one.run(&Action::Read(REG(1))).expect_err("no server");
    assert_eq!(error.fate, Fate::Lost, "{error}");
    let error = two.commit().expect_err("no server");
    assert!(matches!(error.fate, Fate::Unknown | Fate::Lost), "{error}");
    let error = database.connect(0, &schema()).err().expect("no server");
    assert_eq!(error.fate, Fate::Lost, "{error}");
}

#[test]
fn postgres_keeps_the_contract() {
    let Some((mut primary, replica)) = postgres_pair() else {
        return;
    };
    let port = primary.port;
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    primary.until(|| open(&url, &settings("serializable")).map(|_| ()));
    everything_written_is_read(&url);
    conflict_aborts(&url, "repeatable read", "40001");
    conflict_aborts(&url, "serializable", "40001");
    postgres_ids(&url);
    let folder = primary.folder().display().to_string();
    let by_socket = format!("postgresql:///postgres?host={folder}&port={port}");
    conflict_aborts(&by_socket, "repeatable read", "40001");
    postgres_logins(&primary);
    postgres_replica(&url, &replica);
    silence(&url, &|session| {
        session.begin().expect("a beginning");
        let info = session.commit().expect("a commit").info;
        let pid = info.iter().find(|(name, _)| *name == "pid");
        pid.expect("a pid").1.clone()
    });
    death(&url, &mut primary, "-QUIT");
}

fn postgres_ids(url: &str) {
    let settings = Settings {
        ids: true,
        ..settings("read committed")
    };
    let database = open(url, &settings).expect("a database");
    assert!(database.product().starts_with("PostgreSQL 1"));
    assert!(!database.product().contains('('));
    let mut session = connect(&*database);
    let mut info = |action| {
        session.begin().expect("a beginning");
        session.run(&action).expect("an answer");
        session.commit().expect("a commit").info
    };
    let names = |info: &[(&str, String)]| info.iter().map(|(name, _)| *name).collect::<String>();
    assert_eq!(names(&info(Action::Read(REG(1)))), "pid");
    let (one, two) = (
        info(Action::Write(REG(1), 1)),
        info(Action::Write(REG(1), 2)),
    );
    assert_eq!(names(&one), "pidxid");
    assert_ne!(one[1], two[1]);
    session.begin().expect("a beginning");
    session
        .run(&Action::Add(cell(0, 2, 1), 1))
        .expect("an answer");
    let twice = session
        .run(&Action::Add(cell(0, 2, 1), 1))
        .expect_err("there already");
    assert_eq!(
        (twice.fate, twice.code.as_deref()),
        (Fate::Aborted, Some("23505"))
    );
    let error = session.commit().expect_err("a failed transaction");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    session.rollback().expect("a rollback");
    commit(&mut *session, &[Action::Read(REG(1))]);
}

/// Roles whose passwords are stored and asked for in all ways.
fn postgres_logins(primary: &Server) {
    let port = primary.port;
    let roles = "create role scram login password 'hush'; create role clear login password 'hush'; \
         set password_encryption = 'md5'; create role old login password 'hush'";
    let done = std::process::Command::new("psql")
        .args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &port.to_string(),
            "-c",
            roles,
        ])
        .output();
    assert!(done.expect("psql").status.success());
    for role in ["scram", "clear", "old"] {
        let good = format!("postgres://{role}:hush@127.0.0.1:{port}/postgres");
        let database = open(&good, &settings("read committed"));
        let database = database.unwrap_or_else(|error| panic!("{role}: {error}"));
        let refused = database.prepare(&schema()).expect_err("no rights");
        assert_eq!(refused.fate, Fate::Hopeless, "{refused}");
        assert!(refused.message.contains("right"), "{refused}");
        let wrong = format!("postgres://{role}:hush2@127.0.0.1:{port}/postgres");
        fate_of_opening(&wrong, Fate::Hopeless, "wrong user or password");
        let none = format!("postgres://{role}@127.0.0.1:{port}/postgres");
        fate_of_opening(&none, Fate::Hopeless, "wants a password");
    }
    let at =
        |login: &str, port: u16, rest: &str| format!("postgres://{login}@127.0.0.1:{port}/{rest}");
    fate_of_opening(
        &at("scram:hush", port, "nowhere"),
        Fate::Hopeless,
        "nowhere",
    );
    fate_of_opening(
        &at("scram:hush", free_port(), "postgres"),
        Fate::Lost,
        "refused",
    );
    fate_of_opening(
        &at("nobody:hush", port, "postgres"),
        Fate::Hopeless,
        "nobody",
    );
    fate_of_opening(
        "postgres://u:hush@no.such.host.invalid/db",
        Fate::Lost,
        "no.such.host",
    );
    fate_of_opening(
        "postgres:///db?host=/no/such/folder&password=hush",
        Fate::Lost,
        "",
    );
}

fn postgres_replica(url: &str, replica: &Server) {
    let second = format!("postgres://postgres@127.0.0.1:{}/postgres", replica.port);
    let settings = settings("serializable");
    // A replica that comes first is not taken for the primary.
    let urls = [second, url.to_string()];
    let database = replica.until(|| drivers::open(&urls, &settings));
    assert!(!database.takes_writes(0) && database.takes_writes(1));
    for _ in 0..3 {
        database.prepare(&schema()).expect("tables on both");
        let mut reader = connect(&*database);
        let read = commit(&mut *reader, &[Action::Read(REG(9))]);
        assert_eq!(read, [Answer::Value(Some(0), None)]);
        reader.begin().expect("a beginning");
        let refused = reader
            .run(&Action::Write(REG(9), 1))
            .expect_err("a replica");
        assert_eq!(
            (refused.fate, refused.code.as_deref()),
            (Fate::Aborted, Some("25006"))
        );
        reader.rollback().expect("a rollback");
    }
    let strangers = [
        url.to_string(),
        format!("{}template1", url.trim_end_matches("postgres")),
    ];
    let settings = Settings {
        patience: Duration::from_secs(2),
        ..settings
    };
    let database = drivers::open(&strangers, &settings).expect("two databases");
    let error = database.prepare(&schema()).expect_err("not replicas");
    assert!(error.message.contains("replica"), "{error}");
}

#[test]
fn mariadb_keeps_the_contract() {
    let Some(mut server) = mariadb() else {
        return;
    };
    let port = server.port;
    let url = format!("mysql://me:hush@127.0.0.1:{port}/isolde");
    let database = server.until(|| open(&url, &settings("repeatable read")));
    assert!(
        database.product().starts_with("MariaDB 1"),
        "{}",
        database.product()
    );
    assert!(!database.product().contains("Galera"));
    everything_written_is_read(&url);
    let alias = url.replace("mysql:", "mariadb:");
    let snapshots = format!("{alias}?snapshot_isolation=on");
    // Servers before 10.6.18 do not have the setting.
    match open(&snapshots, &settings("repeatable read")) {
        Ok(_) => conflict_aborts(&snapshots, "repeatable read", "1020"),
        Err(error) => assert!(
            error.message.contains("does not have that setting"),
            "{error}"
        ),
    }
    deadlock_aborts(&url);
    let weak = url.replace("me:", "weak:");
    let database = open(&weak, &settings("serializable")).expect("a database");
    let refused = database.prepare(&schema()).expect_err("no rights");
    assert_eq!(refused.fate, Fate::Hopeless, "{refused}");
    assert!(refused.message.contains("right"), "{refused}");
    let wrong = |from, to| url.replace(from, to);
    fate_of_opening(
        &wrong("hush", "hush2"),
        Fate::Hopeless,
        "wrong user or password",
    );
    fate_of_opening(&wrong("/isolde", "/nowhere"), Fate::Hopeless, "nowhere");
    let other = free_port().to_string();
    fate_of_opening(&wrong(&port.to_string(), &other), Fate::Lost, "refused");
    let by_socket = format!("{url}?socket={}/sock", server.folder().display());
    open(&by_socket, &settings("serializable")).expect("a database by its socket");
    let pid = server.pid().to_string();
    silence(&url, &|_| pid.clone());
    death(&url, &mut server, "-KILL");
}

/// Two sessions that wait for each other: one is told, and goes on after its rollback.
fn deadlock_aborts(url: &str) {
    let database = open(url, &settings("repeatable read")).expect("a database");
    database.prepare(&schema()).expect("tables");
    let (mut one, mut two) = (connect(&*database), connect(&*database));
    for (session, row) in [(&mut one, 1), (&mut two, 2)] {
        session.begin().expect("a beginning");
        session.run(&Action::Write(REG(row), 5)).expect("a write");
    }
    let crossed = |session: &mut dyn Connection, row| {
        let outcome = session.run(&Action::Write(REG(row), 6));
        if let Err(error) = &outcome {
            assert_eq!(
                (error.fate, error.code.as_deref()),
                (Fate::Aborted, Some("1213"))
            );
            let after = session
                .run(&Action::Write(REG(3), 1))
                .expect_err("a failed transaction");
            assert_eq!(after.fate, Fate::Aborted);
            assert_eq!(session.commit().expect_err("failed").fate, Fate::Aborted);
            session.rollback().expect("a rollback");
            commit(session, &[Action::Read(REG(3))]);
            return false;
        }
        session.commit().is_ok()
    };
    let committed = std::thread::scope(|scope| {
        let other = scope.spawn(|| crossed(&mut *two, 1));
        [crossed(&mut *one, 2), other.join().expect("no panic")]
    });
    assert_eq!(committed.iter().filter(|&&committed| committed).count(), 1);
    // What was said after the failure did not become a transaction of its own.
    let read = commit(&mut *one, &[Action::Read(REG(3))]);
    assert_eq!(read, [Answer::Value(Some(0), None)]);
}

/// Something that listens and is no such server.
#[test]
fn a_stranger_is_no_server() {
    for scheme in ["postgres", "mysql"] {
        for words in [
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "",
            "R\0\0\0\u{4}",
            "\u{1}\0\0\0\u{ff}",
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("an address").port();
            let stranger = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a client");
                let _ = stream.write_all(words.as_bytes());
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let url = format!("{scheme}://me:hush@127.0.0.1:{port}/db");
            let error = open(&url, &settings("read committed"))
                .err()
                .expect("no server");
            assert!(matches!(error.fate, Fate::Lost | Fate::Hopeless), "{error}");
            assert!(!error.message.contains(SECRET), "{error}");
            stranger.join().expect("no panic");
        }
    }
}

/// Something that listens and says nothing.
#[test]
fn a_silent_server_is_waited_for_as_long_as_told() {
    for scheme in ["postgres", "mysql"] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let settings = Settings {
            patience: Duration::from_millis(200),
            ..Settings::default()
        };
        let start = std::time::Instant::now();
        let url = format!("{scheme}://me:hush@127.0.0.1:{port}/db");
        let error = open(&url, &settings).err().expect("no answer");
        assert_eq!(error.fate, Fate::Lost, "{error}");
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    }
}
