//! What all workloads are made of: a script that plans one transaction at a time, and clients that each
//! have random and unique numbers of their own.

use crate::generate::random::{Chance, Random, mix};
use crate::plan::{Action, Plan, Source, Step, Unique, Workload};
use crate::schema::{Cell, Schema};
use std::sync::Arc;

/// What one client draws its transactions from.
pub struct Client {
    /// Which one of how many.
    pub number: u32,
    /// How many there are.
    pub count: u32,
    /// How many transactions it has planned before.
    pub turn: u64,
    pub random: Random,
    pub unique: Unique,
}

impl Client {
    /// Adds the write of a value that is written nowhere else.
    pub fn write(&mut self, plan: &mut Plan, cell: Cell) {
        plan.act(Action::Write(cell, self.unique.take()));
    }

    /// Adds a read of a cell and a write to it.
    pub fn update(&mut self, plan: &mut Plan, cell: Cell) {
        plan.act(Action::Read(cell));
        self.write(plan, cell);
    }
}

/// What the transactions of a workload do.
pub trait Script: Send + Sync + 'static {
    /// Plans the next transaction of a client.
    fn plan(&self, client: &mut Client, plan: &mut Plan);

    /// Learns whether what it wrote is known to be committed.
    fn ended(&self, _plan: &Plan, _committed: bool) {}
}

/// A workload by its script.
pub struct Scripted<S> {
    schema: Schema,
    script: Arc<S>,
    seed: u64,
    aborts: Chance,
}

/// Makes a workload, of whose transactions the share `aborts` is rolled back.
pub fn scripted<S: Script>(schema: Schema, script: S, seed: u64, aborts: f64) -> Box<dyn Workload> {
    Box::new(Scripted {
        schema,
        script: Arc::new(script),
        seed,
        aborts: Chance::of(aborts),
    })
}

impl<S: Script> Workload for Scripted<S> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn source(&self, client: u32, clients: u32) -> Box<dyn Source> {
        let seed = mix(self.seed ^ mix(u64::from(client)));
        Box::new(Stream {
            script: Arc::clone(&self.script),
            aborts: self.aborts,
            client: Client {
                number: client,
                count: clients.max(1),
                turn: 0,
                random: Random::new(seed),
                unique: Unique::new(client, clients),
            },
        })
    }
}

struct Stream<S> {
    script: Arc<S>,
    aborts: Chance,
    client: Client,
}

impl<S: Script> Source for Stream<S> {
    fn next(&mut self, plan: &mut Plan) {
        self.script.plan(&mut self.client, plan);
        plan.rolls_back = self.client.random.chance(self.aborts);
        self.client.turn += 1;
    }

    fn ended(&mut self, plan: &Plan, committed: bool) {
        // On a node that takes no writes, a transaction is what is left of it without them.
        let took_effect = committed && plan.actions().any(Action::writes);
        self.script.ended(plan, took_effect);
    }
}

/// Lets a plan write its cells in the order of their rows, in the places that its writes have now. Most
/// databases lock what is written: transactions that lock in one order do not wait for each other in a
/// circle, which PostgreSQL takes a second to notice. Reads stay where they are.
pub fn order_writes(plan: &mut Plan) {
    let writes = |step: &Step| matches!(step, Step::Act(action) if action.writes());
    let mut actions: Vec<Action> = plan.actions().copied().filter(Action::writes).collect();
    actions.sort_by_key(|action| {
        let cell = action.cell();
        (cell.table, cell.row, cell.column)
    });
    let places = plan.steps.iter_mut().filter(|step| writes(step));
    for (place, action) in places.zip(actions) {
        *place = Step::Act(action);
    }
}

/// The cell of a row in the first column of the first table.
pub fn first(row: u64) -> Cell {
    cell(0, 0, row)
}

/// A cell by its numbers.
pub fn cell(table: u16, column: u16, row: u64) -> Cell {
    Cell {
        table,
        column,
        // Rows are counted from 0 and stay far below the limit.
        row: row as i64,
    }
}
