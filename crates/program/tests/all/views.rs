//! Programs that read through views, on real servers.

use crate::installed::{Running, start};
use program::analysis::{Options, analyse};
use program::replay::{Dialect, Replay, Server, ServerLevel, ServerOptions, schema_text};
use program::{Appearance, Program, StoreLevel, read_sql_file};

/// The second view is over the first; of the first, the last declaration counts. Nobody reads the last one, whose function
/// no server has.
const THROUGH: &str = "
create table seat (id int primary key, taken int not null, \"order\" int);
create table booking (id int primary key, seat int not null);
create view open_seats as select id from seat;
create or replace view open_seats (number, state) as select id, taken from seat where taken = 0;
create view cheap as select number from open_seats where number < 10;
create view odd as select no_such_function(id) as x from seat;
transaction book(b int, s int)
  select number into :n from public.cheap where number = :s;
  if found then
    insert into booking values (:b, :n);
    update seat set taken = 1 where id = :n;
  end if;
end;
";

fn program() -> Program {
    read_sql_file(THROUGH, "views.sql", None).unwrap_or_else(|error| panic!("{error}"))
}

/// Both find the seat free at read committed; at serializable one waits, or is refused.
fn check(running: &Running) {
    let program = program();
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        ..Options::default()
    };
    let analysis = analyse(&program, &options);
    let scenario = analysis.anomalies[0].scenario().expect("a scenario");
    let mut server = Server::open(&running.url, &program.schema, ServerOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut at = |level| {
        let judged = Replay::new(&mut server, &program, scenario).at(level, None);
        judged.unwrap_or_else(|error| panic!("{error}")).appearance
    };
    assert_eq!(at(ServerLevel::ReadCommitted), Appearance::Manifested);
    let safe = at(ServerLevel::Serializable);
    assert!(
        matches!(
            safe,
            Appearance::PreventedByAbort | Appearance::PreventedByLock
        ),
        "{safe:?}"
    );
}

#[test]
fn a_program_reads_through_views_on_postgres() {
    if let Some(running) = start("postgres") {
        check(&running);
    }
}

#[test]
fn a_program_reads_through_views_on_mariadb() {
    if let Some(running) = start("mariadb") {
        check(&running);
    }
}

#[test]
fn views_are_part_of_the_tables_of_a_test() {
    let text = schema_text(Dialect::Postgres, &program().schema);
    let free = "create view \"open_seats\" (\"number\", \"state\") as select id, taken from seat where taken = 0;";
    assert!(text.contains(free), "{text}");
    assert_eq!(text.matches("create view").count(), 3, "{text}");
}
