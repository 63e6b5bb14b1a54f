//! `--timeout`: the time that all questions about a program have together.

use program::robust::{Doubt, Robustness};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The time there is.
pub struct Limit {
    seconds: f64,
    until: Option<Instant>,
}

impl Limit {
    /// So many seconds from now on; 0 stands for any time.
    pub fn new(seconds: f64) -> Limit {
        let time = Some(seconds).filter(|seconds| *seconds > 0.0);
        let time = time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Limit {
            seconds,
            until: time.and_then(|time| Instant::now().checked_add(time)),
        }
    }

    /// When it is over.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// How much is left.
    pub fn left(&self) -> Option<Duration> {
        let until = self.until?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// What is left, but at least a tenth of the whole: for a question that is short beside the one
    /// that may have used up the time.
    pub fn or_a_tenth(&self) -> Limit {
        match self.left() {
            Some(left) if left.as_secs_f64() < self.seconds / 10.0 => {
                Limit::new(self.seconds / 10.0)
            }
            _ => Limit { ..*self },
        }
    }

    /// What is computed, if that takes no longer than there is time. The thread that computes on
    /// ends with the process.
    pub fn within<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let Some(left) = self.left() else {
            return Some(compute());
        };
        let (tell, hear) = channel();
        // Nobody hears it where the time is over.
        std::thread::spawn(move || tell.send(compute()).ok());
        hear.recv_timeout(left).ok()
    }

    /// The answer where the time was over.
    pub fn passed(&self) -> Robustness {
        Robustness::Unproved(Box::new(Doubt {
            suspect: None,
            reason: format!(
                "not decided within {} seconds (--timeout gives more)",
                self.seconds
            ),
        }))
    }
}
