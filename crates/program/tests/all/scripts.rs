//! Scripts of psql and pgbench, and SQL that is read with a note.

use program::analysis::{Options, analyse};
use program::robust::{Level, RobustOptions, check_at};
use program::{NoteKind, Program, SourceFile, StoreLevel, read_sources, read_sql_file};

fn read(text: &str) -> Program {
    match read_sql_file(text, "dir/bank.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

const TABLES: &str = "create table acc (id int primary key, bal int not null, note text);\n";

#[test]
fn what_stands_between_begin_and_commit_is_a_transaction() {
    let program = read(&format!(
        "{TABLES}\\set ON_ERROR_STOP on
insert into acc values (1, 2, 'seed');
-- move money
BEGIN ISOLATION LEVEL REPEATABLE READ;
select bal, note as why from acc where id = :src \\gset
update acc set bal = :bal - :amount, note = :'why' where id = :src;
\\if :urgent
update acc set bal = bal + :amount where id = :dst;
\\endif
COMMIT;
start transaction;
select bal from acc where id = 1 \\gset old_
update acc set bal = :old_bal + 1 where id = 1;
rollback;
"
    ));
    let text = program.to_string();
    let names: Vec<&str> = program
        .transactions
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names, ["move_money", "bank_1"], "{text}");
    let first = &program.transactions[0];
    let parameters: Vec<&str> = first.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(parameters, ["src", "amount", "urgent", "dst"], "{text}");
    assert_eq!(first.level.as_deref(), Some("repeatable read"));
    assert_eq!(first.place.line, 5);
    assert!(text.contains("note = why"), "{text}");
    assert!(text.contains("old_bal := s1[0].bal"), "{text}");
    assert!(text.contains("abort"), "{text}");
    let notes: Vec<String> = program.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("dir/bank.sql:3:1"), "{notes:?}");
}

#[test]
fn a_script_of_pgbench_needs_no_tables_of_its_own() {
    let tables = SourceFile {
        name: "ddl.sql",
        text: TABLES,
    };
    let script = SourceFile {
        name: "select.sql",
        text: "\\set aid random(1, 1000)\n\
               select bal from acc where id = :aid;\n\
               update acc set bal = 0 where id = :aid;\n",
    };
    let program = read_sources(&[tables, script]).expect("it reads");
    let names: Vec<&str> = program
        .transactions
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names, ["select_1", "select_2"]);
    assert_eq!(program.transactions[1].parameters[0].name, "aid");
}

#[test]
fn what_cannot_be_read_in_a_script_has_its_line() {
    let text = format!("{TABLES}begin;\nselect bal\n  frm acc where id = :a;\ncommit;\n");
    let error = read_sql_file(&text, "s.sql", None).expect_err("no SQL");
    assert!(error.to_string().starts_with("s.sql:4"), "{error}");
}

#[test]
fn tables_with_seeds_are_no_script() {
    let text = format!("{TABLES}insert into acc values (1, 2, 'x');\n");
    let error = read_sql_file(&text, "s.sql", None).expect_err("nothing runs");
    assert!(error.to_string().contains("insert"), "{error}");
}

#[test]
fn an_upsert_keeps_its_condition() {
    let program = read(&format!(
        "{TABLES}transaction put(k int, v int)
  insert into acc(id, bal) values (:k, :v)
    on conflict (id) do update set bal = excluded.bal where acc.bal < excluded.bal;
end;"
    ));
    let text = program.to_string();
    assert!(text.contains("or set bal = (bal < v ? v : bal)"), "{text}");
}

#[test]
fn a_window_function_reads_and_is_no_aggregate() {
    let program = read(&format!(
        "{TABLES}transaction top(k int)
  select id, sum(bal) over (partition by note) from acc where id > :k;
end;"
    ));
    let text = program.to_string();
    assert!(text.contains("(bal, note)"), "{text}");
    let (understood, notes) = text.split_once("note:").expect("a note");
    assert!(!understood.contains("sum("), "{text}");
    assert!(notes.contains("window function"), "{text}");
}

