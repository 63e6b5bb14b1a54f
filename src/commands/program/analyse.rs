//! `isolde program PATH…`: the anomalies of an application, each with a scenario that shows it.

use super::beyond::{self, Beyond};
use super::directory::{self, Test};
use super::limit::Limit;
use super::play::{Outcome, in_process, scenario_json};
use super::sources::{self, Sources};
use super::stage::{Setup, Stage};
use super::{java, page, print_json, tell_notes};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::{AnalyseArgs, EdgeArg};
use crate::progress::Progress;
use crate::report::program::{broken_names, counted, edge_text, story, title};
use program::analysis::{Analysis, Anomaly, Counts, Options, Watch, analyse_with};
use program::{Bounds, EdgeKind, Program, Scenario, StoreLevel, Transaction};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

struct Watcher<'a>(&'a Progress);

impl Watch for Watcher<'_> {
    fn progress(&mut self, counts: &Counts) {
        let (cycles, found) = (counts.cycles, counts.anomalies);
        self.0
            .stage(&format!("{cycles} cycles tried, {found} anomalies"));
    }
}

/// Finds anomalies, plays them, writes them, tells them.
pub fn run(args: &AnalyseArgs) -> Result<Exit, Failure> {
    let read = sources::read(&args.source)?;
    let program = &read.program;
    let limit = Limit::new(args.print.timeout);
    let options = options(args, program, &limit)?;
    let progress = Progress::start();
    let started = Instant::now();
    let analysis = analyse_with(program, &options, &mut Watcher(&progress));
    progress.stage("is it robust where nothing was found?");
    let beyond = beyond::ask(program, &options, &analysis, &limit);
    let seconds = started.elapsed().as_secs_f64();
    let played = play_all(args, &read, &analysis, &progress)?;
    progress.finish();
    let directories = write_all(args, &read, &analysis, &played)?;
    if let Some(directory) = &args.report {
        let scope = scope(&analysis, seconds);
        page::write(directory, &read, &analysis, &played, scope, &beyond)?;
    }
    let found = !analysis.anomalies.is_empty() || (beyond.refutes() && !args.internal);
    let exit = match (!found, analysis.scope.decided || beyond.proves()) {
        (false, _) => Exit::Violated,
        (true, false) => Exit::Unknown,
        (true, true) => Exit::Holds,
    };
    if args.print.json {
        print_json(&json(program, &analysis, &played, &beyond, seconds))?;
        return Ok(exit);
    }
    tell_notes(program);
    let mut out = text(args, program, &analysis, &played);
    out.push_str(&beyond.text(program));
    if let Some(root) = &args.out {
        let _ = writeln!(
            out,
            "{directories} tests in {root}: each has a README.md and a run.sh"
        );
    }
    let _ = writeln!(out, "{}", scope(&analysis, seconds));
    output::print(&out)?;
    Ok(exit)
}

fn options(args: &AnalyseArgs, program: &Program, limit: &Limit) -> Result<Options, Failure> {
    let levels = match args.levels.is_empty() {
        true => vec![StoreLevel::ReadCommitted, StoreLevel::Snapshot],
        false => args.levels.clone(),
    };
    let mut mixed = None;
    for (name, level) in &args.level_of {
        let same = |txn: &Transaction| txn.name.eq_ignore_ascii_case(name);
        let place = program.transactions.iter().position(same);
        let place = place.ok_or_else(|| Failure(format!("no transaction is called '{name}'")))?;
        let base = vec![levels[0]; program.transactions.len()];
        mixed.get_or_insert(base)[place] = *level;
    }
    if mixed.is_some() && args.levels.len() != 1 {
        return Err(Failure(
            "--level-of needs exactly one --level: that of all other transactions".to_string(),
        ));
    }
    let kind = |edge: &EdgeArg| match edge {
        EdgeArg::Wr => EdgeKind::WriteRead,
        EdgeArg::Rw => EdgeKind::ReadWrite,
        EdgeArg::Ww => EdgeKind::WriteWrite,
    };
    Ok(Options {
        levels,
        mixed,
        kinds: args.edges.iter().map(kind).collect(),
        external: args.external,
        length: usize::from(args.length),
        instances: usize::from(args.instances),
        partitions: usize::from(args.partitions),
        bounds: Bounds {
            iterations: u32::from(args.iterations),
            ..Bounds::default()
        },
        time: limit.left(),
        ..Options::default()
    })
}

