//! A client that reads one key after the other and keeps its writes until the end, as the clients
//! of several protocols do.

use crate::id::{Key, KeySet, Txn, Version};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a client got with the operations of its transaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffered {
    next: u8,
    /// What it read from outside.
    pub reads: BTreeMap<Key, Version>,
    /// What it will write.
    pub writes: KeySet,
}

impl Buffered {
    /// The next key to be read from outside: not one it wrote or read before. None at the end.
    pub fn next_read(&mut self, setup: &Setup, txn: Txn) -> Option<Key> {
        while let Some(op) = setup.ops(txn).get(usize::from(self.next)) {
            self.next += 1;
            match *op {
                Op::Write(key) => {
                    self.writes.insert(key);
                }
                Op::Read(key) => {
                    if !self.writes.contains(key) && !self.reads.contains_key(&key) {
                        return Some(key);
                    }
                }
            }
        }
        None
    }
}
