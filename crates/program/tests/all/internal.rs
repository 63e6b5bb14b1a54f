//! Which anomalies matter to the database: those that leave rows which no serial order leaves.
//!
//! What must hold of every anomaly that is called external, with all kinds of dependencies: the rows
//! at the end of its play are those of some serial order of the same transactions. (Its results are
//! not.) Only where the same transactions have an internal anomaly at that level, the play may be
//! one of that as well.

use crate::plays::Draw;
use program::analysis::{Analysis, Anomaly, Options, analyse};
use program::{
    Bounds, EdgeKind, How, Program, StoreLevel, StoredRow, play, read_sql_file, serial_outcomes,
};
use std::fmt::Write;

fn program(text: &str) -> Program {
    match read_sql_file(text, "internal.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    }
}

const LEVELS: [StoreLevel; 3] = [
    StoreLevel::Eventual,
    StoreLevel::ReadCommitted,
    StoreLevel::Snapshot,
];

fn search(text: &str, level: StoreLevel, external: bool) -> Analysis {
    let options = Options {
        levels: vec![level],
        external,
        ..Options::default()
    };
    let analysis = analyse(&program(text), &options);
    assert!(analysis.scope.decided, "{:?}\n{text}", analysis.counts);
    analysis
}

/// How many anomalies matter to the database, and how many do not, on a weak store.
fn counts(text: &str) -> (usize, usize) {
    let both = search(text, StoreLevel::Eventual, true);
    let internal = both.anomalies.iter().filter(|one| one.internal).count();
    let alone = search(text, StoreLevel::Eventual, false);
    assert_eq!(alone.anomalies.len(), internal, "{text}");
    for anomaly in both.anomalies.iter().filter(|one| !one.internal) {
        assert!(ends_serially(&program(text), anomaly), "{anomaly:#?}");
    }
    (internal, both.anomalies.len() - internal)
}

const SEATS: &str = "
create table seat (id int primary key, taken int not null, colour int not null);
create table booking (id int primary key, who int not null);
";

/// Whether a seat is found depends on who took it, though no value of the seat is used.
#[test]
fn regression_rows_found_by_a_column_that_is_overwritten() {
    for test in ["found", "row_count > 0"] {
        let text = format!(
            "{SEATS}
             transaction book(b int, w int, s int)
               select id from seat where id = :s and taken = 0;
               if {test} then
                 insert into booking values (:b, :w);
                 update seat set taken = 1 where id = :s;
               end if;
             end;"
        );
        let (internal, external) = counts(&text);
        assert!(
            internal > 0 && external == 0,
            "{test}: {internal} {external}"
        );
    }
}

#[test]
fn regression_rows_counted_by_a_column_that_is_overwritten() {
    let text = format!(
        "{SEATS}
         transaction book(b int, w int)
           select count(*) into :free from seat where taken = 0;
           if :free > 0 then
             insert into booking values (:b, :w);
             update seat set taken = 1 where taken = 0;
           end if;
         end;"
    );
    assert!(counts(&text).0 > 0);
}

/// A seat is looked for by what was read before, and only whether there is one matters.
#[test]
fn regression_rows_found_by_a_value_that_is_overwritten() {
    let text = "
        create table setting (id int primary key, row int not null);
        create table seat (id int primary key, taken int not null);
        create table booking (id int primary key, who int not null);
        transaction book(b int, w int)
          select row into :r from setting where id = 1;
          select id from seat where id = :r;
          if found then
            insert into booking values (:b, :w);
            update setting set row = 0 where id = 1;
          end if;
        end;";
    assert!(counts(text).0 > 0);
}

/// What was found decides about a value, not about a statement.
#[test]
fn regression_rows_found_choose_a_value() {
    let text = format!(
        "{SEATS}
         transaction book(b int)
           select id from seat where taken = 0;
           if found then let w = 1; else let w = 2; end if;
           update seat set taken = 1 where taken = 0;
           update booking set who = :w where id = :b;
         end;"
    );
    assert!(counts(&text).0 > 0);
}

/// A read after the last write decides whether that is undone.
#[test]
fn regression_a_read_before_an_abort() {
    let text = format!(
        "{SEATS}
         transaction book(b int, w int, s int)
           update booking set who = :w where id = :b;
           select taken into :t from seat where id = :s;
           if :t = 1 then abort; end if;
         end;
         transaction take(b int, s int)
           select who into :w from booking where id = :b;
           if :w = 0 then update seat set taken = 1 where id = :s; end if;
         end;"
    );
    assert!(counts(&text).0 > 0);
}

/// The seats found are shown to somebody, and that is all.
#[test]
fn what_only_a_client_sees_is_external() {
    let text = format!(
        "{SEATS}
         transaction look(b int, w int)
           select id from seat where taken = 0;
           select id from seat where taken = 0;
         end;
         transaction take(s int)
           update seat set taken = 1 where id = :s;
         end;"
    );
    let (internal, external) = counts(&text);
    assert!(internal == 0 && external > 0, "{internal} {external}");
}

/// Whether there is a seat matters; its colour does not, which alone is overwritten.
#[test]
fn a_value_that_nobody_uses_is_external() {
    for test in ["found", ":n = :s"] {
        let text = format!(
            "{SEATS}
             transaction paint(s int, w int)
               select id, colour into :n, :c from seat where id = :s and taken = 0;
               if {test} then
                 update seat set colour = :w where id = :s;
               end if;
             end;"
        );
        let (internal, external) = counts(&text);
        assert!(
            internal == 0 && external > 0,
            "{test}: {internal} {external}"
        );
    }
}

/// The first seat by colour is taken, so the colour matters.
#[test]
fn what_orders_the_rows_matters_to_their_values() {
    let text = format!(
        "{SEATS}
         transaction first(b int)
           select id into :s from seat order by colour limit 1;
           update booking set who = :s where id = :b;
           update seat set colour = 9 where id = :s;
         end;"
    );
    assert!(counts(&text).0 > 0);
}

fn texts(rows: &[StoredRow]) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    all.sort();
    all
}

