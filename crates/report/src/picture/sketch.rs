//! A picture as a small drawing of letters: a line for each transaction, a line for each arrow, and
//! the way back at the left side. What stands beside the transactions is the caller's.
//!
//! ```text
//! ┌▶ s1t1  r(x, 0) w(y, 1)
//! │   │ rw x: read what was overwritten by
//! │   ▼
//! │  s0t0  r(y, 0) w(x, 1)
//! │   │ rw y: read what was overwritten by
//! └───┘
//! ```

use super::text::{Signs, bold, plain_or_coloured, signs, stem};
use super::{Arrow, Picture, TextStyle, TxnBox};
use crate::escape::{columns, cut};

/// How many columns stand before the name of a transaction.
pub const SKETCH_MARGIN: usize = 3;

impl Picture {
    /// The circle, or the chain, of the picture in a few lines; `beside` says what stands on the line
    /// of a transaction, whether it is there for the first time or again. Nothing where there are no
    /// arrows. Colours are escape sequences that terminals know.
    pub fn sketch(
        &self,
        style: TextStyle,
        coloured: bool,
        beside: &dyn Fn(&TxnBox, bool) -> String,
    ) -> String {
        let arrows: Vec<&Arrow> = self.circle_arrows().collect();
        let is_chain = arrows.windows(2).all(|pair| pair[0].to == pair[1].from);
        let (Some(first), Some(last), true) = (arrows.first(), arrows.last(), is_chain) else {
            return String::new();
        };
        let is_closed = (first.from == last.to && arrows.len() > 1) || self.left_out > 0;
        let sketch = Sketch {
            signs: signs(style.ascii),
            width: style.width,
            is_closed,
        };
        let named = |place: usize, is_new: bool| {
            let txn = &self.boxes[place];
            bold(&txn.name, &beside(txn, is_new))
        };
        let mut rows = vec![sketch.opening(&named(first.from, true))];
        let mut seen = vec![first.from];
        for (place, arrow) in arrows.iter().enumerate() {
            rows.push(sketch.arrow(arrow));
            if place + 1 == arrows.len() && is_closed && self.left_out == 0 {
                break;
            }
            let is_new = !seen.contains(&arrow.to);
            seen.push(arrow.to);
            rows.push(sketch.head(arrow));
            rows.push(sketch.line(&named(arrow.to, is_new)));
        }
        if self.left_out > 0 {
            let more = format!(" {} … and {} more", sketch.signs.dotted, self.left_out);
            rows.push(sketch.line(&more));
        }
        if is_closed {
            rows.push(sketch.closing());
        }
        plain_or_coloured(&(rows.join("\n") + "\n"), style.ascii, coloured)
    }
}

struct Sketch {
    signs: &'static Signs,
    width: usize,
    /// Whether the last arrow leads back to the first transaction.
    is_closed: bool,
}

impl Sketch {
    /// The line of the first transaction.
    fn opening(&self, text: &str) -> String {
        match self.is_closed {
            true => format!("{}{} {text}", self.signs.frame[0], self.signs.into),
            false => self.line(text),
        }
    }

    /// A line with the way back beside it.
    fn line(&self, text: &str) -> String {
        let side = if self.is_closed { self.signs.side } else { ' ' };
        format!("{side}  {text}")
    }

    /// The stem of an arrow and what it means.
    fn arrow(&self, arrow: &Arrow) -> String {
        let room = self.width.saturating_sub(SKETCH_MARGIN + 3).max(8);
        let meaning = format!("{}: {}", arrow.label(), arrow.kind.meaning());
        let text = match columns(&meaning) <= room {
            true => meaning,
            false => cut(&arrow.label(), room),
        };
        self.line(&format!(" {}", stem(self.signs, arrow, &text)))
    }

    fn head(&self, arrow: &Arrow) -> String {
        self.line(&format!(" {}", super::text::head(self.signs, arrow)))
    }

    /// The line from the last arrow back to the side.
    fn closing(&self) -> String {
        let [_, _, left, right, across, _] = self.signs.frame;
        format!("{left}{across}{across}{across}{right}")
    }
}
