//! The order of a list's versions, read off the lists that transactions read.
//!
//! **Definition.** The lists that committed transactions read of a key are beginnings of one list,
//! the longest; its elements are the key's versions in order, and what it lacks comes after. What
//! does not fit is an anomaly: lists that are no beginnings of one another, or an append of a
//! transaction without one that it did before (*incompatible-order*), an element shown more often than it was appended (*duplicate-element*), one of an aborted
//! transaction with others after it (*dirty-update*), one that nobody appended (*thin-air-read*).
//!
//! **Steps.** Take every indeterminate transaction whose element somebody saw, and what it read in
//! turn. Choose each key's longest list; go through its elements once, with their authors; compare
//! every other list with it, and go through what differs. Appends that no list shows follow the
//! last element.
//!
//! **Cost.** Linear in the operations, in the lengths of the longest lists and in those of lists
//! that do not share the storage of the longest (comparing is one memory scan).
//!
//! **Source.** Kingsbury & Alvaro, "Elle", VLDB 2021, section 3. Where we differ: an element whose
//! author is not known for certain is passed over, so that its neighbours are still ordered, and so
//! is one that the list has shown before, since it cannot have two places; lists
//! that contradict each other leave what both say in place, since that breaks a level by itself.

use super::appends::{Append, Appends, Author};
use super::{FileOrder, KnownOrder, Observed, ReadAnomaly, Taken};
use history::{AnomalyKind, History, KeyId, OpId, OpKind, Status, TxnId, ValueCode};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Reads the version order of each key off its lists, and adds what does not fit.
pub(super) fn add(observed: &mut Observed<'_>, appends: Option<Appends>) {
    let history = observed.history;
    if !history.ops().kinds.contains(&OpKind::ReadList) {
        return;
    }
    let appends = appends.unwrap_or_else(|| Appends::of(observed));
    take_seen(observed, &appends);
    observed.unprovable = unprovable(observed, &appends);
    let found = Search::new(observed, &observed.taken, &appends).run();
    observed.known = found.known;
    observed.read_anomalies.extend(found.anomalies);
}

/// Reads the lists again after more transactions were taken: what these appended and read counts now.
pub fn renew(observed: &mut Observed<'_>) {
    if !observed.reads_lists() {
        return;
    }
    let appends = Appends::of(observed);
    take_seen(observed, &appends);
    let found = Search::new(observed, &observed.taken, &appends).run();
    let is_other = |known: &KnownOrder| known.after != KnownOrder::LISTED;
    observed.known.retain(is_other);
    observed.known.extend(found.known);
    let before: HashSet<ReadAnomaly> = observed.read_anomalies.iter().cloned().collect();
    let is_new = |anomaly: &ReadAnomaly| !before.contains(anomaly);
    let new = found.anomalies.into_iter().filter(is_new);
    observed.read_anomalies.extend(new);
}

/// What is known of version orders where reads may be dirty, if these transactions committed, and
/// what does not fit. Of a key whose lists contradict each other, nothing follows from what they lack.
pub(super) fn of_dirty_reads(
    observed: &Observed<'_>,
    taken: &Taken,
) -> (Vec<KnownOrder>, Vec<ReadAnomaly>) {
    let appends = Appends::of(observed);
    let mut search = Search::new(observed, taken, &appends);
    let (longest, mut last) = search.read_all();
    let contradictions = search.found.anomalies.iter();
    for found in contradictions.filter(|found| found.is_contradiction()) {
        let key = observed.history.op(found.ops[0]).key;
        last[key.index()] = None;
    }
    search.add_unseen(&longest, &last);
    (search.found.known, search.found.anomalies)
}

/// Whoever read a list saw every element in it committed.
fn take_seen(observed: &mut Observed<'_>, appends: &Appends) {
    let history = observed.history;
    let is_open = |txn: &TxnId| observed.statuses[txn.index()] == Status::Indeterminate;
    let open: Vec<TxnId> = history.txn_ids().filter(is_open).collect();
    // Only lists that one of these appended to can show that it committed.
    let mut may_show = vec![false; history.keys().limit()];
    let mut is_any = false;
    for (_, op) in open.iter().flat_map(|&txn| history.txn_ops(txn)) {
        may_show[op.key.index()] |= op.kind == OpKind::Append;
        is_any |= op.kind == OpKind::Append;
    }
    if !is_any {
        return;
    }
    let mut seen = vec![false; appends.len()];
    // By key, a list all of whose elements were seen.
    let mut whole: Vec<&[ValueCode]> = vec![&[]; history.keys().limit()];
    let mut work = Vec::new();
    for at in 0..observed.file_order.len() {
        let placed = observed.file_order.at(at);
        if !observed.taken[placed.txn.index()] {
            continue;
        }
        let mut next = Some(placed.ops());
        while let Some(ops) = next {
            each_list(history, ops, |_, key, list| {
                if may_show[key.index()] && !is_beginning(list, whole[key.index()]) {
                    whole[key.index()] = list;
                    see(observed, appends, (key, list), &mut seen, &mut work);
                }
            });
            next = work.pop().map(|txn| history.op_range(txn));
        }
    }
}