/// Whether the rows at the end of every play are those of a serial order.
fn ends_serially(program: &Program, anomaly: &Anomaly) -> bool {
    anomaly.witnesses.iter().all(|witness| {
        let scenario = &witness.scenario;
        let everybody: Vec<usize> = (0..scenario.instances.len()).collect();
        let played = play(program, scenario, How::Given).expect("it plays");
        let serial = serial_outcomes(program, scenario, &everybody).expect("they play");
        let mut ends = serial.iter().map(|outcome| texts(&outcome.rows));
        ends.any(|rows| rows == texts(&played.rows))
    })
}

/// Checks every external anomaly; how many there were.
fn check(program: &Program, what: &str) -> usize {
    let mut external = 0;
    for level in LEVELS {
        let options = Options {
            levels: vec![level],
            kinds: vec![
                EdgeKind::WriteRead,
                EdgeKind::ReadWrite,
                EdgeKind::WriteWrite,
            ],
            external: true,
            instances: 2,
            bounds: Bounds {
                iterations: 1,
                ..Bounds::default()
            },
            ..Options::default()
        };
        let analysis = analyse(program, &options);
        let mut pairs: Vec<Vec<usize>> = Vec::new();
        for anomaly in analysis.anomalies.iter().filter(|one| one.internal) {
            let mut pair = anomaly.transactions.clone();
            pair.sort_unstable();
            pairs.push(pair);
        }
        for anomaly in analysis.anomalies.iter().filter(|one| !one.internal) {
            external += 1;
            let mut pair = anomaly.transactions.clone();
            pair.sort_unstable();
            let excused = pairs.contains(&pair);
            let right = excused || ends_serially(program, anomaly);
            assert!(right, "{what} at {level:?}: {:#?}", anomaly.scenario());
        }
    }
    external
}

/// Writes a transaction that looks for rows and does something about them.
fn transaction(draw: &mut Draw, number: usize, text: &mut String) {
    let _ = writeln!(text, "transaction x{number}(k int, v int)");
    for _ in 0..1 + draw.below(2) {
        let filter = ["id = :k", "f = 0", "id = :k and f = 0", "g = :v"][draw.below(4)];
        let columns = ["id", "f", "g", "f, g"][draw.below(4)];
        let into = match columns {
            "f, g" => "into :a, :b",
            _ => "into :a",
        };
        let order = ["", "", " order by g limit 1"][draw.below(3)];
        let _ = writeln!(
            text,
            "  select {columns} {into} from t where {filter}{order};"
        );
        let test = ["found", "not found", ":a = 1", ""][draw.below(4)];
        let update = [
            "update t set f = 1 where id = :k;",
            "update t set g = :v where id = :k;",
            "update u set f = :v where id = :k;",
            "update u set f = :a where id = :k;",
            "abort;",
        ][draw.below(5)];
        let _ = match test {
            "" => writeln!(text, "  update t set f = :v where id = :k;"),
            _ => writeln!(text, "  if {test} then {update} end if;"),
        };
    }
    text.push_str("end;\n");
}

#[test]
fn what_is_external_ends_as_a_serial_order_does() {
    let mut external = 0;
    for seed in 0..150 {
        let mut draw = Draw::new(seed);
        let mut text = "
            create table t (id int primary key, f int not null, g int not null);
            create table u (id int primary key, f int not null);\n"
            .to_string();
        for number in 0..1 + draw.below(2) {
            transaction(&mut draw, number, &mut text);
        }
        external += check(&program(&text), &format!("seed {seed}\n{text}"));
    }
    assert!(external > 100, "{external}");
}

#[test]
fn what_is_external_in_the_programs_ends_as_a_serial_order_does() {
    let mut external = 0;
    for name in [
        "seats-ported",
        "smallbank",
        "twitter",
        "wikipedia",
        "tpcc-ported",
    ] {
        let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("the program is in the repository");
        external += check(&program(&text), name);
    }
    assert!(external > 100, "{external}");
}

/// A branch that needs eleven rows was never taken: a search had as many rows as there were searches.
#[test]
fn regression_as_many_rows_as_are_counted() {
    let program = program(
        "create table entry (id int primary key, account int not null);
         create table account (id int primary key, bal int not null);
         transaction fee(e int, a int)
           select count(*) into :n from entry where account = :a;
           if :n > 10 then
             select bal into :b from account where id = :a;
             update account set bal = :b - 100 where id = :a;
           end if;
         end;",
    );
    let options = Options {
        levels: vec![StoreLevel::ReadCommitted],
        ..Options::default()
    };
    assert_eq!(analyse(&program, &options).anomalies.len(), 1);
}
