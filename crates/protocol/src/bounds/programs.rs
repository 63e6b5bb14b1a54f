//! What one site runs: its sessions, each a list of transactions, in no order among them.

use super::shapes::Shapes;
use super::{Bounds, Mix, Sessions};
use crate::id::KeySet;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Sessions of a site, as lists of shapes, sorted.
type Program = Vec<Vec<u16>>;

/// All programs, by number; those with fewer transactions first.
pub(super) struct Programs {
    all: Vec<Program>,
    keys: Vec<KeySet>,
    /// Transactions of each share of an exact mix.
    shares: Vec<Vec<u8>>,
    /// The first program with so many transactions.
    starts: Vec<usize>,
    numbers: FxHashMap<Program, u32>,
}

impl Programs {
    pub fn new(bounds: &Bounds, shapes: &Shapes) -> Programs {
        let most = *bounds.txns().end();
        let mut programs = Programs {
            all: Vec::new(),
            keys: Vec::new(),
            shares: Vec::new(),
            starts: Vec::new(),
            numbers: FxHashMap::default(),
        };
        for txns in 0..=most {
            programs.starts.push(programs.all.len());
            for program in with_txns(bounds.sessions, shapes.all.len(), txns) {
                programs.add(bounds, shapes, program);
            }
        }
        programs.starts.push(programs.all.len());
        programs
    }

    fn add(&mut self, bounds: &Bounds, shapes: &Shapes, program: Program) {
        let mut keys = KeySet::EMPTY;
        let mut shares = Vec::new();
        if let Mix::Exactly(all) = &bounds.mix {
            shares.resize(all.len(), 0u8);
        }
        for &shape in program.iter().flatten() {
            let shape = usize::from(shape);
            keys = shapes.all[shape].iter().fold(keys, |mut keys, op| {
                keys.insert(op.key());
                keys
            });
            if let Some(share) = shares.get_mut(shapes.share[shape]) {
                *share += 1;
            }
        }
        self.numbers.insert(program.clone(), self.all.len() as u32);
        self.all.push(program);
        self.keys.push(keys);
        self.shares.push(shares);
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, program: u32) -> &Program {
        &self.all[program as usize]
    }

    /// The keys that a program touches.
    pub fn keys(&self, program: u32) -> KeySet {
        self.keys[program as usize]
    }

    /// The programs of so many transactions.
    pub fn with(&self, txns: usize) -> Range<usize> {
        self.starts[txns]..self.starts[txns + 1]
    }

    /// Whether programs have as many transactions of each shape as an exact mix says.
    pub fn fit(&self, bounds: &Bounds, chosen: &[u32]) -> bool {
        let Mix::Exactly(shares) = &bounds.mix else {
            return true;
        };
        shares.iter().enumerate().all(|(place, (_, _, count))| {
            let of = |program: &u32| usize::from(self.shares[*program as usize][place]);
            chosen.iter().map(of).sum::<usize>() == *count
        })
    }

    /// What each becomes when shapes are renamed.
    pub fn renamed(&self, shapes: &[u16]) -> Vec<u32> {
        let rename = |word: &Vec<u16>| word.iter().map(|s| shapes[usize::from(*s)]).collect();
        self.all
            .iter()
            .map(|program| {
                let mut renamed: Program = program.iter().map(rename).collect();
                renamed.sort();
                self.numbers[&renamed]
            })
            .collect()
    }
}

/// All programs of so many transactions.
fn with_txns(sessions: Sessions, shapes: usize, txns: usize) -> Vec<Program> {
    if txns == 0 {
        return vec![Vec::new()];
    }
    let longest = match sessions {
        Sessions::OneASite => return words(shapes, txns).into_iter().map(|w| vec![w]).collect(),
        Sessions::OneATxn => 1,
        Sessions::Any => txns,
    };
    let mut all_words: Vec<Vec<u16>> = (1..=longest).flat_map(|len| words(shapes, len)).collect();
    all_words.sort();
    // Each list of words in order, with what it lacks in transactions.
    let mut open: Vec<(Vec<usize>, usize)> = vec![(Vec::new(), txns)];
    let mut done = Vec::new();
    while let Some((chosen, lacks)) = open.pop() {
        let first = chosen.last().copied().unwrap_or(0);
        for (place, word) in all_words.iter().enumerate().skip(first) {
            let mut longer = chosen.clone();
            longer.push(place);
            match word.len().cmp(&lacks) {
                std::cmp::Ordering::Less => open.push((longer, lacks - word.len())),
                std::cmp::Ordering::Equal => done.push(longer),
                std::cmp::Ordering::Greater => {}
            }
        }
    }
    done.sort();
    let program = |chosen: Vec<usize>| chosen.into_iter().map(|p| all_words[p].clone()).collect();
    done.into_iter().map(program).collect()
}

fn words(shapes: usize, length: usize) -> Vec<Vec<u16>> {
    let mut all: Vec<Vec<u16>> = vec![Vec::new()];
    for _ in 0..length {
        let longer = |word: &Vec<u16>| {
            let word = word.clone();
            (0..shapes as u16).map(move |shape| [&word[..], &[shape]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// How many setups there are for one placement, if any number of each shape may be in one.
pub(super) fn count(bounds: &Bounds, shapes: usize) -> u128 {
    let most = *bounds.txns().end();
    let of_site = count_programs(bounds.sessions, shapes as u128, most);
    let mut all = vec![0u128; most + 1];
    all[0] = 1;
    for _ in 0..bounds.sites {
        all = product(&all, &of_site);
    }
    bounds
        .txns()
        .fold(0, |sum, txns| all[txns].saturating_add(sum))
}

/// How many programs have 0, 1, … transactions.
fn count_programs(sessions: Sessions, shapes: u128, most: usize) -> Vec<u128> {
    let power = |exponent: usize| shapes.saturating_pow(exponent as u32);
    if sessions == Sessions::OneASite {
        return (0..=most).map(power).collect();
    }
    let longest = if sessions == Sessions::OneATxn {
        1
    } else {
        most
    };
    let mut all = vec![0u128; most + 1];
    all[0] = 1;
    for length in 1..=longest {
        // So many sessions of this length: a multiset of the words.
        let mut of_length = vec![0u128; most + 1];
        let mut ways = 1u128;
        for (taken, place) in (0..=most).step_by(length).enumerate() {
            of_length[place] = ways;
            let taken = taken as u128;
            ways = ways.saturating_mul(power(length).saturating_add(taken)) / (taken + 1);
        }
        all = product(&all, &of_length);
    }
    all
}

fn product(a: &[u128], b: &[u128]) -> Vec<u128> {
    let term = |sum: usize| {
        (0..=sum).fold(0u128, |total, place| {
            total.saturating_add(a[place].saturating_mul(b[sum - place]))
        })
    };
    (0..a.len()).map(term).collect()
}
