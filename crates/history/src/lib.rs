//! The vocabulary of Isolde: what a history is, which levels and anomalies there are, what a
//! verdict carries, how histories are read and written, what each level means (executable), and
//! how evidence is re-checked. This crate knows nothing of the engines that decide.

mod anomaly;
mod builder;
pub mod certificate;
pub mod certify;
pub mod definition;
pub mod format;
mod history;
mod id;
mod initial;
mod key_order;
mod large;
mod level;
mod shared_lists;
mod value;
mod value_from;
mod verdict;
mod wide;

pub use anomaly::{ANOMALIES, AnomalyKind, AnomalyRow};
pub use builder::{Builder, TooLarge};
pub use certify::{Refusal, certify, certify_assuming};
pub use history::{History, Interval, Lists, Op, OpKind, Ops, Status, Txn, UNLABELLED};
pub use id::{KeyId, OpId, SessionId, TxnId};
pub use initial::Initial;
pub use key_order::KeyOrder;
pub use large::{LargeEntry, LargeTable};
pub use level::{LEVELS, Level, LevelRow, UnknownLevel};
pub use value::{KeyTable, Value, ValueCode, ValueTable};
pub use verdict::{Anomaly, CommitOrder, Edge, EdgeKind, LevelResult, Reason, Verdict};
