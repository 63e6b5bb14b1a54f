//! What servers do about rows that a snapshot does not show, by which index and key they are looked for.

use crate::engines::{played, program, reason, scenario};
use program::{Abort, Appearance, Engine, Scenario, StoredRow, TableId, Value, read_sql_file};

/// An update by a whole primary key goes by the index of a foreign key or a unique key where the condition
/// fixes a column that one begins with, and does not meet a row that is gone. MariaDB 10.11 does the same.
#[test]
fn mariadb_does_not_meet_what_is_gone_from_another_index() {
    let keys: [(&str, &str, Option<Abort>); 5] = [
        (
            "primary key (id, owner)",
            "id = :k and owner = 1",
            Some(Abort::Serialization),
        ),
        (
            "primary key (id, owner), foreign key (owner) references person (id)",
            "id = :k and owner = 1",
            None,
        ),
        (
            "primary key (owner, id), foreign key (owner) references person (id)",
            "id = :k and owner = 1",
            Some(Abort::Serialization),
        ),
        (
            "primary key (id), foreign key (owner) references person (id)",
            "id = :k",
            Some(Abort::Serialization),
        ),
        ("primary key (id), unique (owner, v)", "owner = 1", None),
    ];
    for (key, condition, expected) in keys {
        let text = format!(
            "create table person (id int primary key);
            create table thing (id int, owner int, v int not null, {key});
            transaction look_and_change(k int)
              select v from thing where id = :k;
              update thing set v = 5 where {condition};
            end;
            transaction remove(k int)
              delete from thing where id = :k;
            end;"
        );
        let program = read_sql_file(&text, "things.sql", None).expect("a program");
        let instances: &[(&str, &[i64])] = &[("look_and_change", &[7]), ("remove", &[7])];
        let mut scenario = scenario(&program, instances, "0.0 1.0 1.c 0.1 0.c");
        let row = |table: u32, values: &[i64]| StoredRow {
            table: TableId(table),
            values: values.iter().map(|one| Value::Integer(*one)).collect(),
        };
        scenario.rows = vec![row(0, &[1]), row(1, &[7, 1, 4])];
        let (play, _) = played(&program, &scenario, Engine::MariaSnapshot);
        assert_eq!(reason(&play, 0), expected, "{key}: {condition}");
    }
}

/// PostgreSQL 15 at repeatable read: `insert or update on table "child" violates foreign key constraint`.
#[test]
fn a_parent_must_be_there_on_the_snapshot_of_postgresql() {
    let program = program();
    let instances: [(&str, &[i64]); 2] = [("look_and_bear", &[7, 5]), ("put", &[5])];
    let late = scenario(&program, &instances, "0.0 1.0 1.c 0.1 0.c");
    for (engine, refused) in [
        (Engine::PostgresReadCommitted, false),
        (Engine::PostgresRepeatableRead, true),
        (Engine::PostgresSerializable, true),
        (Engine::MariaRepeatableRead, false),
    ] {
        let (play, _) = played(&program, &late, engine);
        let wanted = refused.then_some(Abort::Statement);
        assert_eq!(reason(&play, 0), wanted, "{engine:?}");
    }
}

/// Two that count the same rows and each add one: serializable keeps them apart, also where the database chooses
/// the key of what is added. MariaDB 10.11 ends one of them for a deadlock.
#[test]
fn a_row_whose_key_the_database_chooses_waits_for_the_gap_that_is_locked() {
    for key in ["id serial primary key", "id int auto_increment primary key"] {
        let text = format!(
            "create table entry ({key}, account int not null);
            transaction add(a int)
              select count(*) into :n from entry where account = :a;
              if :n < 1 then
                insert into entry (account) values (:a);
              end if;
            end;"
        );
        let program = read_sql_file(&text, "entries.sql", None).expect("a program");
        let instances: &[(&str, &[i64])] = &[("add", &[7]), ("add", &[7])];
        let scenario = Scenario {
            rows: Vec::new(),
            ..scenario(&program, instances, "0.0 1.0 0.1 1.1 0.c 1.c")
        };
        let (_, shown) = played(&program, &scenario, Engine::MariaSerializable);
        assert_eq!(shown, Appearance::PreventedByAbort, "{key}");
        let (_, shown) = played(&program, &scenario, Engine::MariaReadCommitted);
        assert_eq!(shown, Appearance::Manifested, "{key}");
    }
}
