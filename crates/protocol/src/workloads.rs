//! Small setups that tell the levels apart: in each, a protocol that is too weak for a level shows
//! it. Two sites, two keys, each at one site or at both.

use crate::id::{Key, Site};
use crate::setup::{Op, Session, Setup};

const X: Key = Key(0);
const Y: Key = Key(1);

fn r(key: Key) -> Op {
    Op::Read(key)
}

fn w(key: Key) -> Op {
    Op::Write(key)
}

/// A session: its site and its transactions.
type Planned = (u8, Vec<Vec<Op>>);

/// What is asked of whom, by name. The first number is the site, 0 or 1; X belongs to site 0 and Y
/// to site 1.
fn planned() -> Vec<(&'static str, Vec<Planned>)> {
    let update = || vec![r(X), w(X)];
    let alone = |site: u8, txn: Vec<Op>| (site, vec![txn]);
    vec![
        // Read atomic: somebody sees half of a transaction.
        (
            "fractured-read",
            vec![alone(0, vec![w(X), w(Y)]), alone(1, vec![r(X), r(Y)])],
        ),
        // Cursor stability: both read the same version and overwrite it.
        ("lost-update", vec![alone(0, update()), alone(1, update())]),
        // The same, by one client that is far from the key.
        ("lost-update-far", vec![(1, vec![update(), update()])]),
        // Snapshot isolation: two readers see two writes in opposite orders.
        (
            "long-fork",
            vec![
                alone(0, vec![w(X)]),
                alone(1, vec![w(Y)]),
                alone(0, vec![r(X), r(Y)]),
                alone(1, vec![r(Y), r(X)]),
            ],
        ),
        // Serializability: each overwrites what the other read.
        (
            "write-skew",
            vec![
                alone(0, vec![r(X), r(Y), w(X)]),
                alone(1, vec![r(X), r(Y), w(Y)]),
            ],
        ),
        // PSI over NMSI: a session does not see what it saw before.
        (
            "non-monotonic-reads",
            vec![(0, vec![vec![w(X)]]), (1, vec![vec![r(X)], vec![r(X)]])],
        ),
        // Commit causality: what one site does one after the other is seen in reverse.
        (
            "reverse-order",
            vec![
                (0, vec![vec![w(X)], vec![w(Y)]]),
                (1, vec![vec![r(Y), r(X)]]),
            ],
        ),
        // Causality: somebody sees an answer without the question.
        (
            "causality",
            vec![
                alone(0, vec![w(X)]),
                alone(1, vec![r(X), w(Y)]),
                alone(0, vec![r(Y), r(X)]),
            ],
        ),
        // Read committed: somebody sees what is taken back.
        (
            "dirty-read",
            vec![
                alone(0, vec![r(X), w(X), w(Y)]),
                alone(1, vec![r(Y), w(X)]),
                alone(1, vec![r(X), r(Y)]),
            ],
        ),
    ]
}

/// Setups in which it matters what ended before what began.
fn planned_in_time() -> Vec<(&'static str, Vec<Planned>)> {
    let alone = |site: u8, txn: Vec<Op>| (site, vec![txn]);
    vec![
        // Strict serializability: a read that begins after a write ended does not see it.
        (
            "stale-read",
            vec![alone(0, vec![w(X)]), alone(1, vec![r(X)])],
        ),
        // The same: a write over two sites ends before both have it, and is overwritten unseen.
        (
            "blind-write",
            vec![alone(1, vec![w(X), w(Y)]), alone(0, vec![r(X), w(X)])],
        ),
    ]
}

/// Setups that some seeded bug needs.
fn planned_for_mutants() -> Vec<(&'static str, Vec<Planned>)> {
    let update = |key: Key| vec![r(key), w(key)];
    vec![
        // Somebody reads what an aborted update left.
        (
            "three-updates",
            vec![
                (0, vec![update(X)]),
                (1, vec![update(X)]),
                (1, vec![vec![r(X)]]),
            ],
        ),
        // Half of a transaction is seen by who reads the far half first.
        (
            "fractured-read-reverse",
            vec![(0, vec![vec![w(X), w(Y)]]), (1, vec![vec![r(Y), r(X)]])],
        ),
        // A slow write of X hides a later one.
        (
            "hidden-write",
            vec![
                (1, vec![vec![w(X)]]),
                (0, vec![vec![w(X)]]),
                (1, vec![vec![w(X), w(Y)]]),
                (0, vec![vec![r(X), r(Y)]]),
            ],
        ),
        // A write slips in before a read that is over.
        (
            "forgotten-read",
            vec![(0, vec![vec![r(X), w(Y)]]), (1, vec![vec![w(X), w(Y)]])],
        ),
        // One reads what has a later timestamp than its own.
        (
            "small-timestamp",
            vec![
                (0, vec![vec![r(X), w(Y)]]),
                (0, vec![vec![w(X)]]),
                (1, vec![vec![r(X), w(Y)]]),
            ],
        ),
        // Two updates conflict on one of their keys only.
        (
            "update-both",
            vec![(0, vec![vec![r(Y), w(X), w(Y)]]), (1, vec![update(Y)])],
        ),
    ]
}

/// A workload of this crate.
pub(crate) fn named(name: &str) -> Setup {
    let mut all = separating();
    all.extend(with_placements(planned_for_mutants()));
    let found = all.into_iter().find(|(other, _)| other == name);
    found.expect("a test asks for every one").1
}

/// The workloads by name, with each key at one site (`…/1`) and at both (`…/2`).
pub fn separating() -> Vec<(String, Setup)> {
    let all = planned().into_iter().chain(planned_in_time());
    with_placements(all.collect())
}

fn with_placements(planned: Vec<(&'static str, Vec<Planned>)>) -> Vec<(String, Setup)> {
    let mut all = Vec::new();
    for (name, sessions) in planned {
        let sessions: Vec<Session> = sessions
            .into_iter()
            .map(|(site, txns)| Session {
                site: Site(site),
                txns,
            })
            .collect();
        let placements = [
            vec![vec![Site(0)], vec![Site(1)]],
            vec![vec![Site(0), Site(1)], vec![Site(1), Site(0)]],
        ];
        for (replicas, placement) in placements.into_iter().enumerate() {
            let setup = Setup::new(2, placement, sessions.clone()).expect("two sites, two keys");
            all.push((format!("{name}/{}", replicas + 1), setup));
        }
    }
    all
}
