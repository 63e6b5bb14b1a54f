//! Why a replay could not be done; what a store answered to a transaction is no error.

use crate::execute::ExecuteError;
use std::fmt;

/// Why a scenario could not be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// What went wrong, and what to do about it.
    pub problem: String,
    /// Whether it is this scenario that cannot be played; others can.
    pub unplayable: bool,
}

impl ReplayError {
    /// An error.
    pub fn new(problem: impl Into<String>) -> ReplayError {
        ReplayError {
            problem: problem.into(),
            unplayable: false,
        }
    }

    /// An error that concerns one scenario only.
    pub fn unplayable(problem: impl Into<String>) -> ReplayError {
        ReplayError {
            problem: problem.into(),
            unplayable: true,
        }
    }

    /// The same, with what was being done in front.
    pub fn during(self, doing: &str) -> ReplayError {
        ReplayError {
            problem: format!("{doing}: {}", self.problem),
            ..self
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.problem)
    }
}

impl std::error::Error for ReplayError {}

impl From<workload::driver::Error> for ReplayError {
    fn from(error: workload::driver::Error) -> ReplayError {
        ReplayError::new(error.to_string())
    }
}

impl From<ExecuteError> for ReplayError {
    fn from(error: ExecuteError) -> ReplayError {
        ReplayError::new(error.to_string())
    }
}
