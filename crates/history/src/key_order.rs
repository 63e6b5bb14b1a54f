//! What may be taken for granted of each key by itself.

use std::fmt;

/// What is assumed of the order of a register's versions beyond what a level demands. It orders
/// the versions that committed transactions touched: those they read from outside, where one
/// committed transaction alone can have written what was read, and those they wrote last.
///
/// Source: Kingsbury & Alvaro, "Elle", VLDB 2021, section 4.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum KeyOrder {
    /// Nothing.
    #[default]
    Free,
    /// What a transaction writes comes after what it read of the same key.
    WritesFollowReads,
    /// Versions are in the order of the numbers that the database gave them, where the history has
    /// any. A number that stands for two versions says nothing.
    Recorded,
    /// Each key is sequentially consistent: what a session touches first comes first.
    Sequential,
    /// Each key is linearizable: sequential, and what a transaction touched that ended before
    /// another began comes before what that one touches.
    Linearizable,
}

impl KeyOrder {
    /// All of them.
    pub const ALL: [KeyOrder; 5] = [
        KeyOrder::Free,
        KeyOrder::WritesFollowReads,
        KeyOrder::Recorded,
        KeyOrder::Sequential,
        KeyOrder::Linearizable,
    ];

    /// The name in input and output.
    pub fn name(self) -> &'static str {
        match self {
            KeyOrder::Free => "free",
            KeyOrder::WritesFollowReads => "writes-follow-reads",
            KeyOrder::Recorded => "recorded",
            KeyOrder::Sequential => "sequential",
            KeyOrder::Linearizable => "linearizable",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<KeyOrder> {
        KeyOrder::ALL.into_iter().find(|order| order.name() == name)
    }
}

impl fmt::Display for KeyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
