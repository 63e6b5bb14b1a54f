//! A history: what clients asked of a database and what they were told, in columns.
//!
//! Transactions are numbered session by session ([`TxnId`]); the operations of one transaction lie
//! next to each other in the operation columns, but the transactions' blocks may lie in any order
//! (that of the file, for one), so a reader never has to move operations to sort them by session.

use crate::large::LargeTable;
use crate::{KeyId, KeyTable, OpId, SessionId, TxnId, Value, ValueCode, ValueTable};
use std::ops::Range;

/// What became of a transaction, as far as its client knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Status {
    /// The client was told that it committed.
    Committed,
    /// The client was told that it did not commit.
    Aborted,
    /// The client was told nothing: it may have committed or not.
    Indeterminate,
}

/// What an operation did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum OpKind {
    /// Read a register.
    Read,
    /// Wrote a register.
    Write,
    /// Appended an element to a list.
    Append,
    /// Read a list; the value column holds a list id ([`History::list`]).
    ReadList,
    /// Added an element to a grow-only set.
    Add,
    /// Read a set; the value column holds a list id.
    ReadSet,
    /// Added a number to a counter.
    Increment,
    /// Read a counter.
    ReadCounter,
}

impl OpKind {
    /// Whether the operation changes its key.
    #[inline]
    pub fn is_write(self) -> bool {
        // Asked of every operation, and a coin toss to the processor: a shift, where a match would
        // become a branch.
        const WRITES: u32 = 1 << OpKind::Write as u32
            | 1 << OpKind::Append as u32
            | 1 << OpKind::Add as u32
            | 1 << OpKind::Increment as u32;
        WRITES >> self as u32 & 1 == 1
    }

    /// Whether the value column holds a list id.
    #[inline]
    pub fn reads_list(self) -> bool {
        matches!(self, OpKind::ReadList | OpKind::ReadSet)
    }
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// What it did.
    pub kind: OpKind,
    /// To which key.
    pub key: KeyId,
    /// The value written or read; for list and set reads see [`OpKind::reads_list`].
    pub value: ValueCode,
}

/// When a transaction was invoked and when its client heard of its completion, on one clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The time of the invocation.
    pub start: i64,
    /// The time of the completion; [`Interval::NEVER`] if there was none.
    pub end: i64,
}

impl Interval {
    /// The completion time of a transaction that never completed.
    pub const NEVER: i64 = i64::MAX;

    /// The time of the completion, which is never before the start: a clock that was set back in
    /// between says nothing.
    pub fn completion(self) -> i64 {
        self.end.max(self.start)
    }
}

/// The operations, column by column.
#[derive(Clone, Default, Debug)]
pub struct Ops {
    /// What each operation did.
    pub kinds: Vec<OpKind>,
    /// To which key.
    pub keys: Vec<KeyId>,
    /// With which value.
    pub values: Vec<ValueCode>,
}

impl Ops {
    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Leaves only the first `len` operations.
    pub fn truncate(&mut self, len: usize) {
        self.kinds.truncate(len);
        self.keys.truncate(len);
        self.values.truncate(len);
    }

    /// Adds an operation at the end.
    #[inline]
    pub fn push(&mut self, op: Op) {
        self.kinds.push(op.kind);
        self.keys.push(op.key);
        self.values.push(op.value);
    }
}

/// The lists that list and set reads returned: slices of one column, which may overlap
/// ([`crate::Builder::push_list`]). Two that start at one place are prefixes of each other.
#[derive(Clone, Default, Debug)]
pub struct Lists {
    starts: Vec<u64>,
    lens: Vec<u32>,
    elements: Vec<ValueCode>,
}

impl Lists {
    /// Enters a list and returns the code that a list read refers to it by.
    ///
    /// # Panics
    /// Beyond 2³²−2 lists, or elements of one of them; a history has fewer operations.
    pub fn push(&mut self, elements: &[ValueCode]) -> ValueCode {
        let start = self.elements.len() as u64;
        self.elements.extend_from_slice(elements);
        let len = u32::try_from(elements.len()).expect("a list longer than 2^32 elements");
        self.push_span(start, len)
    }

    /// Enters a list whose elements are stored already.
    #[inline]
    pub(crate) fn push_span(&mut self, start: u64, len: u32) -> ValueCode {
        let id = self.starts.len();
        assert!(id < ValueCode::UNKNOWN.0 as usize, "too many lists");
        self.starts.push(start);
        self.lens.push(len);
        ValueCode(id as u32)
    }

    /// Stored elements.
    #[inline]
    pub(crate) fn span(&self, start: u64, len: u32) -> &[ValueCode] {
        &self.elements[start as usize..start as usize + len as usize]
    }

