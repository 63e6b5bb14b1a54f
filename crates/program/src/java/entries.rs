//! Which methods are transactions, where the sources have no procedures of a frame.
//!
//! A method that is marked (`@Transactional`) is one, unless whoever calls it is marked as well: then it belongs to the
//! transaction of its caller. Of the others, those are that get to the database by themselves or through methods that are
//! not marked, and that no other method calls. Methods of a class that talks to a terminal, a browser or a window call others
//! one after the other, as somebody asks: these are no callers, and are transactions only where they execute SQL
//! themselves, or commit.
//!
//! A private method is one where `main` or the menu of such a class calls it, and `main` where it commits what it does
//! itself.
//!
//! A method that does nothing but choose among several that commit by themselves (the loop of a terminal, a thread of a
//! benchmark) is none: these are.

use super::boundary::is_annotated;
use super::declared::declares_sql;
use super::index::Index;
use super::spread::fits;
use super::translate::executes;
use super::tree::Node;

/// Whether SQL is executed is looked for this many calls deep.
const DEPTH_MAX: usize = 3;

/// What a servlet does for a request.
const HANDLERS: [&str; 5] = ["doGet", "doPost", "doPut", "doDelete", "service"];

/// The methods that are transactions, with their classes.
pub(super) fn entries<'a>(index: &Index<'a>) -> Vec<(usize, &'a Node)> {
    let mut found: Vec<(usize, &'a Node)> = Vec::new();
    for (at, class) in index.classes.iter().enumerate() {
        for method in class.methods.iter().copied() {
            if !is_entry(index, at, method) {
                continue;
            }
            let chosen = chosen(index, method);
            let all = match chosen.len() {
                0 | 1 => vec![(at, method)],
                _ => chosen,
            };
            for (at, method) in all {
                if !found.iter().any(|(_, one)| std::ptr::eq(*one, method)) {
                    found.push((at, method));
                }
            }
        }
    }
    found
}

/// The methods behind one that commit by themselves, where all SQL behind it is in such.
fn chosen<'a>(index: &Index<'a>, method: &'a Node) -> Vec<(usize, &'a Node)> {
    let (mut seen, mut waiting) = (vec![method], vec![method]);
    let mut found = Vec::new();
    if executes_itself(index, method) || commits(method) {
        return found;
    }
    while let Some(caller) = waiting.pop() {
        let all = index.classes.iter().enumerate();
        let all = all.flat_map(|(at, class)| class.methods.iter().map(move |one| (at, *one)));
        for (at, called) in all.filter(|(_, other)| calls(caller, other)) {
            if seen.iter().any(|known| std::ptr::eq(*known, called)) {
                continue;
            }
            seen.push(called);
            if !reaches_sql(index, at, called, 0) {
                continue;
            }
            match commits(called) {
                true => found.push((at, called)),
                false if executes_itself(index, called) || is_marked(index, at, called) => {
                    return Vec::new();
                }
                false => waiting.push(called),
            }
        }
    }
    found
}

/// Whether a method executes SQL, and does not only call methods of the sources that are called `execute…`.
fn executes_itself(index: &Index<'_>, method: &Node) -> bool {
    let text = method.text();
    let plain = [
        "repareStatement(",
        "emplate.",
        "createNativeQuery(",
        ".batchUpdate(",
    ];
    if !executes(method) || plain.iter().any(|call| text.contains(call)) {
        return executes(method);
    }
    let is_own = |call: &Node| {
        let count = call.child("arguments").map_or(0, |all| all.children.len());
        !index.with_bodies(call.name(), count).is_empty()
    };
    let all = method.all().into_iter();
    let mut calls =
        all.filter(|one| one.kind == "method_invocation" && one.name().starts_with("execute"));
    calls.clone().next().is_none() || !calls.all(is_own)
}

/// Whether a method commits.
fn commits(method: &Node) -> bool {
    method.text().contains(".commit()")
}

