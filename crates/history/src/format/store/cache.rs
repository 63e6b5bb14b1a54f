//! The priority cache of Fressian: values that were written once and are referred to by place.

use crate::format::edn::{Flaw, Scan};

/// What the cache repeats may be this many times as long as the data, and always [`TEXT_FREE`].
const TEXT_RATIO_MAX: usize = 64;
const TEXT_FREE: usize = 16 << 20;

/// A value in the cache.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    start: usize,
    end: usize,
    /// A text is kept without quotes, so that it can be the name of a keyword.
    pub is_text: bool,
}

/// The values met so far, as EDN text.
pub(super) struct Cache {
    entries: Vec<Option<Entry>>,
    texts: Vec<u8>,
    repeated: usize,
    text_max: usize,
}

impl Cache {
    /// An empty cache for data of this length.
    pub fn new(length: usize) -> Cache {
        Cache {
            entries: Vec::new(),
            texts: Vec::new(),
            repeated: 0,
            text_max: length.saturating_mul(TEXT_RATIO_MAX).max(TEXT_FREE),
        }
    }

    /// The place of the value that follows.
    pub fn reserve(&mut self) -> usize {
        self.entries.push(None);
        self.entries.len() - 1
    }

    /// Puts a value where a place was kept for it; nothing if the cache is too large.
    pub fn keep(&mut self, place: usize, text: &[u8], is_text: bool) {
        let start = self.texts.len();
        if let Some(entry) = self.entries.get_mut(place)
            && start + text.len() <= self.text_max
        {
            self.texts.extend_from_slice(text);
            *entry = Some(Entry {
                start,
                end: self.texts.len(),
                is_text,
            });
        }
    }

    /// The value at a place, if there is one. One byte can repeat a long text, so that is counted.
    pub fn repeat(&mut self, place: usize, at: usize) -> Scan<Option<Entry>> {
        let Some(entry) = self.entries.get(place).copied().flatten() else {
            return Ok(None);
        };
        self.repeated += entry.end - entry.start + 1;
        if self.repeated <= self.text_max {
            return Ok(Some(entry));
        }
        let problem = format!("repetitions unpack to more than {} bytes", self.text_max);
        Err(Flaw::new(at, problem).hint("no known recorder repeats itself like this"))
    }

    /// The text of a value.
    pub fn text(&self, entry: Entry) -> &[u8] {
        &self.texts[entry.start..entry.end]
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
    }
}
