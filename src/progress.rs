//! Progress on standard error: a line for whoever waits longer than a second at a terminal, or lines of
//! JSON for the program that started this one and shows it to others.

use checker::Count;
use serde_json::{Map, Value};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is going on, shared with the thread that prints it.
#[derive(Default)]
struct State {
    stage: Mutex<String>,
    /// How far that stage is.
    counts: Mutex<Vec<Count>>,
    /// What else there is to tell to programs.
    numbers: Mutex<Map<String, Value>>,
    bytes_done: AtomicU64,
    bytes_total: AtomicU64,
    finished: AtomicBool,
    /// Whoever else wants to know how many bytes are read.
    told: Option<Told>,
}

/// Told how many bytes of how many are read.
pub type Told = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl State {
    fn current_stage(&self) -> String {
        let stage = self.stage.lock().map(|stage| stage.clone());
        stage.unwrap_or_default()
    }

    fn current_counts(&self) -> Vec<Count> {
        let counts = self.counts.lock().map(|counts| counts.clone());
        counts.unwrap_or_default()
    }
}

/// A line that tells the stage, from the first second on.
pub struct Progress {
    state: Arc<State>,
    printer: Mutex<Option<JoinHandle<()>>>,
}

impl Progress {
    /// Starts to watch; prints only if standard error is a terminal, and nobody asked for quiet.
    pub fn start() -> Progress {
        let state = Arc::new(State::default());
        let is_watched = std::io::stderr().is_terminal() && !crate::output::is_quiet();
        let printer = is_watched.then(|| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || print(&state))
        });
        Progress {
            state,
            printer: Mutex::new(printer),
        }
    }

    /// Starts to watch for another program: several lines of JSON a second.
    pub fn start_json() -> Progress {
        let state = Arc::new(State::default());
        let printer = {
            let state = Arc::clone(&state);
            std::thread::spawn(move || print_json(&state))
        };
        Progress {
            state,
            printer: Mutex::new(Some(printer)),
        }
    }

    /// For people at a terminal, or for another program.
    pub fn start_for(is_program: bool) -> Progress {
        match is_program {
            true => Progress::start_json(),
            false => Progress::start(),
        }
    }

    /// Watches and prints nothing.
    pub fn silent() -> Progress {
        Progress {
            state: Arc::default(),
            printer: Mutex::new(None),
        }
    }

    /// Tells somebody else how many bytes are read, and prints nothing.
    pub fn told(told: Told) -> Progress {
        let state = State {
            told: Some(told),
            ..State::default()
        };
        Progress {
            state: Arc::new(state),
            printer: Mutex::new(None),
        }
    }

    /// What there is to tell to programs about the stage that runs now.
    pub fn numbers(&self, numbers: Map<String, Value>) {
        if let Ok(mut known) = self.state.numbers.lock() {
            *known = numbers;
        }
    }

    /// A stage begins.
    pub fn stage(&self, name: &str) {
        if let Ok(mut stage) = self.state.stage.lock() {
            name.clone_into(&mut stage);
        }
        self.counts(&[]);
        self.state.bytes_total.store(0, Ordering::Relaxed);
    }

    /// How far the stage is that runs now. Said often, and printed now and then.
    pub fn counts(&self, counts: &[Count]) {
        if let Ok(mut known) = self.state.counts.lock() {
            counts.clone_into(&mut known);
        }
    }

    /// The stage that runs now.
    pub fn current_stage(&self) -> String {
        self.state.current_stage()
    }

    /// So many bytes of so many are read.
    pub fn bytes(&self, done: u64, total: u64) {
        self.state.bytes_done.store(done, Ordering::Relaxed);
        self.state.bytes_total.store(total, Ordering::Relaxed);
        if let Some(told) = &self.state.told {
            told(done, total);
        }
    }

    /// Nothing more is printed from now on, and the line is gone.
    pub fn finish(&self) {
        self.state.finished.store(true, Ordering::Relaxed);
        let printer = self.printer.lock().ok().and_then(|mut slot| slot.take());
        if let Some(printer) = printer {
            printer.thread().unpark();
            // The printer only prints; a panic in it would lose nothing.
            let _ = printer.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn print(state: &State) {
    let started = Instant::now();
    let mut shown = false;
    while !state.finished.load(Ordering::Relaxed) {
        if started.elapsed() >= Duration::from_secs(1) {
            let stage = state.current_stage();
            let total = state.bytes_total.load(Ordering::Relaxed);
            let share = match total {
                0 => String::new(),
                _ => format!(
                    " {} %",
                    100 * state.bytes_done.load(Ordering::Relaxed) / total
                ),
            };
            let counts = match state.current_counts().as_slice() {
                [] => String::new(),
                counts => format!(": {}", checker::in_words(counts)),
            };
            let seconds = started.elapsed().as_secs();
            let line = format!("{stage}{share}{counts} … {seconds} s");
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
            shown = true;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    if shown {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// How often another program is told.
const TOLD_EVERY: Duration = Duration::from_millis(200);

fn print_json(state: &State) {
    let started = Instant::now();
    while !state.finished.load(Ordering::Relaxed) {
        let mut numbers = match state.numbers.lock() {
            Ok(mut numbers) => std::mem::take(&mut *numbers),
            Err(_) => Map::new(),
        };
        let stage = state.current_stage();
        // Behind a colon is what the numbers say as well.
        let stage = stage.split(':').next().unwrap_or_default();
        numbers.insert("stage".to_string(), stage.into());
        let seconds = started.elapsed().as_secs_f64();
        numbers.insert("seconds".to_string(), seconds.into());
        let total = state.bytes_total.load(Ordering::Relaxed);
        if total > 0 {
            let done = state.bytes_done.load(Ordering::Relaxed);
            numbers.insert("done".to_string(), done.into());
            numbers.insert("total".to_string(), total.into());
        }
        let counts = state.current_counts().into_iter();
        let counts: Map<String, Value> = counts
            .map(|(what, number)| (what.to_string(), number.into()))
            .collect();
        if !counts.is_empty() {
            numbers.insert("counts".to_string(), counts.into());
        }
        let line = serde_json::json!({"progress": numbers});
        let _ = writeln!(std::io::stderr(), "{line}");
        std::thread::park_timeout(TOLD_EVERY);
    }
}
