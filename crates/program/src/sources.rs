//! Files of any kind read into one program.

use crate::expr::Expr;
use crate::ir::{Action, Part, Program, Transaction};
use crate::java::{JavaFile, annotated, is_mapper, read_java, table_texts};
use crate::log::read_log;
use crate::place::{Note, NoteKind, Place, ProgramError, shorten};
use crate::sql::DdlReader;
use crate::sql::split::split;
use crate::sqlfile::{
    has_transactions, invariants, read_sql_file, with_semicolons, without_routines,
};
use crate::supplied::supply_left_out;

/// A file: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// The name; its ending says what it is.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// How the names of files with SQL end, as the clients of databases call them.
pub const SQL_ENDINGS: [&str; 5] = ["sql", "pgbench", "psql", "pgsql", "ddl"];

/// Reads the files of an application: `.java`, `.xml` with mappers for these, `.sql` with transactions, `.sql` with
/// tables only, and logs (any other ending). All share the tables.
pub fn read_sources(files: &[SourceFile<'_>]) -> Result<Program, ProgramError> {
    let mut routines = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    for file in files.iter().filter(|file| is_sql(file)) {
        let (text, notes) = without_routines(&with_semicolons(file.text), file.name);
        texts.push(text);
        routines.extend(notes);
    }
    let mut texts = texts.iter();
    let plain = |file: &SourceFile<'_>| is_sql(file).then(|| texts.next()).flatten();
    let texts: Vec<Option<&String>> = files.iter().map(plain).collect();
    let files: Vec<SourceFile<'_>> = files
        .iter()
        .zip(texts)
        .map(|(file, text)| SourceFile {
            name: file.name,
            text: text.map_or(file.text, String::as_str),
        })
        .collect();
    read_files(&files, routines)
}

/// Reads files whose routines were taken out, with the notes on these.
fn read_files(files: &[SourceFile<'_>], routines: Vec<Note>) -> Result<Program, ProgramError> {
    let mut program = Program::default();
    let (declaring, passed_over) = declaring(files);
    let mut reader = DdlReader::default();
    // Beside Java, what a file of tables has for its own database need not be read: statements on
    // tables that are missing then are noted, each in its place.
    let beside_java = files.iter().any(|file| is(file, ".java"));
    for file in &declaring {
        for piece in split(file.text, &Place::new(file.name, 1, 1)) {
            match reader.read(&piece.text, &piece.place) {
                Err(error) if beside_java => {
                    program.notes.push(passed_over_piece(error, &piece.text))
                }
                read => read?,
            }
        }
    }
    let (schema, notes) = reader.finish();
    program.schema = schema;
    program.notes.extend(notes);
    program.notes.extend(passed_over);
    let counts = |note: &Note| {
        let mut of_file = files.iter().filter(|file| *file.name == *note.place.file);
        of_file.any(|file| {
            has_transactions(file.text) || declaring.iter().any(|one| one.name == file.name)
        })
    };
    program.notes.extend(routines.into_iter().filter(counts));
    for file in files {
        let read = match (is_sql(file), is(file, ".java")) {
            (true, _) if !has_transactions(file.text) => {
                if !declaring.iter().any(|one| one.name == file.name) {
                    continue;
                }
                let notes = &mut program.notes;
                let found = invariants(file.text, file.name, &program.schema, notes)?;
                program.invariants.extend(found);
                continue;
            }
            (true, _) => {
                let known = (!program.schema.tables.is_empty()).then_some(&program.schema);
                read_sql_file(file.text, file.name, known)?
            }
            (_, true) => continue,
            _ if is(file, ".xml") => continue,
            _ => {
                let known = (!program.schema.tables.is_empty()).then_some(&program.schema);
                read_log(file.text, file.name, known)?
            }
        };
        add(&mut program, read);
    }
    add_java(&mut program, files)?;
    pass_over_filling(&mut program, files);
    if program.transactions.is_empty() {
        let name = files.first().map_or("", |file| file.name);
        let advice = "Give .java files, .sql files with `transaction name(…)` or with `begin;` and \
                      `commit;`, or a log.";
        let place = Place::new(name, 1, 1);
        return Err(ProgramError::new(
            &place,
            "no transaction in the files",
            advice,
        ));
    }
    supply_left_out(&mut program);
    Ok(program)
}

/// A statement among tables that cannot be read.
fn passed_over_piece(error: ProgramError, text: &str) -> Note {
    Note {
        place: error.place,
        text: shorten(text, 60),
        assumed: format!("passed over: {}", error.problem),
        advice: error.advice,
        kind: NoteKind::LeftOut,
    }
}

/// The files with tables that count. Applications come with the tables for several databases: of
/// files that declare the same table, the first counts, and the others are noted.
fn declaring<'f>(files: &'f [SourceFile<'f>]) -> (Vec<&'f SourceFile<'f>>, Vec<Note>) {
    let mut owners: Vec<(String, &str)> = Vec::new();
    let (mut kept, mut repeated) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| is_sql(file)) {
        if has_transactions(file.text) {
            continue;
        }
        let tables = declared_tables(file.text);
        let mut known = owners.iter().filter(|(table, _)| tables.contains(table));
        match known.next().map(|(table, owner)| (table.clone(), *owner)) {
            Some((table, owner)) => repeated.push((file.name, table, owner)),
            None => {
                owners.extend(tables.into_iter().map(|table| (table, file.name)));
                kept.push(file);
            }
        }
    }
    let note = repeated.first().map(|(name, table, owner)| Note {
        place: Place::new(name, 1, 1),
        text: format!("create table {table}"),
        assumed: match repeated.len() {
            1 => format!("passed over: {owner} declares it"),
            count => format!(
                "passed over, with {} others: {owner} declares it",
                count - 1
            ),
        },
        advice: "Name the file that counts with --schema.".to_string(),
        kind: NoteKind::Value,
    });
    (kept, note.into_iter().collect())
}

/// The names after `create table`, in lower case and without quotes.
fn declared_tables(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for piece in split(text, &Place::new("", 1, 1)) {
        let words = piece.text.split(|c: char| c.is_whitespace() || c == '(');
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .take(8)
            .map(str::to_ascii_lowercase)
            .collect();
        if words.first().is_none_or(|word| word != "create") {
            continue;
        }
        let Some(at) = words.iter().position(|word| word == "table") else {
            continue;
        };
        let mut name = words[at + 1..].iter();
        let name = name.find(|word| !matches!(word.as_str(), "if" | "not" | "exists"));
        if let Some(name) = name {
            let last = name.rsplit('.').next().unwrap_or(name);
            let bare = last.trim_matches(['"', '`', '[', ']']).to_string();
            if !found.contains(&bare) {
                found.push(bare);
            }
        }
    }
    found
}

/// Whether a file has statements of SQL, by its ending.
fn is_sql(file: &SourceFile<'_>) -> bool {
    let endings = SQL_ENDINGS.iter().map(|ending| format!(".{ending}"));
    endings.into_iter().any(|ending| is(file, &ending))
}

fn is(file: &SourceFile<'_>, ending: &str) -> bool {
    file.name.to_ascii_lowercase().ends_with(ending)
}

/// Adds what the Java files say, which are read together.
fn add_java(program: &mut Program, files: &[SourceFile<'_>]) -> Result<(), ProgramError> {
    let java = files.iter().filter(|file| is(file, ".java"));
    let java: Vec<JavaFile<'_>> = java
        .map(|file| JavaFile {
            name: file.name,
            text: file.text,
        })
        .collect();
    let Some(first) = java.first() else {
        return Ok(());
    };
    if program.schema.tables.is_empty() {
        read_own_tables(program, &java)?;
    }
    if program.schema.tables.is_empty() {
        let place = Place::new(first.name, 1, 1);
        let advice = "Give the file with the create table statements, too; `pg_dump --schema-only` and \
                      `mysqldump --no-data` write one.";
        return Err(ProgramError::new(
            &place,
            "the tables are not known",
            advice,
        ));
    }
    let mappers = files
        .iter()
        .filter(|file| is(file, ".xml") && is_mapper(file.text));
    let mappers: Vec<&str> = mappers.map(|file| file.text).collect();
    let texts = annotated(&java, &mappers)?;
    let files = java.iter().zip(&texts);
    let java: Vec<JavaFile<'_>> = files
        .map(|(file, text)| JavaFile {
            name: file.name,
            text,
        })
        .collect();
    let read = read_java(&java, &program.schema)?;
    add(program, read);
    Ok(())
}

/// Beside Java, what a file with tables does with them in transactions of constants is to fill them once.
fn pass_over_filling(program: &mut Program, files: &[SourceFile<'_>]) {
    let is_of = |one: &Transaction, file: &SourceFile<'_>| *one.place.file == *file.name;
    let filling = |one: &Transaction| {
        let mut own = files.iter().filter(|file| is_of(one, file));
        own.any(|file| is_sql(file) && !declared_tables(file.text).is_empty()) && fills(one)
    };
    let java = |one: &Transaction| {
        files
            .iter()
            .any(|file| is(file, ".java") && is_of(one, file))
    };
    if !program.transactions.iter().any(java) {
        return;
    }
    let all = std::mem::take(&mut program.transactions).into_iter();
    let (filled, kept): (Vec<_>, Vec<_>) = all.partition(filling);
    program.transactions = kept;
    program.notes.extend(filled.first().map(|first| Note {
        place: first.place.clone(),
        text: first.name.clone(),
        assumed: format!(
            "{} transactions that only fill tables are passed over",
            filled.len()
        ),
        advice: String::new(),
        kind: NoteKind::Value,
    }));
}

/// Whether a transaction only inserts constants.
fn fills(transaction: &Transaction) -> bool {
    let constant = |part: &Part| match &part.action {
        Action::Insert(insert) => {
            let mut values = insert.values.iter();
            values.all(|set| matches!(set.value, Expr::Constant(_)))
        }
        _ => false,
    };
    let statements = transaction.statements();
    let mut parts = statements.iter().flat_map(|one| &one.parts);
    !statements.is_empty() && transaction.parameters.is_empty() && parts.all(constant)
}

/// Where no file declares tables, those count that the application makes itself.
fn read_own_tables(program: &mut Program, java: &[JavaFile<'_>]) -> Result<(), ProgramError> {
    let mut reader = DdlReader::default();
    for (text, place) in table_texts(java)? {
        for piece in split(&text, &place) {
            reader.read(&piece.text, &place)?;
        }
    }
    let (schema, notes) = reader.finish();
    program.schema = schema;
    program.notes.extend(notes);
    Ok(())
}

fn add(program: &mut Program, read: Program) {
    if program.schema.tables.is_empty() {
        program.schema = read.schema;
    }
    program.transactions.extend(read.transactions);
    program.invariants.extend(read.invariants);
    program.notes.extend(read.notes);
}
