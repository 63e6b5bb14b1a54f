//! What the models of the catalogue allow, setup by setup.

use history::Level;
use protocol::*;

/// The columns of the published table, in its order.
pub const TABLE: [Level; 9] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CursorStability,
    Level::UpdateAtomic,
    Level::NonMonotonicSnapshotIsolation,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

/// The entry of a name.
pub fn entry(name: &str) -> Entry {
    let found = catalogue()
        .into_iter()
        .find(|entry| entry.model.name() == name);
    found.unwrap_or_else(|| panic!("no model {name}"))
}

/// A request for these levels, as a history with or without sessions.
pub fn request(levels: &[Level], sessions: bool) -> Request<'static> {
    let question = |level: &Level| Question {
        property: Property::Level(*level),
        form: Form::Strict,
    };
    Request {
        questions: levels.iter().map(question).collect(),
        sessions,
        ..Request::default()
    }
}

/// Explores one setup and expects that it ends, that nobody is stuck and the model is sound.
pub fn explored(model: &dyn Model, line: &str, request: &Request<'_>) -> Outcome {
    let setup: Setup = line.parse().unwrap_or_else(|why| panic!("{line}: {why}"));
    let outcome = model.explore(&[setup], 1, request);
    let name = model.name();
    if let Some((error, _)) = &outcome.model_error {
        panic!("{name} in {line}: {error}");
    }
    assert!(outcome.evidence.exhausted, "{name} in {line}");
    let lossy = request.world.faults != Faults::default();
    assert!(outcome.stuck.is_none() || lossy, "{name} sticks in {line}");
    outcome
}

/// The levels that some run of the setup violates.
pub fn violated(model: &dyn Model, line: &str, levels: &[Level], sessions: bool) -> Vec<Level> {
    broken(&explored(model, line, &request(levels, sessions)))
}

/// The levels that are violated, of those asked.
pub fn broken(outcome: &Outcome) -> Vec<Level> {
    let broken = |(question, answer): &(Question, Answer)| match (question.property, answer) {
        (Property::Level(level), Answer::Violated(_)) => Some(level),
        _ => None,
    };
    outcome.answers.iter().filter_map(broken).collect()
}

/// Expects that a bug breaks what its entry says, where the model without it does not.
pub fn expect_bugs_to_show(entry: &Entry, sessions: bool) {
    for mutant in &entry.mutants {
        let Property::Level(level) = mutant.breaks else {
            panic!("{} breaks no level", mutant.model.name());
        };
        let line = mutant.setup.to_string();
        let name = mutant.model.name();
        let promised = entry.promises.iter().any(|promise| match promise {
            Property::Level(promise) => promise.implies(level),
            Property::UpdateSerializable => false,
        });
        assert!(promised, "{name} breaks {level:?}, which is not promised");
        let right = violated(&*entry.model, &line, &[level], sessions);
        assert!(right.is_empty(), "{level:?} without {name} in {line}");
        let wrong = violated(&*mutant.model, &line, &[level], sessions);
        assert_eq!(wrong, [level], "{name} in {line}");
    }
}

/// Expects every rule to fire in one of the setups.
pub fn expect_all_rules(model: &dyn Model, lines: &[&str]) {
    let parse = |line: &&str| line.parse::<Setup>().unwrap();
    let setups: Vec<Setup> = lines.iter().map(parse).collect();
    let outcome = model.explore(&setups, 1, &request(&[], false));
    let never = outcome.evidence.rules_never_fired;
    assert!(never.is_empty(), "{}: {never:?}", model.name());
}

/// Expects the reductions to change no answer, no length of a shortest run and no history.
pub fn expect_same_unreduced(model: &dyn Model, line: &str, levels: &[Level], sessions: bool) {
    let answers = |reduced| {
        let request = Request {
            partial_order: reduced,
            symmetry: false,
            ..request(levels, sessions)
        };
        let outcome = explored(model, line, &request);
        let length = |(_, answer): &(Question, Answer)| match answer {
            Answer::Violated(run) => Some(run.trace.len()),
            _ => None,
        };
        let lengths: Vec<Option<usize>> = outcome.answers.iter().map(length).collect();
        (lengths, outcome.evidence.histories)
    };
    assert_eq!(answers(true), answers(false), "{} in {line}", model.name());
}
