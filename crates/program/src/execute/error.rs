//! Why a program, or a statement of it, cannot go on.

use crate::place::Place;
use std::fmt;

/// A run that cannot go on: an overflow, a division by zero, a loop without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteError {
    /// Where it happened, if that is known.
    pub place: Option<Place>,
    /// What happened.
    pub problem: String,
}

impl ExecuteError {
    /// An error of which the place is not known yet.
    pub fn new(problem: impl Into<String>) -> ExecuteError {
        ExecuteError {
            place: None,
            problem: problem.into(),
        }
    }

    /// The same, at that place unless it has one.
    pub fn at(mut self, place: &Place) -> ExecuteError {
        self.place.get_or_insert_with(|| place.clone());
        self
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(out, "{place}: {}", self.problem),
            None => out.write_str(&self.problem),
        }
    }
}

impl std::error::Error for ExecuteError {}
