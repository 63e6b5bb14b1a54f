//! Applications as they are found: services with sources of connections, objects as arguments, drivers
//! that are not there, code that throws or hangs. Each is the hospital of `java_replay`, written anew.

use crate::java_replay::{Application, hospital, start_with_java};
use program::replay::{JavaApplication, JavaHost, Replay, Server, ServerLevel, ServerOptions};
use program::{Appearance, Value};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What a level showed, or why the application could not be played there.
type Shown = Result<Appearance, String>;

/// Plays an application on PostgreSQL at these levels; the arguments are those of the hospital, in the
/// form that its method takes them. None without Java or a server.
fn shown(
    name: &str,
    application: &Application<'_>,
    argument: &dyn Fn(&[Value]) -> Vec<Value>,
    levels: &[ServerLevel],
) -> Option<Vec<Shown>> {
    let running = start_with_java("postgres")?;
    let (program, mut scenario) = hospital(application);
    for instance in &mut scenario.instances {
        instance.arguments = argument(&instance.arguments);
    }
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut sources = Vec::new();
    for (name, text) in application.files {
        let source = directory.join(name);
        std::fs::create_dir_all(source.parent().expect("a directory")).expect("a directory");
        std::fs::write(&source, text).expect("a source");
        sources.push(source);
    }
    let entries = application.read.iter().map(|name| directory.join(name));
    let java = JavaApplication {
        entries: entries.collect(),
        sources,
        ..JavaApplication::default()
    };
    let options = ServerOptions {
        deadline: Duration::from_secs(12),
    };
    let mut server = Server::open(&running.url, &program.schema, options).expect("a server");
    let mut host = JavaHost::start(&java, &server, 2, &directory).unwrap_or_else(|e| panic!("{e}"));
    let mut found = Vec::new();
    for level in levels {
        let mut replay = Replay::new(&mut server, &program, &scenario).by(&mut host);
        let judged = replay.at(*level, None);
        found.push(match judged {
            Ok(judged) => Ok(judged.appearance),
            Err(error) => {
                assert!(error.unplayable, "others can be played: {error}");
                Err(error.problem)
            }
        });
    }
    drop(host);
    drop(server);
    std::fs::remove_dir_all(&directory).expect("removed");
    Some(found)
}

const LEVELS: &[ServerLevel] = &[
    ServerLevel::ReadCommitted,
    ServerLevel::RepeatableRead,
    ServerLevel::Serializable,
];

fn as_they_are(arguments: &[Value]) -> Vec<Value> {
    arguments.to_vec()
}

fn skews_writes(found: Option<Vec<Shown>>) {
    let expected = [
        Ok(Appearance::Manifested),
        Ok(Appearance::Manifested),
        Ok(Appearance::PreventedByAbort),
    ];
    if let Some(found) = found {
        assert_eq!(found, expected);
    }
}

/// A service that is given a source of connections, and what it works with; a screen that nobody can
/// compile here.
const CLINIC: &str = r#"
package clinic;

import java.sql.*;
import javax.sql.DataSource;

public class Clinic {
    private final DataSource source;
    private final Rules rules;

    public Clinic(DataSource source, Rules rules) {
        this.source = source;
        this.rules = rules;
    }

    public boolean leave(int doctor, int other) throws SQLException {
        try (Connection connection = source.getConnection()) {
            if (connection.getAutoCommit()) {
                connection.setAutoCommit(false);
            }
            try (PreparedStatement look =
                    connection.prepareStatement("select on_call from duty where doctor = ?")) {
                look.setInt(1, other);
                try (ResultSet rows = look.executeQuery()) {
                    if (!rows.next() || rows.getInt("on_call") < rules.least()) {
                        connection.rollback();
                        return false;
                    }
                }
            }
            try (PreparedStatement change =
                    connection.prepareStatement("update duty set on_call = 0 where doctor = ?")) {
                change.setInt(1, doctor);
                change.executeUpdate();
            }
            connection.commit();
            return true;
        }
    }
}
"#;