/// What came of each anomaly at each place, by position.
fn play_all(
    args: &AnalyseArgs,
    read: &Sources,
    analysis: &Analysis,
    progress: &Progress,
) -> Result<Vec<Vec<Outcome>>, Failure> {
    let program = &read.program;
    let mut played: Vec<Vec<Outcome>> = analysis.anomalies.iter().map(|_| Vec::new()).collect();
    let instances = analysis.anomalies.iter().filter_map(Anomaly::scenario);
    let instances = instances.map(|one| one.instances.len()).max();
    let Some(instances) = instances else {
        return Ok(played);
    };
    let mut jobs: Vec<(usize, &Scenario)> = Vec::new();
    for (number, anomaly) in analysis.anomalies.iter().enumerate() {
        let witnesses = anomaly.witnesses.iter();
        jobs.extend(witnesses.map(|witness| (number, &witness.scenario)));
    }
    for place in &args.replay {
        let mut stage = match place.as_str() {
            "store" => None,
            name => {
                let java = java::application(&args.java, &read.files, None)?;
                let setup = Setup {
                    name,
                    isolation: &args.isolation,
                    java: java.as_ref(),
                    instances,
                    progress,
                };
                Some(Stage::open(program, &setup)?)
            }
        };
        let count = jobs.len();
        let tell = |at: usize| progress.stage(&format!("playing {} of {count} on {place}", at + 1));
        let outcomes = match &mut stage {
            Some(stage) => {
                let scenarios: Vec<&Scenario> = jobs.iter().map(|(_, one)| *one).collect();
                stage.play_all(program, &scenarios, &tell)?
            }
            None => {
                let mut found = Vec::new();
                for (at, (_, scenario)) in jobs.iter().enumerate() {
                    tell(at);
                    found.push(vec![in_process(program, scenario)?]);
                }
                found
            }
        };
        for ((number, _), outcomes) in jobs.iter().zip(outcomes) {
            played[*number].extend(outcomes);
        }
    }
    Ok(played)
}

fn write_all(
    args: &AnalyseArgs,
    read: &Sources,
    analysis: &Analysis,
    played: &[Vec<Outcome>],
) -> Result<usize, Failure> {
    let Some(root) = &args.out else {
        return Ok(0);
    };
    let mut written = 0;
    for (anomaly, outcomes) in analysis.anomalies.iter().zip(played) {
        for witness in &anomaly.witnesses {
            written += 1;
            let test = Test {
                number: written,
                program: &read.program,
                files: &read.files,
                anomaly,
                witness,
                outcomes,
            };
            directory::write(root, &test)?;
        }
    }
    Ok(written)
}

fn level_names(anomaly: &Anomaly) -> String {
    let names: Vec<&str> = anomaly.levels().iter().map(|level| level.name()).collect();
    match names.is_empty() {
        true => "the levels given".to_string(),
        false => names.join(", "),
    }
}

fn text(
    args: &AnalyseArgs,
    program: &Program,
    analysis: &Analysis,
    played: &[Vec<Outcome>],
) -> String {
    let mut out = String::new();
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for (number, anomaly) in analysis.anomalies.iter().enumerate() {
        let title = title(program, anomaly);
        let again = told.entry(title.clone()).or_default();
        *again += 1;
        if *again > 1 && !args.all {
            continue;
        }
        let levels = level_names(anomaly);
        let _ = writeln!(out, "\x1b[1m{}. {title}\x1b[0m  (at {levels})", number + 1);
        if let Some(scenario) = anomaly.scenario() {
            out.push_str(&story(program, scenario, &anomaly.edges));
        }
        for outcome in &played[number] {
            let _ = writeln!(out, "    {}", outcome.text());
        }
        out.push('\n');
    }
    out.push_str(&summary(args, analysis, played, &told));
    out
}

