//! What the servers do with small schedules, against what PostgreSQL 15.18 and MariaDB 10.11.19 did.

use program::{
    Abort, Appearance, Engine, Event, Fate, How, Instance, Play, Program, Scenario, StoredRow,
    TableId, Turn, Value, appearance, judge, play, read_sql_file,
};

const PROGRAM: &str = "
create table t (id int primary key, v int not null);
create table savings (id int primary key, bal int not null);
create table checking (id int primary key, bal int not null);
create table seat (id int primary key, place int unique);
create table child (id int primary key, parent int references t (id));

transaction two_writes()
  update t set v = 1 where id = 1;
  update t set v = 2 where id = 1;
end;
transaction read(k int)
  select v from t where id = :k;
end;
transaction read_two(a int, b int)
  select v from t where id = :a;
  select v from t where id = :b;
end;
transaction write(k int)
  update t set v = 1 where id = :k;
end;
transaction increment(k int)
  select v into :old from t where id = :k;
  update t set v = :old + 1 where id = :k;
end;
transaction skew(a int, b int, amount int)
  select v into :old from t where id = :a;
  if :old + :amount < 1000 then
    update t set v = :amount where id = :b;
  end if;
end;
transaction deposit(k int, amount int)
  update t set v = v + :amount where id = :k;
end;
transaction write_check(c int, amount int)
  select bal into :s from savings where id = :c;
  select bal into :k from checking where id = :c;
  if :s + :k < :amount then
    update checking set bal = bal - :amount - 1 where id = :c;
  else
    update checking set bal = bal - :amount where id = :c;
  end if;
end;
transaction save(c int, amount int)
  update savings set bal = bal + :amount where id = :c;
end;
transaction balance(c int)
  select bal from savings where id = :c;
  select bal from checking where id = :c;
end;
transaction locked_increment(k int)
  select v into :old from t where id = :k for update;
  update t set v = :old + 1 where id = :k;
end;
transaction bump_zero(k int)
  update t set v = v + 10 where id = :k and v = 0;
end;
transaction write_two(a int, b int)
  update t set v = 1 where id = :a;
  update t set v = 1 where id = :b;
end;
transaction read_add_read(k int)
  select v from t where id = :k;
  update t set v = v + 1 where id = :k;
  select v from t where id = :k;
end;
transaction bear(k int, parent int)
  insert into child values (:k, :parent);
end;
transaction look_and_bear(k int, parent int)
  select v from t where id = :parent;
  insert into child values (:k, :parent);
end;
transaction bear_and_write(k int, parent int)
  insert into child values (:k, :parent);
  update t set v = v + 1 where id = :parent;
end;
transaction sit(k int, place int)
  insert into seat values (:k, :place);
end;
transaction keep(k int)
  insert into t values (:k, 1) on conflict do nothing;
end;
transaction set(k int, v int)
  update t set v = :v where id = :k;
end;
transaction remove(k int)
  delete from t where id = :k;
end;
transaction put(k int)
  insert into t values (:k, 1);
end;
transaction add(k int)
  select count(*) into :n from t where v > 0;
  if :n = 0 then
    insert into t values (:k, 1);
  end if;
end;
";

pub fn program() -> Program {
    read_sql_file(PROGRAM, "micro.sql", None).expect("the program is read")
}

/// `0.0 1.c`: the first statement of instance 0, the commit of instance 1.
fn schedule(text: &str) -> Vec<Turn> {
    let turn = |word: &str| {
        let (instance, event) = word.split_once('.').expect("instance.event");
        Turn {
            instance: instance.parse().expect("an instance"),
            event: match event {
                "c" => Event::Commit,
                "b" => Event::Begin,
                number => Event::Statement(number.parse().expect("a statement")),
            },
            sees: None,
        }
    };
    text.split_whitespace().map(turn).collect()
}

