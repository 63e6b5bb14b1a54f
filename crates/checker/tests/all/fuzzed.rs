//! Histories that fuzzing found, also against other checkers: each verdict on them has to pass the certifier.
use crate::small::{Random, parse};

use checker::{Options, check};
use history::{Initial, Level, Verdict};
use std::fmt::Write;

/// The verdicts on a history in JSON lines, certified.
fn verdicts(lines: &str) -> Vec<Verdict> {
    let history = parse(lines);
    let levels: Vec<Level> = Level::all().collect();
    let checked = check(&history, &levels, &Options::default());
    let certified = checked.into_iter().map(|checked| {
        let result = checked.result;
        if !matches!(result.verdict, Verdict::Unknown(_)) {
            let certified = history::certify(&history, &Initial::default(), &result);
            certified.unwrap_or_else(|refusal| panic!("{}: {}", result.level, refusal.reason()));
        }
        result.verdict
    });
    certified.collect()
}

fn all_unknown(lines: &str) -> bool {
    let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(_));
    verdicts(lines).iter().all(is_unknown)
}

#[test]
fn no_order_is_proof_where_an_element_is_appended_twice() {
    assert!(all_unknown(
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":2,\"ops\":[[\"rlist\",\"x\",null]]}\n"
    ));
}

/// What a register write does to a list is defined nowhere, so nothing is said, not even where the
/// list alone would break every level, or another key does.
#[test]
fn a_key_that_is_a_list_and_a_register_is_undecided() {
    for lines in [
        "{\"session\":0,\"ops\":[[\"w\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"rlist\",\"x\",null]]}\n",
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":0,\"ops\":[[\"w\",\"x\",2]]}\n\
         {\"session\":0,\"ops\":[[\"rlist\",\"x\",[]]]}\n",
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":0,\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",7]]}\n",
    ] {
        let verdicts = verdicts(lines);
        let is_named = |verdict: &Verdict| match verdict {
            Verdict::Unknown(reason) => reason.contains("key x is used both as a list"),
            _ => false,
        };
        assert!(verdicts.iter().all(is_named), "{verdicts:?}");
    }
}

#[test]
fn a_violation_stands_where_an_element_is_appended_twice() {
    let verdicts = verdicts(
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":2,\"ops\":[[\"rlist\",\"x\",null],[\"r\",\"y\",7]]}\n",
    );
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(verdicts.iter().skip(1).all(is_violated));
}

#[test]
fn a_list_that_ends_in_the_initial_value_is_not_the_initial_version() {
    let verdicts = verdicts("{\"session\":0,\"ops\":[[\"rlist\",\"x\",[6,0]]]}\n");
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(verdicts.iter().skip(1).all(is_violated));
}

/// Only read-uncommitted is left, which allows reads of what never was.
fn all_but_the_first_are_violated(lines: &str) {
    let verdicts = verdicts(lines);
    assert!(matches!(verdicts[0], Verdict::Holds(_)));
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(verdicts.iter().skip(1).all(is_violated));
}

#[test]
fn lists_of_unknown_elements_contradict_each_other() {
    all_but_the_first_are_violated(
        "{\"session\":0,\"ops\":[[\"rlist\",\"x\",[1,2]]]}\n\
         {\"session\":1,\"ops\":[[\"rlist\",\"x\",[2,1]]]}\n",
    );
}

#[test]
fn a_list_shows_an_element_that_nobody_appended_among_others() {
    all_but_the_first_are_violated(
        "{\"session\":0,\"ops\":[[\"append\",\"x\",3]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",4]]}\n\
         {\"session\":2,\"ops\":[[\"rlist\",\"x\",[3,2,4]]]}\n",
    );
}

#[test]
fn a_list_shows_an_append_without_one_that_its_transaction_did_before() {
    for list in ["[2]", "[2,1,3]", "[1,2,5]"] {
        all_but_the_first_are_violated(&format!(
            "{{\"session\":0,\"ops\":[[\"append\",\"x\",1],[\"append\",\"x\",2]]}}\n\
             {{\"session\":1,\"ops\":[[\"append\",\"x\",3]]}}\n\
             {{\"session\":2,\"ops\":[[\"append\",\"x\",4],[\"append\",\"x\",5]]}}\n\
             {{\"session\":3,\"ops\":[[\"rlist\",\"x\",{list}]]}}\n",
        ));
    }
}

#[test]
fn an_append_tried_again_after_an_abort_is_not_unseen() {
    let verdicts = verdicts(
        "{\"session\":0,\"status\":\"aborted\",\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",2],[\"rlist\",\"x\",[1,2]]]}\n",
    );
    let holds = |verdict: &Verdict| matches!(verdict, Verdict::Holds(_));
    assert!(verdicts.iter().all(holds));
}

