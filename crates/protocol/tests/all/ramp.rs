//! The RAMP family: which levels each member has, and the smallest workloads that show which not.

use crate::expect;

use expect::*;
use history::Level;
use protocol::*;

/// Those that promise read atomicity.
const ATOMIC: [&str; 6] = [
    "ramp-f",
    "ramp-f+1pw",
    "ramp-f+fc",
    "ramp-s",
    "ramp-s+1pw",
    "ramp-h",
];

/// Those that do without two-phase commit.
const LOOSE: [&str; 4] = ["ramp-f-2pc", "ramp-s-2pc", "faster", "faster+fc"];

/// Two keys written together and read together.
const FRACTURED: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
const LOST_UPDATE: &str = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
/// Reads what is overwritten by what it overwrites itself.
const SKEWED_WRITE: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) w(k2)";
const WRITE_SKEW: &str = "k1@s1 k2@s2 | s1: r(k1) w(k2) | s2: r(k2) w(k1)";
/// The later of two writes has the smaller timestamp.
const BLIND_WRITES: &str = "k1@s1 | s1: w(k1) | s2: w(k1)";

/// Setups in which atomicity could break: read and overwritten at the same time, replicated, with
/// reads that are overwritten, and with more than one transaction a session.
const MIXED: [&str; 6] = [
    FRACTURED,
    "k1@s1 k2@s2 | s1: w(k1) w(k2) | s1: r(k2) r(k1)",
    "k1@s1 k2@s1 | s1: w(k1) w(k2) | s2: r(k1) r(k2) | s2: w(k1) w(k2)",
    "k1@s1,s2 k2@s2,s1 | s1: w(k1) w(k2) | s2: r(k1) r(k2) | s2: w(k1) w(k2)",
    "k1@s1,s2 k2@s2,s3 | s1: w(k1) w(k2) | s3: r(k1) r(k2)",
    "k1@s1 k2@s2 | s1: w(k1) w(k2); r(k2) w(k1) | s2: r(k1) r(k2); r(k1) w(k1) w(k2)",
];

#[test]
fn two_phase_members_are_read_atomic() {
    for name in ATOMIC {
        let model = entry(name).model;
        for line in MIXED {
            let low = [Level::ReadCommitted, Level::ReadAtomic];
            let outcome = explored(&*model, line, &request(&low, false));
            assert_eq!(broken(&outcome), [], "{name} in {line}");
            assert!(outcome.evidence.finals_reads_from > 0, "{name} in {line}");
        }
    }
}

#[test]
fn nobody_prevents_lost_updates() {
    use Level::*;
    for name in ATOMIC.into_iter().chain(LOOSE) {
        let model = entry(name).model;
        let broken = violated(&*model, LOST_UPDATE, &TABLE, false);
        let expected = [
            CursorStability,
            UpdateAtomic,
            NonMonotonicSnapshotIsolation,
            ParallelSnapshotIsolation,
            SnapshotIsolation,
            Serializable,
            StrictSerializable,
        ];
        assert_eq!(broken, expected, "{name}");
    }
}

#[test]
fn nobody_is_snapshot_isolated_or_serializable_without_lost_updates_either() {
    use Level::*;
    for name in ATOMIC.into_iter().chain(LOOSE) {
        let model = entry(name).model;
        let broken = violated(&*model, SKEWED_WRITE, &TABLE, false);
        let above = [
            NonMonotonicSnapshotIsolation,
            ParallelSnapshotIsolation,
            SnapshotIsolation,
            Serializable,
            StrictSerializable,
        ];
        assert_eq!(broken, above, "{name}");
        let broken = violated(&*model, WRITE_SKEW, &TABLE, false);
        assert_eq!(broken, above[3..], "{name}");
        let broken = violated(&*model, BLIND_WRITES, &TABLE, false);
        assert_eq!(broken, above[4..], "{name}");
    }
}

#[test]
fn without_two_phase_commit_reads_are_fractured() {
    for name in LOOSE {
        let model = entry(name).model;
        let low = [Level::ReadCommitted, Level::ReadAtomic];
        assert_eq!(
            violated(&*model, FRACTURED, &low, false),
            low[1..],
            "{name}"
        );
        let line = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k2) r(k1)";
        assert_eq!(violated(&*model, line, &low, false), low[1..], "{name}");
    }
}

#[test]
fn a_one_phase_write_may_not_be_seen_at_once() {
    for name in ["ramp-f+1pw", "ramp-s+1pw"] {
        let model = entry(name).model;
        let line = "k1@s1 | s2: w(k1) | s1: r(k1)";
        let broken = violated(&*model, line, &TABLE, false);
        assert_eq!(broken, [Level::StrictSerializable], "{name}");
    }
    let broken = violated(
        &*entry("ramp-f").model,
        "k1@s1 | s2: w(k1) | s1: r(k1)",
        &TABLE,
        false,
    );
    assert_eq!(broken, []);
}

#[test]
fn an_own_clock_lets_a_transaction_overwrite_what_it_read_with_something_older() {
    let entry = entry("ramp-f");
    let mut bugs = entry.mutants.iter();
    let bug = bugs
        .find(|bug| bug.model.name() == "ramp-f/own-clock")
        .unwrap();
    let outcome = explored(
        &*bug.model,
        &bug.setup.to_string(),
        &request(&[Level::ReadCommitted], false),
    );
    let Answer::Violated(run) = &outcome.answers[0].1 else {
        panic!("it does not show");
    };
    let [(_, read)] = run.log.record(Txn(1)).reads[..] else {
        panic!("{:?}", run.log);
    };
    let [(_, written)] = run.log.record(Txn(1)).writes[..] else {
        panic!("{:?}", run.log);
    };
    assert!(written < read, "{written} overwrites {read}");
}

#[test]
fn doubled_messages_change_nothing() {
    for name in ATOMIC {
        let model = entry(name).model;
        let mut request = request(&[Level::ReadAtomic], false);
        request.world.faults.double = 1;
        let outcome = explored(&*model, FRACTURED, &request);
        assert_eq!(broken(&outcome), [], "{name}");
        assert!(outcome.stuck.is_none(), "{name}");
    }
}

#[test]
fn fast_commit_adds_nothing_to_faster() {
    let (one, other) = (entry("faster").model, entry("faster+fc").model);
    for line in MIXED {
        let seen = |model: &dyn Model| {
            let outcome = explored(model, line, &request(&TABLE, false));
            (outcome.evidence.states, outcome.evidence.histories)
        };
        assert_eq!(seen(&*one), seen(&*other), "{line}");
    }
}

#[test]
fn every_rule_fires() {
    for name in ATOMIC.into_iter().chain(LOOSE) {
        let mut lines = MIXED.to_vec();
        // A filter can claim a key that the transaction did not write.
        lines.push("k1@s1 k2@s2 | s1: w(k1) | s2: r(k1) r(k2)");
        expect_all_rules(&*entry(name).model, &lines);
    }
}

#[test]
fn every_seeded_bug_shows() {
    for name in ATOMIC.into_iter().chain(LOOSE) {
        expect_bugs_to_show(&entry(name), false);
    }
}

#[test]
fn reductions_change_no_answer() {
    for name in ATOMIC.into_iter().chain(LOOSE) {
        for line in [FRACTURED, LOST_UPDATE, SKEWED_WRITE, MIXED[3], MIXED[4]] {
            expect_same_unreduced(&*entry(name).model, line, &TABLE, false);
        }
    }
}