pub fn scenario(program: &Program, instances: &[(&str, &[i64])], order: &str) -> Scenario {
    let row = |table: u32, id: i64| StoredRow {
        table: TableId(table),
        values: vec![Value::Integer(id), Value::Integer(0)],
    };
    let instance = |(name, arguments): &(&str, &[i64])| Instance {
        transaction: program
            .transactions
            .iter()
            .position(|txn| txn.name == *name)
            .expect("a transaction"),
        arguments: arguments.iter().map(|one| Value::Integer(*one)).collect(),
        ..Instance::default()
    };
    Scenario {
        rows: vec![row(0, 1), row(0, 2), row(1, 1), row(2, 1)],
        instances: instances.iter().map(instance).collect(),
        schedule: schedule(order),
    }
}

pub fn played(program: &Program, scenario: &Scenario, engine: Engine) -> (Play, Appearance) {
    let played = play(program, scenario, How::Engine(engine)).expect("it plays");
    let judgement = judge(program, scenario, &played).expect("it is judged");
    let seen = appearance(&played, &judgement);
    (played, seen)
}

fn short(seen: Appearance) -> &'static str {
    match seen {
        Appearance::Manifested => "A",
        Appearance::PreventedByAbort => "ab",
        Appearance::PreventedByLock | Appearance::NotManifested => "-",
    }
}

fn row(instances: &[(&str, &[i64])], order: &str) -> String {
    let program = program();
    let scenario = scenario(&program, instances, order);
    let cells = Engine::ALL.map(|engine| short(played(&program, &scenario, engine).1));
    cells.join(" ")
}

/// A name, the instances, their order, and what the servers did: PostgreSQL at read committed,
/// repeatable read and serializable; MariaDB at read uncommitted, read committed, repeatable read,
/// repeatable read with `innodb_snapshot_isolation`, and serializable.
type Row = (
    &'static str,
    &'static [(&'static str, &'static [i64])],
    &'static str,
    &'static str,
);

const SERVERS: [Row; 7] = [
    (
        "dirty read",
        &[("two_writes", &[]), ("read", &[1])],
        "0.0 1.0 1.c 0.1 0.c",
        "- - - A - - - -",
    ),
    (
        "non-repeatable read",
        &[("read_two", &[1, 1]), ("write", &[1])],
        "0.0 1.0 1.c 0.1 0.c",
        "A - - A A - - -",
    ),
    (
        "lost update",
        &[("increment", &[1]), ("increment", &[1])],
        "0.0 1.0 0.1 0.c 1.1 1.c",
        "A ab ab A A A ab ab",
    ),
    (
        "write skew",
        &[("skew", &[1, 2, 600]), ("skew", &[2, 1, 600])],
        "0.0 1.0 0.1 1.1 0.c 1.c",
        "A A ab A A A A ab",
    ),
    (
        "long fork",
        &[
            ("read_two", &[1, 2]),
            ("read_two", &[2, 1]),
            ("write", &[1]),
            ("write", &[2]),
        ],
        "0.0 1.0 2.0 2.c 3.0 3.c 0.1 1.1 0.c 1.c",
        "A - - A A - - ab",
    ),
    (
        "SmallBank",
        &[
            ("write_check", &[1, 10]),
            ("save", &[1, 20]),
            ("balance", &[1]),
        ],
        "0.0 0.1 1.0 1.c 2.0 2.1 2.c 0.2 0.c",
        "A A ab A A A A -",
    ),
    (
        "two deposits",
        &[("deposit", &[1, 5]), ("deposit", &[1, 7])],
        "0.0 1.0 0.c 1.c",
        "- ab ab - - - - -",
    ),
];

#[test]
fn the_servers_do_as_they_did() {
    for (name, instances, order, expected) in SERVERS {
        assert_eq!(row(instances, order), expected, "{name}");
    }
}

#[test]
fn a_lock_asked_for_saves_the_update() {
    let found = row(
        &[("locked_increment", &[1]), ("locked_increment", &[1])],
        "0.0 1.0 0.1 0.c 1.1 1.c",
    );
    assert_eq!(found, "- ab ab - - - - -");
}

