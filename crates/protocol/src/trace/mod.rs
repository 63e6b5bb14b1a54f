//! A run, step by step, made by doing again what a trace says.
//!
//! An exploration keeps of a run only which choices led there. Here the choices are made again, on
//! the model as it is: nothing is reduced, no state is taken for another. What comes out is what
//! people are shown, so every counterexample goes through here first.

mod file;
mod mermaid;
mod replay;
mod svg;
mod text;
mod words;

pub use file::{Changed, ReplayFile};
pub use mermaid::mermaid;
pub(crate) use replay::replay;
pub use svg::svg;
pub use text::text;

use crate::id::{Key, Site, Txn, Version};
use crate::log::Log;
use crate::setup::Setup;
use history::History;

/// A run that really happened on the model.
#[derive(Clone, Debug)]
pub struct Run {
    /// The initial state.
    pub setup: Setup,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// Every message that was sent, in the order of sending.
    pub messages: Vec<Message>,
    /// What was recorded, in the detail that was asked for.
    pub log: Log,
    /// The same as a history; each transaction is a session of its own unless sessions were asked
    /// for.
    pub history: History,
    /// Whether nothing more can happen after the last step.
    pub complete: bool,
}

/// One step of a run.
#[derive(Clone, Debug)]
pub struct Step {
    /// The site at which it happened.
    pub site: Site,
    /// What reached the site.
    pub cause: Cause,
    /// The rules that fired.
    pub rules: Vec<String>,
    /// What was recorded.
    pub events: Vec<Happened>,
    /// The messages sent, as places in [`Run::messages`].
    pub sent: Vec<usize>,
}

/// What makes a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A client begins a transaction.
    Start(Txn),
    /// A message arrives.
    Delivery(usize),
    /// The site acts by itself; it has several things that it could do, numbered.
    Internal(u8),
    /// The network loses a message.
    Lost(usize),
    /// The network doubles a message; the copy.
    Doubled(usize),
    /// The site goes down.
    Crash,
    /// The site comes up again.
    Recovery,
    /// The site is cut off from all others; these messages are lost.
    Cut(Vec<usize>),
    /// The site is connected again.
    Healed,
}

/// Something that a step recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A read was answered: the version, and who wrote it unless it is the initial one.
    Read(Txn, Key, Version, Option<Txn>),
    /// A version was made.
    Write(Txn, Key, Version),
    /// A version took its place in the order of the key's versions.
    Installed(Key, Version, Option<Txn>),
    /// The client was told that the transaction committed.
    Commit(Txn),
    /// The client was told that it aborted.
    Abort(Txn),
    /// The effects of the transaction became visible at the site of the step.
    Applied(Txn),
    /// The model did what no model may do.
    Wrong(String),
}

/// A message of a run.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who sent it.
    pub from: Site,
    /// Where it goes.
    pub to: Site,
    /// What it says.
    pub text: String,
    /// Whether it is part of an atomic multicast.
    pub multicast: bool,
    /// The step that sent it.
    pub sent: usize,
    /// The step that delivered it, if one did.
    pub delivered: Option<usize>,
    /// The step that lost it, if one did.
    pub lost: Option<usize>,
}

impl Run {
    /// What happened in a step, in one line.
    pub fn line(&self, number: usize) -> String {
        words::line(self, &self.steps[number])
    }

    /// All steps, a line each.
    pub fn lines(&self) -> Vec<String> {
        (0..self.steps.len())
            .map(|number| self.line(number))
            .collect()
    }

    /// How many steps there are up to the last one that recorded anything, lost anything or hurt a
    /// site. What comes after only tidies up.
    pub fn interesting(&self) -> usize {
        let matters = |step: &Step| {
            !step.events.is_empty()
                || !matches!(step.cause, Cause::Delivery(_) | Cause::Internal(_))
        };
        self.steps
            .iter()
            .rposition(matters)
            .map_or(0, |last| last + 1)
    }
}
