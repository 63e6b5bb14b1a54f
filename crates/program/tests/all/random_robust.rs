//! What is proved robust has no bad play: small random programs, made of what applications do to be safe
//! and of what undoes it, against brute force (see `random_programs`).
//!
//! A proof assumes that rows of tables that nobody inserts into or deletes from are there; so they are.

use crate::plays::{Draw, Found, Level, Plays};
use crate::random_programs::{Writer, bags, program, seeds_asked_for};
use program::robust::{Level as Asked, RobustOptions, check_at};
use program::{Program, TableId};
use std::fmt::Write;

/// One or two transactions of one or two pieces, on one or two tables.
fn text(draw: &mut Draw) -> String {
    let mut text = String::new();
    let tables = 1 + draw.below(2);
    for table in 0..tables {
        let _ = writeln!(
            text,
            "create table t{table} (id int primary key, f int not null);"
        );
    }
    // A quarter of the programs each keeps to versions, to these and inserts, and to accesses by key.
    let pieces = [4, 6, 10, 16][draw.below(4)];
    for number in 0..1 + draw.below(2) {
        let _ = writeln!(text, "transaction x{number}(k int, v int)");
        for name in 0..1 + draw.below(2) {
            let table = draw.below(tables);
            let key = [":k", ":k", ":k", "0", ":v"][draw.below(5)];
            text.push_str(&piece(draw.below(pieces), table, key, name));
        }
        text.push_str("end;\n");
    }
    text
}

fn piece(which: usize, table: usize, key: &str, name: usize) -> String {
    let select = format!("  select f into :a{name} from t{table} where id = {key};\n");
    let stop = "  if row_count = 0 then abort; end if;\n";
    let same = format!("where id = {key} and f = :a{name};\n");
    match which {
        0 => format!("{select}  update t{table} set f = f + 1 {same}{stop}"),
        1 => format!("{select}  update t{table} set f = :a{name} + 1 {same}{stop}"),
        2 => format!("  update t{table} set f = f + 1 where id = {key};\n"),
        3 => select,
        4 | 5 => format!(
            "{select}  if not found then\n    insert into t{table} values ({key}, 1);\n  end if;\n"
        ),
        6 => format!("{select}  update t{table} set f = f + 1 {same}"),
        7 => format!("  delete from t{table} where id = {key};\n"),
        8 => format!("{select}  update t{table} set f = :a{name} where id = {key};\n"),
        9 => format!("  update t{table} set f = :v where id = {key};\n"),
        10 => format!(
            "  select id into :a{name} from t{table} where f = 0 order by id limit 1;\n  \
             if found then\n    update t{table} set f = 1 where id = :a{name};\n  end if;\n"
        ),
        11 => format!(
            "  select max(id) into :a{name} from t{table};\n  \
             insert into t{table} values (:a{name} + 1, 0);\n"
        ),
        12 => format!("  delete from t{table} where f = 1;\n"),
        13 => format!(
            "  insert into t{table} values ({key}, 0) on conflict (id) do update set f = t{table}.f + 1;\n"
        ),
        14 => format!("  insert into t{table} values ({key}, 0) on conflict (id) do nothing;\n"),
        _ => format!("  select sum(f) into :a{name} from t{table};\n"),
    }
}

/// The tables whose rows are always the same ones.
fn fixed(program: &Program, text: &str) -> Vec<TableId> {
    let tables = (0..program.schema.tables.len()).filter(|table| {
        let changes = [
            format!("insert into t{table}"),
            format!("delete from t{table}"),
        ];
        !changes.iter().any(|change| text.contains(change))
    });
    tables.map(|table| TableId(table as u32)).collect()
}

/// A bad play of a program that is proved robust at a level.
fn refutation(program: &Program, text: &str, levels: (Asked, Level), draw: &mut Draw) -> Proved {
    let (asked, level) = levels;
    if !check_at(program, asked, &RobustOptions::default()).is_robust() {
        return Proved::No;
    }
    let plays = Plays {
        program,
        level,
        most: 100,
        whole: fixed(program, text),
    };
    let longest = program
        .transactions
        .iter()
        .map(|one| one.statements().len());
    let instances = if longest.max() <= Some(2) { 3 } else { 2 };
    for bag in bags(program.transactions.len(), instances) {
        if let Found::Bad(scenario) = plays.any_play(&bag, draw) {
            return Proved::Wrongly(format!("{level:?}: bad in {bag:?}: {scenario:#?}\n{text}"));
        }
    }
    Proved::Rightly
}

enum Proved {
    No,
    Rightly,
    Wrongly(String),
}

fn compare(seeds: std::ops::Range<u64>) {
    let (mut proved, mut not_proved) = (0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let mut draw = Draw::new(seed);
        let text = match seed % 3 {
            0 => Writer::program(&mut draw),
            _ => text(&mut draw),
        };
        let program = program(&text);
        for levels in [
            (Asked::ReadCommitted, Level::ReadCommitted),
            (Asked::Snapshot, Level::Snapshot),
        ] {
            match refutation(&program, &text, levels, &mut draw) {
                Proved::No => not_proved += 1,
                Proved::Rightly => proved += 1,
                Proved::Wrongly(play) => panic!("seed {seed}, {play}"),
            }
        }
    }
    println!("{proved} proved, {not_proved} not");
    assert!(proved * 4 > count && not_proved * 4 > count);
}

#[test]
fn what_is_proved_has_no_bad_play() {
    compare(1..100);
}

/// `cargo test -p isolde-program --test all -- --ignored many_proofs`; with `ISOLDE_SEEDS=FROM..TO`,
/// those programs.
#[test]
#[ignore = "takes minutes"]
fn what_is_proved_has_no_bad_play_in_many_proofs() {
    compare(seeds_asked_for(1000..3000));
}
