//! The page of a run: what `check --report` shows, with the statements, the charts and the faults.

use super::drive::{Driven, Job};
use super::judge::Judged;
use super::sql;
use crate::exit::Failure;
use crate::report::charts::charts;
use crate::report::page::{self, Extras};
use history::{History, TxnId};
use report::page::Section;
use report::{Details, Fault, Surroundings};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Writes the page into the directory of the run.
pub fn write(job: &Job<'_>, driven: &Driven, judged: &Judged) -> Result<(), Failure> {
    let history = &judged.loaded.history;
    let faults = faults(&driven.recording);
    let first = first_start(history);
    let seconds = |at: i64| at.saturating_sub(first) as f64 / 1e9;
    let bands: Vec<(f64, f64, String)> = faults
        .iter()
        .map(|fault| (seconds(fault.start), seconds(fault.end), fault.name.clone()))
        .collect();
    let details = |txn: TxnId| Details {
        statements: sql::statements(driven.database.as_ref(), &driven.schema, history, txn),
        ..Details::default()
    };
    let node = |_: TxnId| None;
    let around = Surroundings {
        node: &node,
        faults: &faults,
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
    };
    let directory = job.directory.display().to_string();
    page::write(&directory, &judged.report(), extras)
}

fn first_start(history: &History) -> i64 {
    let starts = history.txn_ids().filter_map(|txn| history.interval(txn));
    starts.map(|at| at.start).min().unwrap_or(0)
}

/// The faults of a recording: those that ended, and those that lasted to its end.
fn faults(recording: &Path) -> Vec<Fault> {
    let Ok(file) = std::fs::File::open(recording) else {
        return Vec::new();
    };
    let mut found: Vec<Fault> = Vec::new();
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        // Cheap first: a recording has millions of lines, and few of these.
        if !line.contains("\"event\"") {
            continue;
        }
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let (Some(name), Some(time)) = (event["event"].as_str(), event["at"].as_i64()) else {
            continue;
        };
        let node = match &event["node"] {
            Value::Null => String::new(),
            node => format!("n{node}"),
        };
        let same =
            |fault: &&mut Fault| fault.end == i64::MAX && fault.name == name && fault.node == node;
        match event["text"].as_str() {
            Some("begins") => found.push(Fault {
                name: name.to_string(),
                node,
                start: time,
                end: i64::MAX,
            }),
            Some("ends") => {
                if let Some(fault) = found.iter_mut().rev().find(same) {
                    fault.end = time;
                }
            }
            _ => {}
        }
    }
    found
}
