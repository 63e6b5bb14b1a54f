//! Visits every state of every setup, breadth first, and judges the final ones.
//!
//! Steps: each setup is searched by itself ([`search`]), many setups side by side or one by many
//! threads; a final state is judged once for each log of its setup ([`finals`]); the shortest run
//! that violates a question is found first, as levels are searched in order; it is replayed on the
//! model without any reduction before it is reported.

mod expand;
mod finals;
mod hash;
mod parts;
mod rest;
mod search;
mod symmetry;
mod table;

use crate::property::{self, Judge};
use crate::protocol::{Protocol, Symmetry};
use crate::question::{
    Answer, Counterexample, Evidence, Form, Outcome, Progress, Property, Question, Request, Stuck,
    detail,
};
use crate::setup::Setup;
use crate::system::{Action, State, System, World, next_choices};
pub use hash::fingerprint;
pub use search::{Machine, Searched, Sink, search};

use expand::{Expander, Worker};
use finals::Finals;
use history::Level;
use search::Space;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The shortest run of its kind so far: its length, its setup, and the way there.
#[derive(Clone, Debug)]
struct Shortest {
    depth: u32,
    setup: usize,
    path: Vec<(u16, u16)>,
}

impl Shortest {
    fn keep(best: &mut Option<Shortest>, other: Option<Shortest>) {
        let Some(other) = other else { return };
        let rank = |one: &Shortest| (one.depth, one.setup);
        if best.as_ref().is_none_or(|best| rank(&other) < rank(best)) {
            *best = Some(other);
        }
    }
}

/// What was found in some of the setups.
#[derive(Default)]
struct Found {
    violated: Vec<Option<Shortest>>,
    stuck: Option<Shortest>,
    stuck_count: u64,
    error: Option<(Shortest, String)>,
    evidence: Evidence,
    fired: u64,
    stopped: Option<String>,
    /// What all threads know of histories.
    judge: Option<Judge>,
}

/// Explores all runs of all `setups`, which stand for `raw` ones.
pub fn explore<P: Protocol>(
    protocol: &P,
    setups: &[Setup],
    raw: u64,
    request: &Request<'_>,
) -> Outcome {
    let exploration = Exploration::new(protocol, setups, request);
    let threads = request.threads.max(1);
    let mut found = if setups.len() >= 4 * threads && threads > 1 {
        exploration.many_setups(threads)
    } else {
        let mut found = exploration.nothing();
        let mut space = Space::new();
        let mut workers = exploration.workers(threads);
        for number in 0..setups.len() {
            exploration.one_setup(number, &mut space, &mut workers, &mut found);
        }
        exploration.take_workers(workers, &mut found);
        found
    };
    found.evidence.setups_raw = raw;
    exploration.outcome(found)
}

struct Exploration<'a, P: Protocol> {
    protocol: &'a P,
    setups: &'a [Setup],
    request: &'a Request<'a>,
    world: World,
    symmetry: Symmetry,
    states: AtomicU64,
    /// Bytes held by all threads together; each keeps its own share up to date.
    bytes: AtomicU64,
    done: AtomicUsize,
    stop: AtomicBool,
    /// Per question, the length of the shortest run known to violate it, and its setup.
    shortest: Vec<AtomicU64>,
}

