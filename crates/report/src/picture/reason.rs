//! Why each arrow is there, in a sentence, and how much of that was seen.

use super::Certainty;
use crate::words::Words;
use history::{Edge, EdgeKind, Op, OpId, OpKind, Reason, TxnId, ValueCode};

/// A path of reads is told up to so many steps.
const PATH_MAX: usize = 4;
/// A history of so many operations is looked through for a write.
const SCANNED_MAX: usize = 1_000_000;

/// Speaks about the edges of one anomaly.
pub(super) struct Reasons<'a> {
    pub words: Words<'a>,
    /// Elements of lists worth showing.
    pub relevant: &'a [ValueCode],
    /// Where owners of operations are looked for first.
    pub near: &'a [TxnId],
    /// Whether the anomaly has cycles for other orders.
    pub has_others: bool,
}

impl Reasons<'_> {
    /// How much of an edge was seen.
    pub fn certainty(&self, edge: &Edge) -> Certainty {
        match (edge.kind, &edge.because) {
            (_, Some(Reason::Version { .. })) => Certainty::Assumed,
            (EdgeKind::So | EdgeKind::Rt | EdgeKind::Wr, _) => Certainty::Seen,
            (EdgeKind::Ww, Some(Reason::List { .. })) => Certainty::Seen,
            (EdgeKind::Ww, Some(_)) => Certainty::Inferred,
            (EdgeKind::Rw, _) if edge.from_op.is_some_and(|read| self.shows_all(read)) => {
                Certainty::Seen
            }
            _ if self.has_others => Certainty::Assumed,
            _ => Certainty::Inferred,
        }
    }

    /// Whether a read tells by itself that later writes came later: it found nothing, or a list.
    fn shows_all(&self, read: OpId) -> bool {
        let op = self.words.history.op(read);
        op.value == ValueCode::NIL
            || (op.value == ValueCode::ZERO && self.is_unwritten(op))
            || matches!(op.kind, OpKind::ReadList | OpKind::ReadSet)
    }

    /// Whether nobody wrote the value that was read, so that it can only be the initial one. Of a
    /// large history that is not found out.
    fn is_unwritten(&self, read: Op) -> bool {
        let ops = self.words.history.ops();
        let wrote = |place: usize| {
            ops.values[place] == read.value
                && ops.keys[place] == read.key
                && ops.kinds[place].is_write()
        };
        ops.len() <= SCANNED_MAX && !(0..ops.len()).any(wrote)
    }

    fn version(&self, op: Option<OpId>) -> String {
        op.map_or("a version".to_string(), |op| {
            self.words.version(op, self.relevant)
        })
    }

    fn owner(&self, op: OpId) -> String {
        let owner = self.words.owner(op, self.near);
        owner.map_or("a transaction".to_string(), |txn| self.words.subject(txn))
    }

    /// The sentence.
    pub fn sentence(&self, edge: &Edge) -> String {
        let words = &self.words;
        let (from, to) = (words.subject(edge.from), words.subject(edge.to));
        let text = match (edge.kind, &edge.because) {
            (EdgeKind::So, _) => format!(
                "{from} comes before {to} because session {} issued them in this order",
                words.session(edge.from)
            ),
            (EdgeKind::Rt, _) => self.real_time(edge),
            (EdgeKind::Wr, because) => {
                let version = self.version(edge.to_op);
                let tail = match because {
                    Some(Reason::Version { .. }) => {
                        " (others wrote the same value; here it is taken to be this one's)"
                    }
                    _ => "",
                };
                format!("{to} read {version}, which {from} wrote{tail}")
            }
            (EdgeKind::Ww, Some(Reason::Read { read, path })) => self.forced(edge, *read, path),
            (EdgeKind::Ww, Some(Reason::List { read })) => self.list(edge, *read),
            (EdgeKind::Ww, Some(Reason::Assumed { before, after })) => format!(
                "{} did {} and then {} did {}; by what is assumed of each key, the version of {from} \
                 is older than that of {to}",
                self.owner(*before),
                words.op(*before, self.relevant),
                self.owner(*after),
                words.op(*after, self.relevant)
            ),
            (EdgeKind::Ww, _) => format!(
                "{from} wrote {} and {to} wrote {}; here {to}'s is taken to be the later one",
                self.version(edge.from_op),
                self.version(edge.to_op)
            ),
            (EdgeKind::Rw, _) => self.overwritten(edge),
        };
        format!("{text}.")
    }

    fn overwritten(&self, edge: &Edge) -> String {
        let (from, to) = (self.words.subject(edge.from), self.words.subject(edge.to));
        let read = self.version(edge.from_op);
        let is_list = edge.from_op.is_some_and(|op| {
            matches!(
                self.words.history.op(op).kind,
                OpKind::ReadList | OpKind::ReadSet
            )
        });
        let written = match edge.to_op {
            Some(op) => self.words.deed(op, self.relevant),
            None => "wrote it".to_string(),
        };
        match self.certainty(edge) {
            Certainty::Seen if is_list => {
                format!("{from} read {read}, without what {to} did: it {written}")
            }
            Certainty::Seen => format!("{from} still read {read}, the state before {to} {written}"),
            Certainty::Inferred => format!("{from} read {read}, which {to} replaced: it {written}"),
            Certainty::Assumed => format!(
                "{from} read {read}, and {to} {written}; here that is taken to be the later version"
            ),
        }
    }

    fn forced(&self, edge: &Edge, read: OpId, path: &[Edge]) -> String {
        let (from, to) = (self.words.subject(edge.from), self.words.subject(edge.to));
        let mut steps: Vec<String> = path
            .iter()
            .take(PATH_MAX)
            .map(|step| self.step(step))
            .collect();
        if path.len() > PATH_MAX {
            steps.push(format!("and {} more steps", path.len() - PATH_MAX));
        }
        let reader = path
            .last()
            .map_or(self.owner(read), |last| self.words.subject(last.to));
        let version = self.version(Some(read));
        let why = if steps.is_empty() {
            String::new()
        } else {
            format!(" ({})", steps.join("; "))
        };
        if edge.to == TxnId::INITIAL {
            return format!(
                "{reader} had to see what {from} did{why}, and yet it read {version}, the state before it"
            );
        }
        format!(
            "{reader} had to see what {from} did{why}, and yet it read {version} of {to}; so {to} \
             must have overwritten {from}"
        )
    }

    fn step(&self, edge: &Edge) -> String {
        let (from, to) = (self.words.subject(edge.from), self.words.subject(edge.to));
        match edge.kind {
            EdgeKind::So => format!("{from} precedes {to} in their session"),
            EdgeKind::Wr => format!("{to} read {} of {from}", self.version(edge.to_op)),
            _ => format!("{from} precedes {to}"),
        }
    }

    fn list(&self, edge: &Edge, read: OpId) -> String {
        let (from, to) = (self.words.subject(edge.from), self.words.subject(edge.to));
        let ops = [edge.from_op, edge.to_op].into_iter().flatten();
        let pair: Vec<ValueCode> = ops.map(|op| self.words.history.op(op).value).collect();
        let shown = self.words.op(read, &pair);
        let shows = |code: &ValueCode| {
            let list = self.words.history.list(self.words.history.op(read).value);
            list.contains(code)
        };
        let reader = self.owner(read);
        if pair.iter().all(shows) {
            return format!(
                "{reader} did {shown}, a list that shows what {from} appended before what {to} appended"
            );
        }
        format!(
            "{reader} did {shown}, a list with what {from} appended and without what {to} appended"
        )
    }

    fn real_time(&self, edge: &Edge) -> String {
        let history = self.words.history;
        let (from, to) = (self.words.subject(edge.from), self.words.subject(edge.to));
        if edge.from == TxnId::INITIAL || edge.to == TxnId::INITIAL {
            return format!("{from} came before {to}");
        }
        match (history.interval(edge.from), history.interval(edge.to)) {
            (Some(first), Some(second)) => format!(
                "{from} had ended (at {}) before {to} began (at {})",
                first.completion(),
                second.start
            ),
            _ => format!("{from} had ended before {to} began"),
        }
    }
}
