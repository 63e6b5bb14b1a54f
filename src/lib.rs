//! The command line of Isolde: opens files, calls the libraries, prints, and exits.
//!
//! As a library it has what a protocol of somebody's own needs: [`protocol`] to write it, and
//! [`model::main`] to give it the command line of `isolde model`.

mod args;
mod commands;
mod exit;
mod input;
mod interrupt;
mod limits;
mod model_args;
mod output;
mod progress;
mod report;
mod run_args;
mod store;
mod watchdog;

pub use history::Level;
pub use protocol;

use args::{Arguments, Command};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

/// The program `isolde`.
pub fn main() -> ExitCode {
    let mut given = std::env::args();
    let called = given.next().unwrap_or_default();
    // A link of that name takes the place of elle-cli in scripts.
    if std::path::Path::new(&called).file_stem() == Some("elle-cli".as_ref()) {
        return commands::elle_cli::run(given.collect());
    }
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::ElleCli(elle) => return commands::elle_cli::run(elle.arguments.clone()),
        Command::Check(check) => commands::check::run(check),
        Command::Certify(certify) => commands::certify::run(certify),
        Command::Convert(convert) => commands::convert::run(convert),
        Command::Generate(generate) => commands::generate::run(generate),
        Command::Run(run) => commands::run::run(run),
        Command::Matrix(matrix) => commands::run::matrix::run(matrix),
        Command::Model(model) => {
            let models = commands::model::Models::new("isolde model", protocol::catalogue());
            commands::model::run(model, &models)
        }
        Command::Levels(levels) => commands::levels::run(levels),
    };
    finish(result)
}

fn finish(result: Result<Exit, Failure>) -> ExitCode {
    result
        .unwrap_or_else(|failure| {
            output::error(&failure.0);
            Exit::BadInput
        })
        .into()
}

/// The command line of `isolde model`, for protocols of somebody's own.
pub mod model {
    use crate::commands::model::{Models, run};
    use crate::model_args::Standalone;
    use clap::Parser;
    use protocol::Entry;
    use std::process::ExitCode;

    /// Does what the arguments of the process ask of these protocols, and says how it went: 0 all
    /// that was asked holds, 1 something is violated, 2 bad input or a wrong model, 3 unknown.
    pub fn main(entries: Vec<Entry>) -> ExitCode {
        let called = "cargo run --";
        let models = Models::new(called, entries);
        super::finish(run(&Standalone::parse().model, &models))
    }
}
