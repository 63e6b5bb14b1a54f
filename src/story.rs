//! A verdict told to people: what happened, why it cannot be, and the operations that matter.

use history::{Anomaly, History, Level, OpId, Reason, Status, TxnId, Value, ValueCode, Verdict};
use report::picture::{SKETCH_MARGIN, TxnBox};
use report::{Picture, TextStyle, escape};
use std::collections::HashMap;
use std::fmt::Display;

/// Transactions of an anomaly that are shown with their operations.
const TXNS_SHOWN_MAX: usize = 12;

/// An operation whose text is longer than this is cut.
const OP_LETTERS_MAX: usize = 60;

/// A key or a value whose text is longer than this is cut.
const VALUE_LETTERS_MAX: usize = 40;

/// The lines of a file that transactions stand on, as far as they are known.
pub type Lines = HashMap<TxnId, usize>;

/// How to tell it.
#[derive(Clone, Default, Debug)]
pub struct Telling {
    /// How many letters a line has, at most.
    pub width: usize,
    /// Where the transactions are.
    pub lines: Lines,
    /// Whether escape sequences colour it.
    pub coloured: bool,
}

/// How far a drawing and the transactions below it stand to the right.
const INDENT: usize = 4;

/// The verdict on one level, in plain text.
pub fn verdict(history: &History, level: Level, verdict: &Verdict, telling: &Telling) -> String {
    match verdict {
        Verdict::Holds(_) => format!("{level} holds\n"),
        Verdict::Unknown(reason) => format!("{level} is not decided: {reason}\n"),
        Verdict::Violated(anomalies) => {
            let mut text = format!("{level} is violated: {}\n", kinds(anomalies));
            for anomaly in anomalies {
                text.push_str(&self::anomaly(history, anomaly, telling));
            }
            text
        }
    }
}

/// The kinds of anomalies, with how many there are of each.
pub fn kinds(anomalies: &[Anomaly]) -> String {
    let kind = |anomaly: &Anomaly| match anomaly.count {
        1 => anomaly.kind.name().to_string(),
        count => format!("{} ({count})", anomaly.kind),
    };
    anomalies.iter().map(kind).collect::<Vec<_>>().join(", ")
}

/// An anomaly: what it is, why it cannot be, its circle as a drawing, and the transactions in it.
pub fn anomaly(history: &History, anomaly: &Anomaly, telling: &Telling) -> String {
    let row = anomaly.kind.row();
    let width = telling.width;
    let mut text = String::new();
    let meaning = format!("{} [{}]", row.meaning, row.label);
    indent(&mut text, 2, wrap(&meaning, width.saturating_sub(2)));
    let cast = Cast::of(history, anomaly, telling);
    let explanation = shortened(history, &anomaly.explanation, &cast.matters);
    let explanation = escape::visible(&explanation);
    indent(&mut text, 2, wrap(&explanation, width.saturating_sub(8)));
    let picture = Picture::of(history, anomaly);
    let drawn = cast.drawing(&picture);
    indent(&mut text, INDENT, drawn.lines().map(str::to_string));
    let is_drawn = |txn: TxnId| match drawn.is_empty() {
        true => false,
        false => picture.circle_arrows().any(|arrow| {
            [arrow.from, arrow.to]
                .iter()
                .any(|&place| cast.txn(&picture.boxes[place]) == txn)
        }),
    };
    // Of a long circle the drawing counts the rest.
    let counts_rest = !drawn.is_empty() && picture.left_out > 0;
    let is_left = |txn: &&TxnId| !counts_rest && !is_drawn(**txn);
    let left = anomaly.transactions.iter().filter(is_left);
    let left: Vec<TxnId> = left.copied().collect();
    let others = left.iter().take(TXNS_SHOWN_MAX);
    let margin = INDENT + if drawn.is_empty() { 0 } else { SKETCH_MARGIN };
    let others = others.map(|&txn| cast.introduced(txn));
    indent(&mut text, margin, others);
    if left.len() > TXNS_SHOWN_MAX {
        let more = format!("… and {} more", left.len() - TXNS_SHOWN_MAX);
        indent(&mut text, margin, [more]);
    }
    text
}

