//! An anomaly in plain words: what each transaction did, where the contradiction is, what still holds,
//! and what it may do to an application.

use crate::encyclopedia;
use crate::escape::{visible, wrap};
use crate::picture::{Arrow, Certainty, Picture, TxnBox};
use crate::words::{Words, count, listed};
use history::{Anomaly, History, Interval, Level, Status, ValueCode};

/// A story, in sentences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// What kind of anomaly it is, in a sentence.
    pub what: String,
    /// What each transaction did, in order.
    pub happened: Vec<String>,
    /// Why that cannot be.
    pub contradiction: Vec<String>,
    /// What still holds.
    pub remains: String,
    /// What it may do to an application.
    pub matters: String,
}

/// So many operations of a transaction are told.
const DEEDS_MAX: usize = 8;

impl Story {
    /// The story of an anomaly that violates `level`; `holding` are the levels that hold.
    pub fn of(
        history: &History,
        anomaly: &Anomaly,
        picture: &Picture,
        level: Option<Level>,
        holding: &[Level],
    ) -> Story {
        let words = Words::new(history);
        Story {
            what: format!("{}.", capital(anomaly.kind.row().meaning)),
            happened: happened(&words, picture),
            contradiction: contradiction(anomaly, picture, level),
            remains: remains(holding),
            matters: encyclopedia::entry(anomaly.kind)
                .map_or(String::new(), |entry| entry.matters.to_string()),
        }
    }

    /// The story for a terminal of this many columns.
    pub fn text(&self, width: usize) -> String {
        let mut out = String::new();
        let mut say = |margin: &str, text: &str| {
            for (place, line) in wrap(text, width.saturating_sub(4).max(20))
                .iter()
                .enumerate()
            {
                let margin = if place == 0 { margin } else { "    " };
                out.push_str(&format!("{margin}{line}\n"));
            }
        };
        say("  ", &self.what);
        for sentence in &self.happened {
            say("  - ", sentence);
        }
        for sentence in &self.contradiction {
            say("  ", sentence);
        }
        for sentence in [&self.remains, &self.matters] {
            if !sentence.is_empty() {
                say("  ", sentence);
            }
        }
        out
    }
}

/// What the transactions did, the earliest first where that is known.
fn happened(words: &Words<'_>, picture: &Picture) -> Vec<String> {
    let mut boxes: Vec<&TxnBox> = picture
        .boxes
        .iter()
        .filter(|txn| txn.txn.is_some())
        .collect();
    let start = |txn: &&TxnBox| {
        let interval = txn.txn.and_then(|txn| words.history.interval(txn));
        (interval.map_or(0, |interval| interval.start), txn.txn)
    };
    boxes.sort_by_key(start);
    let ops = boxes
        .iter()
        .flat_map(|txn| &txn.lines)
        .filter_map(|line| line.op);
    let writes = ops
        .map(|op| words.history.op(op))
        .filter(|op| op.kind.is_write());
    let relevant: Vec<ValueCode> = writes.map(|op| op.value).take(64).collect();
    boxes
        .into_iter()
        .map(|txn| deeds(words, txn, &relevant))
        .collect()
}

fn deeds(words: &Words<'_>, txn_box: &TxnBox, relevant: &[ValueCode]) -> String {
    let Some(txn) = txn_box.txn else {
        return String::new();
    };
    let ops = txn_box.lines.iter().filter_map(|line| line.op);
    let mut told: Vec<String> = ops
        .take(DEEDS_MAX)
        .map(|op| words.deed(op, relevant))
        .collect();
    let more = txn_box.more + txn_box.lines.len().saturating_sub(told.len());
    if more > 0 {
        told.push(format!(
            "did {} that do not matter here",
            count(more as u64, "other thing")
        ));
    }
    let did = match told.split_last() {
        None => "did nothing".to_string(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{}, then {last}", others.join(", ")),
    };
    let interval = words.history.interval(txn);
    let ending = match words.history.status(txn) {
        Status::Committed => "It committed.",
        Status::Aborted => "It was rolled back.",
        Status::Indeterminate if interval.is_some_and(|one| one.end == Interval::NEVER) => {
            "Its client never got an answer, so it may have committed or not."
        }
        Status::Indeterminate => "Its client was not told whether it committed.",
    };
    format!(
        "{} (session {}) {did}. {ending}",
        words.txn(txn),
        words.session(txn)
    )
}

/// Why what happened cannot be explained.
fn contradiction(anomaly: &Anomaly, picture: &Picture, level: Option<Level>) -> Vec<String> {
    let arrows: Vec<&Arrow> = picture.circle_arrows().collect();
    let explained = visible(&anomaly.explanation);
    let Some(circle) = picture.circle().filter(|order| order.len() > 1) else {
        // A single arrow to the state before all is a contradiction by itself.
        let to_initial = |arrow: &&&Arrow| picture.boxes[arrow.to].txn.is_none();
        if let Some(arrow) = arrows.iter().find(to_initial) {
            let end = "But nothing comes before the state in the beginning.";
            return vec![format!("{} {end}", arrow.reason)];
        }
        return match explained.is_empty() {
            true => arrows.iter().map(|arrow| arrow.reason.clone()).collect(),
            false => vec![explained],
        };
    };
    let rules = level.map_or(
        "If there is an order that explains this".to_string(),
        |level| format!("By the rules of {level}"),
    );
    let mut told = vec![format!("{rules}, this follows:")];
    let name = |place: usize| &picture.boxes[place].name;
    for arrow in &arrows {
        told.push(format!(
            "{} comes before {}: {}",
            name(arrow.from),
            name(arrow.to),
            arrow.reason
        ));
    }
    let is_assumed = |arrow: &&Arrow| arrow.certainty == Certainty::Assumed;
    let others = match !anomaly.otherwise.is_empty() && arrows.iter().any(is_assumed) {
        true => {
            ": where something is only taken to be so, the other possibilities end in a circle, too"
        }
        false => "",
    };
    told.push(format!(
        "So {} would have to come before itself. No order explains what was recorded{others}.",
        name(circle[0])
    ));
    told
}

fn remains(holding: &[Level]) -> String {
    let strongest = Level::strongest(holding);
    if strongest.is_empty() {
        return String::new();
    }
    let names: Vec<String> = strongest
        .iter()
        .map(|level| level.name().to_string())
        .collect();
    format!(
        "This history still keeps the promises of {}.",
        listed(&names)
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
