//! Runs a workload: one thread a client, each with a connection of its own, and every transaction recorded.
//!
//! A session of the history is what one connection did. When a connection is lost, the client goes on in a
//! new session, because a database promises nothing about the order of what two connections
//! do; and a transaction of unknown outcome may take effect while the next already runs.

use crate::driver::{Answer, Commit, Connection, Database, Error, Fate};
use crate::plan::{Plan, Source, Step, Workload};
use crate::record::{Entry, Outcome, Recording, write_end, write_start};
use crate::schema::Schema;
use history::Status;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often to ask for a transaction that a node without writes can run.
const PLANS_MAX: usize = 32;

/// How long a client that had a connection tries the same node again before it goes to the next.
const NODE_PATIENCE: Duration = Duration::from_secs(1);

/// How many clients, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients, each with one connection at a time.
    pub clients: u32,
    /// End after so many transactions have been started in all.
    pub transactions: Option<u64>,
    /// End after so long.
    pub time: Option<Duration>,
    /// How long a node may be out of reach before its clients give up at the start of the run.
    pub patience: Duration,
}

/// What has happened so far; read while the run goes on.
#[derive(Default)]
pub struct Counters {
    /// Transactions that were begun.
    pub started: AtomicU64,
    /// Transactions that committed.
    pub committed: AtomicU64,
    /// Transactions that did not.
    pub aborted: AtomicU64,
    /// Transactions of which nobody knows.
    pub indeterminate: AtomicU64,
    /// Connections that were lost.
    pub lost: AtomicU64,
    /// Operations that got an answer.
    pub operations: AtomicU64,
}

/// A run of a workload against a database.
pub struct Run<'a> {
    /// The database, prepared for the schema.
    pub database: &'a dyn Database,
    /// What to run.
    pub workload: &'a dyn Workload,
    /// Where it is recorded.
    pub recording: &'a Recording,
    /// How much of it.
    pub options: Options,
    /// Set by anybody to end the run; sessions finish their transaction.
    pub stop: &'a AtomicBool,
    /// What has happened.
    pub counters: &'a Counters,
}

impl Run<'_> {
    /// Runs until the end; returns the error that ended it early, if one did.
    pub fn execute(&self) -> Result<(), Error> {
        let failure = Mutex::new(None);
        // A time that no clock can show is no limit.
        let time = self.options.time;
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        thread::scope(|scope| {
            for client in 0..self.options.clients {
                let failure = &failure;
                let work = move || {
                    let mut client = Client::new(self, client, deadline);
                    if let Err(error) = client.work() {
                        self.stop.store(true, Ordering::Release);
                        let mut slot = failure.lock().unwrap_or_else(|e| e.into_inner());
                        slot.get_or_insert(error);
                    }
                };
                // A thousand clients should not need a thousand full stacks.
                let builder = thread::Builder::new().stack_size(512 * 1024);
                if let Err(error) = builder.spawn_scoped(scope, work) {
                    self.stop.store(true, Ordering::Release);
                    let mut slot = failure.lock().unwrap_or_else(|e| e.into_inner());
                    let problem = format!("cannot start client {}: {error}", client + 1);
                    slot.get_or_insert(Error::hopeless(problem));
                    break;
                }
            }
        });
        let failed = failure.into_inner().unwrap_or_else(|e| e.into_inner());
        match (failed, self.recording.problem()) {
            (Some(error), _) => Err(error),
            (None, Some(problem)) => Err(Error::hopeless(format!("the recording: {problem}"))),
            (None, None) => Ok(()),
        }
    }

    fn schema(&self) -> &Schema {
        self.workload.schema()
    }
}

/// What a transaction came to.
struct Ended {
    status: Status,
    commit: Commit,
    error: Option<Error>,
    connection_is_good: bool,
}

struct Client<'a> {
    run: &'a Run<'a>,
    node: usize,
    session: u64,
    txn: u64,
    source: Box<dyn Source>,
    plan: Plan,
    answers: Vec<Option<Answer>>,
    lines: String,
    deadline: Option<Instant>,
    has_connected: bool,
}

