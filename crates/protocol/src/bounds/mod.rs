//! All initial states within bounds, one of each kind.
//!
//! **Definition.** A setup is a placement of keys, and for each site the sessions that run there.
//! Two setups are alike if renaming keys (where the protocol treats them alike), renaming sites
//! (the same), dropping keys that nobody uses and listing sessions in another order makes them
//! equal.
//!
//! **Steps.** The *shapes* of one transaction, the *programs* of one site (its sessions) and the
//! *placements* of the keys are listed once, each with what every renaming makes of it, as numbers.
//! A setup is then a few numbers, a placement and a program for each site. All are gone through; one
//! is kept if no renaming makes it smaller, so exactly one of those alike is.
//!
//! **Cost.** As many steps as there are setups before any are dropped, times the renamings. That
//! number is known beforehand, and refused if too large.

mod permute;
mod placements;
mod programs;
mod shapes;

use crate::id::{Key, KeySet, Site};
use crate::protocol::Symmetry;
use crate::setup::{Op, Session, Setup};
use permute::permutations;
use placements::Placements;
use programs::Programs;
use shapes::Shapes;
use std::fmt;
use std::ops::RangeInclusive;

/// What a transaction may look like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// Reads of different keys, in any order.
    ReadOnly,
    /// Writes of different keys, in any order.
    WriteOnly,
    /// Reads a key and writes it, then maybe another one.
    ReadModifyWrite,
    /// Any reads and writes in any order.
    General,
}

/// Which transactions a setup has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mix {
    /// So many transactions with so many operations each, of any of the shapes.
    Any {
        /// Transactions in all.
        txns: RangeInclusive<usize>,
        /// Operations of each.
        ops: RangeInclusive<usize>,
        /// What they look like.
        shapes: Vec<Shape>,
    },
    /// Exactly so many of each: a shape, operations of each, how many. No shape twice.
    Exactly(Vec<(Shape, usize, usize)>),
}

/// Where keys are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Everywhere: each key has every site as its preferred one, and every set of others.
    All,
    /// Each key at the first sites, which is CAT's only placement.
    Fixed,
}

/// How transactions are spread over sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sessions {
    /// One session at each site: it runs one transaction after the other, as in CAT.
    OneASite,
    /// Every transaction alone.
    OneATxn,
    /// In every way.
    Any,
}

/// The bounds of an exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Which transactions.
    pub mix: Mix,
    /// How many keys, at most.
    pub keys: usize,
    /// A transaction that only reads or only writes does so in the order of keys, not in any.
    pub keys_in_order: bool,
    /// How many sites.
    pub sites: usize,
    /// At how many sites each key is; all keys at as many.
    pub replication: Vec<usize>,
    /// Where keys are.
    pub placement: Placement,
    /// Which transactions are in one session.
    pub sessions: Sessions,
    /// Leave out setups that fall apart into smaller ones of the same bounds: groups of
    /// transactions of which no two touch a key that one of them writes. What such groups do to
    /// each other (push each other's counters, say) is then not explored.
    pub connected: bool,
    /// The most setups to make.
    pub setups_max: usize,
}

impl Default for Bounds {
    /// Up to three transactions of up to two operations, two keys at two sites.
    fn default() -> Self {
        Bounds {
            mix: Mix::Any {
                txns: 1..=3,
                ops: 1..=2,
                shapes: vec![Shape::General],
            },
            keys: 2,
            keys_in_order: false,
            sites: 2,
            replication: vec![1, 2],
            placement: Placement::All,
            sessions: Sessions::OneASite,
            connected: true,
            setups_max: 200_000,
        }
    }
}

/// The setups within bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setups {
    /// One of each kind.
    pub setups: Vec<Setup>,
    /// How many there are before any are dropped, those with a key read twice included.
    pub raw: u128,
    /// How many of those cannot show more than others: a transaction reads a key twice, or (if
    /// [`Bounds::connected`]) the setup falls apart into smaller ones.
    pub irrelevant: u128,
}

/// More setups than can be gone through, or than were asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooMany {
    /// How many there are before those alike are dropped; at least so many.
    pub raw: u128,
    /// Why that is too many.
    pub why: String,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} initial states: {}", self.raw, self.why)
    }
}

impl std::error::Error for TooMany {}

/// The most setups to go through.
const RAW_MAX: u128 = 1 << 27;

