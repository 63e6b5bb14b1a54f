//! Small programs with one anomaly each, and the levels that allow it.

use program::analysis::{Analysis, Kind, Options, analyse};
use program::{EdgeKind, Program, StoreLevel, read_sql_file};
use std::collections::BTreeSet;

fn program(text: &str) -> Program {
    match read_sql_file(text, "micro.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

const TABLE: &str = "create table accounts (id int primary key, value int not null);\n";

const WRITE: &str = "
transaction one_write(k int, v int)
  update accounts set value = :v where id = :k;
end;
";

const TWO_READS: &str = "
transaction two_reads(k1 int, k2 int)
  select value into :a from accounts where id = :k1;
  select value into :b from accounts where id = :k2;
end;
";

const DIRTY_READ: &str = "
transaction two_writes(k int, a int, b int)
  update accounts set value = :a where id = :k;
  update accounts set value = :b where id = :k;
end;
transaction one_read(k int)
  select value into :v from accounts where id = :k;
end;
";

const NON_REPEATABLE: &str = "
transaction two_reads(k int)
  select value into :a from accounts where id = :k;
  select value into :b from accounts where id = :k;
end;
";

const LOST_UPDATE: &str = "
transaction add(k int, amount int)
  select value into :v from accounts where id = :k;
  update accounts set value = :v + :amount where id = :k;
end;
";

const WRITE_SKEW: &str = "
transaction skew(k1 int, k2 int, amount int)
  require :k1 <> :k2;
  select value into :v from accounts where id = :k1;
  if :v + :amount < 1000 then
    update accounts set value = :amount where id = :k2;
  end if;
end;
";

const DIRTY_WRITE: &str = "
transaction both(k1 int, k2 int, v int)
  update accounts set value = :v where id = :k1;
  update accounts set value = :v where id = :k2;
end;
";

const FRACTURED: &str = "
transaction two_writes(a int, b int)
  update accounts set value = :a where id = 1;
  update accounts set value = :b where id = 2;
end;
transaction two_reads()
  select value into :a from accounts where id = 1;
  select value into :b from accounts where id = 2;
end;
";

const COLUMNS: [StoreLevel; 10] = [
    StoreLevel::Eventual,
    StoreLevel::CausalVisibility,
    StoreLevel::CausalOperations,
    StoreLevel::ReadCommittedOperations,
    StoreLevel::RepeatableReadOperations,
    StoreLevel::AtomicOperations,
    StoreLevel::LinearizableOperations,
    StoreLevel::ParallelSnapshot,
    StoreLevel::Snapshot,
    StoreLevel::Serializable,
];

fn search(text: &str, options: Options) -> Analysis {
    let options = Options {
        external: true,
        ..options
    };
    let analysis = analyse(&program(&format!("{TABLE}{text}")), &options);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    analysis
}

/// For each level, X where some anomaly of the program is allowed.
fn row(text: &str, options: Options) -> String {
    let options = Options {
        levels: COLUMNS.to_vec(),
        ..options
    };
    let analysis = search(text, options);
    let found = analysis
        .anomalies
        .iter()
        .flat_map(|anomaly| anomaly.levels());
    let allowed: BTreeSet<StoreLevel> = found.collect();
    let cell = |level: &StoreLevel| if allowed.contains(level) { "X" } else { "." };
    COLUMNS.iter().map(cell).collect()
}

#[test]
fn a_dirty_read() {
    assert_eq!(row(DIRTY_READ, Options::default()), "XXX.X.X...");
}

#[test]
fn a_non_repeatable_read() {
    let text = format!("{NON_REPEATABLE}{WRITE}");
    assert_eq!(row(&text, Options::default()), "XXXX..X...");
}

#[test]
fn a_lost_update() {
    assert_eq!(row(LOST_UPDATE, Options::default()), "XXXXXXX...");
}

#[test]
fn a_write_skew() {
    assert_eq!(row(WRITE_SKEW, Options::default()), "XXXXXXXXX.");
}

#[test]
fn a_long_fork() {
    let text = format!("{TWO_READS}{WRITE}");
    let options = Options {
        length: 6,
        instances: 4,
        ..Options::default()
    };
    assert_eq!(row(&text, options), "XXXXXXXX..");
}

#[test]
fn a_dirty_write() {
    let options = || Options {
        kinds: vec![EdgeKind::WriteWrite],
        ..Options::default()
    };
    assert_eq!(row(DIRTY_WRITE, options()), "XXXXXXX...");
    assert_eq!(row(DIRTY_WRITE, Options::default()), "..........");
}

#[test]
fn a_fractured_read() {
    assert_eq!(row(FRACTURED, Options::default()), "XXXXX.X...");
}

/// Each statement searches for what the other one changes; neither writes what the other writes.
#[test]
fn a_write_skew_of_single_statements() {
    let text = "
transaction blacken() update accounts set value = 1 where value = 0; end;
transaction whiten() update accounts set value = 0 where value = 1; end;
";
    assert!(kinds(text, StoreLevel::Snapshot).contains("write skew"));
    // A statement is one operation of a replicated store.
    assert!(kinds(text, StoreLevel::Eventual).is_empty());
}

/// A read after a write of one's own can still see a later write of another.
#[test]
fn an_own_write_does_not_hide_a_later_one() {
    let text = "
transaction set_and_get(k int, v int)
  update accounts set value = :v where id = :k;
  select value into :a from accounts where id = :k;
end;
";
    let options = Options {
        kinds: vec![EdgeKind::WriteRead, EdgeKind::WriteWrite],
        ..Options::default()
    };
    assert!(!search(text, options).anomalies.is_empty());
}

#[test]
fn the_write_skew_of_small_bank() {
    let text = "
create table savings (id int primary key, bal int not null);
create table checking (id int primary key, bal int not null);
transaction balance(c int)
  select bal into :a from savings where id = :c;
  select bal into :b from checking where id = :c;
end;
transaction write_check(c int, v int)
  select bal into :a from savings where id = :c;
  select bal into :b from checking where id = :c;
  if :a + :b < :v then
    update checking set bal = bal - :v - 1 where id = :c;
  else
    update checking set bal = bal - :v where id = :c;
  end if;
end;
transaction transact_savings(c int, v int)
  select bal into :a from savings where id = :c;
  require :a + :v >= 0;
  update savings set bal = bal + :v where id = :c;
end;
";
    let options = Options {
        length: 5,
        ..Options::default()
    };
    assert_eq!(row(text, options), "XXXXXXXXX.");
}

fn kinds(text: &str, level: StoreLevel) -> BTreeSet<String> {
    let options = Options {
        levels: vec![level],
        ..Options::default()
    };
    let analysis = search(text, options);
    let names = analysis
        .anomalies
        .iter()
        .map(|anomaly| anomaly.kind.to_string());
    names.collect()
}

#[test]
fn anomalies_have_their_names() {
    let one = |name: &str| BTreeSet::from([name.to_string()]);
    let level = StoreLevel::LinearizableOperations;
    assert_eq!(kinds(DIRTY_READ, level), one("dirty read"));
    assert_eq!(
        kinds(&format!("{NON_REPEATABLE}{WRITE}"), level),
        one("non-repeatable read")
    );
    assert!(kinds(LOST_UPDATE, level).contains("lost update"));
    assert!(kinds(WRITE_SKEW, StoreLevel::Snapshot).contains("write skew"));
    assert!(kinds(FRACTURED, level).contains("read skew"));
    let name = Kind::LongFork.to_string();
    assert_eq!(name, "long fork");
}

#[test]
fn reads_that_do_not_matter_are_external() {
    let text = format!("{TABLE}{DIRTY_READ}");
    let analysis = analyse(&program(&text), &Options::default());
    assert!(analysis.anomalies.is_empty());
    assert!(analysis.counts.external > 0);
    let text = format!("{TABLE}{LOST_UPDATE}");
    let analysis = analyse(&program(&text), &Options::default());
    assert!(!analysis.anomalies.is_empty());
    assert!(analysis.anomalies.iter().all(|anomaly| anomaly.internal));
}

#[test]
fn levels_can_be_mixed() {
    let mixed = |levels: [StoreLevel; 1]| {
        let options = Options {
            mixed: Some(levels.to_vec()),
            ..Options::default()
        };
        search(WRITE_SKEW, options).anomalies.len()
    };
    assert_eq!(mixed([StoreLevel::Serializable]), 0);
    assert!(mixed([StoreLevel::Snapshot]) > 0);
    assert!(mixed([StoreLevel::ReadCommitted]) > 0);
}

/// A server looks at all rows where values must be unique, a replicated store at what it sees.
#[test]
fn a_unique_value_is_not_taken_twice_on_a_server() {
    let book = |unique: &str| {
        program(&format!(
            "create table seat (id int primary key, place int{unique});
             transaction book(k int, p int)
               select count(*) into :n from seat where place = :p;
               if :n = 0 then insert into seat values (:k, :p); end if;
             end;"
        ))
    };
    let levels = [
        StoreLevel::ReadCommitted,
        StoreLevel::Snapshot,
        StoreLevel::Eventual,
    ];
    for (unique, expected) in [("", [true, true, true]), (" unique", [false, false, true])] {
        for (level, expected) in levels.into_iter().zip(expected) {
            let options = Options {
                levels: vec![level],
                ..Options::default()
            };
            let analysis = analyse(&book(unique), &options);
            assert!(analysis.scope.decided);
            let found = !analysis.anomalies.is_empty();
            assert_eq!(found, expected, "place{unique} at {}", level.name());
        }
    }
}