/// Whether a method is a transaction.
fn is_entry(index: &Index<'_>, class: usize, method: &Node) -> bool {
    let modifiers = method.of_kind("modifiers").next().map_or("", Node::text);
    let handles = HANDLERS.contains(&method.name()) && is_interactive(index, class);
    let hidden = modifiers.contains("private") || modifiers.contains("protected") && !handles;
    let runs = method.child("body").is_some() || declares_sql(method);
    if method.name() == "main" {
        return executes_itself(index, method) && commits(method);
    }
    if !runs || hidden && !is_begun(index, class, method) {
        return false;
    }
    if is_interactive(index, class) && !executes_itself(index, method) && !commits(method) {
        return false;
    }
    let callers = callers(index, method);
    let free = match is_marked(index, class, method) {
        true => callers.is_empty() || callers.iter().any(|(at, one)| !is_marked(index, *at, one)),
        false => callers.is_empty(),
    };
    free && reaches_sql(index, class, method, 0)
}

/// Whether a method of a class is called by its `main`, or by its menu.
fn is_begun(index: &Index<'_>, class: usize, method: &Node) -> bool {
    let interactive = is_interactive(index, class);
    let begins = |one: &&Node| one.name() == "main" || interactive && !executes_itself(index, one);
    let mut others = index.classes[class].methods.iter().copied();
    others.any(|one| !std::ptr::eq(one, method) && begins(&one) && calls(one, method))
}

/// Whether a method runs in a transaction of its own where it is not called in one.
pub(super) fn is_marked(index: &Index<'_>, class: usize, method: &Node) -> bool {
    is_annotated(method) || is_annotated(index.classes[class].node)
}

/// Whether a class does what somebody asks for, at a terminal, in a browser or in a window.
fn is_interactive(index: &Index<'_>, class: usize) -> bool {
    let text = index.classes[class].node.text();
    let known = [
        "System.in",
        "JOptionPane",
        "extends HttpServlet",
        "extends GenericServlet",
        "extends JFrame",
        "extends JPanel",
        "extends JDialog",
        "implements ActionListener",
        "@FXML",
    ];
    known.iter().any(|word| text.contains(word))
}

/// The methods that call one of that name and number of parameters, with their classes.
fn callers<'a>(index: &Index<'a>, wanted: &Node) -> Vec<(usize, &'a Node)> {
    let mut found = Vec::new();
    for (at, class) in index.classes.iter().enumerate() {
        let interactive = is_interactive(index, at);
        let methods = class.methods.iter().copied();
        let others = methods.filter(|one| {
            let counts = one.name() != "main" && (!interactive || commits(one));
            counts && !std::ptr::eq(*one, wanted)
        });
        found.extend(others.filter(|one| calls(one, wanted)).map(|one| (at, one)));
    }
    found
}

/// Whether a method calls one of that name and number of parameters.
fn calls(method: &Node, wanted: &Node) -> bool {
    let is_call = |node: &&Node| {
        let arguments = node.child("arguments").map_or(0, |all| all.children.len());
        node.kind == "method_invocation" && node.name() == wanted.name() && fits(wanted, arguments)
    };
    method.all().iter().any(is_call)
}

fn reaches_sql(index: &Index<'_>, class: usize, method: &Node, depth: usize) -> bool {
    if executes(method) {
        return true;
    }
    if depth > DEPTH_MAX {
        return false;
    }
    // Its own class first: most calls stay there.
    let own = index.classes[class]
        .methods
        .iter()
        .map(|method| (class, method));
    let all = index.classes.iter().enumerate();
    let foreign = all.flat_map(|(at, class)| class.methods.iter().map(move |method| (at, method)));
    let marked = is_marked(index, class, method);
    own.chain(foreign)
        .filter(|(_, other)| !std::ptr::eq(**other, method) && calls(method, other))
        .filter(|(at, other)| marked || !is_marked(index, *at, other))
        .any(|(at, other)| reaches_sql(index, at, other, depth + 1))
}
