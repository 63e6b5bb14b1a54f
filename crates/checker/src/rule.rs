//! The visibility rules: which writers a reader must have seen.
//!
//! A rule is the `phi(t2, t3)` of a level's axiom (docs/levels.md): if `t3` reads a key from `t1`,
//! and `t2` also writes the key and `phi(t2, t3)`, then `t2` comes before `t1` in commit order.

use history::Level;

/// The rules of the weak levels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// `t3` read something of `t2` before this read.
    ReadCommitted,
    /// `t2 so t3`.
    ReadYourWrites,
    /// `t2 wr;so t3`.
    MonotonicReads,
    /// `t2 so;wr t3`.
    MonotonicWrites,
    /// `t2 wr;so?;wr t3`.
    WritesFollowReads,
    /// `t2 (so ∪ wr) t3`.
    ReadAtomic,
    /// `t2 (so ∪ wr)+ t3`.
    Causal,
}

impl Rule {
    /// The rule of a weak level; read-uncommitted and the strong levels have none.
    pub fn of(level: Level) -> Option<Rule> {
        match level {
            Level::ReadCommitted | Level::CursorStability => Some(Rule::ReadCommitted),
            Level::ReadAtomic | Level::UpdateAtomic => Some(Rule::ReadAtomic),
            Level::ReadYourWrites => Some(Rule::ReadYourWrites),
            Level::MonotonicReads => Some(Rule::MonotonicReads),
            Level::MonotonicWrites => Some(Rule::MonotonicWrites),
            Level::WritesFollowReads => Some(Rule::WritesFollowReads),
            Level::Causal => Some(Rule::Causal),
            _ => None,
        }
    }

    /// Whether an order that obeys this rule obeys `weaker` too.
    pub fn covers(self, weaker: Rule) -> bool {
        self == weaker
            || self == Rule::Causal
            || (self == Rule::ReadAtomic
                && matches!(weaker, Rule::ReadCommitted | Rule::ReadYourWrites))
    }

    /// Whether two external reads of a key may differ.
    pub fn allows_non_repeatable_reads(self) -> bool {
        !matches!(self, Rule::ReadAtomic | Rule::Causal)
    }
}
