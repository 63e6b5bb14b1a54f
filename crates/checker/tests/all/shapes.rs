//! Extreme shapes must neither panic nor exhaust the stack nor take long, whole or damaged. The
//! example `shapes` measures them in full size.
use crate::shape;

use checker::{Options, check};
use history::{Initial, Level, Verdict};
use shape::{Damage, SHAPES, Shape, build};

const SIZE: u32 = 2_000;

/// Each way of explaining duplicates is a check of its own, so these are kept small.
const AMBIGUOUS_SIZE: u32 = 100;

fn verdicts(shape: Shape, damage: Damage) -> Vec<(Level, Verdict)> {
    let size = if is_ambiguous(shape) {
        AMBIGUOUS_SIZE
    } else {
        SIZE
    };
    let history = build(shape, size, damage);
    let checked = check(&history, &Level::WEAK, &Options::default());
    for answer in &checked {
        let certified = history::certify(&history, &Initial::default(), &answer.result);
        let open = matches!(answer.result.verdict, Verdict::Unknown(_));
        let level = answer.result.level;
        assert!(
            open || certified.is_ok(),
            "{}: {level}: {certified:?}",
            shape.0
        );
    }
    let answers = checked.into_iter().map(|answer| answer.result);
    answers
        .map(|result| (result.level, result.verdict))
        .collect()
}

/// Values written many times may leave a level open.
fn is_ambiguous((name, _): Shape) -> bool {
    matches!(name, "one value for all" | "every value twice")
}

#[test]
fn whole_shapes_hold_at_every_level() {
    for shape in SHAPES {
        for (level, verdict) in verdicts(shape, Damage::None) {
            let holds = matches!(verdict, Verdict::Holds(_));
            let open = is_ambiguous(shape);
            assert!(holds || open, "{}: {level}: {}", shape.0, verdict.name());
        }
    }
}

#[test]
fn damage_apart_breaks_read_committed_and_causal() {
    for shape in SHAPES {
        for (level, verdict) in verdicts(shape, Damage::Apart) {
            let violated = matches!(verdict, Verdict::Violated(_));
            let breaks = level.implies(Level::ReadCommitted);
            let open = is_ambiguous(shape);
            let name = verdict.name();
            assert!(violated == breaks || open, "{}: {level}: {name}", shape.0);
        }
    }
}

#[test]
fn damage_within_breaks_read_committed_and_causal() {
    for shape in SHAPES {
        for (level, verdict) in verdicts(shape, Damage::Within) {
            let violated = matches!(verdict, Verdict::Violated(_));
            let breaks = level.implies(Level::ReadCommitted);
            assert!(
                violated || !breaks || is_ambiguous(shape),
                "{}: {level}",
                shape.0
            );
        }
    }
}