    /// Copies elements to a new block with room for `capacity` and returns where it begins.
    pub(crate) fn move_block(&mut self, start: u64, len: u32, capacity: usize) -> u64 {
        let place = self.elements.len();
        let old = start as usize..start as usize + len as usize;
        self.elements.extend_from_within(old);
        self.elements.resize(place + capacity, ValueCode::NIL);
        place as u64
    }

    /// Writes elements into room kept free for them.
    pub(crate) fn fill(&mut self, start: u64, elements: &[ValueCode]) {
        self.elements[start as usize..start as usize + elements.len()].copy_from_slice(elements);
    }

    /// How many elements are stored, whatever number of lists they belong to.
    pub fn element_count(&self) -> usize {
        self.elements.len()
    }

    /// Where a list starts in the column of elements. Of two lists with the same start the shorter
    /// one is a prefix of the other; with different starts that is not known.
    pub fn start(&self, code: ValueCode) -> u64 {
        if code == ValueCode::NIL || code == ValueCode::UNKNOWN {
            return 0;
        }
        self.starts[code.0 as usize]
    }

    /// The elements of a list; [`ValueCode::NIL`] is the empty list, as is an unknown one.
    #[inline]
    pub fn get(&self, code: ValueCode) -> &[ValueCode] {
        if code == ValueCode::NIL || code == ValueCode::UNKNOWN {
            return &[];
        }
        let id = code.0 as usize;
        self.span(self.starts[id], self.lens[id])
    }
}

/// Marks a transaction that its format gave no number; it is named by its place in the session.
pub const UNLABELLED: u64 = u64::MAX;

/// One row of the transaction table.
#[derive(Clone, Copy, Debug)]
pub struct Txn {
    /// Whose it is.
    pub session: SessionId,
    /// The number the file gave it, or [`UNLABELLED`].
    pub label: u64,
    /// Where its operations start.
    pub ops_start: u32,
    /// How many operations it has.
    pub op_count: u32,
    /// What became of it.
    pub status: Status,
}

/// A recorded history. Immutable once built; see [`crate::Builder`].
#[derive(Clone, Debug)]
pub struct History {
    pub(crate) session_labels: Vec<i64>,
    /// `session_starts[s]..session_starts[s + 1]` are the transactions of session `s`.
    pub(crate) session_starts: Vec<u32>,
    pub(crate) txns: Vec<Txn>,
    pub(crate) intervals: Option<Vec<Interval>>,
    pub(crate) ops: Ops,
    pub(crate) keys: KeyTable,
    pub(crate) values: ValueTable,
    pub(crate) lists: Lists,
    /// The version numbers that the database gave, by operation, ascending.
    pub(crate) recorded: Vec<(OpId, u64)>,
}

