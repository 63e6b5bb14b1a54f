//! The answers as a page in one file, with a file for each drawing beside it.

use super::Report;
use crate::exit::Failure;
use history::format::Loaded;
use history::{LevelResult, TxnId, Verdict};
use report::page::{Bars, Section, Table};
use report::{Context, Details, Page, Reproduce, Surroundings, Tone};
use std::path::Path;

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
    /// The heading, if it is not the name of the file.
    pub title: Option<String>,
    /// What was promised and whether it was kept, which then is the verdict; with a sentence about it.
    pub promise: Option<(Tone, String, String)>,
}

impl Default for Extras<'_> {
    fn default() -> Self {
        Extras {
            details: &|_| Details::default(),
            around: Surroundings::default(),
            sections: Vec::new(),
            facts: Vec::new(),
            seed: None,
            title: None,
            promise: None,
        }
    }
}

/// Writes `index.html` and the drawings into a directory.
pub fn write(directory: &str, report: &Report<'_>, extras: Extras<'_>) -> Result<(), Failure> {
    let Some(loaded) = report.loaded else {
        return Ok(());
    };
    let page = page(report, loaded, extras);
    let views = page.sections.iter().filter_map(|section| match section {
        Section::Anomaly(view) => Some(view),
        _ => None,
    });
    let mut files: Vec<(String, String)> = Vec::new();
    for (number, view) in views.enumerate() {
        for (ending, text) in view.files() {
            let name = format!("anomaly-{}-{}.{ending}", number + 1, view.kind.name());
            files.push((name, text));
        }
    }
    files.push(("index.html".to_string(), page.html()));
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
    let words: Vec<String> = std::env::args().skip(1).map(|word| quoted(&word)).collect();
    format!("isolde {}", words.join(" "))
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
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

fn page(report: &Report<'_>, loaded: &Loaded, extras: Extras<'_>) -> Page {
    let results: Vec<&LevelResult> = report.answers.iter().map(|answer| &answer.result).collect();
    let context = Context {
        around: extras.around,
        details: extras.details,
        ..Context::default()
    };
    let title = extras.title.as_deref().unwrap_or(report.file);
    let mut page = Page::of_results(title, &loaded.history, &results, &context);
    if let Some((tone, verdict, lead)) = extras.promise {
        page.verdict = Some((tone, verdict));
        page.lead = format!("{lead} {}", page.lead);
    }
    // Behind the levels.
    page.sections.splice(1..1, extras.sections);
    page.sections.push(stages(report));
    page.sections.extend(seconds(report));
    page.facts
        .push(("format".to_string(), loaded.format.to_string()));
    page.facts.extend(extras.facts);
    page.reproduce = reproduce(extras.seed);
    page
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
