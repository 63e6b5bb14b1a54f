//! One run in virtual time: every message takes as long as drawn for it, and whoever is due first
//! goes next; among those due at the same time, chance decides.
//!
//! A transaction's latency is the time from its start to the answer to its client. Its *hops* are
//! the messages on its critical path: from the step that answered, back through the message that
//! caused each step, to its start or to before it. A wait for somebody else's message counts as
//! that message, and those that caused it meanwhile.

use super::delay::Delays;
use super::random::Random;
use super::walk::Walk;
use crate::id::{Site, Txn, TxnSet};
use crate::log::{Log, Status};
use crate::protocol::Protocol;
use crate::system::{Move, System};

/// What is measured in a run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// When the last client got its answer.
    pub elapsed: f64,
    /// Of each committed transaction.
    pub latencies: Vec<f64>,
    /// Of each committed transaction.
    pub hops: Vec<f64>,
    pub committed: u64,
    pub aborted: u64,
    pub unanswered: u64,
    /// Whether nothing more can happen.
    pub finished: bool,
    pub log: Log,
}

/// What is known of a packet on its way.
#[derive(Clone, Copy)]
struct Note {
    arrives: f64,
    /// The step that sent it.
    sent: usize,
    remote: bool,
}

/// A step that was done: the one that caused it, and whether by a message to another site.
#[derive(Clone, Copy)]
struct Done {
    cause: Option<usize>,
    remote: bool,
}

/// How a run is timed.
#[derive(Clone, Copy)]
pub(crate) struct Timing<'a> {
    pub delays: &'a Delays,
    pub fault_chance: f64,
    pub steps_max: usize,
}

struct Clock<'a, 'w, 's, P: Protocol> {
    timing: Timing<'a>,
    walk: Walk<'w, 's, P, Note>,
    now: f64,
    done: Vec<Done>,
    /// By site, its last step.
    last: Vec<Option<usize>>,
    /// By site, when it acts by itself, if it can.
    acts: Vec<Option<f64>>,
    /// By site, when it is back.
    back: Vec<f64>,
    /// By session, when it goes on.
    ready: Vec<f64>,
    /// By transaction: its first step and when.
    started: Vec<(usize, f64)>,
    ended: TxnSet,
    measured: Measured,
}

impl Timing<'_> {
    /// Runs a system to its end.
    pub fn run<P: Protocol>(&self, system: &System<'_, P>, random: &mut Random) -> Measured {
        let walk = Walk::new(system);
        let sites = system.setup.sites().count();
        let think = |_| self.delays.think.draw(random);
        let ready = (0..system.setup.sessions().len()).map(think).collect();
        let measured = Measured {
            elapsed: 0.0,
            latencies: Vec::new(),
            hops: Vec::new(),
            committed: 0,
            aborted: 0,
            unanswered: 0,
            finished: false,
            log: walk.state.log.clone(),
        };
        let mut clock = Clock {
            timing: *self,
            walk,
            now: 0.0,
            done: Vec::new(),
            last: vec![None; sites],
            acts: vec![None; sites],
            back: vec![0.0; sites],
            ready,
            started: vec![(0, 0.0); system.setup.txns().count()],
            ended: TxnSet::EMPTY,
            measured,
        };
        clock.wind(random);
        while !clock.walk.moves.is_empty() && clock.done.len() < self.steps_max {
            clock.tick(random);
        }
        clock.finish()
    }
}

