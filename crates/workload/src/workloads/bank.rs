//! Accounts, and money that moves between them: a transfer takes from one and adds to another, an audit
//! reads them all. Every account begins with 0 and may go below, so whatever is transferred, an audit
//! that sees whole transfers only adds up to 0 ([`total_problem`]).
//!
//! Source: Jepsen's bank test. Where we differ: balances are counters that are added to, not numbers
//! that are read and written back, so that the recording is a history of counters and can be
//! checked like any other.

use super::client::{Client, Script, cell, order_writes, scripted};
use super::{Shape, filled};
use crate::driver::Answer;
use crate::generate::keys::KeyChoice;
use crate::generate::random::Chance;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Column, ColumnKind, Schema, Table};

const AMOUNT_MAX: u32 = 100;

/// The name of transactions that read all accounts.
pub const AUDIT: &str = "audit";

struct Bank {
    accounts: u64,
    choice: KeyChoice,
    audits: Chance,
}

pub(super) fn make(shape: &Shape) -> Box<dyn Workload> {
    let accounts = shape.keys.unwrap_or(8).max(2);
    let script = Bank {
        accounts,
        choice: shape.choice(accounts),
        audits: Chance::of(shape.read_share.unwrap_or(0.5)),
    };
    let balance = Column {
        name: "balance",
        kind: ColumnKind::Counter,
    };
    let table = Table {
        name: "bank_account",
        columns: vec![balance],
        rows: filled(accounts),
        group: 0,
    };
    let schema = Schema {
        tables: vec![table],
    };
    scripted(
        schema,
        script,
        shape.seed,
        shape.abort_share.unwrap_or(0.05),
    )
}

impl Script for Bank {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        if client.random.chance(self.audits) {
            plan.name = AUDIT;
            let accounts = (0..self.accounts).map(|row| cell(0, 0, row));
            accounts.for_each(|account| plan.act(Action::ReadCounter(account)));
            return;
        }
        plan.name = "transfer";
        let from = u64::from(self.choice.draw(&mut client.random));
        let other = 1 + client.random.below(self.accounts - 1);
        let to = (from + other) % self.accounts;
        let amount = i64::from(client.random.between(1, AMOUNT_MAX));
        plan.act(Action::Increment(cell(0, 0, from), -amount));
        plan.act(Action::Increment(cell(0, 0, to), amount));
        order_writes(plan);
    }
}

/// What is wrong with the answers to an audit, if they do not add up to 0.
pub fn total_problem(answers: &[Answer]) -> Option<String> {
    let balances = answers.iter().map(|answer| match answer {
        Answer::Value(Some(balance), _) => i128::from(*balance),
        _ => 0,
    });
    let total: i128 = balances.sum();
    (total != 0).then(|| format!("the accounts add up to {total} instead of 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_transfer_is_a_problem() {
        let value = |balance| Answer::Value(Some(balance), None);
        assert_eq!(total_problem(&[value(5), value(-5)]), None);
        assert_eq!(total_problem(&[Answer::Value(None, None)]), None);
        assert!(total_problem(&[value(5), value(0)]).is_some());
    }
}
