//! Simulation and estimates: the same seed gives the same answer, and answers known in advance come
//! out.
use crate::support;

use history::{Level, Verdict};
use protocol::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use support::{Sloppy, setup};

fn asked(level: Level) -> Request<'static> {
    Request {
        questions: vec![Question {
            property: Property::Level(level),
            form: Form::Strict,
        }],
        ..Request::default()
    }
}

/// Runs the trace of a counterexample again, and has the checker judge what comes of it.
fn replays<P: Protocol>(protocol: &P, run: &Counterexample, level: Level) {
    let system = System {
        protocol,
        setup: &run.setup,
        world: World::default(),
    };
    let mut state = system.initial();
    let mut moves = Vec::new();
    for action in &run.trace {
        system.moves(&state, &mut moves);
        assert!(moves.contains(&action.step), "{action:?} cannot happen");
        system.apply(&mut state, action.step, &action.choices);
    }
    system.moves(&state, &mut moves);
    assert!(moves.is_empty(), "the run goes on");
    assert_eq!(state.log.records, run.log.records);
    let history = to_history(&run.setup, &state.log, protocol.version_order(), false);
    let options = checker::Options {
        keys: history::KeyOrder::Recorded,
        ..checker::Options::default()
    };
    let checked = checker::check(&history, &[level], &options);
    assert!(matches!(checked[0].result.verdict, Verdict::Violated(_)));
    assert!(!run.anomalies.is_empty());
}

fn violation(found: &SimulateOutcome) -> Option<&Counterexample> {
    match &found.outcome.answers[0].1 {
        Answer::Violated(run) => Some(run),
        _ => None,
    }
}

