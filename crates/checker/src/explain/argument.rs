//! The argument behind the cycles of a strong level: which cycle settles which order.
//!
//! Definition: a cycle closes under *premises* (one version is older than another, a read returned
//! a certain writer's version, an indeterminate transaction committed), so not all of its premises
//! are true. Steps: a cycle of whose premises all but one are settled settles that one the other
//! way; one without any left is the contradiction. Where nothing is settled so, an open premise is
//! tried both ways.
//!
//! Cost: cycles times premises for each one settled; evidence has a handful of both. The certifier
//! has its own version of this, which does not stop at what is easy to say.

use crate::observe::{Link, Observed};
use history::{Edge, EdgeKind, KeyId, OpId, Reason, TxnId};

/// A statement that evidence may rest on, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Premise {
    Older {
        key: KeyId,
        older: TxnId,
        newer: TxnId,
    },
    From {
        read: OpId,
        writer: TxnId,
        is_true: bool,
    },
    Committed {
        txn: TxnId,
        is_true: bool,
    },
}

impl Premise {
    pub fn opposite(self) -> Premise {
        match self {
            Premise::Older { key, older, newer } => Premise::Older {
                key,
                older: newer,
                newer: older,
            },
            Premise::From {
                read,
                writer,
                is_true,
            } => Premise::From {
                read,
                writer,
                is_true: !is_true,
            },
            Premise::Committed { txn, is_true } => Premise::Committed {
                txn,
                is_true: !is_true,
            },
        }
    }
}

/// What a cycle or a read rules out: not all of these are true.
struct Clause {
    excluded: Vec<Premise>,
    source: Source,
}

/// Where a step of the argument comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The cycle at this place: 0 is the main one.
    Cycle(usize),
    /// Every read has a writer that committed.
    Read,
}

/// A step: because of the source, the premise is true; or there is no way left.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub source: Source,
    pub settles: Option<Premise>,
    clause: usize,
}

/// All cycles of an anomaly with what they rest on.
pub struct Argument {
    clauses: Vec<Clause>,
}

impl Argument {
    /// `cycles` begins with the main one.
    pub fn new(observed: &Observed<'_>, cycles: &[&[Edge]]) -> Argument {
        let mut clauses: Vec<Clause> = cycles
            .iter()
            .enumerate()
            .map(|(place, cycle)| Clause {
                excluded: premises(observed, cycle),
                source: Source::Cycle(place),
            })
            .collect();
        // The main cycle comes last: the others settle what it rests on.
        clauses.rotate_left(1);
        let required = required(observed, &clauses);
        let main = clauses.pop();
        clauses.extend(required);
        clauses.extend(main);
        Argument { clauses }
    }

    /// The steps that lead from the assumptions to a contradiction, if there is a straight way.
    pub fn close(&self, assumed: &[Premise]) -> Option<Vec<Step>> {
        let (steps, is_closed) = self.propagate(assumed);
        is_closed.then(|| self.needed(&steps))
    }

    /// A premise that is open under the assumptions: that of most cycles.
    pub fn open(&self, assumed: &[Premise]) -> Option<Premise> {
        let settled = self.settled(assumed);
        let is_open = |premise: &Premise| {
            !settled.contains(premise) && !settled.contains(&premise.opposite())
        };
        let all: Vec<Premise> = self
            .clauses
            .iter()
            .flat_map(|clause| clause.excluded.iter().copied())
            .filter(is_open)
            .collect();
        let count = |premise: &Premise| {
            let same = |other: &&Premise| *other == premise || **other == premise.opposite();
            all.iter().filter(same).count()
        };
        // Of equals the first, which max_by_key would not give.
        all.iter()
            .rev()
            .max_by_key(|premise| count(premise))
            .copied()
    }

    /// The cycles that can still close under the assumptions.
    pub fn can_close(&self, assumed: &[Premise]) -> Vec<usize> {
        let settled = self.settled(assumed);
        let is_out = |premise: &Premise| settled.contains(&premise.opposite());
        let can_close = |clause: &&Clause| !clause.excluded.iter().any(is_out);
        let places = self.clauses.iter().filter(can_close);
        let places = places.filter_map(|clause| match clause.source {
            Source::Cycle(place) => Some(place),
            Source::Read => None,
        });
        places.collect()
    }

    /// The assumptions and what follows from them.
    fn settled(&self, assumed: &[Premise]) -> Vec<Premise> {
        let (steps, _) = self.propagate(assumed);
        let settled = steps.iter().filter_map(|step| step.settles);
        settled.chain(assumed.iter().copied()).collect()
    }

