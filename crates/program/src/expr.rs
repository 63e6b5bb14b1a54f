//! Expressions and conditions of programs: what a statement compares, writes or is guarded by.

use crate::schema::ColumnId;
use std::cmp::Ordering;

/// A parameter of its transaction, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParameterId(pub u32);

/// A variable of its transaction, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// A statement of its transaction. In the body of a transaction: as the front end numbered them;
/// in a path: the position in [`crate::Path::statements`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementId(pub u32);

/// A part (one access of one table) of its statement, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartId(pub u32);

/// A query inside of its statement, by position in [`crate::Statement::nested`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NestedId(pub u32);

/// A value nothing is known about; two occurrences of the same id are the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownId(pub u32);

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A text; also dates, as written.
    Text(String),
    /// Values in order: an argument that is an array or a collection.
    List(Vec<Value>),
}

/// Operators of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `||`
    Concatenate,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds of two values that are so ordered.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The comparison that holds exactly when this one does not (NULL aside).
    pub fn negated(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }

    /// The comparison with its sides exchanged.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// `count(*)` or `count(e)`
    Count,
    /// `sum(e)`
    Sum,
    /// `min(e)`
    Min,
    /// `max(e)`
    Max,
    /// `avg(e)`
    Average,
}

/// A row of a statement's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// The row of that position, from 0.
    Nth(u32),
    /// The row the cursor stands on: moved by `Step::Advance` and by loops over rows. Paths have
    /// none of these.
    Cursor,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Constant(Value),
    /// A parameter of the transaction.
    Parameter(ParameterId),
    /// A variable. Paths have none of these: they are replaced by what was assigned.
    Variable(VariableId),
    /// A column of the row at hand in a part of the same statement (`bal` in `set bal = bal + ?`,
    /// or a column of the other table of a join).
    Column {
        /// The part whose row it is.
        part: PartId,
        /// The column.
        column: ColumnId,
    },
    /// A value of a row of an earlier statement's result.
    Field {
        /// The statement.
        statement: StatementId,
        /// The row.
        row: Row,
        /// The position in [`crate::Statement::outputs`].
        output: u32,
    },
    /// How many rows a statement returned, or changed.
    RowCount(StatementId),
    /// Two values combined.
    Arithmetic {
        /// How.
        operator: Operator,
        /// The first.
        left: Box<Expr>,
        /// The second.
        right: Box<Expr>,
    },
    /// An aggregate over the rows of a statement; only in outputs.
    Aggregate {
        /// Which.
        function: Aggregate,
        /// Of what; `None` in `count(*)`.
        argument: Option<Box<Expr>>,
        /// Whether equal values count once.
        distinct: bool,
    },
    /// One of two values.
    If {
        /// Which.
        condition: Box<Condition>,
        /// The value where it holds.
        then: Box<Expr>,
        /// The value where it does not.
        otherwise: Box<Expr>,
    },
    /// Values in order.
    List(Vec<Expr>),
    /// An element of a list.
    Element {
        /// The list.
        list: Box<Expr>,
        /// The position, from 0.
        index: Box<Expr>,
    },
    /// The number of elements of a list.
    Size(Box<Expr>),
    /// A function whose value depends on nothing but its arguments, and that is not interpreted.
    Call {
        /// Its name in lower case.
        name: String,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// A column of a row of a query inside of the same statement.
    Nested {
        /// The query.
        nested: NestedId,
        /// The position in its outputs.
        output: u32,
        /// What it is made of, over the tables of that query: for those who ask what is read, not for its value.
        value: Box<Expr>,
    },
    /// A value nothing is known about, except what it was computed from.
    Unknown {
        /// Tells unknowns apart.
        id: UnknownId,
        /// What it was computed from, so that data flow is not lost.
        reads: Vec<Expr>,
    },
}

impl Expr {
    /// A whole number.
    pub fn integer(value: i64) -> Expr {
        Expr::Constant(Value::Integer(value))
    }

    /// A text.
    pub fn text(value: impl Into<String>) -> Expr {
        Expr::Constant(Value::Text(value.into()))
    }

    /// `left operator right`.
    pub fn arithmetic(operator: Operator, left: Expr, right: Expr) -> Expr {
        Expr::Arithmetic {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        }
    }

    /// The expressions directly inside.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Constant(_)
            | Expr::Parameter(_)
            | Expr::Variable(_)
            | Expr::Column { .. }
            | Expr::Field { .. }
            | Expr::RowCount(_) => Vec::new(),
            Expr::Arithmetic { left, right, .. } => vec![left, right],
            Expr::Aggregate { argument, .. } => argument.iter().map(|a| &**a).collect(),
            Expr::If {
                condition,
                then,
                otherwise,
            } => {
                let mut all = condition.expressions();
                all.extend([&**then, &**otherwise]);
                all
            }
            Expr::Element { list, index } => vec![list, index],
            Expr::Size(inner) | Expr::Nested { value: inner, .. } => vec![inner],
            Expr::List(all)
            | Expr::Call { arguments: all, .. }
            | Expr::Unknown { reads: all, .. } => all.iter().collect(),
        }
    }

    /// This expression and all inside it.
    pub fn all(&self) -> Vec<&Expr> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(expr) = found.get(next) {
            found.extend(expr.children());
            next += 1;
        }
        found
    }

    /// This expression and all inside it that its own query computes: nothing inside of a nested query.
    pub fn own(&self) -> Vec<&Expr> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(expr) = found.get(next) {
            if !matches!(expr, Expr::Nested { .. }) {
                found.extend(expr.children());
            }
            next += 1;
        }
        found
    }

    /// The columns of one part of the statement that occur in it.
    pub fn columns_of(&self, wanted: PartId) -> Vec<ColumnId> {
        let column = |expr: &&Expr| match expr {
            Expr::Column { part, column } if *part == wanted => Some(*column),
            _ => None,
        };
        self.all().iter().filter_map(column).collect()
    }
}

