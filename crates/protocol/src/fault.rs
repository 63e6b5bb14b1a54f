//! Faults within a budget: lost and doubled messages, crashes, sites cut off.

use crate::id::Site;
use crate::protocol::Protocol;
use crate::system::{Move, Packet, State, System};
use serde::{Deserialize, Serialize};

/// How many faults of each kind may happen in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Faults {
    /// Messages lost.
    pub lose: u8,
    /// Messages delivered twice.
    pub double: u8,
    /// Crashes of a site, each followed by a recovery at some time.
    pub crash: u8,
    /// Times that a site is cut off from all others, until healed at some time.
    pub cut: u8,
}

/// How many faults happened.
pub type Spent = Faults;

impl<P: Protocol> System<'_, P> {
    /// Recoveries and healings, which always come in the end.
    pub(crate) fn repairs(&self, state: &State<P>, to: &mut Vec<Move>) {
        to.extend(state.down.iter().map(Move::Recover));
        to.extend(state.cut.iter().map(Move::Heal));
    }

    pub(crate) fn faults(&self, state: &State<P>, to: &mut Vec<Move>) {
        let (budget, spent) = (self.world.faults, state.spent);
        let packets = || 0..state.network.len() as u16;
        let remote = |place: &u16| {
            let packet = &state.network[usize::from(*place)];
            packet.from != packet.to && packet.multicast.is_none()
        };
        if spent.lose < budget.lose {
            to.extend(packets().filter(remote).map(Move::Lose));
        }
        if spent.double < budget.double {
            to.extend(packets().filter(remote).map(Move::Double));
        }
        let unfinished = self.unfinished(state);
        let up = |site: &Site| unfinished && !state.down.contains(*site);
        if spent.crash < budget.crash {
            to.extend(self.setup.sites().filter(up).map(Move::Crash));
        }
        if spent.cut < budget.cut {
            let connected = |site: &Site| unfinished && !state.cut.contains(*site);
            to.extend(self.setup.sites().filter(connected).map(Move::Cut));
        }
    }

    /// Whether anything is left that a fault could disturb.
    fn unfinished(&self, state: &State<P>) -> bool {
        !state.network.is_empty()
            || self.setup.txns().any(|txn| {
                let ended: crate::id::TxnSet = state.log.ended();
                !ended.contains(txn)
            })
    }

    pub(crate) fn fault(&self, state: &mut State<P>, step: Move) {
        match step {
            Move::Lose(place) => {
                state.network.remove(usize::from(place));
                state.spent.lose += 1;
            }
            Move::Double(place) => {
                let copy = state.network[usize::from(place)].clone();
                state.network.push(copy);
                state.spent.double += 1;
            }
            Move::Crash(site) => {
                self.protocol
                    .crash(self.setup, site, &mut state.sites[site.index()]);
                state.down.insert(site);
                state.spent.crash += 1;
            }
            Move::Cut(site) => {
                state.network.retain(|packet| survives_cut(packet, site));
                state.cut.insert(site);
                state.spent.cut += 1;
            }
            Move::Heal(site) => {
                state.cut.remove(site);
            }
            Move::Start(_) | Move::Deliver(_) | Move::Step(..) | Move::Recover(_) => {}
        }
    }
}

/// Whether a packet on its way still arrives when `site` is cut off.
pub(crate) fn survives_cut<M>(packet: &Packet<M>, site: Site) -> bool {
    packet.from == packet.to
        || packet.multicast.is_some()
        || (packet.from != site && packet.to != site)
}
