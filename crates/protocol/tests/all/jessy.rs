//! Jessy: non-monotonic snapshot isolation and no more.

use crate::verdicts;

use history::Level;
use protocol::models::jessy::Jessy;
use verdicts::{
    expect, expect_despite_faults, expect_mutants, expect_rules, expect_same_reduced, explore,
    violated,
};

const JESSY: Jessy = Jessy::PUBLISHED;

const LOST_UPDATE: &str = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
const FRACTURED_READ: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
const REPLICATED: &str = "k1@s1,s2 k2@s2,s1 | s1: w(k1) w(k2) | s2: r(k2) r(k1)";
const CONFLICTING_WRITES: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: w(k2) w(k1)";
const CAUSAL_CHAIN: &str = "k1@s1 k2@s2 | s1: w(k1) | s2: r(k1) w(k2) | s2: r(k1) r(k2)";
const WRITE_SKEW: &str = "k1@s1 k2@s2 | s1: r(k2) w(k1) | s2: r(k1) w(k2)";
const LONG_FORK: &str = "k1@s1 k2@s2 | s1: w(k1) | s2: w(k2) | s1: r(k2) r(k1) | s2: r(k1) r(k2)";
const STALE_READ: &str = "k1@s1,s2 | s1: w(k1) | s2: r(k1)";
const REVERSED: &str = "k1@s1 k2@s2 | s1: w(k1); w(k2) | s2: r(k1) r(k2)";
const OWN_WRITE: &str = "k1@s2 | s1: w(k1); r(k1)";

#[test]
fn it_is_non_monotonic_snapshot_isolation() {
    expect(&JESSY, LOST_UPDATE, "");
    expect(&JESSY, FRACTURED_READ, "");
    expect(&JESSY, REPLICATED, "SSER");
    expect(&JESSY, CONFLICTING_WRITES, "");
    expect(&JESSY, CAUSAL_CHAIN, "SER SSER");
}

#[test]
fn write_skew_is_not_serializable() {
    expect(&JESSY, WRITE_SKEW, "SER SSER");
}

#[test]
fn a_long_fork_is_not_snapshot_isolation() {
    expect(&JESSY, LONG_FORK, "SI SER SSER");
}

#[test]
fn a_stale_read_is_not_strict() {
    expect(&JESSY, STALE_READ, "SSER");
}

#[test]
fn mutants_show() {
    expect_mutants("jessy");
}

#[test]
fn every_rule_fires() {
    let lines = [LOST_UPDATE, FRACTURED_READ, REPLICATED, CONFLICTING_WRITES];
    expect_rules(&JESSY, &lines, &[]);
}

#[test]
fn what_commutes_changes_no_history() {
    for line in [LOST_UPDATE, REPLICATED, CONFLICTING_WRITES, WRITE_SKEW] {
        expect_same_reduced(&JESSY, line);
    }
}

/// Without sessions, parallel snapshot isolation says what the non-monotonic one says. With them,
/// two transactions of one client can be seen in reverse: the second is read, the first is not.
#[test]
fn the_order_of_a_session_can_be_seen_reversed() {
    let outcome = explore(&JESSY, &[REVERSED], true);
    assert_eq!(violated(&outcome), "PSI SSER");
    expect(&JESSY, REVERSED, "SSER");
}

/// A client may miss what it wrote itself, as the snapshot of a transaction has no start.
#[test]
fn a_session_can_miss_its_own_write() {
    let outcome = explore(&JESSY, &[OWN_WRITE], true);
    assert_eq!(violated(&outcome), "RA UA PSI SSER");
    expect(&JESSY, OWN_WRITE, "SSER");
}

#[test]
fn faults_break_nothing() {
    let level = Level::NonMonotonicSnapshotIsolation;
    for line in [LOST_UPDATE, FRACTURED_READ] {
        expect_despite_faults(&JESSY, line, level);
    }
}
