//! Schedules on replicated stores, the levels that allow them, and serial schedules everywhere.

use history::definition::holds_all_assuming;
use history::{Initial, KeyOrder, Level};
use program::{
    Engine, Event, How, Instance, Judgement, Play, Program, Scenario, StoreLevel, StoredRow,
    TableId, Turn, Value, allows, judge, play, read_sql_file, serial_outcomes,
};
use std::collections::BTreeSet;

const MICRO: &str = "
create table t (id int primary key, v int not null);
transaction w_x_twice() update t set v = 1 where id = 1; update t set v = 2 where id = 1; end;
transaction r_x() select v from t where id = 1; end;
transaction r_x_twice() select v from t where id = 1; select v from t where id = 1; end;
transaction r_x_y() select v from t where id = 1; select v from t where id = 2; end;
transaction r_y_x() select v from t where id = 2; select v from t where id = 1; end;
transaction w_x() update t set v = 1 where id = 1; end;
transaction w_y() update t set v = 1 where id = 2; end;
transaction w_x_y(a int) update t set v = :a where id = 1; update t set v = :a where id = 2; end;
transaction inc(a int)
  select v into :old from t where id = 1; update t set v = :old + :a where id = 1;
end;
transaction skew(a int, b int)
  select v into :old from t where id = :a;
  if :old = 0 then update t set v = 1 where id = :b; end if;
end;
";

fn micro() -> Program {
    read_sql_file(MICRO, "micro.sql", None).expect("the program is read")
}

fn instance(program: &Program, name: &str, arguments: &[i64]) -> Instance {
    let named = |txn: &program::Transaction| txn.name == name;
    Instance {
        transaction: program.transactions.iter().position(named).expect(name),
        arguments: arguments.iter().map(|one| Value::Integer(*one)).collect(),
        ..Instance::default()
    }
}

fn two_rows() -> Vec<StoredRow> {
    let row = |id: i64| StoredRow {
        table: TableId(0),
        values: vec![Value::Integer(id), Value::Integer(0)],
    };
    vec![row(1), row(2)]
}

/// All ways to merge instances with so many statements each; a commit follows the last statement.
fn merges(counts: &[u32]) -> Vec<Vec<(usize, u32)>> {
    let total: u32 = counts.iter().sum();
    let mut found: Vec<Vec<(usize, u32)>> = vec![Vec::new()];
    for _ in 0..total {
        let mut longer = Vec::new();
        for merge in &found {
            for (at, count) in counts.iter().enumerate() {
                let done = merge.iter().filter(|(one, _)| *one == at).count() as u32;
                if done < *count {
                    let mut merge = merge.clone();
                    merge.push((at, done));
                    longer.push(merge);
                }
            }
        }
        found = longer;
    }
    found
}

fn turns(merge: &[(usize, u32)], counts: &[u32]) -> Vec<Turn> {
    let mut found = Vec::new();
    let mut turn = |instance: usize, event: Event| {
        found.push(Turn {
            instance,
            event,
            sees: None,
        });
    };
    for (at, statement) in merge {
        turn(*at, Event::Statement(*statement));
        if statement + 1 == counts[*at] {
            turn(*at, Event::Commit);
        }
    }
    found
}

/// The choices of what each select sees: every subset of the earlier turns of others that write.
fn choices(base: &[Turn], reads: &dyn Fn(usize, u32) -> bool) -> Vec<Vec<Turn>> {
    let mut found = vec![base.to_vec()];
    for (at, turn) in base.iter().enumerate() {
        let Event::Statement(number) = turn.event else {
            continue;
        };
        if !reads(turn.instance, number) {
            continue;
        }
        let writes = |(_, other): &(usize, &Turn)| match other.event {
            Event::Statement(n) => other.instance != turn.instance && !reads(other.instance, n),
            _ => false,
        };
        let earlier = base[..at].iter().enumerate().filter(writes);
        let earlier: Vec<usize> = earlier.map(|(at, _)| at).collect();
        let mut more = Vec::new();
        for schedule in &found {
            for subset in 0..1u32 << earlier.len() {
                let chosen = earlier.iter().enumerate();
                let chosen = chosen.filter(|(bit, _)| subset & (1 << bit) != 0);
                let sees: BTreeSet<usize> = chosen.map(|(_, turn)| *turn).collect();
                let mut schedule = schedule.clone();
                schedule[at].sees = Some(sees);
                more.push(schedule);
            }
        }
        found = more;
    }
    found
}

