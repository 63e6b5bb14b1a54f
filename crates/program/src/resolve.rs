//! Expressions of a body made into expressions of a path: variables replaced by what was
//! assigned, cursors by row numbers, constants folded.

use crate::expr::{Comparison, Condition, Expr, Operator, Row, StatementId, UnknownId, Value};
use crate::ir::{Action, Insert, OnConflict, Output, Part, Set, Shape, Statement};
use rustc_hash::FxHashMap;

/// An expression that grows beyond this many nodes becomes an unknown that reads its leaves.
const NODES_MAX: usize = 400;

/// Where a statement of the body was executed last, and where its cursor stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    /// The position in the path.
    pub position: StatementId,
    /// How often the cursor was advanced.
    pub advanced: u32,
}

/// What is known while a path is followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    /// The value of each variable, by its id.
    pub variables: FxHashMap<u32, Expr>,
    /// The latest instance of each statement of the body.
    pub instances: FxHashMap<u32, Instance>,
    /// The next unknown.
    pub unknown_next: u32,
    /// Where the unknowns come from: of the body, and which evaluation of it; by their number.
    /// Nothing for those that the path itself makes up.
    pub origins: Vec<Option<(UnknownId, u32)>>,
    /// Where values of statements that are not there may be anything, also NULL: these values so far, so that
    /// each is the same wherever it is mentioned.
    pub lost: Option<Vec<(Expr, Expr)>>,
}

impl Bindings {
    fn draw(&mut self, origin: Option<UnknownId>) -> UnknownId {
        let number = UnknownId(self.unknown_next);
        self.unknown_next += 1;
        let of = |id: UnknownId| {
            let earlier = self.origins.iter().flatten().filter(|(of, _)| *of == id);
            (id, earlier.count() as u32)
        };
        let origin = origin.map(of);
        self.origins.resize(number.0 as usize, None);
        self.origins.push(origin);
        number
    }
}

/// Resolves what one step mentions. Unknowns are drawn anew for each step, the same within it.
pub(crate) struct Resolver<'a> {
    bindings: &'a mut Bindings,
    drawn: FxHashMap<u32, UnknownId>,
}

impl<'a> Resolver<'a> {
    pub fn new(bindings: &'a mut Bindings) -> Resolver<'a> {
        Resolver {
            bindings,
            drawn: FxHashMap::default(),
        }
    }

    fn draw(&mut self, id: UnknownId) -> UnknownId {
        let bindings = &mut *self.bindings;
        let drawn = self.drawn.entry(id.0);
        *drawn.or_insert_with(|| bindings.draw(Some(id)))
    }

    fn fresh(&mut self, reads: Vec<Expr>) -> Expr {
        let id = self.bindings.draw(None);
        Expr::Unknown { id, reads }
    }

    /// The expression over the path.
    pub fn expr(&mut self, expr: &Expr) -> Expr {
        let resolved = self.expr_of(expr);
        match self.bindings.lost.is_none() && resolved.all().len() > NODES_MAX {
            false => resolved,
            true => {
                let reads = leaves(&resolved);
                self.fresh(reads)
            }
        }
    }

    fn list(&mut self, all: &[Expr]) -> Vec<Expr> {
        all.iter().map(|one| self.expr_of(one)).collect()
    }

    fn expr_of(&mut self, expr: &Expr) -> Expr {
        match expr {
            Expr::Variable(id) => self.variable(id.0),
            Expr::Field {
                statement,
                row,
                output,
            } => self.field(expr, *statement, *row, *output),
            Expr::RowCount(statement) => self.row_count(*statement),
            Expr::Arithmetic {
                operator,
                left,
                right,
            } => fold_arithmetic(*operator, self.expr_of(left), self.expr_of(right)),
            Expr::Aggregate {
                function,
                argument,
                distinct,
            } => Expr::Aggregate {
                function: *function,
                argument: argument.as_ref().map(|one| Box::new(self.expr_of(one))),
                distinct: *distinct,
            },
            Expr::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.condition(condition);
                choose(condition, self.expr_of(then), self.expr_of(otherwise))
            }
            Expr::List(all) => Expr::List(self.list(all)),
            Expr::Element { list, index } => fold_element(self.expr_of(list), self.expr_of(index)),
            Expr::Size(list) => match self.expr_of(list) {
                Expr::List(all) => Expr::integer(all.len() as i64),
                other => Expr::Size(Box::new(other)),
            },
            Expr::Call { name, arguments } => {
                let arguments = self.list(arguments);
                match name.strip_prefix(FIELD) {
                    Some(field) if arguments.len() == 1 => fold_field(field, arguments),
                    _ => Expr::Call {
                        name: name.clone(),
                        arguments,
                    },
                }
            }
            Expr::Nested {
                nested,
                output,
                value,
            } => Expr::Nested {
                nested: *nested,
                output: *output,
                value: Box::new(self.expr_of(value)),
            },
            Expr::Unknown { id, reads } => Expr::Unknown {
                id: self.draw(*id),
                reads: self.list(reads),
            },
            Expr::Constant(_) | Expr::Parameter(_) | Expr::Column { .. } => expr.clone(),
        }
    }

