//! The straight-line paths of a transaction.
//!
//! Definition: a path is what one execution does: its statements in order, over parameters, fields
//! of earlier rows and unknowns, and the conditions under which it is taken. A loop runs 0 to k
//! times.
//! Steps: follow the body with all states at once. A branch forks a state, unless its two sides
//! only assign, which becomes an if-expression; a condition that constants, an earlier condition
//! or the shape of a result decide does not fork. A loop whose condition still holds after k times
//! is left without saying that it does not; such a path is marked `cut`.
//! Cost: exponential in the number of branches that contain statements, up to a given number of
//! paths; beyond it the answer says that it is not complete.

use crate::access::Reach;
use crate::expr::{Comparison, Condition, Expr, Row, StatementId, UnknownId, Value, VariableId};
use crate::ir::{Label, Repeat, Shape, Statement, Step, Transaction};
use crate::place::Place;
use crate::resolve::{Bindings, Instance, Resolver, choose};
use crate::schema::Schema;

/// How far to unfold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The greatest number of iterations of a loop.
    pub iterations: u32,
    /// The greatest number of paths of a transaction.
    pub paths: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            iterations: 2,
            paths: 2000,
        }
    }
}

/// The paths of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    /// The paths; no two are equal.
    pub paths: Vec<Path>,
    /// Whether these are all within the number of iterations; else the number of paths was
    /// reached.
    pub complete: bool,
}

/// One straight-line path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The statements, in order; ids are positions in this list.
    pub statements: Vec<Statement>,
    /// When it is taken: all of these hold.
    pub guards: Vec<Guard>,
    /// How it ends.
    pub end: End,
    /// Whether a loop was left that would have gone on.
    pub cut: bool,
    /// Where its unknowns come from, by their number: the unknown of the body, and which
    /// evaluation of it, from 0. Nothing for a variable that is read before it is assigned, and
    /// for an expression too large to follow.
    pub unknowns: Vec<Option<(UnknownId, u32)>>,
}

/// A condition of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// The condition, over parameters, fields of earlier statements and unknowns.
    pub condition: Condition,
    /// How many statements of the path come before it.
    pub after: usize,
    /// Where it stands.
    pub place: Place,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It commits.
    Commit,
    /// It aborts.
    Abort,
}

