//! Registers, lists, sets and counters beside each other against the executable definitions. Each seed draws what its
//! history looks like, so that whatever can come together does. Every verdict is certified.
use crate::small;

use checker::{Options, Strategy, check};
use history::{Builder, History, Initial, Interval, KeyOrder, Level, Op, OpKind, Status};
use history::{KeyId, Value, ValueCode, Verdict, definition};
use small::{Random, Tally, certify_file, seeds};
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Datatype {
    Register,
    List,
    Set,
    Counter,
}
use Datatype::*;

/// What a history looks like; shares in percent.
struct Mixture {
    keys: Vec<Datatype>,
    sessions: u64,
    txns: u64,
    ops: u64,
    aborted: u64,
    indeterminate: u64,
    /// How often a value is written that its key had before.
    duplicates: u64,
    /// How often a transaction sees an earlier moment than its own.
    late: u64,
    /// How often a read sees some moment of its own.
    stale: u64,
    /// How often a read sees transactions in part, or aborted ones.
    dirty: u64,
    /// How often a read is wrong in some way.
    wild: u64,
    /// How often it is not known what a read returned.
    silent: u64,
    /// By how much times are off, if there are any.
    times: Option<u64>,
    /// How often an operation has a version number.
    recorded: u64,
    /// How often a session does a transaction at another time than its turn.
    astray: u64,
    /// What is asked about it, and how.
    levels: Vec<Level>,
    options: Options<'static>,
}

impl Mixture {
    fn drawn(random: &mut Random) -> Mixture {
        let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
        let key_count = one_of(&[1, 2, 2, 3, 4]);
        let few = one_of(&[0, 0, 1]) == 1;
        let keys = (0..key_count).map(|key| {
            let of_any = one_of(&[0, 0, 0, 1, 1, 2, 2, 3]);
            // One datatype beside registers, or all of them.
            match if few && key > 0 {
                one_of(&[0, 1])
            } else {
                of_any
            } {
                0 => Register,
                1 => List,
                2 => Set,
                _ => Counter,
            }
        });
        let keys: Vec<Datatype> = keys.collect();
        let assumed = match keys.iter().any(|key| matches!(key, Set | Counter)) {
            true => KeyOrder::Free,
            false => KeyOrder::ALL[one_of(&[0, 0, 0, 1, 2, 3, 4]) as usize],
        };
        let mut levels: Vec<Level> = Level::all().collect();
        if one_of(&[0, 1]) == 1 {
            // What was found out about others is no help then.
            let numbers: Vec<u64> = (0..levels.len() as u64).collect();
            levels = vec![levels[one_of(&numbers) as usize]];
        }
        Mixture {
            keys,
            levels,
            options: Options {
                initial: match one_of(&[0, 0, 0, 1, 2]) {
                    0 => Initial::default(),
                    1 => Initial::NilOnly,
                    _ => Initial::Value(Value::from(1u64)),
                },
                keys: assumed,
                strategy: Strategy {
                    cycles: one_of(&[0, 1, 1]) == 1,
                    guess: one_of(&[0, 1, 1]) == 1,
                    prune: one_of(&[0, 1, 1]) == 1,
                    repair: one_of(&[0, 1, 1]) == 1,
                    explain: one_of(&[0, 1, 1]) == 1,
                    ..Strategy::default()
                },
                ..Options::default()
            },
            sessions: one_of(&[1, 2, 2, 3, 3, 9]),
            txns: one_of(&[3, 5, 6, 7, 8]),
            ops: one_of(&[1, 2, 3, 4, 5]),
            aborted: one_of(&[0, 0, 10, 30]),
            indeterminate: one_of(&[0, 15, 40, 40, 80]),
            duplicates: one_of(&[0, 0, 20, 50, 80]),
            late: one_of(&[0, 30, 60, 100]),
            stale: one_of(&[0, 10, 40, 100]),
            dirty: one_of(&[0, 0, 5, 20]),
            wild: one_of(&[0, 0, 2, 8]),
            silent: one_of(&[0, 0, 0, 15]),
            times: [None, None, Some(3), Some(12), Some(40)][one_of(&[0, 1, 2, 3, 4]) as usize],
            recorded: one_of(&[0, 0, 50, 100]),
            astray: one_of(&[0, 0, 0, 30]),
        }
    }
}

