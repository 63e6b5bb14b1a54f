//! `isolde program robust`: is it serializable although it runs at a weaker level, and if not, what
//! makes it so?

use super::answer::{self, Row};
use super::limit::Limit;
use super::{advice, print_json, sources, tell_notes};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::RobustArgs;
use crate::report::program::{edge_text, story};
use program::robust::{
    Counterexample, Level, Method, Relations, RobustOptions, Robustness, Safety, Subsets,
    check_and_search, safe_at, subsets_until,
};
use program::{Program, StoreLevel};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// Answers for each level.
pub fn run(args: &RobustArgs) -> Result<Exit, Failure> {
    let read = sources::read(&args.source)?;
    let limit = Limit::new(args.print.timeout);
    let shared = Arc::new(read.program);
    let program = &*shared;
    let options = RobustOptions {
        relations: match args.no_foreign_keys {
            true => Relations::SameRow,
            false => Relations::Keys,
        },
        ..RobustOptions::default()
    };
    let asked = levels(args, program)?;
    let answers: Vec<(String, Robustness)> = asked
        .into_iter()
        .map(|(name, levels)| {
            let program = Arc::clone(&shared);
            // The levels share the time, and something is left for the advice.
            let time = limit.left().map(|left| left / 3);
            let ask = move || check_and_search(&program, &levels, &options, time);
            let answer = limit.within(ask);
            (name, answer.unwrap_or_else(|| limit.passed()))
        })
        .collect();
    let exit = answers
        .iter()
        .map(|(_, a)| exit_of(a))
        .fold(Exit::Holds, Exit::and);
    let safety = match args.advice {
        true => safety(&shared, options, &limit),
        false => None,
    };
    let borders = match args.subsets {
        true => borders(&shared, args, options, &limit),
        false => Vec::new(),
    };
    let pieces = safety.as_ref().map(|found| advice::pieces(program, found));
    let pieces = pieces.map(|pieces| advice::played(program, pieces, &args.replay));
    let pieces = pieces.transpose()?;
    if args.print.json {
        let found = answers
            .iter()
            .map(|(level, answer)| answer_json(program, level, answer));
        let mut json = json!({
            "isolde": env!("CARGO_PKG_VERSION"),
            "transactions": names(program, 0..program.transactions.len()),
            "answers": found.collect::<Vec<_>>(),
        });
        if args.subsets {
            json["subsets"] = subsets_json(program, &borders);
        }
        if let (Some(safety), Some(pieces)) = (&safety, &pieces) {
            json["advice"] = advice::json(program, safety, pieces);
        }
        print_json(&json)?;
        return Ok(exit);
    }
    tell_notes(program);
    let mut out = text(args, program, &answers, pieces.as_deref());
    out.push_str(&subsets_text(program, &borders));
    output::print(&out)?;
    Ok(exit)
}

