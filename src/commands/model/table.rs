//! `isolde model table`: every protocol and every property, computed, next to what was published.

use super::published::{Remark, published, remarks};
use super::{Effort, Models, ask, found, list, print_json, setups};
use crate::exit::{Exit, Failure};
use crate::model_args::TableArgs;
use crate::output;
use crate::report::model::{Asked, grouped};
use crate::report::model_json::verdict;
use protocol::{
    Answer, Detail, Entry, Form, Model, Outcome, Property, Question, Request, Setup, World, detail,
    separating,
};
use serde_json::{Value, json};
use std::time::Instant;

/// Computes and prints the table.
pub fn run(args: &TableArgs, models: &Models) -> Result<Exit, Failure> {
    let transactional = |entry: &&Entry| {
        let two = separating().into_iter().any(|(_, setup)| {
            let longest = setup.txns().map(|txn| setup.ops(txn).len()).max();
            longest > Some(1) && entry.model.accepts(&setup)
        });
        two && !ask::is_about_sessions(entry)
    };
    let entries: Vec<&Entry> = match args.protocols.is_empty() {
        true => models.entries.iter().filter(transactional).collect(),
        false => models.named(&args.protocols)?,
    };
    let questions = ask::questions(&[], args.form)?;
    let started = Instant::now();
    let effort = Effort::new(&args.effort);
    let mut rows: Vec<Asked<'_>> = Vec::new();
    for entry in entries {
        rows.push(row(args, entry, &questions, &effort)?);
    }
    effort.progress.finish();
    let seconds = started.elapsed().as_secs_f64();
    let exit = rows.iter().map(Asked::exit).fold(Exit::Holds, Exit::and);
    if args.json {
        let objects: Vec<Value> = rows.iter().map(object).collect();
        print_json(&json!({
            "isolde": env!("CARGO_PKG_VERSION"),
            "rows": objects,
            "seconds": seconds,
        }))?;
        return Ok(exit);
    }
    let mut out = match args.markdown {
        true => markdown(&rows, &questions),
        false => plain(&rows, &questions),
    };
    out.push_str(&remarks_text(&rows));
    let states: u64 = rows.iter().map(|row| row.outcome.evidence.states).sum();
    let setups: u64 = rows.iter().map(|row| row.outcome.evidence.setups_raw).sum();
    out.push_str(&format!(
        "\n{} initial states, {} states visited, {seconds:.0} s\n",
        grouped(setups),
        grouped(states)
    ));
    output::print(&out)?;
    Ok(exit)
}

fn row<'a>(
    args: &TableArgs,
    entry: &'a Entry,
    questions: &[Question],
    effort: &Effort,
) -> Result<Asked<'a>, Failure> {
    let started = Instant::now();
    let model = entry.model.as_ref();
    let mut initial = setups::of_table(&args.bounds, model.symmetry())?;
    initial.setups.retain(|setup| model.accepts(setup));
    let tell = |told: &protocol::Progress| effort.tell(model.name(), told);
    let mut request = effort.request(&tell);
    request.sessions = args.bounds.sessions;
    let mut outcome = explore(model, &initial, questions, &mut request);
    ask::name_the_limit(&mut outcome, effort);
    let findings = found::findings(model, &outcome, World::default(), request.sessions)?;
    Ok(Asked {
        entry,
        outcome,
        findings,
        explicit: false,
        faults: false,
        sessions: request.sessions,
        seconds: started.elapsed().as_secs_f64(),
        by_chance: None,
    })
}

/// All answers. Who asks about time must tell apart states that differ in it only, which are many.
/// So questions about time are asked first where levels are known to come apart; those that are
/// violated there are answered, and the rest is explored without them.
fn explore(
    model: &dyn Model,
    initial: &setups::Initial,
    questions: &[Question],
    request: &mut Request<'_>,
) -> Outcome {
    let timed = |question: &&Question| detail(&[**question]) != Detail::Untimed;
    request.questions = questions.iter().filter(timed).copied().collect();
    let known = separating().into_iter().map(|(_, setup)| setup);
    let known: Vec<Setup> = known.filter(|setup| model.accepts(setup)).collect();
    let first = model.explore(&known, known.len() as u64, request);
    let violated = first.answers.into_iter();
    let mut violated: Vec<(Question, Answer)> = violated
        .filter(|(_, answer)| matches!(answer, Answer::Violated(_)))
        .collect();
    let open = |question: &&Question| !violated.iter().any(|(known, _)| known == *question);
    request.questions = questions.iter().filter(open).copied().collect();
    let mut outcome = model.explore(&initial.setups, initial.raw, request);
    outcome.answers.append(&mut violated);
    let place = |question: &Question| questions.iter().position(|one| one == question);
    outcome.answers.sort_by_key(|(question, _)| place(question));
    outcome
}

fn mark(answer: &Answer) -> char {
    match answer {
        Answer::Holds => '✓',
        Answer::Vacuous(_) => '○',
        Answer::Violated(_) => '✗',
        Answer::Unknown(_) => '?',
    }
}

fn published_mark(row: &Asked<'_>, property: Property) -> char {
    match published(&row.outcome.protocol, property) {
        Some(true) => '✓',
        Some(false) => '✗',
        None => '-',
    }
}

/// Whether our answer contradicts the published one.
fn differs(row: &Asked<'_>, question: Question, answer: &Answer) -> bool {
    match published(&row.outcome.protocol, question.property) {
        Some(true) => !matches!(answer, Answer::Holds),
        Some(false) => !matches!(answer, Answer::Violated(_)),
        None => false,
    }
}

