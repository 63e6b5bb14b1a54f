//! All initial states within bounds: against a plain enumeration, and CAT's numbers.
use protocol::{
    Bounds, Key, Mix, Op, Placement, Session, Sessions, Setup, Shape, Site, Symmetry, TooMany,
    separating,
};
use std::collections::{BTreeMap, BTreeSet};

const NONE: Symmetry = Symmetry {
    sites: false,
    keys: false,
};
const BOTH: Symmetry = Symmetry {
    sites: true,
    keys: true,
};

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for rest in permutations(count - 1) {
        for place in 0..count {
            let mut order = rest.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all
}

/// The same setup with other names, as text; without keys that nobody uses if those can be dropped.
fn renamed(setup: &Setup, keys: &[usize], sites: &[usize], drop: bool) -> String {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let used: BTreeSet<Key> = setup
        .txns()
        .flat_map(|txn| setup.ops(txn).iter().map(|op| op.key()))
        .collect();
    for key in setup.keys().filter(|key| !drop || used.contains(key)) {
        let mut at: Vec<usize> = setup
            .replicas(key)
            .iter()
            .map(|s| sites[s.index()])
            .collect();
        at[1..].sort();
        places.insert(keys[key.index()], at);
    }
    let close: BTreeMap<usize, usize> = places.keys().enumerate().map(|(n, k)| (*k, n)).collect();
    let mut sessions: Vec<String> = Vec::new();
    for session in setup.sessions() {
        let op = |op: &Op| {
            format!(
                "{}{}",
                matches!(op, Op::Read(_)),
                close[&keys[op.key().index()]]
            )
        };
        let txns: Vec<Vec<String>> = session
            .txns
            .iter()
            .map(|ops| ops.iter().map(op).collect())
            .collect();
        sessions.push(format!("{} {txns:?}", sites[session.site.index()]));
    }
    sessions.sort();
    format!("{:?} {sessions:?}", places.values().collect::<Vec<_>>())
}

fn kind(setup: &Setup, symmetry: Symmetry, keys: usize, sites: usize) -> String {
    let identity = |count: usize| vec![(0..count).collect::<Vec<usize>>()];
    let (all_keys, all_sites) = (
        if symmetry.keys {
            permutations(keys)
        } else {
            identity(keys)
        },
        if symmetry.sites {
            permutations(sites)
        } else {
            identity(sites)
        },
    );
    let mut least: Option<String> = None;
    for keys in &all_keys {
        for sites in &all_sites {
            let text = renamed(setup, keys, sites, symmetry.keys);
            least = Some(least.map_or(text.clone(), |least| least.min(text)));
        }
    }
    least.expect("some renaming")
}

/// All setups of two sites and two keys, each key at one site or both, built without tricks.
fn plainly(txns: usize, shapes: &[Vec<Op>], sessions: Sessions) -> Vec<Setup> {
    let (s1, s2) = (Site(0), Site(1));
    let mut placements = Vec::new();
    for options in [vec![vec![s1], vec![s2]], vec![vec![s1, s2], vec![s2, s1]]] {
        for x in &options {
            for y in &options {
                placements.push(vec![x.clone(), y.clone()]);
            }
        }
    }
    // Sessions as lists; transactions are put into an old session or a new one, so that every
    // setup comes out, some several times.
    let mut all: BTreeSet<Vec<Session>> = BTreeSet::from([Vec::new()]);
    for _ in 0..txns {
        let mut next = BTreeSet::new();
        for old in &all {
            for shape in shapes {
                for site in [s1, s2] {
                    let mut new = old.clone();
                    new.push(Session {
                        site,
                        txns: vec![shape.clone()],
                    });
                    let alone = !old.iter().any(|session| session.site == site);
                    if sessions != Sessions::OneASite || alone {
                        new.sort();
                        next.insert(new);
                    }
                }
                for place in 0..old.len() {
                    let mut new = old.clone();
                    new[place].txns.push(shape.clone());
                    if sessions != Sessions::OneATxn {
                        new.sort();
                        next.insert(new);
                    }
                }
            }
        }
        all = next;
    }
    placements
        .iter()
        .flat_map(|placement| {
            all.iter()
                .map(|sessions| Setup::new(2, placement.clone(), sessions.clone()).expect("good"))
        })
        .collect()
}

fn shapes(most: usize) -> Vec<Vec<Op>> {
    let ops: Vec<Op> = [Key(0), Key(1)]
        .into_iter()
        .flat_map(|key| [Op::Read(key), Op::Write(key)])
        .collect();
    let mut all: Vec<Vec<Op>> = ops.iter().map(|op| vec![*op]).collect();
    for _ in 1..most {
        for old in all.clone() {
            for op in &ops {
                let new = [&old[..], &[*op]].concat();
                let twice = matches!(op, Op::Read(_)) && old.last() == Some(op);
                if !all.contains(&new) && !twice {
                    all.push(new);
                }
            }
        }
    }
    all
}

#[test]
fn each_setup_has_exactly_one_representative() {
    let cases = [
        (1..=2, 1, Sessions::OneASite),
        (1..=2, 1, Sessions::Any),
        (1..=3, 1, Sessions::OneATxn),
        (3..=3, 1, Sessions::Any),
        (1..=2, 2, Sessions::OneASite),
    ];
    for (txns, ops, sessions) in cases {
        for symmetry in [
            NONE,
            BOTH,
            Symmetry {
                sites: true,
                keys: false,
            },
            Symmetry {
                sites: false,
                keys: true,
            },
        ] {
            let bounds = Bounds {
                mix: Mix::Any {
                    txns: txns.clone(),
                    ops: 1..=ops,
                    shapes: vec![Shape::General],
                },
                sessions,
                connected: false,
                ..Bounds::default()
            };
            let found = bounds.setups(symmetry).expect("few");
            let full: Vec<Setup> = txns
                .clone()
                .flat_map(|txns| plainly(txns, &shapes(ops), sessions))
                .collect();
            let context = format!("{txns:?} {ops} {sessions:?} {symmetry:?}");
            assert_eq!(
                found.raw - found.irrelevant,
                full.len() as u128,
                "{context}"
            );
            let kinds: BTreeSet<String> = full
                .iter()
                .map(|setup| kind(setup, symmetry, 2, 2))
                .collect();
            let mine: BTreeSet<String> = found
                .setups
                .iter()
                .map(|setup| kind(setup, symmetry, 2, 2))
                .collect();
            assert_eq!(mine.len(), found.setups.len(), "{context}: two alike");
            assert_eq!(mine, kinds, "{context}");
        }
    }
}

#[test]
fn what_falls_apart_is_counted() {
    let all = Bounds {
        connected: false,
        ..Bounds::default()
    };
    let full = all.setups(BOTH).expect("few");
    let connected = Bounds::default().setups(BOTH).expect("few");
    assert_eq!(full.raw, connected.raw);
    assert!(connected.setups.len() < full.setups.len());
    assert!(connected.irrelevant > full.irrelevant);
    let names: BTreeSet<String> = full.setups.iter().map(Setup::to_string).collect();
    let known = |setup: &Setup| names.contains(&setup.to_string());
    assert!(connected.setups.iter().all(known));
    // Without symmetry every setup stands for itself.
    let plain = Bounds::default().setups(NONE).expect("few");
    assert_eq!(plain.raw - plain.irrelevant, plain.setups.len() as u128);
    assert_eq!(plain.irrelevant, connected.irrelevant);
    println!(
        "raw {} irrelevant {} connected {} of {}",
        connected.raw,
        connected.irrelevant,
        connected.setups.len(),
        full.setups.len()
    );
}

#[test]
fn cat_has_its_own_numbers() {
    for (txns, expected) in [(2, 12), (3, 32), (4, 80)] {
        let bounds = Bounds::cat([0, 0, txns], [0, 0, 2], 2, 2, 1);
        let found = bounds.setups(NONE).expect("few");
        assert_eq!(
            (found.raw, found.setups.len()),
            (expected, expected as usize)
        );
    }
    let odd = Bounds::cat([0, 0, 3], [0, 0, 1], 2, 2, 1);
    assert_eq!(odd.setups(NONE).expect("none").setups.len(), 0);
    // One reads both keys, one writes both, each at either site.
    let mixed = Bounds::cat([1, 1, 0], [2, 2, 0], 2, 2, 1).setups(NONE);
    assert_eq!(mixed.expect("few").raw, 2 * 2 * (4 + 2));
}

#[test]
fn too_many_is_said_before_it_is_too_late() {
    let bounds = Bounds {
        mix: Mix::Any {
            txns: 1..=8,
            ops: 1..=4,
            shapes: vec![Shape::General],
        },
        ..Bounds::default()
    };
    let TooMany { raw, .. } = bounds.setups(BOTH).expect_err("too many");
    assert!(raw > 1 << 40);
    let few = Bounds {
        setups_max: 10,
        ..Bounds::default()
    };
    assert!(
        few.setups(BOTH)
            .expect_err("more than 10")
            .to_string()
            .contains("10")
    );
}

#[test]
fn fixed_placements_keep_to_their_place() {
    let bounds = Bounds {
        placement: Placement::Fixed,
        ..Bounds::default()
    };
    let found = bounds.setups(BOTH).expect("few");
    let first = |setup: &Setup| setup.keys().all(|key| setup.preferred(key) == Site(0));
    assert!(found.setups.iter().all(first));
}

#[test]
fn workloads_have_different_names() {
    let all = separating();
    let names: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all.len());
}
