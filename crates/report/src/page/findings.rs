//! A page of what a check found, to which others add what they know.

use super::{AnomalyView, Context, Page, Section, Tone};
use crate::lattice::{Answer, Lattice};
use crate::words::{grouped, listed};
use history::{AnomalyKind, History, Level, LevelResult, Verdict};

impl Page {
    /// The page of a history and the answers about it: the verdict, the levels, every kind of anomaly
    /// once, at the weakest level that it violates. The level and the holding levels of `context` are not
    /// looked at: they follow from the answers.
    pub fn of_results(
        title: &str,
        history: &History,
        results: &[&LevelResult],
        context: &Context<'_>,
    ) -> Page {
        let lattice = Lattice::of(results.iter().copied());
        let holding = lattice.strongest();
        let mut sections = vec![Section::Lattice(lattice.clone())];
        let mut kinds: Vec<AnomalyKind> = Vec::new();
        // A level stands after all that it implies, so the weakest comes first.
        for level in Level::all() {
            let answers = results.iter().filter(|result| result.level == level);
            for anomaly in answers.flat_map(|result| anomalies(&result.verdict)) {
                if kinds.contains(&anomaly.kind) {
                    continue;
                }
                kinds.push(anomaly.kind);
                let context = Context {
                    level: Some(level),
                    holding: &holding,
                    ..*context
                };
                let view = AnomalyView::new(history, anomaly, &context);
                sections.push(Section::Anomaly(Box::new(view)));
            }
        }
        let number = |what: &str, number: usize| (what.to_string(), grouped(number as u64));
        Page {
            title: title.to_string(),
            verdict: Some(verdict(&lattice, results, &kinds)),
            lead: lead(&holding, results, kinds.first()),
            facts: vec![
                number("sessions", history.session_count()),
                number("transactions", history.txn_count()),
                number("operations", history.op_count()),
                number("keys", history.key_count()),
            ],
            sections,
            ..Page::default()
        }
    }
}

fn anomalies(verdict: &Verdict) -> &[history::Anomaly] {
    match verdict {
        Verdict::Violated(anomalies) => anomalies,
        _ => &[],
    }
}

fn verdict(lattice: &Lattice, results: &[&LevelResult], kinds: &[AnomalyKind]) -> (Tone, String) {
    let is = |wanted: Answer| {
        results
            .iter()
            .any(|result| lattice.answer(result.level) == wanted)
    };
    let names = |names: Vec<String>| match names.len() {
        0..=3 => listed(&names),
        more => format!("{} and {} more", names[..2].join(", "), more - 2),
    };
    if is(Answer::Violated) {
        let kinds = kinds.iter().map(|kind| kind.name().to_string()).collect();
        return (Tone::Bad, format!("violated: {}", names(kinds)));
    }
    if is(Answer::Unknown) {
        return (Tone::Unsure, "not decided".to_string());
    }
    if results.is_empty() {
        return (Tone::Unsure, "nothing was asked".to_string());
    }
    let strongest = lattice.strongest();
    let strongest = strongest
        .iter()
        .map(|level| level.name().to_string())
        .collect();
    (Tone::Good, format!("holds: {}", names(strongest)))
}

/// What the verdict means, in a sentence or two.
fn lead(holding: &[Level], results: &[&LevelResult], first: Option<&AnomalyKind>) -> String {
    let names: Vec<String> = holding
        .iter()
        .map(|level| level.name().to_string())
        .collect();
    let wrong = first.map_or(String::new(), |kind| {
        format!("What went wrong: {}. ", kind.row().meaning)
    });
    let strongest = match names.as_slice() {
        [] => "No level that was asked about holds.".to_string(),
        [one] => format!("The strongest level that holds is {one}."),
        several => format!("The strongest levels that hold are {}.", listed(several)),
    };
    let mut text = wrong + &strongest;
    let reason = results.iter().find_map(|result| match &result.verdict {
        Verdict::Unknown(reason) => Some((result.level, reason)),
        _ => None,
    });
    if let Some((level, reason)) = reason {
        text.push_str(&format!(" Nothing is known of {level}: {reason}."));
    }
    text
}
