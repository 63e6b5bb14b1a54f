//! `isolde generate`: a simulated history, and on request what the checker says of it.

use super::{check, convert};
use crate::args::{DatatypeArg, DistributionArg, GenerateArgs};
use crate::exit::{Exit, Failure};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Report};
use checker::Checked;
use history::format::{Format, Loaded};
use history::{AnomalyKind, Initial, Verdict};
use workload::{Benchmark, Config, Datatype, Distribution, Shape, generate};

/// Generates, writes, and checks as asked.
pub fn run(args: &GenerateArgs) -> Result<Exit, Failure> {
    if args.check && args.output.as_deref() == Some("-") {
        return Err(Failure(
            "--check prints its report to standard output, so --output has to be a file"
                .to_string(),
        ));
    }
    let format = match &args.output {
        Some(output) => Some(convert::output_format(output, args.to)?),
        None => None,
    };
    let progress = Progress::start();
    progress.stage("generating");
    let generated = generate(&config(args)?).map_err(|error| Failure(error.to_string()))?;
    output::detail(|| {
        let (history, seed) = (&generated.history, args.seed);
        let (txns, ops) = (history.txn_count(), history.op_count());
        format!("generated {txns} transactions and {ops} operations from seed {seed}")
    });
    if let (Some(output), Some(format)) = (&args.output, format) {
        progress.stage("writing");
        convert::write(&generated.history, output, format)?;
    }
    if !args.check {
        return Ok(Exit::Holds);
    }
    let limits = Limits::new(None, None);
    let initial = Initial::default();
    let answers = check::check_history(
        &generated.history,
        &check::levels_worth_asking(Some(&generated.history)),
        &initial,
        &limits,
        &progress,
    );
    drop(progress);
    let name = args.output.as_deref().unwrap_or("generated history");
    let loaded = Loaded {
        history: generated.history,
        format: format.unwrap_or(Format::Isolde),
        notes: Vec::new(),
    };
    let report = Report {
        shows_format: format.is_some(),
        ..Report::new(name, &loaded, &answers, true)
    };
    let (exit, conclusion) = expected(args, &answers);
    output::print(&format!(
        "{}\n{conclusion}\n",
        report::text::render(&report)
    ))?;
    Ok(exit)
}

/// What the arguments ask for; an argument that the shape has no use for is refused.
fn config(args: &GenerateArgs) -> Result<Config, Failure> {
    let base = args.shape.map_or_else(Config::default, Benchmark::config);
    if base.shape != Shape::Parametric {
        let useless = [
            ("--ops", args.ops.is_some()),
            ("--reads", args.reads.is_some()),
            ("--rmw", args.rmw.is_some()),
            ("--keys", args.keys.is_some()),
            ("--distribution", args.distribution.is_some()),
        ];
        if let Some((name, _)) = useless.iter().find(|(_, given)| *given) {
            let shape = args.shape.map_or("", Benchmark::name);
            return Err(Failure(format!(
                "{name}: the shape {shape} chooses its operations and keys itself"
            )));
        }
    }
    Ok(Config {
        sessions: args.sessions.unwrap_or(base.sessions),
        txns_per_session: args.txns.unwrap_or(base.txns_per_session),
        ops_per_txn: args.ops.unwrap_or(base.ops_per_txn),
        read_share: args.reads.unwrap_or(base.read_share),
        rmw_share: args.rmw.unwrap_or(base.rmw_share),
        keys: args.keys.unwrap_or(base.keys),
        distribution: match args.distribution {
            None => base.distribution,
            Some(DistributionArg::Uniform) => Distribution::Uniform,
            Some(DistributionArg::Zipfian) => Distribution::Zipfian(args.theta),
            Some(DistributionArg::Hotspot) => Distribution::HOTSPOT,
        },
        aborted_share: args.aborted.unwrap_or(base.aborted_share),
        indeterminate_share: args.indeterminate.unwrap_or(base.indeterminate_share),
        level: args.level,
        datatype: match args.datatype {
            None => base.datatype,
            Some(DatatypeArg::Registers) => Datatype::Registers,
            Some(DatatypeArg::Lists) => Datatype::Lists,
            Some(DatatypeArg::Sets) => Datatype::Sets,
            Some(DatatypeArg::Counters) => Datatype::Counters,
            Some(DatatypeArg::Mixed) => Datatype::Mixed,
        },
        times: args.times || base.times,
        anomalies: args.anomalies.clone(),
        seed: args.seed,
        ..base
    })
}

/// Whether the checker found what was asked for, and a sentence that says so: every planted
/// anomaly, and, without any, no violation of what the simulated store gives.
fn expected(args: &GenerateArgs, answers: &[Checked]) -> (Exit, String) {
    let found = |answer: &Checked| match &answer.result.verdict {
        Verdict::Violated(anomalies) => anomalies.iter().map(|anomaly| anomaly.kind).collect(),
        _ => Vec::new(),
    };
    let kinds: Vec<AnomalyKind> = answers.iter().flat_map(found).collect();
    let is_found = |kind: &AnomalyKind| {
        let mut found = kinds.iter();
        found.any(|found| found == kind || found.plain() == *kind)
    };
    let missed = names(args.anomalies.iter().filter(|kind| !is_found(kind)));
    let promised = |answer: &&Checked| args.level.implies(answer.result.level);
    let held = |answer: &Checked| matches!(answer.result.verdict, Verdict::Holds(_));
    if !missed.is_empty() {
        (Exit::Violated, format!("planted but not found: {missed}"))
    } else if !args.anomalies.is_empty() {
        let planted = names(args.anomalies.iter());
        (Exit::Holds, format!("planted and found: {planted}"))
    } else if answers.iter().filter(promised).all(held) {
        let sentence = format!("as expected: nothing found that {} forbids", args.level);
        (Exit::Holds, sentence)
    } else {
        let sentence = format!("not as expected: the simulated store gives {}", args.level);
        (Exit::Violated, sentence)
    }
}

fn names<'a>(kinds: impl Iterator<Item = &'a AnomalyKind>) -> String {
    kinds.map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}
