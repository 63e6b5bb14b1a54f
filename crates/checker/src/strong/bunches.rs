//! Entries by number, in one stretch of memory, to which more are added now and then.
//!
//! Cost: entries that outgrow their room move to the end, with twice as much.

/// Where the entries of a number are.
#[derive(Clone, Copy, Default)]
struct Span {
    from: usize,
    len: u32,
    room: u32,
}

/// See the module's text.
pub struct Bunches<T> {
    spans: Vec<Span>,
    entries: Vec<T>,
}

impl<T: Copy + PartialEq + Default> Bunches<T> {
    /// The second halves by the first, which are below `count`, with room for as many again and some to spare.
    pub fn new(
        count: usize,
        pairs: impl Iterator<Item = (u32, T)> + Clone,
        spare: u32,
    ) -> Bunches<T> {
        let mut spans = vec![Span::default(); count];
        for (at, _) in pairs.clone() {
            spans[at as usize].len += 1;
        }
        let mut end = 0;
        for span in &mut spans {
            span.from = end;
            span.room = 2 * span.len + spare;
            span.len = 0;
            end += span.room as usize;
        }
        let mut entries = vec![T::default(); end];
        for (at, entry) in pairs {
            let span = &mut spans[at as usize];
            entries[span.from + span.len as usize] = entry;
            span.len += 1;
        }
        Bunches { spans, entries }
    }

    /// The entries of a number.
    #[inline]
    pub fn of(&self, at: u32) -> &[T] {
        let span = self.spans[at as usize];
        &self.entries[span.from..span.from + span.len as usize]
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, at: u32, entry: T) {
        let span = &mut self.spans[at as usize];
        if span.len == span.room {
            let old = span.from..span.from + span.len as usize;
            span.from = self.entries.len();
            span.room = 2 * span.room + 1;
            self.entries.extend_from_within(old);
            let end = span.from + span.room as usize;
            self.entries.resize(end, T::default());
        }
        self.entries[span.from + span.len as usize] = entry;
        span.len += 1;
    }

    /// Removes an entry, the one added last if there are several; the others may change places.
    pub fn remove(&mut self, at: u32, entry: T) {
        let found = self.of(at).iter().rposition(|&other| other == entry);
        let span = &mut self.spans[at as usize];
        if let Some(place) = found {
            span.len -= 1;
            self.entries[span.from + place] = self.entries[span.from + span.len as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go() {
        let mut bunches = Bunches::new(2, [(1, 5), (0, 3), (1, 6)].into_iter(), 2);
        (7..20).for_each(|entry| bunches.push(1, entry));
        bunches.remove(1, 6);
        bunches.remove(1, 4);
        let mut own = bunches.of(1).to_vec();
        own.sort_unstable();
        let wanted: Vec<i32> = [5].into_iter().chain(7..20).collect();
        assert_eq!((bunches.of(0), own), (&[3][..], wanted));
    }
}
