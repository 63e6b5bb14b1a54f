//! `isolde program PATH…`: the anomalies of an application, each with a scenario that shows it.

use super::beyond::{self, Beyond};
use super::directory::{self, Test};
use super::limit::Limit;
use super::play::{Outcome, in_process, scenario_json};
use super::sources::{self, Sources};
use super::stage::{Setup, Stage};
use super::{answer, java, page, print_json, tell_notes};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::{AnalyseArgs, EdgeArg};
use crate::progress::Progress;
use crate::report::program::{broken_names, can_break_text, counted, edge_text, story, title};
use program::analysis::{
    Analysis, Anomaly, Consequence, Consequences, Counts, Options, Watch, all_consequences,
    analyse_with,
};
use program::{Bounds, EdgeKind, Program, Scenario, StoreLevel, Transaction, value_to_json};
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
    let broken = args.consequences.map(|plays| {
        let count = analysis.anomalies.len();
        let tell = |done: usize| progress.stage(&format!("what {done} of {count} can break"));
        all_consequences(program, &analysis.anomalies, plays as usize, &tell)
    });
    let played = play_all(args, &read, &analysis, &progress)?;
    progress.finish();
    let found = Found {
        analysis: &analysis,
        beyond: &beyond,
        played: &played,
        broken: broken.as_deref(),
    };
    let directories = write_all(args, &read, &found)?;
    if let Some(directory) = &args.report {
        let scope = scope(&analysis, seconds);
        page::write(directory, &read, &analysis, &played, scope, &beyond)?;
    }
    let any = !analysis.anomalies.is_empty() || (beyond.refutes() && !args.internal);
    let decided = analysis.scope.decided || beyond.proves();
    let exit = match (!any, decided && program.left_out() == 0) {
        (false, _) => Exit::Violated,
        (true, false) => Exit::Unknown,
        (true, true) => Exit::Holds,
    };
    if args.print.json {
        print_json(&json(args, &read, &found, seconds))?;
        return Ok(exit);
    }
    tell_notes(program);
    let rows = answer::searched(&options, &analysis, &beyond);
    let mut out = answer::text(program, rows, &args.source.paths, true);
    out.push_str(&text(args, program, &found));
    out.push_str(&beyond.text(program));
    if beyond.refutes() && !args.replay.is_empty() {
        let places = args.replay.iter().map(|place| format!(" --replay {place}"));
        let _ = writeln!(
            out,
            "Runs that are not robust are played by 'isolde program robust{} {}'.",
            places.collect::<String>(),
            args.source.paths.join(" ")
        );
    }
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

/// What is known of a program.
struct Found<'a> {
    analysis: &'a Analysis,
    /// Whether it is robust where nothing was found.
    beyond: &'a Beyond,
    /// What came of each anomaly where it was played.
    played: &'a [Vec<Outcome>],
    /// What each anomaly can break, where that was asked.
    broken: Option<&'a [Consequences]>,
}

impl<'a> Found<'a> {
    /// The tests of all anomalies, each with the position of its anomaly.
    fn tests(&self, read: &'a Sources) -> Vec<(usize, Test<'a>)> {
        let mut tests: Vec<(usize, Test<'a>)> = Vec::new();
        for (at, anomaly) in self.analysis.anomalies.iter().enumerate() {
            for witness in &anomaly.witnesses {
                let all = self.broken.iter().flat_map(|all| &all[at].found);
                let test = Test {
                    number: tests.len() + 1,
                    program: &read.program,
                    files: &read.files,
                    anomaly,
                    witness,
                    outcomes: &self.played[at],
                    consequences: all.filter(|one| one.level == witness.level).collect(),
                };
                tests.push((at, test));
            }
        }
        tests
    }
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
                let java = java::application(&args.java, &read.files, program, None)?;
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

fn write_all(args: &AnalyseArgs, read: &Sources, found: &Found<'_>) -> Result<usize, Failure> {
    let Some(root) = &args.out else {
        return Ok(0);
    };
    let tests = found.tests(read);
    for (_, test) in &tests {
        directory::write(root, test)?;
    }
    Ok(tests.len())
}

fn level_names(anomaly: &Anomaly) -> String {
    let names: Vec<&str> = anomaly.levels().iter().map(|level| level.name()).collect();
    match names.is_empty() {
        true => "the levels given".to_string(),
        false => names.join(", "),
    }
}

fn text(args: &AnalyseArgs, program: &Program, found: &Found<'_>) -> String {
    let (analysis, played) = (found.analysis, found.played);
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
        if let Some(broken) = found.broken {
            let text = can_break_text(program, &broken[number].found);
            let _ = writeln!(out, "    Can break: {text}");
        }
        for outcome in &played[number] {
            let _ = writeln!(out, "    {}", outcome.text());
        }
        out.push('\n');
    }
    out.push_str(&summary(args, analysis, played, &told));
    if let Some(broken) = found.broken {
        out.push_str(&all_broken(program, broken));
    }
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

/// In how many anomalies each invariant can break.
fn all_broken(program: &Program, broken: &[Consequences]) -> String {
    let mut out = String::from("Can break, in so many of them:");
    for (at, invariant) in program.invariants.iter().enumerate() {
        let breaks = |one: &&Consequences| one.found.iter().any(|found| found.invariant == at);
        let count = broken.iter().filter(breaks).count();
        let _ = write!(out, " {} {count}", invariant.name);
    }
    let plays: usize = broken.iter().map(|one| one.plays).sum();
    let cut = broken.iter().filter(|one| one.cut).count();
    let _ = writeln!(out, " ({plays} plays, {cut} anomalies with more to try).");
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
    let open_count = counts.undecided + counts.partly + counts.untried;
    if open_count > 0 {
        let _ = write!(
            out,
            " NOT all decided: {} undecided, {} at some level only, {} not tried.",
            counts.undecided, counts.partly, counts.untried
        );
    } else if !scope.decided {
        out.push_str(" NOT all decided, as bounds were met.");
    }
    out.push(' ');
    out.push_str(&analysis.bounds());
    if scope.paths_cut {
        out.push_str(" NOT all paths: some transaction has too many.");
    }
    out
}

/// What an anomaly can break, where that was asked.
fn consequences_json(
    args: &AnalyseArgs,
    read: &Sources,
    found: &Found<'_>,
    number: usize,
) -> Option<Value> {
    let all = &found.broken?[number].found;
    let tests = found.tests(read);
    let one = |one: &Consequence| {
        let own = |(at, test): &&(usize, Test<'_>)| {
            *at == number
                && test
                    .consequences
                    .iter()
                    .any(|other| std::ptr::eq(*other, one))
        };
        let test = tests.iter().find(own);
        let place = args.out.as_ref().zip(test);
        let place = place.map(|(root, (_, test))| directory::place_of(root, test, one));
        let row = |row: &Vec<program::Value>| row.iter().map(value_to_json).collect::<Value>();
        json!({
            "invariant": read.program.invariants[one.invariant].name,
            "alone": one.alone,
            "level": one.level.map(|level| level.name()),
            "found": one.rows.iter().map(row).collect::<Vec<_>>(),
            "file": place,
        })
    };
    Some(all.iter().map(one).collect())
}

fn json(args: &AnalyseArgs, read: &Sources, found: &Found<'_>, seconds: f64) -> Value {
    let program = &read.program;
    let (analysis, played, beyond) = (found.analysis, found.played, found.beyond);
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
            "consequences": consequences_json(args, read, found, number),
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