fn all_are_violated(lines: &str) {
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(verdicts(lines).iter().all(is_violated));
}

#[test]
fn an_element_shown_twice_has_no_second_place() {
    all_are_violated(
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",2]]}\n\
         {\"session\":2,\"ops\":[[\"rlist\",\"x\",[1,2,1]]]}\n",
    );
}

#[test]
fn an_element_that_nobody_appended_is_not_shown_twice_at_any_level() {
    all_are_violated("{\"session\":0,\"ops\":[[\"rlist\",\"x\",[7,7]]]}\n");
}

#[test]
fn what_a_list_lacks_comes_later_even_if_it_was_appended_twice() {
    let verdicts = verdicts(
        "{\"session\":0,\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":0,\"ops\":[[\"append\",\"x\",2]]}\n\
         {\"session\":0,\"ops\":[[\"rlist\",\"x\",[1]]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",2]]}\n",
    );
    assert!(matches!(verdicts.last(), Some(Verdict::Violated(_))));
}

#[test]
fn an_element_tried_again_after_an_abort_orders_its_neighbours() {
    let verdicts = verdicts(
        "{\"session\":0,\"status\":\"aborted\",\"ops\":[[\"append\",\"x\",1]]}\n\
         {\"session\":1,\"ops\":[[\"append\",\"x\",1],[\"append\",\"x\",3]]}\n\
         {\"session\":2,\"ops\":[[\"append\",\"x\",2]]}\n\
         {\"session\":3,\"ops\":[[\"rlist\",\"x\",[1,2,3]]]}\n",
    );
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(verdicts.iter().all(is_violated));
}

/// The verdict on read-committed, certified.
fn read_committed(lines: &str) -> Verdict {
    let levels: Vec<Level> = Level::all().collect();
    let place = levels
        .iter()
        .position(|level| *level == Level::ReadCommitted);
    verdicts(lines).swap_remove(place.expect("a level"))
}

#[test]
fn a_writer_of_unknown_outcome_that_nobody_read_leaves_no_cases() {
    let verdict = read_committed(
        "{\"session\":0,\"ops\":[[\"r\",1,3],[\"r\",1,0],[\"w\",1,11]]}\n\
         {\"session\":0,\"ops\":[[\"r\",1,0],[\"w\",1,1],[\"w\",1,3]]}\n\
         {\"session\":1,\"ops\":[[\"r\",1,3],[\"w\",1,12]]}\n\
         {\"session\":1,\"ops\":[[\"r\",1,3],[\"w\",1,13],[\"w\",1,3]]}\n\
         {\"session\":1,\"status\":\"indeterminate\",\"ops\":[[\"r\",1,3],[\"w\",1,14]]}\n",
    );
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict:?}");
}

#[test]
fn a_reader_of_unknown_outcome_leaves_no_cases() {
    let verdict = read_committed(
        "{\"session\":0,\"status\":\"indeterminate\",\"ops\":[[\"r\",1,0],[\"r\",2,2]]}\n\
         {\"session\":0,\"ops\":[[\"r\",1,0],[\"w\",1,11],[\"w\",2,3],[\"w\",2,2]]}\n\
         {\"session\":1,\"ops\":[[\"w\",1,3],[\"r\",2,2]]}\n\
         {\"session\":2,\"ops\":[[\"w\",2,1],[\"r\",1,3],[\"r\",1,11]]}\n\
         {\"session\":2,\"ops\":[[\"r\",1,11],[\"w\",2,2]]}\n",
    );
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict:?}");
}

/// Transactions run one after another, on keys to which the same values are written again and
/// again.
fn serial_with_values_again(txn_count: u64) -> String {
    let mut random = Random(1);
    let mut store = [0; 10];
    let mut lines = String::new();
    for _ in 0..txn_count {
        let (read, written) = (random.below(10) as usize, random.below(10) as usize);
        let (session, value) = (random.below(8), 1 + random.below(40));
        let seen = store[read];
        store[written] = value;
        writeln!(
            lines,
            "{{\"session\":{session},\"ops\":[[\"r\",{read},{seen}],[\"w\",{written},{value}]]}}"
        )
        .expect("a string");
    }
    lines
}

#[test]
fn a_weak_level_is_known_to_hold_although_most_reads_have_many_possible_writers() {
    let history = parse(&serial_with_values_again(400));
    let weak = Level::WEAK.into_iter();
    // Two transactions that read the same value and write the key may be a lost update.
    for level in weak.filter(|level| Level::Prefix.implies(*level)) {
        let checked = check(&history, &[level], &Options::default()).swap_remove(0);
        let verdict = &checked.result.verdict;
        assert!(matches!(verdict, Verdict::Holds(_)), "{level}: {verdict:?}");
        let certified = history::certify(&history, &Initial::default(), &checked.result);
        certified.unwrap_or_else(|refusal| panic!("{level}: {}", refusal.reason()));
    }
}

