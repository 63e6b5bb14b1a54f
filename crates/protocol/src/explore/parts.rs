//! A state as bytes, in parts that change one by one: each site, each packet, and the rest.
//!
//! The fingerprint of a state is made from the sum of its parts' fingerprints, so a successor
//! costs only the parts that changed, and the order of packets does not matter.

use crate::codec::{CodecError, Renaming, decode};
use crate::explore::hash::hash;
use crate::explore::rest::decode_rest;
use crate::id::Site;
use crate::protocol::Protocol;
use crate::system::State;

/// The bytes of each part.
pub(crate) struct Parts<'a> {
    pub sites: Vec<&'a [u8]>,
    pub rest: &'a [u8],
    pub packets: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// The parts of a state of `sites` sites.
    pub fn of(bytes: &'a [u8], sites: usize) -> Parts<'a> {
        let length = |place: usize| {
            usize::from(u16::from_le_bytes([bytes[2 * place], bytes[2 * place + 1]]))
        };
        let packets = length(sites + 1);
        let mut at = 2 * (sites + 2 + packets);
        let mut take = |place: usize| {
            let part = &bytes[at..at + length(place)];
            at += part.len();
            part
        };
        Parts {
            sites: (0..sites).map(&mut take).collect(),
            rest: take(sites),
            packets: (sites + 2..sites + 2 + packets).map(&mut take).collect(),
        }
    }

    /// Appends the state with these parts.
    pub fn write<'b>(
        sites: impl Iterator<Item = &'b [u8]> + Clone,
        rest: &[u8],
        packets: impl Iterator<Item = &'b [u8]> + Clone,
        to: &mut Vec<u8>,
    ) {
        let mut length = |length: usize| to.extend((length as u16).to_le_bytes());
        sites.clone().for_each(|part| length(part.len()));
        length(rest.len());
        length(packets.clone().count());
        packets.clone().for_each(|part| length(part.len()));
        sites.for_each(|part| to.extend(part));
        to.extend(rest);
        packets.for_each(|part| to.extend(part));
    }

    /// Makes `state`, whose parts are `before`, the state of these parts. What is the same stays:
    /// neighbours in a level differ in little.
    pub fn decode<P: Protocol>(
        &self,
        state: &mut State<P>,
        before: &Parts<'_>,
    ) -> Result<(), CodecError> {
        for (place, part) in self.sites.iter().enumerate() {
            if before.sites[place] != *part {
                state.sites[place] = decode(part)?;
            }
        }
        state.network.truncate(self.packets.len());
        for (place, part) in self.packets.iter().enumerate() {
            if place == state.network.len() {
                state.network.push(decode(part)?);
            } else if before.packets[place] != *part {
                state.network[place] = decode(part)?;
            }
        }
        if before.rest != self.rest {
            decode_rest(self.rest, state)?;
        }
        Ok(())
    }
}

const SITE: u64 = 1 << 32;
const PACKET: u64 = 2 << 32;
const REST: u64 = 3 << 32;

/// The fingerprint of a site's state.
pub(crate) fn site_hash(bytes: &[u8], site: Site, names: Option<&Renaming>) -> u64 {
    let site = names.map_or(site.0, |names| names.sites[site.index()]);
    hash(bytes, SITE + u64::from(site))
}

/// The fingerprint of a packet that is the `rank`-th on its link, where that matters.
pub(crate) fn packet_hash(bytes: &[u8], rank: usize) -> u64 {
    hash(bytes, PACKET + rank as u64)
}

/// The fingerprint of the rest.
pub(crate) fn rest_hash(bytes: &[u8]) -> u64 {
    hash(bytes, REST)
}

/// The sum over all packets where links keep their order: each packet counts with its rank there.
pub(crate) fn ordered_sum<'a>(packets: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut links: Vec<[u8; 2]> = Vec::new();
    let mut sum: u64 = 0;
    for packet in packets {
        // A packet begins with its two sites, then whether it is a multicast.
        let link = [packet[0], packet[1]];
        let rank = links.iter().filter(|other| **other == link).count();
        if packet[2] == 0 {
            links.push(link);
        }
        let rank = if packet[2] == 0 { rank } else { 0 };
        sum = sum.wrapping_add(packet_hash(packet, rank));
    }
    sum
}
