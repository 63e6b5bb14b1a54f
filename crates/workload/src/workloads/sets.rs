//! Sets that are added to and read whole. A read says whose additions it saw and whose it missed, though
//! not in which order they came.

use super::Shape;
use super::client::{Client, Script, first, order_writes, scripted};
use super::slots::Slots;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

const ADDS_MAX: u64 = 32;

struct Sets {
    sets: Slots,
    ops_max: u32,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let script = Sets {
        sets: Slots::new(shape, shape.keys.unwrap_or(10), ADDS_MAX),
        ops_max: shape.ops_per_txn.unwrap_or(4),
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let schema = Schema::single(ColumnKind::Set, 0);
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for Sets {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "sets";
        for _ in 0..client.random.between(1, self.ops_max) {
            if client.random.chance(self.reads) {
                let row = self.sets.row(&mut client.random);
                plan.act(Action::ReadSet(first(row)));
            } else {
                let (row, _) = self.sets.add(&mut client.random);
                plan.act(Action::Add(first(row), client.unique.take()));
            }
        }
        order_writes(plan);
    }
}
