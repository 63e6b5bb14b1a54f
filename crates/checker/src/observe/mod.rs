//! What the checker knows after one look at the operations: which transactions count as
//! committed, which write each external read returned, and which single reads are anomalous.
//!
//! Steps: reduce list reads to the version they saw (`lists`); find each transaction's external
//! reads and final writes (`local`); join reads to writes by key and value (`join`, `list_join`);
//! settle the reads whose version is missing, duplicated, aborted, intermediate or indeterminate (`settle`).
//! The result is one 32-bit *link* an operation, which is all that the levels look at.
//!
//! Cost: linear in the operations; 4 bytes an operation beyond the history, and a table or buffer of
//! up to 6 bytes an operation that is freed again.

mod appends;
mod circle;
mod dense_table;
mod file_order;
mod join;
mod key_order;
mod list_join;
mod list_order;
mod lists;
mod local;
mod nil;
mod settle;
mod table_join;
mod taken;
mod value_table;

use crate::Budget;
use crate::budget::Limit;
use appends::Appends;
pub use file_order::{FileOrder, Placed};
use history::{
    AnomalyKind, History, Initial, KeyId, KeyOrder, OpId, OpKind, Reason, Status, TxnId, ValueCode,
};
use std::borrow::Cow;
use std::sync::Arc;
pub use taken::Taken;

/// What one operation means to the levels, in 32 bits.
///
/// Values below [`Link::SPECIAL`] are external reads of that transaction's version.
pub struct Link;

impl Link {
    /// An external read of the initial version.
    pub const INITIAL: u32 = u32::MAX;
    /// The last write of its transaction to its key.
    pub const WRITE: u32 = u32::MAX - 1;
    /// An operation that constrains nothing: internal reads, overwritten writes, unknown reads,
    /// reads that are anomalous by themselves.
    pub const SKIP: u32 = u32::MAX - 2;
    /// An external read not yet joined to a write; none is left after observing.
    pub const PENDING: u32 = u32::MAX - 3;
    /// An external read with several possible writers ([`Observed::ambiguous`]).
    pub const AMBIGUOUS: u32 = u32::MAX - 4;
    /// Codes from here on are not transactions.
    pub const SPECIAL: u32 = 1 << 31;

    /// Whether the link is an external read of some transaction's version.
    #[inline]
    pub fn is_txn(link: u32) -> bool {
        link < Link::SPECIAL
    }
}

/// An anomaly of single reads, with the operations that show it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReadAnomaly {
    pub kind: AnomalyKind,
    pub txn: TxnId,
    pub ops: Vec<OpId>,
}

impl ReadAnomaly {
    /// Whether it is two lists that contradict each other.
    pub fn is_contradiction(&self) -> bool {
        self.kind == AnomalyKind::IncompatibleOrder && self.ops.len() == 2
    }
}

/// A read whose value was written more than once, with the transactions that may have written the
/// version it returned, in order of their numbers. Reads of the same value share them.
#[derive(Clone, Debug)]
pub struct AmbiguousRead {
    pub op: OpId,
    pub reader: TxnId,
    pub writers: Arc<[TxnId]>,
}

/// Two versions of a key whose order is known.
#[derive(Clone, Copy, Debug)]
pub struct KnownOrder {
    pub from: TxnId,
    pub to: TxnId,
    /// The appends of the two.
    pub from_op: OpId,
    pub to_op: OpId,
    /// The list read that shows the first before the second and nothing certain in between, or
    /// that shows the first last and lacks the second; else the operation that touched the first
    /// before `after` touched the second.
    pub read: OpId,
    /// [`KnownOrder::LISTED`] for a list.
    pub after: OpId,
}

impl KnownOrder {
    /// In `after`: a list read shows the order.
    pub const LISTED: OpId = OpId(u32::MAX);

    /// Why the order is known.
    pub fn reason(&self) -> Reason {
        match self.after {
            KnownOrder::LISTED => Reason::List { read: self.read },
            after => Reason::Assumed {
                before: self.read,
                after,
            },
        }
    }
}

/// A history together with everything that follows from single operations.
pub struct Observed<'h> {
    pub history: &'h History,
    /// All transactions by the place of their operations in the columns: the order to walk in.
    pub file_order: FileOrder<'h>,
    /// What became of each transaction.
    pub statuses: Vec<Status>,
    /// The value column, with each list read replaced by the version it saw.
    pub values: Cow<'h, [ValueCode]>,
    /// One link an operation; see [`Link`].
    pub links: Vec<u32>,
    /// Whether a transaction counts as committed in the interpretation at hand.
    pub taken: Taken,
    /// Those of transactions that do not count as committed are among them.
    pub read_anomalies: Vec<ReadAnomaly>,
    /// By operation.
    pub ambiguous: Vec<AmbiguousRead>,
    /// Whether some of them have more possible writers than are listed.
    pub lacks_writers: bool,
    pub known: Vec<KnownOrder>,
    /// Keys of which the versions go in a circle by what is assumed of keys.
    pub circles: Vec<(KeyId, Vec<KnownOrder>)>,
    /// What is assumed of keys.
    pub keys: KeyOrder,
    /// Why no level can be decided on this history, if so.
    pub undecidable: Option<String>,
    /// Why no order of the transactions proves that a level holds, if so; violations stand.
    pub unprovable: Option<String>,
}

