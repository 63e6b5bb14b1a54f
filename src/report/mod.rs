//! What a check has to say, for people and for programs.

pub mod charts;
pub mod edn;
pub mod json;
pub mod junit;
pub mod model;
pub mod model_json;
pub mod page;
pub mod program;
pub mod sarif;
pub mod text;

use crate::exit::Exit;
use crate::output;
use crate::story::{Lines, Telling};
use checker::Checked;
use history::format::Loaded;
use history::{Anomaly, KeyOrder, Level, TxnId, Verdict};

/// The answers about one history.
pub struct Report<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The history, unless a limit was reached before it was read.
    pub loaded: Option<&'a Loaded>,
    /// An answer for each level asked about.
    pub answers: &'a [Checked],
    /// What was assumed of each key, and what contradicts it, if anything was assumed.
    pub keys: Option<(KeyOrder, Option<Anomaly>)>,
    /// Whether the user asked "which levels?" and not about certain ones.
    pub all_levels: bool,
    /// Where certain levels were asked about and some are violated: the strongest that hold.
    pub still: Vec<Level>,
    /// Where transactions stand in the file, as far as that is known.
    pub lines: Lines,
    /// Whether the history was read from or written to a file, which has a format.
    pub shows_format: bool,
}

impl<'a> Report<'a> {
    /// The answers about a history.
    pub fn new(
        file: &'a str,
        loaded: &'a Loaded,
        answers: &'a [Checked],
        all_levels: bool,
    ) -> Report<'a> {
        Report {
            file,
            loaded: Some(loaded),
            answers,
            keys: None,
            all_levels,
            still: Vec::new(),
            lines: Lines::new(),
            shows_format: true,
        }
    }

    /// Answers without a history: all unknown.
    pub fn without_history(file: &'a str, answers: &'a [Checked]) -> Report<'a> {
        Report {
            file,
            loaded: None,
            answers,
            keys: None,
            all_levels: false,
            still: Vec::new(),
            lines: Lines::new(),
            shows_format: false,
        }
    }

    /// How its anomalies are told to people.
    pub fn telling(&self) -> Telling {
        Telling {
            width: output::width(),
            lines: self.lines.clone(),
            coloured: true,
        }
    }

    /// The transactions of all its anomalies.
    pub fn txns_shown(&self) -> Vec<TxnId> {
        let anomalies = self
            .answers
            .iter()
            .flat_map(|answer| match &answer.result.verdict {
                Verdict::Violated(anomalies) => &anomalies[..],
                _ => &[],
            });
        let of_keys = self.keys.iter().filter_map(|(_, circle)| circle.as_ref());
        let all = anomalies.chain(of_keys);
        let mut txns: Vec<TxnId> = all
            .flat_map(|anomaly| anomaly.transactions.clone())
            .collect();
        txns.sort();
        txns.dedup();
        txns
    }

    /// Of the levels asked about, the strongest that hold.
    pub fn strongest(&self) -> Vec<Level> {
        let held = self
            .answers
            .iter()
            .filter(|a| matches!(a.result.verdict, Verdict::Holds(_)));
        Level::strongest(&held.map(|answer| answer.result.level).collect::<Vec<_>>())
    }

    /// Whether a level that was asked about is not decided.
    pub fn is_open(&self) -> bool {
        let unknown = |a: &Checked| matches!(a.result.verdict, Verdict::Unknown(_));
        self.answers.iter().any(unknown)
    }

    /// Of the levels asked about, the weakest that are violated.
    pub fn weakest_violated(&self) -> Vec<&'a Checked> {
        let violated = |a: &&Checked| matches!(a.result.verdict, Verdict::Violated(_));
        let all: Vec<&Checked> = self.answers.iter().filter(violated).collect();
        let explained = |answer: &Checked| {
            all.iter().any(|other| {
                other.result.level != answer.result.level
                    && answer.result.level.implies(other.result.level)
            })
        };
        all.iter()
            .copied()
            .filter(|answer| !explained(answer))
            .collect()
    }

    /// The exit code of all answers together.
    pub fn exit(&self) -> Exit {
        let of_keys = match &self.keys {
            Some((_, Some(_))) => Exit::Violated,
            _ => Exit::Holds,
        };
        self.answers
            .iter()
            .map(|answer| Exit::of(&answer.result.verdict))
            .fold(of_keys, Exit::and)
    }
}
