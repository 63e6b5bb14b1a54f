//! A candidate as constraints: its paths executed with symbols for values, in the order given.
//!
//! Definition: the constraints hold for some values iff there are arguments, rows and unknown
//! values under which every instance follows its path, each statement sees the writes it shall
//! see, and every edge is real: had the reader seen the other state, its result would differ.
//! Steps: every key that a statement looks up *names* a row of its table; two names may be the same
//! row, where their keys are equal. A search goes over all names of its table and a few more. The
//! value of a cell is that of the latest visible write that applied to it, by cases, else the
//! initial one. Guards, edges and keys are then formulas over these.
//! Cost: for each statement, the names of its table times the visible writes of that table.
//! Source: the encoding of Rahmani et al. (OOPSLA 2019) asks for the same with quantifiers over
//! rows; naming rows by keys makes it finite, and complete up to the number of rows of a search.

mod condition;
mod edges;
mod execute;
mod initial;
mod names;
mod result;
mod serial;
mod value;
mod view;

use super::candidate::Candidate;
use super::constraint::{Constraints, Formula, Linear, Variable};
use crate::expr::Value;
use crate::ir::{Program, Statement};
use crate::scenario::{Event, Point};
use crate::schema::{ColumnId, TableId, Type};
pub(super) use names::{ELEMENTS_MAX, OTHERS_MAX, expressions, text_code};
use rustc_hash::FxHashMap;
pub(super) use serial::copied;
use std::rc::Rc;

/// A value: a number that may be NULL, or a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Symbol {
    /// A number.
    Scalar {
        /// Whether it is NULL; the number then means nothing.
        null: Formula,
        /// The number.
        value: Linear,
    },
    /// Values in order; those from `size` on are not there.
    List {
        /// How many there are.
        size: Linear,
        /// The greatest number there may be.
        items: Vec<Symbol>,
    },
}

/// Bounds of the encoding that were met: what is contradictory may not be so beyond them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Caps {
    /// Searches that may find more rows of a table than there are names for.
    pub rows: bool,
    /// Joins of more rows than were followed.
    pub joins: bool,
    /// Something that is not followed: a key that changes, an insert of several rows.
    pub not_followed: bool,
}

impl Caps {
    /// Those that were met here or there.
    pub fn add(&mut self, other: Caps) {
        self.rows |= other.rows;
        self.joins |= other.joins;
        self.not_followed |= other.not_followed;
    }
}

/// Of two types that are compared, or of which one is written to the other, the stronger one decides how values look.
pub(super) fn strength(ty: Type) -> u8 {
    match ty {
        Type::Date => 5,
        Type::Time => 4,
        Type::Timestamp => 3,
        Type::Text => 1,
        Type::Other => 0,
        _ => 2,
    }
}

/// A row of a table, called by its key.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The table.
    pub table: TableId,
    /// The key; empty where the table has none.
    pub key: Vec<Linear>,
    /// Whether the row is there before anything runs.
    pub present: Formula,
    /// Whether it is the row of no other name.
    pub apart: bool,
    /// The cells looked at before anything is written to them.
    pub cells: FxHashMap<ColumnId, Symbol>,
}

/// A row as one write changed it.
#[derive(Clone, Debug)]
struct WrittenRow {
    name: usize,
    /// Whether it was changed at all.
    when: Formula,
    values: Vec<(ColumnId, Symbol)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteKind {
    Insert,
    Update,
    Delete,
}

/// What one part of a statement wrote.
#[derive(Clone, Debug)]
struct Write {
    point: Point,
    turn: usize,
    table: TableId,
    kind: WriteKind,
    rows: Vec<WrittenRow>,
    /// Whether every name of the table is among the rows; else there is one, called by its key.
    scan: bool,
}

/// The writes a statement sees, by position, in order.
type View = Rc<Vec<usize>>;

/// Rows that a statement has joined.
#[derive(Clone, Debug)]
struct Tuple {
    /// A name for each part; nothing for those that are not in the result.
    rows: Vec<Option<usize>>,
    /// Whether the rows are in the result.
    when: Formula,
}

/// Where an expression stands.
#[derive(Clone)]
struct Here {
    instance: usize,
    statement: usize,
    rows: Vec<Option<usize>>,
    view: View,
}

type FieldKey = (usize, usize, u32, u32, View);

/// A candidate as constraints, and what their variables stand for.
pub(super) struct Encoder<'a> {
    program: &'a Program,
    candidate: &'a Candidate,
    /// Which instance each one is a copy of; itself where it is none.
    original: Vec<usize>,
    /// What copies need in order to go on.
    demanded: Vec<(usize, Formula)>,
    /// Which values to prefer where there is a choice.
    variation: i64,
    /// The constraints.
    pub constraints: Constraints,
    /// The rows.
    pub names: Vec<Name>,
    /// The arguments of each instance.
    pub arguments: Vec<Vec<Symbol>>,
    /// The unknowns of each instance.
    pub unknowns: FxHashMap<(usize, u32), Symbol>,
    /// The type of a variable's value, as far as known.
    pub types: FxHashMap<Variable, Type>,
    /// Variables whose values are compared or copied.
    pub links: Vec<(Variable, Variable)>,
    /// The texts in the program, in order.
    pub texts: Vec<String>,
    /// Which bounds were met.
    pub caps: Caps,
    writes: Vec<Write>,
    /// The names that a part looks up or inserts, by instance, statement and part.
    called: FxHashMap<(usize, usize, usize), usize>,
    by_table: Vec<Vec<usize>>,
    views: FxHashMap<(usize, usize), View>,
    fields: FxHashMap<FieldKey, Symbol>,
    matched: FxHashMap<(usize, usize, View), Rc<Vec<Tuple>>>,
    calls: Vec<(String, Vec<Symbol>, Symbol)>,
    /// The values that a new row gets by itself.
    generated: FxHashMap<(usize, ColumnId), Symbol>,
}