/// Looks at every operation once. See the module's text.
pub fn observe<'h>(
    history: &'h History,
    initial: &Initial,
    keys: KeyOrder,
    budget: &Budget,
) -> Result<Observed<'h>, Limit> {
    let mut observed = unjoined(history, keys);
    observed.undecidable = lists::undecidable(history).or_else(|| nil::undecidable(history));
    if observed.undecidable.is_some() {
        return Ok(observed);
    }
    lists::reduce(&mut observed);
    budget.check("observe")?;
    local::classify(&mut observed);
    budget.check("observe")?;
    let only_lists = list_join::has_only_lists(history);
    let appends = only_lists.then(|| Appends::of(&observed));
    let unsettled = match &appends {
        Some(appends) => list_join::join(&mut observed, appends),
        None => join::join(&mut observed, initial.code(history.values())),
    };
    budget.check("join")?;
    settle::settle(&mut observed, unsettled);
    observed.take_committed();
    list_order::add(&mut observed, appends);
    key_order::add(&mut observed, keys);
    Ok(observed)
}

/// Nothing is known of any operation yet.
fn unjoined(history: &History, keys: KeyOrder) -> Observed<'_> {
    Observed {
        history,
        file_order: FileOrder::of(history),
        statuses: file_order::statuses(history),
        values: Cow::Borrowed(&history.ops().values),
        links: vec![Link::SKIP; history.op_count()],
        taken: Taken::default(),
        read_anomalies: Vec::new(),
        ambiguous: Vec::new(),
        lacks_writers: false,
        known: Vec::new(),
        circles: Vec::new(),
        keys,
        undecidable: None,
        unprovable: None,
    }
}

impl<'h> Observed<'h> {
    /// Takes every committed transaction as committed, and every indeterminate one that a taken
    /// one read from. Leaving out an unread transaction never breaks a level: whatever order
    /// proves the level with it proves it without.
    pub fn take_committed(&mut self) {
        let history = self.history;
        let statuses = self.statuses.iter();
        self.taken = statuses
            .map(|&status| status == Status::Committed)
            .collect();
        if !self.statuses.contains(&Status::Indeterminate) {
            return;
        }
        let mut work = Vec::new();
        for placed in self.file_order.iter() {
            if self.statuses[placed.txn.index()] != Status::Committed {
                continue;
            }
            let mut next = Some(placed.ops());
            while let Some(ops) = next {
                for op in ops {
                    let link = self.links[op];
                    if Link::is_txn(link) && !self.taken[link as usize] {
                        self.taken.insert(link as usize);
                        work.push(history.op_range(TxnId(link)));
                    }
                }
                next = work.pop();
            }
        }
    }

    /// Lists show more, or lack more, after more transactions were taken.
    pub fn read_lists_again(&mut self) {
        list_order::renew(self);
    }

    /// Whether lists are read.
    pub fn reads_lists(&self) -> bool {
        self.history.ops().kinds.contains(&OpKind::ReadList)
    }

