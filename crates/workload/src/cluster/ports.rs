//! Ports that nobody listens on.
//!
//! Taken from below the range that the system gives to outgoing connections: a port from that
//! range may go to a client while its server is down, and a client that tries again and again to
//! reach a port of that range may end up connected to itself.

use super::place::random;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

const LOWEST: u16 = 10_000;
const ATTEMPTS_MAX: usize = 1000;

/// As many different ports, free on loopback a moment ago.
pub(super) fn free(count: usize) -> io::Result<Vec<u16>> {
    let mut held: Vec<(u16, TcpListener)> = Vec::new();
    let above = outgoing_lowest();
    for _ in 0..ATTEMPTS_MAX {
        if held.len() == count {
            break;
        }
        let candidate = match above.checked_sub(LOWEST) {
            Some(room) if room > 1000 => LOWEST + (random() % u64::from(room)) as u16,
            _ => 0,
        };
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, candidate)) {
            held.push((listener.local_addr()?.port(), listener));
        }
    }
    if held.len() < count {
        return Err(io::Error::other("there are not enough free ports"));
    }
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

/// The lowest port of outgoing connections.
fn outgoing_lowest() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let lowest = range.split_whitespace().next();
    lowest
        .and_then(|port| port.parse().ok())
        .unwrap_or(0)
        .min(32_768)
}
