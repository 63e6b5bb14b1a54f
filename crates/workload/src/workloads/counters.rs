//! Counters that small numbers are added to. No read says whose additions it saw, only how much they come
//! to: the sums that are possible are what can be checked.

use super::client::{Client, Script, first, order_writes, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

const STEP_MAX: u32 = 9;

struct Counters {
    counters: KeyChoice,
    ops_max: u32,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let keys = shape.keys.unwrap_or(10);
    let script = Counters {
        counters: shape.choice(keys),
        ops_max: shape.ops_per_txn.unwrap_or(4),
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let schema = Schema::single(ColumnKind::Counter, filled(keys));
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for Counters {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "counters";
        for _ in 0..client.random.between(1, self.ops_max) {
            let cell = first(u64::from(self.counters.draw(&mut client.random)));
            if client.random.chance(self.reads) {
                plan.act(Action::ReadCounter(cell));
            } else {
                let step = client.random.between(1, STEP_MAX);
                plan.act(Action::Increment(cell, i64::from(step)));
            }
        }
        order_writes(plan);
    }
}
