//! A picture in layers, arrows downwards where that is possible.
//!
//! **Steps.** 1. Arrows that close a circle are turned round for the layout (depth first, in the order
//! of the boxes). 2. Every box goes below all that point to it. 3. Between two rows of boxes lies a row
//! for labels; an arrow that spans several rows gets a narrow place in each of them, and its label the
//! place in the row next to the middle. 4. The order within rows follows the neighbours' middles, to and
//! fro. 5. Places are moved towards their neighbours as far as the row leaves room.
//!
//! So no two boxes or labels overlap, and no arrow crosses a box.
//!
//! **Cost.** Quadratic in the boxes and arrows. **Source.** Sugiyama, Tagawa & Toda, 1981; labels as
//! places of their own after Gansner, Koutsofios, North & Vo, "A technique for drawing directed graphs",
//! 1993.

use super::Picture;
use super::layout::{Curve, Layout, Point, Rect, box_size, label_size};

const GAP: f64 = 22.0;
const ROW_GAP: f64 = 20.0;
const SWEEPS: usize = 12;

/// A place in a row: a box, or a part of an arrow.
#[derive(Clone, Copy, Debug)]
struct Place {
    width: f64,
    height: f64,
    x: f64,
}

/// The graph that is laid out, with its rows.
struct Rows {
    places: Vec<Place>,
    rows: Vec<Vec<usize>>,
    /// Pairs of places in neighbouring rows that are joined.
    joints: Vec<(usize, usize)>,
    /// For each arrow: its places from top to bottom, boxes included, and that of its label.
    routes: Vec<(Vec<usize>, usize)>,
}

/// Lays a picture out in layers.
pub(super) fn layered(picture: &Picture) -> Layout {
    let ends: Vec<(usize, usize)> = picture
        .arrows
        .iter()
        .map(|arrow| (arrow.from, arrow.to))
        .collect();
    let turned = turned(picture.boxes.len(), &ends);
    let ranks = ranks(picture.boxes.len(), &ends, &turned);
    let mut rows = rows(picture, &ends, &turned, &ranks);
    rows.sort();
    rows.spread();
    rows.draw(picture, &turned)
}

/// Which arrows go back to a box that is still open in a depth-first walk.
fn turned(count: usize, ends: &[(usize, usize)]) -> Vec<bool> {
    let mut turned = vec![false; ends.len()];
    // 0: not seen, 1: open, 2: done.
    let mut state = vec![0u8; count];
    for root in 0..count {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut stack = vec![(root, 0usize)];
        while let Some((at, next)) = stack.pop() {
            let Some(offset) = ends[next..].iter().position(|&(from, _)| from == at) else {
                state[at] = 2;
                continue;
            };
            let arrow = next + offset;
            stack.push((at, arrow + 1));
            let to = ends[arrow].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => turned[arrow] = true,
                _ => {}
            }
        }
    }
    turned
}

/// The layer of each box: below all that point to it.
fn ranks(count: usize, ends: &[(usize, usize)], turned: &[bool]) -> Vec<usize> {
    let mut ranks = vec![0; count];
    for _ in 0..count {
        for (&(from, to), &turned) in ends.iter().zip(turned) {
            let (above, below) = if turned { (to, from) } else { (from, to) };
            if above != below {
                ranks[below] = ranks[below].max(ranks[above] + 1);
            }
        }
    }
    ranks
}

