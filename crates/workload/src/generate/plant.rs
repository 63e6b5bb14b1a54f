//! Planted anomalies: for each kind, the smallest set of transactions that shows it and nothing
//! weaker.
//!
//! Source: Table 6 of the C4 paper. Where we differ: its last case, TAP-l, contains TAP-k; ours is
//! two sessions that read the versions of two concurrent writers in opposite orders. Its TAP-f
//! reads somebody else's value behind an own write, which is not-my-own-write here. The kinds that
//! the paper does not have follow their definitions in `history::ANOMALIES`.
//!
//! A scenario gets sessions and keys of its own. In the sessions of others its reads would be new
//! causal paths between transactions that the store never promised to order, and so bring about
//! anomalies nobody asked for.
//!
//! In lists, the version order is known from the reads. Two kinds say that version orders inferred
//! from visibility contradict each other; in lists such a contradiction is one with the known order,
//! and reads as G0. A list read that misses own elements is not-my-own-write, whichever it misses.

use super::config::{ConfigError, Datatype};
use super::record::Recorder;
use super::simulate::TICK;
use Event::{R, W};
use history::AnomalyKind::{self, *};
use history::{Interval, KeyId, Op, OpKind, SessionId, Status, ValueCode};

/// An operation on key 0 or 1 of the scenario.
#[derive(Clone, Copy)]
enum Event {
    /// Reads these versions as a list, the last of them as a register.
    R(u32, &'static [u32]),
    W(u32, u32),
}

/// A transaction: the session within the scenario, and the operations.
type Planned = (usize, &'static [Event]);

/// The transactions of a scenario; the first one aborts if the kind speaks of aborted ones.
fn scenario(kind: AnomalyKind) -> &'static [Planned] {
    match kind {
        ThinAirRead => &[(0, &[R(0, &[1])])],
        AbortedRead => &[(0, &[W(0, 1), W(1, 1)]), (1, &[R(0, &[1])])],
        FutureRead => &[(0, &[R(0, &[1]), W(0, 1)])],
        NotMyOwnWrite => &[(0, &[W(0, 1)]), (1, &[W(0, 2), R(0, &[1])])],
        NotMyLastWrite => &[(0, &[W(0, 1), W(0, 2), R(0, &[1])])],
        IntermediateRead => &[(0, &[W(0, 1), W(0, 2)]), (1, &[R(0, &[1])])],
        NonRepeatableRead => &[
            (0, &[W(0, 1)]),
            (1, &[W(0, 2)]),
            (2, &[R(0, &[1]), R(0, &[1, 2])]),
        ],
        DirtyWrite => &[
            (0, &[W(0, 1), W(1, 1)]),
            (1, &[W(0, 2), W(1, 2)]),
            (2, &[R(0, &[1, 2])]),
            (3, &[R(1, &[2, 1])]),
        ],
        CyclicCausality => &[
            (0, &[R(0, &[1]), W(1, 1)]),
            (1, &[R(1, &[1])]),
            (1, &[W(0, 1)]),
        ],
        NonMonotonicRead => &[
            (0, &[W(0, 2)]),
            (1, &[R(0, &[2])]),
            (1, &[W(0, 1), W(1, 1)]),
            (2, &[R(1, &[1]), R(0, &[2])]),
        ],
        NonMonotonicReadConflict => &[
            (0, &[W(0, 1), W(1, 1)]),
            (1, &[W(0, 2), W(1, 2)]),
            (2, &[R(1, &[2]), R(0, &[1])]),
            (3, &[R(1, &[1]), R(0, &[2])]),
        ],
        FracturedRead => &[
            (0, &[W(0, 2)]),
            (1, &[R(0, &[2])]),
            (1, &[W(0, 1), W(1, 1)]),
            (2, &[R(0, &[2]), R(1, &[1])]),
        ],
        FracturedReadConflict => &[
            (0, &[W(0, 1), W(1, 1)]),
            (1, &[W(0, 2), W(1, 2)]),
            (2, &[R(0, &[1]), R(1, &[2])]),
        ],
        InitialRead => &[(0, &[W(0, 1), W(1, 1)]), (0, &[R(0, &[])])],
        CausalityViolation => &[
            (0, &[W(0, 2)]),
            (1, &[R(0, &[2])]),
            (1, &[W(0, 1), W(1, 1)]),
            (2, &[R(1, &[1])]),
            (2, &[R(0, &[2])]),
        ],
        ConflictingOrder => &[
            (0, &[W(0, 1)]),
            (1, &[W(0, 2)]),
            (2, &[R(0, &[1])]),
            (2, &[R(0, &[2])]),
            (3, &[R(0, &[2])]),
            (3, &[R(0, &[1])]),
        ],
        DirtyUpdate | DuplicateElement | IncompatibleOrder => list_scenario(kind),
        _ => strong_scenario(kind),
    }
}

/// Scenarios that only lists show.
fn list_scenario(kind: AnomalyKind) -> &'static [Planned] {
    match kind {
        DirtyUpdate => &[(0, &[W(0, 1)]), (1, &[W(0, 2)]), (2, &[R(0, &[1, 2])])],
        DuplicateElement => &[(0, &[W(0, 1)]), (1, &[R(0, &[1, 1])])],
        IncompatibleOrder => &[
            (0, &[W(0, 1)]),
            (1, &[W(0, 2)]),
            (2, &[R(0, &[1])]),
            (3, &[R(0, &[2])]),
        ],
        _ => &[],
    }
}

