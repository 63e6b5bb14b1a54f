//! Limits on a check: a deadline, a memory ceiling, an interruption. The edge decides what they
//! are; the engines ask between stages and inside long loops.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A limit that was reached, in words: `timeout of 10 s in stage …`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit(pub String);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Asks whether a limit is reached. The answer names it.
pub type Probe<'a> = dyn Fn() -> Option<String> + Sync + 'a;

/// What a check may use, and who wants to know how far it is.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Asked now and then; an answer ends the check.
    pub probe: &'a Probe<'a>,
    /// Told the stage that begins.
    pub progress: &'a (dyn Fn(&str) + Sync + 'a),
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Budget {
            probe: &|| None,
            progress: &|_| {},
        }
    }
}

/// How often a question about a small history that may stay open asks before it is given up.
pub(crate) const ASKED_MAX: u32 = 1000;

impl Budget<'_> {
    /// The probe of a question that may stay open: gives up as this budget does, and after it was
    /// asked a number of times. Times, not seconds, so that the answer is the same on every machine.
    pub(crate) fn patience(&self, asked: &AtomicU32, asked_max: u32) -> Option<String> {
        if asked.fetch_add(1, Ordering::Relaxed) >= asked_max {
            return Some("too many rounds".to_string());
        }
        (self.probe)()
    }

    /// Fails if a limit is reached, naming the stage.
    pub fn check(&self, stage: &str) -> Result<(), Limit> {
        match (self.probe)() {
            Some(reached) => Err(Limit(format!("{reached} (stage: {stage})"))),
            None => Ok(()),
        }
    }
}
