//! What to change so that a program is serializable: the cheapest levels, or reads to promote.
//!
//! Levels: with all transactions serializable the set is robust. One after the other gets the
//! weakest level at which the set stays robust. Which levels result does not depend on the order:
//! there is one least choice (Vandevoort and others, PODS 2023).
//! Promotions: a set that is not robust has a cycle; one of the reads in it that are overwritten
//! must hold its row. Sets of promotions are tried in the order of their size, those that the
//! cycles of the smaller ones suggest; the first with which the set is proved robust is taken, and
//! what can be left out again is. Every answer is that of the changed program.
//! Cost: a question for each set tried, up to a fixed number.

use super::promote::{Change, Promotion, promote};
use super::{Counterexample, Level, RobustOptions, Robustness, Workload, check_at};
use crate::expr::StatementId;
use crate::ir::Program;
use crate::scenario::{EdgeKind, Event, Scenario, Turn};
use std::collections::{BTreeSet, VecDeque};

/// The most sets of promotions that are tried.
const SETS_MAX: usize = 400;

/// The most promotions of a set.
const PROMOTIONS_MAX: usize = 8;

/// Reads to promote at a level.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The level of all transactions.
    pub level: Level,
    /// The reads; empty where nothing is to be done.
    pub promotions: Vec<Promotion>,
    /// The program with all of them changed.
    pub program: Program,
    /// The answer for that program: robust.
    pub answer: Robustness,
}

impl Repair {
    /// The scenario of a counterexample for the changed program: every statement that was added has
    /// a turn of its own behind the read it belongs to. What statements see is left to the database.
    pub fn scenario(&self, found: &Counterexample) -> Option<Scenario> {
        let mut scenario = found.scenario.clone()?;
        let is_added = |transaction: usize, read: StatementId| {
            let mut added = self.promotions.iter();
            added.any(|one| {
                one.change == Change::IdentityUpdate
                    && (one.transaction, one.statement) == (transaction, read)
            })
        };
        let mut schedule = Vec::new();
        for turn in std::mem::take(&mut scenario.schedule) {
            let turn = Turn { sees: None, ..turn };
            let (Event::Statement(at), Some(one)) =
                (turn.event, found.instances.get(turn.instance))
            else {
                schedule.push(turn);
                continue;
            };
            let reads = one.path.statements.iter();
            let added: Vec<bool> = reads
                .map(|read| is_added(one.transaction, read.origin))
                .collect();
            let before = added.iter().take(at as usize).filter(|one| **one).count();
            let moved = at + before as u32;
            let event = Event::Statement(moved);
            schedule.push(Turn { event, ..turn });
            if added.get(at as usize) == Some(&true) {
                schedule.push(Turn {
                    instance: turn.instance,
                    event: Event::Statement(moved + 1),
                    sees: None,
                });
            }
        }
        scenario.schedule = schedule;
        Some(scenario)
    }
}

/// At which levels a program is safe, and what else can be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Safety {
    /// The answer for all transactions at each level, the weakest first.
    pub answers: Vec<(Level, Robustness)>,
    /// The cheapest level for each transaction, as they are.
    pub levels: Vec<Level>,
    /// The promotions with which the program is robust at a weaker level, where some were found.
    pub repairs: Vec<Repair>,
}

impl Safety {
    /// The weakest level at which the program is proved safe as it is.
    pub fn weakest(&self) -> Level {
        let safe = self.answers.iter().find(|(_, answer)| answer.is_robust());
        safe.map_or(Level::Serializable, |(level, _)| *level)
    }
}

/// At which level is a program safe, and what must change for a weaker one?
pub fn safe_at(program: &Program, options: &RobustOptions) -> Safety {
    let answers: Vec<(Level, Robustness)> = Level::ALL
        .iter()
        .map(|level| (*level, check_at(program, *level, options)))
        .collect();
    let unsafe_levels = answers.iter().filter(|(_, answer)| !answer.is_robust());
    let repairs = unsafe_levels.filter_map(|(level, _)| repair(program, *level, options));
    Safety {
        levels: cheapest_levels(program, options),
        repairs: repairs.collect(),
        answers,
    }
}