impl<'a> Client<'a> {
    fn new(run: &'a Run<'a>, client: u32, deadline: Option<Instant>) -> Client<'a> {
        Client {
            run,
            node: client as usize % run.database.node_count(),
            session: u64::from(client),
            txn: 0,
            source: run.workload.source(client, run.options.clients),
            plan: Plan::default(),
            answers: Vec::new(),
            lines: String::new(),
            deadline,
            has_connected: false,
        }
    }

    fn work(&mut self) -> Result<(), Error> {
        while !self.is_over() {
            let Some(mut connection) = self.connect()? else {
                return Ok(());
            };
            self.converse(connection.as_mut())?;
            self.session += u64::from(self.run.options.clients);
            self.txn = 0;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let started = self.run.counters.started.load(Ordering::Relaxed);
        self.run.stop.load(Ordering::Acquire)
            || self
                .run
                .options
                .transactions
                .is_some_and(|limit| started >= limit)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Connects to the client's node, and if that takes too long, to the next; nothing if the run ends
    /// meanwhile.
    fn connect(&mut self) -> Result<Option<Box<dyn Connection>>, Error> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(5);
        while !self.is_over() {
            let error = match self.run.database.connect(self.node, self.run.schema()) {
                Ok(connection) => {
                    self.has_connected = true;
                    return Ok(Some(connection));
                }
                Err(error) if error.fate == Fate::Hopeless => return Err(error),
                Err(error) => error,
            };
            if !self.has_connected && began.elapsed() > self.run.options.patience {
                return Err(Error {
                    fate: Fate::Hopeless,
                    ..error
                });
            }
            let silence = self.run.options.patience.saturating_mul(3);
            if self.has_connected && began.elapsed() > silence {
                let problem = format!("no node is to be reached any more: {error}");
                return Err(Error::hopeless(problem));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(500));
            if self.has_connected && began.elapsed() > NODE_PATIENCE.min(self.run.options.patience)
            {
                self.node = (self.node + 1) % self.run.database.node_count();
            }
        }
        Ok(None)
    }

    /// Runs transactions until the run is over or the connection is lost.
    fn converse(&mut self, connection: &mut dyn Connection) -> Result<(), Error> {
        let mut start = match self.start() {
            Some(start) => start,
            None => return Ok(()),
        };
        loop {
            if !self.flush() {
                return Ok(());
            }
            let ended = self.transact(connection);
            let is_good = ended.connection_is_good;
            let hopeless = ended.error.clone().filter(|e| e.fate == Fate::Hopeless);
            self.end(start, ended);
            if let Some(error) = hopeless {
                self.flush();
                return Err(error);
            }
            if !is_good {
                self.run.counters.lost.fetch_add(1, Ordering::Relaxed);
                self.flush();
                return Ok(());
            }
            start = match self.start() {
                Some(start) => start,
                None => {
                    self.flush();
                    return Ok(());
                }
            };
        }
    }

    /// Plans the next transaction and writes its first line; nothing if the run is over.
    fn start(&mut self) -> Option<i64> {
        if self.is_over() {
            return None;
        }
        let limit = self.run.options.transactions.unwrap_or(u64::MAX);
        let one_more = |started: u64| (started < limit).then(|| started + 1);
        let started = &self.run.counters.started;
        // What is over the limit is neither begun nor counted.
        started
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        self.plan_next();
        let start = self.run.recording.now();
        let mut lines = std::mem::take(&mut self.lines);
        write_start(self.run.schema(), &self.entry(start), &mut lines);
        self.lines = lines;
        Some(start)
    }

    /// Plans a transaction that the node can run: if it takes no writes, what is left without them.
    fn plan_next(&mut self) {
        let takes_writes = self.run.database.takes_writes(self.node);
        for _ in 0..PLANS_MAX {
            self.plan.clear();
            self.source.next(&mut self.plan);
            if takes_writes {
                return;
            }
            let reads = |step: &Step| !matches!(step, Step::Act(action) if action.writes());
            self.plan.steps.retain(reads);
            if !self.plan.steps.is_empty() {
                return;
            }
        }
        // A workload that only writes leaves nothing to do here.
        thread::sleep(Duration::from_millis(10));
    }

    fn entry(&self, start: i64) -> Entry<'_> {
        Entry {
            session: self.session,
            txn: self.txn,
            start,
            plan: &self.plan,
        }
    }

    /// Hands the lines to the recording. If it takes no more, the run is over: what cannot be recorded
    /// must not be done.
    fn flush(&mut self) -> bool {
        let done = self.run.recording.append(&self.lines);
        if !done {
            self.run.stop.store(true, Ordering::Release);
        }
        self.lines.clear();
        done
    }

    fn transact(&mut self, connection: &mut dyn Connection) -> Ended {
        self.answers.clear();
        let result = self.run_steps(connection);
        let rolls_back = self.plan.rolls_back;
        match result {
            Ok(()) if rolls_back => self.give_up(connection, None),
            Ok(()) => match connection.commit() {
                Ok(commit) => Ended {
                    status: Status::Committed,
                    commit,
                    error: None,
                    connection_is_good: true,
                },
                Err(error) => self.give_up(connection, Some(error)),
            },
            Err(error) => self.give_up(connection, Some(error)),
        }
    }

    fn run_steps(&mut self, connection: &mut dyn Connection) -> Result<(), Error> {
        connection.begin()?;
        for step in &self.plan.steps {
            match step {
                Step::Act(action) => {
                    self.answers.push(None);
                    let answer = connection.run(action)?;
                    if let Some(slot) = self.answers.last_mut() {
                        *slot = Some(answer);
                    }
                }
                Step::AwaitCommits(count) => self.await_commits(*count),
            }
        }
        Ok(())
    }

    fn await_commits(&self, count: u64) {
        let committed = || self.run.counters.committed.load(Ordering::Relaxed);
        let target = committed() + count;
        while committed() < target && !self.is_over() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends a transaction that did not commit, or of which nobody knows whether it did.
    fn give_up(&self, connection: &mut dyn Connection, error: Option<Error>) -> Ended {
        let fate = error.as_ref().map_or(Fate::Aborted, |error| error.fate);
        let (status, tries) = match fate {
            Fate::Aborted => (Status::Aborted, true),
            Fate::Lost => (Status::Aborted, false),
            Fate::Unknown | Fate::Hopeless => (Status::Indeterminate, false),
        };
        // A rollback that fails leaves nothing committed, but a connection of no use.
        let connection_is_good = tries && connection.rollback().is_ok();
        Ended {
            status,
            commit: Commit::default(),
            error,
            connection_is_good,
        }
    }

    /// Records what became of the transaction, and lets it be known.
    fn end(&mut self, start: i64, ended: Ended) {
        let Ended {
            status,
            commit,
            error,
            ..
        } = ended;
        let counters = self.run.counters;
        match status {
            Status::Committed => &counters.committed,
            Status::Aborted => &counters.aborted,
            Status::Indeterminate => &counters.indeterminate,
        }
        .fetch_add(1, Ordering::Relaxed);
        let mut later = commit.answers.into_iter();
        for answer in self
            .answers
            .iter_mut()
            .filter(|a| **a == Some(Answer::Later))
        {
            *answer = later.next();
        }
        let answered = self.answers.iter().flatten().count() as u64;
        counters.operations.fetch_add(answered, Ordering::Relaxed);
        let mut lines = std::mem::take(&mut self.lines);
        let outcome = Outcome {
            status,
            end: self.run.recording.now(),
            answers: &self.answers,
            version: commit.version,
            info: &commit.info,
            error: error.as_ref(),
            node: (self.run.database.node_count() > 1).then_some(self.node),
        };
        write_end(self.run.schema(), &self.entry(start), &outcome, &mut lines);
        self.lines = lines;
        self.source.ended(&self.plan, status == Status::Committed);
        self.txn += 1;
    }
}
