//! Reads with a condition: one statement reads all rows of a group that exist (`where grp = ?`), while
//! others insert rows into the group and update them. In the recording such a read is a read of every
//! row that the group may have, and a row that did not exist reads as nothing; so a phantom is a read of
//! nothing where somebody had inserted.
//!
//! Transactions: look at a group and insert into it or update it (two at the same time make a write skew
//! that no lock on a row prevents); look at two groups; look at one group twice. A group retires when it
//! is full, because phantoms need rows that are not there yet.

use super::Shape;
use super::client::{Client, Script, first, scripted};
use super::slots::Slots;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Schema, Table};

/// Rows that a group may have.
const GROUP: u64 = 8;

struct Predicates {
    groups: Slots,
    reads: Chance,
    updates: Chance,
}

/// `keys` is how many groups are in use at a time, `rmw_share` the share of updates among the writes.
pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let script = Predicates {
        groups: Slots::new(shape, shape.keys.unwrap_or(4), GROUP),
        reads: Chance::of(shape.read_share.unwrap_or(0.4)),
        updates: Chance::of(shape.rmw_share.unwrap_or(0.3)),
    };
    let table = Table {
        group: GROUP as u32,
        ..Table::registers("isolde_grouped", &["v"], 0)
    };
    let schema = Schema {
        tables: vec![table],
    };
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for Predicates {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        if client.random.chance(self.reads) {
            let one = self.groups.row(&mut client.random);
            look(plan, one);
            if client.random.one_in(2) {
                plan.name = "look twice";
                look(plan, one);
            } else {
                plan.name = "look at two groups";
                look(plan, self.groups.row(&mut client.random));
            }
        } else if client.random.chance(self.updates) {
            plan.name = "look, update";
            let group = self.groups.row(&mut client.random);
            look(plan, group);
            let row = group * GROUP + client.random.below(GROUP);
            client.write(plan, first(row));
        } else {
            plan.name = "look, insert";
            let (group, place) = self.groups.add(&mut client.random);
            look(plan, group);
            client.write(plan, first(group * GROUP + place));
        }
    }
}

fn look(plan: &mut Plan, group: u64) {
    plan.act(Action::ReadGroup(first(group * GROUP)));
}