/// The weakest level for each transaction with which the whole is proved robust.
pub fn cheapest_levels(program: &Program, options: &RobustOptions) -> Vec<Level> {
    let options = RobustOptions {
        confirm: false,
        ..*options
    };
    let workload = Workload::new(program, &options);
    let count = program.transactions.len();
    let mut levels = vec![Some(Level::Serializable); count];
    for at in 0..count {
        for level in [Level::ReadCommitted, Level::Snapshot] {
            let mut weaker = levels.clone();
            weaker[at] = Some(level);
            if workload.check(&weaker).is_robust() {
                levels = weaker;
                break;
            }
        }
    }
    levels.into_iter().flatten().collect()
}

/// One change: a transaction, a statement of it, and how.
type Key = (usize, u32, Change);

/// The fewest promotions found with which all transactions are robust at a level.
pub fn repair(program: &Program, level: Level, options: &RobustOptions) -> Option<Repair> {
    let options = RobustOptions {
        confirm: false,
        ..*options
    };
    let mut waiting: VecDeque<BTreeSet<Key>> = VecDeque::from([BTreeSet::new()]);
    let mut seen: BTreeSet<BTreeSet<Key>> = BTreeSet::new();
    let mut tried = 0;
    while let Some(set) = waiting.pop_front() {
        if !seen.insert(set.clone()) || tried == SETS_MAX {
            continue;
        }
        tried += 1;
        let Some((changed, _)) = apply(program, &set) else {
            continue;
        };
        let answer = check_at(&changed, level, &options);
        if answer.is_robust() {
            return Some(least(program, level, &options, set));
        }
        if set.len() < PROMOTIONS_MAX {
            for key in suggestions(program, &changed, &answer, level) {
                let mut more = set.clone();
                more.insert(key);
                waiting.push_back(more);
            }
        }
    }
    None
}

/// Leaves out what is not needed.
fn least(program: &Program, level: Level, options: &RobustOptions, set: BTreeSet<Key>) -> Repair {
    let result = |set: &BTreeSet<Key>| -> Repair {
        let (changed, promotions) =
            apply(program, set).unwrap_or_else(|| (program.clone(), Vec::new()));
        Repair {
            level,
            answer: check_at(&changed, level, options),
            promotions,
            program: changed,
        }
    };
    let mut kept = set.clone();
    let mut best = result(&set);
    for key in set {
        let mut less = kept.clone();
        less.remove(&key);
        let smaller = result(&less);
        if smaller.answer.is_robust() {
            (kept, best) = (less, smaller);
        }
    }
    best
}

fn apply(program: &Program, set: &BTreeSet<Key>) -> Option<(Program, Vec<Promotion>)> {
    let mut changed = program.clone();
    let mut promotions = Vec::new();
    for (transaction, statement, change) in set {
        let (next, promotion) = promote(&changed, *transaction, StatementId(*statement), *change)?;
        changed = next;
        promotions.push(promotion);
    }
    Some((changed, promotions))
}

/// The reads of the original program in a cycle whose promotion may break it.
fn suggestions(
    program: &Program,
    changed: &Program,
    answer: &Robustness,
    level: Level,
) -> Vec<Key> {
    let mut found = Vec::new();
    let Some(cycle) = answer.counterexample() else {
        return found;
    };
    let changes: &[Change] = match level {
        Level::ReadCommitted => &[Change::ForUpdate],
        Level::Snapshot | Level::Serializable => &[Change::ForUpdate, Change::IdentityUpdate],
    };
    for edge in &cycle.edges {
        let instance = &cycle.instances[edge.from.instance];
        let statement = &instance.path.statements[edge.from.statement as usize];
        if edge.kind != EdgeKind::ReadWrite {
            continue;
        }
        for change in changes {
            let (transaction, id) = (instance.transaction, statement.origin);
            let possible = promote(changed, transaction, id, *change).is_some()
                && promote(program, transaction, id, *change).is_some();
            if possible {
                found.push((transaction, id.0, *change));
            }
        }
    }
    found
}