impl History {
    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.session_labels.len()
    }

    /// How many transactions there are, whatever became of them.
    pub fn txn_count(&self) -> usize {
        self.txns.len()
    }

    /// How many operations there are.
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// How many different keys occur. Linear in the operations.
    pub fn key_count(&self) -> usize {
        let mut seen = LargeTable::<u64>::zeros(self.keys.limit().div_ceil(64));
        let seen = seen.as_mut_slice();
        for key in &self.ops.keys {
            seen[key.index() / 64] |= 1 << (key.index() % 64);
        }
        seen.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + use<> {
        (0..self.session_labels.len() as u32).map(SessionId)
    }

    /// The number the file gave a session.
    pub fn session_label(&self, session: SessionId) -> i64 {
        self.session_labels[session.index()]
    }

    /// The transactions of a session, in session order.
    pub fn session_txns(&self, session: SessionId) -> Range<u32> {
        self.session_starts[session.index()]..self.session_starts[session.index() + 1]
    }

    /// All transactions, session by session.
    pub fn txn_ids(&self) -> impl Iterator<Item = TxnId> + Clone + use<> {
        (0..self.txns.len() as u32).map(TxnId)
    }

    /// A row of the transaction table.
    #[inline]
    pub fn txn(&self, txn: TxnId) -> &Txn {
        &self.txns[txn.index()]
    }

    /// The whole transaction table, by [`TxnId`].
    pub fn txns(&self) -> &[Txn] {
        &self.txns
    }

    /// What became of a transaction.
    #[inline]
    pub fn status(&self, txn: TxnId) -> Status {
        self.txns[txn.index()].status
    }

    /// The session of a transaction.
    #[inline]
    pub fn session_of(&self, txn: TxnId) -> SessionId {
        self.txns[txn.index()].session
    }

    /// Where the operations of a transaction lie in the columns.
    #[inline]
    pub fn op_range(&self, txn: TxnId) -> Range<usize> {
        let row = &self.txns[txn.index()];
        row.ops_start as usize..row.ops_start as usize + row.op_count as usize
    }

    /// The operations of a transaction, in program order.
    pub fn txn_ops(&self, txn: TxnId) -> impl Iterator<Item = (OpId, Op)> + '_ {
        self.op_range(txn).map(|index| {
            let id = OpId(index as u32);
            (id, self.op(id))
        })
    }

    /// An operation.
    #[inline]
    pub fn op(&self, op: OpId) -> Op {
        let index = op.index();
        Op {
            kind: self.ops.kinds[index],
            key: self.ops.keys[index],
            value: self.ops.values[index],
        }
    }

    /// The operation columns.
    pub fn ops(&self) -> &Ops {
        &self.ops
    }

    /// When a transaction began and ended, if the history says so.
    #[inline]
    pub fn interval(&self, txn: TxnId) -> Option<Interval> {
        self.intervals
            .as_ref()
            .map(|intervals| intervals[txn.index()])
    }

    /// Whether transactions carry times.
    pub fn has_intervals(&self) -> bool {
        self.intervals.is_some()
    }

    /// The number that the database gave the version which an operation read or wrote, if the
    /// history says so. Of two versions of a key the older one has the smaller number, if the
    /// database is right.
    pub fn recorded_version(&self, op: OpId) -> Option<u64> {
        let place = self.recorded.binary_search_by_key(&op, |&(op, _)| op);
        place.ok().map(|place| self.recorded[place].1)
    }

    /// Whether some operations have version numbers.
    pub fn has_recorded_versions(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// The names of the keys.
    pub fn keys(&self) -> &KeyTable {
        &self.keys
    }

    /// The values that are no small integers.
    pub fn values(&self) -> &ValueTable {
        &self.values
    }

    /// The value behind a code.
    pub fn value(&self, code: ValueCode) -> Value {
        self.values.value(code)
    }

    /// The name of a key.
    pub fn key_name(&self, key: KeyId) -> Value {
        self.keys.name(key)
    }

    /// The elements of a list or set that was read.
    #[inline]
    pub fn list(&self, code: ValueCode) -> &[ValueCode] {
        self.lists.get(code)
    }

    /// The lists and sets that were read.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The name of a transaction: `s1t4` is transaction 4 of session 1 by the file's own numbers;
    /// `s1n4` is the transaction at place 4 (from 0) of a session, for one without a number.
    pub fn txn_name(&self, txn: TxnId) -> String {
        let row = self.txn(txn);
        let session = self.session_label(row.session);
        if row.label == UNLABELLED {
            let place = txn.0 - self.session_starts[row.session.index()];
            format!("s{session}n{place}")
        } else {
            format!("s{session}t{}", row.label)
        }
    }

    /// The operation as a person would write it: `r(x, 1)`, `w(x, 1)`, `append(x, 1)` …
    pub fn op_text(&self, op: OpId) -> String {
        let Op { kind, key, value } = self.op(op);
        let key = self.key_name(key);
        if value == ValueCode::UNKNOWN {
            return format!("{}({key}, ?)", kind_word(kind));
        }
        if !kind.reads_list() {
            return format!("{}({key}, {})", kind_word(kind), self.value(value));
        }
        let elements: Vec<String> = self
            .list(value)
            .iter()
            .map(|&code| self.value(code).to_string())
            .collect();
        format!("{}({key}, [{}])", kind_word(kind), elements.join(" "))
    }

    /// An operation as [`History::op_text`] writes it, but of a long list only the part around some
    /// elements: `r(x, [… 5 8 …])`.
    pub fn op_text_around(&self, op: OpId, relevant: &[ValueCode]) -> String {
        let Op { kind, key, value } = self.op(op);
        if value == ValueCode::UNKNOWN || !kind.reads_list() {
            return self.op_text(op);
        }
        let list = self.list_text_around(value, relevant);
        format!("{}({}, {list})", kind_word(kind), self.key_name(key))
    }

    /// A list with only the part around some elements, if it is long: those, the one before each, and
    /// the last one.
    pub fn list_text_around(&self, list: ValueCode, relevant: &[ValueCode]) -> String {
        let list = self.list(list);
        let is_relevant = |at: usize| list.get(at).is_some_and(|code| relevant.contains(code));
        let is_shown = |at: usize| {
            list.len() <= LIST_SHOWN_MAX
                || is_relevant(at)
                || is_relevant(at + 1)
                || at + 1 == list.len()
        };
        let mut texts: Vec<String> = Vec::new();
        let mut is_cut = false;
        for (at, &code) in list.iter().enumerate() {
            if is_shown(at) {
                texts.push(self.value(code).to_string());
            } else if !is_cut {
                texts.push("…".to_string());
            }
            is_cut = !is_shown(at);
        }
        format!("[{}]", texts.join(" "))
    }
}

/// Lists up to this length are shown whole.
const LIST_SHOWN_MAX: usize = 5;

fn kind_word(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read | OpKind::ReadList | OpKind::ReadSet | OpKind::ReadCounter => "r",
        OpKind::Write => "w",
        OpKind::Append => "append",
        OpKind::Add => "add",
        OpKind::Increment => "inc",
    }
}