#[test]
fn inserts_into_what_was_searched_are_phantoms() {
    let found = row(&[("add", &[7]), ("add", &[8])], "0.0 1.0 0.1 1.1 0.c 1.c");
    // At MariaDB's serializable both have locked the gap, and wait for each other.
    assert_eq!(found, "A A ab A A A A ab");
}

#[test]
fn who_waits_catches_up_before_the_next_turn() {
    let program = program();
    let scenario = scenario(
        &program,
        &[("deposit", &[1, 5]), ("deposit", &[1, 7]), ("read", &[1])],
        "0.0 1.0 1.c 0.c 2.0 2.c",
    );
    let (play, seen) = played(&program, &scenario, Engine::PostgresReadCommitted);
    assert_eq!(seen, Appearance::PreventedByLock);
    assert_eq!(play.runs[1].waits, [0]);
    assert_eq!(play.commits, [0, 1, 2]);
    assert_eq!(play.runs[2].results[0].rows, [[Value::Integer(12)]]);
}

#[test]
fn a_begin_takes_the_snapshot() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("read", &[1]), ("write", &[1])];
    for (order, value) in [("0.b 1.0 1.c 0.0 0.c", 0), ("1.0 1.c 0.0 0.c", 1)] {
        let scenario = scenario(&program, instances, order);
        for engine in [Engine::PostgresRepeatableRead, Engine::MariaRepeatableRead] {
            let (play, _) = played(&program, &scenario, engine);
            let rows = &play.runs[0].results[0].rows;
            assert_eq!(
                *rows,
                [[Value::Integer(value)]],
                "{order} on {}",
                engine.name()
            );
        }
    }
}

#[test]
fn a_row_that_changed_meanwhile_is_tested_again() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("write", &[1]), ("bump_zero", &[1])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    for engine in [Engine::PostgresReadCommitted, Engine::MariaReadCommitted] {
        let (play, seen) = played(&program, &scenario, engine);
        assert_eq!(play.runs[1].results[0].changed, 0, "{}", engine.name());
        assert_eq!(seen, Appearance::PreventedByLock, "{}", engine.name());
    }
}

pub fn reason(play: &Play, instance: usize) -> Option<Abort> {
    match &play.runs[instance].fate {
        Fate::AbortedByStore { reason, .. } => Some(*reason),
        _ => None,
    }
}

#[test]
fn a_circle_of_waiting_is_broken() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("write_two", &[1, 2]), ("write_two", &[2, 1])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.1 1.1 0.c 1.c");
    for (engine, victim) in [
        (Engine::PostgresReadCommitted, 0),
        (Engine::MariaReadCommitted, 1),
    ] {
        let (play, _) = played(&program, &scenario, engine);
        assert_eq!(
            reason(&play, victim),
            Some(Abort::Deadlock),
            "{}",
            engine.name()
        );
        assert_eq!(play.commits, [1 - victim], "{}", engine.name());
    }
}

#[test]
fn mariadb_shows_a_row_as_it_was_when_it_was_written() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("read_add_read", &[1]), ("deposit", &[1, 5])];
    let scenario = scenario(&program, instances, "0.0 1.0 1.c 0.1 0.2 0.c");
    let (play, _) = played(&program, &scenario, Engine::MariaRepeatableRead);
    let read = |at: usize| play.runs[0].results[at].rows.clone();
    assert_eq!(read(0), [[Value::Integer(0)]]);
    assert_eq!(read(2), [[Value::Integer(6)]]);
    for engine in [Engine::PostgresRepeatableRead, Engine::MariaSnapshot] {
        let (play, _) = played(&program, &scenario, engine);
        assert_eq!(
            reason(&play, 0),
            Some(Abort::Serialization),
            "{}",
            engine.name()
        );
    }
}

