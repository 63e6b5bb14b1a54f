//! Arguments, and the rows that statements call by their keys.

use super::super::candidate::Candidate;
use super::super::constraint::{Constraints, Linear};
use super::{Encoder, Name, Symbol};
use crate::access::{Binding, Reach};
use crate::expr::{Aggregate, Condition, Expr, Row, Value};
use crate::ir::{Action, Part, Statement};
use crate::schema::{ColumnId, TableId, Type};
use rustc_hash::FxHashMap;

/// The greatest number of elements of a list that is an argument.
pub(in super::super) const ELEMENTS_MAX: usize = 3;
/// The greatest number of elements of one whose elements are called by their numbers.
const INDEXED_MAX: usize = 64;
/// The most rows of a table that no statement calls by key.
pub(in super::super) const OTHERS_MAX: usize = 4;
/// The most rows of a table that there are where a path counts them.
const COUNTED_MAX: usize = 12;
/// The distance of two texts of the program among all texts.
const TEXT_STEP: i64 = 1000;

/// The number that stands for a text of the program.
pub(in super::super) fn text_code(position: usize) -> i64 {
    (position as i64 + 1) * TEXT_STEP
}

/// All expressions of a statement.
pub(in super::super) fn expressions(statement: &Statement) -> Vec<&Expr> {
    let mut found: Vec<&Expr> = Vec::new();
    for part in &statement.parts {
        found.extend(part.filter.expressions());
        match &part.action {
            Action::Update { sets } => found.extend(sets.iter().map(|set| &set.value)),
            Action::Insert(insert) => {
                found.extend(insert.values.iter().map(|set| &set.value));
                if let crate::ir::OnConflict::Update(sets) = &insert.on_conflict {
                    found.extend(sets.iter().map(|set| &set.value));
                }
            }
            Action::Select(_) | Action::Delete => {}
        }
    }
    let nested = statement.nested.iter();
    let nested = nested.map(|one| (&one.outputs, &one.shape));
    for (outputs, shape) in nested.chain([(&statement.outputs, &*statement.shape)]) {
        found.extend(outputs.iter().map(|output| &output.value));
        found.extend(shape.order_by.iter().map(|order| &order.value));
        found.extend(shape.limit.iter());
        found.extend(shape.filter.iter().flat_map(Condition::expressions));
    }
    found
}