    /// Settles what follows; whether that ends in a contradiction, which is the last step then.
    fn propagate(&self, assumed: &[Premise]) -> (Vec<Step>, bool) {
        let mut settled: Vec<Premise> = assumed.to_vec();
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let before = steps.len();
            for (place, clause) in self.clauses.iter().enumerate() {
                let is_settled = |premise: &Premise| settled.contains(&premise.opposite());
                if clause.excluded.iter().any(is_settled) {
                    continue;
                }
                let mut left = clause.excluded.iter().filter(|p| !settled.contains(p));
                let (first, second) = (left.next(), left.next());
                if second.is_some() {
                    continue;
                }
                let settles = first.map(|premise| premise.opposite());
                steps.push(Step {
                    source: clause.source,
                    settles,
                    clause: place,
                });
                match settles {
                    None => return (steps, true),
                    Some(premise) => settled.push(premise),
                }
            }
            if steps.len() == before {
                return (steps, false);
            }
        }
    }

    /// Those steps that the last one rests on, in their order.
    fn needed(&self, steps: &[Step]) -> Vec<Step> {
        let mut kept: Vec<Step> = Vec::new();
        let mut wanted: Vec<Premise> = Vec::new();
        for step in steps.iter().rev() {
            if step
                .settles
                .is_some_and(|premise| !wanted.contains(&premise))
            {
                continue;
            }
            wanted.extend(&self.clauses[step.clause].excluded);
            kept.push(*step);
        }
        kept.reverse();
        kept
    }
}

/// What a cycle rests on, each once.
pub fn premises(observed: &Observed<'_>, cycle: &[Edge]) -> Vec<Premise> {
    let mut found: Vec<Premise> = Vec::new();
    let mut add = |premise: Premise| {
        if !found.contains(&premise) {
            found.push(premise);
        }
    };
    for edge in cycle {
        if let (Some(Reason::Version { writer }), Some(read)) = (&edge.because, read_of(edge)) {
            add(Premise::From {
                read,
                writer: *writer,
                is_true: true,
            });
        }
        if let (Some(older), Some(key)) = (older_of(observed, edge), edge.key) {
            add(Premise::Older {
                key,
                older,
                newer: edge.to,
            });
        }
        for txn in [edge.from, edge.to] {
            if txn != TxnId::INITIAL && !observed.taken[txn.index()] {
                add(Premise::Committed { txn, is_true: true });
            }
        }
    }
    found
}

/// The read behind a wr or rw edge.
fn read_of(edge: &Edge) -> Option<OpId> {
    match edge.kind {
        EdgeKind::Wr => edge.to_op,
        EdgeKind::Rw => edge.from_op,
        _ => None,
    }
}

/// The writer whose version is taken to be older than that of `edge.to`.
fn older_of(observed: &Observed<'_>, edge: &Edge) -> Option<TxnId> {
    match (edge.kind, &edge.because) {
        (EdgeKind::Ww, None) => Some(edge.from),
        (EdgeKind::Rw, because) => {
            let read = edge.from_op?;
            let shows_it = edge
                .to_op
                .is_some_and(|append| observed.lacks(read, append));
            version_read(observed, read, because.as_ref()).filter(|_| !shows_it)
        }
        _ => None,
    }
}

/// The writer of the version that a read returned, unless that is the initial one.
pub fn version_read(
    observed: &Observed<'_>,
    read: OpId,
    because: Option<&Reason>,
) -> Option<TxnId> {
    if let Some(Reason::Version { writer }) = because {
        return Some(*writer).filter(|&writer| writer != TxnId::INITIAL);
    }
    let link = observed.links[read.index()];
    Link::is_txn(link).then_some(TxnId(link))
}

/// What the ambiguous reads and indeterminate transactions of these clauses demand.
fn required(observed: &Observed<'_>, clauses: &[Clause]) -> Vec<Clause> {
    let mut required: Vec<Clause> = Vec::new();
    let mut add = |excluded: Vec<Premise>| {
        if !required.iter().any(|clause| clause.excluded == excluded) {
            required.push(Clause {
                excluded,
                source: Source::Read,
            });
        }
    };
    let committed = |txn: TxnId, is_true: bool| Premise::Committed { txn, is_true };
    for premise in clauses.iter().flat_map(|clause| &clause.excluded) {
        match *premise {
            Premise::From { read, .. } => {
                let Some(read) = observed.ambiguous.iter().find(|other| other.op == read) else {
                    continue;
                };
                let from = |writer: TxnId, is_true: bool| Premise::From {
                    read: read.op,
                    writer,
                    is_true,
                };
                let mut none: Vec<Premise> = read.writers.iter().map(|&w| from(w, false)).collect();
                if !observed.taken[read.reader.index()] {
                    none.push(committed(read.reader, true));
                }
                add(none);
                for &writer in &*read.writers {
                    if !observed.taken[writer.index()] {
                        add(vec![from(writer, true), committed(writer, false)]);
                    }
                }
            }
            Premise::Committed { txn, .. } => {
                for (_, _, writer) in observed.reads(txn) {
                    if !observed.taken[writer.index()] {
                        add(vec![committed(txn, true), committed(writer, false)]);
                    }
                }
            }
            Premise::Older { .. } => {}
        }
    }
    required
}
