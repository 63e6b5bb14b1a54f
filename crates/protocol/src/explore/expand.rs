//! The successors of an encoded state of a protocol.
//!
//! Steps: decode the state; list its moves; if one of them commutes with everything (the protocol
//! says so) and records nothing whose order matters, take it alone; otherwise take each, with each
//! outcome of its choices. A handler runs on a copy of its site; the log takes back what it
//! recorded; only the parts that changed are encoded and hashed.
//!
//! Why one move is enough: a move that is independent of all that can happen until it happens is
//! a persistent set by itself, and persistent sets reach every final state (Godefroid 1996). The
//! states of a protocol's runs have no cycles, as every run ends, so no move is ignored for ever.

use super::finals::Finals;
use super::hash::finish;
use super::parts::{Parts, ordered_sum, packet_hash, rest_hash, site_hash};
use super::rest::{encode_log, encode_rest};
use super::search::{Machine, Sink};
use crate::codec::{CodecError, Renaming, encode};
use crate::context::Effects;
use crate::id::Site;
use crate::multicast::Multicasts;
use crate::protocol::{Input, Protocol};
use crate::system::{Did, Move, Packet, Reaction, State, System, connected, next_choices};

/// A protocol on a setup, as something to search.
pub(crate) struct Expander<'a, P: Protocol> {
    pub system: System<'a, P>,
    /// What the symmetry of the setup allows.
    pub renamings: Vec<Renaming>,
    /// Whether moves that commute are taken alone.
    pub partial_order: bool,
}

/// What one thread works with.
pub(crate) struct Worker<P: Protocol> {
    pub finals: Finals,
    /// Rules that fired.
    pub fired: u64,
    moves: Vec<Move>,
    effects: Effects<P::Message>,
    /// Per renaming, the one that changes nothing first: the sum over all parts, and each part.
    sums: Vec<Sums>,
    site: Vec<u8>,
    rest: Vec<u8>,
    packets: Vec<u8>,
    packet_ends: Vec<usize>,
    other: Vec<u8>,
    /// The state expanded last, and its bytes.
    state: Option<State<P>>,
    last: Vec<u8>,
}

#[derive(Default)]
struct Sums {
    all: u64,
    sites: Vec<u64>,
    packets: Vec<u64>,
    rest: u64,
}

impl<P: Protocol> Worker<P> {
    /// Forgets what was particular to a setup.
    pub fn next_setup(&mut self) {
        self.finals.next_setup();
        self.state = None;
    }

    pub fn new(finals: Finals) -> Self {
        Worker {
            finals,
            fired: 0,
            moves: Vec::new(),
            effects: Effects::new(),
            sums: Vec::new(),
            site: Vec::new(),
            rest: Vec::new(),
            packets: Vec::new(),
            packet_ends: Vec::new(),
            other: Vec::new(),
            state: None,
            last: Vec::new(),
        }
    }
}

/// What a move changes.
struct Change<P: Protocol> {
    site: Site,
    at: P::Site,
    removed: Option<usize>,
    packets: Vec<Packet<P::Message>>,
    rest: bool,
}

impl<P: Protocol> Machine for Expander<'_, P> {
    type Worker = Worker<P>;

    fn initial(&self, worker: &mut Worker<P>, to: &mut Vec<u8>) -> u64 {
        let state = self.system.initial();
        self.write_whole(&state, to)
            .and_then(|()| {
                let parts = Parts::of(to, state.sites.len());
                self.sum(worker, &state, &parts)
            })
            .map_or(1, |()| self.fingerprint(worker))
    }

    fn expand(&self, worker: &mut Worker<P>, place: u32, bytes: &[u8], sink: &mut Sink<'_>) {
        let sites = self.system.setup.sites().count();
        let parts = Parts::of(bytes, sites);
        let mut last = std::mem::take(&mut worker.last);
        let done = match worker.state.take() {
            Some(state) => Ok(state),
            None => {
                let state = self.system.initial();
                last.clear();
                self.write_whole(&state, &mut last).map(|()| state)
            }
        };
        let done = done.and_then(|mut state| {
            parts.decode(&mut state, &Parts::of(&last, sites))?;
            self.expand_state(worker, place, &mut state, &parts, sink)?;
            worker.state = Some(state);
            Ok(())
        });
        worker.last = last;
        worker.last.clear();
        worker.last.extend_from_slice(bytes);
        if let Err(error) = done {
            worker
                .finals
                .wrong(place, &format!("a state cannot be encoded: {error}"));
        }
    }
}

