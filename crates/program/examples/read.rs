//! Prints what the front ends make of files: `read [--quiet] schema.sql… program.java…`.

use program::{Bounds, JavaFile, NoteKind, read_java, schema_of};

fn main() {
    let mut quiet = false;
    let mut sql = String::new();
    let mut java = Vec::new();
    for path in std::env::args().skip(1) {
        if path == "--quiet" {
            quiet = true;
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match path.ends_with(".java") {
            true => java.push((path, text)),
            false => sql.push_str(&text),
        }
    }
    let (schema, notes) = match schema_of(&sql, "schema.sql") {
        Ok(found) => found,
        Err(error) => return println!("ERROR {error}"),
    };
    if !quiet {
        println!("{schema}");
    }
    for note in notes {
        println!("note: {note}");
    }
    let files: Vec<JavaFile<'_>> = java
        .iter()
        .map(|(name, text)| JavaFile { name, text })
        .collect();
    if files.is_empty() {
        return;
    }
    match read_java(&files, &schema) {
        Ok(program) => {
            if !quiet {
                println!("{program}");
            }
            for note in &program.notes {
                if note.kind == NoteKind::Statement {
                    println!("NOTE {note}");
                }
            }
            let values = program.notes.iter();
            let values = values.filter(|note| note.kind == NoteKind::Value).count();
            println!("{values} notes on values");
            for txn in &program.transactions {
                let unfolded = txn.paths(&program.schema, Bounds::default());
                println!(
                    "{}: {} statements, {} paths, complete {}",
                    txn.name,
                    txn.statements().len(),
                    unfolded.paths.len(),
                    unfolded.complete
                );
            }
        }
        Err(error) => println!("ERROR {error}"),
    }
}
