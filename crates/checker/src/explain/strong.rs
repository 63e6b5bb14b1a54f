//! The cycles of a strong level in sentences: the main one, then why versions are ordered as it
//! says. What is long is cut, and the cut is counted.

use super::Words;
use super::argument::{Argument, Premise, Source, Step, version_read};
use history::{Anomaly, AnomalyKind, Edge, EdgeKind, KeyId, OpId, Reason, TxnId, ValueCode};

/// So many steps of one cycle are told.
const STEPS_MAX: usize = 8;
/// So many settled orders are told.
const ORDERS_MAX: usize = 6;
/// Cases within cases are told down to here.
const CASES_MAX: usize = 2;

/// Whether this anomaly is one of a strong level.
pub fn is_strong(anomaly: &Anomaly) -> bool {
    let is_strong = |edge: &Edge| match edge.kind {
        EdgeKind::Rw | EdgeKind::Rt => true,
        EdgeKind::Ww => edge.because.is_none(),
        EdgeKind::So | EdgeKind::Wr => false,
    };
    !anomaly.otherwise.is_empty() || anomaly.edges.iter().any(is_strong)
}

/// The explanation of such an anomaly.
pub fn explain(words: &Words<'_>, anomaly: &Anomaly) -> String {
    if let Some(story) = lost_update(words, anomaly) {
        return story;
    }
    let mut cycles: Vec<&[Edge]> = vec![&anomaly.edges];
    cycles.extend(anomaly.otherwise.iter().map(Vec::as_slice));
    let teller = Teller {
        words,
        argument: Argument::new(words.observed, &cycles),
        cycles,
    };
    match teller.argument.close(&[]) {
        Some(steps) => teller.straight(anomaly.kind, &steps),
        None => {
            let text = teller.by_cases(&[], CASES_MAX);
            format!("No order of the versions is possible. {text}")
        }
    }
}

/// Both read the same version and overwrote it: nothing about version orders is needed to see it.
fn lost_update(words: &Words<'_>, anomaly: &Anomaly) -> Option<String> {
    let edge = anomaly.edges.first()?;
    let key = edge.key?;
    if anomaly.kind != AnomalyKind::LostUpdate {
        return None;
    }
    let (one, other) = (edge.from, edge.to);
    let observed = words.observed;
    let history = observed.history;
    let parts = |txn: TxnId| -> Option<(OpId, OpId)> {
        let read = history.txn_ops(txn).find(|(_, op)| op.key == key)?.0;
        Some((read, observed.write_to(txn, key)?))
    };
    let ((read, write), (other_read, other_write)) = (parts(one)?, parts(other)?);
    let link = |op: OpId| version_read(observed, op, None);
    let is_same =
        link(read) == link(other_read) && history.op(read).value == history.op(other_read).value;
    is_same.then(|| {
        format!(
            "{} read {} and wrote {}; {} read {} and wrote {}: both overwrote the same version, \
             so one of the updates is lost.",
            words.txn(one),
            words.version(read),
            words.version(write),
            words.txn(other),
            words.version(other_read),
            words.version(other_write),
        )
    })
}

struct Teller<'t> {
    words: &'t Words<'t>,
    argument: Argument,
    cycles: Vec<&'t [Edge]>,
}

