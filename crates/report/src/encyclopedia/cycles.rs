//! Circles of dependencies, and updates that are lost.

use super::{Entry, Remedy, steps};
use history::AnomalyKind::*;
use history::Level::*;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: LostUpdate,
        what: "Two transactions read the same version of a key, and both replaced it: what one of them did is \
               gone, as if it had never happened.",
        example: steps(
            "x is 0.",
            &[
                ("A", "r(x, 0)"),
                ("B", "r(x, 0)"),
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "w(x, 2)"),
                ("B", "commit"),
            ],
        ),
        wrong: "B computed 2 from the 0 that it had read, without A's 1.",
        breaks: &[CursorStability, NonMonotonicSnapshotIsolation],
        keeps: &[Prefix],
        matters: "Two people pay 100 into an account that holds 50; both programs compute 150, and 100 are \
                  lost. The same happens to counters, stocks, and to documents that two people edit.",
        remedy: Remedy::FirstCommitter,
    },
    Entry {
        kind: CircularFlow,
        what: "Transactions follow each other in a circle by what they read and by whose write replaced whose.",
        example: steps(
            "x and y are empty lists.",
            &[
                ("A", "append(x, 1)"),
                ("B", "append(x, 2)"),
                ("B", "append(y, 1)"),
                ("A", "r(y, [1])"),
                ("A", "commit"),
                ("B", "commit"),
                ("C", "r(x, [1 2])"),
                ("C", "commit"),
            ],
        ),
        wrong: "B came after A on x, but A saw what B did to y.",
        breaks: &[
            ReadCommitted,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
            NonMonotonicSnapshotIsolation,
        ],
        keeps: &[ReadUncommitted],
        matters: "A transaction acts on results that are not final: it sees the shipment of an order whose \
                  cancellation comes, according to the order itself, later.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: WriteSkew,
        what: "Two transactions each read what the other then changed. Each was right by what it had read; \
               together they are wrong.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "r(x, 0)"),
                ("A", "r(y, 0)"),
                ("B", "r(x, 0)"),
                ("B", "r(y, 0)"),
                ("A", "w(x, 1)"),
                ("B", "w(y, 1)"),
                ("A", "commit"),
                ("B", "commit"),
            ],
        ),
        wrong: "If A came first, B would have seen x = 1; if B came first, A would have seen y = 1.",
        breaks: &[Serializable],
        keeps: &[StrongSnapshotIsolation],
        matters: "At least one of two doctors has to be on call. Both look, see two of them on call, and both go \
                  home. Likewise two bookings of one room, two withdrawals against one common limit.",
        remedy: Remedy::Serializable,
    },
    Entry {
        kind: LongFork,
        what: "Two readers saw two independent writes in opposite orders: the world was split into two branches \
               for a while.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "w(y, 1)"),
                ("B", "commit"),
                ("C", "r(x, 1)"),
                ("C", "r(y, 0)"),
                ("C", "commit"),
                ("D", "r(x, 0)"),
                ("D", "r(y, 1)"),
                ("D", "commit"),
            ],
        ),
        wrong: "For C, A came before B; for D, B came before A.",
        breaks: &[Prefix, SnapshotIsolation],
        keeps: &[ParallelSnapshotIsolation],
        matters: "Two people post at the same time; one half of the readers sees only the first post, the other \
                  half only the second, and both answer “you were first”. Decisions by “who came first” differ \
                  between the servers.",
        remedy: Remedy::OneOrder,
    },
    Entry {
        kind: GSingle,
        what: "A circle of dependencies with exactly one read of a version that was replaced later: a \
               transaction sees the effects of another one, but also the state before it.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "r(x, 0)"),
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("C", "r(x, 0)"),
                ("B", "r(x, 1)"),
                ("B", "w(y, 1)"),
                ("B", "commit"),
                ("C", "r(y, 1)"),
                ("C", "commit"),
            ],
        ),
        wrong: "C saw B, B saw A, but C saw x as it was before A.",
        breaks: &[WritesFollowReads, NonMonotonicSnapshotIsolation],
        keeps: &[MonotonicReads, MonotonicWrites, UpdateAtomic],
        matters: "An audit reads the account before a booking and the journal after it: the two do not agree, and \
                  somebody looks for money that is not missing.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: GNonadjacent,
        what: "A circle of dependencies with several reads of versions that were replaced later, between which \
               there is always another dependency. No single moment explains what was read.",
        example: steps(
            "x, y and z are empty lists.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, [1])"),
                ("B", "append(y, 1)"),
                ("B", "commit"),
                ("D", "append(z, 1)"),
                ("D", "commit"),
                ("C", "r(y, [1])"),
                ("C", "r(z, [])"),
                ("C", "commit"),
                ("E", "r(z, [1])"),
                ("E", "r(x, [])"),
                ("E", "commit"),
            ],
        ),
        wrong: "C saw A and B but not D; E saw D but not A. One of them saw the past.",
        breaks: &[Prefix, SnapshotIsolation],
        keeps: &[ParallelSnapshotIsolation],
        matters: "Two monitors watch the same system and raise contradicting alarms: each knows of an event that \
                  the other one denies.",
        remedy: Remedy::OneOrder,
    },
    Entry {
        kind: G2Item,
        what: "A circle of dependencies with reads of replaced versions next to each other: write skew among \
               more than two transactions.",
        example: steps(
            "x, y and z are 0.",
            &[
                ("A", "r(y, 0)"),
                ("B", "r(z, 0)"),
                ("C", "r(x, 0)"),
                ("A", "w(x, 1)"),
                ("B", "w(y, 1)"),
                ("C", "w(z, 1)"),
                ("A", "commit"),
                ("B", "commit"),
                ("C", "commit"),
            ],
        ),
        wrong: "A did not see B's write, B not C's, and C not A's: none of them can be the last one.",
        breaks: &[Serializable],
        keeps: &[StrongSnapshotIsolation],
        matters: "Three shops each give away the last item after having looked at the stock of the next one.",
        remedy: Remedy::Serializable,
    },
    Entry {
        kind: NoVersionOrder,
        what: "It was not recorded which write to a key came last, and whichever order is tried, the \
               transactions go in a circle.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "r(y, 0)"),
                ("B", "r(y, 0)"),
                ("C", "r(x, 0)"),
                ("D", "r(x, 0)"),
                ("A", "w(x, 1)"),
                ("B", "w(x, 2)"),
                ("C", "w(y, 1)"),
                ("D", "w(y, 2)"),
                ("A", "commit"),
                ("B", "commit"),
                ("C", "commit"),
                ("D", "commit"),
            ],
        ),
        wrong: "A and B missed what C and D wrote, and the other way round. One of A and B committed after the \
                other, one of C and D too, and the later ones cannot have missed all that.",
        breaks: &[SnapshotIsolation],
        keeps: &[Prefix, ParallelSnapshotIsolation],
        matters: "As with write skew: rules that span several rows (a limit, a roster, a unique name) are \
                  broken although every transaction checked them.",
        remedy: Remedy::Serializable,
    },
];
