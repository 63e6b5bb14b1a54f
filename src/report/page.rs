//! The answers as a page in one file, with a file for each drawing beside it.

use super::Report;
use crate::exit::{Exit, Failure};
use history::{Anomaly, Level, LevelResult, TxnId, Verdict};
use report::page::{Bars, Section, Table};
use report::{AnomalyView, Context, Details, Lattice, Page, Reproduce, Surroundings, Tone};
use std::path::Path;

/// Anomalies beyond this are counted, not drawn.
const DRAWN_MAX: usize = 60;

/// What a page has besides the answers.
pub struct Extras<'a> {
    /// What was recorded of a transaction: statements, the database's own numbers.
    pub details: &'a dyn Fn(TxnId) -> Details,
    /// Nodes, faults and times.
    pub around: Surroundings<'a>,
    /// Parts that stand before the anomalies: charts of a run.
    pub sections: Vec<Section>,
    /// Names and numbers for the head of the page.
    pub facts: Vec<(String, String)>,
    /// The seed, if chance was involved.
    pub seed: Option<u64>,
}

impl Default for Extras<'_> {
    fn default() -> Self {
        Extras {
            details: &|_| Details::default(),
            around: Surroundings::default(),
            sections: Vec::new(),
            facts: Vec::new(),
            seed: None,
        }
    }
}

/// Writes `index.html` and the drawings into a directory.
pub fn write(directory: &str, report: &Report<'_>, extras: Extras<'_>) -> Result<(), Failure> {
    let views = views(report, &extras);
    let mut files: Vec<(String, String)> = Vec::new();
    for (number, view) in views.iter().take(DRAWN_MAX).enumerate() {
        for (ending, text) in view.files() {
            let name = format!("anomaly-{}-{}.{ending}", number + 1, view.kind.name());
            files.push((name, text));
        }
    }
    files.push(("index.html".to_string(), page(report, extras, views).html()));
    write_files(directory, &files)
}

/// Writes files into a directory, which is made if need be.
pub fn write_files(directory: &str, files: &[(String, String)]) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(|error| Failure::with(directory, error))?;
    for (name, text) in files {
        let path = Path::new(directory).join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|error| Failure::with(&path.display().to_string(), error))?;
    }
    Ok(())
}

/// The command that was given, as a shell takes it.
pub fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words: Vec<String> = std::env::args().skip(1).map(quoted).collect();
    format!("isolde {}", words.join(" "))
}

/// How to see the same again.
pub fn reproduce(seed: Option<u64>) -> Reproduce {
    Reproduce {
        command: command(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        seed,
        notes: Vec::new(),
    }
}

/// The anomalies, each once, with the weakest level that each violates.
fn anomalies<'a>(report: &Report<'a>) -> Vec<(Level, &'a Anomaly)> {
    let mut found: Vec<(Level, &Anomaly)> = Vec::new();
    for answer in report.answers {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        for anomaly in anomalies {
            let same = |(_, known): &(Level, &Anomaly)| {
                known.kind == anomaly.kind && known.explanation == anomaly.explanation
            };
            if !found.iter().any(same) {
                found.push((answer.result.level, anomaly));
            }
        }
    }
    found
}

fn views(report: &Report<'_>, extras: &Extras<'_>) -> Vec<AnomalyView> {
    let Some(loaded) = report.loaded else {
        return Vec::new();
    };
    let holds = |result: &&LevelResult| matches!(result.verdict, Verdict::Holds(_));
    let results = report.answers.iter().map(|answer| &answer.result);
    let holding: Vec<Level> = results.filter(holds).map(|result| result.level).collect();
    let all = anomalies(report).into_iter().enumerate();
    let view = |(number, (level, anomaly)): (usize, (Level, &Anomaly))| {
        if number >= DRAWN_MAX {
            return AnomalyView::brief(anomaly, Some(level));
        }
        let context = Context {
            level: Some(level),
            holding: &holding,
            around: extras.around,
            details: extras.details,
        };
        AnomalyView::new(&loaded.history, anomaly, &context)
    };
    all.map(view).collect()
}

