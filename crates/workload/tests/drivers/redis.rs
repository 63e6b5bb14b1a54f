//! Redis, if it is on this machine.

use crate::checks::*;
use crate::servers::{Server, until_ready};
use std::path::Path;
use std::time::Duration;
use workload::driver::{Database, Fate, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::ListForm;

fn arguments(ports: &[u16; 2], directory: &Path) -> Vec<String> {
    let text = format!(
        "--port {} --bind 127.0.0.1 --appendonly no --dir {} --save",
        ports[0],
        directory.display()
    );
    let mut words: Vec<String> = text.split(' ').map(str::to_string).collect();
    words.push(String::new());
    words
}

fn start(more: &[String]) -> Option<Server> {
    let with_more = |ports: &[u16; 2], directory: &Path| {
        let mut words = arguments(ports, directory);
        words.extend_from_slice(more);
        words
    };
    let server = Server::start("redis-server", with_more)?;
    let address = format!("127.0.0.1:{}", server.port);
    until_ready(|| std::net::TcpStream::connect(&address));
    Some(server)
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}/2", server.port)
}

/// Opens it and makes tables of all kinds.
fn ready(urls: &[String], isolation: &str, patience: Duration) -> Box<dyn Database> {
    let settings = Settings {
        isolation: Some(isolation.to_string()),
        patience,
        ..Settings::default()
    };
    let database = until_ready(|| drivers::open(urls, &settings));
    until_ready(|| database.prepare(&schema(ListForm::Native)));
    database
}

#[test]
fn redis_does_what_it_is_asked_at_every_setting() {
    let Some(server) = start(&[]) else { return };
    for isolation in ["watch", "multi", "exec", "lua"] {
        let database = ready(&[url(&server)], isolation, Duration::from_secs(2));
        assert!(database.product().starts_with("Redis "));
        assert_eq!(
            database.answers_at_once(),
            matches!(isolation, "watch" | "multi")
        );
        registers_are_kept(&*database);
        groups_are_read(&*database);
        collections_are_kept(&*database);
        a_rollback_leaves_nothing(&*database);
        preparing_empties(&*database);
    }
}

#[test]
fn watching_refuses_what_not_watching_loses() {
    let Some(server) = start(&[]) else { return };
    let database = ready(&[url(&server)], "watch", Duration::from_secs(2));
    a_conflict_aborts_one(&*database);
    // A transaction that only reads must have read one state.
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    let (a, b) = (cell(REGISTERS, 5), cell(REGISTERS, 6));
    second.begin().expect("a transaction");
    second.run(&Action::Read(a)).expect("a read");
    answers(&mut *first, &[Action::Write(a, 1), Action::Write(b, 1)]);
    second.run(&Action::Read(b)).expect("a read");
    let error = second.commit().expect_err("two states");
    assert_eq!(error.fate, Fate::Aborted);

    let database = ready(&[url(&server)], "multi", Duration::from_secs(2));
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    second.begin().expect("a transaction");
    second.run(&Action::Read(x())).expect("a read");
    answers(&mut *first, &[Action::Read(x()), Action::Write(x(), 2)]);
    second.run(&Action::Write(x(), 3)).expect("a write");
    second.commit().expect("a lost update");
}

#[test]
fn a_dead_redis_loses_and_a_silent_one_leaves_unknown() {
    let Some(mut server) = start(&[]) else { return };
    let database = ready(&[url(&server)], "watch", Duration::from_millis(300));
    let mut silent = connect(&*database);
    let (mut reader, mut writer) = (connect(&*database), connect(&*database));
    for connection in [&mut silent, &mut reader, &mut writer] {
        connection.begin().expect("a transaction");
        let written = connection.run(&Action::Write(x(), 1));
        written.expect("a write that waits for the commit");
    }
    server.pause();
    let error = silent.commit().expect_err("no answer");
    assert_eq!(error.fate, Fate::Unknown, "{error}");
    server.kill();
    let read = reader.run(&Action::Read(cell(REGISTERS, 2)));
    assert_eq!(read.expect_err("nobody there").fate, Fate::Lost);
    // The connection was closed before anything was sent.
    let error = writer.commit().expect_err("nobody there");
    assert_eq!(error.fate, Fate::Lost, "{error}");
    let error = database.connect(0, &schema(ListForm::Native)).err();
    assert_eq!(error.expect("nobody there").fate, Fate::Lost);
}

#[test]
fn a_replica_of_redis_takes_no_writes() {
    let Some(primary) = start(&[]) else { return };
    let follow = ["--replicaof", "127.0.0.1", &primary.port.to_string()].map(str::to_string);
    let Some(replica) = start(&follow) else {
        return;
    };
    let urls = [url(&primary), url(&replica)];
    let database = ready(&urls, "watch", Duration::from_secs(10));
    assert!(database.takes_writes(0));
    assert!(!database.takes_writes(1));
    answers(&mut *connect(&*database), &[Action::Write(x(), 4)]);
    let shape = schema(ListForm::Native);
    let mut reader = database.connect(1, &shape).expect("a connection");
    until_ready(|| match answers(&mut *reader, &[Action::Read(x())]) {
        seen if seen == [value(4)] => Ok(()),
        seen => Err(format!("{seen:?}")),
    });
    let error = transact(&mut *reader, &[Action::Write(x(), 5)]).expect_err("a replica");
    assert_eq!(error.fate, Fate::Aborted, "{error}");
    reader.rollback().expect("a rollback");
    assert_eq!(answers(&mut *reader, &[Action::Read(x())]), [value(4)]);
}

#[test]
fn a_wrong_password_for_redis_is_told_without_it() {
    let secret = ["--requirepass", "geheim"].map(str::to_string);
    let Some(server) = start(&secret) else { return };
    let with = |login: &str| format!("redis://{login}127.0.0.1:{}", server.port);
    for login in ["", ":falsch@"] {
        let error = try_open(&with(login), None).err().expect("refused");
        assert_eq!(error.fate, Fate::Hopeless);
        assert!(!error.message.contains("falsch"), "{error}");
    }
    prepared(&with(":geheim@"), None);
    for url in [
        "redis:127.0.0.1",
        "redis://",
        "redis://h:port",
        "redis://h/x",
    ] {
        let error = try_open(url, None).err().expect(url);
        assert_eq!(error.fate, Fate::Hopeless, "{error}");
    }
}