/// The transactions of an anomaly, each to be introduced on a line.
struct Cast<'a> {
    history: &'a History,
    telling: &'a Telling,
    /// The operations that the anomaly is made of.
    matters: Vec<OpId>,
    /// How wide the names are.
    column: usize,
}

impl<'a> Cast<'a> {
    fn of(history: &'a History, anomaly: &Anomaly, telling: &'a Telling) -> Cast<'a> {
        let shown = anomaly.transactions.iter().take(TXNS_SHOWN_MAX);
        let names = shown.map(|&txn| introduction(history, txn, &telling.lines));
        let column = names.map(|name| escape::columns(&name) + 1).max();
        Cast {
            history,
            telling,
            matters: what_matters(anomaly),
            column: column.unwrap_or(0).max(8),
        }
    }

    /// The transaction that a box stands for.
    fn txn(&self, txn_box: &TxnBox) -> TxnId {
        txn_box.txn.unwrap_or(TxnId::INITIAL)
    }

    /// The circle as a drawing, with the operations of its transactions; nothing if there is none.
    fn drawing(&self, picture: &Picture) -> String {
        let style = TextStyle {
            width: self.telling.width.saturating_sub(INDENT),
            ascii: false,
        };
        let beside = |txn_box: &TxnBox, is_new: bool| match is_new {
            true => self.introduced(self.txn(txn_box)),
            false => txn_box.name.clone(),
        };
        picture.sketch(style, self.telling.coloured, &beside)
    }

    /// A transaction with its operations, on one line.
    fn introduced(&self, txn: TxnId) -> String {
        let name = introduction(self.history, txn, &self.telling.lines);
        let column = self.column;
        let taken = column.max(escape::columns(&name)) + INDENT + SKETCH_MARGIN + 1;
        let room = self.telling.width.saturating_sub(taken);
        let line = operations(self.history, txn, &self.matters, room);
        escape::visible(format!("{name:<column$} {line}").trim_end())
    }
}

/// A transaction by its name, what became of it unless it committed, and where it stands.
fn introduction(history: &History, txn: TxnId, lines: &Lines) -> String {
    let mut text = name(history, txn);
    if txn == TxnId::INITIAL {
        return text;
    }
    match history.status(txn) {
        Status::Committed => {}
        Status::Aborted => text.push_str(", aborted"),
        Status::Indeterminate => text.push_str(", of unknown outcome"),
    }
    if let Some(line) = lines.get(&txn) {
        text.push_str(&format!(", line {line}"));
    }
    text
}

fn indent(text: &mut String, spaces: usize, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        text.push_str(&format!("{:spaces$}{line}\n", ""));
    }
}

/// An explanation whose long keys and values are cut.
fn shortened(history: &History, explanation: &str, ops: &[OpId]) -> String {
    let mut text = explanation.to_string();
    for op in ops.iter().map(|&id| history.op(id)) {
        let elements = match op.kind.reads_list() {
            true => history.list(op.value),
            false => &[op.value],
        };
        let values = elements.iter().map(|&code| history.value(code));
        for value in values.chain([history.key_name(op.key)]) {
            if let Value::Text(long) = &value
                && long.len() > VALUE_LETTERS_MAX
            {
                text = text.replace(&**long, &cut(long, VALUE_LETTERS_MAX));
            }
        }
    }
    text
}

/// The operations that an anomaly is made of.
fn what_matters(anomaly: &Anomaly) -> Vec<OpId> {
    let mut ops = anomaly.ops.clone();
    let otherwise = anomaly.otherwise.iter().flatten();
    for edge in anomaly.edges.iter().chain(otherwise) {
        ops.extend(edge.from_op);
        ops.extend(edge.to_op);
        match &edge.because {
            Some(Reason::Read { read, path }) => {
                ops.push(*read);
                ops.extend(
                    path.iter()
                        .flat_map(|step| [step.from_op, step.to_op])
                        .flatten(),
                );
            }
            Some(Reason::List { read }) => ops.push(*read),
            Some(Reason::Assumed { before, after }) => ops.extend([*before, *after]),
            Some(Reason::Version { .. }) | None => {}
        }
    }
    ops
}