fn page(report: &Report<'_>, extras: Extras<'_>, views: Vec<AnomalyView>) -> Page {
    let results: Vec<&LevelResult> = report.answers.iter().map(|answer| &answer.result).collect();
    let lattice = Lattice::of(results.iter().copied());
    let mut sections = vec![Section::Lattice(lattice)];
    sections.extend(extras.sections);
    sections.extend(
        views
            .into_iter()
            .map(|view| Section::Anomaly(Box::new(view))),
    );
    sections.push(stages(report));
    if let Some(bars) = seconds(report) {
        sections.push(bars);
    }
    let mut facts = facts(report);
    facts.extend(extras.facts);
    let (verdict, lead) = headline(report);
    Page {
        title: report.file.to_string(),
        verdict: Some(verdict),
        lead,
        facts,
        sections,
        reproduce: reproduce(extras.seed),
    }
}

fn headline(report: &Report<'_>) -> ((Tone, String), String) {
    let strongest: Vec<&str> = report
        .strongest()
        .iter()
        .map(|level| level.name())
        .collect();
    let lead = match strongest.is_empty() {
        true => "None of the levels asked about is known to hold.".to_string(),
        false => format!("The strongest that hold: {}.", strongest.join(", ")),
    };
    let violated = report.weakest_violated();
    let names: Vec<&str> = violated
        .iter()
        .map(|answer| answer.result.level.name())
        .collect();
    let verdict = match report.exit() {
        Exit::Violated => (Tone::Bad, format!("Violated: {}", names.join(", "))),
        Exit::Unknown => (Tone::Unsure, "Not everything is decided".to_string()),
        Exit::Holds | Exit::BadInput => (Tone::Good, "Everything asked about holds".to_string()),
    };
    (verdict, lead)
}

fn facts(report: &Report<'_>) -> Vec<(String, String)> {
    let Some(loaded) = report.loaded else {
        return Vec::new();
    };
    let history = &loaded.history;
    let fact = |name: &str, count: usize| (name.to_string(), count.to_string());
    vec![
        fact("sessions", history.session_count()),
        fact("transactions", history.txn_count()),
        fact("operations", history.op_count()),
        fact("keys", history.key_count()),
        ("format".to_string(), loaded.format.to_string()),
    ]
}

/// The verdict on every level, with what it took.
fn stages(report: &Report<'_>) -> Section {
    let row = |answer: &checker::Checked| {
        let verdict = &answer.result.verdict;
        let reason = match verdict {
            Verdict::Unknown(reason) => reason.clone(),
            Verdict::Violated(anomalies) => crate::story::kinds(anomalies),
            Verdict::Holds(_) => String::new(),
        };
        let stages = answer.stages.iter();
        let stages: Vec<String> = stages
            .map(|stage| format!("{} {:.3} s", stage.name, stage.seconds))
            .collect();
        vec![
            answer.result.level.to_string(),
            verdict.name().to_string(),
            reason,
            stages.join(", "),
        ]
    };
    Section::Table(Table {
        title: "Verdicts".to_string(),
        head: ["level", "verdict", "why", "stages"]
            .map(str::to_string)
            .to_vec(),
        rows: report.answers.iter().map(row).collect(),
    })
}

fn seconds(report: &Report<'_>) -> Option<Section> {
    let row = |answer: &checker::Checked| {
        (
            answer.result.level.to_string(),
            answer.seconds,
            String::new(),
        )
    };
    let rows: Vec<(String, f64, String)> = report.answers.iter().map(row).collect();
    let worth = rows.iter().any(|(_, seconds, _)| *seconds >= 0.01);
    worth.then(|| {
        Section::Bars(Bars {
            title: "What the answers took".to_string(),
            rows,
        })
    })
}
