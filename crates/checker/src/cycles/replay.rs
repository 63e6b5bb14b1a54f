//! A serial order of a list history, by running its transactions again, without a graph.
//!
//! **Definition.** A transaction can run if the version that each of its reads returned is the current
//! one of its key, if the versions known to precede its own have been written, if nobody else has yet to
//! read the version that it overwrites, and if its session and all that completed before it began
//! have run. Whatever order lets every transaction run is one that agrees with every edge of
//! the graph (`graph`), and every read in it returns the last version before it: a proof.
//!
//! **Steps.** Count the readers of each version. Try transactions as real time and sessions let them
//! go; one that cannot run waits for the transaction whose version it needs, or at the key whose
//! current version others have yet to read, and is tried again when that has happened. If some are
//! left in the end, nothing is said: the graph tells what is wrong.
//!
//! **Why it does not stick where there is an order.** Lists show a key's versions as a chain, and a
//! version stays until all its readers have run, so what a transaction waits for is what precedes it
//! in the graph. Where an order is known otherwise (two versions before one), the graph decides.
//!
//! **Cost.** Linear in the operations, since nothing is waited for twice; 8 bytes an operation and 20 to 40
//! a transaction. The graph has 13 bytes for each of two to three edges an
//! operation, and is sorted.

use super::kinds::Scope;
use crate::observe::{KnownOrder, Link, Observed, Placed, Taken};
use crate::strong::timeline::Timeline;
use crate::strong::versions::Writes;
use history::{CommitOrder, OpKind, TxnId};

const NONE: u32 = u32::MAX;

/// What is known of the version that a final write makes.
#[derive(Clone, Copy)]
struct Version {
    /// How many reads return it.
    reads: u32,
    /// The transaction of a version that precedes it.
    before: u32,
}

/// A key, between two transactions.
#[derive(Clone, Copy)]
struct Key {
    /// Who wrote the current version, or [`Link::INITIAL`].
    last: u32,
    /// How many reads of the current version have not run.
    open_reads: u32,
    /// The first transaction that waits for these reads, by its place in the file.
    waiting: u32,
    /// So few open reads let one of these try again, or fewer; one more than that, zero if none waits for
    /// reads.
    tried_below: u32,
}

/// What keeps a transaction from running.
enum Obstacle {
    /// A transaction that has not run.
    Txn(u32),
    /// Reads of the version that it overwrites, of others than itself, which has `own`.
    Reads { key: u32, own: u32 },
    /// What it read was overwritten.
    Overwritten,
}

/// The state of a run. Transactions are named by their places in the file.
struct Replay<'a> {
    observed: &'a Observed<'a>,
    /// By operation.
    versions: Vec<Version>,
    keys: Vec<Key>,
    /// By number of a transaction, its place.
    places: Vec<u32>,
    /// By place, the first one that waits for the transaction to run.
    waiting: Vec<u32>,
    /// By place, the next one that waits for the same.
    next_waiting: Vec<u32>,
    /// The transactions that have run, by number.
    done: Taken,
    /// By place, the next one of the session, if sessions count.
    session_next: Vec<u32>,
    /// By place, whether one before it in its session has not run.
    is_behind: Vec<bool>,
    timeline: Option<Timeline>,
    /// How many completions, from the first on, have run.
    completed: u32,
    /// To be tried.
    work: Vec<u32>,
    order: Vec<TxnId>,
}

/// An order of all transactions that count; none if it is not found this way.
pub fn serial_order(observed: &Observed<'_>, scope: Scope) -> Option<CommitOrder> {
    let mut kinds = observed.history.ops().kinds.iter();
    let only_lists = kinds.all(|kind| matches!(kind, OpKind::Append | OpKind::ReadList));
    if !only_lists || !observed.ambiguous.is_empty() {
        return None;
    }
    let mut replay = Replay::new(observed, scope)?;
    replay.run();
    // No order is longer than what has run: one that ran twice would hide one that did not.
    let is_complete = replay.done.count() == observed.taken.count();
    (is_complete && replay.order.len() == observed.taken.count()).then(|| CommitOrder {
        txns: replay.order,
        reads: Vec::new(),
        snapshots: Vec::new(),
    })
}

