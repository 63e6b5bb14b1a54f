//! The fast explorer against one without any cleverness.

use crate::support;

use history::Level;
use protocol::*;
use support::{Sloppy, naive, setup};

fn questions() -> Vec<Question> {
    let levels = [
        Level::ReadCommitted,
        Level::CursorStability,
        Level::ReadAtomic,
        Level::UpdateAtomic,
        Level::SnapshotIsolation,
        Level::Serializable,
        Level::StrictSerializable,
    ];
    let question = |level| Question {
        property: Property::Level(level),
        form: Form::Strict,
    };
    levels.map(question).to_vec()
}

fn setups() -> Vec<Setup> {
    vec![
        setup(2, &[&[0, 1], &[0, 1]], &[(0, &["r0 w0"]), (1, &["r0 w0"])]),
        setup(2, &[&[0, 1], &[0, 1]], &[(0, &["w0 w1"]), (1, &["r0 r1"])]),
        setup(
            2,
            &[&[0, 1], &[0, 1]],
            &[(0, &["w0", "r1"]), (1, &["w1", "r0"])],
        ),
        setup(
            2,
            &[&[0, 1], &[0, 1]],
            &[(0, &["w0", "r0"]), (0, &["w0", "r0"])],
        ),
        setup(
            3,
            &[&[0, 1, 2]],
            &[(0, &["w0"]), (1, &["r0 w0"]), (2, &["r0"])],
        ),
    ]
}

fn worlds() -> Vec<World> {
    let world = World::default();
    let faults = |lose, double, crash, cut| Faults {
        lose,
        double,
        crash,
        cut,
    };
    vec![
        world,
        World {
            fifo: true,
            ..world
        },
        World {
            network_to_self: true,
            ..world
        },
        World {
            faults: faults(1, 0, 0, 0),
            ..world
        },
        World {
            faults: faults(0, 1, 0, 0),
            fifo: true,
            ..world
        },
        World {
            faults: faults(0, 0, 1, 1),
            ..world
        },
    ]
}

#[test]
fn without_reductions_states_are_those_of_the_naive_explorer() {
    for setup in setups() {
        for world in worlds() {
            if world.faults.double > 0 {
                continue; // A doubled ack is one too many for this protocol.
            }
            let world = World {
                detail: Detail::RealTime,
                ..world
            };
            let expected = naive(&Sloppy, &setup, world);
            let request = Request {
                questions: questions(),
                world,
                partial_order: false,
                symmetry: false,
                ..Request::default()
            };
            let outcome = explore(&Sloppy, std::slice::from_ref(&setup), 1, &request);
            assert!(outcome.model_error.is_none(), "{:?}", outcome.model_error);
            let evidence = &outcome.evidence;
            assert_eq!(evidence.states, expected.states, "{setup} {world:?}");
            assert_eq!(evidence.finals, expected.finals, "{setup} {world:?}");
            // Logs that differ only in what no question sees are one history.
            let logs = expected.logs.len() as u64;
            assert!(evidence.histories <= logs, "{setup} {world:?}");
            assert!(2 * evidence.histories >= logs, "{setup} {world:?}");
        }
    }
}

#[test]
fn reductions_change_no_answer_and_no_shortest_length() {
    let mut smaller = 0;
    for setup in setups() {
        let answers = |partial_order, symmetry, threads| {
            let request = Request {
                questions: questions(),
                partial_order,
                symmetry,
                threads,
                ..Request::default()
            };
            let outcome = explore(&Sloppy, std::slice::from_ref(&setup), 1, &request);
            let lengths: Vec<Option<usize>> = outcome
                .answers
                .iter()
                .map(|(_, answer)| match answer {
                    Answer::Violated(run) => Some(run.trace.len()),
                    _ => None,
                })
                .collect();
            (lengths, outcome.evidence.states, outcome.evidence.histories)
        };
        let (full, states, histories) = answers(false, false, 1);
        assert_eq!(
            answers(false, false, 3),
            (full.clone(), states, histories),
            "{setup}"
        );
        let (ordered, fewer, same) = answers(true, false, 1);
        assert_eq!((ordered, same), (full.clone(), histories), "{setup}");
        let (both, fewest, _) = answers(true, true, 2);
        assert_eq!(both, full, "{setup}");
        assert!(fewest <= fewer && fewer <= states, "{setup}");
        smaller += u32::from(fewest < states);
    }
    assert!(smaller > 2, "the reductions reduce nothing");
}

#[test]
fn many_setups_by_many_threads_are_the_same_as_one_by_one() {
    let setups: Vec<Setup> = setups().into_iter().cycle().take(12).collect();
    let outcome = |threads| {
        let request = Request {
            questions: questions(),
            threads,
            ..Request::default()
        };
        let outcome = explore(&Sloppy, &setups, 12, &request);
        let runs: Vec<_> = outcome
            .answers
            .iter()
            .map(|(_, answer)| match answer {
                Answer::Violated(run) => Some((run.setup.to_string(), run.trace.clone())),
                _ => None,
            })
            .collect();
        (
            runs,
            outcome.evidence.states,
            outcome.evidence.generated,
            outcome.evidence.finals,
        )
    };
    assert_eq!(outcome(1), outcome(2));
}

#[test]
fn a_limit_is_an_unknown() {
    let request = Request {
        questions: questions(),
        states_max: 5,
        ..Request::default()
    };
    let outcome = explore(&Sloppy, &setups()[..1], 1, &request);
    assert!(!outcome.evidence.exhausted);
    for (_, answer) in outcome.answers {
        assert!(matches!(answer, Answer::Unknown(why) if why.contains("5 states")));
    }
}

/// Questions that are not about time are answered without it, from fewer states, and the same.
#[test]
fn without_time_no_answer_changes() {
    let untimed: Vec<Question> = questions()
        .into_iter()
        .filter(|question| detail(&[*question]) == Detail::Untimed)
        .collect();
    let mut fewer = 0;
    for entry in catalogue() {
        let setups: Vec<Setup> = separating().into_iter().map(|(_, setup)| setup).collect();
        for setup in setups.iter().filter(|setup| entry.model.accepts(setup)) {
            let asked = |questions: &[Question]| {
                let request = Request {
                    questions: questions.to_vec(),
                    ..Request::default()
                };
                let one = std::slice::from_ref(setup);
                let outcome = entry.model.explore(one, 1, &request);
                let lengths = outcome
                    .answers
                    .iter()
                    .map(|(question, answer)| match answer {
                        Answer::Violated(run) => (*question, Some(run.trace.len())),
                        _ => (*question, None),
                    });
                let lengths: Vec<(Question, Option<usize>)> = lengths.collect();
                (lengths, outcome.evidence.states)
            };
            let (mut timed, states_timed) = asked(&questions());
            timed.retain(|(question, _)| untimed.contains(question));
            let (plain, states) = asked(&untimed);
            assert_eq!(plain, timed, "{} {setup}", entry.model.name());
            assert!(states <= states_timed, "{} {setup}", entry.model.name());
            fewer += u32::from(states < states_timed);
        }
    }
    assert!(fewer > 100, "time hardly mattered: {fewer}");
}
