//! Histories that a database might have produced: transactions read from snapshots, mostly.

use super::{Random, Shape};
use history::{Builder, History, Interval, KeyId, KeyTable, Op, OpKind, Status, TxnId, ValueCode};

/// A transaction before it has run.
struct Plan {
    status: Status,
    ops: Vec<Op>,
}

/// A random history of registers. Its transactions commit one after another; each reads what was
/// there a little before it committed, and now and then something else.
pub fn plausible_history(seed: u64, shape: &Shape) -> History {
    let mut random = Random(seed);
    let mut plans = plans(&mut random, shape, OpKind::Write, OpKind::Read);
    let written = |plans: &[Plan], key: KeyId| -> Vec<ValueCode> {
        let ops = plans.iter().flat_map(|plan| &plan.ops);
        let of_key = ops.filter(|op| op.kind == OpKind::Write && op.key == key);
        of_key.map(|op| op.value).chain([ValueCode::ZERO]).collect()
    };
    for index in 0..plans.len() {
        let snapshot = index - (random.below(3) as usize).min(index);
        for op_index in 0..plans[index].ops.len() {
            let Op { kind, key, .. } = plans[index].ops[op_index];
            if kind != OpKind::Read {
                continue;
            }
            let earlier = plans[index].ops[..op_index].iter().rev();
            let own = earlier
                .into_iter()
                .find(|op| op.key == key)
                .map(|op| op.value);
            let last = plans[..snapshot]
                .iter()
                .filter(|plan| plan.status != Status::Aborted)
                .flat_map(|plan| &plan.ops)
                .rfind(|op| op.kind == OpKind::Write && op.key == key)
                .map_or(ValueCode::ZERO, |op| op.value);
            let all = written(&plans, key);
            let any = all[random.below(all.len() as u64) as usize];
            let odd = random.below(100);
            plans[index].ops[op_index].value = match own {
                Some(value) if odd > 3 => value,
                None if odd > 25 => last,
                _ => any,
            };
        }
    }
    built(&mut random, shape, Builder::new(), plans)
}

/// A random history of lists, whose reads return beginnings of what was appended in the end.
pub fn plausible_lists(seed: u64, shape: &Shape) -> History {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    let mut plans = plans(&mut random, shape, OpKind::Append, OpKind::ReadList);
    let appended = |plans: &[Plan], key: KeyId| -> Vec<ValueCode> {
        let ops = plans.iter().flat_map(|plan| &plan.ops);
        let of_key = ops.filter(|op| op.kind == OpKind::Append && op.key == key);
        of_key.map(|op| op.value).collect()
    };
    for index in 0..plans.len() {
        let snapshot = index - (random.below(3) as usize).min(index);
        for op_index in 0..plans[index].ops.len() {
            let Op { kind, key, .. } = plans[index].ops[op_index];
            if kind != OpKind::ReadList {
                continue;
            }
            let odd = random.below(100) < 15;
            let until = if odd {
                random.below(index as u64 + 1) as usize
            } else {
                snapshot
            };
            let mut list = appended(&plans[..until], key);
            let own = plans[index].ops[..op_index].iter();
            list.extend(
                own.filter(|op| op.kind == OpKind::Append && op.key == key)
                    .map(|op| op.value),
            );
            plans[index].ops[op_index].value = builder.lists.push(&list);
        }
    }
    built(&mut random, shape, builder, plans)
}

fn plans(random: &mut Random, shape: &Shape, write: OpKind, read: OpKind) -> Vec<Plan> {
    let mut fresh = vec![1u32; shape.keys as usize];
    let mut plan = |random: &mut Random| {
        let status = match random.below(100) {
            roll if roll < shape.aborted => Status::Aborted,
            roll if roll < shape.aborted + shape.indeterminate => Status::Indeterminate,
            _ => Status::Committed,
        };
        let count = 1 + random.below(shape.ops);
        let mut op = |_| {
            let key = KeyId(random.below(shape.keys) as u32);
            if random.below(2) == 0 {
                let (kind, value) = (read, ValueCode::UNKNOWN);
                return Op { kind, key, value };
            }
            let next = &mut fresh[key.index()];
            let value = if shape.duplicates && random.below(3) == 0 {
                ValueCode(1 + random.below((*next).into()) as u32)
            } else {
                *next += 1;
                ValueCode(*next - 1)
            };
            let kind = write;
            Op { kind, key, value }
        };
        let ops = (0..count).map(&mut op).collect();
        Plan { status, ops }
    };
    (0..shape.txns).map(|_| plan(random)).collect()
}

fn built(random: &mut Random, shape: &Shape, mut builder: Builder, plans: Vec<Plan>) -> History {
    builder.keys = KeyTable::Dense {
        limit: shape.keys as u32,
    };
    let sessions: Vec<_> = (0..shape.sessions)
        .map(|session| builder.session(session as i64))
        .collect();
    for (label, plan) in plans.into_iter().enumerate() {
        let start = 3 * label as i64 - random.below(7) as i64;
        let end = start + 1 + random.below(6) as i64;
        let interval = shape.timed.then_some(Interval { start, end });
        let session = sessions[random.below(shape.sessions) as usize];
        builder
            .push_txn(session, label as u64, plan.status, interval, &plan.ops)
            .expect("small history");
    }
    builder.finish()
}

/// Every way to take indeterminate transactions.
pub fn subsets(history: &History) -> Vec<Vec<TxnId>> {
    let mut all = vec![Vec::new()];
    for txn in history.txn_ids() {
        let with = |taken: &Vec<TxnId>| [taken.as_slice(), &[txn]].concat();
        match history.status(txn) {
            Status::Committed => all = all.iter().map(with).collect(),
            Status::Aborted => {}
            Status::Indeterminate => all.extend(all.iter().map(with).collect::<Vec<_>>()),
        }
    }
    all
}
