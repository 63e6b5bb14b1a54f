//! What a handler can do besides changing its own site. Everything done here is recorded.

use crate::id::{Key, Site, SiteSet, Txn, Version};
use crate::log::{Detail, Event, Log, Status};
use crate::setup::Setup;

/// The world as a handler sees it.
pub struct Context<'a, M> {
    pub(crate) setup: &'a Setup,
    pub(crate) site: Site,
    pub(crate) log: &'a mut Log,
    pub(crate) rules: &'static [&'static str],
    pub(crate) effects: &'a mut Effects<M>,
}

/// What a handler did besides changing its site and the log.
#[derive(Clone, Debug)]
pub(crate) struct Effects<M> {
    pub sent: Vec<(Site, M)>,
    pub multicast: Vec<(SiteSet, M)>,
    /// Outcomes of the choices to make, and how many each had; those beyond are made as 0.
    pub choices: Vec<(u8, u8)>,
    /// How many choices were made.
    pub chosen: usize,
    /// Which rules fired, by place.
    pub fired: u64,
    /// What was recorded whose order against what others record can matter.
    pub marks: Marks,
}

/// Kinds of records, by what their order matters to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Marks {
    /// A start, a commit or an abort.
    pub ends: bool,
    /// The next version of a key.
    pub install: bool,
    /// Effects visible at a site.
    pub applied: bool,
}

impl Marks {
    /// Whether a log of this detail tells the order of these records from another.
    pub fn matter(self, detail: Detail) -> bool {
        self.install
            || match detail {
                Detail::Untimed => false,
                Detail::RealTime => self.ends,
                Detail::Full => self.ends || self.applied,
            }
    }
}

impl<M> Effects<M> {
    pub fn new() -> Self {
        Effects {
            sent: Vec::new(),
            multicast: Vec::new(),
            choices: Vec::new(),
            chosen: 0,
            fired: 0,
            marks: Marks::default(),
        }
    }

    /// Ready for another handler that makes the same choices.
    pub fn rewind(&mut self) {
        self.sent.clear();
        self.multicast.clear();
        self.chosen = 0;
        self.fired = 0;
        self.marks = Marks::default();
    }
}

impl<M> Context<'_, M> {
    /// The setup: placement, transactions, sites.
    pub fn setup(&self) -> &Setup {
        self.setup
    }

    /// The site whose handler this is.
    pub fn here(&self) -> Site {
        self.site
    }

    /// Sends a message. One to this site itself is handled right after this handler, in the same
    /// step, unless the exploration is told to send those through the network too.
    pub fn send(&mut self, to: Site, message: M) {
        self.effects.sent.push((to, message));
    }

    /// Sends a message to several sites by atomic multicast: any two such messages are delivered
    /// in the same order wherever both are, and the orders of all sites together have no cycle.
    pub fn multicast(&mut self, to: SiteSet, message: M) {
        self.effects.multicast.push((to, message));
    }

    /// Any number below `count`: the exploration tries each.
    pub fn choose(&mut self, count: usize) -> usize {
        let place = self.effects.chosen;
        self.effects.chosen += 1;
        let width = count.clamp(1, 255) as u8;
        if place == self.effects.choices.len() {
            self.effects.choices.push((0, width));
        }
        let choice = &mut self.effects.choices[place];
        *choice = (choice.0.min(width - 1), width);
        usize::from(choice.0)
    }

    /// Says which rule of the protocol this handler follows; see [`crate::Protocol::rules`].
    pub fn rule(&mut self, name: &str) {
        match self.rules.iter().position(|rule| *rule == name) {
            Some(place) => self.effects.fired |= 1 << (place & 63),
            None => self.log.refuse(format!("rule {name:?} is not declared")),
        }
    }

    /// Answers a read of `txn`: it sees this version of the key.
    pub fn read(&mut self, txn: Txn, key: Key, version: Version) {
        self.log.read(txn, key, version);
    }

    /// `txn` writes this version of the key. To be said when the version is made, at the latest
    /// before the transaction ends, also for one that will abort.
    pub fn write(&mut self, txn: Txn, key: Key, version: Version) {
        self.log.write(txn, key, version);
    }

    /// Tells the client that `txn` committed.
    pub fn commit(&mut self, txn: Txn) {
        self.effects.marks.ends = true;
        self.log.end(txn, Status::Committed);
    }

    /// Tells the client that `txn` aborted.
    pub fn abort(&mut self, txn: Txn) {
        self.effects.marks.ends = true;
        self.log.end(txn, Status::Aborted);
    }

    /// The effects of `txn`, executed elsewhere, are now visible at this site.
    pub fn applied(&mut self, txn: Txn) {
        self.effects.marks.applied = true;
        self.log.happened(Event::Applied(txn, self.site));
    }

    /// This version comes next in the order of the key's versions, after all installed before.
    /// Installing one again changes nothing.
    pub fn install(&mut self, key: Key, version: Version) {
        self.effects.marks.install = true;
        self.log.install(key, version);
    }

    /// Says that the model itself is wrong: the exploration ends with this message and the trace.
    pub fn wrong(&mut self, why: impl Into<String>) {
        self.log.refuse(why.into());
    }
}
