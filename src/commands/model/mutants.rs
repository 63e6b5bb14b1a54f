//! `isolde model mutants`: every seeded bug must break the property that it should, and without it
//! the property must hold on the same initial state.

use super::{Effort, Models, ask, found, print_json};
use crate::exit::{Exit, Failure};
use crate::model_args::MutantsArgs;
use crate::output;
use crate::report::model_json::verdict;
use protocol::{Answer, Entry, Form, Model, Mutant, Outcome, Question, text};
use serde_json::{Value, json};

/// Runs the mutants of the protocols named, or of all.
pub fn run(args: &MutantsArgs, models: &Models) -> Result<Exit, Failure> {
    let entries = match args.protocols.is_empty() {
        true => models.entries.iter().collect(),
        false => models.named(&args.protocols)?,
    };
    let mut exit = Exit::Holds;
    let mut rows = Vec::new();
    for entry in entries {
        if entry.mutants.is_empty() && !args.json {
            output::print(&format!("{}: has no mutants\n", entry.model.name()))?;
        }
        for mutant in &entry.mutants {
            let effort = Effort::new(&args.effort);
            let tried = try_one(entry, mutant, &effort)?;
            effort.progress.finish();
            exit = exit.and(tried.exit());
            if args.json {
                rows.push(tried.object());
            } else {
                output::print(&tried.line(output::is_verbose()))?;
            }
        }
    }
    if args.json {
        print_json(&json!({"isolde": env!("CARGO_PKG_VERSION"), "mutants": rows}))?;
    }
    Ok(exit)
}

struct Tried<'a> {
    mutant: &'a Mutant,
    /// What was found with the bug.
    with: Answer,
    /// What was found without it.
    without: Answer,
    chart: Option<String>,
}

fn try_one<'a>(entry: &Entry, mutant: &'a Mutant, effort: &Effort) -> Result<Tried<'a>, Failure> {
    let broken = explore(mutant.model.as_ref(), mutant, effort);
    let sound = explore(entry.model.as_ref(), mutant, effort);
    let findings = found::findings(
        mutant.model.as_ref(),
        &broken,
        protocol::World::default(),
        mutant.breaks.about_sessions(),
    )?;
    let chart = findings
        .iter()
        .find(|finding| !finding.questions.is_empty());
    Ok(Tried {
        mutant,
        with: answer(broken),
        without: answer(sound),
        chart: chart.map(|finding| text(&finding.run)),
    })
}

fn explore(model: &dyn Model, mutant: &Mutant, effort: &Effort) -> Outcome {
    let tell = |told: &protocol::Progress| effort.tell(mutant.model.name(), told);
    let mut request = effort.request(&tell);
    request.questions = vec![Question {
        property: mutant.breaks,
        form: Form::Strict,
    }];
    request.sessions = mutant.breaks.about_sessions();
    let mut outcome = model.explore(std::slice::from_ref(&mutant.setup), 1, &request);
    ask::name_the_limit(&mut outcome, effort);
    outcome
}

fn answer(outcome: Outcome) -> Answer {
    if let Some((error, _)) = outcome.model_error {
        return Answer::Unknown(format!("the model is wrong: {error}"));
    }
    let first = outcome.answers.into_iter().next();
    first.map_or_else(|| Answer::Unknown("not asked".into()), |(_, answer)| answer)
}

impl Tried<'_> {
    fn exit(&self) -> Exit {
        match (&self.with, &self.without) {
            (Answer::Unknown(_), _) | (_, Answer::Unknown(_)) => Exit::Unknown,
            (Answer::Violated(_), Answer::Holds | Answer::Vacuous(_)) => Exit::Holds,
            _ => Exit::Violated,
        }
    }

    fn line(&self, verbose: bool) -> String {
        let (name, property) = (self.mutant.model.name(), self.mutant.breaks);
        let (mark, told) = match (self.exit(), &self.with, &self.without) {
            (Exit::Holds, Answer::Violated(run), _) => {
                let steps = run.trace.len();
                (
                    "\x1b[32m✓\x1b[0m",
                    format!("{property} breaks in {steps} steps"),
                )
            }
            (Exit::Unknown, with, without) => {
                let why = [with, without].into_iter().find_map(|answer| match answer {
                    Answer::Unknown(why) => Some(why.as_str()),
                    _ => None,
                });
                ("\x1b[33m?\x1b[0m", why.unwrap_or("unknown").to_string())
            }
            (_, _, Answer::Violated(_)) => (
                "\x1b[31m✗\x1b[0m",
                format!("{property} breaks without the bug, too"),
            ),
            _ => (
                "\x1b[31m✗\x1b[0m",
                format!("SURVIVES: {property} still holds"),
            ),
        };
        let mut text = format!("{mark} {name:<32} {told}\n    {}\n", self.mutant.what);
        if let (true, Some(chart)) = (verbose, &self.chart) {
            text.push_str(&format!("  {}\n\n{chart}\n", self.mutant.setup));
        }
        text
    }

    fn object(&self) -> Value {
        let steps = match &self.with {
            Answer::Violated(run) => Some(run.trace.len()),
            _ => None,
        };
        json!({
            "mutant": self.mutant.model.name(),
            "what": self.mutant.what,
            "breaks": self.mutant.breaks.name(),
            "setup": self.mutant.setup.to_string(),
            "with": verdict(&self.with),
            "without": verdict(&self.without),
            "steps": steps,
            "noticed": self.exit() == Exit::Holds,
        })
    }
}
