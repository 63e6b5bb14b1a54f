//! Counts what a final state shows of the behaviour that could break a property.

use crate::id::{Key, Txn, TxnSet, Version};
use crate::log::{Detail, Event, Log, Record, Status};
use crate::question::Evidence;
use crate::setup::Setup;

/// What two committed transactions, in this order, did to each other.
#[derive(Default)]
struct Pair {
    reads_from: bool,
    read_together: bool,
    update: bool,
    overwrite: bool,
    read_write: bool,
}

impl Evidence {
    /// Counts one final state.
    pub fn count(&mut self, setup: &Setup, log: &Log) {
        let committed: TxnSet = log.with(Status::Committed).collect();
        let mut seen = Pair::default();
        let (mut concurrent, mut ordered, mut session) = (false, false, false);
        let timed = log.detail != Detail::Untimed;
        for one in committed.iter() {
            for other in committed.iter().filter(|other| *other != one) {
                look(log.record(one), log.record(other), &mut seen);
                let before = |a: Txn, b: Txn| log.record(b).after.contains(a);
                ordered |= timed && before(one, other);
                concurrent |= timed && !before(one, other) && !before(other, one);
                session |= setup.session(one) == setup.session(other);
            }
        }
        let applied = |event: &Event| match event {
            Event::Applied(txn, site) => committed.contains(*txn) && *site != setup.proxy(*txn),
            _ => false,
        };
        let aborted = log.with(Status::Aborted).next().is_some();
        self.finals += 1;
        self.finals_two_commits += u64::from(committed.len() >= 2);
        self.finals_aborts += u64::from(aborted);
        self.finals_reads_from += u64::from(seen.reads_from);
        self.finals_overwrites += u64::from(seen.overwrite);
        self.finals_read_together += u64::from(seen.read_together);
        self.finals_updates += u64::from(seen.update);
        self.finals_read_write += u64::from(seen.read_write);
        self.finals_concurrent += u64::from(concurrent);
        self.finals_real_time += u64::from(ordered);
        self.finals_sessions += u64::from(session);
        self.finals_applied += u64::from(log.events.iter().any(applied));
    }

    /// Adds what another exploration of the same protocol counted in its final states.
    pub(crate) fn add_finals(&mut self, other: &Evidence) {
        self.finals += other.finals;
        self.finals_two_commits += other.finals_two_commits;
        self.finals_aborts += other.finals_aborts;
        self.finals_reads_from += other.finals_reads_from;
        self.finals_overwrites += other.finals_overwrites;
        self.finals_read_together += other.finals_read_together;
        self.finals_updates += other.finals_updates;
        self.finals_read_write += other.finals_read_write;
        self.finals_concurrent += other.finals_concurrent;
        self.finals_real_time += other.finals_real_time;
        self.finals_sessions += other.finals_sessions;
        self.finals_applied += other.finals_applied;
    }
}

/// What `one` did with what `other` wrote.
fn look(one: &Record, other: &Record, seen: &mut Pair) {
    let writes = |record: &Record, key: Key| record.writes.iter().any(|(of, _)| *of == key);
    let mut read_of_other: Option<Key> = None;
    for &(key, version) in &one.reads {
        if !writes(other, key) {
            continue;
        }
        let from = other.writes.contains(&(key, version));
        seen.reads_from |= from;
        seen.read_write |= !from;
        seen.read_together |= read_of_other.is_some_and(|first| first != key);
        read_of_other = Some(key);
        let read: fn(&Record, Key) -> bool = |record, key| {
            record
                .reads
                .iter()
                .any(|(of, _): &(Key, Version)| *of == key)
        };
        seen.update |= writes(one, key) && read(other, key);
    }
    seen.overwrite |= one.writes.iter().any(|(key, _)| writes(other, *key));
}