/// Takes the authors of a list's elements. An element seen twice says nothing new, and lists share
/// their beginnings.
fn see(
    observed: &mut Observed<'_>,
    appends: &Appends,
    (key, list): (KeyId, &[ValueCode]),
    seen: &mut [bool],
    work: &mut Vec<TxnId>,
) {
    for &element in list.iter().rev() {
        let (author, place) = appends.author(key, element);
        if place < appends.len() && std::mem::replace(&mut seen[place], true) {
            break;
        }
        if let Author::One(append) = author
            && !observed.taken[append.txn.index()]
        {
            observed.take_with(append.txn, work);
        }
    }
}

/// Whether one list is stored as a beginning of another, so that nothing has to be compared.
#[inline]
fn is_beginning(list: &[ValueCode], of: &[ValueCode]) -> bool {
    list.as_ptr() == of.as_ptr() && list.len() <= of.len()
}

/// Calls with the operation, the key and the elements of every list that a transaction read.
#[inline]
fn each_list<'a>(
    history: &'a History,
    range: Range<usize>,
    mut call: impl FnMut(OpId, KeyId, &'a [ValueCode]),
) {
    let ops = history.ops();
    for op in range {
        if ops.kinds[op] == OpKind::ReadList && ops.values[op] != ValueCode::UNKNOWN {
            call(OpId(op as u32), ops.keys[op], history.list(ops.values[op]));
        }
    }
}

/// Why lists do not show the order of their versions: an element that is appended twice to a list
/// that is read.
fn unprovable(observed: &Observed<'_>, appends: &Appends) -> Option<String> {
    let history = observed.history;
    let twice = |key: KeyId| {
        let of_key = appends.of_key(key).map(|place| appends.at(place));
        let mut last = None;
        for append in of_key.filter(|append| append.status != Status::Aborted) {
            if last == Some(append.element) {
                return last;
            }
            last = Some(append.element);
        }
        None
    };
    let keys = (0..history.keys().limit() as u32).map(KeyId);
    let found: Vec<(KeyId, ValueCode)> = keys.filter_map(|key| Some((key, twice(key)?))).collect();
    if found.is_empty() {
        return None;
    }
    let mut is_read = vec![false; history.keys().limit()];
    for placed in observed.file_order.iter() {
        if observed.statuses[placed.txn.index()] != Status::Aborted {
            each_list(history, placed.ops(), |_, key, _| {
                is_read[key.index()] = true
            });
        }
    }
    let (key, element) = found.into_iter().find(|(key, _)| is_read[key.index()])?;
    Some(format!(
        "{} is appended twice to the list {}, so lists do not show the order",
        history.value(element),
        history.key_name(key)
    ))
}

struct Found {
    known: Vec<KnownOrder>,
    anomalies: Vec<ReadAnomaly>,
}

/// A list read of a transaction that counts.
#[derive(Clone, Copy)]
struct ListRead<'a> {
    key: KeyId,
    op: OpId,
    txn: TxnId,
    list: &'a [ValueCode],
}

struct Search<'a> {
    history: &'a History,
    file_order: &'a FileOrder<'a>,
    taken: &'a Taken,
    appends: &'a Appends,
    /// By place of an element's first append: how often the longest list shows the element.
    shown: Vec<u32>,
    found: Found,
}

