//! `isolde model PROTOCOL…`: explores, and says what holds, on what evidence, and what does not.

use super::{Effort, Models, found, print_json, setups, world};
use crate::exit::{Exit, Failure};
use crate::model_args::{AskArgs, FormArg};
use crate::output;
use crate::report::model::{self, Asked};
use crate::report::model_json;
use history::Level;
use protocol::{Answer, Entry, Form, Model, Outcome, Property, Question};
use std::time::Instant;

/// Asks every protocol named.
pub fn run(args: &AskArgs, models: &Models) -> Result<Exit, Failure> {
    let entries = match args.protocols.is_empty() {
        true => models.entries.iter().collect(),
        false => models.named(&args.protocols)?,
    };
    let questions = questions(&args.levels, args.form)?;
    let mut exit = Exit::Holds;
    let mut objects = Vec::new();
    for (entry, subject) in subjects(&entries, args.mutant.as_deref())? {
        let effort = Effort::new(&args.effort);
        let mut asked = ask(args, entry, subject, &questions, &effort)?;
        effort.progress.finish();
        if let Some(directory) = &args.output {
            found::write(&mut asked, directory, models)?;
        }
        exit = exit.and(asked.exit());
        if args.json {
            objects.push(model_json::object(&asked));
        } else {
            let separator = if objects.is_empty() { "" } else { "\n" };
            objects.push(serde_json::Value::Null);
            output::print(&format!("{separator}{}", model::render(&asked)))?;
        }
    }
    if args.json {
        print_json(&serde_json::json!({"isolde": env!("CARGO_PKG_VERSION"), "models": objects}))?;
    }
    Ok(exit)
}

/// What to ask: the properties named, or all of the table.
pub fn questions(levels: &[Property], form: FormArg) -> Result<Vec<Question>, Failure> {
    let forms: &[Form] = match form {
        FormArg::Strict => &[Form::Strict],
        FormArg::Paper => &[Form::Paper],
        FormArg::Both => &[Form::Strict, Form::Paper],
    };
    let properties: Vec<Property> = match levels {
        [] => Property::table()
            .chain([Property::UpdateSerializable])
            .collect(),
        levels => levels.to_vec(),
    };
    let ask = |form: Form| properties.iter().map(move |p| (form, *p));
    let mut questions: Vec<Question> = Vec::new();
    for (form, property) in forms.iter().flat_map(|form| ask(*form)) {
        let question = Question { property, form };
        if !question.is_defined() {
            return Err(Failure(format!("the paper does not define {property}")));
        }
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    Ok(questions)
}

/// The models to ask: the protocols, or mutants of theirs.
fn subjects<'a>(
    entries: &[&'a Entry],
    mutant: Option<&str>,
) -> Result<Vec<(&'a Entry, &'a dyn Model)>, Failure> {
    let Some(wanted) = mutant else {
        let own = |entry: &&'a Entry| -> (&'a Entry, &'a dyn Model) { (*entry, &*entry.model) };
        return Ok(entries.iter().map(own).collect());
    };
    let mut found: Vec<(&Entry, &dyn Model)> = Vec::new();
    let mut known = Vec::new();
    for entry in entries {
        for mutant in &entry.mutants {
            let name = mutant.model.name();
            let short = name.split('/').next_back().unwrap_or(name);
            known.push(short);
            if wanted == "all" || wanted == name || wanted == short {
                found.push((entry, mutant.model.as_ref()));
            }
        }
    }
    if found.is_empty() {
        let known = known.join(", ");
        return Err(Failure(format!(
            "no mutant is called '{wanted}'; there are {known}"
        )));
    }
    Ok(found)
}

fn ask<'a>(
    args: &AskArgs,
    entry: &'a Entry,
    subject: &dyn Model,
    questions: &[Question],
    effort: &Effort,
) -> Result<Asked<'a>, Failure> {
    let started = Instant::now();
    // A store without transactions is asked what it promises to those who run single operations.
    let single = args.levels.is_empty() && is_about_sessions(entry);
    let initial = setups::chosen(args, subject, single)?;
    let tell = |told: &protocol::Progress| effort.tell(subject.name(), told);
    let mut request = effort.request(&tell);
    request.questions = match single {
        true => session_guarantees(),
        false => questions.to_vec(),
    };
    request.world = world(&args.world);
    let mut asked = request.questions.iter();
    request.sessions = args.bounds.sessions || asked.any(|q| q.property.about_sessions());
    let mut outcome = subject.explore(&initial.setups, initial.raw, &request);
    name_the_limit(&mut outcome, effort);
    let findings = found::findings(subject, &outcome, request.world, request.sessions)?;
    Ok(Asked {
        entry,
        outcome,
        findings,
        explicit: !args.levels.is_empty(),
        faults: request.world.faults != protocol::Faults::default(),
        sessions: request.sessions,
        seconds: started.elapsed().as_secs_f64(),
        by_chance: None,
    })
}

/// Whether a protocol promises something to sessions, not to transactions.
pub fn is_about_sessions(entry: &Entry) -> bool {
    entry
        .promises
        .iter()
        .any(|promise| promise.about_sessions())
}

fn session_guarantees() -> Vec<Question> {
    let levels = [
        Level::ReadYourWrites,
        Level::MonotonicReads,
        Level::MonotonicWrites,
        Level::WritesFollowReads,
    ];
    let question = |level| Question {
        property: Property::Level(level),
        form: Form::Strict,
    };
    levels.map(question).to_vec()
}

/// Says which limit ended an exploration, where it was one of the command line's.
pub fn name_the_limit(outcome: &mut Outcome, effort: &Effort) {
    let Some(limit) = effort.limits.reached() else {
        return;
    };
    for (_, answer) in &mut outcome.answers {
        if let Answer::Unknown(reason) = answer {
            reason.clone_from(&limit);
        }
    }
}
