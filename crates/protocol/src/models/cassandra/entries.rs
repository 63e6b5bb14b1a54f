//! The levels of consistency, each with its seeded bugs.

use super::{Bug, Cassandra, Enough};
use crate::catalogue::{Entry, Mutant};
use crate::models::line;
use crate::question::Property;
use history::Level::{MonotonicReads, MonotonicWrites, ReadYourWrites, WritesFollowReads};

const SOURCE: &str = "Lakshman, Malik, LADIS 2009; Liu et al., ICFEM 2014";

const WRITES: &[Property] = &[
    Property::Level(MonotonicWrites),
    Property::Level(WritesFollowReads),
];
const ALL_BUT_READS: &[Property] = &[
    Property::Level(ReadYourWrites),
    Property::Level(MonotonicWrites),
    Property::Level(WritesFollowReads),
];
const ALL_FOUR: &[Property] = &[
    Property::Level(ReadYourWrites),
    Property::Level(MonotonicReads),
    Property::Level(MonotonicWrites),
    Property::Level(WritesFollowReads),
];

/// Reads what another site wrote and overwrites it.
const OVERWRITE: &str = "k1@s1,s2 | s2: w(k1) | s1: r(k1); w(k1)";
/// Writes twice.
const TWO_WRITES: &str = "k1@s1,s2 | s1: w(k1); w(k1)";
/// Writes and reads at three replicas, none of them the coordinator.
const WRITE_READ: &str = "k1@s2,s3,s4 | s1: w(k1); r(k1)";
/// Writes and reads while another site writes.
const TWO_WRITERS: &str = "k1@s1 | s3: w(k1); r(k1) | s2: w(k1)";
/// Reads twice what is being written, at two or three replicas.
const TWO_READS: &str = "k1@s2,s3 | s1: r(k1); r(k1) | s2: w(k1)";
const THREE_REPLICAS: &str = "k1@s2,s3,s4 | s1: r(k1); r(k1) | s2: w(k1)";

/// The levels of consistency. All promises are about sessions, and transactions of one operation.
pub(crate) fn entries() -> Vec<Entry> {
    let level = |name, enough, repair| Cassandra {
        name,
        enough,
        repair,
        bug: None,
    };
    let quorum = level("cassandra-quorum", Enough::Quorum, false);
    let repair = level("cassandra-quorum+repair", Enough::Quorum, true);
    let all = level("cassandra-all", Enough::All, false);
    vec![
        one(level("cassandra-one", Enough::One, false)),
        Entry {
            mutants: vec![
                bug(
                    &quorum,
                    "cassandra-quorum/reads-one",
                    Bug::ReadsOne,
                    WRITE_READ,
                ),
                bug(
                    &quorum,
                    "cassandra-quorum/writes-one",
                    Bug::WritesOne,
                    WRITE_READ,
                ),
                bug(&quorum, "cassandra-quorum/oldest", Bug::Oldest, WRITE_READ),
                bug(
                    &quorum,
                    "cassandra-quorum/last-arrival",
                    Bug::LastArrival,
                    TWO_WRITERS,
                ),
                bug(
                    &quorum,
                    "cassandra-quorum/own-clock",
                    Bug::OwnClock,
                    OVERWRITE,
                ),
            ],
            model: Box::new(quorum),
            title: "Cassandra, QUORUM",
            source: SOURCE,
            summary: "Single operations that more than half of the replicas answer.",
            promises: ALL_BUT_READS,
        },
        Entry {
            mutants: vec![
                bug(
                    &repair,
                    "cassandra-quorum+repair/hasty",
                    Bug::HastyRepair,
                    THREE_REPLICAS,
                ),
                bug(
                    &repair,
                    "cassandra-quorum+repair/reads-one",
                    Bug::ReadsOne,
                    WRITE_READ,
                ),
                bug(
                    &repair,
                    "cassandra-quorum+repair/own-clock",
                    Bug::OwnClock,
                    OVERWRITE,
                ),
            ],
            model: Box::new(repair),
            title: "Cassandra, QUORUM with read repair",
            source: SOURCE,
            summary: "The same; a read brings stale replicas up to date before it is answered.",
            promises: ALL_FOUR,
        },
        Entry {
            mutants: vec![
                bug(&all, "cassandra-all/reads-one", Bug::ReadsOne, TWO_READS),
                bug(&all, "cassandra-all/backwards", Bug::Backwards, TWO_WRITES),
                bug(
                    &all,
                    "cassandra-all/last-arrival",
                    Bug::LastArrival,
                    TWO_WRITERS,
                ),
                bug(&all, "cassandra-all/own-clock", Bug::OwnClock, OVERWRITE),
            ],
            model: Box::new(all),
            title: "Cassandra, ALL",
            source: SOURCE,
            summary: "Single operations that all replicas answer.",
            promises: ALL_FOUR,
        },
    ]
}

fn one(one: Cassandra) -> Entry {
    Entry {
        mutants: vec![
            bug(&one, "cassandra-one/own-clock", Bug::OwnClock, OVERWRITE),
            bug(&one, "cassandra-one/backwards", Bug::Backwards, TWO_WRITES),
        ],
        model: Box::new(one),
        title: "Cassandra, ONE",
        source: SOURCE,
        summary: "Single operations that one replica answers.",
        promises: WRITES,
    }
}

fn bug(of: &Cassandra, name: &'static str, bug: Bug, setup: &str) -> Mutant {
    let (what, breaks) = match bug {
        Bug::ReadsOne if setup == TWO_READS => ("one answer is enough for a read", MonotonicReads),
        Bug::ReadsOne => ("one answer is enough for a read", ReadYourWrites),
        Bug::WritesOne => ("one answer is enough for a write", ReadYourWrites),
        Bug::Oldest => ("the oldest answer is taken", ReadYourWrites),
        Bug::LastArrival => ("replicas keep what came last", ReadYourWrites),
        Bug::OwnClock => ("clocks go their own ways", WritesFollowReads),
        Bug::Backwards => ("clocks run backwards", MonotonicWrites),
        Bug::HastyRepair => ("reads do not wait for repair", MonotonicReads),
    };
    Mutant {
        model: Box::new(Cassandra {
            name,
            bug: Some(bug),
            ..of.clone()
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    }
}
