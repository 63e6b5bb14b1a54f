//! The renamings that leave a setup as it is.
//!
//! Definition: a renaming exchanges sites, keys and sessions (and so transactions) such that the
//! renamed setup is the same one. If the protocol treats the exchanged names alike, a state and its
//! renamings have the same futures up to names, so one of them is enough: the fingerprint of a
//! state is the least among its renamings. The states kept are real ones, never renamed, so a trace
//! is a run of the model as it is.
//!
//! Cost: all permutations of sites and keys are tried once a setup, at most [`MOST_RENAMINGS`] kept;
//! then each new state is encoded once a renaming. Source: Ip & Dill, "Better verification through
//! symmetry", 1996.

use crate::codec::Renaming;
use crate::id::{Key, Site};
use crate::protocol::Symmetry;
use crate::setup::{Op, Session, Setup};

/// Fewer renamings find fewer states alike; they never find different ones alike.
const MOST_RENAMINGS: usize = 23;

/// Beyond this many names nobody tries all orders.
const MOST_PERMUTED: usize = 5;

/// All renamings of the setup to itself but the one that changes nothing.
pub(crate) fn renamings(setup: &Setup, symmetry: Symmetry) -> Vec<Renaming> {
    let sites = permutations(setup.sites().count(), symmetry.sites);
    let keys = permutations(setup.keys().count(), symmetry.keys);
    let mut found = Vec::new();
    for sites in &sites {
        for keys in &keys {
            if same_placement(setup, sites, keys) {
                matchings(setup, sites, keys, &mut found);
            }
        }
    }
    found.retain(|renaming| !is_identity(renaming));
    found.truncate(MOST_RENAMINGS);
    found
}

/// All orders of `count` names, or only the given one.
pub(crate) fn permutations(count: usize, all: bool) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new()];
    for _ in 0..count {
        let mut longer = Vec::new();
        for start in found {
            for next in 0..count as u8 {
                if !start.contains(&next)
                    && (all && count <= MOST_PERMUTED || next as usize == start.len())
                {
                    let mut start = start.clone();
                    start.push(next);
                    longer.push(start);
                }
            }
        }
        found = longer;
    }
    found
}

fn is_identity(renaming: &Renaming) -> bool {
    let same = |list: &[u8]| {
        list.iter()
            .enumerate()
            .all(|(from, to)| from == usize::from(*to))
    };
    same(&renaming.sites) && same(&renaming.keys) && same(&renaming.sessions)
}

fn same_placement(setup: &Setup, sites: &[u8], keys: &[u8]) -> bool {
    setup.keys().all(|key| {
        let renamed = setup
            .replicas(key)
            .iter()
            .map(|site| Site(sites[site.index()]));
        renamed.eq(setup.replicas(Key(keys[key.index()])).iter().copied())
    })
}

/// Every way to map the sessions to sessions that run the same, renamed.
fn matchings(setup: &Setup, sites: &[u8], keys: &[u8], to: &mut Vec<Renaming>) {
    let sessions = setup.sessions();
    let mut partial: Vec<Vec<u8>> = vec![Vec::new()];
    for session in sessions {
        let wanted = renamed(session, sites, keys);
        let mut longer = Vec::new();
        for start in &partial {
            for (place, other) in sessions.iter().enumerate() {
                if *other == wanted && !start.contains(&(place as u8)) {
                    let mut start = start.clone();
                    start.push(place as u8);
                    longer.push(start);
                }
            }
        }
        longer.truncate(MOST_RENAMINGS + 1);
        partial = longer;
    }
    for sessions in partial {
        to.push(Renaming {
            sites: sites.to_vec(),
            keys: keys.to_vec(),
            txns: txns(setup, &sessions),
            sessions,
        });
    }
}

fn renamed(session: &Session, sites: &[u8], keys: &[u8]) -> Session {
    let key = |key: Key| Key(keys[key.index()]);
    let op = |op: &Op| match op {
        Op::Read(read) => Op::Read(key(*read)),
        Op::Write(written) => Op::Write(key(*written)),
    };
    Session {
        site: Site(sites[session.site.index()]),
        txns: session
            .txns
            .iter()
            .map(|ops| ops.iter().map(op).collect())
            .collect(),
    }
}

/// What each transaction becomes if sessions become others of the same length.
fn txns(setup: &Setup, sessions: &[u8]) -> Vec<u8> {
    let first = |session: usize| -> usize {
        let before = &setup.sessions()[..session];
        before.iter().map(|session| session.txns.len()).sum()
    };
    let mut txns = Vec::new();
    for (from, to) in sessions.iter().enumerate() {
        let count = setup.sessions()[from].txns.len();
        txns.extend((0..count).map(|place| (first(usize::from(*to)) + place) as u8));
    }
    txns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(placement: [u8; 2], sessions: &[(u8, &[&[Op]])]) -> Setup {
        let placement = placement.map(|site| vec![Site(site)]).to_vec();
        let sessions = sessions.iter().map(|(site, txns)| Session {
            site: Site(*site),
            txns: txns.iter().map(|ops| ops.to_vec()).collect(),
        });
        Setup::new(2, placement, sessions.collect()).unwrap()
    }

    const BOTH: Symmetry = Symmetry {
        sites: true,
        keys: true,
    };

    #[test]
    fn mirrored_sites_and_keys_are_alike() {
        let (x, y) = (Key(0), Key(1));
        let read_write: &[&[Op]] = &[&[Op::Read(x), Op::Write(y)]];
        let mirrored: &[&[Op]] = &[&[Op::Read(y), Op::Write(x)]];
        let setup = setup([0, 1], &[(0, read_write), (1, mirrored)]);
        let found = renamings(&setup, BOTH);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sites, [1, 0]);
        assert_eq!(found[0].txns, [1, 0]);
        assert!(renamings(&setup, Symmetry::default()).is_empty());
    }

    #[test]
    fn equal_sessions_of_a_site_are_alike() {
        let x = Key(0);
        let one: &[&[Op]] = &[&[Op::Write(x)], &[Op::Read(x)]];
        let setup = setup([0, 1], &[(1, one), (1, one), (1, one)]);
        assert_eq!(renamings(&setup, Symmetry::default()).len(), 5);
        assert_eq!(renamings(&setup, BOTH).len(), 5);
    }
}
