//! One long transaction after another, in one session, among thousands of short ones in the others: what a
//! database forgets of a transaction that has committed, while an older one still runs, shows here.
//!
//! It shows a write skew at PostgreSQL's SERIALIZABLE, on 15.18. The long transaction L reads a; T reads
//! b, writes a and commits; L waits while others commit; L writes b and commits. L precedes T, which
//! overwrote what L read, and T precedes L likewise, so one of them has to fail. By hand, with
//! max_connections = 20, L failed after 0 and 300 commits of others and committed after 500; with
//! max_connections = 100 it failed after 1 100 and committed after 1 300 and 4 000; five times of five each.
//!
//! That fits a pool of 10 * (max_connections + autovacuum_max_workers + 1 + max_worker_processes +
//! max_wal_senders + max_prepared_transactions) committed transactions that are remembered one by one
//! while an older one runs: 420 and 1 220. The oldest beyond that are summarized (`predicate.c`). Our
//! guess at the cause, not traced in the server: the read locks of summarized transactions go to
//! `OldCommittedSxact`, whose `finishedBefore` is not set, so that a later writer takes them for locks
//! of transactions that had ended before it began. L has to wait for more commits than the pool holds:
//! by default 4 000 ([`Shape::wait`]), which by the formula suffices up to max_connections of about 340.
//!
//! Steps: when a long transaction is planned, its pairs are announced, and the other sessions run T on
//! each after some hundred short transactions, when L has surely taken its snapshot. Each long
//! transaction has pairs of its own, because a T on its pair that is still remembered aborts it. Short
//! transactions update rows of another table, so that they share no index page with the pairs.

use super::client::{Client, Script, cell, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Step, Workload};
use crate::schema::{Cell, Schema, Table};
use std::sync::{Mutex, PoisonError};

const PAIR: u16 = 0;
const SHORT: u16 = 1;

/// Pairs in the table; after so many they are used again.
const PAIRS: u64 = 6000;

/// Pairs of a long transaction.
const PAIRS_PER_LONG: u64 = 3;

/// Short transactions planned between the beginning of a long one and the first T, and between Ts.
const APART: u64 = 100;

struct LongTransaction {
    keys: KeyChoice,
    reads: Chance,
    wait: u64,
    /// What the long transaction under way needs of the others.
    announced: Mutex<Announced>,
}

#[derive(Default)]
struct Announced {
    /// The next pair that a T is due on.
    pair: u64,
    /// How many Ts are still to come.
    due: u64,
    /// Short transactions before the next.
    countdown: u64,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let keys = shape.keys.unwrap_or(5000);
    let script = LongTransaction {
        keys: shape.choice(keys),
        reads: Chance::of(shape.read_share.unwrap_or(0.1)),
        wait: shape.wait.unwrap_or(4000),
        announced: Mutex::default(),
    };
    let table = |name, rows| Table::registers(name, &["v"], filled(rows));
    let schema = Schema {
        tables: vec![table("long_pair", 2 * PAIRS), table("long_short", keys)],
    };
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for LongTransaction {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        if client.number == 0 {
            return self.long(client, plan);
        }
        if let Some(pair) = self.due_pair() {
            plan.name = "counterpart";
            plan.act(Action::Read(right(pair)));
            client.write(plan, left(pair));
            return;
        }
        plan.name = "short";
        let row = cell(SHORT, 0, u64::from(self.keys.draw(&mut client.random)));
        match client.random.chance(self.reads) {
            true => plan.act(Action::Read(row)),
            false => client.update(plan, row),
        }
    }
}

impl LongTransaction {
    fn long(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "long";
        let start = client.turn * PAIRS_PER_LONG % PAIRS;
        let pairs = start..start + PAIRS_PER_LONG;
        pairs
            .clone()
            .for_each(|pair| plan.act(Action::Read(left(pair))));
        // Alone, it would wait for ever.
        if client.count > 1 {
            plan.steps.push(Step::AwaitCommits(self.wait));
        }
        pairs.for_each(|pair| client.write(plan, right(pair)));
        *self.announced() = Announced {
            pair: start,
            due: PAIRS_PER_LONG,
            countdown: APART,
        };
    }

    /// The pair that a T is to run on now.
    fn due_pair(&self) -> Option<u64> {
        let mut announced = self.announced();
        if announced.due == 0 {
            return None;
        }
        if announced.countdown > 0 {
            announced.countdown -= 1;
            return None;
        }
        let pair = announced.pair;
        announced.pair += 1;
        announced.due -= 1;
        announced.countdown = APART;
        Some(pair)
    }

    fn announced(&self) -> std::sync::MutexGuard<'_, Announced> {
        self.announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn left(pair: u64) -> Cell {
    cell(PAIR, 0, 2 * pair)
}

fn right(pair: u64) -> Cell {
    cell(PAIR, 0, 2 * pair + 1)
}
