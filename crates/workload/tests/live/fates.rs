//! What is recorded of transactions that fail in every way.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::{Planned, cell, options, registers, run};
use std::sync::atomic::Ordering;
use workload::driver::{Error, Fate};
use workload::plan::{Action, Plan, Unique};
use workload::schema::{ColumnKind, Schema};

/// A database where every `every`-th call of a kind ends in a fate.
fn failing(at: Point, every: u64, fate: Fate) -> Fake {
    Fake::new(
        Kind::default(),
        Box::new(move |point, count| {
            let fails = point == at && count % every == every - 1;
            fails.then(|| Error::new(fate, format!("{point:?} {count}")).with_code("F1"))
        }),
    )
}

#[test]
fn what_a_sound_database_did_is_recorded() {
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, registers().as_ref(), options(4, 200));
    assert_eq!(recorded.result, Ok(()));
    assert_eq!(recorded.count("committed"), 200);
    assert!(recorded.sessions().into_keys().all(|session| session < 4));
    recorded.is_what_was_done(&fake);
    let operations = recorded.counters.operations.load(Ordering::Relaxed);
    assert_eq!(operations, 600);
}

#[test]
fn an_aborted_transaction_leaves_its_session_alone() {
    for point in [Point::Begin, Point::Run, Point::Commit] {
        let fake = failing(point, 5, Fate::Aborted);
        let recorded = run(&fake, registers().as_ref(), options(3, 120));
        assert_eq!(recorded.result, Ok(()));
        assert!(recorded.count("aborted") >= 20, "{point:?}");
        assert!(recorded.sessions().into_keys().all(|session| session < 3));
        assert_eq!(recorded.counters.lost.load(Ordering::Relaxed), 0);
        recorded.is_what_was_done(&fake);
        let mut errors = recorded.outcomes.iter().filter(|o| o.status == "aborted");
        assert!(errors.all(|one| one.line["info"]["code"] == "F1"));
    }
}

#[test]
fn a_lost_connection_aborts_and_begins_a_session() {
    for point in [Point::Begin, Point::Run, Point::Commit] {
        let fake = failing(point, 5, Fate::Lost);
        let recorded = run(&fake, registers().as_ref(), options(3, 120));
        assert_eq!(recorded.result, Ok(()));
        let lost = recorded.count("aborted");
        assert!(lost >= 20, "{point:?}");
        assert_eq!(recorded.counters.lost.load(Ordering::Relaxed), lost);
        for session in recorded.sessions().values() {
            let (_, before) = session.split_last().expect("not empty");
            assert!(before.iter().all(|one| one.status == "committed"));
        }
        recorded.is_what_was_done(&fake);
    }
}

#[test]
fn an_unknown_outcome_is_indeterminate_and_begins_a_session() {
    for point in [Point::Run, Point::Commit] {
        let fake = failing(point, 5, Fate::Unknown);
        let recorded = run(&fake, registers().as_ref(), options(3, 120));
        assert_eq!(recorded.result, Ok(()));
        let unknown = recorded.count("indeterminate");
        assert!(unknown >= 20, "{point:?}");
        assert_eq!(recorded.counters.lost.load(Ordering::Relaxed), unknown);
        for session in recorded.sessions().values() {
            let (_, before) = session.split_last().expect("not empty");
            assert!(before.iter().all(|one| one.status == "committed"));
        }
        recorded.is_what_was_done(&fake);
        // Whether it took effect or not, no times say that it was over.
        let history = &recorded.history;
        let open = history.txn_ids().filter(|&txn| {
            let interval = history.interval(txn).expect("times");
            interval.end == history::Interval::NEVER
        });
        assert_eq!(open.count() as u64, unknown);
    }
}

