//! The search: every candidate cycle, decided one by one on all processors.
//!
//! Definition: an anomaly is a cycle with a witness: arguments, rows and an order of the steps,
//! allowed by the level, in which every dependency of the cycle is real.
//! Steps: the cycles of the conflict graph; for each, paths of its transactions that execute its
//! statements; for these, the orders of each level asked for, the strongest first, since what one
//! allows the weaker ones do; for an order, a witness that no serial order does the same as. What concerns the
//! tables of the cycle alone is asked first, as that refutes many orders and paths at once. Cycles do not depend
//! on each other, so they are decided in portions by all processors; the answer has the smallest first, and else
//! the order of the cycles.
//! Complete within: the iterations of loops, the rows of a search, the number of combinations of
//! paths, and the orders of the statements that are not on the cycle, which run together with those
//! that are. Every answer says what was not decided, and which of these bounds were met.
//! Source: Rahmani et al. (OOPSLA 2019), with enumeration in place of one formula.

use super::Options;
use super::conflict::{Conflict, Node, conflicts, lockings, meetings};
use super::cycles::{Cycle, Limits, cycles};
use super::decide::Decided;
use super::kind::kind_of;
use super::report::{Analysis, Anomaly, Counts, Site, Watch};
use super::routes::Routes;
use crate::ir::Program;
use crate::scenario::EdgeKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

/// How many cycles are decided before more are looked for.
const PORTION: usize = 4096;
/// The most processors that are used.
const THREADS_MAX: usize = 16;

/// The search for anomalies of a program.
pub(super) struct Search<'a> {
    pub(super) program: &'a Program,
    pub(super) options: &'a Options,
    pub(super) routes: Routes<'a>,
    pub(super) conflicts: Vec<Conflict>,
    /// Statements that may write the same row.
    pub(super) overwriting: FxHashSet<(Node, Node)>,
    /// Statements that lock the same row, one of them by a select.
    pub(super) locking: FxHashSet<(Node, Node)>,
    /// Statements and writes that may matter to them.
    pub(super) meeting: FxHashSet<(Node, Node)>,
    /// When the time is over.
    pub(super) until: Option<Instant>,
    /// Whether somebody wants to see every candidate.
    pub(super) watched: bool,
}

/// What has been found.
#[derive(Default)]
struct Found {
    counts: Counts,
    anomalies: Vec<Anomaly>,
    undecided: Vec<Cycle>,
}

impl<'a> Search<'a> {
    /// Prepares paths and conflicts.
    pub fn new(program: &'a Program, options: &'a Options) -> Search<'a> {
        let started = Instant::now();
        let both = conflicts(program, &[EdgeKind::WriteWrite]);
        Search {
            program,
            options,
            routes: Routes::new(program, options.bounds),
            conflicts: conflicts(program, &options.kinds),
            overwriting: both.iter().map(|c| (c.from, c.to)).collect(),
            locking: lockings(program),
            meeting: meetings(program),
            until: options.time.and_then(|time| started.checked_add(time)),
            watched: false,
        }
    }

    /// Searches.
    pub fn run(mut self, watch: &mut dyn Watch) -> Analysis {
        self.watched = watch.wants_candidates();
        let limits = Limits {
            length: self.options.length,
            instances: self.options.instances,
        };
        let executed = self.routes.executed();
        // One statement is one operation of a replicated store.
        let asked = self.options.asked();
        let single = asked.iter().any(|l| l.is_none_or(|l| !l.is_replicated()));
        let mut found = Found::default();
        found.counts.paths = self.routes.paths.iter().map(Vec::len).sum();
        let mut portion: Vec<Cycle> = Vec::new();
        let _ = cycles(
            &self.conflicts,
            limits,
            single,
            &executed,
            &mut |cycle: &Cycle| {
                if found.counts.untried > 0 || watch.is_satisfied() {
                    found.counts.untried += 1;
                    return match found.counts.untried < self.options.untried_max {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    };
                }
                portion.push(cycle.clone());
                if portion.len() >= PORTION {
                    self.decide_all(&std::mem::take(&mut portion), &mut found, watch);
                }
                ControlFlow::Continue(())
            },
        );
        self.decide_all(&portion, &mut found, watch);
        // The simplest first, for who reads only those.
        let size = |one: &Anomaly| (one.transactions.len(), one.edges.len());
        found.anomalies.sort_by_key(size);
        Analysis::new(
            self.options,
            found.anomalies,
            found.counts,
            found.undecided,
            &self.routes,
        )
    }

    /// Decides cycles on all processors; keeps what comes of them in their order.
    fn decide_all(&self, all: &[Cycle], found: &mut Found, watch: &mut dyn Watch) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.min(THREADS_MAX).min(all.len());
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel::<(usize, Decided)>();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(cycle) = all.get(at) else {
                            return;
                        };
                        if sender.send((at, self.decide(cycle))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut waiting: FxHashMap<usize, Decided> = FxHashMap::default();
            let mut first = 0;
            for (at, decided) in receiver {
                waiting.insert(at, decided);
                while let Some(decided) = waiting.remove(&first) {
                    match watch.is_satisfied() {
                        true => found.counts.untried += 1,
                        false => self.keep(&all[first], decided, found, watch),
                    }
                    first += 1;
                }
                if watch.is_satisfied() {
                    next.store(all.len(), Ordering::Relaxed);
                }
            }
            found.counts.untried += all.len() - first;
        });
    }

    /// Counts a cycle, and keeps it where it is an anomaly.
    fn keep(&self, cycle: &Cycle, decided: Decided, found: &mut Found, watch: &mut dyn Watch) {
        for (candidate, answer) in &decided.watched {
            watch.candidate(candidate, answer);
        }
        let counts = &mut found.counts;
        counts.candidates += decided.candidates;
        if decided.late && decided.found.is_empty() {
            counts.untried += 1;
            return;
        }
        counts.cycles += 1;
        if decided.open {
            counts.combinations_cut += usize::from(decided.combinations_cut);
            counts.orders_cut += usize::from(!decided.orders_cut.is_empty());
            counts.rows_cut += usize::from(decided.caps.rows);
            counts.joins_cut += usize::from(decided.caps.joins);
            counts.not_followed += usize::from(decided.caps.not_followed);
        }
        match decided.found.is_empty() {
            true if decided.left_out => counts.external += 1,
            true if !decided.undecided.is_empty() => {
                counts.undecided += 1;
                found.undecided.push(cycle.clone());
            }
            true if decided.benign => counts.benign += 1,
            true => counts.infeasible += 1,
            false => {
                counts.anomalies += 1;
                counts.partly += usize::from(decided.late || !decided.undecided.is_empty());
                found.anomalies.push(self.anomaly(cycle, decided));
            }
        }
        watch.progress(&found.counts);
    }

    fn anomaly(&self, cycle: &Cycle, decided: Decided) -> Anomaly {
        let mut sites = Vec::new();
        for edge in &decided.edges {
            let segment = &cycle.segments[edge.from.instance];
            let sibling = edge.kind == EdgeKind::Sibling;
            let statement = if sibling {
                segment.enter
            } else {
                segment.leave
            };
            sites.push(Site {
                point: edge.from,
                transaction: segment.transaction,
                statement,
                place: self.routes.statements[segment.transaction][statement]
                    .place
                    .clone(),
            });
        }
        Anomaly {
            kind: kind_of(self.program, &self.conflicts, &self.routes, cycle),
            internal: decided.internal,
            transactions: cycle.segments.iter().map(|s| s.transaction).collect(),
            edges: decided.edges,
            sites,
            witnesses: decided.found,
            cycle: cycle.clone(),
        }
    }
}
