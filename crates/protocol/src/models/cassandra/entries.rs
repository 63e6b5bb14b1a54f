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
    vec![one(), quorum(), repaired(), all()]
}

fn model(name: &'static str, enough: Enough, repair: bool) -> Cassandra {
    Cassandra {
        name: name.into(),
        enough,
        repair,
        bug: None,
    }
}

fn one() -> Entry {
    let one = model("cassandra-one", Enough::One, false);
    Entry {
        mutants: vec![
            bug(&one, "own-clock", Bug::OwnClock, OVERWRITE),
            bug(&one, "backwards", Bug::Backwards, TWO_WRITES),
        ],
        model: Box::new(one),
        title: "Cassandra, ONE",
        source: SOURCE,
        summary: "Single operations that one replica answers.",
        promises: WRITES,
    }
}

fn quorum() -> Entry {
    let quorum = model("cassandra-quorum", Enough::Quorum, false);
    Entry {
        mutants: vec![
            bug(&quorum, "reads-one", Bug::ReadsOne, WRITE_READ),
            bug(&quorum, "writes-one", Bug::WritesOne, WRITE_READ),
            bug(&quorum, "oldest", Bug::Oldest, WRITE_READ),
            bug(&quorum, "last-arrival", Bug::LastArrival, TWO_WRITERS),
            bug(&quorum, "own-clock", Bug::OwnClock, OVERWRITE),
        ],
        model: Box::new(quorum),
        title: "Cassandra, QUORUM",
        source: SOURCE,
        summary: "Single operations that more than half of the replicas answer.",
        promises: ALL_BUT_READS,
    }
}

fn repaired() -> Entry {
    let repaired = model("cassandra-quorum+repair", Enough::Quorum, true);
    Entry {
        mutants: vec![
            bug(&repaired, "hasty", Bug::HastyRepair, THREE_REPLICAS),
            bug(&repaired, "reads-one", Bug::ReadsOne, WRITE_READ),
            bug(&repaired, "own-clock", Bug::OwnClock, OVERWRITE),
        ],
        model: Box::new(repaired),
        title: "Cassandra, QUORUM with read repair",
        source: SOURCE,
        summary: "The same; a read brings stale replicas up to date before it is answered.",
        promises: ALL_FOUR,
    }
}

fn all() -> Entry {
    let all = model("cassandra-all", Enough::All, false);
    Entry {
        mutants: vec![
            bug(&all, "reads-one", Bug::ReadsOne, TWO_READS),
            bug(&all, "backwards", Bug::Backwards, TWO_WRITES),
            bug(&all, "last-arrival", Bug::LastArrival, TWO_WRITERS),
            bug(&all, "own-clock", Bug::OwnClock, OVERWRITE),
        ],
        model: Box::new(all),
        title: "Cassandra, ALL",
        source: SOURCE,
        summary: "Single operations that all replicas answer.",
        promises: ALL_FOUR,
    }
}

fn bug(of: &Cassandra, short: &str, bug: Bug, setup: &str) -> Mutant {
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
            name: format!("{}/{short}", of.name).into(),
            bug: Some(bug),
            ..of.clone()
        }),
        what,
        breaks: Property::Level(breaks),
        setup: line(setup),
    }
}