impl<P: Protocol> Clock<'_, '_, '_, P> {
    fn tick(&mut self, random: &mut Random) {
        let faults = &self.walk.faults;
        let step = if !faults.is_empty() && random.chance(self.timing.fault_chance) {
            faults[random.below(faults.len())]
        } else {
            self.next(random)
        };
        let (site, done) = self.describe(step);
        match step {
            Move::Start(session) => {
                let session = usize::from(session);
                if let Some(txn) = self.walk.system.next_txn(&self.walk.state, session) {
                    self.started[txn.index()] = (self.done.len(), self.now);
                }
            }
            Move::Step(site, _) => self.acts[site.index()] = None,
            Move::Crash(site) | Move::Cut(site) => {
                self.back[site.index()] = self.now + self.timing.delays.repair.draw(random);
            }
            _ => {}
        }
        let (number, now, delays) = (self.done.len(), self.now, self.timing.delays);
        self.walk.take(step, random, |_, packet, random| Note {
            arrives: now + delays.message(packet.from, packet.to, random),
            sent: number,
            remote: packet.from != packet.to,
        });
        self.done.push(done);
        if let Some(site) = site {
            self.last[site.index()] = Some(number);
        }
        self.answers(random);
        self.wind(random);
    }

    /// Something that is due first.
    fn next(&mut self, random: &mut Random) -> Move {
        let due = |step: &Move| {
            let due = match *step {
                Move::Start(session) => self.ready[usize::from(session)],
                Move::Deliver(place) => self.walk.notes[usize::from(place)].arrives,
                Move::Step(site, _) => self.acts[site.index()].unwrap_or(self.now),
                Move::Recover(site) | Move::Heal(site) => self.back[site.index()],
                _ => self.now,
            };
            due.max(self.now)
        };
        let first = self
            .walk
            .moves
            .iter()
            .map(due)
            .fold(f64::INFINITY, f64::min);
        let moves = self.walk.moves.iter();
        let moves: Vec<Move> = moves.filter(|step| due(step) <= first).copied().collect();
        self.now = first;
        moves[random.below(moves.len())]
    }

    /// Where a step is done, and what causes it.
    fn describe(&self, step: Move) -> (Option<Site>, Done) {
        let root = Done {
            cause: None,
            remote: false,
        };
        match step {
            Move::Start(session) => {
                let session = &self.walk.system.setup.sessions()[usize::from(session)];
                (Some(session.site), root)
            }
            Move::Deliver(place) => {
                let place = usize::from(place);
                let note = self.walk.notes[place];
                let done = Done {
                    cause: Some(note.sent),
                    remote: note.remote,
                };
                (Some(self.walk.state.network[place].to), done)
            }
            Move::Step(site, _) => {
                let cause = self.last[site.index()];
                (Some(site), Done { cause, ..root })
            }
            Move::Recover(site) => (Some(site), root),
            _ => (None, root),
        }
    }

    /// Takes note of clients that just got their answer.
    fn answers(&mut self, random: &mut Random) {
        let new = self.walk.state.log.ended().without(self.ended);
        for txn in new.iter() {
            self.ended.insert(txn);
            let (first, start) = self.started[txn.index()];
            self.measured.elapsed = self.now;
            match self.walk.state.log.record(txn).status {
                Status::Committed => {
                    self.measured.committed += 1;
                    self.measured.latencies.push(self.now - start);
                    self.measured.hops.push(f64::from(self.hops(first)));
                }
                _ => self.measured.aborted += 1,
            }
            let session = self.walk.system.setup.session(txn);
            self.ready[session] = self.now + self.timing.delays.think.draw(random);
        }
    }

    /// The messages on the way back from the last step to step `first`.
    fn hops(&self, first: usize) -> u32 {
        let mut hops = 0;
        let mut at = self.done.len() - 1;
        while at > first {
            hops += u32::from(self.done[at].remote);
            match self.done[at].cause {
                Some(cause) => at = cause,
                None => break,
            }
        }
        hops
    }

    /// Decides when sites that can act by themselves will.
    fn wind(&mut self, random: &mut Random) {
        for (place, acts) in self.acts.iter_mut().enumerate() {
            let own = |step: &Move| matches!(step, Move::Step(site, _) if site.index() == place);
            if !self.walk.moves.iter().any(own) {
                *acts = None;
            } else if acts.is_none() {
                *acts = Some(self.now + self.timing.delays.step.draw(random));
            }
        }
    }

    fn finish(self) -> Measured {
        let log = self.walk.state.log;
        let txns = Txn::first(log.records.len()).count();
        Measured {
            unanswered: (txns - self.ended.len()) as u64,
            finished: self.walk.moves.is_empty(),
            log,
            ..self.measured
        }
    }
}
