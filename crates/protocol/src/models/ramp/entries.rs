//! The members of the family, each with its seeded bugs.

use super::{Bug, Ramp, Reads, Writes};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level;
use std::borrow::Cow;

const READ_ATOMIC: &[Property] = &[Property::Level(Level::ReadAtomic)];
/// What is left without atomic visibility: the level of recorded histories called read committed
/// already forbids to read less than an earlier read of the same transaction showed.
const COMMITTED: &[Property] = &[Property::Level(Level::ReadCommitted)];

/// A transaction that writes two keys of two sites, and one that reads them.
const TWO_KEYS: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
/// The same with two replicas of each key.
const TWO_REPLICAS: &str = "k1@s1,s2 k2@s1,s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)";
/// The same after a key was written before.
const TWICE: &str = "k1@s1 k2@s2 | s1: w(k2); w(k1) w(k2) | s2: r(k1) r(k2)";
/// A write, and a transaction that may read and overwrite it.
const OVERWRITE: &str = "k1@s1 | s2: w(k1) | s1: r(k1) w(k1)";

/// Two transactions that write the same keys in different orders.
const CROSSED: &str = "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: w(k2) w(k1)";

const PAPER: &str = "Bailis et al., SIGMOD 2014 and TODS 2016";
const VARIANTS: &str = "Bailis et al., TODS 2016; Liu et al., ICFEM 2017";
const ALTERNATIVES: &str = "Liu et al., ICFEM 2017";

const FAST: Ramp = Ramp {
    name: Cow::Borrowed("ramp-f"),
    reads: Reads::Fast,
    writes: Writes::TwoPhase,
    fast_commit: false,
    bug: None,
};
const SMALL: Ramp = Ramp {
    name: Cow::Borrowed("ramp-s"),
    reads: Reads::Small,
    ..FAST
};

const AS_FAST: &str = "Read atomic; versions name the keys of their transaction, so that most \
                       reads take one round.";

fn bug(of: &Ramp, short: &str, bug: Bug, setup: &str) -> Mutant {
    let (what, breaks) = match bug {
        Bug::NoSecondRound => ("readers do not ask twice", Level::ReadAtomic),
        Bug::NoMetadata => ("versions carry no metadata", Level::ReadAtomic),
        Bug::EarlyCommit => (
            "commits when the first server has prepared",
            Level::ReadAtomic,
        ),
        Bug::OneReplica => ("commits when one replica has prepared", Level::ReadAtomic),
        Bug::WrongVersion => (
            "the second round gets what the first got",
            Level::ReadAtomic,
        ),
        Bug::OldestVersion => (
            "the second round gets the oldest version",
            Level::ReadAtomic,
        ),
        Bug::ShowsPrepared => ("shows what is only prepared", Level::ReadAtomic),
        Bug::OwnClock => ("timestamps ignore what was read", Level::ReadCommitted),
        Bug::ManyTimestamps => ("each write has its own timestamp", Level::ReadUncommitted),
    };
    let model = Ramp {
        name: format!("{}/{short}", of.name).into(),
        bug: Some(bug),
        ..of.clone()
    };
    Mutant {
        model: Box::new(model),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    }
}

fn entry(
    model: &Ramp,
    title: &'static str,
    source: &'static str,
    promises: &'static [Property],
    summary: &'static str,
    mutants: Vec<Mutant>,
) -> Entry {
    Entry {
        model: Box::new(model.clone()),
        title,
        source,
        summary,
        promises,
        mutants,
    }
}

/// All members, in the order of the table.
pub(crate) fn entries() -> Vec<Entry> {
    let mut all = fast();
    all.extend(small());
    all.push(hybrid());
    all.extend(faster());
    all
}

