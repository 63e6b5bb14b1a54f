//! `isolde completions` and `isolde man`: what shells and `man` have to know of the command line.

use crate::args::{Arguments, CompletionsArgs, ElleCliArgs, ManArgs, ShellArg};
use crate::exit::{Exit, Failure};
use crate::output;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::Path;

/// Prints the completions for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shell = match args.shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Elvish => Shell::Elvish,
        ShellArg::Fish => Shell::Fish,
        ShellArg::Powershell => Shell::PowerShell,
        ShellArg::Zsh => Shell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "isolde", &mut script);
    output::print_plain(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Holds)
}

/// Prints the manual page, or writes all of them into a directory.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut program = Arguments::command().disable_help_subcommand(true);
    let Some(directory) = &args.directory else {
        output::print_plain(&page(program, "isolde")?)?;
        return Ok(Exit::Holds);
    };
    std::fs::create_dir_all(directory).map_err(|error| Failure::with(directory, error))?;
    program.build();
    let pages = pages(&program)?;
    for (name, text) in &pages {
        let path = Path::new(directory).join(format!("{name}.1"));
        let failure = |error| Failure::with(&path.display().to_string(), error);
        std::fs::write(&path, text).map_err(failure)?;
    }
    output::note(&format!("{directory}: {} pages", pages.len()));
    Ok(Exit::Holds)
}

/// A page for the program, and one for each command and each command of a command.
fn pages(program: &Command) -> Result<Vec<(String, String)>, Failure> {
    let mut pages = Vec::new();
    let mut left = vec![("isolde".to_string(), program.clone())];
    while let Some((name, command)) = left.pop() {
        for below in command.get_subcommands() {
            left.push((format!("{name}-{}", below.get_name()), below.clone()));
        }
        // Its options are hidden behind a wall in the command line, since they are another program's.
        let command = match name.as_str() {
            "isolde-elle-cli" => ElleCliArgs::command(),
            _ => command,
        };
        let text = page(command, &name)?;
        pages.push((name, text));
    }
    pages.sort();
    Ok(pages)
}

fn page(command: Command, name: &str) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command)
        .title(name)
        .render(&mut page)
        .map_err(|error| Failure::with(name, error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
