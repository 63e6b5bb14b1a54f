//! Sets and counters, alone and among registers and lists, against the executable definitions, on
//! small random histories. Every verdict is certified.
use crate::small;

use checker::{Options, check};
use history::{Builder, History, Initial, Interval, Level, Op, OpKind, Status, Value};
use history::{ValueCode, definition};
use small::{Random, Tally, all_agree, seeds, show};

/// What a key holds.
#[derive(Clone, Copy, PartialEq)]
enum Datatype {
    Register,
    List,
    Set,
    Counter,
}
use Datatype::*;

#[derive(Clone)]
struct Shape {
    /// What each key holds.
    keys: &'static [Datatype],
    sessions: u64,
    txns: u64,
    ops: u64,
    aborted: u64,
    indeterminate: u64,
    /// How often an element is added that was added before.
    duplicates: u64,
    /// How often a read sees another moment than its transaction's.
    stale: u64,
    /// How often a read is wrong in some way.
    wild: u64,
    /// What counters are incremented by.
    amounts: &'static [i64],
    timed: bool,
    /// The share of unknown answers, in percent of all, that is tolerated.
    unknown: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            keys: &[Set, Set],
            sessions: 3,
            txns: 6,
            ops: 3,
            aborted: 0,
            indeterminate: 0,
            duplicates: 0,
            stale: 25,
            wild: 2,
            amounts: &[1, 2, 4, 8],
            timed: false,
            unknown: 0,
        }
    }
}

struct Plan {
    session: u64,
    status: Status,
    /// Where it takes effect.
    place: u64,
    takes_effect: bool,
    /// Key, and what is written, if it is no read.
    ops: Vec<(usize, Option<i64>)>,
}

fn plans(shape: &Shape, random: &mut Random) -> Vec<Plan> {
    let count = 2 + random.below(shape.txns - 1);
    let mut written: Vec<Vec<i64>> = vec![Vec::new(); shape.keys.len()];
    let mut plans: Vec<Plan> = Vec::new();
    for place in 0..count {
        let status = match random.below(100) {
            roll if roll < shape.aborted => Status::Aborted,
            roll if roll < shape.aborted + shape.indeterminate => Status::Indeterminate,
            _ => Status::Committed,
        };
        let mut ops = Vec::new();
        for _ in 0..1 + random.below(shape.ops) {
            let key = random.below(shape.keys.len() as u64) as usize;
            let known = &mut written[key];
            let mut value = known.len() as i64 + 1;
            let repeats = shape.keys[key] == Set && random.chance(shape.duplicates);
            if repeats && !known.is_empty() {
                value = known[random.below(known.len() as u64) as usize];
            }
            if shape.keys[key] == Counter {
                value = shape.amounts[random.below(shape.amounts.len() as u64) as usize];
            }
            let is_write = random.chance(50);
            if is_write {
                known.push(value);
            }
            ops.push((key, is_write.then_some(value)));
        }
        plans.push(Plan {
            session: random.below(shape.sessions),
            status,
            place,
            takes_effect: status == Status::Committed
                || status == Status::Indeterminate && random.chance(50),
            ops,
        });
    }
    plans.sort_by_key(|plan| plan.session);
    plans
}

/// What is written to a key before a moment, in that order, and then by the reader so far.
fn visible(plans: &[Plan], reader: &Plan, moment: u64, key: usize, at: usize) -> Vec<i64> {
    let mut before: Vec<&Plan> = plans
        .iter()
        .filter(|plan| plan.takes_effect && plan.place < moment && plan.place != reader.place)
        .collect();
    before.sort_by_key(|plan| plan.place);
    let of = |ops: &[(usize, Option<i64>)]| -> Vec<i64> {
        let ops = ops.iter().filter(|op| op.0 == key);
        ops.filter_map(|op| op.1).collect()
    };
    let mut seen: Vec<i64> = before.iter().flat_map(|plan| of(&plan.ops)).collect();
    seen.extend(of(&reader.ops[..at]));
    seen
}