#[test]
fn the_second_insert_of_a_key_waits_and_fails() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("put", &[9]), ("put", &[9])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    for engine in Engine::ALL {
        let (play, _) = played(&program, &scenario, engine);
        assert_eq!(play.runs[1].waits, [0], "{}", engine.name());
        assert_eq!(
            reason(&play, 1),
            Some(Abort::Statement),
            "{}",
            engine.name()
        );
    }
}

#[test]
fn levels_can_be_mixed() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("skew", &[1, 2, 600]), ("skew", &[2, 1, 600])];
    let mut scenario = scenario(&program, instances, "0.0 1.0 0.1 1.1 0.c 1.c");
    scenario.instances[1].level = Some(program::StoreLevel::Snapshot);
    let (_, seen) = played(&program, &scenario, Engine::PostgresSerializable);
    assert_eq!(
        seen,
        Appearance::Manifested,
        "one of the two is not serializable"
    );
}

#[test]
fn mariadb_locks_what_a_foreign_key_refers_to() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("bear", &[7, 1]), ("deposit", &[1, 5])];
    let one = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    let instances: &[(&str, &[i64])] = &[("bear_and_write", &[7, 1]), ("bear_and_write", &[8, 1])];
    let two = scenario(&program, instances, "0.0 1.0 0.1 1.1 0.c 1.c");
    for engine in [Engine::PostgresReadCommitted, Engine::MariaReadCommitted] {
        let waits = played(&program, &one, engine).0.runs[1].waits.len();
        assert_eq!(
            waits,
            usize::from(!engine.is_postgres()),
            "{}",
            engine.name()
        );
        let seen = played(&program, &two, engine).1;
        let expected = match engine.is_postgres() {
            true => Appearance::PreventedByLock,
            false => Appearance::PreventedByAbort,
        };
        assert_eq!(seen, expected, "{}", engine.name());
    }
}

#[test]
fn the_second_use_of_a_unique_value_waits_and_fails() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("sit", &[1, 7]), ("sit", &[2, 7])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    for engine in Engine::ALL {
        let (play, _) = played(&program, &scenario, engine);
        let name = engine.name();
        assert_eq!(play.runs[1].waits, [0], "{name}");
        assert_eq!(reason(&play, 1), Some(Abort::Statement), "{name}");
    }
}

#[test]
fn an_insert_that_finds_its_row_locks_it_on_mariadb_only() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("keep", &[1]), ("deposit", &[1, 5])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    for engine in [Engine::PostgresReadCommitted, Engine::MariaReadCommitted] {
        let waits = played(&program, &scenario, engine).0.runs[1].waits.len();
        let name = engine.name();
        assert_eq!(waits, usize::from(!engine.is_postgres()), "{name}");
    }
}

#[test]
fn mariadb_makes_a_version_only_of_what_changes() {
    let program = program();
    let others: [(&str, &[i64], Option<Abort>); 3] = [
        ("set", &[1, 0], None),
        ("set", &[1, 5], Some(Abort::Serialization)),
        ("remove", &[1], Some(Abort::Serialization)),
    ];
    for (other, arguments, expected) in others {
        let instances: &[(&str, &[i64])] = &[("increment", &[1]), (other, arguments)];
        let scenario = scenario(&program, instances, "0.0 1.0 1.c 0.1 0.c");
        let (play, _) = played(&program, &scenario, Engine::MariaSnapshot);
        assert_eq!(reason(&play, 0), expected, "{other} {arguments:?}");
    }
}

/// The unique key (room, place) serves the foreign key of room: a new place looks at the room again,
/// which has changed since the snapshot. MariaDB 10.11 does the same.
#[test]
fn mariadb_looks_at_the_parent_when_the_index_of_its_key_changes() {
    let text = "create table room (id int primary key, free int not null);
        create table seat (id int primary key, room int references room (id), place int, unique (room, place));
        transaction change(k int, place int)
          select place from seat where id = :k;
          update seat set place = :place where id = :k;
        end;
        transaction free(r int)
          update room set free = free + 1 where id = :r;
        end;";
    let program = read_sql_file(text, "rooms.sql", None).expect("a program");
    for (place, expected) in [(9, Some(Abort::Serialization)), (4, None)] {
        let instances: &[(&str, &[i64])] = &[("change", &[7, place]), ("free", &[1])];
        let mut scenario = scenario(&program, instances, "0.0 1.0 1.c 0.1 0.c");
        let row = |table: u32, values: &[i64]| StoredRow {
            table: TableId(table),
            values: values.iter().map(|one| Value::Integer(*one)).collect(),
        };
        scenario.rows = vec![row(0, &[1, 0]), row(1, &[7, 1, 4])];
        let (play, _) = played(&program, &scenario, Engine::MariaSnapshot);
        assert_eq!(reason(&play, 0), expected, "place {place}");
    }
}

