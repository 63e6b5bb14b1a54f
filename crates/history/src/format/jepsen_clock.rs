//! Which of two events of a Jepsen history came first.
//!
//! Jepsen enters every event into the history the moment it happens: an invocation before the client
//! is asked, a completion after it answered. So where maps have an ascending `:index`, and no time
//! contradicts it, that is the order of events. Times that are the same are moved as little as needed:
//! an invocation lies behind every `:ok` of another process in front of it, and nothing before what is
//! in front of it. Files whose times say otherwise, or without indices, may come from anywhere: lines
//! may be numbered and not in order. There the times count, and equal ones say nothing.

/// The times of the events so far.
pub(crate) struct EventOrder {
    latest: i64,
    /// The last `:ok`, whose it was, and the last one of somebody else before.
    ok: i64,
    ok_by: Option<i64>,
    ok_of_others: i64,
}

impl EventOrder {
    pub fn new() -> EventOrder {
        EventOrder {
            latest: i64::MIN,
            ok: i64::MIN,
            ok_by: None,
            ok_of_others: i64::MIN,
        }
    }

    /// The time of an invocation that the file says was at `time`.
    pub fn invocation(&mut self, time: i64, process: Option<i64>) -> i64 {
        let is_own = process.is_some() && process == self.ok_by;
        let ok = if is_own { self.ok_of_others } else { self.ok };
        let behind = match ok {
            i64::MIN => i64::MIN,
            ok => ok.saturating_add(1),
        };
        self.latest = time.max(self.latest).max(behind);
        self.latest
    }

    /// The time of a completion that the file says was at `time`.
    pub fn completion(&mut self, time: i64, process: Option<i64>, is_ok: bool) -> i64 {
        self.latest = time.max(self.latest);
        if is_ok {
            if process.is_none() || process != self.ok_by {
                self.ok_of_others = self.ok;
                self.ok_by = process;
            }
            self.ok = self.latest;
        }
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::EventOrder;

    /// Moves the times of events `(process, is it an :ok, time)`.
    fn moved(events: &[(i64, bool, i64)]) -> Vec<i64> {
        let mut order = EventOrder::new();
        let times = events.iter().map(|&(process, is_ok, time)| match is_ok {
            true => order.completion(time, Some(process), true),
            false => order.invocation(time, Some(process)),
        });
        times.collect()
    }

    #[test]
    fn only_what_contradicts_the_order_is_moved() {
        let ordered = [(0, false, 1), (1, false, 1), (0, true, 2), (0, false, 2)];
        assert_eq!(moved(&ordered), [1, 1, 2, 2]);
        // Invoked at the time of somebody else's answer, but behind it.
        let tied = [(0, false, 1), (0, true, 5), (1, false, 5), (2, false, 5)];
        assert_eq!(moved(&tied), [1, 5, 6, 6]);
        // In front of it: both were under way at that time.
        assert_eq!(
            moved(&[(0, false, 1), (1, false, 5), (0, true, 5)]),
            [1, 5, 5]
        );
        // The time was taken long before the place.
        let late = [(0, false, 9), (1, false, 3), (0, true, 7), (2, false, 8)];
        assert_eq!(moved(&late), [9, 9, 9, 10]);
    }

    #[test]
    fn others_count_behind_ones_own_answers() {
        let events = [(1, true, 5), (0, true, 5), (0, false, 5), (0, true, 5)];
        assert_eq!(moved(&events), [5, 5, 6, 6]);
    }
}
