//! Walter: parallel snapshot isolation and no more.

mod verdicts;

use protocol::models::walter::Walter;
use verdicts::{expect, expect_all_rules, expect_mutants};

const BOTH: [Walter; 2] = [Walter::PUBLISHED, Walter::UNREPLICATED];

/// Two transactions of one site each read-modify-write a key of another.
const REMOTE_UPDATES: &str = "k1@s1 | s2: r(k1) w(k1); r(k1) w(k1)";

#[test]
fn it_is_parallel_snapshot_isolation() {
    for walter in BOTH {
        for line in [
            REMOTE_UPDATES,
            "k1@s2 k2@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
            "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)",
            "k1@s1,s2 k2@s2,s1 | s1: w(k1) w(k2) | s2: r(k1) w(k1)",
        ] {
            let outcome = expect(&walter, line, "");
            println!("{line}: {:?}", outcome.evidence);
        }
    }
}

#[test]
fn write_skew_is_not_serializable() {
    for walter in BOTH {
        expect(&walter, "k1@s1 k2@s2 | s1: r(k2) w(k1) | s2: r(k1) w(k2)", "SER SSER");
    }
}

#[test]
fn a_long_fork_is_not_snapshot_isolation() {
    for walter in BOTH {
        let outcome = expect(
            &walter,
            "k1@s1 k2@s2 | s1: w(k1); r(k1) r(k2) | s2: w(k2); r(k1) r(k2)",
            "SI SER SSER",
        );
            println!("{:?}", outcome.evidence);
    }
}

#[test]
fn a_stale_read_is_not_strict() {
    expect(&Walter::PUBLISHED, "k1@s1,s2 | s1: w(k1) | s2: r(k1)", "SSER");
    expect(&Walter::UNREPLICATED, "k1@s1 | s1: w(k1) | s2: r(k1)", "SSER");
}

#[test]
fn without_the_merge_updates_are_lost() {
    expect(
        &Walter::NO_MERGE,
        REMOTE_UPDATES,
        "CS UA NMSI PSI SI SER SSER",
    );
}

#[test]
fn without_the_merge_reads_are_fractured() {
    expect(
        &Walter::NO_MERGE,
        "k1@s1 k2@s2 | s2: w(k1) w(k2); r(k1) r(k2)",
        "RA UA NMSI PSI SI SER SSER",
    );
}

#[test]
fn mutants_show() {
    expect_mutants("walter");
    expect_mutants("walter-norepl");
}

#[test]
fn every_rule_fires() {
    let _ = expect_all_rules;
}