const RULES: &str = "package clinic;\npublic interface Rules { int least(); }\n";

const STRICT: &str = "package clinic;\nclass Strict implements Rules {\n    private final int least;\n\
    Strict(int given) { least = given + 1; }\n    public int least() { return least; }\n}\n";

const SCREEN: &str =
    "package clinic;\nimport org.nowhere.Window;\nclass Screen extends Window {}\n";

#[test]
fn a_service_is_made_with_what_its_constructor_takes() {
    let application = Application {
        files: &[
            ("clinic/Clinic.java", CLINIC),
            ("clinic/Rules.java", RULES),
            ("clinic/Strict.java", STRICT),
        ],
        read: &["clinic/Clinic.java"],
    };
    skews_writes(shown("java-clinic", &application, &as_they_are, LEVELS));
}

/// One connection for all, in a static field, by a driver that is not on the class path; the object
/// reads the table when it is made.
const SHARED: &str = r#"
package shared;

import java.sql.*;

public class Shared {
    private static Connection connection;
    private int doctors;

    private static Connection connect() throws Exception {
        if (connection == null) {
            Class.forName("com.mysql.cj.jdbc.Driver");
            connection = DriverManager.getConnection("jdbc:mysql://localhost/hospital", "a", "b");
        }
        return connection;
    }

    public Shared() throws Exception {
        try (ResultSet rows = connect().createStatement().executeQuery("select * from duty")) {
            while (rows.next()) {
                doctors++;
            }
        }
    }

    public void leave(int doctor, int other) throws Exception {
        Connection connection = connect();
        connection.setAutoCommit(false);
        PreparedStatement look =
            connection.prepareStatement("select on_call from duty where doctor = ?");
        look.setInt(1, other);
        ResultSet rows = look.executeQuery();
        if (rows.next() && rows.getInt(1) == 1 && doctors == 2) {
            PreparedStatement change =
                connection.prepareStatement("update duty set on_call = 0 where doctor = ?");
            change.setInt(1, doctor);
            change.executeUpdate();
        }
        connection.commit();
    }
}
"#;

#[test]
fn a_connection_that_all_share_is_that_of_the_thread() {
    let application = Application {
        files: &[
            ("shared/Shared.java", SHARED),
            ("clinic/Screen.java", SCREEN),
        ],
        read: &["shared/Shared.java"],
    };
    skews_writes(shown("java-shared", &application, &as_they_are, LEVELS));
}

/// A method that takes an object, which has an enum and a moment beside what matters.
const SHIFTS: &str = r#"
package shifts;

import java.sql.*;

public class Shifts {
    public void leave(Connection connection, Shift shift) throws SQLException {
        PreparedStatement look =
            connection.prepareStatement("select on_call from duty where doctor = ?");
        look.setInt(1, shift.getOther());
        ResultSet rows = look.executeQuery();
        if (rows.next() && rows.getInt(1) == 1 && shift.isToday()) {
            PreparedStatement change =
                connection.prepareStatement("update duty set on_call = 0 where doctor = ?");
            change.setInt(1, shift.getDoctor());
            change.executeUpdate();
        }
    }
}
"#;

const SHIFT: &str = r#"
package shifts;

import java.time.LocalDate;

public class Shift {
    public enum Kind { NIGHT, DAY }

    private final int doctor;
    private int other;
    private Kind kind;
    private LocalDate day;

    public Shift(int doctor, LocalDate day) {
        this.doctor = doctor;
        this.day = day;
    }

    public int getDoctor() { return doctor; }
    public int getOther() { return other; }
    public boolean isToday() { return kind == Kind.DAY && day.getYear() == 2024; }
}
"#;

