//! A picture as SVG: readable alone as a file, or as a part of a page.

use super::layout::{Curve, LINE, Layout, PADDING, Point, Rect, layout, text_width};
use super::{Arrow, Picture, Role, TxnBox};
use crate::escape::{cut, html};
use std::fmt::Write;

/// The style of every drawing: colours in light and dark, boxes, arrows.
pub const STYLE: &str = concat!(
    include_str!("../assets/colours.css"),
    include_str!("../assets/drawing.css")
);

/// How a drawing is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown<'a> {
    /// As a file of its own, with its style.
    Alone,
    /// Within a page that has the style. Each arrow is a link to `#NAME-PLACE`, where its reason is.
    Within {
        /// The first part of those names: letters, digits and `-`.
        anchor: &'a str,
    },
}

/// A drawing that is not wider can be read on a phone if it is shrunk to the screen.
const SMALL: f64 = 500.0;

/// A drawing that is wider gets the whole width of a page.
const BROAD: f64 = 700.0;

/// The beginning of a drawing.
pub(crate) fn open(shown: Shown<'_>, width: f64, height: f64, title: &str) -> String {
    let (width, height) = (width.ceil(), height.ceil());
    let title = html(&cut(title, 300));
    match shown {
        Shown::Alone => format!(
            "<svg class=\"drawing\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
        ),
        Shown::Within { .. } => format!(
            "<svg class=\"drawing{}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"group\" aria-label=\"{title}\">\n",
            match (width <= SMALL, width > BROAD) {
                (true, _) => " small",
                (_, true) => " broad",
                _ => "",
            }
        ),
    }
}

impl Picture {
    /// The picture as SVG.
    pub fn svg(&self, shown: Shown<'_>) -> String {
        let layout = layout(self);
        let mut out = open(shown, layout.width, layout.height, &self.title);
        for (place, arrow) in self.arrows.iter().enumerate() {
            self.draw_arrow(&mut out, &layout, place, arrow, shown);
        }
        for (txn, rect) in self.boxes.iter().zip(&layout.boxes) {
            draw_box(&mut out, txn, rect);
        }
        out + "</svg>\n"
    }

    fn draw_arrow(
        &self,
        out: &mut String,
        layout: &Layout,
        place: usize,
        arrow: &Arrow,
        shown: Shown<'_>,
    ) {
        let (curve, label) = (&layout.curves[place], &layout.labels[place]);
        let role = match arrow.role {
            Role::Circle => "",
            Role::Support => " support",
        };
        let class = format!(
            "arrow {} {}{role}",
            arrow.kind.name(),
            arrow.certainty.name()
        );
        let (from, to) = (&self.boxes[arrow.from].name, &self.boxes[arrow.to].name);
        let name = html(&format!(
            "{from} to {to}, {}: {}",
            arrow.label(),
            arrow.reason
        ));
        // Writing to a string cannot fail, here and below.
        let _ = match shown {
            Shown::Alone => write!(out, "<g class=\"{class}\"><title>{name}</title>"),
            Shown::Within { anchor } => write!(
                out,
                "<a class=\"{class}\" href=\"#{anchor}-{place}\" aria-label=\"{name}\">"
            ),
        };
        let path = path(curve);
        let _ = write!(
            out,
            "<path class=\"reach\" d=\"{path}\"/><path class=\"curve\" d=\"{path}\"/>\
             <path class=\"tip\" d=\"{}\"/>{}",
            tip(curve),
            rounded(label, "")
        );
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>{}",
            label.center().x,
            label.center().y + 4.0,
            html(&arrow.label()),
            if shown == Shown::Alone {
                "</g>"
            } else {
                "</a>"
            }
        );
    }
}

fn draw_box(out: &mut String, txn: &TxnBox, rect: &Rect) {
    let doubtful = if txn.is_doubtful {
        " class=\"doubtful\""
    } else {
        ""
    };
    let (x, mut y) = (rect.x + PADDING, rect.y + PADDING + 9.0);
    let _ = write!(
        out,
        "<g{doubtful}>{}<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\
         <text class=\"note\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
        rounded(rect, "box"),
        html(&txn.name),
        x + text_width(&txn.name) * 1.08 + 12.0,
        html(&txn.note)
    );
    y += 5.0;
    for line in &txn.lines {
        y += LINE;
        let class = if line.matters { "line matters" } else { "line" };
        let text = html(&line.text);
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }
    if txn.more > 0 {
        y += LINE;
        let text = format!("… {} more", txn.more);
        let _ = write!(
            out,
            "<text class=\"more\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }
    out.push_str("</g>\n");
}

/// A rectangle with round corners.
pub(crate) fn rounded(rect: &Rect, class: &str) -> String {
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    format!(
        "<rect{class} x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
        rect.x, rect.y, rect.width, rect.height
    )
}

/// A curve as the `d` of a path.
pub(crate) fn path(curve: &Curve) -> String {
    let mut out = format!("M{:.1} {:.1}", curve.start.x, curve.start.y);
    for [one, two, end] in &curve.pieces {
        let _ = write!(
            out,
            "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
            one.x, one.y, two.x, two.y, end.x, end.y
        );
    }
    out
}

/// The head of an arrow.
pub(crate) fn tip(curve: &Curve) -> String {
    let (end, before) = (curve.end(), curve.approach());
    let (dx, dy) = (end.x - before.x, end.y - before.y);
    let length = dx.hypot(dy).max(0.001);
    let (dx, dy) = (dx / length, dy / length);
    let corner = |side: f64| Point {
        x: end.x - 11.0 * dx - side * dy,
        y: end.y - 11.0 * dy + side * dx,
    };
    let (one, two) = (corner(5.0), corner(-5.0));
    format!(
        "M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z",
        end.x, end.y, one.x, one.y, two.x, two.y
    )
}
