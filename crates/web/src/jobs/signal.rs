//! Signals to a child and to what it started.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::process::Child;

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Asks a child that was not waited for to end in good order.
pub(super) fn ask_to_end(child: &Child) {
    if let Some(pid) = pid(child) {
        // One that ended by itself meanwhile needs no asking.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Ends a child that was not waited for, and all of its process group.
pub(super) fn end(child: &Child) {
    if let Some(pid) = pid(child) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
