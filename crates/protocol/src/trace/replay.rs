//! Does again what a trace says, and writes down what happens.

use super::{Cause, Happened, Message, Run, Step, words};
use crate::id::Txn;
use crate::log::{Detail, Event, Log, Status};
use crate::property::to_history;
use crate::protocol::Protocol;
use crate::setup::Setup;
use crate::system::{Action, Move, Packet, State, System, World};

/// The run that `trace` describes. Refused, with the reason, if the trace asks for something that
/// cannot happen.
pub(crate) fn replay<P: Protocol>(
    protocol: &P,
    world: World,
    sessions: bool,
    setup: &Setup,
    trace: &[Action],
) -> Result<Run, String> {
    let log = in_detail(protocol, world, setup, trace)?;
    let world = World {
        detail: Detail::Full,
        ..world
    };
    let system = System {
        protocol,
        setup,
        world,
    };
    let mut recorder = Recorder {
        system: &system,
        state: system.initial(),
        on_the_way: Vec::new(),
        messages: Vec::new(),
        steps: Vec::new(),
    };
    for action in trace {
        recorder.record(action);
    }
    let mut left = Vec::new();
    system.moves(&recorder.state, &mut left);
    let faults = |step: &Move| {
        matches!(
            step,
            Move::Lose(_) | Move::Double(_) | Move::Crash(_) | Move::Cut(_)
        )
    };
    Ok(Run {
        setup: setup.clone(),
        steps: recorder.steps,
        messages: recorder.messages,
        history: to_history(setup, &log, protocol.version_order(), sessions),
        log,
        complete: left.iter().all(faults),
    })
}

/// The log of the trace as the exploration recorded it.
fn in_detail<P: Protocol>(
    protocol: &P,
    world: World,
    setup: &Setup,
    trace: &[Action],
) -> Result<Log, String> {
    let system = System {
        protocol,
        setup,
        world,
    };
    let mut state = system.initial();
    let mut possible = Vec::new();
    for (number, action) in trace.iter().enumerate() {
        system.moves(&state, &mut possible);
        if !possible.contains(&action.step) {
            let step = format!("{:?}", action.step);
            return Err(format!("step {} cannot happen: {step}", number + 1));
        }
        let did = system.apply(&mut state, action.step, &action.choices);
        if did.choices != action.choices {
            return Err(format!("step {} makes other choices", number + 1));
        }
    }
    Ok(state.log)
}

struct Recorder<'a, P: Protocol> {
    system: &'a System<'a, P>,
    state: State<P>,
    /// What is in the network, in any order, with its place among the messages.
    on_the_way: Vec<(String, usize)>,
    messages: Vec<Message>,
    steps: Vec<Step>,
}