/// What a primary key serves is looked up before the row of that key, and stays locked though nothing is inserted: the
/// second to add a mark waits for the first with a lock on its user, whom the first then wants to change. MariaDB 10.11
/// does the same.
#[test]
fn an_insert_of_mariadb_locks_the_parent_before_it_meets_its_row() {
    let text = "create table person (id int primary key, seen int not null);
        create table mark (person int references person (id), page int, primary key (person, page));
        transaction add(u int, p int)
          insert into mark values (:u, :p) on conflict do nothing;
          update person set seen = seen + 1 where id = :u;
        end;";
    let program = read_sql_file(text, "marks.sql", None).expect("a program");
    let instances: &[(&str, &[i64])] = &[("add", &[1, 7]), ("add", &[1, 7])];
    let mut scenario = scenario(&program, instances, "0.0 1.0 0.1 1.1 0.c 1.c");
    scenario.rows.truncate(1);
    for engine in [Engine::PostgresReadCommitted, Engine::MariaReadCommitted] {
        let (play, _) = played(&program, &scenario, engine);
        let expected = (!engine.is_postgres()).then_some(Abort::Deadlock);
        assert_eq!(reason(&play, 1), expected, "{}", engine.name());
    }
}

#[test]
fn two_inserts_that_find_their_row_share_its_lock() {
    let program = program();
    let instances: &[(&str, &[i64])] = &[("keep", &[1]), ("keep", &[1])];
    let scenario = scenario(&program, instances, "0.0 1.0 0.c 1.c");
    let (play, _) = played(&program, &scenario, Engine::MariaReadCommitted);
    assert!(play.runs.iter().all(|run| run.waits.is_empty()));
}

/// MariaDB takes no snapshot for a transaction that only writes, so nothing is behind of it; with one, a row that is
/// gone counts, also where it was waited for. MariaDB 10.11 does the same.
#[test]
fn mariadb_has_no_snapshot_before_the_first_plain_read() {
    let text = "create table t (id int primary key, v int not null);
        transaction clear(a int, b int)
          delete from t where id = :a;
          update t set v = v + 1 where id = :b;
        end;
        transaction look_and_clear(a int, b int)
          select v from t where id = :b;
          delete from t where id = :a;
        end;";
    let program = read_sql_file(text, "clear.sql", None).expect("a program");
    let cases: [(&str, &str, Option<Abort>); 3] = [
        ("clear", "0.b 0.0 1.b 1.0 0.1 0.c 1.1 1.c", None),
        (
            "clear",
            "0.b 1.b 0.0 1.0 0.1 0.c 1.1 1.c",
            Some(Abort::Serialization),
        ),
        (
            "look_and_clear",
            "1.0 0.0 1.1 0.1 0.c 1.c",
            Some(Abort::Serialization),
        ),
    ];
    for (second, order, expected) in cases {
        let instances: &[(&str, &[i64])] = &[("clear", &[1, 2]), (second, &[1, 2])];
        let mut scenario = scenario(&program, instances, order);
        scenario.rows.truncate(2);
        let (play, _) = played(&program, &scenario, Engine::MariaSnapshot);
        assert_eq!(play.runs[1].waits.len(), 1, "{second}: {order}");
        assert_eq!(reason(&play, 1), expected, "{second}: {order}");
    }
}
