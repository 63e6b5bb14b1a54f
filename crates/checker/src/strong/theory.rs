//! Choices and what they imply: which of two versions is older, who wrote what a read with several
//! possible writers returned, and which indeterminate transactions count.
//!
//! Definition: a *literal* is a choice or its opposite. Choosing that a's version of x is older than
//! b's puts a before b, and every reader of a's version before b. Choosing a writer for a read puts
//! the writer before the reader, and the reader before the writers of newer versions. Counting a
//! transaction adds its session, read and time edges. A solver makes choices; every choice is
//! inserted into the order of events; a cycle is a clause: not all of the choices on it.
//!
//! Choices exist only where the order at hand made a read stale or two writers overlap; most pairs
//! of versions never get one. Source: PolySI's generalized constraints (VLDB 2023), one variable a
//! pair of versions; VeriStrong's hyper-polygraphs (VLDB 2026) for values written more than once.

use super::known::Why;
use super::topological::{ChosenEdge, Label, Step, Topological};
use crate::observe::Observed;
use history::{Status, TxnId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A choice between two possibilities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// The first one's version of the key is older than the second one's. The first has the smaller
    /// number; the opposite literal is the opposite order.
    Older { key: u32, first: u32, second: u32 },
    /// The read returned this transaction's version.
    From { read: u32, writer: u32 },
    /// The indeterminate transaction counts as committed.
    Taken { txn: u32 },
}

/// A cycle found, with the literals that it needs.
#[derive(Clone, Debug)]
pub struct Lemma {
    pub steps: Vec<Step>,
    /// The chosen edges among the steps, in order.
    pub chosen: Vec<ChosenEdge>,
    pub because: Vec<i32>,
}

/// The choices, those made so far, and the order of events under them.
pub struct Theory<'a> {
    pub order: Topological<'a>,
    choices: Vec<Choice>,
    numbers: FxHashMap<Choice, i32>,
    /// By choice: 1 chosen, -1 its opposite, 0 open.
    values: Vec<i8>,
    /// By choice of versions, the readers whose edges are wanted although there are many.
    wanted: FxHashSet<(i32, u32)>,
    /// Edges that stand whenever all their literals are chosen, by each of those.
    conditional: FxHashMap<i32, Vec<ChosenEdge>>,
    /// By version, the choices about it.
    about: FxHashMap<(u32, u32), Vec<i32>>,
    /// By version, the choices that an ambiguous read returned it.
    perhaps_read_by: FxHashMap<(u32, u32), Vec<(u32, i32)>>,
    /// By version, the settled reads of it by transactions that need not count.
    optional_reads: FxHashMap<(u32, u32), Vec<u32>>,
    /// The transactions of ambiguous reads and of those.
    reader_of: FxHashMap<u32, u32>,
    /// Literals as they were chosen, each with the number of edges before it.
    trail: Vec<(i32, usize)>,
    levels: Vec<usize>,
    /// By choice, whether it was made when the first level began.
    certain: Vec<bool>,
    pub lemmas: Vec<Lemma>,
}

/// Versions with more readers than this get edges only for the readers that were seen to be stale.
const READERS_MAX: usize = 64;