/// Marks a key that no list was read of.
const NO_READ: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn new(observed: &'a Observed<'_>, taken: &'a Taken, appends: &'a Appends) -> Search<'a> {
        Search {
            history: observed.history,
            file_order: &observed.file_order,
            taken,
            appends,
            shown: vec![0; appends.len()],
            // Nearly every append has one that it follows.
            found: Found {
                known: Vec::with_capacity(appends.len()),
                anomalies: Vec::new(),
            },
        }
    }

    fn run(mut self) -> Found {
        let (longest, last) = self.read_all();
        self.add_unseen(&longest, &last);
        self.found
    }

    /// Goes through all lists. Returns by key the longest one and the last append that it shows.
    fn read_all(&mut self) -> (Vec<(u32, u32)>, Vec<Option<Append>>) {
        let (longest, all_agree) = self.longest();
        let mut last: Vec<Option<Append>> = vec![None; longest.len()];
        for (key, &(op, txn)) in longest.iter().enumerate() {
            if op != NO_READ {
                last[key] = self.go_through(self.list_read(OpId(op), TxnId(txn)));
            }
        }
        if !all_agree {
            self.compare_all(&longest);
        }
        (longest, last)
    }

    fn list_read(&self, op: OpId, txn: TxnId) -> ListRead<'a> {
        let history = self.history;
        let key = history.op(op).key;
        let list = history.list(history.op(op).value);
        ListRead { key, op, txn, list }
    }

    /// Calls with all list reads that count.
    #[inline]
    fn each_read(&self, mut call: impl FnMut(ListRead<'a>)) {
        for placed in self.file_order.iter() {
            let txn = placed.txn;
            if self.taken[txn.index()] {
                each_list(self.history, placed.ops(), |op, key, list| {
                    call(ListRead { key, op, txn, list });
                });
            }
        }
    }

    /// By key: the read that returned the longest list, and its transaction; and whether every list is a
    /// beginning of the longest one of its key, as far as each was compared with the longest before it.
    fn longest(&self) -> (Vec<(u32, u32)>, bool) {
        let mut longest = vec![(NO_READ, 0); self.history.keys().limit()];
        let mut lists: Vec<&[ValueCode]> = vec![&[]; longest.len()];
        let mut all_agree = true;
        self.each_read(|read| {
            let (known, long) = (&mut longest[read.key.index()], &mut lists[read.key.index()]);
            if read.list.len() > long.len() || known.0 == NO_READ {
                all_agree &= is_beginning(long, read.list) || read.list.starts_with(long);
                *known = (read.op.0, read.txn.0);
                *long = read.list;
            } else if !is_beginning(read.list, long) {
                all_agree &= long.starts_with(read.list);
            }
        });
        (longest, all_agree)
    }

    /// Goes through the longest list of a key; returns the last append in it.
    fn go_through(&mut self, read: ListRead<'a>) -> Option<Append> {
        let outside = self.outside_count(&read);
        let mut strangers = HashSet::new();
        let mut last = None;
        for (at, &element) in read.list.iter().enumerate() {
            let (author, place) = self.appends.author(read.key, element);
            let is_repeated = if matches!(author, Author::Nobody) {
                !strangers.insert(element)
            } else {
                self.shown[place] += 1;
                let count = self.shown[place];
                count > 1 && count > self.append_count(read.key, element)
            };
            if is_repeated {
                self.add_anomaly(AnomalyKind::DuplicateElement, &read, vec![read.op]);
            } else {
                if let Author::One(append) = author
                    && append.follows
                {
                    self.follow(&read, append, last);
                }
                self.visit(&read, at + 1 == outside, author, &mut last);
            }
        }
        last
    }

    /// An append in the longest list whose transaction had appended to the key before: that has to
    /// have been shown before it.
    fn follow(&mut self, read: &ListRead<'a>, append: Append, last: Option<Append>) {
        let ops = self.history.ops();
        let is_own = |&op: &usize| ops.kinds[op] == OpKind::Append && ops.keys[op] == read.key;
        let start = match last {
            Some(last) if last.txn == append.txn && last.op < append.op => last.op.index() + 1,
            _ => self.history.op_range(append.txn).start,
        };
        let Some(before) = (start..append.op.index()).rev().find(is_own) else {
            return;
        };
        let (author, place) = self.appends.author(read.key, ops.values[before]);
        let is_taken = self.taken[append.txn.index()];
        if is_taken && matches!(author, Author::One(_)) && self.shown[place] == 0 {
            let skipped = vec![OpId(before as u32), append.op, read.op];
            self.add_anomaly(AnomalyKind::IncompatibleOrder, read, skipped);
        }
    }

    /// One element of a list, with the author of the one before.
    fn visit(
        &mut self,
        read: &ListRead<'a>,
        is_last: bool,
        author: Author,
        last: &mut Option<Append>,
    ) {
        match author {
            // The last element of what was there is the version read: that was settled.
            Author::Nobody | Author::Aborted(_) if is_last => {}
            Author::Nobody => self.add_anomaly(AnomalyKind::ThinAirRead, read, vec![read.op]),
            Author::Aborted(append) => {
                self.add_anomaly(AnomalyKind::DirtyUpdate, read, vec![append.op, read.op]);
            }
            Author::Several => {}
            Author::One(append) => {
                if !self.taken[append.txn.index()] {
                    return;
                }
                if let Some(before) = *last {
                    self.add_pair(before, append, read.op);
                }
                *last = Some(append);
            }
        }
    }

    /// How often an element was appended by transactions that did not abort, or at all if all did.
    /// An element that nobody appended counts as one: to show it once is another anomaly.
    fn append_count(&self, key: KeyId, element: ValueCode) -> u32 {
        let appends = self.appends.find(key, element);
        let count = appends.len() as u32;
        if count == 1 {
            return 1;
        }
        let aborted = appends.filter(|&place| self.appends.at(place).status == Status::Aborted);
        match count - aborted.count() as u32 {
            0 => count.max(1),
            alive => alive,
        }
    }

    /// How many elements of a list were there before the reader's own appends.
    fn outside_count(&self, read: &ListRead<'_>) -> usize {
        let ops = self.history.ops();
        let before = self.history.op_range(read.txn).start..read.op.index();
        let own = before.filter(|&op| ops.kinds[op] == OpKind::Append && ops.keys[op] == read.key);
        read.list.len().saturating_sub(own.count())
    }

    /// Every list is a beginning of the longest one, or says something else.
    fn compare_all(&mut self, longest: &[(u32, u32)]) {
        let list = |&(op, txn): &(u32, u32)| match op {
            NO_READ => &[][..],
            op => self.list_read(OpId(op), TxnId(txn)).list,
        };
        let lists: Vec<&[ValueCode]> = longest.iter().map(list).collect();
        let mut others = Vec::new();
        self.each_read(|read| {
            let long = lists[read.key.index()];
            if !is_beginning(read.list, long) && !long.starts_with(read.list) {
                others.push(read);
            }
        });
        others.sort_unstable_by_key(|read| (read.txn, read.op));
        for read in others {
            let (op, txn) = longest[read.key.index()];
            let longest_read = self.list_read(OpId(op), TxnId(txn));
            self.disagree(&longest_read, &read);
        }
    }

    /// A list that contradicts the longest one: what it says from there on counts, too.
    fn disagree(&mut self, longest: &ListRead<'a>, read: &ListRead<'a>) {
        let kind = AnomalyKind::IncompatibleOrder;
        self.add_anomaly(kind, read, vec![longest.op, read.op]);
        let same = read.list.iter().zip(longest.list);
        let common = same.take_while(|(a, b)| a == b).count();
        let outside = self.outside_count(read);
        let mut shown: HashMap<ValueCode, u32> = HashMap::new();
        for &element in &read.list[..common] {
            *shown.entry(element).or_default() += 1;
        }
        let mut last = read.list[..common].iter().rev().find_map(|&element| {
            match self.appends.author(read.key, element).0 {
                Author::One(append) if self.taken[append.txn.index()] => Some(append),
                _ => None,
            }
        });
        for (at, &element) in read.list.iter().enumerate().skip(common) {
            let author = self.appends.author(read.key, element).0;
            let count = shown.entry(element).or_default();
            *count += 1;
            if *count > self.append_count(read.key, element) {
                self.add_anomaly(AnomalyKind::DuplicateElement, read, vec![read.op]);
            } else {
                self.visit(read, at + 1 == outside, author, &mut last);
            }
        }
    }

    /// A committed append that the longest list does not show comes after all that it shows.
    fn add_unseen(&mut self, longest: &[(u32, u32)], last: &[Option<Append>]) {
        for (key, &(op, _)) in longest.iter().enumerate() {
            let Some(last) = last[key] else {
                continue;
            };
            for place in self.appends.of_key(KeyId(key as u32)) {
                // Counted at the first append of an element.
                if self.shown[place] > 0 {
                    continue;
                }
                let append = self.appends.at(place);
                if self.taken[append.txn.index()] && self.is_unseen(KeyId(key as u32), append) {
                    self.add_pair(last, append, OpId(op));
                }
            }
        }
    }

    /// Whether the longest list lacks the element, and nobody else appended it without aborting.
    fn is_unseen(&self, key: KeyId, append: Append) -> bool {
        let (author, first) = self.appends.author(key, append.element);
        self.shown[first] == 0 && matches!(author, Author::One(one) if one.op == append.op)
    }

    fn add_pair(&mut self, from: Append, to: Append, read: OpId) {
        if from.txn != to.txn {
            self.found.known.push(KnownOrder {
                from: from.txn,
                to: to.txn,
                from_op: from.op,
                to_op: to.op,
                read,
                after: KnownOrder::LISTED,
            });
        }
    }

    fn add_anomaly(&mut self, kind: AnomalyKind, read: &ListRead<'_>, ops: Vec<OpId>) {
        let txn = read.txn;
        self.found.anomalies.push(ReadAnomaly { kind, txn, ops });
    }
}
