//! The small checks that Jepsen has for sets and counters of one object.
//!
//! They ask for less than a level does, each for what its test is about:
//!
//! - *set*: the last read shows every element whose add succeeded, and none that nobody tried to add;
//! - *set-full*: no element is lost. One is lost if it was known (its add had succeeded, or a read
//!   had shown it) before a read began that does not show it, and no read that began later does;
//! - *comments*: a read that shows an element shows all whose add had succeeded before the add of
//!   that one began;
//! - *counter*: a read is at least the sum of the adds that had succeeded when it began, and at
//!   most the sum of those begun, and not failed, when it ended.
//!
//! Cost: linear and a sort; set-full looks at every element for every read. Source: the checkers of
//! Jepsen, and the comments checker of its CockroachDB test. Where we differ: where lines have no
//! ascending indices, order is that of the recorded times, and things at one time are concurrent.

use history::{History, Interval, OpKind, Status, TxnId, Value, ValueCode};
use std::collections::{HashMap, HashSet};

/// A test on one set or counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JepsenTest {
    /// Adds, then one read.
    Set,
    /// Adds and reads.
    SetFull,
    /// Adds that follow one another, and reads.
    Comments,
    /// Increments and reads.
    Counter,
}

/// An operation of such a test.
struct Step {
    interval: Interval,
    status: Status,
    value: ValueCode,
}

/// Whether a history passes, with the reason if not; `None` if that cannot be told.
pub fn check_jepsen_test(history: &History, test: JepsenTest) -> (Option<bool>, String) {
    let (add, read) = match test {
        JepsenTest::Counter => (OpKind::Increment, OpKind::ReadCounter),
        _ => (OpKind::Add, OpKind::ReadSet),
    };
    if !history.has_intervals() {
        let reason = "nothing tells the order of the operations";
        return (None, reason.to_string());
    }
    let adds = steps(history, add);
    let mut reads = steps(history, read);
    reads.retain(|read| read.status == Status::Committed && read.value != ValueCode::UNKNOWN);
    reads.sort_by_key(|read| read.interval.end);
    let failure = match test {
        JepsenTest::Set => match reads.last() {
            None => return (None, "the set was never read".to_string()),
            Some(last) => set(history, &adds, last),
        },
        JepsenTest::SetFull => match set_full(history, &adds, &reads) {
            Ok(0) => return (None, "no element was read for good".to_string()),
            Ok(_) => None,
            Err(reason) => Some(reason),
        },
        JepsenTest::Comments => reads.iter().find_map(|read| comments(history, &adds, read)),
        JepsenTest::Counter => match counter(history, &adds, &reads) {
            Ok(failure) => failure,
            Err(reason) => return (None, reason),
        },
    };
    (Some(failure.is_none()), failure.unwrap_or_default())
}

fn steps(history: &History, kind: OpKind) -> Vec<Step> {
    let of_txn = |txn: TxnId| {
        let interval = history.interval(txn)?;
        let status = history.status(txn);
        let ops = history.txn_ops(txn).filter(move |(_, op)| op.kind == kind);
        Some(ops.map(move |(_, op)| Step {
            interval,
            status,
            value: op.value,
        }))
    };
    history.txn_ids().filter_map(of_txn).flatten().collect()
}

fn elements(history: &History, read: &Step) -> HashSet<ValueCode> {
    history.list(read.value).iter().copied().collect()
}

fn set(history: &History, adds: &[Step], last: &Step) -> Option<String> {
    let seen = elements(history, last);
    let tried: HashSet<ValueCode> = adds.iter().map(|add| add.value).collect();
    let is_lost = |add: &&Step| add.status == Status::Committed && !seen.contains(&add.value);
    if let Some(lost) = adds.iter().find(is_lost) {
        let element = history.value(lost.value);
        return Some(format!(
            "{element} was added, and the last read does not show it"
        ));
    }
    let strange = history
        .list(last.value)
        .iter()
        .find(|&e| !tried.contains(e))?;
    let element = history.value(*strange);
    Some(format!("the last read shows {element}, which nobody added"))
}

/// How many elements stay, or which one is lost.
fn set_full(history: &History, adds: &[Step], reads: &[Step]) -> Result<usize, String> {
    // By element: when it began, when it was known, the last reads that showed it and did not.
    struct Life {
        begun: i64,
        known: Option<i64>,
        present: Option<i64>,
        absent: Option<i64>,
    }
    let mut lives: HashMap<ValueCode, Life> = HashMap::new();
    for add in adds {
        let life = lives.entry(add.value).or_insert(Life {
            begun: add.interval.start,
            known: None,
            present: None,
            absent: None,
        });
        life.begun = life.begun.min(add.interval.start);
        if add.status == Status::Committed {
            let end = add.interval.end;
            life.known = Some(life.known.map_or(end, |known| known.min(end)));
        }
    }
    for read in reads {
        let seen = elements(history, read);
        for (element, life) in &mut lives {
            let Interval { start, end } = read.interval;
            if life.begun > end {
                continue;
            }
            if seen.contains(element) {
                life.known = Some(life.known.map_or(end, |known| known.min(end)));
                life.present = life.present.max(Some(start));
            } else {
                life.absent = life.absent.max(Some(start));
            }
        }
    }
    let is_lost = |life: &Life| {
        life.present < life.absent && life.known.is_some() && life.known < life.absent
    };
    let lost = lives.iter().filter(|(_, life)| is_lost(life));
    if let Some((element, _)) = lost.min_by_key(|(element, _)| **element) {
        let element = history.value(*element);
        return Err(format!(
            "{element} was added, and later reads do not show it"
        ));
    }
    let stays = |life: &&Life| life.present.is_some() && life.absent < life.present;
    Ok(lives.values().filter(stays).count())
}

