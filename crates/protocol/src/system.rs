//! A protocol at work on a setup: states, what can happen in one, and what comes of it.

use crate::context::{Context, Effects};
use crate::fault::{Faults, Spent};
use crate::id::{Site, SiteSet, Txn};
use crate::log::{Detail, Log, Status};
use crate::multicast::Multicasts;
use crate::protocol::Protocol;
use crate::setup::Setup;
use serde::{Deserialize, Serialize};

/// How a protocol is put to work, besides its setup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct World {
    /// How much of time is recorded.
    pub detail: Detail,
    /// How many faults may happen.
    pub faults: Faults,
    /// Messages from one site to another arrive in the order sent.
    pub fifo: bool,
    /// Messages of a site to itself go through the network like all others.
    pub network_to_self: bool,
}

impl Default for World {
    fn default() -> Self {
        World {
            detail: Detail::RealTime,
            faults: Faults::default(),
            fifo: false,
            network_to_self: false,
        }
    }
}

/// A message on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packet<M> {
    /// Who sent it.
    pub from: Site,
    /// Where it goes.
    pub to: Site,
    /// Which atomic multicast it belongs to, if any.
    pub multicast: Option<u8>,
    /// What it says.
    pub message: M,
}

/// Everything there is at one moment.
#[derive(Debug)]
pub struct State<P: Protocol> {
    /// What each site knows.
    pub sites: Vec<P::Site>,
    /// What is on its way.
    pub network: Vec<Packet<P::Message>>,
    /// How many transactions each session has started.
    pub started: Vec<u8>,
    /// What is recorded.
    pub log: Log,
    /// The order among atomic multicasts so far.
    pub multicasts: Multicasts,
    /// Faults that happened.
    pub spent: Spent,
    /// Sites that are down.
    pub down: SiteSet,
    /// Sites cut off from all others.
    pub cut: SiteSet,
}

impl<P: Protocol> Clone for State<P> {
    fn clone(&self) -> Self {
        State {
            sites: self.sites.clone(),
            network: self.network.clone(),
            started: self.started.clone(),
            log: self.log.clone(),
            multicasts: self.multicasts.clone(),
            spent: self.spent,
            down: self.down,
            cut: self.cut,
        }
    }
}

/// One thing that happens. Places of packets are those in the state it happens in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Move {
    /// A session starts its next transaction.
    Start(u8),
    /// A packet is delivered.
    Deliver(u16),
    /// A site acts by itself.
    Step(Site, u8),
    /// A packet is lost.
    Lose(u16),
    /// A packet is doubled.
    Double(u16),
    /// A site goes down.
    Crash(Site),
    /// A site comes up again.
    Recover(Site),
    /// A site is cut off: what it sends and is sent is lost.
    Cut(Site),
    /// The site is connected again.
    Heal(Site),
}

/// What happened, with the outcomes of the choices the handlers made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Action {
    /// What happened.
    pub step: Move,
    /// Outcomes of [`Context::choose`], in order.
    pub choices: Vec<u8>,
}

/// What an action did besides changing the state.
#[derive(Clone, Debug, Default)]
pub struct Did {
    /// The rules that fired, by place.
    pub rules: u64,
    /// Whether it recorded something whose order can matter.
    pub visible: bool,
    /// How many outcomes each choice had.
    pub widths: Vec<u8>,
    /// The outcomes of all choices, given or defaulted.
    pub choices: Vec<u8>,
}

/// What a site reacts to.
#[derive(Clone, Debug)]
pub(crate) enum Reaction<M> {
    Start(Txn),
    Receive(Site, M),
    Step(usize),
    Recover,
}

/// Whether what `from` sends reaches `to`.
pub(crate) fn connected(cut: SiteSet, from: Site, to: Site) -> bool {
    from == to || !cut.contains(from) && !cut.contains(to)
}

/// A protocol on a setup.
pub struct System<'a, P: Protocol> {
    /// The protocol.
    pub protocol: &'a P,
    /// The setup.
    pub setup: &'a Setup,
    /// The world around.
    pub world: World,
}

