//! The page of a run: what `check --report` shows, with the statements, the charts and the faults.

use super::drive::{Driven, Job};
use super::judge::Judged;
use crate::exit::Failure;
use crate::report::charts::charts;
use crate::report::page::{self, Extras};
use history::{History, TxnId};
use report::page::Section;
use report::{Recording, Surroundings, Tone};
use std::io::BufReader;

/// Writes the page into the directory of the run.
pub fn write(job: &Job<'_>, driven: &Driven, judged: &Judged) -> Result<(), Failure> {
    let history = &judged.loaded.history;
    let report = judged.report();
    let recording = match std::fs::File::open(&driven.recording) {
        Ok(file) => Recording::read(BufReader::new(file), history, &report.txns_shown()),
        // What could be read a moment ago and cannot now has nothing more to tell.
        Err(_) => Recording::default(),
    };
    let faults = &recording.faults;
    let first = first_start(history);
    let seconds = |at: i64| at.saturating_sub(first) as f64 / 1e9;
    let bands: Vec<(f64, f64, String)> = faults
        .iter()
        .map(|fault| (seconds(fault.start), seconds(fault.end), fault.name.clone()))
        .collect();
    let details = |txn: TxnId| recording.details(history, txn);
    let node = |txn: TxnId| recording.node(txn);
    let around = Surroundings {
        node: &node,
        faults,
        nanoseconds: true,
    };
    let fact = |name: &str, value: String| (name.to_string(), value);
    let extras = Extras {
        details: &details,
        around,
        sections: vec![Section::Charts(charts(history, &bands))],
        facts: vec![
            fact("database", driven.product.clone()),
            fact("isolation", driven.isolation.name.to_string()),
            fact("workload", driven.workload.clone()),
            fact("seconds", format!("{:.1}", driven.seconds)),
            fact("committed", driven.committed.to_string()),
            fact("aborted", driven.aborted.to_string()),
            fact("of unknown outcome", driven.indeterminate.to_string()),
        ],
        seed: Some(job.seed),
        title: Some(format!(
            "{}, {}, workload {}",
            driven.product, driven.isolation.name, driven.workload
        )),
        promise: promise(judged),
    };
    let directory = job.directory.display().to_string();
    page::write(&directory, &report, extras)
}

/// What the database was held to, and whether it kept that.
fn promise(judged: &Judged) -> Option<(Tone, String, String)> {
    let names = |wanted: &str| -> Vec<&str> {
        let answers = judged.promised().map(|answer| &answer.result);
        let answers = answers.filter(|result| wanted.is_empty() || result.verdict.name() == wanted);
        answers.map(|result| result.level.name()).collect()
    };
    if judged.held_to.is_empty() {
        return None;
    }
    let all = names("").join(", ");
    let (violated, unknown) = (names("violated"), names("unknown"));
    Some(if !violated.is_empty() {
        let broken = violated.join(", ");
        let lead = format!("The database was held to {all} in this run, and did not keep it.");
        (Tone::Bad, format!("violated: {broken}"), lead)
    } else if !unknown.is_empty() {
        let lead =
            format!("The database was held to {all} in this run; whether it kept it is not known.");
        (
            Tone::Unsure,
            format!("not decided: {}", unknown.join(", ")),
            lead,
        )
    } else {
        let more = match judged.is_any_violated() {
            true => " What is violated below goes beyond that: it was not promised.",
            false => "",
        };
        let lead = format!("The database was held to {all} in this run, and kept it.{more}");
        (Tone::Good, format!("holds: {all}"), lead)
    })
}

fn first_start(history: &History) -> i64 {
    let starts = history.txn_ids().filter_map(|txn| history.interval(txn));
    starts.map(|at| at.start).min().unwrap_or(0)
}
