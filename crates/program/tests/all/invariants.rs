//! Invariants: how they are written, what breaks them, and those of TPC-C.

use program::{
    Event, How, Instance, Program, Scenario, StoredRow, Turn, Value, broken_invariants, play,
    read_sql_file,
};

const BANK: &str = "
create table account (id int primary key, bal int not null);
-- Money is never created.
-- invariant total: select sum(bal) from account
--   having sum(bal) <> 100;
-- invariant positive: select id, bal from account where bal < 0;
transaction move(a int, b int, amount int)
  select bal into :x from account where id = :a;
  select bal into :y from account where id = :b;
  update account set bal = :x - :amount where id = :a;
  update account set bal = :y + :amount where id = :b;
end;
";

fn program(text: &str) -> Program {
    read_sql_file(text, "invariants.sql", None).unwrap_or_else(|error| panic!("{error}"))
}

fn row(program: &Program, table: &str, values: Vec<Value>) -> StoredRow {
    let table = program.schema.find(table).expect("a table");
    StoredRow { table, values }
}

fn integers(all: &[i64]) -> Vec<Value> {
    all.iter().map(|one| Value::Integer(*one)).collect()
}

fn moving(arguments: [i64; 3]) -> Instance {
    Instance {
        transaction: 0,
        arguments: integers(&arguments),
        ..Instance::default()
    }
}

fn turns(order: &[(usize, u32)]) -> Vec<Turn> {
    let turn = |(instance, statement): &(usize, u32)| Turn {
        instance: *instance,
        event: Event::Statement(*statement),
        sees: None,
    };
    order.iter().map(turn).collect()
}

/// The names of the invariants that a play breaks, each with what is found.
fn broken(program: &Program, scenario: &Scenario) -> Vec<String> {
    let played = play(program, scenario, How::Given).unwrap_or_else(|error| panic!("{error}"));
    let broken = broken_invariants(program, scenario, &played);
    let broken = broken.unwrap_or_else(|error| panic!("{error}"));
    let shown = |one: &program::Broken| {
        let name = &program.invariants[one.invariant].name;
        let values: Vec<String> = one.rows.concat().iter().map(Value::to_string).collect();
        format!("{name} {}", values.join(","))
    };
    broken.iter().map(shown).collect()
}

fn transfers(first: i64, second: i64, order: &[(usize, u32)]) -> Scenario {
    let program = program(BANK);
    Scenario {
        rows: vec![
            row(&program, "account", integers(&[1, first])),
            row(&program, "account", integers(&[2, second])),
        ],
        instances: vec![moving([1, 2, 10]), moving([2, 1, 30])],
        schedule: turns(order),
    }
}

const LOST: [(usize, u32); 8] = [
    (0, 0),
    (0, 1),
    (1, 0),
    (1, 1),
    (0, 2),
    (1, 2),
    (1, 3),
    (0, 3),
];

#[test]
fn a_lost_update_breaks_an_invariant() {
    let program = program(BANK);
    let scenario = transfers(60, 40, &LOST);
    // 1 gets 60 + 30, 2 gets 40 + 10.
    assert_eq!(broken(&program, &scenario), ["total 140"]);
    let scenario = transfers(60, 40, &[]);
    assert_eq!(broken(&program, &scenario), Vec::<String>::new());
}

#[test]
fn what_was_wrong_before_does_not_count() {
    let program = program(BANK);
    // The total is wrong from the start, and stays as wrong in every serial order.
    assert_eq!(
        broken(&program, &transfers(60, 0, &[])),
        Vec::<String>::new()
    );
    // 90 and 10: right by accident.
    assert_eq!(
        broken(&program, &transfers(60, 0, &LOST)),
        Vec::<String>::new()
    );
    assert_eq!(broken(&program, &transfers(70, 0, &LOST)), ["total 110"]);
}

#[test]
fn what_is_no_invariant_is_refused() {
    let table = "create table t (id int primary key);\n";
    let txn = "transaction x() delete from t; end;\n";
    let refused = |comment: &str| {
        let text = format!("{table}{comment}\n{txn}");
        let error = read_sql_file(&text, "t.sql", None).expect_err(comment);
        error.to_string()
    };
    let unended = refused("-- invariant a: select id from t");
    assert!(unended.contains("t.sql:2"), "{unended}");
    assert!(unended.contains("not ended by `;`"), "{unended}");
    let written = refused("-- invariant a: delete from t;");
    assert!(written.contains("no select"), "{written}");
    let column = refused("-- invariant a: select x from t;");
    assert!(column.contains("no column"), "{column}");
    let parameter = refused("-- invariant a: select id from t where id = :p;");
    assert!(parameter.contains("t.sql:2"), "{parameter}");
    let twice = refused("-- invariant a: select id from t;\n-- invariant A: select id from t;");
    assert!(twice.contains("a second invariant A"), "{twice}");
    let prose = format!("{table}-- invariant under renaming\n-- invariant: none\n{txn}");
    assert!(program(&prose).invariants.is_empty());
}

#[test]
fn a_schema_beside_the_program_may_have_invariants() {
    let files = [
        program::SourceFile {
            name: "ddl.sql",
            text: "create table t (id int primary key);\n-- invariant none: select id from t;\n",
        },
        program::SourceFile {
            name: "app.sql",
            text: "transaction x() delete from t; end;\n",
        },
    ];
    let program = program::read_sources(&files).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.invariants.len(), 1);
    assert_eq!(program.invariants[0].name, "none");
}
