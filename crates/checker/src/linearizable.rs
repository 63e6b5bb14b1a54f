//! Whether the calls on one object are linearizable: each takes effect at one moment between its
//! invocation and its answer, and the object, called in the order of these moments, gives the answers
//! that were given.
//!
//! **Steps.** Go through the events in order with all *configurations* the object can be in: its state,
//! and which of the calls under way have taken effect. At an answer, a configuration in which the call
//! has not taken effect lets other calls take effect until this one can, and is dropped if it never
//! can. None left is a violation.
//!
//! Three things keep them few. Calls take effect only when an answer asks for it, since later is as
//! good. A read that fits takes effect at once, since it changes nothing. Calls that were never answered
//! stay under way for good; of those only how many of each kind were used is kept, and a configuration
//! that used no more than another one of the same state makes that one superfluous.
//!
//! **Cost.** Exponential in the calls under way at a time, at worst: the question is NP-complete. A limit
//! on the configurations looked at makes the answer *unknown*.
//!
//! **Source.** Wing & Gong, "Testing and Verifying Concurrent Objects", 1993; Lowe, "Testing for
//! linearizability", 2017 (just-in-time linearization). Where we differ: the treatment of reads and of
//! calls without answers.

use history::format::calls::{Action, Call, Calls};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of an object's calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linearizability {
    /// They are linearizable.
    Holds,
    /// They are not: the answer to the call with this `:index` fits nothing that came before.
    Violated {
        /// The `:index` of the call.
        index: u64,
        /// Why, in words.
        reason: String,
    },
    /// That could not be told.
    Unknown(String),
}

/// So many configurations are looked at.
pub const CONFIGURATIONS_MAX: usize = 1 << 22;

/// States of a mutex; those of a register are values.
const FREE: u32 = 0;
const HELD: u32 = 1;

/// The state after a call took effect, if it can.
fn step(state: u32, action: Action) -> Option<u32> {
    match action {
        Action::Read(value) => (state == value).then_some(state),
        Action::Write(value) => Some(value),
        Action::Cas(old, new) => (state == old).then_some(new),
        Action::Acquire => (state == FREE).then_some(HELD),
        Action::Release => (state == HELD).then_some(FREE),
    }
}

/// See the module's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Configuration {
    state: u32,
    /// Bit by place: the calls under way that took effect.
    done: u128,
    /// By kind of calls without answers: how many took effect. No zeros at the end.
    used: Vec<u16>,
}

/// Decides whether calls are linearizable.
pub fn check_linearizable(calls: &Calls, configurations_max: usize) -> Linearizability {
    let mut search = Search {
        calls,
        under_way: vec![None; u128::BITS as usize],
        kinds: Vec::new(),
        configurations: vec![Configuration {
            state: 0,
            done: 0,
            used: Vec::new(),
        }],
        left: configurations_max,
    };
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (number, call) in calls.calls.iter().enumerate() {
        events.push((call.invoked, number, false));
        events.extend(call.answered.map(|place| (place, number, true)));
    }
    events.sort_unstable();
    for (_, number, is_answer) in events {
        let verdict = match is_answer {
            false => search.invoke(number),
            true => search.answer(number),
        };
        if let Some(verdict) = verdict {
            return verdict;
        }
    }
    Linearizability::Holds
}

struct Search<'a> {
    calls: &'a Calls,
    /// By place: the call under way that will be answered.
    under_way: Vec<Option<usize>>,
    /// The calls that will not be answered, by what they ask for, and how many there are.
    kinds: Vec<(Action, u16)>,
    configurations: Vec<Configuration>,
    left: usize,
}

