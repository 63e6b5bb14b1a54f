//! Transactions by name and operations by their place in one.

use super::CertificateError;
use crate::{History, OpId, TxnId, UNLABELLED};

/// The names of a history's transactions.
pub(super) struct Names<'a> {
    pub(super) history: &'a History,
    /// Session label, whether the name is a place, label or place, and whose name that is; sorted.
    rows: Vec<(i64, bool, u64, TxnId)>,
    /// By transaction: where its operations' transaction is, in order of the columns.
    by_ops_start: Vec<TxnId>,
}

impl Names<'_> {
    pub(super) fn of(history: &History) -> Names<'_> {
        let mut rows: Vec<(i64, bool, u64, TxnId)> = history
            .txn_ids()
            .map(|txn| {
                let row = history.txn(txn);
                let place = txn.0 - history.session_txns(row.session).start;
                let is_place = row.label == UNLABELLED;
                let label = if is_place {
                    u64::from(place)
                } else {
                    row.label
                };
                (history.session_label(row.session), is_place, label, txn)
            })
            .collect();
        rows.sort_unstable();
        let mut by_ops_start: Vec<TxnId> = history
            .txn_ids()
            .filter(|&txn| history.txn(txn).op_count > 0)
            .collect();
        by_ops_start.sort_unstable_by_key(|&txn| history.txn(txn).ops_start);
        Names {
            history,
            rows,
            by_ops_start,
        }
    }

    /// Everybody who has the name.
    fn namesakes(&self, session: i64, is_place: bool, label: u64) -> &[(i64, bool, u64, TxnId)] {
        let name = (session, is_place, label);
        let start = self
            .rows
            .partition_point(|row| (row.0, row.1, row.2) < name);
        let end = self
            .rows
            .partition_point(|row| (row.0, row.1, row.2) <= name);
        &self.rows[start..end]
    }

    pub(super) fn name(&self, txn: TxnId) -> String {
        if txn.index() >= self.history.txn_count() {
            return "init".to_string();
        }
        let name = self.history.txn_name(txn);
        let is_unique = parts_of(&name).is_some_and(|(session, is_place, label)| {
            self.namesakes(session, is_place, label).len() == 1
        });
        if is_unique {
            name
        } else {
            format!("{name}#{}", txn.0)
        }
    }

    pub(super) fn txn(&self, name: &str) -> Result<TxnId, CertificateError> {
        if name == "init" {
            return Ok(TxnId::INITIAL);
        }
        let unknown = || CertificateError::UnknownName(format!("transaction '{name}'"));
        let (plain, number) = match name.split_once('#') {
            Some((plain, number)) => (plain, Some(number.parse::<u32>().map_err(|_| unknown())?)),
            None => (name, None),
        };
        let (session, is_place, label) = parts_of(plain).ok_or_else(unknown)?;
        let namesakes = self.namesakes(session, is_place, label);
        let mut found = namesakes
            .iter()
            .map(|row| row.3)
            .filter(|txn| number.is_none_or(|number| txn.0 == number));
        match (found.next(), found.next()) {
            (Some(txn), None) => Ok(txn),
            _ => Err(unknown()),
        }
    }

    /// The transaction of an operation and its place there.
    pub(super) fn place_of_op(&self, op: OpId) -> Option<(TxnId, u32)> {
        let history = self.history;
        let after = self
            .by_ops_start
            .partition_point(|&txn| history.txn(txn).ops_start <= op.0);
        let txn = *self.by_ops_start.get(after.checked_sub(1)?)?;
        let place = op.0 - history.txn(txn).ops_start;
        (place < history.txn(txn).op_count).then_some((txn, place))
    }

    pub(super) fn op(&self, txn: &str, place: u32) -> Result<OpId, CertificateError> {
        let id = self.txn(txn)?;
        if id == TxnId::INITIAL || place >= self.history.txn(id).op_count {
            let what = format!("operation {place} of '{txn}'");
            return Err(CertificateError::UnknownName(what));
        }
        Ok(OpId(self.history.txn(id).ops_start + place))
    }
}

/// Session label, whether the number is a place, and the number, of `s1t4` or `s1n4`.
fn parts_of(name: &str) -> Option<(i64, bool, u64)> {
    let rest = name.strip_prefix('s')?;
    let middle = rest.find(['t', 'n'])?;
    let session = rest[..middle].parse().ok()?;
    let label = rest[middle + 1..].parse().ok()?;
    Some((session, &rest[middle..=middle] == "n", label))
}
