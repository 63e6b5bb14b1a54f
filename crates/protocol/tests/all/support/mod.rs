//! A store without any isolation, and an explorer without any cleverness to compare with.

use protocol::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Every site holds a copy; a write goes to all copies, the largest version wins. Reads are local.
pub struct Sloppy;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Copy {
    number: u16,
    versions: BTreeMap<Key, Version>,
    acks: BTreeMap<Txn, usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    Put(Txn, Key, Version),
    Ack(Txn),
}

impl Protocol for Sloppy {
    type Site = Copy;
    type Message = Message;

    fn name(&self) -> &str {
        "sloppy"
    }

    fn site(&self, _setup: &Setup, _site: Site) -> Copy {
        Copy::default()
    }

    fn start(&self, at: &mut Copy, txn: Txn, context: &mut Context<'_, Message>) {
        for op in context.setup().ops(txn).to_vec() {
            match op {
                Op::Read(key) => {
                    let version = at.versions.get(&key).copied().unwrap_or_default();
                    context.read(txn, key, version);
                }
                Op::Write(key) => {
                    at.number += 1;
                    let version = Version::new(at.number, context.here());
                    context.write(txn, key, version);
                    for site in context.setup().sites() {
                        context.send(site, Message::Put(txn, key, version));
                        *at.acks.entry(txn).or_default() += 1;
                    }
                }
            }
        }
        if !at.acks.contains_key(&txn) {
            context.rule("commit at once");
            context.commit(txn);
        }
    }

    fn receive(
        &self,
        at: &mut Copy,
        from: Site,
        message: Message,
        context: &mut Context<'_, Message>,
    ) {
        match message {
            Message::Put(txn, key, version) => {
                let held = at.versions.entry(key).or_default();
                *held = version.max(*held);
                context.send(from, Message::Ack(txn));
            }
            Message::Ack(txn) => {
                let left = at.acks.get_mut(&txn).expect("acks come to who waits");
                *left -= 1;
                if *left == 0 {
                    at.acks.remove(&txn);
                    context.rule("commit");
                    context.commit(txn);
                }
            }
        }
    }

    fn rules(&self) -> &'static [&'static str] {
        &["commit", "commit at once"]
    }

    fn version_order(&self) -> VersionOrder {
        VersionOrder::Compared
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry {
            sites: false,
            keys: true,
        }
    }

    fn commutes(&self, _setup: &Setup, _site: Site, at: &Copy, input: Input<'_, Message>) -> bool {
        match input {
            Input::Message(_, Message::Ack(txn)) => at.acks[txn] > 1,
            _ => false,
        }
    }
}

/// What visiting everything by hand finds.
#[derive(Default, Debug)]
pub struct Naive {
    pub states: u64,
    pub generated: u64,
    pub finals: u64,
    /// The logs of the final states.
    pub logs: BTreeSet<String>,
}

/// Visits every state by the public interface, comparing whole states as text.
pub fn naive<P: Protocol>(protocol: &P, setup: &Setup, world: World) -> Naive {
    let system = System {
        protocol,
        setup,
        world,
    };
    let mut found = Naive::default();
    let first = system.initial();
    let mut seen = HashSet::from([text(&first, world.fifo)]);
    let mut waiting = vec![first];
    while let Some(state) = waiting.pop() {
        found.states += 1;
        let mut last = true;
        system.successors(&state, |_, next, _| {
            last = false;
            found.generated += 1;
            if seen.insert(text(&next, world.fifo)) {
                waiting.push(next);
            }
        });
        if last {
            found.finals += 1;
            found
                .logs
                .insert(serde_json::to_string(&state.log).unwrap());
        }
    }
    found
}

fn text<P: Protocol>(state: &State<P>, fifo: bool) -> String {
    let mut packets: Vec<String> = Vec::new();
    for (place, packet) in state.network.iter().enumerate() {
        let same = |other: &&Packet<P::Message>| {
            other.multicast.is_none() && (other.from, other.to) == (packet.from, packet.to)
        };
        let rank = state.network[..place].iter().filter(same).count();
        let rank = if fifo && packet.multicast.is_none() {
            rank
        } else {
            0
        };
        packets.push(format!("{rank} {}", serde_json::to_string(packet).unwrap()));
    }
    packets.sort();
    serde_json::to_string(&(
        &state.sites,
        packets,
        &state.started,
        &state.log,
        &state.multicasts,
        state.spent,
        state.down,
        state.cut,
    ))
    .unwrap()
}

/// The setup that a text in the manner of `Setup`'s own display describes.
pub fn setup(sites: usize, placement: &[&[u8]], sessions: &[(u8, &[&str])]) -> Setup {
    let placement = placement
        .iter()
        .map(|sites| sites.iter().map(|site| Site(*site)).collect())
        .collect();
    let op = |text: &str| {
        let key = Key(text[1..].parse().expect("r0, w1"));
        if text.starts_with('r') {
            Op::Read(key)
        } else {
            Op::Write(key)
        }
    };
    let ops = |text: &&str| text.split(' ').map(op).collect();
    let sessions = sessions.iter().map(|(site, txns)| Session {
        site: Site(*site),
        txns: txns.iter().map(ops).collect(),
    });
    Setup::new(sites, placement, sessions.collect()).expect("a setup")
}
