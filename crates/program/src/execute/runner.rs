//! Runs the body of a transaction, one statement at a time.
//!
//! A [`Runner`] is a coroutine without a thread: [`Runner::next`] goes on to the next statement and
//! returns it with the values of its placeholders; whoever executes it says by [`Runner::feed`]
//! what came back. Blocks and loops are frames on a stack, so nothing recurses with the depth of
//! the source. A condition that is neither true nor false counts as false. A program without end is
//! stopped after a number of steps.

use super::environment::{Cursor, Environment, Mentioned, ResultSet};
use super::error::ExecuteError;
use super::evaluate::{evaluate, holds};
use super::ground::{Bound, Grounder, is_exact};
use super::value::stored_as;
use crate::expr::{Condition, Expr, Row, StatementId, Value, VariableId};
use crate::ir::{Action, Label, Program, Repeat, Statement, Step, Transaction};
use crate::place::Place;
use crate::scenario::Instance;
use crate::schema::{Schema, Type};

/// A program that takes more steps than this is taken for one without end.
const STEPS_MAX: u64 = 200_000;

/// What a transaction does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next<'p> {
    /// It executes a statement.
    Execute(Call<'p>),
    /// It commits.
    Commit,
    /// It undoes what it did.
    Abort {
        /// Where the program says so.
        place: Place,
    },
}

/// A statement and the values it is executed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'p> {
    /// The statement.
    pub statement: &'p Statement,
    /// The values of [`Statement::arguments`], in their order.
    pub arguments: Vec<Value>,
    /// How many statements the instance executed before.
    pub position: u32,
    /// The statement with its values put in, for a store that evaluates it itself.
    pub bound: Bound,
}

impl Call<'_> {
    /// Whether [`Call::bound`] means exactly what the text says, so that evaluating it gives what a
    /// database would give.
    pub fn is_exact(&self) -> bool {
        is_exact(self.statement)
    }
}

/// A transaction on its way through its body.
#[derive(Clone, Debug)]
pub struct Runner<'p> {
    schema: &'p Schema,
    transaction: &'p Transaction,
    environment: Environment<'p>,
    frames: Vec<Frame<'p>>,
    /// The statement whose result is awaited.
    waiting: Option<&'p Statement>,
    ended: Option<Next<'p>>,
    position: u32,
    steps: u64,
}

#[derive(Clone, Debug)]
struct Frame<'p> {
    label: Option<Label>,
    kind: Kind<'p>,
}