impl Transaction {
    /// The straight-line paths, loops unfolded within the bounds.
    pub fn paths(&self, schema: &Schema, bounds: Bounds) -> Paths {
        let mut walk = Walk {
            schema,
            bounds,
            complete: true,
        };
        let mut paths: Vec<Path> = Vec::new();
        for state in walk.follow(&self.body, vec![State::default()]) {
            let path = Path {
                statements: state.statements,
                guards: state.guards,
                end: match state.flow {
                    Flow::Ended(end) => end,
                    Flow::On | Flow::Leaving(_) => End::Commit,
                },
                cut: state.cut,
                unknowns: state.bindings.origins,
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Paths {
            paths,
            complete: walk.complete,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    bindings: Bindings,
    statements: Vec<Statement>,
    guards: Vec<Guard>,
    flow: Flow,
    cut: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Flow {
    #[default]
    On,
    Leaving(Label),
    Ended(End),
}

struct Walk<'a> {
    schema: &'a Schema,
    bounds: Bounds,
    complete: bool,
}

impl Walk<'_> {
    /// All states after the steps; those that already left or ended stay as they are.
    fn follow(&mut self, steps: &[Step], states: Vec<State>) -> Vec<State> {
        let mut states = states;
        for step in steps {
            let mut next = Vec::with_capacity(states.len());
            for state in states {
                match state.flow {
                    Flow::On => self.step(step, state, &mut next),
                    Flow::Leaving(_) | Flow::Ended(_) => next.push(state),
                }
            }
            self.limit(&mut next);
            states = next;
        }
        states
    }

    fn limit(&mut self, states: &mut Vec<State>) {
        if states.len() > self.bounds.paths {
            self.complete = false;
            states.truncate(self.bounds.paths);
        }
    }

    fn step(&mut self, step: &Step, mut state: State, next: &mut Vec<State>) {
        match step {
            Step::Execute(statement) => execute(statement, &mut state),
            Step::Advance(statement) => advance(*statement, &mut state),
            Step::Let { variable, value } => {
                let value = Resolver::new(&mut state.bindings).expr(value);
                state.bindings.variables.insert(variable.0, value);
            }
            Step::Push { variable, value } => push(*variable, value, &mut state),
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => return self.branch(condition, [then, otherwise], place, state, next),
            Step::Loop {
                label,
                repeat,
                body,
                place,
            } => return next.extend(self.repeat(*label, repeat, body, place, state)),
            Step::Block { label, body } => {
                let after = self.follow(body, vec![state]);
                return next.extend(after.into_iter().map(|state| arrive(*label, state)));
            }
            Step::Break(label) => state.flow = Flow::Leaving(*label),
            Step::Abort { .. } => state.flow = Flow::Ended(End::Abort),
            Step::Commit => state.flow = Flow::Ended(End::Commit),
        }
        next.push(state);
    }

    fn branch(
        &mut self,
        condition: &Condition,
        sides: [&[Step]; 2],
        place: &Place,
        mut state: State,
        next: &mut Vec<State>,
    ) {
        let condition = Resolver::new(&mut state.bindings).condition(condition);
        match self.decide(&condition, &state) {
            Some(true) => return next.extend(self.follow(sides[0], vec![state])),
            Some(false) => return next.extend(self.follow(sides[1], vec![state])),
            None => {}
        }
        let assigns = |side: &[Step]| side.iter().all(|step| matches!(step, Step::Let { .. }));
        // NULL for a row that is not there: whoever asks for NULL later asks for that row.
        let absent = condition.conjuncts().iter().any(|one| is_about_row(one))
            && sides.iter().any(|side| side.iter().any(assigns_null));
        if assigns(sides[0]) && assigns(sides[1]) && !absent {
            next.push(self.merge(condition, sides, state));
            return;
        }
        let mut other = state.clone();
        state.assume(condition.clone(), place);
        other.assume(condition.negated(), place);
        next.extend(self.follow(sides[0], vec![state]));
        next.extend(self.follow(sides[1], vec![other]));
    }

    /// The state after a branch both of whose sides only assign.
    fn merge(&mut self, condition: Condition, sides: [&[Step]; 2], state: State) -> State {
        let mut merged = state;
        let mut after = |side: &[Step], state: &State| -> State {
            let all = self.follow(side, vec![state.clone()]);
            all.into_iter().next().unwrap_or_else(|| state.clone())
        };
        let then = after(sides[0], &merged);
        merged.bindings.unknown_next = then.bindings.unknown_next;
        merged.bindings.origins = then.bindings.origins.clone();
        let otherwise = after(sides[1], &merged);
        merged.bindings.unknown_next = otherwise.bindings.unknown_next;
        merged.bindings.origins = otherwise.bindings.origins.clone();
        let mut assigned: Vec<u32> = Vec::new();
        for step in sides.iter().flat_map(|side| side.iter()) {
            if let Step::Let { variable, .. } = step {
                assigned.push(variable.0);
            }
        }
        for id in assigned {
            let mut value = |side: &State| match side.bindings.variables.get(&id) {
                Some(value) => value.clone(),
                None => Resolver::new(&mut merged.bindings).expr(&Expr::Variable(VariableId(id))),
            };
            let (yes, no) = (value(&then), value(&otherwise));
            let value = choose(condition.clone(), yes, no);
            merged.bindings.variables.insert(id, value);
        }
        merged
    }

    /// The states after a loop.
    fn repeat(
        &mut self,
        label: Label,
        repeat: &Repeat,
        body: &[Step],
        place: &Place,
        state: State,
    ) -> Vec<State> {
        let mut done = Vec::new();
        let mut running = vec![state];
        for iteration in 0..=self.bounds.iterations {
            let last = iteration == self.bounds.iterations;
            let mut entered = Vec::new();
            for state in self.test(repeat, iteration, running) {
                let (mut state, condition) = match state {
                    (state, Some(condition)) => (state, condition),
                    (state, None) => {
                        done.push(arrive(label, state));
                        continue;
                    }
                };
                let decided = self.decide(&condition, &state);
                if decided != Some(true) || last {
                    let mut left = state.clone();
                    match decided {
                        Some(true) => left.cut = true,
                        Some(false) => {}
                        None => left.assume(condition.clone().negated(), place),
                    }
                    done.push(left);
                }
                if decided == Some(false) || last {
                    continue;
                }
                if decided.is_none() {
                    state.assume(condition, place);
                }
                take_element(repeat, iteration, &mut state);
                entered.push(state);
            }
            running = Vec::new();
            for state in self.follow(body, entered) {
                match state.flow {
                    Flow::On => running.push(state),
                    Flow::Leaving(_) | Flow::Ended(_) => done.push(arrive(label, state)),
                }
            }
            self.limit(&mut done);
        }
        done
    }

    /// The states before an iteration, each with the condition of going on; without one where the
    /// test itself ended or left.
    fn test(
        &mut self,
        repeat: &Repeat,
        iteration: u32,
        states: Vec<State>,
    ) -> Vec<(State, Option<Condition>)> {
        let states = match repeat {
            Repeat::While { before, .. } => self.follow(before, states),
            Repeat::Rows(_) | Repeat::Elements { .. } => states,
        };
        let mut tested = Vec::new();
        for mut state in states {
            if state.flow != Flow::On {
                tested.push((state, None));
                continue;
            }
            let condition = match repeat {
                Repeat::While { condition, .. } => condition.clone(),
                Repeat::Rows(statement) => {
                    advance(*statement, &mut state);
                    Condition::HasRow {
                        statement: *statement,
                        row: Row::Cursor,
                    }
                }
                Repeat::Elements { list, .. } => Condition::compare(
                    Comparison::Greater,
                    Expr::Size(Box::new(list.clone())),
                    Expr::integer(i64::from(iteration)),
                ),
            };
            let condition = Resolver::new(&mut state.bindings).condition(&condition);
            tested.push((state, Some(condition)));
        }
        tested
    }

    /// Whether a condition is known to hold, or not to.
    fn decide(&self, condition: &Condition, state: &State) -> Option<bool> {
        match condition {
            Condition::True => return Some(true),
            Condition::False => return Some(false),
            Condition::Not(inner) => return self.decide(inner, state).map(|holds| !holds),
            _ => {}
        }
        let negated = condition.clone().negated();
        for guard in &state.guards {
            for known in guard.condition.conjuncts() {
                if *known == *condition {
                    return Some(true);
                }
                if *known == negated {
                    return Some(false);
                }
            }
        }
        match condition {
            Condition::HasRow {
                statement,
                row: Row::Nth(row),
            } => self.has_row(*statement, *row, state),
            Condition::IsNull(value) => self.never_null(value, state).then_some(false),
            _ => None,
        }
    }

    /// Whether a value is a column of a row that is there, and the column is never NULL.
    fn never_null(&self, value: &Expr, state: &State) -> bool {
        let Expr::Field {
            statement: id,
            row: Row::Nth(row),
            output,
        } = value
        else {
            return false;
        };
        let Some(statement) = state.statements.get(id.0 as usize) else {
            return false;
        };
        let column = match (
            &statement.parts[..],
            statement.outputs.get(*output as usize),
        ) {
            ([part], Some(output)) => match output.value {
                Expr::Column { column, .. } => {
                    &self.schema.table(part.table).columns[column.index()]
                }
                _ => return false,
            },
            _ => return false,
        };
        !column.nullable && self.has_row(*id, *row, state) == Some(true)
    }

    /// Whether a result is known to have a row: by its shape, by its key, by its other rows.
    fn has_row(&self, id: StatementId, row: u32, state: &State) -> Option<bool> {
        let statement = state.statements.get(id.0 as usize)?;
        if row >= rows_max(statement, self.schema) {
            return Some(false);
        }
        if statement.shape.aggregate && statement.shape.group_by.is_empty() && row == 0 {
            return Some(true);
        }
        let told = |guard: &Guard, wanted: bool| match (&guard.condition, wanted) {
            (Condition::HasRow { statement, row }, true) => Some((*statement, *row)),
            (Condition::Not(inner), false) => match **inner {
                Condition::HasRow { statement, row } => Some((statement, row)),
                _ => None,
            },
            _ => None,
        };
        let rows = |wanted: bool| {
            let all = state.guards.iter().filter_map(move |g| told(g, wanted));
            all.filter_map(move |(statement, row)| match row {
                Row::Nth(row) if statement == id => Some(row),
                _ => None,
            })
        };
        if rows(false).any(|absent| absent <= row) {
            return Some(false);
        }
        rows(true).any(|present| present >= row).then_some(true)
    }
}

fn is_about_row(condition: &Condition) -> bool {
    match condition {
        Condition::HasRow { .. } => true,
        Condition::Not(inner) => matches!(**inner, Condition::HasRow { .. }),
        _ => false,
    }
}

fn assigns_null(step: &Step) -> bool {
    let null = Expr::Constant(Value::Null);
    matches!(step, Step::Let { value, .. } if *value == null)
}

/// The most rows a result can have.
fn rows_max(statement: &Statement, schema: &Schema) -> u32 {
    let Shape {
        limit,
        aggregate,
        group_by,
        ..
    } = &*statement.shape;
    if *aggregate && group_by.is_empty() {
        return 1;
    }
    let one = |(_, reach): (_, Reach<'_>)| matches!(reach, Reach::Key(_) | Reach::Unique(_));
    let united = statement.nested.iter().any(|one| one.set.is_some());
    if !united && !statement.parts.is_empty() && statement.access(schema).into_iter().all(one) {
        return 1;
    }
    match limit {
        Some(Expr::Constant(Value::Integer(most))) => u32::try_from(*most).unwrap_or(u32::MAX),
        _ => u32::MAX,
    }
}

impl State {
    fn assume(&mut self, condition: Condition, place: &Place) {
        self.guards.push(Guard {
            condition,
            after: self.statements.len(),
            place: place.clone(),
        });
    }
}

/// A state that left towards this label goes on from here.
fn arrive(label: Label, mut state: State) -> State {
    if state.flow == Flow::Leaving(label) {
        state.flow = Flow::On;
    }
    state
}

fn execute(statement: &Statement, state: &mut State) {
    let position = StatementId(state.statements.len() as u32);
    let resolved = Resolver::new(&mut state.bindings).statement(statement, position);
    state.statements.push(resolved);
    let instance = Instance {
        position,
        advanced: 0,
    };
    state.bindings.instances.insert(statement.id.0, instance);
}

fn advance(statement: StatementId, state: &mut State) {
    if let Some(instance) = state.bindings.instances.get_mut(&statement.0) {
        instance.advanced += 1;
    }
}

fn push(variable: VariableId, value: &Expr, state: &mut State) {
    let mut resolver = Resolver::new(&mut state.bindings);
    let value = resolver.expr(value);
    let list = match resolver.expr(&Expr::Variable(variable)) {
        Expr::List(mut all) => {
            all.push(value);
            Expr::List(all)
        }
        // A list that came from elsewhere: longer by one, and otherwise unknown.
        other => Expr::Call {
            name: "append".to_string(),
            arguments: vec![other, value],
        },
    };
    state.bindings.variables.insert(variable.0, list);
}

/// Sets the variable of a loop over a list to the element of this iteration.
fn take_element(repeat: &Repeat, iteration: u32, state: &mut State) {
    if let Repeat::Elements { list, variable } = repeat {
        let element = Expr::Element {
            list: Box::new(list.clone()),
            index: Box::new(Expr::integer(i64::from(iteration))),
        };
        let value = Resolver::new(&mut state.bindings).expr(&element);
        state.bindings.variables.insert(variable.0, value);
    }
}