/// Scenarios that causal allows; none for those that need a run of their own.
fn strong_scenario(kind: AnomalyKind) -> &'static [Planned] {
    match kind {
        LostUpdate => &[
            (0, &[W(0, 1)]),
            (1, &[R(0, &[1]), W(0, 2)]),
            (2, &[R(0, &[1]), W(0, 3)]),
        ],
        WriteSkew => &[
            (0, &[R(0, &[]), R(1, &[]), W(0, 1)]),
            (1, &[R(0, &[]), R(1, &[]), W(1, 1)]),
        ],
        LongFork => &[
            (0, &[W(0, 1)]),
            (1, &[W(1, 1)]),
            (2, &[R(0, &[1]), R(1, &[])]),
            (3, &[R(0, &[]), R(1, &[1])]),
        ],
        GNonadjacent => &[
            (0, &[W(0, 1)]),
            (0, &[R(1, &[])]),
            (1, &[W(1, 1)]),
            (1, &[R(0, &[])]),
        ],
        G2Item => &[
            (0, &[R(0, &[]), W(1, 1)]),
            (1, &[R(1, &[]), W(2, 1)]),
            (2, &[R(2, &[]), W(0, 1)]),
        ],
        _ => &[],
    }
}

/// Whether an anomaly can be planted at all.
pub fn has_scenario(kind: AnomalyKind) -> bool {
    !scenario(kind).is_empty()
}

/// Whether an anomaly can show in a datatype.
pub fn possible(kind: AnomalyKind, datatype: Datatype) -> bool {
    match datatype {
        Datatype::Registers => !matches!(
            kind,
            DirtyWrite | DirtyUpdate | DuplicateElement | IncompatibleOrder
        ),
        Datatype::Lists => !matches!(
            kind,
            NotMyLastWrite | NonMonotonicReadConflict | FracturedReadConflict | ConflictingOrder
        ),
        Datatype::Sets | Datatype::Counters | Datatype::Mixed => false,
    }
}

/// How many keys a scenario takes.
pub const KEYS: u32 = 3;

/// How long a scenario takes.
pub const DURATION: i64 = 10;

/// Records a scenario on keys from `first_key` on; the sessions run side by side from `now` on.
/// Returns the session and the place within it of each transaction.
pub fn plant(
    kind: AnomalyKind,
    datatype: Datatype,
    first_key: u32,
    now: i64,
    recorder: &mut Recorder,
) -> Result<Vec<(SessionId, u32)>, ConfigError> {
    let mut sessions: Vec<(SessionId, u32)> = Vec::new();
    let mut planted = Vec::new();
    for (place, &(session, events)) in scenario(kind).iter().enumerate() {
        if session == sessions.len() {
            sessions.push((recorder.new_session(), 0));
        }
        let ops: Vec<Op> = events
            .iter()
            .map(|&event| op(event, datatype, first_key, recorder))
            .collect();
        let status = if matches!(kind, AbortedRead | DirtyUpdate) && place == 0 {
            Status::Aborted
        } else {
            Status::Committed
        };
        let (id, turn) = &mut sessions[session];
        let start = now + 4 * i64::from(*turn);
        let interval = Interval {
            start: start * TICK,
            end: (start + 3) * TICK,
        };
        recorder.push(*id, status, interval, &ops)?;
        planted.push((*id, *turn));
        *turn += 1;
    }
    Ok(planted)
}

fn op(event: Event, datatype: Datatype, first_key: u32, recorder: &mut Recorder) -> Op {
    let (kind, key, value) = match (event, datatype) {
        (W(key, value), Datatype::Registers) => (OpKind::Write, key, ValueCode(value)),
        (W(key, value), _) => (OpKind::Append, key, ValueCode(value)),
        (R(key, versions), Datatype::Registers) => {
            let value = versions.last().copied().unwrap_or(0);
            (OpKind::Read, key, ValueCode(value))
        }
        (R(key, versions), _) => {
            let elements: Vec<ValueCode> = versions.iter().map(|&v| ValueCode(v)).collect();
            let list = recorder.push_list(KeyId(first_key + key), &elements);
            (OpKind::ReadList, key, list)
        }
    };
    let key = KeyId(first_key + key);
    Op { kind, key, value }
}
