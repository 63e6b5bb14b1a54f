//! What the framework records of a run: which transactions started, what they read and wrote, how
//! they ended, and, as far as a question needs it, when.

use crate::codec::Renaming;
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

impl Record {
    pub(crate) fn waiting() -> Record {
        Record {
            status: Status::Waiting,
            after: TxnSet::EMPTY,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }
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
    #[serde(skip)]
    journal: Journal,
}

/// What was recorded since [`Log::begin`], to be taken back. Not part of what a log says.
#[derive(Clone, Debug, Default)]
struct Journal(Option<Vec<Undo>>);

impl PartialEq for Journal {
    fn eq(&self, _other: &Journal) -> bool {
        true
    }
}

impl Eq for Journal {}

#[derive(Clone, Copy, Debug)]
enum Undo {
    Start(Txn),
    Read(Txn, usize),
    Write(Txn, usize),
    End(Txn),
    Event,
    Install(Key),
    Error,
}

impl Log {
    /// The log of a run of `setup` in which nothing happened yet.
    pub fn new(setup: &Setup, detail: Detail) -> Log {
        let records = setup.txns().map(|_| Record::waiting()).collect();
        let installed = setup.keys().map(|_| Vec::new()).collect();
        Log::from_parts(detail, records, installed, Vec::new(), None)
    }

    pub(crate) fn from_parts(
        detail: Detail,
        records: Vec<Record>,
        installed: Vec<Vec<Version>>,
        events: Vec<Event>,
        error: Option<String>,
    ) -> Log {
        Log {
            detail,
            records,
            installed,
            events,
            error,
            journal: Journal(None),
        }
    }

    /// From here on, what is recorded can be taken back.
    pub(crate) fn begin(&mut self) {
        self.journal.0.get_or_insert_default().clear();
    }

    /// Whether anything was recorded since [`Log::begin`].
    pub(crate) fn is_changed(&self) -> bool {
        self.journal
            .0
            .as_ref()
            .is_some_and(|undos| !undos.is_empty())
    }

    /// Takes back what was recorded since [`Log::begin`].
    pub(crate) fn take_back(&mut self) {
        let mut undos = self.journal.0.take().unwrap_or_default();
        while let Some(undo) = undos.pop() {
            match undo {
                Undo::Start(txn) => {
                    self.records[txn.index()].status = Status::Waiting;
                    self.records[txn.index()].after = TxnSet::EMPTY;
                }
                Undo::Read(txn, place) => drop(self.records[txn.index()].reads.remove(place)),
                Undo::Write(txn, place) => drop(self.records[txn.index()].writes.remove(place)),
                Undo::End(txn) => self.records[txn.index()].status = Status::Running,
                Undo::Event => drop(self.events.pop()),
                Undo::Install(key) => drop(self.installed[key.index()].pop()),
                Undo::Error => self.error = None,
            }
        }
        self.journal.0 = Some(undos);
    }

    fn note(&mut self, undo: Undo) {
        if let Some(undos) = &mut self.journal.0 {
            undos.push(undo);
        }
    }

    /// The same log of a setup whose names are changed.
    pub(crate) fn renamed(&self, names: &Renaming) -> Log {
        let txn = |txn: Txn| Txn(names.txns[txn.index()]);
        let site = |site: Site| Site(names.sites[site.index()]);
        let version = |version: Version| match version.is_initial() {
            true => version,
            false => Version::new(version.number, site(version.site)),
        };
        let versions = |list: &[(Key, Version)]| {
            let renamed = list.iter();
            let renamed = renamed.map(|(key, v)| (Key(names.keys[key.index()]), version(*v)));
            let mut renamed: Vec<(Key, Version)> = renamed.collect();
            renamed.sort_by_key(|(key, _)| *key);
            renamed
        };
        let mut log = self.clone();
        for (place, record) in self.records.iter().enumerate() {
            log.records[usize::from(names.txns[place])] = Record {
                status: record.status,
                after: record.after.iter().map(txn).collect(),
                reads: versions(&record.reads),
                writes: versions(&record.writes),
            };
        }
        for (place, order) in self.installed.iter().enumerate() {
            let order = order.iter().copied().map(version).collect();
            log.installed[usize::from(names.keys[place])] = order;
        }
        for event in &mut log.events {
            *event = match *event {
                Event::Start(t) => Event::Start(txn(t)),
                Event::Commit(t) => Event::Commit(txn(t)),
                Event::Abort(t) => Event::Abort(txn(t)),
                Event::Applied(t, at) => Event::Applied(txn(t), site(at)),
            };
        }
        log
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
        self.note(Undo::Start(txn));
        self.happened(Event::Start(txn));
    }

    pub(crate) fn read(&mut self, txn: Txn, key: Key, version: Version) {
        if self.expect_running(txn, "read") {
            let place = insert(&mut self.records[txn.index()].reads, key, version);
            self.note(Undo::Read(txn, place));
        }
    }

    pub(crate) fn write(&mut self, txn: Txn, key: Key, version: Version) {
        if version.is_initial() {
            self.refuse(format!("{txn} wrote the initial version of {key}"));
        } else if self.expect_running(txn, "wrote") {
            let place = insert(&mut self.records[txn.index()].writes, key, version);
            self.note(Undo::Write(txn, place));
        }
    }

    pub(crate) fn end(&mut self, txn: Txn, status: Status) {
        if !self.expect_running(txn, "ended") {
            return;
        }
        self.records[txn.index()].status = status;
        self.note(Undo::End(txn));
        self.happened(match status {
            Status::Committed => Event::Commit(txn),
            _ => Event::Abort(txn),
        });
    }

    pub(crate) fn happened(&mut self, event: Event) {
        if self.detail == Detail::Full {
            self.events.push(event);
            self.note(Undo::Event);
        }
    }

    pub(crate) fn install(&mut self, key: Key, version: Version) {
        let versions = &mut self.installed[key.index()];
        if !versions.contains(&version) {
            versions.push(version);
            self.note(Undo::Install(key));
        }
    }

    pub(crate) fn refuse(&mut self, error: String) {
        if self.error.is_none() {
            self.error = Some(error);
            self.note(Undo::Error);
        }
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
fn insert(list: &mut Vec<(Key, Version)>, key: Key, version: Version) -> usize {
    let place = list.partition_point(|(other, _)| *other <= key);
    list.insert(place, (key, version));
    place
}
