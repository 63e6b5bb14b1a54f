//! Published programs searched: everything is decided, the same way each time.

use program::analysis::{Analysis, Options, analyse};
use program::{JavaFile, Program, StoreLevel, read_java, read_sql_file, schema_of};
use std::time::Duration;

fn program(name: &str) -> Program {
    let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the program is in the repository");
    match read_sql_file(&text, name, None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn searched(name: &str, level: StoreLevel) -> Analysis {
    let options = Options {
        levels: vec![level],
        ..Options::default()
    };
    analyse(&program(name), &options)
}

/// Splitting without learning left 40 of its cycles undecided.
#[test]
fn small_bank_is_decided_on_a_weak_store() {
    let analysis = searched("smallbank-ported", StoreLevel::Eventual);
    let counts = &analysis.counts;
    assert!(analysis.scope.decided, "{counts:?}");
    assert_eq!((counts.cycles, counts.external), (500, 84));
    assert_eq!(counts.anomalies + counts.benign, 209, "{counts:?}");
}

#[test]
fn twitter_has_the_published_number_of_anomalies() {
    let analysis = searched("twitter-ported", StoreLevel::Eventual);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    assert_eq!(analysis.anomalies.len(), 2, "{:?}", analysis.counts);
}

#[test]
fn the_answer_does_not_depend_on_who_is_first() {
    let first = searched("twitter-ported", StoreLevel::Eventual);
    let second = searched("twitter-ported", StoreLevel::Eventual);
    assert_eq!(first, second);
}

#[test]
fn nothing_is_tried_when_the_time_is_over() {
    let options = Options {
        levels: vec![StoreLevel::Eventual],
        time: Some(Duration::ZERO),
        ..Options::default()
    };
    let analysis = analyse(&program("smallbank-ported"), &options);
    assert!(!analysis.scope.decided);
    assert_eq!(analysis.anomalies.len(), 0);
    assert!(analysis.counts.untried > 400, "{:?}", analysis.counts);
}

#[test]
fn the_bounds_are_said() {
    let analysis = searched("twitter-ported", StoreLevel::Eventual);
    let bounds = analysis.bounds();
    let rows = format!("up to {} rows", analysis.scope.rows);
    assert!(bounds.contains(&rows), "{bounds}");
    let met = analysis.counts.not_followed > 0;
    assert_eq!(bounds.contains("Met, of the cycles"), met, "{bounds}");
}

/// An element beyond the end of a list was any value to the solver and NULL to a play: what was found could not be
/// played, and the cycle stayed undecided.
#[test]
fn an_element_beyond_the_end_of_a_list_is_null() {
    let tables = "create table t (id int primary key, v int not null, b int not null);";
    let (schema, _) = schema_of(tables, "t.sql").expect("tables");
    let counts = |test: &str| {
        let text = format!(
            "public class Add extends Procedure {{
               public void run(Connection conn, int id, int[] bs) throws SQLException {{
                 PreparedStatement one = conn.prepareStatement(\"select v from t where id = ?\");
                 one.setInt(1, id);
                 ResultSet rows = one.executeQuery();
                 rows.next();
                 int v = rows.getInt(1);
                 if ({test}) {{
                   PreparedStatement two =
                     conn.prepareStatement(\"update t set v = ?, b = ? where id = ?\");
                   two.setInt(1, v + 1);
                   two.setInt(2, bs[0]);
                   two.setInt(3, id);
                   two.executeUpdate();
                 }}
               }}
             }}"
        );
        let file = JavaFile {
            name: "Add.java",
            text: &text,
        };
        let options = Options {
            levels: vec![StoreLevel::ReadCommitted],
            ..Options::default()
        };
        let program = read_java(&[file], &schema).expect("it reads");
        analyse(&program, &options).counts
    };
    let none = counts("bs.length == 0");
    assert_eq!((none.anomalies, none.undecided), (0, 0), "{none:?}");
    assert!(none.infeasible > 0, "{none:?}");
    let some = counts("bs.length == 1");
    assert_eq!(some.undecided, 0, "{some:?}");
    assert!(some.anomalies > 0, "{some:?}");
}
