//! The answers for people: the verdict first, then the reason.

use super::Report;
use super::page::quoted;
use crate::exit::Exit;
use crate::output;
use crate::story::{self, kinds};
use history::format::Loaded;
use history::{AnomalyKind, Level, Verdict};
use report::escape::wrap;
use std::fmt::Write;

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// The whole report.
pub fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail, so the results below carry nothing.
    let _ = header(&mut text, report);
    let _ = verdicts(&mut text, report);
    let _ = keys(&mut text, report);
    text.push_str(&stages_of(report));
    let _ = reasons(&mut text, report);
    text
}

/// Only why levels are violated.
pub fn reasons_of(report: &Report<'_>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = reasons(&mut text, report);
    text
}

/// What each answer took, for whoever asked to be told.
pub fn stages_of(report: &Report<'_>) -> String {
    let mut text = String::new();
    if output::is_verbose() {
        // Writing to a string cannot fail.
        let _ = stages(&mut text, report);
    }
    text
}

fn header(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    write!(text, "{BOLD}{}{PLAIN}", report.file)?;
    if let Some(Loaded {
        history, format, ..
    }) = report.loaded
    {
        let count = |number: usize, what: &str| {
            format!("{number} {what}{}", if number == 1 { "" } else { "s" })
        };
        write!(
            text,
            ": {}, {}, {}, {}",
            count(history.session_count(), "session"),
            count(history.txn_count(), "transaction"),
            count(history.op_count(), "operation"),
            count(history.key_count(), "key"),
        )?;
        if report.shows_format {
            write!(text, " ({format})")?;
        }
    }
    text.push('\n');
    Ok(())
}

fn names(levels: &[Level]) -> String {
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    names.join(", ")
}

/// Levels after a few words, as wide as the terminal is. In a file they are one line, for those who search it.
fn list(words: &str, levels: &[Level]) -> String {
    let mut text = String::new();
    // What follows the first line is set in.
    let width = output::terminal_width().map_or(usize::MAX, |width| width - 2);
    let lines = wrap(&format!("{words} {}", names(levels)), width);
    for (place, line) in lines.iter().enumerate() {
        let line = match (place, line.strip_prefix(words)) {
            (0, Some(rest)) => format!("{words} {BOLD}{}{PLAIN}", rest.trim_start()),
            _ => format!("  {BOLD}{line}{PLAIN}"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn verdicts(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    for answer in report.answers {
        let (colour, tail) = match &answer.result.verdict {
            Verdict::Holds(_) => (GREEN, String::new()),
            Verdict::Unknown(reason) => (YELLOW, reason.clone()),
            Verdict::Violated(anomalies) => (RED, kinds(anomalies)),
        };
        let name = answer.result.verdict.name();
        let line = format!(
            "  {colour}{name:<9}{PLAIN} {:<33} {tail}",
            answer.result.level
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    if report.all_levels && report.loaded.is_some() {
        let strongest = report.strongest();
        match &strongest[..] {
            [] if report.exit() == Exit::Unknown => writeln!(text, "no level is decided")?,
            [] if report.is_open() => writeln!(text, "no level is known to hold")?,
            [] => writeln!(text, "no level holds")?,
            levels => text.push_str(&list("strongest that hold:", levels)),
        }
    }
    if !report.still.is_empty() {
        text.push_str(&list("still holds:", &report.still));
    }
    Ok(())
}

/// What was assumed of each key, and what contradicts it.
fn keys(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let (Some((assumed, circle)), Some(Loaded { history, .. })) = (&report.keys, report.loaded)
    else {
        return Ok(());
    };
    let Some(circle) = circle else {
        return writeln!(text, "assuming of each key: {BOLD}{assumed}{PLAIN}");
    };
    let count = match circle.count {
        1 => "1 key contradicts it and is".to_string(),
        count => format!("{count} keys contradict it and are"),
    };
    writeln!(
        text,
        "assuming of each key: {BOLD}{assumed}{PLAIN}, but {count} left out: {RED}{}{PLAIN}",
        circle.kind
    )?;
    text.push_str(&story::anomaly(history, circle, &report.telling()));
    Ok(())
}

/// What each answer took.
fn stages(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    for answer in report.answers {
        writeln!(
            text,
            "\n{BOLD}{}{PLAIN}: {:.3} s",
            answer.result.level, answer.seconds
        )?;
        for stage in &answer.stages {
            let counts = stage.counts.iter();
            let counts: Vec<String> = counts
                .map(|(what, number)| format!("{number} {what}"))
                .collect();
            writeln!(
                text,
                "  {:<12}{:>9.3} s  {}",
                stage.name,
                stage.seconds,
                counts.join(", ")
            )?;
        }
    }
    Ok(())
}

/// Why, for each weakest level that is violated. A kind shown once is not shown again.
fn reasons(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let Some(Loaded { history, .. }) = report.loaded else {
        return Ok(());
    };
    let mut shown = Vec::new();
    let telling = report.telling();
    let weakest = report.weakest_violated();
    for answer in &weakest {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        for anomaly in anomalies {
            if shown.contains(&anomaly.kind) {
                continue;
            }
            shown.push(anomaly.kind);
            let level = answer.result.level;
            writeln!(
                text,
                "\n{BOLD}{level}{PLAIN} is violated: {RED}{}{PLAIN}",
                anomaly.kind
            )?;
            text.push_str(&story::anomaly(history, anomaly, &telling));
        }
    }
    match (weakest.first(), shown.first()) {
        (Some(answer), Some(kind)) if report.shows_format => {
            more(text, report.file, answer.result.level, *kind)
        }
        _ => Ok(()),
    }
}

/// The commands that show more of a violation.
fn more(text: &mut String, file: &str, level: Level, kind: AnomalyKind) -> std::fmt::Result {
    let mut commands = vec![(
        format!("isolde explain {kind}"),
        "what it is, what it does, what prevents it",
    )];
    // What was read from standard input cannot be read again.
    if file != "-" {
        let file = quoted(file);
        commands.push((
            format!("isolde check {file} --report DIR"),
            "a page: the graph, time lanes, the story",
        ));
        commands.push((
            format!("isolde check {file} --level {level} --shrink part.jsonl"),
            "the smallest part that violates it",
        ));
    }
    let column = |(command, _): &(String, &str)| command.chars().count();
    let column = commands.iter().map(column).max().unwrap_or(0);
    let widest = commands.iter().map(|(_, what)| what.len()).max();
    let fits = column + widest.unwrap_or(0) + 4 <= output::width();
    text.push_str("\nmore:\n");
    for (command, what) in &commands {
        match fits {
            true => {
                let gap = " ".repeat(column - command.chars().count());
                writeln!(text, "  {BOLD}{command}{PLAIN}{gap}  {what}")?;
            }
            false => writeln!(text, "  {what}:\n    {BOLD}{command}{PLAIN}")?,
        }
    }
    Ok(())
}
