//! `isolde certify`: re-checks the evidence of a verdict, without the checker.

use crate::args::CertifyArgs;
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use history::{LevelResult, Verdict, certificate, certify};

/// Re-checks every verdict of a certificate; a refused one is exit code 1, and one without evidence
/// (unknown) exit code 3.
pub fn run(args: &CertifyArgs) -> Result<Exit, Failure> {
    let progress = Progress::start();
    let limits = Limits::new(None, None);
    let loaded = match input::load(&args.file, args.format, &limits, &progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => return Err(Failure(reason)),
    };
    let name = &args.certificate;
    let text = std::fs::read_to_string(name).map_err(|error| Failure::with(name, error))?;
    let evidence = certificate::from_json(&loaded.history, &text)
        .map_err(|error| Failure::with(name, error))?;
    progress.stage("certifying");
    let mut exit = Exit::Holds;
    let mut lines = String::new();
    for result in &evidence.results {
        let LevelResult { level, verdict } = result;
        if let Verdict::Unknown(limit) = verdict {
            exit = exit.and(Exit::Unknown);
            lines.push_str(&format!(
                "unknown    {level}: nothing to certify: {limit}\n"
            ));
            continue;
        }
        match certify::certify_assuming(&loaded.history, &evidence.initial, evidence.keys, result) {
            Ok(()) => {
                lines.push_str(&format!("certified  {level}: {}\n", verdict.name()));
            }
            Err(refusal) => {
                exit = exit.and(Exit::Violated);
                lines.push_str(&format!(
                    "refused    {level}: {}: {refusal}\n",
                    verdict.name()
                ));
            }
        }
    }
    drop(progress);
    output::print(&lines)?;
    Ok(exit)
}
