//! Joins external reads to the writes whose key and value they returned. (Small histories, and those
//! whose values are dense, need no more than one table: `table_join`.)
//!
//! Steps: count how many reads and writes fall into each bucket of a hash of (key, value); then,
//! in a few passes that each take a share of the buckets, scatter them into one buffer ordered by
//! bucket, and join bucket by bucket with a table that fits into the second-level cache. A read
//! that meets exactly one final write of a committed transaction is linked at once; the others are
//! handed to `settle`.
//!
//! Cost: linear, two sequential scans of the columns a pass; the buffer holds a pass's share of the
//! operations at 12 bytes each. A single large hash table would miss the cache on every access and
//! take three times the memory.

use super::dense_table::DenseTable;
use super::table_join::{self, HashTable};
use super::value_table::ValueTable;
use super::{Link, Observed};
use history::{LargeTable, Status, TxnId, ValueCode};
use std::ops::Range;

/// How many operations a bucket should have: its table (8 bytes an entry) fits the second cache.
const BUCKET_OPS: usize = 16 << 10;

/// How many buckets a pass may fill: each is a stream of its own through the processor's caches,
/// and with too many of them every store would wait for memory.
const PASS_BUCKETS_MAX: usize = 2048;

/// A second pass halves the buffer; each costs a scan of the columns.
const PASSES: usize = 2;

/// Marks a write that cannot be linked without a closer look: not final, not committed, or one of
/// several of its value.
pub(super) const SPECIAL: u32 = 1 << 31;

/// A key, a value, and a tag: the transaction (and [`SPECIAL`]) of a write, the operation of a read.
type Entry = [u32; 3];

/// External reads that need a closer look, with their transactions.
pub(super) struct Unsettled {
    pub reads: Vec<(u32, TxnId)>,
}

