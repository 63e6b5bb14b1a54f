//! Stale reads: transactions of one operation, a write or a read of one of a few keys. A read that misses a
//! write that had ended before it began, in another session, breaks the strict levels; in its own
//! session, the session guarantees.

use super::client::{Client, Script, first, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

struct StaleRead {
    keys: KeyChoice,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let keys = shape.keys.unwrap_or(5);
    let script = StaleRead {
        keys: shape.choice(keys),
        reads: Chance::of(shape.read_share.unwrap_or(0.7)),
    };
    let schema = Schema::single(ColumnKind::Register, filled(keys));
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for StaleRead {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let cell = first(u64::from(self.keys.draw(&mut client.random)));
        if client.random.chance(self.reads) {
            plan.name = "read";
            plan.act(Action::Read(cell));
        } else {
            plan.name = "write";
            client.write(plan, cell);
        }
    }
}
