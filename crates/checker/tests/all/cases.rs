//! Values written more than once where it depends on who wrote them which transactions count: every case is decided, and
//! the evidence covers them all.
use crate::small::parse;

use checker::{Options, check};
use history::{Anomaly, Initial, Level, LevelResult, Verdict};
use std::fmt::Write;

/// In what a transaction of unknown outcome read, which counts only if somebody read from it.
const REGISTERS: &str = "{\"session\":0,\"txn\":0,\"status\":\"indeterminate\",\"ops\":[]}\n\
         {\"session\":0,\"txn\":1,\"status\":\"indeterminate\",\"ops\":[[\"r\",0,1],[\"w\",1,1]]}\n\
         {\"session\":0,\"txn\":2,\"status\":\"committed\",\"ops\":[[\"r\",1,1],[\"w\",1,1],[\"w\",0,1]]}\n\
         {\"session\":0,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"w\",0,1],[\"w\",1,1]]}\n";

/// The answers at the weak levels, certified and none of them unknown.
fn decided(lines: &str) -> Vec<LevelResult> {
    let history = parse(lines);
    let checked = check(&history, &Level::WEAK, &Options::default());
    let certified = checked.into_iter().map(|checked| {
        let result = checked.result;
        if let Verdict::Unknown(why) = &result.verdict {
            panic!("{}: {why}", result.level);
        }
        let certified = history::certify(&history, &Initial::default(), &result);
        certified.unwrap_or_else(|refusal| panic!("{}: {}", result.level, refusal.reason()));
        result
    });
    certified.collect()
}

fn anomalies(results: Vec<LevelResult>, level: Level) -> Vec<Anomaly> {
    let result = results.into_iter().find(|result| result.level == level);
    match result.map(|result| result.verdict) {
        Some(Verdict::Violated(anomalies)) => anomalies,
        other => panic!("{level}: {other:?}"),
    }
}

#[test]
fn a_reader_that_counts_in_some_cases_leaves_none_undecided() {
    let registers = decided(REGISTERS);
    let found = anomalies(registers, Level::Causal);
    assert!(found.iter().any(|anomaly| anomaly.assuming.len() > 1));
    assert!(!found.iter().any(|anomaly| anomaly.assuming.is_empty()));
    decided(
        "{\"session\":2,\"txn\":0,\"status\":\"indeterminate\",\"ops\":[[\"w\",1,1],[\"w\",1,1],[\"rlist\",\"l1\",[1]],[\"append\",\"l0\",4],[\"append\",\"l0\",5]],\"start\":3}\n\
         {\"session\":2,\"txn\":1,\"status\":\"indeterminate\",\"ops\":[[\"w\",1,1],[\"r\",0,1],[\"rlist\",\"l0\",[]],[\"rlist\",\"l1\",[]]],\"start\":7}\n\
         {\"session\":0,\"txn\":2,\"status\":\"committed\",\"ops\":[[\"w\",1,1],[\"r\",0,1],[\"append\",\"l0\",1]],\"start\":9,\"end\":15}\n\
         {\"session\":0,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"w\",0,1],[\"r\",1,1],[\"rlist\",\"l0\",[]],[\"rlist\",\"l1\",[]],[\"rlist\",\"l1\",[]]],\"start\":8,\"end\":14}\n\
         {\"session\":1,\"txn\":4,\"status\":\"committed\",\"ops\":[[\"w\",1,1],[\"append\",\"l0\",2],[\"append\",\"l0\",3]],\"start\":9,\"end\":13}\n\
         {\"session\":1,\"txn\":5,\"status\":\"indeterminate\",\"ops\":[[\"w\",0,1],[\"w\",1,1],[\"append\",\"l1\",1]],\"start\":0}\n",
    );
    decided(
        "{\"session\":1,\"txn\":0,\"status\":\"committed\",\"ops\":[[\"add\",0,1],[\"rset\",0,[1,2]]]}\n\
         {\"session\":0,\"txn\":1,\"status\":\"committed\",\"ops\":[[\"add\",0,2],[\"add\",0,1]]}\n\
         {\"session\":2,\"txn\":2,\"status\":\"indeterminate\",\"ops\":[[\"add\",0,2],[\"rset\",0,[1,2]]]}\n\
         {\"session\":2,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"rset\",0,[2]]]}\n",
    );
    decided(
        "{\"session\":0,\"txn\":0,\"status\":\"indeterminate\",\"ops\":[[\"rset\",0,[2]],[\"add\",0,2]]}\n\
         {\"session\":0,\"txn\":1,\"status\":\"indeterminate\",\"ops\":[[\"add\",0,1]]}\n\
         {\"session\":0,\"txn\":2,\"status\":\"committed\",\"ops\":[[\"rset\",0,[2]]]}\n\
         {\"session\":0,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"add\",0,2],[\"add\",0,2]]}\n\
         {\"session\":0,\"txn\":4,\"status\":\"indeterminate\",\"ops\":[[\"add\",0,2],[\"add\",0,1]]}\n",
    );
}

