//! Paper form: the formulas of section 6 of the paper of CAT, verbatim in meaning.
//!
//! **Definition.** A log gives each transaction its proxy, a start time, a finish time for each
//! site at which it finished (for its proxy that is its commit), whether it committed, and sets of
//! versions read and written. Versions compare by [`Version`]'s order. A formula says which
//! transactions must not be in a log together; transactions of a pattern are different ones.
//! A transaction that did not end counts as one that did not commit.
//!
//! **Cost.** At most cubic in the number of transactions.
//!
//! **Source.** Liu, Ölveczky, Zhang, Wang & Meseguer, "Automatic Analysis of Consistency Properties
//! of Distributed Transaction Systems in Maude", TACAS 2019. Update serializability is not in the
//! paper, but in its tool.
//!
//! **Where the formulas differ from the levels of that name.** The initial version has no writer,
//! so stale reads of it are not seen. The order of versions is theirs by name, not the one in which
//! they were installed. Start and commit are moments at the proxy, so SI is about real time. SSER
//! does not ask for acyclicity, NMSI not for consistent snapshots. That is why this form is an
//! option and not the default.

use super::graph::Graph;
use crate::id::{Key, Site, Txn, Version};
use crate::log::{Event, Log, Status};
use crate::question::Property;
use crate::setup::Setup;
use history::Level;
use std::fmt;

/// Later than everything: it did not happen.
const NEVER: u32 = u32::MAX;

/// When everything happened. Kept between logs to be used again.
#[derive(Default)]
pub(super) struct Times {
    start: Vec<u32>,
    /// Per transaction and site.
    finish: Vec<u32>,
}

/// A log as the paper sees it.
pub(super) struct Paper<'a> {
    setup: &'a Setup,
    log: &'a Log,
    sites: usize,
    times: &'a Times,
}

/// What a formula forbids and a log shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    clause: &'static str,
    words: Words,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Words {
    /// `reader` read this version of `writer`.
    Read(Txn, Txn, Key, Version),
    /// The same, while it should have seen the version of a third.
    Stale(Txn, Txn, Key, Version, Txn),
    /// `reader` read this of `writer`, but an older version of something else it wrote.
    Fractured(Txn, Txn, Key, Key, Version),
    /// The second wrote the version of the key after that of the first, or after one it read, but
    /// the commit of a third writer of the key came between theirs.
    Between(Txn, Txn, Key, Version, Txn),
    /// Both wrote the key.
    Both(Txn, Txn, Key),
    /// The first was visible when the second began, but at this site they finished in reverse.
    Reverse(Txn, Txn, Site),
    /// One after the other, in a circle.
    Cycle(Vec<Txn>),
}

