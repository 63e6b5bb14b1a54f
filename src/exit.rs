//! Exit codes: a contract that scripts depend on.

use history::Verdict;
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// 0: every level asked about holds, or the command did its work.
    Holds,
    /// 1: a level is violated, or a certificate is refused.
    Violated,
    /// 2: bad input or environment.
    BadInput,
    /// 3: no answer within the limits.
    Unknown,
}

impl Exit {
    /// The exit of one verdict.
    pub fn of(verdict: &Verdict) -> Exit {
        match verdict {
            Verdict::Holds(_) => Exit::Holds,
            Verdict::Violated(_) => Exit::Violated,
            Verdict::Unknown(_) => Exit::Unknown,
        }
    }

    /// The exit of two results together: bad input outweighs a violation, that an unknown answer.
    pub fn and(self, other: Exit) -> Exit {
        let weight = |exit: Exit| match exit {
            Exit::Holds => 0,
            Exit::Unknown => 1,
            Exit::Violated => 2,
            Exit::BadInput => 3,
        };
        if weight(self) >= weight(other) {
            self
        } else {
            other
        }
    }

    /// The number the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Holds => 0,
            Exit::Violated => 1,
            Exit::BadInput => 2,
            Exit::Unknown => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A command that could not do its work: what to tell the user.
#[derive(Debug)]
pub struct Failure(pub String);

impl Failure {
    /// A failure with some file.
    pub fn with(file: &str, problem: impl std::fmt::Display) -> Failure {
        Failure(format!("{file}: {problem}"))
    }
}
