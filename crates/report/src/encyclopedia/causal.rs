//! Anomalies of visibility: what a transaction has to see, by what it or its client saw before.

use super::{Entry, Remedy, steps, with_clients};
use history::AnomalyKind::*;
use history::Level::*;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: DirtyWrite,
        what: "Two transactions wrote the same keys, and on one key the first one won, on another the second \
               one: the result is a mix of both.",
        example: steps(
            "x and y are empty lists.",
            &[
                ("A", "append(x, 1)"),
                ("B", "append(x, 2)"),
                ("B", "append(y, 2)"),
                ("A", "append(y, 1)"),
                ("A", "commit"),
                ("B", "commit"),
                ("C", "r(x, [1 2])"),
                ("C", "r(y, [2 1])"),
                ("C", "commit"),
            ],
        ),
        wrong: "On x, B came after A; on y, A came after B.",
        breaks: &[ReadUncommitted],
        keeps: &[],
        matters: "Two buyers take the same car at the same moment: the contract goes to one, the invoice to the \
                  other.",
        remedy: Remedy::WriteLocks,
    },
    Entry {
        kind: CyclicCausality,
        what: "Transactions follow each other in a circle: each has seen something of the one that comes after \
               it.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("B", "w(y, 1)"),
                ("A", "r(y, 1)"),
                ("B", "r(x, 1)"),
                ("A", "commit"),
                ("B", "commit"),
            ],
        ),
        wrong: "A saw what B wrote and B saw what A wrote, so each would have to be the earlier one.",
        breaks: &[
            ReadCommitted,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
            NonMonotonicSnapshotIsolation,
        ],
        keeps: &[ReadUncommitted],
        matters: "An answer exists before its question. Two services each wait for the confirmation of the \
                  other, see it, and both go ahead on the strength of something that did not exist yet.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: NonMonotonicRead,
        what: "A transaction read something of a writer, and afterwards an older version of something that this \
               writer had replaced: time went backwards between two reads.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, 1)"),
                ("B", "w(x, 2)"),
                ("B", "w(y, 2)"),
                ("B", "commit"),
                ("C", "r(y, 2)"),
                ("C", "r(x, 1)"),
                ("C", "commit"),
            ],
        ),
        wrong: "C saw B's y, and then x as it was before B.",
        breaks: &[ReadCommitted, NonMonotonicSnapshotIsolation],
        keeps: &[
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        matters: "An index entry is found, and the row behind it is not there yet: “no such order” for an order \
                  that is in the list.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: NonMonotonicReadConflict,
        what: "Several readers each saw two writers one after the other, and the orders that this demands \
               contradict each other.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "w(y, 1)"),
                ("A", "commit"),
                ("B", "w(x, 2)"),
                ("B", "w(y, 2)"),
                ("B", "commit"),
                ("C", "r(x, 1)"),
                ("C", "r(y, 2)"),
                ("C", "commit"),
                ("D", "r(x, 2)"),
                ("D", "r(y, 1)"),
                ("D", "commit"),
            ],
        ),
        wrong: "For C, B replaced A; for D, A replaced B.",
        breaks: &[ReadCommitted, NonMonotonicSnapshotIsolation],
        keeps: &[
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        matters: "Two reports of the same moment disagree on which of two bookings was the last one.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: FracturedRead,
        what: "A transaction saw only a part of what another transaction wrote (read skew).",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("C", "r(x, 1)"),
                ("B", "r(x, 1)"),
                ("B", "w(x, 2)"),
                ("B", "w(y, 2)"),
                ("B", "commit"),
                ("C", "r(y, 2)"),
                ("C", "commit"),
            ],
        ),
        wrong: "C saw y as B left it, and x as it was before B.",
        breaks: &[ReadAtomic, NonMonotonicSnapshotIsolation],
        keeps: &[
            CursorStability,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        matters: "Money is moved from one account to another; a report reads one account before and one after \
                  the transfer, and the sum is wrong. A backup taken so cannot be restored to any state that \
                  ever existed.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: FracturedReadConflict,
        what: "A transaction saw one write of each of two others that both wrote the same keys; all or nothing \
               would demand that each of them is the later one.",
        example: steps(
            "x and y are 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "w(y, 1)"),
                ("A", "commit"),
                ("C", "r(x, 1)"),
                ("B", "w(x, 2)"),
                ("B", "w(y, 2)"),
                ("B", "commit"),
                ("C", "r(y, 2)"),
                ("C", "commit"),
            ],
        ),
        wrong: "Who sees A's x has B before A; who sees B's y has A before B.",
        breaks: &[ReadAtomic, NonMonotonicSnapshotIsolation],
        keeps: &[
            CursorStability,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        matters: "The street of one address and the town of another: two changes of address are read half and \
                  half.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: InitialRead,
        what: "A transaction found a key as it was in the beginning, although a write to it had happened before, \
               as far as this client could know.",
        example: with_clients(
            "x is 0.",
            &["A B"],
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, 0)"),
                ("B", "commit"),
            ],
        ),
        wrong: "The client that wrote 1 does not find it in its next transaction.",
        breaks: &[ReadYourWrites],
        keeps: &[
            CursorStability,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
            Serializable,
        ],
        matters: "A user saves a profile, the next page shows it empty; she enters everything again, or \
                  overwrites what she believes to be lost.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: CausalityViolation,
        what: "A transaction read a version that had been replaced by a write which the transaction (or its \
               client) already depended on.",
        example: with_clients(
            "x and y are 0.",
            &["C D"],
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, 1)"),
                ("B", "w(x, 2)"),
                ("B", "w(y, 2)"),
                ("B", "commit"),
                ("C", "r(y, 2)"),
                ("C", "commit"),
                ("D", "r(x, 1)"),
                ("D", "commit"),
            ],
        ),
        wrong: "The client saw B's y, and in its next transaction x as it was before B.",
        breaks: &[MonotonicReads],
        keeps: &[
            MonotonicWrites,
            WritesFollowReads,
            UpdateAtomic,
            Serializable,
        ],
        matters: "Somebody removes her boss from a list and then posts a photo; the boss sees the photo, \
                  because his replica shows the post and still the old list.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: ConflictingOrder,
        what: "Different clients saw the writes to one key in opposite orders.",
        example: with_clients(
            "x is 0.",
            &["C D", "E F"],
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "w(x, 2)"),
                ("B", "commit"),
                ("C", "r(x, 1)"),
                ("C", "commit"),
                ("E", "r(x, 2)"),
                ("E", "commit"),
                ("D", "r(x, 2)"),
                ("D", "commit"),
                ("F", "r(x, 1)"),
                ("F", "commit"),
            ],
        ),
        wrong: "For one client 2 replaced 1, for the other 1 replaced 2. They will never agree.",
        breaks: &[MonotonicReads],
        keeps: &[
            MonotonicWrites,
            WritesFollowReads,
            UpdateAtomic,
            Serializable,
        ],
        matters: "Two screens show different winners of the same auction, each sure that the other bid came \
                  first.",
        remedy: Remedy::Session,
    },
];
