//! Jobs: checks and runs that go on while people watch.

mod arguments;
mod child;
mod job;
mod signal;

pub(crate) use arguments::{RunOrder, check as check_arguments};
pub(crate) use child::{Ended, Order, Outcome, run as run_child};
pub(crate) use job::{Follow, Job, JobKind, Phase};

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// All jobs since the start, of the ended ones the last few.
pub(crate) struct Jobs {
    state: Mutex<State>,
    freed: Condvar,
    /// So many work at a time; the others wait.
    working_max: usize,
}

#[derive(Default)]
struct State {
    jobs: Vec<Arc<Job>>,
    threads: Vec<JoinHandle<()>>,
    next: u64,
    working: usize,
    is_stopped: bool,
}

/// So many may wait.
const WAITING_MAX: usize = 32;
/// So many are remembered.
const REMEMBERED_MAX: usize = 60;

impl Jobs {
    pub fn new(working_max: usize) -> Jobs {
        Jobs {
            state: Mutex::new(State::default()),
            freed: Condvar::new(),
            working_max: working_max.max(1),
        }
    }

    /// Starts a job, as soon as there is room for it.
    pub fn start(
        self: &Arc<Jobs>,
        kind: JobKind,
        title: &str,
        work: impl FnOnce(&Job) + Send + 'static,
    ) -> Result<Arc<Job>, String> {
        let mut state = self.lock();
        let waiting = state.jobs.iter().filter(|job| !job.is_over()).count();
        if waiting >= WAITING_MAX || state.is_stopped {
            return Err("too many jobs are waiting already".to_string());
        }
        state.next += 1;
        let job = Arc::new(Job::new(state.next, kind, title));
        state.jobs.push(Arc::clone(&job));
        if let Some(oldest) = state.jobs.iter().position(|job| job.is_over())
            && state.jobs.len() > REMEMBERED_MAX
        {
            state.jobs.remove(oldest);
        }
        let thread = {
            let (jobs, job) = (Arc::clone(self), Arc::clone(&job));
            std::thread::Builder::new()
                .name("job".to_string())
                .spawn(move || jobs.work(&job, work))
                .map_err(|error| error.to_string())?
        };
        state.threads.retain(|thread| !thread.is_finished());
        state.threads.push(thread);
        Ok(job)
    }

    /// Waits for room, works, makes room.
    fn work(&self, job: &Job, work: impl FnOnce(&Job)) {
        {
            let mut state = self.lock();
            while state.working >= self.working_max && !job.is_cancelled() {
                let waited = self
                    .freed
                    .wait_timeout(state, std::time::Duration::from_millis(200));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if job.is_cancelled() {
                return job.end(Phase::Cancelled, None, None);
            }
            state.working += 1;
        }
        let room = Room(self);
        job.begin();
        work(job);
        drop(room);
        // Work that forgot to say how it ended has failed.
        job.end(Phase::Failed, Some("ended without an answer"), None);
    }

    /// The job with this number.
    pub fn find(&self, number: u64) -> Option<Arc<Job>> {
        let state = self.lock();
        state.jobs.iter().find(|job| job.number == number).cloned()
    }

    /// All jobs, the newest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        self.lock().jobs.iter().rev().cloned().collect()
    }

    /// Cancels everything and waits for it.
    pub fn stop(&self) {
        let threads = {
            let mut state = self.lock();
            state.is_stopped = true;
            state.jobs.iter().for_each(|job| job.cancel());
            std::mem::take(&mut state.threads)
        };
        for thread in threads {
            // A job that panicked has ended as well.
            let _ = thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the places to work; free again when dropped, even by a panic.
struct Room<'a>(&'a Jobs);

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.lock().working -= 1;
        self.0.freed.notify_all();
    }
}
