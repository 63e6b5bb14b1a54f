//! The answers for people: the verdict first, then the reason.

use super::Report;
use crate::exit::Exit;
use history::format::Loaded;
use history::{Anomaly, Edge, History, Level, TxnId, Verdict};
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
    if report.verbose {
        let _ = stages(&mut text, report);
    }
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
        let names = |levels: &[Level]| {
            levels
                .iter()
                .map(|level| level.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match &strongest[..] {
            [] if report.exit() == Exit::Unknown => writeln!(text, "no level is decided")?,
            [] => writeln!(text, "no level holds")?,
            levels => writeln!(text, "strongest that hold: {BOLD}{}{PLAIN}", names(levels))?,
        }
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
    one_anomaly(text, history, circle)
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

/// The kinds of anomalies, with how many there are of each.
pub fn kinds(anomalies: &[Anomaly]) -> String {
    let kind = |anomaly: &Anomaly| match anomaly.count {
        1 => anomaly.kind.name().to_string(),
        count => format!("{} ({count})", anomaly.kind),
    };
    anomalies.iter().map(kind).collect::<Vec<_>>().join(", ")
}

/// Why, for each weakest level that is violated. A kind shown once is not shown again.
fn reasons(text: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let Some(Loaded { history, .. }) = report.loaded else {
        return Ok(());
    };
    let mut shown = Vec::new();
    for answer in report.weakest_violated() {
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
            one_anomaly(text, history, anomaly)?;
        }
    }
    Ok(())
}

/// An anomaly: what it is, its cycle, why, and the transactions in it.
pub fn one_anomaly(text: &mut String, history: &History, anomaly: &Anomaly) -> std::fmt::Result {
    let row = anomaly.kind.row();
    writeln!(text, "  {} [{}]", row.meaning, row.label)?;
    if !anomaly.edges.is_empty() {
        writeln!(text, "    {}", cycle(history, &anomaly.edges))?;
    }
    for line in wrap(&anomaly.explanation, 92) {
        writeln!(text, "  {line}")?;
    }
    for &txn in anomaly.transactions.iter().take(12) {
        writeln!(
            text,
            "    {:<8} {}",
            history.txn_name(txn),
            operations(history, txn)
        )?;
    }
    if anomaly.transactions.len() > 12 {
        writeln!(text, "    … and {} more", anomaly.transactions.len() - 12)?;
    }
    Ok(())
}

/// A cycle on one line: `s1t2 -ww 1-> s0t0 -so-> s1t2`.
fn cycle(history: &History, edges: &[Edge]) -> String {
    let name = |txn: TxnId| {
        if txn == TxnId::INITIAL {
            "init".to_string()
        } else {
            history.txn_name(txn)
        }
    };
    let mut line = name(edges[0].from);
    for edge in edges {
        let key = edge
            .key
            .map_or(String::new(), |key| format!(" {}", history.key_name(key)));
        line.push_str(&format!(" -{}{key}-> {}", edge.kind.name(), name(edge.to)));
    }
    line
}

/// The operations of a transaction, as many as fit on a line.
fn operations(history: &History, txn: TxnId) -> String {
    const WIDTH: usize = 84;
    let mut line = String::new();
    let mut left = history.txn(txn).op_count;
    for (id, _) in history.txn_ops(txn) {
        let op = history.op_text_around(id, &[]);
        if line.len() + op.len() > WIDTH && !line.is_empty() {
            line.push_str(&format!("… and {left} more"));
            break;
        }
        line.push_str(&op);
        line.push(' ');
        left -= 1;
    }
    line.trim_end().to_string()
}

/// Breaks a text into lines at spaces.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.chars().count() + word.chars().count() >= width && !line.is_empty() {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
