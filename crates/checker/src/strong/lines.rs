//! The versions of each key in the order of their commits, while transactions move.
//!
//! Definition: the *line* of a key is its versions by the times of their writers' commits; each has its readers.
//!
//! Cost: building takes a sort for each key; a version that moves passes those between, and is found by halving. Memory:
//! twelve bytes a write, four a read.

use super::versions::Versions;
use crate::observe::Link;

/// A version: who wrote it, and where its readers are.
#[derive(Clone, Copy)]
pub struct Entry {
    pub writer: u32,
    from: u32,
    end: u32,
}

/// See the module's text.
pub struct Lines {
    /// By key, where its line begins.
    begins: Vec<u32>,
    entries: Vec<Entry>,
    readers: Vec<u32>,
    /// By key, who read its initial version, as places in `readers`.
    initial: Vec<(u32, u32)>,
}

impl Lines {
    /// The lines by these times of commits.
    pub fn new(versions: &Versions, commits: &[f64]) -> Lines {
        let mut lines = Lines {
            begins: vec![0],
            entries: Vec::new(),
            readers: Vec::new(),
            initial: Vec::new(),
        };
        let mut reads: Vec<(u32, u32)> = Vec::new();
        for key in versions.keys() {
            reads.clear();
            let by_writer = |&(reader, writer): &(u32, u32)| (writer, reader);
            reads.extend(versions.reads(key).iter().map(by_writer));
            reads.sort_unstable();
            let begin = lines.entries.len();
            for &writer in versions.writers(key) {
                let (from, end) = lines.add_readers(&reads, writer);
                lines.entries.push(Entry { writer, from, end });
            }
            let commit = |entry: &Entry| commits[entry.writer as usize];
            lines.entries[begin..].sort_by(|a, b| commit(a).total_cmp(&commit(b)));
            lines.begins.push(lines.entries.len() as u32);
            let initial = lines.add_readers(&reads, Link::INITIAL);
            lines.initial.push(initial);
        }
        lines
    }

    /// Adds the readers of a writer's version, of reads by writer.
    fn add_readers(&mut self, reads: &[(u32, u32)], writer: u32) -> (u32, u32) {
        let from = self.readers.len() as u32;
        let at = reads.partition_point(|&(other, _)| other < writer);
        let own = reads[at..].iter().take_while(|read| read.0 == writer);
        self.readers.extend(own.map(|&(_, reader)| reader));
        (from, self.readers.len() as u32)
    }

    /// The line of a key.
    #[inline]
    pub fn of(&self, key: u32) -> &[Entry] {
        let range = self.begins[key as usize] as usize..self.begins[key as usize + 1] as usize;
        &self.entries[range]
    }

    /// The readers of a version.
    #[inline]
    pub fn readers(&self, entry: Entry) -> &[u32] {
        &self.readers[entry.from as usize..entry.end as usize]
    }

    /// The readers of a key's initial version.
    #[inline]
    pub fn initial_readers(&self, key: u32) -> &[u32] {
        let (from, end) = self.initial[key as usize];
        &self.readers[from as usize..end as usize]
    }

    /// The place of a writer in the line of a key.
    #[inline]
    pub fn place(&self, key: u32, writer: u32, commits: &[f64]) -> usize {
        let line = self.of(key);
        let commit = commits[writer as usize];
        let mut at = line.partition_point(|entry| commits[entry.writer as usize] < commit);
        while line[at].writer != writer {
            at += 1;
        }
        at
    }

    /// Puts the version at a place of a line where it belongs, after its commit has changed.
    pub fn put(&mut self, key: u32, mut at: usize, commits: &[f64]) {
        let range = self.begins[key as usize] as usize..self.begins[key as usize + 1] as usize;
        let line = &mut self.entries[range];
        let commit = |entry: &Entry| commits[entry.writer as usize];
        let own = commit(&line[at]);
        while at > 0 && commit(&line[at - 1]) > own {
            line.swap(at - 1, at);
            at -= 1;
        }
        while at + 1 < line.len() && commit(&line[at + 1]) < own {
            line.swap(at, at + 1);
            at += 1;
        }
    }
}
