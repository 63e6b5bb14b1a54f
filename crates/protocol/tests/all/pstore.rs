//! P-Store: serializability, and not strictly so.

use crate::verdicts;

use history::Level;
use protocol::models::pstore::PStore;
use verdicts::{expect, expect_despite_faults, expect_mutants, expect_rules, expect_same_reduced};

const STORE: PStore = PStore::PUBLISHED;

const LOST_UPDATE: &str = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
const FRACTURED_READ: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
const WRITE_SKEW: &str = "k1@s1 k2@s2 | s1: r(k2) w(k1) | s2: r(k1) w(k2)";
const REPLICATED: &str = "k1@s1,s2 k2@s2 | s1: r(k1) w(k2) | s2: r(k2) w(k1)";
const READ_ANYWHERE: &str = "k1@s1,s2 | s3: r(k1) w(k1) | s3: r(k1)";
const LONG_FORK: &str = "k1@s1 k2@s2 | s1: w(k1) | s2: w(k2) | s1: r(k1) r(k2) | s2: r(k1) r(k2)";
const STALE_READ: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1)";
const UPDATE_THEN_READ: &str = "k1@s1 k2@s2 | s1: r(k1) w(k1) r(k2) w(k2) | s2: r(k1)";
const REPLICATED_READ: &str = "k1@s1,s2 | s1: w(k1) | s2: r(k1)";

#[test]
fn it_is_serializable() {
    expect(&STORE, LOST_UPDATE, "");
    expect(&STORE, FRACTURED_READ, "");
    expect(&STORE, WRITE_SKEW, "");
    expect(&STORE, REPLICATED, "");
    expect(&STORE, READ_ANYWHERE, "");
    expect(&STORE, LONG_FORK, "");
    expect(&STORE, UPDATE_THEN_READ, "");
    expect(&STORE, REPLICATED_READ, "");
}

/// A transaction that read nothing is committed by the one replica that has it, and its client
/// told, while it is still on its way to the other: there, the old version is read and certified.
#[test]
fn a_blind_write_can_be_missed() {
    expect(&STORE, STALE_READ, "SSER");
}

/// The same without any read: the second write is delivered before the first, which is committed.
#[test]
fn a_blind_write_can_be_overtaken() {
    let line = "k1@s1 k2@s2 | s2: w(k1) w(k2); w(k2)";
    expect(&STORE, line, "SSER");
}

#[test]
fn mutants_show() {
    expect_mutants("p-store");
}

#[test]
fn every_rule_fires() {
    expect_rules(&STORE, &[LOST_UPDATE, REPLICATED, READ_ANYWHERE], &[]);
}

#[test]
fn what_commutes_changes_no_history() {
    for line in [
        LOST_UPDATE,
        FRACTURED_READ,
        WRITE_SKEW,
        REPLICATED,
        STALE_READ,
    ] {
        expect_same_reduced(&STORE, line);
    }
}

#[test]
fn faults_break_nothing() {
    for line in [LOST_UPDATE, FRACTURED_READ] {
        expect_despite_faults(&STORE, line, Level::Serializable);
    }
}
