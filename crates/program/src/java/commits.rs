//! Methods that commit in the middle: what comes after is a transaction of its own.
//!
//! A method is cut into *pieces*: one from its beginning, and one from behind each commit, each up to the
//! next commit on its way. What is behind a commit in a loop is the rest of its body, the loop once more, and
//! what follows the loop; behind one in a branch, what follows the branch. What that branch asked of variables that it
//! does not assign still holds there: so a piece behind it begins with the same test, and ends where it fails. Cost: pieces × steps.
//!
//! A piece from within a loop or a branch that needs rows of an earlier one (`while (rows.next()) {…
//! commit(); }`), or that has the same statement twice, is not made: then only commits that stand on their
//! own cut, and a commit inside that a statement follows is noted.

use crate::expr::{Condition, Expr, StatementId, VariableId};
use crate::ir::{Label, Repeat, Step};
use crate::place::Place;
use rustc_hash::FxHashSet;

/// A method with more pieces is cut at the commits that stand on their own.
const PIECES_MAX: usize = 12;

/// The pieces of a method, and whether a statement follows a commit within one of them.
pub(super) fn cut(steps: Vec<Step>) -> (Vec<Vec<Step>>, bool) {
    match pieces(&steps) {
        Some(all) => (all, false),
        None => cut_between(steps),
    }
}

fn pieces(steps: &[Step]) -> Option<Vec<Vec<Step>>> {
    let mut found: Vec<Vec<Step>> = Vec::new();
    let all = std::iter::once(steps.to_vec()).chain(behind(steps, true)?);
    for (at, piece) in all.enumerate() {
        let piece = without_tail(reachable(piece));
        if !executes(&piece) || found.contains(&piece) {
            continue;
        }
        if at > 0 && !stands_alone(&piece) || found.len() == PIECES_MAX {
            return None;
        }
        found.push(piece);
    }
    if found.is_empty() {
        found.push(Vec::new());
    }
    Some(found)
}

/// What is left of the steps behind each commit in them, with the tests of its branches where these are wanted; none where a
/// commit stands in the test of a loop.
fn behind(steps: &[Step], tests: bool) -> Option<Vec<Vec<Step>>> {
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let inner: Vec<Vec<Step>> = match step {
            Step::Commit => vec![Vec::new()],
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => behind_branches((condition, place), [then, otherwise], tests)?,
            Step::Block { label, body } => {
                let wrap = |body: Vec<Step>| {
                    vec![Step::Block {
                        label: *label,
                        body,
                    }]
                };
                behind(body, tests)?.into_iter().map(wrap).collect()
            }
            Step::Loop {
                label,
                repeat,
                body,
                ..
            } => {
                if let Repeat::While { before, .. } = repeat
                    && !behind(before, false)?.is_empty()
                {
                    return None;
                }
                let again = |mut rest: Vec<Step>| {
                    rest = reachable(rest);
                    let alone = rest
                        .iter()
                        .all(|step| matches!(step, Step::Block { body, .. } if body.is_empty()));
                    rest.push(step.clone());
                    match alone {
                        true => vec![step.clone()],
                        // A break of the loop leaves the rest of its body, too.
                        false => vec![Step::Block {
                            label: *label,
                            body: rest,
                        }],
                    }
                };
                behind(body, false)?.into_iter().map(again).collect()
            }
            _ => Vec::new(),
        };
        for mut rest in inner {
            rest.extend_from_slice(&steps[at + 1..]);
            found.push(rest);
        }
        if found.len() > 4 * PIECES_MAX {
            return None;
        }
    }
    Some(found)
}

/// What is left behind each commit in the branches of a test.
fn behind_branches(
    (condition, place): (&Condition, &Place),
    [then, otherwise]: [&[Step]; 2],
    tests: bool,
) -> Option<Vec<Vec<Step>>> {
    let mut all = Vec::new();
    // Where both commit, what follows is one transaction.
    let both = commits(then) && commits(otherwise);
    for (branch, holds) in [(then, true), (otherwise, false)] {
        let wanted = tests && !both;
        let test = wanted.then(|| still_holds(condition, holds, branch, place));
        for mut rest in behind(branch, tests)? {
            rest.splice(0..0, test.clone().flatten());
            all.push(rest);
        }
    }
    Some(all)
}

/// Whether there is a commit among the steps.
fn commits(steps: &[Step]) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if *step == Step::Commit {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}

