//! etcd, if it is on this machine.

use crate::checks::*;
use crate::servers::{Server, until_ready};
use std::path::Path;
use std::time::Duration;
use workload::driver::{Answer, Database, Fate, Settings};
use workload::drivers;
use workload::plan::Action;
use workload::schema::ListForm;

fn arguments(ports: &[u16; 2], directory: &Path) -> Vec<String> {
    let [client, peer] = ports.map(|port| format!("http://127.0.0.1:{port}"));
    let text = format!(
        "--name a --data-dir {} --listen-client-urls {client} --advertise-client-urls {client} \
         --listen-peer-urls {peer} --initial-advertise-peer-urls {peer} --initial-cluster a={peer}",
        directory.join("data").display()
    );
    text.split(' ').map(str::to_string).collect()
}

fn start() -> Option<Server> {
    Server::start("etcd", arguments)
}

fn ready(server: &Server, isolation: &str, patience: Duration) -> Box<dyn Database> {
    let settings = Settings {
        isolation: Some(isolation.to_string()),
        patience,
        ..Settings::default()
    };
    let urls = [format!("etcd://127.0.0.1:{}", server.port)];
    let database = until_ready(|| drivers::open(&urls, &settings));
    until_ready(|| database.prepare(&schema(ListForm::Native)));
    database
}

#[test]
fn etcd_does_what_it_is_asked_at_every_setting() {
    let Some(server) = start() else { return };
    for isolation in ["serializable", "snapshot", "stale"] {
        let database = ready(&server, isolation, Duration::from_secs(5));
        assert!(database.product().starts_with("etcd 3."));
        registers_are_kept(&*database);
        groups_are_read(&*database);
        a_rollback_leaves_nothing(&*database);
        if isolation != "stale" {
            collections_are_kept(&*database);
            a_conflict_aborts_one(&*database);
        }
        preparing_empties(&*database);
    }
    let database = ready(&server, "stale", Duration::from_secs(5));
    let append = [Action::Append(cell(LISTS, 1), 1)];
    let error = transact(&mut *connect(&*database), &append).expect_err("no lists");
    assert_eq!(error.fate, Fate::Hopeless);
}

#[test]
fn etcd_tells_versions() {
    let Some(server) = start() else { return };
    let database = ready(&server, "serializable", Duration::from_secs(5));
    let mut connection = connect(&*database);
    let write = [Action::Write(x(), 5)];
    let (_, commit) = transact(&mut *connection, &write).expect("a commit");
    assert!(commit.version.is_some());
    let read = [Action::Read(x())];
    let (answers, only_read) = transact(&mut *connection, &read).expect("a commit");
    assert_eq!(answers, [Answer::Value(Some(5), commit.version)]);
    assert_eq!(only_read.version, None);
}

#[test]
fn etcd_keeps_the_promise_of_each_setting() {
    let Some(server) = start() else { return };
    let (a, b) = (cell(REGISTERS, 5), cell(REGISTERS, 6));
    // Two states read: refused, or one state after all, or seen.
    for (isolation, second_read) in [
        ("serializable", None),
        ("snapshot", Some(0)),
        ("stale", Some(1)),
    ] {
        let database = ready(&server, isolation, Duration::from_secs(5));
        let (mut first, mut second) = (connect(&*database), connect(&*database));
        second.begin().expect("a transaction");
        second.run(&Action::Read(a)).expect("a read");
        answers(&mut *first, &[Action::Write(a, 1), Action::Write(b, 1)]);
        let seen = second.run(&Action::Read(b)).expect("a read");
        match (second.commit(), second_read) {
            (Ok(_), Some(number)) => {
                let Answer::Value(seen, _) = seen else {
                    panic!("{seen:?}");
                };
                assert_eq!(seen, Some(number), "{isolation}");
            }
            (Err(error), None) => assert_eq!(error.fate, Fate::Aborted),
            (other, _) => panic!("{isolation}: {other:?}"),
        }
    }
    // A lost update goes through where nothing is compared.
    let database = ready(&server, "stale", Duration::from_secs(5));
    let (mut first, mut second) = (connect(&*database), connect(&*database));
    second.begin().expect("a transaction");
    second.run(&Action::Read(a)).expect("a read");
    answers(&mut *first, &[Action::Read(a), Action::Write(a, 2)]);
    second.run(&Action::Write(a, 3)).expect("a write");
    second.commit().expect("a lost update");
}

#[test]
fn a_dead_etcd_loses_and_a_silent_one_leaves_unknown() {
    let Some(mut server) = start() else { return };
    ready(&server, "serializable", Duration::from_secs(5));
    let database = ready(&server, "serializable", Duration::from_millis(500));
    let (mut silent, mut reader) = (connect(&*database), connect(&*database));
    let mut writer = connect(&*database);
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
    let error = writer.commit().expect_err("nobody there");
    assert_eq!(error.fate, Fate::Lost, "{error}");
    let error = database.connect(0, &schema(ListForm::Native)).err();
    assert_eq!(error.expect("nobody there").fate, Fate::Lost);
}

#[test]
fn a_wrong_url_of_etcd_is_told() {
    for url in [
        "etcd:",
        "etcd://",
        "etcd://u:geheim@h",
        "etcd://127.0.0.1:1",
    ] {
        let error = try_open(url, None).err().expect(url);
        assert_eq!(error.fate, Fate::Hopeless, "{error}");
        assert!(!error.message.contains("geheim"), "{error}");
    }
}