    fn variable(&mut self, id: u32) -> Expr {
        match self.bindings.variables.get(&id) {
            Some(value) => value.clone(),
            // Read before any assignment on this path: an unknown from here on.
            None => {
                let value = self.fresh(Vec::new());
                self.bindings.variables.insert(id, value.clone());
                value
            }
        }
    }

    fn field(&mut self, expr: &Expr, statement: StatementId, row: Row, output: u32) -> Expr {
        match self.bindings.instances.get(&statement.0).copied() {
            Some(instance) => Expr::Field {
                statement: instance.position,
                row: row_of(row, instance),
                output,
            },
            None => self.lost(expr),
        }
    }

    fn row_count(&mut self, statement: StatementId) -> Expr {
        match self.bindings.instances.get(&statement.0) {
            Some(instance) => Expr::RowCount(instance.position),
            None => self.lost(&Expr::RowCount(statement)),
        }
    }

    /// A value of a statement that is not there.
    fn lost(&mut self, expr: &Expr) -> Expr {
        let mut known = self.bindings.lost.iter().flatten();
        if let Some((_, value)) = known.find(|(one, _)| one == expr) {
            return value.clone();
        }
        let value = self.fresh(Vec::new());
        if self.bindings.lost.is_none() {
            return value;
        }
        let value = Expr::If {
            condition: Box::new(Condition::Unknown {
                id: self.bindings.draw(None),
                reads: Vec::new(),
            }),
            then: Box::new(Expr::Constant(Value::Null)),
            otherwise: Box::new(value),
        };
        let lost = self.bindings.lost.iter_mut();
        lost.for_each(|lost| lost.push((expr.clone(), value.clone())));
        value
    }

    /// The condition over the path.
    pub fn condition(&mut self, condition: &Condition) -> Condition {
        match condition {
            Condition::Compare {
                comparison,
                left,
                right,
            } => fold_compare(*comparison, self.expr(left), self.expr(right)),
            Condition::IsNull(value) => match self.expr(value) {
                Expr::If {
                    condition,
                    then,
                    otherwise,
                } => match (is_null(*then), is_null(*otherwise)) {
                    (Condition::False, Condition::True) => condition.negated(),
                    (Condition::True, Condition::False) => *condition,
                    (then, otherwise) => {
                        let first = condition.clone().and(then);
                        fold_or(vec![first, condition.negated().and(otherwise)])
                    }
                },
                other => is_null(other),
            },
            Condition::In { value, members } => Condition::In {
                value: self.expr(value),
                members: members.iter().map(|one| self.expr(one)).collect(),
            },
            Condition::Between { value, low, high } => Condition::Between {
                value: self.expr(value),
                low: self.expr(low),
                high: self.expr(high),
            },
            Condition::Like { value, pattern } => Condition::Like {
                value: self.expr(value),
                pattern: self.expr(pattern),
            },
            Condition::HasRow { statement, row } => {
                match self.bindings.instances.get(&statement.0).copied() {
                    Some(instance) => Condition::HasRow {
                        statement: instance.position,
                        row: row_of(*row, instance),
                    },
                    None if self.bindings.lost.is_some() => Condition::Unknown {
                        id: self.bindings.draw(None),
                        reads: Vec::new(),
                    },
                    None => Condition::False,
                }
            }
            Condition::And(all) => {
                let all = all.iter().map(|one| self.condition(one));
                all.fold(Condition::True, Condition::and)
            }
            Condition::Or(all) => {
                let all: Vec<Condition> = all.iter().map(|one| self.condition(one)).collect();
                fold_or(all)
            }
            Condition::Not(inner) => self.condition(inner).negated(),
            Condition::Unknown { id, reads } => Condition::Unknown {
                id: self.draw(*id),
                reads: reads.iter().map(|one| self.expr(one)).collect(),
            },
            Condition::True | Condition::False | Condition::Exists(_) => condition.clone(),
        }
    }

    fn sets(&mut self, sets: &[Set]) -> Vec<Set> {
        let set = |set: &Set| Set {
            column: set.column,
            value: self.expr(&set.value),
        };
        sets.iter().map(set).collect()
    }

