//! Transfers between accounts that are counters, run one after the other and recorded by clients
//! whose times overlap: there is an order, so one must be found.

use crate::small::Random;
use checker::{Options, check};
use history::{Builder, History, Initial, Interval, Level, Op, OpKind, Status, Value, Verdict};

const ACCOUNTS: usize = 20;
const CLIENTS: usize = 4;

/// So many transactions; every third one is an audit, which reads all accounts.
fn recorded(txns: i64, seed: u64) -> History {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    let mut balances = [0; ACCOUNTS];
    let mut free = [0; CLIENTS];
    for place in 0..txns {
        let now = (place + 1) * 10;
        let idle: Vec<usize> = (0..CLIENTS).filter(|&at| free[at] < now).collect();
        if idle.is_empty() {
            continue;
        }
        let client = idle[random.below(idle.len() as u64) as usize];
        let start = (now - random.below(40) as i64).max(free[client]);
        let end = now + 1 + random.below(40) as i64;
        free[client] = end + 1;
        let mut ops = Vec::new();
        let mut push = |kind: OpKind, account: usize, number: i64, builder: &mut Builder| {
            let (key, value) = (Value::Int(account as i128), Value::Int(number.into()));
            let (key, value) = (builder.key(&key), builder.value(&value));
            ops.push(Op { kind, key, value });
        };
        if random.chance(33) {
            for (account, &balance) in balances.iter().enumerate() {
                push(OpKind::ReadCounter, account, balance, &mut builder);
            }
        } else {
            let from = random.below(ACCOUNTS as u64) as usize;
            let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as usize) % ACCOUNTS;
            let amount = 1 + random.below(5) as i64;
            if random.chance(20) {
                push(OpKind::ReadCounter, from, balances[from], &mut builder);
            }
            push(OpKind::Increment, from, -amount, &mut builder);
            push(OpKind::Increment, to, amount, &mut builder);
            balances[from] -= amount;
            balances[to] += amount;
        }
        let session = builder.session(client as i64);
        let interval = Some(Interval { start, end });
        let pushed = builder.push_txn(session, place as u64, Status::Committed, interval, &ops);
        pushed.expect("small");
    }
    builder.finish()
}

#[test]
fn an_order_of_overlapping_transfers_is_found() {
    let levels = [
        Level::StrictSerializable,
        Level::StrongSessionSerializable,
        Level::SnapshotIsolation,
    ];
    for seed in 0..60 {
        let history = recorded(300, seed);
        for answer in check(&history, &levels, &Options::default()) {
            let level = answer.result.level;
            match &answer.result.verdict {
                Verdict::Holds(_) => {}
                other => panic!("seed {seed}, {level}: {other:?}"),
            }
            let certified = history::certify(&history, &Initial::default(), &answer.result);
            assert!(certified.is_ok(), "seed {seed}, {level}: {certified:?}");
        }
    }
}