fn heads(questions: &[Question]) -> Vec<String> {
    let head = |question: &Question| match question.form {
        Form::Strict => list::short(question.property).to_string(),
        Form::Paper => format!("{}*", list::short(question.property)),
    };
    questions.iter().map(head).collect()
}

fn plain(rows: &[Asked<'_>], questions: &[Question]) -> String {
    let names = rows.iter().map(|row| row.outcome.protocol.len());
    let width = names.max().unwrap_or(0).max(12);
    let line = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<5}")).collect();
        let line = format!("{name:<width$}  {}", cells.concat());
        format!("{}\n", line.trim_end())
    };
    let mut out = line("", heads(questions));
    for row in rows {
        let cells = row.outcome.answers.iter().map(|(_, a)| mark(a).to_string());
        out.push_str(&line(&row.outcome.protocol, cells.collect()));
        let theirs: Vec<char> = questions
            .iter()
            .map(|question| published_mark(row, question.property))
            .collect();
        if theirs.iter().any(|cell| *cell != '-') {
            let cells = theirs.iter().map(char::to_string).collect();
            out.push_str(&line("  published", cells));
        }
    }
    out.push_str(
        "\n✓ holds in every run   ✗ violated   ○ vacuous: nothing happened that could \
                  have violated it   ? unknown\n",
    );
    if questions
        .iter()
        .any(|question| question.form == Form::Paper)
    {
        out.push_str("* by the formula of the paper\n");
    }
    out
}

fn markdown(rows: &[Asked<'_>], questions: &[Question]) -> String {
    let mut out = format!("| protocol | {} |\n", heads(questions).join(" | "));
    out.push_str(&format!("|---{}|\n", "|---".repeat(questions.len())));
    for row in rows {
        let cells: Vec<String> = row
            .outcome
            .answers
            .iter()
            .map(|(question, answer)| match differs(row, *question, answer) {
                false => mark(answer).to_string(),
                true => {
                    let theirs = published_mark(row, question.property);
                    format!("{} (published {theirs})", mark(answer))
                }
            })
            .collect();
        out.push_str(&format!(
            "| {} | {} |\n",
            row.outcome.protocol,
            cells.join(" | ")
        ));
    }
    out
}

/// What is known of the cell of a question.
fn why(row: &Asked<'_>, question: Question, differs: bool) -> Vec<&'static Remark> {
    remarks(&row.outcome.protocol, question.property)
        .filter(|remark| remark.form.is_none() || differs && remark.form == Some(question.form))
        .collect()
}

/// The differences, and what else is known of published cells.
fn remarks_text(rows: &[Asked<'_>]) -> String {
    let mut differences = String::new();
    let mut others: Vec<(String, &'static Remark)> = Vec::new();
    for row in rows {
        for (question, answer) in &row.outcome.answers {
            let differs = differs(row, *question, answer);
            let known = why(row, *question, differs);
            let cell = format!("{}, {question}", row.outcome.protocol);
            if differs {
                let reason = match answer {
                    Answer::Vacuous(why) | Answer::Unknown(why) => format!(" ({why})"),
                    _ => String::new(),
                };
                let known: Vec<String> = known
                    .iter()
                    .map(|remark| format!("{}: {}", remark.kind, remark.text))
                    .collect();
                let known = match known.is_empty() {
                    true => "not explained".to_string(),
                    false => known.join("; "),
                };
                differences.push_str(&format!(
                    "- {cell}: {}{reason}, published {}. {known}\n",
                    mark(answer),
                    published_mark(row, question.property)
                ));
                continue;
            }
            for remark in known {
                let same = others
                    .iter_mut()
                    .find(|(_, other)| std::ptr::eq(*other, remark));
                match same {
                    Some((cells, _)) => cells.push_str(&format!(", {question}")),
                    None => others.push((cell.clone(), remark)),
                }
            }
        }
    }
    let mut out = String::new();
    match differences.is_empty() {
        true => out.push_str("\nNo verdict differs from a published one.\n"),
        false => out.push_str(&format!("\nVerdicts that differ:\n{differences}")),
    }
    if !others.is_empty() {
        out.push_str("\nThe same verdict, on other evidence than the artefact has:\n");
        for (cells, remark) in others {
            out.push_str(&format!("- {cells}. {}: {}\n", remark.kind, remark.text));
        }
    }
    out
}

fn object(row: &Asked<'_>) -> Value {
    let cell = |(question, answer): &(Question, Answer)| {
        let differs = differs(row, *question, answer);
        let known: Vec<Value> = why(row, *question, differs)
            .iter()
            .map(|remark| json!({"kind": remark.kind, "text": remark.text}))
            .collect();
        let mut cell = json!({
            "property": question.property.name(),
            "form": question.form.name(),
            "promised": row.promised(*question),
            "verdict": verdict(answer),
            "published": published(&row.outcome.protocol, question.property),
            "differs": differs,
            "remarks": known,
        });
        match answer {
            Answer::Violated(run) => {
                cell["steps"] = json!(run.trace.len());
                cell["setup"] = json!(run.setup.to_string());
            }
            Answer::Vacuous(why) | Answer::Unknown(why) => cell["reason"] = json!(why),
            Answer::Holds => {}
        }
        cell
    };
    json!({
        "protocol": row.outcome.protocol,
        "cells": row.outcome.answers.iter().map(cell).collect::<Vec<_>>(),
        "evidence": row.outcome.evidence,
        "seconds": row.seconds,
    })
}
