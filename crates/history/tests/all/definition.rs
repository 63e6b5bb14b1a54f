//! The definitions, on the cases of the papers and on random histories.

use crate::support;

use history::AnomalyKind::{self, *};
use history::Level::{self, *};
use history::definition::{OutOfScope, holds, holds_all, patterns};
use history::{History, Initial, LEVELS};
use std::collections::BTreeSet;
use support::{Shape, history_of, random_history};

fn levels(history: &History) -> Vec<Level> {
    let all = holds_all(history, &Initial::default()).expect("in scope");
    all.into_iter()
        .filter(|row| row.1)
        .map(|row| row.0)
        .collect()
}

fn check_strongest(text: &str, expect: &[Level]) {
    let mut strongest = Level::strongest(&levels(&history_of(text)));
    let mut expect = expect.to_vec();
    strongest.sort();
    expect.sort();
    assert_eq!(strongest, expect, "{text}");
}

fn check_patterns(text: &str, expect: &[AnomalyKind]) {
    let found = patterns(&history_of(text), &Initial::default()).expect("in scope");
    assert_eq!(found, BTreeSet::from_iter(expect.iter().copied()), "{text}");
}

/// Each history with the strongest levels it has.
#[rustfmt::skip]
const SEPARATIONS: &[(&str, &[Level])] = &[
    // Nothing wrong.
    ("w(x,1) | r(x,1) ; r(x,0)", &[StrictSerializable]),
    // A read of nothing.
    ("r(x,7)", &[ReadUncommitted]),
    // Lost update.
    ("w(x,1) ; r(x,1) w(x,2) ; r(x,1) w(x,3)", &[Prefix]),
    // Write skew.
    ("r(x,0) r(y,0) w(x,1) ; r(x,0) r(y,0) w(y,1)", &[StrongSnapshotIsolation]),
    // Long fork.
    ("w(x,1) ; w(y,1) ; r(x,1) r(y,0) ; r(x,0) r(y,1)", &[ParallelSnapshotIsolation]),
    // Fractured read, the stale half first: each read alone is of something committed.
    ("w(x,1) w(y,1) ; r(x,0) r(y,1)",
     &[CursorStability, ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    // Fractured read, the stale half second.
    ("w(x,1) w(y,1) ; r(y,1) r(x,0)",
     &[ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    // The client does not see its own write; without sessions it simply came first.
    ("w(x,1) | r(x,0)",
     &[Serializable, CursorStability, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    // The client sees a write and then not.
    ("w(x,1) ; r(x,1) | r(x,0)",
     &[Serializable, UpdateAtomic, MonotonicWrites, WritesFollowReads]),
    // The second write of a client is seen, the first is not.
    ("w(x,1) | w(y,1) ; r(y,1) r(x,0)",
     &[Serializable, UpdateAtomic, MonotonicReads, WritesFollowReads]),
    // A write is seen, one that it depends on is not.
    ("w(x,1) ; r(x,1) w(y,1) ; r(y,1) r(x,0)",
     &[UpdateAtomic, MonotonicReads, MonotonicWrites]),
    // The same with a step of session order in between.
    ("w(x,1) ; r(x,1) | w(y,1) ; r(y,1) r(x,0)",
     &[Serializable, UpdateAtomic, MonotonicReads, MonotonicWrites]),
    // A write that ended before the reader began is not seen.
    ("@0-1 w(x,1) ; @2-3 r(x,0)", &[StrongSessionSerializable]),
    // The same, and a write skew: nothing in real time, not serializable.
    ("@0-1 r(x,0) r(y,0) w(x,1) ; @2-3 r(x,0) r(y,0) w(y,1)", &[StrongSessionSnapshotIsolation]),
    // Two clients each write and then miss the other's write.
    ("r(x,0) w(y,1) | r(z,0) ; w(z,1) | r(y,0)", &[ParallelSnapshotIsolation, Serializable]),
    // Non-repeatable read.
    ("w(x,1) ; r(x,0) r(x,1)",
     &[CursorStability, ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    // Lost update and nothing that atomic visibility forbids; then with a fractured read.
    ("w(x,1) w(y,1) ; r(x,0) w(x,2) ; r(x,0) w(x,3)", &[Prefix]),
    ("w(x,1) w(y,1) ; r(z,0) r(y,1) w(z,2) ; r(z,0) r(x,0) r(y,1) w(z,3)",
     &[ReadCommitted, ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    // Lists that were appended to in opposite orders (G0).
    ("a(x,1) a(y,1) ; a(x,2) a(y,2) ; l(x,[1 2]) ; l(y,[2 1])", &[]),
    // A list shows a version order that contradicts reads-from.
    ("a(x,1) l(y,[2]) ; a(x,2) a(y,2) ; l(x,[1 2])", &[ReadUncommitted]),
    // Session order and version order contradict each other: nothing without sessions.
    ("a(x,1) | a(y,1) ; a(y,2) | a(x,2) ; l(x,[2 1]) ; l(y,[1 2])", &[Serializable]),
];

#[test]
fn each_separating_history_has_exactly_the_levels_expected() {
    for (text, expect) in SEPARATIONS {
        check_strongest(text, expect);
    }
}

#[test]
fn levels_that_do_not_imply_each_other_are_separated_by_a_history() {
    let histories: Vec<Vec<Level>> = SEPARATIONS
        .iter()
        .map(|(text, _)| levels(&history_of(text)))
        .collect();
    let mut missing = Vec::new();
    for a in Level::all() {
        for b in Level::all().filter(|&b| !a.implies(b)) {
            let separated = histories
                .iter()
                .any(|held| held.contains(&a) && !held.contains(&b));
            if !separated {
                missing.push((a, b));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "no history has the first and not the second: {missing:?}"
    );
}

/// Table 6 of the C4 paper. Where our answer is not the paper's letter, the comment says why.
#[test]
fn the_test_cases_of_the_c4_paper_show_their_patterns() {
    check_patterns("r(1,1) r(2,1)", &[ThinAirRead]);
    check_patterns("abort w(1,1) w(2,1) | r(1,1)", &[AbortedRead]);
    check_patterns("w(1,1) w(2,1) | r(1,1)", &[]);
    check_patterns("r(1,1) w(1,1)", &[FutureRead]);
    check_patterns("w(1,1) ; w(1,2) r(1,1)", &[NotMyOwnWrite]);
    check_patterns("w(1,1) w(1,2) ; r(1,1)", &[IntermediateRead]);
    // TAP-f as printed reads a foreign value after an own write: TAP-d by the paper's own table.
    check_patterns("w(1,2) ; w(1,1) r(1,1) r(1,2)", &[NotMyOwnWrite]);
    // Each of the two versions read has to be the newest one visible.
    check_patterns(
        "w(1,2) ; w(1,1) ; r(1,1) r(1,2)",
        &[NonRepeatableRead, ConflictingOrder],
    );
    check_patterns("r(1,1) w(2,1) ; r(2,1) | w(1,1)", &[CyclicCausality]);
    check_patterns(
        "w(1,2) ; r(1,2) | w(1,1) w(2,1) ; r(1,2) r(2,1)",
        &[FracturedRead],
    );
    check_patterns(
        "w(1,1) w(2,1) ; w(1,2) w(2,2) ; r(1,1) r(2,2)",
        &[FracturedReadConflict],
    );
    // TAP-j as printed writes 0, the paper's initial value; to us it is a write like any other.
    check_patterns("w(1,0) | w(1,1) w(2,1) | r(1,0)", &[CausalityViolation]);
    check_patterns("w(1,1) w(2,1) | r(1,0)", &[InitialRead]);
    check_patterns(
        "w(1,2) ; r(1,2) | w(1,1) w(2,1) ; r(2,1) | r(1,2)",
        &[CausalityViolation],
    );
    check_patterns("w(1,1) | r(1,2) ; w(1,2) | r(1,1)", &[ConflictingOrder]);
    check_patterns("w(1,1) w(1,2) r(1,1)", &[NotMyLastWrite]);
    check_patterns("w(x,1) ; r(x,1) w(x,2) ; r(x,1) w(x,3)", &[LostUpdate]);
}

#[test]
fn aborted_transactions_take_part_only_as_writers_of_what_must_not_be_read() {
    check_strongest("abort w(x,1) | r(x,0)", &[StrictSerializable]);
    check_strongest("abort r(x,7) w(x,1)", &[StrictSerializable]);
    check_strongest("abort w(x,1) ; r(x,1)", &[ReadUncommitted]);
    check_strongest("abort w(x,1) ; w(x,1) ; r(x,1)", &[StrictSerializable]);
    // An aborted write of the initial value takes the initial version's place.
    check_strongest("abort w(x,0) ; r(x,0)", &[ReadUncommitted]);
    check_strongest("abort w(x,0) ; r(x,nil)", &[StrictSerializable]);
}

#[test]
fn an_indeterminate_transaction_committed_if_that_helps() {
    check_strongest("maybe w(x,1) ; r(x,1)", &[StrictSerializable]);
    check_strongest("maybe w(x,1) | r(x,0)", &[StrictSerializable]);
    check_strongest(
        "maybe w(x,1) w(y,1) ; r(x,1) | r(y,0)",
        &[
            Serializable,
            UpdateAtomic,
            MonotonicWrites,
            WritesFollowReads,
        ],
    );
    check_strongest("maybe r(x,7) w(x,1) ; r(x,1)", &[ReadUncommitted]);
}

#[test]
fn a_value_written_twice_is_read_from_whichever_writer_fits() {
    check_strongest("w(x,1) | w(x,2) | w(x,1) | r(x,1)", &[StrictSerializable]);
    check_strongest("w(x,1) | w(x,2) | r(x,1) ; w(x,1)", &[StrictSerializable]);
    check_strongest("w(x,1) w(x,2) ; w(x,1) ; r(x,1)", &[StrictSerializable]);
}

#[test]
fn reads_of_unknown_results_constrain_nothing() {
    check_strongest("w(x,1) | r(x,?) | w(x,2) r(x,?)", &[StrictSerializable]);
}

#[test]
fn list_reads_end_with_the_own_appends() {
    check_strongest("a(x,1) ; a(x,2) l(x,[1 2])", &[StrictSerializable]);
    check_strongest("a(x,1) ; a(x,2) l(x,[1])", &[ReadUncommitted]);
    check_strongest("a(x,1) a(x,2) ; l(x,[1])", &[ReadUncommitted]);
    check_strongest(
        "a(x,1) ; l(x,nil) l(x,[1])",
        &[
            CursorStability,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
    );
    // An element that nobody saw comes after all that somebody saw.
    check_strongest("a(x,2) | a(x,1) ; l(x,[1])", &[Serializable]);
}

#[test]
fn what_the_lists_of_a_key_lack_comes_later_unless_they_contradict_each_other() {
    let crossed = "a(x,1) a(y,1) ; a(x,2) a(y,2) ; l(x,[1]) l(y,[2])";
    let holds = |text: &str| holds(&history_of(text), ReadUncommitted, &Initial::default());
    assert_eq!(holds(crossed), Ok(false));
    // Some list of y was a dirty read; who knows which.
    assert_eq!(holds(&format!("{crossed} ; l(y,[1])")), Ok(true));
    assert_eq!(
        holds(&format!("{crossed} ; maybe l(y,[1]) w(z,1)")),
        Ok(false)
    );
    // What an aborted transaction appended has no place among the versions.
    let dirty = "a(x,1) a(y,1) ; a(x,2) a(y,2) ; abort a(x,3) ; l(x,[1 3]) l(y,[2])";
    assert_eq!(holds(dirty), Ok(false));
    let open = "a(x,1) a(y,1) ; maybe a(x,2) a(y,2) ; l(x,[1]) l(y,[2])";
    assert_eq!(holds(open), Ok(true));
}

#[test]
fn lists_that_no_store_returns_leave_read_uncommitted_at_most() {
    let lists = [
        ("a(x,1) ; a(x,2) ; l(x,[1]) ; l(x,[2])", true),
        ("a(x,1) ; a(x,2) ; l(x,[1 2]) ; l(x,[2 1])", false),
        ("a(x,1) ; a(x,2) ; l(x,[1 3 2])", true),
        ("a(x,1) ; abort a(x,3) ; a(x,2) ; l(x,[1 3 2])", true),
        ("a(x,1) ; l(x,[1 1])", false),
        ("a(x,1) a(x,2) ; l(x,[2])", true),
        ("a(x,1) a(x,2) a(x,3) ; l(x,[1 3])", true),
        ("a(x,1) a(x,2) ; a(x,3) ; l(x,[2 1 3])", true),
        ("a(x,1) a(x,3) ; a(x,2) ; l(x,[1 2 3])", false),
    ];
    for (text, is_left) in lists {
        let levels = holds_all(&history_of(text), &Initial::default()).unwrap();
        for (level, holds) in levels {
            assert_eq!(
                holds,
                is_left && level == ReadUncommitted,
                "{level}: {text}"
            );
        }
    }
    // An indeterminate transaction whose element stands in the middle must have committed.
    check_strongest(
        "maybe a(x,1) l(y,[]) ; a(x,2) a(y,1) l(x,[1 2])",
        &[StrictSerializable],
    );
}

#[test]
fn what_has_no_definition_is_refused() {
    let refuse = |text: &str| holds_all(&history_of(text), &Initial::default()).unwrap_err();
    assert_eq!(refuse("add(x,1) ; w(x,2)"), OutOfScope::SetsOrCounters);
    assert_eq!(
        refuse("a(x,1) ; a(x,1) ; l(x,[1])"),
        OutOfScope::UnrecoverableLists
    );
    assert_eq!(refuse("a(x,1) ; w(x,2)"), OutOfScope::UnrecoverableLists);
    let nine = ["w(x,1)"; 9].join("|");
    assert_eq!(
        refuse(&nine),
        OutOfScope::TooManyTransactions { count: 9, limit: 8 }
    );
    let no_patterns = |text: &str| patterns(&history_of(text), &Initial::default());
    assert_eq!(no_patterns("maybe w(x,1)"), Err(OutOfScope::NoPatterns));
    assert_eq!(no_patterns("w(x,1) ; w(x,1)"), Err(OutOfScope::NoPatterns));
}

#[test]
fn the_initial_value_is_a_matter_of_choice() {
    let history = history_of("r(x,0) ; r(y,5)");
    let has_rc = |initial: &Initial| holds(&history, ReadCommitted, initial).unwrap();
    assert!(!has_rc(&Initial::default()) && !has_rc(&Initial::NilOnly));
    let five = history_of("w(x,1) ; r(x,5)");
    assert!(
        holds(
            &five,
            ReadCommitted,
            &Initial::Value(history::Value::from(5i64))
        )
        .unwrap()
    );
}

/// The shapes that random tests draw from.
fn shape(seed: u64) -> Shape {
    Shape {
        sessions: 1 + seed % 4,
        txns: 3 + seed % 4,
        ops: 2 + seed % 3,
        keys: 1 + seed % 3,
        aborted: 5 * (seed % 3),
        indeterminate: 8 * (seed % 2),
        duplicates: seed.is_multiple_of(5),
        timed: seed % 2 == 1,
        spare_sessions: 0,
    }
}

#[test]
fn whoever_has_a_level_has_those_it_implies() {
    let mut counts = [0usize; LEVELS.len()];
    for seed in 0..4000 {
        let history = random_history(seed, &shape(seed));
        let held = match holds_all(&history, &Initial::default()) {
            Ok(all) => all,
            Err(OutOfScope::TooManyInterpretations) => continue,
            Err(other) => panic!("seed {seed}: {other}"),
        };
        for (index, &(level, holds)) in held.iter().enumerate() {
            counts[index] += usize::from(holds);
            let broken = held
                .iter()
                .find(|row| holds && level.implies(row.0) && !row.1);
            assert!(broken.is_none(), "seed {seed}: {level} without {broken:?}");
        }
    }
    assert!(
        counts.iter().all(|&count| count > 100),
        "too few histories hold: {counts:?}"
    );
    assert!(
        counts[1..].iter().all(|&count| count < 3900),
        "too few violate: {counts:?}"
    );
}

/// The paper's theorem 1: a history is causal iff it has none of the patterns.
#[test]
fn causal_is_the_absence_of_the_patterns() {
    let (mut causal, mut not) = (0, 0);
    for seed in 0..4000 {
        let mut shape = shape(seed);
        (shape.duplicates, shape.indeterminate) = (false, 0);
        let history = random_history(seed, &shape);
        let mut found = patterns(&history, &Initial::default()).expect("in scope");
        found.remove(&LostUpdate);
        let holds = holds(&history, Causal, &Initial::default()).expect("in scope");
        assert_eq!(holds, found.is_empty(), "seed {seed}: {found:?}");
        if holds { causal += 1 } else { not += 1 }
    }
    assert!(causal > 300 && not > 300, "{causal} causal, {not} not");
}
