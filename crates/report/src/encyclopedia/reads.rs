//! Anomalies of single reads, and of lists.

use super::{Entry, Remedy, steps};
use history::AnomalyKind::*;
use history::Level::*;

/// All levels directly above read-uncommitted: what a read must not be breaks them all.
const ALL_BUT_READ_UNCOMMITTED: &[history::Level] = &[
    ReadCommitted,
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
    NonMonotonicSnapshotIsolation,
];

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: ThinAirRead,
        what: "A read returned a value that nobody ever wrote.",
        example: steps("x is 0.", &[("A", "r(x, 7)"), ("A", "commit")]),
        wrong: "No transaction wrote 7 to x, committed or not.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "Data is made up: a corrupted page, a mix of two rows, a value of another table. An order is \
                  shipped to an address that no customer ever entered.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: AbortedRead,
        what: "A transaction read a value of a transaction that was rolled back. The value was never meant to \
               exist.",
        example: steps(
            "x is 0.",
            &[
                ("A", "w(x, 1)"),
                ("B", "r(x, 1)"),
                ("A", "abort"),
                ("B", "commit"),
            ],
        ),
        wrong: "B saw 1 in x, but A took it back.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "A payment is rolled back because the card is refused, but the warehouse has already read the \
                  order as paid and ships it.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: FutureRead,
        what: "A transaction read a value before it wrote that value itself.",
        example: steps(
            "x is 0.",
            &[("A", "r(x, 1)"), ("A", "w(x, 1)"), ("A", "commit")],
        ),
        wrong: "A is the only one who writes 1, and it does so after it read it.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "A statement was executed twice or out of order, for example by a driver that retried. A check \
                  such as “is this name still free?” finds the name taken, by the very request that asks.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: NotMyOwnWrite,
        what: "A transaction wrote a key and then did not see its own write, but somebody else's value.",
        example: steps(
            "x is 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "w(x, 2)"),
                ("B", "r(x, 1)"),
                ("B", "commit"),
            ],
        ),
        wrong: "B set x to 2 and then, in the same transaction, read 1.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "A function sets the delivery address and then prints the label: the label has the old \
                  address.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: NotMyLastWrite,
        what: "A transaction read a value of its own that it had already overwritten.",
        example: steps(
            "x is 0.",
            &[
                ("A", "w(x, 1)"),
                ("A", "w(x, 2)"),
                ("A", "r(x, 1)"),
                ("A", "commit"),
            ],
        ),
        wrong: "A had replaced 1 by 2 before it read 1.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "A price is corrected and corrected again within one request; the invoice is computed from the \
                  first correction.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: IntermediateRead,
        what: "A transaction read a value that its writer replaced before it committed: a state that was never \
               finished.",
        example: steps(
            "x is 0.",
            &[
                ("A", "w(x, 1)"),
                ("B", "r(x, 1)"),
                ("A", "w(x, 2)"),
                ("A", "commit"),
                ("B", "commit"),
            ],
        ),
        wrong: "A's result is 2; the 1 that B saw was a step on the way.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "An import empties a price list and fills it again in one transaction; a customer meanwhile \
                  sees products for 0.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: NonRepeatableRead,
        what: "A transaction read the same key twice, without writing it, and got two different values.",
        example: steps(
            "x is 0.",
            &[
                ("B", "r(x, 0)"),
                ("A", "w(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, 1)"),
                ("B", "commit"),
            ],
        ),
        wrong: "B saw x change from 0 to 1 while it was running.",
        breaks: &[ReadAtomic, NonMonotonicSnapshotIsolation],
        keeps: &[
            CursorStability,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ],
        matters: "“Is there enough money?” is answered yes, and the amount that is then shown or booked is \
                  another one. Code that reads a row twice may divide by zero or index past an end.",
        remedy: Remedy::Snapshot,
    },
    Entry {
        kind: DirtyUpdate,
        what: "A committed value was built on the value of a transaction that was rolled back: the list shows \
               the element of the aborted transaction before the others.",
        example: steps(
            "x is an empty list.",
            &[
                ("A", "append(x, 1)"),
                ("B", "append(x, 2)"),
                ("A", "abort"),
                ("B", "commit"),
                ("C", "r(x, [1 2])"),
                ("C", "commit"),
            ],
        ),
        wrong: "A was rolled back, but B's append carried A's 1 into the committed list.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "A cancelled item stays on the invoice for ever, because the next item was added to the list \
                  that still had it.",
        remedy: Remedy::ReadCommitted,
    },
    Entry {
        kind: DuplicateElement,
        what: "A list shows an element more often than it was appended: one write took effect twice.",
        example: steps(
            "x is an empty list.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "r(x, [1 1])"),
                ("B", "commit"),
            ],
        ),
        wrong: "A appended 1 once; B sees it twice.",
        breaks: &[ReadUncommitted],
        keeps: &[],
        matters: "A request is retried after a timeout although the first attempt succeeded: the customer is \
                  charged twice.",
        remedy: Remedy::Idempotence,
    },
    Entry {
        kind: IncompatibleOrder,
        what: "Reads of a list cannot be beginnings of one and the same list: the elements are in different \
               orders, or one has what the other lacks. Or a single read shows something that a transaction \
               appended, and lacks what the same transaction appended before.",
        example: steps(
            "x is an empty list.",
            &[
                ("A", "append(x, 1)"),
                ("A", "commit"),
                ("B", "append(x, 2)"),
                ("B", "commit"),
                ("C", "r(x, [1])"),
                ("C", "commit"),
                ("D", "r(x, [2])"),
                ("D", "commit"),
            ],
        ),
        wrong: "For C the list begins with 1, for D with 2.",
        breaks: ALL_BUT_READ_UNCOMMITTED,
        keeps: &[ReadUncommitted],
        matters: "Copies of the data have gone different ways (split brain), or an update was lost. Two \
                  branches of a bank each believe in another account statement.",
        remedy: Remedy::Session,
    },
    Entry {
        kind: CyclicVersions,
        what: "Something is taken for granted of every key by itself (for example that each client sees its \
               versions in one order), and the versions of a key go in a circle by that.",
        example: super::with_clients(
            "x is 0. Taken for granted: every key by itself is sequentially consistent.",
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
        wrong: "One client sees 1 and then 2, the other 2 and then 1: neither version can be the newer one.",
        breaks: &[MonotonicReads],
        keeps: &[
            MonotonicWrites,
            WritesFollowReads,
            UpdateAtomic,
            Serializable,
        ],
        matters: "What is assumed of the database is wrong, so conclusions drawn from it are worth nothing. A \
                  status page flips between “delivered” and “on its way”.",
        remedy: Remedy::Session,
    },
];
