//! What is said of a run, to people and to programs.

use super::drive::{Driven, Job};
use super::judge::Judged;
use super::replay::Confirmation;
use super::{page, sql};
use crate::exit::Failure;
use crate::output;
use crate::report::sarif::Findings;
use crate::report::{json, junit, text};
use crate::run_args::RunArgs;
use crate::story;
use history::{Anomaly, Verdict};
use serde_json::{Value, json};
use std::fmt::Write;

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// How many transactions of an anomaly are shown with their statements.
const STATEMENTS_TXNS_MAX: usize = 4;

/// Prints the verdict, and writes the files that were asked for.
pub fn print(
    args: &RunArgs,
    job: &Job<'_>,
    driven: &Driven,
    judged: &Judged,
    confirmation: Option<&Confirmation>,
) -> Result<(), Failure> {
    let mut people = for_people(job, driven, judged);
    let mut programs = for_programs(job, driven, judged);
    if let Some(confirmation) = confirmation {
        people.push_str(&replayed(confirmation));
        programs["replay"] = replayed_json(confirmation);
    }
    let programs = format!("{programs}\n");
    let write = |name: &str, text: &str| {
        std::fs::write(name, text).map_err(|error| Failure::with(name, error))
    };
    let within = |name: &str| job.directory.join(name).display().to_string();
    write(&within("report.txt"), &output::without_colours(&people))?;
    write(&within("report.json"), &programs)?;
    page::write(job, driven, judged)?;
    if let Some(file) = &args.junit {
        write(
            file,
            &junit::document(&junit::suite(
                &title(job, driven),
                judged.promised(),
                Some(&judged.loaded.history),
            )),
        )?;
    }
    if let Some(file) = &args.sarif {
        let mut findings = Findings::default();
        findings.add(&judged.report());
        write(file, &findings.render())?;
    }
    match args.json {
        true => output::print_plain(&programs),
        false => output::print(&people),
    }
}

/// The run in a few words.
fn title(job: &Job<'_>, driven: &Driven) -> String {
    format!(
        "{}, {}, workload {}, {} client{}, seed {}",
        driven.product,
        driven.isolation.name,
        job.workload,
        job.load.clients,
        if job.load.clients == 1 { "" } else { "s" },
        job.seed
    )
}

fn for_people(job: &Job<'_>, driven: &Driven, judged: &Judged) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, so the results below carry nothing.
    let _ = writeln!(out, "{BOLD}{}{PLAIN}", title(job, driven));
    let _ = writeln!(
        out,
        "  {} transactions in {:.1} s ({:.0}/s): {} committed, {} aborted, {} unknown{}",
        driven.transactions(),
        driven.seconds,
        driven.transactions() as f64 / driven.seconds.max(0.001),
        driven.committed,
        driven.aborted,
        driven.indeterminate,
        weather(driven),
    );
    for answer in judged.promised() {
        let (colour, tail) = match &answer.result.verdict {
            Verdict::Holds(_) => (GREEN, String::new()),
            Verdict::Unknown(reason) => (YELLOW, format!(": {reason}")),
            Verdict::Violated(anomalies) => (RED, format!(": {}", story::kinds(anomalies))),
        };
        let word = if job.levels.is_empty() {
            "promised"
        } else {
            "asked   "
        };
        let name = answer.result.verdict.name();
        let level = answer.result.level;
        let _ = writeln!(out, "  {word}  {level}: {colour}{name}{PLAIN}{tail}");
    }
    let report = judged.report();
    let strongest: Vec<&str> = report
        .strongest()
        .iter()
        .map(|level| level.name())
        .collect();
    let strongest = match strongest.is_empty() {
        true => "none".to_string(),
        false => strongest.join(", "),
    };
    let _ = writeln!(
        out,
        "  observed  {BOLD}{strongest}{PLAIN} (the strongest that hold in this recording)"
    );
    let _ = bank(&mut out, judged);
    let _ = writeln!(out, "  recorded  {}", judged.file);
    out.push_str(&text::stages_of(&report));
    out.push_str(&text::reasons_of(&report));
    let _ = first_statements(&mut out, driven, judged);
    out
}

