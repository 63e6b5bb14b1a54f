//! ROLA: which levels it has, and the smallest workloads that show which not.

use crate::expect;

use expect::*;
use history::Level;
use protocol::*;
use std::collections::HashSet;

const BOTH: [&str; 2] = ["rola", "rola/no-abort-message"];

/// Setups in which atomicity could break or an update be lost.
const MIXED: [&str; 7] = [
    "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
    "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)",
    "k1@s1 | s2: r(k1) w(k1) | s2: r(k1) w(k1); r(k1) w(k1)",
    "k1@s1 k2@s2 | s1: r(k1) r(k2) w(k1) w(k2) | s2: r(k2) w(k2) | s2: r(k1) r(k2)",
    "k1@s1,s2 | s1: r(k1) w(k1) | s2: r(k1) w(k1); r(k1) w(k1)",
    "k1@s1,s2 k2@s2,s1 | s1: r(k1) w(k1) w(k2) | s2: r(k1) w(k1); r(k2) w(k2)",
    // Of two blind writes, the one with the smaller timestamp can come last.
    "k1@s1 k2@s2 | s3: w(k1) | s2: w(k1) w(k2) | s1: r(k1) r(k2)",
];

const UPDATE_ATOMIC: [Level; 4] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CursorStability,
    Level::UpdateAtomic,
];

#[test]
fn it_is_update_atomic() {
    for name in BOTH {
        let model = entry(name).model;
        let mut aborts = 0;
        for line in MIXED {
            let outcome = explored(&*model, line, &request(&UPDATE_ATOMIC, false));
            assert_eq!(broken(&outcome), [], "{name} in {line}");
            assert!(outcome.evidence.finals_reads_from > 0, "{name} in {line}");
            aborts += outcome.evidence.finals_aborts;
        }
        assert!(aborts > 0, "{name}");
    }
}

#[test]
fn it_is_not_snapshot_isolated_and_not_serializable() {
    use Level::*;
    let above = [
        NonMonotonicSnapshotIsolation,
        ParallelSnapshotIsolation,
        SnapshotIsolation,
        Serializable,
        StrictSerializable,
    ];
    for name in BOTH {
        let model = entry(name).model;
        let blind_second = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) w(k2)";
        assert_eq!(violated(&*model, blind_second, &TABLE, false), above);
        let write_skew = "k1@s1 k2@s2 | s1: r(k1) w(k2) | s2: r(k2) w(k1)";
        assert_eq!(violated(&*model, write_skew, &TABLE, false), above[3..]);
        let blind_writes = "k1@s1 | s1: w(k1) | s2: w(k1)";
        assert_eq!(violated(&*model, blind_writes, &TABLE, false), above[4..]);
    }
}

/// How every run of the setup can end.
fn endings(model: &models::rola::Rola, line: &str) -> HashSet<Vec<Status>> {
    let setup: Setup = line.parse().unwrap();
    let system = System {
        protocol: model,
        setup: &setup,
        world: World {
            detail: Detail::Untimed,
            ..World::default()
        },
    };
    let mut seen = HashSet::new();
    let mut endings = HashSet::new();
    let mut rest = vec![system.initial()];
    while let Some(state) = rest.pop() {
        let mut last = true;
        system.successors(&state, |_, next, _| {
            last = false;
            let mut packets: Vec<String> =
                next.network.iter().map(|one| format!("{one:?}")).collect();
            packets.sort();
            if seen.insert(format!("{:?} {packets:?} {:?}", next.sites, next.log)) {
                rest.push(next);
            }
        });
        if last {
            endings.insert(state.log.records.iter().map(|one| one.status).collect());
        }
    }
    endings
}

#[test]
fn what_an_untold_abort_leaves_behind_stops_all_later_updates() {
    use Status::{Aborted, Committed};
    use models::rola::{Change, Rola};
    // The first transaction prepares k1 at its own site and may fail at k2; the next updates k1.
    let line = "k1@s1 k2@s2 | s1: r(k1) r(k2) w(k1) w(k2); r(k1) w(k1) | s2: r(k2) w(k2)";
    let told = Rola {
        name: "told",
        change: None,
    };
    let untold = Rola {
        name: "untold",
        change: Some(Change::NoAbortMessage),
    };
    let recovered = vec![Aborted, Committed, Committed];
    assert!(endings(&told, line).contains(&recovered));
    let endings = endings(&untold, line);
    assert!(endings.contains(&vec![Aborted, Aborted, Committed]));
    assert!(!endings.contains(&recovered));
}

#[test]
fn doubled_messages_change_nothing() {
    let model = entry("rola").model;
    let mut request = request(&[Level::UpdateAtomic], false);
    request.world.faults.double = 1;
    for line in &MIXED[..2] {
        let outcome = explored(&*model, line, &request);
        assert_eq!(broken(&outcome), [], "{line}");
        assert!(outcome.stuck.is_none(), "{line}");
    }
}

#[test]
fn every_rule_fires() {
    for name in BOTH {
        expect_all_rules(&*entry(name).model, &MIXED);
    }
}

#[test]
fn every_seeded_bug_shows() {
    expect_bugs_to_show(&entry("rola"), false);
}

#[test]
fn reductions_change_no_answer() {
    for name in BOTH {
        for line in MIXED {
            expect_same_unreduced(&*entry(name).model, line, &TABLE, false);
        }
    }
}