/// A row that was written: its name, whether it was, and the cells.
pub(super) type Written<'e> = (usize, Formula, &'e [(ColumnId, Symbol)]);

impl<'a> Encoder<'a> {
    /// The rows that are written.
    pub(super) fn written_rows(&self) -> impl Iterator<Item = Written<'_>> {
        let own = |write: &&Write| !self.is_copy(write.point.instance);
        let rows = self.writes.iter().filter(own).flat_map(|write| &write.rows);
        rows.map(|row| (row.name, row.when, row.values.as_slice()))
    }

    /// Encodes a candidate. Its schedule must be complete. The variation changes which values are
    /// preferred where there is a choice.
    pub fn new(program: &'a Program, candidate: &'a Candidate, variation: u32) -> Encoder<'a> {
        let original = (0..candidate.instances.len()).collect();
        let mut encoder = Encoder::of(program, candidate, original, variation);
        encoder.encode();
        encoder.initial_rows();
        encoder
    }

    /// Nothing encoded yet.
    fn of(
        program: &'a Program,
        candidate: &'a Candidate,
        original: Vec<usize>,
        variation: u32,
    ) -> Encoder<'a> {
        Encoder {
            program,
            candidate,
            original,
            demanded: Vec::new(),
            variation: i64::from(variation),
            constraints: Constraints::default(),
            names: Vec::new(),
            arguments: Vec::new(),
            unknowns: FxHashMap::default(),
            types: FxHashMap::default(),
            links: Vec::new(),
            texts: names::texts_of(candidate),
            caps: Caps::default(),
            writes: Vec::new(),
            called: FxHashMap::default(),
            by_table: vec![Vec::new(); program.schema.tables.len()],
            views: FxHashMap::default(),
            fields: FxHashMap::default(),
            matched: FxHashMap::default(),
            calls: Vec::new(),
            generated: FxHashMap::default(),
        }
    }

    /// Everything but the initial rows, which are as many as were looked at.
    fn encode(&mut self) {
        let candidate = self.candidate;
        self.arguments();
        self.call_rows();
        for (turn, step) in candidate.schedule.iter().enumerate() {
            if let Event::Statement(position) = step.event {
                self.execute(turn, step.instance, position as usize);
            }
        }
        for edge in &candidate.edges {
            self.edge(edge);
        }
        for (first, second) in &candidate.apart {
            self.keep_apart(*first, *second);
        }
        self.guards();
    }

    fn statement(&self, instance: usize, statement: usize) -> &'a Statement {
        &self.candidate.instances[instance].path.statements[statement]
    }

    /// A number of that type.
    fn number(&mut self, name: String, ty: Type, default: i64) -> Linear {
        let variable = self.constraints.number(name, default);
        self.types.insert(variable, ty);
        Linear::variable(variable)
    }

    /// A value that is not NULL.
    fn scalar(value: Linear) -> Symbol {
        Symbol::Scalar {
            null: Constraints::FALSE,
            value,
        }
    }

    fn null() -> Symbol {
        Symbol::Scalar {
            null: Constraints::TRUE,
            value: Linear::constant(0),
        }
    }

    /// A value nothing is known about.
    fn opaque(&mut self) -> Symbol {
        let count = self.constraints.variables.len();
        let variable = self.constraints.number(format!("any{count}"), count as i64);
        Encoder::scalar(Linear::variable(variable))
    }

    /// A constant as a symbol.
    fn constant(&mut self, value: &Value) -> Symbol {
        match value {
            Value::Null => Encoder::null(),
            Value::Boolean(truth) => Encoder::scalar(Linear::constant(i64::from(*truth))),
            Value::Integer(number) => {
                let term = Linear::constant(*number);
                match term.is_small() {
                    true => Encoder::scalar(term),
                    false => self.function(number.to_string(), Vec::new()),
                }
            }
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 1e9 => {
                Encoder::scalar(Linear::constant(*number as i64))
            }
            Value::Real(number) => self.function(number.to_string(), Vec::new()),
            Value::Text(text) => match self.texts.binary_search(text) {
                Ok(at) => Encoder::scalar(Linear::constant(names::text_code(at))),
                Err(_) => self.opaque(),
            },
            Value::List(all) => {
                let items: Vec<Symbol> = all.iter().map(|one| self.constant(one)).collect();
                Symbol::List {
                    size: Linear::constant(items.len() as i64),
                    items,
                }
            }
        }
    }

    /// The two have the same type.
    fn link(&mut self, left: &Linear, right: &Linear) {
        if let (Some(left), Some(right)) = (left.single(), right.single())
            && left != right
        {
            self.links.push((left, right));
        }
    }
}
