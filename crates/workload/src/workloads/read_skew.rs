//! Read skew: writers write both keys of a pair, readers read both. A reader that sees one of a writer's
//! values, and not the other, has seen half a transaction.
//!
//! Source: Berenson et al., "A critique of ANSI SQL isolation levels" (SIGMOD 1995), A5A; also known as a
//! fractured read.

use super::client::{Client, Script, first, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

struct ReadSkew {
    pairs: KeyChoice,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let pairs = (shape.keys.unwrap_or(10) / 2).max(1);
    let script = ReadSkew {
        pairs: shape.choice(pairs),
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let schema = Schema::single(ColumnKind::Register, filled(2 * pairs));
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for ReadSkew {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let row = 2 * u64::from(self.pairs.draw(&mut client.random));
        if client.random.chance(self.reads) {
            plan.name = "read pair";
            plan.act(Action::Read(first(row)));
            plan.act(Action::Read(first(row + 1)));
        } else {
            plan.name = "write pair";
            client.write(plan, first(row));
            client.write(plan, first(row + 1));
        }
    }
}
