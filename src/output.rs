//! Printing: colours only on a terminal, and a closed pipe is no error.

use crate::exit::Failure;
use std::io::{ErrorKind, Write};

/// Prints an error to standard error.
pub fn error(message: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "\x1b[1;31merror\x1b[0m: {message}");
}

/// Prints a remark to standard error.
pub fn note(message: &str) {
    let _ = writeln!(anstream::stderr(), "\x1b[1mnote\x1b[0m: {message}");
}

/// Prints text with colours to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    closed_pipe_is_fine(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints text as it is to standard output.
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
