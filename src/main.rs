//! The command line of Isolde: opens files, calls the libraries, prints, and exits.

mod args;
mod commands;
mod exit;
mod input;
mod interrupt;
mod limits;
mod output;
mod progress;
mod report;
mod run_args;
mod store;
mod watchdog;

use args::{Arguments, Command};
use clap::Parser;
use exit::Exit;

fn main() -> std::process::ExitCode {
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
        Command::Levels(levels) => commands::levels::run(levels),
    };
    result
        .unwrap_or_else(|failure| {
            output::error(&failure.0);
            Exit::BadInput
        })
        .into()
}
