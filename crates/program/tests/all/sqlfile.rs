//! Transaction files, read and printed.

use program::{Bounds, Printer, Program, read_sql_file};

fn check(text: &str) -> Program {
    match read_sql_file(text, "bank.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn error_of(text: &str) -> String {
    match read_sql_file(text, "bank.sql", None) {
        Ok(program) => panic!("no error, but\n{program}"),
        Err(error) => error.to_string(),
    }
}

const TABLES: &str = "
create table accounts (id int primary key, name text unique, bal int not null);
create table lines (o int, n int, item int references accounts(id), primary key (o, n));
";

fn body(text: &str) -> String {
    let program = check(&format!("{TABLES}{text}"));
    let printed = program.to_string();
    let at = printed.find("\n\n").map_or(0, |at| at + 2);
    printed[at..].to_string()
}

#[test]
fn bindings_branches_and_aborts_are_read() {
    let printed = body(
        "transaction withdraw(who int, amount int)
           select bal into :old from accounts where id = :who for update;
           if not found then abort; end if;
           if :old < :amount then
             rollback;
           elsif :amount > 100 then
             update accounts set bal = bal - :amount - 1 where id = :who;
           else
             update accounts set bal = :old - :amount where id = :who;
           end if;
         end;",
    );
    let expected = "\
withdraw(who int, amount int)
  s1 = select {bal} of accounts where id = who for update -> (bal)
  old := s1[0].bal
  if not (row s1[0])
    abort
  if old < amount
    abort
  else
    if amount > 100
      s2 = update accounts set bal = ((bal - amount) - 1) where id = who
    else
      s3 = update accounts set bal = (old - amount) where id = who
";
    assert_eq!(printed, expected);
}

#[test]
fn loops_over_rows_and_lists_are_read() {
    let printed = body(
        "transaction pay(o int, extra int[])
           for line in select n, item from lines where o = :o order by n loop
             update accounts set bal = bal + 1 where id = :line.item;
           end loop;
           for each id in :extra loop
             delete from accounts where id = :id;
             exit;
           end loop;
           repeat
             insert into lines(o, n) values (:o, 1), (:o, 2);
           end repeat;
         end;",
    );
    let expected = "\
pay(o int, extra list)
  s1 = select {n, item} of lines where o = o -> (n, item) order by n
  for each row of s1 #0
    s2 = update accounts set bal = (bal + 1) where id = s1[*].item
  for each id of extra #1
    s3 = delete accounts where id = id
    break #1
  while any1 #2
    s4 = insert lines {o = o, n = 1} + insert lines {o = o, n = 2}
";
    assert_eq!(printed, expected);
}

#[test]
fn paths_have_rows_by_number_and_no_variables() {
    let text = format!(
        "{TABLES}transaction pay(o int)
           for line in select item from lines where o = :o loop
             update accounts set bal = bal + 1 where id = :line.item;
           end loop;
         end;"
    );
    let program = check(&text);
    let txn = &program.transactions[0];
    let unfolded = txn.paths(&program.schema, Bounds::default());
    assert!(unfolded.complete);
    let lengths: Vec<usize> = unfolded.paths.iter().map(|p| p.statements.len()).collect();
    assert_eq!(lengths, [1, 2, 3]);
    let path = &unfolded.paths[2];
    let printed = Printer::of_path(&program.schema, txn, path).path(path);
    let expected = "  \
  s1 = select {item} of lines where o = o -> (item)
  when row s1[0]
  s2 = update accounts set bal = (bal + 1) where id = s1[0].item
  when row s1[1]
  s3 = update accounts set bal = (bal + 1) where id = s1[1].item
  when not (row s1[2])
  commit
";
    assert_eq!(printed, expected);
}

#[test]
fn mistakes_are_explained_where_they_are() {
    let cases = [
        (
            "transaction t(a int) select bal from account where id = :a; end;",
            "Did you mean accounts?",
        ),
        (
            "transaction t(a int) select ball from accounts where id = :a; end;",
            "Did you mean bal?",
        ),
        (
            "transaction t(a int) select bal from accounts where id = :b; end;",
            "nothing is called :b here\n  There are: a.",
        ),
        (
            "transaction t(a int) select bal from accounts where id = ?; end;",
            "`?` has no value",
        ),
        ("transaction t(a integr) select 1; end;", "no type integr"),
        (
            "transaction t(a int) if :a > 1 then abort; end;",
            "ends with `end if;`",
        ),
        (
            "transaction t(a int) select bal from accounts where id = :a;",
            "not ended",
        ),
        ("select 1;", "outside of any transaction"),
        (
            "transaction t() selec bal from accounts; end;",
            "not SQL that we can read",
        ),
        (
            "transaction t() merge into accounts using lines on (true) when matched then delete; end;",
            "MERGE is not supported",
        ),
        ("transaction t() exit; end;", "outside of any loop"),
        ("", "no transaction in the file"),
    ];
    for (text, expected) in cases {
        let error = error_of(&format!("{TABLES}{text}"));
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.starts_with("bank.sql:"), "{error}");
    }
}

#[test]
fn cut_files_are_refused_without_a_crash() {
    let whole = format!(
        "{TABLES}transaction t(a int, é text[])
           -- a comment; with 'signs'
           select bal, 'x;''y' into :old, :z from accounts where id = :a and name in (:é, $1);
           if not found or (:old + 1 > 3) then abort; elsif :old is null then rollback; else
             for r in select o, n from lines l join accounts b on b.id = l.item loop
               update lines set item = case when :r.n > 2 then 1 else item end where o = :r.o;
             end loop;
           end if;
         end;"
    );
    assert!(read_sql_file(&whole, "t.sql", None).is_ok());
    for (end, _) in whole.char_indices() {
        let _ = read_sql_file(&whole[..end], "t.sql", None);
        let _ = read_sql_file(&whole[end..], "t.sql", None);
        let _ = program::read_log(&whole[..end], "t.log", None);
    }
    let deep = format!(
        "{TABLES}transaction t(a int) {} end;",
        "if :a = 1 then ".repeat(5000)
    );
    assert!(error_of(&deep).contains("nested more than"));
    let long = format!(
        "{TABLES}transaction t(a int) let x = {}1; end;",
        "1 + ".repeat(1000)
    );
    assert!(error_of(&long).contains("a sum of more than"));
    let huge = format!(
        "{TABLES}transaction t(a int) let x = {}1; end;",
        "1 + ".repeat(100_000)
    );
    assert!(error_of(&huge).contains("too long"));
    let many = format!(
        "{TABLES}transaction t(a int) select bal from accounts where {} id = 1; end;",
        "id = 1 or ".repeat(600)
    );
    check(&many);
}

#[test]
fn the_row_of_a_loop_may_be_called_row() {
    let heads = [
        "for row in select n from lines where o = :o loop",
        "for each row in (select n from lines where o = :o) loop",
        "for each row row in select n from lines where o = :o loop",
        "for each in select n from lines where o = :o loop",
    ];
    for head in heads {
        let name = match head.contains("each in") {
            true => "each",
            false => "row",
        };
        let text = format!(
            "create table lines (o int, n int, primary key (o, n));
             transaction t(o int) {head} delete from lines where o = :o and n = :{name}.n; end loop; \
             end;"
        );
        let program = read_sql_file(&text, "t.sql", None);
        let program = program.unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!(program.transactions[0].statements().len(), 2, "{head}");
    }
}
