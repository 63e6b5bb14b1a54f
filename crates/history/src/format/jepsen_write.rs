//! Writes a history as Jepsen operation maps, an invocation and a completion a transaction.
//!
//! Lines are in order of time; a process does one thing at a time, so the transactions of a session
//! must not overlap, and one whose outcome is unknown must be its session's last. A label that is
//! not the line's `:index` is kept in an additional field, `:isolde/label`, which other tools ignore.
//! Where the order of lines would say more than the times do (somebody's answer and somebody else's
//! question at one time, which are concurrent), lines have no `:index`.

use super::WriteError;
use super::escape::write_quoted;
use super::jepsen_clock::EventOrder;
use super::jepsen_value::KeyUse;
use crate::{
    History, Interval, KeyId, Op, OpKind, SessionId, Status, TxnId, UNLABELLED, Value, ValueCode,
};
use std::io::{self, Write};

/// A line to write.
#[derive(Clone, Copy)]
struct Line {
    /// Its time, if the history has times; [`Interval::NEVER`] for what was not heard of again.
    order: i64,
    txn: TxnId,
    completion: bool,
}

/// The lines in order.
struct Lines {
    lines: Vec<Line>,
    /// The last time of all, or nothing if the history has no times.
    last: Option<i64>,
    /// Whether the order of the lines is that of the times.
    is_indexed: bool,
}

impl Lines {
    /// The time to write for a line.
    fn time(&self, history: &History, line: &Line) -> i64 {
        let unheard = || history.status(line.txn) == Status::Indeterminate;
        match self.last {
            None => 0,
            Some(last) if line.completion && unheard() => last,
            Some(_) => line.order,
        }
    }

    /// Whether reading the lines in their order would leave all times as they are.
    fn is_in_order(&self, history: &History) -> bool {
        let mut order = EventOrder::new();
        self.last.is_none()
            || self.lines.iter().all(|line| {
                let row = history.txn(line.txn);
                let process = Some(history.session_label(row.session));
                let time = self.time(history, line);
                let is_ok = row.status == Status::Committed;
                let read = match line.completion {
                    true => order.completion(time, process, is_ok),
                    false => order.invocation(time, process),
                };
                read == time
            })
    }
}

