//! Jessy's entry in the catalogue, with its mutants.

use super::{Bug, Jessy};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;

pub(crate) fn entries() -> Vec<Entry> {
    let mutant = |name, bug, what, breaks, setup| Mutant {
        model: Box::new(Jessy {
            name,
            bug: Some(bug),
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    };
    let lost_update = "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)";
    vec![Entry {
        model: Box::new(Jessy::PUBLISHED),
        title: "Jessy",
        source: "Ardekani, Sutra, Shapiro: Non-monotonic snapshot isolation, SRDS 2013",
        summary: "Snapshots made while reading, consistent by dependence vectors.",
        promises: &[Property::Level(Level::NonMonotonicSnapshotIsolation)],
        mutants: vec![
            mutant(
                "jessy/read-latest",
                Bug::ReadLatest,
                "a read returns the latest version, compatible or not",
                Level::ReadAtomic,
                "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)",
            ),
            mutant(
                "jessy/lose-dependencies",
                Bug::LoseDependencies,
                "a new version does not depend on what its writer read",
                Level::NonMonotonicSnapshotIsolation,
                "k1@s1 k2@s2 | s1: w(k1) | s2: r(k1) w(k2) | s2: r(k1) r(k2)",
            ),
            mutant(
                "jessy/skip-certify",
                Bug::SkipCertify,
                "a vote does not look for newer versions",
                Level::CursorStability,
                lost_update,
            ),
            mutant(
                "jessy/skip-prepared",
                Bug::SkipPrepared,
                "a vote does not look at what is prepared",
                Level::CursorStability,
                lost_update,
            ),
            mutant(
                "jessy/one-vote",
                Bug::OneVote,
                "one vote for a transaction is enough",
                Level::CursorStability,
                "k1@s1 k2@s2 | s1: r(k1) w(k1) w(k2) | s2: r(k1) w(k1)",
            ),
            mutant(
                "jessy/read-prepared",
                Bug::ReadPrepared,
                "a version can be read before it is committed",
                Level::ReadCommitted,
                "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: w(k2) | s1: r(k1)",
            ),
        ],
    }]
}