/// The answer first, then what to do, then why.
fn text(
    args: &RobustArgs,
    program: &Program,
    answers: &[(String, Robustness)],
    pieces: Option<&[advice::Piece<'_>]>,
) -> String {
    let rows = answers.iter();
    let rows = rows.map(|(level, answer)| Row::robust(level, answer));
    let mut out = answer::text(program, rows.collect(), &args.source.paths, !args.advice);
    if args.advice {
        out.push_str(&match pieces {
            Some(pieces) => advice::text(program, pieces),
            None => NO_ADVICE.to_string(),
        });
        out.push('\n');
    }
    for (level, answer) in answers {
        out.push_str(&answer_text(program, level, answer));
        let suspected = matches!(answer, Robustness::Unproved(doubt) if doubt.suspect.is_some());
        if suspected && args.level_of.is_empty() {
            let _ = writeln!(
                out,
                "  nor did the search for anomalies find a run that shows it; 'isolde program -l {level} --external' tells \
                 within which bounds, and takes larger ones\n"
            );
        }
    }
    out
}

/// What is said where no advice was found.
const NO_ADVICE: &str = "Run everything at serializable; no cheaper advice was found within the time given \
                         (--timeout gives more).\n";

/// At which levels it is safe, and what else can be done; none where there was no time.
fn safety(program: &Arc<Program>, options: RobustOptions, limit: &Limit) -> Option<Safety> {
    let program = Arc::clone(program);
    let found = limit.within(move || safe_at(&program, &options));
    if found.is_none() {
        output::note("no advice was found within the time given");
    }
    found
}

fn exit_of(answer: &Robustness) -> Exit {
    match answer {
        Robustness::Robust(_) => Exit::Holds,
        Robustness::NotRobust(_) => Exit::Violated,
        Robustness::Unproved(_) => Exit::Unknown,
    }
}

fn level(level: StoreLevel) -> Result<Level, Failure> {
    Level::of(level).ok_or_else(|| {
        Failure(format!(
            "robustness is about read-committed, snapshot-isolation and serializable, not {}",
            level.name()
        ))
    })
}

/// What is asked: a name, and a level for each transaction.
fn levels(args: &RobustArgs, program: &Program) -> Result<Vec<(String, Vec<Level>)>, Failure> {
    let bases = match args.levels.as_slice() {
        [] => vec![Level::ReadCommitted, Level::Snapshot],
        given => given
            .iter()
            .map(|one| level(*one))
            .collect::<Result<_, _>>()?,
    };
    let mut own: Vec<(usize, Level)> = Vec::new();
    for (name, given) in &args.level_of {
        let same = |txn: &program::Transaction| txn.name.eq_ignore_ascii_case(name);
        let place = program.transactions.iter().position(same);
        let place = place.ok_or_else(|| Failure(format!("no transaction is called '{name}'")))?;
        own.push((place, level(*given)?));
    }
    let ask = |base: &Level| {
        let mut all = vec![*base; program.transactions.len()];
        let mut name = base.name().to_string();
        for (place, level) in &own {
            all[*place] = *level;
            let _ = write!(name, ", {} at {level}", program.transactions[*place].name);
        }
        (name, all)
    };
    Ok(bases.iter().map(ask).collect())
}

fn names(program: &Program, all: impl IntoIterator<Item = usize>) -> Vec<String> {
    let name = |at: usize| program.transactions[at].name.clone();
    all.into_iter().map(name).collect()
}

/// An answer for people.
pub fn answer_text(program: &Program, level: &str, answer: &Robustness) -> String {
    let mut out = String::new();
    match answer {
        Robustness::Robust(proof) => {
            let _ = writeln!(
                out,
                "\x1b[32mROBUST\x1b[0m      at {level}: every run is serializable"
            );
            let _ = match proof.method {
                Method::Definition => writeln!(out, "  that is what the level means"),
                Method::Templates => writeln!(
                    out,
                    "  proved for any number of runs: no split run of {} paths has a cycle",
                    proof.paths
                ),
                Method::Programs => writeln!(
                    out,
                    "  proved for any number of runs: {} dependencies between {} paths, {} of them \
                     against the order of commits, make no dangerous cycle",
                    proof.edges, proof.paths, proof.counterflow
                ),
            };
            for assumption in &proof.assumptions {
                let _ = writeln!(out, "  given that {assumption}");
            }
        }
        Robustness::NotRobust(found) => {
            let _ = writeln!(
                out,
                "\x1b[31mNOT ROBUST\x1b[0m  at {level}: {}",
                who(program, found)
            );
            match &found.scenario {
                Some(scenario) => out.push_str(&story(program, scenario, &found.edges)),
                None => out.push_str(&edges_text(program, found)),
            }
        }
        Robustness::Unproved(doubt) => {
            let _ = writeln!(
                out,
                "\x1b[33mNOT PROVED\x1b[0m  at {level}: {}",
                doubt.reason
            );
            if let Some(found) = &doubt.suspect {
                let _ = writeln!(out, "  the cycle in the way: {}", who(program, found));
                out.push_str(&edges_text(program, found));
            }
        }
    }
    out.push('\n');
    out
}

fn who(program: &Program, found: &Counterexample) -> String {
    names(program, found.instances.iter().map(|one| one.transaction)).join(" / ")
}

fn edges_text(program: &Program, found: &Counterexample) -> String {
    let lines = found
        .edges
        .iter()
        .map(|edge| format!("    {}\n", edge_text(program, edge)));
    lines.collect()
}

/// An answer for programs.
pub fn answer_json(program: &Program, level: &str, answer: &Robustness) -> Value {
    let mut json = json!({ "level": level });
    match answer {
        Robustness::Robust(proof) => {
            json["answer"] = "robust".into();
            json["paths"] = proof.paths.into();
            json["assumptions"] = proof.assumptions.clone().into();
        }
        Robustness::NotRobust(_) => json["answer"] = "not robust".into(),
        Robustness::Unproved(doubt) => {
            json["answer"] = "not proved".into();
            json["reason"] = doubt.reason.clone().into();
        }
    }
    if let Some(found) = answer.counterexample() {
        let cycle = found.edges.iter().map(|edge| edge_text(program, edge));
        json["transactions"] = names(program, found.instances.iter().map(|i| i.transaction)).into();
        json["cycle"] = cycle.collect();
        if let Some(scenario) = &found.scenario {
            json["scenario"] = program::scenario_to_json(program, scenario);
        }
    }
    json
}

/// The levels about whose subsets is asked: those that all transactions share.
fn shared_levels(args: &RobustArgs) -> Vec<Level> {
    let given: Vec<Level> = args
        .levels
        .iter()
        .filter_map(|one| level(*one).ok())
        .collect();
    match given.is_empty() {
        true => vec![Level::ReadCommitted, Level::Snapshot],
        false => given,
    }
}

/// The border between robust and not at each level; none where there was no time.
fn borders(
    program: &Arc<Program>,
    args: &RobustArgs,
    options: RobustOptions,
    limit: &Limit,
) -> Vec<(Level, Option<Subsets>)> {
    let border = |level: Level| {
        let (program, until) = (Arc::clone(program), limit.until());
        // A question of its own may be long; then there is nothing to tell.
        let patient = limit.or_a_tenth();
        let found = patient.within(move || subsets_until(&program, level, &options, until));
        (level, found)
    };
    shared_levels(args).into_iter().map(border).collect()
}

fn subsets_text(program: &Program, borders: &[(Level, Option<Subsets>)]) -> String {
    let mut out = String::new();
    let set =
        |set: &BTreeSet<usize>| format!("{{{}}}", names(program, set.iter().copied()).join(", "));
    let is_known = |found: &&Subsets| !found.maximal.is_empty() || !found.minimal.is_empty();
    for (level, found) in borders {
        let Some(found) = found.as_ref().filter(is_known) else {
            let _ = writeln!(
                out,
                "No sets at {level} within the time given (--timeout).\n"
            );
            continue;
        };
        let _ = writeln!(out, "Largest robust sets at {level}:");
        for one in &found.maximal {
            let _ = writeln!(out, "  {}", set(one));
        }
        let _ = writeln!(out, "Smallest sets that are not proved robust:");
        for one in &found.minimal {
            let _ = writeln!(out, "  {}", set(one));
        }
        if found.open > 0 {
            let _ = writeln!(
                out,
                "NOT all: {} sets and their parts were not looked at within the time given \
                 (--timeout).",
                found.open
            );
        }
        out.push('\n');
    }
    out
}

fn subsets_json(program: &Program, borders: &[(Level, Option<Subsets>)]) -> Value {
    let lists = |sets: &[BTreeSet<usize>]| -> Vec<Vec<String>> {
        sets.iter()
            .map(|set| names(program, set.iter().copied()))
            .collect()
    };
    let one = |(level, found): &(Level, Option<Subsets>)| {
        // Without an answer the whole set is open.
        let none = Subsets {
            open: 1,
            ..Subsets::default()
        };
        let found = found.as_ref().unwrap_or(&none);
        json!({
            "level": level.name(),
            "robust": lists(&found.maximal),
            "not_robust": lists(&found.minimal),
            "open": found.open,
        })
    };
    borders.iter().map(one).collect()
}
