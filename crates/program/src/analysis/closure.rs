//! The least visibility that a level about operations allows.

use super::blocks::Layout;
use crate::scenario::{EdgeKind, Event, StoreLevel, Turn};
use std::collections::BTreeSet;

/// What each turn sees of other instances, for an order; nothing where the level does not allow
/// the order.
pub(super) fn close(
    layout: &Layout<'_>,
    turns: &[Turn],
    level: StoreLevel,
) -> Option<Vec<BTreeSet<usize>>> {
    let mut sees: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); turns.len()];
    for edge in layout.edges {
        let (from, to) = (
            layout.position(turns, edge.from)?,
            layout.position(turns, edge.to)?,
        );
        match edge.kind {
            EdgeKind::WriteRead if from > to => return None,
            EdgeKind::WriteRead => drop(sees[to].insert(from)),
            EdgeKind::WriteWrite if from > to => return None,
            _ => {}
        }
    }
    use StoreLevel as L;
    match level {
        L::CausalVisibility | L::CausalOperations => causal(turns, &mut sees, level),
        L::ReadCommittedOperations | L::RepeatableReadOperations | L::AtomicOperations => {
            atomic(turns, &mut sees, level)?;
        }
        _ => {}
    }
    for edge in layout.edges {
        let (from, to) = (
            layout.position(turns, edge.from)?,
            layout.position(turns, edge.to)?,
        );
        if edge.kind == EdgeKind::ReadWrite && sees[from].contains(&to) {
            return None;
        }
    }
    Some(sees)
}

/// What is seen by what is seen is seen; for causal operations, what was done or seen earlier in
/// the same transaction as well.
fn causal(turns: &[Turn], sees: &mut [BTreeSet<usize>], level: StoreLevel) {
    for at in 0..turns.len() {
        let mut all: BTreeSet<usize> = BTreeSet::new();
        for seen in &sees[at] {
            all.insert(*seen);
            all.extend(&sees[*seen]);
            if level == StoreLevel::CausalOperations {
                let earlier = |other: &usize| turns[*other].instance == turns[*seen].instance;
                for own in (0..*seen).filter(earlier) {
                    all.insert(own);
                    all.extend(&sees[own]);
                }
            }
        }
        if level == StoreLevel::CausalOperations {
            let earlier = |other: &usize| turns[*other].instance == turns[at].instance;
            for own in (0..at).filter(earlier) {
                all.extend(&sees[own]);
            }
        }
        let other = |seen: &usize| {
            let statement = matches!(turns[*seen].event, Event::Statement(_));
            statement && turns[*seen].instance != turns[at].instance
        };
        sees[at] = all.into_iter().filter(other).collect();
    }
}

/// Who sees one operation of a transaction sees all (read committed); what one operation sees, all
/// of its transaction see (repeatable read). Nothing can be seen before it is done.
fn atomic(turns: &[Turn], sees: &mut [BTreeSet<usize>], level: StoreLevel) -> Option<()> {
    let statement = |at: &usize| matches!(turns[*at].event, Event::Statement(_));
    let of = |instance: usize| -> Vec<usize> {
        let own = |at: &usize| turns[*at].instance == instance && statement(at);
        (0..turns.len()).filter(own).collect()
    };
    loop {
        let size = |sees: &[BTreeSet<usize>]| sees.iter().map(BTreeSet::len).sum::<usize>();
        let before = size(sees);
        for at in (0..turns.len()).filter(statement) {
            let seen: Vec<usize> = sees[at].iter().copied().collect();
            for one in seen {
                if level != StoreLevel::RepeatableReadOperations {
                    sees[at].extend(of(turns[one].instance));
                }
                if level != StoreLevel::ReadCommittedOperations {
                    for sibling in of(turns[at].instance) {
                        sees[sibling].insert(one);
                    }
                }
            }
        }
        let late = |at: usize| sees[at].iter().any(|seen| *seen >= at);
        if (0..turns.len()).any(late) {
            return None;
        }
        if before == size(sees) {
            return Some(());
        }
    }
}
