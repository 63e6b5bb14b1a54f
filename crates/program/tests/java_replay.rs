//! The application's own Java code on real servers. Where Java or a server is missing and cannot be
//! installed, the tests say so and pass.
#![allow(missing_docs)]

#[path = "servers/installed.rs"]
mod installed;

use installed::{Running, install, start};
use program::replay::{JavaApplication, JavaHost, Replay, Server, ServerLevel, ServerOptions};
use program::{
    Appearance, Event, Instance, JavaFile, Program, Scenario, StoredRow, Turn, Value, read_java,
    schema_of,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DDL: &str = "create table duty (doctor int primary key, on_call int not null);";

/// Two doctors on call, each of whom may leave as long as the other stays.
const HOSPITAL: &str = r#"
package hospital;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Hospital {
    private final Connection connection;

    public Hospital(Connection connection) {
        this.connection = connection;
    }

    public boolean leave(int doctor, int other) throws SQLException {
        connection.setAutoCommit(false);
        try {
            PreparedStatement look =
                connection.prepareStatement("select on_call from duty where doctor = ?");
            look.setInt(1, other);
            ResultSet rows = look.executeQuery();
            if (!rows.next() || rows.getInt("on_call") == 0) {
                connection.rollback();
                return false;
            }
            PreparedStatement change =
                connection.prepareStatement("update duty set on_call = ? where doctor = ?");
            change.setInt(1, 0);
            change.setInt(2, doctor);
            change.executeUpdate();
            connection.commit();
            return true;
        } catch (SQLException failed) {
            connection.rollback();
            throw failed;
        }
    }
}
"#;

fn has_java() -> bool {
    let mut version = Command::new("javac");
    version
        .arg("-version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_there =
        version.status().is_ok_and(|status| status.success()) || install(&["default-jdk-headless"]);
    let driver = |file: &str, package: &str| {
        Path::new("/usr/share/java").join(file).exists() || install(&[package])
    };
    let ready = is_there
        && driver("postgresql.jar", "libpostgresql-jdbc-java")
        && driver("mariadb-java-client.jar", "libmariadb-java");
    if !ready {
        println!("skipped: Java or its drivers are not installed, and could not be");
    }
    ready
}

fn hospital() -> (Program, Scenario) {
    let (schema, _) = schema_of(DDL, "ddl.sql").expect("a schema");
    let file = JavaFile {
        name: "Hospital.java",
        text: HOSPITAL,
    };
    let program = read_java(&[file], &schema).unwrap_or_else(|error| panic!("{error}"));
    let row = |doctor| StoredRow {
        table: program.schema.find("duty").expect("a table"),
        values: vec![Value::Integer(doctor), Value::Integer(1)],
    };
    let instance = |one, other| Instance {
        arguments: vec![Value::Integer(one), Value::Integer(other)],
        ..Instance::default()
    };
    let turn = |(instance, event)| Turn {
        instance,
        event,
        sees: None,
    };
    let order = [
        (0, Event::Begin),
        (0, Event::Statement(0)),
        (1, Event::Begin),
        (1, Event::Statement(0)),
        (0, Event::Statement(1)),
        (1, Event::Statement(1)),
        (0, Event::Commit),
        (1, Event::Commit),
    ];
    let scenario = Scenario {
        rows: vec![row(1), row(2)],
        instances: vec![instance(1, 2), instance(2, 1)],
        schedule: order.map(turn).to_vec(),
    };
    (program, scenario)
}

fn check(running: &Running, name: &str, expected: &[(ServerLevel, Appearance)]) {
    let (program, scenario) = hospital();
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    let source = directory.join("Hospital.java");
    std::fs::write(&source, HOSPITAL).expect("a source");
    let options = ServerOptions::default();
    let server = Server::open(&running.url, &program.schema, options);
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let mut application = JavaApplication {
        sources: vec![source],
        ..JavaApplication::default()
    };
    let host = JavaHost::start(&application, &server, 2, &directory);
    let mut host = host.unwrap_or_else(|error| panic!("{error}"));
    for (level, verdict) in expected {
        let mut replay = Replay::new(&mut server, &program, &scenario).by(&mut host);
        let judged = replay.at(*level, None);
        let judged = judged.unwrap_or_else(|error| panic!("{}: {error}", level.name()));
        assert_eq!(judged.appearance, *verdict, "{}: {judged:#?}", level.name());
        // What the statements do when they are sent as they were read is the same.
        let mut plain = Replay::new(&mut server, &program, &scenario);
        let plain = plain
            .at(*level, None)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plain.appearance, *verdict, "{}: {plain:#?}", level.name());
    }
    drop(host);
    application.home = Some(PathBuf::from("/nowhere"));
    let error = JavaHost::start(&application, &server, 2, &directory).err();
    let problem = error.expect("no compiler").problem;
    assert!(problem.contains("/nowhere/bin/javac"), "{problem}");
    drop(server);
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn java_on_postgres_skews_writes_until_it_is_serializable() {
    if !has_java() {
        return;
    }
    if let Some(running) = start("postgres") {
        let expected = [
            (ServerLevel::ReadCommitted, Appearance::Manifested),
            (ServerLevel::RepeatableRead, Appearance::Manifested),
            (ServerLevel::Serializable, Appearance::PreventedByAbort),
        ];
        check(&running, "java-postgres", &expected);
    }
}

#[test]
fn java_on_mariadb_skews_writes_until_it_is_serializable() {
    if !has_java() {
        return;
    }
    if let Some(running) = start("mariadb") {
        let expected = [
            (ServerLevel::RepeatableRead, Appearance::Manifested),
            (ServerLevel::RepeatableReadSnapshot, Appearance::Manifested),
            (ServerLevel::Serializable, Appearance::PreventedByAbort),
        ];
        check(&running, "java-mariadb", &expected);
    }
}
