//! One job: how far it is, and what its watchers have yet to hear.

use crate::http::Events;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobKind {
    Check,
    Run,
}

/// How far a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Waiting,
    Working,
    Done,
    Failed,
    Cancelled,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Working => "working",
            Phase::Done => "done",
            Phase::Failed => "failed",
            Phase::Cancelled => "cancelled",
        }
    }

    fn is_over(self) -> bool {
        matches!(self, Phase::Done | Phase::Failed | Phase::Cancelled)
    }
}

/// So many events are kept for watchers that come late; of older ones only the newest state counts.
const EVENTS_MAX: usize = 600;
/// Watchers are told that nothing happened after this.
const QUIET: Duration = Duration::from_secs(10);

/// A check or a run.
#[derive(Debug)]
pub(crate) struct Job {
    pub number: u64,
    kind: JobKind,
    title: String,
    cancelled: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    began: Instant,
    seconds: Option<f64>,
    progress: Value,
    error: Option<String>,
    path: Option<String>,
    /// The number of the first event kept.
    first: u64,
    events: VecDeque<String>,
}

impl Job {
    pub fn new(number: u64, kind: JobKind, title: &str) -> Job {
        Job {
            number,
            kind,
            title: title.to_string(),
            cancelled: AtomicBool::new(false),
            state: Mutex::new(State {
                phase: Phase::Waiting,
                began: Instant::now(),
                seconds: None,
                progress: Value::Null,
                error: None,
                path: None,
                first: 0,
                events: VecDeque::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// It works from now on.
    pub fn begin(&self) {
        let mut state = self.lock();
        state.phase = Phase::Working;
        state.began = Instant::now();
        self.tell(&mut state, "phase", json!({"phase": "working"}));
    }

    /// How far it is now.
    pub fn progress(&self, value: Value) {
        let mut state = self.lock();
        state.progress = value.clone();
        self.tell(&mut state, "progress", value);
    }

    /// It is over; only the first end counts.
    pub fn end(&self, phase: Phase, error: Option<&str>, path: Option<&str>) {
        let mut state = self.lock();
        if state.phase.is_over() {
            return;
        }
        state.phase = phase;
        state.seconds = Some(state.began.elapsed().as_secs_f64());
        state.error = error.map(str::to_string);
        state.path = path.map(str::to_string);
        let value = self.json_of(&state);
        self.tell(&mut state, "end", value);
    }

    /// Asks it to end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub fn is_over(&self) -> bool {
        self.lock().phase.is_over()
    }

    /// The job as the page shows it.
    pub fn json(&self) -> Value {
        self.json_of(&self.lock())
    }

    fn json_of(&self, state: &State) -> Value {
        let seconds = state.seconds;
        json!({
            "job": self.number,
            "kind": match self.kind { JobKind::Check => "check", JobKind::Run => "run" },
            "title": self.title,
            "phase": state.phase.name(),
            "seconds": seconds.unwrap_or_else(|| state.began.elapsed().as_secs_f64()),
            "progress": state.progress,
            "error": state.error,
            "path": state.path,
        })
    }

    fn tell(&self, state: &mut State, kind: &str, value: Value) {
        let number = state.first + state.events.len() as u64;
        let event = format!("id: {number}\nevent: {kind}\ndata: {value}\n\n");
        state.events.push_back(event);
        if state.events.len() > EVENTS_MAX {
            state.events.pop_front();
            state.first += 1;
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who watches a job.
pub(crate) struct Follow {
    job: Arc<Job>,
    next: u64,
}

impl Follow {
    /// From an event on.
    pub fn new(job: Arc<Job>, next: u64) -> Follow {
        Follow { job, next }
    }
}

impl Events for Follow {
    fn next(&mut self) -> Option<String> {
        let mut state = self.job.lock();
        let until = Instant::now() + QUIET;
        loop {
            let place = self.next.max(state.first) - state.first;
            let texts: String = state.events.iter().skip(place as usize).cloned().collect();
            self.next = state.first + state.events.len() as u64;
            if !texts.is_empty() {
                return Some(texts);
            }
            if state.phase.is_over() {
                return None;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(String::new());
            }
            let waited = self.job.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
