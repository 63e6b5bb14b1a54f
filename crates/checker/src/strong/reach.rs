//! What leads to what, for all events at once: as sets of bits, as clocks, or for those that are near.
//!
//! Definition: of each event, the events that lead to it along known edges. Where there are few
//! events, as one bit for each; where sessions count, as how many events of each session, which run
//! in line, so that one number says it all; and else as one bit for each of the places shortly before its own in
//! the order, where all that is further away is taken to lead to it. A path runs along the order, so what is near is
//! exact. Cost: O(m·w) for m edges and w words of an event's row:
//! at most n / 64 for n events with bits, half the number of sessions with clocks, 64 with a window.

use super::known::Known;

/// More events than this have no bits.
pub const BITS_EVENTS_MAX: usize = 1 << 15;
/// With no more sessions than this, what is known is found out sooner than what is likely.
const SESSIONS_FEW: usize = 128;
/// What clocks may take.
const CLOCKS_BYTES_MAX: usize = 3 << 29;

/// What windows may take, and how many words of 64 places a row has at least and at most.
const WINDOW_BYTES_MAX: usize = 1 << 30;
const WINDOW_WORDS_MIN: usize = 16;
const WINDOW_WORDS_MAX: usize = 64;

/// The rows of all events; see the module's text.
pub enum Reach {
    Bits(Bits),
    Clocks(Clocks),
    Window(Window),
}

impl Reach {
    /// Empty rows for these events; None where they would take too much.
    pub fn new(known: &Known<'_>, event_count: usize) -> Option<Reach> {
        if event_count <= BITS_EVENTS_MAX {
            return Some(Reach::none());
        }
        let clocks = Clocks::new(known).map(Reach::Clocks);
        clocks.or_else(|| Window::new(event_count).map(Reach::Window))
    }

    /// Whether all that leads to these events can be known soon, by bits or by clocks of not too many sessions.
    pub fn is_whole_soon(known: &Known<'_>, event_count: usize) -> bool {
        let has_few_sessions = known.observed.history.session_count() <= SESSIONS_FEW;
        let by_clocks = known.shape.sessions && has_few_sessions && clocks_fit(known);
        event_count <= BITS_EVENTS_MAX || by_clocks
    }

    /// No rows yet, which take no memory.
    pub fn none() -> Reach {
        Reach::Bits(Bits { rows: Vec::new() })
    }

    /// Fills the rows with what leads to each event; `order` is along all edges.
    pub fn find_before(&mut self, known: &Known<'_>, order: &[u32], place: &[u32]) {
        match self {
            Reach::Bits(bits) => bits.find_before(known, order, place),
            Reach::Clocks(clocks) => clocks.find_before(known, order),
            Reach::Window(window) => window.find_before(known, order, place),
        }
    }

    /// Whether one event leads to another.
    #[inline]
    pub fn leads_to(&self, event: u32, other: u32, place: &[u32]) -> bool {
        match self {
            Reach::Bits(bits) => bits.leads_to(place[event as usize], place[other as usize]),
            Reach::Clocks(clocks) => clocks.leads_to(event, other),
            Reach::Window(window) => window.leads_to(place[event as usize], place[other as usize]),
        }
    }

    /// Those of the edges to an event that no other predecessor of it makes superfluous.
    pub fn needed(
        &self,
        known: &Known<'_>,
        event: u32,
        edges: &mut Vec<(u32, u32)>,
        place: &[u32],
    ) {
        let mut before: Vec<u32> = Vec::new();
        known.predecessors(event, |other, _| before.push(other));
        edges.retain(|&(from, _)| {
            let covers = |&other: &u32| other != from && self.leads_to(from, other, place);
            !before.iter().any(covers)
        });
    }

    /// By place in the order, how many events lead to each and to how many it leads. The rows are
    /// overwritten.
    pub fn counts(
        &mut self,
        known: &Known<'_>,
        order: &[u32],
        place: &[u32],
    ) -> (Vec<u64>, Vec<u64>) {
        match self {
            Reach::Bits(bits) => bits.counts(known, order, place),
            Reach::Clocks(clocks) => clocks.counts(known, order),
            Reach::Window(_) => unreachable!("a window does not know all that leads to an event"),
        }
    }
}

/// By place, the places that lead to it, as bits. Only earlier places can, so a row ends at its own.
pub struct Bits {
    rows: Vec<u64>,
}

/// Where the row of a place begins: each one before has a word for every 64 places up to its own.
#[inline]
fn row_start(place: usize) -> usize {
    let (words, rest) = (place / 64, place % 64);
    (32 * words + rest) * (words + 1)
}

