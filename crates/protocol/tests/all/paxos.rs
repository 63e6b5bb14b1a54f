//! Paxos: a register that is strictly serializable, and that does not answer everybody.

use crate::verdicts;

use history::Level;
use protocol::models::paxos::Paxos;
use verdicts::{
    expect_despite_faults, expect_mutants, expect_rules, expect_same_reduced, explore, violated,
};

const PAXOS: Paxos = Paxos::PUBLISHED;

const ONE_CLIENT: &str = "k1@s1,s2,s3 | s4: w(k1); r(k1)";
const TWO_CLIENTS: &str = "k1@s1,s2,s3 | s4: w(k1); r(k1) | s5: w(k1); r(k1)";
const CLIENTS_AT_SERVERS: &str = "k1@s1,s2,s3 | s1: w(k1); r(k1) | s2: r(k1)";

#[test]
fn it_is_strictly_serializable() {
    for line in [ONE_CLIENT, TWO_CLIENTS, CLIENTS_AT_SERVERS] {
        let outcome = explore(&PAXOS, &[line], true);
        assert_eq!(violated(&outcome), "", "{line}");
    }
}

/// Only one of two values is chosen: the client of the other never hears.
#[test]
fn the_client_that_loses_waits_for_ever() {
    let outcome = explore(&PAXOS, &[TWO_CLIENTS], false);
    assert!(outcome.stuck.is_some());
}

#[test]
fn mutants_show() {
    expect_mutants("paxos");
}

#[test]
fn every_rule_fires() {
    expect_rules(&PAXOS, &[TWO_CLIENTS], &[]);
}

#[test]
fn what_commutes_changes_no_history() {
    let two_servers = "k1@s1,s2 | s3: w(k1); r(k1) | s4: w(k1)";
    for line in [ONE_CLIENT, two_servers, CLIENTS_AT_SERVERS] {
        expect_same_reduced(&PAXOS, line);
    }
}

#[test]
fn faults_break_nothing() {
    expect_despite_faults(&PAXOS, ONE_CLIENT, Level::StrictSerializable);
    let two_servers = "k1@s1,s2 | s3: w(k1); r(k1) | s4: w(k1)";
    expect_despite_faults(&PAXOS, two_servers, Level::StrictSerializable);
}