impl Bounds {
    /// CAT's own initial states: so many transactions of each kind with so many operations each
    /// (an update counts two), one session a site, one placement.
    pub fn cat(
        [read_only, write_only, updates]: [usize; 3],
        [read_only_ops, write_only_ops, update_ops]: [usize; 3],
        sites: usize,
        keys: usize,
        replication: usize,
    ) -> Bounds {
        let mix = [
            (Shape::ReadOnly, read_only_ops, read_only),
            (Shape::WriteOnly, write_only_ops, write_only),
            (Shape::ReadModifyWrite, update_ops, updates),
        ];
        Bounds {
            mix: Mix::Exactly(mix.into_iter().filter(|share| share.2 > 0).collect()),
            keys,
            keys_in_order: false,
            sites,
            replication: vec![replication],
            placement: Placement::Fixed,
            sessions: Sessions::OneASite,
            connected: false,
            setups_max: 200_000,
        }
    }

    /// All setups, one of those that are alike under the symmetry.
    pub fn setups(&self, symmetry: Symmetry) -> Result<Setups, TooMany> {
        if self.keys.max(self.sites) > 6 {
            return Err(TooMany {
                raw: 0,
                why: "more than 6 keys or sites have too many renamings".to_string(),
            });
        }
        let shapes = Shapes::new(self);
        let placements = Placements::new(self);
        let count =
            |shapes: usize| programs::count(self, shapes).saturating_mul(placements.len() as u128);
        let (raw, kept) = (count(shapes.with_repeats), count(shapes.all.len()));
        if kept > RAW_MAX {
            return Err(TooMany {
                raw,
                why: format!("at most {RAW_MAX} can be gone through; lower the bounds"),
            });
        }
        let programs = Programs::new(self, &shapes);
        let mut walk = Walk {
            bounds: self,
            shapes: &shapes,
            placements: &placements,
            programs: &programs,
            key_renamings: match symmetry.keys {
                true => permutations(self.keys),
                false => vec![(0..self.keys).collect()],
            },
            site_renamings: match symmetry.sites {
                true => permutations(self.sites),
                false => vec![(0..self.sites).collect()],
            },
            keys_alike: symmetry.keys,
            tables: Vec::new(),
            met: 0,
            unconnected: 0,
            found: Vec::new(),
        };
        walk.tables = walk
            .key_renamings
            .iter()
            .map(|keys| programs.renamed(&shapes.renamed(keys)))
            .collect();
        walk.all().map_err(|()| TooMany {
            raw,
            why: format!(
                "more than {} remain when those alike are dropped",
                self.setups_max
            ),
        })?;
        // With exact numbers of each shape the count above is an upper bound only.
        let repeats = match self.mix {
            Mix::Any { .. } => raw - kept,
            Mix::Exactly(_) => 0,
        };
        Ok(Setups {
            setups: walk.found,
            raw: walk.met + repeats,
            irrelevant: walk.unconnected + repeats,
        })
    }

    /// How many transactions a setup has.
    fn txns(&self) -> RangeInclusive<usize> {
        match &self.mix {
            Mix::Any { txns, .. } => txns.clone(),
            Mix::Exactly(shares) => {
                let all = shares.iter().map(|share| share.2).sum();
                all..=all
            }
        }
    }
}

/// Goes through all setups.
struct Walk<'a> {
    bounds: &'a Bounds,
    shapes: &'a Shapes,
    placements: &'a Placements,
    programs: &'a Programs,
    key_renamings: Vec<Vec<usize>>,
    site_renamings: Vec<Vec<usize>>,
    /// Keys can be renamed, so those that nobody uses can be dropped.
    keys_alike: bool,
    /// For each renaming of keys, what becomes of each program.
    tables: Vec<Vec<u32>>,
    met: u128,
    unconnected: u128,
    found: Vec<Setup>,
}

