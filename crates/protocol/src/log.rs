//! What the framework records of a run: which transactions started, what they read and wrote, how
//! they ended, and, as far as a question needs it, when.

use crate::id::{Key, Site, Txn, TxnSet, Version};
use crate::setup::Setup;
use serde::{Deserialize, Serialize};

/// How far a transaction got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Status {
    /// Not started.
    Waiting,
    /// Started, not decided.
    Running,
    /// Its client was told that it committed.
    Committed,
    /// Its client was told that it aborted.
    Aborted,
}

/// What is known of one transaction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// How far it got.
    pub status: Status,
    /// The transactions whose clients had their answer when this one started. Empty unless
    /// recorded ([`Detail::RealTime`] and [`Detail::Full`]).
    pub after: TxnSet,
    /// What it read, sorted by key; reads of one key in the order of their answers.
    pub reads: Vec<(Key, Version)>,
    /// What it wrote, sorted by key; writes of one key in their order.
    pub writes: Vec<(Key, Version)>,
}

/// Something that happened, in the one order of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The transaction started at its proxy.
    Start(Txn),
    /// Its proxy told the client that it committed.
    Commit(Txn),
    /// Its proxy told the client that it aborted.
    Abort(Txn),
    /// Its effects became visible at a site that is not its proxy.
    Applied(Txn, Site),
}

/// How much of time a log keeps. The less, the fewer states differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Detail {
    /// No time at all.
    Untimed,
    /// Which transactions had ended when one started: all that real-time order needs.
    RealTime,
    /// The order of all events, which the paper's formulas need.
    Full,
}

/// The record of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Log {
    /// How much of time is kept.
    pub detail: Detail,
    /// One record a transaction.
    pub records: Vec<Record>,
    /// Per key, the versions in the order in which the protocol installed them.
    pub installed: Vec<Vec<Version>>,
    /// Everything that happened, with [`Detail::Full`] only.
    pub events: Vec<Event>,
    /// The first thing a model did that no model may do.
    pub error: Option<String>,
}

impl Log {
    /// The log of a run of `setup` in which nothing happened yet.
    pub fn new(setup: &Setup, detail: Detail) -> Log {
        let record = Record {
            status: Status::Waiting,
            after: TxnSet::EMPTY,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        Log {
            detail,
            records: setup.txns().map(|_| record.clone()).collect(),
            installed: setup.keys().map(|_| Vec::new()).collect(),
            events: Vec::new(),
            error: None,
        }
    }

    /// The record of a transaction.
    pub fn record(&self, txn: Txn) -> &Record {
        &self.records[txn.index()]
    }

    /// All transactions with a status.
    pub fn with(&self, status: Status) -> impl Iterator<Item = Txn> {
        Txn::first(self.records.len()).filter(move |txn| self.record(*txn).status == status)
    }

    /// The transactions whose clients have their answer.
    pub fn ended(&self) -> TxnSet {
        let ended = |status| matches!(status, Status::Committed | Status::Aborted);
        Txn::first(self.records.len())
            .filter(|txn| ended(self.record(*txn).status))
            .collect()
    }

    pub(crate) fn start(&mut self, txn: Txn) {
        let after = match self.detail {
            Detail::Untimed => TxnSet::EMPTY,
            Detail::RealTime | Detail::Full => self.ended(),
        };
        let record = &mut self.records[txn.index()];
        record.status = Status::Running;
        record.after = after;
        self.happened(Event::Start(txn));
    }

    pub(crate) fn read(&mut self, txn: Txn, key: Key, version: Version) {
        if self.expect_running(txn, "read") {
            insert(&mut self.records[txn.index()].reads, key, version);
        }
    }

    pub(crate) fn write(&mut self, txn: Txn, key: Key, version: Version) {
        if version.is_initial() {
            self.refuse(format!("{txn} wrote the initial version of {key}"));
        } else if self.expect_running(txn, "wrote") {
            insert(&mut self.records[txn.index()].writes, key, version);
        }
    }

    pub(crate) fn end(&mut self, txn: Txn, status: Status) {
        if !self.expect_running(txn, "ended") {
            return;
        }
        self.records[txn.index()].status = status;
        self.happened(match status {
            Status::Committed => Event::Commit(txn),
            _ => Event::Abort(txn),
        });
    }

    pub(crate) fn happened(&mut self, event: Event) {
        if self.detail == Detail::Full {
            self.events.push(event);
        }
    }

    pub(crate) fn install(&mut self, key: Key, version: Version) {
        let versions = &mut self.installed[key.index()];
        if !versions.contains(&version) {
            versions.push(version);
        }
    }

    pub(crate) fn refuse(&mut self, error: String) {
        self.error.get_or_insert(error);
    }

    fn expect_running(&mut self, txn: Txn, what: &str) -> bool {
        let running = self.record(txn).status == Status::Running;
        if !running {
            let status = self.record(txn).status;
            self.refuse(format!("{txn} {what} while {status:?}"));
        }
        running
    }
}

/// Keeps `list` sorted by key, later entries of a key after earlier ones.
fn insert(list: &mut Vec<(Key, Version)>, key: Key, version: Version) {
    let place = list.partition_point(|(other, _)| *other <= key);
    list.insert(place, (key, version));
}
