//! `isolde program`: the transactions of an application, and what can go wrong with them.

mod advice;
mod analyse;
mod answer;
mod beyond;
mod directory;
mod java;
mod limit;
mod page;
mod play;
mod replay;
mod robust;
mod show;
mod sources;
mod stage;

use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output;
use crate::program_args::{ProgramArgs, ProgramCommand};
use program::{NoteKind, Program};
use serde_json::Value;

/// Does what the arguments ask.
pub fn run(args: &ProgramArgs) -> Result<Exit, Failure> {
    interrupt::listen();
    match &args.what {
        Some(ProgramCommand::Robust(robust)) => robust::run(robust),
        Some(ProgramCommand::Replay(replay)) => replay::run(replay),
        Some(ProgramCommand::Show(show)) => show::run(show),
        None => analyse::run(&args.analyse),
    }
}

/// Tells what was not understood, where a statement may be missing.
fn tell_notes(program: &Program) {
    let missing = program.notes.iter().filter(|n| n.kind != NoteKind::Value);
    for note in missing {
        output::note(&note.to_string());
    }
    let values = program.notes.iter().filter(|n| n.kind == NoteKind::Value);
    match values.count() {
        0 => {}
        count => output::note(&format!(
            "{count} values are taken for any value; 'isolde program show' lists them"
        )),
    }
}

fn print_json(value: &Value) -> Result<(), Failure> {
    output::print_plain(&format!("{value}\n"))
}
