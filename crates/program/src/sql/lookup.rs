//! Conditions given to the parts that are looked up by them.

use super::scope::{Builder, Joined};
use crate::access::Reach;
use crate::expr::{Condition, Expr, NestedId, PartId};
use crate::ir::{Action, Nested, Part, Role};
use std::collections::BTreeSet;

impl Builder<'_> {
    /// What the FROM at hand joins so far.
    pub fn joined(&self) -> Joined {
        let scope = self.scopes.last();
        scope.map(|scope| scope.joined.clone()).unwrap_or_default()
    }

    /// Gives each conjunct to the part that is looked up last among those it mentions, of what this
    /// query joins: its sub-queries come before. `target`, the part that writes, is looked up
    /// last of all.
    pub fn give(&mut self, conditions: Vec<Condition>, joined: &Joined, target: Option<PartId>) {
        let mut conjuncts: Vec<Condition> = Vec::new();
        for condition in &conditions {
            conjuncts.extend(condition.conjuncts().into_iter().cloned());
        }
        conjuncts.retain(|conjunct| !self.push_down(conjunct, joined));
        let order = self.lookup_order(&conjuncts, joined, target);
        for conjunct in conjuncts {
            let needed = self.needed(&conjunct);
            let mentions = |part: &&PartId| needed.contains(part);
            let inside = joined.nested.iter().rev();
            let nested = inside.copied().find(|id| mentions_nested(&conjunct, *id));
            let last = order.iter().rev().find(mentions);
            let filter = match (last, nested) {
                (Some(part), _) => &mut self.parts[part.0 as usize].filter,
                (None, Some(nested)) => &mut self.nested[nested.0 as usize].filter,
                (None, None) => match (order.first(), joined.nested.first()) {
                    (Some(part), _) => &mut self.parts[part.0 as usize].filter,
                    (None, Some(nested)) => &mut self.nested[nested.0 as usize].filter,
                    (None, None) => continue,
                },
            };
            let before = std::mem::replace(filter, Condition::True);
            *filter = before.and(conjunct);
        }
    }

    /// The parts whose rows a condition needs: those it mentions, and those that its sub-queries do.
    fn needed(&self, condition: &Condition) -> BTreeSet<PartId> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![condition];
        while let Some(condition) = waiting.pop() {
            let columns = condition.expressions().into_iter().flat_map(Expr::all);
            let columns = columns.filter_map(|expr| match expr {
                Expr::Column { part, .. } => Some(*part),
                _ => None,
            });
            for part in columns.chain(condition.exists()) {
                let inner = &self.parts[part.0 as usize];
                let is_new = found.insert(part);
                if is_new && role_of(inner) == Some(Role::SubQuery) {
                    waiting.push(&inner.filter);
                }
            }
        }
        found
    }

    /// Gives a condition on the keys of a nested query's groups to its tables: groups are kept or dropped as a whole.
    fn push_down(&mut self, conjunct: &Condition, joined: &Joined) -> bool {
        let mut about = joined.nested.iter();
        let Some(id) = about.find(|id| mentions_nested(conjunct, **id)) else {
            return false;
        };
        let nested = &self.nested[id.0 as usize];
        let Some(inner) = pushed(conjunct, *id, nested) else {
            return false;
        };
        let joined = Joined {
            parts: nested.parts.clone(),
            nested: nested.from.clone(),
        };
        self.give(vec![inner], &joined, None);
        true
    }

    /// The part of a WHERE that has to wait for the outer joins. A condition that does not hold of NULL turns the
    /// outer join it is about into an inner one.
    pub fn after_outer_joins(
        &mut self,
        condition: Condition,
        joined: &Joined,
        others: &mut Vec<Condition>,
    ) -> Option<Condition> {
        let mut after = Condition::True;
        for conjunct in condition.conjuncts() {
            let outer: Vec<PartId> = joined
                .parts
                .iter()
                .copied()
                .filter(|part| is_outer(&self.parts[part.0 as usize]) && mentions(conjunct, *part))
                .collect();
            let nested: Vec<NestedId> = joined
                .nested
                .iter()
                .copied()
                .filter(|id| {
                    self.nested[id.0 as usize].role == Role::Outer && mentions_nested(conjunct, *id)
                })
                .collect();
            match (
                outer.is_empty() && nested.is_empty(),
                rejects_null(conjunct),
            ) {
                (true, _) => others.push(conjunct.clone()),
                (false, false) => after = after.and(conjunct.clone()),
                (false, true) => {
                    for part in outer {
                        set_role(&mut self.parts[part.0 as usize], Role::From);
                    }
                    for id in nested {
                        self.nested[id.0 as usize].role = Role::From;
                    }
                    others.push(conjunct.clone());
                }
            }
        }
        (after != Condition::True).then_some(after)
    }

    /// Parts in the order in which a database would look them up: those reached by a key first.
    fn lookup_order(
        &mut self,
        conjuncts: &[Condition],
        joined: &Joined,
        target: Option<PartId>,
    ) -> Vec<PartId> {
        let all = joined.parts.iter().copied();
        let mut left: Vec<PartId> = all.filter(|id| Some(*id) != target).collect();
        let mut order: Vec<PartId> = Vec::new();
        while !left.is_empty() {
            let keyed = |id: &PartId| self.reached_by_key(*id, conjuncts, &left);
            let at = left.iter().position(keyed).unwrap_or_else(|| {
                let bound = |at: &usize| {
                    let waits = self.waits(left[*at], &left);
                    (
                        !waits,
                        self.joined_by(left[*at], conjuncts, &left).bindings().len(),
                    )
                };
                let places = (0..left.len()).rev();
                places.max_by_key(bound).unwrap_or(0)
            });
            order.push(left.remove(at));
        }
        order.extend(target);
        order
    }

    /// Whether what a part was given before mentions a part that is left.
    fn waits(&self, id: PartId, left: &[PartId]) -> bool {
        let filter = &self.parts[id.0 as usize].filter;
        let mut others = left.iter().filter(|other| **other != id);
        others.any(|other| mentions(filter, *other))
    }

    fn reached_by_key(&self, id: PartId, conjuncts: &[Condition], left: &[PartId]) -> bool {
        let part = self.joined_by(id, conjuncts, left);
        let keyed = matches!(part.reach(self.schema), Reach::Key(_) | Reach::Unique(_));
        keyed && !self.waits(id, left)
    }

    /// The part with all conjuncts that can be tested once the parts that are not left are known.
    fn joined_by(&self, id: PartId, conjuncts: &[Condition], left: &[PartId]) -> Part {
        let mut part = self.parts[id.0 as usize].clone();
        let others = |condition: &Condition| {
            let mut others = left.iter().filter(|other| **other != id);
            others.any(|other| mentions(condition, *other))
        };
        for conjunct in conjuncts.iter().filter(|conjunct| !others(conjunct)) {
            part.filter = part.filter.and(conjunct.clone());
        }
        part
    }
}

