//! Sentences about single lists and pairs of them, with only the part of a long list that matters.

use super::Words;
use history::{Anomaly, AnomalyKind, OpId, OpKind, ValueCode};

/// An anomaly of lists; the operations are in the order docs/guarantees.md gives.
pub(super) fn told(words: &Words<'_>, anomaly: &Anomaly) -> String {
    match (anomaly.kind, anomaly.ops.as_slice()) {
        (AnomalyKind::DirtyUpdate, &[append, read]) => dirty_update(words, append, read),
        (AnomalyKind::DuplicateElement, &[read]) => duplicate(words, read),
        (AnomalyKind::IncompatibleOrder, &[before, append, read]) => {
            skipped(words, before, append, read)
        }
        (AnomalyKind::IncompatibleOrder, &[first, second]) => contradiction(words, first, second),
        _ => anomaly.kind.row().meaning.to_string(),
    }
}

/// A read with the part of its list around some elements.
fn around(words: &Words<'_>, read: OpId, elements: &[ValueCode]) -> String {
    words.observed.history.op_text_around(read, elements)
}

fn list<'a>(words: &Words<'a>, read: OpId) -> &'a [ValueCode] {
    let history = words.observed.history;
    history.list(history.op(read).value)
}

fn dirty_update(words: &Words<'_>, append: OpId, read: OpId) -> String {
    let element = words.observed.history.op(append).value;
    let writer = words.owner(append);
    format!(
        "{} did {}, which shows {} of {writer} under later elements, but {writer} aborted.",
        words.owner(read),
        around(words, read, &[element]),
        words.op(append)
    )
}

fn duplicate(words: &Words<'_>, read: OpId) -> String {
    let history = words.observed.history;
    let mut sorted = list(words, read).to_vec();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
    let most = most.unwrap_or_default();
    let times = match most.len() {
        2 => "twice".to_string(),
        count => format!("{count} times"),
    };
    let shown = most
        .first()
        .map_or(String::new(), |&element| history.value(element).to_string());
    format!(
        "{} did {}, which shows {shown} {times}, more often than it was appended.",
        words.owner(read),
        around(words, read, most)
    )
}

/// A list with an element that nobody appended.
pub(super) fn stranger(words: &Words<'_>, read: OpId) -> String {
    let history = words.observed.history;
    let (ops, key) = (history.ops(), history.op(read).key);
    let mut left: Vec<ValueCode> = list(words, read).to_vec();
    let appends = (0..ops.len()).filter(|&op| ops.kinds[op] == OpKind::Append);
    let mut appended: Vec<ValueCode> = appends
        .filter(|&op| ops.keys[op] == key)
        .map(|op| ops.values[op])
        .collect();
    appended.sort_unstable();
    left.retain(|element| appended.binary_search(element).is_err());
    left.truncate(1);
    let shown = left
        .first()
        .map_or(String::new(), |&element| history.value(element).to_string());
    format!(
        "{} did {}, but no transaction appended {shown}.",
        words.owner(read),
        around(words, read, &left)
    )
}

/// A list with an append of a transaction, but not before it one that the transaction did first.
fn skipped(words: &Words<'_>, before: OpId, append: OpId, read: OpId) -> String {
    let history = words.observed.history;
    let elements = [history.op(before).value, history.op(append).value];
    format!(
        "{} did {}, which shows {} of {}, but not before it {}, which that had done first.",
        words.owner(read),
        around(words, read, &elements),
        words.op(append),
        words.owner(append),
        words.op(before)
    )
}

fn contradiction(words: &Words<'_>, first: OpId, second: OpId) -> String {
    let (a, b) = (list(words, first), list(words, second));
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let text = |read, list: &[ValueCode]| {
        let differs = list.get(same..).unwrap_or_default();
        around(words, read, differs.get(..1).unwrap_or_default())
    };
    format!(
        "{} did {} and {} did {}: neither list is the beginning of the other.",
        words.owner(first),
        text(first, a),
        words.owner(second),
        text(second, b)
    )
}