const LEVELS: [StoreLevel; 10] = [
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

/// For each level, whether some schedule it allows is not serializable.
fn level_row(instances: &[(&str, &[i64])], counts: &[u32], merges: &[Vec<(usize, u32)>]) -> String {
    let program = micro();
    let instances: Vec<Instance> = instances
        .iter()
        .map(|(name, arguments)| instance(&program, name, arguments))
        .collect();
    let reads = |at: usize, number: u32| {
        let txn = &program.transactions[instances[at].transaction];
        !txn.statements()[number as usize].is_write()
    };
    let mut broken = [false; LEVELS.len()];
    for merge in merges {
        for schedule in choices(&turns(merge, counts), &reads) {
            let scenario = Scenario {
                rows: two_rows(),
                instances: instances.clone(),
                schedule,
            };
            let played = play(&program, &scenario, How::Given).expect("it plays");
            let judged = judge(&program, &scenario, &played).expect("it is judged");
            if judged != Judgement::NotSerializable {
                continue;
            }
            for (at, level) in LEVELS.iter().enumerate() {
                broken[at] |= allows(*level, &played);
            }
        }
    }
    let cells = broken.map(|broken| if broken { "X" } else { "." });
    cells.join(" ")
}

#[test]
fn each_level_allows_the_anomalies_it_is_known_for() {
    let all = |counts: &[u32]| merges(counts);
    // ec cv cc rc* rr* rc*+rr* lin psi si ser
    let rows = [
        (
            "dirty read",
            level_row(&[("w_x_twice", &[]), ("r_x", &[])], &[2, 1], &all(&[2, 1])),
            "X X X . X . X . . .",
        ),
        (
            "non-repeatable read",
            level_row(&[("r_x_twice", &[]), ("w_x", &[])], &[2, 1], &all(&[2, 1])),
            "X X X X . . X . . .",
        ),
        (
            "lost update",
            level_row(&[("inc", &[1]), ("inc", &[2])], &[2, 2], &all(&[2, 2])),
            "X X X X X X X . . .",
        ),
        (
            "write skew",
            level_row(
                &[("skew", &[1, 2]), ("skew", &[2, 1])],
                &[2, 2],
                &all(&[2, 2]),
            ),
            "X X X X X X X X X .",
        ),
        (
            "dirty write",
            level_row(&[("w_x_y", &[1]), ("w_x_y", &[2])], &[2, 2], &all(&[2, 2])),
            "X X X X X X X . . .",
        ),
        (
            "fractured read",
            level_row(&[("w_x_y", &[1]), ("r_x_y", &[])], &[2, 2], &all(&[2, 2])),
            "X X X X X . X . . .",
        ),
    ];
    for (name, found, expected) in rows {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_long_fork_is_allowed_up_to_parallel_snapshots() {
    let instances: &[(&str, &[i64])] =
        &[("w_x", &[]), ("w_y", &[]), ("r_x_y", &[]), ("r_y_x", &[])];
    // What is seen is free, so one merge serves all levels but the one that sees everything.
    let writes_first = vec![(0, 0), (1, 0), (2, 0), (3, 0), (2, 1), (3, 1)];
    let reads_first = vec![(2, 0), (3, 0), (0, 0), (1, 0), (2, 1), (3, 1)];
    let found = level_row(instances, &[1, 1, 2, 2], &[writes_first, reads_first]);
    assert_eq!(found, "X X X X X X X X . .");
}

#[test]
fn the_later_write_of_a_cell_wins() {
    let program = micro();
    let nothing = Some(BTreeSet::new());
    let turn = |instance: usize, event: Event| Turn {
        instance,
        event,
        sees: nothing.clone(),
    };
    let scenario = Scenario {
        rows: two_rows(),
        instances: vec![
            instance(&program, "inc", &[1]),
            instance(&program, "inc", &[2]),
        ],
        schedule: vec![
            turn(0, Event::Statement(0)),
            turn(1, Event::Statement(0)),
            turn(1, Event::Statement(1)),
            turn(0, Event::Statement(1)),
            turn(0, Event::Commit),
            turn(1, Event::Commit),
        ],
    };
    let played = play(&program, &scenario, How::Given).expect("it plays");
    assert_eq!(played.rows[0].values[1], Value::Integer(1));
    let kinds: Vec<&str> = played.edges.iter().map(|edge| edge.kind.name()).collect();
    assert_eq!(kinds, ["rw", "rw", "ww"], "{:?}", played.edges);
    assert_eq!(played.names[0], "t[1]");
    assert_eq!(played.history.txn_count(), 2);
    assert_eq!(
        judge(&program, &scenario, &played),
        Ok(Judgement::NotSerializable)
    );
}

const POOL: &str = "
create table a (id int primary key, v int not null, w int);
create table b (k int, n int, x int not null, primary key (k, n));
transaction read_all(p int, q int) select id, v, w from a where v >= :p; end;
transaction add(p int, q int) update a set v = v + :q where id = :p; end;
transaction copy(p int, q int)
  select v into :u from a where id = :p;
  if not found then abort; end if;
  update a set w = :u where id = :q;
end;
transaction raise(p int, q int)
  select v into :u from a where id = :p;
  update a set v = :u + :q where id = :p;
end;
transaction guard(p int, q int)
  select sum(v) into :u from a;
  if :u > :q then update a set v = v - :q where id = :p; end if;
end;
transaction put(p int, q int)
  select count(*) into :c from b where k = :p;
  insert into b values (:p, :c + 1, :q);
end;
transaction wipe(p int, q int) delete from b where k = :p and x < :q; end;
transaction fresh(p int, q int)
  insert into a values (:p + 2, :q, null) on conflict (id) do update set v = a.v + 1;
end;
transaction sum(p int, q int)
  let s = 0;
  for r in select x, n from b where k = :p loop
    let s = :s + :r.x;
    update b set x = x + 1 where k = :p and n = :r.n;
  end loop;
  update a set v = :s where id = :q;
end;
transaction move(p int, q int)
  select v into :u from a where id = :p for update;
  if :u > :q then
    update a set v = v - :q where id = :p;
    update a set v = v + :q where id <> :p;
  else
    abort;
  end if;
end;
transaction join(p int, q int)
  select a.v, b.x from a, b where b.k = a.id and a.v > :q;
  delete from a where id in (select x from b where k = :p);
end;
";

/// A number below `most`; the same for the same seed.
fn draw(seed: &mut u64, most: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % most
}

fn random_scenario(program: &Program, seed: &mut u64) -> Scenario {
    let mut rows = Vec::new();
    let number = |n: u64| Value::Integer(n as i64);
    for id in 1..=1 + draw(seed, 3) {
        rows.push(StoredRow {
            table: TableId(0),
            values: vec![number(id), number(draw(seed, 5)), Value::Null],
        });
    }
    for n in 1..=draw(seed, 3) {
        rows.push(StoredRow {
            table: TableId(1),
            values: vec![number(draw(seed, 2) + 1), number(n), number(draw(seed, 4))],
        });
    }
    let mut instances = Vec::new();
    for _ in 0..2 + draw(seed, 2) {
        instances.push(Instance {
            transaction: draw(seed, program.transactions.len() as u64) as usize,
            arguments: vec![number(draw(seed, 2) + 1), number(draw(seed, 3) + 1)],
            ..Instance::default()
        });
    }
    Scenario {
        rows,
        schedule: Vec::new(),
        instances,
    }
}

fn hows() -> Vec<How> {
    let mut all = vec![How::Given];
    all.extend(Engine::ALL.map(How::Engine));
    all
}

#[test]
fn a_serial_schedule_does_the_same_everywhere() {
    let program = read_sql_file(POOL, "pool.sql", None).expect("the program is read");
    for start in 0..60u64 {
        let mut seed = start;
        let scenario = random_scenario(&program, &mut seed);
        for how in hows() {
            let played = play(&program, &scenario, how).expect("it plays");
            let order = &played.commits;
            let outcomes = serial_outcomes(&program, &scenario, order).expect("few instances");
            let same = |run: usize| Some(&played.runs[run].results);
            let serial = outcomes
                .iter()
                .find(|one| one.order == *order)
                .expect("its order");
            let results: Vec<_> = serial.results.iter().map(Option::as_ref).collect();
            let expected: Vec<_> = order.iter().map(|run| same(*run)).collect();
            assert_eq!(results, expected, "seed {start}, {how:?}");
            assert_eq!(serial.rows, played.rows, "seed {start}, {how:?}");
            for level in StoreLevel::ALL {
                assert!(
                    allows(level, &played),
                    "seed {start}, {how:?}, {}",
                    level.name()
                );
            }
        }
    }
}

/// A random scenario with a random order of ten steps.
fn mixed_scenario(program: &Program, seed: &mut u64) -> Scenario {
    let mut scenario = random_scenario(program, seed);
    for _ in 0..10 {
        let instance = draw(seed, scenario.instances.len() as u64) as usize;
        let done = scenario
            .schedule
            .iter()
            .filter(|turn| turn.instance == instance);
        let event = Event::Statement(done.count() as u32);
        scenario.schedule.push(Turn {
            instance,
            event,
            sees: None,
        });
    }
    scenario
}

/// What is allowed is what the definitions of the levels say of the history, and a history without
/// a circle is one of a serial outcome.
#[test]
fn the_history_of_a_play_tells_the_same() {
    let program = read_sql_file(POOL, "pool.sql", None).expect("the program is read");
    let initial = Initial::default();
    let pairs = [
        (StoreLevel::Serializable, Level::Serializable),
        (StoreLevel::Snapshot, Level::SnapshotIsolation),
        (
            StoreLevel::ParallelSnapshot,
            Level::ParallelSnapshotIsolation,
        ),
        (StoreLevel::ReadAtomic, Level::ReadAtomic),
    ];
    for start in 2000..2040u64 {
        let scenario = mixed_scenario(&program, &mut { start });
        for how in hows() {
            let played = play(&program, &scenario, how).expect("it plays");
            let recorded = KeyOrder::Recorded;
            let held = holds_all_assuming(&played.history, &initial, recorded).expect("in scope");
            for (ours, level) in pairs {
                let holds = held.iter().any(|(one, holds)| *one == level && *holds);
                let allowed = allows(ours, &played);
                assert!(
                    !allowed || holds,
                    "seed {start}, {how:?}, {}: {played:#?}",
                    ours.name()
                );
                // We ask for more: nothing is read before it is committed, and snapshots are of
                // the order of commits.
                let exact = [StoreLevel::Serializable, StoreLevel::ParallelSnapshot]
                    .contains(&ours)
                    && ![How::Given, How::Engine(Engine::MariaReadUncommitted)].contains(&how);
                let same = allowed == holds || !exact;
                assert!(same, "seed {start}, {how:?}, {}: {played:#?}", ours.name());
            }
        }
    }
}

/// Whatever a server does at serializable is serializable; at the weakest levels it is not always.
/// What has no circle of dependencies has a serial outcome.
#[test]
fn serializable_servers_are_serializable() {
    let program = read_sql_file(POOL, "pool.sql", None).expect("the program is read");
    let mut broken = [0; Engine::ALL.len()];
    for start in 1000..1100u64 {
        let scenario = mixed_scenario(&program, &mut { start });
        for (at, engine) in Engine::ALL.into_iter().enumerate() {
            let played: Play = play(&program, &scenario, How::Engine(engine)).expect("it plays");
            let judged = judge(&program, &scenario, &played).expect("few instances");
            let serial = judged != Judgement::NotSerializable;
            broken[at] += u32::from(!serial);
            let must = [Engine::PostgresSerializable, Engine::MariaSerializable].contains(&engine)
                || allows(StoreLevel::Serializable, &played);
            assert!(
                serial || !must,
                "seed {start} on {}: {played:#?}",
                engine.name()
            );
        }
    }
    let weak = [Engine::PostgresReadCommitted, Engine::MariaReadUncommitted];
    for (engine, broken) in Engine::ALL.into_iter().zip(broken) {
        assert!(
            broken > 0 || !weak.contains(&engine),
            "{} never failed",
            engine.name()
        );
    }
}
