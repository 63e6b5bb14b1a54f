//! Which cycles of transactions a level forbids, and which names fit a cycle.
//!
//! In terms of the events start and commit (see `snapshot`), a dependency leads from a commit to a
//! start and rw from a start to a commit, so a closed walk over transactions is a cycle of events
//! unless two rw edges meet. Serializable levels know one event for each transaction. At prefix, ww
//! leads from commit to commit, so rw cannot follow it either. Parallel and non-monotonic snapshot
//! isolation have no snapshot for all, and forbid what closes with one rw edge only.

use crate::AnomalyKind::{self, *};
use crate::{Edge, EdgeKind, Level, Reason};

/// Whether an edge of this kind means anything at the level.
pub(super) fn admits(level: Level, kind: EdgeKind) -> bool {
    match kind {
        EdgeKind::So => {
            level.implies(Level::Prefix) || level.implies(Level::ParallelSnapshotIsolation)
        }
        EdgeKind::Rt => level.implies(Level::StrongSnapshotIsolation),
        EdgeKind::Wr | EdgeKind::Ww | EdgeKind::Rw => true,
    }
}

/// Whether the level, one above causal, forbids a closed walk of these edges.
pub(super) fn is_forbidden(level: Level, edges: &[Edge]) -> bool {
    if level.implies(Level::Serializable) {
        true
    } else if level.implies(Level::SnapshotIsolation) {
        !has_pair(edges, |first| first == EdgeKind::Rw)
    } else if level == Level::Prefix {
        !has_pair(edges, |first| matches!(first, EdgeKind::Ww | EdgeKind::Rw))
    } else {
        rw_count(edges) <= 1
    }
}

fn rw_count(edges: &[Edge]) -> usize {
    let is_rw = |edge: &&Edge| edge.kind == EdgeKind::Rw;
    edges.iter().filter(is_rw).count()
}

/// Whether some rw edge directly follows an edge of such a kind, going round.
fn has_pair(edges: &[Edge], is_first: impl Fn(EdgeKind) -> bool) -> bool {
    let next = edges.iter().cycle().skip(1);
    let mut pairs = edges.iter().zip(next);
    pairs.any(|(edge, next)| is_first(edge.kind) && next.kind == EdgeKind::Rw)
}

/// Whether a kind is one that only cycles with version orders or overwritten reads have.
pub(super) fn is_strong(kind: AnomalyKind) -> bool {
    matches!(
        kind,
        CircularFlow | WriteSkew | LongFork | GSingle | GNonadjacent | G2Item | NoVersionOrder
    ) || kind.plain() != kind
}

/// Whether a cycle has the session order or real time that a name says it has.
fn fits_scope(kind: AnomalyKind, edges: &[Edge]) -> bool {
    let has = |wanted: EdgeKind| edges.iter().any(|edge| edge.kind == wanted);
    match kind {
        DirtyWriteProcess | CircularFlowProcess | GSingleProcess | GNonadjacentProcess
        | G2ItemProcess => has(EdgeKind::So) && !has(EdgeKind::Rt),
        DirtyWriteRealtime | CircularFlowRealtime | GSingleRealtime | GNonadjacentRealtime
        | G2ItemRealtime => has(EdgeKind::Rt),
        _ => true,
    }
}

/// Whether the first cycle is what the name says. Names that only say how to look at a cycle fit
/// every one.
pub(super) fn fits(kind: AnomalyKind, edges: &[Edge], otherwise: &[Vec<Edge>]) -> bool {
    let rw_count = rw_count(edges);
    let adjacent = has_pair(edges, |first| first == EdgeKind::Rw);
    let is_listed = |edge: &Edge| {
        let because = &edge.because;
        matches!(because, Some(Reason::List { .. } | Reason::Assumed { .. }))
    };
    let is_order = |edge: &Edge| matches!(edge.kind, EdgeKind::Ww | EdgeKind::So | EdgeKind::Rt);
    if !fits_scope(kind, edges) {
        return false;
    }
    match kind.plain() {
        CircularFlow => rw_count == 0,
        WriteSkew => rw_count == 2 && edges.len() == 2,
        LongFork => {
            let shown = |edge: &Edge| matches!(edge.kind, EdgeKind::Wr | EdgeKind::Rw);
            edges.len() == 4 && rw_count == 2 && !adjacent && edges.iter().all(shown)
        }
        GSingle => rw_count == 1,
        GNonadjacent => rw_count >= 2 && !adjacent,
        G2Item => rw_count >= 2 && adjacent,
        NoVersionOrder => !otherwise.is_empty(),
        DirtyWrite if kind == DirtyWrite => edges.iter().all(|edge| edge.kind == EdgeKind::Ww),
        DirtyWrite => edges.iter().all(is_order),
        CyclicCausality => edges.iter().all(|edge| match edge.kind {
            EdgeKind::So | EdgeKind::Wr | EdgeKind::Rt => true,
            EdgeKind::Ww => is_listed(edge),
            EdgeKind::Rw => false,
        }),
        _ => true,
    }
}