/// The test of a branch, as a step that goes on only where it came out like that; none where the branch assigns what it is
/// about, or where it is about more than variables and arguments.
fn still_holds(condition: &Condition, holds: bool, branch: &[Step], place: &Place) -> Option<Step> {
    let mut conditions = vec![condition];
    let mut expressions: Vec<&Expr> = Vec::new();
    while let Some(next) = conditions.pop() {
        match next {
            Condition::And(all) | Condition::Or(all) => conditions.extend(all),
            Condition::Not(inner) => conditions.push(inner),
            Condition::HasRow { .. } | Condition::Exists(_) | Condition::Unknown { .. } => {
                return None;
            }
            other => expressions.extend(other.expressions()),
        }
    }
    let mut about: Vec<VariableId> = Vec::new();
    for expr in expressions.into_iter().flat_map(|expr| expr.all()) {
        match expr {
            Expr::Variable(variable) => about.push(*variable),
            Expr::Constant(_) | Expr::Parameter(_) | Expr::Arithmetic { .. } => {}
            _ => return None,
        }
    }
    let mut waiting: Vec<&Step> = branch.iter().collect();
    while let Some(step) = waiting.pop() {
        waiting.extend(step.inner());
        let assigned = match step {
            Step::Let { variable, .. } | Step::Push { variable, .. } => Some(variable),
            // What a loop assigns besides its steps.
            Step::Loop { .. } => return None,
            _ => None,
        };
        if assigned.is_some_and(|variable| about.contains(variable)) {
            return None;
        }
    }
    let abort = vec![Step::Abort {
        place: place.clone(),
    }];
    let (then, otherwise) = match holds {
        true => (Vec::new(), abort),
        false => (abort, Vec::new()),
    };
    Some(Step::If {
        condition: condition.clone(),
        then,
        otherwise,
        place: place.clone(),
    })
}

/// The steps without those behind what ends them.
fn reachable(steps: Vec<Step>) -> Vec<Step> {
    let mut kept = Vec::new();
    for step in steps {
        let step = match step {
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => Step::If {
                condition,
                then: reachable(then),
                otherwise: reachable(otherwise),
                place,
            },
            Step::Block { label, body } => Step::Block {
                label,
                body: reachable(body),
            },
            Step::Loop {
                label,
                repeat,
                body,
                place,
            } => Step::Loop {
                label,
                repeat,
                body: reachable(body),
                place,
            },
            other => other,
        };
        let ends = ends(&step);
        kept.push(step);
        if ends {
            break;
        }
    }
    kept
}

/// Whether nothing that follows a step in the text follows it.
fn ends(step: &Step) -> bool {
    match step {
        Step::Commit | Step::Break(_) | Step::Abort { .. } => true,
        Step::If {
            then, otherwise, ..
        } => then.last().is_some_and(ends) && otherwise.last().is_some_and(ends),
        Step::Block { label, body } => body.last().is_some_and(ends) && !is_left(body, *label),
        _ => false,
    }
}

