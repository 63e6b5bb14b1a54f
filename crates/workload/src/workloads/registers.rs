//! The papers' parametric workload: transactions of a number of operations on single numbers, with a share
//! of reads, and keys that are chosen uniformly, by Zipf's law, or with a hotspot.
//!
//! Source: PolySI (VLDB 2023, section 5.1.1): 15 operations, half of them reads, 10 000 keys, zipfian;
//! C4 has the same. Where we differ: 8 operations on 1 000 keys unless the user says otherwise, so
//! that transactions meet in a short run; half of the writes come right behind a read of their key (a
//! read-modify-write, which fixes its place in the version order), the others are blind; a transaction
//! writes its keys in ascending order; and one transaction of twenty is rolled back, so that a read of
//! what it wrote is an aborted read.

use super::client::{Client, Script, first, order_writes, scripted};
use super::{Shape, filled};
use crate::generate::config::{Distribution, plain_read_share};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Step, Workload};
use crate::schema::{ColumnKind, Schema};

struct Registers {
    keys: KeyChoice,
    ops: u32,
    reads: Chance,
    updates: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let keys = shape.keys.unwrap_or(1000);
    let distribution = shape.distribution.unwrap_or(Distribution::Zipfian(0.99));
    let updates = shape.rmw_share.unwrap_or(0.5);
    let reads = plain_read_share(shape.read_share.unwrap_or(0.5), updates);
    let script = Registers {
        keys: KeyChoice::new(distribution, keys),
        ops: shape.ops_per_txn.unwrap_or(8),
        reads: Chance::of(reads),
        updates: Chance::of(updates),
    };
    let schema = Schema::single(ColumnKind::Register, filled(keys));
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for Registers {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "registers";
        let ops = self.ops as usize;
        // Where the writes of updates are: their reads have to follow them when writes are ordered.
        let mut updated = Vec::new();
        while plan.steps.len() < ops {
            let cell = first(u64::from(self.keys.draw(&mut client.random)));
            let is_last = plan.steps.len() + 1 == ops;
            if client.random.chance(self.reads) {
                plan.act(Action::Read(cell));
            } else if !client.random.chance(self.updates) {
                client.write(plan, cell);
            } else if is_last {
                // An update that has no room for its write stays a read, as in simulated histories.
                plan.act(Action::Read(cell));
            } else {
                client.update(plan, cell);
                updated.push(plan.steps.len() - 1);
            }
        }
        order_writes(plan);
        for write in updated {
            if let Step::Act(action) = plan.steps[write] {
                plan.steps[write - 1] = Step::Act(Action::Read(action.cell()));
            }
        }
    }
}