impl Bits {
    fn find_before(&mut self, known: &Known<'_>, order: &[u32], place: &[u32]) {
        self.rows.clear();
        self.rows.resize(row_start(order.len()), 0);
        for (at, &event) in order.iter().enumerate() {
            let (done, rest) = self.rows.split_at_mut(row_start(at));
            let row = &mut rest[..at / 64 + 1];
            known.predecessors(event, |other, _| {
                let other = place[other as usize] as usize;
                if other >= at || row[other / 64] >> (other % 64) & 1 != 0 {
                    return;
                }
                let theirs = &done[row_start(other)..][..other / 64 + 1];
                for (mine, theirs) in row.iter_mut().zip(theirs) {
                    *mine |= theirs;
                }
                row[other / 64] |= 1 << (other % 64);
            });
        }
    }

    #[inline]
    fn leads_to(&self, from: u32, to: u32) -> bool {
        let word = row_start(to as usize) + from as usize / 64;
        from < to && self.rows[word] >> (from % 64) & 1 != 0
    }

    fn counts(&mut self, known: &Known<'_>, order: &[u32], place: &[u32]) -> (Vec<u64>, Vec<u64>) {
        let ones = |row: &[u64]| row.iter().map(|word| u64::from(word.count_ones())).sum();
        let row = |at: usize| row_start(at)..row_start(at + 1);
        let before = (0..order.len()).map(|at| ones(&self.rows[row(at)]));
        let before = before.collect();
        self.rows.fill(0);
        // Now the places that each leads to, itself among them, all counted from the end.
        let mut after = vec![0; order.len()];
        for at in (0..order.len()).rev() {
            let back = order.len() - 1 - at;
            let (done, rest) = self.rows.split_at_mut(row_start(back + 1));
            let mine = &mut done[row_start(back)..];
            mine[back / 64] |= 1 << (back % 64);
            known.predecessors(order[at], |other, _| {
                let other = place[other as usize] as usize;
                if other < at {
                    let other = order.len() - 1 - other;
                    let theirs = &mut rest[row_start(other) - row_start(back + 1)..];
                    for (theirs, mine) in theirs.iter_mut().zip(mine.iter()) {
                        *theirs |= mine;
                    }
                }
            });
            after[at] = ones(mine);
        }
        (before, after)
    }
}

/// By place, which of the places shortly before lead to it, as bits. What is further away is taken to.
pub struct Window {
    /// How many words a row has.
    words: usize,
    rows: Vec<u64>,
}

impl Window {
    fn new(event_count: usize) -> Option<Window> {
        let words = (WINDOW_BYTES_MAX / 8 / event_count).min(WINDOW_WORDS_MAX);
        (words >= WINDOW_WORDS_MIN).then(|| Window::of_words(words))
    }

    /// Rows of so many words.
    pub fn of_words(words: usize) -> Window {
        let rows = Vec::new();
        Window { words, rows }
    }

    fn find_before(&mut self, known: &Known<'_>, order: &[u32], place: &[u32]) {
        let words = self.words;
        self.rows.clear();
        self.rows.resize(words * order.len(), 0);
        for (at, &event) in order.iter().enumerate() {
            let (done, rest) = self.rows.split_at_mut(words * at);
            let row = &mut rest[..words];
            known.predecessors(event, |other, _| {
                let other = place[other as usize] as usize;
                let back = (at / 64).wrapping_sub(other / 64);
                if other >= at || back >= words {
                    return;
                }
                // The last word of a row is that of its own place.
                let bit = &mut row[words - 1 - back];
                if *bit >> (other % 64) & 1 != 0 {
                    return;
                }
                *bit |= 1 << (other % 64);
                let theirs = &done[words * other + back..words * (other + 1)];
                for (mine, theirs) in row.iter_mut().zip(theirs) {
                    *mine |= theirs;
                }
            });
        }
    }

    #[inline]
    fn leads_to(&self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        let back = (to / 64).wrapping_sub(from / 64);
        from < to
            && (back >= self.words
                || self.rows[self.words * (to + 1) - 1 - back] >> (from % 64) & 1 != 0)
    }
}

/// Whether clocks take no more than they may.
fn clocks_fit(known: &Known<'_>) -> bool {
    let lines = known.observed.history.session_count() + 1;
    let bytes = lines.saturating_mul(known.events()).saturating_mul(4);
    bytes <= CLOCKS_BYTES_MAX
}

/// By event and line, how many events of the line lead to it. Sessions are lines, and so are the
/// completions.
pub struct Clocks {
    lines: usize,
    /// By event, its line and its place in it, counted from one.
    line: Vec<u32>,
    at: Vec<u32>,
    lengths: Vec<u32>,
    rows: Vec<u32>,
}

