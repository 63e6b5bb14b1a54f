//! What is done to servers while a workload runs, on a schedule drawn from a seed. Every fault and its end is an
//! event of the recording.

use crate::cluster::{Cluster, Error};
use crate::generate::random::Random;
use crate::record::Recording;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Something to do to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL, and a new start.
    Kill,
    /// SIGSTOP, and SIGCONT.
    Pause,
    /// Cut off from the other nodes; from its clients, where it is the only one.
    Partition,
    /// Everything between clients and the node is delayed.
    Slow,
    /// An orderly stop, and a new start.
    Restart,
}

impl Fault {
    /// The word for it in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Pause => "pause",
            Fault::Partition => "partition",
            Fault::Slow => "slow",
            Fault::Restart => "restart",
        }
    }
}

/// When to do what.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What to choose from; nothing happens if there is nothing.
    pub faults: Vec<Fault>,
    /// The time between two faults, on average.
    pub every: Duration,
    /// How long one lasts.
    pub lasting: Duration,
    /// Where the choices come from.
    pub seed: u64,
}

/// How long a slow network delays each way.
const DELAY: Duration = Duration::from_millis(100);

impl Schedule {
    /// Injects faults until `stop` is set; then every node is well again. `count` counts the faults.
    pub fn inject(
        &self,
        cluster: &Cluster,
        recording: &Recording,
        stop: &AtomicBool,
        count: &AtomicU64,
    ) -> Result<(), Error> {
        let mut random = Random::new(self.seed);
        while !self.faults.is_empty() {
            // From half to one and a half of the time asked for.
            let share = 500 + random.below(1000) as u32;
            let pause = self.every.mul_f64(f64::from(share) / 1000.0);
            if !rest(pause, stop) {
                break;
            }
            let fault = self.faults[random.below(self.faults.len() as u64) as usize];
            let node = random.below(cluster.node_count() as u64) as usize;
            recording.event(fault.name(), Some(node), "begins");
            count.fetch_add(1, Ordering::Relaxed);
            let begun = begin(cluster, fault, node);
            if begun.is_ok() {
                rest(self.lasting, stop);
            }
            // A fault that began in part has to end, too.
            let ended = end(cluster, fault, node);
            recording.event(fault.name(), Some(node), "ends");
            begun.and(ended)?;
        }
        Ok(())
    }
}

fn begin(cluster: &Cluster, fault: Fault, node: usize) -> Result<(), Error> {
    match fault {
        Fault::Kill => cluster.kill(node),
        Fault::Pause => cluster.pause(node),
        Fault::Partition if cluster.node_count() > 1 => cluster.partition_servers(&[node]),
        Fault::Partition => cluster.partition(&[node]),
        Fault::Slow => cluster.slow(node, DELAY),
        Fault::Restart => cluster.stop_gracefully(node),
    }
}

fn end(cluster: &Cluster, fault: Fault, node: usize) -> Result<(), Error> {
    match fault {
        Fault::Kill | Fault::Restart => cluster.restart(node),
        Fault::Pause => cluster.resume(node),
        Fault::Partition | Fault::Slow => cluster.heal(),
    }
}

/// Waits, and looks up now and then; false if the run is over.
fn rest(time: Duration, stop: &AtomicBool) -> bool {
    let began = Instant::now();
    while began.elapsed() < time {
        if stop.load(Ordering::Acquire) {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    !stop.load(Ordering::Acquire)
}
