//! Transaction files: SQL statements between `transaction name(parameters)` and `end;`, with
//! bindings, branches and loops in the manner of PL/pgSQL. The language is in docs/programs.md.

mod invariants;
mod read;
mod routine;
mod scan;
mod script;
mod steps;
mod values;

pub(crate) use invariants::invariants;
pub(crate) use read::has_transactions;
pub use read::read_sql_file;
pub(crate) use routine::{ROUTINE, with_semicolons, without_routines};
pub(crate) use values::DOT;
