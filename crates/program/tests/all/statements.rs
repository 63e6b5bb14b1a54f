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

/// What a statement is refused for.
fn refused(sql: &str) -> String {
    let text = format!("{TABLES} transaction t(p int, q int, some list) {sql}; end;");
    match read_sql_file(&text, "t.sql", None) {
        Ok(_) => panic!("{sql} is read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn queries_before_a_write_and_writes_as_queries() {
    check(
        "with picked as (select k from a where y = :p for update) \
         update a set x = :q from picked where a.k = picked.k",
        &["a key r(!) w(x)", "a predicate r(k y !) w()"],
    );
    check(
        "with done as (update a set x = x + :q where k = :p returning x, y) select y, x from done",
        &["a key r(x !) w(x)"],
    );
    check(
        "with gone as (delete from b where k = :p and n = :q returning x) select * from gone",
        &["b key r(!) w(k n x !)"],
    );
    for sql in [
        "with done as (update a set x = 1 where k = :p returning x) select x from done where x > 1",
        "with done as (update a set x = 1 where k = :p returning x) select count(x) from done",
        "with gone as (delete from a where k = :p returning k) insert into b (k, n) select k, 1 from gone",
    ] {
        assert!(
            refused(sql).contains("a WITH that writes"),
            "{}",
            refused(sql)
        );
    }
}

#[test]
fn clauses_of_other_dialects_are_named() {
    let told = refused("select x from a where k = :p connect by prior k = x");
    assert!(told.contains("CONNECT BY is not supported"), "{told}");
}

#[test]
fn an_upsert_sets_the_columns_that_it_names() {
    check(
        "upsert into a (k, x) values (:p, :q)",
        &["a key r(!) w(k x y name !)"],
    );
    let same = "insert into a (k, x) values (:p, :q) on conflict (k) do update set x = excluded.x";
    check(same, &["a key r(!) w(k x y name !)"]);
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
    let with =
        "with done as (update a set x = 1 where k = :p returning x, y) select y, x from done";
    assert_eq!(read(with), "y");
}

#[test]
fn a_merge_of_one_row_is_an_upsert() {
    let plain = "insert into a (k, x) values (:p, :q)";
    let same = [
        (
            format!("{plain} on conflict (k) do update set x = a.x + 1"),
            "when matched then update set x = t.x + 1 \
             when not matched then insert (k, x) values (s.k, s.x)",
        ),
        (
            format!("{plain} on conflict do nothing"),
            "when not matched then insert (k, x) values (s.k, s.x)",
        ),
        (
            "update a set x = :q where k = :p".to_string(),
            "when matched then update set x = s.x",
        ),
    ];
    let sources = [
        "using (values (:p, :q)) as s (k, x)",
        "using (select :p as k, :q as x) s",
        "using (select :p as k, :q as x from dual) s",
    ];
    for (sql, clauses) in &same {
        let expected = actions(sql).expect("read");
        for source in sources {
            let merge = format!("merge into a as t {source} on t.k = s.k {clauses}");
            assert_eq!(actions(&merge).expect("read"), expected, "{merge}");
        }
    }
}

#[test]
fn a_merge_that_is_more_than_one_row_is_refused_with_advice() {
    let values = "using (values (:p, :q)) as s (k, x)";
    let insert = "when not matched then insert (k, x) values (s.k, s.x)";
    let refused = [
        // Another key than the one it inserts, a condition besides the key, no key at all.
        format!("merge into a as t {values} on t.k = s.x {insert}"),
        format!("merge into a as t {values} on t.k = s.k and t.y = 1 {insert}"),
        format!("merge into a as t {values} on t.x = s.x {insert}"),
        // Many rows, rows of a table, rows that go.
        format!("merge into a as t using b as s on t.k = s.k {insert}"),
        format!("merge into a as t using (select k, x from b) s on t.k = s.k {insert}"),
        format!("merge into a as t {values} on t.k = s.k when matched then delete"),
        format!("merge into a as t {values} on t.k = s.k when matched and t.x = 1 then delete"),
    ];
    for merge in refused {
        let error = actions(&merge).expect_err(&merge);
        assert!(error.contains("MERGE is not supported"), "{error}");
        assert!(error.contains("one row of values"), "{error}");
    }
}

/// What a statement does, or why it is not read.
fn actions(sql: &str) -> Result<Vec<String>, String> {
    let text = format!("{TABLES} transaction t(p int, q int, some list) {sql}; end;");
    let program = read_sql_file(&text, "t.sql", None).map_err(|error| error.to_string())?;
    let parts = &program.transactions[0].statements()[0].parts;
    let shown = parts
        .iter()
        .map(|part| format!("{:?} {:?}", part.filter, part.action));
    Ok(shown.collect())
}

#[test]
fn long_sums_are_read_and_endless_ones_refused() {
    let sum = |terms: usize| {
        format!(
            "update a set x = {} where k = :p",
            vec!["y"; terms].join(" + ")
        )
    };
    check(&sum(250), &["a key r(y !) w(x)"]);
    let error = actions(&sum(500)).expect_err("too long");
    assert!(error.contains("a sum of more than"), "{error}");
}
