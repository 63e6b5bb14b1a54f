//! Who waits for a lock, asked of the server itself.
//!
//! PostgreSQL: `pg_blocking_pids`, which reads the table of locks. A deadlock, which the server finds
//! after its `deadlock_timeout`, shows as a circle of waits: somebody in it will get an error.
//!
//! MariaDB: the list of transactions in `show engine innodb status`, which says `LOCK WAIT`;
//! `information_schema.innodb_trx` has the same but renews it ten times a second only. Deadlocks are
//! found at once.

use super::dialect::Dialect;
use super::error::ReplayError;
use std::collections::{BTreeMap, BTreeSet};
use workload::session::{Cell, Session};

/// The sessions that wait, and for whom; for nobody in particular where the server does not tell.
pub(super) type Waits = BTreeMap<u64, BTreeSet<u64>>;

/// Asks who of the sessions waits for a lock.
pub(super) fn waits(
    dialect: Dialect,
    control: &mut dyn Session,
    sessions: &[u64],
) -> Result<Waits, ReplayError> {
    match dialect {
        Dialect::Postgres => postgres(control, sessions),
        Dialect::MariaDb => mariadb(control, sessions),
    }
}

fn postgres(control: &mut dyn Session, sessions: &[u64]) -> Result<Waits, ReplayError> {
    let list: Vec<String> = sessions.iter().map(u64::to_string).collect();
    let text = format!(
        "select pid, array_to_string(pg_blocking_pids(pid), ',') from unnest(array[{}]) as pid",
        list.join(", ")
    );
    let mut waits = Waits::new();
    for row in control.run(&text)?.rows {
        let [Cell::Integer(pid), Cell::Text(blockers)] = row.as_slice() else {
            continue;
        };
        let blockers: BTreeSet<u64> = blockers.split(',').filter_map(|p| p.parse().ok()).collect();
        if !blockers.is_empty() {
            waits.insert(pid.unsigned_abs(), blockers);
        }
    }
    Ok(waits)
}

fn mariadb(control: &mut dyn Session, sessions: &[u64]) -> Result<Waits, ReplayError> {
    let reply = control.run("show engine innodb status")?;
    let text = reply.rows.first().and_then(|row| row.last());
    let Some(Cell::Text(text)) = text else {
        let problem = "the server does not show its transactions (show engine innodb status)";
        return Err(ReplayError::new(problem));
    };
    let waiting = lock_waits(text);
    let ours = sessions.iter().filter(|id| waiting.contains(*id));
    Ok(ours.map(|id| (*id, BTreeSet::new())).collect())
}

/// The threads whose transactions wait for a lock, by InnoDB's own report.
fn lock_waits(report: &str) -> BTreeSet<u64> {
    let list = report.split("LIST OF TRANSACTIONS").nth(1).unwrap_or("");
    let mut found = BTreeSet::new();
    for transaction in list.split("---TRANSACTION").skip(1) {
        let waits = transaction
            .lines()
            .any(|line| line.starts_with("LOCK WAIT"));
        let id = transaction.split("thread id ").nth(1);
        let digits = id.and_then(|id| id.split(|c: char| !c.is_ascii_digit()).next());
        if let (true, Some(Ok(id))) = (waits, digits.map(str::parse)) {
            found.insert(id);
        }
    }
    found
}

/// Whether some of those that wait do so for each other.
pub(super) fn has_circle(waits: &Waits) -> bool {
    let mut left: BTreeSet<u64> = waits.keys().copied().collect();
    loop {
        // Whoever waits for nobody that waits will go on some day.
        let free = |id: &u64| waits[id].iter().all(|blocker| !left.contains(blocker));
        let Some(one) = left.iter().copied().find(|id| free(id)) else {
            return !left.is_empty();
        };
        left.remove(&one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_of_waits_are_found() {
        let waits = |all: &[(u64, &[u64])]| -> Waits {
            let pairs = all
                .iter()
                .map(|(id, whom)| (*id, whom.iter().copied().collect()));
            pairs.collect()
        };
        assert!(!has_circle(&waits(&[])));
        assert!(!has_circle(&waits(&[(1, &[2]), (3, &[1])])));
        assert!(has_circle(&waits(&[(1, &[2]), (2, &[1])])));
        assert!(has_circle(&waits(&[
            (4, &[1]),
            (1, &[2]),
            (2, &[3]),
            (3, &[1])
        ])));
        assert!(!has_circle(&waits(&[(1, &[]), (2, &[])])));
    }

    #[test]
    fn innodb_reports_who_waits() {
        let report = "LATEST DETECTED DEADLOCK\n---TRANSACTION 1, ACTIVE\nLOCK WAIT 2 lock\n\
            MariaDB thread id 9, OS\nTRANSACTIONS\nLIST OF TRANSACTIONS FOR EACH SESSION:\n\
            ---TRANSACTION 22, ACTIVE 0 sec starting index read\n\
            mysql tables in use 1, locked 1\nLOCK WAIT 2 lock struct(s), heap size 1128\n\
            MariaDB thread id 31, OS thread handle 14, query id 5 127.0.0.1 root Updating\n\
            update t set a = 1\n------- TRX HAS BEEN WAITING 2000 us\n\
            ---TRANSACTION 21, ACTIVE 0 sec\n2 lock struct(s)\nMariaDB thread id 30, OS thread\n\
            ---TRANSACTION (0x7f), not started\n0 lock struct(s)\n--------\nFILE I/O\n";
        assert_eq!(lock_waits(report).into_iter().collect::<Vec<_>>(), [31]);
        assert!(lock_waits("").is_empty());
    }
}
