//! Every play of a few instances at a level, made by brute force.

use program::{
    Event, Fate, How, Instance, Play, Program, ResultSet, Scenario, StoreLevel, StoredRow, TableId,
    Turn, Value, play, serial_outcomes,
};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers that depend on the seed alone (splitmix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}

/// The levels that are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    Snapshot,
    Eventual,
}

impl Level {
    /// The level to ask the analysis about.
    pub fn asked(self) -> StoreLevel {
        match self {
            Level::ReadUncommitted => StoreLevel::ReadUncommitted,
            Level::ReadCommitted => StoreLevel::ReadCommitted,
            Level::Snapshot => StoreLevel::Snapshot,
            Level::Eventual => StoreLevel::Eventual,
        }
    }
}

/// What a search through plays found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Bad(Box<Scenario>),
    /// No bad play among all of them.
    Nothing,
    /// No bad play among those drawn.
    NothingDrawn,
}

/// The arguments and rows of plays.
struct Setting {
    rows: Vec<StoredRow>,
    instances: Vec<Instance>,
}

/// Makes plays of a program at a level.
pub struct Plays<'p> {
    pub program: &'p Program,
    pub level: Level,
    /// More schedules than this are not all made, but so many are drawn; and more plays of a bag
    /// than four times this.
    pub most: usize,
    /// The tables that have all rows from the start.
    pub whole: Vec<TableId>,
}