fn fast() -> Vec<Entry> {
    let one_phase = Ramp {
        name: Cow::Borrowed("ramp-f+1pw"),
        writes: Writes::OnePhase,
        ..FAST
    };
    let fast_commit = Ramp {
        name: Cow::Borrowed("ramp-f+fc"),
        fast_commit: true,
        ..FAST
    };
    let alone = Ramp {
        name: Cow::Borrowed("ramp-f-2pc"),
        writes: Writes::Alone,
        ..FAST
    };
    vec![
        entry(&FAST, "RAMP-Fast", PAPER, READ_ATOMIC, AS_FAST, {
            let mut bugs = fast_bugs(&FAST);
            bugs.extend([
                bug(&FAST, "shows-prepared", Bug::ShowsPrepared, TWO_KEYS),
                bug(&FAST, "one-replica", Bug::OneReplica, TWO_REPLICAS),
                bug(&FAST, "own-clock", Bug::OwnClock, OVERWRITE),
            ]);
            bugs
        }),
        entry(
            &one_phase,
            "RAMP-Fast with one-phase writes",
            VARIANTS,
            READ_ATOMIC,
            "RAMP-Fast that answers the client when all is prepared.",
            fast_bugs(&one_phase),
        ),
        entry(
            &fast_commit,
            "RAMP-Fast with fast commit detection",
            VARIANTS,
            READ_ATOMIC,
            "RAMP-Fast whose servers take a version they are asked for as committed.",
            fast_bugs(&fast_commit),
        ),
        entry(
            &alone,
            "RAMP-Fast without two-phase commit",
            ALTERNATIVES,
            COMMITTED,
            "RAMP-Fast that commits each version as soon as it is prepared.",
            vec![bug(&alone, "many-timestamps", Bug::ManyTimestamps, CROSSED)],
        ),
    ]
}

fn fast_bugs(of: &Ramp) -> Vec<Mutant> {
    vec![
        bug(of, "no-second-round", Bug::NoSecondRound, TWO_KEYS),
        bug(of, "no-metadata", Bug::NoMetadata, TWO_KEYS),
        bug(of, "early-commit", Bug::EarlyCommit, TWO_KEYS),
        bug(of, "wrong-version", Bug::WrongVersion, TWO_KEYS),
    ]
}

fn small() -> Vec<Entry> {
    let one_phase = Ramp {
        name: Cow::Borrowed("ramp-s+1pw"),
        writes: Writes::OnePhase,
        ..SMALL
    };
    let alone = Ramp {
        name: Cow::Borrowed("ramp-s-2pc"),
        writes: Writes::Alone,
        ..SMALL
    };
    vec![
        entry(
            &SMALL,
            "RAMP-Small",
            PAPER,
            READ_ATOMIC,
            "Read atomic; always reads in two rounds and stores timestamps only.",
            small_bugs(&SMALL),
        ),
        entry(
            &one_phase,
            "RAMP-Small with one-phase writes",
            VARIANTS,
            READ_ATOMIC,
            "RAMP-Small that answers the client when all is prepared.",
            small_bugs(&one_phase),
        ),
        entry(
            &alone,
            "RAMP-Small without two-phase commit",
            ALTERNATIVES,
            COMMITTED,
            "RAMP-Small that commits each version as soon as it is prepared.",
            vec![bug(&alone, "many-timestamps", Bug::ManyTimestamps, CROSSED)],
        ),
    ]
}

fn small_bugs(of: &Ramp) -> Vec<Mutant> {
    vec![
        bug(of, "no-second-round", Bug::NoSecondRound, TWO_KEYS),
        bug(of, "early-commit", Bug::EarlyCommit, TWO_KEYS),
        bug(of, "oldest-version", Bug::OldestVersion, TWICE),
        bug(of, "shows-prepared", Bug::ShowsPrepared, TWO_KEYS),
    ]
}

fn hybrid() -> Entry {
    let hybrid = Ramp {
        name: Cow::Borrowed("ramp-h"),
        reads: Reads::Hybrid,
        ..FAST
    };
    let mut bugs = fast_bugs(&hybrid);
    bugs.push(bug(&hybrid, "own-clock", Bug::OwnClock, OVERWRITE));
    entry(
        &hybrid,
        "RAMP-Hybrid",
        PAPER,
        READ_ATOMIC,
        "Read atomic; versions carry a Bloom filter of their transaction's keys.",
        bugs,
    )
}

fn faster() -> Vec<Entry> {
    let faster = Ramp {
        name: Cow::Borrowed("faster"),
        writes: Writes::AtOnce,
        ..FAST
    };
    let fast_commit = Ramp {
        name: Cow::Borrowed("faster+fc"),
        fast_commit: true,
        ..faster.clone()
    };
    let bugs = |of| vec![bug(of, "many-timestamps", Bug::ManyTimestamps, CROSSED)];
    vec![
        entry(
            &faster,
            "Faster",
            ALTERNATIVES,
            COMMITTED,
            "RAMP-Fast that writes in one round trip: a version is visible where it arrives.",
            bugs(&faster),
        ),
        entry(
            &fast_commit,
            "Faster with fast commit detection",
            ALTERNATIVES,
            COMMITTED,
            "Faster, where nothing is left for fast commit detection to detect.",
            bugs(&fast_commit),
        ),
    ]
}
