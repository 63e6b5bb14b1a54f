//! The files of an application: found, read, and understood as one program.

use crate::exit::Failure;
use crate::output;
use crate::program_args::SourceArgs;
use program::{Program, SourceFile, read_sources};
use std::path::Path;

/// Files beyond this many are refused: a directory was probably given by mistake.
const FILES_MAX: usize = 5000;
/// A file larger than this is refused, unless it is named.
const FOUND_BYTES_MAX: u64 = 16 << 20;
/// A file that is named may be a log, which may be large.
const NAMED_BYTES_MAX: u64 = 1 << 30;

/// A file and its text.
pub struct Text {
    /// The name, as given or found.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Everything that was given.
pub struct Sources {
    /// The files.
    pub files: Vec<Text>,
    /// The program they are.
    pub program: Program,
}

/// Reads what the arguments name.
pub fn read(args: &SourceArgs) -> Result<Sources, Failure> {
    let mut files = Vec::new();
    let is_dir = |path: &&String| Path::new(path.as_str()).is_dir();
    let all: Vec<&String> = args.schema.iter().chain(&args.paths).collect();
    // What is named comes before what is found: of files with the same tables the first counts.
    for path in all.iter().filter(|path| !is_dir(path)) {
        files.push(read_file(path, NAMED_BYTES_MAX)?);
    }
    for path in all.iter().filter(|path| is_dir(path)) {
        let mut found = Vec::new();
        read_directory(path, &mut found)?;
        found.sort_by_key(|file| dialect(&file.name));
        files.extend(found);
    }
    let mut program = understand(&files)?;
    keep(&mut program, &args.transactions)?;
    Ok(Sources { files, program })
}

/// The program that these files are.
pub fn understand(files: &[Text]) -> Result<Program, Failure> {
    let views: Vec<SourceFile<'_>> = files
        .iter()
        .map(|file| SourceFile {
            name: &file.name,
            text: &file.text,
        })
        .collect();
    read_sources(&views).map_err(|error| Failure(error.to_string()))
}

/// Where a file with tables for one database stands among those for others: PostgreSQL's first,
/// then those for none in particular.
fn dialect(name: &str) -> usize {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let others = [
        "cockroach",
        "db2",
        "hsqldb",
        "maria",
        "memsql",
        "monet",
        "myrocks",
        "mysql",
        "noisepage",
        "nuodb",
        "oracle",
        "peloton",
        "phoenix",
        "singlestore",
        "sqlite",
        "sqlserver",
        "timesten",
        "cassandra",
        "h2",
        "mssql",
    ];
    match () {
        () if !name.ends_with(".sql") => 1,
        () if name.contains("postgres") => 0,
        () if others.iter().any(|other| name.contains(other)) => 2,
        () => 1,
    }
}

/// Leaves only the transactions of these names.
fn keep(program: &mut Program, names: &[String]) -> Result<(), Failure> {
    for name in names {
        if program.transaction(name).is_none() {
            let known = program.transactions.iter().map(|txn| txn.name.as_str());
            let known: Vec<&str> = known.collect();
            return Err(Failure(format!(
                "no transaction is called '{name}'; there are {}",
                known.join(", ")
            )));
        }
    }
    if !names.is_empty() {
        let named = |name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
        program.transactions.retain(|txn| named(&txn.name));
    }
    Ok(())
}

fn read_file(path: &str, bytes_max: u64) -> Result<Text, Failure> {
    let failure = |problem: String| Failure::with(path, problem);
    let size = std::fs::metadata(path).map_err(|e| failure(e.to_string()))?;
    if size.len() > bytes_max {
        return Err(failure(format!(
            "larger than {} MB: not a source file",
            bytes_max >> 20
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| failure(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        failure(format!(
            "not a text: byte {} is not UTF-8",
            e.utf8_error().valid_up_to()
        ))
    })?;
    Ok(Text {
        name: path.to_string(),
        text,
    })
}

/// Whether a directory is where Maven and Gradle have tests.
fn is_of_tests(path: &Path) -> bool {
    let mut names = path.components().rev().map(|part| part.as_os_str());
    names.next().is_some_and(|name| name == "test")
        && names.next().is_some_and(|name| name == "src")
}

/// The sources in a directory and below it, in the order of their names; without links and without tests.
fn read_directory(path: &str, files: &mut Vec<Text>) -> Result<(), Failure> {
    let before = files.len();
    let mut waiting = vec![Path::new(path).to_path_buf()];
    let (mut tests, mut mappers) = (Vec::new(), Vec::new());
    while let Some(directory) = waiting.pop() {
        let named = directory.display().to_string();
        let failure = |e: std::io::Error| Failure::with(&named, e);
        let entries = std::fs::read_dir(&directory).map_err(failure)?;
        let mut entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(failure)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(failure)?;
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            match ending.map(str::to_ascii_lowercase).as_deref() {
                _ if kind.is_dir() && is_of_tests(&path) => tests.push(path),
                _ if kind.is_dir() => waiting.push(path),
                Some("java" | "sql") if kind.is_file() => {
                    files.push(read_file(&path.display().to_string(), FOUND_BYTES_MAX)?);
                }
                Some("xml") if kind.is_file() => mappers.push(path),
                _ => {}
            }
            if files.len() > FILES_MAX {
                let problem = format!("more than {FILES_MAX} files; name a smaller directory");
                return Err(Failure::with(&named, problem));
            }
        }
    }
    if let Some(first) = tests.first() {
        let first = first.display();
        output::note(&format!(
            "{first}: tests are passed over; name the directory to read them"
        ));
    }
    let is_java = |file: &Text| file.name.ends_with(".java");
    if files[before..].iter().any(is_java) {
        for path in mappers {
            // Most files of XML are something else, and may be in any encoding.
            let read = read_file(&path.display().to_string(), FOUND_BYTES_MAX);
            files.extend(read.ok().filter(|file| program::is_mapper(&file.text)));
        }
    }
    match files.len() == before {
        true => Err(Failure::with(path, "no .java and no .sql files in it")),
        false => Ok(()),
    }
}
