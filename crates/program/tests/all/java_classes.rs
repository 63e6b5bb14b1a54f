//! The application's own Java code where several classes have a method of one name, and where a
//! scenario cannot be played by it. Where Java or the server is missing and cannot be installed, the
//! tests say so and pass.
use crate::java_replay::{Application, check, hospital, start_with_java};
use program::replay::{JavaApplication, JavaHost, Replay, Server, ServerLevel, ServerOptions};
use program::{Appearance, Value};
use std::path::PathBuf;

/// What others call: it hands on to the class that has the statements.
const DESK: &str = r#"
package hospital.front;

import hospital.back.Roster;
import java.sql.SQLException;

public class Desk {
    private final Roster roster;

    public Desk() throws SQLException {
        roster = new Roster();
    }

    public boolean leave(int doctor, int other) throws SQLException {
        return doctor != other && roster.leave(doctor, other);
    }
}
"#;

/// It connects by itself.
const ROSTER: &str = r#"
package hospital.back;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Roster {
    private Connection connection;
    private PreparedStatement look;
    private PreparedStatement change;

    public Roster() throws SQLException {
        connection = DriverManager.getConnection("jdbc:postgresql://localhost/hospital", "a", "b");
        connection.setAutoCommit(false);
        look = connection.prepareStatement("select on_call from duty where doctor = ?");
        change = connection.prepareStatement("update duty set on_call = ? where doctor = ?");
    }

    public boolean leave(int doctor, int other) throws SQLException {
        look.setInt(1, other);
        ResultSet rows = look.executeQuery();
        if (!rows.next() || rows.getInt("on_call") == 0) {
            connection.rollback();
            return false;
        }
        change.setInt(1, 0);
        change.setInt(2, doctor);
        change.executeUpdate();
        connection.commit();
        return true;
    }
}
"#;

/// A class of the same name elsewhere, which is no part of what is read.
const OTHER: &str = r#"
package hospital.old;

public class Desk {
    public boolean leave(int doctor, int other) {
        throw new IllegalStateException("not this one");
    }
}
"#;

#[test]
fn the_class_of_a_method_is_that_of_its_source() {
    let Some(running) = start_with_java("postgres") else {
        return;
    };
    let expected = [
        (ServerLevel::RepeatableRead, Appearance::Manifested),
        (ServerLevel::Serializable, Appearance::PreventedByAbort),
    ];
    let plain = Application {
        files: &[("Desk.java", DESK), ("Roster.java", ROSTER)],
        read: &["Desk.java", "Roster.java"],
    };
    check(&running, "java-classes", &plain, &expected);
    let packages = Application {
        files: &[
            ("hospital/front/Desk.java", DESK),
            ("hospital/old/Desk.java", OTHER),
            ("Roster.java", ROSTER),
        ],
        read: &["hospital/front/Desk.java", "Roster.java"],
    };
    check(&running, "java-packages", &packages, &expected);
}

/// A doctor who leaves a number behind that nobody can foresee.
const RANDOM: &str = r#"
package hospital;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

public class Draw {
    public void leave(Connection connection, int doctor, int other) throws SQLException {
        PreparedStatement change =
            connection.prepareStatement("update duty set on_call = ? where doctor = ?");
        int drawn = (int) (Math.random() * Integer.MAX_VALUE);
        change.setInt(1, other == 7 ? 0 : drawn);
        change.setInt(2, doctor);
        change.executeUpdate();
    }
}
"#;

#[test]
fn what_cannot_be_played_leaves_the_others_alone() {
    let Some(running) = start_with_java("postgres") else {
        return;
    };
    let application = Application {
        files: &[("Draw.java", RANDOM)],
        read: &["Draw.java"],
    };
    let (program, scenario) = hospital(&application);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("java-unplayable");
    std::fs::create_dir_all(&directory).expect("a directory");
    let source = directory.join("Draw.java");
    std::fs::write(&source, RANDOM).expect("a source");
    let server = Server::open(&running.url, &program.schema, ServerOptions::default());
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let java = JavaApplication {
        sources: vec![source],
        ..JavaApplication::default()
    };
    let host = JavaHost::start(&java, &server, 2, &directory);
    let mut host = host.unwrap_or_else(|error| panic!("{error}"));
    let mut absent = scenario.clone();
    absent.instances[1].arguments.pop();
    let mut steady = scenario.clone();
    for instance in &mut steady.instances {
        instance.arguments[1] = Value::Integer(7);
    }
    // A method that is not there, and one that never does the same twice.
    let reasons = [
        (&absent, "0 methods are called leave"),
        (&scenario, "does not do the same twice"),
    ];
    for (unplayable, reason) in reasons {
        let mut replay = Replay::new(&mut server, &program, unplayable).by(&mut host);
        let error = replay.at(ServerLevel::RepeatableRead, None);
        let error = error.expect_err("not playable");
        assert!(error.unplayable, "{error}");
        assert!(error.problem.contains(reason), "{error}");
        let mut replay = Replay::new(&mut server, &program, &steady).by(&mut host);
        let judged = replay.at(ServerLevel::RepeatableRead, None);
        let judged = judged.unwrap_or_else(|error| panic!("after {reason}: {error}"));
        assert_eq!(judged.appearance, Appearance::NotManifested, "{judged:#?}");
    }
    drop(host);
    drop(server);
    std::fs::remove_dir_all(&directory).expect("removed");
}