/// Boxes in even rows, labels in odd ones, and narrow places for what passes by.
fn rows(picture: &Picture, ends: &[(usize, usize)], turned: &[bool], ranks: &[usize]) -> Rows {
    let layers = ranks.iter().max().map_or(0, |most| most + 1);
    let mut found = Rows {
        places: Vec::new(),
        rows: vec![Vec::new(); (2 * layers).max(1)],
        joints: Vec::new(),
        routes: Vec::new(),
    };
    for (index, txn) in picture.boxes.iter().enumerate() {
        let (width, height) = box_size(txn);
        found.add(2 * ranks[index], width, height);
    }
    for (index, (&(from, to), &turned)) in ends.iter().zip(turned).enumerate() {
        let (above, below) = if turned { (to, from) } else { (from, to) };
        let (first, last) = (2 * ranks[above] + 1, (2 * ranks[below]).saturating_sub(1));
        let middle = ((first + last) / 2) | 1;
        let mut route = vec![above];
        let mut label = above;
        for row in first..=last.max(first) {
            let (width, height) = if row == middle {
                label_size(&picture.arrows[index])
            } else {
                (8.0, 0.0)
            };
            let place = found.add(row, width, height);
            if row == middle {
                label = place;
            }
            route.push(place);
        }
        route.push(below);
        let pairs = route.windows(2).map(|pair| (pair[0], pair[1]));
        found.joints.extend(pairs);
        found.routes.push((route, label));
    }
    found
}

impl Rows {
    fn add(&mut self, row: usize, width: f64, height: f64) -> usize {
        self.places.push(Place {
            width,
            height,
            x: 0.0,
        });
        let place = self.places.len() - 1;
        self.rows[row].push(place);
        place
    }

    fn neighbours(&self, place: usize, is_above: bool) -> Vec<usize> {
        let other = |&(above, below): &(usize, usize)| match is_above {
            true if below == place => Some(above),
            false if above == place => Some(below),
            _ => None,
        };
        self.joints.iter().filter_map(other).collect()
    }