impl<'a> Replay<'a> {
    fn new(observed: &'a Observed<'a>, scope: Scope) -> Option<Replay<'a>> {
        let history = observed.history;
        let txn_count = history.txn_count();
        let key = Key {
            last: Link::INITIAL,
            open_reads: 0,
            waiting: NONE,
            tried_below: 0,
        };
        let version = Version {
            reads: 0,
            before: NONE,
        };
        let mut replay = Replay {
            observed,
            versions: vec![version; history.op_count()],
            keys: vec![key; history.keys().limit()],
            places: vec![0; txn_count],
            waiting: vec![NONE; txn_count],
            next_waiting: vec![NONE; txn_count],
            done: std::iter::repeat_n(false, txn_count).collect(),
            session_next: Vec::new(),
            is_behind: Vec::new(),
            timeline: None,
            completed: 0,
            work: Vec::new(),
            order: Vec::with_capacity(observed.taken.count()),
        };
        let writes = Writes::new(observed);
        replay.enter_known(&writes)?;
        replay.count_reads(&writes)?;
        if scope >= Scope::Sessions {
            replay.follow_sessions()?;
        }
        if scope >= Scope::RealTime {
            replay.timeline = Timeline::in_file_order(observed);
        }
        Some(replay)
    }

    /// What precedes each version; nothing if some version has two before it.
    fn enter_known(&mut self, writes: &Writes<'_>) -> Option<()> {
        let observed = self.observed;
        for known in &observed.known {
            let (from, to) = (known.from, known.to);
            if !observed.taken[from.index()] || !observed.taken[to.index()] {
                continue;
            }
            let write = match observed.links[known.to_op.index()] {
                Link::WRITE => known.to_op.0,
                // It appended to the key once more.
                _ if known.after == KnownOrder::LISTED => {
                    let key = observed.history.ops().keys[known.to_op.index()];
                    writes.find(to.0, key.0)?
                }
                _ => return None,
            };
            let before = &mut self.versions[write as usize].before;
            if *before != NONE && *before != from.0 {
                return None;
            }
            *before = from.0;
        }
        Some(())
    }

    /// Counts the reads of each version; nothing if one returns what nobody wrote.
    fn count_reads(&mut self, writes: &Writes<'_>) -> Option<()> {
        let observed = self.observed;
        let keys = &observed.history.ops().keys;
        for (place, placed) in (0u32..).zip(observed.file_order.iter()) {
            self.places[placed.txn.index()] = place;
        }
        for placed in observed.file_order.iter() {
            if !observed.taken[placed.txn.index()] {
                continue;
            }
            for op in placed.ops() {
                let link = observed.links[op];
                if link == Link::INITIAL {
                    self.keys[keys[op].index()].open_reads += 1;
                } else if Link::is_txn(link) {
                    let writer = observed.file_order.at(self.places[link as usize] as usize);
                    let write = writes.find_in(writer, keys[op].0)?;
                    self.versions[write as usize].reads += 1;
                }
            }
        }
        Some(())
    }

    /// Who follows whom in a session; nothing if the file has them in another order.
    fn follow_sessions(&mut self) -> Option<()> {
        let observed = self.observed;
        let history = observed.history;
        let mut last = vec![(0, NONE); history.session_count()];
        self.session_next = vec![NONE; history.txn_count()];
        self.is_behind = vec![false; history.txn_count()];
        for (place, placed) in (0u32..).zip(observed.file_order.iter()) {
            let txn = placed.txn;
            if !observed.taken[txn.index()] {
                continue;
            }
            let session = history.session_of(txn).index();
            let (txn_before, before) = std::mem::replace(&mut last[session], (txn.0, place));
            if before != NONE {
                if txn.0 < txn_before {
                    return None;
                }
                self.session_next[before as usize] = place;
                self.is_behind[place as usize] = true;
            }
        }
        Some(())
    }

    /// Tries every transaction once its session and real time let it go.
    fn run(&mut self) {
        let observed = self.observed;
        let is_free = |place: &u32| self.is_behind.get(*place as usize) != Some(&true);
        match &self.timeline {
            Some(timeline) => {
                let first = timeline.starting_first().iter().rev().copied();
                self.work.extend(first.filter(is_free));
            }
            None => {
                let file_order = &observed.file_order;
                let is_taken =
                    |place: &u32| observed.taken[file_order.at(*place as usize).txn.index()];
                let all = (0..file_order.len() as u32).rev();
                self.work.extend(all.filter(is_taken).filter(is_free));
            }
        }
        while let Some(place) = self.work.pop() {
            let placed = observed.file_order.at(place as usize);
            debug_assert!(!self.done[placed.txn.index()], "nobody is let go twice");
            let waiting = match self.obstacle(placed) {
                None => {
                    self.execute(place, placed);
                    continue;
                }
                Some(Obstacle::Txn(txn)) => &mut self.waiting[self.places[txn as usize] as usize],
                Some(Obstacle::Reads { key, own }) => {
                    let key = &mut self.keys[key as usize];
                    key.tried_below = key.tried_below.max(own + 1);
                    &mut key.waiting
                }
                Some(Obstacle::Overwritten) => return,
            };
            self.next_waiting[place as usize] = std::mem::replace(waiting, place);
        }
    }

    /// Why a transaction has to wait.
    #[inline]
    fn obstacle(&self, placed: Placed) -> Option<Obstacle> {
        let observed = self.observed;
        let keys = &observed.history.ops().keys;
        for op in placed.ops() {
            let link = observed.links[op];
            let key = &self.keys[keys[op].index()];
            if link == Link::WRITE {
                let before = self.versions[op].before;
                if before != NONE && !self.done[before as usize] {
                    return Some(Obstacle::Txn(before));
                }
                if key.open_reads > 0 {
                    let (own, key_id) = (own_reads(observed, placed, keys[op].0), keys[op].0);
                    if key.open_reads > own {
                        return Some(Obstacle::Reads { key: key_id, own });
                    }
                }
            } else if (Link::is_txn(link) | (link == Link::INITIAL)) & (link != key.last) {
                let is_ahead = Link::is_txn(link) && !self.done[link as usize];
                return Some(match is_ahead {
                    true => Obstacle::Txn(link),
                    false => Obstacle::Overwritten,
                });
            }
        }
        None
    }

    /// Runs a transaction; adds to the work what may go on.
    #[inline]
    fn execute(&mut self, place: u32, placed: Placed) {
        let observed = self.observed;
        let keys = &observed.history.ops().keys;
        self.done.insert(placed.txn.index());
        self.order.push(placed.txn);
        for op in placed.ops() {
            let link = observed.links[op];
            let key = &mut self.keys[keys[op].index()];
            if link == Link::WRITE {
                key.last = placed.txn.0;
                key.open_reads = self.versions[op].reads;
            } else if link == key.last {
                // Reads behind an own append do not count any more: that has set the number.
                key.open_reads -= 1;
                if key.open_reads >= key.tried_below {
                    continue;
                }
            } else {
                continue;
            }
            key.tried_below = 0;
            let waiting = std::mem::replace(&mut key.waiting, NONE);
            self.try_again(waiting);
        }
        self.try_again(self.waiting[place as usize]);
        self.pass_session(place);
        self.pass_completions();
    }

    /// Adds all that wait for the same to the work.
    #[inline]
    fn try_again(&mut self, mut waiting: u32) {
        while waiting != NONE {
            self.work.push(waiting);
            waiting = self.next_waiting[waiting as usize];
        }
    }

    /// Lets go the next one of a session, unless real time keeps it.
    #[inline]
    fn pass_session(&mut self, place: u32) {
        let Some(&next) = self.session_next.get(place as usize) else {
            return;
        };
        if next == NONE {
            return;
        }
        self.is_behind[next as usize] = false;
        let timeline = self.timeline.as_ref();
        if timeline.is_none_or(|line| line.completed_before(next) <= self.completed) {
            self.work.push(next);
        }
    }

    /// Lets go whoever began after the completions that have run by now, unless its session keeps it.
    #[inline]
    fn pass_completions(&mut self) {
        let Some(timeline) = &self.timeline else {
            return;
        };
        while let Some(place) = timeline.completion(self.completed)
            && self.done[self.observed.file_order.at(place as usize).txn.index()]
        {
            let starting = timeline.starting_after(self.completed).iter().copied();
            let is_free = |place: &u32| self.is_behind.get(*place as usize) != Some(&true);
            self.work.extend(starting.filter(is_free));
            self.completed += 1;
        }
    }
}

