//! A picture as a Mermaid flow chart, which many web pages draw.

use super::dot::colour;
use super::{Certainty, Picture};
use crate::escape::mermaid;
use std::fmt::Write;

impl Picture {
    /// The picture as a Mermaid file.
    pub fn mermaid(&self) -> String {
        let mut out = "flowchart TD\n".to_string();
        for (place, txn) in self.boxes.iter().enumerate() {
            let mut parts = vec![mermaid(&txn.name)];
            if !txn.note.is_empty() {
                parts[0].push_str(&format!(" ({})", mermaid(&txn.note)));
            }
            parts.extend(txn.lines.iter().map(|line| mermaid(&line.text)));
            if txn.more > 0 {
                parts.push(format!("… {} more", txn.more));
            }
            let _ = writeln!(out, "  t{place}[\"{}\"]", parts.join("<br/>"));
        }
        for arrow in &self.arrows {
            let line = match arrow.certainty {
                Certainty::Seen => "-->",
                Certainty::Inferred | Certainty::Assumed => "-.->",
            };
            let label = mermaid(&arrow.label());
            let _ = writeln!(out, "  t{} {line}|\"{label}\"| t{}", arrow.from, arrow.to);
        }
        for (place, arrow) in self.arrows.iter().enumerate() {
            let _ = writeln!(out, "  linkStyle {place} stroke:#{}", colour(arrow.kind));
        }
        out
    }
}
