//! What `isolde check` says of all its files together: a table for people, JUnit and SARIF for other programs.

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::sarif::Findings;
use crate::report::{self, Report, junit};
use history::{Level, Verdict};
use std::sync::{Mutex, MutexGuard, PoisonError};

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// The answers so far. Shared with the watchdog, which may have to say them.
pub struct Collected<'a> {
    /// What was asked.
    pub args: &'a CheckArgs,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    suites: String,
    findings: Findings,
}

/// A file in the table.
struct Row {
    file: String,
    transactions: Option<usize>,
    exit: Exit,
    answer: String,
    seconds: f64,
}

impl<'a> Collected<'a> {
    /// Nothing yet.
    pub fn new(args: &'a CheckArgs) -> Collected<'a> {
        Collected {
            args,
            found: Mutex::default(),
        }
    }

    /// Whether a table is printed at the end: one file needs none.
    fn has_table(&self) -> bool {
        self.args.files.len() > 1 && !self.args.json && !self.args.edn
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints the report on a file, and keeps what is to be said at the end.
    pub fn print(&self, report: &Report<'_>, seconds: f64) -> Result<Exit, Failure> {
        let mut found = self.lock();
        let history = report.loaded.map(|loaded| &loaded.history);
        if self.has_table() {
            found.rows.push(Row {
                file: report.file.to_string(),
                transactions: history.map(|history| history.txn_count()),
                exit: report.exit(),
                answer: answer(report),
                seconds,
            });
        }
        if self.args.junit.is_some() {
            let suite = junit::suite(report.file, report.answers.iter(), history);
            found.suites.push_str(&suite);
        }
        if self.args.sarif.is_some() {
            found.findings.add(report);
        }
        drop(found);
        if self.args.edn {
            output::print_plain(&report::edn::render(report))?;
        } else if self.args.json {
            output::print_plain(&report::json::render(report))?;
        } else if !output::is_quiet() {
            output::print(&report::text::render(report))?;
        }
        Ok(report.exit())
    }

    /// Prints what is wrong with a file.
    pub fn fail(&self, file: &str, failure: &Failure) -> Exit {
        output::error(&failure.0);
        let mut found = self.lock();
        found.rows.push(Row {
            file: file.to_string(),
            transactions: None,
            exit: Exit::BadInput,
            answer: String::new(),
            seconds: 0.0,
        });
        found.suites.push_str(&junit::unreadable(file, &failure.0));
        found.findings.fail(&failure.0);
        Exit::BadInput
    }

    /// Writes the files that were asked for, and prints the table if there is more than one file.
    pub fn finish(&self) -> Result<(), Failure> {
        let found = self.lock();
        let write = |name: &str, text: &str| {
            std::fs::write(name, text).map_err(|error| Failure::with(name, error))
        };
        if let Some(name) = &self.args.junit {
            write(name, &junit::document(&found.suites))?;
        }
        if let Some(name) = &self.args.sarif {
            write(name, &found.findings.render())?;
        }
        if self.has_table() {
            output::print(&table(&found.rows))?;
        }
        Ok(())
    }
}

/// What a file is said to be in one cell: the strongest levels that hold, or what became of those asked about.
fn answer(report: &Report<'_>) -> String {
    let names = |levels: Vec<Level>| {
        let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
        names.join(", ")
    };
    if report.all_levels {
        return names(report.strongest());
    }
    let wanted = |verdict: &Verdict| Exit::of(verdict) == report.exit();
    let answers = report.answers.iter().map(|answer| &answer.result);
    let same = answers.filter(|result| wanted(&result.verdict));
    names(same.map(|result| result.level).collect())
}

fn table(rows: &[Row]) -> String {
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let files = width(&mut rows.iter().map(|row| row.file.chars().count())).max(4);
    let answers = width(&mut rows.iter().map(|row| row.answer.chars().count())).max(6);
    // The longest column is the last, so that a narrow terminal breaks no other.
    let mut text = format!(
        "\n{BOLD}{:<files$}  verdict   transactions  seconds  levels{PLAIN}\n",
        "file"
    );
    for row in rows {
        let (colour, verdict) = match row.exit {
            Exit::Holds => (GREEN, "holds"),
            Exit::Violated => (RED, "violated"),
            Exit::Unknown => (YELLOW, "unknown"),
            Exit::BadInput => (RED, "bad input"),
        };
        let transactions = row
            .transactions
            .map_or("-".to_string(), |count| count.to_string());
        let line = format!(
            "{:<files$}  {colour}{verdict:<9}{PLAIN} {transactions:>12} {:>8.2}  {:<answers$}",
            row.file, row.seconds, row.answer
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
