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
mod watchdog;

use args::{Arguments, Command};
use clap::Parser;
use exit::Exit;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Check(check) => commands::check::run(check),
        Command::Certify(certify) => commands::certify::run(certify),
        Command::Convert(convert) => commands::convert::run(convert),
        Command::Generate(generate) => commands::generate::run(generate),
        Command::Levels(levels) => commands::levels::run(levels),
    };
    result
        .unwrap_or_else(|failure| {
            output::error(&failure.0);
            Exit::BadInput
        })
        .into()
}