/// What the audits of a bank say.
fn bank(out: &mut String, judged: &Judged) -> std::fmt::Result {
    let Some(audits) = &judged.audits else {
        return Ok(());
    };
    let Some((txn, problem)) = &audits.first else {
        return writeln!(out, "  bank      all {} audits add up", audits.count);
    };
    writeln!(
        out,
        "  bank      {RED}{} of {} audits do not add up{PLAIN}, so {} is violated; {}: {problem}",
        audits.wrong,
        audits.count,
        super::bank::CONTRADICTS,
        judged.loaded.history.txn_name(*txn),
    )
}

fn weather(driven: &Driven) -> String {
    let mut text = String::new();
    if driven.lost > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {} connections lost", driven.lost);
    }
    if driven.faults > 0 {
        let _ = write!(text, "; {} faults", driven.faults);
    }
    text
}

/// The statements of the first anomaly's transactions.
fn first_statements(out: &mut String, driven: &Driven, judged: &Judged) -> std::fmt::Result {
    let Some(anomaly) = first_anomaly(judged) else {
        return Ok(());
    };
    let history = &judged.loaded.history;
    writeln!(out, "\nWhat these transactions said to the database:")?;
    for &txn in anomaly.transactions.iter().take(STATEMENTS_TXNS_MAX) {
        writeln!(out, "  {BOLD}{}{PLAIN}", history.txn_name(txn))?;
        let database = driven.database.as_ref();
        for line in sql::statements(database, &driven.schema, history, txn) {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// The first anomaly of the weakest level that is violated.
pub fn first_anomaly(judged: &Judged) -> Option<&Anomaly> {
    let report = judged.report();
    let weakest = report.weakest_violated().into_iter().next()?;
    match &weakest.result.verdict {
        Verdict::Violated(anomalies) => anomalies.first(),
        _ => None,
    }
}

fn for_programs(job: &Job<'_>, driven: &Driven, judged: &Judged) -> Value {
    let mut object: Value =
        serde_json::from_str(&json::render(&judged.report())).unwrap_or_else(|_| json!({}));
    let promised = judged.promised().map(|answer| {
        json!({
            "level": answer.result.level.name(),
            "verdict": answer.result.verdict.name(),
        })
    });
    object["run"] = json!({
        "database": job.target.name,
        "product": driven.product,
        "isolation": driven.isolation.name,
        "promises": driven.isolation.promises.name(),
        "because": driven.isolation.because,
        "workload": job.workload,
        "clients": job.load.clients,
        "seed": job.seed,
        "seconds": driven.seconds,
        "committed": driven.committed,
        "aborted": driven.aborted,
        "indeterminate": driven.indeterminate,
        "connections_lost": driven.lost,
        "faults": driven.faults,
        "failure": driven.failure,
        "recording": judged.file,
    });
    object["held_to"] = promised.collect();
    if let Some(audits) = &judged.audits {
        object["bank"] = json!({"audits": audits.count, "wrong": audits.wrong});
    }
    object
}

fn replayed(confirmation: &Confirmation) -> String {
    match confirmation {
        Confirmation::Nothing => String::new(),
        Confirmation::NotAgain(why) => format!("\n{BOLD}Replay{PLAIN}: {why}\n"),
        Confirmation::Script {
            level,
            text,
            shown,
            times,
        } => format!(
            "\n{BOLD}Replay{PLAIN}: these steps violate {level} in {RED}{shown} of {times}{PLAIN} runs\n{text}"
        ),
    }
}

fn replayed_json(confirmation: &Confirmation) -> Value {
    match confirmation {
        Confirmation::Nothing => Value::Null,
        Confirmation::NotAgain(why) => json!({"reproduced": false, "why": why}),
        Confirmation::Script {
            level,
            text,
            shown,
            times,
        } => json!({
            "reproduced": shown > &0, "level": level.name(), "shown": shown, "times": times,
            "script": text.lines().map(str::trim).collect::<Vec<_>>(),
        }),
    }
}