/// A condition: the WHERE of a statement or the guard of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Always.
    True,
    /// Never.
    False,
    /// Two values compared.
    Compare {
        /// How.
        comparison: Comparison,
        /// The left side.
        left: Expr,
        /// The right side.
        right: Expr,
    },
    /// `e IS NULL`.
    IsNull(Expr),
    /// `e IN (…)`; a member that is a list stands for its elements.
    In {
        /// The value.
        value: Expr,
        /// The members.
        members: Vec<Expr>,
    },
    /// `e BETWEEN a AND b`.
    Between {
        /// The value.
        value: Expr,
        /// The least.
        low: Expr,
        /// The greatest.
        high: Expr,
    },
    /// `e LIKE pattern`.
    Like {
        /// The value.
        value: Expr,
        /// The pattern.
        pattern: Expr,
    },
    /// The part of the same statement (a sub-query) finds a row.
    Exists(PartId),
    /// The result of an earlier statement has that row.
    HasRow {
        /// The statement.
        statement: StatementId,
        /// The row.
        row: Row,
    },
    /// All of them.
    And(Vec<Condition>),
    /// One of them.
    Or(Vec<Condition>),
    /// Not that.
    Not(Box<Condition>),
    /// Nothing is known, except what it was computed from.
    Unknown {
        /// Tells unknowns apart.
        id: UnknownId,
        /// What it was computed from.
        reads: Vec<Expr>,
    },
}

impl Condition {
    /// `left comparison right`.
    pub fn compare(comparison: Comparison, left: Expr, right: Expr) -> Condition {
        Condition::Compare {
            comparison,
            left,
            right,
        }
    }

    /// The sub-queries that are asked whether they find a row.
    pub fn exists(&self) -> Vec<PartId> {
        let mut found = Vec::new();
        let mut waiting = vec![self];
        while let Some(condition) = waiting.pop() {
            match condition {
                Condition::Exists(part) => found.push(*part),
                Condition::And(all) | Condition::Or(all) => waiting.extend(all),
                Condition::Not(inner) => waiting.push(inner),
                _ => {}
            }
        }
        found
    }

    /// Both, with constants folded.
    pub fn and(self, other: Condition) -> Condition {
        match (self, other) {
            (Condition::True, one) | (one, Condition::True) => one,
            (Condition::False, _) | (_, Condition::False) => Condition::False,
            (Condition::And(mut all), Condition::And(more)) => {
                all.extend(more);
                Condition::And(all)
            }
            (Condition::And(mut all), one) => {
                all.push(one);
                Condition::And(all)
            }
            (one, two) => Condition::And(vec![one, two]),
        }
    }

    /// The opposite, with double negation and constants folded.
    pub fn negated(self) -> Condition {
        match self {
            Condition::True => Condition::False,
            Condition::False => Condition::True,
            Condition::Not(inner) => *inner,
            other => Condition::Not(Box::new(other)),
        }
    }

    /// The conditions joined by AND at the top.
    pub fn conjuncts(&self) -> Vec<&Condition> {
        let mut found = Vec::new();
        let mut waiting = vec![self];
        while let Some(condition) = waiting.pop() {
            match condition {
                Condition::And(all) => waiting.extend(all.iter().rev()),
                Condition::True => {}
                other => found.push(other),
            }
        }
        found
    }

    /// The expressions directly in this condition and in those inside it.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        let mut waiting = vec![self];
        while let Some(condition) = waiting.pop() {
            match condition {
                Condition::Compare { left, right, .. } => found.extend([left, right]),
                Condition::IsNull(value) => found.push(value),
                Condition::In { value, members } => {
                    found.push(value);
                    found.extend(members);
                }
                Condition::Between { value, low, high } => found.extend([value, low, high]),
                Condition::Like { value, pattern } => found.extend([value, pattern]),
                Condition::And(all) | Condition::Or(all) => waiting.extend(all.iter().rev()),
                Condition::Not(inner) => waiting.push(inner),
                Condition::Unknown { reads, .. } => found.extend(reads),
                Condition::True
                | Condition::False
                | Condition::Exists(_)
                | Condition::HasRow { .. } => {}
            }
        }
        found
    }

    /// The columns of one part of the statement that occur in it.
    pub fn columns_of(&self, part: PartId) -> Vec<ColumnId> {
        let inside = self.expressions().into_iter();
        inside.flat_map(|expr| expr.columns_of(part)).collect()
    }
}