impl<P: Protocol> Expander<'_, P> {
    fn expand_state(
        &self,
        worker: &mut Worker<P>,
        place: u32,
        state: &mut State<P>,
        parts: &Parts<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), CodecError> {
        let mut moves = std::mem::take(&mut worker.moves);
        self.system.moves(state, &mut moves);
        if moves.is_empty() {
            worker.other.clear();
            encode_log(&state.log, &mut worker.other);
            let key = rest_hash(&worker.other);
            worker.finals.see(self.system.setup, place, &state.log, key);
        } else {
            self.sum(worker, state, parts)?;
            if !self.take_alone(worker, state, parts, &moves, sink)? {
                for (number, step) in moves.iter().enumerate() {
                    if !self.repeats(state, parts, *step) {
                        self.take(worker, state, parts, (number, *step), sink)?;
                    }
                }
            }
        }
        worker.moves = moves;
        Ok(())
    }

    /// Whether the move delivers a packet equal to an earlier one.
    fn repeats(&self, state: &State<P>, parts: &Parts<'_>, step: Move) -> bool {
        let (Move::Deliver(place) | Move::Lose(place) | Move::Double(place)) = step else {
            return false;
        };
        let place = usize::from(place);
        state.network[place].multicast.is_none()
            && !self.system.world.fifo
            && parts.packets[..place].contains(&parts.packets[place])
    }

    /// Takes a move that commutes with all others, if there is one; whether there was.
    fn take_alone(
        &self,
        worker: &mut Worker<P>,
        state: &mut State<P>,
        parts: &Parts<'_>,
        moves: &[Move],
        sink: &mut Sink<'_>,
    ) -> Result<bool, CodecError> {
        if !self.partial_order {
            return Ok(false);
        }
        for (number, step) in moves.iter().enumerate() {
            if !self.commutes(state, *step) {
                continue;
            }
            let before = self.undoable(state, *step);
            let Some((change, did)) = self.change(worker, state, *step, &[]) else {
                continue;
            };
            let alone = !did.visible && did.choices.is_empty() && state.log.error.is_none();
            if alone {
                worker.fired |= did.rules;
                self.offer(worker, state, parts, &change, (number, 0), sink)?;
            }
            self.take_back(state, *step, before);
            if alone {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn commutes(&self, state: &State<P>, step: Move) -> bool {
        let (site, input) = match step {
            Move::Start(session) => {
                let number = usize::from(session);
                let Some(txn) = self.system.next_txn(state, number) else {
                    return false;
                };
                let site = self.system.setup.sessions()[number].site;
                (site, Input::Start(txn))
            }
            Move::Deliver(place) => {
                let packet = &state.network[usize::from(place)];
                if packet.multicast.is_some() {
                    return false;
                }
                (packet.to, Input::Message(packet.from, &packet.message))
            }
            Move::Step(site, number) => (site, Input::Step(number.into())),
            _ => return false,
        };
        let at = &state.sites[site.index()];
        self.system
            .protocol
            .commutes(self.system.setup, site, at, input)
    }

    /// Takes a move with every outcome of its choices.
    fn take(
        &self,
        worker: &mut Worker<P>,
        state: &mut State<P>,
        parts: &Parts<'_>,
        (number, step): (usize, Move),
        sink: &mut Sink<'_>,
    ) -> Result<(), CodecError> {
        let mut choices: Vec<u8> = Vec::new();
        for choice in 0..=u16::MAX {
            let before = self.undoable(state, step);
            let did = match self.change(worker, state, step, &choices) {
                Some((change, did)) => {
                    self.offer(worker, state, parts, &change, (number, choice), sink)?;
                    did
                }
                None => self.take_whole(worker, state, (number, choice), step, &choices, sink)?,
            };
            self.take_back(state, step, before);
            worker.fired |= did.rules;
            if !next_choices(&did, &mut choices) {
                break;
            }
        }
        Ok(())
    }

    fn undoable(&self, state: &mut State<P>, step: Move) -> Option<Multicasts> {
        state.log.begin();
        if let Move::Start(session) = step {
            state.started[usize::from(session)] += 1;
        }
        (!state.multicasts.is_empty()).then(|| state.multicasts.clone())
    }

    fn take_back(&self, state: &mut State<P>, step: Move, before: Option<Multicasts>) {
        state.log.take_back();
        if let Move::Start(session) = step {
            state.started[usize::from(session)] -= 1;
        }
        state.multicasts = before.unwrap_or_default();
    }

    /// What a move of one site changes; the log and the multicasts of `state` are changed. Nothing
    /// for faults and recoveries, which may change more.
    fn change(
        &self,
        worker: &mut Worker<P>,
        state: &mut State<P>,
        step: Move,
        choices: &[u8],
    ) -> Option<(Change<P>, Did)> {
        let (site, reaction, removed) = match step {
            Move::Start(session) => {
                let number = usize::from(session);
                // `undoable` counted it as started already.
                state.started[number] -= 1;
                let txn = self.system.next_txn(state, number);
                state.started[number] += 1;
                let site = self.system.setup.sessions()[number].site;
                (site, Reaction::Start(txn?), None)
            }
            Move::Deliver(place) => {
                let packet = &state.network[usize::from(place)];
                let (to, multicast) = (packet.to, packet.multicast);
                let reaction = Reaction::Receive(packet.from, packet.message.clone());
                if let Some(number) = multicast {
                    state.multicasts.deliver(number, to);
                }
                (to, reaction, Some(usize::from(place)))
            }
            Move::Step(site, number) => (site, Reaction::Step(number.into()), None),
            _ => return None,
        };
        let effects = &mut worker.effects;
        effects.rewind();
        effects.choices.clear();
        effects
            .choices
            .extend(choices.iter().map(|outcome| (*outcome, 255)));
        let mut at = state.sites[site.index()].clone();
        self.system
            .react(site, &mut at, &mut state.log, reaction, effects);
        let packets = post(state, site, effects);
        let multicast = packets.iter().any(|packet| packet.multicast.is_some());
        let delivered = removed.is_some_and(|place| state.network[place].multicast.is_some());
        let started = matches!(step, Move::Start(_));
        let change = Change {
            site,
            at,
            removed,
            packets,
            rest: started || state.log.is_changed() || multicast || delivered,
        };
        let did = Did {
            rules: effects.fired,
            visible: effects.marks.matter(self.system.world.detail),
            widths: effects.choices.iter().map(|choice| choice.1).collect(),
            choices: effects.choices.iter().map(|choice| choice.0).collect(),
        };
        Some((change, did))
    }

    /// Offers the state that a change makes of `state`.
    fn offer(
        &self,
        worker: &mut Worker<P>,
        state: &State<P>,
        parts: &Parts<'_>,
        change: &Change<P>,
        (step, choice): (usize, u16),
        sink: &mut Sink<'_>,
    ) -> Result<(), CodecError> {
        let mut least = self.sum_changed(worker, state, change, None, 0)?;
        if self.system.world.fifo {
            least = self.sum_ordered(worker, parts, change, least);
        }
        let mut fingerprint = finish(least);
        for (number, names) in self.renamings.iter().enumerate() {
            let sum = self.sum_changed(worker, state, change, Some(names), number + 1)?;
            fingerprint = fingerprint.min(finish(sum));
        }
        let rest = if change.rest {
            &worker.rest
        } else {
            parts.rest
        };
        sink.offer(fingerprint, step as u16, choice, |to| {
            let site = change.site.index();
            let sites = parts.sites.iter().enumerate();
            let sites = sites.map(|(place, part)| if place == site { &worker.site } else { *part });
            Parts::write(sites, rest, packets(worker, parts, change.removed), to);
        });
        Ok(())
    }

    /// The sum over the parts after a change, under a renaming. Without one, the bytes of what
    /// changed stay in the worker.
    fn sum_changed(
        &self,
        worker: &mut Worker<P>,
        state: &State<P>,
        change: &Change<P>,
        names: Option<&Renaming>,
        number: usize,
    ) -> Result<u64, CodecError> {
        let sums = &worker.sums[number];
        let site = change.site.index();
        let mut sum = sums.all.wrapping_sub(sums.sites[site]);
        let plain = names.is_none();
        let to = if plain {
            &mut worker.site
        } else {
            &mut worker.other
        };
        to.clear();
        encode(&change.at, names, to)?;
        sum = sum.wrapping_add(site_hash(to, change.site, names));
        if let Some(place) = change.removed {
            sum = sum.wrapping_sub(sums.packets[place]);
        }
        if plain {
            worker.packets.clear();
            worker.packet_ends.clear();
        }
        for packet in &change.packets {
            let to = if plain {
                &mut worker.packets
            } else {
                &mut worker.other
            };
            let start = if plain { to.len() } else { 0 };
            to.truncate(start);
            encode(packet, names, to)?;
            sum = sum.wrapping_add(packet_hash(&to[start..], 0));
            if plain {
                worker.packet_ends.push(to.len());
            }
        }
        if change.rest {
            let to = if plain {
                &mut worker.rest
            } else {
                &mut worker.other
            };
            to.clear();
            encode_rest(state, names, to)?;
            sum = sum.wrapping_sub(sums.rest).wrapping_add(rest_hash(to));
        }
        Ok(sum)
    }

    /// Corrects a sum for packets that count with their rank.
    fn sum_ordered(
        &self,
        worker: &Worker<P>,
        parts: &Parts<'_>,
        change: &Change<P>,
        sum: u64,
    ) -> u64 {
        let all = || packets(worker, parts, change.removed);
        let unordered = all().fold(0u64, |sum, packet| sum.wrapping_add(packet_hash(packet, 0)));
        sum.wrapping_sub(unordered).wrapping_add(ordered_sum(all()))
    }

    /// Sums up all parts of a state, under every renaming.
    fn sum(
        &self,
        worker: &mut Worker<P>,
        state: &State<P>,
        parts: &Parts<'_>,
    ) -> Result<(), CodecError> {
        worker
            .sums
            .resize_with(1 + self.renamings.len(), Sums::default);
        let names = std::iter::once(None).chain(self.renamings.iter().map(Some));
        for (sums, names) in worker.sums.iter_mut().zip(names) {
            sums.sites.clear();
            sums.packets.clear();
            for (place, part) in parts.sites.iter().enumerate() {
                let site = Site(place as u8);
                let bytes = match names {
                    None => part,
                    Some(_) => renamed(&state.sites[place], names, &mut worker.other)?,
                };
                sums.sites.push(site_hash(bytes, site, names));
            }
            for (packet, part) in state.network.iter().zip(&parts.packets) {
                let bytes = match names {
                    None => part,
                    Some(_) => renamed(packet, names, &mut worker.other)?,
                };
                sums.packets.push(packet_hash(bytes, 0));
            }
            sums.rest = match names {
                None => rest_hash(parts.rest),
                Some(_) => {
                    worker.other.clear();
                    encode_rest(state, names, &mut worker.other)?;
                    rest_hash(&worker.other)
                }
            };
            let all = sums.sites.iter().chain(&sums.packets);
            sums.all = all.fold(sums.rest, |sum, part| sum.wrapping_add(*part));
        }
        Ok(())
    }

    fn fingerprint(&self, worker: &Worker<P>) -> u64 {
        let all = worker.sums.iter().map(|sums| finish(sums.all));
        all.min().unwrap_or(1)
    }

    /// Takes a move that may change anything, the long way.
    fn take_whole(
        &self,
        worker: &mut Worker<P>,
        state: &State<P>,
        (number, choice): (usize, u16),
        step: Move,
        choices: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<Did, CodecError> {
        let mut next = state.clone();
        let did = self.system.apply(&mut next, step, choices);
        let mut bytes = Vec::new();
        self.write_whole(&next, &mut bytes)?;
        let parts = Parts::of(&bytes, next.sites.len());
        let mut fresh = Worker::new(Finals::none());
        self.sum(&mut fresh, &next, &parts)?;
        let mut fingerprint = self.fingerprint(&fresh);
        if self.system.world.fifo {
            let packets = || parts.packets.iter().copied();
            let unordered =
                packets().fold(0u64, |sum, part| sum.wrapping_add(packet_hash(part, 0)));
            let sum = fresh.sums[0].all.wrapping_sub(unordered);
            fingerprint = finish(sum.wrapping_add(ordered_sum(packets())));
        }
        worker.fired |= did.rules;
        sink.offer(fingerprint, number as u16, choice, |to| to.extend(&bytes));
        Ok(did)
    }

    fn write_whole(&self, state: &State<P>, to: &mut Vec<u8>) -> Result<(), CodecError> {
        let bytes = |value: &dyn Fn(&mut Vec<u8>) -> Result<(), CodecError>| {
            let mut bytes = Vec::new();
            value(&mut bytes).map(|()| bytes)
        };
        let mut sites = Vec::new();
        for site in &state.sites {
            sites.push(bytes(&|to| encode(site, None, to))?);
        }
        let mut packets = Vec::new();
        for packet in &state.network {
            packets.push(bytes(&|to| encode(packet, None, to))?);
        }
        let rest = bytes(&|to| encode_rest(state, None, to))?;
        let too_long = |part: &Vec<u8>| part.len() > usize::from(u16::MAX);
        if sites.iter().chain(&packets).chain([&rest]).any(too_long) {
            return Err(serde::ser::Error::custom("a part of over 65535 bytes"));
        }
        let sites = sites.iter().map(Vec::as_slice);
        Parts::write(sites, &rest, packets.iter().map(Vec::as_slice), to);
        Ok(())
    }
}

/// What a site sent, as packets; `state` takes note of multicasts.
fn post<P: Protocol>(
    state: &mut State<P>,
    from: Site,
    effects: &mut Effects<P::Message>,
) -> Vec<Packet<P::Message>> {
    let mut packets = Vec::new();
    for (to, message) in effects.sent.drain(..) {
        if connected(state.cut, from, to) {
            packets.push(Packet {
                from,
                to,
                multicast: None,
                message,
            });
        }
    }
    for (sites, message) in effects.multicast.drain(..) {
        let multicast = Some(state.multicasts.send(sites));
        packets.extend(sites.iter().map(|to| Packet {
            from,
            to,
            multicast,
            message: message.clone(),
        }));
    }
    packets
}

/// The packets after a change: those before it but the one removed, then the new ones.
fn packets<'b, P: Protocol>(
    worker: &'b Worker<P>,
    parts: &'b Parts<'_>,
    removed: Option<usize>,
) -> impl Iterator<Item = &'b [u8]> + Clone {
    let starts = std::iter::once(0).chain(worker.packet_ends.iter().copied());
    let added = starts.zip(&worker.packet_ends);
    let added = added.map(|(start, end)| &worker.packets[start..*end]);
    let kept = parts.packets.iter().enumerate();
    let kept = kept.filter(move |(place, _)| Some(*place) != removed);
    kept.map(|(_, part)| *part).chain(added)
}

fn renamed<'a, T: serde::Serialize>(
    value: &T,
    names: Option<&Renaming>,
    to: &'a mut Vec<u8>,
) -> Result<&'a [u8], CodecError> {
    to.clear();
    encode(value, names, to)?;
    Ok(to)
}
