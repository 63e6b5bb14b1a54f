//! Recording a history inside a program: what its clients ask of a store, and what they are told.

use history::{
    Builder, History, Interval, KeyId, Op, OpKind, SessionId, Status, TooLarge, Value, ValueCode,
};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records what clients do to a store, from any number of threads.
///
/// Each client is a [`Session`], which runs one [`Transaction`] after another. A recorder can be cloned;
/// clones record into the same history.
///
/// ```
/// let recorder = isolde::Recorder::new();
/// std::thread::scope(|scope| {
///     for client in 0..4 {
///         let mut session = recorder.session();
///         scope.spawn(move || {
///             let txn = session.begin();
///             txn.write("x", client);
///             txn.commit();
///         });
///     }
/// });
/// assert_eq!(recorder.history().txn_count(), 4);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Default, Debug)]
struct Shared {
    /// Counts beginnings and ends: of two of them the later has the larger number.
    clock: AtomicI64,
    sessions: Mutex<Vec<Arc<Mutex<Log>>>>,
}

impl Shared {
    fn tick(&self) -> i64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// The transactions of a session. Each session has a lock of its own, which only a call of
/// [`Recorder::history`] contends for: recording must not make the clients of a store take turns.
type Log = Vec<Row>;

#[derive(Debug)]
struct Row {
    interval: Interval,
    status: Status,
    ops: Vec<(OpKind, Value, Datum)>,
}

#[derive(Debug)]
enum Datum {
    One(Value),
    Many(Vec<Value>),
}

impl Recorder {
    /// An empty recording.
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// A new client. Sessions are numbered from 0: the third transaction of the second one is `s1t2`.
    pub fn session(&self) -> Session {
        let log = Arc::new(Mutex::new(Log::new()));
        lock(&self.shared.sessions).push(Arc::clone(&log));
        Session {
            shared: Arc::clone(&self.shared),
            log,
        }
    }

    /// All that is recorded so far. A transaction that has not ended yet is indeterminate in it: it may
    /// commit or not.
    ///
    /// # Panics
    /// If the recording has more operations than a history can number, four thousand million.
    pub fn history(&self) -> History {
        let sessions = lock(&self.shared.sessions);
        // All at once: who reads what another session wrote must not be recorded without that session.
        let logs: Vec<MutexGuard<'_, Log>> = sessions.iter().map(|log| lock(log)).collect();
        let mut builder = Builder::new();
        for (label, log) in logs.iter().enumerate() {
            let session = builder.session(label as i64);
            for (number, row) in log.iter().enumerate() {
                let added = add(&mut builder, session, number as u64, row);
                added.expect("a recording that fits into memory fits a history");
            }
        }
        builder.finish()
    }
}

fn add(builder: &mut Builder, session: SessionId, number: u64, row: &Row) -> Result<(), TooLarge> {
    let mut ops = Vec::with_capacity(row.ops.len());
    for (kind, key, datum) in &row.ops {
        let key = builder.key(key);
        let value = match datum {
            Datum::One(value) => builder.value(value),
            Datum::Many(values) => list(builder, key, *kind, values),
        };
        ops.push(Op {
            kind: *kind,
            key,
            value,
        });
    }
    builder.push_txn(session, number, row.status, Some(row.interval), &ops)
}

fn list(builder: &mut Builder, key: KeyId, kind: OpKind, values: &[Value]) -> ValueCode {
    let codes: Vec<ValueCode> = values.iter().map(|value| builder.value(value)).collect();
    match kind {
        OpKind::ReadList => builder.push_list(key, &codes),
        _ => builder.lists.push(&codes),
    }
}

/// What somebody left behind who panicked is as good as any recording.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client, which runs one transaction after another. Levels that respect sessions, such as
/// [`Level::Causal`](crate::Level::Causal), take their order for granted.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    log: Arc<Mutex<Log>>,
}

impl Session {
    /// Begins a transaction. Call it before the store's own `begin`: levels of real time compare this
    /// moment with the ends of other transactions.
    pub fn begin(&mut self) -> Transaction<'_> {
        let interval = Interval {
            start: self.shared.tick(),
            end: Interval::NEVER,
        };
        let mut log = lock(&self.log);
        let place = log.len();
        log.push(Row {
            interval,
            status: Status::Indeterminate,
            ops: Vec::new(),
        });
        drop(log);
        Transaction {
            session: self,
            place,
        }
    }
}