impl Search<'_> {
    fn call(&self, number: usize) -> Call {
        self.calls.calls[number]
    }

    fn invoke(&mut self, number: usize) -> Option<Linearizability> {
        let call = self.call(number);
        if call.answered.is_none() {
            match self.kinds.iter_mut().find(|kind| kind.0 == call.action) {
                Some(kind) => kind.1 = kind.1.saturating_add(1),
                None => self.kinds.push((call.action, 1)),
            }
            return None;
        }
        let Some(place) = self.under_way.iter().position(Option::is_none) else {
            let reason = "more than 128 calls are under way at a time".to_string();
            return Some(Linearizability::Unknown(reason));
        };
        self.under_way[place] = Some(number);
        let mut configurations = std::mem::take(&mut self.configurations);
        for configuration in &mut configurations {
            self.take_reads(configuration);
        }
        self.configurations = configurations;
        None
    }

    /// Lets every read take effect that fits.
    fn take_reads(&self, configuration: &mut Configuration) {
        for (place, number) in self.under_way.iter().enumerate() {
            if let Some(number) = number
                && self.call(*number).action == Action::Read(configuration.state)
            {
                configuration.done |= 1 << place;
            }
        }
    }

    fn answer(&mut self, number: usize) -> Option<Linearizability> {
        let place = self.under_way.iter().position(|&at| at == Some(number))?;
        let wanted = 1u128 << place;
        let mut kept = Kept::default();
        let mut seen: FxHashSet<Configuration> = FxHashSet::default();
        let mut work = std::mem::take(&mut self.configurations);
        while let Some(configuration) = work.pop() {
            if configuration.done & wanted != 0 {
                kept.add(Configuration {
                    done: configuration.done & !wanted,
                    ..configuration
                });
                continue;
            }
            if seen.contains(&configuration) {
                continue;
            }
            self.left = match self.left.checked_sub(1) {
                Some(left) => left,
                None => {
                    let reason = "the calls can take effect in too many orders".to_string();
                    return Some(Linearizability::Unknown(reason));
                }
            };
            self.successors(&configuration, &mut work);
            seen.insert(configuration);
        }
        self.configurations = kept.into_all();
        if self.configurations.is_empty() {
            let states = seen.iter().map(|configuration| configuration.state);
            return Some(self.violation(number, states.collect()));
        }
        self.under_way[place] = None;
        None
    }

    /// Adds what can come of a configuration by one more call.
    fn successors(&self, from: &Configuration, work: &mut Vec<Configuration>) {
        for (place, number) in self.under_way.iter().enumerate() {
            let Some(number) = number.filter(|_| from.done & (1 << place) == 0) else {
                continue;
            };
            if let Some(state) = step(from.state, self.call(number).action) {
                let mut next = Configuration {
                    state,
                    done: from.done | (1 << place),
                    used: from.used.clone(),
                };
                self.take_reads(&mut next);
                work.push(next);
            }
        }
        for (number, &(action, count)) in self.kinds.iter().enumerate() {
            let used = from.used.get(number).copied().unwrap_or(0);
            let state = step(from.state, action).filter(|&state| state != from.state);
            let (Some(state), true) = (state, used < count) else {
                continue;
            };
            let mut next = Configuration {
                state,
                ..from.clone()
            };
            next.used.resize(next.used.len().max(number + 1), 0);
            next.used[number] += 1;
            self.take_reads(&mut next);
            work.push(next);
        }
    }

    fn violation(&self, number: usize, states: FxHashSet<u32>) -> Linearizability {
        let call = self.call(number);
        let name = |value: u32| &*self.calls.values[value as usize];
        let is_mutex = matches!(call.action, Action::Acquire | Action::Release);
        let (what, object) = match call.action {
            Action::Read(value) => (format!("read {}", name(value)), "the register"),
            Action::Write(value) => (format!("wrote {}", name(value)), "the register"),
            Action::Cas(old, new) => {
                let text = format!("replaced {} by {}", name(old), name(new));
                (text, "the register")
            }
            Action::Acquire => ("took the mutex".to_string(), "the mutex"),
            Action::Release => ("gave the mutex back".to_string(), "the mutex"),
        };
        let mut states: Vec<u32> = states.into_iter().collect();
        states.sort_unstable();
        let names = states.iter().map(|&state| match (is_mutex, state) {
            (false, value) => name(value).to_string(),
            (true, FREE) => "free".to_string(),
            (true, _) => "held".to_string(),
        });
        let names: Vec<String> = names.collect();
        let reason = format!(
            "operation {}: process {} {what}, but whatever order the calls up to then took effect in, \
             {object} was {} before its answer",
            call.index,
            call.process,
            names.join(" or ")
        );
        Linearizability::Violated {
            index: call.index,
            reason,
        }
    }
}

/// Configurations without those that another one makes superfluous.
#[derive(Default)]
struct Kept(FxHashMap<(u32, u128), Vec<Vec<u16>>>);

/// Whether no kind was used more often here than there.
fn is_within(here: &[u16], there: &[u16]) -> bool {
    here.len() <= there.len() && here.iter().zip(there).all(|(one, other)| one <= other)
}

impl Kept {
    fn add(&mut self, new: Configuration) {
        let others = self.0.entry((new.state, new.done)).or_default();
        if others.iter().any(|other| is_within(other, &new.used)) {
            return;
        }
        others.retain(|other| !is_within(&new.used, other));
        others.push(new.used);
    }

    fn into_all(self) -> Vec<Configuration> {
        let mut all: Vec<Configuration> = Vec::new();
        for ((state, done), uses) in self.0 {
            all.extend(
                uses.into_iter()
                    .map(|used| Configuration { state, done, used }),
            );
        }
        all
    }
}