impl Plays<'_> {
    /// A bad play with the instances and rows of a scenario. At eventual consistency it is that of
    /// the scenario itself: everything is allowed.
    pub fn any_order(&self, scenario: &Scenario, draw: &mut Draw) -> Found {
        let setting = Setting {
            rows: scenario.rows.clone(),
            instances: scenario.instances.clone(),
        };
        let transactions = setting.instances.iter().map(|one| one.transaction);
        let bag: Vec<usize> = transactions.collect();
        let (schedules, all) = match self.level {
            Level::Eventual => (vec![scenario.schedule.clone()], true),
            _ => self.schedules(&bag, 20 * self.most, draw),
        };
        match self.bad_among(&setting, &schedules, false) {
            Some(found) => Found::Bad(Box::new(found)),
            None if all => Found::Nothing,
            None => Found::NothingDrawn,
        }
    }

    /// A bad play of these transactions.
    pub fn any_play(&self, bag: &[usize], draw: &mut Draw) -> Found {
        let settings = self.settings(bag);
        let (schedules, mut all) = self.schedules(bag, self.most, draw);
        let each = (4 * self.most / schedules.len().max(1)).max(4);
        let mut chosen: Vec<usize> = (0..settings.len()).collect();
        while chosen.len() > each {
            chosen.swap_remove(draw.below(chosen.len()));
            all = false;
        }
        for at in chosen {
            if let Some(found) = self.bad_among(&settings[at], &schedules, true) {
                return Found::Bad(Box::new(found));
            }
        }
        match all {
            true => Found::Nothing,
            false => Found::NothingDrawn,
        }
    }

    /// Every choice of rows, and of arguments, with the values 0 and 1.
    fn settings(&self, bag: &[usize]) -> Vec<Setting> {
        let tables = self.program.schema.tables.len();
        let mut rows: Vec<Vec<StoredRow>> = vec![Vec::new()];
        for table in 0..tables {
            for key in 0..2 {
                let mut more = Vec::new();
                for before in &rows {
                    let table = TableId(table as u32);
                    if !self.whole.contains(&table) {
                        more.push(before.clone());
                    }
                    for value in 0..2 {
                        let values = vec![Value::Integer(key), Value::Integer(value)];
                        let mut after = before.clone();
                        after.push(StoredRow { table, values });
                        more.push(after);
                    }
                }
                rows = more;
            }
        }
        let mut arguments: Vec<Vec<Instance>> = vec![Vec::new()];
        for transaction in bag {
            let mut more = Vec::new();
            for before in &arguments {
                for pair in 0..4 {
                    let instance = Instance {
                        transaction: *transaction,
                        arguments: vec![Value::Integer(pair / 2), Value::Integer(pair % 2)],
                        ..Instance::default()
                    };
                    let mut after = before.clone();
                    after.push(instance);
                    more.push(after);
                }
            }
            arguments = more;
        }
        let mut found = Vec::new();
        for rows in &rows {
            for instances in &arguments {
                found.push(Setting {
                    rows: rows.clone(),
                    instances: instances.clone(),
                });
            }
        }
        found
    }

    /// The schedules of these transactions, with what each statement sees; whether these are all.
    fn schedules(&self, bag: &[usize], most: usize, draw: &mut Draw) -> (Vec<Vec<Turn>>, bool) {
        let steps: Vec<usize> = bag
            .iter()
            .map(|at| self.program.transactions[*at].statements().len() + 1)
            .collect();
        let mut found = Vec::new();
        let (orders, mut all) = interleavings(&steps, most, draw);
        let writes: Vec<Vec<bool>> = bag
            .iter()
            .map(|at| {
                let statements = self.program.transactions[*at].statements();
                statements.iter().map(|one| one.is_write()).collect()
            })
            .collect();
        let each = (most / orders.len().max(1)).max(1);
        for order in orders {
            let turns = turns(&order, &steps);
            match self.level {
                Level::Eventual => {
                    let (parts, whole) = partly_seen(&turns, &writes, each, draw);
                    all &= whole;
                    found.extend(parts);
                }
                level => found.push(seen(turns, level)),
            }
        }
        (found, all)
    }

    fn bad_among(
        &self,
        setting: &Setting,
        schedules: &[Vec<Turn>],
        strictly: bool,
    ) -> Option<Scenario> {
        let mut scenario = Scenario {
            rows: setting.rows.clone(),
            instances: setting.instances.clone(),
            schedule: Vec::new(),
        };
        let everybody: Vec<usize> = (0..setting.instances.len()).collect();
        let outcomes = serial_outcomes(self.program, &scenario, &everybody).ok()?;
        let mut serial: BTreeSet<String> = BTreeSet::new();
        for outcome in outcomes {
            let mut results: Vec<(usize, Option<Vec<ResultSet>>)> =
                outcome.order.into_iter().zip(outcome.results).collect();
            results.sort_by_key(|(at, _)| *at);
            let results: Option<Vec<Vec<ResultSet>>> =
                results.into_iter().map(|(_, one)| one).collect();
            serial.extend(results.map(|results| text(&results, &outcome.rows)));
        }
        for schedule in schedules {
            scenario.schedule = schedule.clone();
            let Ok(played) = play(self.program, &scenario, How::Given) else {
                continue;
            };
            let committed = played.runs.iter().all(|run| run.fate == Fate::Committed);
            if !committed || !self.locks_allow(&played) {
                continue;
            }
            let single = self.level == Level::Eventual
                && strictly
                && (has_short_circle(&played) || is_made_twice(&played));
            let results: Vec<Vec<ResultSet>> =
                played.runs.iter().map(|run| run.results.clone()).collect();
            if !single && !serial.contains(&text(&results, &played.rows)) {
                return Some(scenario);
            }
        }
        None
    }

    /// Whether locks, and the rule of the first committer, let this happen.
    fn locks_allow(&self, played: &Play) -> bool {
        if self.level == Level::Eventual {
            return true;
        }
        let committed = |instance: usize| {
            let at = played.commits.iter().position(|one| *one == instance);
            at.map_or(usize::MAX, |at| played.commit_times[at])
        };
        let began = |instance: usize| {
            let first = |op: &program::Operation| op.point.instance == instance;
            played.operations.iter().position(first).unwrap_or(0)
        };
        let by: Vec<(usize, usize, usize)> = played
            .writes
            .iter()
            .filter(|write| write.op > 0)
            .map(|write| {
                let op = write.op - 1;
                let instance = played.operations[op].point.instance;
                (write.cell.row.index(), op, instance)
            })
            .collect();
        by.iter().all(|(row, at, one)| {
            let mut later = by
                .iter()
                .filter(|(other, then, who)| other == row && then > at && who != one);
            later.all(|(_, then, who)| match self.level {
                Level::Snapshot => committed(*one) <= began(*who),
                _ => committed(*one) <= *then,
            })
        })
    }
}

/// Whether statements depend on each other in a circle, without help of others of their
/// transactions.
fn has_short_circle(played: &Play) -> bool {
    let mut onward: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for edge in &played.edges {
        onward.entry(edge.from).or_default().insert(edge.to);
    }
    let starts: Vec<_> = onward.keys().copied().collect();
    starts.into_iter().any(|start| {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            for next in onward.get(&at).into_iter().flatten() {
                if reached.insert(*next) {
                    waiting.push(*next);
                }
            }
        }
        reached.contains(&start)
    })
}

/// Whether two instances make or remove the same row. A replicated store does not refuse the second
/// insert; a serial order does, so this is the same question as that of a short circle.
fn is_made_twice(played: &Play) -> bool {
    let mut makers = BTreeMap::new();
    played.writes.iter().any(|write| {
        if write.op == 0 || write.cell.column.is_some() {
            return false;
        }
        let instance = played.operations[write.op - 1].point.instance;
        *makers.entry(write.cell.row).or_insert(instance) != instance
    })
}