fn comments(history: &History, adds: &[Step], read: &Step) -> Option<String> {
    let seen = elements(history, read);
    let shown = adds.iter().filter(|add| seen.contains(&add.value));
    let newest = shown.max_by_key(|add| add.interval.start)?;
    let is_missing = |add: &&Step| {
        add.status == Status::Committed
            && add.interval.end < newest.interval.start
            && !seen.contains(&add.value)
    };
    let missing = adds.iter().find(is_missing)?;
    let (missing, newest) = (history.value(missing.value), history.value(newest.value));
    Some(format!(
        "a read shows {newest} and not {missing}, which was there before"
    ))
}

/// A read out of bounds, if there is one; an error if the test is none of this kind.
fn counter(history: &History, adds: &[Step], reads: &[Step]) -> Result<Option<String>, String> {
    let number = |step: &Step| match history.value(step.value) {
        Value::Int(number) => Ok(number),
        other => Err(format!("{other} is no number")),
    };
    let sums = |wanted: &dyn Fn(&Step) -> Option<i64>| -> Result<Vec<(i64, i128)>, String> {
        let mut sums = Vec::new();
        for add in adds {
            let amount = number(add)?;
            if amount < 0 {
                return Err("a counter that is decremented has no bounds".to_string());
            }
            sums.extend(wanted(add).map(|time| (time, amount)));
        }
        sums.sort_unstable();
        let mut total = 0i128;
        for (_, sum) in &mut sums {
            total = total.saturating_add(*sum);
            *sum = total;
        }
        Ok(sums)
    };
    let done = sums(&|add| (add.status == Status::Committed).then_some(add.interval.end))?;
    let begun = sums(&|add| (add.status != Status::Aborted).then_some(add.interval.start))?;
    // The sum of all before, or up to, a time.
    let up_to = |sums: &[(i64, i128)], is_before: &dyn Fn(i64) -> bool| {
        let count = sums.partition_point(|&(time, _)| is_before(time));
        count.checked_sub(1).map_or(0, |last| sums[last].1)
    };
    for read in reads.iter().filter(|read| read.value != ValueCode::NIL) {
        let lower = up_to(&done, &|time| time < read.interval.start);
        let upper = up_to(&begun, &|time| time <= read.interval.end);
        let value = number(read)?;
        if value < lower || value > upper {
            let problem = format!("a read of {value} lies outside of {lower} to {upper}");
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{JepsenTest, check_jepsen_test};
    use history::format::jepsen::read_edn;

    /// Lines `process type f value`, in order of time.
    fn answer(lines: &str, test: JepsenTest) -> Option<bool> {
        let mut text = String::new();
        for (time, line) in lines.split(';').enumerate() {
            let mut words = line.trim().splitn(4, ' ');
            let mut word = || words.next().unwrap_or("nil").to_string();
            let (process, phase, f, value) = (word(), word(), word(), word());
            text.push_str(&format!(
                "{{:process {process} :type :{phase} :f :{f} :value {value} :time {time}}}\n"
            ));
        }
        let history = read_edn(text.as_bytes(), &mut Vec::new()).expect("a history");
        check_jepsen_test(&history, test).0
    }

    const ADDS: &str = "0 invoke add 1; 0 ok add 1; 0 invoke add 2; 0 info add 2; 1 invoke read; ";

    #[test]
    fn a_set_keeps_what_was_added() {
        use JepsenTest::{Set, SetFull};
        let table = [
            ("1 ok read #{1}", Some(true), Some(true)),
            ("1 ok read #{1 2}", Some(true), Some(true)),
            ("1 ok read #{2}", Some(false), Some(false)),
            ("1 ok read #{1 3}", Some(false), Some(true)),
            (
                "1 ok read #{}; 1 invoke read; 1 ok read #{1}",
                Some(true),
                Some(true),
            ),
            (
                "1 ok read #{1}; 1 invoke read; 1 ok read #{}",
                Some(false),
                Some(false),
            ),
            ("1 fail read", None, None),
        ];
        for (end, set, full) in table {
            let lines = format!("{ADDS}{end}");
            assert_eq!(answer(&lines, Set), set, "{end}");
            assert_eq!(answer(&lines, SetFull), full, "{end}");
        }
        // A read that began before the add succeeded may miss it.
        let concurrent = "1 invoke read; 0 invoke add 1; 0 ok add 1; 1 ok read #{}; 2 invoke add 2; \
                          2 ok add 2; 1 invoke read; 1 ok read #{1 2}";
        assert_eq!(answer(concurrent, SetFull), Some(true));
    }

    #[test]
    fn comments_come_in_order() {
        let adds =
            "0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; 1 invoke read; ";
        for (read, valid) in [
            ("#{1 2}", true),
            ("#{1}", true),
            ("#{2}", false),
            ("#{}", true),
        ] {
            let lines = format!("{adds}1 ok read {read}");
            assert_eq!(answer(&lines, JepsenTest::Comments), Some(valid), "{read}");
        }
    }

    #[test]
    fn a_counter_stays_in_bounds() {
        let adds = "0 invoke add 1; 0 ok add 1; 0 invoke add 5; 2 invoke add 3; 2 fail add 3; ";
        for (value, valid) in [(0, false), (1, true), (4, true), (6, true), (7, false)] {
            let lines = format!("{adds}1 invoke read; 1 ok read {value}");
            assert_eq!(answer(&lines, JepsenTest::Counter), Some(valid), "{value}");
        }
        let negative = "0 invoke add -1; 0 ok add -1; 1 invoke read; 1 ok read -1";
        assert_eq!(answer(negative, JepsenTest::Counter), None);
    }
}
