//! Java sources as trees of our own, so that one file knows the parser.

use crate::place::{Place, ProgramError};
use std::sync::{Arc, LazyLock};
use tree_sitter::{Language, Parser, TreeCursor};

/// Deeper sources are refused: everything that walks the tree recurses.
const DEPTH_MAX: usize = 300;

/// The grammar; kept, so that names of kinds and roles live as long.
static JAVA: LazyLock<Language> = LazyLock::new(|| tree_sitter_java::LANGUAGE.into());

/// A file.
#[derive(Debug)]
pub(super) struct Source {
    pub name: Arc<str>,
    pub text: String,
}

/// A node of the tree: named nodes, and tokens that have a role (operators).
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: &'static str,
    /// Its role in its parent.
    pub field: Option<&'static str>,
    pub children: Vec<Node>,
    source: Arc<Source>,
    from: usize,
    to: usize,
    line: u32,
    column: u32,
}

impl Node {
    pub fn text(&self) -> &str {
        &self.source.text[self.from..self.to]
    }

    /// The text of the whole file.
    pub fn source_text(&self) -> &str {
        &self.source.text
    }

    /// Where it starts in the file.
    pub fn start(&self) -> usize {
        self.from
    }

    pub fn place(&self) -> Place {
        Place {
            file: self.source.name.clone(),
            line: self.line,
            column: self.column,
        }
    }

    /// Whether it is the other node, or around it.
    pub fn holds(&self, other: &Node) -> bool {
        let same = Arc::ptr_eq(&self.source, &other.source);
        same && self.from <= other.from && other.to <= self.to
    }

    /// The child of that role.
    pub fn child(&self, field: &str) -> Option<&Node> {
        self.children.iter().find(|one| one.field == Some(field))
    }

    /// The text of the child of that role.
    pub fn name(&self) -> &str {
        self.child("name").map_or("", Node::text)
    }

    /// The children of that kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Node> {
        self.children.iter().filter(move |one| one.kind == kind)
    }

    /// This node and all inside, from the top.
    pub fn all(&self) -> Vec<&Node> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(node) = found.get(next) {
            found.extend(&node.children);
            next += 1;
        }
        found
    }
}

/// The tree of a file, and the places of what the parser could not read.
pub(super) fn parse(name: &str, text: &str) -> Result<(Node, Vec<Place>), ProgramError> {
    let start = Place::new(name, 1, 1);
    let refuse = |problem: &str| ProgramError::new(&start, problem, "");
    let mut parser = Parser::new();
    parser
        .set_language(&JAVA)
        .map_err(|_| refuse("the Java grammar does not fit the parser"))?;
    let tree = parser
        .parse(text, None)
        .ok_or_else(|| refuse("the Java parser gave up"))?;
    let source = Arc::new(Source {
        name: Arc::from(name),
        text: text.to_string(),
    });
    let mut broken = Vec::new();
    let root = copy(&mut tree.walk(), &source, &mut broken)
        .ok_or_else(|| refuse(&format!("nested more than {DEPTH_MAX} deep")))?;
    Ok((root, broken))
}

/// Copies a tree without recursion; `None` where it is too deep.
fn copy(
    cursor: &mut TreeCursor<'_>,
    source: &Arc<Source>,
    broken: &mut Vec<Place>,
) -> Option<Node> {
    let mut open: Vec<Node> = vec![node(cursor, source, broken)];
    loop {
        if cursor.goto_first_child() {
            open.push(node(cursor, source, broken));
            if open.len() > DEPTH_MAX {
                return None;
            }
            continue;
        }
        loop {
            if open.len() == 1 {
                return open.pop();
            }
            close(cursor, &mut open);
            if cursor.goto_next_sibling() {
                open.push(node(cursor, source, broken));
                break;
            }
            cursor.goto_parent();
        }
    }
}

/// Hands a finished node to its parent; comments and plain tokens are left out.
fn close(cursor: &TreeCursor<'_>, open: &mut Vec<Node>) {
    let Some(done) = open.pop() else { return };
    let comment = done.kind.ends_with("comment");
    let kept = cursor.node().is_named() || done.field.is_some();
    if let Some(parent) = open.last_mut()
        && kept
        && !comment
    {
        parent.children.push(done);
    }
}

fn node(cursor: &TreeCursor<'_>, source: &Arc<Source>, broken: &mut Vec<Place>) -> Node {
    let found = cursor.node();
    let at = found.start_position();
    let field = cursor.field_id();
    let node = Node {
        kind: JAVA.node_kind_for_id(found.kind_id()).unwrap_or(""),
        field: field.and_then(|id| JAVA.field_name_for_id(id.get())),
        children: Vec::new(),
        source: source.clone(),
        from: found.start_byte(),
        to: found.end_byte(),
        line: at.row as u32 + 1,
        column: at.column as u32 + 1,
    };
    if found.is_error() || found.is_missing() {
        broken.push(node.place());
    }
    node
}
