//! What an exploration found, done again before it is shown, and written to files.

use super::Models;
use crate::commands::convert;
use crate::exit::Failure;
use crate::report::model::{Asked, Finding, Kind, explanation};
use crate::report::page::reproduce;
use history::format::Format;
use protocol::{
    Answer, Counterexample, Model, Outcome, Question, ReplayFile, Run, World, mermaid, svg, text,
};
use report::page::{Section, Sequence, Text};
use report::{AnomalyView, Context, Tone};

/// All findings of an exploration: violations first, those with one and the same run together.
pub fn findings(
    model: &dyn Model,
    outcome: &Outcome,
    world: World,
    sessions: bool,
) -> Result<Vec<Finding>, Failure> {
    let mut found: Vec<Finding> = Vec::new();
    for (question, answer) in &outcome.answers {
        let Answer::Violated(run) = answer else {
            continue;
        };
        let same = |finding: &&mut Finding| {
            finding.counterexample.trace == run.trace && finding.counterexample.setup == run.setup
        };
        let judged = model.judge(&run.setup, &run.log, sessions, *question);
        if !judged.violated {
            return Err(internal(model, "is judged otherwise by itself"));
        }
        match found.iter_mut().find(same) {
            Some(finding) => finding.questions.push((*question, judged)),
            None => {
                let mut finding = finding(model, world, sessions, run, Kind::Violation)?;
                finding.questions.push((*question, judged));
                found.push(finding);
            }
        }
    }
    if let Some(stuck) = &outcome.stuck {
        let kind = Kind::Stuck {
            txns: stuck.txns.clone(),
            finals: stuck.finals,
        };
        found.push(finding(model, world, sessions, &stuck.run, kind)?);
    }
    if let Some((error, run)) = &outcome.model_error {
        let kind = Kind::Wrong(error.clone());
        found.push(finding(model, world, sessions, run, kind)?);
    }
    Ok(found)
}

fn finding(
    model: &dyn Model,
    world: World,
    sessions: bool,
    run: &Counterexample,
    kind: Kind,
) -> Result<Finding, Failure> {
    Ok(Finding {
        kind,
        questions: Vec::new(),
        counterexample: run.clone(),
        run: confirm(model, world, sessions, run)?,
        world: World {
            detail: run.log.detail,
            ..world
        },
        sessions,
        files: Vec::new(),
    })
}

/// Does the run again on the model as it is, and compares what is recorded.
fn confirm(
    model: &dyn Model,
    world: World,
    sessions: bool,
    found: &Counterexample,
) -> Result<Run, Failure> {
    let world = World {
        detail: found.log.detail,
        ..world
    };
    let run = model
        .replay(world, sessions, &found.setup, &found.trace)
        .map_err(|problem| internal(model, &format!("cannot be done again: {problem}")))?;
    if run.log == found.log {
        Ok(run)
    } else {
        Err(internal(model, "records something else when done again"))
    }
}

fn internal(model: &dyn Model, problem: &str) -> Failure {
    Failure(format!(
        "{}: a run that was found {problem}\n  hint: this is a bug of Isolde, or the model does \
         not decide the same twice; --no-reduction tells which",
        model.name()
    ))
}

/// The file that replays a finding.
pub fn replay_file(asked: &Asked<'_>, finding: &Finding) -> ReplayFile {
    let question: Option<Question> = finding.questions.first().map(|(question, _)| *question);
    ReplayFile {
        isolde: env!("CARGO_PKG_VERSION").to_string(),
        protocol: asked.outcome.protocol.clone(),
        property: question.map(|question| question.property.name().to_string()),
        form: question.map(|question| question.form.name().to_string()),
        sessions: finding.sessions,
        world: finding.world,
        setup_text: finding.run.setup.to_string(),
        setup: finding.run.setup.clone(),
        trace: finding.counterexample.trace.clone(),
        steps: finding.run.lines(),
    }
}

