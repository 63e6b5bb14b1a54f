//! What the error numbers of MySQL and MariaDB mean for a transaction.
//!
//! A statement that failed is answered by a rollback, so nothing of its transaction is committed. After COMMIT was sent
//! only two numbers promise that: 1213, the deadlock, by which Galera also refuses at
//! certification, and 1020, the record that changed since the snapshot.

use crate::driver::{Error, Fate};

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Logging in.
    Connect,
    /// Anything before COMMIT was sent.
    Statement,
    /// COMMIT was sent.
    Commit,
}

/// The error for what the server told.
pub fn classify(code: u16, message: &str, phase: Phase) -> Error {
    let help = match code {
        1045 | 1698 => " (wrong user or password in the URL)",
        1044 | 1142 | 1143 | 1227 => {
            " (the user lacks a right; the run creates tables, reads and writes them)"
        }
        1049 => " (the path of the URL names the database)",
        1130 => " (the server does not let anybody in from here)",
        1146 => " (a table of the run is gone)",
        1193 => " (this server does not have that setting)",
        3159 => " (Isolde does not speak TLS yet)",
        _ => "",
    };
    Error::new(fate(code, phase), format!("{message}{help}")).with_code(code.to_string())
}

/// The error for a connection that broke.
pub fn broken(what: &str, phase: Phase) -> Error {
    let fate = match phase {
        Phase::Connect | Phase::Statement => Fate::Lost,
        Phase::Commit => Fate::Unknown,
    };
    Error::new(fate, what)
}

fn fate(code: u16, phase: Phase) -> Fate {
    match phase {
        Phase::Commit if matches!(code, 1213 | 1020) => Fate::Aborted,
        Phase::Commit => Fate::Unknown,
        _ if is_hopeless(code) => Fate::Hopeless,
        Phase::Connect => Fate::Lost,
        Phase::Statement if ends_connection(code) => Fate::Lost,
        // Among them 1047, a Galera node out of its cluster, and 1290, a node that became read-only.
        Phase::Statement => Fate::Aborted,
    }
}

/// Rights, names and statements that will not get better by trying again.
fn is_hopeless(code: u16) -> bool {
    matches!(
        code,
        1044 | 1045
            | 1046
            | 1049
            | 1054
            | 1064
            | 1130
            | 1131
            | 1142
            | 1143
            | 1146
            | 1193
            | 1210
            | 1227
            | 1231
            | 1235
            | 1251
            | 1264
            | 1295
            | 1305
            | 1366
            | 1370
            | 1406
            | 1698
            | 3159
    )
}

/// Shutdowns, kills and failures of the network that the server tells.
fn ends_connection(code: u16) -> bool {
    matches!(
        code,
        1053 | 1077..=1080 | 1152 | 1153 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 3169 | 4031
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_statement_aborts_unless_the_connection_or_the_run_is_over() {
        for code in [1213, 1205, 1020, 1062, 1317, 1180, 1047, 1290, 1105, 1412] {
            assert_eq!(fate(code, Phase::Statement), Fate::Aborted, "{code}");
        }
        for code in [1053, 1927, 1159, 2013, 4031] {
            assert_eq!(fate(code, Phase::Statement), Fate::Lost, "{code}");
        }
        for code in [1045, 1044, 1142, 1049, 1146, 1064] {
            assert_eq!(fate(code, Phase::Statement), Fate::Hopeless, "{code}");
        }
    }

    #[test]
    fn only_definite_words_abort_a_commit() {
        for code in [1213, 1020] {
            assert_eq!(fate(code, Phase::Commit), Fate::Aborted, "{code}");
        }
        for code in [1205, 1062, 1180, 1317, 1047, 1053, 1105, 1142, 2013] {
            assert_eq!(fate(code, Phase::Commit), Fate::Unknown, "{code}");
        }
        assert_eq!(broken("reset", Phase::Commit).fate, Fate::Unknown);
        assert_eq!(broken("reset", Phase::Statement).fate, Fate::Lost);
    }

    #[test]
    fn a_connect_is_tried_again_unless_the_login_is_wrong() {
        for code in [1040, 1203, 1053, 1047] {
            assert_eq!(fate(code, Phase::Connect), Fate::Lost, "{code}");
        }
        for code in [1044, 1045, 1049, 1130, 1698, 1193] {
            assert_eq!(fate(code, Phase::Connect), Fate::Hopeless, "{code}");
        }
    }
}
