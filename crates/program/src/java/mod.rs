//! Java sources with JDBC.
//!
//! Transactions are the `run(Connection, …)` of BenchBase's procedures where there are any; else
//! every public method that executes SQL and is not called by another one. A transaction is read
//! by following its method: calls of methods in the sources are followed, too. A value that is not
//! followed is any value; what is lost beyond values is noted.

mod batch;
mod boundary;
mod branch;
mod calls;
mod commits;
mod condition;
mod declared;
mod dynamic;
mod entities;
mod entries;
mod enums;
mod env;
mod expression;
mod index;
mod jdbc;
mod kept;
mod lambda;
mod loops;
mod mappers;
mod methods;
mod objects;
mod optional;
mod receivers;
mod rows;
mod simplify;
mod spread;
mod switch;
mod tables;
mod template;
mod text;
mod translate;
mod tree;
mod tried;

use crate::ir::{Program, Step, Transaction};
use crate::place::{Note, NoteKind, Place, ProgramError};
use crate::schema::Schema;
pub(crate) use mappers::annotated;
pub use mappers::is_mapper;
pub(crate) use tables::table_texts;

use index::{Index, parameters};
use spread::parameter_name;
use translate::{Frame, Translator, executes};
use tree::Node;

/// A source file: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct JavaFile<'a> {
    /// The name, for places.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The trees of the files.
#[derive(Default)]
struct Parsed {
    roots: Vec<Node>,
    /// What is passed over.
    notes: Vec<Note>,
    /// The first place in each file that is not Java.
    unread: Vec<Place>,
}

