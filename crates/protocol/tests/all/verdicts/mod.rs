//! One door for the tests of models: explores setups and says which properties of the table do
//! not hold.

use history::Level;
use protocol::{Answer, Faults, Form, Model, Outcome, Property, Question, Request, Setup, World};

/// The properties of the table, weak to strong.
pub const TABLE: [(&str, Level); 9] = [
    ("RC", Level::ReadCommitted),
    ("RA", Level::ReadAtomic),
    ("CS", Level::CursorStability),
    ("UA", Level::UpdateAtomic),
    ("NMSI", Level::NonMonotonicSnapshotIsolation),
    ("PSI", Level::ParallelSnapshotIsolation),
    ("SI", Level::SnapshotIsolation),
    ("SER", Level::Serializable),
    ("SSER", Level::StrictSerializable),
];

/// A property in strict form.
pub fn strict(property: Property) -> Question {
    Question {
        property,
        form: Form::Strict,
    }
}

pub fn setups(lines: &[&str]) -> Vec<Setup> {
    lines
        .iter()
        .map(|line| line.parse().expect("a setup"))
        .collect()
}

/// Explores all runs with all questions of the table.
pub fn explore(model: &dyn Model, lines: &[&str], sessions: bool) -> Outcome {
    let table = TABLE.iter();
    let request = Request {
        questions: table
            .map(|(_, level)| strict(Property::Level(*level)))
            .collect(),
        sessions,
        ..Request::default()
    };
    let setups = setups(lines);
    let outcome = model.explore(&setups, setups.len() as u64, &request);
    if let Some((error, run)) = &outcome.model_error {
        panic!("{} on {}: {error}\n{run:#?}", model.name(), run.setup);
    }
    assert!(outcome.evidence.exhausted);
    outcome
}

/// The properties that do not hold, as in the table's head.
pub fn violated(outcome: &Outcome) -> String {
    let mut names = Vec::new();
    for ((name, _), (_, answer)) in TABLE.iter().zip(&outcome.answers) {
        if matches!(answer, Answer::Violated(_)) {
            names.push(*name);
        }
    }
    names.join(" ")
}

/// Explores and compares what does not hold; nobody may be stuck.
pub fn expect(model: &dyn Model, line: &str, wrong: &str) -> Outcome {
    let outcome = explore(model, &[line], false);
    assert_eq!(violated(&outcome), wrong, "{} on {line}", model.name());
    assert!(
        outcome.evidence.finals_two_commits > 0,
        "{line} shows nothing"
    );
    if let Some(stuck) = &outcome.stuck {
        panic!("{} on {line}: stuck {:#?}", model.name(), stuck.run);
    }
    outcome
}

/// Every rule of the model but `never` fires somewhere in these setups.
pub fn expect_rules(model: &dyn Model, lines: &[&str], never: &[&str]) {
    let outcome = explore(model, lines, false);
    let found = outcome.evidence.rules_never_fired;
    assert_eq!(found, never, "{}", model.name());
}

/// With and without reduction, the same properties hold and as many histories are reached.
pub fn expect_same_reduced(model: &dyn Model, line: &str) {
    let questions: Vec<Question> = TABLE
        .iter()
        .map(|(_, level)| strict(Property::Level(*level)))
        .collect();
    let run = |partial_order: bool| {
        let request = Request {
            questions: questions.clone(),
            partial_order,
            symmetry: false,
            ..Request::default()
        };
        let outcome = model.explore(&setups(&[line]), 1, &request);
        let wrong = violated(&outcome);
        (outcome.evidence.histories, wrong, outcome.stuck.is_some())
    };
    assert_eq!(run(true), run(false), "{} on {line}", model.name());
}

/// One fault of each kind may cost answers, but breaks nothing.
pub fn expect_despite_faults(model: &dyn Model, line: &str, level: Level) {
    let none = Faults::default();
    for faults in [
        Faults { lose: 1, ..none },
        Faults { double: 1, ..none },
        Faults { crash: 1, ..none },
        Faults { cut: 1, ..none },
    ] {
        let request = Request {
            questions: vec![strict(Property::Level(level))],
            world: World {
                faults,
                ..World::default()
            },
            ..Request::default()
        };
        let outcome = model.explore(&setups(&[line]), 1, &request);
        let answer = &outcome.answers[0].1;
        assert!(
            matches!(answer, Answer::Holds | Answer::Vacuous(_)),
            "{} on {line} with {faults:?}: {answer:#?}",
            model.name()
        );
        assert!(outcome.model_error.is_none());
    }
}

/// Every mutant of the entry breaks what it says on its setup, and there the entry itself holds.
pub fn expect_mutants(name: &str) {
    let catalogue = protocol::catalogue();
    let entry = catalogue
        .iter()
        .find(|entry| entry.model.name() == name)
        .expect("an entry");
    for mutant in &entry.mutants {
        let request = Request {
            questions: vec![strict(mutant.breaks)],
            ..Request::default()
        };
        let setups = [mutant.setup.clone()];
        let broken = mutant.model.explore(&setups, 1, &request);
        assert!(
            matches!(broken.answers[0].1, Answer::Violated(_)),
            "{} on {}: {:?}",
            mutant.model.name(),
            mutant.setup,
            broken.answers[0].1
        );
        let sound = entry.model.explore(&setups, 1, &request);
        assert!(
            matches!(sound.answers[0].1, Answer::Holds | Answer::Vacuous(_)),
            "{name} on {}",
            mutant.setup
        );
    }
}
