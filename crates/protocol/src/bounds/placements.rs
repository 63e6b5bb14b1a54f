//! Where the keys are, by number.

use super::permute::subsets;
use super::{Bounds, Placement};
use crate::id::Site;

/// All placements. The sites of one key are one of a few options; a placement is an option for
/// each key, all with the same number of sites.
pub(super) struct Placements {
    keys: usize,
    /// For each number of replicas, the options of a key, and the number of the first placement.
    groups: Vec<(Vec<Vec<usize>>, usize)>,
    count: usize,
}

impl Placements {
    pub fn new(bounds: &Bounds) -> Placements {
        let mut placements = Placements {
            keys: bounds.keys,
            groups: Vec::new(),
            count: 0,
        };
        let mut numbers = bounds.replication.clone();
        numbers.sort_unstable();
        numbers.dedup();
        for replicas in numbers {
            let options = options(bounds, replicas);
            if options.is_empty() {
                continue;
            }
            let count = options.len().saturating_pow(bounds.keys as u32);
            placements.groups.push((options, placements.count));
            placements.count = placements.count.saturating_add(count);
        }
        placements
    }

    pub fn len(&self) -> usize {
        self.count
    }

    fn group(&self, placement: usize) -> &(Vec<Vec<usize>>, usize) {
        let later = self.groups.partition_point(|group| group.1 <= placement);
        &self.groups[later - 1]
    }

    /// The sites of each key.
    pub fn get(&self, placement: usize) -> Vec<Vec<Site>> {
        let (options, first) = self.group(placement);
        let mut rest = placement - first;
        let mut sites = Vec::new();
        for _ in 0..self.keys {
            let option = &options[rest % options.len()];
            sites.push(option.iter().map(|site| Site(*site as u8)).collect());
            rest /= options.len();
        }
        sites
    }

    /// The placement with all but the first `used` keys where they are by default.
    pub fn masked(&self, placement: usize, used: usize) -> usize {
        let (options, first) = self.group(placement);
        first + (placement - first) % options.len().pow(used as u32)
    }

    /// The placement with keys and sites renamed, but for keys that are not used; none if that is
    /// not one of them. Only the first `used` keys are renamed.
    pub fn renamed(
        &self,
        placement: usize,
        keys: &[usize],
        sites: &[usize],
        used: usize,
    ) -> Option<usize> {
        let (options, first) = self.group(placement);
        let mut rest = placement - first;
        let mut renamed = *first;
        for key in &keys[..used] {
            let option = &options[rest % options.len()];
            rest /= options.len();
            let same = |other: &Vec<usize>| {
                let holds = |site: &usize| other[1..].contains(&sites[*site]);
                other[0] == sites[option[0]] && option[1..].iter().all(holds)
            };
            let place = options.iter().position(same)?;
            renamed += place * options.len().pow(*key as u32);
        }
        Some(renamed)
    }

    /// In how many ways so many keys can be placed.
    pub fn ways(&self, placement: usize, keys: usize) -> u128 {
        (self.group(placement).0.len() as u128).pow(keys as u32)
    }
}

/// The sites that a key can have, the preferred one first.
fn options(bounds: &Bounds, replicas: usize) -> Vec<Vec<usize>> {
    if replicas == 0 || replicas > bounds.sites {
        return Vec::new();
    }
    let all: Vec<usize> = (0..bounds.sites).collect();
    match bounds.placement {
        Placement::Fixed => vec![all[..replicas].to_vec()],
        Placement::All => all
            .iter()
            .flat_map(|preferred| {
                let others: Vec<usize> = all.iter().copied().filter(|s| s != preferred).collect();
                let with = |others: Vec<usize>| [&[*preferred][..], &others].concat();
                let chosen = subsets(&others, replicas - 1);
                chosen.into_iter().map(with).collect::<Vec<_>>()
            })
            .collect(),
    }
}