/// Writes every finding to files in a directory, and notes their names.
pub fn write(asked: &mut Asked<'_>, directory: &str, models: &Models) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(|error| Failure::with(directory, error))?;
    for place in 0..asked.findings.len() {
        let finding = &asked.findings[place];
        let stem = format!("{directory}/{}", name(asked, finding));
        let command = format!("{} replay {stem}.replay.json", models.called);
        let title = format!("{}: {}", asked.outcome.protocol, finding.title());
        let run = &finding.run;
        let texts = [
            ("chart.txt", text(run)),
            ("svg", svg(run)),
            ("html", page(finding, title, command)),
            ("mmd", mermaid(run)),
            ("replay.json", replay_file(asked, finding).to_json()),
        ];
        let mut files = Vec::new();
        for (extension, content) in texts {
            let file = format!("{stem}.{extension}");
            std::fs::write(&file, content).map_err(|error| Failure::with(&file, error))?;
            files.push(file);
        }
        let file = format!("{stem}.jsonl");
        convert::write(&run.history, &file, Format::Isolde)?;
        files.push(file);
        asked.findings[place].files = files;
    }
    Ok(())
}

/// A finding as a page: what is wrong, the chart, the anomalies of the history, the setup.
fn page(finding: &Finding, title: String, command: String) -> String {
    let run = &finding.run;
    let note = "Time goes down. A line leads from where a message is sent to where it arrives. A \
                version is named by a number and the site that made it.";
    let text_of = |title: &str, paragraph: &str, listing: String| {
        Section::Text(Text {
            title: title.to_string(),
            paragraphs: vec![paragraph.to_string()],
            listing,
        })
    };
    let setup = "The setup names where keys are kept, and what runs where: in \"k1@s1,s2 | s1: r(k1) w(k1)\" the \
                 key k1 is kept at the sites s1 and s2, and a transaction that starts at s1 reads k1 and \
                 then writes it.";
    let mut sections = vec![
        Section::Text(Text {
            title: "What is wrong".to_string(),
            paragraphs: vec![explanation(finding), setup.to_string()],
            listing: String::new(),
        }),
        Section::Sequence(Sequence {
            title: "What happened".to_string(),
            alternative: text(run),
            svg: svg(run),
        }),
    ];
    for anomaly in &finding.counterexample.anomalies {
        let context = Context {
            level: finding.level(),
            ..Context::default()
        };
        let view = AnomalyView::new(&run.history, anomaly, &context);
        sections.push(Section::Anomaly(Box::new(view)));
    }
    sections.push(text_of("In letters", note, text(run)));
    let mut reproduce = reproduce(None);
    reproduce.command = command;
    report::Page {
        title,
        verdict: Some((Tone::Bad, finding.name())),
        lead: match finding.kind {
            Kind::Violation => {
                "This run of the protocol shows it, and none with fewer steps does: who sent what to whom, what \
                 clients saw, and why no order explains that."
            }
            _ => "This run of the protocol shows it, and none with fewer steps does.",
        }
        .to_string(),
        facts: vec![("setup".to_string(), run.setup.to_string())],
        sections,
        reproduce,
    }
    .html()
}

/// The first part of the names of a finding's files.
fn name(asked: &Asked<'_>, finding: &Finding) -> String {
    let protocol = asked.outcome.protocol.replace('/', "-");
    match (&finding.kind, finding.questions.first()) {
        (Kind::Stuck { .. }, _) => format!("{protocol}-stuck"),
        (Kind::Wrong(_), _) => format!("{protocol}-error"),
        (Kind::Violation, Some((question, _))) => {
            let property = question.property.short();
            let property = property.unwrap_or(question.property.name());
            match question.form {
                protocol::Form::Strict => format!("{protocol}-{property}"),
                protocol::Form::Paper => format!("{protocol}-{property}-paper"),
            }
        }
        (Kind::Violation, None) => protocol,
    }
}