    fn part(&mut self, part: &Part) -> Part {
        let action = match &part.action {
            Action::Update { sets } => Action::Update {
                sets: self.sets(sets),
            },
            Action::Insert(insert) => Action::Insert(Insert {
                values: self.sets(&insert.values),
                on_conflict: match &insert.on_conflict {
                    OnConflict::Update(sets) => OnConflict::Update(self.sets(sets)),
                    other => other.clone(),
                },
                from_select: insert.from_select,
            }),
            other => other.clone(),
        };
        Part {
            id: part.id,
            table: part.table,
            filter: self.condition(&part.filter),
            action,
        }
    }

    /// The statement over the path, at that position of it.
    pub fn statement(&mut self, statement: &Statement, position: StatementId) -> Statement {
        let mut resolved = statement.clone();
        resolved.id = position;
        resolved.parts = statement.parts.iter().map(|part| self.part(part)).collect();
        for argument in &mut resolved.arguments {
            argument.value = self.expr(&argument.value);
        }
        self.outputs(&mut resolved.outputs);
        self.shape(&mut resolved.shape);
        for nested in &mut resolved.nested {
            self.outputs(&mut nested.outputs);
            self.shape(&mut nested.shape);
            nested.filter = self.condition(&nested.filter);
        }
        resolved
    }

    fn outputs(&mut self, outputs: &mut [Output]) {
        for output in outputs {
            output.value = self.expr(&output.value);
        }
    }

    fn shape(&mut self, shape: &mut Shape) {
        for order in &mut shape.order_by {
            order.value = self.expr(&order.value);
        }
        for key in &mut shape.group_by {
            *key = self.expr(key);
        }
        for condition in shape.filter.iter_mut().chain(&mut shape.having) {
            *condition = self.condition(condition);
        }
        for number in shape.limit.iter_mut().chain(&mut shape.offset) {
            *number = self.expr(number);
        }
    }
}

/// Whether a value is null, where that is known of its form.
fn is_null(value: Expr) -> Condition {
    match value {
        Expr::Constant(Value::Null) => Condition::True,
        Expr::Constant(_) => Condition::False,
        // An object that was made is there, whatever is in it.
        Expr::Call { name, .. } if name == OBJECT || name == WITH => Condition::False,
        other => Condition::IsNull(other),
    }
}

/// A row that was not advanced to is taken for the first.
fn row_of(row: Row, instance: Instance) -> Row {
    match row {
        Row::Nth(_) => row,
        Row::Cursor => Row::Nth(instance.advanced.saturating_sub(1)),
    }
}

/// The different leaves of an expression that carry data.
fn leaves(expr: &Expr) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    for leaf in expr.all() {
        let data = matches!(
            leaf,
            Expr::Parameter(_) | Expr::Field { .. } | Expr::RowCount(_) | Expr::Column { .. }
        );
        if data && !found.contains(leaf) && found.len() < NODES_MAX {
            found.push(leaf.clone());
        }
    }
    found
}

/// `if condition then a else b`, folded.
pub(crate) fn choose(condition: Condition, then: Expr, otherwise: Expr) -> Expr {
    match condition {
        Condition::True => then,
        Condition::False => otherwise,
        _ if then == otherwise => then,
        condition => Expr::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        },
    }
}

/// Arithmetic, folded where both sides are whole numbers or texts to be joined.
pub fn fold_arithmetic(operator: Operator, left: Expr, right: Expr) -> Expr {
    if let (Expr::Constant(Value::Integer(a)), Expr::Constant(Value::Integer(b))) = (&left, &right)
    {
        let folded = match operator {
            Operator::Add => a.checked_add(*b),
            Operator::Subtract => a.checked_sub(*b),
            Operator::Multiply => a.checked_mul(*b),
            Operator::Divide => a.checked_div(*b),
            Operator::Remainder => a.checked_rem(*b),
            Operator::Concatenate => None,
        };
        if let Some(value) = folded {
            return Expr::integer(value);
        }
    }
    if let (Operator::Concatenate, Expr::Constant(Value::Text(a)), Expr::Constant(Value::Text(b))) =
        (operator, &left, &right)
    {
        return Expr::text(format!("{a}{b}"));
    }
    Expr::arithmetic(operator, left, right)
}

/// The name of the call that stands for a list with one element replaced.
pub(crate) const STORE: &str = "store";

/// The name of the call that stands for an object: names and values of its fields in turn.
pub(crate) const OBJECT: &str = "object";
/// The name of the call that stands for an object with one field replaced.
pub(crate) const WITH: &str = "with";
/// What the name of the call for a field begins with.
pub(crate) const FIELD: &str = "field_";

