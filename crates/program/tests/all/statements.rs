//! Single SQL statements: which rows they reach and which columns they touch.

use program::{Part, Reach, Schema, read_sql_file};

const TABLES: &str = "
create table a (k int primary key, x int, y int, name text);
create table b (k int, n int, x int, primary key (k, n), unique (x));
";

/// Each part: its reach, and what it reads and writes.
fn check(sql: &str, expected: &[&str]) {
    let text = format!("{TABLES} transaction t(p int, q int, some list) {sql}; end;");
    let program = match read_sql_file(&text, "t.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{sql}: {error}"),
    };
    let statement = program.transactions[0].statements()[0];
    let found: Vec<String> = statement
        .parts
        .iter()
        .map(|part| described(part, &program.schema))
        .collect();
    assert_eq!(found, expected, "{sql}");
}

fn described(part: &Part, schema: &Schema) -> String {
    let table = schema.table(part.table);
    let reach = match part.reach(schema) {
        Reach::Key(_) => "key",
        Reach::Unique(_) => "unique",
        Reach::Predicate => "predicate",
        Reach::Fresh => "fresh",
    };
    let names = |set: program::ColumnSet| -> String {
        let mut names: Vec<&str> = set.columns.iter().map(|c| table.column_name(*c)).collect();
        if set.exists {
            names.push("!");
        }
        names.join(" ")
    };
    let (reads, writes) = (names(part.reads(schema)), names(part.writes(schema)));
    format!("{} {reach} r({reads}) w({writes})", table.name)
}

#[test]
fn lookups_by_key_do_not_read_the_key() {
    check("select x from a where k = :p", &["a key r(x !) w()"]);
    check(
        "select x from a where k = :p and y > 3",
        &["a key r(x y !) w()"],
    );
    check("select k from b where x = :p", &["b unique r(k x !) w()"]);
    check("select k from b where k = :p", &["b predicate r(k !) w()"]);
    check(
        "select x from a where k = :p or k = :q",
        &["a predicate r(k x !) w()"],
    );
    check("select x from a where k in (:p)", &["a key r(x !) w()"]);
    check(
        "select x from a where k in (:some)",
        &["a predicate r(k x !) w()"],
    );
    check(
        "select x from a where k = any (:some)",
        &["a predicate r(k x !) w()"],
    );
    check(
        "select count(*) from a where x between 1 and :p",
        &["a predicate r(x !) w()"],
    );
    check(
        "select * from a where k = :p for update",
        &["a key r(k x y name !) w()"],
    );
}

#[test]
fn updates_read_what_they_compute_from() {
    check(
        "update a set x = x + :p where k = :q",
        &["a key r(x !) w(x)"],
    );
    check("update a set x = :p where k = :q", &["a key r(!) w(x)"]);
    check(
        "update a set x = 1 where name like 'z%'",
        &["a predicate r(name !) w(x)"],
    );
    check(
        "update a set x = case when y > 0 then x else 0 end where k = :p",
        &["a key r(x y !) w(x)"],
    );
    check(
        "delete from a where k = :p",
        &["a key r(!) w(k x y name !)"],
    );
}

#[test]
fn inserts_know_their_key() {
    check(
        "insert into a values (:p, 1, 2, 'n')",
        &["a key r() w(k x y name !)"],
    );
    check(
        "insert into a (x) values (:p)",
        &["a fresh r() w(k x y name !)"],
    );
    check(
        "insert into a (k, x) values (:p, 1) on conflict (k) do update set x = a.x + excluded.x",
        &["a key r(x !) w(k x y name !)"],
    );
    check(
        "insert into a (k, x) values (:p, 1) on duplicate key update x = x + values(x)",
        &["a key r(x !) w(k x y name !)"],
    );
    check(
        "insert ignore into a (k) values (:p)",
        &["a key r(!) w(k x y name !)"],
    );
    check(
        "replace into a (k) values (:p)",
        &["a key r(!) w(k x y name !)"],
    );
    check(
        "insert into a (k, x) select n, x from b where k = :p",
        &["b predicate r(k n x !) w()", "a key r() w(k x y name !)"],
    );
}

#[test]
fn joins_look_up_by_key_what_they_can() {
    check(
        "select a.x from b, a where a.k = b.x and b.k = :p and b.n = :q",
        &["b key r(x !) w()", "a key r(x !) w()"],
    );
    check(
        "select a.x from a join b on b.x = a.k where b.k = :p and b.n = 1",
        &["a key r(x !) w()", "b key r(x !) w()"],
    );
    check(
        "select x from a where k in (select n from b where k = :p)",
        &["a key r(x !) w()", "b predicate r(k n !) w()"],
    );
    check(
        "select x from a where exists (select 1 from b where b.k = a.k and b.n = 1)",
        &["a predicate r(k x !) w()", "b key r(!) w()"],
    );
    check(
        "update a set x = 0 where k = (select max(n) from b where k = :p)",
        &["a key r(!) w(x)", "b predicate r(k n !) w()"],
    );
    check(
        "with w as (select n from b where k = :p) select a.x from a, w where a.k = w.n",
        &["a key r(x !) w()", "b predicate r(k n !) w()"],
    );
}

#[test]
fn what_a_write_returns_is_read_unless_it_set_it() {
    let read = |sql: &str| -> String {
        let text = format!("{TABLES} transaction t(p int) {sql}; end;");
        let program = read_sql_file(&text, "t.sql", None).expect("a program");
        let statement = program.transactions[0].statements()[0];
        let reads = statement.reads(&program.schema);
        let table = program.schema.table(reads[0].0);
        let names: Vec<&str> = reads[0]
            .1
            .columns
            .iter()
            .map(|column| table.column_name(*column))
            .collect();
        names.join(" ")
    };
    assert_eq!(read("update a set x = 1 where k = :p returning y"), "y");
    assert_eq!(read("update a set x = 1 where k = :p returning x"), "");
    assert_eq!(read("update a set x = x + 1 where k = :p returning x"), "x");
    assert_eq!(read("delete from a where k = :p returning name"), "name");
}
