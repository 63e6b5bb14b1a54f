//! The body of a transaction, run statement by statement against given results.

use program::{Instance, Next, Program, ResultSet, Runner, UnknownId, Value, read_sql_file};

const TABLES: &str = "
create table accounts (id int primary key, name text unique, bal int not null);
create table lines (o int, n int, item int references accounts(id), primary key (o, n));
";

fn program(text: &str) -> Program {
    read_sql_file(&format!("{TABLES}{text}"), "bank.sql", None).expect("the program is read")
}

fn integers(all: &[i64]) -> Vec<Value> {
    all.iter().map(|one| Value::Integer(*one)).collect()
}

fn rows(all: &[&[i64]]) -> ResultSet {
    ResultSet {
        rows: all.iter().map(|row| integers(row)).collect(),
        changed: 0,
    }
}

fn changed(changed: u64) -> ResultSet {
    ResultSet {
        rows: Vec::new(),
        changed,
    }
}

/// Runs with the results in order; the statements with their arguments, and how it ends.
fn run(text: &str, instance: &Instance, results: &[ResultSet]) -> Vec<String> {
    let program = program(text);
    let mut runner = Runner::new(&program, instance);
    let mut seen = Vec::new();
    let mut results = results.iter();
    loop {
        match runner.next() {
            Ok(Next::Execute(call)) => {
                let verb = call.statement.sql.split_whitespace().next().unwrap_or("");
                let position = call.position;
                assert_eq!(seen.len(), position as usize);
                seen.push(format!("{verb} {}", shown(&call.arguments)));
                runner.feed(results.next().cloned().unwrap_or_default());
            }
            Ok(Next::Commit) => seen.push("commit".to_string()),
            Ok(Next::Abort { place }) => seen.push(format!("abort at {}", place.line)),
            Err(error) => seen.push(error.to_string()),
        }
        let last = seen.last().map_or("", String::as_str);
        if !last.starts_with(['s', 'u', 'i', 'd']) {
            return seen;
        }
    }
}

fn shown(values: &[Value]) -> String {
    let one = |value: &Value| match value {
        Value::Null => "null".to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::List(all) => format!("[{}]", shown(all)),
    };
    let all: Vec<String> = values.iter().map(one).collect();
    all.join(" ")
}

fn with(arguments: &[i64]) -> Instance {
    Instance {
        arguments: integers(arguments),
        ..Instance::default()
    }
}

const WITHDRAW: &str = "
transaction withdraw(who int, amount int)
  select bal into :old from accounts where id = :who;
  if not found then abort; end if;
  if :old < :amount then
    rollback;
  elsif :amount > 100 then
    update accounts set bal = bal - :amount - 1 where id = :who;
  else
    update accounts set bal = :old - :amount where id = :who;
  end if;
end;";

#[test]
fn branches_follow_what_was_read() {
    let run = |amount: i64, bal: &[&[i64]]| run(WITHDRAW, &with(&[7, amount]), &[rows(bal)]);
    assert_eq!(run(5, &[]), ["select 7", "abort at 7"]);
    assert_eq!(run(5, &[&[4]]), ["select 7", "abort at 9"]);
    assert_eq!(
        run(5, &[&[6]]),
        ["select 7", "update 6 5 7", "commit"],
        "the old value is passed, not the difference"
    );
    assert_eq!(run(101, &[&[900]]), ["select 7", "update 101 7", "commit"]);
}

#[test]
fn a_null_is_neither_less_nor_not_less() {
    let null = ResultSet {
        rows: vec![vec![Value::Null]],
        changed: 0,
    };
    assert_eq!(
        run(WITHDRAW, &with(&[7, 5]), &[null]),
        ["select 7", "update null 5 7", "commit"]
    );
}

#[test]
fn a_loop_over_rows_moves_the_cursor() {
    let text = "
transaction all(o int)
  for line in select item, n from lines where o = :o loop
    update accounts set bal = :line.n where id = :line.item;
    if row_count = 0 then exit; end if;
  end loop;
  delete from lines where o = :o;
end;";
    let lines = rows(&[&[10, 1], &[20, 2], &[30, 3]]);
    let results = [lines.clone(), changed(1), changed(1), changed(1)];
    assert_eq!(
        run(text, &with(&[4]), &results),
        [
            "select 4",
            "update 1 10",
            "update 2 20",
            "update 3 30",
            "delete 4",
            "commit"
        ]
    );
    let results = [lines, changed(1), changed(0)];
    assert_eq!(
        run(text, &with(&[4]), &results),
        [
            "select 4",
            "update 1 10",
            "update 2 20",
            "delete 4",
            "commit"
        ],
        "exit leaves the loop"
    );
    assert_eq!(
        run(text, &with(&[4]), &[]),
        ["select 4", "delete 4", "commit"]
    );
}