impl Mixture {
    /// Not every read of a counter says what it saw.
    fn has_counters(&self) -> bool {
        self.keys.contains(&Counter)
    }
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options {
            initial,
            keys,
            strategy,
            ..
        } = &self.options;
        write!(f, "{initial:?}, keys are {keys}, {strategy:?}")
    }
}

/// Key, and what is written, if it is no read.
type Step = (usize, Option<i64>);

struct Plan {
    session: u64,
    status: Status,
    /// Where it takes effect.
    place: u64,
    takes_effect: bool,
    steps: Vec<Step>,
}

fn plans(mixture: &Mixture, random: &mut Random) -> Vec<Plan> {
    let count = 2 + random.below(mixture.txns - 1);
    let mut written: Vec<Vec<i64>> = vec![Vec::new(); mixture.keys.len()];
    let mut plans = Vec::new();
    for place in 0..count {
        let status = match random.below(100) {
            roll if roll < mixture.aborted => Status::Aborted,
            roll if roll < mixture.aborted + mixture.indeterminate => Status::Indeterminate,
            _ => Status::Committed,
        };
        let mut steps = Vec::new();
        for _ in 0..1 + random.below(mixture.ops) {
            let key = random.below(mixture.keys.len() as u64) as usize;
            let written = random
                .chance(50)
                .then(|| next_value(mixture, random, key, &mut written[key]));
            steps.push((key, written));
        }
        plans.push(Plan {
            session: random.below(mixture.sessions),
            status,
            place,
            takes_effect: status == Status::Committed
                || status == Status::Indeterminate && random.chance(50),
            steps,
        });
    }
    plans.sort_by_cached_key(|plan: &Plan| {
        let is_astray = random.chance(mixture.astray);
        let turn = if is_astray {
            random.below(count)
        } else {
            plan.place
        };
        (plan.session, turn)
    });
    plans
}

fn next_value(mixture: &Mixture, random: &mut Random, key: usize, known: &mut Vec<i64>) -> i64 {
    let datatype = mixture.keys[key];
    let mut value = known.len() as i64 + 1;
    let repeats = matches!(datatype, Register | Set) && random.chance(mixture.duplicates);
    if repeats && !known.is_empty() {
        value = known[random.below(known.len() as u64) as usize];
    } else if repeats && datatype == Register {
        // What reads of the initial version may return, too.
        value = 0;
    }
    if datatype == Counter {
        value = [1, 1, 2, 5, -3][random.below(5) as usize];
    }
    known.push(value);
    value
}

/// What is written to a key before a moment, in that order, and then by the reader so far.
fn visible(
    plans: &[Plan],
    reader: &Plan,
    (moment, is_dirty): (u64, bool),
    (key, at): (usize, usize),
    random: &mut Random,
) -> Vec<i64> {
    let mut before: Vec<&Plan> = plans
        .iter()
        .filter(|plan| plan.takes_effect || is_dirty)
        .filter(|plan| plan.place < moment && plan.place != reader.place)
        .collect();
    before.sort_by_key(|plan| plan.place);
    let mut seen = Vec::new();
    let mut see = |steps: &[Step]| {
        let of_key = steps.iter().filter(|step| step.0 == key);
        seen.extend(of_key.filter_map(|step| step.1));
    };
    for plan in before {
        let whole = plan.steps.len();
        let part = match is_dirty {
            true => random.below(whole as u64 + 1) as usize,
            false => whole,
        };
        see(&plan.steps[..part]);
    }
    see(&reader.steps[..at]);
    seen
}

/// Makes what a read saw something that it should not have seen.
fn spoil(random: &mut Random, seen: &mut Vec<i64>) {
    let at = random.below(seen.len() as u64 + 1) as usize;
    match random.below(4) {
        0 => seen.insert(at, 1 + random.below(6) as i64),
        1 if at < seen.len() => {
            seen.remove(at);
        }
        2 => seen.reverse(),
        _ => seen.truncate(at),
    }
}

