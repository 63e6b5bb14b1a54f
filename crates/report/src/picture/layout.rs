//! Where the boxes, arrows and labels of a picture are.
//!
//! **Definition.** A layout gives every box a rectangle, every label a rectangle and every arrow a
//! curve, such that no two rectangles overlap.
//!
//! **Steps.** A circle without anything else is drawn as one (`ring`): on an ellipse that grows until
//! nothing overlaps, or, of more than eight boxes, down one column and up another. Everything else is
//! drawn in layers (`layered`), where labels have rows of their own.
//!
//! **Cost.** Quadratic in boxes and arrows, of which a picture has a few dozen.

use super::{Arrow, Picture, TxnBox, layered, ring};
use crate::escape::columns;

/// The width of a letter of the monospaced fonts used, at 12 pixels.
const LETTER: f64 = 7.3;
/// The height of a line.
pub const LINE: f64 = 17.0;
/// The room between the border of a box and its text.
pub const PADDING: f64 = 10.0;
/// The room around the whole.
pub const MARGIN: f64 = 14.0;

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rect {
    /// The left side.
    pub x: f64,
    /// The upper side.
    pub y: f64,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

impl Rect {
    /// The rectangle of this size around a point.
    pub fn around(center: Point, width: f64, height: f64) -> Rect {
        Rect {
            x: center.x - width / 2.0,
            y: center.y - height / 2.0,
            width,
            height,
        }
    }

    /// The middle.
    pub fn center(&self) -> Point {
        Point {
            x: self.x + self.width / 2.0,
            y: self.y + self.height / 2.0,
        }
    }

    /// Whether two rectangles come closer than `gap`.
    pub fn is_near(&self, other: &Rect, gap: f64) -> bool {
        self.x < other.x + other.width + gap
            && other.x < self.x + self.width + gap
            && self.y < other.y + other.height + gap
            && other.y < self.y + self.height + gap
    }

    /// Where a line from the middle towards a point leaves the rectangle.
    pub fn border(&self, towards: Point) -> Point {
        let center = self.center();
        let (dx, dy) = (towards.x - center.x, towards.y - center.y);
        if dx.abs() < 0.01 && dy.abs() < 0.01 {
            return center;
        }
        let by_width = self.width / 2.0 / dx.abs().max(0.0001);
        let by_height = self.height / 2.0 / dy.abs().max(0.0001);
        let scale = by_width.min(by_height);
        Point {
            x: center.x + dx * scale,
            y: center.y + dy * scale,
        }
    }
}

/// A point; y grows downwards.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A curve: it begins at a point and goes on by cubic pieces (two control points and an end).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// Where it begins.
    pub start: Point,
    /// Its pieces.
    pub pieces: Vec<[Point; 3]>,
}

impl Curve {
    /// A straight line.
    pub fn line(start: Point, end: Point) -> Curve {
        let third = |share: f64| Point {
            x: start.x + (end.x - start.x) * share,
            y: start.y + (end.y - start.y) * share,
        };
        Curve {
            start,
            pieces: vec![[third(1.0 / 3.0), third(2.0 / 3.0), end]],
        }
    }

    /// A curve drawn towards one point on its way.
    pub fn bent(start: Point, towards: Point, end: Point) -> Curve {
        let part = |from: Point| Point {
            x: from.x + (towards.x - from.x) * 2.0 / 3.0,
            y: from.y + (towards.y - from.y) * 2.0 / 3.0,
        };
        Curve {
            start,
            pieces: vec![[part(start), part(end), end]],
        }
    }

    /// Where it ends.
    pub fn end(&self) -> Point {
        self.pieces.last().map_or(self.start, |piece| piece[2])
    }

    /// The point that the end is approached from.
    pub fn approach(&self) -> Point {
        let end = self.end();
        let far = |point: &Point| (point.x - end.x).abs() + (point.y - end.y).abs() > 0.5;
        let last = self.pieces.last();
        let found = last.and_then(|piece| [piece[1], piece[0]].into_iter().find(far));
        found.unwrap_or(self.start)
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        [self.start]
            .into_iter()
            .chain(self.pieces.iter().flatten().copied())
    }

    fn shift(&mut self, by: Point) {
        let move_point = |point: &mut Point| {
            point.x += by.x;
            point.y += by.y;
        };
        move_point(&mut self.start);
        self.pieces.iter_mut().flatten().for_each(move_point);
    }
}

/// Where everything is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Layout {
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// The rectangle of each box.
    pub boxes: Vec<Rect>,
    /// The curve of each arrow.
    pub curves: Vec<Curve>,
    /// The rectangle of each arrow's label.
    pub labels: Vec<Rect>,
}

/// Lays a picture out.
pub fn layout(picture: &Picture) -> Layout {
    let is_plain = picture.arrows.len() == picture.circle_arrows().count();
    let circle = picture.circle().filter(|order| {
        is_plain && order.len() == picture.boxes.len() && order.len() == picture.arrows.len()
    });
    let mut found = match circle {
        Some(order) if order.len() <= ring::ELLIPSE_MAX => ring::ellipse(picture, &order),
        Some(order) => ring::columns(picture, &order),
        None => layered::layered(picture),
    };
    found.fit();
    found
}

impl Layout {
    /// Moves everything so that it begins at the margin.
    fn fit(&mut self) {
        let rects = self.boxes.iter().chain(&self.labels);
        let corners = rects.flat_map(|rect| {
            let far = Point {
                x: rect.x + rect.width,
                y: rect.y + rect.height,
            };
            [
                Point {
                    x: rect.x,
                    y: rect.y,
                },
                far,
            ]
        });
        let points = corners.chain(self.curves.iter().flat_map(Curve::points));
        let (mut low, mut high) = (
            Point {
                x: f64::MAX,
                y: f64::MAX,
            },
            Point {
                x: f64::MIN,
                y: f64::MIN,
            },
        );
        for point in points {
            low = Point {
                x: low.x.min(point.x),
                y: low.y.min(point.y),
            };
            high = Point {
                x: high.x.max(point.x),
                y: high.y.max(point.y),
            };
        }
        if self.boxes.is_empty() {
            (low, high) = Default::default();
        }
        let by = Point {
            x: MARGIN - low.x,
            y: MARGIN - low.y,
        };
        for rect in self.boxes.iter_mut().chain(&mut self.labels) {
            rect.x += by.x;
            rect.y += by.y;
        }
        for curve in &mut self.curves {
            curve.shift(by);
        }
        self.width = high.x - low.x + 2.0 * MARGIN;
        self.height = high.y - low.y + 2.0 * MARGIN;
    }
}

/// How much room a text takes at 12 pixels.
pub(crate) fn text_width(text: &str) -> f64 {
    columns(text) as f64 * LETTER
}

/// How large a box is.
pub(super) fn box_size(txn: &TxnBox) -> (f64, f64) {
    let head = text_width(&txn.name) * 1.08 + text_width(&txn.note) + 14.0;
    let lines = txn.lines.iter().map(|line| text_width(&line.text));
    let width = lines.fold(head, f64::max);
    let rows = 1 + txn.lines.len() + usize::from(txn.more > 0);
    let gap = if rows > 1 { 6.0 } else { 0.0 };
    (
        width + 2.0 * PADDING,
        rows as f64 * LINE + gap + 2.0 * PADDING - 6.0,
    )
}

/// How large the label of an arrow is.
pub(super) fn label_size(arrow: &Arrow) -> (f64, f64) {
    (text_width(&arrow.label()) + 10.0, LINE + 2.0)
}