impl Walk<'_> {
    fn all(&mut self) -> Result<(), ()> {
        let programs = self.programs;
        let mut chosen = vec![0u32; self.bounds.sites];
        for txns in self.bounds.txns() {
            let mut counts = vec![0; self.bounds.sites];
            loop {
                if counts.iter().sum::<usize>() == txns {
                    self.with_counts(&counts, &mut chosen)?;
                }
                if !next(&mut counts, |_| txns + 1) {
                    break;
                }
            }
        }
        debug_assert!(chosen.iter().all(|one| (*one as usize) < programs.len()));
        Ok(())
    }

    /// All setups with so many transactions at each site.
    fn with_counts(&mut self, counts: &[usize], chosen: &mut [u32]) -> Result<(), ()> {
        let ranges: Vec<_> = counts
            .iter()
            .map(|count| self.programs.with(*count))
            .collect();
        let mut places = vec![0; counts.len()];
        if ranges.iter().any(|range| range.is_empty()) {
            return Ok(());
        }
        loop {
            for (site, place) in places.iter().enumerate() {
                chosen[site] = (ranges[site].start + place) as u32;
            }
            if self.programs.fit(self.bounds, chosen) {
                for placement in 0..self.placements.len() {
                    self.one(placement, chosen)?;
                }
            }
            if !next(&mut places, |site| ranges[site].len()) {
                return Ok(());
            }
        }
    }

    fn one(&mut self, placement: usize, chosen: &[u32]) -> Result<(), ()> {
        self.met += 1;
        let Some(alike) = self.smallest(placement, chosen) else {
            return Ok(());
        };
        if self.bounds.connected && self.falls_apart(chosen) {
            self.unconnected += alike;
            return Ok(());
        }
        if self.found.len() == self.bounds.setups_max {
            return Err(());
        }
        let setup = self.setup(placement, chosen);
        self.found.push(setup);
        Ok(())
    }

    /// How many keys are used, if those are the first ones; all where keys cannot be dropped.
    fn used(&self, chosen: &[u32]) -> Option<usize> {
        if !self.keys_alike {
            return Some(self.bounds.keys);
        }
        let used = chosen.iter().fold(KeySet::EMPTY, |all, program| {
            all.union(self.programs.keys(*program))
        });
        let first: KeySet = Key::first(used.len()).collect();
        (used == first).then_some(used.len())
    }

    /// How many setups are alike to this one, if it is the smallest of them.
    fn smallest(&self, placement: usize, chosen: &[u32]) -> Option<u128> {
        let used = self.used(chosen)?;
        if self.placements.masked(placement, used) != placement {
            return None;
        }
        let (mut within, mut same) = (0u128, 0u128);
        for (keys, table) in self.key_renamings.iter().zip(&self.tables) {
            if (used..self.bounds.keys).any(|key| keys[key] != key) {
                continue;
            }
            for sites in &self.site_renamings {
                let Some(renamed) = self.placements.renamed(placement, keys, sites, used) else {
                    continue;
                };
                within += 1;
                let mut order = renamed.cmp(&placement);
                for site in 0..chosen.len() {
                    if order.is_ne() {
                        break;
                    }
                    // The program of `site` after the renaming is that of the site renamed to it.
                    let from = sites.iter().position(|to| *to == site).unwrap_or(site);
                    order = table[chosen[from] as usize].cmp(&chosen[site]);
                }
                if order.is_lt() {
                    return None;
                }
                same += u128::from(order.is_eq());
            }
        }
        let unused = self.bounds.keys - used;
        let ways =
            permute::choose(self.bounds.keys, used) * self.placements.ways(placement, unused);
        Some(within / same.max(1) * ways)
    }

    fn txns(&self, chosen: &[u32]) -> Vec<&[Op]> {
        let programs = chosen.iter().map(|program| self.programs.get(*program));
        let words = programs.flat_map(|program| program.iter().flatten());
        words
            .map(|shape| self.shapes.all[usize::from(*shape)].as_slice())
            .collect()
    }

    /// Whether there are groups of transactions without conflict, all within the bounds.
    fn falls_apart(&self, chosen: &[u32]) -> bool {
        let txns = self.txns(chosen);
        let mut group: Vec<usize> = (0..txns.len()).collect();
        for one in 0..txns.len() {
            for other in 0..one {
                if conflict(txns[one], txns[other]) {
                    let (from, to) = (group[one], group[other]);
                    group
                        .iter_mut()
                        .filter(|g| **g == from)
                        .for_each(|g| *g = to);
                }
            }
        }
        let size = |name: usize| group.iter().filter(|g| **g == name).count();
        let least = *self.bounds.txns().start();
        group
            .iter()
            .all(|name| size(*name) < txns.len() && size(*name) >= least)
    }

    fn setup(&self, placement: usize, chosen: &[u32]) -> Setup {
        let used = self.used(chosen).unwrap_or(self.bounds.keys);
        let mut sessions = Vec::new();
        for (site, program) in chosen.iter().enumerate() {
            for word in self.programs.get(*program) {
                let ops = |shape: &u16| self.shapes.all[usize::from(*shape)].clone();
                sessions.push(Session {
                    site: Site(site as u8),
                    txns: word.iter().map(ops).collect(),
                });
            }
        }
        let mut keys = self.placements.get(placement);
        keys.truncate(used);
        Setup::new(self.bounds.sites, keys, sessions).expect("made of what there is")
    }
}

/// Whether two transactions touch a key that one of them writes.
fn conflict(one: &[Op], other: &[Op]) -> bool {
    let write = |op: &Op| matches!(op, Op::Write(_));
    one.iter().any(|a| {
        let meets = |b: &Op| a.key() == b.key() && (write(a) || write(b));
        other.iter().any(meets)
    })
}

/// Steps to the next combination; false after the last, all zero again.
fn next(places: &mut [usize], widths: impl Fn(usize) -> usize) -> bool {
    for (site, place) in places.iter_mut().enumerate() {
        *place += 1;
        if *place < widths(site) {
            return true;
        }
        *place = 0;
    }
    false
}
