//! Reads a setup from one line, the way [`Setup`] is displayed:
//! `k1@s1,s2 k2@s2 | s1: r(k1) w(k1); w(k2) | s2: r(k1)`.
//!
//! There are as many sites as the line mentions, or more if it begins with `3 sites |`.

use crate::id::{Key, MOST, Site};
use crate::setup::{Op, Session, Setup};
use std::str::FromStr;

impl FromStr for Setup {
    type Err = String;

    fn from_str(line: &str) -> Result<Setup, String> {
        let mut parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let mut sites = 0;
        if let Some(count) = parts[0].strip_suffix("sites") {
            let wrong = |_| format!("{:?} is not a number of sites", parts[0]);
            sites = count.trim().parse().map_err(wrong)?;
            parts.remove(0);
        }
        let keys = parts.first().copied().unwrap_or_default();
        let placement = placement(keys)?;
        let sessions: Vec<Session> = parts
            .iter()
            .skip(1)
            .map(|part| session(part))
            .collect::<Result<_, _>>()?;
        let named = placement.iter().flatten().copied();
        let named = named.chain(sessions.iter().map(|session| session.site));
        let most = named.map(|site| site.index() + 1).max().unwrap_or(0);
        Setup::new(sites.max(most), placement, sessions)
    }
}

/// The sites of each key, from `k1@s1,s2 k2@s2`.
fn placement(text: &str) -> Result<Vec<Vec<Site>>, String> {
    let mut placement = Vec::new();
    for word in text.split_whitespace() {
        let (key, sites) = word
            .split_once('@')
            .ok_or_else(|| format!("{word:?} does not say where a key is: k1@s1,s2"))?;
        if number(key, 'k')? != placement.len() {
            return Err(format!("{key} is not the next key: they come in order"));
        }
        let sites: Result<Vec<Site>, String> = sites.split(',').map(site).collect();
        placement.push(sites?);
    }
    Ok(placement)
}

/// A session, from `s1: r(k1) w(k1); w(k2)`.
fn session(text: &str) -> Result<Session, String> {
    let (at, txns) = text
        .split_once(':')
        .ok_or_else(|| format!("{text:?} does not say where a session runs: s1: r(k1)"))?;
    let txns = txns
        .split(';')
        .map(|txn| txn.split_whitespace().map(op).collect())
        .collect::<Result<_, String>>()?;
    Ok(Session {
        site: site(at.trim())?,
        txns,
    })
}

fn op(text: &str) -> Result<Op, String> {
    let key = |rest: &str| -> Option<Key> {
        let name = rest.strip_prefix('(')?.strip_suffix(')')?;
        Some(Key(number(name, 'k').ok()? as u8))
    };
    let read = text.strip_prefix('r').and_then(key).map(Op::Read);
    let write = || text.strip_prefix('w').and_then(key).map(Op::Write);
    read.or_else(write)
        .ok_or_else(|| format!("{text:?} is not an operation: r(k1) or w(k1)"))
}

fn site(text: &str) -> Result<Site, String> {
    number(text, 's').map(|number| Site(number as u8))
}

/// The place, from 0, of a name that counts from 1.
fn number(text: &str, letter: char) -> Result<usize, String> {
    text.strip_prefix(letter)
        .and_then(|digits| digits.parse::<usize>().ok())
        .filter(|number| (1..=MOST).contains(number))
        .map(|number| number - 1)
        .ok_or_else(|| format!("{text:?} is not one of {letter}1 to {letter}{MOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_reads_back_as_it_is_displayed() {
        let line = "k1@s1,s2 k2@s2 | s1: r(k1) w(k1); w(k2) | s2: r(k1)";
        let setup: Setup = line.parse().unwrap();
        assert_eq!(setup.to_string(), line);
        assert_eq!(setup.sites().count(), 2);
        let more: Setup = format!("3 sites | {line}").parse().unwrap();
        assert_eq!(more.sites().count(), 3);
    }

    #[test]
    fn what_is_no_setup_is_refused() {
        for line in [
            "k2@s1",
            "k1",
            "k1@s0",
            "k1@s1 | r(k1)",
            "k1@s1 | s1: x(k1)",
            "k1@s1 | s1: r(k2)",
            "k1@s99",
            "many sites | k1@s1",
            "k1@s1,s1",
        ] {
            assert!(line.parse::<Setup>().is_err(), "{line}");
        }
        assert!("".parse::<Setup>().is_ok());
    }
}
