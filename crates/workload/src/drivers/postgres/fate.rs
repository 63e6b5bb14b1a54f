//! What PostgreSQL's error codes (SQLSTATE, the manual's appendix A) mean for a transaction.
//!
//! A statement that failed leaves a transaction that cannot commit, whatever the code: the codes decide
//! whether the connection and the run can go on. After COMMIT was sent only the codes that say
//! "rolled back" count as an abort. 40003 (completion unknown), internal errors, and everything that
//! ends the connection leave it open, for the server may have committed before it failed.

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

/// What the server said about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the server ends the connection with it.
    pub ends_connection: bool,
    /// SQLSTATE.
    pub code: String,
    /// In the server's language.
    pub message: String,
}

impl Report {
    /// Reads the body of an ErrorResponse: a letter and a text for each field.
    pub fn parse(body: &[u8]) -> Report {
        let mut report = Report::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((letter, text)) = field.split_first() else {
                continue;
            };
            let text = String::from_utf8_lossy(text);
            match letter {
                b'C' => report.code = text.into_owned(),
                b'M' => report.message = text.into_owned(),
                // Before 9.6 there is only S, which is translated.
                b'V' | b'S' if text == "FATAL" || text == "PANIC" => report.ends_connection = true,
                _ => {}
            }
        }
        report
    }

    /// What it means in a phase.
    pub fn fate(&self, phase: Phase) -> Fate {
        let code = self.code.as_str();
        let class = code.get(..2).unwrap_or_default();
        let hopeless = matches!(class, "0A" | "22" | "26" | "28" | "3D" | "3F" | "42" | "54");
        match phase {
            Phase::Connect if hopeless => Fate::Hopeless,
            // Too many connections, starting, stopping: another try may do.
            Phase::Connect => Fate::Lost,
            Phase::Commit if self.ends_connection || code == "40003" => Fate::Unknown,
            Phase::Commit if matches!(class, "23" | "25" | "40") || code == "55P03" => {
                Fate::Aborted
            }
            Phase::Commit => Fate::Unknown,
            Phase::Statement if self.ends_connection || class == "08" => Fate::Lost,
            Phase::Statement if matches!(code, "57P01" | "57P02" | "57P03") => Fate::Lost,
            Phase::Statement if hopeless => Fate::Hopeless,
            // Among them 25006, a write on a replica: a node may be demoted during a run.
            Phase::Statement => Fate::Aborted,
        }
    }

    /// The error for a phase, with a word on what to do about it.
    pub fn error(self, phase: Phase) -> Error {
        let help = match self.code.as_str() {
            "28P01" => " (wrong user or password in the URL)",
            "28000" if self.message.contains("pg_hba.conf") => {
                " (the server does not let this user in from here; Isolde does not speak TLS)"
            }
            "28000" => " (wrong user in the URL)",
            "3D000" => " (the path of the URL names the database)",
            "42501" => " (the user lacks a right; the run creates tables, reads and writes them)",
            "42P01" => " (a table of the run is gone)",
            "26000" => " (does a pooler stand between? Prepared statements need a session each)",
            _ => "",
        };
        Error::new(self.fate(phase), format!("{}{help}", self.message)).with_code(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(phase: Phase, code: &str) -> Fate {
        let report = Report {
            code: code.to_string(),
            ..Report::default()
        };
        report.fate(phase)
    }

    #[test]
    fn a_failed_statement_aborts_unless_the_connection_or_the_run_is_over() {
        for code in [
            "40001", "40P01", "23505", "55P03", "57014", "25006", "25P02", "53100", "XX000", "",
        ] {
            assert_eq!(fate(Phase::Statement, code), Fate::Aborted, "{code}");
        }
        for code in ["57P01", "57P02", "57P03", "08006"] {
            assert_eq!(fate(Phase::Statement, code), Fate::Lost, "{code}");
        }
        for code in ["28000", "3D000", "42501", "42P01", "42601", "0A000"] {
            assert_eq!(fate(Phase::Statement, code), Fate::Hopeless, "{code}");
        }
    }

    #[test]
    fn only_definite_words_abort_a_commit() {
        for code in ["40001", "40P01", "23505", "25P02"] {
            assert_eq!(fate(Phase::Commit, code), Fate::Aborted, "{code}");
        }
        for code in [
            "40003", "57P01", "08006", "57014", "53100", "XX000", "42501", "",
        ] {
            assert_eq!(fate(Phase::Commit, code), Fate::Unknown, "{code}");
        }
    }

    #[test]
    fn a_connect_is_tried_again_unless_the_login_is_wrong() {
        for code in ["53300", "57P03", "57P01", "08004", "XX000"] {
            assert_eq!(fate(Phase::Connect, code), Fate::Lost, "{code}");
        }
        for code in ["28P01", "28000", "3D000", "42501"] {
            assert_eq!(fate(Phase::Connect, code), Fate::Hopeless, "{code}");
        }
    }

    #[test]
    fn a_fatal_report_ends_the_connection() {
        let report = Report::parse(b"SFATAL\0VFATAL\0C40001\0Mconflict with recovery\0\0");
        assert_eq!(report.message, "conflict with recovery");
        assert_eq!(report.fate(Phase::Statement), Fate::Lost);
        assert_eq!(report.fate(Phase::Commit), Fate::Unknown);
        let report = Report::parse(b"SFEHLER\0VERROR\0C40001\0Mnein\0\0");
        assert_eq!(report.fate(Phase::Commit), Fate::Aborted);
        assert_eq!(Report::parse(b"").fate(Phase::Statement), Fate::Aborted);
        assert_eq!(Report::parse(&[255, 0, 0, 1]).code, "");
    }
}
