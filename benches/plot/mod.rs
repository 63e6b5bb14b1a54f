//! A plot with logarithmic axes, as a small SVG file.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#888888", "#2e8b57", "#aaaaaa", "#b5532a", "#cccccc",
];

/// A named line.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Line {
    pub fn new(name: String) -> Line {
        Line {
            name,
            points: Vec::new(),
        }
    }
}

/// A range of powers of ten, and where it lies on the paper.
struct Axis {
    first: i32,
    last: i32,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (low, high) = values.fold((f64::INFINITY, 1e-9), |(low, high): (f64, f64), value| {
            let value = value.max(1e-9);
            (low.min(value), high.max(value))
        });
        let first = low.min(high).log10().floor() as i32;
        let last = (high.log10().ceil() as i32).max(first + 1);
        Axis {
            first,
            last,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share =
            (value.max(1e-9).log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + share * (self.to - self.from)
    }
}

/// Draws the lines.
pub fn render(x_name: &str, y_name: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Axis::new(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::new(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         fill=\"white\"/>\n"
    );
    grid(&mut svg, &x, &y);
    let (middle, bottom) = ((x.from + x.to) / 2.0, HEIGHT - 12.0);
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{bottom}\" text-anchor=\"middle\">{x_name}</text>\n\
         <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{y_name}</text>",
        (y.from + y.to) / 2.0
    );
    for (place, line) in lines.iter().enumerate() {
        draw(&mut svg, &x, &y, line, place);
    }
    svg.push_str("</svg>\n");
    svg
}

// Writing to a string does not fail.
fn grid(svg: &mut String, x: &Axis, y: &Axis) {
    for power in x.first..=x.last {
        let at = x.place(10f64.powi(power));
        let (top, bottom, label) = (y.to, y.from, y.from + 16.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{label}\" text-anchor=\"middle\">10<tspan dy=\"-5\" \
             font-size=\"9\">{power}</tspan></text>"
        );
    }
    for power in y.first..=y.last {
        let at = y.place(10f64.powi(power));
        let (left, right, label) = (x.from, x.to, x.from - 8.0);
        let seconds = 10f64.powi(power);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>\
             <text x=\"{label}\" y=\"{:.1}\" text-anchor=\"end\">{seconds}</text>",
            at + 4.0
        );
    }
}

fn draw(svg: &mut String, x: &Axis, y: &Axis, line: &Line, place: usize) {
    let colour = COLOURS[place % COLOURS.len()];
    let mut path = String::new();
    for (index, &(a, b)) in line.points.iter().enumerate() {
        let step = if index == 0 { 'M' } else { 'L' };
        let (a, b) = (x.place(a), y.place(b));
        let _ = write!(path, "{step}{a:.1} {b:.1}");
        let _ = writeln!(
            svg,
            "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
    );
    // The names stand in the order of the lines' ends only by chance, so they have a legend.
    let (left, at) = (x.to + 14.0, TOP + 10.0 + 18.0 * place as f64);
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {at}h16\" stroke=\"{colour}\" stroke-width=\"2\"/>\
         <text x=\"{}\" y=\"{}\">{}</text>",
        left + 22.0,
        at + 4.0,
        line.name
    );
}