/// A field of an object, through choices and replaced fields.
fn fold_field(field: &str, mut arguments: Vec<Expr>) -> Expr {
    let named = |name: &Expr| *name == Expr::text(field);
    let Some(mut object) = arguments.pop() else {
        return Expr::Constant(Value::Null);
    };
    loop {
        match object {
            Expr::Call { name, arguments } if name == WITH && arguments.len() == 3 => {
                let mut arguments = arguments.into_iter();
                match (arguments.next(), arguments.next(), arguments.next()) {
                    (_, Some(name), Some(value)) if named(&name) => return value,
                    (Some(inner), _, _) => object = inner,
                    _ => return Expr::Constant(Value::Null),
                }
            }
            Expr::Call { name, arguments } if name == OBJECT => {
                let at = arguments.iter().step_by(2).position(named);
                let value = at.and_then(|at| arguments.into_iter().nth(2 * at + 1));
                return value.unwrap_or(Expr::Constant(Value::Null));
            }
            Expr::If {
                condition,
                then,
                otherwise,
            } => {
                // What has no row is null, and nobody gets a field of that.
                let null = Expr::Constant(Value::Null);
                match (*then == null, *otherwise == null) {
                    (true, _) => object = *otherwise,
                    (_, true) => object = *then,
                    (false, false) => {
                        let then = fold_field(field, vec![*then]);
                        return choose(*condition, then, fold_field(field, vec![*otherwise]));
                    }
                }
            }
            object => {
                return Expr::Call {
                    name: format!("{FIELD}{field}"),
                    arguments: vec![object],
                };
            }
        }
    }
}

/// The element of a list; through choices, and through stores: at another position, at the same
/// one, or perhaps at the same one.
fn fold_element(list: Expr, index: Expr) -> Expr {
    match list {
        Expr::Call { name, arguments } if name == STORE && arguments.len() == 3 => {
            let mut arguments = arguments.into_iter();
            let (inner, at, value) = (arguments.next(), arguments.next(), arguments.next());
            let (Some(inner), Some(at), Some(value)) = (inner, at, value) else {
                return index;
            };
            match fold_compare(Comparison::Equal, at, index.clone()) {
                Condition::True => value,
                Condition::False => fold_element(inner, index),
                same => choose(same, value, fold_element(inner, index)),
            }
        }
        Expr::If {
            condition,
            then,
            otherwise,
        } => {
            let then = fold_element(*then, index.clone());
            choose(*condition, then, fold_element(*otherwise, index))
        }
        Expr::List(all) => {
            let at = match &index {
                Expr::Constant(Value::Integer(at)) => usize::try_from(*at).ok(),
                _ => None,
            };
            match at.and_then(|at| all.get(at).cloned()) {
                Some(found) => found,
                None => Expr::Element {
                    list: Box::new(Expr::List(all)),
                    index: Box::new(index),
                },
            }
        }
        list => Expr::Element {
            list: Box::new(list),
            index: Box::new(index),
        },
    }
}

fn fold_or(all: Vec<Condition>) -> Condition {
    if all.contains(&Condition::True) {
        return Condition::True;
    }
    let mut left: Vec<Condition> = Vec::new();
    left.extend(all.into_iter().filter(|one| *one != Condition::False));
    match left.len() {
        0 => Condition::False,
        1 => left.remove(0),
        _ => Condition::Or(left),
    }
}

fn fold_compare(comparison: Comparison, left: Expr, right: Expr) -> Condition {
    // A column or a field may be NULL, which equals nothing.
    let nullable = matches!(left, Expr::Column { .. } | Expr::Field { .. });
    if comparison == Comparison::Equal && left == right && !nullable {
        return Condition::True;
    }
    if let Some(condition) = fold_truth(comparison, &left, &right) {
        return condition;
    }
    let order = match (&left, &right) {
        (Expr::Constant(Value::Integer(a)), Expr::Constant(Value::Integer(b))) => a.cmp(b),
        (Expr::Constant(Value::Text(a)), Expr::Constant(Value::Text(b))) => a.cmp(b),
        (Expr::Constant(Value::Boolean(a)), Expr::Constant(Value::Boolean(b))) => a.cmp(b),
        _ => return Condition::compare(comparison, left, right),
    };
    match comparison.holds(order) {
        true => Condition::True,
        false => Condition::False,
    }
}

/// `(c ? true : false) = true` is c.
fn fold_truth(comparison: Comparison, left: &Expr, right: &Expr) -> Option<Condition> {
    let wanted = match (comparison, right) {
        (Comparison::Equal, Expr::Constant(Value::Boolean(wanted))) => *wanted,
        (Comparison::NotEqual, Expr::Constant(Value::Boolean(wanted))) => !*wanted,
        _ => return None,
    };
    let Expr::If {
        condition,
        then,
        otherwise,
    } = left
    else {
        return None;
    };
    match (&**then, &**otherwise) {
        (Expr::Constant(Value::Boolean(yes)), Expr::Constant(Value::Boolean(no))) if yes != no => {
            match *yes == wanted {
                true => Some((**condition).clone()),
                false => Some((**condition).clone().negated()),
            }
        }
        _ => None,
    }
}