#[test]
fn no_case_can_be_left_out_of_the_evidence() {
    let history = parse(REGISTERS);
    let found = anomalies(decided(REGISTERS), Level::Causal);
    let refusal = |anomalies: Vec<Anomaly>| {
        let result = LevelResult {
            level: Level::Causal,
            verdict: Verdict::Violated(anomalies),
        };
        let certified = history::certify(&history, &Initial::default(), &result);
        certified
            .expect_err("something is missing")
            .reason()
            .to_string()
    };
    for left_out in 0..found.len() {
        let mut rest = found.clone();
        rest.remove(left_out);
        let why = refusal(rest);
        assert!(why.starts_with("no anomaly is left if"), "{why}");
    }
    // Without the read from it, a transaction of unknown outcome need not have committed, and what it read says nothing.
    let of_two = found.iter().position(|anomaly| anomaly.assuming.len() > 1);
    let mut groundless = found.clone();
    groundless[of_two.expect("a case of two reads")]
        .assuming
        .remove(0);
    let why = refusal(groundless);
    assert!(why.contains("need not have committed"), "{why}");
}

/// Forty reads that either of two writers explains, and one that contradicts causality with both: only its writers are
/// tried.
#[test]
fn the_read_that_is_to_blame_is_found_among_many() {
    let mut lines = String::new();
    for key in 0..40 {
        for session in [0, 1] {
            writeln!(lines, "{{\"session\":{session},\"ops\":[[\"w\",{key},7]]}}")
                .expect("a string");
        }
        writeln!(lines, "{{\"session\":2,\"ops\":[[\"r\",{key},7]]}}").expect("a string");
    }
    assert!(
        decided(&lines)
            .iter()
            .all(|result| matches!(result.verdict, Verdict::Holds(_)))
    );
    lines.push_str(
        "{\"session\":3,\"ops\":[[\"w\",\"x\",1]]}\n{\"session\":3,\"ops\":[[\"w\",\"x\",2],[\"w\",\"y\",1]]}\n\
         {\"session\":4,\"ops\":[[\"w\",\"x\",1]]}\n{\"session\":4,\"ops\":[[\"w\",\"x\",3],[\"w\",\"z\",1]]}\n\
         {\"session\":5,\"ops\":[[\"r\",\"y\",1]]}\n{\"session\":5,\"ops\":[[\"r\",\"z\",1]]}\n\
         {\"session\":5,\"ops\":[[\"r\",\"x\",1]]}\n",
    );
    let found = anomalies(decided(&lines), Level::Causal);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|anomaly| anomaly.assuming.len() == 1));
}

/// Levels that are violated, although each read by itself has a writer: whoever counts brings along what it appended, and
/// nobody saw that, or what its own lists showed.
fn all_violated(lines: &str, levels: &[Level]) {
    let history = parse(lines);
    for checked in check(&history, levels, &Options::default()) {
        let result = checked.result;
        let is_violated = matches!(result.verdict, Verdict::Violated(_));
        assert!(is_violated, "{}: {:?}", result.level, result.verdict);
        let certified = history::certify(&history, &Initial::default(), &result);
        certified.unwrap_or_else(|refusal| panic!("{}: {}", result.level, refusal.reason()));
    }
}

#[test]
fn whoever_counts_brings_along_what_it_appended() {
    let sessions = [
        Level::ReadYourWrites,
        Level::MonotonicReads,
        Level::MonotonicWrites,
        Level::WritesFollowReads,
    ];
    all_violated(
        "{\"session\":0,\"txn\":0,\"status\":\"committed\",\"ops\":[[\"r\",0,1],[\"append\",\"l\",1],[\"rlist\",\"l\",[1]]]}\n\
         {\"session\":0,\"txn\":1,\"status\":\"committed\",\"ops\":[[\"w\",0,1]]}\n\
         {\"session\":2,\"txn\":2,\"status\":\"indeterminate\",\"ops\":[[\"w\",0,1],[\"append\",\"l\",3]]}\n",
        &sessions,
    );
    all_violated(
        "{\"session\":0,\"txn\":0,\"status\":\"indeterminate\",\"ops\":[[\"w\",0,4],[\"append\",\"l1\",2]]}\n\
         {\"session\":1,\"txn\":1,\"status\":\"committed\",\"ops\":[[\"append\",\"l1\",3]]}\n\
         {\"session\":0,\"txn\":2,\"status\":\"committed\",\"ops\":[[\"r\",0,4],[\"append\",\"l1\",1]]}\n\
         {\"session\":0,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"rlist\",\"l1\",[1]]]}\n\
         {\"session\":1,\"txn\":4,\"status\":\"committed\",\"ops\":[[\"w\",0,4]]}\n",
        &[
            Level::ReadCommitted,
            Level::Causal,
            Level::StrongSessionSerializable,
        ],
    );
}

