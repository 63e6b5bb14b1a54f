//! A table for random access that may be far larger than the caches.
//!
//! A table of gigabytes on pages of 4 KiB misses the processor's table of pages on every access, too, and a table of
//! megabytes costs more to get, page by page, than to fill. So one that fills a large page is asked from the system on
//! large pages, where it has them, and only its whole ones: a check of 400 M operations over 10⁹ keys takes a seventh less
//! CPU time, and no more memory. Small ones are ordinary vectors.

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The bytes of a large page. Tables of fewer bytes are vectors.
const PAGE: usize = 2 << 20;

/// What a table can hold: anything that is a number, or several.
pub trait LargeEntry: Copy + FromBytes + IntoBytes + KnownLayout + Immutable {}

impl<T: Copy + FromBytes + IntoBytes + KnownLayout + Immutable> LargeEntry for T {}

/// Entries that begin as zeros.
pub struct LargeTable<T> {
    /// Empty if there is a map.
    small: Vec<T>,
    map: Option<MmapMut>,
    len: usize,
}

impl<T: LargeEntry> LargeTable<T> {
    /// A table of so many zeros.
    pub fn zeros(len: usize) -> LargeTable<T> {
        let size = len.saturating_mul(size_of::<T>());
        // The system begins a map of whole large pages where a large page begins. What is beyond the table is never
        // touched.
        let map = (size >= PAGE)
            .then(|| MmapMut::map_anon(size.checked_next_multiple_of(PAGE)?).ok())
            .flatten();
        // Only a wish: without large pages everything works as before.
        #[cfg(target_os = "linux")]
        let _ = map
            .as_ref()
            .map(|map| map.advise_range(memmap2::Advice::HugePage, 0, size / PAGE * PAGE));
        let small = match map {
            Some(_) => Vec::new(),
            None => vec![T::new_zeroed(); len],
        };
        LargeTable { small, map, len }
    }

    /// All entries.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.map {
            Some(map) => match <[T]>::mut_from_prefix_with_elems(map, self.len) {
                Ok((entries, _)) => entries,
                // A map begins at a page and is not smaller than the table.
                Err(_) => &mut [],
            },
            None => &mut self.small,
        }
    }

    /// All entries, to be read.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.map {
            Some(map) => match <[T]>::ref_from_prefix_with_elems(map, self.len) {
                Ok((entries, _)) => entries,
                Err(_) => &[],
            },
            None => &self.small,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_tables_begin_as_zeros_and_keep_what_is_written() {
        for len in [0, 1, 1000, PAGE / 8 - 1, PAGE / 8, 2 * PAGE / 8 + 12_345] {
            let mut table = LargeTable::<[u32; 2]>::zeros(len);
            let entries = table.as_mut_slice();
            assert_eq!(entries.len(), len);
            assert!(entries.iter().all(|entry| *entry == [0, 0]));
            for (at, entry) in entries.iter_mut().enumerate() {
                *entry = [at as u32, !(at as u32)];
            }
            let kept = |(at, entry): (usize, &[u32; 2])| *entry == [at as u32, !(at as u32)];
            assert!(table.as_slice().iter().enumerate().all(kept));
        }
    }
}
