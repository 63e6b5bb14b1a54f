//! `isolde program show`: how the sources were understood.

use super::sources;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::ShowArgs;
use program::{Bounds, Printer, Program};
use std::fmt::Write;

/// Prints the tables, the transactions, and what was not understood.
pub fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let read = sources::read(&args.source)?;
    let program = &read.program;
    let mut out = program.schema.to_string();
    for transaction in &program.transactions {
        out.push('\n');
        out.push_str(&Printer::new(&program.schema, transaction).transaction());
        if args.with_paths {
            paths(program, transaction, &mut out);
        }
    }
    if !program.notes.is_empty() {
        out.push_str("\nNot understood, and what is assumed instead:\n");
        for note in &program.notes {
            let _ = writeln!(out, "  {note}");
        }
    }
    output::print_plain(&out)?;
    Ok(Exit::Holds)
}

fn paths(program: &Program, transaction: &program::Transaction, out: &mut String) {
    let bounds = Bounds::default();
    let paths = transaction.paths(&program.schema, bounds);
    for (number, path) in paths.paths.iter().enumerate() {
        let _ = writeln!(out, "  path {}:", number + 1);
        let text = Printer::of_path(&program.schema, transaction, path).path(path);
        for line in text.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    if !paths.complete {
        let _ = writeln!(out, "  and more than {} paths", bounds.paths);
    }
}