#[derive(Clone, Debug)]
enum Kind<'p> {
    Steps(&'p [Step]),
    While {
        before: &'p [Step],
        condition: &'p Condition,
        body: &'p [Step],
        /// Whether the steps before the test were done.
        test: bool,
    },
    Rows(StatementId, &'p [Step]),
    Elements {
        left: std::vec::IntoIter<Value>,
        variable: VariableId,
        body: &'p [Step],
    },
}

impl<'p> Runner<'p> {
    /// A run of the instance's transaction, before its first step. An instance of a transaction
    /// that is not in the program commits at once.
    pub fn new(program: &'p Program, instance: &Instance) -> Runner<'p> {
        static NOTHING: std::sync::OnceLock<Transaction> = std::sync::OnceLock::new();
        let nothing = || Transaction::new("", Place::new("", 1, 1));
        let transaction = match program.transactions.get(instance.transaction) {
            Some(transaction) => transaction,
            None => NOTHING.get_or_init(nothing),
        };
        Runner {
            schema: &program.schema,
            transaction,
            environment: Environment::new(transaction, instance),
            frames: vec![Frame::steps(&transaction.body)],
            waiting: None,
            ended: None,
            position: 0,
            steps: 0,
        }
    }

    /// Goes on to the next statement, or to the end. Once at the end, it stays there.
    #[expect(
        clippy::should_implement_trait,
        reason = "the caller answers each item before it asks for the next one"
    )]
    pub fn next(&mut self) -> Result<Next<'p>, ExecuteError> {
        if let Some(statement) = self.waiting {
            let problem = "the result of the statement before was not given";
            return Err(ExecuteError::new(problem).at(&statement.place));
        }
        loop {
            if let Some(end) = &self.ended {
                return Ok(end.clone());
            }
            self.steps += 1;
            if self.steps > STEPS_MAX {
                let problem = format!(
                    "{} takes more than {STEPS_MAX} steps: a loop without end?",
                    self.transaction.name
                );
                return Err(ExecuteError::new(problem).at(&self.transaction.place));
            }
            let Some(step) = self.take()? else {
                continue;
            };
            let found = self.step(step);
            if let Some(call) = found.map_err(|error| error.at(&self.transaction.place))? {
                return Ok(Next::Execute(call));
            }
        }
    }

    /// Gives the result of the statement that was returned last.
    pub fn feed(&mut self, result: ResultSet) {
        if let Some(statement) = self.waiting.take() {
            let cursor = Cursor {
                result,
                writes: statement.is_write(),
                advanced: 0,
            };
            self.environment.results.insert(statement.id.0, cursor);
        }
    }

    /// How many statements it has executed.
    pub fn executed(&self) -> u32 {
        self.position
    }

    /// The step on top of the stack; none where only the stack changed.
    fn take(&mut self) -> Result<Option<&'p Step>, ExecuteError> {
        let Some(frame) = self.frames.last_mut() else {
            self.ended = Some(Next::Commit);
            return Ok(None);
        };
        match &mut frame.kind {
            Kind::Steps(steps) => match steps.split_first() {
                Some((first, rest)) => {
                    *steps = rest;
                    return Ok(Some(first));
                }
                None => self.leave(),
            },
            Kind::While {
                before,
                condition,
                body,
                test,
            } => {
                *test = !*test;
                let (before, condition, body) = (*before, *condition, *body);
                match *test {
                    true => self.frames.push(Frame::steps(before)),
                    false => match self.holds(condition)? {
                        true => self.frames.push(Frame::steps(body)),
                        false => self.leave(),
                    },
                }
            }
            Kind::Rows(statement, body) => {
                let (statement, body) = (*statement, *body);
                self.advance(statement);
                match self.environment.has_row(statement, Row::Cursor) {
                    true => self.frames.push(Frame::steps(body)),
                    false => self.leave(),
                }
            }
            Kind::Elements {
                left,
                variable,
                body,
            } => match left.next() {
                Some(element) => {
                    let (variable, body) = (*variable, *body);
                    self.environment.variables.insert(variable.0, element);
                    self.frames.push(Frame::steps(body));
                }
                None => self.leave(),
            },
        }
        Ok(None)
    }

    fn leave(&mut self) {
        self.frames.pop();
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, ExecuteError> {
        let mentioned = Mentioned::default().condition(condition).unknowns();
        self.environment.begin(mentioned);
        Ok(holds(&self.environment, condition)? == Some(true))
    }

    fn value(&mut self, expr: &Expr, ty: Type) -> Result<Value, ExecuteError> {
        let mentioned = Mentioned::default().expr(expr).unknowns();
        self.environment.begin(mentioned);
        evaluate(&self.environment, expr, ty)
    }

    fn advance(&mut self, statement: StatementId) {
        if let Some(cursor) = self.environment.results.get_mut(&statement.0) {
            cursor.advanced = cursor.advanced.saturating_add(1);
        }
    }

    fn type_of(&self, variable: VariableId) -> Type {
        let variable = self.transaction.variables.get(variable.0 as usize);
        variable.map_or(Type::Other, |variable| variable.ty)
    }

    fn step(&mut self, step: &'p Step) -> Result<Option<Call<'p>>, ExecuteError> {
        match step {
            Step::Execute(statement) => {
                let call = self.call(statement);
                return call.map(Some).map_err(|error| error.at(&statement.place));
            }
            Step::Advance(statement) => self.advance(*statement),
            Step::Let { variable, value } => {
                let value = self.value(value, self.type_of(*variable))?;
                self.environment.variables.insert(variable.0, value);
            }
            Step::Push { variable, value } => {
                let value = self.value(value, Type::Other)?;
                let list = self.environment.variables.entry(variable.0);
                match list.or_insert(Value::Null) {
                    Value::List(all) => all.push(value),
                    other => *other = Value::List(vec![value]),
                }
            }
            Step::If {
                condition,
                then,
                otherwise,
                place,
            } => {
                let held = self.holds(condition).map_err(|error| error.at(place))?;
                let side = if held { then } else { otherwise };
                self.frames.push(Frame::steps(side));
            }
            Step::Loop {
                label,
                repeat,
                body,
                place,
            } => {
                let kind = self.repeat(repeat, body).map_err(|error| error.at(place))?;
                self.frames.push(Frame {
                    label: Some(*label),
                    kind,
                });
            }
            Step::Block { label, body } => self.frames.push(Frame {
                label: Some(*label),
                kind: Kind::Steps(body),
            }),
            Step::Break(label) => {
                while let Some(left) = self.frames.pop() {
                    if left.label == Some(*label) {
                        break;
                    }
                }
            }
            Step::Abort { place } => {
                let place = place.clone();
                self.ended = Some(Next::Abort { place });
            }
            Step::Commit => self.ended = Some(Next::Commit),
        }
        Ok(None)
    }

    fn repeat(&mut self, repeat: &'p Repeat, body: &'p [Step]) -> Result<Kind<'p>, ExecuteError> {
        Ok(match repeat {
            Repeat::While { before, condition } => Kind::While {
                before,
                condition,
                body,
                test: false,
            },
            Repeat::Rows(statement) => Kind::Rows(*statement, body),
            Repeat::Elements { list, variable } => {
                let list = match self.value(list, Type::List)? {
                    Value::List(all) => all,
                    _ => Vec::new(),
                };
                Kind::Elements {
                    left: list.into_iter(),
                    variable: *variable,
                    body,
                }
            }
        })
    }

    /// The type of the column that a value is written to.
    fn stored_type(&self, statement: &Statement, value: &Expr) -> Type {
        for part in &statement.parts {
            let sets = match &part.action {
                Action::Update { sets } => sets,
                Action::Insert(insert) => &insert.values,
                Action::Select(_) | Action::Delete => continue,
            };
            if let Some(set) = sets.iter().find(|set| set.value == *value) {
                return self.schema.table(part.table).columns[set.column.index()].ty;
            }
        }
        Type::Other
    }

    fn call(&mut self, statement: &'p Statement) -> Result<Call<'p>, ExecuteError> {
        let mentioned = Mentioned::default().statement(statement).unknowns();
        self.environment.begin(mentioned);
        let mut grounder = Grounder {
            schema: self.schema,
            environment: &self.environment,
            parts: &statement.parts,
            depth: 0,
        };
        // First the parts: the columns say which type an unknown has.
        let bound = grounder.statement(statement)?;
        let mut arguments = Vec::new();
        for argument in &statement.arguments {
            let value = evaluate(&self.environment, &argument.value, Type::Other)?;
            arguments.push(match &argument.value {
                // What a function gives that is not followed has the type of where it goes.
                Expr::Call { .. } => stored_as(value, self.stored_type(statement, &argument.value)),
                _ => value,
            });
        }
        let position = self.position;
        self.position += 1;
        self.waiting = Some(statement);
        Ok(Call {
            statement,
            arguments,
            position,
            bound,
        })
    }
}

impl<'p> Frame<'p> {
    fn steps(steps: &'p [Step]) -> Frame<'p> {
        Frame {
            label: None,
            kind: Kind::Steps(steps),
        }
    }
}
