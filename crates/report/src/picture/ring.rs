//! A circle of dependencies as a circle: on an ellipse, or in two columns if it is long.

use super::Picture;
use super::layout::{Curve, Layout, Point, Rect, box_size, label_size};
use std::f64::consts::PI;

/// Circles of more boxes would be mostly empty space.
pub(super) const ELLIPSE_MAX: usize = 8;
/// Between rectangles.
const GAP: f64 = 10.0;
/// The ellipse grows by this until nothing overlaps.
const GROWTH: f64 = 16.0;
const ROUNDS_MAX: usize = 400;

/// How much wider than high an ellipse may be; boxes are wide, so it is mostly less.
const RATIOS: [f64; 5] = [0.5, 0.7, 0.9, 1.2, 1.6];

/// Boxes on an ellipse, the first one at the top (two of them: side by side). Of several shapes that
/// which takes the least room; width is dearer than height.
pub(super) fn ellipse(picture: &Picture, order: &[usize]) -> Layout {
    let room = |found: &Layout| {
        let side = |low: &dyn Fn(&Rect) -> f64, high: &dyn Fn(&Rect) -> f64| {
            let first = found.boxes.iter().map(low).fold(f64::MAX, f64::min);
            let last = found.boxes.iter().map(high).fold(f64::MIN, f64::max);
            last - first
        };
        let width = side(&|rect| rect.x, &|rect| rect.x + rect.width);
        1.6 * width + side(&|rect| rect.y, &|rect| rect.y + rect.height)
    };
    let shapes = RATIOS
        .into_iter()
        .map(|ratio| shaped(picture, order, ratio));
    let best = shapes.min_by(|one, other| room(one).total_cmp(&room(other)));
    best.unwrap_or_default()
}

/// The smallest ellipse of a shape on which nothing overlaps.
fn shaped(picture: &Picture, order: &[usize], ratio: f64) -> Layout {
    let sizes: Vec<(f64, f64)> = picture.boxes.iter().map(box_size).collect();
    let mut found = Layout::default();
    for round in 0..ROUNDS_MAX {
        let grown = round as f64 * GROWTH + 30.0;
        let (rx, ry) = match order.len() {
            2 => (grown, 0.0),
            _ => (grown * ratio, grown),
        };
        let turn = if order.len() == 2 { PI } else { -PI / 2.0 };
        found = Layout::default();
        found.boxes = vec![Rect::default(); picture.boxes.len()];
        for (place, &index) in order.iter().enumerate() {
            let angle = turn + 2.0 * PI * place as f64 / order.len() as f64;
            let center = Point {
                x: rx * angle.cos(),
                y: ry * angle.sin(),
            };
            let (width, height) = sizes[index];
            found.boxes[index] = Rect::around(center, width, height);
        }
        connect(picture, order.len() == 2, &mut found);
        if is_free(&found) {
            break;
        }
    }
    found
}

/// Arrows between the boxes; of two boxes, one above and one below.
fn connect(picture: &Picture, is_pair: bool, found: &mut Layout) {
    for arrow in &picture.arrows {
        let (from, to) = (found.boxes[arrow.from], found.boxes[arrow.to]);
        let (start, end) = (from.center(), to.center());
        let (width, height) = label_size(arrow);
        let bend = if is_pair {
            0.5 * from.height.max(to.height).min(70.0) + 26.0
        } else {
            0.0
        };
        let (dx, dy) = (end.x - start.x, end.y - start.y);
        let length = dx.hypot(dy).max(1.0);
        // To the left of the way: arrows that go there and back bend apart.
        let towards = Point {
            x: (start.x + end.x) / 2.0 + dy / length * bend,
            y: (start.y + end.y) / 2.0 - dx / length * bend,
        };
        let (start, end) = (from.border(towards), to.border(towards));
        let curve = if is_pair {
            Curve::bent(start, towards, end)
        } else {
            Curve::line(start, end)
        };
        let middle = Point {
            x: (start.x + end.x) / 4.0 + towards.x / 2.0,
            y: (start.y + end.y) / 4.0 + towards.y / 2.0,
        };
        let middle = if is_pair {
            middle
        } else {
            Point {
                x: (start.x + end.x) / 2.0,
                y: (start.y + end.y) / 2.0,
            }
        };
        found.labels.push(Rect::around(middle, width, height));
        found.curves.push(curve);
    }
}

/// Whether nothing overlaps, and every arrow is long enough to be seen beside its label.
fn is_free(found: &Layout) -> bool {
    let rects: Vec<&Rect> = found.boxes.iter().chain(&found.labels).collect();
    let overlap = rects.iter().enumerate().any(|(place, one)| {
        rects[place + 1..]
            .iter()
            .any(|other| one.is_near(other, GAP))
    });
    let is_visible = |(curve, label): (&Curve, &Rect)| {
        let (start, end) = (curve.start, curve.end());
        (start.x - end.x).abs() > label.width + 44.0
            || (start.y - end.y).abs() > label.height + 40.0
    };
    !overlap && found.curves.iter().zip(&found.labels).all(is_visible)
}

/// Down one column and up another.
pub(super) fn columns(picture: &Picture, order: &[usize]) -> Layout {
    let sizes: Vec<(f64, f64)> = picture.boxes.iter().map(box_size).collect();
    let half = order.len().div_ceil(2);
    let (down, up) = order.split_at(half);
    let widest = |side: &[usize]| {
        side.iter()
            .fold(0.0, |most: f64, &at| most.max(sizes[at].0))
    };
    let label = picture
        .arrows
        .iter()
        .fold(0.0, |most: f64, arrow| most.max(label_size(arrow).0));
    let left = widest(down) / 2.0;
    let right = widest(down) + label + 70.0 + widest(up) / 2.0;
    let mut found = Layout {
        boxes: vec![Rect::default(); picture.boxes.len()],
        ..Layout::default()
    };
    let mut top = 0.0;
    for (row, &first) in down.iter().enumerate() {
        // The last one of the way up stands beside the first one of the way down.
        let pair = [Some(first), up.len().checked_sub(row + 1).map(|at| up[at])];
        let height = pair
            .iter()
            .flatten()
            .fold(0.0, |most: f64, &at| most.max(sizes[at].1));
        for (index, x) in pair.into_iter().zip([left, right]) {
            if let Some(index) = index {
                let center = Point {
                    x,
                    y: top + height / 2.0,
                };
                found.boxes[index] = Rect::around(center, sizes[index].0, sizes[index].1);
            }
        }
        top += height + 58.0;
    }
    connect(picture, false, &mut found);
    found
}
