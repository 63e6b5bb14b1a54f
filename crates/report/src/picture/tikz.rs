//! A picture as a LaTeX file that draws it with plain TikZ.

use super::layout::{Point, layout};
use super::{ArrowKind, Certainty, Picture};
use crate::escape::tex;
use history::EdgeKind;
use std::fmt::Write;

const HEAD: &str = "\\documentclass[tikz,border=4pt]{standalone}\n\
\\usepackage[T1]{fontenc}\n\
\\definecolor{so}{HTML}{5B6770}\n\\definecolor{st}{HTML}{5B6770}\n\\definecolor{wr}{HTML}{0B63B0}\n\
\\definecolor{ww}{HTML}{B05A00}\n\\definecolor{rw}{HTML}{C01763}\n\\definecolor{rt}{HTML}{6B3FC0}\n\
\\begin{document}\n\
\\begin{tikzpicture}[x=0.6pt,y=-0.6pt,every node/.style={font=\\ttfamily\\scriptsize}]\n";

impl Picture {
    /// The picture as a LaTeX file of its own.
    pub fn tikz(&self) -> String {
        let layout = layout(self);
        let mut out = format!("% {}\n{HEAD}", tex(&self.title));
        let at = |point: Point| format!("({:.1},{:.1})", point.x, point.y);
        for (place, (txn, rect)) in self.boxes.iter().zip(&layout.boxes).enumerate() {
            let mut lines = vec![format!("\\textbf{{{}}} {}", tex(&txn.name), tex(&txn.note))];
            lines.extend(txn.lines.iter().map(|line| match line.matters {
                true => format!("\\textbf{{{}}}", tex(&line.text)),
                false => tex(&line.text),
            }));
            if txn.more > 0 {
                lines.push(format!("\\ldots{{}} {} more", txn.more));
            }
            let style = if txn.is_doubtful { ",dashed" } else { "" };
            let _ = writeln!(
                out,
                "\\node[draw,rounded corners=2pt,align=left,minimum width={:.1}pt,minimum height={:.1}pt{style}] \
                 (t{place}) at {} {{{}}};",
                rect.width * 0.6,
                rect.height * 0.6,
                at(rect.center()),
                lines.join("\\\\")
            );
        }
        for (arrow, (curve, label)) in self
            .arrows
            .iter()
            .zip(layout.curves.iter().zip(&layout.labels))
        {
            let style = match arrow.certainty {
                Certainty::Seen => "solid",
                Certainty::Inferred => "dashed",
                Certainty::Assumed => "dotted",
            };
            let mut way = at(curve.start);
            for [one, two, end] in &curve.pieces {
                let _ = write!(
                    way,
                    " .. controls {} and {} .. {}",
                    at(*one),
                    at(*two),
                    at(*end)
                );
            }
            let colour = name(arrow.kind);
            let _ = writeln!(
                out,
                "\\draw[->,{colour},{style}] {way};\n\\node[{colour},fill=white,inner sep=1pt] at {} {{{}}};",
                at(label.center()),
                tex(&arrow.label())
            );
        }
        out + "\\end{tikzpicture}\n\\end{document}\n"
    }
}

/// The name of a colour of the head.
fn name(kind: ArrowKind) -> &'static str {
    match kind {
        ArrowKind::Of(EdgeKind::So) => "so",
        ArrowKind::Of(EdgeKind::Wr) => "wr",
        ArrowKind::Of(EdgeKind::Ww) => "ww",
        ArrowKind::Of(EdgeKind::Rw) => "rw",
        ArrowKind::Of(EdgeKind::Rt) => "rt",
        ArrowKind::Sibling => "st",
    }
}