/// The texts that occur in the paths, in order.
pub(super) fn texts_of(candidate: &Candidate) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for run in &candidate.instances {
        let statements = run.path.statements.iter().flat_map(expressions);
        let guards = run.path.guards.iter();
        let guards = guards.flat_map(|guard| guard.condition.expressions());
        for expr in statements.chain(guards).flat_map(|expr| expr.all()) {
            if let Expr::Constant(Value::Text(text)) = expr {
                texts.push(text.clone());
            }
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

impl<'a> Encoder<'a> {
    /// A value to take for a variable where nothing is asked for: each another.
    fn default_of(&self, ty: Type, key: bool) -> i64 {
        let count = self.constraints.variables.len() as i64;
        match ty {
            Type::Boolean => 0,
            Type::Text | Type::Binary => text_code(self.texts.len()) + count,
            Type::Timestamp | Type::Time => 60 * count,
            Type::Date => count,
            _ if key => 1 + count + self.variation * (7 + 2 * count),
            _ => 100 + 10 * count + count % 7 + self.variation * (331 + 53 * count),
        }
    }

    /// A symbol of that type.
    pub(super) fn fresh(&mut self, name: String, ty: Type, key: bool) -> Symbol {
        if ty == Type::Boolean {
            let truth = self.constraints.truth(name, false);
            return self.truth_value(truth);
        }
        let default = self.default_of(ty, key);
        Encoder::scalar(self.number(name, ty, default))
    }

    pub(super) fn arguments(&mut self) {
        for (number, run) in self.candidate.instances.iter().enumerate() {
            if self.is_copy(number) {
                let own = self.arguments[self.original[number]].clone();
                self.arguments.push(own);
                continue;
            }
            let transaction = &self.program.transactions[run.transaction];
            let mut arguments = Vec::new();
            for (id, parameter) in (0..).zip(&transaction.parameters) {
                let name = format!("{}{}.{}", transaction.name, number, parameter.name);
                arguments.push(match parameter.ty {
                    Type::List => self.list(name, indexed(&run.path, id)),
                    ty => self.fresh(name, ty, true),
                });
            }
            self.arguments.push(arguments);
        }
    }

    /// A list of at most [`ELEMENTS_MAX`] elements; where one beyond these is called by its number, of as many as that
    /// takes.
    fn list(&mut self, name: String, indexed: usize) -> Symbol {
        let (least, most) = match indexed > ELEMENTS_MAX {
            true => (indexed, indexed),
            false => (0, ELEMENTS_MAX),
        };
        let mut items = Vec::new();
        for index in 0..most {
            items.push(self.fresh(format!("{name}[{index}]"), Type::Other, true));
        }
        let default = least.max(1) as i64;
        let size = self.number(format!("size of {name}"), Type::Integer, default);
        let bounds = [least, most].map(|bound| Linear::constant(bound as i64));
        let enough = self.constraints.at_most(&bounds[0], &size);
        let few = self.constraints.at_most(&size, &bounds[1]);
        self.constraints.require(enough);
        self.constraints.require(few);
        Symbol::List { size, items }
    }

    /// Names the rows of all statements, before any is executed: a search goes over all.
    pub(super) fn call_rows(&mut self) {
        let mut others: FxHashMap<TableId, usize> = FxHashMap::default();
        let mut counted: FxHashMap<TableId, usize> = FxHashMap::default();
        for (instance, run) in self.candidate.instances.iter().enumerate() {
            let mut known: Vec<(TableId, Vec<&'a Expr>, usize)> = Vec::new();
            let mut searched: FxHashMap<TableId, usize> = FxHashMap::default();
            for (position, statement) in run.path.statements.iter().enumerate() {
                for part in &statement.parts {
                    let at = (instance, position, part.id.0 as usize);
                    if self.is_copy(instance)
                        && let Some(name) = self.shared_name(at, part)
                    {
                        self.called.insert(at, name);
                        continue;
                    }
                    match self.key_of(part) {
                        Some(bindings) => self.call(at, part, &bindings, &mut known),
                        None if matches!(part.action, Action::Insert(_)) => {
                            let name = self.name(part.table, None);
                            self.called.insert(at, name);
                        }
                        // A copy searches among the rows that are there.
                        None if self.is_copy(instance) => {}
                        None => {
                            *searched.entry(part.table).or_default() +=
                                rows_wanted(&run.path, position);
                            let most = counted.entry(part.table).or_default();
                            *most = rows_counted(&run.path, position).max(*most);
                        }
                    }
                }
            }
            for (table, rows) in searched {
                *others.entry(table).or_default() += rows;
            }
        }
        let mut others: Vec<(TableId, usize)> = others.into_iter().collect();
        others.sort();
        for (table, rows) in others {
            let counted = counted.get(&table).copied().unwrap_or(0);
            self.caps.rows |= rows > OTHERS_MAX || counted > COUNTED_MAX;
            let first = self.names.len();
            for _ in 0..rows.min(OTHERS_MAX).max(counted.min(COUNTED_MAX)) {
                self.name(table, None);
            }
            self.set_apart(table, first);
        }
    }

    /// The rows from that one on, which no statement calls by key, are none of those that are called, and come in the
    /// order of their keys, with those that are there in front. Nothing is lost by this: one that were the row of
    /// another name could as well not be there, with a key of its own; and which of them is which does not matter.
    fn set_apart(&mut self, table: TableId, first: usize) {
        let declared = self.program.schema.table(table);
        let many = |column: &ColumnId| declared.columns[column.index()].ty != Type::Boolean;
        if !declared.primary_key.iter().any(many) {
            return;
        }
        for other in first..self.names.len() {
            for known in self.by_table[table.index()].clone() {
                if known < first {
                    let same = self.same_row(known, other);
                    let apart = self.constraints.not(same);
                    self.constraints.require(apart);
                }
            }
            if other > first {
                let (left, right) = (&self.names[other - 1], &self.names[other]);
                let keys = left.key.iter().cloned().zip(right.key.iter().cloned());
                let keys: Vec<(Linear, Linear)> = keys.collect();
                let (there, before) = (right.present, left.present);
                let ordered = self.lexically_less(&keys);
                let in_front = self.constraints.implies(there, before);
                self.constraints.require(ordered);
                self.constraints.require(in_front);
            }
        }
        for other in first..self.names.len() {
            self.names[other].apart = true;
        }
    }

    /// The key of the row a part reaches, if it does not depend on rows of other parts.
    pub(super) fn key_of<'b>(&self, part: &'b Part) -> Option<Vec<Binding<'b>>> {
        let Reach::Key(bindings) = part.reach(&self.program.schema) else {
            return None;
        };
        let free = |expr: &Expr| {
            let inside = expr.all();
            !inside.iter().any(|one| matches!(one, Expr::Column { .. }))
        };
        bindings
            .iter()
            .all(|bound| free(bound.value))
            .then_some(bindings)
    }

    /// The name for a key; the same for the same expressions of the same instance.
    fn call(
        &mut self,
        at: (usize, usize, usize),
        part: &'a Part,
        bindings: &[Binding<'a>],
        known: &mut Vec<(TableId, Vec<&'a Expr>, usize)>,
    ) {
        let values: Vec<&'a Expr> = bindings.iter().map(|bound| bound.value).collect();
        let same = known
            .iter()
            .find(|(table, other, _)| *table == part.table && *other == values);
        let name = match same {
            Some((_, _, name)) => *name,
            None => {
                let key = bindings
                    .iter()
                    .map(|bound| self.early(at.0, bound.value))
                    .collect();
                let name = self.name(part.table, Some(key));
                known.push((part.table, values, name));
                name
            }
        };
        self.called.insert(at, name);
    }

    /// The value of an expression that needs no execution: a constant or a parameter.
    pub(super) fn early(&mut self, instance: usize, expr: &Expr) -> Option<Linear> {
        let symbol = match expr {
            Expr::Constant(value) => self.constant(value),
            Expr::Parameter(id) => self.arguments[instance].get(id.0 as usize)?.clone(),
            _ => return None,
        };
        match symbol {
            Symbol::Scalar {
                null: Constraints::FALSE,
                value,
            } => Some(value),
            _ => None,
        }
    }

    /// A new row. Key columns not given are variables.
    fn name(&mut self, table: TableId, key: Option<Vec<Option<Linear>>>) -> usize {
        let number = self.names.len();
        let called = key.is_some();
        let declared = self.program.schema.table(table);
        let mut given = key.unwrap_or_default().into_iter();
        let mut key = Vec::new();
        for column in &declared.primary_key {
            let declared = &declared.columns[column.index()];
            let value = given.next().flatten();
            key.push(match value {
                Some(value) => {
                    self.learn_type(&Encoder::scalar(value.clone()), declared.ty);
                    value
                }
                None => match self.fresh(format!("r{number}.{}", declared.name), declared.ty, true)
                {
                    Symbol::Scalar { value, .. } => value,
                    Symbol::List { size, .. } => size,
                },
            });
        }
        let present = self
            .constraints
            .truth(format!("r{number} of {}", declared.name), called);
        self.names.push(Name {
            table,
            key,
            present,
            apart: false,
            cells: FxHashMap::default(),
        });
        self.by_table[table.index()].push(number);
        number
    }
}

/// How many elements of a parameter the path calls by a number.
fn indexed(path: &crate::paths::Path, parameter: u32) -> usize {
    let guards = path.guards.iter();
    let guards = guards.flat_map(|guard| guard.condition.expressions());
    let statements = path.statements.iter().flat_map(expressions);
    let mut most = 0;
    for expr in statements.chain(guards).flat_map(|expr| expr.all()) {
        let Expr::Element { list, index } = expr else {
            continue;
        };
        if let (Expr::Parameter(id), Expr::Constant(Value::Integer(at))) = (&**list, &**index)
            && id.0 == parameter
            && let Ok(at) = usize::try_from(*at)
        {
            most = most.max(at.saturating_add(1).min(INDEXED_MAX));
        }
    }
    most
}

/// The least number of rows with which the path goes on as it does, where it compares how many there are with constants.
fn rows_counted(path: &crate::paths::Path, statement: usize) -> usize {
    let output = |at: u32| {
        let output = path.statements[statement].outputs.get(at as usize);
        output.map(|output| &output.value)
    };
    let is_count = |expr: &Expr| match expr {
        Expr::RowCount(of) => of.0 as usize == statement,
        Expr::Field {
            statement: of,
            output: at,
            ..
        } if of.0 as usize == statement => matches!(
            output(*at),
            Some(Expr::Aggregate {
                function: Aggregate::Count,
                ..
            })
        ),
        _ => false,
    };
    let mut most = 0;
    let guards = path
        .guards
        .iter()
        .flat_map(|guard| guard.condition.conjuncts());
    for guard in guards {
        let (condition, wanted) = match guard {
            Condition::Not(inner) => (&**inner, false),
            other => (other, true),
        };
        let Condition::Compare {
            comparison,
            left,
            right,
        } = condition
        else {
            continue;
        };
        let (comparison, number) = match (left, right) {
            (count, Expr::Constant(Value::Integer(number))) if is_count(count) => {
                (*comparison, *number)
            }
            (Expr::Constant(Value::Integer(number)), count) if is_count(count) => {
                (comparison.mirrored(), *number)
            }
            _ => continue,
        };
        let fits = |count: &usize| comparison.holds((*count as i64).cmp(&number)) == wanted;
        most = most.max((0..=COUNTED_MAX).find(fits).unwrap_or(COUNTED_MAX + 1));
    }
    most
}

/// How many rows of a search the path looks at.
fn rows_wanted(path: &crate::paths::Path, statement: usize) -> usize {
    let mut most = 1;
    let mut see = |of: u32, row: Row| {
        if let (true, Row::Nth(row)) = (of as usize == statement, row) {
            most = most.max(row as usize + 1);
        }
    };
    for guard in &path.guards {
        let mut waiting = vec![&guard.condition];
        while let Some(condition) = waiting.pop() {
            match condition {
                Condition::HasRow { statement, row } => see(statement.0, *row),
                Condition::And(all) | Condition::Or(all) => waiting.extend(all),
                // That a row is not there needs none.
                _ => {}
            }
        }
    }
    let inside = path.statements.iter().flat_map(expressions);
    for expr in inside.flat_map(|expr| expr.all()) {
        if let Expr::Field { statement, row, .. } = expr {
            see(statement.0, *row);
        }
    }
    most
}