#[inline]
pub(super) fn hash(key: u32, value: u32) -> u64 {
    let mixed = (u64::from(key) << 32 | u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The buckets of one join: the top bits of the hash.
struct Buckets {
    shift: u32,
    /// Reads and writes before each bucket, as (write count, read count).
    sizes: Vec<(u32, u32)>,
}

/// Links every external read it can and returns the rest.
pub(super) fn join(observed: &mut Observed<'_>, initial: Option<ValueCode>) -> Unsettled {
    let mut unsettled = Unsettled { reads: Vec::new() };
    if !join_by_index(observed, initial) {
        join_by_hash(observed, initial, &mut unsettled);
    }
    super::lists::leave_only_empty_initial(observed);
    add_readers(observed, &mut unsettled);
    unsettled
}

/// By direct index, if values allow it.
fn join_by_index(observed: &mut Observed<'_>, initial: Option<ValueCode>) -> bool {
    if let Some(table) = DenseTable::new(observed) {
        return table_join::join(observed, initial, table);
    }
    match ValueTable::new(observed) {
        Some(table) => table_join::join(observed, initial, table),
        None => false,
    }
}

fn join_by_hash(
    observed: &mut Observed<'_>,
    initial: Option<ValueCode>,
    unsettled: &mut Unsettled,
) {
    if observed.history.op_count() <= table_join::OPS_MAX {
        let table = HashTable::new(observed);
        table_join::join(observed, initial, table);
    } else {
        join_buckets(observed, initial, unsettled);
    }
}

/// By the hash of key and value, bucket by bucket.
fn join_buckets(
    observed: &mut Observed<'_>,
    initial: Option<ValueCode>,
    unsettled: &mut Unsettled,
) {
    let buckets = count(observed);
    let per_pass = buckets.sizes.len() / PASSES;
    let entries = |sizes: &[(u32, u32)]| sizes.iter().map(|(w, r)| (w + r) as usize).sum::<usize>();
    let largest = buckets.sizes.chunks(per_pass).map(entries).max();
    // One more for what belongs to no bucket of the pass.
    let mut buffer = LargeTable::<Entry>::zeros(largest.unwrap_or(0) + 1);
    let buffer = buffer.as_mut_slice();
    let mut table = Vec::new();
    for pass in 0..PASSES {
        let range = pass * per_pass..(pass + 1) * per_pass;
        let starts = scatter(observed, &buckets, range.clone(), buffer);
        for (at, bucket) in range.enumerate() {
            let (write_count, read_count) = buckets.sizes[bucket];
            let entries = &mut buffer[starts[at]..][..(write_count + read_count) as usize];
            let (writes, reads) = entries.split_at_mut(write_count as usize);
            join_bucket(
                writes,
                reads,
                &mut table,
                initial,
                &mut observed.links,
                unsettled,
            );
        }
    }
}

fn count(observed: &Observed<'_>) -> Buckets {
    let ops = observed.history.ops();
    let bucket_count = (ops.len() / BUCKET_OPS)
        .next_power_of_two()
        .clamp(PASSES, PASSES * PASS_BUCKETS_MAX);
    let shift = 64 - bucket_count.trailing_zeros();
    let mut sizes = vec![(0u32, 0u32); bucket_count];
    for op in 0..ops.len() {
        let size = &mut sizes[(hash(ops.keys[op].0, observed.values[op].0) >> shift) as usize];
        let is_write = ops.kinds[op].is_write();
        let is_read = observed.links[op] == Link::PENDING;
        size.0 += u32::from(is_write);
        size.1 += u32::from(is_read);
    }
    Buckets { shift, sizes }
}

/// Copies the reads and writes of a range of buckets into `buffer`, writes before reads in each
/// bucket, and returns where each bucket starts.
///
/// Whether an operation is a read or a write, and in range, is a coin toss to the processor, so
/// nothing branches on it: everything is stored, and what does not belong lands in a spare place
/// at the end.
fn scatter(
    observed: &Observed<'_>,
    buckets: &Buckets,
    range: Range<usize>,
    buffer: &mut [Entry],
) -> Vec<usize> {
    let mut starts = Vec::with_capacity(range.len());
    // Two places a bucket: of its next write, and of its next read.
    let mut next = Vec::with_capacity(2 * range.len() + 2);
    let mut total = 0usize;
    for &(write_count, read_count) in &buckets.sizes[range.clone()] {
        starts.push(total);
        next.extend([total, total + write_count as usize]);
        total += (write_count + read_count) as usize;
    }
    let outside = range.len();
    next.extend([total, total]);
    let history = observed.history;
    let ops = history.ops();
    for placed in observed.file_order.iter() {
        let txn = placed.txn;
        let special = if observed.statuses[txn.index()] == Status::Committed {
            0
        } else {
            SPECIAL
        };
        let span = placed.ops();
        let columns = ops.kinds[span.clone()]
            .iter()
            .zip(&ops.keys[span.clone()])
            .zip(&observed.values[span.clone()])
            .zip(&observed.links[span.clone()]);
        for (at, (((kind, key), value), &link)) in columns.enumerate() {
            let is_write = kind.is_write();
            let is_read = link == Link::PENDING;
            let bucket = (hash(key.0, value.0) >> buckets.shift) as usize;
            let inside = range.contains(&bucket);
            let local = if inside {
                bucket - range.start
            } else {
                outside
            };
            let place = &mut next[2 * local + usize::from(!is_write)];
            let hidden = if link == Link::WRITE {
                special
            } else {
                SPECIAL
            };
            let op = (span.start + at) as u32;
            let tag = if is_write { txn.0 | hidden } else { op };
            let wanted = inside & (is_write | is_read);
            let slot = if wanted { *place } else { total };
            buffer[slot] = [key.0, value.0, tag];
            *place += usize::from(wanted);
        }
    }
    starts
}

fn join_bucket(
    writes: &mut [Entry],
    reads: &[Entry],
    table: &mut Vec<u32>,
    initial: Option<ValueCode>,
    links: &mut [u32],
    unsettled: &mut Unsettled,
) {
    let size = (2 * writes.len()).next_power_of_two().max(4);
    let mask = size - 1;
    table.clear();
    table.resize(size, 0);
    for index in 0..writes.len() {
        let [key, value, _] = writes[index];
        let mut at = hash(key, value) as usize & mask;
        while table[at] != 0 {
            let other = &mut writes[table[at] as usize - 1];
            if other[..2] == [key, value] {
                other[2] |= SPECIAL;
                break;
            }
            at = (at + 1) & mask;
        }
        if table[at] == 0 {
            table[at] = index as u32 + 1;
        }
    }
    let mut ahead = reads.chunks(AHEAD).skip(1);
    for (index, read) in reads.iter().enumerate() {
        if index % AHEAD == 0 {
            fetch(links, ahead.next().unwrap_or(&[]));
        }
        let &[key, value, op] = read;
        let mut at = hash(key, value) as usize & mask;
        let link = loop {
            let Some(index) = table[at].checked_sub(1) else {
                let is_initial = Some(ValueCode(value)) == initial;
                break if is_initial {
                    Link::INITIAL
                } else {
                    Link::PENDING
                };
            };
            let [written_key, written, writer] = writes[index as usize];
            if written_key == key && written == value {
                break if writer & SPECIAL == 0 {
                    writer
                } else {
                    Link::PENDING
                };
            }
            at = (at + 1) & mask;
        };
        if link == Link::PENDING {
            unsettled.reads.push((op, TxnId(0)));
        }
        links[op as usize] = link;
    }
}

/// So many reads are fetched ahead.
const AHEAD: usize = 64;

/// Brings the links of reads into the caches. They lie far apart: stores would wait for memory one after another, loads
/// wait together.
#[inline]
fn fetch(links: &[u32], reads: &[Entry]) {
    let sum = reads
        .iter()
        .fold(0u32, |sum, &[_, _, op]| sum ^ links[op as usize]);
    std::hint::black_box(sum);
}

/// A read that met its own transaction's later write was linked to itself: that needs a closer
/// look too. The same scan finds the transaction of every unsettled read.
fn add_readers(observed: &mut Observed<'_>, unsettled: &mut Unsettled) {
    unsettled.reads.clear();
    for placed in observed.file_order.iter() {
        let (txn, range) = (placed.txn, placed.ops());
        let links = &observed.links[range.clone()];
        let is_unsettled = |link: u32| (link == Link::PENDING) | (link == txn.0);
        if links
            .iter()
            .fold(false, |any, &link| any | is_unsettled(link))
        {
            let mine = range.zip(links).filter(|&(_, &link)| is_unsettled(link));
            unsettled.reads.extend(mine.map(|(op, _)| (op as u32, txn)));
        }
    }
    unsettled.reads.sort_unstable_by_key(|&(op, txn)| (txn, op));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{local, unjoined};
    use history::format::jsonl;
    use history::{History, KeyOrder};

    /// Transactions that write values more than once, overwrite their own, read what is not there and
    /// abort; what they do depends on the seed only. With `own_values` no two keys share a value.
    fn careless_history(seed: u64, own_values: bool) -> History {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut lines = String::new();
        for txn in 0..40 {
            let session = below(4);
            let status = ["committed", "aborted", "indeterminate"][below(8).min(2) as usize];
            let status = if txn % 4 == 0 { status } else { "committed" };
            let mut op = || {
                let kind = if below(2) == 0 { "r" } else { "w" };
                let key = below(5);
                let value = match (below(160), own_values) {
                    (0..8, _) if kind == "r" => "null".to_string(),
                    (8..16, true) => ((1 << 40) + 5 * below(9) + key).to_string(),
                    // One or two of these are still joined by value.
                    (16, true) => ((1 << 30) + 5 * below(2) + key).to_string(),
                    (_, true) => (5 * below(12) + key).to_string(),
                    (_, false) => below(24).to_string(),
                };
                format!("[\"{kind}\",{key},{value}]")
            };
            let ops = [op(), op(), op(), op()].join(",");
            lines.push_str(&format!(
                "{{\"session\":{session},\"txn\":{txn},\"status\":\"{status}\",\"ops\":[{ops}]}}\n"
            ));
        }
        jsonl::read(lines.as_bytes(), &mut Vec::new()).expect("a history")
    }

    #[test]
    fn every_way_to_join_links_the_same() {
        let (mut dense_count, mut value_count, mut linked) = (0, 0, 0);
        for seed in 0..400 {
            let history = careless_history(seed, seed % 2 == 0);
            for initial in [None, Some(ValueCode(0))] {
                let classified = || {
                    let mut observed = unjoined(&history, KeyOrder::Free);
                    local::classify(&mut observed);
                    observed
                };
                let mut by_hash = classified();
                let table = HashTable::new(&by_hash);
                assert!(table_join::join(&mut by_hash, initial, table));
                let mut by_bucket = classified();
                let mut unsettled = Unsettled { reads: Vec::new() };
                join_buckets(&mut by_bucket, initial, &mut unsettled);
                assert_eq!(by_bucket.links, by_hash.links, "seed {seed}");
                let mut by_index = classified();
                if let Some(table) = DenseTable::new(&by_index) {
                    assert!(table_join::join(&mut by_index, initial, table));
                    assert_eq!(by_index.links, by_hash.links, "seed {seed}");
                    dense_count += 1;
                }
                let mut by_value = classified();
                if let Some(table) = ValueTable::new(&by_value) {
                    let is_joined = table_join::join(&mut by_value, initial, table);
                    let expected = if is_joined {
                        by_hash.links.clone()
                    } else {
                        classified().links
                    };
                    assert_eq!(by_value.links, expected, "seed {seed}");
                    value_count += usize::from(is_joined);
                }
                let is_linked = |link: &&u32| Link::is_txn(**link);
                linked += by_hash.links.iter().filter(is_linked).count();
            }
        }
        assert!(
            dense_count > 100 && value_count > 100 && linked > 1000,
            "{dense_count}, {value_count}, {linked}"
        );
    }
}
