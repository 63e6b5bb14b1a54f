//! The same path with some of its values equal.
//!
//! A transaction may be called with two equal arguments, or find two equal numbers; the exact method
//! takes each way in which values of one kind can be equal for a path of its own.

use super::same::Same;
use super::unit::Unit;
use crate::expr::Expr;
use crate::schema::{ColumnId, TableId};

/// The most ways in which the values of one path are equal.
const VARIANTS_MAX: usize = 64;

/// The unit and its variants; none where there are too many.
pub(super) fn variants(unit: &Unit) -> Option<Vec<Unit>> {
    let mut found: Vec<Vec<usize>> = vec![(0..unit.terms.len()).collect()];
    for (one, two) in pairs(unit) {
        for known in found.clone() {
            let (to, from) = (known[one].min(known[two]), known[one].max(known[two]));
            let joined = known
                .iter()
                .map(|term| if *term == from { to } else { *term });
            let joined: Vec<usize> = joined.collect();
            if let Some(closed) = closed(unit, &joined)
                && !found.contains(&closed)
            {
                found.push(closed);
            }
        }
        if found.len() > VARIANTS_MAX {
            return None;
        }
    }
    Some(found.iter().map(|map| renamed(unit, map)).collect())
}

/// Values that can be equal and matter: those compared with one column of a key.
fn pairs(unit: &Unit) -> Vec<(usize, usize)> {
    let mut uses: Vec<(TableId, ColumnId, usize)> = Vec::new();
    for access in &unit.accesses {
        let key = access.key.iter().flatten();
        uses.extend(key.map(|(column, term)| (access.table, *column, *term)));
    }
    let mut found = Vec::new();
    for (at, one) in uses.iter().enumerate() {
        for two in uses.iter().skip(at + 1) {
            let pair = (one.2.min(two.2), one.2.max(two.2));
            let same = (one.0, one.1) == (two.0, two.1) && one.2 != two.2;
            if same && !found.contains(&pair) {
                found.push(pair);
            }
        }
    }
    found
}

/// The classes with all conclusions drawn.
fn closed(unit: &Unit, map: &[usize]) -> Option<Vec<usize>> {
    let mut same = Same::new(&[unit]);
    for (term, other) in map.iter().enumerate() {
        same.join((0, term), (0, *other));
    }
    same.close()
        .then(|| (0..map.len()).map(|term| same.class(0, term)).collect())
}

fn renamed(unit: &Unit, map: &[usize]) -> Unit {
    let mut unit = unit.clone();
    for access in &mut unit.accesses {
        let key = access.key.iter_mut().flatten();
        for (_, term) in key.chain(&mut access.fixed) {
            *term = map[*term];
        }
    }
    for derived in &mut unit.derived {
        derived.term = map[derived.term];
        for term in &mut derived.key {
            *term = map[*term];
        }
    }
    // A value that is another one now must not count as a third.
    for (term, to) in map.iter().enumerate() {
        if term != *to {
            unit.terms[term] = Expr::List(vec![Expr::integer(-1), Expr::integer(term as i64)]);
        }
    }
    unit
}
