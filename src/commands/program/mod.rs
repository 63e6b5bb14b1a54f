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
use crate::output;
use crate::program_args::{ProgramArgs, ProgramCommand};
use program::{NoteKind, Program};
use serde_json::Value;

/// Does what the arguments ask.
pub fn run(args: &ProgramArgs) -> Result<Exit, Failure> {
    match &args.what {
        Some(ProgramCommand::Robust(robust)) => robust::run(robust),
        Some(ProgramCommand::Replay(replay)) => replay::run(replay),
        Some(ProgramCommand::Show(show)) => show::run(show),
        None => analyse::run(&args.analyse),
    }
}

/// So many notes come before the answer; 'isolde program show' lists all.
const NOTES_MAX: usize = 8;

/// Tells what was not understood, where a statement may be missing.
fn tell_notes(program: &Program) {
    // What is missing matters most.
    let of = |kind: NoteKind| program.notes.iter().filter(move |n| n.kind == kind);
    let missing = of(NoteKind::LeftOut)
        .chain(of(NoteKind::Unplaced))
        .chain(of(NoteKind::Unread))
        .chain(of(NoteKind::Boundary))
        .chain(of(NoteKind::Statement));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    for note in missing.iter().take(NOTES_MAX) {
        output::note(note);
    }
    if let Some(more @ 1..) = missing.len().checked_sub(NOTES_MAX) {
        output::note(&format!("{more} more; 'isolde program show' lists them"));
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
