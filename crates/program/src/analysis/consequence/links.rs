//! Which columns and parameters hold the same kind of name: keys, what refers to them, and the
//! parameters that rows are looked up by.

use crate::expr::{Expr, ParameterId, Value, VariableId};
use crate::ir::{Action, Program, Repeat, Step, Transaction};
use crate::scenario::Scenario;
use crate::schema::{ColumnId, Schema, TableId};
use rustc_hash::FxHashMap;

/// A kind of name.
pub(super) type Class = usize;

type Place = (TableId, ColumnId);

/// Kinds of names.
pub(super) struct Links {
    classes: FxHashMap<Place, Class>,
    /// For each transaction and parameter: what it names.
    parameters: Vec<Vec<Option<Class>>>,
    /// For each transaction and parameter: a column that it is compared with or put into as it is.
    columns: Vec<Vec<Option<Place>>>,
}

/// Columns that are joined step by step.
struct Joined(FxHashMap<Place, Place>);

impl Joined {
    fn root(&mut self, mut place: Place) -> Place {
        while let Some(next) = self.0.get(&place).copied().filter(|next| *next != place) {
            place = next;
        }
        self.0.insert(place, place);
        place
    }

    fn join(&mut self, a: Place, b: Place) {
        let (a, b) = (self.root(a), self.root(b));
        self.0.insert(a.max(b), a.min(b));
    }
}

impl Links {
    pub fn new(program: &Program) -> Links {
        let schema = &program.schema;
        let mut joined = Joined(FxHashMap::default());
        for (number, table) in schema.tables.iter().enumerate() {
            let id = TableId(number as u32);
            for column in &table.primary_key {
                joined.root((id, *column));
            }
            for foreign in &table.foreign_keys {
                for (own, referred) in foreign.columns.iter().zip(&foreign.referred) {
                    joined.join((id, *own), (foreign.table, *referred));
                }
            }
        }
        let bound: Vec<Vec<(ParameterId, Place)>> = program
            .transactions
            .iter()
            .map(|transaction| bound_columns(transaction, schema, &mut joined))
            .collect();
        let places: Vec<Place> = joined.0.keys().copied().collect();
        let mut roots: Vec<Place> = places.iter().map(|place| joined.root(*place)).collect();
        roots.sort_unstable();
        roots.dedup();
        let class = |root: Place| roots.binary_search(&root).unwrap_or(0);
        let classes: FxHashMap<Place, Class> = places
            .into_iter()
            .map(|place| (place, class(joined.root(place))))
            .collect();
        let mut parameters = Vec::new();
        let mut columns = Vec::new();
        for (transaction, bound) in program.transactions.iter().zip(&bound) {
            let of = |at: usize| {
                let own = bound.iter().filter(move |(id, _)| id.0 as usize == at);
                own.map(|(_, place)| *place)
            };
            let count = 0..transaction.parameters.len();
            let named = |at: usize| of(at).find_map(|place| classes.get(&place).copied());
            parameters.push(count.clone().map(named).collect());
            columns.push(count.map(|at| of(at).next()).collect());
        }
        Links {
            classes,
            parameters,
            columns,
        }
    }

    /// What a column names.
    pub fn of_column(&self, table: TableId, column: ColumnId) -> Option<Class> {
        self.classes.get(&(table, column)).copied()
    }

    /// What a parameter names.
    pub fn of_parameter(&self, transaction: usize, parameter: usize) -> Option<Class> {
        *self.parameters.get(transaction)?.get(parameter)?
    }

    /// A column that a parameter is compared with, or that it is put into.
    pub fn column_of(&self, transaction: usize, parameter: usize) -> Option<Place> {
        *self.columns.get(transaction)?.get(parameter)?
    }

    /// How many kinds there are.
    pub fn count(&self) -> usize {
        self.classes.values().max().map_or(0, |last| last + 1)
    }

    /// The names of a kind that are in use: first those of the arguments, then those of keys.
    pub fn names(&self, class: Class, scenario: &Scenario, schema: &Schema) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        let mut add = |value: &Value| {
            if *value != Value::Null && !found.contains(value) {
                found.push(value.clone());
            }
        };
        for instance in &scenario.instances {
            for (at, argument) in instance.arguments.iter().enumerate() {
                if self.of_parameter(instance.transaction, at) == Some(class) {
                    match argument {
                        Value::List(items) => items.iter().for_each(&mut add),
                        one => add(one),
                    }
                }
            }
        }
        for row in &scenario.rows {
            for column in &schema.table(row.table).primary_key {
                if self.of_column(row.table, *column) == Some(class) {
                    add(&row.values[column.index()]);
                }
            }
        }
        found
    }
}

/// The columns that parameters are compared with or put into, directly or by a variable. Key columns
/// that have the same value are joined.
fn bound_columns(
    transaction: &Transaction,
    schema: &Schema,
    joined: &mut Joined,
) -> Vec<(ParameterId, Place)> {
    let aliases = aliases(transaction);
    let mut by_parameter: Vec<(ParameterId, Place)> = Vec::new();
    let mut by_variable: Vec<(VariableId, Place)> = Vec::new();
    for statement in transaction.statements() {
        for part in &statement.parts {
            let filters = part.bindings().into_iter().map(|b| (b.column, b.value));
            let mut pairs: Vec<(ColumnId, &Expr)> = filters.collect();
            if let Action::Insert(insert) = &part.action {
                pairs.extend(insert.values.iter().map(|set| (set.column, &set.value)));
            }
            for (column, value) in pairs {
                let place = (part.table, column);
                match value {
                    Expr::Parameter(id) => by_parameter.push((*id, place)),
                    Expr::Variable(id) => match aliases.get(id) {
                        Some(parameter) => by_parameter.push((*parameter, place)),
                        None => by_variable.push((*id, place)),
                    },
                    _ => {}
                }
            }
        }
    }
    let is_key = |place: &Place| schema.table(place.0).primary_key.contains(&place.1);
    let mut join = |all: &mut dyn Iterator<Item = Place>| {
        let keys: Vec<Place> = all.filter(is_key).collect();
        keys.windows(2)
            .for_each(|pair| joined.join(pair[0], pair[1]));
    };
    for (id, _) in &by_parameter {
        join(
            &mut by_parameter
                .iter()
                .filter(|(o, _)| o == id)
                .map(|(_, p)| *p),
        );
    }
    for (id, _) in &by_variable {
        join(&mut by_variable.iter().filter(|(o, _)| o == id).map(|(_, p)| *p));
    }
    by_parameter
}

/// Variables that are another name of a parameter, or an element of it.
pub(super) fn aliases(transaction: &Transaction) -> FxHashMap<VariableId, ParameterId> {
    let mut found = FxHashMap::default();
    let mut waiting: Vec<&Step> = transaction.body.iter().collect();
    while let Some(step) = waiting.pop() {
        match step {
            Step::Let {
                variable,
                value: Expr::Parameter(id),
            }
            | Step::Loop {
                repeat:
                    Repeat::Elements {
                        list: Expr::Parameter(id),
                        variable,
                    },
                ..
            } => drop(found.insert(*variable, *id)),
            _ => {}
        }
        waiting.extend(step.inner());
    }
    found
}
