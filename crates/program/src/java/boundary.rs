//! Where a transaction of Java begins and ends: what shows that the statements of a method are one, and
//! what is noted where nothing does. JDBC commits each statement by itself unless told otherwise.

use super::declared::declares_sql;
use super::index::{Index, parameters};
use super::template::is_whole_statement;
use super::tree::Node;
use crate::expr::Value;
use crate::place::{Note, NoteKind, shorten};

/// Names in a note.
const NAMES_MAX: usize = 5;

/// Whether a method is in a transaction by its annotations, by the connection it is given, or as its
/// class or whoever opens connections turns off what commits by itself.
pub(super) fn is_marked(index: &Index<'_>, class: usize, method: &Node) -> bool {
    if index.extends(class, "Procedure") || is_annotated(method) {
        return true;
    }
    let given = |one: &&Node| {
        let java = one.child("type").map_or("", Node::text);
        matches!(java, "Connection" | "PreparedStatement" | "Statement")
    };
    if parameters(method).iter().any(given) {
        return true;
    }
    let ancestry = index.ancestry(class);
    ancestry
        .iter()
        .any(|at| is_annotated(index.classes[*at].node))
        || index.classes.iter().enumerate().any(|(at, one)| {
            let opens = |node: &Node| node.text().contains("setAutoCommit(false)");
            let constructors = one.node.child("body").is_some_and(|body| {
                let mut all = body.of_kind("constructor_declaration");
                all.any(opens)
            });
            let methods = one.methods.iter();
            let mut connecting = methods.filter(|one| one.name().contains("onnection"));
            constructors && ancestry.contains(&at) || connecting.any(|one| opens(one))
        })
}

fn annotations(node: &Node) -> &str {
    node.of_kind("modifiers").next().map_or("", Node::text)
}

pub(super) fn is_annotated(node: &Node) -> bool {
    let known = [
        // Of Spring and of JDBI.
        "@Transaction",
        "@TransactionAttribute",
        "@Stateless",
        "@UnitOfWork",
    ];
    let all = annotations(node);
    known.iter().any(|one| all.contains(one)) || all.contains(".Transactional")
}

/// The level that an annotation asks for, of the method before that of its class.
pub(super) fn level(index: &Index<'_>, class: usize, method: &Node) -> Option<String> {
    let all = [annotations(method), annotations(index.classes[class].node)];
    all.iter().find_map(|text| {
        let (_, rest) = text.split_once("isolation")?;
        let rest = rest.trim_start().strip_prefix('=')?;
        let word = rest.split([',', ')']).next()?.trim();
        let word = word.rsplit('.').next().unwrap_or(word).to_ascii_lowercase();
        (word != "default").then(|| word.replace('_', " "))
    })
}

/// Whether a call by that name, on that object, runs what it is given in a transaction.
pub(super) fn is_transactional(name: &str, object: &str) -> bool {
    let object = object.to_ascii_lowercase();
    name.to_ascii_lowercase().contains("transaction")
        || object.contains("transaction")
        || object.starts_with("tx")
}

/// The note on methods with several statements that nothing makes one transaction.
pub(super) fn note(alone: &[(&Node, String)]) -> Option<Note> {
    let (first, _) = alone.first()?;
    let mut names: Vec<&str> = alone.iter().map(|(_, name)| name.as_str()).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let mut text = names.join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    Some(Note {
        place: first.place(),
        text,
        assumed:
            "taken for one transaction each, but nothing here opens one: where each statement \
                  commits by itself, as JDBC does, no isolation level keeps them together"
                .to_string(),
        advice: "Mark the method @Transactional, or call setAutoCommit(false) and commit()."
            .to_string(),
        kind: NoteKind::Boundary,
    })
}