impl<'a> Theory<'a> {
    pub fn new(order: Topological<'a>) -> Theory<'a> {
        let observed = order.known.observed;
        let ambiguous = observed.ambiguous.iter();
        let mut reader_of: FxHashMap<u32, u32> =
            ambiguous.map(|read| (read.op.0, read.reader.0)).collect();
        let mut optional_reads: FxHashMap<(u32, u32), Vec<u32>> = FxHashMap::default();
        let history = observed.history;
        let need_not_count = |txn: &TxnId| {
            history.status(*txn) == Status::Indeterminate && !observed.taken[txn.index()]
        };
        for txn in history.txn_ids().filter(need_not_count) {
            for (read, key, writer) in observed.reads(txn) {
                reader_of.insert(read.0, txn.0);
                let version = (key.0, writer.0);
                optional_reads.entry(version).or_default().push(read.0);
            }
        }
        Theory {
            order,
            choices: Vec::new(),
            numbers: FxHashMap::default(),
            values: Vec::new(),
            wanted: FxHashSet::default(),
            conditional: FxHashMap::default(),
            about: FxHashMap::default(),
            perhaps_read_by: FxHashMap::default(),
            optional_reads,
            reader_of,
            trail: Vec::new(),
            levels: Vec::new(),
            certain: Vec::new(),
            lemmas: Vec::new(),
        }
    }

    fn observed(&self) -> &'a Observed<'a> {
        self.order.known.observed
    }

    /// The literal of a choice, if it exists.
    pub fn literal(&self, choice: Choice) -> Option<i32> {
        self.numbers.get(&choice).copied()
    }

    /// The choice behind a literal.
    pub fn choice(&self, literal: i32) -> Choice {
        self.choices[literal.unsigned_abs() as usize - 1]
    }

    /// How many choices there are.
    pub fn choice_count(&self) -> usize {
        self.choices.len()
    }

    /// How much is known by now: grows whenever a search finds out something.
    pub fn size(&self) -> usize {
        let conditional: usize = self.conditional.values().map(Vec::len).sum();
        let edges = self.order.edges.len() + self.wanted.len() + conditional;
        self.choices.len() + self.lemmas.len() + edges
    }

    /// Whether a literal is chosen at the moment.
    pub fn is_chosen(&self, literal: i32) -> bool {
        let value = self.values[literal.unsigned_abs() as usize - 1];
        i32::from(value) * literal > 0
    }

    /// Adds a choice that does not exist yet.
    pub fn add(&mut self, choice: Choice) -> i32 {
        let number = self.choices.len() as i32 + 1;
        self.choices.push(choice);
        self.values.push(0);
        self.numbers.insert(choice, number);
        match choice {
            Choice::Older { key, first, second } => {
                self.about.entry((key, first)).or_default().push(number);
                self.about.entry((key, second)).or_default().push(number);
            }
            Choice::From { read, writer } => {
                let key = self.observed().history.ops().keys[read as usize].0;
                let reads = self.perhaps_read_by.entry((key, writer)).or_default();
                reads.push((read, number));
            }
            Choice::Taken { .. } => {}
        }
        number
    }

    /// What every choice would be by the order of events at the moment.
    pub fn likely(&self) -> Vec<i8> {
        let shape = self.order.known.shape;
        let sign = |is_likely: bool| if is_likely { 1 } else { -1 };
        let value = |choice: &Choice| match *choice {
            Choice::Older { first, second, .. } => {
                let (first, second) = (shape.commit(first), shape.commit(second));
                sign(self.order.is_before(first, second))
            }
            Choice::From { read, writer } => sign(self.is_last_before(read, writer)),
            Choice::Taken { .. } => -1,
        };
        self.choices.iter().map(value).collect()
    }

    /// Whether a transaction that counts is, of the possible writers of a read, the last before it.
    pub fn is_last_before(&self, read: u32, writer: u32) -> bool {
        let observed = self.observed();
        let shape = self.order.known.shape;
        let place = observed
            .ambiguous
            .binary_search_by_key(&read, |other| other.op.0);
        let Ok(place) = place else { return false };
        let ambiguous = &observed.ambiguous[place];
        let start = shape.start(ambiguous.reader.0);
        let distance = |txn: u32| self.order.distance(shape.commit(txn), start);
        let counting = ambiguous.writers.iter().map(|txn| txn.0);
        let counting = counting.filter(|&txn| observed.taken[txn as usize]);
        counting.min_by_key(|&txn| distance(txn)) == Some(writer)
    }

    /// Begins a level of choices.
    pub fn push_level(&mut self) {
        if self.levels.is_empty() {
            self.certain = self.values.iter().map(|&value| value != 0).collect();
        }
        self.levels.push(self.trail.len());
    }

    /// Takes back all choices made since this many levels.
    pub fn backtrack(&mut self, level_count: usize) {
        let Some(&trail_len) = self.levels.get(level_count) else {
            return;
        };
        self.levels.truncate(level_count);
        while self.trail.len() > trail_len {
            let (literal, edge_count) = self.trail.pop().expect("the trail is longer");
            if literal != 0 {
                self.values[literal.unsigned_abs() as usize - 1] = 0;
            }
            self.order.truncate(edge_count);
        }
    }

    /// Makes a choice, or returns the clause that forbids it.
    pub fn choose(&mut self, literal: i32) -> Result<(), Vec<i32>> {
        if self.is_chosen(literal) {
            return Ok(());
        }
        let edge_count = self.order.edges.len();
        self.trail.push((literal, edge_count));
        self.values[literal.unsigned_abs() as usize - 1] = literal.signum() as i8;
        for edge in self.implied(literal) {
            if let Err(steps) = self.order.insert(edge) {
                let clause = self.learn(steps, edge);
                self.order.truncate(edge_count);
                return Err(clause);
            }
        }
        Ok(())
    }

    /// Makes a choice if it closes no cycle; else returns the other choices on the cycle.
    pub fn try_choose(&mut self, literal: i32) -> Result<(), Vec<i32>> {
        let Err(clause) = self.choose(literal) else {
            return Ok(());
        };
        self.trail.pop();
        self.values[literal.unsigned_abs() as usize - 1] = 0;
        self.lemmas.pop();
        let others = clause.into_iter().map(|other| -other);
        Err(others.filter(|&other| other != literal).collect())
    }

    /// Takes back a choice out of turn.
    pub fn unchoose(&mut self, literal: i32) {
        let place = self.trail.iter().rposition(|&(other, _)| other == literal);
        let Some(place) = place else { return };
        let end = self
            .trail
            .get(place + 1)
            .map_or(self.order.edges.len(), |entry| entry.1);
        self.order.kill(self.trail[place].1..end);
        self.trail[place].0 = 0;
        self.values[literal.unsigned_abs() as usize - 1] = 0;
    }

    /// Whether a literal was chosen before the first level.
    pub fn is_certain(&self, literal: i32) -> bool {
        self.certain.get(literal.unsigned_abs() as usize - 1) == Some(&true)
    }

    /// Whether some edge of a choice closes a cycle; it is kept as a lemma.
    pub fn is_impossible(&mut self, literal: i32) -> bool {
        for edge in self.implied(literal) {
            if let Some(steps) = self.order.cycle_with(edge) {
                self.learn(steps, edge);
                return true;
            }
        }
        false
    }

    /// Adds an edge that needs no choice, while no choice is open. Returns the clause that is false
    /// if it closes a cycle with choices already settled.
    pub fn add_fixed(&mut self, edge: ChosenEdge) -> Result<(), Vec<i32>> {
        match self.order.insert(edge) {
            Ok(()) => Ok(()),
            Err(steps) => Err(self.learn(steps, edge)),
        }
    }

    /// Adds an edge that stands whenever its literals are chosen, while no choice is open.
    pub fn add_conditional(&mut self, edge: ChosenEdge) -> Result<(), Vec<i32>> {
        let literals = edge.because.iter().filter(|&&literal| literal != 0);
        let literals: Vec<i32> = literals.copied().collect();
        for literal in &literals {
            self.conditional.entry(*literal).or_default().push(edge);
        }
        if literals.iter().all(|&literal| self.is_chosen(literal)) {
            return self.add_fixed(edge);
        }
        Ok(())
    }

    /// Asks for the edge from a reader of a version with many readers, while no choice is open.
    pub fn want(&mut self, literal: i32, read: u32) -> Result<(), Vec<i32>> {
        self.wanted.insert((literal, read));
        if self.is_chosen(literal) {
            let (_, older, newer) = self.orientation(literal);
            let few = self.order.known.readers.of(older).len() <= READERS_MAX;
            if few || self.reader_of.contains_key(&read) {
                return Ok(());
            }
            if let Some(edge) = self.overwritten(read, older, newer, &[literal]) {
                return self.add_fixed(edge);
            }
        }
        Ok(())
    }

    /// Key, older and newer transaction of a literal about versions.
    pub fn orientation(&self, literal: i32) -> (u32, u32, u32) {
        match self.choice(literal) {
            Choice::Older { key, first, second } if literal > 0 => (key, first, second),
            Choice::Older { key, first, second } => (key, second, first),
            _ => unreachable!("only choices between versions have an orientation"),
        }
    }

    /// The transaction of a settled or ambiguous read.
    fn reader(&self, read: u32) -> u32 {
        match self.reader_of.get(&read) {
            Some(&reader) => reader,
            None => {
                let link = self.observed().links[read as usize];
                let reads = self.order.known.readers.of(link).iter();
                let found = reads.copied().find(|&(op, _)| op == read);
                found.expect("a settled read is among its writer's").1
            }
        }
    }

    /// An edge that stands for these literals, and for the transactions at its ends to count. None
    /// if one of those does not at the moment.
    fn edge(
        &self,
        (from, from_txn): (u32, u32),
        (to, to_txn): (u32, u32),
        label: Label,
        literals: &[i32],
    ) -> Option<ChosenEdge> {
        let mut because = [0; 4];
        let mut count = 0;
        for &literal in literals {
            because[count] = literal;
            count += 1;
        }
        for txn in [from_txn, to_txn] {
            if self.observed().taken[txn as usize] {
                continue;
            }
            let taken = self.literal(Choice::Taken { txn })?;
            if !self.is_chosen(taken) {
                return None;
            }
            because[count] = taken;
            count += 1;
        }
        Some(ChosenEdge {
            from,
            to,
            label,
            because,
        })
    }

    fn overwritten(
        &self,
        read: u32,
        version_of: u32,
        newer: u32,
        literals: &[i32],
    ) -> Option<ChosenEdge> {
        self.overwritten_by(self.reader(read), read, version_of, newer, literals)
    }

    fn overwritten_by(
        &self,
        reader: u32,
        read: u32,
        version_of: u32,
        newer: u32,
        literals: &[i32],
    ) -> Option<ChosenEdge> {
        let shape = self.order.known.shape;
        let label = Label::Overwritten { read, version_of };
        let (from, to) = (shape.start(reader), shape.commit(newer));
        self.edge((from, reader), (to, newer), label, literals)
            .filter(|_| reader != newer)
    }

    /// The edges that a literal implies together with those chosen before it.
    fn implied(&self, literal: i32) -> Vec<ChosenEdge> {
        let mut edges = match self.choice(literal) {
            Choice::Older { .. } => self.implied_by_order(literal),
            Choice::From { read, writer } if literal > 0 => {
                self.implied_by_writer(literal, read, writer)
            }
            Choice::Taken { txn } if literal > 0 => self.implied_by_counting(literal, txn),
            _ => Vec::new(),
        };
        let stands = |edge: &&ChosenEdge| {
            let mut literals = edge.because.iter().filter(|&&literal| literal != 0);
            literals.all(|&literal| self.is_chosen(literal))
        };
        let conditional = self.conditional.get(&literal).into_iter().flatten();
        edges.extend(conditional.filter(stands));
        edges
    }

    fn implied_by_order(&self, literal: i32) -> Vec<ChosenEdge> {
        let known = self.order.known;
        let shape = known.shape;
        let (key, older, newer) = self.orientation(literal);
        let to = if shape.exclusive {
            shape.start(newer)
        } else {
            shape.commit(newer)
        };
        let from = shape.commit(older);
        let ww = self.edge((from, older), (to, newer), Label::Older(key), &[literal]);
        let mut edges: Vec<ChosenEdge> = ww.into_iter().collect();
        if shape.parallel {
            return edges;
        }
        let keys = &self.observed().history.ops().keys;
        let readers = known.readers.of(older);
        let few = readers.len() <= READERS_MAX;
        for &(read, reader) in readers {
            let wanted = few || self.wanted.contains(&(literal, read));
            if wanted && keys[read as usize].0 == key {
                edges.extend(self.overwritten_by(reader, read, older, newer, &[literal]));
            }
        }
        for &read in self.optional_reads.get(&(key, older)).into_iter().flatten() {
            edges.extend(self.overwritten(read, older, newer, &[literal]));
        }
        for (read, from) in self.chosen_readers(key, older) {
            edges.extend(self.overwritten(read, older, newer, &[literal, from]));
        }
        edges
    }

    /// The ambiguous reads that are chosen to have returned a version, with their literals.
    fn chosen_readers(&self, key: u32, writer: u32) -> impl Iterator<Item = (u32, i32)> + '_ {
        let reads = self.perhaps_read_by.get(&(key, writer));
        let reads = reads.into_iter().flatten().copied();
        reads.filter(|&(_, literal)| self.is_chosen(literal))
    }

