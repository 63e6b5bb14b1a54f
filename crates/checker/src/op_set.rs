//! A set of operations, one bit each.

/// Some operations.
#[derive(Clone)]
pub struct OpSet(Vec<u64>);

impl OpSet {
    pub fn none(op_count: usize) -> OpSet {
        OpSet(vec![0; op_count.div_ceil(64)])
    }

    pub fn all(op_count: usize) -> OpSet {
        OpSet(vec![u64::MAX; op_count.div_ceil(64)])
    }

    pub fn insert(&mut self, op: usize) {
        self.0[op / 64] |= 1 << (op % 64);
    }

    /// Adds those of another set, of the same history.
    pub fn insert_all(&mut self, others: &OpSet) {
        let words = self.0.iter_mut().zip(&others.0);
        words.for_each(|(mine, theirs)| *mine |= theirs);
    }

    #[inline]
    pub fn has(&self, op: usize) -> bool {
        self.0[op / 64] >> (op % 64) & 1 == 1
    }
}