#[test]
fn sessions_of_a_client_follow_each_other_by_the_number_of_clients() {
    let fake = failing(Point::Commit, 4, Fate::Unknown);
    let recorded = run(&fake, registers().as_ref(), options(1, 12));
    let sessions: Vec<i64> = recorded.sessions().into_keys().collect();
    assert_eq!(sessions, [0, 1, 2]);
    let fake = failing(Point::Commit, 4, Fate::Lost);
    let recorded = run(&fake, registers().as_ref(), options(3, 60));
    for (session, seen) in recorded.sessions() {
        // A write's value tells whose it is: values of client c are c + 1 modulo 3.
        let value: i64 = seen[0].ops[0]
            .trim_end_matches(']')
            .rsplit(',')
            .next()
            .and_then(|number| number.parse().ok())
            .expect("the value written");
        assert_eq!(session % 3, (value - 1) % 3);
    }
}

#[test]
fn a_rollback_that_fails_costs_the_connection() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, count| match point {
            Point::Commit if count % 4 == 3 => Some(Error::new(Fate::Aborted, "conflict")),
            Point::Rollback => Some(Error::new(Fate::Lost, "gone")),
            _ => None,
        }),
    );
    let recorded = run(&fake, registers().as_ref(), options(2, 40));
    assert_eq!(recorded.count("aborted"), 10);
    assert_eq!(recorded.counters.lost.load(Ordering::Relaxed), 10);
    recorded.is_what_was_done(&fake);
}

#[test]
fn a_hopeless_error_ends_the_run_and_leaves_a_recording() {
    for point in [Point::Connect, Point::Begin, Point::Run, Point::Commit] {
        let at = if point == Point::Connect { 2 } else { 50 };
        let fake = Fake::new(
            Kind::default(),
            Box::new(move |here, count| {
                let fails = here == point && count >= at;
                fails.then(|| Error::hopeless("no right to"))
            }),
        );
        let recorded = run(&fake, registers().as_ref(), options(3, 1_000_000));
        let error = recorded.result.as_ref().expect_err("it is hopeless");
        assert_eq!(error.message, "no right to");
        assert_eq!(error.fate, Fate::Hopeless);
        recorded.is_what_was_done(&fake);
    }
}

#[test]
fn operations_without_an_answer_are_not_counted_as_answered() {
    let fake = failing(Point::Run, 3, Fate::Aborted);
    let recorded = run(&fake, registers().as_ref(), options(1, 30));
    assert_eq!(recorded.count("aborted"), 30);
    let operations = recorded.counters.operations.load(Ordering::Relaxed);
    assert_eq!(operations, 60, "the third of each was refused");
}

#[test]
fn a_plan_that_rolls_back_is_aborted() {
    let workload = Planned {
        schema: Schema::single(ColumnKind::Register, 0),
        plan: |_: u32, unique: &mut Unique, plan: &mut Plan| {
            let value = unique.take();
            plan.act(Action::Write(cell(1), value));
            plan.act(Action::Read(cell(1)));
            plan.rolls_back = value % 2 == 0;
        },
    };
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, &workload, options(1, 20));
    assert_eq!(recorded.count("aborted"), 10);
    assert_eq!(recorded.count("committed"), 10);
    assert_eq!(recorded.sessions().len(), 1);
    assert_eq!(fake.count(Point::Commit), 10);
    recorded.is_what_was_done(&fake);
    let mut aborted = recorded.outcomes.iter().filter(|o| o.status == "aborted");
    assert!(aborted.all(|one| one.line.get("info").is_none()));
}

#[test]
fn any_error_text_keeps_lines_whole() {
    let texts = [
        "a \"quoted\" word, a back\\slash, a \\\" and both",
        "line\nline\r\nline\u{85}\u{2028}\u{2029}",
        "\u{0}\u{1}\u{8}\t\u{b}\u{c}\u{1b}[31m\u{1f}\u{7f}",
        "{\"session\":0}",
        "größer, 数, \u{1f4a5}, \u{feff}",
        "",
    ];
    for text in texts {
        let fake = Fake::new(
            Kind::default(),
            Box::new(move |point, _| {
                let error = Error::new(Fate::Aborted, text).with_code(text);
                (point == Point::Commit).then_some(error)
            }),
        );
        let recorded = run(&fake, registers().as_ref(), options(2, 6));
        assert_eq!(recorded.count("aborted"), 6);
        for one in &recorded.outcomes {
            assert_eq!(one.line["info"]["error"], text);
            assert_eq!(one.line["info"]["code"], text);
        }
    }
}
