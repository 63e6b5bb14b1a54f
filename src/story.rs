//! A verdict told to people: what happened, why it cannot be, and the operations that matter.

use history::{Anomaly, Edge, History, Level, TxnId, Verdict};

/// Transactions of an anomaly that are shown with their operations.
const TXNS_SHOWN_MAX: usize = 12;

/// The verdict on one level, in plain text.
pub fn verdict(history: &History, level: Level, verdict: &Verdict, width: usize) -> String {
    match verdict {
        Verdict::Holds(_) => format!("{level} holds\n"),
        Verdict::Unknown(reason) => format!("{level} is not decided: {reason}\n"),
        Verdict::Violated(anomalies) => {
            let mut text = format!("{level} is violated: {}\n", kinds(anomalies));
            for anomaly in anomalies {
                text.push_str(&self::anomaly(history, anomaly, width));
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

/// An anomaly: what it is, its cycle, why, and the transactions in it.
pub fn anomaly(history: &History, anomaly: &Anomaly, width: usize) -> String {
    let row = anomaly.kind.row();
    let mut text = format!("  {} [{}]\n", row.meaning, row.label);
    if !anomaly.edges.is_empty() {
        text.push_str(&format!("    {}\n", cycle(history, &anomaly.edges)));
    }
    for line in wrap(&anomaly.explanation, width.saturating_sub(8)) {
        text.push_str(&format!("  {line}\n"));
    }
    for &txn in anomaly.transactions.iter().take(TXNS_SHOWN_MAX) {
        let name = history.txn_name(txn);
        let line = operations(history, txn, width.saturating_sub(16));
        text.push_str(&format!("    {name:<8} {line}\n"));
    }
    if anomaly.transactions.len() > TXNS_SHOWN_MAX {
        let more = anomaly.transactions.len() - TXNS_SHOWN_MAX;
        text.push_str(&format!("    … and {more} more\n"));
    }
    text
}

/// A cycle on one line: `s1t2 -ww 1-> s0t0 -so-> s1t2`.
fn cycle(history: &History, edges: &[Edge]) -> String {
    let mut line = name(history, edges[0].from);
    for edge in edges {
        let key = edge
            .key
            .map_or(String::new(), |key| format!(" {}", history.key_name(key)));
        line.push_str(&format!(
            " -{}{key}-> {}",
            edge.kind.name(),
            name(history, edge.to)
        ));
    }
    line
}

/// The name of a transaction; the implicit first one, which wrote the initial values, is `init`.
fn name(history: &History, txn: TxnId) -> String {
    match txn {
        TxnId::INITIAL => "init".to_string(),
        _ => history.txn_name(txn),
    }
}

/// The operations of a transaction, as many as fit on a line.
fn operations(history: &History, txn: TxnId, width: usize) -> String {
    let mut line = String::new();
    let mut left = history.txn(txn).op_count;
    for (id, _) in history.txn_ops(txn) {
        let op = history.op_text_around(id, &[]);
        if line.len() + op.len() > width && !line.is_empty() {
            line.push_str(&format!("… and {left} more"));
            break;
        }
        line.push_str(&op);
        line.push(' ');
        left -= 1;
    }
    line.trim_end().to_string()
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
