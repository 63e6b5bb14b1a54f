//! Dense identifiers. Every table of a [`crate::History`] is indexed by one of these.

/// A session: the sequence of transactions that one client issued one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u32);

/// A transaction. Numbered session by session, in session order: the transactions of session 0
/// come first, then those of session 1, and so on; so `t1 < t2` in one session means session order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TxnId(pub u32);

/// A key (object, row, cell, register).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub u32);

/// An operation: its position in the operation columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpId(pub u32);

macro_rules! index {
    ($($id:ident),*) => {$(
        impl $id {
            /// The position in a table, as `usize`.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
index!(SessionId, TxnId, KeyId, OpId);
