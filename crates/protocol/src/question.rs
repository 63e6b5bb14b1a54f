//! What is asked of a protocol, and how it is answered.

use crate::id::Txn;
use crate::log::{Detail, Log};
use crate::setup::Setup;
use crate::system::{Action, World};
use history::{Anomaly, History, Level};
use serde::{Deserialize, Serialize};

/// A property of the histories that a protocol allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// An isolation level.
    Level(Level),
    /// The transactions that write are serializable; those that only read may disagree.
    UpdateSerializable,
}

/// In which words a property is defined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Form {
    /// As a level of recorded histories, judged by the same checker.
    Strict,
    /// The formulas of the paper of CAT.
    Paper,
}

/// A property in one form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Question {
    /// What is asked.
    pub property: Property,
    /// In which words.
    pub form: Form,
}

/// How to explore.
#[derive(Clone)]
pub struct Request<'a> {
    /// What is asked.
    pub questions: Vec<Question>,
    /// Whether the transactions of a session are ordered by it, as the levels with sessions see
    /// them. CAT knows no sessions.
    pub sessions: bool,
    /// The world around the protocol; its detail is chosen by the questions.
    pub world: World,
    /// Spare orders that do not matter ([`crate::Protocol::commutes`]).
    pub partial_order: bool,
    /// Visit one of several states that differ by names only ([`crate::Protocol::symmetry`]).
    pub symmetry: bool,
    /// How many threads.
    pub threads: usize,
    /// The most states to visit in all.
    pub states_max: u64,
    /// The most bytes to use for states, in all.
    pub memory_max: u64,
    /// Told now and then how far it got; answers whether to go on.
    pub progress: &'a (dyn Fn(&Progress) -> bool + Sync),
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request {
            questions: Vec::new(),
            sessions: false,
            world: World::default(),
            partial_order: true,
            symmetry: true,
            threads: 1,
            states_max: u64::MAX,
            memory_max: u64::MAX,
            progress: &|_| true,
        }
    }
}

/// How far an exploration got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Setups finished.
    pub setups: usize,
    /// Setups in all.
    pub setups_all: usize,
    /// States visited.
    pub states: u64,
}

/// What was seen on the way: what makes a verdict more than a word.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evidence {
    /// Initial states explored.
    pub setups: u64,
    /// Initial states within the bounds before those alike were dropped.
    pub setups_raw: u64,
    /// States visited.
    pub states: u64,
    /// States generated, those seen before included.
    pub generated: u64,
    /// States in which nothing more can happen.
    pub finals: u64,
    /// Final states with two or more committed transactions.
    pub finals_two_commits: u64,
    /// Final states in which somebody read what another transaction wrote, and both committed.
    pub finals_reads_from: u64,
    /// Final states with an aborted transaction.
    pub finals_aborts: u64,
    /// Final states in which two committed transactions wrote the same key.
    pub finals_overwrites: u64,
    /// Final states in which two committed transactions ran at the same time. Counted only where
    /// time is recorded.
    pub finals_concurrent: u64,
    /// Final states in which a committed transaction read two keys that another committed one had
    /// written both of: it could have seen half of that one.
    pub finals_read_together: u64,
    /// Final states in which two committed transactions read and wrote the same key.
    pub finals_updates: u64,
    /// Final states in which a committed transaction read a key of which another committed one
    /// wrote another version.
    pub finals_read_write: u64,
    /// Final states in which a committed transaction began after another one had committed.
    /// Counted only where time is recorded.
    pub finals_real_time: u64,
    /// Final states with two committed transactions in one session.
    pub finals_sessions: u64,
    /// Final states in which a committed transaction became visible at a site that is not its
    /// proxy. Counted only where all events are recorded.
    pub finals_applied: u64,
    /// Different histories among the final states.
    pub histories: u64,
    /// The longest run, in steps.
    pub depth: u32,
    /// Rules that the protocol declares and that never fired.
    pub rules_never_fired: Vec<String>,
    /// Whether all states of all setups were visited.
    pub exhausted: bool,
    /// Bytes held by the exploration at its largest.
    pub bytes: u64,
    /// Upper bound of the probability that two states were mistaken for one.
    pub collision_bound: f64,
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// No final state violates it.
    Holds,
    /// No final state violates it, but none could have: why.
    Vacuous(String),
    /// A shortest run that violates it.
    Violated(Box<Counterexample>),
    /// The exploration ended early and had not found a violation.
    Unknown(String),
}

/// A run, with what it shows.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The initial state.
    pub setup: Setup,
    /// What happened, in order.
    pub trace: Vec<Action>,
    /// What was recorded.
    pub log: Log,
    /// The same as a history, as it was judged.
    pub history: History,
    /// What is wrong with it, in the checker's words; none in the paper's form.
    pub anomalies: Vec<Anomaly>,
    /// What is wrong with it, in words.
    pub explanation: String,
}

/// Transactions that can never end.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// A shortest run into such a state.
    pub run: Counterexample,
    /// The transactions without an answer.
    pub txns: Vec<Txn>,
    /// In how many final states somebody was stuck.
    pub finals: u64,
}

/// All answers of one exploration.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The protocol.
    pub protocol: String,
    /// An answer to each question.
    pub answers: Vec<(Question, Answer)>,
    /// What was seen.
    pub evidence: Evidence,
    /// Somebody never got an answer.
    pub stuck: Option<Stuck>,
    /// The model did what no model may do: what, and the run that shows it.
    pub model_error: Option<(String, Box<Counterexample>)>,
}

/// How much of time the questions need.
pub fn detail(questions: &[Question]) -> Detail {
    let needs = |question: &Question| match (question.form, question.property) {
        (Form::Paper, Property::Level(level)) => match level {
            Level::ReadCommitted
            | Level::ReadAtomic
            | Level::CursorStability
            | Level::UpdateAtomic
            | Level::Serializable => Detail::Untimed,
            _ => Detail::Full,
        },
        (
            Form::Strict,
            Property::Level(Level::StrongSnapshotIsolation | Level::StrictSerializable),
        ) => Detail::RealTime,
        _ => Detail::Untimed,
    };
    questions.iter().map(needs).max().unwrap_or(Detail::Untimed)
}
