//! Runs something and reads what was recorded of it, by another parser than ours.

use crate::fake::{Fake, Seen};
use history::{History, Status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use workload::driver::Error;
use workload::execute::{Counters, Options, Run};
use workload::plan::{Action, Plan, Source, Unique, Workload};
use workload::record::Recording;
use workload::schema::{Cell, ColumnKind, Schema};

/// A file of its own in the directory for such files, removed at the end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("live-{}-{number}.jsonl", std::process::id());
        Place(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Plans by a function of the client, its unique numbers, and the plan.
pub struct Planned<F> {
    pub schema: Schema,
    pub plan: F,
}

struct PlannedSource<F> {
    plan: F,
    client: u32,
    unique: Unique,
}

impl<F: Fn(u32, &mut Unique, &mut Plan) + Clone + Send + Sync + 'static> Workload for Planned<F> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn source(&self, client: u32, clients: u32) -> Box<dyn Source> {
        Box::new(PlannedSource {
            plan: self.plan.clone(),
            client,
            unique: Unique::new(client, clients),
        })
    }
}

impl<F: Fn(u32, &mut Unique, &mut Plan) + Send> Source for PlannedSource<F> {
    fn next(&mut self, plan: &mut Plan) {
        (self.plan)(self.client, &mut self.unique, plan);
    }
}

pub fn cell(row: i64) -> Cell {
    Cell {
        table: 0,
        column: 0,
        row,
    }
}

/// Transactions of a write, a read of the next row, and a read of the one written.
pub fn registers() -> Box<dyn Workload> {
    Box::new(Planned {
        schema: Schema::single(ColumnKind::Register, 0),
        plan: |_: u32, unique: &mut Unique, plan: &mut Plan| {
            let value = unique.take();
            plan.name = "mixed";
            plan.act(Action::Write(cell(value % 7), value));
            plan.act(Action::Read(cell((value + 1) % 7)));
            plan.act(Action::Read(cell(value % 7)));
        },
    })
}

pub fn options(clients: u32, transactions: u64) -> Options {
    Options {
        clients,
        transactions: Some(transactions),
        time: None,
        patience: Duration::from_secs(10),
    }
}

/// A line with the outcome of a transaction.
#[derive(Debug)]
pub struct Outcome {
    pub session: i64,
    pub txn: i64,
    pub status: String,
    pub ops: Vec<String>,
    pub line: Value,
}

/// What came of a run.
pub struct Recorded {
    pub result: Result<(), Error>,
    pub counters: Counters,
    pub text: String,
    pub outcomes: Vec<Outcome>,
    pub history: History,
}

pub fn run(fake: &Fake, workload: &dyn Workload, options: Options) -> Recorded {
    run_until(fake, workload, options, &AtomicBool::new(false))
}

pub fn run_until(
    fake: &Fake,
    workload: &dyn Workload,
    options: Options,
    stop: &AtomicBool,
) -> Recorded {
    let place = Place::new();
    let recording = Recording::create(&place.0, "{\"seed\":1}").expect("a new file");
    let counters = Counters::default();
    let run = Run {
        database: fake,
        workload,
        recording: &recording,
        options,
        stop,
        counters: &counters,
    };
    let result = run.execute();
    let text = std::fs::read_to_string(&place.0).expect("the recording");
    assert_eq!(recording.len(), text.len() as u64);
    let recorded = Recorded {
        result,
        counters,
        outcomes: outcomes(&text),
        history: whole(&text),
        text,
    };
    recorded.is_consistent();
    recorded
}

/// The history of a recording that is whole.
fn whole(text: &str) -> History {
    let mut notes = Vec::new();
    let history = history::format::jsonl::read(text.as_bytes(), &mut notes);
    assert_eq!(notes, Vec::<String>::new());
    history.expect("a recording")
}

/// The outcomes of a recording in which every transaction has a start and then an outcome.
pub fn outcomes(text: &str) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut under_way = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        let Some(session) = line["session"].as_i64() else {
            assert!(place == 0 || line["event"].is_string(), "{line}");
            continue;
        };
        let txn = line["txn"].as_i64().expect("a number");
        let status = line["status"].as_str().unwrap_or("committed").to_string();
        let start = line["start"].as_i64().expect("a time");
        if status == "started" {
            let before = under_way.insert(session, (txn, start));
            assert_eq!(before, None, "one at a time: {line}");
            continue;
        }
        let started = under_way.remove(&session);
        assert_eq!(started, Some((txn, start)), "the same start: {line}");
        assert_eq!(line["end"].is_i64(), status != "indeterminate", "{line}");
        let ops = line["ops"].as_array().expect("an array");
        outcomes.push(Outcome {
            session,
            txn,
            status,
            ops: ops.iter().map(Value::to_string).collect(),
            line,
        });
    }
    assert!(under_way.is_empty(), "without an outcome: {under_way:?}");
    outcomes
}

impl Recorded {
    pub fn count(&self, status: &str) -> u64 {
        let same = self.outcomes.iter().filter(|one| one.status == status);
        same.count() as u64
    }

    /// What each session did, in its order.
    pub fn sessions(&self) -> BTreeMap<i64, Vec<Seen>> {
        let mut sessions: BTreeMap<i64, Vec<Seen>> = BTreeMap::new();
        for one in &self.outcomes {
            let session = sessions.entry(one.session).or_default();
            assert_eq!(one.txn, session.len() as i64, "numbers in order");
            let status = ["committed", "aborted", "indeterminate"];
            let status = status.into_iter().find(|name| *name == one.status);
            session.push(Seen {
                ops: one.ops.clone(),
                status: status.expect("a known outcome"),
            });
        }
        sessions
    }

    /// Asserts that every session is what one connection did, and nothing is missing or new.
    pub fn is_what_was_done(&self, fake: &Fake) {
        let mut recorded: Vec<Vec<Seen>> = self.sessions().into_values().collect();
        let state = fake.state();
        let done = state.log.iter().map(|(_, seen)| seen.clone());
        let mut done: Vec<Vec<Seen>> = done.filter(|seen| !seen.is_empty()).collect();
        let by_text = |seen: &Vec<Seen>| format!("{seen:?}");
        recorded.sort_by_key(by_text);
        done.sort_by_key(by_text);
        assert_eq!(recorded, done);
    }

    /// Counters, lines and what is read of them agree.
    fn is_consistent(&self) {
        let is = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        assert_eq!(is(&counters.committed), self.count("committed"));
        assert_eq!(is(&counters.aborted), self.count("aborted"));
        assert_eq!(is(&counters.indeterminate), self.count("indeterminate"));
        assert_eq!(is(&counters.started), self.outcomes.len() as u64);
        assert_eq!(self.history.txn_count(), self.outcomes.len());
        let of = |status| {
            self.history
                .txns()
                .iter()
                .filter(move |t| t.status == status)
        };
        let committed = of(Status::Committed).count() as u64;
        assert_eq!(committed, self.count("committed"));
        assert_eq!(of(Status::Aborted).count() as u64, self.count("aborted"));
    }
}