/// Where reads may be dirty, an element that an aborted transaction appended twice may be seen twice.
#[test]
fn what_an_aborted_transaction_appended_twice_is_seen_twice() {
    let lines = |shown: &str| {
        parse(&format!(
            "{{\"session\":1,\"status\":\"aborted\",\"ops\":[[\"append\",\"y\",5],[\"append\",\"y\",5]]}}\n\
             {{\"session\":2,\"ops\":[[\"append\",\"y\",2],[\"rlist\",\"y\",[{shown}]]]}}\n"
        ))
    };
    for (shown, holds) in [("5,2,5", true), ("5,2,5,5", false)] {
        let history = lines(shown);
        let level = Level::ReadUncommitted;
        let checked = check(&history, &[level], &Options::default()).swap_remove(0);
        let verdict = &checked.result.verdict;
        assert_eq!(matches!(verdict, Verdict::Holds(_)), holds, "{verdict:?}");
        let certified = history::certify(&history, &Initial::default(), &checked.result);
        certified.unwrap_or_else(|refusal| panic!("{shown}: {}", refusal.reason()));
    }
}

/// Somebody else may have appended the element that a list shows of a transaction of unknown outcome.
#[test]
fn what_is_appended_twice_does_not_commit_a_transaction_of_unknown_outcome() {
    let history = parse(
        "{\"session\":3,\"ops\":[[\"append\",3,2],[\"append\",3,6]]}\n\
         {\"session\":3,\"ops\":[[\"rlist\",3,[4,2]]]}\n\
         {\"session\":0,\"status\":\"indeterminate\",\"ops\":[[\"append\",3,2],[\"append\",3,2],[\"rlist\",3,[4,0]]]}\n\
         {\"session\":0,\"status\":\"aborted\",\"ops\":[[\"append\",3,0]]}\n",
    );
    let checked = check(&history, &Level::WEAK, &Options::default());
    let violated = |level: Level| {
        let result = &checked.iter().find(|checked| checked.result.level == level);
        result.is_some_and(|checked| matches!(checked.result.verdict, Verdict::Violated(_)))
    };
    assert!(violated(Level::ReadCommitted) && violated(Level::Causal));
    for checked in checked.iter().map(|checked| &checked.result) {
        if matches!(checked.verdict, Verdict::Unknown(_)) {
            continue;
        }
        let certified = history::certify(&history, &Initial::default(), checked);
        certified.unwrap_or_else(|refusal| panic!("{}: {}", checked.level, refusal.reason()));
    }
}

/// A list's last element, which a transaction of unknown outcome may have appended, is no one else's for certain.
#[test]
fn what_may_have_been_appended_by_a_transaction_of_unknown_outcome_is_not_assumed_of_another() {
    let history = parse(
        "{\"session\":2,\"status\":\"indeterminate\",\"ops\":[[\"rlist\",1,[6,3]]]}\n\
         {\"session\":2,\"ops\":[[\"append\",3,0],[\"append\",1,0],[\"append\",3,0]]}\n\
         {\"session\":2,\"status\":\"indeterminate\",\"ops\":[[\"rlist\",1,[]],[\"append\",3,9],[\"append\",3,9],[\"append\",3,5]]}\n\
         {\"session\":1,\"ops\":[[\"append\",3,6],[\"append\",0,2]]}\n\
         {\"session\":1,\"ops\":[[\"append\",2,5],[\"append\",1,4],[\"append\",2,5]]}\n\
         {\"session\":3,\"ops\":[[\"append\",2,7],[\"append\",0,7],[\"append\",2,1],[\"rlist\",3,[5]]]}\n\
         {\"session\":3,\"ops\":[[\"append\",3,2],[\"append\",2,0],[\"append\",3,5]]}\n\
         {\"session\":0,\"status\":\"indeterminate\",\"ops\":[[\"append\",0,4],[\"append\",0,7],[\"rlist\",2,[1]],[\"append\",0,5]]}\n",
    );
    for checked in check(&history, &Level::WEAK, &Options::default()) {
        if matches!(checked.result.verdict, Verdict::Unknown(_)) {
            continue;
        }
        let certified = history::certify(&history, &Initial::default(), &checked.result);
        certified
            .unwrap_or_else(|refusal| panic!("{}: {}", checked.result.level, refusal.reason()));
    }
}
