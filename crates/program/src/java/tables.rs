//! Tables that an application makes itself: `create table` in its texts.

use super::index::Index;
use super::tree::Node;
use super::{JavaFile, parsed};
use crate::expr::Value;
use crate::place::{Place, ProgramError};

/// The texts of the sources that create tables, with their places.
pub(crate) fn table_texts(files: &[JavaFile<'_>]) -> Result<Vec<(String, Place)>, ProgramError> {
    let parsed = parsed(files)?;
    let index = Index::new(&parsed.roots);
    let mut found = Vec::new();
    let mut taken: Vec<&Node> = Vec::new();
    for (at, class) in index.classes.iter().enumerate() {
        // What is put together comes before its pieces.
        for node in class.node.all() {
            let text = matches!(node.kind, "string_literal" | "binary_expression");
            if !text || taken.iter().any(|one| one.holds(node)) {
                continue;
            }
            if let Some(Value::Text(text)) = index.constant(at, node)
                && creates_table(&text)
            {
                taken.push(node);
                found.push((text, node.place()));
            }
        }
    }
    Ok(found)
}

fn creates_table(text: &str) -> bool {
    let words = text.split_whitespace().map(str::to_ascii_lowercase);
    let words: Vec<String> = words.take(2).collect();
    words == ["create", "table"]
}
