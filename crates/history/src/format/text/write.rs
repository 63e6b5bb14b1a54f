//! Writes PolySI text, session by session.

use crate::format::holds::{self, Numbers, refuse};
use crate::format::{Format, WriteError};
use crate::{History, OpKind, Status, TxnId, UNLABELLED};
use std::io::Write;

/// Writes a history of registers.
///
/// Lossless but for names, times and nil: an aborted transaction loses its number; transactions
/// keep theirs where these are unique in the file (other tools need that) and are numbered afresh
/// otherwise; times are not kept; a read of nil becomes a read of 0 where nobody writes 0 to the
/// key, which reads the same version. Two aborted transactions in a row of one session would read
/// back as one, so they are refused.
pub fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let format = Format::Text;
    holds::registers(history, format)?;
    holds::no_empty_session(history, format)?;
    holds::no_empty_txn(history, format)?;
    let labels = labels(history);
    let numbers = Numbers::new(history, format);
    let mut buffer = Vec::with_capacity(64 << 10);
    for session in history.sessions() {
        let session_label = history.session_label(session);
        if session_label < 0 {
            let what = format!("session {session_label}: sessions are unsigned numbers");
            return Err(refuse(format, what));
        }
        let mut after_aborted = false;
        for txn in history.session_txns(session).map(TxnId) {
            let aborted = history.status(txn) == Status::Aborted;
            if aborted && after_aborted {
                let name = history.txn_name(txn);
                let what = format!("{name}: it and the one before it in its session aborted");
                return Err(refuse(format, what));
            }
            after_aborted = aborted;
            let label = labels[txn.index()];
            for (_, op) in history.txn_ops(txn) {
                let kind = if op.kind == OpKind::Write { 'w' } else { 'r' };
                let key = holds::key(history, op.key, format)?;
                let value = numbers.number(op.key, op.value)?;
                write!(buffer, "{kind}({key},{value},{session_label},")?;
                match aborted {
                    true => buffer.extend_from_slice(b"-1)\n"),
                    false => writeln!(buffer, "{label})")?,
                }
            }
            if buffer.len() > 60 << 10 {
                out.write_all(&buffer)?;
                buffer.clear();
            }
        }
    }
    out.write_all(&buffer)?;
    Ok(())
}

/// A number for each transaction, unique in the file; those of aborted ones are not used.
fn labels(history: &History) -> Vec<u64> {
    let mut labels: Vec<u64> = history.txns().iter().map(|txn| txn.label).collect();
    let mut kept: Vec<u64> = history
        .txns()
        .iter()
        .filter(|txn| txn.status != Status::Aborted && txn.label != UNLABELLED)
        .map(|txn| txn.label)
        .collect();
    let kept_count = kept.len();
    kept.sort_unstable();
    kept.dedup();
    let next = kept.last().map_or(Some(0), |&label| label.checked_add(1));
    let room = next.and_then(|next| next.checked_add(labels.len() as u64));
    if kept.len() < kept_count || room.is_none() {
        return (0..labels.len() as u64).collect();
    }
    let unlabelled = labels.iter_mut().filter(|label| **label == UNLABELLED);
    for (label, fresh) in unlabelled.zip(next.unwrap_or(0)..) {
        *label = fresh;
    }
    labels
}
