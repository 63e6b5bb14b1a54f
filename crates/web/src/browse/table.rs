//! The transactions of a history in pages, by session, key, time and outcome.
//!
//! **Steps.** The narrowest of the indexes that the filter names gives the candidates in their
//! order; one pass over them counts those that fit and keeps those of the page.
//!
//! **Cost.** Linear in the candidates, a few nanoseconds each; only the page is put into words.

use super::index::Index;
use super::{Opened, op_text};
use history::{History, Interval, KeyId, SessionId, Status, TxnId, Value as Name};
use report::escape::cut;
use serde_json::{Value, json};

/// Which transactions to show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Of the session with this number.
    pub session: Option<i64>,
    /// That touch the key with this name.
    pub key: Option<String>,
    /// That were under way at or after this time, since the first one began.
    pub from: Option<i64>,
    /// That began at or before this time.
    pub to: Option<i64>,
    /// With this outcome.
    pub status: Option<String>,
    /// By time, not by session.
    pub by_time: bool,
}

/// Rows on a page.
pub(crate) const ROWS_MAX: usize = 100;
/// Operations shown of a row.
const OPS_SHOWN: usize = 8;
/// Sessions that are listed.
const SESSIONS_MAX: usize = 500;

/// A page of the transactions that fit, from the row `first` on.
pub(crate) fn page(
    opened: &Opened,
    filter: &Filter,
    first: usize,
    rows: usize,
) -> Result<Value, String> {
    let history = &opened.loaded.history;
    let session = filter
        .session
        .map(|label| session(history, label))
        .transpose()?;
    let key = filter
        .key
        .as_deref()
        .map(|name| key(history, name))
        .transpose()?;
    let status = filter.status.as_deref().map(status_of).transpose()?;
    let epoch = opened.index.epoch();
    let (from, to) = (
        filter.from.map(|time| epoch.saturating_add(time)),
        filter.to.map(|time| epoch.saturating_add(time)),
    );
    let fits = |txn: TxnId| {
        session.is_none_or(|wanted| history.session_of(txn) == wanted)
            && status.is_none_or(|wanted| history.status(txn) == wanted)
            && history.interval(txn).is_none_or(|interval| {
                from.is_none_or(|from| interval.completion() >= from)
                    && to.is_none_or(|to| interval.start <= to)
            })
    };
    let rows = rows.clamp(1, ROWS_MAX);
    let mut total = 0;
    let mut shown = Vec::new();
    candidates(opened, session, key, filter.by_time, &mut |txn| {
        if fits(txn) {
            if total >= first && shown.len() < rows {
                shown.push(txn);
            }
            total += 1;
        }
    });
    let shown: Vec<Value> = shown.iter().map(|&txn| row(opened, txn)).collect();
    Ok(json!({"total": total, "first": first, "rows": shown}))
}

/// The transactions among which to look, in order.
fn candidates(
    opened: &Opened,
    session: Option<SessionId>,
    key: Option<KeyId>,
    by_time: bool,
    tell: &mut dyn FnMut(TxnId),
) {
    let history = &opened.loaded.history;
    if let Some(key) = key {
        let mut found = owners(history, &opened.index, key);
        if by_time {
            let start = |txn: TxnId| history.interval(txn).map_or(0, |interval| interval.start);
            found.sort_by_key(|&txn| (start(txn), txn));
        }
        found.into_iter().for_each(tell);
    } else if let Some(session) = session {
        history.session_txns(session).map(TxnId).for_each(tell);
    } else if let (true, Some(txns)) = (by_time, opened.index.by_time()) {
        txns.iter().copied().for_each(tell);
    } else {
        history.txn_ids().for_each(tell);
    }
}

/// The transactions that touch a key, by session.
fn owners(history: &History, index: &Index, key: KeyId) -> Vec<TxnId> {
    let ops = index.of_key(key);
    let mut owners: Vec<TxnId> = ops.iter().map(|&op| index.owner(history, op)).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// A transaction in a row.
pub(super) fn row(opened: &Opened, txn: TxnId) -> Value {
    let history = &opened.loaded.history;
    let ops = history.op_range(txn).take(OPS_SHOWN);
    let ops: Vec<String> = ops
        .map(|place| op_text(history, history::OpId(place as u32)))
        .collect();
    let (start, end) = times(opened, txn);
    json!({
        "txn": history.txn_name(txn),
        "session": history.session_label(history.session_of(txn)),
        "status": status_name(history.status(txn)),
        "start": start,
        "end": end,
        "ops": ops,
        "op_count": history.txn(txn).op_count,
    })
}

/// When a transaction began and ended, from the beginning of the history on.
pub(super) fn times(opened: &Opened, txn: TxnId) -> (Option<i64>, Option<i64>) {
    let epoch = opened.index.epoch();
    let Some(interval) = opened.loaded.history.interval(txn) else {
        return (None, None);
    };
    let end = interval.completion();
    let end = (end != Interval::NEVER).then(|| end.saturating_sub(epoch));
    (Some(interval.start.saturating_sub(epoch)), end)
}

/// A history in numbers.
pub(crate) fn overview(opened: &Opened) -> Value {
    opened.overview.get_or_init(|| count(opened)).clone()
}

fn count(opened: &Opened) -> Value {
    let history = &opened.loaded.history;
    let sessions: Vec<Value> = history
        .sessions()
        .take(SESSIONS_MAX)
        .map(|session| {
            json!({"session": history.session_label(session), "transactions": history.session_txns(session).len()})
        })
        .collect();
    let mut outcomes = [0u64; 3];
    for txn in history.txns() {
        outcomes[txn.status as usize] += 1;
    }
    let last = opened.index.by_time().and_then(|txns| txns.last().copied());
    json!({
        "sessions": sessions,
        "session_count": history.session_count(),
        "transactions": history.txn_count(),
        "operations": history.op_count(),
        "keys": history.key_count(),
        "committed": outcomes[Status::Committed as usize],
        "aborted": outcomes[Status::Aborted as usize],
        "indeterminate": outcomes[Status::Indeterminate as usize],
        "timed": history.has_intervals(),
        "last_start": last.map(|txn| times(opened, txn).0),
        "format": opened.loaded.format.name(),
        "notes": opened.loaded.notes,
        "faults": opened.faults().len(),
    })
}

/// The session with this number.
pub(super) fn session(history: &History, label: i64) -> Result<SessionId, String> {
    history
        .sessions()
        .find(|&session| history.session_label(session) == label)
        .ok_or_else(|| format!("there is no session {label}"))
}

/// The key with this name.
pub(super) fn key(history: &History, name: &str) -> Result<KeyId, String> {
    let number = name.parse::<i128>().ok().map(Name::Int);
    let number = number.and_then(|number| history.keys().find(&number));
    number
        .or_else(|| history.keys().find(&Name::from(name)))
        .ok_or_else(|| format!("there is no key '{}'", cut(name, 60)))
}

pub(super) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Committed => "committed",
        Status::Aborted => "aborted",
        Status::Indeterminate => "indeterminate",
    }
}

fn status_of(name: &str) -> Result<Status, String> {
    let all = [Status::Committed, Status::Aborted, Status::Indeterminate];
    let found = all.into_iter().find(|status| status_name(*status) == name);
    found.ok_or_else(|| format!("there is no outcome '{}'", cut(name, 60)))
}