    /// The same history and interpretation with other links; values that are not those of the history are left out.
    pub fn with_links(&self, links: Vec<u32>, ambiguous: Vec<AmbiguousRead>) -> Observed<'h> {
        Observed {
            history: self.history,
            file_order: self.file_order.clone(),
            statuses: self.statuses.clone(),
            values: match self.values {
                Cow::Borrowed(values) => Cow::Borrowed(values),
                Cow::Owned(_) => Cow::Owned(Vec::new()),
            },
            links,
            taken: self.taken.clone(),
            read_anomalies: self.read_anomalies.clone(),
            ambiguous,
            lacks_writers: self.lacks_writers,
            known: self.known.clone(),
            circles: Vec::new(),
            keys: self.keys,
            undecidable: None,
            unprovable: None,
        }
    }

    /// Takes one more transaction as committed, and all that it read from.
    pub fn take(&mut self, txn: TxnId) {
        self.take_with(txn, &mut Vec::new());
    }

    /// The same; adds those that were not taken before to `taken`.
    fn take_with(&mut self, txn: TxnId, taken: &mut Vec<TxnId>) {
        let mut work = vec![txn];
        while let Some(txn) = work.pop() {
            if self.taken.insert(txn.index()) {
                continue;
            }
            taken.push(txn);
            for op in self.history.op_range(txn) {
                if Link::is_txn(self.links[op]) {
                    work.push(TxnId(self.links[op]));
                }
            }
        }
    }

    /// What counts where reads of aborted data are legal: nothing forces an indeterminate
    /// transaction to have committed, and lists may contradict each other. None if that makes no
    /// difference.
    pub fn of_dirty_reads(&self) -> Option<Observed<'h>> {
        if self.known.is_empty() && self.read_anomalies.is_empty() || self.undecidable.is_some() {
            return None;
        }
        let statuses = self.statuses.iter();
        let taken: Taken = statuses
            .map(|&status| status == Status::Committed)
            .collect();
        let takes_no_more = self.taken.count() == taken.count();
        let mut found = self.read_anomalies.iter();
        if takes_no_more && !found.any(ReadAnomaly::is_contradiction) {
            return None;
        }
        let (mut known, read_anomalies) = list_order::of_dirty_reads(self, &taken);
        let counts = |known: &&KnownOrder| {
            known.after != KnownOrder::LISTED
                && taken[known.from.index()]
                && taken[known.to.index()]
        };
        known.extend(self.known.iter().filter(counts));
        Some(Observed {
            history: self.history,
            file_order: self.file_order.clone(),
            statuses: self.statuses.clone(),
            values: Cow::Owned(Vec::new()),
            links: self.links.clone(),
            taken,
            read_anomalies,
            ambiguous: Vec::new(),
            lacks_writers: false,
            known,
            circles: Vec::new(),
            keys: self.keys,
            undecidable: None,
            unprovable: None,
        })
    }

    /// The taken transaction before `txn` in its session.
    pub fn session_predecessor(&self, txn: u32) -> Option<u32> {
        let session = self.history.session_of(TxnId(txn));
        let start = self.history.session_txns(session).start;
        (start..txn)
            .rev()
            .find(|&before| self.taken[before as usize])
    }

    /// The external reads of a transaction that returned another transaction's version: the
    /// operation, the key and the writer. Reads of initial versions are not among them.
    pub fn reads(&self, txn: TxnId) -> impl Iterator<Item = (OpId, KeyId, TxnId)> + '_ {
        let range = self.history.op_range(txn);
        let reads = range.filter(|&op| Link::is_txn(self.links[op]));
        reads.map(|op| {
            let writer = TxnId(self.links[op]);
            (OpId(op as u32), self.history.ops().keys[op], writer)
        })
    }

    /// The keys a transaction writes, with the last write to each.
    pub fn writes(&self, txn: TxnId) -> impl Iterator<Item = (OpId, KeyId)> + '_ {
        let range = self.history.op_range(txn);
        let writes = range.filter(|&op| self.links[op] == Link::WRITE);
        writes.map(|op| (OpId(op as u32), self.history.ops().keys[op]))
    }

    /// The keys a transaction writes, collected in a buffer.
    #[inline]
    pub fn written<'b>(&self, txn: TxnId, buffer: &'b mut Vec<u32>) -> &'b [u32] {
        let range = self.history.op_range(txn);
        let keys = self.history.ops().keys[range.clone()].iter();
        let links = &self.links[range];
        collect(
            links,
            keys.map(|key| key.0),
            |link| link == Link::WRITE,
            buffer,
        )
    }

    /// The transactions a transaction read from, once a read, collected in a buffer.
    #[inline]
    pub fn read_from<'b>(&self, txn: TxnId, buffer: &'b mut Vec<u32>) -> &'b [u32] {
        let links = &self.links[self.history.op_range(txn)];
        collect(links, links.iter().copied(), Link::is_txn, buffer)
    }

    /// The last write of a transaction to a key.
    pub fn write_to(&self, txn: TxnId, key: KeyId) -> Option<OpId> {
        self.writes(txn)
            .find(|&(_, written)| written == key)
            .map(|(op, _)| op)
    }

    /// Whether a list read shows by itself that an append came later: its element is not in the list.
    pub fn lacks(&self, read: OpId, append: OpId) -> bool {
        let (list, element) = (self.history.op(read), self.history.op(append));
        list.kind == OpKind::ReadList
            && element.kind == OpKind::Append
            && !self.history.list(list.value).contains(&element.value)
    }

    /// The transaction that an operation belongs to. Linear in the session's transactions, so only
    /// for evidence.
    pub fn txn_of(&self, op: OpId) -> TxnId {
        self.history
            .txn_ids()
            .find(|&txn| self.history.op_range(txn).contains(&op.index()))
            .expect("every operation belongs to a transaction")
    }
}

/// The items whose links are wanted. Reads and writes alternate at random, so nothing branches on what
/// an operation is: every item is stored, and those that are not wanted are overwritten.
#[inline]
fn collect<'b>(
    links: &[u32],
    items: impl Iterator<Item = u32>,
    wanted: impl Fn(u32) -> bool,
    buffer: &'b mut Vec<u32>,
) -> &'b [u32] {
    if buffer.len() < links.len() {
        buffer.resize(links.len(), 0);
    }
    let mut count = 0;
    for (&link, item) in links.iter().zip(items) {
        buffer[count] = item;
        count += usize::from(wanted(link));
    }
    &buffer[..count]
}
