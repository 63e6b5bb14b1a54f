//! Candidates and their witnesses.

use program::analysis::{Candidate, Infeasible, Run, witness};
use program::{
    Bounds, Edge, EdgeKind, Event, Point, Program, Scenario, Turn, Value, read_sql_file,
};
use std::collections::BTreeSet;
use std::sync::Arc;

fn program(text: &str) -> Program {
    match read_sql_file(text, "bank.sql", None) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

fn run(program: &Program, transaction: usize, path: usize) -> Run {
    let txn = &program.transactions[transaction];
    let paths = txn.paths(&program.schema, Bounds::default()).paths;
    Run {
        transaction,
        path: Arc::new(paths[path].clone()),
        level: None,
    }
}

fn edge(kind: EdgeKind, from: (usize, u32), to: (usize, u32)) -> Edge {
    let point = |(instance, statement)| Point {
        instance,
        statement,
    };
    Edge {
        from: point(from),
        to: point(to),
        kind,
        table: None,
        columns: BTreeSet::new(),
    }
}

fn order(steps: &[(usize, u32)]) -> Vec<Turn> {
    let turn = |(instance, statement): &(usize, u32)| Turn {
        instance: *instance,
        event: Event::Statement(*statement),
        sees: None,
    };
    steps.iter().map(turn).collect()
}

fn found(program: &Program, candidate: &Candidate) -> Scenario {
    match witness(program, candidate) {
        Ok(scenario) => scenario,
        Err(why) => panic!("{why:?}"),
    }
}

const BANK: &str = "
create table account (id int primary key, bal int not null);
transaction add(acct int, amount int)
  select bal into :bal from account where id = :acct;
  if :bal + :amount < 1000 then
    update account set bal = :bal + :amount where id = :acct;
  end if;
end;
transaction move(a int, b int, amount int)
  require :a <> :b;
  update account set bal = bal - :amount where id = :a;
  update account set bal = bal + :amount where id = :b;
end;
transaction open(acct int)
  select count(*) into :n from account;
  if :n < 2 then insert into account values (:acct, 0); end if;
end;
";

#[test]
fn a_lost_update_has_a_witness() {
    let program = program(BANK);
    let candidate = Candidate {
        instances: vec![run(&program, 0, 0), run(&program, 0, 0)],
        edges: vec![
            edge(EdgeKind::ReadWrite, (0, 0), (1, 1)),
            edge(EdgeKind::ReadWrite, (1, 0), (0, 1)),
        ],
        schedule: order(&[(0, 0), (1, 0), (0, 1), (1, 1)]),
        apart: Vec::new(),
    };
    let scenario = found(&program, &candidate);
    let (a, b) = (&scenario.instances[0], &scenario.instances[1]);
    assert_eq!(a.arguments[0], b.arguments[0], "{scenario:?}");
    assert_eq!(scenario.rows.len(), 1);
    let number = |value: &Value| match value {
        Value::Integer(number) => *number,
        other => panic!("{other:?}"),
    };
    let before = number(&scenario.rows[0].values[1]);
    assert_eq!(scenario.rows[0].values[0], a.arguments[0]);
    for instance in [a, b] {
        assert!(
            before + number(&instance.arguments[1]) < 1000,
            "{scenario:?}"
        );
        assert_ne!(number(&instance.arguments[1]), 0, "{scenario:?}");
    }
}

#[test]
fn what_is_visible_is_not_missed() {
    let program = program(BANK);
    let mut candidate = Candidate {
        instances: vec![run(&program, 0, 0), run(&program, 0, 0)],
        edges: vec![edge(EdgeKind::ReadWrite, (1, 0), (0, 1))],
        schedule: order(&[(0, 0), (0, 1), (1, 0), (1, 1)]),
        apart: Vec::new(),
    };
    // The second reads after the first has written, and sees it.
    assert_eq!(
        witness(&program, &candidate),
        Err(Infeasible::Contradiction)
    );
    candidate.schedule[2].sees = Some(BTreeSet::new());
    found(&program, &candidate);
}

#[test]
fn guards_keep_rows_apart() {
    let program = program(BANK);
    // a <> b, so the two updates of one transfer cannot both meet the same read.
    let candidate = Candidate {
        instances: vec![run(&program, 1, 0), run(&program, 0, 0)],
        edges: vec![
            edge(EdgeKind::WriteRead, (0, 0), (1, 0)),
            edge(EdgeKind::ReadWrite, (1, 0), (0, 1)),
        ],
        schedule: order(&[(0, 0), (1, 0), (0, 1), (1, 1)]),
        apart: Vec::new(),
    };
    assert_eq!(
        witness(&program, &candidate),
        Err(Infeasible::Contradiction)
    );
}

#[test]
fn counts_see_new_rows() {
    let program = program(BANK);
    let candidate = Candidate {
        instances: vec![run(&program, 2, 0), run(&program, 2, 0)],
        edges: vec![
            edge(EdgeKind::ReadWrite, (0, 0), (1, 1)),
            edge(EdgeKind::ReadWrite, (1, 0), (0, 1)),
        ],
        schedule: order(&[(0, 0), (1, 0), (0, 1), (1, 1)]),
        apart: Vec::new(),
    };
    let scenario = found(&program, &candidate);
    assert!(scenario.rows.len() < 2, "{scenario:?}");
    assert_ne!(
        scenario.instances[0].arguments, scenario.instances[1].arguments,
        "one row would fail to be inserted"
    );
}

#[test]
fn what_is_no_candidate_is_said_to_be_none() {
    let program = program(BANK);
    let candidate = Candidate {
        instances: vec![run(&program, 0, 0)],
        schedule: order(&[(0, 1), (0, 0)]),
        ..Candidate::default()
    };
    let answer = witness(&program, &candidate);
    assert!(
        matches!(answer, Err(Infeasible::Malformed(_))),
        "{answer:?}"
    );
}
