//! A picture as DOT, for Graphviz.

use super::{ArrowKind, Certainty, Picture, Role};
use crate::escape::dot;
use history::EdgeKind;
use std::fmt::Write;

/// The colour of an arrow on white paper.
pub(super) fn colour(kind: ArrowKind) -> &'static str {
    match kind {
        ArrowKind::Of(EdgeKind::So) | ArrowKind::Sibling => "5B6770",
        ArrowKind::Of(EdgeKind::Wr) => "0B63B0",
        ArrowKind::Of(EdgeKind::Ww) => "B05A00",
        ArrowKind::Of(EdgeKind::Rw) => "C01763",
        ArrowKind::Of(EdgeKind::Rt) => "6B3FC0",
    }
}

impl Picture {
    /// The picture as a DOT file.
    pub fn dot(&self) -> String {
        let mut out = format!(
            "digraph anomaly {{\n  label=\"{}\";\n  labelloc=t;\n  \
             node [shape=box, style=rounded, fontname=\"monospace\", fontsize=11];\n  \
             edge [fontname=\"monospace\", fontsize=11];\n",
            dot(&self.title)
        );
        for (place, txn) in self.boxes.iter().enumerate() {
            // `\l` ends a line and puts it to the left.
            let mut label = format!("{}  {}\\l", dot(&txn.name), dot(&txn.note));
            for line in &txn.lines {
                let _ = write!(label, "{}\\l", dot(&line.text));
            }
            if txn.more > 0 {
                let _ = write!(label, "… {} more\\l", txn.more);
            }
            let style = if txn.is_doubtful {
                ", style=\"rounded,dashed\""
            } else {
                ""
            };
            let _ = writeln!(out, "  t{place} [label=\"{label}\"{style}];");
        }
        for arrow in &self.arrows {
            let style = match arrow.certainty {
                Certainty::Seen => "solid",
                Certainty::Inferred => "dashed",
                Certainty::Assumed => "dotted",
            };
            let width = match arrow.role {
                Role::Circle => "1.8",
                Role::Support => "1",
            };
            let colour = colour(arrow.kind);
            let _ = writeln!(
                out,
                "  t{} -> t{} [label=\"{}\", color=\"#{colour}\", fontcolor=\"#{colour}\", style={style}, \
                 penwidth={width}, tooltip=\"{}\"];",
                arrow.from,
                arrow.to,
                dot(&arrow.label()),
                dot(&arrow.reason)
            );
        }
        out + "}\n"
    }
}
