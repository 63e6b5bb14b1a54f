//! A guess at an order where most values were written more than once: the transactions are run again by the values that
//! they read.
//!
//! Definition: a transaction can go next in its session if, where real time counts, all have gone that completed before it began; if every key has the value that it read, and if it overwrites no
//! value that somebody still has to read and nobody will write again. An order in which all go is one in which every read has a
//! writer.
//!
//! Steps: a search in depth. Of those that can go, one that writes nothing goes at once, since it is in nobody's way; else
//! first those that overwrite the fewest values still to be read, and of these those that most others wait for. Where nobody can go, the last
//! choice is taken back. What is to come depends on the values and on how far each session is, and on nothing else: where that led nowhere once, it is
//! not tried again. After so many steps it is given up, and begun again with other choices by chance.
//!
//! Cost: for each step, the operations of the next transaction of each session. No bound is known on the steps, other than
//! that they are given up. Where few values fit, few transactions can go, so that most such histories take few
//! steps more than they have transactions. Source: the search along sessions of Biswas & Enea (OOPSLA 2019), by values in place of writers.
//!
//! What comes out is used as an order, never as evidence against one.

use super::settled;
use super::shape::Shape;
use super::timeline::Timeline;
use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use history::{TxnId, ValueCode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::ops::Range;

/// With more sessions, a step costs too much.
const SESSIONS_MAX: usize = 128;
/// How often it is begun, and how many steps that may take in all.
pub struct Patience {
    times: Range<u32>,
    steps_max: usize,
}
/// Before anything else is tried, and where nothing else but the solver is left.
pub const SHORT: Patience = Patience {
    times: 0..6,
    steps_max: 1 << 18,
};
pub const LONG: Patience = Patience {
    times: 6..13,
    steps_max: 1 << 25,
};
/// How many steps that takes the first time, for each transaction and at least; each time twice as many.
const STEPS_FOR_EACH: usize = 4;
const STEPS_MIN: usize = 2000;
/// The budget is asked once in so many steps.
const ASK_EVERY: usize = 1024;

/// A key and a value of it, by number.
type Cell = (u32, u32);

/// A transaction that went, what else could have gone in its place, and what the values were before.
struct Frame {
    lane: u32,
    txn: u32,
    /// Places in `Play::choices`.
    others: Range<usize>,
    first_choice: usize,
    /// Where its old values begin in `Play::old`.
    old_from: usize,
    frontier: usize,
}

/// See the module's text.
struct Play {
    /// By session, its transactions.
    lanes: Vec<Vec<u32>>,
    gone: Vec<u32>,
    /// By transaction, what it read from others and what it wrote last.
    reads: Vec<Vec<Cell>>,
    writes: Vec<Vec<Cell>>,
    /// By key, the number of its value.
    current: Vec<u32>,
    /// By value, how many transactions still have to read it, and to write it.
    readers: Vec<u32>,
    writers: Vec<u32>,
    /// By transaction, how many completions have to have gone before it, and whether it has gone; empty without times.
    before: Vec<u32>,
    has_gone: Vec<bool>,
    /// Transactions by completion, and how many of these have gone before the first that has not.
    completions: Vec<u32>,
    frontier: usize,
    /// A number for the values and how far the sessions are.
    state: u64,
    dead: FxHashSet<u64>,
    frames: Vec<Frame>,
    choices: Vec<u32>,
    old: Vec<u32>,
    seed: u64,
    /// How often it was begun before.
    time: u32,
}

/// Whether there is a read with several possible writers for each transaction, and sessions are few.
pub fn is_worth_it(observed: &Observed<'_>, shape: Shape) -> bool {
    let history = observed.history;
    !observed.ambiguous.is_empty()
        && observed.ambiguous.len() >= history.txn_count()
        && observed.known.is_empty()
        && !observed.values.is_empty()
        && settled::optional_events(observed, shape).is_empty()
        && history.session_count() <= SESSIONS_MAX
        && !shape.parallel
}

/// The events in such an order, if one was found. It need not be one of the level.
pub fn play(
    observed: &Observed<'_>,
    shape: Shape,
    patience: &Patience,
    budget: &Budget<'_>,
) -> Result<Option<Vec<u32>>, Limit> {
    (budget.progress)("running again by values");
    let steps_min = STEPS_MIN + STEPS_FOR_EACH * observed.history.txn_count();
    let mut play = Play::new(observed);
    if let Some(timeline) = Timeline::new(observed).filter(|_| shape.real_time) {
        play.wait_for(&timeline);
    }
    let mut steps_left = patience.steps_max;
    for time in patience.times.clone() {
        let steps = steps_min << time;
        if steps > steps_left {
            break;
        }
        steps_left -= steps;
        play.time = time;
        if play.run(steps, budget)? {
            let txns = play.frames.iter().map(|frame| frame.txn);
            let mut events: Vec<u32> = txns
                .flat_map(|txn| [shape.start(txn), shape.commit(txn)])
                .collect();
            events.dedup();
            return Ok(Some(events));
        }
        if play.frames.is_empty() {
            break;
        }
        while play.take_back().is_some() {}
    }
    Ok(None)
}

impl Play {
    fn new(observed: &Observed<'_>) -> Play {
        let history = observed.history;
        let taken = |txn: &u32| observed.taken[*txn as usize];
        let sessions = history.sessions();
        let lanes: Vec<Vec<u32>> = sessions
            .map(|session| history.session_txns(session).filter(taken).collect())
            .collect();
        let mut numbers: FxHashMap<(u32, ValueCode), u32> = FxHashMap::default();
        let mut number = |key: u32, value: ValueCode| {
            let next = numbers.len() as u32;
            *numbers.entry((key, value)).or_insert(next)
        };
        // An initial value has a number of its own, unless somebody wrote the same one.
        let mut initial = vec![u32::MAX; history.keys().limit()];
        for read in &observed.ambiguous {
            if read.writers.contains(&TxnId(Link::INITIAL)) {
                let key = history.ops().keys[read.op.index()];
                initial[key.index()] = number(key.0, observed.values[read.op.index()]);
            }
        }
        let mut reads = vec![Vec::new(); history.txn_count()];
        let mut writes = vec![Vec::new(); history.txn_count()];
        for &txn in lanes.iter().flatten() {
            for op in history.op_range(TxnId(txn)) {
                let (key, link) = (history.ops().keys[op].0, observed.links[op]);
                let value = observed.values[op];
                if link == Link::WRITE {
                    writes[txn as usize].push((key, number(key, value)));
                } else if Link::is_txn(link) || link == Link::AMBIGUOUS {
                    reads[txn as usize].push((key, number(key, value)));
                } else if link == Link::INITIAL {
                    reads[txn as usize].push((key, u32::MAX));
                }
            }
        }
        let count = numbers.len();
        Play::begin(lanes, reads, writes, initial, count)
    }

    /// Begins, with so many numbers of values given so far.
    fn begin(
        lanes: Vec<Vec<u32>>,
        mut reads: Vec<Vec<Cell>>,
        writes: Vec<Vec<Cell>>,
        mut initial: Vec<u32>,
        mut count: usize,
    ) -> Play {
        for value in initial.iter_mut().filter(|value| **value == u32::MAX) {
            *value = count as u32;
            count += 1;
        }
        let (mut readers, mut writers) = (vec![0; count], vec![0; count]);
        for own in &mut reads {
            for cell in own.iter_mut().filter(|cell| cell.1 == u32::MAX) {
                cell.1 = initial[cell.0 as usize];
            }
            own.sort_unstable();
            own.dedup();
            own.iter().for_each(|cell| readers[cell.1 as usize] += 1);
        }
        for cell in writes.iter().flatten() {
            writers[cell.1 as usize] += 1;
        }
        Play {
            gone: vec![0; lanes.len()],
            lanes,
            reads,
            writes,
            current: initial,
            readers,
            writers,
            state: 0,
            dead: FxHashSet::default(),
            frames: Vec::new(),
            choices: Vec::new(),
            old: Vec::new(),
            before: Vec::new(),
            has_gone: Vec::new(),
            completions: Vec::new(),
            frontier: 0,
            seed: 0,
            time: 0,
        }
    }

    /// Lets nobody go before those that completed before it began.
    fn wait_for(&mut self, timeline: &Timeline) {
        let txns = 0..self.reads.len() as u32;
        self.before = txns.map(|txn| timeline.completed_before(txn)).collect();
        self.has_gone = vec![false; self.reads.len()];
        let places = 0..timeline.len() as u32;
        self.completions = places.filter_map(|at| timeline.completion(at)).collect();
    }

    /// Whether all have gone that completed before a transaction began.
    fn can_begin(&self, txn: u32) -> bool {
        let before = self.before.get(txn as usize);
        before.is_none_or(|&before| before as usize <= self.frontier)
    }

    /// Goes on until all have gone, which it tells, until nothing is left to try, or for so many steps.
    fn run(&mut self, steps_max: usize, budget: &Budget<'_>) -> Result<bool, Limit> {
        let all: usize = self.lanes.iter().map(Vec::len).sum();
        for step in 0..steps_max {
            if step.is_multiple_of(ASK_EVERY) {
                let gone = self.frames.len() as u64;
                budget.check_at("play", &[("transactions run again", gone)])?;
            }
            if self.frames.len() == all {
                return Ok(true);
            }
            let first = self.choices.len();
            if !self.dead.contains(&self.state) {
                self.choose();
            }
            if self.choices.len() > first {
                self.go(first, first + 1..self.choices.len(), first);
            } else if !self.turn_back() {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Adds the sessions whose next transaction can go to the choices, the best first.
    fn choose(&mut self) {
        let mut found: Vec<(u32, Reverse<u32>, u32)> = Vec::new();
        for lane in 0..self.lanes.len() as u32 {
            let Some(txn) = self.next(lane) else {
                continue;
            };
            if !self.can_begin(txn) || !self.can_read(txn) {
                continue;
            }
            if self.writes[txn as usize].is_empty() {
                self.choices.push(lane);
                return;
            }
            let Some(harm) = self.harm(txn) else {
                continue;
            };
            let by_chance = match self.time {
                0 => 0,
                time => self.chance() % (time + 1),
            };
            found.push((harm + by_chance, Reverse(self.served(txn)), lane));
        }
        found.sort_unstable();
        self.choices
            .extend(found.into_iter().map(|(_, _, lane)| lane));
    }

    fn next(&self, lane: u32) -> Option<u32> {
        let gone = self.gone[lane as usize] as usize;
        self.lanes[lane as usize].get(gone).copied()
    }

    /// Whether every key has the value that a transaction read.
    fn can_read(&self, txn: u32) -> bool {
        let reads = &self.reads[txn as usize];
        reads
            .iter()
            .all(|&(key, value)| self.current[key as usize] == value)
    }

    /// How many reads of others to come a transaction takes the value from; None if nobody would write that again.
    fn harm(&self, txn: u32) -> Option<u32> {
        let mut harm = 0;
        for &(key, value) in &self.writes[txn as usize] {
            let old = self.current[key as usize];
            if old == value {
                continue;
            }
            let own = self.reads[txn as usize].binary_search(&(key, old)).is_ok();
            let others = self.readers[old as usize] - u32::from(own);
            if others > 0 && self.writers[old as usize] == 0 {
                return None;
            }
            harm += others;
        }
        Some(harm)
    }

    /// How many of the sessions wait for a value that a transaction writes.
    fn served(&self, txn: u32) -> u32 {
        let writes = &self.writes[txn as usize];
        let lanes = 0..self.lanes.len() as u32;
        let waiting = lanes.filter_map(|lane| self.next(lane)).filter(|&other| {
            let mut reads = self.reads[other as usize].iter();
            reads.any(|cell| self.current[cell.0 as usize] != cell.1 && writes.contains(cell))
        });
        waiting.count() as u32
    }

    /// Lets the transaction of a choice go.
    fn go(&mut self, choice: usize, others: Range<usize>, first_choice: usize) {
        let lane = self.choices[choice];
        let gone = self.gone[lane as usize];
        let txn = self.lanes[lane as usize][gone as usize];
        self.frames.push(Frame {
            lane,
            txn,
            first_choice,
            others,
            old_from: self.old.len(),
            frontier: self.frontier,
        });
        if let Some(has_gone) = self.has_gone.get_mut(txn as usize) {
            *has_gone = true;
            let waiting = self.completions[self.frontier..].iter();
            let gone = waiting.take_while(|&&txn| self.has_gone[txn as usize]);
            self.frontier += gone.count();
        }
        for &(_, value) in &self.reads[txn as usize] {
            self.readers[value as usize] -= 1;
        }
        for &(key, value) in &self.writes[txn as usize] {
            self.writers[value as usize] -= 1;
            let old = std::mem::replace(&mut self.current[key as usize], value);
            self.old.push(old);
            self.state ^= mixed(key, old) ^ mixed(key, value);
        }
        self.gone[lane as usize] += 1;
        self.state ^= mixed(!lane, gone) ^ mixed(!lane, gone + 1);
    }

    /// Takes back the last transaction that went.
    fn take_back(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        for (at, &(key, value)) in self.writes[frame.txn as usize].iter().enumerate() {
            let old = self.old[frame.old_from + at];
            self.writers[value as usize] += 1;
            self.current[key as usize] = old;
            self.state ^= mixed(key, old) ^ mixed(key, value);
        }
        for &(_, value) in &self.reads[frame.txn as usize] {
            self.readers[value as usize] += 1;
        }
        if let Some(has_gone) = self.has_gone.get_mut(frame.txn as usize) {
            *has_gone = false;
            self.frontier = frame.frontier;
        }
        self.old.truncate(frame.old_from);
        self.choices.truncate(frame.others.end);
        let gone = &mut self.gone[frame.lane as usize];
        *gone -= 1;
        self.state ^= mixed(!frame.lane, *gone) ^ mixed(!frame.lane, *gone + 1);
        Some(frame)
    }

    /// Takes back what led nowhere, as far as something else can go. Returns whether anything can.
    fn turn_back(&mut self) -> bool {
        loop {
            self.dead.insert(self.state);
            let Some(frame) = self.take_back() else {
                return false;
            };
            if !frame.others.is_empty() {
                let next = frame.others.start;
                self.go(next, next + 1..frame.others.end, frame.first_choice);
                return true;
            }
            self.choices.truncate(frame.first_choice);
        }
    }

    /// The next number by chance, the same in every run.
    fn chance(&mut self) -> u32 {
        self.seed = self
            .seed
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(1);
        (self.seed >> 33) as u32
    }
}

/// A number of two, which seldom is that of two others.
fn mixed(a: u32, b: u32) -> u64 {
    let mixed = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::super::prove;
    use super::*;
    use crate::observe::observe;
    use history::format::jsonl;
    use history::{History, Initial, KeyOrder, Level, definition};

    /// Six transactions in three sessions on two keys of three values; reads mostly return the last value.
    fn random_history(seed: u64) -> History {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |count: u64| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) % count
        };
        let mut current = [0; 2];
        let mut lines = Vec::new();
        for txn in 0..6 {
            let session = below(3);
            let mut ops = Vec::new();
            for (key, current) in current.iter_mut().enumerate() {
                if below(3) > 0 {
                    let read = if below(8) == 0 { below(3) } else { *current };
                    ops.push(format!("[\"r\",{key},{read}]"));
                }
                if below(3) > 0 {
                    *current = 1 + below(2);
                    ops.push(format!("[\"w\",{key},{current}]"));
                }
            }
            let ops = ops.join(",");
            let start = 10 * txn + below(30);
            let end = start + 1 + below(40);
            lines.push(format!(
                "{{\"session\":{session},\"txn\":{txn},\"start\":{start},\"end\":{end},\"ops\":[{ops}]}}"
            ));
        }
        jsonl::read(lines.join("\n").as_bytes(), &mut Vec::new()).expect("a history")
    }

    #[test]
    fn small_histories_can_be_run_again_just_if_they_are_serializable() {
        let (budget, initial) = (Budget::default(), Initial::default());
        for level in [Level::StrongSessionSerializable, Level::StrictSerializable] {
            let shape = Shape::of(level).unwrap();
            let mut counts = [0; 2];
            for seed in 0..4000 {
                let history = random_history(seed);
                let observed = observe(&history, &initial, KeyOrder::Free, &budget).unwrap();
                if observed.ambiguous.is_empty() || !observed.read_anomalies.is_empty() {
                    continue;
                }
                let events = play(&observed, shape, &SHORT, &budget).unwrap();
                let Ok(holds) = definition::holds(&history, level, &initial) else {
                    continue;
                };
                assert_eq!(events.is_some(), holds, "seed {seed}, {level}");
                let order = events.map(|events| prove(&observed, shape, &events));
                let is_proof = order.is_none_or(|order| order.is_some());
                assert!(is_proof, "seed {seed}, {level}");
                counts[usize::from(holds)] += 1;
            }
            assert!(
                counts.iter().all(|&count| count > 100),
                "{level} {counts:?}"
            );
        }
    }
}
