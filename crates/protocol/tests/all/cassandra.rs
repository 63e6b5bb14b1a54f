//! Cassandra: which session guarantees each level of consistency keeps, for single operations.

use crate::expect;

use expect::*;
use history::Level::{self, *};

const SESSION: [Level; 4] = [
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
];

/// Each level with the guarantees that it does not keep.
const LEVELS: [(&str, &[Level]); 4] = [
    ("cassandra-one", &[ReadYourWrites, MonotonicReads]),
    ("cassandra-quorum", &[MonotonicReads]),
    ("cassandra-quorum+repair", &[]),
    ("cassandra-all", &[]),
];

/// Sessions of single operations, at coordinators that are replicas and at others.
const SINGLE: [&str; 9] = [
    "k1@s2,s3,s4 | s1: w(k1); r(k1)",
    "k1@s2,s3,s4 | s1: r(k1); r(k1) | s2: w(k1)",
    "k1@s2,s3 | s1: w(k1); r(k1) | s2: w(k1)",
    "k1@s1,s2 | s3: w(k1); r(k1) | s1: w(k1)",
    "k1@s2,s3 | s1: r(k1); w(k1) | s2: w(k1)",
    "k1@s1,s2 | s1: w(k1); r(k1) | s2: r(k1); w(k1)",
    "k1@s1,s2 | s3: w(k1); w(k1) | s1: r(k1); r(k1)",
    "k1@s1,s2 k2@s2,s1 | s1: w(k1); w(k2) | s2: r(k2); r(k1)",
    "k1@s1,s2 k2@s2,s1 | s1: r(k1); w(k2) | s2: w(k1); r(k2)",
];

#[test]
fn each_level_keeps_its_session_guarantees_and_no_others() {
    for (name, missing) in LEVELS {
        let model = entry(name).model;
        let mut broken: Vec<Level> = Vec::new();
        for line in SINGLE {
            broken.extend(violated(&*model, line, &SESSION, true));
        }
        broken.sort();
        broken.dedup();
        assert_eq!(broken, missing, "{name}");
    }
}

#[test]
fn the_promises_are_what_is_kept() {
    for (name, missing) in LEVELS {
        let promises = entry(name).promises;
        let kept = SESSION.into_iter().filter(|level| !missing.contains(level));
        let kept: Vec<protocol::Property> = kept.map(protocol::Property::Level).collect();
        assert_eq!(promises, kept, "{name}");
    }
}

#[test]
fn a_transaction_of_two_operations_is_not_isolated_at_any_level() {
    for (name, _) in LEVELS {
        let model = entry(name).model;
        let line = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k2) r(k1)";
        let broken = violated(&*model, line, &[ReadCommitted, ReadAtomic], false);
        assert_eq!(broken, [ReadAtomic], "{name}");
        // Between its two reads, two writes of a session come to pass: it sees the second only.
        let line = "k1@s1 k2@s2 | s1: w(k1); w(k2) | s2: r(k1) r(k2)";
        let broken = violated(&*model, line, &SESSION, true);
        assert_eq!(broken, [MonotonicWrites], "{name}");
    }
}

#[test]
fn every_rule_fires() {
    for (name, _) in LEVELS {
        expect_all_rules(&*entry(name).model, &SINGLE);
    }
}

#[test]
fn every_seeded_bug_shows() {
    for (name, _) in LEVELS {
        expect_bugs_to_show(&entry(name), true);
    }
}

#[test]
fn reductions_change_no_answer() {
    for (name, _) in LEVELS {
        for line in &SINGLE[4..7] {
            expect_same_unreduced(&*entry(name).model, line, &SESSION, true);
        }
    }
}
