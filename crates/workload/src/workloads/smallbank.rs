//! SmallBank: customers with a savings and a checking account, and six transactions in equal shares, but
//! for a quarter of payments.
//!
//! Source: Alomari et al., "The cost of serializability on platforms that use snapshot isolation" (ICDE
//! 2008), and Cahill et al., "Serializable isolation for snapshot databases" (TODS 2009), section 5.1;
//! the payments are OLTP-Bench's. At snapshot isolation it has a write skew: a check that is
//! written on both balances, while savings are taken out, and somebody who reads both in between.
//! Where we differ: 100 customers, a fifth of whom are hot; amounts are unique numbers, so no
//! transaction goes by a balance; and two checking accounts are written in the order of their
//! numbers, so that transactions do not wait for each other in a circle.

use super::client::{Client, Script, cell, scripted};
use super::{Shape, filled};
use crate::generate::config::Distribution;
use crate::generate::keys::KeyChoice;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Cell, Schema, Table};

const ACCOUNT: u16 = 0;
const SAVINGS: u16 = 1;
const CHECKING: u16 = 2;

struct SmallBank {
    customers: u64,
    choice: KeyChoice,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let customers = shape.keys.unwrap_or(100).max(2);
    let distribution = shape.distribution.unwrap_or(Distribution::HOTSPOT);
    let script = SmallBank {
        customers,
        choice: KeyChoice::new(distribution, customers),
    };
    let table = |name, column| Table::registers(name, &[column], filled(customers));
    let schema = Schema {
        tables: vec![
            table("smallbank_account", "customer"),
            table("smallbank_savings", "balance"),
            table("smallbank_checking", "balance"),
        ],
    };
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for SmallBank {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let one = u64::from(self.choice.draw(&mut client.random));
        let other = (one + 1 + client.random.below(self.customers - 1)) % self.customers;
        plan.act(Action::Read(at(ACCOUNT, one)));
        match client.random.below(100) {
            0..15 => {
                plan.name = "balance";
                plan.act(Action::Read(at(SAVINGS, one)));
                plan.act(Action::Read(at(CHECKING, one)));
            }
            15..30 => {
                plan.name = "deposit checking";
                client.update(plan, at(CHECKING, one));
            }
            30..45 => {
                plan.name = "transact savings";
                client.update(plan, at(SAVINGS, one));
            }
            45..60 => {
                plan.name = "amalgamate";
                plan.act(Action::Read(at(ACCOUNT, other)));
                client.update(plan, at(SAVINGS, one));
                client.update(plan, at(CHECKING, one.min(other)));
                client.update(plan, at(CHECKING, one.max(other)));
            }
            60..75 => {
                plan.name = "write check";
                plan.act(Action::Read(at(SAVINGS, one)));
                client.update(plan, at(CHECKING, one));
            }
            _ => {
                plan.name = "send payment";
                plan.act(Action::Read(at(ACCOUNT, other)));
                client.update(plan, at(CHECKING, one.min(other)));
                client.update(plan, at(CHECKING, one.max(other)));
            }
        }
    }
}

fn at(table: u16, customer: u64) -> Cell {
    cell(table, 0, customer)
}