fn summary(
    args: &AnalyseArgs,
    analysis: &Analysis,
    played: &[Vec<Outcome>],
    told: &BTreeMap<String, usize>,
) -> String {
    let mut out = String::new();
    let count = analysis.anomalies.len();
    if count == 0 {
        return "No anomaly within the bounds below.\n".to_string();
    }
    let _ = writeln!(
        out,
        "{} of {}:",
        counted(count, "anomaly", "anomalies"),
        counted(told.len(), "kind", "kinds")
    );
    for (title, count) in told {
        let _ = writeln!(out, "  {count:>4} × {title}");
    }
    if !args.all && told.len() < count {
        out.push_str("One of each is shown; --all shows all.\n");
    }
    let (all, rest): (Vec<&Outcome>, Vec<&Outcome>) =
        played.iter().flatten().partition(|one| one.is_played());
    if !rest.is_empty() {
        let count = rest.len();
        let _ = writeln!(out, "{count} could not be played; --all shows why.");
    }
    if !all.is_empty() {
        let shown = all.iter().filter(|one| one.is_manifested()).count();
        let surprises = all.iter().filter(|one| one.is_surprise()).count();
        let _ = writeln!(
            out,
            "Played {} times: the anomaly showed in {shown}; {surprises} against the prediction.",
            all.len()
        );
    }
    out
}

/// Within what the answer is complete.
fn scope(analysis: &Analysis, seconds: f64) -> String {
    let scope = &analysis.scope;
    let counts = &analysis.counts;
    let kinds: Vec<&str> = scope.kinds.iter().map(|kind| kind.name()).collect();
    let mut out = format!(
        "Searched: cycles of up to {} edges ({}), {} transactions, {} of a loop{}; {} \
         cycles, {} of them impossible; {seconds:.2} s.",
        scope.length,
        kinds.join(", "),
        scope.instances,
        counted(scope.iterations as usize, "iteration", "iterations"),
        if scope.external {
            ""
        } else {
            ", reads that matter to the database"
        },
        counts.cycles,
        counts.infeasible,
    );
    if !scope.decided {
        let _ = write!(
            out,
            " NOT all decided: {} undecided, {} at some level only, {} not tried.",
            counts.undecided, counts.partly, counts.untried
        );
    }
    out.push(' ');
    out.push_str(&analysis.bounds());
    if scope.paths_cut {
        out.push_str(" NOT all paths: some transaction has too many.");
    }
    out
}

fn json(
    program: &Program,
    analysis: &Analysis,
    played: &[Vec<Outcome>],
    beyond: &Beyond,
    seconds: f64,
) -> Value {
    let anomaly = |(number, anomaly): (usize, &Anomaly)| {
        let names = anomaly
            .transactions
            .iter()
            .map(|txn| program.transactions[*txn].name.clone());
        let sites = anomaly.sites.iter().map(|site| site.place.to_string());
        let edges = anomaly
            .edges
            .iter()
            .filter(|edge| edge.kind != EdgeKind::Sibling);
        json!({
            "kind": anomaly.kind.to_string(),
            "transactions": names.collect::<Vec<_>>(),
            "internal": anomaly.internal,
            "levels": anomaly.levels().iter().map(|level| level.name()).collect::<Vec<_>>(),
            "places": sites.collect::<Vec<_>>(),
            "cycle": edges.map(|edge| edge_text(program, edge)).collect::<Vec<_>>(),
            "broken_invariants": anomaly.scenario().map(|one| broken_names(program, one)),
            "scenario": anomaly.scenario().map(|one| scenario_json(program, one, &played[number])),
        })
    };
    let (scope, counts) = (&analysis.scope, &analysis.counts);
    json!({
        "isolde": env!("CARGO_PKG_VERSION"),
        "anomalies": analysis.anomalies.iter().enumerate().map(anomaly).collect::<Vec<_>>(),
        "beyond": beyond.json(program),
        "groups": analysis.groups.len(),
        "scope": {
            "length": scope.length,
            "instances": scope.instances,
            "iterations": scope.iterations,
            "edges": scope.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            "external": scope.external,
            "combinations": scope.combinations,
            "rows": scope.rows,
            "elements": scope.elements,
            "paths_cut": scope.paths_cut,
            "decided": scope.decided,
        },
        "counts": {
            "paths": counts.paths,
            "cycles": counts.cycles,
            "infeasible": counts.infeasible,
            "undecided": counts.undecided,
            "partly": counts.partly,
            "untried": counts.untried,
            "candidates": counts.candidates,
            "combinations_cut": counts.combinations_cut,
            "orders_cut": counts.orders_cut,
            "rows_cut": counts.rows_cut,
            "joins_cut": counts.joins_cut,
            "not_followed": counts.not_followed,
        },
        "notes": program.notes.iter().map(|note| note.to_string()).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}
