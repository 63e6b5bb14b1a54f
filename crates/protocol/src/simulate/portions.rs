//! Many independent runs on several threads, with a result that does not depend on the threads.
//!
//! Runs are made in portions of a fixed size; whoever is idle takes the next one. The portions are
//! added up in their order, each as soon as all before it are there. When enough is known, later
//! portions are dropped, also those already made.

use super::random::Random;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs in a portion.
const PORTION: u64 = 64;

/// The chance of the run with a seed.
pub(crate) fn of_run(seed: u64) -> Random {
    Random::new(seed)
}

struct Shared<T> {
    all: Option<T>,
    /// The next portion to add.
    next: u64,
    waiting: BTreeMap<u64, T>,
}

/// Adds up what `make(worker, first run, count)` gives for all portions, until `enough` or until
/// `go_on` says no. Each thread has a worker of its own.
pub(crate) fn in_portions<T: Send, W>(
    runs: u64,
    threads: usize,
    worker: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, u64, u64) -> T + Sync,
    add: impl Fn(&mut T, T) + Sync,
    enough: impl Fn(&T) -> bool + Sync,
    go_on: impl Fn(&T) -> bool + Sync,
) -> Option<T> {
    let handed_out = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let shared = Mutex::new(Shared {
        all: None,
        next: 0,
        waiting: BTreeMap::new(),
    });
    let work = || {
        let mut worker = worker();
        while !stop.load(Ordering::Relaxed) {
            let number = handed_out.fetch_add(1, Ordering::Relaxed);
            let Some(first) = number.checked_mul(PORTION).filter(|first| *first < runs) else {
                return;
            };
            let made = make(&mut worker, first, PORTION.min(runs - first));
            let mut shared = shared.lock().unwrap_or_else(|broken| broken.into_inner());
            shared.waiting.insert(number, made);
            let shared = &mut *shared;
            while let Some(made) = shared.waiting.remove(&shared.next) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                shared.next += 1;
                match &mut shared.all {
                    Some(all) => add(all, made),
                    None => shared.all = Some(made),
                }
                if let Some(all) = &shared.all
                    && (enough(all) || !go_on(all))
                {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
    let shared = shared.into_inner();
    shared.unwrap_or_else(|broken| broken.into_inner()).all
}
