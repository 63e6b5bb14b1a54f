//! Write skew: transactions that read both keys of a pair and write one of them. Two that run at the same
//! time and write different ones have each overwritten what the other read; snapshot isolation lets them,
//! serializability does not.
//!
//! Source: Berenson et al., "A critique of ANSI SQL isolation levels" (SIGMOD 1995), A5B. A tenth of the
//! transactions only read.

use super::client::{Client, Script, first, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

struct WriteSkew {
    pairs: KeyChoice,
    reads: Chance,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let pairs = (shape.keys.unwrap_or(20) / 2).max(1);
    let script = WriteSkew {
        pairs: shape.choice(pairs),
        reads: Chance::of(shape.read_share.unwrap_or(0.1)),
    };
    let schema = Schema::single(ColumnKind::Register, filled(2 * pairs));
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for WriteSkew {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let row = 2 * u64::from(self.pairs.draw(&mut client.random));
        plan.act(Action::Read(first(row)));
        plan.act(Action::Read(first(row + 1)));
        plan.name = "read pair";
        if !client.random.chance(self.reads) {
            plan.name = "read pair, write one";
            let one = row + client.random.below(2);
            client.write(plan, first(one));
        }
    }
}