fn anomalies(body: &str, level: StoreLevel) -> usize {
    let program = read(&format!(
        "{TABLES}transaction add(k int, v int)\n{body}\nend;"
    ));
    let options = Options {
        levels: vec![level],
        ..Options::default()
    };
    let analysis = analyse(&program, &options);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    analysis.anomalies.len()
}

/// A row that is selected for update is nobody else's until the end.
#[test]
fn rows_selected_for_update_are_locked() {
    let select = "select bal into :b from acc where id = :k";
    let update = "update acc set bal = :b + :v where id = :k;";
    let level = StoreLevel::ReadCommitted;
    assert!(anomalies(&format!("{select}; {update}"), level) > 0);
    let locked = format!("{select} for update; {update}");
    assert_eq!(anomalies(&locked, level), 0);
    assert_eq!(anomalies(&locked, StoreLevel::ReadUncommitted), 0);
    // Of locks that are shared there may be two, but then neither can write.
    assert_eq!(
        anomalies(&format!("{select} for share; {update}"), level),
        0
    );
    // The lock of another row does not help.
    let other = format!("select bal into :o from acc where id = :v for update; {select}; {update}");
    assert!(anomalies(&other, level) > 0);
    let first = "select bal into :b from acc where note = 'x' order by id limit 1 for update";
    let first = format!("{first}; update acc set bal = :b + :v where note = 'x' and bal = :b;");
    anomalies(&first, level);
}

/// What a function of the application does is not in the file: nothing is proved with it.
#[test]
fn functions_of_the_application_are_noted_and_forbid_a_proof() {
    let calls = [
        "select transfer_money(:a, :b, 5);",
        "select bal, my_rate(id) from acc where id = :a;",
        "update acc set bal = charge(id, :x) where id = :a;",
    ];
    for call in calls {
        let program = read(&format!("{TABLES}begin;\n{call}\ncommit;\n"));
        let left_out = program
            .notes
            .iter()
            .find(|note| note.kind == NoteKind::LeftOut);
        let told = left_out.map(ToString::to_string).unwrap_or_default();
        assert!(
            told.contains("a function of the application"),
            "{call}: {told}"
        );
        let answer = check_at(&program, Level::ReadCommitted, &RobustOptions::default());
        assert!(!answer.is_robust(), "{call}");
    }
    let known = "select coalesce(bal, 0), lower(note), now(), abs(bal) from acc where id = :a;";
    let program = read(&format!("{TABLES}begin;\n{known}\ncommit;\n"));
    assert_eq!(program.notes, []);
}

/// The clients of PostgreSQL give their scripts other endings; none of them is a log.
#[test]
fn scripts_are_read_whatever_client_named_them() {
    let script = "begin;\nupdate acc set bal = bal + :x where id = :a;\nend;\n";
    for name in ["pay.pgbench", "pay.psql", "pay.pgsql"] {
        let files = [("tables.ddl", TABLES), (name, script)];
        let files = files.map(|(name, text)| SourceFile { name, text });
        let program = read_sources(&files).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(program.transactions.len(), 1, "{name}");
    }
}

/// Beside Java, one table that cannot be read does not take the others along.
#[test]
fn a_table_that_cannot_be_read_is_noted_beside_java() {
    let tables = "create table odd (id int, code as ('T' + right(id, 3)) persisted)\nGO\n\
        create table acc (id int primary key, bal int not null)\nGO\n";
    let java = "class Bank { @Transactional void pay(Connection c, int id) throws SQLException {
        PreparedStatement s = c.prepareStatement(\"update acc set bal = bal + 1 where id = ?\");
        s.setInt(1, id); s.executeUpdate(); } }";
    let files = [("tables.sql", tables), ("Bank.java", java)];
    let files = files.map(|(name, text)| SourceFile { name, text });
    let program = read_sources(&files).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = program
        .schema
        .tables
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(names, ["acc"]);
    let left_out = |note: &&program::Note| note.kind == NoteKind::LeftOut;
    let told = program.notes.iter().find(left_out).map(ToString::to_string);
    assert!(
        told.is_some_and(|told| told.starts_with("tables.sql:1:")),
        "{:?}",
        program.notes
    );
    assert!(read_sources(&files[..1]).is_err());
}
