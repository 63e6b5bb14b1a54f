//! Progress on standard error, for whoever waits longer than a second at a terminal.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is going on, shared with the thread that prints it.
#[derive(Default)]
struct State {
    stage: Mutex<String>,
    bytes_done: AtomicU64,
    bytes_total: AtomicU64,
    finished: AtomicBool,
}

impl State {
    fn current_stage(&self) -> String {
        let stage = self.stage.lock().map(|stage| stage.clone());
        stage.unwrap_or_default()
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

    /// A stage begins.
    pub fn stage(&self, name: &str) {
        if let Ok(mut stage) = self.state.stage.lock() {
            name.clone_into(&mut stage);
        }
        self.state.bytes_total.store(0, Ordering::Relaxed);
    }

    /// The stage that runs now.
    pub fn current_stage(&self) -> String {
        self.state.current_stage()
    }

    /// So many bytes of so many are read.
    pub fn bytes(&self, done: u64, total: u64) {
        self.state.bytes_done.store(done, Ordering::Relaxed);
        self.state.bytes_total.store(total, Ordering::Relaxed);
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
            let seconds = started.elapsed().as_secs();
            let _ = write!(std::io::stderr(), "\r\x1b[K{stage}{share} … {seconds} s");
            shown = true;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    if shown {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
