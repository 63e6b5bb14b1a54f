//! Keys that the database computes while it inserts: `insert … select max(n) + 1 …`.

use crate::engines::{played, scenario};
use crate::installed::start;
use program::analysis::{Options, analyse};
use program::replay::{Replay, Server, ServerLevel, ServerOptions};
use program::robust::{Level, RobustOptions, check_at};
use program::{
    Appearance, Engine, Program, Scenario, StoreLevel, StoredRow, TableId, Value, read_sql_file,
};

fn program() -> Program {
    let text = "
create table line (project int, number int, amount int not null, primary key (project, number));
transaction add(p int, a int)
  insert into line (project, number, amount)
    select :p, coalesce(max(number), 0) + 1, :a from line where project = :p;
  select sum(amount) into :s from line where project = :p;
end;
";
    read_sql_file(text, "lines.sql", None).unwrap_or_else(|error| panic!("{error}"))
}

/// Both would add line 1.
fn twice(program: &Program) -> Scenario {
    let instances: [(&str, &[i64]); 2] = [("add", &[7, 10]), ("add", &[7, 20])];
    let mut scenario = scenario(program, &instances, "0.0 1.0 0.1 0.c 1.1 1.c");
    scenario.rows.clear();
    scenario
}

const LEVELS: [(Engine, ServerLevel); 3] = [
    (Engine::PostgresReadCommitted, ServerLevel::ReadCommitted),
    (Engine::PostgresRepeatableRead, ServerLevel::RepeatableRead),
    (Engine::PostgresSerializable, ServerLevel::Serializable),
];

/// The second waits for the first, and is refused.
#[test]
fn regression_a_key_that_is_computed_is_taken_once() {
    let program = program();
    for (engine, _) in LEVELS {
        let (_, seen) = played(&program, &twice(&program), engine);
        assert_eq!(seen, Appearance::PreventedByAbort, "{engine:?}");
    }
}

#[test]
fn postgres_refuses_the_second_as_well() {
    let Some(running) = start("postgres") else {
        return;
    };
    let program = program();
    let mut server = Server::open(&running.url, &program.schema, ServerOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    for (_, level) in LEVELS {
        let judged = Replay::new(&mut server, &program, &twice(&program)).at(level, None);
        let judged = judged.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(judged.appearance, Appearance::PreventedByAbort, "{level:?}");
    }
}

/// The search and the proof do not call it an anomaly of databases: what the constraints do not follow is asked of the
/// play. A replicated store refuses nobody.
#[test]
fn regression_two_rows_of_a_computed_key_are_no_anomaly_of_a_database() {
    let program = program();
    let count = |level: StoreLevel| {
        let options = Options {
            levels: vec![level],
            external: true,
            ..Options::default()
        };
        analyse(&program, &options).anomalies.len()
    };
    assert_eq!(count(StoreLevel::ReadCommitted), 0);
    assert_eq!(count(StoreLevel::Snapshot), 0);
    assert!(count(StoreLevel::Eventual) > 0);
    for level in [Level::ReadCommitted, Level::Snapshot] {
        let answer = check_at(&program, level, &RobustOptions::default());
        let found = answer
            .counterexample()
            .and_then(|found| found.scenario.as_ref());
        assert_eq!(found, None, "{level}");
    }
}

/// MariaDB takes a 0 for a question for the next number, unless it is told not to.
#[test]
fn regression_a_row_with_the_number_0_keeps_it() {
    let text = "
create table task (id int auto_increment primary key, n int not null);
transaction raise(k int)
  update task set n = n + 1 where id = :k;
end;
";
    let program = read_sql_file(text, "tasks.sql", None).unwrap_or_else(|error| panic!("{error}"));
    for name in ["postgres", "mariadb"] {
        let Some(running) = start(name) else {
            continue;
        };
        let mut scenario = scenario(&program, &[("raise", &[0])], "0.0 0.c");
        let row = |n: i64| StoredRow {
            table: TableId(0),
            values: vec![Value::Integer(0), Value::Integer(n)],
        };
        scenario.rows = vec![row(5)];
        let mut server = Server::open(&running.url, &program.schema, ServerOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let judged =
            Replay::new(&mut server, &program, &scenario).at(ServerLevel::ReadCommitted, None);
        let judged = judged.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(judged.played.rows, [row(6)], "{name}");
    }
}