impl Teller<'_> {
    /// The contradiction, then what it rests on.
    fn straight(&self, kind: AnomalyKind, steps: &[Step]) -> String {
        let (last, settling) = steps.split_last().expect("an argument has a last step");
        let mut sentences = vec![match last.source {
            Source::Cycle(0) => self.main(kind),
            source => self.contradiction(source),
        }];
        sentences.extend(self.settled(settling));
        sentences.join(" ")
    }

    fn main(&self, kind: AnomalyKind) -> String {
        let edges = self.cycles[0];
        let steps = self.steps(edges);
        match kind {
            AnomalyKind::WriteSkew => {
                format!("{steps}: neither saw what the other wrote, so neither can come first.")
            }
            AnomalyKind::LongFork => self.long_fork(edges),
            _ => format!("{steps}: a circle."),
        }
    }

    fn long_fork(&self, edges: &[Edge]) -> String {
        let saw = |reads: &Edge, misses: &Edge| {
            format!(
                "{} saw {} of {} but not {} of {}",
                self.words.txn(reads.to),
                self.version_of(reads.from_op),
                self.words.txn(reads.from),
                self.version_of(misses.to_op),
                self.words.txn(misses.to),
            )
        };
        let at = usize::from(edges[0].kind == EdgeKind::Rw);
        let edge = |place: usize| &edges[(at + place) % 4];
        format!(
            "{}; {}: they saw the two writes in opposite orders.",
            saw(edge(0), edge(1)),
            saw(edge(2), edge(3)),
        )
    }

    fn contradiction(&self, source: Source) -> String {
        match source {
            Source::Cycle(place) => format!("{}: a circle.", self.steps(self.cycles[place])),
            Source::Read => "This leaves no writer for a read.".to_string(),
        }
    }

    /// A sentence for each premise that a step settles.
    fn settled(&self, steps: &[Step]) -> Vec<String> {
        let told = steps.iter().take(ORDERS_MAX);
        let mut sentences: Vec<String> = told.filter_map(|step| self.settles(step)).collect();
        if let Some(more @ 1..) = steps.len().checked_sub(ORDERS_MAX) {
            let steps = if more == 1 { "step" } else { "steps" };
            sentences.push(format!("And {more} more {steps} of this kind."));
        }
        sentences
    }

    fn settles(&self, step: &Step) -> Option<String> {
        let premise = step.settles?;
        let text = self.premise(premise);
        let Source::Cycle(place) = step.source else {
            return Some(format!("So {text}: nothing else is left."));
        };
        let cycle = self.cycles[place];
        let shown = cycle.iter().find_map(|edge| match edge.because {
            Some(Reason::List { read }) if cycle.len() == 2 => Some(read),
            _ => None,
        });
        if let Some(read) = shown {
            return Some(format!("{text}, as {} shows.", self.words.op(read)));
        }
        let otherwise = match premise {
            Premise::Older { .. } => "the other way round",
            _ => "otherwise",
        };
        Some(format!(
            "{text}: {otherwise}, {}: a circle.",
            self.steps(cycle)
        ))
    }

    /// Both ways to settle an open premise, each with where it ends.
    fn by_cases(&self, assumed: &[Premise], depth: usize) -> String {
        let Some(open) = self.argument.open(assumed).filter(|_| depth > 0) else {
            let left = self.argument.can_close(assumed);
            let shown = left.first().map(|&place| self.steps(self.cycles[place]));
            return format!(
                "however the other versions are ordered, one of {} circles closes, for instance \
                 this one: {}.",
                left.len(),
                shown.unwrap_or_default()
            );
        };
        let mut text = match open {
            Premise::Older { key, older, newer } => format!(
                "Either order of {} and {} leads to a contradiction.",
                self.written(key, older, newer),
                self.written(key, newer, older),
            ),
            _ => "Either way leads to a contradiction.".to_string(),
        };
        for case in [open, open.opposite()] {
            let mut assumed = assumed.to_vec();
            assumed.push(case);
            let ending = match self.argument.close(&assumed) {
                Some(steps) => {
                    let (last, settling) = steps.split_last().expect("there is a last step");
                    let mut sentences = self.settled(settling);
                    sentences.push(self.contradiction(last.source));
                    sentences.join(" ")
                }
                None => self.by_cases(&assumed, depth - 1),
            };
            text.push_str(&format!(" If {}: {ending}", self.premise(case)));
        }
        text
    }

    /// The steps of a cycle.
    fn steps(&self, edges: &[Edge]) -> String {
        let told = if edges.len() > STEPS_MAX {
            STEPS_MAX - 1
        } else {
            edges.len()
        };
        let mut steps: Vec<String> = edges[..told].iter().map(|edge| self.step(edge)).collect();
        if told < edges.len() {
            steps.push(format!("and {} more steps", edges.len() - told));
        }
        steps.join("; ")
    }

    fn step(&self, edge: &Edge) -> String {
        let words = self.words;
        let (from, to) = (words.txn(edge.from), words.txn(edge.to));
        match (edge.kind, &edge.because) {
            (EdgeKind::Wr, Some(Reason::Version { .. })) => {
                format!("{to} read {}, say from {from}", self.version_of(edge.to_op))
            }
            (EdgeKind::Wr, _) => format!("{to} read {} of {from}", self.version_of(edge.to_op)),
            (EdgeKind::Ww, None) => format!(
                "{to} overwrote {} of {from} with {}",
                self.version_of(edge.from_op),
                self.version_of(edge.to_op)
            ),
            (EdgeKind::Rw, _) => format!(
                "{from} read {}, which {to} overwrote with {}",
                self.version_of(edge.from_op),
                self.version_of(edge.to_op)
            ),
            (EdgeKind::Rt, _) => words.real_time(edge),
            _ => words.step(edge),
        }
    }

    fn version_of(&self, op: Option<OpId>) -> String {
        op.map_or_else(|| "a version".to_string(), |op| self.words.version(op))
    }

    fn premise(&self, premise: Premise) -> String {
        let words = self.words;
        match premise {
            Premise::Older { key, older, newer } => format!(
                "{} is older than {}",
                self.written(key, older, newer),
                self.written(key, newer, older)
            ),
            Premise::From {
                read,
                writer,
                is_true,
            } => format!(
                "{} {} {} of {}",
                words.owner(read),
                if is_true {
                    "read the"
                } else {
                    "did not read the"
                },
                words.version(read),
                words.txn(writer)
            ),
            Premise::Committed { txn, is_true } => {
                let verb = if is_true {
                    "committed"
                } else {
                    "did not commit"
                };
                format!("{} {verb}", words.txn(txn))
            }
        }
    }

    /// A transaction's version of a key; with its name, if the value does not tell it from the
    /// other one's.
    fn written(&self, key: KeyId, txn: TxnId, other: TxnId) -> String {
        let observed = self.words.observed;
        let value = |txn: TxnId| -> Option<ValueCode> {
            let write = observed.write_to(txn, key)?;
            Some(observed.history.op(write).value)
        };
        let version = self.version_of(observed.write_to(txn, key));
        if value(txn) == value(other) {
            format!("{version} of {}", self.words.txn(txn))
        } else {
            version
        }
    }
}
