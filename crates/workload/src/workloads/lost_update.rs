//! Lost updates: transactions that read a key and write it, on a few keys that all of them want. Two that
//! read the same version and both write have lost one of the updates.
//!
//! Source: Berenson et al., "A critique of ANSI SQL isolation levels" (SIGMOD 1995), P4.

use super::client::{Client, Script, first, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

struct LostUpdate {
    keys: KeyChoice,
    updates: u32,
    reads: Chance,
}

/// `ops_per_txn` is how many keys a transaction updates.
pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let keys = shape.keys.unwrap_or(4);
    let script = LostUpdate {
        keys: shape.choice(keys),
        updates: shape.ops_per_txn.unwrap_or(1),
        reads: Chance::of(shape.read_share.unwrap_or(0.0)),
    };
    let schema = Schema::single(ColumnKind::Register, filled(keys));
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for LostUpdate {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let only_reads = client.random.chance(self.reads);
        plan.name = if only_reads { "read" } else { "update" };
        let mut rows: Vec<u32> = (0..self.updates)
            .map(|_| self.keys.draw(&mut client.random))
            .collect();
        // In one order for all, lest transactions wait for each other in a circle.
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            let cell = first(u64::from(row));
            match only_reads {
                true => plan.act(Action::Read(cell)),
                false => client.update(plan, cell),
            }
        }
    }
}