/// Results and rows as a text, rows as bags.
fn text(results: &[Vec<ResultSet>], rows: &[StoredRow]) -> String {
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let of = |result: &ResultSet| {
        let rows = result.rows.iter().map(|row| format!("{row:?}"));
        (sorted(rows.collect()), result.changed)
    };
    let results: Vec<Vec<_>> = results
        .iter()
        .map(|all| all.iter().map(of).collect())
        .collect();
    let rows = rows.iter().map(|row| format!("{row:?}"));
    format!("{results:?} {:?}", sorted(rows.collect()))
}

/// All ways to merge sequences of these lengths, by whose turn it is; so many of them where there
/// are more. And whether these are all.
fn interleavings(lengths: &[usize], most: usize, draw: &mut Draw) -> (Vec<Vec<usize>>, bool) {
    let total: usize = lengths.iter().sum();
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..total {
        let mut longer = Vec::new();
        for order in &found {
            for (at, length) in lengths.iter().enumerate() {
                if order.iter().filter(|one| **one == at).count() < *length {
                    let mut order = order.clone();
                    order.push(at);
                    longer.push(order);
                }
            }
        }
        if longer.len() > most {
            return (drawn(lengths, most, draw), false);
        }
        found = longer;
    }
    (found, true)
}

fn drawn(lengths: &[usize], most: usize, draw: &mut Draw) -> Vec<Vec<usize>> {
    let steps = lengths.iter().enumerate();
    let serial: Vec<usize> = steps.flat_map(|(at, n)| vec![at; *n]).collect();
    let mut found = Vec::new();
    for _ in 0..most {
        let mut order = serial.clone();
        for at in (1..order.len()).rev() {
            order.swap(at, draw.below(at + 1));
        }
        found.push(order);
    }
    found
}

/// The turns of an order: statements, then the commit.
fn turns(order: &[usize], steps: &[usize]) -> Vec<Turn> {
    let mut done = vec![0usize; steps.len()];
    let mut turns = Vec::new();
    for instance in order.iter().copied() {
        let event = match done[instance] + 1 < steps[instance] {
            true => Event::Statement(done[instance] as u32),
            false => Event::Commit,
        };
        done[instance] += 1;
        turns.push(Turn {
            instance,
            event,
            sees: None,
        });
    }
    turns
}

/// Says what a level with one copy shows to each statement.
fn seen(mut turns: Vec<Turn>, level: Level) -> Vec<Turn> {
    let before = turns.clone();
    let committed = |instance: usize, by: usize| {
        let mut until = before[..by].iter();
        until.any(|turn| turn.instance == instance && turn.event == Event::Commit)
    };
    for (at, turn) in turns.iter_mut().enumerate() {
        let first = before.iter().position(|one| one.instance == turn.instance);
        let visible = |earlier: &usize| {
            let other = before[*earlier].instance;
            other != turn.instance
                && match level {
                    Level::ReadCommitted => committed(other, at),
                    Level::Snapshot => committed(other, first.unwrap_or(at)),
                    Level::ReadUncommitted | Level::Eventual => true,
                }
        };
        turn.sees = Some((0..at).filter(visible).collect());
    }
    turns
}

/// Says that each statement sees some of the writing statements of others before it: in all ways,
/// or in so many; and whether these are all.
fn partly_seen(
    turns: &[Turn],
    writes: &[Vec<bool>],
    most: usize,
    draw: &mut Draw,
) -> (Vec<Vec<Turn>>, bool) {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        for (earlier, other) in turns[..at].iter().enumerate() {
            let Event::Statement(position) = other.event else {
                continue;
            };
            let written = writes[other.instance][position as usize];
            let read = matches!(turn.event, Event::Statement(_));
            if read && written && other.instance != turn.instance {
                pairs.push((earlier, at));
            }
        }
    }
    let all = pairs.len() < 16 && (1usize << pairs.len()) <= most;
    let count = if all { 1 << pairs.len() } else { most };
    let mut found = Vec::new();
    for number in 0..count {
        let mut turns = turns.to_vec();
        for turn in &mut turns {
            turn.sees = Some(BTreeSet::new());
        }
        for (bit, (earlier, at)) in pairs.iter().enumerate() {
            let sees = match all {
                true => number >> bit & 1 == 1,
                false => draw.below(2) == 1,
            };
            if sees && let Some(seen) = &mut turns[*at].sees {
                seen.insert(*earlier);
            }
        }
        found.push(turns);
    }
    (found, all)
}
