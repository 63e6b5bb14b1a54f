//! Recorded logs, read and printed.

use program::{Program, read_log, schema_of};

const TABLES: &str = "create table acct (id int primary key, owner text, bal int);";

fn check(log: &str) -> Program {
    let schema = match schema_of(TABLES, "acct.sql") {
        Ok((schema, _)) => schema,
        Err(error) => panic!("{error}"),
    };
    match read_log(log, "db.log", Some(&schema)) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn printed(program: &Program) -> String {
    let all = program.to_string();
    let at = all.find("\n\n").map_or(0, |at| at + 2);
    all[at..].to_string()
}

const EXPECTED: &str = "\
select_acct-update_acct(p1 int, p2 int) × 2
  s1 = select {bal} of acct where id = p1 -> (bal)
  s2 = update acct set bal = p2 where id = p1

update_acct(p1 int, p2 int)
  s1 = update acct set bal = (bal + p1) where id = p2
";

#[test]
fn postgres_lines_are_grouped_by_session() {
    let log = "\
2024-05-01 10:00:00 UTC 66321a00.3e8 0 LOG:  statement: BEGIN
2024-05-01 10:00:00 UTC 66321a00.3e9 0 LOG:  statement: begin;
2024-05-01 10:00:01 UTC 66321a00.3e8 0 LOG:  statement: select bal from acct
\twhere id = 5
2024-05-01 10:00:01 UTC 66321a00.3e9 0 LOG:  execute <unnamed>: select bal from acct where id = $1
2024-05-01 10:00:01 UTC 66321a00.3e9 0 DETAIL:  parameters: $1 = '7'
2024-05-01 10:00:02 UTC 66321a00.3e8 7 LOG:  statement: update acct set bal = 5 where id = 5
2024-05-01 10:00:02 UTC 66321a00.3e9 8 LOG:  statement: update acct set bal = 20 where id = 7
2024-05-01 10:00:02 UTC 66321a00.3e9 8 LOG:  statement: commit
2024-05-01 10:00:02 UTC 66321a00.3e8 7 LOG:  statement: COMMIT
2024-05-01 10:00:03 UTC 66321a00.3e8 0 LOG:  statement: update acct set bal = bal + 3 where id = 9
2024-05-01 10:00:04 UTC 66321a00.3e8 0 LOG:  statement: begin
2024-05-01 10:00:04 UTC 66321a00.3e8 9 LOG:  statement: delete from acct where id = 1
2024-05-01 10:00:04 UTC 66321a00.3e8 9 LOG:  statement: rollback
";
    let program = check(log);
    assert!(
        printed(&program).starts_with(EXPECTED),
        "{}",
        printed(&program)
    );
}

#[test]
fn postgres_csv_is_read() {
    let line = |session: &str, message: &str, detail: &str| {
        format!(
            "2024-05-01 10:00:00.000 UTC,\"app\",\"db\",1000,\"[local]\",{session},1,\"X\",2024-05-01 UTC,3/7,0,LOG,00000,\"{message}\",\"{detail}\",,,,,,,,\"app\",\"client backend\",,0\n"
        )
    };
    let mut log = String::new();
    for (session, id, new) in [("a.1", 5, 5), ("b.2", 7, 20)] {
        log.push_str(&line(session, "statement: begin", ""));
        let select = "execute s: select bal from acct where id = $1";
        log.push_str(&line(session, select, &format!("parameters: $1 = '{id}'")));
        let update = format!("statement: update acct set bal = {new} where id = {id}");
        log.push_str(&line(session, &update, ""));
        log.push_str(&line(session, "statement: commit", ""));
    }
    log.push_str(&line(
        "a.1",
        "statement: update acct set bal = bal + 3 where id = 9",
        "",
    ));
    assert_eq!(printed(&check(&log)), EXPECTED);
}

#[test]
fn a_general_log_is_read() {
    let log = "\
/usr/sbin/mysqld, Version: 8.0.36. started with:
Time                 Id Command    Argument
2024-05-01T10:00:00.000001Z\t   12 Connect\tapp@localhost on db
2024-05-01T10:00:00.000001Z\t   12 Query\tSET autocommit=0
2024-05-01T10:00:00.000001Z\t   12 Query\tselect bal from acct
where id = 5
2024-05-01T10:00:00.000001Z\t   13 Query\tSTART TRANSACTION
2024-05-01T10:00:00.000001Z\t   13 Execute\tselect bal from acct where id = 7
2024-05-01T10:00:00.000001Z\t   12 Query\tupdate acct set bal = 5 where id = 5
2024-05-01T10:00:00.000001Z\t   12 Query\tcommit
2024-05-01T10:00:00.000001Z\t   13 Execute\tupdate acct set bal = 20 where id = 7
2024-05-01T10:00:00.000001Z\t   13 Query\tcommit
2024-05-01T10:00:00.000001Z\t   13 Query\tupdate acct set bal = bal + 3 where id = 9
2024-05-01T10:00:00.000001Z\t   13 Quit\t
";
    assert_eq!(printed(&check(log)), EXPECTED);
}

#[test]
fn logs_that_say_nothing_are_refused() {
    for log in [
        "",
        "nothing here\n",
        "2024 LOG:  database system is ready\n",
    ] {
        let error = read_log(log, "db.log", None).expect_err("an error");
        assert!(error.to_string().contains("no SQL statement"), "{error}");
    }
}
