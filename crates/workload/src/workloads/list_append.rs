//! Lists that are appended to and read whole: whoever reads one learns the order of all its versions.
//!
//! Source: Elle (VLDB 2020, section 6.1): transactions of one to five operations, half of them reads, on
//! a few lists at a time, each retired after a number of appends. Ten lists of 32 appends here, so
//! that transactions meet; the paper's histories have 100 of 100.

use super::Shape;
use super::client::{Client, Script, first, order_writes, scripted};
use super::slots::Slots;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

const APPENDS_MAX: u64 = 32;

struct ListAppend {
    lists: Slots,
    ops_max: u32,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let script = ListAppend {
        lists: Slots::new(shape, shape.keys.unwrap_or(10), APPENDS_MAX),
        ops_max: shape.ops_per_txn.unwrap_or(5),
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let schema = Schema::single(ColumnKind::List(shape.list_form), 0);
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for ListAppend {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "list-append";
        for _ in 0..client.random.between(1, self.ops_max) {
            if client.random.chance(self.reads) {
                let row = self.lists.row(&mut client.random);
                plan.act(Action::ReadList(first(row)));
            } else {
                let (row, _) = self.lists.add(&mut client.random);
                plan.act(Action::Append(first(row), client.unique.take()));
            }
        }
        order_writes(plan);
    }
}
