//! Walter's entries in the catalogue, with their mutants.

use super::{Bug, Walter};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;

impl Walter {
    /// As published.
    pub const PUBLISHED: Walter = Walter {
        name: "walter",
        replicates: true,
        merges: true,
        disasters: 0,
        bug: None,
    };

    /// Every key at its preferred site only.
    pub const UNREPLICATED: Walter = Walter {
        name: "walter-norepl",
        replicates: false,
        ..Walter::PUBLISHED
    };

    /// A remote read ignores what the executing site committed itself.
    pub const NO_MERGE: Walter = Walter {
        name: "walter-no-merge",
        merges: false,
        ..Walter::PUBLISHED
    };
}

const SOURCE: &str = "Sovran, Power, Aguilera, Li: Transactional storage for geo-replicated \
                      systems, SOSP 2011";

pub(crate) fn entries() -> Vec<Entry> {
    let psi = &[Property::Level(Level::ParallelSnapshotIsolation)];
    vec![
        Entry {
            model: Box::new(Walter::PUBLISHED),
            title: "Walter",
            source: SOURCE,
            summary: "Snapshots by site: commits locally where it can, propagates afterwards.",
            promises: psi,
            mutants: mutants(Walter::PUBLISHED),
        },
        Entry {
            model: Box::new(Walter::UNREPLICATED),
            title: "Walter without replication",
            source: SOURCE,
            summary: "Walter with each key at its preferred site only.",
            promises: psi,
            mutants: mutants(Walter::UNREPLICATED),
        },
        Entry {
            model: Box::new(Walter::NO_MERGE),
            title: "Walter without merge",
            source: "Liu, Ölveczky, Wang, Meseguer: Formal modeling and analysis of the Walter \
                     transactional data store, WRLA 2018, as published with CAT",
            summary: "Broken: a site that reads a key elsewhere misses its own latest writes.",
            promises: &[Property::Level(Level::ReadUncommitted)],
            mutants: Vec::new(),
        },
    ]
}

fn mutants(walter: Walter) -> Vec<Mutant> {
    let lost_update = "k1@s2 k2@s1 | s1: r(k1) w(k1) | s1: r(k1) w(k1)";
    let mutant = |names: [&'static str; 2], bug, what, breaks, setup| Mutant {
        model: Box::new(Walter {
            name: names[usize::from(!walter.replicates)],
            bug: Some(bug),
            ..walter
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    };
    vec![
        mutant(
            ["walter/ignore-votes", "walter-norepl/ignore-votes"],
            Bug::IgnoreVotes,
            "a slow commit goes on although a site voted no",
            Level::CursorStability,
            lost_update,
        ),
        mutant(
            ["walter/skip-modified", "walter-norepl/skip-modified"],
            Bug::SkipModified,
            "nobody checks whether a key was modified since the snapshot",
            Level::CursorStability,
            "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
        ),
        mutant(
            ["walter/skip-locks", "walter-norepl/skip-locks"],
            Bug::SkipLocks,
            "a prepare does not lock",
            Level::CursorStability,
            lost_update,
        ),
        mutant(
            ["walter/read-latest", "walter-norepl/read-latest"],
            Bug::ReadLatest,
            "a read returns the latest version, whatever the snapshot",
            Level::ReadAtomic,
            "k1@s1 k2@s2 | s1: r(k2) r(k1) | s1: w(k1) w(k2)",
        ),
        mutant(
            ["walter/skip-causal", "walter-norepl/skip-causal"],
            Bug::SkipCausal,
            "a transaction becomes visible at a site that does not have its snapshot",
            Level::NonMonotonicSnapshotIsolation,
            "k1@s1 k2@s2 | s1: w(k1) | s2: r(k1) w(k2) | s3: r(k2) r(k1)",
        ),
        mutant(
            ["walter/durable-early", "walter-norepl/durable-early"],
            Bug::DurableEarly,
            "a transaction is declared disaster-safe before any other site has it",
            Level::CursorStability,
            "k1@s2 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
        ),
    ]
}
