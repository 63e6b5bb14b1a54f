//! Every workload, planned without a server and run on SQLite.

use std::collections::{HashMap, HashSet};
use workload::driver::{Answer, Connection, Error, Form, Settings};
use workload::drivers;
use workload::plan::{Action, Plan, Step, Workload};
use workload::schema::{Cell, ColumnKind, ListForm, Schema};
use workload::sql::{Catalog, Dialect};
use workload::workloads::{self, Shape, by_name, names};

const CLIENTS: u32 = 3;

/// The plans of all clients in turn, as if every transaction committed that is not rolled back.
fn plans(workload: &dyn Workload, rounds: usize) -> Vec<(u32, Plan)> {
    let mut sources: Vec<_> = (0..CLIENTS).map(|c| workload.source(c, CLIENTS)).collect();
    let mut all = Vec::new();
    for _ in 0..rounds {
        for (client, source) in (0..).zip(&mut sources) {
            let mut plan = Plan::default();
            source.next(&mut plan);
            source.ended(&plan, !plan.rolls_back);
            all.push((client, plan));
        }
    }
    all
}

fn every(mut check: impl FnMut(&str, &dyn Workload)) {
    for (name, _) in names() {
        let workload = by_name(name, &Shape::default()).unwrap();
        check(name, &*workload);
    }
}

fn kind_fits(kind: ColumnKind, action: &Action) -> bool {
    match action {
        Action::Read(_) | Action::ReadGroup(_) | Action::Write(..) => kind == ColumnKind::Register,
        Action::ReadList(_) | Action::Append(..) => matches!(kind, ColumnKind::List(_)),
        Action::ReadSet(_) | Action::Add(..) => kind == ColumnKind::Set,
        Action::ReadCounter(_) | Action::Increment(..) => kind == ColumnKind::Counter,
    }
}

