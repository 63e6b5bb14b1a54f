//! Steps without those that nothing depends on: assignments nobody reads, branches and loops that
//! do nothing. Java computes much that no statement sees.

use crate::expr::{Condition, Expr, VariableId};
use crate::ir::{Action, Label, OnConflict, Repeat, Statement, Step};
use rustc_hash::FxHashSet;

/// Branches are nested no deeper than this to save breaks.
const STRAIGHTENED_MAX: usize = 30;

/// Removes what has no effect on statements and on conditions around them.
pub(super) fn simplify(mut steps: Vec<Step>) -> Vec<Step> {
    // Each round can make more dead; assignments chain, so a few rounds suffice, and a bound keeps
    // the cost of odd sources down.
    for _ in 0..20 {
        let mut live = FxHashSet::default();
        reads(&steps, &mut live);
        let before = count(&steps);
        steps = keep(steps, &live);
        if count(&steps) == before {
            break;
        }
    }
    steps
}

/// The variables that steps read and never assign, in their order.
pub(super) fn unassigned(steps: &[Step]) -> Vec<VariableId> {
    let mut live = FxHashSet::default();
    reads(steps, &mut live);
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        waiting.extend(step.inner());
        match step {
            Step::Let { variable, .. } | Step::Push { variable, .. } => {
                live.remove(&variable.0);
            }
            Step::Loop { repeat, .. } => match repeat {
                Repeat::Elements { variable, .. } => {
                    live.remove(&variable.0);
                }
                Repeat::While { .. } | Repeat::Rows(_) => {}
            },
            _ => {}
        }
    }
    let mut found: Vec<VariableId> = live.into_iter().map(VariableId).collect();
    found.sort_unstable();
    found
}

fn count(steps: &[Step]) -> usize {
    let mut total = 0;
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        total += 1;
        waiting.extend(step.inner());
    }
    total
}

fn in_expr(expr: &Expr, live: &mut FxHashSet<u32>) {
    for one in expr.all() {
        if let Expr::Variable(VariableId(id)) = one {
            live.insert(*id);
        }
    }
}

fn in_condition(condition: &Condition, live: &mut FxHashSet<u32>) {
    for expr in condition.expressions() {
        in_expr(expr, live);
    }
}

fn in_statement(statement: &Statement, live: &mut FxHashSet<u32>) {
    for part in &statement.parts {
        in_condition(&part.filter, live);
        match &part.action {
            Action::Update { sets } => sets.iter().for_each(|set| in_expr(&set.value, live)),
            Action::Insert(insert) => {
                insert
                    .values
                    .iter()
                    .for_each(|set| in_expr(&set.value, live));
                if let OnConflict::Update(sets) = &insert.on_conflict {
                    sets.iter().for_each(|set| in_expr(&set.value, live));
                }
            }
            Action::Select(_) | Action::Delete => {}
        }
    }
    let arguments = statement.arguments.iter().map(|one| &one.value);
    let shape = &statement.shape;
    let limit = shape.limit.iter().chain(&shape.offset);
    let outputs = statement.outputs.iter().map(|one| &one.value);
    arguments
        .chain(limit)
        .chain(outputs)
        .for_each(|value| in_expr(value, live));
}

/// The variables that something reads. A variable read only to compute itself is not read.
fn reads(steps: &[Step], live: &mut FxHashSet<u32>) {
    for step in steps {
        match step {
            Step::Execute(statement) => in_statement(statement, live),
            Step::Let { variable, value } | Step::Push { variable, value } => {
                let mut inside = FxHashSet::default();
                in_expr(value, &mut inside);
                inside.remove(&variable.0);
                live.extend(inside);
            }
            Step::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                in_condition(condition, live);
                reads(then, live);
                reads(otherwise, live);
            }
            Step::Loop { repeat, body, .. } => {
                match repeat {
                    Repeat::While { before, condition } => {
                        reads(before, live);
                        in_condition(condition, live);
                    }
                    Repeat::Elements { list, .. } => in_expr(list, live),
                    Repeat::Rows(_) => {}
                }
                reads(body, live);
            }
            Step::Block { body, .. } => reads(body, live),
            Step::Advance(_) | Step::Break(_) | Step::Abort { .. } | Step::Commit => {}
        }
    }
}

