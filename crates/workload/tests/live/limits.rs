//! How runs end.

use crate::fake::{Fake, Kind, Point};
use crate::recorded::{Planned, cell, options, registers, run, run_until};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use workload::driver::{Error, Fate};
use workload::execute::Options;
use workload::plan::{Action, Plan, Step, Unique, Workload};
use workload::schema::{ColumnKind, Schema};

/// Longer than anything here takes, on any machine.
const LONG: Duration = Duration::from_secs(20);

fn unlimited(clients: u32) -> Options {
    Options {
        transactions: None,
        ..options(clients, 0)
    }
}

#[test]
fn the_limit_of_transactions_is_exact() {
    for clients in [1, 7, 64] {
        for limit in [0, 1, 5, 64, 500] {
            let fake = Fake::sound(Kind::default());
            let recorded = run(&fake, registers().as_ref(), options(clients, limit));
            assert_eq!(recorded.outcomes.len() as u64, limit, "{clients} clients");
            assert_eq!(fake.count(Point::Begin), limit);
        }
    }
}

#[test]
fn the_limit_of_transactions_holds_where_connections_are_lost() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, count| {
            let fails = point == Point::Commit && count % 2 == 0;
            fails.then(|| Error::new(Fate::Unknown, "no answer"))
        }),
    );
    let recorded = run(&fake, registers().as_ref(), options(16, 200));
    assert_eq!(recorded.outcomes.len(), 200);
    recorded.is_what_was_done(&fake);
}

#[test]
fn three_hundred_clients_at_once() {
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, registers().as_ref(), options(300, 3000));
    assert_eq!(recorded.result, Ok(()));
    assert_eq!(recorded.outcomes.len(), 3000);
    recorded.is_what_was_done(&fake);
}

#[test]
fn no_clients_do_nothing() {
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, registers().as_ref(), unlimited(0));
    assert_eq!(recorded.result, Ok(()));
    assert_eq!(recorded.history.txn_count(), 0);
}

#[test]
fn the_limit_of_time_ends_a_run() {
    let fake = Fake::sound(Kind::default());
    let time = Duration::from_millis(150);
    let began = Instant::now();
    let recorded = run(
        &fake,
        registers().as_ref(),
        Options {
            time: Some(time),
            ..unlimited(2)
        },
    );
    assert!(began.elapsed() >= time && began.elapsed() < LONG);
    assert_eq!(recorded.result, Ok(()));
    assert!(recorded.count("committed") > 0);
}

#[test]
fn times_without_end_are_no_limit() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, count| {
            let fails = point == Point::Connect && count % 2 == 0
                || point == Point::Commit && count % 3 == 0;
            fails.then(|| Error::new(Fate::Lost, "gone"))
        }),
    );
    let options = Options {
        time: Some(Duration::MAX),
        patience: Duration::MAX,
        ..options(2, 20)
    };
    let recorded = run(&fake, registers().as_ref(), options);
    assert_eq!(recorded.outcomes.len(), 20);
}

#[test]
fn stop_ends_a_run_between_transactions() {
    let fake = Fake::sound(Kind::default());
    let stop = AtomicBool::new(false);
    let recorded = std::thread::scope(|scope| {
        scope.spawn(|| {
            while fake.count(Point::Commit) < 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Release);
        });
        run_until(&fake, registers().as_ref(), unlimited(3), &stop)
    });
    assert_eq!(recorded.result, Ok(()));
    assert!(recorded.count("committed") >= 20);
    assert_eq!(recorded.count("committed"), fake.count(Point::Begin));
    // What was stopped before it began does nothing.
    let recorded = run_until(&fake, registers().as_ref(), unlimited(3), &stop);
    assert!(recorded.outcomes.is_empty());
}

/// Client 0 waits within its transactions, the others write.
fn waiting(commits: u64) -> impl Workload {
    Planned {
        schema: Schema::single(ColumnKind::Register, 0),
        plan: move |client: u32, unique: &mut Unique, plan: &mut Plan| {
            if client > 0 {
                plan.act(Action::Write(cell(1), unique.take()));
                return;
            }
            plan.name = "waits";
            plan.act(Action::Read(cell(1)));
            plan.steps.push(Step::AwaitCommits(commits));
            plan.act(Action::Write(cell(2), unique.take()));
        },
    }
}

