//! The bytes of a history: logs with the same bytes have the same strict verdicts, whatever setup
//! they come from. An exploration meets millions of final states, but few different histories.
//!
//! Left out is what no level looks at: how keys and versions are called, transactions that aborted
//! (but for the fact that a version read was theirs), times where no question needs them.

use super::convert::{operations, writer};
use crate::id::{Key, Txn, TxnSet, Version};
use crate::log::{Log, Record, Status};
use crate::protocol::VersionOrder;
use crate::setup::Setup;
use history::OpKind;

const INITIAL: u8 = 0;
const ABORTED: u8 = 254;
const NOBODY: u8 = 255;
const END: u8 = 253;

/// Encodes logs, reusing its buffers.
#[derive(Default)]
pub(super) struct Encoder {
    ops: Vec<(OpKind, Key, Version)>,
    /// Names of keys, in the order in which they are met.
    keys: Vec<Key>,
    versions: Vec<(Version, usize)>,
    bytes: Vec<u8>,
}

impl Encoder {
    /// The bytes of the history that a log records.
    pub fn encode(
        &mut self,
        setup: &Setup,
        log: &Log,
        order: VersionOrder,
        sessions: bool,
        timed: bool,
    ) -> &[u8] {
        self.bytes.clear();
        self.keys.clear();
        let counts = |record: &Record| matches!(record.status, Status::Committed | Status::Running);
        let committed: TxnSet = log.with(Status::Committed).collect();
        for txn in setup.txns() {
            let record = log.record(txn);
            if !counts(record) {
                continue;
            }
            let running = u8::from(record.status == Status::Running);
            self.bytes.extend([txn.0, running]);
            if sessions {
                self.bytes.push(setup.session(txn) as u8);
            }
            if timed {
                let after = record.after.intersection(committed);
                self.bytes.extend(after.iter().map(|txn| txn.0));
                self.bytes.push(END);
            }
            self.operations(setup, log, txn, record);
        }
        for place in 0..self.keys.len() {
            self.order(log, order, self.keys[place]);
        }
        &self.bytes
    }

    fn operations(&mut self, setup: &Setup, log: &Log, txn: Txn, record: &Record) {
        operations(setup, txn, record, &mut self.ops);
        for place in 0..self.ops.len() {
            let (kind, key, version) = self.ops[place];
            let known = self.keys.iter().position(|other| *other == key);
            let name = known.unwrap_or_else(|| {
                self.keys.push(key);
                self.keys.len() - 1
            });
            self.bytes
                .push(name as u8 | if kind == OpKind::Read { 64 } else { 0 });
            let found = writer(log, key, version);
            match found {
                _ if version.is_initial() => self.bytes.push(INITIAL),
                None => self.bytes.push(NOBODY),
                Some((txn, _)) if log.records[txn].status == Status::Aborted => {
                    self.bytes.push(ABORTED);
                }
                Some((txn, place)) => self.bytes.extend([txn as u8 + 1, place as u8]),
            }
        }
        self.bytes.push(END);
    }

    /// The writers of a key's committed versions, in order.
    fn order(&mut self, log: &Log, order: VersionOrder, key: Key) {
        let Encoder {
            versions, bytes, ..
        } = self;
        versions.clear();
        let committed = |record: &&Record| record.status == Status::Committed;
        let records = log.records.iter().filter(committed);
        for (_, version) in records
            .flat_map(|record| &record.writes)
            .filter(|(other, _)| *other == key)
        {
            let place = match order {
                VersionOrder::Compared => Some(0),
                VersionOrder::Installed => log.installed[key.index()]
                    .iter()
                    .position(|other| other == version),
            };
            versions.extend(place.map(|place| (*version, place)));
        }
        versions.sort_by_key(|(version, place)| (*place, *version));
        for (version, _) in versions.iter() {
            let (txn, place) = writer(log, key, *version).unwrap_or_default();
            bytes.extend([txn as u8 + 1, place as u8]);
        }
        bytes.push(END);
    }
}