fn keep(steps: Vec<Step>, live: &FxHashSet<u32>) -> Vec<Step> {
    let mut kept = Vec::new();
    for step in steps {
        match step {
            Step::Let { variable, .. } | Step::Push { variable, .. }
                if !live.contains(&variable.0) => {}
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => {
                let (then, otherwise) = (keep(then, live), keep(otherwise, live));
                match condition {
                    Condition::True => kept.extend(then),
                    Condition::False => kept.extend(otherwise),
                    _ if then == otherwise => kept.extend(then),
                    condition => kept.push(Step::If {
                        condition,
                        then,
                        otherwise,
                        place,
                    }),
                }
            }
            Step::Loop {
                label,
                repeat,
                body,
                place,
            } => {
                let body = keep(body, live);
                let repeat = match repeat {
                    Repeat::While { before, condition } => Repeat::While {
                        before: keep(before, live),
                        condition,
                    },
                    other => other,
                };
                if let Some(drawn) = draws(&repeat, &body) {
                    kept.extend(drawn);
                } else if !does_nothing(&repeat, &body) {
                    kept.push(Step::Loop {
                        label,
                        repeat,
                        body,
                        place,
                    });
                }
            }
            Step::Block { label, body } => {
                let body = straighten(keep(body, live), label, 0);
                match leaves(&body, label) {
                    true => kept.push(Step::Block { label, body }),
                    false => kept.extend(body),
                }
            }
            other => kept.push(other),
        }
    }
    kept
}

/// Steps whose end is the end of a block, without the breaks that only skip to it: what follows a
/// side of a branch that leaves belongs to the other side.
fn straighten(steps: Vec<Step>, label: Label, depth: usize) -> Vec<Step> {
    let mut straight: Vec<Step> = Vec::new();
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Break(found) if found == label => break,
            Step::If {
                condition,
                mut then,
                mut otherwise,
                place,
            } if depth < STRAIGHTENED_MAX => {
                let leaves = |side: &[Step]| side.last() == Some(&Step::Break(label));
                match (leaves(&then), leaves(&otherwise)) {
                    (true, true) => steps.by_ref().for_each(drop),
                    (true, false) => otherwise.extend(steps.by_ref()),
                    (false, true) => then.extend(steps.by_ref()),
                    (false, false) => {}
                }
                if steps.peek().is_none() {
                    then = straighten(then, label, depth + 1);
                    otherwise = straighten(otherwise, label, depth + 1);
                }
                straight.push(Step::If {
                    condition,
                    then,
                    otherwise,
                    place,
                });
            }
            other => straight.push(other),
        }
    }
    straight
}

/// Whether a loop only moves through rows nobody looks at.
fn does_nothing(repeat: &Repeat, body: &[Step]) -> bool {
    let before = match repeat {
        Repeat::While { before, .. } => before.as_slice(),
        Repeat::Rows(_) | Repeat::Elements { .. } => &[],
    };
    let idle = |step: &Step| matches!(step, Step::Advance(_));
    body.is_empty() && before.iter().all(idle)
}

/// The draws of `do { x = random(); } while (…)`: once is as good, since x is any value.
fn draws(repeat: &Repeat, body: &[Step]) -> Option<Vec<Step>> {
    let Repeat::While { before, .. } = repeat else {
        return None;
    };
    let drawn = |step: &Step| {
        let Step::Let { value, .. } = step else {
            return false;
        };
        let stored = match value {
            Expr::Call { arguments, .. } => arguments.last().unwrap_or(value),
            value => value,
        };
        matches!(stored, Expr::Unknown { .. })
    };
    let all = !before.is_empty() && body.is_empty() && before.iter().all(drawn);
    all.then(|| before.clone())
}

fn leaves(steps: &[Step], label: Label) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if *step == Step::Break(label) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}
