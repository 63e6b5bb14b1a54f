//! The models for teaching and contrast: what they promise holds on small setups, what they do not
//! is violated, every seeded bug shows, and nobody is stuck.
#![allow(missing_docs)]

use history::Level;
use protocol::{
    Answer, Bounds, Entry, Evidence, Form, Mix, Outcome, Property, Question, Request, Sessions,
    Setup, Shape, catalogue, separating,
};
use std::collections::BTreeSet;

const NAMES: [&str; 3] = ["2pl", "si", "percolator"];

fn entry(name: &str) -> Entry {
    let mut all = catalogue().into_iter();
    all.find(|entry| entry.model.name() == name)
        .expect("in the catalogue")
}

fn ask(properties: &[Property]) -> Request<'static> {
    Request {
        questions: properties
            .iter()
            .map(|property| Question {
                property: *property,
                form: Form::Strict,
            })
            .collect(),
        ..Request::default()
    }
}

fn explore(entry: &Entry, setups: &[Setup], properties: &[Property]) -> Outcome {
    let outcome = entry
        .model
        .explore(setups, setups.len() as u64, &ask(properties));
    let name = entry.model.name();
    if let Some((why, run)) = &outcome.model_error {
        panic!("{name}: {why}\n{}\n{:#?}", run.setup, run.trace);
    }
    if let Some(stuck) = &outcome.stuck {
        panic!(
            "{name} is stuck on {}: {:?}\n{:#?}",
            stuck.run.setup, stuck.txns, stuck.run.trace
        );
    }
    assert!(outcome.evidence.exhausted);
    outcome
}

/// The properties that are violated on some of the setups.
fn violated(outcome: &Outcome) -> BTreeSet<Property> {
    let violated = outcome
        .answers
        .iter()
        .filter(|(_, answer)| matches!(answer, Answer::Violated(_)));
    violated.map(|(question, _)| question.property).collect()
}

fn levels() -> Vec<Property> {
    let mut all: Vec<Property> = Property::table().collect();
    all.push(Property::UpdateSerializable);
    all.push(Property::Level(Level::StrongSnapshotIsolation));
    all
}

fn show(outcome: &Outcome) {
    for (question, answer) in &outcome.answers {
        if let Answer::Violated(run) = answer {
            println!(
                "{} {question}: {}\n{}",
                outcome.protocol, run.setup, run.explanation
            );
            for (txn, record) in run.log.records.iter().enumerate() {
                println!("  t{} {record:?}", txn + 1);
            }
        }
    }
}

/// Two transactions of general shape, or three of the simple ones, each alone.
fn small_setups(entry: &Entry) -> Vec<Setup> {
    let bounds = |txns, shapes: &[Shape]| Bounds {
        mix: Mix::Any {
            txns,
            ops: 1..=2,
            shapes: shapes.to_vec(),
        },
        replication: vec![1],
        sessions: Sessions::OneATxn,
        ..Bounds::default()
    };
    let symmetry = entry.model.symmetry();
    let pairs = bounds(2..=2, &[Shape::General])
        .setups(symmetry)
        .expect("few");
    let simple = [Shape::ReadOnly, Shape::WriteOnly, Shape::ReadModifyWrite];
    let three = bounds(3..=3, &simple).setups(symmetry).expect("few");
    let some = three.setups.into_iter().step_by(7);
    pairs.setups.into_iter().chain(some).collect()
}

#[test]
fn what_is_promised_holds_and_nothing_more() {
    for name in NAMES {
        let entry = entry(name);
        let workloads: Vec<Setup> = separating().into_iter().map(|(_, setup)| setup).collect();
        let seen = explore(&entry, &workloads, &levels());
        let promised = |property: &Property| {
            let mut promises = entry.promises.iter();
            promises.any(|promise| promise.implies(*property))
        };
        show(&seen);
        let broken = violated(&seen);
        for property in levels() {
            assert_eq!(
                broken.contains(&property),
                !promised(&property),
                "{name} {property}"
            );
        }
        assert!(
            seen.evidence.rules_never_fired.is_empty(),
            "{name}: {:?}",
            seen.evidence.rules_never_fired
        );
        let setups = small_setups(&entry);
        let seen = explore(&entry, &setups, entry.promises);
        let Evidence {
            states,
            finals,
            finals_aborts,
            histories,
            ..
        } = seen.evidence;
        println!(
            "{name}: {} setups, {states} states, {finals} finals, {finals_aborts} with aborts, {histories} histories",
            setups.len()
        );
        show(&seen);
        for (question, answer) in &seen.answers {
            assert!(
                matches!(answer, Answer::Holds),
                "{name} {question}: {answer:?}"
            );
        }
    }
}

#[test]
fn every_seeded_bug_shows() {
    for name in NAMES {
        let entry = entry(name);
        assert!(entry.mutants.len() >= 3, "{name}");
        for mutant in entry.mutants {
            let asked = ask(&[mutant.breaks]);
            let setup = std::slice::from_ref(&mutant.setup);
            let broken = mutant.model.explore(setup, 1, &asked);
            let name = mutant.model.name();
            assert!(
                broken.model_error.is_none(),
                "{name}: {:?}",
                broken.model_error
            );
            assert!(
                violated(&broken).contains(&mutant.breaks),
                "{name}: {}",
                mutant.what
            );
            let whole = self::entry(name.split('/').next().expect("a name"));
            let whole = whole.model.explore(setup, 1, &asked);
            assert!(violated(&whole).is_empty(), "{name}: without the bug");
        }
    }
}
