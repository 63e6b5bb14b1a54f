//! An anomaly as a picture: transactions as boxes, dependencies as arrows.
//!
//! A [`Picture`] is data. [`Picture::of`] makes one of evidence; the pages of other front ends fill
//! one in by hand. The files beside this one draw it, each in one language; [`layout`] says where
//! things are for those that need to know.

mod build;
mod dot;
mod json;
mod layered;
pub mod layout;
mod mermaid;
mod reason;
mod ring;
mod sketch;
pub(crate) mod svg;
mod text;
mod tikz;

pub use sketch::SKETCH_MARGIN;
pub use svg::{STYLE, Shown};
pub use text::TextStyle;

use history::{EdgeKind, OpId, TxnId};

/// Boxes and arrows between them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Picture {
    /// What the picture shows, in a few words.
    pub title: String,
    /// The transactions.
    pub boxes: Vec<TxnBox>,
    /// The dependencies. Those of the circle come first, in its order.
    pub arrows: Vec<Arrow>,
    /// How many transactions of the evidence are left out, because nobody could read them all.
    pub left_out: usize,
}

/// A transaction, or whatever depends on others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TxnBox {
    /// The transaction of the history, if it is one; the initial state is none.
    pub txn: Option<TxnId>,
    /// Its name.
    pub name: String,
    /// What else there is to say in a few words: the session, what became of it.
    pub note: String,
    /// Whether it did not commit, as far as anybody knows.
    pub is_doubtful: bool,
    /// What it did, in order.
    pub lines: Vec<Line>,
    /// How many operations are not among `lines`.
    pub more: usize,
}

/// An operation in a box.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Line {
    /// The operation of the history, if it is one.
    pub op: Option<OpId>,
    /// The operation.
    pub text: String,
    /// Whether an arrow rests on it.
    pub matters: bool,
}

/// A dependency: `from` comes before `to`.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrow {
    /// The place of the earlier one in [`Picture::boxes`].
    pub from: usize,
    /// The place of the later one.
    pub to: usize,
    /// Why it is earlier.
    pub kind: ArrowKind,
    /// What they meet in: a key, a table.
    pub key: String,
    /// How much of it was seen.
    pub certainty: Certainty,
    /// Whether it is part of the circle, or explains an arrow that is.
    pub role: Role,
    /// Why it is there, in a sentence.
    pub reason: String,
    /// The operations behind it, with their transactions.
    pub operations: Vec<String>,
}

/// Why one comes before the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowKind {
    /// One of the dependencies of a history.
    Of(EdgeKind),
    /// Both are steps of one transaction of a program.
    Sibling,
}

impl ArrowKind {
    /// The short name: `so`, `wr`, `ww`, `rw`, `rt`, `st`.
    pub fn name(self) -> &'static str {
        match self {
            ArrowKind::Of(kind) => kind.name(),
            ArrowKind::Sibling => "st",
        }
    }

    /// What the short name stands for.
    pub fn meaning(self) -> &'static str {
        match self {
            ArrowKind::Of(EdgeKind::So) => "earlier in the same session",
            ArrowKind::Of(EdgeKind::Wr) => "was read by",
            ArrowKind::Of(EdgeKind::Ww) => "was overwritten by",
            ArrowKind::Of(EdgeKind::Rw) => "read what was overwritten by",
            ArrowKind::Of(EdgeKind::Rt) => "ended before the start of",
            ArrowKind::Sibling => "in the same transaction as",
        }
    }
}

/// How much of a dependency was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// The history shows it.
    Seen,
    /// It follows from other things that the history shows. Drawn dashed.
    Inferred,
    /// It is one of several possibilities; the others close other circles. Drawn dotted.
    Assumed,
}

impl Certainty {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Seen => "seen",
            Certainty::Inferred => "inferred",
            Certainty::Assumed => "assumed",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Certainty::Seen => "the history shows it",
            Certainty::Inferred => "follows from what the history shows",
            Certainty::Assumed => {
                "one of several possibilities; each of the others closes another circle"
            }
        }
    }
}

/// What an arrow is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It is part of the circle.
    Circle,
    /// It is a reason for an arrow of the circle, or part of another circle that closes otherwise.
    Support,
}

impl Arrow {
    /// What stands beside the arrow: `rw x`.
    pub fn label(&self) -> String {
        if self.key.is_empty() {
            return self.kind.name().to_string();
        }
        format!("{} {}", self.kind.name(), self.key)
    }
}

impl Picture {
    /// The boxes of the circle in its order, if the first arrows are one.
    pub fn circle(&self) -> Option<Vec<usize>> {
        let arrows: Vec<&Arrow> = self.circle_arrows().collect();
        let is_chain = arrows.windows(2).all(|pair| pair[0].to == pair[1].from);
        let (first, last) = (arrows.first()?, arrows.last()?);
        let order: Vec<usize> = arrows.iter().map(|arrow| arrow.from).collect();
        let mut distinct = order.clone();
        distinct.sort_unstable();
        distinct.dedup();
        (is_chain && last.to == first.from && distinct.len() == order.len()).then_some(order)
    }

    /// The arrows of the circle.
    pub fn circle_arrows(&self) -> impl Iterator<Item = &Arrow> {
        self.arrows
            .iter()
            .filter(|arrow| arrow.role == Role::Circle)
    }

    /// The kinds of arrows that occur, each once.
    pub fn kinds(&self) -> Vec<ArrowKind> {
        let mut kinds: Vec<ArrowKind> = Vec::new();
        for arrow in &self.arrows {
            if !kinds.contains(&arrow.kind) {
                kinds.push(arrow.kind);
            }
        }
        kinds
    }

    /// How to read the names and the operations in the boxes, for somebody who sees such a picture for the
    /// first time. Empty where the boxes are not transactions of a history.
    pub fn reading(&self) -> String {
        let mut names = self.boxes.iter().filter(|one| one.txn.is_some());
        let Some((name, session, number)) = names.find_map(|one| {
            let (session, number) = one.name.strip_prefix('s')?.split_once('t')?;
            Some((&one.name, session, number))
        }) else {
            return String::new();
        };
        let mut text = format!(
            "Each box is a transaction: {name} is transaction {number} of session {session}."
        );
        let has = |part: &str| {
            let mut lines = self.boxes.iter().flat_map(|one| &one.lines);
            lines.any(|line| line.text.contains(part))
        };
        let words = [
            ("r(", "r(x, 1) read x and got 1"),
            ("w(", "w(x, 1) set x to 1"),
            ("nil", "nil is nothing"),
        ];
        let words: Vec<&str> = words
            .iter()
            .filter(|(part, _)| has(part))
            .map(|(_, meaning)| *meaning)
            .collect();
        if !words.is_empty() {
            text.push_str(&format!(" In it, {}.", words.join(", ")));
        }
        if !self.arrows.is_empty() {
            text.push_str(" An arrow leads from what comes first to what comes after it.");
        }
        text
    }

    /// The certainties that occur, each once, the surest first.
    pub fn certainties(&self) -> Vec<Certainty> {
        let all = [Certainty::Seen, Certainty::Inferred, Certainty::Assumed];
        let occurs =
            |wanted: &Certainty| self.arrows.iter().any(|arrow| arrow.certainty == *wanted);
        all.into_iter().filter(occurs).collect()
    }
}
