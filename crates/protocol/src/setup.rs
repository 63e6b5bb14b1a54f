//! An initial state: which sites hold which keys, and what each session will run.

use crate::id::{Key, KeySet, MOST, Site, SiteSet, Txn};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One operation of a transaction. Values do not matter to a protocol, versions do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Op {
    /// Reads the key.
    Read(Key),
    /// Writes a new version of the key.
    Write(Key),
}

impl Op {
    /// The key it is about.
    pub fn key(self) -> Key {
        match self {
            Op::Read(key) | Op::Write(key) => key,
        }
    }
}

/// What one client runs, one transaction after the other, at one site.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The site that executes its transactions: their proxy.
    pub site: Site,
    /// Each transaction's operations, in order.
    pub txns: Vec<Vec<Op>>,
}

/// An initial state. Transactions are numbered through the sessions in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct Setup {
    sites: usize,
    placement: Vec<Vec<Site>>,
    sessions: Vec<Session>,
    /// Per transaction: its session and its place there.
    places: Vec<(usize, usize)>,
}

/// What of a setup is written to a file.
#[derive(Clone, Serialize, Deserialize)]
struct Plain {
    sites: usize,
    placement: Vec<Vec<Site>>,
    sessions: Vec<Session>,
}

impl From<Setup> for Plain {
    fn from(setup: Setup) -> Plain {
        Plain {
            sites: setup.sites,
            placement: setup.placement,
            sessions: setup.sessions,
        }
    }
}

impl TryFrom<Plain> for Setup {
    type Error = String;

    fn try_from(plain: Plain) -> Result<Setup, String> {
        Setup::new(plain.sites, plain.placement, plain.sessions)
    }
}

impl Setup {
    /// A setup of `sites` sites, where `placement` lists the sites of each key, the preferred one
    /// first. Refuses sites that do not exist, keys without a site and more than 64 of anything.
    pub fn new(
        sites: usize,
        placement: Vec<Vec<Site>>,
        sessions: Vec<Session>,
    ) -> Result<Setup, String> {
        let txns: usize = sessions.iter().map(|session| session.txns.len()).sum();
        if sites.max(placement.len()).max(txns) > MOST {
            return Err(format!("more than {MOST} sites, keys or transactions"));
        }
        for (key, replicas) in placement.iter().enumerate() {
            let distinct: SiteSet = replicas.iter().copied().collect();
            if replicas.is_empty() || distinct.len() != replicas.len() {
                return Err(format!(
                    "{} needs one or more different sites",
                    Key(key as u8)
                ));
            }
        }
        let named = placement
            .iter()
            .flatten()
            .chain(sessions.iter().map(|session| &session.site));
        if let Some(site) = named.into_iter().find(|site| site.index() >= sites) {
            return Err(format!("{site} is not one of the {sites} sites"));
        }
        let mut ops = sessions
            .iter()
            .flat_map(|session| session.txns.iter().flatten());
        if let Some(op) = ops.find(|op| op.key().index() >= placement.len()) {
            return Err(format!("{} is stored nowhere", op.key()));
        }
        let mut places = Vec::new();
        for (number, session) in sessions.iter().enumerate() {
            places.extend((0..session.txns.len()).map(|place| (number, place)));
        }
        Ok(Setup {
            sites,
            placement,
            sessions,
            places,
        })
    }

    /// All sites.
    pub fn sites(&self) -> impl Iterator<Item = Site> + use<> {
        Site::first(self.sites)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = Key> + use<> {
        Key::first(self.placement.len())
    }

    /// All transactions.
    pub fn txns(&self) -> impl Iterator<Item = Txn> + use<> {
        Txn::first(self.places.len())
    }

    /// All sessions.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The session of a transaction, as a place in [`Setup::sessions`].
    pub fn session(&self, txn: Txn) -> usize {
        self.places[txn.index()].0
    }

    /// The site that executes a transaction.
    pub fn proxy(&self, txn: Txn) -> Site {
        self.sessions[self.session(txn)].site
    }

    /// A transaction's operations, in order.
    pub fn ops(&self, txn: Txn) -> &[Op] {
        let (session, place) = self.places[txn.index()];
        &self.sessions[session].txns[place]
    }

    /// The keys a transaction reads, whatever it wrote before.
    pub fn reads(&self, txn: Txn) -> KeySet {
        self.ops(txn)
            .iter()
            .filter(|op| matches!(op, Op::Read(_)))
            .map(|op| op.key())
            .collect()
    }

    /// The keys a transaction writes.
    pub fn writes(&self, txn: Txn) -> KeySet {
        self.ops(txn)
            .iter()
            .filter(|op| matches!(op, Op::Write(_)))
            .map(|op| op.key())
            .collect()
    }

    /// The sites of a key, the preferred one first.
    pub fn replicas(&self, key: Key) -> &[Site] {
        &self.placement[key.index()]
    }

    /// The site that a key belongs to first of all.
    pub fn preferred(&self, key: Key) -> Site {
        self.placement[key.index()][0]
    }

    /// Whether a site holds a key.
    pub fn holds(&self, site: Site, key: Key) -> bool {
        self.placement[key.index()].contains(&site)
    }

    /// The site at which `from` finds a key: itself if it can, the preferred one otherwise.
    pub fn nearest(&self, key: Key, from: Site) -> Site {
        if self.holds(from, key) {
            from
        } else {
            self.preferred(key)
        }
    }

    /// All sites that hold any of `keys`.
    pub fn replicas_of(&self, keys: KeySet) -> SiteSet {
        keys.iter()
            .flat_map(|key| self.placement[key.index()].iter().copied())
            .collect()
    }
}

impl fmt::Display for Setup {
    /// One line, as `k1@s1,s2 k2@s2 | s1: r(k1) w(k1); w(k2) | s2: r(k1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in self.keys() {
            let sites: Vec<String> = self.replicas(key).iter().map(Site::to_string).collect();
            let space = if key.0 == 0 { "" } else { " " };
            write!(f, "{space}{key}@{}", sites.join(","))?;
        }
        for session in &self.sessions {
            let txns: Vec<String> = session.txns.iter().map(|ops| shape(ops)).collect();
            write!(f, " | {}: {}", session.site, txns.join("; "))?;
        }
        Ok(())
    }
}

/// A transaction's operations in one line.
pub fn shape(ops: &[Op]) -> String {
    let ops: Vec<String> = ops
        .iter()
        .map(|op| match op {
            Op::Read(key) => format!("r({key})"),
            Op::Write(key) => format!("w({key})"),
        })
        .collect();
    ops.join(" ")
}