fn parsed(files: &[JavaFile<'_>]) -> Result<Parsed, ProgramError> {
    let mut parsed = Parsed::default();
    for file in files {
        let (root, broken) = tree::parse(file.name, file.text)?;
        parsed.unread.extend(broken.first().cloned());
        if let (Some(place), true) = (broken.first(), has_sql(file.text)) {
            let problem = "not Java that we can read, in a file that executes SQL";
            return Err(ProgramError::new(place, problem, "Compile the file first."));
        }
        for place in broken.into_iter().take(3) {
            parsed.notes.push(Note {
                place,
                text: String::new(),
                assumed: "not Java that we can read; it is passed over".to_string(),
                advice: "Compile the file first.".to_string(),
                kind: NoteKind::Statement,
            });
        }
        parsed.roots.push(root);
    }
    Ok(parsed)
}

/// Reads the transactions of Java sources over a schema.
pub fn read_java(files: &[JavaFile<'_>], schema: &Schema) -> Result<Program, ProgramError> {
    let Parsed {
        roots,
        notes,
        unread,
    } = parsed(files)?;
    let index = Index::new(&roots);
    let mut program = Program {
        schema: schema.clone(),
        transactions: Vec::new(),
        invariants: Vec::new(),
        notes,
    };
    let entries = transactions(&index);
    let mut met: Vec<String> = Vec::new();
    let mut alone: Vec<(&Node, String)> = Vec::new();
    for (class, method, name) in &entries {
        let read = transaction(&index, schema, *class, method, name.clone());
        for note in read.notes {
            if !program.notes.contains(&note) {
                program.notes.push(note);
            }
        }
        if !read.opened {
            alone.push((method, name.clone()));
        }
        met.extend(read.met);
        program.transactions.extend(read.pieces);
    }
    program.notes.extend(boundary::note(&alone));
    program.notes.extend(boundary::libraries(&index));
    let reading: Vec<&Node> = match entries
        .iter()
        .any(|(at, _, _)| index.extends(*at, "Procedure"))
    {
        // The others load the data.
        true => {
            let classes = entries.iter().map(|(at, _, _)| index.classes[*at].node);
            classes.collect()
        }
        false => roots.iter().collect(),
    };
    program
        .notes
        .extend(boundary::unread(&index, &reading, &met));
    if program.transactions.is_empty() {
        if let Some(place) = unread.first() {
            let problem = "no transaction found, and this is not Java that we can read";
            return Err(ProgramError::new(place, problem, "Compile the file first."));
        }
        let file = files.first().map_or("", |file| file.name);
        let advice = "Looked for run(Connection, …) of classes that extend Procedure, and for \
                      public methods that execute SQL through JDBC, Spring's templates, or statements of \
                      MyBatis, JDBI and Spring Data. What a library makes of objects (JPA, Hibernate) is not \
                      followed: record the SQL that it sends, and give the log.";
        return Err(ProgramError::new(
            &Place::new(file, 1, 1),
            "no transaction found",
            advice,
        ));
    }
    Ok(program)
}

/// Whether a text has a call of JDBC that makes a statement. Such a file must be read in full: what
/// is passed over might be a statement.
fn has_sql(text: &str) -> bool {
    let calls = [
        "prepareStatement",
        "createStatement",
        "prepareCall",
        "SQLStmt",
    ];
    calls.iter().any(|call| text.contains(call))
}

/// The methods that are transactions, with their names.
fn transactions<'a>(index: &Index<'a>) -> Vec<(usize, &'a Node, String)> {
    let mut found = Vec::new();
    for (at, class) in index.classes.iter().enumerate() {
        // What is abstract runs as the classes that extend it.
        if !index.extends(at, "Procedure") || index.is_abstract(at) && index.is_extended(at) {
            continue;
        }
        let takes_connection = |method: &&&'a Node| {
            let first = parameters(method).first().and_then(|one| one.child("type"));
            let takes = first.is_some_and(|ty| ty.text() == "Connection");
            method.name() == "run" && takes && method.child("body").is_some()
        };
        let ancestry = index.ancestry(at).into_iter();
        let mut methods = ancestry.filter_map(|above| {
            let method = index.classes[above].methods.iter().find(takes_connection);
            method.map(|method| (above, *method))
        });
        if let Some((_, method)) = methods.next() {
            found.push((at, method, class.name.to_string()));
        }
    }
    if !found.is_empty() {
        return found;
    }
    let entries = entries::entries(index).into_iter();
    found.extend(entries.map(|(at, method)| (at, method, method.name().to_string())));
    if found.is_empty() {
        // All call each other, or only main does anything: take every method with SQL of its own.
        for (at, class) in index.classes.iter().enumerate() {
            let methods = class.methods.iter().filter(|method| executes(method));
            found.extend(methods.map(|method| (at, *method, method.name().to_string())));
        }
    }
    let names: Vec<String> = found.iter().map(|(_, _, name)| name.clone()).collect();
    for (class, _, name) in &mut found {
        if names.iter().filter(|other| *other == name).count() > 1 {
            *name = format!("{}.{name}", index.classes[*class].name);
        }
    }
    found
}

/// The transactions that the pieces of a method are: the first has its name.
fn numbered(
    transaction: &Transaction,
    pieces: Vec<Vec<Step>>,
    translator: &mut Translator<'_>,
) -> Vec<Transaction> {
    let mut bodies: Vec<Vec<Step>> = Vec::new();
    for body in pieces {
        let body = simplify::simplify(body);
        if !bodies.contains(&body) {
            bodies.push(body);
        }
    }
    let mut found = Vec::new();
    for (at, body) in bodies.into_iter().enumerate() {
        let mut piece = transaction.clone();
        if at > 0 {
            piece.name = format!("{}.{}", piece.name, at + 1);
            // What was computed before the commit is not known here.
            for variable in simplify::unassigned(&body) {
                let unknown = Step::Let {
                    variable,
                    value: translator.unknown(Vec::new()),
                };
                let mut before = translator.before.iter();
                let before = before.find(
                    |step| matches!(step, Step::Let { variable: known, .. } if *known == variable),
                );
                piece.body.push(before.cloned().unwrap_or(unknown));
            }
        }
        piece.body.extend(body);
        found.push(piece);
    }
    found
}

