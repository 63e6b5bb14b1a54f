//! Relations between few transactions, as bit matrices, with the operations the axioms are
//! written in. Transactions are numbered from 0 (the initial one) to at most 15.

/// A set of pairs `(a, b)`, read "a precedes b".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    /// Bit `b` of row `a` says that the pair `(a, b)` belongs to the relation.
    rows: [u16; Relation::SIZE],
}

impl Relation {
    /// How many transactions a relation can tell apart.
    pub(super) const SIZE: usize = 16;

    /// The relation without any pair.
    pub(super) const EMPTY: Relation = Relation {
        rows: [0; Relation::SIZE],
    };

    pub(super) fn insert(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub(super) fn contains(self, a: usize, b: usize) -> bool {
        self.rows[a] & (1 << b) != 0
    }

    /// `self ∪ other`.
    pub(super) fn union(mut self, other: Relation) -> Relation {
        for (row, more) in self.rows.iter_mut().zip(other.rows) {
            *row |= more;
        }
        self
    }

    /// `self ; other`: a step of this one, then a step of the other.
    pub(super) fn compose(self, other: Relation) -> Relation {
        let mut composed = Relation::EMPTY;
        for a in 0..Relation::SIZE {
            for b in 0..Relation::SIZE {
                if self.contains(a, b) {
                    composed.rows[a] |= other.rows[b];
                }
            }
        }
        composed
    }

    /// `self+`: one or more steps.
    pub(super) fn closure(mut self) -> Relation {
        for via in 0..Relation::SIZE {
            for a in 0..Relation::SIZE {
                if self.contains(a, via) {
                    self.rows[a] |= self.rows[via];
                }
            }
        }
        self
    }

    /// `self?`: a step or none.
    pub(super) fn optional(mut self) -> Relation {
        for a in 0..Relation::SIZE {
            self.insert(a, a);
        }
        self
    }

    /// Whether nothing precedes itself.
    pub(super) fn is_irreflexive(self) -> bool {
        (0..Relation::SIZE).all(|a| !self.contains(a, a))
    }

    /// Whether no steps lead back to where they began.
    pub(super) fn is_acyclic(self) -> bool {
        self.closure().is_irreflexive()
    }

    /// `self ⊆ other`.
    pub(super) fn is_within(self, other: Relation) -> bool {
        self.rows
            .iter()
            .zip(other.rows)
            .all(|(row, of)| row & !of == 0)
    }

    /// The total order that lists the transactions in this sequence.
    pub(super) fn total_order(sequence: &[usize]) -> Relation {
        let mut order = Relation::EMPTY;
        for (place, &a) in sequence.iter().enumerate() {
            for &b in &sequence[place + 1..] {
                order.insert(a, b);
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::Relation;

    fn of(pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::EMPTY;
        for &(a, b) in pairs {
            relation.insert(a, b);
        }
        relation
    }

    #[test]
    fn operations_mean_what_they_are_called() {
        let (r, s) = (of(&[(0, 1), (1, 2)]), of(&[(2, 0)]));
        assert_eq!(r.union(s), of(&[(0, 1), (1, 2), (2, 0)]));
        assert_eq!(r.compose(s), of(&[(1, 0)]));
        assert_eq!(r.closure(), of(&[(0, 1), (1, 2), (0, 2)]));
        assert_eq!(r.compose(s.optional()), of(&[(0, 1), (1, 2), (1, 0)]));
        assert!(r.is_acyclic() && !r.union(s).is_acyclic());
        assert!(r.union(s).is_irreflexive() && !r.union(s).closure().is_irreflexive());
        assert!(r.is_within(Relation::total_order(&[0, 1, 2])));
        assert!(!s.is_within(Relation::total_order(&[0, 1, 2])));
    }
}
