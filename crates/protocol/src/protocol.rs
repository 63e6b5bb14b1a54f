//! What a model is: a few handlers that say what a site does when something reaches it.

use crate::context::Context;
use crate::id::{Site, Txn};
use crate::setup::Setup;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A transaction protocol, as sites that react to inputs. A handler runs as one atomic step: it
/// changes the state of its own site, and does everything else through its [`Context`]: sends
/// messages, answers reads, commits, aborts. What it does there is what the framework records.
///
/// A state is compared by what it serializes to, so a state must not hold what does not matter
/// to the future (a counter of messages seen, say): that would make equal states differ.
pub trait Protocol: Send + Sync {
    /// All that a site knows.
    type Site: Clone + Debug + Serialize + DeserializeOwned + Send + Sync;
    /// What sites send each other.
    type Message: Clone + Debug + Serialize + DeserializeOwned + Send + Sync;

    /// The name, as on the command line.
    fn name(&self) -> &str;

    /// Whether the protocol is meant for such a setup. Others are left out.
    fn accepts(&self, _setup: &Setup) -> bool {
        true
    }

    /// A site before anything happened.
    fn site(&self, setup: &Setup, site: Site) -> Self::Site;

    /// A client at this site begins `txn`.
    fn start(&self, at: &mut Self::Site, txn: Txn, context: &mut Context<'_, Self::Message>);

    /// A message arrives.
    fn receive(
        &self,
        at: &mut Self::Site,
        from: Site,
        message: Self::Message,
        context: &mut Context<'_, Self::Message>,
    );

    /// How many different things this site could now do by itself, numbered from 0.
    fn steps(&self, _setup: &Setup, _site: Site, _at: &Self::Site) -> usize {
        0
    }

    /// Does one of the things that [`Protocol::steps`] counted.
    fn step(&self, _at: &mut Self::Site, _step: usize, _context: &mut Context<'_, Self::Message>) {}

    /// What the site still knows after a crash: everything, unless the model says what is volatile.
    fn crash(&self, _setup: &Setup, _site: Site, _at: &mut Self::Site) {}

    /// The site is up again after a crash.
    fn recover(&self, _at: &mut Self::Site, _context: &mut Context<'_, Self::Message>) {}

    /// The names that handlers pass to [`Context::rule`]. One that never fires is reported.
    fn rules(&self) -> &'static [&'static str] {
        &[]
    }

    /// Which version of a key comes after which.
    fn version_order(&self) -> VersionOrder {
        VersionOrder::Installed
    }

    /// Which names can be exchanged without changing what can happen.
    fn symmetry(&self) -> Symmetry {
        Symmetry::default()
    }

    /// Whether what `input` does to the site, and what the site then sends, is the same before and
    /// after any other input that can reach the site while `input` waits. Such an input can be
    /// handled at once, which spares the exploration of all the orders that do not matter. Say
    /// `false` when in doubt: a wrong `true` hides behaviours.
    fn commutes(
        &self,
        _setup: &Setup,
        _site: Site,
        _at: &Self::Site,
        _input: Input<'_, Self::Message>,
    ) -> bool {
        false
    }
}

/// Something that can reach a site.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, M> {
    /// A client begins a transaction.
    Start(Txn),
    /// A message arrives.
    Message(Site, &'a M),
    /// The site acts by itself.
    Step(usize),
}

/// Where the order of a key's versions comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionOrder {
    /// The order in which the protocol called [`Context::install`] for the key.
    Installed,
    /// Versions compare by number, then by site: the last writer wins.
    Compared,
}

/// Which names a protocol treats alike. A protocol that breaks ties by site is not symmetric in
/// its sites; one that locks in the order of keys is not symmetric in its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Symmetry {
    /// Sites can be exchanged, with what they hold and run.
    pub sites: bool,
    /// Keys can be exchanged.
    pub keys: bool,
}
