//! The files of an application: found, read, and understood as one program.

use crate::exit::Failure;
use crate::output;
use crate::program_args::SourceArgs;
use program::{Program, SQL_ENDINGS, SourceFile, read_sources};
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
        pass_over_others(&mut found);
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
    // A directory may name the database, as in `sql.postgres/tables.sql`.
    let mut parts: Vec<&str> = name.rsplit('/').take(2).collect();
    parts.reverse();
    let name = parts.join("/").to_ascii_lowercase();
    let others = [
        "babelfish",
        "cockroach",
        "db2",
        "derby",
        "firebird",
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
        "transact-sql",
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

/// Leaves out the triggers, indexes and data for other databases, where the tables of one are there. Files with tables
/// are left, for those that only they have.
fn pass_over_others(found: &mut Vec<Text>) {
    let is_sql = |file: &Text| file.name.to_ascii_lowercase().ends_with(".sql");
    let has_tables = |file: &Text| file.text.to_ascii_lowercase().contains("create table");
    let is_other = |file: &Text| is_sql(file) && dialect(&file.name) == 2;
    let mut sources = found.iter();
    if !sources.any(|file| is_sql(file) && !is_other(file) && has_tables(file)) {
        return;
    }
    let passed = |file: &Text| is_other(file) && !has_tables(file);
    let mut all = found.iter().filter(|file| passed(file));
    let Some(first) = all.next() else {
        return;
    };
    let more = match all.count() {
        0 => String::new(),
        count => format!(", and {count} more,"),
    };
    output::note(&format!(
        "{}{more} is for another database and is passed over; name it to read it",
        first.name
    ));
    found.retain(|file| !passed(file));
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
        program.keep(names);
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
    let text = decode(path, bytes).ok_or_else(|| failure("not a text".to_string()))?;
    Ok(Text {
        name: path.to_string(),
        text,
    })
}

/// The text of a file: UTF-8, UTF-16 with its mark (as SQL Server's tools write), or else Latin-1, which is told.
fn decode(path: &str, bytes: Vec<u8>) -> Option<String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2);
        let units: Vec<u16> = units.map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return wide(u16::from_be_bytes),
        bytes if bytes.contains(&0) => return None,
        _ => {}
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(
            text.strip_prefix('\u{feff}')
                .map(str::to_string)
                .unwrap_or(text),
        ),
        Err(error) => {
            let place = error.utf8_error().valid_up_to();
            output::note(&format!(
                "{path}: byte {place} is not UTF-8: read as Latin-1"
            ));
            Some(error.into_bytes().into_iter().map(char::from).collect())
        }
    }
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
                Some(ending)
                    if kind.is_file() && (ending == "java" || SQL_ENDINGS.contains(&ending)) =>
                {
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
