//! Faults on a protocol so small that every outcome can be told by hand.
use crate::support;

use protocol::*;
use serde::{Deserialize, Serialize};
use support::{naive, setup};

/// The proxy asks the site of each written key to store it, and commits when all have answered. It
/// never asks twice.
struct Post {
    /// Whether sites remember everything through a crash.
    durable: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Office {
    /// Of the one transaction that runs here.
    missing: Option<usize>,
    answers: usize,
    stored: Vec<Key>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Letter {
    Store(Key),
    Stored,
}

impl Protocol for Post {
    type Site = Office;
    type Message = Letter;

    fn name(&self) -> &str {
        "post"
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Office {
        Office::default()
    }

    fn start(&self, at: &mut Office, txn: Txn, context: &mut Context<'_, Letter>) {
        let keys = context.setup().writes(txn);
        at.missing = Some(keys.len());
        for key in keys.iter() {
            let version = Version::new(1, context.here());
            context.write(txn, key, version);
            let site = context.setup().preferred(key);
            context.send(site, Letter::Store(key));
        }
    }

    fn receive(
        &self,
        at: &mut Office,
        from: Site,
        letter: Letter,
        context: &mut Context<'_, Letter>,
    ) {
        match letter {
            Letter::Store(key) => {
                at.stored.push(key);
                context.send(from, Letter::Stored);
            }
            Letter::Stored => {
                at.answers += 1;
                if at.missing == Some(at.answers) {
                    context.commit(Txn(0));
                }
            }
        }
    }

    fn crash(&self, _setup: &Setup, _site: Site, at: &mut Office) {
        if !self.durable {
            *at = Office::default();
        }
    }

    fn version_order(&self) -> VersionOrder {
        VersionOrder::Compared
    }
}

/// Explores the setup and says in how many ways it can end, in how many of them stuck. Visiting
/// everything by hand must agree.
fn ends(durable: bool, writes: &str, world: World) -> (u64, u64) {
    let post = Post { durable };
    let setup = setup(2, &[&[1], &[1], &[1]], &[(0, &[writes])]);
    let request = Request {
        world,
        ..Request::default()
    };
    let outcome = explore(&post, std::slice::from_ref(&setup), 1, &request);
    assert!(outcome.model_error.is_none(), "{:?}", outcome.model_error);
    assert_eq!(outcome.evidence.finals, naive(&post, &setup, world).finals);
    let stuck = outcome.stuck.map_or(0, |stuck| {
        assert_eq!(stuck.txns, [Txn(0)]);
        let system = System {
            protocol: &post,
            setup: &setup,
            world,
        };
        let mut state = system.initial();
        for action in &stuck.run.trace {
            system.apply(&mut state, action.step, &action.choices);
        }
        let mut moves = Vec::new();
        system.moves(&state, &mut moves);
        assert!(moves.is_empty(), "{moves:?}");
        assert_eq!(state.log.record(Txn(0)).status, Status::Running);
        stuck.finals
    });
    (outcome.evidence.finals, stuck)
}

fn with(faults: Faults) -> World {
    World {
        faults,
        ..World::default()
    }
}

#[test]
fn without_faults_there_is_one_end() {
    assert_eq!(ends(true, "w0", World::default()), (1, 0));
}

#[test]
fn a_lost_request_or_answer_is_waited_for_for_ever() {
    let world = with(Faults {
        lose: 1,
        ..Faults::default()
    });
    // Nothing lost; the request lost; the answer lost.
    assert_eq!(ends(true, "w0", world), (3, 2));
}

#[test]
fn a_doubled_message_arrives_twice() {
    let world = with(Faults {
        double: 1,
        ..Faults::default()
    });
    // Stored and answered once; stored twice; stored once and answered twice.
    assert_eq!(ends(true, "w0", world), (3, 0));
}

#[test]
fn a_crash_loses_what_is_volatile() {
    let world = with(Faults {
        crash: 1,
        ..Faults::default()
    });
    // No crash, or one that nobody notices.
    assert_eq!(ends(true, "w0", world), (2, 0));
    // Also: what was stored is forgotten; who waits is forgotten.
    assert_eq!(ends(false, "w0", world), (4, 1));
}

#[test]
fn a_cut_loses_what_is_on_its_way_and_what_is_sent_meanwhile() {
    let world = with(Faults {
        cut: 1,
        ..Faults::default()
    });
    // No cut, or one that is healed in time; the request lost; the answer lost.
    assert_eq!(ends(true, "w0", world), (4, 2));
}

#[test]
fn links_keep_their_order_if_told() {
    let fifo = World {
        fifo: true,
        ..World::default()
    };
    assert_eq!(ends(true, "w0 w1 w2", World::default()).0, 6);
    assert_eq!(ends(true, "w0 w1 w2", fifo).0, 1);
}

#[test]
fn simulation_meets_every_end_that_exploration_does() {
    let faults = Faults {
        lose: 1,
        double: 1,
        crash: 1,
        cut: 1,
    };
    let post = Post { durable: false };
    let setup = setup(2, &[&[1]], &[(0, &["w0"])]);
    let options = SimulateOptions {
        request: Request {
            world: with(faults),
            ..Request::default()
        },
        fault_chance: 0.3,
        ..SimulateOptions::default()
    };
    let found = simulate(
        &post,
        SetupSource::These(std::slice::from_ref(&setup)),
        &options,
    );
    let found = found.unwrap();
    // Committed, or stuck: two logs.
    assert_eq!(found.outcome.evidence.histories, 2);
    let stuck = found.outcome.stuck.unwrap();
    assert_eq!(stuck.txns, [Txn(0)]);
    assert!((100..900).contains(&stuck.finals), "{}", stuck.finals);
}
