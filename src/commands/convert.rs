//! `isolde convert`: the same history in another format.

use crate::args::ConvertArgs;
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use history::History;
use history::format::{self, Format, WriteError};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Converts one file.
pub fn run(args: &ConvertArgs) -> Result<Exit, Failure> {
    let format = output_format(&args.output, args.to)?;
    let progress = Progress::start();
    let limits = Limits::new(None, None);
    let loaded = match input::load(&args.input, args.format, &limits, &progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => return Err(Failure(reason)),
    };
    for text in &loaded.notes {
        output::note(&format!("{}: {text}", args.input));
    }
    progress.stage("writing");
    write(&loaded.history, &args.output, format)?;
    if loaded.history.has_intervals() && !format.holds_times() {
        output::note(&format!(
            "{}: the format {format} keeps no times, so strong-snapshot-isolation and \
             strict-serializable may hold where they did not",
            args.output
        ));
    }
    if loaded.history.has_recorded_versions() && !format.holds_versions() {
        output::note(&format!(
            "{}: the format {format} keeps no version numbers, so 'check --keys recorded' has \
             nothing to go by",
            args.output
        ));
    }
    Ok(Exit::Holds)
}

/// The format to write: as told, or by the name of the file.
pub fn output_format(output: &str, told: Option<Format>) -> Result<Format, Failure> {
    let by_name = || Format::for_file_name(output);
    told.or_else(by_name).ok_or_else(|| {
        let names: Vec<&str> = Format::all().map(Format::name).collect();
        Failure(format!(
            "{output}: the name does not tell the format\n  hint: say --to with one of {}",
            names.join(", ")
        ))
    })
}

/// The format for a part of a history that was read as `read`: by the name of the file, or else the same,
/// or one that holds everything.
pub fn part_format(part: &History, output: &str, read: Format) -> Format {
    if let Some(format) = Format::for_file_name(output) {
        return format;
    }
    let can_hold = match read.is_directory() {
        true => output != "-" && format::write_logs(part, read).is_ok(),
        false => format::write(part, read, &mut std::io::sink()).is_ok(),
    };
    let format = if can_hold { read } else { Format::Isolde };
    output::note(&format!(
        "{output}: the name does not tell a format, so this is written as {format}"
    ));
    format
}

/// Writes a history to a file, a directory, or standard output (`-`). A file appears only when it
/// is complete: it is written under another name first, unless it is a pipe or a device, which
/// must not be replaced.
pub fn write(history: &History, output: &str, format: Format) -> Result<(), Failure> {
    let failure = |error: WriteError| Failure::with(output, error);
    if format.is_directory() {
        return write_directory(history, output, format);
    }
    if output == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = format::write(history, format, &mut out)
            .and_then(|()| out.flush().map_err(WriteError::Io));
        return match written {
            Err(WriteError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(failure),
        };
    }
    let is_special = std::fs::metadata(output).is_ok_and(|metadata| !metadata.is_file());
    if is_special {
        return write_file(history, output, format).map_err(failure);
    }
    let partial = format!("{output}.partial");
    let result = write_file(history, &partial, format)
        .and_then(|()| std::fs::rename(&partial, output).map_err(WriteError::Io));
    result.map_err(|error| {
        // What was written so far is of no use; if it cannot be removed, nothing is lost.
        let _ = std::fs::remove_file(&partial);
        failure(error)
    })
}

fn write_file(history: &History, path: &str, format: Format) -> Result<(), WriteError> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    format::write(history, format, &mut out)?;
    out.flush()?;
    Ok(())
}

fn write_directory(history: &History, output: &str, format: Format) -> Result<(), Failure> {
    let files = format::write_logs(history, format);
    let files = files.map_err(|error| Failure::with(output, error))?;
    let io = |error: std::io::Error| Failure::with(output, error);
    std::fs::create_dir_all(output).map_err(io)?;
    let mut entries = std::fs::read_dir(output).map_err(io)?;
    if entries.next().is_some() {
        return Err(Failure::with(output, "the directory is not empty"));
    }
    for (name, bytes) in files {
        std::fs::write(Path::new(output).join(name), bytes).map_err(io)?;
    }
    Ok(())
}