/// The name of a transaction; the implicit first one, which wrote the initial values, is `init`.
fn name(history: &History, txn: TxnId) -> String {
    match txn {
        TxnId::INITIAL => "init".to_string(),
        _ => history.txn_name(txn),
    }
}

/// The operations of a transaction on one line: all if they fit, else those that matter.
fn operations(history: &History, txn: TxnId, matters: &[OpId], width: usize) -> String {
    if txn == TxnId::INITIAL {
        return String::new();
    }
    let written = |&&op: &&OpId| history.op(op).kind.is_write();
    let elements: Vec<ValueCode> = matters
        .iter()
        .filter(written)
        .map(|&op| history.op(op).value)
        .collect();
    let of = |id: OpId| {
        let text = cut(history.op_text_around(id, &elements), OP_LETTERS_MAX);
        escape::visible(&text)
    };
    // A transaction of a million operations is not written out to see that it does not fit.
    let is_short = (history.txn(txn).op_count as usize) < width;
    let all: Vec<String> = history
        .txn_ops(txn)
        .take(if is_short { usize::MAX } else { 0 })
        .map(|(id, _)| of(id))
        .collect();
    let line = all.join(" ");
    if is_short && line.chars().count() <= width {
        return line;
    }
    let ids = || history.txn_ops(txn).map(|(id, _)| id);
    let mut shown: Vec<OpId> = ids().filter(|id| matters.contains(id)).collect();
    if shown.is_empty() {
        shown = ids().take(width).collect();
    }
    // Room for how many there are besides.
    let width = width.saturating_sub(16);
    first_that_fit(&shown, of, history.txn(txn).op_count as usize, width)
}

/// As many of these operations as fit, and how many there are besides.
fn first_that_fit(
    shown: &[OpId],
    text: impl Fn(OpId) -> String,
    count: usize,
    width: usize,
) -> String {
    let mut line = String::new();
    let mut left = count;
    for &id in shown {
        let op = text(id);
        if line.chars().count() + op.chars().count() > width && !line.is_empty() {
            break;
        }
        line.push_str(&op);
        line.push(' ');
        left -= 1;
    }
    match left {
        0 => line.trim_end().to_string(),
        left => format!("{line}… and {left} more"),
    }
}

/// A text without its middle, if it is longer than so many letters.
fn cut(text: impl Display, letters_max: usize) -> String {
    let text = text.to_string();
    let count = text.chars().count();
    if count <= letters_max {
        return text;
    }
    let tail_count = 12;
    let head: String = text.chars().take(letters_max - tail_count - 1).collect();
    let tail: String = text.chars().skip(count - tail_count).collect();
    format!("{head}…{tail}")
}

/// Breaks a text into lines at spaces.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.chars().count() + word.chars().count() >= width && !line.is_empty() {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, check};

    /// A transaction that read an aborted value in the middle of many others, all with long names.
    fn dirty_read() -> String {
        let recorder = Recorder::new();
        let (mut one, mut two) = (recorder.session(), recorder.session());
        let writer = one.begin();
        writer.write("x", "a value that nobody wants to read ".repeat(9));
        writer.abort();
        let reader = two.begin();
        for key in 0..40 {
            reader.read(key, 0);
        }
        reader.read("x", "a value that nobody wants to read ".repeat(9));
        reader.commit();
        check(&recorder.history(), Level::ReadCommitted).to_string()
    }

    #[test]
    fn only_what_matters_is_shown_of_a_long_transaction() {
        let text = dirty_read();
        let line = |name: &str| {
            let mut lines = text.lines().map(str::trim);
            let line = lines.find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("no {name} in: {text}"))
        };
        let reader = line("s1t0  ");
        assert!(
            reader.contains("r(x, a value") && reader.ends_with("… and 40 more"),
            "{reader}"
        );
        assert!(!reader.contains("r(7, 0)"), "{reader}");
        let writer = line("s0t0, aborted ");
        assert!(
            writer.contains("w(x, a value that") && writer.contains('…'),
            "{writer}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn lines_break_at_spaces_and_no_word_is_lost() {
        let text = "one two three four five six seven";
        let lines = wrap(text, 12);
        assert!(
            lines.len() > 2 && lines.iter().all(|line| line.len() < 12),
            "{lines:?}"
        );
        assert_eq!(lines.join(" "), text);
    }
}
