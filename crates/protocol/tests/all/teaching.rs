//! The models for teaching and contrast: what they promise holds on small setups, what they do not
//! is violated, every seeded bug shows, and nobody is stuck.
use history::Level;
use protocol::{
    Answer, Bounds, Entry, Evidence, Form, Key, Mix, Op, Outcome, Property, Question, Request,
    Session, Sessions, Setup, Shape, Site, catalogue, separating,
};
use std::collections::BTreeSet;

const NAMES: [&str; 4] = ["2pl", "si", "percolator", "tapir-repaired"];

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

/// Some of the setups of two transactions of general shape, or of three of the simple ones, each
/// alone.
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
    let some = three.setups.into_iter().step_by(97);
    pairs.setups.into_iter().step_by(3).chain(some).collect()
}

/// Versions in the order of timestamps are not those of real time: the write of the first comes
/// before that of the second, which ends before the third begins, which does not see the first.
fn against_real_time() -> Setup {
    let (x, y) = (Key(0), Key(1));
    let alone = |site: u8, ops: &[Op]| Session {
        site: Site(site),
        txns: vec![ops.to_vec()],
    };
    let sessions = vec![
        alone(1, &[Op::Write(x), Op::Write(y)]),
        alone(1, &[Op::Write(y)]),
        alone(0, &[Op::Read(x)]),
    ];
    Setup::new(2, vec![vec![Site(0)], vec![Site(1)]], sessions).expect("a good setup")
}

#[test]
fn tapir_as_published_shows_half_a_transaction() {
    let (published, repaired) = (entry("tapir"), entry("tapir-repaired"));
    for (mutant, breaks) in repaired.mutants.iter().zip([
        Some(Level::ReadAtomic),
        Some(Level::Serializable),
        Some(Level::Serializable),
        None,
        None,
    ]) {
        let setup = std::slice::from_ref(&mutant.setup);
        let asked = [Level::ReadAtomic, Level::Serializable].map(Property::Level);
        let seen = explore(&published, setup, &asked);
        show(&seen);
        let broken = violated(&seen);
        let expected = breaks.map(Property::Level);
        assert_eq!(broken.is_empty(), expected.is_none(), "{}", mutant.setup);
        assert!(expected.is_none_or(|breaks| broken.contains(&breaks)));
    }
}

#[test]
fn what_is_promised_holds_and_nothing_more() {
    for name in NAMES {
        let entry = entry(name);
        let mut workloads: Vec<Setup> = separating().into_iter().map(|(_, setup)| setup).collect();
        workloads.extend(entry.mutants.iter().map(|mutant| mutant.setup.clone()));
        workloads.push(against_real_time());
        let seen = explore(&entry, &workloads, &levels());
        let promised = |property: &Property| {
            let mut promises = entry.promises.iter();
            promises.any(|promise| promise.implies(*property, false))
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
fn reductions_change_no_answer() {
    for name in NAMES {
        let entry = entry(name);
        let small =
            |(name, setup): &(String, Setup)| name.ends_with("/1") && setup.txns().count() == 2;
        for (workload, setup) in separating().into_iter().filter(small) {
            let setups = [setup];
            let answers = |reduced: bool| {
                let request = Request {
                    partial_order: reduced,
                    symmetry: reduced,
                    ..ask(&levels())
                };
                let outcome = entry.model.explore(&setups, 1, &request);
                let lengths = outcome.answers.iter().map(|(_, answer)| match answer {
                    Answer::Violated(run) => run.trace.len(),
                    _ => 0,
                });
                lengths.collect::<Vec<usize>>()
            };
            assert_eq!(answers(true), answers(false), "{name} {workload}");
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