#[test]
fn objects_are_made_of_their_fields() {
    let application = Application {
        files: &[("shifts/Shifts.java", SHIFTS), ("shifts/Shift.java", SHIFT)],
        read: &["shifts/Shifts.java", "shifts/Shift.java"],
    };
    let object = |arguments: &[Value]| {
        let text = |text: &str| Value::Text(text.to_string());
        let fields = [
            [text("doctor"), arguments[0].clone()],
            [text("other"), arguments[1].clone()],
            [text("kind"), text("DAY")],
            [text("day"), text("2024-02-29 00:00:00")],
        ];
        vec![Value::List(fields.concat())]
    };
    skews_writes(shown("java-shifts", &application, &object, LEVELS));
}

/// A pool that tries its connection, and a variable of the session: they take no turn of the schedule.
const TRIED: &str = r#"
package tried;

import java.sql.*;

public class Tried {
    public void leave(Connection connection, int doctor, int other) throws SQLException {
        Pool.tried(connection);
        PreparedStatement look =
            connection.prepareStatement("select on_call from duty where doctor = ?");
        look.setInt(1, other);
        ResultSet rows = look.executeQuery();
        if (rows.next() && rows.getInt(1) == 1) {
            PreparedStatement change =
                connection.prepareStatement("update duty set on_call = 0 where doctor = ?");
            change.setInt(1, doctor);
            change.executeUpdate();
        }
    }
}
"#;

const POOL: &str = r#"
package tried;

import java.sql.*;

class Pool {
    static void tried(Connection connection) throws SQLException {
        connection.createStatement().execute("SELECT 1");
        connection.createStatement().execute("SET application_name = 'tried'");
    }
}
"#;

#[test]
fn statements_of_a_pool_take_no_turn() {
    let application = Application {
        files: &[("tried/Tried.java", TRIED), ("tried/Pool.java", POOL)],
        read: &["tried/Tried.java"],
    };
    skews_writes(shown("java-tried", &application, &as_they_are, LEVELS));
}

fn unplayable(name: &str, text: &str) -> Option<Vec<String>> {
    let application = Application {
        files: &[("Hospital.java", text)],
        read: &["Hospital.java"],
    };
    let found = shown(name, &application, &as_they_are, &LEVELS[..2])?;
    let problems = found.into_iter().map(|one| one.expect_err("not played"));
    Some(problems.collect())
}

/// A class with this constructor, and a method that begins so.
fn hospital_with(constructor: &str, first: &str) -> String {
    format!(
        r#"
import java.sql.*;

public class Hospital {{
    Hospital() {{ {constructor} }}

    public void leave(Connection connection, int doctor, int other) throws Exception {{
        {first}
        PreparedStatement change =
            connection.prepareStatement("update duty set on_call = 0 where doctor = ?");
        change.setInt(1, doctor);
        change.executeUpdate();
    }}
}}
"#
    )
}

#[test]
fn what_throws_before_its_first_statement_is_not_played() {
    let text = hospital_with("", "if (other >= 0) throw new Exception(\"closed\");");
    for problem in unplayable("java-closed", &text).unwrap_or_default() {
        let expected =
            "the code of leave ends before its first statement: java.lang.Exception: closed";
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn a_constructor_that_throws_is_named() {
    let text = hospital_with("throw new IllegalStateException(\"no key\");", "");
    for problem in unplayable("java-no-key", &text).unwrap_or_default() {
        let expected = "the constructor of Hospital throws java.lang.IllegalStateException: no key";
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn code_that_hangs_is_waited_for_once() {
    for (name, text) in [
        ("java-hangs", hospital_with("", "Thread.sleep(600_000);")),
        (
            "java-hangs-early",
            hospital_with("while (true) Thread.onSpinWait();", ""),
        ),
    ] {
        let since = Instant::now();
        for problem in unplayable(name, &text).unwrap_or_default() {
            assert!(
                problem.contains("the code of leave does nothing"),
                "{problem}"
            );
        }
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "{:?}",
            since.elapsed()
        );
    }
}
