//! Files of any kind read into one program.

use crate::ir::Program;
use crate::java::{JavaFile, read_java};
use crate::log::read_log;
use crate::place::{Place, ProgramError};
use crate::sql::schema_of;
use crate::sqlfile::{has_transactions, invariants, read_sql_file};
use crate::supplied::supply_left_out;

/// A file: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// The name; its ending says what it is.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Reads the files of an application: `.java`, `.sql` with transactions, `.sql` with tables only,
/// and logs (any other ending). All share the tables.
pub fn read_sources(files: &[SourceFile<'_>]) -> Result<Program, ProgramError> {
    let mut program = Program::default();
    let mut ddl = String::new();
    let mut ddl_name = "";
    for file in files.iter().filter(|file| is(file, ".sql")) {
        if !has_transactions(file.text) {
            // One text, so that keys can refer to tables of another file; places are exact for the
            // only or first file.
            ddl.push_str(file.text);
            ddl.push_str("\n;\n");
            if ddl_name.is_empty() {
                ddl_name = file.name;
            }
        }
    }
    let (schema, notes) = schema_of(&ddl, ddl_name)?;
    program.schema = schema;
    program.notes = notes;
    for file in files {
        let read = match (is(file, ".sql"), is(file, ".java")) {
            (true, _) if !has_transactions(file.text) => {
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
            _ => {
                let known = (!program.schema.tables.is_empty()).then_some(&program.schema);
                read_log(file.text, file.name, known)?
            }
        };
        add(&mut program, read);
    }
    add_java(&mut program, files)?;
    if program.transactions.is_empty() {
        let name = files.first().map_or("", |file| file.name);
        let advice = "Give .java files, .sql files with `transaction name(…)`, or a log.";
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
        let place = Place::new(first.name, 1, 1);
        let advice = "Give the file with the create table statements, too.";
        return Err(ProgramError::new(
            &place,
            "the tables are not known",
            advice,
        ));
    }
    let read = read_java(&java, &program.schema)?;
    add(program, read);
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