fn written_op(builder: &mut Builder, datatype: Datatype, value: i64) -> (OpKind, ValueCode) {
    let kind = match datatype {
        Register => OpKind::Write,
        List => OpKind::Append,
        Set => OpKind::Add,
        Counter => OpKind::Increment,
    };
    (kind, builder.value(&Value::from(value)))
}

fn read_op(builder: &mut Builder, datatype: Datatype, seen: Option<&[i64]>) -> (OpKind, ValueCode) {
    let kind = match datatype {
        Register => OpKind::Read,
        List => OpKind::ReadList,
        Set => OpKind::ReadSet,
        Counter => OpKind::ReadCounter,
    };
    let Some(seen) = seen else {
        return (kind, ValueCode::UNKNOWN);
    };
    let value = match datatype {
        Register => match seen.last() {
            Some(&value) => builder.value(&Value::from(value)),
            None => ValueCode::NIL,
        },
        Counter => builder.value(&Value::from(seen.iter().sum::<i64>())),
        List | Set => {
            let mut codes = Vec::new();
            for &value in seen {
                let code = builder.value(&Value::from(value));
                if datatype == List || !codes.contains(&code) {
                    codes.push(code);
                }
            }
            builder.lists.push(&codes)
        }
    };
    (kind, value)
}

fn random_history(mixture: &Mixture, random: &mut Random) -> History {
    built(mixture, random).finish()
}

fn built(mixture: &Mixture, random: &mut Random) -> Builder {
    let plans = plans(mixture, random);
    let mut builder = Builder::new();
    for (label, plan) in plans.iter().enumerate() {
        let session = builder.session(plan.session as i64);
        let ops_start = builder.ops.len();
        let mut snapshot = plan.place;
        if random.chance(mixture.late) {
            snapshot = random.below(snapshot + 1);
        }
        for (at, &(key, written)) in plan.steps.iter().enumerate() {
            let datatype = mixture.keys[key];
            let key_id = builder.key(&Value::from(key as u64));
            let (kind, value) = match written {
                Some(value) => written_op(&mut builder, datatype, value),
                None => {
                    let mut moment = snapshot;
                    if random.chance(mixture.stale) {
                        moment = random.below(plans.len() as u64 + 1);
                    }
                    let moment = (moment, random.chance(mixture.dirty));
                    let mut seen = visible(&plans, plan, moment, (key, at), random);
                    if random.chance(mixture.wild) {
                        spoil(random, &mut seen);
                    }
                    let is_known = !random.chance(mixture.silent);
                    read_op(&mut builder, datatype, is_known.then_some(&seen[..]))
                }
            };
            builder.ops.push(Op {
                kind,
                key: key_id,
                value,
            });
            if random.chance(mixture.recorded) {
                let is_right = random.chance(90);
                builder.record_version(if is_right {
                    plan.place
                } else {
                    random.below(9)
                });
            }
        }
        let interval = mixture.times.map(|noise| {
            let middle = plan.place as i64 * 10;
            Interval {
                start: middle - random.below(noise) as i64,
                end: match random.below(10) {
                    0 => Interval::NEVER,
                    1 => middle - 50,
                    _ => middle + random.below(noise) as i64,
                },
            }
        });
        builder
            .end_txn(session, label as u64, plan.status, interval, ops_start)
            .expect("small");
    }
    builder
}

/// The same history but for appends by aborted transactions that nobody saw: those are first tries of what others
/// appended. That changes no verdict. None if there are no such appends.
fn with_first_tries(mixture: &Mixture, random: &mut Random, history: &History) -> Option<History> {
    let ops = || {
        let txns = history.txn_ids();
        txns.flat_map(|txn| history.txn_ops(txn).map(move |(id, op)| (txn, id, op)))
    };
    let shown: BTreeSet<(KeyId, ValueCode)> = ops()
        .filter(|(_, _, op)| op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN)
        .flat_map(|(_, _, op)| {
            history
                .list(op.value)
                .iter()
                .map(move |&code| (op.key, code))
        })
        .collect();
    let (mut unseen, mut others) = (Vec::new(), Vec::new());
    for (txn, id, op) in ops().filter(|(_, _, op)| op.kind == OpKind::Append) {
        if history.status(txn) != Status::Aborted {
            others.push(op);
        } else if !shown.contains(&(op.key, op.value)) {
            unseen.push((id, op.key));
        }
    }
    let mut builder = built(mixture, random);
    let mut is_other = false;
    for (id, key) in unseen {
        if let Some(other) = others.iter().find(|other| other.key == key) {
            builder.ops.values[id.index()] = other.value;
            is_other = true;
        }
    }
    is_other.then(|| builder.finish())
}

