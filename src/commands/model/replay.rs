//! `isolde model replay FILE`: does again what a file says, and judges it again.

use super::{Models, print_json};
use crate::exit::{Exit, Failure};
use crate::model_args::ReplayArgs;
use crate::output;
use crate::report::model::{Finding, Kind, explanation};
use protocol::{Counterexample, Form, Model, Property, Question, ReplayFile, Run, mermaid, text};
use serde_json::json;

/// Replays one file.
pub fn run(args: &ReplayArgs, models: &Models) -> Result<Exit, Failure> {
    let failure = |problem: String| Failure::with(&args.file, problem);
    let content = std::fs::read_to_string(&args.file).map_err(|e| failure(e.to_string()))?;
    let file = ReplayFile::from_json(&content)
        .map_err(|problem| failure(format!("no replay of a model: {problem}")))?;
    let model = models
        .model(&file.protocol)
        .ok_or_else(|| failure(format!("no protocol is called '{}'", file.protocol)))?;
    let run = model
        .replay(file.world, file.sessions, &file.setup, &file.trace)
        .map_err(|problem| failure(format!("the model changed: {problem}")))?;
    if let Some(changed) = file.changed(&run) {
        return Err(failure(format!(
            "the model changed: step {} was\n    {}\n  and is\n    {}",
            changed.step, changed.was, changed.is
        )));
    }
    let question = question(&file).map_err(failure)?;
    let finding = judged(model, &file, question, run);
    print(args, &file, question, &finding)
}

fn question(file: &ReplayFile) -> Result<Option<Question>, String> {
    let Some(property) = &file.property else {
        return Ok(None);
    };
    let property: Property = property.parse().map_err(|error| format!("{error}"))?;
    let form: Form = file.form.as_deref().unwrap_or("strict").parse()?;
    Ok(Some(Question { property, form }))
}

fn judged(model: &dyn Model, file: &ReplayFile, question: Option<Question>, run: Run) -> Finding {
    let mut questions = Vec::new();
    if let Some(question) = question {
        let judgement = model.judge(&run.setup, &run.log, file.sessions, question);
        if judgement.violated {
            questions.push((question, judgement));
        }
    }
    Finding {
        kind: Kind::Violation,
        questions,
        counterexample: Counterexample {
            setup: file.setup.clone(),
            trace: file.trace.clone(),
            log: run.log.clone(),
            history: run.history.clone(),
            anomalies: Vec::new(),
            explanation: String::new(),
        },
        world: file.world,
        sessions: file.sessions,
        run,
        files: Vec::new(),
    }
}

fn print(
    args: &ReplayArgs,
    file: &ReplayFile,
    question: Option<Question>,
    finding: &Finding,
) -> Result<Exit, Failure> {
    let violated = !finding.questions.is_empty();
    if args.mermaid {
        output::print_plain(&mermaid(&finding.run))?;
    } else if args.json {
        print_json(&json!({
            "protocol": file.protocol,
            "property": question.map(|question| question.property.name()),
            "form": question.map(|question| question.form.name()),
            "violated": violated,
            "what": violated.then(|| finding.name()),
            "explanation": explanation(finding),
            "setup": file.setup.to_string(),
            "steps": finding.run.lines(),
            "complete": finding.run.complete,
        }))?;
    } else {
        let mut out = format!("\x1b[1m{}\x1b[0m  {}\n", file.protocol, file.setup);
        out.push_str(&format!("\n{}\n", text(&finding.run)));
        match question {
            Some(question) if violated => out.push_str(&format!(
                "{question} is violated: \x1b[31m{}\x1b[0m\n{}\n",
                finding.name(),
                explanation(finding)
            )),
            Some(question) => out.push_str(&format!("{question} holds in this run\n")),
            None => out.push_str("the run is the same as it was\n"),
        }
        output::print(&out)?;
    }
    Ok(match violated {
        true => Exit::Violated,
        false => Exit::Holds,
    })
}