#[test]
fn names_are_different_words_with_a_line_for_people() {
    let mut seen: Vec<&str> = names().iter().map(|one| one.0).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), names().len());
    assert!(names().iter().all(|(_, line)| !line.is_empty()));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let Err(text) = by_name("nothing", &Shape::default()) else {
        panic!("there is no such workload");
    };
    for (name, _) in names() {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn the_same_seed_and_client_plan_the_same() {
    for (name, _) in names() {
        let make = |seed| {
            let shape = Shape {
                seed,
                ..Shape::default()
            };
            plans(&*by_name(name, &shape).unwrap(), 60)
        };
        assert_eq!(make(7), make(7), "{name}");
        assert_ne!(make(7), make(8), "{name}");
    }
}

#[test]
fn no_value_is_written_twice_to_a_cell() {
    every(|name, workload| {
        let mut writers = HashMap::new();
        for (client, plan) in plans(workload, 400) {
            for action in plan.actions() {
                let (Some(value), false) =
                    (action.value(), matches!(action, Action::Increment(..)))
                else {
                    continue;
                };
                assert!(value > 0, "{name}");
                let before = writers.insert((action.cell(), value), client);
                assert_eq!(before, None, "{name}: {action:?}");
            }
        }
    });
}

#[test]
fn actions_fit_the_columns_they_touch() {
    every(|name, workload| {
        let schema = workload.schema();
        for (_, plan) in plans(workload, 300) {
            assert!(!plan.steps.is_empty() && !plan.name.is_empty(), "{name}");
            for action in plan.actions() {
                let Cell { table, column, row } = action.cell();
                let table = &schema.tables[usize::from(table)];
                let column = table.columns[usize::from(column)];
                assert!(row >= 0, "{name}: {action:?}");
                assert!(kind_fits(column.kind, action), "{name}: {action:?}");
                let by_group = matches!(action, Action::ReadGroup(_));
                assert!(!by_group || table.group > 0, "{name}: {action:?}");
            }
        }
    });
}

#[test]
fn every_workload_reads_and_writes() {
    every(|name, workload| {
        let plans = plans(workload, 200);
        let actions: Vec<&Action> = plans.iter().flat_map(|(_, plan)| plan.actions()).collect();
        assert!(actions.iter().any(|action| action.writes()), "{name}");
        assert!(actions.iter().any(|action| !action.writes()), "{name}");
    });
}

#[test]
fn registers_have_the_shares_asked_for() {
    let shape = Shape {
        keys: Some(50),
        ops_per_txn: Some(10),
        read_share: Some(0.6),
        rmw_share: Some(0.3),
        abort_share: Some(0.1),
        ..Shape::default()
    };
    let plans = plans(&*by_name("registers", &shape).unwrap(), 2000);
    let (mut reads, mut writes, mut updates, mut aborts) = (0, 0, 0, 0);
    for (_, plan) in &plans {
        assert_eq!(plan.steps.len(), 10);
        aborts += usize::from(plan.rolls_back);
        let mut before = None;
        for action in plan.actions() {
            match action {
                Action::Read(_) => reads += 1,
                _ => {
                    writes += 1;
                    updates += usize::from(before == Some(Action::Read(action.cell())));
                }
            }
            before = Some(*action);
        }
    }
    let near = |part: usize, whole: usize, share: f64| {
        let seen = part as f64 / whole as f64;
        assert!((seen - share).abs() < 0.03, "{seen} instead of {share}");
    };
    near(reads, reads + writes, 0.6);
    near(updates, writes, 0.3);
    near(aborts, plans.len(), 0.1);
}

#[test]
fn shapes_that_make_no_sense_are_refused() {
    let wrong = [
        Shape {
            keys: Some(0),
            ..Shape::default()
        },
        Shape {
            read_share: Some(1.5),
            ..Shape::default()
        },
        Shape {
            abort_share: Some(f64::NAN),
            ..Shape::default()
        },
        Shape {
            ops_per_txn: Some(0),
            ..Shape::default()
        },
    ];
    for shape in wrong {
        assert!(by_name("registers", &shape).is_err(), "{shape:?}");
    }
}

/// What the cells hold after the transactions so far, one after the other.
#[derive(Clone, Default)]
struct Model(HashMap<Cell, Vec<i64>>);

impl Model {
    fn written(&self, cell: Cell) -> Vec<i64> {
        self.0.get(&cell).cloned().unwrap_or_default()
    }

    fn last(&self, cell: Cell) -> i64 {
        self.written(cell).last().copied().unwrap_or(0)
    }

    /// Whether the answer is right, and what is written if so.
    fn takes(&mut self, schema: &Schema, action: &Action, answer: Answer) -> bool {
        let cell = action.cell();
        match (action, answer) {
            (Action::Read(_), Answer::Value(seen, _)) => seen.unwrap_or(0) == self.last(cell),
            (Action::ReadCounter(_), Answer::Value(seen, _)) => {
                seen.unwrap_or(0) == self.written(cell).iter().sum::<i64>()
            }
            (Action::ReadList(_), Answer::Values(seen)) => seen == self.written(cell),
            (Action::ReadSet(_), Answer::Values(mut seen)) => {
                let mut expected = self.written(cell);
                expected.sort_unstable();
                seen.sort_unstable();
                seen == expected
            }
            (Action::ReadGroup(_), Answer::Rows(seen)) => {
                let rows: HashMap<i64, i64> = seen.iter().copied().collect();
                let right = |cell: Cell| rows.get(&cell.row).unwrap_or(&0) == &self.last(cell);
                rows.len() == seen.len() && schema.group_of(cell).all(right)
            }
            (_, Answer::Done) => match action.value() {
                Some(value) => {
                    self.0.entry(cell).or_default().push(value);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }
}

/// Runs one plan; whether it committed.
fn run(
    session: &mut dyn Connection,
    schema: &Schema,
    model: &mut Model,
    plan: &Plan,
) -> Result<bool, Error> {
    let before = model.clone();
    session.begin()?;
    for step in &plan.steps {
        // Alone on the thread, nobody else would ever commit.
        if let Step::Act(action) = step {
            let answer = session.run(action)?;
            let text = format!("{action:?}: {answer:?}");
            assert!(model.takes(schema, action, answer), "{text} in {plan:?}");
        }
    }
    if plan.rolls_back {
        *model = before;
        return session.rollback().map(|()| false);
    }
    session.commit().map(|_| true)
}

/// Runs a workload on a file of its own: tests that run at the same time differ in the seed.
fn drive(name: &str, shape: &Shape, form: Form) {
    let file = std::env::temp_dir().join(format!(
        "isolde-workloads-{}-{name}-{}-{}-{}-{:?}.db",
        std::process::id(),
        shape.seed,
        form.upsert,
        form.by_secondary,
        shape.list_form
    ));
    let url = format!("sqlite:{}", file.display());
    let settings = Settings {
        form,
        ..Settings::default()
    };
    let workload = by_name(name, shape).unwrap();
    let schema = workload.schema();
    let database = drivers::open(&[url], &settings).unwrap();
    database.prepare(schema).unwrap();
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let session = database.connect(0, schema).unwrap();
            (workload.source(client, CLIENTS), session)
        })
        .collect();
    let mut model = Model::default();
    for _ in 0..40 {
        for (source, session) in &mut clients {
            let mut plan = Plan::default();
            source.next(&mut plan);
            let committed = run(&mut **session, schema, &mut model, &plan)
                .unwrap_or_else(|error| panic!("{name} {form:?}: {error}: {plan:?}"));
            source.ended(&plan, committed);
        }
    }
    drop((clients, database));
    for tail in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{tail}", file.display()));
    }
}

#[test]
fn every_statement_runs_on_sqlite_and_does_what_it_says() {
    for (name, _) in names() {
        for (upsert, by_secondary) in [(true, false), (false, false), (false, true)] {
            let form = Form {
                upsert,
                by_secondary,
                ..Form::default()
            };
            drive(name, &Shape::default(), form);
        }
    }
}

#[test]
fn lists_run_in_all_forms() {
    for name in ["list-append", "mixed"] {
        for list_form in [ListForm::Native, ListForm::Text, ListForm::Json] {
            for upsert in [true, false] {
                let shape = Shape {
                    list_form,
                    seed: 5,
                    ..Shape::default()
                };
                let form = Form {
                    upsert,
                    ..Form::default()
                };
                drive(name, &shape, form);
            }
        }
    }
}

#[test]
fn a_json_path_is_no_place_for_a_value() {
    let schema = Schema::single(ColumnKind::List(ListForm::Json), 0);
    let form = Form {
        upsert: false,
        ..Form::default()
    };
    let catalog = Catalog::new(Dialect::MySql, form, &schema);
    let cell = Cell {
        table: 0,
        column: 0,
        row: 3,
    };
    assert_eq!(
        catalog.readable(&Action::Append(cell, 7)),
        "update isolde_kv set v = json_array_append(coalesce(v, json_array()), '$', 7) where k = 3"
    );
}

#[test]
fn transfers_keep_the_total_and_audits_read_all_accounts() {
    let workload = by_name("bank", &Shape::default()).unwrap();
    let accounts = workload.schema().tables[0].rows as usize;
    for (_, plan) in plans(&*workload, 200) {
        let moved: i64 = plan.actions().filter_map(Action::value).sum();
        assert_eq!(moved, 0);
        let cells: HashSet<Cell> = plan.actions().map(Action::cell).collect();
        let is_audit = plan.name == workloads::bank::AUDIT;
        assert_eq!(cells.len(), if is_audit { accounts } else { 2 });
    }
}

#[test]
fn what_a_predicate_transaction_writes_is_in_the_group_it_looked_at() {
    let workload = by_name("predicates", &Shape::default()).unwrap();
    let schema = workload.schema();
    let mut inserted = HashSet::new();
    for (_, plan) in plans(&*workload, 200) {
        let looked = plan.actions().filter(|action| !action.writes());
        let seen: HashSet<Cell> = looked
            .flat_map(|action| schema.group_of(action.cell()))
            .collect();
        for action in plan.actions().filter(|action| action.writes()) {
            assert!(seen.contains(&action.cell()), "{plan:?}");
            inserted.insert(action.cell());
        }
    }
    let group = i64::from(schema.tables[0].group);
    let groups: HashSet<i64> = inserted.iter().map(|cell| cell.row / group).collect();
    // Groups that are full give way to others.
    assert!(groups.len() > 10);
}

#[test]
fn each_pair_of_a_long_transaction_meets_its_counterpart_while_it_waits() {
    let workload = by_name("long-transaction", &Shape::default()).unwrap();
    let mut sources: Vec<_> = (0..CLIENTS).map(|c| workload.source(c, CLIENTS)).collect();
    for _ in 0..3 {
        let mut long = Plan::default();
        sources[0].next(&mut long);
        let wait = long
            .steps
            .iter()
            .position(|step| !matches!(step, Step::Act(_)));
        let wait = wait.unwrap();
        assert_eq!(long.steps[wait], Step::AwaitCommits(4000));
        let cell = |step: &Step| match step {
            Step::Act(action) => action.cell(),
            Step::AwaitCommits(_) => panic!("waits twice"),
        };
        let read: Vec<Cell> = long.steps[..wait].iter().map(cell).collect();
        let written: Vec<Cell> = long.steps[wait + 1..].iter().map(cell).collect();
        let mut met = Vec::new();
        for turn in 0..1000 {
            let mut plan = Plan::default();
            sources[1 + turn % 2].next(&mut plan);
            if plan.name == "counterpart" {
                let cells: Vec<Cell> = plan.actions().map(Action::cell).collect();
                met.push((cells[1], cells[0]));
            }
        }
        let pairs: Vec<(Cell, Cell)> = read.into_iter().zip(written).collect();
        assert_eq!(met, pairs);
    }
}

#[test]
fn a_lone_client_does_not_wait_for_others() {
    let workload = by_name("long-transaction", &Shape::default()).unwrap();
    let mut plan = Plan::default();
    workload.source(0, 1).next(&mut plan);
    assert!(plan.steps.iter().all(|step| matches!(step, Step::Act(_))));
}

#[test]
fn writes_of_a_table_lock_rows_in_one_order() {
    every(|name, workload| {
        for (_, plan) in plans(workload, 300) {
            // Rows that nobody else writes cannot be waited for: only those that exist count.
            let writes = plan.actions().filter(|action| action.writes());
            let shared = writes.filter(|action| {
                let table = workload.schema().table(action.cell());
                action.cell().row < table.rows as i64 || workload.schema().tables.len() == 1
            });
            let mut last = HashMap::new();
            for cell in shared.map(Action::cell) {
                let before = last.insert(cell.table, cell.row);
                assert!(before <= Some(cell.row), "{name}: {plan:?}");
            }
        }
    });
}