impl<'a, P: Protocol> Exploration<'a, P> {
    fn new(protocol: &'a P, setups: &'a [Setup], request: &'a Request<'a>) -> Self {
        let mut world = request.world;
        world.detail = detail(&request.questions);
        let mut symmetry = protocol.symmetry();
        // The paper's formulas compare versions by site.
        let paper = |question: &Question| question.form == Form::Paper;
        symmetry.sites &= !request.questions.iter().any(paper);
        let questions = request.questions.iter();
        Exploration {
            protocol,
            setups,
            request,
            world,
            symmetry,
            states: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            shortest: questions.map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    /// The questions for which a run of this length would be shorter than all known, or as short
    /// and of an earlier setup.
    fn wanted(&self, depth: u32, setup: usize) -> u64 {
        let rank = rank(depth, setup);
        let shortest = self.shortest.iter().enumerate();
        shortest
            .filter(|(_, known)| rank < known.load(Ordering::Relaxed))
            .map(|(place, _)| 1u64 << (place & 63))
            .fold(0, |all, one| all | one)
    }

    fn nothing(&self) -> Found {
        Found {
            violated: vec![None; self.request.questions.len()],
            ..Found::default()
        }
    }

    fn workers(&self, count: usize) -> Vec<Worker<P>> {
        let order = self.protocol.version_order();
        let finals = || Finals::new(&self.request.questions, order, self.request.sessions);
        (0..count).map(|_| Worker::new(finals())).collect()
    }

    fn system<'b>(&'b self, setup: &'b Setup) -> System<'b, P> {
        System {
            protocol: self.protocol,
            setup,
            world: self.world,
        }
    }

    /// Searches setups side by side, each by one thread.
    fn many_setups(&self, threads: usize) -> Found {
        let next = AtomicUsize::new(0);
        let all = Mutex::new(self.nothing());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut found = self.nothing();
                    let mut space = Space::new();
                    let mut workers = self.workers(1);
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.setups.len() || self.stop.load(Ordering::Relaxed) {
                            break;
                        }
                        self.one_setup(number, &mut space, &mut workers, &mut found);
                    }
                    self.take_workers(workers, &mut found);
                    let mut all = all.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    merge(&mut all, found);
                });
            }
        });
        all.into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn one_setup(
        &self,
        number: usize,
        space: &mut Space,
        workers: &mut [Worker<P>],
        found: &mut Found,
    ) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        let expander = self.expander(&self.setups[number]);
        let mut marks: Vec<(u32, Marked)> = Vec::new();
        let mut seen = vec![false; self.request.questions.len()];
        let mut before = (0, space.bytes_noted);
        let mut stopped = None;
        let mut watch = |states: u64, bytes: u64| {
            let states_all =
                self.states.fetch_add(states - before.0, Ordering::Relaxed) + states - before.0;
            let grown = bytes.saturating_sub(before.1);
            let bytes_all = self.bytes.fetch_add(grown, Ordering::Relaxed) + grown;
            before = (states, bytes.max(before.1));
            stopped = self.limit(states_all, bytes_all);
            stopped.is_none()
        };
        for worker in &mut *workers {
            worker.finals.wanted = self.wanted(0, number);
        }
        let whole = space.search(&expander, workers, &mut watch, |workers, depth| {
            let new = collect(workers, &mut seen);
            for mark in &new {
                if let Marked::Violated(question, _) = mark {
                    self.shortest[*question].fetch_min(rank(depth, number), Ordering::Relaxed);
                }
            }
            let wanted = self.wanted(depth + 1, number);
            for worker in workers {
                worker.finals.wanted = wanted;
            }
            marks.extend(new.into_iter().map(|mark| (depth, mark)));
        });
        space.bytes_noted = before.1;
        self.keep(number, marks, space, found);
        for worker in workers {
            worker.next_setup();
        }
        let evidence = &mut found.evidence;
        evidence.setups += 1;
        evidence.states += space.states();
        evidence.generated += space.generated;
        evidence.collision_bound += hash::collision_bound(space.states());
        evidence.depth = evidence.depth.max(space.depth.saturating_sub(1));
        if !whole {
            let why = stopped.unwrap_or_else(|| "too many states to number".to_string());
            found.stopped.get_or_insert(why);
            self.stop.store(true, Ordering::Relaxed);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// A setup as something to search, with the reductions that are allowed there.
    fn expander<'b>(&'b self, setup: &'b Setup) -> Expander<'b, P> {
        let plain = !self.request.symmetry || self.world.fifo;
        Expander {
            system: self.system(setup),
            renamings: match plain {
                true => Vec::new(),
                false => symmetry::renamings(setup, self.symmetry),
            },
            partial_order: self.request.partial_order
                && !self.world.fifo
                && self.world.faults == Default::default(),
        }
    }

    /// Keeps what was met in a setup where it is the shortest of its kind.
    fn keep(&self, setup: usize, marks: Vec<(u32, Marked)>, space: &Space, found: &mut Found) {
        for (depth, mark) in marks {
            let shortest = |place: u32| Shortest {
                depth,
                setup,
                path: space.links.path(place),
            };
            match mark {
                Marked::Violated(question, place) => {
                    Shortest::keep(&mut found.violated[question], Some(shortest(place)));
                }
                Marked::Stuck(place) => Shortest::keep(&mut found.stuck, Some(shortest(place))),
                Marked::Error(place, why) => {
                    found.error.get_or_insert((shortest(place), why));
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Why the exploration must end now, if it must.
    fn limit(&self, states: u64, bytes: u64) -> Option<String> {
        let progress = Progress {
            setups: self.done.load(Ordering::Relaxed),
            setups_all: self.setups.len(),
            states,
        };
        if states > self.request.states_max {
            Some(format!("more than {} states", self.request.states_max))
        } else if bytes > self.request.memory_max {
            let mib = self.request.memory_max >> 20;
            Some(format!("more than {mib} MiB of states"))
        } else if self.stop.load(Ordering::Relaxed) {
            Some("stopped elsewhere".to_string())
        } else if !(self.request.progress)(&progress) {
            Some("stopped".to_string())
        } else {
            None
        }
    }

    fn take_workers(&self, workers: Vec<Worker<P>>, found: &mut Found) {
        for worker in workers {
            found.fired |= worker.fired;
            found.stuck_count += worker.finals.stuck_count;
            found.evidence.add_finals(&worker.finals.evidence);
            absorb(&mut found.judge, Some(worker.finals.judge));
        }
    }

    fn outcome(&self, mut found: Found) -> Outcome {
        let evidence = &mut found.evidence;
        evidence.exhausted = found.stopped.is_none() && found.error.is_none();
        let judge = found.judge.as_ref();
        evidence.histories = judge.map_or(0, Judge::histories) as u64;
        evidence.bytes = self.bytes.load(Ordering::Relaxed);
        let rules = self.protocol.rules().iter().enumerate();
        let never = rules.filter(|(place, _)| found.fired & (1 << place) == 0);
        evidence.rules_never_fired = never.map(|(_, rule)| rule.to_string()).collect();
        let mut answers = Vec::new();
        for (question, shortest) in self.request.questions.iter().zip(&found.violated) {
            let answer = match (shortest, &found.stopped) {
                (Some(shortest), _) => {
                    Answer::Violated(Box::new(self.run(shortest, Some(*question))))
                }
                (None, Some(why)) => Answer::Unknown(why.clone()),
                (None, None) => self.held(*question, &found),
            };
            answers.push((*question, answer));
        }
        let stuck = found.stuck.as_ref().map(|shortest| {
            let run = self.run(shortest, None);
            let ended = run.log.ended();
            let txns = run.setup.txns().filter(|txn| !ended.contains(*txn));
            Stuck {
                txns: txns.collect(),
                run,
                finals: found.stuck_count,
            }
        });
        let error = found.error.as_ref();
        Outcome {
            protocol: self.protocol.name().to_string(),
            answers,
            model_error: error.map(|(at, why)| (why.clone(), Box::new(self.run(at, None)))),
            stuck,
            evidence: found.evidence,
        }
    }

    /// The answer to a question that no final state violates.
    fn held(&self, question: Question, found: &Found) -> Answer {
        let evidence = &found.evidence;
        let judge = found.judge.as_ref();
        if let Some(why) = judge.and_then(Judge::undecided) {
            Answer::Unknown(why.to_string())
        } else if !property::applicable(question, evidence) {
            Answer::Unknown("not applicable".to_string())
        } else if let Some(why) = property::vacuous(question.property, evidence) {
            Answer::Vacuous(why)
        } else {
            Answer::Holds
        }
    }

    /// Replays a run on the model without reductions.
    fn run(&self, shortest: &Shortest, question: Option<Question>) -> Counterexample {
        let setup = &self.setups[shortest.setup];
        let system = self.system(setup);
        let mut state = system.initial();
        let mut trace = Vec::new();
        let mut moves = Vec::new();
        for (step, choice) in &shortest.path {
            system.moves(&state, &mut moves);
            let step = moves[usize::from(*step)];
            let (next, choices) = nth_choice(&system, &state, step, *choice);
            trace.push(Action { step, choices });
            state = next;
        }
        let judge = Judge::new(
            &self.request.questions,
            self.protocol.version_order(),
            self.request.sessions,
        );
        let (anomalies, explanation) = question
            .map(|question| judge.explain(setup, &state.log, question))
            .unwrap_or_default();
        let judged = question.map_or(WHOLE, |question| question.property);
        Counterexample {
            history: judge.history(setup, &state.log, judged),
            setup: setup.clone(),
            trace,
            log: state.log,
            anomalies,
            explanation,
        }
    }
}

/// A property that is about all transactions.
const WHOLE: Property = Property::Level(Level::Serializable);

/// The successor by the `number`-th outcome of a move's choices.
fn nth_choice<P: Protocol>(
    system: &System<'_, P>,
    state: &State<P>,
    step: crate::system::Move,
    number: u16,
) -> (State<P>, Vec<u8>) {
    let mut choices = Vec::new();
    for _ in 0..number {
        let did = system.apply(&mut state.clone(), step, &choices);
        next_choices(&did, &mut choices);
    }
    let mut next = state.clone();
    let did = system.apply(&mut next, step, &choices);
    (next, did.choices)
}

/// Orders runs by length, then by setup.
fn rank(depth: u32, setup: usize) -> u64 {
    u64::from(depth) << 32 | setup as u64 & u64::from(u32::MAX)
}

/// Something met for the first time in a setup.
enum Marked {
    Violated(usize, u32),
    Stuck(u32),
    Error(u32, String),
}

/// What the workers met in a level for the first time; the first place of each.
fn collect<P: Protocol>(workers: &mut [Worker<P>], seen: &mut [bool]) -> Vec<Marked> {
    let mut marks = Vec::new();
    for (question, seen) in seen.iter_mut().enumerate() {
        let first = workers
            .iter()
            .filter_map(|worker| worker.finals.violated[question]);
        if let Some(first) = first.min()
            && !*seen
        {
            *seen = true;
            marks.push(Marked::Violated(question, first));
        }
    }
    let stuck = workers
        .iter_mut()
        .filter_map(|worker| worker.finals.stuck.take());
    marks.extend(stuck.min().map(Marked::Stuck));
    let errors = workers
        .iter_mut()
        .filter_map(|worker| worker.finals.error.take());
    let error = errors.min_by_key(|(place, _)| *place);
    marks.extend(error.map(|(place, why)| Marked::Error(place, why)));
    marks
}

fn merge(all: &mut Found, other: Found) {
    for (best, other) in all.violated.iter_mut().zip(other.violated) {
        Shortest::keep(best, other);
    }
    Shortest::keep(&mut all.stuck, other.stuck);
    all.stuck_count += other.stuck_count;
    all.error = all.error.take().or(other.error);
    all.fired |= other.fired;
    all.stopped = all.stopped.take().or(other.stopped);
    all.evidence.setups += other.evidence.setups;
    all.evidence.states += other.evidence.states;
    all.evidence.generated += other.evidence.generated;
    all.evidence.collision_bound += other.evidence.collision_bound;
    all.evidence.depth = all.evidence.depth.max(other.evidence.depth);
    all.evidence.add_finals(&other.evidence);
    absorb(&mut all.judge, other.judge);
}

fn absorb(all: &mut Option<Judge>, other: Option<Judge>) {
    match (all.as_mut(), other) {
        (Some(all), Some(other)) => all.absorb(other),
        (None, other) => *all = other,
        (Some(_), None) => {}
    }
}
