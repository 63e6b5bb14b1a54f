//! How far the reading of a history is, for whoever waits for it.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Told how many bytes of how many were read.
pub type Tell = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// A history that is being read.
pub(crate) struct Opening {
    began: Instant,
    /// What is being done; so much of so much, if that is known.
    now: Mutex<(&'static str, u64, u64)>,
}

impl Opening {
    pub fn new() -> Opening {
        Opening {
            began: Instant::now(),
            now: Mutex::new(("reading", 0, 0)),
        }
    }

    pub fn tell(&self, stage: &'static str, done: u64, total: u64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = (stage, done, total);
    }

    pub fn json(&self) -> Value {
        let (stage, done, total) = *self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = self.began.elapsed().as_secs_f64();
        json!({"stage": stage, "done": done, "total": total, "seconds": seconds})
    }
}