fn random_history(shape: &Shape, seed: u64) -> History {
    let mut random = Random(seed);
    let plans = plans(shape, &mut random);
    let mut builder = Builder::new();
    for (label, plan) in plans.iter().enumerate() {
        let session = builder.session(plan.session as i64);
        let mut ops = Vec::new();
        for (at, &(key, written)) in plan.ops.iter().enumerate() {
            let key_id = builder.key(&Value::from(key as u64));
            let mut moment = plan.place;
            if random.chance(shape.stale) {
                moment = random.below(plans.len() as u64 + 1);
            }
            let mut seen = visible(&plans, plan, moment, key, at);
            if random.chance(shape.wild) {
                match random.below(3) {
                    0 => seen.push(1 + random.below(6) as i64),
                    1 if !seen.is_empty() => {
                        seen.remove(random.below(seen.len() as u64) as usize);
                    }
                    _ => {
                        seen.pop();
                    }
                }
            }
            let (kind, value) = match (written, shape.keys[key]) {
                (Some(value), datatype) => {
                    let kind = match datatype {
                        Register => OpKind::Write,
                        List => OpKind::Append,
                        Set => OpKind::Add,
                        Counter => OpKind::Increment,
                    };
                    (kind, builder.value(&Value::from(value)))
                }
                (None, Register) => {
                    let last = seen.last().map(|&value| Value::from(value));
                    let code = last.map_or(ValueCode::NIL, |value| builder.value(&value));
                    (OpKind::Read, code)
                }
                (None, Counter) => {
                    let sum: i64 = seen.iter().sum();
                    (OpKind::ReadCounter, builder.value(&Value::from(sum)))
                }
                (None, datatype) => {
                    let mut codes = Vec::new();
                    for &value in &seen {
                        let code = builder.value(&Value::from(value));
                        if datatype == List || !codes.contains(&code) {
                            codes.push(code);
                        }
                    }
                    let kind = if datatype == List {
                        OpKind::ReadList
                    } else {
                        OpKind::ReadSet
                    };
                    (kind, builder.lists.push(&codes))
                }
            };
            ops.push(Op {
                kind,
                key: key_id,
                value,
            });
        }
        let around = |random: &mut Random| random.below(12) as i64;
        let middle = plan.place as i64 * 10;
        let interval = shape.timed.then(|| Interval {
            start: middle - around(&mut random),
            end: match random.below(10) {
                0 => Interval::NEVER,
                _ => middle + around(&mut random),
            },
        });
        builder
            .push_txn(session, label as u64, plan.status, interval, &ops)
            .expect("small");
    }
    builder.finish()
}

/// Every level must get the verdict of the definition. Prints the seed on failure.
fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let levels: Vec<Level> = Level::all().collect();
    let mut tally = Tally::default();
    for seed in seeds {
        let history = random_history(shape, seed);
        let checked = tally.add(&history, &levels, &Options::default(), shape.unknown > 0);
        checked.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
    }
    println!("{tally:?}");
    let decided = tally.held + tally.violated;
    assert!(
        tally.violated > 0 && tally.held > 0,
        "both verdicts should occur"
    );
    assert!(
        tally.out_of_scope * 50 < decided,
        "too many are out of scope"
    );
    assert!(
        tally.unknown * 100 <= shape.unknown * decided,
        "{tally:?}: too many are unknown"
    );
}

#[test]
fn sets_agree_with_the_definition() {
    agree(&Shape::default(), seeds(0, 1500));
}

#[test]
fn sets_with_aborted_and_indeterminate_transactions_agree_with_the_definition() {
    let shape = Shape {
        aborted: 15,
        indeterminate: 25,
        ..Shape::default()
    };
    agree(&shape, seeds(100_000, 1000));
}

#[test]
fn elements_added_twice_agree_with_the_definition() {
    let shape = Shape {
        duplicates: 40,
        txns: 5,
        aborted: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(200_000, 800));
}

#[test]
fn elements_added_twice_and_indeterminate_transactions_agree_with_the_definition() {
    let shape = Shape {
        duplicates: 40,
        txns: 5,
        indeterminate: 20,
        ..Shape::default()
    };
    agree(&shape, seeds(250_000, 500));
}