    /// The literal that a read returned a writer's version, if it is chosen.
    fn chosen_writer(&self, read: u32, writer: u32) -> Option<i32> {
        self.literal(Choice::From { read, writer })
            .filter(|&from| self.is_chosen(from))
    }

    fn implied_by_writer(&self, literal: i32, read: u32, writer: u32) -> Vec<ChosenEdge> {
        let shape = self.order.known.shape;
        let reader = self.reader(read);
        let (from, to) = (shape.commit(writer), shape.start(reader));
        let wr = self.edge((from, writer), (to, reader), Label::Read(read), &[literal]);
        let mut edges: Vec<ChosenEdge> = wr.into_iter().collect();
        let key = self.observed().history.ops().keys[read as usize].0;
        if shape.parallel {
            return edges;
        }
        for order in self.orders_about(key, writer) {
            let (_, older, newer) = self.orientation(order);
            if older == writer {
                edges.extend(self.overwritten(read, writer, newer, &[order, literal]));
            }
        }
        edges
    }

    /// The chosen literals about a version.
    fn orders_about(&self, key: u32, txn: u32) -> impl Iterator<Item = i32> + '_ {
        let about = self.about.get(&(key, txn)).into_iter().flatten();
        about
            .flat_map(|&literal| [literal, -literal])
            .filter(|&literal| self.is_chosen(literal))
    }

    /// The edges of a transaction that need not count.
    fn implied_by_counting(&self, literal: i32, txn: u32) -> Vec<ChosenEdge> {
        let shape = self.order.known.shape;
        let observed = self.observed();
        let mut edges = self.session_edges(txn);
        for (read, key, writer) in observed.reads(TxnId(txn)) {
            let (from, to) = (shape.commit(writer.0), shape.start(txn));
            edges.extend(self.edge((from, writer.0), (to, txn), Label::Read(read.0), &[]));
            for order in self.orders_about(key.0, writer.0) {
                edges.extend(self.implied_by_order(order));
            }
        }
        if let Some(event) = self.order.known.last_completion_before(txn) {
            edges.push(ChosenEdge {
                from: event,
                to: shape.start(txn),
                label: Label::Time,
                because: [literal, 0, 0, 0],
            });
        }
        for (_, key) in observed.writes(TxnId(txn)) {
            for order in self.orders_about(key.0, txn) {
                edges.extend(self.implied_by_order(order));
            }
            for &read in self.optional_reads.get(&(key.0, txn)).into_iter().flatten() {
                let reader = self.reader(read);
                let (from, to) = (shape.commit(txn), shape.start(reader));
                edges.extend(self.edge((from, txn), (to, reader), Label::Read(read), &[]));
            }
            for (read, from) in self.chosen_readers(key.0, txn) {
                edges.extend(self.implied_by_writer(from, read, txn));
            }
        }
        for read in observed
            .ambiguous
            .iter()
            .filter(|read| read.reader.0 == txn)
        {
            for writer in &*read.writers {
                if let Some(from) = self.chosen_writer(read.op.0, writer.0) {
                    edges.extend(self.implied_by_writer(from, read.op.0, writer.0));
                }
            }
        }
        edges
    }

    /// Session order with the nearest transactions that count for sure, and with others that need
    /// not but do.
    fn session_edges(&self, txn: u32) -> Vec<ChosenEdge> {
        let shape = self.order.known.shape;
        let observed = self.observed();
        let mut edges = Vec::new();
        if !shape.sessions {
            return edges;
        }
        let session = observed.history.session_of(TxnId(txn));
        let range = observed.history.session_txns(session);
        let later: Vec<u32> = (txn + 1..range.end).collect();
        let earlier: Vec<u32> = (range.start..txn).rev().collect();
        for others in [later, earlier] {
            for other in others {
                let (first, second) = (other.min(txn), other.max(txn));
                let (from, to) = (shape.commit(first), shape.start(second));
                edges.extend(self.edge((from, first), (to, second), Label::Session, &[]));
                if observed.taken[other as usize] {
                    break;
                }
            }
        }
        edges
    }

    /// Keeps a cycle as a lemma and returns it as a clause. `last` is the edge that closed it.
    fn learn(&mut self, steps: Vec<Step>, last: ChosenEdge) -> Vec<i32> {
        let edges = &self.order.edges;
        let edge = |&(_, _, why): &Step| match why {
            Why::Choice(id) => Some(edges.get(id as usize).copied().unwrap_or(last)),
            _ => None,
        };
        let chosen: Vec<ChosenEdge> = steps.iter().filter_map(edge).collect();
        self.learn_chosen(steps, chosen)
    }

    /// Keeps a cycle whose chosen edges are given in order.
    pub fn learn_chosen(&mut self, steps: Vec<Step>, chosen: Vec<ChosenEdge>) -> Vec<i32> {
        let literals = chosen.iter().flat_map(|edge| edge.because);
        let mut because: Vec<i32> = literals.filter(|&literal| literal != 0).collect();
        because.sort_unstable();
        because.dedup();
        let clause = because.iter().map(|literal| -literal).collect();
        self.lemmas.push(Lemma {
            steps,
            chosen,
            because,
        });
        clause
    }
}

/// The choice between two versions, and the sign of its literal for this order.
pub fn older_choice(key: u32, older: u32, newer: u32) -> (Choice, i32) {
    let choice = Choice::Older {
        key,
        first: older.min(newer),
        second: older.max(newer),
    };
    (choice, if older < newer { 1 } else { -1 })
}