fn mentions(condition: &Condition, part: PartId) -> bool {
    !condition.columns_of(part).is_empty()
}

fn mentions_nested(condition: &Condition, wanted: NestedId) -> bool {
    let own = condition.expressions().into_iter().flat_map(Expr::own);
    let mut own = own.into_iter();
    own.any(|expr| matches!(expr, Expr::Nested { nested, .. } if *nested == wanted))
}

/// The condition over the tables of a nested query, where that drops the same rows.
fn pushed(conjunct: &Condition, id: NestedId, nested: &Nested) -> Option<Condition> {
    let shape = &nested.shape;
    let cut = shape.limit.is_some() || shape.offset.is_some() || shape.filter.is_some();
    let grouped = shape.aggregate || !shape.group_by.is_empty() || shape.having.is_some();
    if cut || nested.set.is_some() || nested.role != Role::From {
        return None;
    }
    let Condition::Compare {
        comparison,
        left,
        right,
    } = conjunct
    else {
        return None;
    };
    let inner = |expr: &Expr| match expr {
        Expr::Nested {
            nested: of, value, ..
        } if *of == id && (!grouped || shape.group_by.contains(value)) => {
            matches!(**value, Expr::Column { .. }).then(|| (**value).clone())
        }
        Expr::Constant(_) | Expr::Parameter(_) | Expr::Variable(_) | Expr::Field { .. } => {
            Some(expr.clone())
        }
        _ => None,
    };
    Some(Condition::compare(*comparison, inner(left)?, inner(right)?))
}

/// Whether a condition is not true where what it mentions is NULL.
fn rejects_null(condition: &Condition) -> bool {
    let plain = |expr: &Expr| {
        let odd = |one: &&Expr| {
            matches!(
                one,
                Expr::If { .. } | Expr::Call { .. } | Expr::Unknown { .. }
            )
        };
        !expr.own().iter().any(odd)
    };
    let kind = matches!(
        condition,
        Condition::Compare { .. }
            | Condition::In { .. }
            | Condition::Between { .. }
            | Condition::Like { .. }
    );
    let null = |inner: &Condition| matches!(inner, Condition::IsNull(one) if plain(one));
    let not_null = matches!(condition, Condition::Not(inner) if null(inner));
    not_null || kind && condition.expressions().into_iter().all(plain)
}

fn is_outer(part: &Part) -> bool {
    role_of(part) == Some(Role::Outer)
}

fn role_of(part: &Part) -> Option<Role> {
    match &part.action {
        Action::Select(select) => Some(select.role),
        _ => None,
    }
}

pub(super) fn set_role(part: &mut Part, role: Role) {
    if let Action::Select(select) = &mut part.action {
        select.role = role;
    }
}

/// Whether an output is made of many rows. A query inside makes its aggregates of its own rows.
pub(super) fn has_aggregate(output: &Expr) -> bool {
    let aggregate = |expr: &&Expr| matches!(expr, Expr::Aggregate { .. });
    output.own().iter().any(aggregate)
}
