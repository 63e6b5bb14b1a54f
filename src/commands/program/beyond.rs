//! What the search for anomalies leaves open: longer cycles, more transactions, reads that only
//! somebody outside sees. Where it finds nothing at a level, it is asked whether the program is
//! robust there, which has no such bounds, so that "no anomaly" is not taken for "safe".

use super::limit::Limit;
use super::robust::{answer_json, answer_text};
use program::Program;
use program::analysis::{Analysis, Options};
use program::robust::{Level, RobustOptions, Robustness, check};
use serde_json::Value;
use std::fmt::Write;

/// The levels at which the search found nothing, and whether the program is robust there.
pub struct Beyond {
    answers: Vec<(String, Robustness)>,
    /// Whether these are all levels that were asked about.
    all: bool,
}

/// Asks about every level where nothing was found, of those that robustness is about.
pub fn ask(program: &Program, options: &Options, analysis: &Analysis, limit: &Limit) -> Beyond {
    let count = program.transactions.len();
    let mut asked: Vec<(String, Vec<Level>)> = Vec::new();
    let mut wanted = 1;
    if let Some(mixed) = &options.mixed {
        let levels: Option<Vec<Level>> = mixed.iter().map(|one| Level::of(*one)).collect();
        let levels = levels.filter(|_| analysis.anomalies.is_empty());
        asked.extend(levels.map(|levels| ("the levels given".to_string(), levels)));
    } else {
        wanted = options.levels.len();
        for level in &options.levels {
            let mut found = analysis.anomalies.iter();
            let known = Level::of(*level).filter(|level| *level != Level::Serializable);
            if let Some(known) = known
                && !found.any(|anomaly| anomaly.levels().contains(level))
            {
                asked.push((known.name().to_string(), vec![known; count]));
            }
        }
    }
    let limit = limit.or_a_tenth();
    let answer = |(name, levels): (String, Vec<Level>)| {
        let program = program.clone();
        let found = limit.within(move || check(&program, &levels, &RobustOptions::default()));
        (name, found.unwrap_or_else(|| limit.passed()))
    };
    Beyond {
        all: asked.len() == wanted,
        answers: asked.into_iter().map(answer).collect(),
    }
}

impl Beyond {
    /// What is known of a level.
    pub fn answer(&self, level: &str) -> Option<&Robustness> {
        let mut answers = self.answers.iter();
        let found = answers.find(|(name, _)| name == level);
        found.map(|(_, answer)| answer)
    }

    /// Whether some run is not serializable although the search found nothing.
    pub fn refutes(&self) -> bool {
        let mut answers = self.answers.iter();
        answers.any(|(_, answer)| matches!(answer, Robustness::NotRobust(_)))
    }

    /// Whether every run at every level asked about is serializable, whatever the search left open.
    pub fn proves(&self) -> bool {
        self.all && self.answers.iter().all(|(_, answer)| answer.is_robust())
    }

    /// A sentence for each level; what is not robust is told after it.
    pub fn text(&self, program: &Program) -> String {
        let mut out = String::new();
        for (level, answer) in &self.answers {
            match answer {
                Robustness::Robust(_) => {
                    let _ = writeln!(
                        out,
                        "At {level} every run is serializable, beyond all bounds of the search \
                         ('isolde program robust' tells what the proof takes for granted)."
                    );
                }
                Robustness::NotRobust(_) => {
                    let _ = writeln!(
                        out,
                        "Nothing was found at {level} within the bounds below, but some run there is \
                         not serializable ('isolde program robust --advice' tells what to change):"
                    );
                    out.push_str(&answer_text(program, level, answer));
                }
                Robustness::Unproved(doubt) => {
                    let _ = writeln!(
                        out,
                        "At {level} nothing was found, which is no proof: {} (see 'isolde program \
                         robust').",
                        doubt.reason
                    );
                }
            }
        }
        out
    }

    /// For programs.
    pub fn json(&self, program: &Program) -> Value {
        let answers = self.answers.iter();
        let answers = answers.map(|(level, answer)| answer_json(program, level, answer));
        answers.collect()
    }
}
