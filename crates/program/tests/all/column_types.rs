//! Values are chosen as their columns hold them: a day for a date, a time of day for a time, a number where a text is
//! compared with one.

use crate::installed::{Running, start};
use program::analysis::{Options, analyse};
use program::replay::{Replay, Server, ServerLevel, ServerOptions};
use program::{Program, StoreLevel, Value, read_sql_file};

/// A room is free on a day, an opening is before a time, a shelf is found by a text that is a number.
const BOOKINGS: &str = "
create table stay (id int primary key, room int not null, day date not null, since timestamp not null);
create table open (shop int primary key, opens time not null, closes time not null);
create table shelf (number int primary key, kept date, small smallint not null, code char(2) not null, price decimal(6, 2) not null,
  sold boolean not null);
transaction book(s int, r int, d date, t timestamp)
  select id into :taken from stay where room = :r and day = :d;
  if not found then
    insert into stay values (:s, :r, :d, :t);
  end if;
end;
transaction extend(r int, d timestamp)
  select day into :last from stay where room = :r and day >= :d order by day limit 1;
  if found then
    update stay set since = :last where room = :r and day < :last;
    update stay set day = :d where room = :r and day = :last;
  end if;
end;
transaction earlier(s int, t time)
  select opens into :o from open where shop = :s;
  if :o > :t then
    update open set opens = :t where shop = :s;
    update open set closes = :o where shop = :s and closes > :o;
  end if;
end;
transaction sell(n text, k text)
  select sold, small, price into :s, :q, :p from shelf where number = :n and code = :k;
  if found and not :s and :q > 0 then
    update shelf set sold = true, small = :q - 1, price = :p + 1 where number = :n;
  end if;
end;
transaction keep(n int, d text, s boolean)
  select kept into :k from shelf where number = :n;
  if :k < :d then
    update shelf set kept = :d, sold = :s where number = :n;
  end if;
end;
";

fn program() -> Program {
    read_sql_file(BOOKINGS, "bookings.sql", None).unwrap_or_else(|error| panic!("{error}"))
}

fn options() -> Options {
    Options {
        levels: vec![StoreLevel::ReadCommitted],
        ..Options::default()
    }
}

#[test]
fn values_fit_their_columns() {
    let program = program();
    let found = analyse(&program, &options()).anomalies;
    let whole = |program: &Program, name: &str| {
        let at = program.transactions.iter().position(|one| one.name == name);
        let runs = found.iter().filter_map(|one| one.scenario());
        let runs = runs.flat_map(|scenario| scenario.instances.clone());
        runs.filter(|run| Some(run.transaction) == at)
            .collect::<Vec<_>>()
    };
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    };
    for run in whole(&program, "book") {
        assert_eq!(text(&run.arguments[2]).len(), 10, "{run:?}");
        assert_eq!(text(&run.arguments[3]).len(), 19, "{run:?}");
    }
    for run in whole(&program, "extend") {
        assert!(text(&run.arguments[1]).ends_with("00:00:00"), "{run:?}");
    }
    for run in whole(&program, "earlier") {
        assert_eq!(text(&run.arguments[1]).len(), 8, "{run:?}");
    }
    for run in whole(&program, "sell") {
        assert!(text(&run.arguments[0]).parse::<i64>().is_ok(), "{run:?}");
    }
    for run in whole(&program, "keep") {
        assert_eq!(text(&run.arguments[1]).len(), 10, "{run:?}");
    }
    for name in ["book", "extend", "earlier", "sell", "keep"] {
        assert!(!whole(&program, name).is_empty(), "{name}");
    }
}

fn check(running: &Running) {
    let program = program();
    let mut server = Server::open(&running.url, &program.schema, ServerOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    for anomaly in analyse(&program, &options()).anomalies {
        let scenario = anomaly.scenario().expect("a scenario");
        for level in [
            ServerLevel::ReadCommitted,
            ServerLevel::RepeatableRead,
            ServerLevel::Serializable,
        ] {
            let mut replay = Replay::new(&mut server, &program, scenario);
            let predicted = replay.predict(level);
            let judged = replay.at(level, predicted);
            let judged = judged.unwrap_or_else(|error| panic!("{error}: {scenario:?}"));
            assert_eq!(judged.as_predicted(), Some(true), "{level:?}: {judged:?}");
        }
    }
}

#[test]
fn values_fit_the_columns_of_postgres() {
    if let Some(running) = start("postgres") {
        check(&running);
    }
}

#[test]
fn values_fit_the_columns_of_mariadb() {
    if let Some(running) = start("mariadb") {
        check(&running);
    }
}