#[test]
fn a_loop_over_a_list_takes_each_element() {
    let text = "
transaction all(ids int[])
  let sum = 0;
  for id in :ids loop
    select bal into :b from accounts where id = :id;
    let sum = :sum + :b;
  end loop;
  update accounts set bal = :sum where id = 1;
end;";
    let instance = Instance {
        arguments: vec![Value::List(integers(&[3, 4]))],
        ..Instance::default()
    };
    assert_eq!(
        run(text, &instance, &[rows(&[&[10]]), rows(&[&[5]])]),
        ["select 3", "select 4", "update 15", "commit"]
    );
}

#[test]
fn while_counts_and_return_ends() {
    let text = "
transaction count(most int)
  let i = 0;
  while :i < :most loop
    let i = :i + 1;
    if :i = 3 then return; end if;
    update accounts set bal = :i where id = 1;
  end loop;
  delete from lines where o = :i;
end;";
    assert_eq!(
        run(text, &with(&[2]), &[]),
        ["update 1", "update 2", "delete 2", "commit"]
    );
    assert_eq!(
        run(text, &with(&[5]), &[]),
        ["update 1", "update 2", "commit"]
    );
}

#[test]
fn a_loop_without_end_is_an_error() {
    let text = "
transaction forever(x int)
  while 1 = 1 loop
    let x2 = :x;
  end loop;
end;";
    let seen = run(text, &with(&[2]), &[]);
    assert_eq!(
        seen,
        ["bank.sql:5:13: forever takes more than 200000 steps: a loop without end?"]
    );
}

#[test]
fn overflow_and_division_by_zero_are_errors() {
    let text = "
transaction sum(a int, b int)
  let c = :a + 1;
  let d = :c / :b;
  update accounts set bal = :d where id = 1;
end;";
    let seen = run(text, &with(&[i64::MAX, 1]), &[]);
    assert_eq!(seen, ["bank.sql:5:13: a number is out of range"]);
    let seen = run(text, &with(&[1, 0]), &[]);
    assert_eq!(seen, ["bank.sql:5:13: division by zero"]);
    assert_eq!(run(text, &with(&[6, 2]), &[]), ["update 3", "commit"]);
}

#[test]
fn unknowns_take_the_values_given_for_each_step() {
    let text = "
transaction any(x int)
  repeat
    update accounts set bal = :x where id = 1;
  end repeat;
end;";
    assert_eq!(run(text, &with(&[2]), &[]), ["commit"], "false by default");
    let program = program(text);
    let body = format!("{:?}", program.transactions[0].body);
    let at = body.find("UnknownId(").expect("an unknown") + "UnknownId(".len();
    let id: u32 = body[at..]
        .split(')')
        .next()
        .and_then(|n| n.parse().ok())
        .expect("its number");
    let mut instance = with(&[2]);
    for number in 0..2 {
        let truth = Value::Boolean(true);
        instance.unknowns.insert((UnknownId(id), number), truth);
    }
    assert_eq!(
        run(text, &instance, &[]),
        ["update 2", "update 2", "commit"]
    );
}

#[test]
fn a_result_must_be_given_before_going_on() {
    let program = program(WITHDRAW);
    let mut runner = Runner::new(&program, &with(&[1, 2]));
    assert!(matches!(runner.next(), Ok(Next::Execute(_))));
    assert!(runner.next().is_err());
    runner.feed(ResultSet::default());
    assert!(matches!(runner.next(), Ok(Next::Abort { .. })));
    assert!(matches!(runner.next(), Ok(Next::Abort { .. })));
    assert_eq!(runner.executed(), 1);
}

#[test]
fn a_transaction_that_is_not_there_commits() {
    let program = program(WITHDRAW);
    let instance = Instance {
        transaction: 9,
        ..Instance::default()
    };
    assert_eq!(Runner::new(&program, &instance).next(), Ok(Next::Commit));
}