/// A writer sends one message to the store and back as often as `rounds` says, and then writes all
/// its keys at once. A reader reads its keys one after the other. A run in which the reader is
/// between two reads while the writer writes needs the reader to wait for all those rounds.
struct Straddle {
    rounds: u16,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Store {
    versions: BTreeMap<Key, Version>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Message {
    Ping(Txn, u16),
    Pong(Txn, u16),
    Write(Txn, Version),
    Written(Txn),
    Read(Txn, u16),
    Value(Txn, u16, Version),
}

impl Straddle {
    fn read(&self, txn: Txn, place: u16, context: &mut Context<'_, Message>) {
        if context.setup().ops(txn).len() > usize::from(place) {
            context.send(Site(0), Message::Read(txn, place));
        } else {
            context.commit(txn);
        }
    }
}

impl Protocol for Straddle {
    type Site = Store;
    type Message = Message;

    fn name(&self) -> &str {
        "straddle"
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Store {
        Store::default()
    }

    fn start(&self, _at: &mut Store, txn: Txn, context: &mut Context<'_, Message>) {
        if context.setup().writes(txn).is_empty() {
            self.read(txn, 0, context);
        } else {
            context.send(Site(0), Message::Ping(txn, self.rounds));
        }
    }

    fn receive(
        &self,
        at: &mut Store,
        from: Site,
        message: Message,
        context: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Ping(txn, left) => context.send(from, Message::Pong(txn, left)),
            Message::Pong(txn, 1) => {
                let version = Version::new(u16::from(txn.0) + 1, context.here());
                for key in context.setup().writes(txn).iter() {
                    context.write(txn, key, version);
                }
                context.send(from, Message::Write(txn, version));
            }
            Message::Pong(txn, left) => context.send(from, Message::Ping(txn, left - 1)),
            Message::Write(txn, version) => {
                for key in context.setup().writes(txn).iter() {
                    at.versions.insert(key, version);
                    context.install(key, version);
                }
                context.send(from, Message::Written(txn));
            }
            Message::Written(txn) => context.commit(txn),
            Message::Read(txn, place) => {
                let key = context.setup().ops(txn)[usize::from(place)].key();
                let version = at.versions.get(&key).copied().unwrap_or_default();
                context.send(from, Message::Value(txn, place, version));
            }
            Message::Value(txn, place, version) => {
                let key = context.setup().ops(txn)[usize::from(place)].key();
                context.read(txn, key, version);
                self.read(txn, place + 1, context);
            }
        }
    }
}

fn straddled() -> Setup {
    setup(3, &[&[0], &[0]], &[(1, &["w0 w1"]), (2, &["r0 r1"])])
}

/// How many of so many runs violate read atomicity.
fn straddling(scheduler: Scheduler, runs: u64) -> u64 {
    let options = SimulateOptions {
        request: asked(Level::ReadAtomic),
        runs,
        scheduler,
        all_runs: true,
        shrink_runs: 0,
        ..SimulateOptions::default()
    };
    let setups = [straddled()];
    let found = simulate(
        &Straddle { rounds: 10 },
        SetupSource::These(&setups),
        &options,
    )
    .unwrap();
    assert_eq!(found.runs, runs);
    if let Scheduler::Pct(depth) = scheduler {
        // One chain for each transaction and each site, and nobody sends two messages at once.
        let steps = f64::from(found.outcome.evidence.depth);
        let bound = 1.0 / (5.0 * steps.powi(depth as i32 - 1));
        assert!((found.bound.unwrap() - bound).abs() < 1e-12);
    }
    found.found[0].map_or(0, |found| found.runs)
}

#[test]
fn pct_finds_what_random_finds_rarely() {
    let runs = 1000;
    let (random, shallow, deep) = (
        straddling(Scheduler::Random, runs),
        straddling(Scheduler::Pct(1), runs),
        straddling(Scheduler::Pct(2), runs),
    );
    // The reader is first with probability 1/2, and falls at one of 2 of 28 steps with 2/28.
    assert_eq!(shallow, 0);
    assert!((20..60).contains(&deep), "{deep}");
    assert!(random <= 3, "{random}");
}

#[test]
fn a_seed_means_the_same_whatever_the_threads() {
    let workload = Workload {
        sites: 3,
        keys: 3,
        replicas: (1, 2),
        sessions: 3,
        txns: 5,
        ops: (1, 3),
        ..Workload::default()
    };
    let mut all = Vec::new();
    for scheduler in [Scheduler::Random, Scheduler::Pct(3)] {
        for threads in [1, 3] {
            let options = SimulateOptions {
                request: Request {
                    threads,
                    ..asked(Level::Causal)
                },
                runs: 300,
                seed: 42,
                scheduler,
                all_runs: true,
                shrink_runs: 20,
                ..SimulateOptions::default()
            };
            let found = simulate(&Sloppy, SetupSource::Drawn(&workload), &options).unwrap();
            let run = violation(&found).expect("nothing isolates");
            replays(&Sloppy, run, Level::Causal);
            let counted = (found.found[0], found.outcome.evidence.histories);
            all.push(format!("{counted:?} {} {:?}", run.setup, run.trace));
            // That run alone.
            let again = SimulateOptions {
                seed: found.found[0].unwrap().seed,
                runs: 1,
                ..options
            };
            let again = simulate(&Sloppy, SetupSource::Drawn(&workload), &again).unwrap();
            assert_eq!(again.found[0].unwrap().steps, found.found[0].unwrap().steps);
        }
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[2], all[3]);
    assert_ne!(all[0], all[2]);
}

#[test]
fn what_is_found_is_made_small_and_replays() {
    let setups = [setup(
        4,
        &[&[0], &[1], &[2, 3], &[3]],
        &[
            (0, &["r0 w0", "r1 w2", "r3 r2"]),
            (1, &["r0 w0", "r3"]),
            (2, &["r1 w1", "r2", "r0 r1"]),
            (3, &["w3 w2", "r0 r1 w2"]),
        ],
    )];
    for level in [Level::ReadAtomic, Level::CursorStability] {
        let options = SimulateOptions {
            request: asked(level),
            ..SimulateOptions::default()
        };
        let found = simulate(&Sloppy, SetupSource::These(&setups), &options).unwrap();
        let run = violation(&found).expect("nothing isolates");
        assert_eq!(run.setup.txns().count(), 2, "{}", run.setup);
        assert!(run.setup.sites().count() <= 2, "{}", run.setup);
        replays(&Sloppy, run, level);
        // No run of the same setup is shorter.
        let all = explore(&Sloppy, std::slice::from_ref(&run.setup), 1, &asked(level));
        let Answer::Violated(shortest) = &all.answers[0].1 else {
            panic!("exploration finds nothing")
        };
        assert_eq!(run.trace.len(), shortest.trace.len());
    }
}

#[test]
fn what_is_too_large_to_explore_is_made_small_by_runs() {
    let noise: (u8, &[&str]) = (0, &["r0", "r1"]);
    let setups = [setup(
        3,
        &[&[0], &[0], &[1]],
        &[noise, (1, &["w0 w1", "w2"]), (2, &["r0 r1 r2"])],
    )];
    let options = SimulateOptions {
        request: asked(Level::ReadAtomic),
        scheduler: Scheduler::Pct(2),
        shrink_runs: 300,
        shrink_states: 0,
        ..SimulateOptions::default()
    };
    let straddle = Straddle { rounds: 10 };
    let found = simulate(&straddle, SetupSource::These(&setups), &options).unwrap();
    let run = violation(&found).expect("a bug of depth 2");
    replays(&straddle, run, Level::ReadAtomic);
    assert_eq!(run.setup.txns().count(), 2, "{}", run.setup);
    assert_eq!(run.setup.keys().count(), 2, "{}", run.setup);
    assert!(run.trace.len() <= found.found[0].unwrap().steps);
}

/// Most seeded bugs show in simulation too, and none in the protocols that they were put into.
#[test]
fn simulation_tells_bugs_from_protocols() {
    let options = |property, scheduler, runs| SimulateOptions {
        request: Request {
            questions: vec![Question {
                property,
                form: Form::Strict,
            }],
            sessions: property.about_sessions(),
            ..Request::default()
        },
        runs,
        scheduler,
        shrink_runs: 0,
        ..SimulateOptions::default()
    };
    let (mut missed, mut all) = (Vec::new(), 0);
    for entry in catalogue() {
        for mutant in &entry.mutants {
            let setups = std::slice::from_ref(&mutant.setup);
            let violates = |model: &dyn Model, scheduler, runs| {
                let options = options(mutant.breaks, scheduler, runs);
                let found = model.simulate(SetupSource::These(setups), &options);
                violation(&found.unwrap()).is_some()
            };
            assert!(!violates(&*entry.model, Scheduler::Random, 200));
            let schedulers = [Scheduler::Random, Scheduler::Pct(3)];
            let mut found = schedulers
                .into_iter()
                .map(|scheduler| violates(&*mutant.model, scheduler, 1000));
            all += 1;
            if !found.any(|found| found) {
                missed.push(mutant.model.name().to_string());
            }
        }
    }
    assert!(missed.len() * 10 <= all, "{missed:?} of {all}");
}

#[test]
fn bad_bounds_are_refused() {
    let options = SimulateOptions::default();
    assert!(simulate(&Sloppy, SetupSource::These(&[]), &options).is_err());
    let workload = Workload {
        replicas: (1, 3),
        ..Workload::default()
    };
    let found = simulate(&Sloppy, SetupSource::Drawn(&workload), &options);
    assert!(found.unwrap_err().contains("replicas"));
    for text in ["pct:0", "pct:x", "round-robin"] {
        assert!(text.parse::<Scheduler>().is_err(), "{text}");
    }
    assert_eq!("pct:3".parse(), Ok(Scheduler::Pct(3)));
}
