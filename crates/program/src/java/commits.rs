//! Methods that commit in the middle: what comes after is a transaction of its own.

use crate::ir::{Label, Repeat, Step};

/// The steps cut at the commits that stand on their own. A commit within a branch or a loop does
/// not cut; the second answer says whether a statement follows one.
pub(super) fn cut(steps: Vec<Step>) -> (Vec<Vec<Step>>, bool) {
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
        if let Step::Loop {
            repeat: Repeat::While { before, .. },
            ..
        } = step
        {
            waiting.extend(before);
        }
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
