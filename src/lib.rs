//! Isolde tells whether transactions were isolated the way somebody claims.
//!
//! For whoever writes a database, or uses one, in Rust: record in a test what clients asked and what they were told,
//! and assert a level.
//!
//! ```
//! use isolde::{check, Level, Recorder};
//!
//! let recorder = Recorder::new();
//! let mut client = recorder.session(); // one for each thread of the test
//! let txn = client.begin();
//! txn.read("x", 0); // what the store answered
//! txn.write("x", 1);
//! txn.commit();
//! check(&recorder.history(), Level::Serializable).assert();
//! ```
//!
//! Where the level is violated, [`Outcome::assert`] panics with an explanation: the kind of the anomaly, the reason
//! step by step, the transactions in it, and what weaker levels still hold. The examples `broken_store` (a store that
//! loses an update) and `redb` (one that does not) are whole tests; docs/library.md says how to write one that finds
//! something.
//!
//! # What else is here
//!
//! - [`history`]: histories, levels, anomalies, every file format, and [`history::certify()`], which re-checks the
//!   evidence of a verdict.
//! - [`checker`]: the engines behind [`check()`], for several levels at once, with a budget.
//! - `protocol` and `model`: to write a protocol of one's own and give it the command line of `isolde model`.
//!
//! # Features
//!
//! `cli`, which is on by default, is the program `isolde` with its drivers for databases, `protocol` and `model`. Tests
//! that only record and check need none of it:
//!
//! ```toml
//! [dev-dependencies]
//! isolde = { git = "https://…", default-features = false }
//! ```
//!
//! `embedded` adds drivers for redb and fjall to `isolde run`.

/// The code of the page is compiled and run as documentation is.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
pub struct LibraryPage;

mod outcome;
mod recorder;
mod story;

pub use checker;
pub use history::{self, AnomalyKind, History, Level, Value, Verdict};
pub use outcome::{Outcome, check, check_with, strongest};
pub use recorder::{Recorder, Session, Transaction};

#[cfg(feature = "cli")]
mod args;
#[cfg(feature = "cli")]
mod commands;
#[cfg(feature = "cli")]
mod exit;
#[cfg(feature = "cli")]
mod input;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(feature = "cli")]
mod limits;
#[cfg(feature = "cli")]
mod model_args;
#[cfg(feature = "cli")]
mod output;
#[cfg(feature = "cli")]
mod places;
#[cfg(feature = "cli")]
mod plain_check;
#[cfg(feature = "cli")]
mod program_args;
#[cfg(feature = "cli")]
mod progress;
#[cfg(feature = "cli")]
mod report;
#[cfg(feature = "cli")]
mod run_args;
#[cfg(feature = "cli")]
mod store;
#[cfg(feature = "cli")]
mod watchdog;

#[cfg(feature = "cli")]
pub use protocol;

#[cfg(feature = "cli")]
use args::{Arguments, Command};
#[cfg(feature = "cli")]
use clap::Parser;
#[cfg(feature = "cli")]
use exit::{Exit, Failure};
#[cfg(feature = "cli")]
use std::process::ExitCode;

/// The program `isolde`.
#[cfg(feature = "cli")]
pub fn main() -> ExitCode {
    let mut given = std::env::args_os();
    let called = given.next().unwrap_or_default();
    // A link of that name takes the place of elle-cli in scripts.
    if std::path::Path::new(&called).file_stem() == Some("elle-cli".as_ref()) {
        return elle_cli(given);
    }
    // Its options are its own: '-v' and '-q' mean there what they mean to elle-cli.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == "elle-cli")
    {
        return elle_cli(given.skip(1));
    }
    if let Some((check, show)) = plain_check::parse(std::env::args_os().skip(1)) {
        output::show(show);
        return finish(commands::check::run(&check));
    }
    let arguments = Arguments::parse();
    output::show(arguments.show);
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
        Command::Serve(serve) => commands::serve::run(serve),
        Command::Program(program) => commands::program::run(program),
        Command::Explain(explain) => commands::explain::run(explain),
        Command::Levels(levels) => commands::levels::run(levels),
        Command::Completions(args) => commands::shell::completions(args),
        Command::Man(args) => commands::shell::man(args),
    };
    finish(result)
}

/// What elle-cli would do with these words.
#[cfg(feature = "cli")]
fn elle_cli(words: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    match words.map(std::ffi::OsString::into_string).collect() {
        Ok(words) => commands::elle_cli::run(words),
        Err(word) => finish(Err(Failure(format!("not a word of UTF-8: {word:?}")))),
    }
}

#[cfg(feature = "cli")]
fn finish(result: Result<Exit, Failure>) -> ExitCode {
    result
        .unwrap_or_else(|failure| {
            output::error(&failure.0);
            Exit::BadInput
        })
        .into()
}

/// The command line of `isolde model`, for protocols of somebody's own.
#[cfg(feature = "cli")]
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
        let arguments = Standalone::parse();
        crate::output::show(arguments.show);
        super::finish(run(&arguments.model, &models))
    }
}