/// How many reads of a key a transaction has that return another's version.
fn own_reads(observed: &Observed<'_>, placed: Placed, key: u32) -> u32 {
    let keys = &observed.history.ops().keys;
    let is_read = |op: &usize| {
        let link = observed.links[*op];
        keys[*op].0 == key && (Link::is_txn(link) || link == Link::INITIAL)
    };
    placed.ops().filter(is_read).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::cycles::graph::Graph;
    use crate::cycles::kinds::Class;
    use crate::cycles::sort;
    use crate::observe::observe;
    use crate::strong::{self, shape::Shape};
    use history::{Builder, History, Initial, Interval, KeyId, KeyOrder, Level, Op, Status, Value};

    /// Transactions on a few lists, one after another, with some stale reads, some of unknown outcome,
    /// and times that overlap.
    fn lists(below: &mut impl FnMut(u64) -> u64) -> History {
        let mut builder = Builder::new();
        let keys: Vec<KeyId> = (0..3).map(|key| builder.key(&Value::Int(key))).collect();
        let mut contents = vec![Vec::new(); keys.len()];
        for number in 0..12 {
            let mut ops = Vec::new();
            for _ in 0..=below(4) {
                let at = below(keys.len() as u64) as usize;
                let list: &mut Vec<_> = &mut contents[at];
                let (kind, value) = if below(2) == 0 {
                    list.push(builder.value(&Value::Int(list.len() as i128)));
                    (OpKind::Append, list[list.len() - 1])
                } else {
                    let missed = usize::from(below(12) == 0);
                    let seen = &list[..list.len().saturating_sub(missed)];
                    (OpKind::ReadList, builder.push_list(keys[at], seen))
                };
                let key = keys[at];
                ops.push(Op { kind, key, value });
            }
            let status = match below(6) {
                0 => Status::Indeterminate,
                _ => Status::Committed,
            };
            let time = 10 * number;
            let interval = Interval {
                start: time - below(30) as i64,
                end: time + below(30) as i64,
            };
            let session = builder.session(below(3) as i64);
            builder
                .push_txn(session, number as u64, status, Some(interval), &ops)
                .expect("a small history");
        }
        builder.finish()
    }

    #[test]
    fn an_order_is_found_exactly_where_the_graph_has_one() {
        let mut state = 11u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let scopes = [
            (Scope::Data, Level::Serializable),
            (Scope::Sessions, Level::StrongSessionSerializable),
            (Scope::RealTime, Level::StrictSerializable),
        ];
        let mut counts = [[0; 2]; 3];
        for _ in 0..3000 {
            let history = lists(&mut below);
            let (initial, budget) = (Initial::default(), Budget::default());
            let observed = observe(&history, &initial, KeyOrder::Free, &budget).expect("no limit");
            if !observed.read_anomalies.is_empty() {
                continue;
            }
            let graph = Graph::new(&observed);
            for (count, (scope, level)) in counts.iter_mut().zip(scopes) {
                let shape = Shape::of(level).expect("a strong level");
                let kinds = Class::Adjacent.kinds() | scope.kinds();
                let sorted = sort::sort(&graph, shape, kinds).ok();
                let expected = sorted.and_then(|it| strong::prove_placed(&observed, shape, it));
                let found = serial_order(&observed, scope);
                assert_eq!(
                    found.is_some(),
                    expected.is_some(),
                    "{level} of {history:?}"
                );
                count[usize::from(found.is_some())] += 1;
            }
        }
        assert!(
            counts.iter().flatten().all(|&count| count > 50),
            "{counts:?}"
        );
    }
}
