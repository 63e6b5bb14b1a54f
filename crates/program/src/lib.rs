//! Transactions of an application, read from its sources, and what can go wrong with them.

mod access;
pub mod analysis;
mod execute;
mod expr;
mod ir;
mod java;
mod log;
mod paths;
mod place;
mod print;
pub mod replay;
mod resolve;
pub mod robust;
mod scenario;
mod schema;
mod sources;
mod sql;
mod sqlfile;
mod supplied;
mod testcase;

pub use access::{Binding, ColumnSet, Reach};
pub use execute::{
    Abort, Appearance, Bound, Broken, Call, Cell, Change, Effect, Engine, ExecuteError, Fate, How,
    InsertedKey, Judgement, Looked, Next, Numbers, Operation, Outcome, Play, ResultSet, RowId,
    RowState, Run, Runner, Store, View, Write, allows, appearance, broken_invariants, default_of,
    judge, play, serial_outcomes, violations,
};
pub use expr::{
    Aggregate, Comparison, Condition, Expr, NestedId, Operator, ParameterId, PartId, Row,
    StatementId, UnknownId, Value, VariableId,
};
pub use ir::{
    Action, Argument, Insert, Invariant, Label, Lock, Nested, OnConflict, Ordering, Output,
    Parameter, Part, Program, Repeat, Role, Select, Set, SetKind, SetOperation, Shape, Statement,
    Step, Transaction, Variable,
};
pub use java::{JavaFile, is_mapper, read_java};
pub use log::read_log;
pub use paths::{Bounds, End, Guard, Path, Paths};
pub use place::{Note, NoteKind, Place, ProgramError, shorten};
pub use print::Printer;
pub use resolve::fold_arithmetic;
pub use scenario::{Edge, EdgeKind, Event, Instance, Point, Scenario, StoreLevel, StoredRow, Turn};
pub use schema::{
    Column, ColumnId, ForeignKey, Schema, Table, TableId, Type, ViewQuery, bare_name,
};
pub use sources::{SQL_ENDINGS, SourceFile, read_sources};
pub use sql::{Arguments, DdlReader, Placeholder, Sql, read_sql, schema_of};
pub use sqlfile::read_sql_file;
pub use testcase::{
    ShownStep, instance_name, instance_text, scenario_from_json, scenario_to_json, shown_steps,
    value_to_json,
};
