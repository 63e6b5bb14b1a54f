//! Printing: colours only on a terminal, as much as was asked for, and a closed pipe is no error.

use crate::args::{ColorArg, ShowArgs};
use crate::exit::Failure;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// How much to print, decided once, when the arguments are known.
static SHOW: OnceLock<ShowArgs> = OnceLock::new();

/// The width of text that no terminal limits.
const WIDTH: usize = 100;

/// From now on print in this manner.
pub fn show(args: ShowArgs) {
    match args.color {
        ColorArg::Auto => anstream::ColorChoice::Auto.write_global(),
        ColorArg::Always => anstream::ColorChoice::Always.write_global(),
        ColorArg::Never => anstream::ColorChoice::Never.write_global(),
    }
    // A second call would be one of two command lines in one process, which there is not.
    let _ = SHOW.set(args);
}

/// Whether only errors and data are wanted.
pub fn is_quiet() -> bool {
    SHOW.get().is_some_and(|args| args.quiet)
}

/// Whether more is wanted than usual.
pub fn is_verbose() -> bool {
    SHOW.get().is_some_and(|args| args.verbose)
}

/// How wide text may be: as the terminal is, within what can be read, or fixed if it goes to a file.
pub fn width() -> usize {
    terminal_width().unwrap_or(WIDTH)
}

/// How wide the terminal is, within what can be read; nothing if there is none.
pub fn terminal_width() -> Option<usize> {
    let terminal = std::io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten();
    terminal.map(|(width, _)| usize::from(width.0).clamp(40, 140))
}

/// Prints an error to standard error.
pub fn error(message: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "\x1b[1;31merror\x1b[0m: {message}");
}

/// Prints a remark to standard error, unless nobody wants any.
pub fn note(message: &str) {
    if is_quiet() {
        return;
    }
    let _ = writeln!(anstream::stderr(), "\x1b[1mnote\x1b[0m: {message}");
}

/// Prints a remark to standard error for whoever wants to know more.
pub fn detail(message: impl FnOnce() -> String) {
    if is_verbose() {
        note(&message());
    }
}

/// Prints what people read, with colours, to standard output; nothing if they asked for quiet.
pub fn print(text: &str) -> Result<(), Failure> {
    if is_quiet() {
        return Ok(());
    }
    print_asked(text)
}

/// Prints what somebody asked to see, with colours, to standard output.
pub fn print_asked(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    closed_pipe_is_fine(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints data as it is to standard output.
pub fn print_plain(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    closed_pipe_is_fine(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whoever closed the pipe has read all they wanted; the exit code still tells the verdict.
fn closed_pipe_is_fine(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::with("standard output", error))
        }
        _ => Ok(()),
    }
}

/// The text without colours.
pub fn without_colours(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