/// The first transaction was shown an element that nobody added, so it cannot be the one that the second read from.
#[test]
fn regression_an_element_from_nowhere_tells_who_cannot_have_committed() {
    all_agree(
        "{\"session\":0,\"status\":\"indeterminate\",\"ops\":[[\"add\",0,1],[\"rset\",1,[6]]]}\n\
         {\"session\":1,\"status\":\"indeterminate\",\"ops\":[[\"add\",1,1],[\"rset\",0,[1]]]}\n\
         {\"session\":2,\"ops\":[[\"add\",0,1],[\"rset\",1,[1]]]}\n",
    );
}

/// Where no order satisfies a weak level with all increments before the read, it is one that the read saw one of: the
/// three before it sum up to the same.
#[test]
fn regression_increments_seen_are_told_where_those_before_sum_up_to_the_same() {
    all_agree(
        "{\"session\":0,\"ops\":[[\"inc\",0,3]]}\n\
         {\"session\":0,\"ops\":[[\"inc\",0,1],[\"w\",1,0]]}\n\
         {\"session\":0,\"ops\":[[\"inc\",0,-3],[\"r\",1,0]]}\n\
         {\"session\":0,\"ops\":[[\"r\",1,null],[\"rcount\",0,1]]}\n",
    );
}

/// By the times the read comes after the increment, and by the session before it.
#[test]
fn regression_a_session_against_the_clock_leaves_nothing_that_a_counter_can_be() {
    all_agree(
        "{\"session\":0,\"ops\":[[\"rcount\",0,0]],\"start\":30,\"end\":31}\n\
         {\"session\":0,\"ops\":[[\"inc\",0,1]],\"start\":10,\"end\":11}\n",
    );
}

#[test]
fn sets_with_times_agree_with_the_definition() {
    let shape = Shape {
        timed: true,
        sessions: 5,
        stale: 10,
        wild: 1,
        ..Shape::default()
    };
    agree(&shape, seeds(300_000, 800));
}

#[test]
fn counters_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Counter, Counter],
        amounts: &[1, 2, 4, 8, 16, 32],
        unknown: 1,
        ..Shape::default()
    };
    agree(&shape, seeds(400_000, 800));
}

#[test]
fn counters_of_any_sign_with_open_outcomes_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Counter, Register],
        amounts: &[1, 3, -9, 27, 100],
        aborted: 10,
        indeterminate: 20,
        unknown: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(500_000, 600));
}

#[test]
fn counters_that_many_sets_explain_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Counter],
        amounts: &[1],
        txns: 5,
        ops: 2,
        unknown: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(600_000, 400));
}

#[test]
fn counters_with_times_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Counter],
        amounts: &[1, 2],
        txns: 6,
        ops: 1,
        sessions: 6,
        timed: true,
        stale: 8,
        unknown: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(700_000, 400));
}

#[test]
fn mixed_histories_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Set, Counter, Register, List],
        ops: 4,
        stale: 15,
        // Lists that contradict each other are not always decided.
        unknown: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(800_000, 800));
}

#[test]
fn mixed_histories_with_open_outcomes_agree_with_the_definition() {
    let shape = Shape {
        keys: &[Set, List, Counter, Register],
        ops: 4,
        aborted: 10,
        indeterminate: 15,
        duplicates: 10,
        stale: 15,
        timed: true,
        unknown: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(900_000, 600));
}

/// A shrunk history violates the level by the definition, and is no longer than the whole.
#[test]
fn violations_shrink_to_violations() {
    let shape = Shape {
        keys: &[Set, Counter, Set, Register],
        txns: 7,
        indeterminate: 10,
        ..Shape::default()
    };
    let levels = [Level::ReadAtomic, Level::Causal, Level::StrictSerializable];
    let (initial, options) = (Initial::default(), Options::default());
    let mut shrunk = 0;
    for seed in seeds(1_000_000, 300) {
        let history = random_history(&shape, seed);
        for answer in check(&history, &levels, &options) {
            let Some(part) = checker::shrink(&history, &answer.result, &options) else {
                continue;
            };
            let level = answer.result.level;
            let text = || format!("{}of\n{}", show(&part.history), show(&history));
            let Ok(holds) = definition::holds(&part.history, level, &initial) else {
                continue;
            };
            assert!(!holds, "seed {seed}, {level}\n{}", text());
            assert!(part.history.op_count() <= history.op_count(), "seed {seed}");
            shrunk += 1;
        }
    }
    assert!(shrunk > 100, "only {shrunk} were shrunk");
}
