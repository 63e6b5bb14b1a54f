//! Consequences: which invariants an anomaly can break, each shown by a play.

use program::analysis::{Anomaly, Consequence, Options, all_consequences, analyse, consequences};
use program::{
    Bounds, Fate, How, Judgement, Program, StoreLevel, allows, broken_invariants, judge, play,
    read_sql_file, violations,
};

fn program(text: &str) -> Program {
    read_sql_file(text, "consequences.sql", None).unwrap_or_else(|error| panic!("{error}"))
}

pub fn anomalies(program: &Program, level: StoreLevel) -> Vec<Anomaly> {
    let options = Options {
        levels: vec![level],
        bounds: Bounds {
            iterations: 1,
            ..Bounds::default()
        },
        ..Options::default()
    };
    let analysis = analyse(program, &options);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    analysis.anomalies
}

/// Plays a consequence again: it is what its definition says.
pub fn verify(program: &Program, one: &Consequence) {
    let name = &program.invariants[one.invariant].name;
    let played = play(program, &one.scenario, How::Given).expect("it plays");
    assert!(played.runs.iter().all(|run| run.fate == Fate::Committed));
    let broken = broken_invariants(program, &one.scenario, &played).expect("they can be asked");
    let found = broken.iter().find(|b| b.invariant == one.invariant);
    assert_eq!(found.map(|b| &b.rows), Some(&one.rows), "{name}");
    let before = violations(program, &one.scenario.rows).expect("they can be asked");
    assert!(
        before.iter().all(|b| b.invariant != one.invariant),
        "{name}"
    );
    let judged = judge(program, &one.scenario, &played).expect("it can be judged");
    assert_eq!(judged, Judgement::NotSerializable, "{name}");
    let level = one.level.expect("one level");
    assert!(allows(level, &played), "{name} at {}", level.name());
}

fn names(program: &Program, found: &[Consequence]) -> Vec<String> {
    let name = |one: &Consequence| {
        verify(program, one);
        let name = &program.invariants[one.invariant].name;
        format!("{name}{}", if one.alone { "" } else { " with others" })
    };
    found.iter().map(name).collect()
}

/// A payment reads and writes what a customer paid, and adds to the till.
const TILL: &str = "
create table customer (id int primary key, paid int not null);
create table till (id int primary key, total int not null);
-- invariant till: select t.id, t.total - (select sum(paid) from customer) from till t
--   where t.total <> (select sum(paid) from customer);
-- invariant few: select count(*) from customer having count(*) > 50;
-- outcome paid: select id, paid from customer;
transaction pay(c int, t int, amount int)
  select paid into :paid from customer where id = :c;
  if not found then abort; end if;
  update customer set paid = :paid + :amount where id = :c;
  update till set total = total + :amount where id = :t;
end;
";

#[test]
fn the_rows_are_made_to_satisfy_what_the_play_then_breaks() {
    let program = program(TILL);
    for level in [StoreLevel::Eventual, StoreLevel::ReadCommitted] {
        let found = anomalies(&program, level);
        let of_two = found.iter().find(|one| one.transactions.len() == 2);
        let answer = consequences(&program, of_two.expect("a lost update"), 2000);
        assert_eq!(
            names(&program, &answer.found),
            ["till", "paid"],
            "{level:?}"
        );
    }
}

#[test]
fn no_play_is_tried_beyond_the_limit() {
    let program = program(TILL);
    let found = anomalies(&program, StoreLevel::Eventual);
    let none = consequences(&program, &found[0], 0);
    assert_eq!((none.found.len(), none.plays, none.cut), (0, 0, true));
    let few = consequences(&program, &found[0], 7);
    assert_eq!((few.plays, few.cut), (7, true));
}

#[test]
fn the_answer_is_the_same_every_time() {
    let program = program(TILL);
    let found = anomalies(&program, StoreLevel::Eventual);
    let one = all_consequences(&program, &found, 200, &|_| {});
    let other = all_consequences(&program, &found, 200, &|_| {});
    assert_eq!(one, other);
    assert_eq!(one[0], consequences(&program, &found[0], 200));
}

/// Numbers are given out by a counter that is read and written; two take the same one. Only a third
/// transaction makes the counter fall behind.
const NUMBERS: &str = "
create table counter (id int primary key, next int not null);
create table ticket (n int primary key, owner int);
-- invariant behind: select c.id, c.next - (select max(n) from ticket) from counter c
--   where c.next <= (select max(n) from ticket);
transaction take(c int, who int)
  select next into :n from counter where id = :c;
  if not found then abort; end if;
  update counter set next = :n + 1 where id = :c;
  insert into ticket (n, owner) values (:n, :who);
end;
";

#[test]
fn another_transaction_may_be_needed() {
    let program = program(NUMBERS);
    let found = anomalies(&program, StoreLevel::Eventual);
    let mut told = Vec::new();
    for anomaly in &found {
        let answer = consequences(&program, anomaly, 800);
        for one in &answer.found {
            assert!(one.scenario.instances.len() > anomaly.transactions.len());
        }
        told.extend(names(&program, &answer.found));
    }
    // The one that is added has a cycle of its own with the one that lags.
    assert!(told.contains(&"behind with others".to_string()), "{told:?}");
}

#[test]
fn without_invariants_nothing_is_played() {
    let bare = TILL
        .replace("-- invariant", "-- once")
        .replace("-- outcome", "-- once");
    let program = program(&bare);
    let found = anomalies(&program, StoreLevel::Eventual);
    let answer = consequences(&program, &found[0], 800);
    assert_eq!((answer.found.len(), answer.plays), (0, 0));
}