#[test]
fn first_tries_of_appends_change_no_verdict() {
    let mut tally = Tally::default();
    for seed in seeds(1_000_000, 4000) {
        first_tries_agree(&mut tally, seed).unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
    }
    println!("{tally:?}");
    assert!(tally.held > 1000 && tally.violated > 100);
}

fn first_tries_agree(tally: &mut Tally, seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let mut mixture = Mixture::drawn(&mut random);
    mixture.aborted = mixture.aborted.max(25);
    let mut same = Random(random.0);
    let history = random_history(&mixture, &mut random);
    let tried = with_first_tries(&mixture, &mut same, &history);
    let Options { initial, keys, .. } = &mixture.options;
    let truth = definition::holds_all_assuming(&history, initial, *keys);
    if let (Some(tried), Ok(truth)) = (tried, truth) {
        let tolerates = mixture.has_counters();
        let checked = tally.compare(&tried, &truth, &mixture.levels, &mixture.options, tolerates);
        return checked.map_err(|wrong| format!("{wrong}\n{mixture}"));
    }
    Ok(())
}

#[test]
fn whatever_comes_together_agrees_with_the_definition() {
    let mut tally = Tally::default();
    for seed in seeds(0, 6000) {
        let mut random = Random(seed);
        let mixture = Mixture::drawn(&mut random);
        let history = random_history(&mixture, &mut random);
        let tolerates = mixture.has_counters();
        let checked = tally.add(&history, &mixture.levels, &mixture.options, tolerates);
        checked.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}\n{mixture}"));
    }
    println!("{tally:?}");
    let decided = tally.held + tally.violated;
    assert!(tally.held * 10 > decided && tally.violated * 10 > decided);
    assert!(tally.unknown * 1000 < decided);
    assert!(tally.out_of_scope * 500 < decided);
}

/// Too large for the definitions: what is found in two ways is the same and certified, and a level that holds implies
/// others.
#[test]
fn larger_histories_are_decided_alike_however_they_are_asked_about() {
    let all: Vec<Level> = Level::all().collect();
    let mut decided = 0;
    for seed in seeds(2_000_000, 200) {
        let mut random = Random(seed);
        let mut mixture = Mixture::drawn(&mut random);
        mixture.txns = 40;
        let history = random_history(&mixture, &mut random);
        let plain = Options {
            strategy: Strategy::default(),
            ..mixture.options.clone()
        };
        let known = verdicts(&history, &all, &plain);
        let known = known.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}\n{mixture}"));
        for &(level, holds) in &known {
            decided += 1;
            let implied = |other: &&(Level, bool)| holds && level.implies(other.0);
            assert!(
                known.iter().filter(implied).all(|other| other.1),
                "seed {seed}, {level}"
            );
            let alone = verdicts(&history, &[level], &mixture.options);
            let alone = alone.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}\n{mixture}"));
            let is_same = alone.first().is_none_or(|&(_, alone)| alone == holds);
            assert!(is_same, "seed {seed}, {level} alone\n{mixture}");
        }
    }
    assert!(decided > 1000);
}

/// The verdicts that are known, certified.
fn verdicts(
    history: &History,
    levels: &[Level],
    options: &Options<'_>,
) -> Result<Vec<(Level, bool)>, String> {
    let mut known = Vec::new();
    for answer in check(history, levels, options) {
        let (level, verdict) = (answer.result.level, &answer.result.verdict);
        let holds = match verdict {
            Verdict::Unknown(_) => continue,
            verdict => matches!(verdict, Verdict::Holds(_)),
        };
        if holds || options.strategy.explain {
            let certified = certify_file(history, options, &answer.result);
            certified.map_err(|refusal| format!("{level}: {refusal}\n{verdict:#?}"))?;
        }
        known.push((level, holds));
    }
    Ok(known)
}