/// What was read of one method.
struct Read {
    /// Its transactions: more than one where it commits in the middle.
    pieces: Vec<Transaction>,
    notes: Vec<Note>,
    /// Whether something shows that its statements are one transaction, or it has one only.
    opened: bool,
    /// The texts of SQL that were met.
    met: Vec<String>,
}

/// Follows the method of a transaction: its body, or the statement that it has for one.
fn follow<'a>(translator: &mut Translator<'a>, class: usize, method: &'a Node) {
    match method.child("body") {
        Some(body) => {
            translator.block(&body.children, None);
        }
        None => {
            let names = parameters(method).into_iter().map(parameter_name);
            let slots = names.filter_map(|name| translator.env.slots.get(name));
            let given: Vec<env::Val> = slots.map(|slot| slot.val.clone()).collect();
            translator.declared(method, class, method, &given);
        }
    }
}

/// A transaction without a statement: missing is what it calls, if anything.
fn nothing_found(method: &Node, name: &str) -> Note {
    let calls = |one: &&Node| {
        matches!(
            one.kind,
            "method_invocation" | "object_creation_expression" | "method_reference"
        )
    };
    let (assumed, advice, kind) = match method.all().iter().any(calls) {
        true => {
            let advice = "Give the files of the classes it calls, too.";
            ("no statement was found in it", advice, NoteKind::LeftOut)
        }
        false => ("it does nothing", "", NoteKind::Statement),
    };
    Note {
        place: method.place(),
        text: name.to_string(),
        assumed: assumed.to_string(),
        advice: advice.to_string(),
        kind,
    }
}

fn transaction<'a>(
    index: &'a Index<'a>,
    schema: &'a Schema,
    class: usize,
    method: &'a Node,
    name: String,
) -> Read {
    let mut translator = Translator::new(index, schema);
    translator.level = boundary::level(index, class, method);
    translator.opened = boundary::is_marked(index, class, method);
    translator.marked = entries::is_marked(index, class, method);
    let mut transaction = Transaction::new(name, method.place());
    let result = translator.variable("result", crate::schema::Type::Other);
    let label = translator.label();
    // A method of the class above sees the constants there.
    let ancestry = index.ancestry(class).into_iter();
    let mut owners = ancestry.filter(|at| {
        let methods = &index.classes[*at].methods;
        methods.iter().any(|one| std::ptr::eq(*one, method))
    });
    translator.frames.push(Frame {
        class: owners.next().unwrap_or(class),
        this: class,
        label,
        returned: None,
        result,
    });
    transaction.parameters = translator.transaction_parameters(method);
    follow(&mut translator, class, method);
    let steps = std::mem::take(&mut translator.out);
    let mut whole = translator.before.clone();
    whole.push(Step::Block { label, body: steps });
    let (pieces, inside) = commits::cut(whole);
    if inside {
        translator.notes.push(Note {
            place: method.place(),
            text: format!("commit in {}", method.name()),
            assumed: "taken for one transaction with what follows".to_string(),
            advice: "Split the method where it commits.".to_string(),
            kind: NoteKind::Statement,
        });
    }
    let left_out = translator.notes.iter();
    let left_out = left_out
        .filter(|note| note.kind == NoteKind::LeftOut)
        .count();
    if translator.statement_next == 0 && translator.met.is_empty() && left_out == 0 {
        let note = nothing_found(method, &transaction.name);
        translator.notes.push(note);
    }
    transaction.variables = std::mem::take(&mut translator.variables);
    let noted = translator.notes.iter().map(|note| note.place.clone());
    transaction.noted = noted.collect();
    transaction.level = translator.level.take();
    let found = numbered(&transaction, pieces, &mut translator);
    Read {
        pieces: found,
        notes: translator.notes,
        opened: translator.opened || translator.statement_next < 2,
        met: translator.met,
    }
}
