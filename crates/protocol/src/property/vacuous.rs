//! Tells a verdict that means something from one that nothing could have changed.

use crate::question::{Evidence, Form, Property, Question};
use history::Level;

/// Whether the question can be asked of a protocol that showed this evidence. The paper's NMSI and
/// PSI speak of the times at which transactions finish at other sites; where the model records
/// none, the paper's table has a dash.
pub fn applicable(question: Question, evidence: &Evidence) -> bool {
    let sites = matches!(
        question.property,
        Property::Level(Level::NonMonotonicSnapshotIsolation | Level::ParallelSnapshotIsolation)
    );
    question.is_defined()
        && !(question.form == Form::Paper && sites && evidence.finals_applied == 0)
}

/// Why a ✓ says nothing: none of the behaviour that could have broken the property was seen. None if
/// some of it was.
pub fn vacuous(property: Property, evidence: &Evidence) -> Option<String> {
    let why = reason(property, evidence)?;
    Some(format!("{why}, so nothing could have violated it"))
}

fn reason(property: Property, seen: &Evidence) -> Option<&'static str> {
    use Level::*;
    if seen.finals == 0 {
        return Some("no run came to an end");
    }
    if seen.finals_two_commits == 0 {
        return Some("no two transactions committed in one run");
    }
    let Property::Level(level) = property else {
        return conflicts(seen);
    };
    match level {
        ReadUncommitted => (seen.finals_overwrites == 0)
            .then_some("no two committed transactions wrote the same key"),
        ReadCommitted => reads_from(seen),
        CursorStability => reads_from(seen).or_else(|| updates(seen)),
        ReadAtomic => reads_from(seen).or_else(|| fractures(seen)),
        // Half of it can be broken by either.
        UpdateAtomic => reads_from(seen).or_else(|| {
            let neither = updates(seen).and(fractures(seen));
            neither.map(|_| {
                "nobody read two keys that another wrote, and no two read and wrote the same key"
            })
        }),
        ReadYourWrites | MonotonicReads | MonotonicWrites | WritesFollowReads => {
            sessions(seen).or_else(|| conflicts(seen))
        }
        StrongSessionSnapshotIsolation | StrongSessionSerializable => {
            sessions(seen).or_else(|| conflicts(seen))
        }
        StrongSnapshotIsolation | StrictSerializable => conflicts(seen).or_else(|| real_time(seen)),
        Causal
        | Prefix
        | NonMonotonicSnapshotIsolation
        | ParallelSnapshotIsolation
        | SnapshotIsolation
        | Serializable => conflicts(seen),
    }
}

fn reads_from(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_reads_from == 0).then_some("nobody read what another transaction wrote")
}

fn updates(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_updates == 0)
        .then_some("no two committed transactions read and wrote the same key")
}

fn fractures(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_read_together == 0)
        .then_some("nobody read two keys that another committed transaction wrote")
}

/// A cycle of dependencies needs a version that somebody overwrote or did not see.
fn conflicts(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_read_write == 0 && seen.finals_overwrites == 0)
        .then_some("nobody overwrote what another transaction read or wrote")
}

fn sessions(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_sessions == 0).then_some("no session committed two transactions")
}

fn real_time(seen: &Evidence) -> Option<&'static str> {
    (seen.finals_real_time == 0).then_some("no transaction began after another had committed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_conflict_proves_nothing() {
        let mut seen = Evidence::default();
        let serializable = Property::Level(Level::Serializable);
        assert!(vacuous(serializable, &seen).is_some());
        seen.finals = 1;
        seen.finals_two_commits = 1;
        assert!(vacuous(serializable, &seen).is_some());
        seen.finals_reads_from = 1;
        seen.finals_read_write = 1;
        assert_eq!(vacuous(serializable, &seen), None);
        let strict = Property::Level(Level::StrictSerializable);
        assert!(vacuous(strict, &seen).is_some());
        seen.finals_real_time = 1;
        assert_eq!(vacuous(strict, &seen), None);
        let atomic = Property::Level(Level::ReadAtomic);
        assert!(vacuous(atomic, &seen).is_some());
        seen.finals_read_together = 1;
        assert_eq!(vacuous(atomic, &seen), None);
    }
}
