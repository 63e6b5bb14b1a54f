//! The application's own Java code on real servers. Where Java or a server is missing and cannot be
//! installed, the tests say so and pass.
use crate::installed;

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

const PLAIN: Application<'_> = Application {
    files: &[("Hospital.java", HOSPITAL)],
    read: &["Hospital.java"],
};

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

/// A server for Java to run on; None where one of the two is not to be had.
pub(crate) fn start_with_java(name: &str) -> Option<Running> {
    has_java().then(|| start(name)).flatten()
}

/// Files by name, and which of them are read for transactions.
pub(crate) struct Application<'a> {
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) read: &'a [&'a str],
}

pub(crate) fn hospital(application: &Application<'_>) -> (Program, Scenario) {
    let (schema, _) = schema_of(DDL, "ddl.sql").expect("a schema");
    let read = |(name, _): &&(&str, &str)| application.read.contains(name);
    let files = application.files.iter().filter(read);
    let files: Vec<JavaFile<'_>> = files.map(|(name, text)| JavaFile { name, text }).collect();
    let program = read_java(&files, &schema).unwrap_or_else(|error| panic!("{error}"));
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

pub(crate) fn check(
    running: &Running,
    name: &str,
    application: &Application<'_>,
    expected: &[(ServerLevel, Appearance)],
) {
    let (program, scenario) = hospital(application);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    let written = |(name, text): &(&str, &str)| {
        let source = directory.join(name);
        let within = source.parent().expect("a directory");
        std::fs::create_dir_all(within).expect("a directory");
        std::fs::write(&source, text).expect("a source");
        source
    };
    let sources = application.files.iter().map(written).collect();
    let options = ServerOptions::default();
    let server = Server::open(&running.url, &program.schema, options);
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let mut application = JavaApplication {
        sources,
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
    if let Some(running) = start_with_java("postgres") {
        let expected = [
            (ServerLevel::ReadCommitted, Appearance::Manifested),
            (ServerLevel::RepeatableRead, Appearance::Manifested),
            (ServerLevel::Serializable, Appearance::PreventedByAbort),
        ];
        check(&running, "java-postgres", &PLAIN, &expected);
    }
}

#[test]
fn java_on_mariadb_skews_writes_until_it_is_serializable() {
    if let Some(running) = start_with_java("mariadb") {
        let expected = [
            (ServerLevel::RepeatableRead, Appearance::Manifested),
            (ServerLevel::RepeatableReadSnapshot, Appearance::Manifested),
            (ServerLevel::Serializable, Appearance::PreventedByAbort),
        ];
        check(&running, "java-mariadb", &PLAIN, &expected);
    }
}

/// The few classes of BenchBase that a procedure needs, as far as it needs them here.
const FRAME: &str = r#"
package com.oltpbenchmark.api;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

public abstract class Procedure {
    private DatabaseType type;

    public enum DatabaseType { MARIADB, POSTGRES }

    public <T extends Procedure> T initialize(DatabaseType type) {
        this.type = type;
        return null;
    }

    public final PreparedStatement getPreparedStatement(
            Connection connection, SQLStmt statement, Object... values) throws SQLException {
        if (type == null) {
            throw new IllegalStateException("which database?");
        }
        PreparedStatement prepared = connection.prepareStatement(statement.text);
        for (int at = 0; at < values.length; at++) {
            prepared.setObject(at + 1, values[at]);
        }
        return prepared;
    }

    public static final class SQLStmt {
        final String text;

        public SQLStmt(String text) {
            this.text = text;
        }
    }
}
"#;

const LEAVE: &str = r#"
package hospital;

import com.oltpbenchmark.api.Procedure;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Random;

public class Leave extends Procedure {
    public final SQLStmt look = new SQLStmt("SELECT on_call FROM duty WHERE doctor = ?");
    public final SQLStmt change = new SQLStmt("UPDATE duty SET on_call = 0 WHERE doctor = ?");

    public void run(Connection conn, int doctor, int other) throws SQLException {
        try (PreparedStatement stmt = getPreparedStatement(conn, look, other);
                ResultSet rows = stmt.executeQuery()) {
            if (!rows.next() || rows.getInt(1) == 0) {
                throw new IllegalStateException("nobody would be left");
            }
        }
        try (PreparedStatement stmt = getPreparedStatement(conn, change, doctor)) {
            stmt.executeUpdate();
        }
    }
}
"#;

#[test]
fn procedures_of_a_frame_run_too() {
    let Some(running) = start_with_java("postgres") else {
        return;
    };
    let application = Application {
        files: &[("Leave.java", LEAVE), ("Procedure.java", FRAME)],
        read: &["Leave.java"],
    };
    let expected = [
        (ServerLevel::RepeatableRead, Appearance::Manifested),
        (ServerLevel::Serializable, Appearance::PreventedByAbort),
    ];
    check(&running, "java-frame", &application, &expected);
}

/// A doctor who signs in before he leaves: the second transaction of the method is played.
const SIGNING: &str = r#"
package hospital;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Signing {
    public void leave(Connection connection, int doctor, int other) throws SQLException {
        connection.setAutoCommit(false);
        PreparedStatement first =
            connection.prepareStatement("update duty set on_call = 1 where doctor = ?");
        first.setInt(1, doctor);
        if (first.executeUpdate() == 0) {
            throw new SQLException("no such doctor");
        }
        connection.commit();
        PreparedStatement look =
            connection.prepareStatement("select on_call from duty where doctor = ?");
        look.setInt(1, other);
        ResultSet rows = look.executeQuery();
        if (rows.next() && rows.getInt("on_call") == 1) {
            PreparedStatement change =
                connection.prepareStatement("update duty set on_call = ? where doctor = ?");
            change.setInt(1, 0);
            change.setInt(2, doctor);
            change.executeUpdate();
            connection.commit();
        } else {
            connection.rollback();
        }
    }
}
"#;

#[test]
fn what_a_method_does_after_a_commit_is_played() {
    let Some(running) = start_with_java("postgres") else {
        return;
    };
    let application = Application {
        files: &[("Signing.java", SIGNING)],
        read: &["Signing.java"],
    };
    let (program, mut scenario) = hospital(&application);
    let names: Vec<&str> = program
        .transactions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["leave", "leave.2"]);
    scenario
        .instances
        .iter_mut()
        .for_each(|one| one.transaction = 1);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("java-signing");
    std::fs::create_dir_all(&directory).expect("a directory");
    let source = directory.join("Signing.java");
    std::fs::write(&source, SIGNING).expect("a source");
    let server = Server::open(&running.url, &program.schema, ServerOptions::default());
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let java = JavaApplication {
        sources: vec![source],
        ..JavaApplication::default()
    };
    let host = JavaHost::start(&java, &server, 2, &directory);
    let mut host = host.unwrap_or_else(|error| panic!("{error}"));
    // A doctor who is not there never comes to his second transaction; the next play is not harmed.
    let mut absent = scenario.clone();
    absent.instances[1].arguments[0] = Value::Integer(7);
    let mut replay = Replay::new(&mut server, &program, &absent).by(&mut host);
    let error = replay
        .at(ServerLevel::RepeatableRead, None)
        .expect_err("nobody");
    assert!(
        error.unplayable && error.problem.contains("leave.2"),
        "{error}"
    );
    let expected = [
        (ServerLevel::RepeatableRead, Appearance::Manifested),
        (ServerLevel::Serializable, Appearance::PreventedByAbort),
    ];
    for (level, verdict) in expected {
        let mut replay = Replay::new(&mut server, &program, &scenario).by(&mut host);
        let judged = replay
            .at(level, None)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(judged.appearance, verdict, "{}: {judged:#?}", level.name());
    }
    drop(host);
    drop(server);
    std::fs::remove_dir_all(&directory).expect("removed");
}
