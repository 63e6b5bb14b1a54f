//! Registers, lists, sets and counters side by side, as the columns of one table, so that a transaction
//! orders versions of one kind by what it saw of another.

use super::Shape;
use super::client::{Client, Script, cell, order_writes, scripted};
use super::slots::Slots;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Column, ColumnKind, Schema, Table};

/// A row retires when its four columns together have been written so often.
const WRITES_MAX: u64 = 100;

const STEP_MAX: u32 = 9;

const REGISTER: u16 = 0;
const LIST: u16 = 1;
const SET: u16 = 2;
const COUNTER: u16 = 3;

struct Mixed {
    rows: Slots,
    ops_max: u32,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let script = Mixed {
        rows: Slots::new(shape, shape.keys.unwrap_or(5), WRITES_MAX),
        ops_max: shape.ops_per_txn.unwrap_or(5),
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let column = |name, kind| Column { name, kind };
    let table = Table {
        name: "isolde_mixed",
        columns: vec![
            column("r", ColumnKind::Register),
            column("l", ColumnKind::List(shape.list_form)),
            column("e", ColumnKind::Set),
            column("c", ColumnKind::Counter),
        ],
        rows: 0,
        group: 0,
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

impl Script for Mixed {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "mixed";
        for _ in 0..client.random.between(1, self.ops_max) {
            let column = client.random.below(4) as u16;
            let action = if client.random.chance(self.reads) {
                let at = cell(0, column, self.rows.row(&mut client.random));
                match column {
                    REGISTER => Action::Read(at),
                    LIST => Action::ReadList(at),
                    SET => Action::ReadSet(at),
                    _ => Action::ReadCounter(at),
                }
            } else {
                let (row, _) = self.rows.add(&mut client.random);
                self.write(client, column, row)
            };
            plan.act(action);
        }
        order_writes(plan);
    }
}

impl Mixed {
    fn write(&self, client: &mut Client, column: u16, row: u64) -> Action {
        let at = cell(0, column, row);
        match column {
            COUNTER => {
                let step = client.random.between(1, STEP_MAX);
                Action::Increment(at, i64::from(step))
            }
            LIST => Action::Append(at, client.unique.take()),
            SET => Action::Add(at, client.unique.take()),
            _ => Action::Write(at, client.unique.take()),
        }
    }
}