impl<P: Protocol> System<'_, P> {
    /// The state in which nothing happened yet.
    pub fn initial(&self) -> State<P> {
        let site = |site| self.protocol.site(self.setup, site);
        State {
            sites: self.setup.sites().map(site).collect(),
            network: Vec::new(),
            started: vec![0; self.setup.sessions().len()],
            log: Log::new(self.setup, self.world.detail),
            multicasts: Multicasts::default(),
            spent: Spent::default(),
            down: SiteSet::EMPTY,
            cut: SiteSet::EMPTY,
        }
    }

    /// Everything that can happen next, faults last. No faults: what must happen for progress.
    pub fn moves(&self, state: &State<P>, to: &mut Vec<Move>) {
        to.clear();
        if state.log.error.is_some() {
            return;
        }
        for (number, session) in self.setup.sessions().iter().enumerate() {
            if !state.down.contains(session.site) && self.next_txn(state, number).is_some() {
                to.push(Move::Start(number as u8));
            }
        }
        for place in 0..state.network.len() {
            if self.deliverable(state, place) {
                to.push(Move::Deliver(place as u16));
            }
        }
        for site in self
            .setup
            .sites()
            .filter(|site| !state.down.contains(*site))
        {
            let count = self
                .protocol
                .steps(self.setup, site, &state.sites[site.index()]);
            to.extend((0..count.min(255)).map(|number| Move::Step(site, number as u8)));
        }
        self.repairs(state, to);
        self.faults(state, to);
    }

    /// The transaction that a session could start now.
    pub fn next_txn(&self, state: &State<P>, session: usize) -> Option<Txn> {
        let started = usize::from(state.started[session]);
        let first: usize = self.setup.sessions()[..session]
            .iter()
            .map(|session| session.txns.len())
            .sum();
        let idle = started == 0
            || matches!(
                state.log.records[first + started - 1].status,
                Status::Committed | Status::Aborted
            );
        (idle && started < self.setup.sessions()[session].txns.len())
            .then(|| Txn((first + started) as u8))
    }

    fn deliverable(&self, state: &State<P>, place: usize) -> bool {
        let packet = &state.network[place];
        if state.down.contains(packet.to) {
            return false;
        }
        if let Some(number) = packet.multicast {
            return state.multicasts.may_deliver(number, packet.to);
        }
        let same_link = |other: &Packet<P::Message>| {
            other.multicast.is_none() && other.from == packet.from && other.to == packet.to
        };
        !self.world.fifo || !state.network[..place].iter().any(same_link)
    }

    /// What a state becomes. Choices beyond those given come out as 0.
    pub fn apply(&self, state: &mut State<P>, step: Move, choices: &[u8]) -> Did {
        let mut effects = Effects::new();
        effects.choices = choices.iter().map(|outcome| (*outcome, 255)).collect();
        if let Some((site, reaction)) = self.take(state, step) {
            let at = &mut state.sites[site.index()];
            self.react(site, at, &mut state.log, reaction, &mut effects);
            self.post(state, site, &mut effects);
        } else {
            self.fault(state, step);
        }
        Did {
            rules: effects.fired,
            visible: effects.marks.matter(self.world.detail),
            widths: effects.choices.iter().map(|choice| choice.1).collect(),
            choices: effects.choices.iter().map(|choice| choice.0).collect(),
        }
    }

    /// Takes what a site reacts to out of the state; nothing, if the move is a fault.
    fn take(&self, state: &mut State<P>, step: Move) -> Option<(Site, Reaction<P::Message>)> {
        match step {
            Move::Start(session) => {
                let session = usize::from(session);
                let txn = self.next_txn(state, session)?;
                state.started[session] += 1;
                Some((self.setup.sessions()[session].site, Reaction::Start(txn)))
            }
            Move::Deliver(place) => {
                let packet = state.network.remove(usize::from(place));
                if let Some(number) = packet.multicast {
                    state.multicasts.deliver(number, packet.to);
                }
                Some((packet.to, Reaction::Receive(packet.from, packet.message)))
            }
            Move::Step(site, number) => Some((site, Reaction::Step(number.into()))),
            Move::Recover(site) => {
                state.down.remove(site);
                Some((site, Reaction::Recover))
            }
            Move::Lose(_) | Move::Double(_) | Move::Crash(_) | Move::Cut(_) | Move::Heal(_) => None,
        }
    }

    /// Runs the handler of a site, then those of the messages that the site sent itself. What it
    /// sent to others is left in `effects`.
    pub(crate) fn react(
        &self,
        site: Site,
        at: &mut P::Site,
        log: &mut Log,
        reaction: Reaction<P::Message>,
        effects: &mut Effects<P::Message>,
    ) {
        if let Reaction::Start(txn) = reaction {
            log.start(txn);
            effects.marks.ends = true;
        }
        let mut context = Context {
            setup: self.setup,
            site,
            log,
            rules: self.protocol.rules(),
            effects,
        };
        match reaction {
            Reaction::Start(txn) => self.protocol.start(at, txn, &mut context),
            Reaction::Receive(from, message) => {
                self.protocol.receive(at, from, message, &mut context);
            }
            Reaction::Step(number) => self.protocol.step(at, number, &mut context),
            Reaction::Recover => self.protocol.recover(at, &mut context),
        }
        if self.world.network_to_self {
            return;
        }
        // Messages to the site itself are handled in the order sent; handling may send more.
        let mut place = 0;
        while place < context.effects.sent.len() {
            if context.effects.sent[place].0 == site {
                let (_, message) = context.effects.sent.remove(place);
                self.protocol.receive(at, site, message, &mut context);
            } else {
                place += 1;
            }
        }
    }

    /// Puts what a site sent on its way.
    fn post(&self, state: &mut State<P>, site: Site, effects: &mut Effects<P::Message>) {
        for (to, message) in effects.sent.drain(..) {
            if connected(state.cut, site, to) {
                state.network.push(Packet {
                    from: site,
                    to,
                    multicast: None,
                    message,
                });
            }
        }
        for (sites, message) in effects.multicast.drain(..) {
            let number = state.multicasts.send(sites);
            for to in sites.iter() {
                state.network.push(Packet {
                    from: site,
                    to,
                    multicast: Some(number),
                    message: message.clone(),
                });
            }
        }
    }

    /// Calls `each` with every successor, the action that leads to it and what it did.
    pub fn successors(&self, state: &State<P>, mut each: impl FnMut(Action, State<P>, Did)) {
        let mut moves = Vec::new();
        self.moves(state, &mut moves);
        for step in moves {
            let mut choices: Vec<u8> = Vec::new();
            loop {
                let mut next = state.clone();
                let did = self.apply(&mut next, step, &choices);
                let action = Action {
                    step,
                    choices: did.choices.clone(),
                };
                let more = next_choices(&did, &mut choices);
                each(action, next, did);
                if !more {
                    break;
                }
            }
        }
    }
}

/// Steps `choices` to the next combination of outcomes after the one that `did` saw.
pub(crate) fn next_choices(did: &Did, choices: &mut Vec<u8>) -> bool {
    choices.clone_from(&did.choices);
    while let Some(last) = choices.pop() {
        if last + 1 < did.widths[choices.len()] {
            choices.push(last + 1);
            return true;
        }
    }
    false
}