/// Whether some step goes on behind the block of that name.
fn is_left(body: &[Step], label: Label) -> bool {
    let mut waiting: Vec<&Step> = body.iter().collect();
    while let Some(step) = waiting.pop() {
        if *step == Step::Break(label) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}

/// A transaction commits where its steps end: a commit there is none of its own.
fn without_tail(mut steps: Vec<Step>) -> Vec<Step> {
    match steps.pop() {
        None | Some(Step::Commit) => {}
        Some(Step::If {
            condition,
            then,
            otherwise,
            place,
        }) => steps.push(Step::If {
            condition,
            then: without_tail(then),
            otherwise: without_tail(otherwise),
            place,
        }),
        Some(Step::Block { label, body }) => steps.push(Step::Block {
            label,
            body: without_tail(body),
        }),
        Some(other) => steps.push(other),
    }
    steps
}

/// Whether a piece has every statement once, and needs no result of another.
fn stands_alone(piece: &[Step]) -> bool {
    let mut executed = FxHashSet::default();
    let mut used: Vec<StatementId> = Vec::new();
    let mut waiting: Vec<&Step> = piece.iter().collect();
    while let Some(step) = waiting.pop() {
        waiting.extend(step.inner());
        match step {
            Step::Execute(statement) => {
                if !executed.insert(statement.id) {
                    return false;
                }
                let arguments = statement.arguments.iter();
                arguments.for_each(|one| in_expr(&one.value, &mut used));
            }
            Step::Advance(statement) => used.push(*statement),
            Step::Let { value, .. } | Step::Push { value, .. } => in_expr(value, &mut used),
            Step::If { condition, .. } => in_condition(condition, &mut used),
            Step::Loop { repeat, .. } => match repeat {
                Repeat::While { condition, .. } => in_condition(condition, &mut used),
                Repeat::Rows(statement) => used.push(*statement),
                Repeat::Elements { list, .. } => in_expr(list, &mut used),
            },
            Step::Block { .. } | Step::Break(_) | Step::Abort { .. } | Step::Commit => {}
        }
    }
    used.iter().all(|statement| executed.contains(statement))
}

fn in_expr(expr: &Expr, used: &mut Vec<StatementId>) {
    for one in expr.all() {
        match one {
            Expr::Field { statement, .. } | Expr::RowCount(statement) => used.push(*statement),
            Expr::If { condition, .. } => in_condition(condition, used),
            _ => {}
        }
    }
}

fn in_condition(condition: &Condition, used: &mut Vec<StatementId>) {
    condition
        .expressions()
        .iter()
        .for_each(|expr| in_expr(expr, used));
    let mut waiting = vec![condition];
    while let Some(next) = waiting.pop() {
        match next {
            Condition::HasRow { statement, .. } => used.push(*statement),
            Condition::Not(inner) => waiting.push(inner),
            Condition::And(all) | Condition::Or(all) => waiting.extend(all),
            _ => {}
        }
    }
}

/// The steps cut at the commits that stand on their own. A commit within a branch or a loop does
/// not cut; the second answer says whether a statement follows one.
fn cut_between(steps: Vec<Step>) -> (Vec<Vec<Step>>, bool) {
    let (label, steps) = opened(steps);
    let mut pieces: Vec<Vec<Step>> = vec![Vec::new()];
    for step in steps {
        match step {
            Step::Commit => pieces.push(Vec::new()),
            other => match pieces.last_mut() {
                Some(last) => last.push(other),
                None => pieces.push(vec![other]),
            },
        }
    }
    let mut inside = false;
    let mut cut = Vec::new();
    for piece in pieces {
        let piece = without_commits(piece, false, &mut Vec::new(), &mut inside);
        if executes(&piece) {
            cut.push(closed(piece, label));
        }
    }
    if cut.is_empty() {
        cut.push(Vec::new());
    }
    (cut, inside)
}

/// The body of a method may be one block that its returns leave.
fn opened(mut steps: Vec<Step>) -> (Option<Label>, Vec<Step>) {
    match (steps.len(), steps.pop()) {
        (1, Some(Step::Block { label, body })) => (Some(label), body),
        (_, Some(last)) => {
            steps.push(last);
            (None, steps)
        }
        (_, None) => (None, steps),
    }
}

fn closed(body: Vec<Step>, label: Option<Label>) -> Vec<Step> {
    match label {
        Some(label) => vec![Step::Block { label, body }],
        None => body,
    }
}

fn executes(steps: &[Step]) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if matches!(step, Step::Execute(_)) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}

/// The steps without commits; `inside` tells whether a statement follows one of them.
/// `after` has, for each block that a break may leave, whether one follows it.
fn without_commits(
    steps: Vec<Step>,
    mut followed: bool,
    after: &mut Vec<(Label, bool)>,
    inside: &mut bool,
) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::new();
    for step in steps.into_iter().rev() {
        match step {
            Step::Commit => *inside |= followed,
            // What comes after it in the text does not follow it.
            Step::Break(label) => {
                followed = after.contains(&(label, true));
                kept.push(Step::Break(label));
            }
            other @ Step::Abort { .. } => {
                followed = false;
                kept.push(other);
            }
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => {
                let does = executes(&then) || executes(&otherwise);
                kept.push(Step::If {
                    condition,
                    then: without_commits(then, followed, after, inside),
                    otherwise: without_commits(otherwise, followed, after, inside),
                    place,
                });
                followed |= does;
            }
            Step::Block { label, body } => {
                let does = executes(&body);
                after.push((label, followed));
                let body = without_commits(body, followed, after, inside);
                after.pop();
                kept.push(Step::Block { label, body });
                followed |= does;
            }
            Step::Loop {
                label,
                repeat,
                body,
                place,
            } => {
                // The next iteration follows, too.
                let does = executes(&body);
                after.push((label, followed));
                let body = without_commits(body, followed || does, after, inside);
                after.pop();
                kept.push(Step::Loop {
                    label,
                    repeat,
                    body,
                    place,
                });
                followed |= does;
            }
            other => {
                followed |= matches!(other, Step::Execute(_));
                kept.push(other);
            }
        }
    }
    kept.reverse();
    kept
}
