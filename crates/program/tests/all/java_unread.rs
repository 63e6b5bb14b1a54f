//! Java of which something is not read: where that is a query it matters only if somebody writes.

use program::robust::{Level, RobustOptions, check_at};
use program::{JavaFile, NoteKind, Program, read_java, schema_of};

const TABLES: &str = "create table part (id int primary key, a int, b int, c int);";

fn read(text: &str) -> Program {
    let (schema, _) = schema_of(TABLES, "parts.sql").expect("tables");
    let file = JavaFile {
        name: "Parts.java",
        text,
    };
    match read_java(&[file], &schema) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn kinds(program: &Program) -> Vec<NoteKind> {
    let kinds = program.notes.iter().map(|note| note.kind);
    let serious = kinds.filter(|kind| !matches!(kind, NoteKind::Value | NoteKind::Boundary));
    serious.collect()
}

fn is_robust(program: &Program) -> bool {
    check_at(program, Level::ReadCommitted, &RobustOptions::default()).is_robust()
}

/// A procedure that executes these texts one after the other.
fn procedure(name: &str, texts: &[&str]) -> String {
    let mut body = String::new();
    for text in texts {
        body += &format!("conn.createStatement().execute(\"{text}\");\n");
    }
    format!(
        "public class {name} extends Procedure {{
           public void run(Connection conn) throws SQLException {{ {body} }}
         }}\n"
    )
}

#[test]
fn queries_of_tables_that_are_not_known_do_not_matter_where_nobody_writes() {
    let report = procedure("Report", &["select sum(x) from elsewhere, part"]);
    let alone = read(&report);
    assert_eq!(kinds(&alone), [NoteKind::Unread]);
    assert_eq!(alone.left_out(), 0);
    assert!(is_robust(&alone));

    let writer = procedure("Change", &["update part set a = 1 where id = 1"]);
    let both = read(&format!("{report}{writer}"));
    assert_eq!(both.left_out(), 1);
    assert!(!is_robust(&both));
}

#[test]
fn what_is_left_out_and_may_write_stays_left_out() {
    for text in [
        "with x as (delete from elsewhere returning *) select * from x",
        "select * into other from elsewhere",
        "select nextval('elsewhere')  from elsewhere",
        "select * from elsewhere for update",
        "update elsewhere set x = 1",
        "select 1 from elsewhere; drop table elsewhere",
    ] {
        let program = read(&procedure("Report", &[text]));
        assert_eq!(kinds(&program), [NoteKind::LeftOut], "{text}");
        assert!(!is_robust(&program), "{text}");
    }
}

#[test]
fn a_view_changes_no_row() {
    let program = read(&procedure(
        "Report",
        &[
            "create or replace view total (id, x) as select id, sum(a) from part group by id",
            "select * from total",
            "drop view total",
        ],
    ));
    let found = kinds(&program);
    assert_eq!(found.len(), 3, "{:?}", program.notes);
    assert!(!found.contains(&NoteKind::LeftOut), "{:?}", program.notes);
    assert!(is_robust(&program));
}

#[test]
fn a_procedure_that_does_nothing_misses_nothing_and_one_that_calls_does() {
    let nothing = "public class Test extends Procedure { public void run(Connection conn) {} }";
    let program = read(nothing);
    assert_eq!(kinds(&program), [NoteKind::Statement]);
    assert!(is_robust(&program));

    let calls =
        "public class Test extends Procedure { public void run(Connection conn) { go(conn); } }";
    let program = read(calls);
    assert!(kinds(&program).contains(&NoteKind::LeftOut));
    assert!(!is_robust(&program));
}

#[test]
fn a_text_put_together_in_an_initializer_is_known() {
    let program = read(
        "public class Fill extends Procedure {
           static final int COLUMNS = 3;
           static final String[] NAMES = {};
           public final SQLStmt fill;
           {
             String sql = \"UPDATE part SET %s WHERE id >= ? AND id < ?\";
             String columns = \"\";
             for (int col = 1; col <= COLUMNS; ++col) {
               columns = columns + (col > 1 ? \",\" : \"\") + \" a\" + \"=?\";
             }
             String more = \"\";
             for (int col = 0; col < 2; col++) { more = more + (col == 0 ? \"b\" : \"=c\"); }
             this.fill = new SQLStmt(String.format(sql, columns + \", \" + more));
           }
           public void run(Connection conn, int from, int to) throws SQLException {
             PreparedStatement stmt = this.getPreparedStatement(conn, fill);
             stmt.setInt(4, from);
             stmt.setInt(5, to);
             stmt.executeUpdate();
           }
         }",
    );
    let statements = program.transactions[0].statements();
    let texts: Vec<&str> = statements.iter().map(|one| one.sql.as_str()).collect();
    let wanted = "UPDATE part SET a=?, a=?, a=?, b=c WHERE id >= ? AND id < ?";
    assert_eq!(texts, [wanted], "{:?}", program.notes);
    assert_eq!(program.left_out(), 0);
}
