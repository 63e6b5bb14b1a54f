//! Long forks: writers each write one key of a group, readers read the whole group. Two readers that each
//! miss a write that the other saw cannot both have read from prefixes of one order of commits, so
//! there is no prefix consistency and no snapshot isolation, though each of them saw some snapshot.
//!
//! Source: Jepsen's long-fork test; Sovran et al., "Transactional storage for geo-replicated systems"
//! (SOSP 2011), who name the anomaly. Where we differ: keys are updated again and again, not written once. A
//! writer reads its key first, so that the order of versions is known, and keeps to one key of
//! each group, so that writers seldom wait for each other.

use super::client::{Client, Script, first, scripted};
use super::{Shape, filled};
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{ColumnKind, Schema};

struct LongFork {
    keys: KeyChoice,
    group: u64,
    reads: Chance,
}

/// `ops_per_txn` is how many keys make a group.
pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let group = u64::from(shape.ops_per_txn.unwrap_or(8).max(2));
    // Whole groups.
    let keys = shape.keys.unwrap_or(8).max(group) / group * group;
    let script = LongFork {
        keys: shape.choice(keys),
        group,
        reads: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let schema = Schema::single(ColumnKind::Register, filled(keys));
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for LongFork {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let key = u64::from(self.keys.draw(&mut client.random));
        if !client.random.chance(self.reads) {
            plan.name = "update one";
            let own = key / self.group * self.group + u64::from(client.number) % self.group;
            client.update(plan, first(own));
            return;
        }
        plan.name = "read group";
        // From a random key on and round, so that no key is always read first.
        let start = key / self.group * self.group;
        for step in 0..self.group {
            let row = start + (key + step) % self.group;
            plan.act(Action::Read(first(row)));
        }
    }
}