#[test]
fn whoever_counts_brings_along_what_its_lists_showed() {
    all_violated(
        "{\"session\":1,\"txn\":1,\"status\":\"indeterminate\",\"ops\":[[\"rlist\",\"l\",[5]],[\"w\",0,2]]}\n\
         {\"session\":1,\"txn\":2,\"status\":\"indeterminate\",\"ops\":[[\"r\",0,2],[\"w\",0,2]]}\n\
         {\"session\":1,\"txn\":3,\"status\":\"committed\",\"ops\":[[\"r\",0,2]]}\n\
         {\"session\":1,\"txn\":4,\"status\":\"committed\",\"ops\":[[\"w\",0,1],[\"append\",\"l\",4]]}\n\
         {\"session\":1,\"txn\":5,\"status\":\"committed\",\"ops\":[[\"r\",0,1],[\"append\",\"l\",5]]}\n",
        &[
            Level::NonMonotonicSnapshotIsolation,
            Level::SnapshotIsolation,
            Level::Serializable,
        ],
    );
}

/// The cycle rests on what a list shows, and that on everybody whose element is in the list.
#[test]
fn whoever_counts_brings_along_everybody_in_its_lists() {
    let list = "[\"rlist\",\"l\",[1,2,6,4,5]]";
    let lines = [
        (
            0,
            "indeterminate",
            format!("{list},[\"append\",\"l\",1],[\"w\",0,1]"),
        ),
        (
            1,
            "indeterminate",
            format!("{list},[\"w\",0,1],[\"append\",\"l\",2]"),
        ),
        (
            2,
            "committed",
            "[\"append\",\"l\",4],[\"r\",0,1]".to_string(),
        ),
        (3, "indeterminate", "[\"append\",\"l\",5]".to_string()),
        (4, "indeterminate", "[\"append\",\"l\",6]".to_string()),
    ];
    let lines = lines.iter().map(|(session, status, ops)| {
        format!("{{\"session\":{session},\"status\":\"{status}\",\"ops\":[{ops}]}}\n")
    });
    let strong = Level::all().filter(|level| !Level::WEAK.contains(level));
    all_violated(&lines.collect::<String>(), &strong.collect::<Vec<_>>());
}

#[test]
fn an_anomaly_says_what_it_assumes() {
    let found = anomalies(
        decided(
            "{\"session\":0,\"txn\":0,\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",0]]}\n\
             {\"session\":0,\"txn\":1,\"ops\":[[\"w\",\"x\",1]]}\n\
             {\"session\":1,\"txn\":2,\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",1]]}\n",
        ),
        Level::ReadAtomic,
    );
    let begins = |start: &str| {
        found
            .iter()
            .any(|found| found.explanation.starts_with(start))
    };
    assert!(
        begins("Suppose that r(x, 1) of s0t0 is from s0t1. "),
        "{found:?}"
    );
    assert!(
        begins("Suppose that r(x, 1) of s0t0 is from s1t2. "),
        "{found:?}"
    );
}

#[test]
fn a_read_of_nil_where_nil_was_written_leaves_every_level_unknown() {
    let unknown = |lines: &str| {
        let levels: Vec<Level> = Level::all().collect();
        let checked = check(&parse(lines), &levels, &Options::default());
        let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(why) if why.contains("nil is written to x"));
        let unknown = checked
            .iter()
            .filter(|checked| is_unknown(&checked.result.verdict));
        (unknown.count(), levels.len())
    };
    let (count, all) = unknown(
        "{\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n{\"session\":0,\"ops\":[[\"w\",\"x\",null]]}\n\
         {\"session\":0,\"ops\":[[\"r\",\"x\",null]]}\n",
    );
    assert_eq!(count, all);
    let own = "{\"session\":0,\"ops\":[[\"w\",\"x\",null],[\"r\",\"x\",null]]}\n";
    assert_eq!(unknown(own).0, 0);
    let elsewhere = "{\"session\":0,\"ops\":[[\"w\",\"x\",null]]}\n{\"session\":0,\"ops\":[[\"r\",\"y\",null]]}\n";
    assert_eq!(unknown(elsewhere).0, 0);
}
