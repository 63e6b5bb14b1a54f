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
    /// Told how far that stage is, now and then: what was counted, each with its name.
    pub counts: &'a (dyn Fn(&[Count]) + Sync + 'a),
}

/// What was counted, and how much of it.
pub type Count = (&'static str, u64);

impl Default for Budget<'_> {
    fn default() -> Self {
        Budget {
            probe: &|| None,
            progress: &|_| {},
            counts: &|_| {},
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

    /// The same, for whoever has something to tell about how far the stage is.
    pub fn check_at(&self, stage: &str, counts: &[Count]) -> Result<(), Limit> {
        (self.counts)(counts);
        match (self.probe)() {
            Some(reached) => {
                let counts = in_words(counts);
                Err(Limit(format!("{reached} (stage: {stage}, {counts})")))
            }
            None => Ok(()),
        }
    }
}

/// `231 choices, 1204 cycles`.
pub fn in_words(counts: &[Count]) -> String {
    let counts = counts
        .iter()
        .map(|(what, number)| format!("{number} {what}"));
    counts.collect::<Vec<_>>().join(", ")
}
