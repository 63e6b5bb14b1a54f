//! Counterexamples done again: the same log, and charts that anybody can read.
use protocol::{
    Answer, Cause, Counterexample, Entry, Faults, Form, Happened, Model, Property, Question,
    ReplayFile, Request, Run, Setup, World, catalogue, mermaid, svg, text,
};

fn entry(name: &str) -> Entry {
    let mut all = catalogue().into_iter();
    all.find(|entry| entry.model.name() == name)
        .expect("a protocol of this name")
}

/// A shortest run that violates the property on the setup.
fn violation(model: &dyn Model, property: Property, setup: &Setup) -> Counterexample {
    let request = Request {
        questions: vec![Question {
            property,
            form: Form::Strict,
        }],
        sessions: property.about_sessions(),
        ..Request::default()
    };
    let outcome = model.explore(std::slice::from_ref(setup), 1, &request);
    match outcome.answers.into_iter().next() {
        Some((_, Answer::Violated(run))) => *run,
        other => panic!("{}: {other:?}", model.name()),
    }
}

fn again(model: &dyn Model, found: &Counterexample) -> Run {
    let world = World {
        detail: found.log.detail,
        ..World::default()
    };
    model
        .replay(world, false, &found.setup, &found.trace)
        .expect("what was found can be done again")
}

fn lost_update() -> (Entry, Counterexample) {
    let setup = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)".parse();
    let ramp = entry("ramp-f");
    let property = "cs".parse().expect("a property");
    let found = violation(ramp.model.as_ref(), property, &setup.expect("a setup"));
    (ramp, found)
}

#[test]
fn every_counterexample_can_be_done_again() {
    for entry in catalogue() {
        for mutant in entry.mutants.iter().take(2) {
            let found = violation(mutant.model.as_ref(), mutant.breaks, &mutant.setup);
            let run = again(mutant.model.as_ref(), &found);
            let name = mutant.model.name();
            assert_eq!(run.log, found.log, "{name}");
            assert_eq!(run.steps.len(), found.trace.len(), "{name}");
            assert!(run.complete, "{name}: a judged run is at its end");
            well_drawn(name, &run);
        }
    }
}

/// What every chart must be.
fn well_drawn(name: &str, run: &Run) {
    let chart = text(run);
    for line in chart.lines() {
        assert!(line.chars().count() <= 100, "{name}: {line}");
    }
    for txn in run.setup.txns() {
        assert!(chart.contains(&format!("{txn} ")), "{name}: {chart}");
    }
    for message in &run.messages {
        if let Some(step) = message.delivered {
            assert!(message.sent < step, "{name}: {message:?}");
        }
    }
    let picture = svg(run);
    assert_eq!(
        picture.matches("<text").count(),
        picture.matches("</text>").count()
    );
    assert!(
        picture.starts_with("<svg") && picture.ends_with("</svg>\n"),
        "{name}"
    );
    assert!(mermaid(run).starts_with("sequenceDiagram\n"), "{name}");
}

#[test]
fn a_step_says_what_was_recorded_and_sent() {
    let (ramp, found) = lost_update();
    let run = again(ramp.model.as_ref(), &found);
    let all: Vec<&Happened> = run.steps.iter().flat_map(|step| &step.events).collect();
    let count = |wanted: fn(&Happened) -> bool| all.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, Happened::Read(..))), 2);
    assert_eq!(count(|event| matches!(event, Happened::Write(..))), 2);
    assert_eq!(count(|event| matches!(event, Happened::Commit(_))), 2);
    let starts = run
        .steps
        .iter()
        .filter(|s| matches!(s.cause, Cause::Start(_)));
    assert_eq!(starts.count(), 2);
    let sent: usize = run.steps.iter().map(|step| step.sent.len()).sum();
    assert_eq!(sent, run.messages.len());
    assert!(
        run.messages
            .iter()
            .all(|message| message.delivered.is_some())
    );
}

#[test]
fn a_trace_of_something_else_is_refused() {
    let (ramp, found) = lost_update();
    let mut trace = found.trace.clone();
    trace.swap(0, found.trace.len() - 1);
    let refused = ramp
        .model
        .replay(World::default(), false, &found.setup, &trace);
    assert!(refused.is_err_and(|why| why.contains("step 1")));
}

#[test]
fn a_file_replays_and_notices_a_changed_model() {
    let (ramp, found) = lost_update();
    let run = again(ramp.model.as_ref(), &found);
    let file = ReplayFile {
        isolde: "0".to_string(),
        protocol: "ramp-f".to_string(),
        property: Some("cursor-stability".to_string()),
        form: Some("strict".to_string()),
        sessions: false,
        world: World::default(),
        setup_text: found.setup.to_string(),
        setup: found.setup.clone(),
        trace: found.trace.clone(),
        steps: run.lines(),
    };
    let mut read = ReplayFile::from_json(&file.to_json()).expect("what was written can be read");
    assert_eq!(read.changed(&run), None);
    read.steps[2].push('!');
    let changed = read.changed(&run).expect("a step is another");
    assert_eq!(changed.step, 3);
    read.steps.pop();
    assert!(ReplayFile::from_json("{}").is_err());
    assert!(ReplayFile::from_json("[[[[[[").is_err());
}

#[test]
fn lost_messages_and_stuck_transactions_are_drawn() {
    let ramp = entry("ramp-f");
    let setup: Setup = "k1@s2 | s1: w(k1)".parse().expect("a setup");
    let world = World {
        faults: Faults {
            lose: 1,
            ..Faults::default()
        },
        ..World::default()
    };
    let request = Request {
        questions: vec![Question {
            property: "rc".parse().expect("a property"),
            form: Form::Strict,
        }],
        world,
        ..Request::default()
    };
    let outcome = ramp.model.explore(&[setup], 1, &request);
    let stuck = outcome.stuck.expect("nothing is sent twice");
    let world = World {
        detail: stuck.run.log.detail,
        ..world
    };
    let run = ramp
        .model
        .replay(world, false, &stuck.run.setup, &stuck.run.trace)
        .expect("it can be done again");
    assert!(run.messages.iter().any(|message| message.lost.is_some()));
    assert!(text(&run).contains('✗'), "{}", text(&run));
    assert!(mermaid(&run).contains("-x"));
}
