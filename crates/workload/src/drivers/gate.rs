//! A few at a time: a thousand sessions that log in at once would all wait longer than they have patience
//! for, because a server starts a process or a thread for each.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

const INSIDE_MAX: usize = 16;

/// Lets a few in at a time.
#[derive(Default)]
pub struct Gate {
    inside: Mutex<usize>,
    left: Condvar,
}

/// Somebody is inside.
pub struct Inside<'a> {
    gate: &'a Gate,
}

impl Gate {
    /// Waits for a place, but not longer than that: a server that hangs must not keep everybody here.
    pub fn enter(&self, patience: Duration) -> Inside<'_> {
        let full = |inside: &mut usize| *inside >= INSIDE_MAX;
        let waited = self.left.wait_timeout_while(self.count(), patience, full);
        let (mut inside, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        *inside += 1;
        Inside { gate: self }
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.inside
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        *self.gate.count() -= 1;
        self.gate.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_holds_people_back_but_not_for_ever() {
        let gate = Gate::default();
        let inside: Vec<_> = (0..INSIDE_MAX)
            .map(|_| gate.enter(Duration::from_secs(60)))
            .collect();
        let start = std::time::Instant::now();
        let late = gate.enter(Duration::from_millis(50));
        assert!(start.elapsed() >= Duration::from_millis(50));
        drop((inside, late));
        let start = std::time::Instant::now();
        let _first = gate.enter(Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30));
        assert_eq!(*gate.count(), 1);
    }
}