    /// Orders the rows by the middles of neighbours.
    fn sort(&mut self) {
        let mut position = vec![0.0; self.places.len()];
        let number = |row: &[usize], position: &mut Vec<f64>| {
            for (at, &place) in row.iter().enumerate() {
                position[place] = at as f64 - row.len() as f64 / 2.0;
            }
        };
        for row in &self.rows {
            number(row, &mut position);
        }
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            if !is_down {
                order.reverse();
            }
            for row in order {
                let middle = |place: usize| -> f64 {
                    let near = self.neighbours(place, is_down);
                    if near.is_empty() {
                        return position[place];
                    }
                    near.iter().map(|&other| position[other]).sum::<f64>() / near.len() as f64
                };
                let mut keyed: Vec<(f64, usize)> = self.rows[row]
                    .iter()
                    .map(|&place| (middle(place), place))
                    .collect();
                keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
                self.rows[row] = keyed.into_iter().map(|(_, place)| place).collect();
                number(&self.rows[row], &mut position);
            }
        }
    }

    /// Gives every place its x: near its neighbours, apart from those beside it.
    fn spread(&mut self) {
        for row in self.rows.clone() {
            self.settle(&row, &vec![0.0; row.len()]);
        }
        for sweep in 0..2 * SWEEPS {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            if sweep % 2 == 1 {
                order.reverse();
            }
            for row in order {
                let row = self.rows[row].clone();
                let wanted: Vec<f64> = row
                    .iter()
                    .map(|&place| {
                        let mut near = self.neighbours(place, true);
                        near.extend(self.neighbours(place, false));
                        if near.is_empty() {
                            return self.places[place].x;
                        }
                        near.iter().map(|&other| self.places[other].x).sum::<f64>()
                            / near.len() as f64
                    })
                    .collect();
                self.settle(&row, &wanted);
            }
        }
    }

    /// Puts the places of a row where they want to be, or as near as the others allow: each group
    /// that would overlap stands together around the middle of its wishes.
    fn settle(&mut self, row: &[usize], wanted: &[f64]) {
        // A group: its places, the sum of their wishes for where the group begins.
        let mut groups: Vec<(usize, usize, f64, f64)> = Vec::new();
        for (at, &place) in row.iter().enumerate() {
            let half = self.places[place].width / 2.0;
            groups.push((at, at + 1, wanted[at] - half, 2.0 * half));
            while let [.., one, two] = groups[..] {
                let left = |group: (usize, usize, f64, f64)| group.2 / (group.1 - group.0) as f64;
                if left(one) + one.3 + GAP <= left(two) {
                    break;
                }
                groups.truncate(groups.len() - 2);
                let offset = one.3 + GAP;
                let sum = one.2 + two.2 - offset * (two.1 - two.0) as f64;
                groups.push((one.0, two.1, sum, offset + two.3));
            }
        }
        for (first, end, sum, _) in groups {
            let mut left = sum / (end - first) as f64;
            for &place in &row[first..end] {
                let width = self.places[place].width;
                self.places[place].x = left + width / 2.0;
                left += width + GAP;
            }
        }
    }

    fn draw(&self, picture: &Picture, turned: &[bool]) -> Layout {
        let heights: Vec<f64> = self
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .fold(0.0, |most: f64, &place| most.max(self.places[place].height))
            })
            .collect();
        let mut tops = Vec::new();
        let mut top = 0.0;
        for height in &heights {
            tops.push(top);
            top += height + ROW_GAP;
        }
        let mut row_of = vec![0; self.places.len()];
        for (number, row) in self.rows.iter().enumerate() {
            for &place in row {
                row_of[place] = number;
            }
        }
        let rect = |place: usize| {
            let center = Point {
                x: self.places[place].x,
                y: tops[row_of[place]] + heights[row_of[place]] / 2.0,
            };
            Rect::around(center, self.places[place].width, self.places[place].height)
        };
        let mut found = Layout {
            boxes: (0..picture.boxes.len()).map(rect).collect(),
            ..Layout::default()
        };
        for ((route, label), &turned) in self.routes.iter().zip(turned) {
            found.labels.push(rect(*label));
            let spans: Vec<(f64, f64, f64)> = route
                .iter()
                .map(|&place| {
                    let row = row_of[place];
                    (self.places[place].x, tops[row], tops[row] + heights[row])
                })
                .collect();
            found
                .curves
                .push(self.curve(route, &spans, &found.boxes, turned));
        }
        found
    }

    /// From the lower side of one box, straight through the rows, to the upper side of the other.
    fn curve(
        &self,
        route: &[usize],
        spans: &[(f64, f64, f64)],
        boxes: &[Rect],
        turned: bool,
    ) -> Curve {
        let (first, last) = (boxes[route[0]], boxes[route[route.len() - 1]]);
        let inner = &spans[1..spans.len() - 1];
        let towards = |rect: Rect, x: f64| {
            let room = (rect.width / 2.0 - 14.0).max(0.0);
            let center = rect.center().x;
            center + (x - center).clamp(-room, room)
        };
        let near = |at: usize| inner.get(at).map_or(0.0, |span| span.0);
        let start = Point {
            x: towards(first, near(0)),
            y: first.y + first.height,
        };
        let end = Point {
            x: towards(last, near(inner.len().saturating_sub(1))),
            y: last.y,
        };
        // Every row is crossed on a vertical line, so that nothing in it is touched.
        let mut stops = vec![(start, start)];
        for &(x, top, bottom) in inner {
            stops.push((Point { x, y: top }, Point { x, y: bottom }));
        }
        stops.push((end, end));
        if turned {
            stops.reverse();
            stops.iter_mut().for_each(|stop| *stop = (stop.1, stop.0));
        }
        let mut curve = Curve {
            start: stops[0].0,
            pieces: Vec::new(),
        };
        for pair in stops.windows(2) {
            let ((_, from), (to, through)) = (pair[0], pair[1]);
            let half = (from.y + to.y) / 2.0;
            curve
                .pieces
                .push([Point { x: from.x, y: half }, Point { x: to.x, y: half }, to]);
            if through != to {
                curve.pieces.extend(Curve::line(to, through).pieces);
            }
        }
        curve
    }
}