/// A transaction under way.
///
/// Record a read after the store has answered it, with what it answered, and a write *before* it is asked
/// for: whoever sees it must not see it before it is recorded. A transaction that is dropped without
/// [`commit`](Transaction::commit) or [`abort`](Transaction::abort) is indeterminate, which is right for a
/// lost connection or an error that does not tell the outcome.
///
/// Keys and values are integers, texts, bytes, or options of them; anything else that can be shown goes by
/// [`Value::display`]. Values should be written once to each key, by different transactions, if it is to be
/// known who wrote what was read; what is ambiguous counts in favour of the store.
///
/// ```
/// # let recorder = isolde::Recorder::new();
/// # let mut session = recorder.session();
/// let txn = session.begin();
/// txn.read("balance:alice", None::<u64>); // nothing there
/// txn.write("balance:alice", 10);
/// txn.append(42, "deposit"); // an element at the end of the list 42
/// txn.read_list(42, ["deposit"]);
/// txn.commit();
/// ```
#[derive(Debug)]
#[must_use = "a transaction that is dropped at once has no operations"]
pub struct Transaction<'s> {
    session: &'s mut Session,
    place: usize,
}

impl Transaction<'_> {
    /// A read of a register returned this value; nothing ([`None`], [`Value::Nil`]) is the state of a key that
    /// nobody wrote. So is 0, for keys to which nobody writes 0.
    pub fn read(&self, key: impl Into<Value>, value: impl Into<Value>) {
        self.push(OpKind::Read, key, Datum::One(value.into()));
    }

    /// This value is going to be written to a register.
    pub fn write(&self, key: impl Into<Value>, value: impl Into<Value>) {
        self.push(OpKind::Write, key, Datum::One(value.into()));
    }

    /// A read of a list returned these elements. Lists tell the order in which they grew, so that every level
    /// is decided at once, and more kinds of anomalies are found than with registers.
    pub fn read_list<V: Into<Value>>(
        &self,
        key: impl Into<Value>,
        elements: impl IntoIterator<Item = V>,
    ) {
        self.push(OpKind::ReadList, key, many(elements));
    }

    /// This element is going to be appended to a list.
    pub fn append(&self, key: impl Into<Value>, element: impl Into<Value>) {
        self.push(OpKind::Append, key, Datum::One(element.into()));
    }

    /// A read of a set that only grows returned these elements.
    pub fn read_set<V: Into<Value>>(
        &self,
        key: impl Into<Value>,
        elements: impl IntoIterator<Item = V>,
    ) {
        self.push(OpKind::ReadSet, key, many(elements));
    }

    /// This element is going to be added to a set.
    pub fn add(&self, key: impl Into<Value>, element: impl Into<Value>) {
        self.push(OpKind::Add, key, Datum::One(element.into()));
    }

    /// A read of a counter returned this number.
    pub fn read_counter(&self, key: impl Into<Value>, number: i64) {
        self.push(OpKind::ReadCounter, key, Datum::One(number.into()));
    }

    /// This number is going to be added to a counter.
    pub fn increment(&self, key: impl Into<Value>, by: i64) {
        self.push(OpKind::Increment, key, Datum::One(by.into()));
    }

    /// The store said that the transaction is committed. Call it after that.
    pub fn commit(self) {
        self.end(Status::Committed);
    }

    /// The store said that the transaction is not committed, and never will be.
    pub fn abort(self) {
        self.end(Status::Aborted);
    }

    fn push(&self, kind: OpKind, key: impl Into<Value>, datum: Datum) {
        let op = (kind, key.into(), datum);
        lock(&self.session.log)[self.place].ops.push(op);
    }

    fn end(self, status: Status) {
        let end = self.session.shared.tick();
        let row = &mut lock(&self.session.log)[self.place];
        row.status = status;
        row.interval.end = end;
    }
}

fn many<V: Into<Value>>(elements: impl IntoIterator<Item = V>) -> Datum {
    Datum::Many(elements.into_iter().map(Into::into).collect())
}
