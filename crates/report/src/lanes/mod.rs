//! The transactions of a picture on lanes: a lane a session, time goes down.
//!
//! **Definition.** Every transaction is a box in the lane of its session. With times, its upper side is
//! its start and its lower side its end, so two boxes stand beside each other exactly if the
//! transactions ran at the same time; without, a box stands below those that are known to come before.
//!
//! **Steps.** The starts and ends in order of time; each is put below the last one, and an end as far
//! below its start as the operations need. So time is in order but not to scale; the numbers at the
//! left say when. Faults are bands between their times.
//!
//! **Cost.** Quadratic in the transactions shown, of which there are a dozen.

mod place;
mod svg;

use crate::picture::{ArrowKind, Certainty, Line, Picture};
use crate::words::Words;
use history::{EdgeKind, History, Interval, Status, TxnId};

/// Something that was done to the servers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fault {
    /// What was done: `kill n2`.
    pub name: String,
    /// The node it was done to; empty means all of them.
    pub node: String,
    /// When it began, on the clock of the history.
    pub start: i64,
    /// When it ended.
    pub end: i64,
}

/// What is known besides the history.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The node that served a transaction.
    pub node: &'a dyn Fn(TxnId) -> Option<String>,
    /// What was done to the servers.
    pub faults: &'a [Fault],
    /// Whether times are in nanoseconds, as a recording of `run` has them.
    pub nanoseconds: bool,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Surroundings {
            node: &|_| None,
            faults: &[],
            nanoseconds: false,
        }
    }
}

/// Transactions on lanes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lanes {
    heads: Vec<(String, String)>,
    bars: Vec<Bar>,
    faults: Vec<Fault>,
    nanoseconds: bool,
    /// Which bars are known to come before which.
    before: Vec<(usize, usize)>,
}

#[derive(Clone, PartialEq, Debug)]
struct Bar {
    lane: usize,
    name: String,
    status: Status,
    interval: Option<Interval>,
    lines: Vec<Line>,
    more: usize,
}

impl Lanes {
    /// The transactions of a picture.
    pub fn of(history: &History, picture: &Picture, around: &Surroundings<'_>) -> Lanes {
        let words = Words::new(history);
        let mut shown: Vec<(usize, TxnId)> = Vec::new();
        for (place, txn_box) in picture.boxes.iter().enumerate() {
            shown.extend(txn_box.txn.map(|txn| (place, txn)));
        }
        // Session by session; within one, transactions are numbered in order.
        shown.sort_by_key(|&(_, txn)| txn);
        let mut lanes = Lanes {
            nanoseconds: around.nanoseconds,
            ..Lanes::default()
        };
        let mut sessions = Vec::new();
        let mut bar_of = vec![None; picture.boxes.len()];
        for (place, txn) in shown {
            let session = history.session_of(txn);
            let lane = sessions.iter().position(|other| *other == session);
            let lane = lane.unwrap_or_else(|| {
                sessions.push(session);
                let node = (around.node)(txn).unwrap_or_default();
                let head = format!("session {}", words.session(txn));
                lanes.heads.push((head, crate::escape::cut(&node, 20)));
                sessions.len() - 1
            });
            let txn_box = &picture.boxes[place];
            bar_of[place] = Some(lanes.bars.len());
            lanes.bars.push(Bar {
                lane,
                name: txn_box.name.clone(),
                status: history.status(txn),
                interval: history.interval(txn),
                lines: txn_box.lines.clone(),
                more: txn_box.more,
            });
        }
        for arrow in &picture.arrows {
            let is_seen = arrow.certainty == Certainty::Seen;
            let is_order = matches!(
                arrow.kind,
                ArrowKind::Of(EdgeKind::So | EdgeKind::Wr | EdgeKind::Rt)
            );
            if let (true, true, Some(from), Some(to)) =
                (is_seen, is_order, bar_of[arrow.from], bar_of[arrow.to])
            {
                lanes.before.push((from, to));
            }
        }
        lanes.faults = lanes.touching(around.faults);
        lanes
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }

    /// Whether the transactions carry times.
    pub fn is_timed(&self) -> bool {
        self.bars.iter().all(|bar| bar.interval.is_some())
    }

    /// The first start and the last end.
    fn span(&self) -> Option<(i64, i64)> {
        let intervals = || self.bars.iter().filter_map(|bar| bar.interval);
        let start = intervals().map(|interval| interval.start).min()?;
        let ends = intervals().map(Interval::completion);
        let end = ends.filter(|end| *end != Interval::NEVER).max();
        Some((start, end.unwrap_or(start).max(start)))
    }

    /// The faults that were under way while the transactions ran, the first dozen.
    fn touching(&self, faults: &[Fault]) -> Vec<Fault> {
        let Some((start, end)) = self.span().filter(|_| self.is_timed()) else {
            return Vec::new();
        };
        let touches = |fault: &&Fault| fault.start <= end && fault.end >= start;
        faults.iter().filter(touches).take(12).cloned().collect()
    }
}