/// The note on statements in the sources that no transaction has.
pub(super) fn unread<'a>(index: &Index<'a>, all: &[&'a Node], met: &[String]) -> Option<Note> {
    let literals = all.iter().flat_map(|root| root.all());
    let mut found: Vec<(&Node, String)> = Vec::new();
    for literal in literals.filter(|node| node.kind == "string_literal") {
        let Some(Value::Text(text)) = index.constant(0, literal) else {
            continue;
        };
        // What a format leaves open stands between its parts.
        let parts: Vec<&str> = text
            .split('%')
            .map(|part| part.trim_start_matches(['s', 'd']))
            .collect();
        let has = |one: &&String| parts.iter().all(|part| one.contains(part.trim()));
        let known = met.iter().any(|one| has(&one));
        if is_whole_statement(&text) && !known {
            found.push((literal, text));
        }
    }
    // What begins with select or with may be a sentence.
    let is_query = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or("");
        ["select", "with"].contains(&word.to_ascii_lowercase().as_str())
    };
    let writes = found.iter().position(|(_, text)| !is_query(text));
    let kind = match writes {
        Some(_) => NoteKind::Unplaced,
        None => NoteKind::Boundary,
    };
    let (node, text) = found.get(writes.unwrap_or(0))?;
    let place = node.place();
    let assumed = match found.len() {
        1 => "this SQL is in no transaction that was found: passed over".to_string(),
        count => format!(
            "this SQL, and {} more, is in no transaction that was found: passed over",
            count - 1
        ),
    };
    Some(Note {
        place,
        text: shorten(text, 60),
        assumed,
        advice:
            "Give the files that call it, too; methods that are private, and called by no main and no menu, are no \
                 transactions."
                .to_string(),
        kind,
    })
}

/// The notes on objects that get to the database by a library that is not followed, one for each type: an interface
/// that the library implements, or the library's own.
pub(super) fn libraries<'a>(index: &Index<'a>) -> Vec<Note> {
    let mut found: Vec<(String, &'a Node)> = Vec::new();
    for (at, class) in index.classes.iter().enumerate() {
        let calls = class.methods.iter().flat_map(|method| method.all());
        for call in calls.filter(|node| node.kind == "method_invocation") {
            let object = call.child("object").map_or("", Node::text);
            let object = object.strip_prefix("this.").unwrap_or(object);
            let Some(field) = class.fields.get(object) else {
                continue;
            };
            let head = field.ty.split('<').next().unwrap_or(field.ty);
            let count = call.child("arguments").map_or(0, |all| all.children.len());
            let known = found.iter().any(|(name, _)| name == head);
            if !known && is_opaque(index, at, head, call.name(), count) {
                found.push((head.to_string(), call));
            }
        }
    }
    let note = |(name, call): (String, &Node)| Note {
        place: call.place(),
        text: shorten(call.text(), 60),
        assumed: format!(
            "calls of {name} get to the database by a library that is not followed: left out"
        ),
        advice: "Record the SQL that it sends, and give the log instead of the sources."
            .to_string(),
        kind: NoteKind::LeftOut,
    };
    found.into_iter().map(note).collect()
}

/// Whether a call of an object of that type does something to the database that is not in the sources.
fn is_opaque(index: &Index<'_>, from: usize, java: &str, method: &str, arguments: usize) -> bool {
    let libraries = [
        "EntityManager",
        "SqlSession",
        "SqlSessionTemplate",
        "SessionFactory",
        "HibernateTemplate",
        "DSLContext",
    ];
    if libraries.contains(&java) {
        return true;
    }
    let ends = |name: &str| {
        ["Repository", "Dao", "DAO"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let Some(class) = index.class(java) else {
        return ends(java);
    };
    let declared = &index.classes[class];
    let above = declared.interfaces.iter().any(|one| ends(one));
    let marked = annotations(declared.node).contains("@Mapper");
    let made = declared.node.kind == "interface_declaration" && !index.is_extended(class);
    if class == from || !made || !(above || marked || ends(java) || java.ends_with("Mapper")) {
        return false;
    }
    match index.method(class, method, arguments) {
        Some((_, found)) => found.child("body").is_none() && !declares_sql(found),
        None => true,
    }
}
