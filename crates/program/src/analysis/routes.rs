//! The paths along which instances pass a cycle.

use super::blocks::Layout;
use super::candidate::{Candidate, Infeasible, Run, witness};
use super::cycles::{Cycle, Segment, Together};
use super::flow::{Use, uses};
use crate::ir::{Program, Statement};
use crate::paths::{Bounds, End, Path};
use crate::schema::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A path that executes two statements, and where.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The path.
    pub path: Arc<Path>,
    /// Where the cycle enters it.
    pub enter: u32,
    /// Where the cycle leaves it.
    pub leave: u32,
}

/// Statements that some path executes together.
pub(super) struct Executed(FxHashSet<(usize, usize, usize, bool)>);

impl Together for Executed {
    fn together(&self, transaction: usize, first: usize, second: usize, single: bool) -> bool {
        self.0.contains(&(transaction, first, second, single))
    }
}

type ChoiceKey = (usize, usize, usize, bool);

/// The paths of all transactions.
pub(super) struct Routes<'a> {
    program: &'a Program,
    /// The statements of each transaction, in the order of the text.
    pub statements: Vec<Vec<&'a Statement>>,
    /// The paths that commit and can be followed, the shortest first.
    pub paths: Vec<Vec<Arc<Path>>>,
    /// What of the results of statements matters.
    pub uses: Vec<Vec<Use>>,
    /// Whether there are no more paths.
    pub complete: bool,
    choices: Mutex<FxHashMap<ChoiceKey, Arc<Vec<Choice>>>>,
}

impl<'a> Routes<'a> {
    /// The paths of a program, loops unfolded within the bounds.
    pub fn new(program: &'a Program, bounds: Bounds) -> Routes<'a> {
        let mut routes = Routes {
            program,
            statements: program
                .transactions
                .iter()
                .map(|txn| txn.statements())
                .collect(),
            paths: Vec::new(),
            uses: Vec::new(),
            complete: true,
            choices: Mutex::default(),
        };
        routes.prepare(bounds);
        routes
    }

    /// The paths that commit, and that some arguments and rows lead along.
    fn prepare(&mut self, bounds: Bounds) {
        for (number, transaction) in self.program.transactions.iter().enumerate() {
            let found = transaction.paths(&self.program.schema, bounds);
            self.complete &= found.complete;
            self.uses.push(uses(transaction, &found.paths));
            let mut kept: Vec<Arc<Path>> = Vec::new();
            for path in found.paths {
                if path.end == End::Abort || path.cut || path.statements.is_empty() {
                    continue;
                }
                let path = Arc::new(path);
                if self.possible(number, &path) {
                    kept.push(path);
                }
            }
            kept.sort_by_key(|path| path.statements.len());
            self.paths.push(kept);
        }
    }

    fn possible(&self, transaction: usize, path: &Arc<Path>) -> bool {
        let layout = Layout::new(std::slice::from_ref(path), &[], Vec::new());
        let candidate = Candidate {
            instances: vec![Run {
                transaction,
                path: path.clone(),
                level: None,
            }],
            schedule: layout.turns(&[0], false),
            ..Candidate::default()
        };
        witness(self.program, &candidate) != Err(Infeasible::Contradiction)
    }

    /// Whether some argument is a list.
    pub fn takes_lists(&self) -> bool {
        let mut all = self.program.transactions.iter();
        all.any(|txn| txn.parameters.iter().any(|p| p.ty == Type::List))
    }

    /// Which statements are executed together.
    pub fn executed(&self) -> Executed {
        let mut found = FxHashSet::default();
        for (transaction, paths) in self.paths.iter().enumerate() {
            for path in paths {
                let origins = self.origins(transaction, path);
                for (at, first) in origins.iter().enumerate() {
                    for (other, second) in origins.iter().enumerate() {
                        found.insert((transaction, *first, *second, at == other));
                    }
                }
            }
        }
        Executed(found)
    }

    /// The statements of a path, by position in the text.
    pub fn origins(&self, transaction: usize, path: &Path) -> Vec<usize> {
        let all = &self.statements[transaction];
        let origin = |statement: &Statement| {
            let same = |one: &&Statement| one.id == statement.origin;
            all.iter().position(same).unwrap_or(usize::MAX)
        };
        path.statements.iter().map(origin).collect()
    }

    /// The paths for an instance of a cycle, those that get there sooner first.
    pub fn choices(&self, segment: &Segment) -> Arc<Vec<Choice>> {
        let key = (
            segment.transaction,
            segment.enter,
            segment.leave,
            segment.single,
        );
        let all = || self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all().get(&key) {
            return known.clone();
        }
        let mut found: Vec<Choice> = Vec::new();
        for path in &self.paths[segment.transaction] {
            let origins = self.origins(segment.transaction, path);
            let positions = |of: usize| {
                let all = origins.iter().enumerate();
                all.filter(move |(_, origin)| **origin == of)
                    .map(|(at, _)| at as u32)
            };
            let pairs = positions(segment.enter).flat_map(|enter| {
                let leave = positions(segment.leave);
                leave.map(move |leave| (enter, leave))
            });
            for (enter, leave) in pairs.filter(|(a, b)| (a == b) == segment.single) {
                found.push(Choice {
                    path: path.clone(),
                    enter,
                    leave,
                });
            }
        }
        found.sort_by_key(|choice| (choice.enter.max(choice.leave), choice.path.statements.len()));
        let found = Arc::new(found);
        all().insert(key, found.clone());
        found
    }

    /// Paths for all instances of a cycle, and whether there are more.
    pub fn combinations(&self, cycle: &Cycle, most: usize) -> (Vec<Vec<Choice>>, bool) {
        let mut cut = false;
        let each: Vec<Arc<Vec<Choice>>> = cycle.segments.iter().map(|s| self.choices(s)).collect();
        let mut found: Vec<Vec<Choice>> = vec![Vec::new()];
        for choices in &each {
            let mut next = Vec::new();
            for partial in &found {
                for choice in choices.iter() {
                    let mut longer = partial.clone();
                    longer.push(choice.clone());
                    next.push(longer);
                }
            }
            found = next;
            if found.len() > 4096 {
                cut = true;
                found.truncate(4096);
            }
        }
        found.sort_by_key(|all| {
            let length = |choice: &Choice| choice.path.statements.len();
            all.iter().map(length).sum::<usize>()
        });
        if found.len() > most {
            cut = true;
            found.truncate(most);
        }
        (found, cut)
    }
}