/// Writes all lines.
pub(crate) fn write<const JSON: bool>(
    history: &History,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    check_reads::<JSON>(history)?;
    let lines = lines(history)?;
    let mut text: Vec<u8> = Vec::with_capacity(1 << 16);
    if JSON {
        text.push(b'[');
    }
    let mut invocation_count = 0;
    for (index, line) in lines.lines.iter().enumerate() {
        if JSON && index > 0 {
            text.extend_from_slice(b",\n");
        }
        let time = lines.time(history, line);
        // What the reader takes for the label.
        let number = match lines.is_indexed {
            true => index as u64,
            false => invocation_count,
        };
        invocation_count += u64::from(!line.completion);
        let index = lines.is_indexed.then_some(index as u64);
        write_line::<JSON>(history, &mut text, line, (time, index, number))?;
        if !JSON {
            text.push(b'\n');
        }
        if text.len() >= 1 << 16 {
            out.write_all(&text)?;
            text.clear();
        }
    }
    if JSON {
        text.extend_from_slice(b"]\n");
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn cannot<T>(what: String) -> Result<T, WriteError> {
    Err(WriteError::CannotHold(format!(
        "Jepsen's format cannot hold this history: {what}; Isolde's JSON lines and Parquet can"
    )))
}

/// The lines in order; within a session invocations and completions alternate.
fn lines(history: &History) -> Result<Lines, WriteError> {
    let mut lines = Vec::with_capacity(2 * history.txn_count());
    for session in history.sessions() {
        session_lines(history, session, &mut lines)?;
    }
    // Stable, so that what a session did at one time stays in its order.
    lines.sort_by_key(|line| line.order);
    let known = |line: &&Line| line.order != Interval::NEVER;
    let last = lines.iter().rev().find(known).map_or(0, |line| line.order);
    let last = history.has_intervals().then_some(last);
    let mut lines = Lines {
        lines,
        last,
        is_indexed: true,
    };
    lines.is_indexed = lines.is_in_order(history);
    Ok(lines)
}

fn session_lines(
    history: &History,
    session: SessionId,
    lines: &mut Vec<Line>,
) -> Result<(), WriteError> {
    let label = history.session_label(session);
    if label < 0 {
        return cannot(format!("session {label} is no process number"));
    }
    let txns = history.session_txns(session);
    let mut now = i64::MIN;
    for (place, txn) in txns.clone().map(TxnId).enumerate() {
        let unknown = history.status(txn) == Status::Indeterminate;
        if unknown && txn.0 + 1 != txns.end {
            return cannot(format!(
                "{} has an unknown outcome but is not the last of its session",
                history.txn_name(txn)
            ));
        }
        // Without times, round after round: every session's first transaction, then the second.
        let place = 2 * place as i64;
        let (start, end) = match history.interval(txn) {
            Some(interval) => (interval.start, interval.end),
            None => (place, place + 1),
        };
        let end = if unknown { Interval::NEVER } else { end };
        if start < now || end < start {
            return cannot(format!(
                "{} overlaps its predecessor in the session, or ends before it starts",
                history.txn_name(txn)
            ));
        }
        now = end;
        for (order, completion) in [(start, false), (end, true)] {
            lines.push(Line {
                order,
                txn,
                completion,
            });
        }
    }
    Ok(())
}

/// The kind under which a read appears in the file, before other uses of its key are looked at.
fn shown_kind<const JSON: bool>(op: Op) -> OpKind {
    match op.kind {
        OpKind::ReadList | OpKind::ReadSet if op.value == ValueCode::UNKNOWN => OpKind::Read,
        OpKind::ReadSet if JSON => OpKind::ReadList,
        OpKind::ReadCounter => OpKind::Read,
        kind => kind,
    }
}

/// Refuses what would read back as something else.
fn check_reads<const JSON: bool>(history: &History) -> Result<(), WriteError> {
    let mut uses = vec![KeyUse::default(); history.keys().limit()];
    for txn in history.txn_ids() {
        for (_, op) in history.txn_ops(txn) {
            uses[op.key.index()].note(shown_kind::<JSON>(op));
        }
    }
    for txn in history.txn_ids() {
        let status = history.status(txn);
        for (id, op) in history.txn_ops(txn) {
            let unknown = op.value == ValueCode::UNKNOWN;
            let problem = if op.kind.is_write() {
                unknown.then_some("writes an unknown value")
            } else if status == Status::Committed && unknown {
                Some("committed with an unknown result, which would read as nil")
            } else if status == Status::Indeterminate
                && op.value == ValueCode::NIL
                && !op.kind.reads_list()
            {
                Some("read nil in a transaction of unknown outcome, which would read as unknown")
            } else if uses[op.key.index()].settle(shown_kind::<JSON>(op), op.value) != op.kind {
                Some("would read back as another kind, because of how its key is used elsewhere")
            } else {
                None
            };
            if let Some(problem) = problem {
                let name = history.txn_name(txn);
                return cannot(format!("{} of {name} {problem}", history.op_text(id)));
            }
        }
    }
    Ok(())
}

fn write_line<const JSON: bool>(
    history: &History,
    text: &mut Vec<u8>,
    line: &Line,
    (time, index, number): (i64, Option<u64>, u64),
) -> io::Result<()> {
    let row = history.txn(line.txn);
    let phase = match (line.completion, row.status) {
        (false, _) => "invoke",
        (true, Status::Committed) => "ok",
        (true, Status::Aborted) => "fail",
        (true, Status::Indeterminate) => "info",
    };
    if JSON {
        write!(text, "{{\"type\":\"{phase}\",\"f\":\"txn\",\"value\":[")?;
    } else {
        write!(text, "{{:type :{phase}, :f :txn, :value [")?;
    }
    for (place, (_, op)) in history.txn_ops(line.txn).enumerate() {
        if place > 0 {
            text.push(separator::<JSON>());
        }
        write_op::<JSON>(history, text, op, line.completion)?;
    }
    let process = history.session_label(row.session);
    if JSON {
        write!(text, "],\"process\":{process},\"time\":{time}")?;
    } else {
        write!(text, "], :process {process}, :time {time}")?;
    }
    match index {
        Some(index) if JSON => write!(text, ",\"index\":{index}")?,
        Some(index) => write!(text, ", :index {index}")?,
        None => {}
    }
    if !line.completion && row.label != number {
        text.extend_from_slice(if JSON {
            b",\"isolde/label\":"
        } else {
            b", :isolde/label "
        });
        match row.label {
            UNLABELLED => write_nil::<JSON>(text),
            label => write!(text, "{label}")?,
        }
    }
    text.push(b'}');
    Ok(())
}

fn separator<const JSON: bool>() -> u8 {
    if JSON { b',' } else { b' ' }
}

fn write_nil<const JSON: bool>(text: &mut Vec<u8>) {
    text.extend_from_slice(if JSON { b"null" } else { b"nil" });
}

fn write_op<const JSON: bool>(
    history: &History,
    text: &mut Vec<u8>,
    op: Op,
    completion: bool,
) -> io::Result<()> {
    let tag = match op.kind {
        OpKind::Write => "w",
        OpKind::Append => "append",
        OpKind::Add => "add",
        OpKind::Increment => "inc",
        OpKind::Read | OpKind::ReadList | OpKind::ReadSet | OpKind::ReadCounter => "r",
    };
    if JSON {
        write!(text, "[\"{tag}\",")?;
    } else {
        write!(text, "[:{tag} ")?;
    }
    write_key::<JSON>(history, text, op.key)?;
    text.push(separator::<JSON>());
    let hidden = op.value == ValueCode::UNKNOWN || (!completion && !op.kind.is_write());
    if hidden {
        write_nil::<JSON>(text);
    } else if op.kind.reads_list() {
        let set = op.kind == OpKind::ReadSet && !JSON;
        text.extend_from_slice(if set { b"#{" } else { b"[" });
        for (place, &element) in history.list(op.value).iter().enumerate() {
            if place > 0 {
                text.push(separator::<JSON>());
            }
            write_code::<JSON>(history, text, element)?;
        }
        text.push(if set { b'}' } else { b']' });
    } else {
        write_code::<JSON>(history, text, op.value)?;
    }
    text.push(b']');
    Ok(())
}

fn write_key<const JSON: bool>(
    history: &History,
    text: &mut Vec<u8>,
    key: KeyId,
) -> io::Result<()> {
    write_value::<JSON>(text, &history.key_name(key))
}

fn write_code<const JSON: bool>(
    history: &History,
    text: &mut Vec<u8>,
    code: ValueCode,
) -> io::Result<()> {
    if code.0 < ValueCode::SMALL_LIMIT {
        return write!(text, "{}", code.0);
    }
    write_value::<JSON>(text, &history.value(code))
}

fn write_value<const JSON: bool>(text: &mut Vec<u8>, value: &Value) -> io::Result<()> {
    match value {
        Value::Nil => write_nil::<JSON>(text),
        Value::Int(number) => write!(text, "{number}")?,
        Value::Text(word) if !JSON && is_keyword(word) => text.extend_from_slice(word.as_bytes()),
        Value::Text(word) => write_quoted(text, word)?,
    }
    Ok(())
}

/// Whether a text is the spelling of an EDN keyword.
fn is_keyword(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next() == Some(b':')
        && text.len() > 1
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.*+!?<>=/".contains(&byte))
}
