//! Circles that need the order of a client's transactions, or the clock; and counters.

use super::{Entry, Remedy, timed, with_clients};
use history::AnomalyKind::*;
use history::Level::*;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: DirtyWriteProcess,
        what: "A client's later write was put before its earlier one.",
        example: with_clients(
            "x is an empty list.",
            &["A B"],
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "append(x, 2)"),
                ("B", "commit"),
                ("C", "r(x, [2 1])"),
                ("C", "commit"),
            ],
        ),
        wrong: "The client wrote 1 and then 2; the list has 2 before 1.",
        breaks: &[
            ReadCommitted,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        keeps: &[Serializable],
        matters: "A user corrects a comment; the correction is overwritten by the first version.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: DirtyWriteRealtime,
        what: "A write that began after another one had ended was put before it.",
        example: timed(
            "x is an empty list.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "append(x, 2)"),
                ("B", "commit"),
                ("C", "r(x, [2 1])"),
                ("C", "commit"),
            ],
        ),
        wrong: "A had ended before B began, but the list has B's 2 first.",
        breaks: &[StrongSnapshotIsolation],
        keeps: &[StrongSessionSerializable],
        matters: "A bid that came after the close of an auction stands before it in the log.",
        remedy: Remedy::RealTime,
    },
    Entry {
        kind: CircularFlowProcess,
        what: "A client saw something that depends on what the same client does only later.",
        example: with_clients(
            "x is an empty list.",
            &["A B"],
            &[
                ("A", "r(x, [1])"),
                ("A", "commit"),
                ("B", "append(x, 1)"),
                ("B", "commit"),
            ],
        ),
        wrong: "The client read 1 in one transaction and appended it in the next.",
        breaks: &[
            ReadCommitted,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        keeps: &[Serializable],
        matters: "A reply is shown before it is sent; a retry finds its own result and gives up.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: CircularFlowRealtime,
        what: "A transaction saw something that began only after it had ended.",
        example: timed(
            "x is an empty list.",
            &[
                ("A", "r(x, [1])"),
                ("A", "commit"),
                ("B", "append(x, 1)"),
                ("B", "commit"),
            ],
        ),
        wrong: "A read the 1 that B had not even begun to write.",
        breaks: &[StrongSnapshotIsolation],
        keeps: &[StrongSessionSerializable],
        matters: "Usually a clock that is wrong, or a recording that mixes two runs. If it is neither, the \
                  database answers from a future that a failover may take back.",
        remedy: Remedy::RealTime,
    },
    Entry {
        kind: GSingleProcess,
        what: "A client did not see what it had seen or done before: it was served from an old copy.",
        example: with_clients(
            "x is an empty list.",
            &["A B"],
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, [])"),
                ("B", "commit"),
            ],
        ),
        wrong: "The client appended 1 and then found the list empty.",
        breaks: &[ReadYourWrites],
        keeps: &[
            CursorStability,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
            Serializable,
        ],
        matters: "“Your order was saved”, and the list of orders is empty. The user orders again.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: GSingleRealtime,
        what: "A stale read: a transaction did not see what had been committed before it began.",
        example: timed(
            "x is an empty list.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, [])"),
                ("B", "commit"),
            ],
        ),
        wrong: "A had committed before B began, and B did not see it.",
        breaks: &[StrongSnapshotIsolation],
        keeps: &[StrongSessionSerializable],
        matters: "A customer on the phone says “I have just paid”, and the clerk's screen says that she has not. \
                  A revoked key still opens the door.",
        remedy: Remedy::RealTime,
    },
    Entry {
        kind: GNonadjacentProcess,
        what: "Clients that go on after a write see the past of each other: each one's next read misses what \
               the other had done before.",
        example: with_clients(
            "x and y are empty lists.",
            &["A B", "C D"],
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("C", "append(y, 1)"),
                ("C", "commit"),
                ("B", "r(y, [])"),
                ("B", "commit"),
                ("D", "r(x, [])"),
                ("D", "commit"),
            ],
        ),
        wrong: "Each client wrote first and read then, and neither saw the other's write.",
        breaks: &[Prefix],
        keeps: &[ParallelSnapshotIsolation, Serializable],
        matters: "Two workers announce themselves and then look whether somebody else is there. Neither sees \
                  the other, and both do the job.",
        remedy: Remedy::OneOrder,
    },
    Entry {
        kind: GNonadjacentRealtime,
        what: "Several stale reads that no single delay explains: by the clock, one of the readers must have \
               seen the other's write.",
        example: timed(
            "x and y are empty lists.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "r(y, [])"),
                ("C", "append(y, 1)"),
                ("C", "commit"),
                ("D", "r(x, [])"),
                ("B", "commit"),
                ("D", "commit"),
            ],
        ),
        wrong: "D began after C had ended and did not see A, which had ended before B began, which did not see \
                C.",
        breaks: &[StrongSnapshotIsolation],
        keeps: &[StrongSessionSerializable],
        matters: "Two dashboards, refreshed one after the other, show events in contradicting orders.",
        remedy: Remedy::RealTime,
    },
    Entry {
        kind: G2ItemProcess,
        what: "Write skew that only shows if the order of a client's transactions counts.",
        example: with_clients(
            "x and y are empty lists.",
            &["A B"],
            &[
                ("C", "append(x, 1)"),
                ("A", "append(y, 1)"),
                ("A", "commit"),
                ("B", "r(x, [])"),
                ("B", "commit"),
                ("C", "r(y, [])"),
                ("C", "commit"),
            ],
        ),
        wrong: "C did not see y = [1] of A; B, which the same client issued after A, did not see C either.",
        breaks: &[StrongSessionSerializable],
        keeps: &[StrongSnapshotIsolation, Serializable],
        matters: "A switch is set and then a read decides whether somebody was faster: nobody was, and still \
                  both act.",
        remedy: Remedy::Serializable,
    },
    Entry {
        kind: G2ItemRealtime,
        what: "Write skew that only shows by the clock.",
        example: timed(
            "x and y are empty lists.",
            &[
                ("C", "append(x, 1)"),
                ("A", "append(y, 1)"),
                ("A", "commit"),
                ("B", "r(x, [])"),
                ("B", "commit"),
                ("C", "r(y, [])"),
                ("C", "commit"),
            ],
        ),
        wrong: "B began after A had ended, so A comes before B; but B comes before C, and C before A.",
        breaks: &[StrictSerializable],
        keeps: &[StrongSnapshotIsolation, StrongSessionSerializable],
        matters: "A reader is told a state that, by what everybody learns later, was never the current one.",
        remedy: Remedy::RealTime,
    },
    Entry {
        kind: ImpossibleCount,
        what: "A counter was read as something that no sum of the increments which the reader can and must have \
               seen gives.",
        example: with_clients(
            "x is a counter that stands at 0.",
            &["D E"],
            &[
                ("A", "inc(x, 1)"),
                ("A", "commit"),
                ("B", "inc(x, 1)"),
                ("B", "commit"),
                ("C", "inc(x, 1)"),
                ("C", "commit"),
                ("D", "count(x, 2)"),
                ("D", "commit"),
                ("E", "count(x, 1)"),
                ("E", "commit"),
            ],
        ),
        wrong: "Nobody ever subtracts, and yet the client sees the counter go from 2 to 1.",
        breaks: &[MonotonicReads],
        keeps: &[
            MonotonicWrites,
            WritesFollowReads,
            UpdateAtomic,
            Serializable,
        ],
        matters: "The number of free seats grows by itself between two looks, and one seat is sold twice.",
        remedy: Remedy::Session,
    },
];