impl<'a> Paper<'a> {
    pub fn new(setup: &'a Setup, log: &'a Log, times: &'a mut Times) -> Paper<'a> {
        let sites = setup.sites().count();
        times.start.clear();
        times.start.resize(log.records.len(), NEVER);
        times.finish.clear();
        times.finish.resize(log.records.len() * sites, NEVER);
        let mut finish = |txn: Txn, site: Site, now| {
            times.finish[txn.index() * sites + site.index()] = now;
        };
        for (now, event) in log.events.iter().enumerate() {
            let now = now as u32;
            match *event {
                Event::Start(txn) => times.start[txn.index()] = now,
                Event::Commit(txn) | Event::Abort(txn) => finish(txn, setup.proxy(txn), now),
                Event::Applied(txn, site) if site != setup.proxy(txn) => finish(txn, site, now),
                Event::Applied(..) => {}
            }
        }
        Paper {
            setup,
            log,
            sites,
            times,
        }
    }

    /// Why the log does not have the property; none if it has it, or if the paper does not define it.
    pub fn find(&self, property: Property) -> Option<Found> {
        let Property::Level(level) = property else {
            return self.cycle(true);
        };
        match level {
            Level::ReadCommitted => self.dirty_read(),
            Level::ReadAtomic => self.dirty_read().or_else(|| self.fractured_read()),
            Level::CursorStability => self.dirty_read().or_else(|| self.lost_update()),
            Level::UpdateAtomic => self
                .dirty_read()
                .or_else(|| self.fractured_read())
                .or_else(|| self.lost_update()),
            Level::NonMonotonicSnapshotIsolation => {
                self.somewhere_conflict().or_else(|| self.not_causal())
            }
            Level::ParallelSnapshotIsolation => self
                .not_site_snapshot()
                .or_else(|| self.somewhere_conflict())
                .or_else(|| self.not_causal()),
            Level::SnapshotIsolation => self.not_snapshot().or_else(|| self.write_conflict()),
            Level::Serializable => self.cycle(false),
            Level::StrictSerializable => self.not_real_time(),
            _ => None,
        }
    }

    fn txns(&self) -> impl Iterator<Item = Txn> {
        Txn::first(self.log.records.len())
    }

    fn committed(&self) -> impl Iterator<Item = Txn> {
        self.log.with(Status::Committed)
    }

    fn reads(&self, txn: Txn) -> &[(Key, Version)] {
        &self.log.record(txn).reads
    }

    fn writes(&self, txn: Txn) -> &[(Key, Version)] {
        &self.log.record(txn).writes
    }

    fn writes_key(&self, txn: Txn, key: Key) -> bool {
        self.writes(txn).iter().any(|(other, _)| *other == key)
    }

    /// s(T).
    fn start(&self, txn: Txn) -> u32 {
        self.times.start[txn.index()]
    }

    /// f(T, S).
    fn finish(&self, txn: Txn, site: Site) -> Option<u32> {
        let time = self.times.finish[txn.index() * self.sites + site.index()];
        (time != NEVER).then_some(time)
    }

    /// c(T): the finish at its proxy.
    fn commit(&self, txn: Txn) -> u32 {
        self.finish(txn, self.setup.proxy(txn)).unwrap_or(NEVER)
    }

    /// The first answer of `check` for a committed reader, another transaction, and a version that
    /// the one read and the other wrote.
    fn each_read(
        &self,
        check: impl Fn(Txn, Txn, (Key, Version)) -> Option<Found>,
    ) -> Option<Found> {
        for reader in self.committed() {
            for read in self.reads(reader) {
                for writer in self.txns().filter(|writer| *writer != reader) {
                    if self.writes(writer).contains(read)
                        && let Some(found) = check(reader, writer, *read)
                    {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    /// The same for two committed transactions, in both orders, and a key that both wrote.
    fn each_pair_of_writers(
        &self,
        check: impl Fn(Txn, Txn, Key) -> Option<Found>,
    ) -> Option<Found> {
        for one in self.committed() {
            for other in self.committed().filter(|other| *other != one) {
                for (key, _) in self.writes(one) {
                    if self.writes_key(other, *key)
                        && let Some(found) = check(one, other, *key)
                    {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    /// Not RC.
    fn dirty_read(&self) -> Option<Found> {
        self.each_read(|reader, writer, (key, version)| {
            let words = Words::Read(reader, writer, key, version);
            if self.log.record(writer).status != Status::Committed {
                return found("RC: a version of a transaction that did not commit", words);
            }
            let newer = |(other, later): &(Key, Version)| *other == key && *later > version;
            if self.writes(writer).iter().any(newer) {
                return found("RC: a version that its writer overwrote", words);
            }
            None
        })
    }

    /// fracRead.
    fn fractured_read(&self) -> Option<Found> {
        self.each_read(|reader, writer, (key, version)| {
            if self.log.record(writer).status != Status::Committed {
                return None;
            }
            for (other, seen) in self.reads(reader) {
                let newer = |write: &&(Key, Version)| {
                    write.0 == *other && write.1 > *seen && **write != (key, version)
                };
                let another = (*other, *seen) != (key, version);
                if another && self.writes(writer).iter().any(|write| newer(&write)) {
                    let words = Words::Fractured(reader, writer, key, *other, *seen);
                    return found("RA: fractured read", words);
                }
            }
            None
        })
    }

    /// lu.
    fn lost_update(&self) -> Option<Found> {
        self.each_pair_of_writers(|one, other, key| {
            let read = |read: &(Key, Version)| read.0 == key && self.reads(other).contains(read);
            let both = self.reads(one).iter().any(read);
            both.then_some(Found {
                clause: "lost update: two read the same version of a key and wrote it",
                words: Words::Both(one, other, key),
            })
        })
    }

    /// notSnapshotRead.
    fn not_snapshot(&self) -> Option<Found> {
        self.snapshot(
            |txn, _| Some(self.commit(txn)),
            "SI-1: not the latest version committed at the start",
            "SI-1: a version committed after the start",
        )
    }

    /// notSiteSnapshotRead.
    fn not_site_snapshot(&self) -> Option<Found> {
        self.snapshot(
            |txn, reader| self.finish(txn, self.setup.proxy(reader)),
            "PSI-1: not the latest version committed at the site at the start",
            "PSI-1: a version committed at the site after the start",
        )
    }

    fn snapshot(
        &self,
        finish: impl Fn(Txn, Txn) -> Option<u32>,
        stale: &'static str,
        late: &'static str,
    ) -> Option<Found> {
        self.each_read(|reader, writer, (key, version)| {
            if self.log.record(writer).status != Status::Committed {
                return None;
            }
            let written = finish(writer, reader)?;
            if self.start(reader) < written {
                return found(late, Words::Read(reader, writer, key, version));
            }
            let overwrites = |third: &Txn| {
                let other = |write: &(Key, Version)| write.0 == key && write.1 != version;
                let between = |time| written < time && time < self.start(reader);
                *third != reader
                    && *third != writer
                    && self.writes(*third).iter().any(other)
                    && finish(*third, reader).is_some_and(between)
            };
            let third = self.committed().find(overwrites)?;
            found(stale, Words::Stale(reader, writer, key, version, third))
        })
    }

    /// wwConflict.
    fn write_conflict(&self) -> Option<Found> {
        self.each_pair_of_writers(|one, other, key| {
            let time = self.commit(other);
            let within = self.start(one) < time && time < self.commit(one);
            within.then_some(Found {
                clause: "SI-2: concurrent transactions wrote the same key",
                words: Words::Both(one, other, key),
            })
        })
    }

    /// someWhereConflict.
    fn somewhere_conflict(&self) -> Option<Found> {
        self.each_pair_of_writers(|one, other, key| {
            let time = self.finish(other, self.setup.proxy(one))?;
            let within = self.start(one) < time && time < self.commit(one);
            within.then_some(Found {
                clause: "PSI-2: transactions concurrent at a site wrote the same key",
                words: Words::Both(one, other, key),
            })
        })
    }

    /// notCausality.
    fn not_causal(&self) -> Option<Found> {
        for one in self.committed() {
            for other in self.committed().filter(|other| *other != one) {
                let seen = self.finish(one, self.setup.proxy(other));
                if seen.is_none_or(|time| time >= self.start(other)) {
                    continue;
                }
                let reverse =
                    |site: &Site| match (self.finish(one, *site), self.finish(other, *site)) {
                        (Some(first), Some(second)) => first > second,
                        _ => false,
                    };
                if let Some(site) = self.setup.sites().find(reverse) {
                    let clause = "PSI-3: commit causality across sites";
                    return found(clause, Words::Reverse(one, other, site));
                }
            }
        }
        None
    }

    /// Whether a committed version lies between two in their order.
    fn committed_between(&self, key: Key, low: Version, high: Version) -> bool {
        let inside =
            |(other, version): &(Key, Version)| *other == key && low < *version && *version < high;
        self.committed()
            .any(|txn| self.writes(txn).iter().any(inside))
    }

    /// Not SER, or with `updates` not US: a cycle of the dependencies (of those that wrote).
    fn cycle(&self, updates: bool) -> Option<Found> {
        let mut graph = Graph::new();
        let wanted = |txn: &Txn| !updates || !self.writes(*txn).is_empty();
        for writer in self.committed() {
            for &(key, version) in self.writes(writer) {
                for other in self.committed().filter(wanted) {
                    if self.reads(other).contains(&(key, version)) {
                        graph.insert(writer, other);
                    }
                    let of_key = |&&(of, older): &&(Key, Version)| of == key && older < version;
                    let read = self.reads(other).iter().filter(of_key);
                    let wrote = self.writes(other).iter().filter(of_key);
                    if read
                        .chain(wrote)
                        .any(|(_, older)| !self.committed_between(key, *older, version))
                    {
                        graph.insert(other, writer);
                    }
                }
            }
        }
        if !graph.is_cyclic() {
            return None;
        }
        let clause = if updates {
            "US: the dependencies of those that write go in a circle"
        } else {
            "SER: the dependencies go in a circle"
        };
        found(clause, Words::Cycle(graph.cycle()?))
    }

    /// Not SSER.
    fn not_real_time(&self) -> Option<Found> {
        self.each_read(|reader, writer, (key, version)| {
            if self.log.record(writer).status != Status::Committed {
                return None;
            }
            let third = self.committed_within(key, self.commit(writer), self.start(reader))?;
            found(
                "SSER: a read of a version that was overwritten before the start",
                Words::Stale(reader, writer, key, version, third),
            )
        })
        .or_else(|| self.not_real_time_order())
    }

    fn not_real_time_order(&self) -> Option<Found> {
        for one in self.committed() {
            for other in self.committed().filter(|other| *other != one) {
                for &(key, version) in self.writes(other) {
                    let before = |&&(of, older): &&(Key, Version)| {
                        of == key && older < version && !self.committed_between(key, older, version)
                    };
                    let Some(third) =
                        self.committed_within(key, self.commit(one), self.commit(other))
                    else {
                        continue;
                    };
                    if let Some(write) = self.writes(one).iter().find(before) {
                        let words = Words::Between(one, other, key, write.1, third);
                        return found("SSER: a write dependency against real time", words);
                    }
                    if let Some(read) = self.reads(one).iter().find(before) {
                        let words = Words::Between(one, other, key, read.1, third);
                        return found("SSER: an antidependency against real time", words);
                    }
                }
            }
        }
        None
    }

    /// A committed writer of the key whose commit is between two times.
    fn committed_within(&self, key: Key, low: u32, high: u32) -> Option<Txn> {
        self.committed().find(|txn| {
            let time = self.commit(*txn);
            low < time && time < high && self.writes_key(*txn, key)
        })
    }
}

fn found(clause: &'static str, words: Words) -> Option<Found> {
    Some(Found { clause, words })
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.clause)?;
        match &self.words {
            Words::Read(reader, writer, key, version) => {
                write!(f, "{reader} read {key} = {version}, which {writer} wrote")
            }
            Words::Stale(reader, writer, key, version, third) => write!(
                f,
                "{reader} read {key} = {version}, which {writer} wrote, although {third} wrote \
                 {key} after that"
            ),
            Words::Between(one, other, key, version, third) => write!(
                f,
                "{other} wrote the version of {key} that follows {version} of {one}, although \
                 {third} committed a write of {key} in between"
            ),
            Words::Fractured(reader, writer, key, other, version) => write!(
                f,
                "{reader} read {key} of {writer}, but {other} = {version}, older than what {writer} \
                 wrote"
            ),
            Words::Both(one, other, key) => write!(f, "{one} and {other} wrote {key}"),
            Words::Reverse(one, other, site) => write!(
                f,
                "{one} was visible at the site of {other} when that began, but finished after it \
                 at {site}"
            ),
            Words::Cycle(cycle) => {
                let names: Vec<String> = cycle.iter().map(Txn::to_string).collect();
                write!(f, "{} → {}", names.join(" → "), names[0])
            }
        }
    }
}