impl Clocks {
    fn new(known: &Known<'_>) -> Option<Clocks> {
        let (observed, shape) = (known.observed, known.shape);
        let history = observed.history;
        let lines = history.session_count() + 1;
        if !shape.sessions || !clocks_fit(known) {
            return None;
        }
        let mut clocks = Clocks {
            lines,
            line: vec![0; known.events()],
            at: vec![0; known.events()],
            lengths: vec![0; lines],
            rows: Vec::new(),
        };
        for session in history.sessions() {
            for txn in history.session_txns(session) {
                if observed.taken[txn as usize] {
                    let (start, commit) = (shape.start(txn), shape.commit(txn));
                    (start..=commit).for_each(|event| clocks.append(event, session.index()));
                }
            }
        }
        let completions = known.first_completion()..known.events() as u32;
        completions.for_each(|event| clocks.append(event, lines - 1));
        Some(clocks)
    }

    fn append(&mut self, event: u32, line: usize) {
        self.lengths[line] += 1;
        self.line[event as usize] = line as u32;
        self.at[event as usize] = self.lengths[line];
    }

    fn find_before(&mut self, known: &Known<'_>, order: &[u32]) {
        let lines = self.lines;
        self.rows.clear();
        self.rows.resize(lines * self.line.len(), 0);
        let mut row = vec![0u32; lines];
        for &event in order {
            row.fill(0);
            known.predecessors(event, |other, _| {
                let line = self.line[other as usize] as usize;
                if row[line] < self.at[other as usize] {
                    join(&mut row, &self.rows[other as usize * lines..][..lines]);
                    row[line] = row[line].max(self.at[other as usize]);
                }
            });
            self.rows[event as usize * lines..][..lines].copy_from_slice(&row);
        }
    }

    #[inline]
    fn leads_to(&self, event: u32, other: u32) -> bool {
        let line = self.line[event as usize] as usize;
        self.rows[other as usize * self.lines + line] >= self.at[event as usize]
    }

    fn counts(&mut self, known: &Known<'_>, order: &[u32]) -> (Vec<u64>, Vec<u64>) {
        let lines = self.lines;
        let sum = |rows: &[u32], event: u32| -> u64 {
            let row = &rows[event as usize * lines..][..lines];
            row.iter().map(|&count| u64::from(count)).sum()
        };
        let before = order.iter().map(|&event| sum(&self.rows, event)).collect();
        self.rows.fill(0);
        // Counted from the end of each line, so that more is earlier.
        let mut row = vec![0u32; lines];
        for &event in order.iter().rev() {
            let line = self.line[event as usize] as usize;
            let left = self.lengths[line] - self.at[event as usize] + 1;
            row.copy_from_slice(&self.rows[event as usize * lines..][..lines]);
            row[line] = row[line].max(left);
            let rows = &mut self.rows;
            known.predecessors(event, |other, _| {
                let theirs = &mut rows[other as usize * lines..][..lines];
                if theirs[line] < left {
                    join(theirs, &row);
                }
            });
        }
        let after = order.iter().map(|&event| sum(&self.rows, event)).collect();
        (before, after)
    }
}

/// The larger of each two entries.
#[inline]
fn join(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(*theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::super::sorted;
    use super::*;
    use crate::Budget;
    use crate::observe::observe;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder, Level};

    #[test]
    fn a_window_knows_what_is_near_and_supposes_the_rest() {
        let (mut near, mut far) = (0, 0);
        for seed in 0..20 {
            let history = random_history(seed, 150);
            let initial = Initial::default();
            let observed = observe(&history, &initial, KeyOrder::Free, &Budget::default()).unwrap();
            let shape = Shape::of(Level::SnapshotIsolation).unwrap();
            let known = Known::new(&observed, shape, None);
            let Ok(order) = sorted::sort(&known, &[]) else {
                continue;
            };
            let mut place = vec![0; known.events()];
            for (at, &event) in order.iter().enumerate() {
                place[event as usize] = at as u32;
            }
            let mut all = Reach::none();
            let mut window = Reach::Window(Window::of_words(2));
            all.find_before(&known, &order, &place);
            window.find_before(&known, &order, &place);
            for (to, &other) in order.iter().enumerate() {
                for (from, &event) in order.iter().enumerate() {
                    let is_far = to / 64 > from / 64 + 1;
                    let wanted = is_far || all.leads_to(event, other, &place);
                    let found = window.leads_to(event, other, &place);
                    assert_eq!(found, wanted, "seed {seed}, from {from} to {to}");
                    near += usize::from(!is_far && found);
                    far += usize::from(is_far);
                }
            }
        }
        assert!(near > 100 && far > 100, "{near} near, {far} far");
    }
}