impl<P: Protocol> Recorder<'_, P> {
    fn record(&mut self, action: &Action) {
        let before = self.state.log.clone();
        let number = self.steps.len();
        let touched = self.touched(action.step);
        let did = self
            .system
            .apply(&mut self.state, action.step, &action.choices);
        let (site, cause) = self.cause(action.step, touched, &before);
        if let Some(place) = touched {
            self.leave(place, action.step, number);
        }
        let sent = self.sent(action.step, number);
        let cause = match (cause, self.vanished(number)) {
            (Cause::Cut(_), lost) => Cause::Cut(lost),
            (Cause::Doubled(original), _) => {
                Cause::Doubled(sent.first().copied().unwrap_or(original))
            }
            (cause, _) => cause,
        };
        let rules = self.system.protocol.rules().iter().enumerate();
        let fired = rules.filter(|(place, _)| did.rules & (1 << (place & 63)) != 0);
        self.steps.push(Step {
            site,
            cause,
            rules: fired.map(|(_, rule)| rule.to_string()).collect(),
            events: events(&before, &self.state.log),
            sent,
        });
    }

    /// The message that a move is about.
    fn touched(&self, step: Move) -> Option<usize> {
        let (Move::Deliver(place) | Move::Lose(place) | Move::Double(place)) = step else {
            return None;
        };
        let wanted = key(self.state.network.get(usize::from(place))?);
        let found = self.on_the_way.iter().find(|(text, _)| *text == wanted);
        found.map(|(_, message)| *message)
    }

    fn cause(&self, step: Move, touched: Option<usize>, before: &Log) -> (crate::Site, Cause) {
        let message = touched.unwrap_or_default();
        let to = |message: usize| self.messages.get(message).map_or(crate::Site(0), |m| m.to);
        match step {
            Move::Start(session) => {
                let now = &self.state.log;
                let started = before.with(Status::Waiting);
                let mut started = started.filter(|txn| now.record(*txn).status != Status::Waiting);
                let site = self.system.setup.sessions()[usize::from(session)].site;
                (site, Cause::Start(started.next().unwrap_or(Txn(0))))
            }
            Move::Deliver(_) => (to(message), Cause::Delivery(message)),
            Move::Step(site, number) => (site, Cause::Internal(number)),
            Move::Lose(_) => (to(message), Cause::Lost(message)),
            Move::Double(_) => (to(message), Cause::Doubled(message)),
            Move::Crash(site) => (site, Cause::Crash),
            Move::Recover(site) => (site, Cause::Recovery),
            Move::Cut(site) => (site, Cause::Cut(Vec::new())),
            Move::Heal(site) => (site, Cause::Healed),
        }
    }

    /// Notes that a message left the network by a delivery or a loss.
    fn leave(&mut self, message: usize, step: Move, number: usize) {
        match step {
            Move::Deliver(_) => self.messages[message].delivered = Some(number),
            Move::Lose(_) => self.messages[message].lost = Some(number),
            _ => return,
        }
        self.on_the_way.retain(|(_, other)| *other != message);
    }

    /// What the network has now and had not before. Messages alike are taken for one another.
    fn sent(&mut self, step: Move, number: usize) -> Vec<usize> {
        let mut known: Vec<&str> = self
            .on_the_way
            .iter()
            .map(|(text, _)| text.as_str())
            .collect();
        let mut new = Vec::new();
        for packet in &self.state.network {
            let text = key(packet);
            match known.iter().position(|other| *other == text) {
                Some(place) => {
                    known.swap_remove(place);
                }
                None => new.push((text, packet)),
            }
        }
        let mut sent = Vec::new();
        for (text, packet) in new {
            let copy = if matches!(step, Move::Double(_)) {
                " again"
            } else {
                ""
            };
            sent.push(self.messages.len());
            self.on_the_way.push((text, self.messages.len()));
            self.messages.push(Message {
                from: packet.from,
                to: packet.to,
                text: words::message(&packet.message) + copy,
                multicast: packet.multicast.is_some(),
                sent: number,
                delivered: None,
                lost: None,
            });
        }
        sent
    }

    /// Messages that are in the network no more, though nobody delivered them.
    fn vanished(&mut self, number: usize) -> Vec<usize> {
        let mut there: Vec<String> = self.state.network.iter().map(key).collect();
        let mut lost = Vec::new();
        self.on_the_way.retain(|(text, message)| {
            let place = there.iter().position(|other| other == text);
            match place {
                Some(place) => {
                    there.swap_remove(place);
                }
                None => lost.push(*message),
            }
            place.is_some()
        });
        for message in &lost {
            self.messages[*message].lost = Some(number);
        }
        lost
    }
}

/// What makes two packets the same.
fn key<M: std::fmt::Debug>(packet: &Packet<M>) -> String {
    format!(
        "{} {} {:?} {:?}",
        packet.from, packet.to, packet.multicast, packet.message
    )
}

/// What a step added to the log.
fn events(before: &Log, after: &Log) -> Vec<Happened> {
    let mut events = Vec::new();
    for txn in Txn::first(after.records.len()) {
        let (old, new) = (before.record(txn), after.record(txn));
        for (key, version) in added(&old.reads, &new.reads) {
            let writer = words::writer(after, key, version);
            events.push(Happened::Read(txn, key, version, writer));
        }
        for (key, version) in added(&old.writes, &new.writes) {
            events.push(Happened::Write(txn, key, version));
        }
    }
    for (key, versions) in after.installed.iter().enumerate() {
        let key = crate::Key(key as u8);
        for version in &versions[before.installed[key.index()].len().min(versions.len())..] {
            let writer = words::writer(after, key, *version);
            events.push(Happened::Installed(key, *version, writer));
        }
    }
    for event in &after.events[before.events.len().min(after.events.len())..] {
        match *event {
            Event::Start(_) => {}
            Event::Commit(txn) => events.push(Happened::Commit(txn)),
            Event::Abort(txn) => events.push(Happened::Abort(txn)),
            Event::Applied(txn, _) => events.push(Happened::Applied(txn)),
        }
    }
    if let (None, Some(error)) = (&before.error, &after.error) {
        events.push(Happened::Wrong(error.clone()));
    }
    events
}

/// What the second list has and the first has not.
fn added<T: Copy + PartialEq>(old: &[T], new: &[T]) -> Vec<T> {
    let mut old = old.to_vec();
    let mut added = Vec::new();
    for item in new {
        match old.iter().position(|other| other == item) {
            Some(place) => {
                old.remove(place);
            }
            None => added.push(*item),
        }
    }
    added
}
