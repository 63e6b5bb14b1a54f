//! Ends the process when a limit is passed and nobody asks.
//!
//! The engines ask [`Limits::reached`] between stages and answer `unknown` in good order, and that
//! is the usual way. Some stages cannot ask: a read from a pipe that never ends, the unpacking of a
//! compressed file, the parsing of a huge one. A thread looks on, and if a limit is passed by more
//! than a grace period it prints the `unknown` report itself and ends the process.

use crate::limits::Limits;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long after a limit the stage at work may still answer by itself.
const GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// Looks on until it is dismissed.
pub struct Watchdog<'a> {
    limits: &'a Limits,
    dismissed: Mutex<bool>,
    changed: Condvar,
}

/// Dismisses the watchdog when dropped, so that no way out of the work is forgotten.
pub struct Dismissal<'w, 'a>(&'w Watchdog<'a>);

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        *self.0.lock() = true;
        self.0.changed.notify_all();
    }
}

impl<'a> Watchdog<'a> {
    /// A watchdog of these limits. Somebody has to call [`Watchdog::watch`] on another thread.
    pub fn new(limits: &'a Limits) -> Watchdog<'a> {
        Watchdog {
            limits,
            dismissed: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// What to drop when the work is done and before its result is printed.
    pub fn dismissal(&self) -> Dismissal<'_, 'a> {
        Dismissal(self)
    }

    /// Returns when dismissed. If a limit is passed before, calls `end` with the limit; the one
    /// that works cannot print meanwhile, since it waits in [`Dismissal::drop`].
    pub fn watch(&self, end: impl FnOnce(String)) {
        let mut passed_since: Option<Instant> = None;
        let mut dismissed = self.lock();
        while !*dismissed {
            match self.limits.reached() {
                None => passed_since = None,
                Some(limit) => {
                    let since = *passed_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= GRACE || self.limits.far_beyond_memory() {
                        return end(limit);
                    }
                }
            }
            let waited = self.changed.wait_timeout(dismissed, POLL);
            dismissed = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.dismissed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
