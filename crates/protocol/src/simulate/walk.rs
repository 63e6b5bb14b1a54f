//! One run, step by step, with a note on every packet on its way.
//!
//! A state does not say where its packets come from. A walk does: whenever a step sends packets, the
//! caller's note is attached to each, and it stays with the packet until that is delivered or lost.

use super::random::Random;
use crate::fault::survives_cut;
use crate::protocol::Protocol;
use crate::system::{Action, Did, Move, Packet, State, System};

/// A run so far.
pub(crate) struct Walk<'a, 's, P: Protocol, N> {
    pub system: &'a System<'s, P>,
    pub state: State<P>,
    /// One for each packet of the state's network, in its order.
    pub notes: Vec<N>,
    pub trace: Vec<Action>,
    /// All rules that fired, by place.
    pub rules: u64,
    /// What can happen next that is no fault.
    pub moves: Vec<Move>,
    /// The faults that can happen next.
    pub faults: Vec<Move>,
}

impl<'a, 's, P: Protocol, N> Walk<'a, 's, P, N> {
    pub fn new(system: &'a System<'s, P>) -> Self {
        let mut walk = Walk {
            system,
            state: system.initial(),
            notes: Vec::new(),
            trace: Vec::new(),
            rules: 0,
            moves: Vec::new(),
            faults: Vec::new(),
        };
        walk.look();
        walk
    }

    /// Does a step, its choices drawn at random. Which choices come later can depend on the
    /// earlier ones, so the step is tried once more for each.
    ///
    /// `note` gives each packet sent its note, told how many the step sent before it.
    pub fn take(
        &mut self,
        step: Move,
        random: &mut Random,
        mut note: impl FnMut(usize, &Packet<P::Message>, &mut Random) -> N,
    ) {
        let mut choices = Vec::new();
        loop {
            let mut next = self.state.clone();
            let did = self.system.apply(&mut next, step, &choices);
            match did.widths.get(choices.len()) {
                Some(width) => choices.push(random.below(usize::from(*width)) as u8),
                None => {
                    self.go(step, next, did, |number, packet| {
                        note(number, packet, random)
                    });
                    return;
                }
            }
        }
    }

    /// Goes on to `next`, which `step` made of the state.
    fn go(
        &mut self,
        step: Move,
        next: State<P>,
        did: Did,
        mut note: impl FnMut(usize, &Packet<P::Message>) -> N,
    ) {
        match step {
            Move::Deliver(place) | Move::Lose(place) => {
                self.notes.remove(usize::from(place));
            }
            Move::Cut(site) => {
                let mut packets = self.state.network.iter();
                let mut survives = || packets.next().is_some_and(|one| survives_cut(one, site));
                self.notes.retain(|_| survives());
            }
            _ => {}
        }
        self.state = next;
        let sent = self.state.network.iter().skip(self.notes.len()).enumerate();
        self.notes
            .extend(sent.map(|(number, packet)| note(number, packet)));
        self.rules |= did.rules;
        self.trace.push(Action {
            step,
            choices: did.choices,
        });
        self.look();
    }

    fn look(&mut self) {
        self.system.moves(&self.state, &mut self.moves);
        let first = self.moves.iter().position(|step| is_fault(*step));
        let first = first.unwrap_or(self.moves.len());
        self.faults.clear();
        self.faults.extend(self.moves.drain(first..));
    }
}

/// Whether the move is something that must not be needed for progress.
fn is_fault(step: Move) -> bool {
    matches!(
        step,
        Move::Lose(_) | Move::Double(_) | Move::Crash(_) | Move::Cut(_)
    )
}