#[test]
fn a_transaction_waits_for_commits_of_others() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, _| {
            if point == Point::Run {
                std::thread::sleep(Duration::from_millis(1));
            }
            None
        }),
    );
    let recorded = run(&fake, &waiting(10), options(2, 400));
    assert_eq!(recorded.outcomes.len(), 400);
    let places = recorded.outcomes.iter().enumerate();
    let waits = places.filter(|(_, one)| one.line["info"]["name"] == "waits");
    let waits: Vec<usize> = waits.map(|(place, _)| place).collect();
    assert!(waits.len() > 1, "{waits:?}");
    // All but the last wait, which the end of the run cuts short, see ten others pass; the line of the
    // tenth may come after the commit was counted.
    let whole = &waits[..waits.len() - 1];
    let starts = [&[0], whole].concat();
    let mut pairs = starts.iter().zip(whole);
    assert!(pairs.all(|(from, to)| to - from >= 9), "{waits:?}");
    recorded.is_what_was_done(&fake);
}

#[test]
fn the_end_of_the_run_ends_a_wait_for_commits() {
    // By the number of transactions, by the time, and by a stop.
    let fake = Fake::sound(Kind::default());
    let recorded = run(&fake, &waiting(u64::MAX / 2), options(2, 50));
    assert_eq!(recorded.count("committed"), 50);
    let time = Options {
        time: Some(Duration::from_millis(50)),
        ..unlimited(1)
    };
    let recorded = run(&fake, &waiting(1), time);
    assert_eq!(recorded.count("committed"), 1);
    let fake = Fake::sound(Kind::default());
    let stop = AtomicBool::new(false);
    let recorded = std::thread::scope(|scope| {
        scope.spawn(|| {
            while fake.count(Point::Run) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Release);
        });
        run_until(&fake, &waiting(1), unlimited(1), &stop)
    });
    assert_eq!(recorded.count("committed"), 1);
}

#[test]
fn a_database_that_is_never_reached_is_an_error() {
    let fake = Fake::new(
        Kind::default(),
        Box::new(|point, _| {
            (point == Point::Connect).then(|| Error::new(Fate::Lost, "refused").with_code("E9"))
        }),
    );
    let began = Instant::now();
    let patience = Duration::from_millis(100);
    let options = Options {
        patience,
        ..unlimited(4)
    };
    let recorded = run(&fake, registers().as_ref(), options);
    let error = recorded.result.expect_err("nobody answers");
    assert_eq!(error.fate, Fate::Hopeless);
    assert_eq!(error.to_string(), "refused [E9]");
    assert!(began.elapsed() >= patience && began.elapsed() < LONG);
    assert!(recorded.outcomes.is_empty());
}

#[test]
fn a_database_that_is_late_is_waited_for() {
    let began = Instant::now();
    let fake = Fake::new(
        Kind::default(),
        Box::new(move |point, _| {
            let late = point == Point::Connect && began.elapsed() < Duration::from_millis(100);
            late.then(|| Error::new(Fate::Lost, "refused"))
        }),
    );
    let recorded = run(&fake, registers().as_ref(), options(4, 40));
    assert_eq!(recorded.result, Ok(()));
    assert_eq!(recorded.count("committed"), 40);
}

#[test]
fn a_database_that_is_gone_for_good_is_an_error() {
    let connected = AtomicU64::new(0);
    let fake = Fake::new(
        Kind::default(),
        Box::new(move |point, count| {
            let is_gone = match point {
                Point::Connect => connected.fetch_add(1, Ordering::Relaxed) >= 3,
                _ => connected.load(Ordering::Relaxed) >= 3 && count >= 30,
            };
            is_gone.then(|| Error::new(Fate::Lost, "refused"))
        }),
    );
    let began = Instant::now();
    let patience = Duration::from_millis(100);
    let options = Options {
        patience,
        ..unlimited(3)
    };
    let recorded = run(&fake, registers().as_ref(), options);
    let error = recorded.result.as_ref().expect_err("nobody answers");
    assert_eq!(error.fate, Fate::Hopeless);
    assert!(error.message.ends_with("refused"), "{error}");
    assert!(began.elapsed() >= 3 * patience && began.elapsed() < LONG);
    recorded.is_what_was_done(&fake);
}

#[test]
fn a_client_goes_to_another_node_before_it_gives_up() {
    let mut fake = Fake::new(
        Kind::default(),
        Box::new(|point, count| {
            let fails = point == Point::Commit && count == 5;
            fails.then(|| Error::new(Fate::Lost, "gone"))
        }),
    );
    fake.nodes = 2;
    fake.closes_after_first = Some(0);
    let options = Options {
        patience: Duration::from_millis(200),
        ..options(1, 20)
    };
    let recorded = run(&fake, registers().as_ref(), options);
    assert_eq!(recorded.result, Ok(()));
    let nodes: Vec<usize> = fake.state().log.iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes, [0, 1]);
    recorded.is_what_was_done(&fake);
}
