//! Balances of a bank test: whether every read saw all the money.
//!
//! Definition: transfers move money between accounts, and every read is of all accounts. Under
//! snapshot isolation (and above) each read sees a state between transfers, so the sum of its
//! balances is always the same. A read is wrong if it shows an account that the first one does not,
//! a balance of nil, another total, or, unless allowed, a negative balance; the first of these is
//! what it is wrong by. The total is given, or that of the first read.
//!
//! Cost: linear. Source: the bank test of Jepsen. Where we differ: a read that lacks accounts is
//! judged by its total alone, there as here.

use history::format::bank::{Balances, BankHistory};
use std::collections::BTreeSet;
use std::fmt;

/// What is expected of the balances.
#[derive(Clone, Copy, Default, Debug)]
pub struct BankOptions {
    /// The sum of all balances; that of the first read if not given.
    pub total: Option<i128>,
    /// Whether accounts may be overdrawn.
    pub allow_negative: bool,
}

/// What a read is wrong by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BankError {
    /// Accounts that the first read does not show.
    UnexpectedAccounts(Vec<Box<str>>),
    /// Accounts without a balance.
    NilBalances(Vec<Box<str>>),
    /// Another sum than expected.
    WrongTotal {
        /// The sum expected.
        expected: i128,
        /// The sum of the read.
        found: i128,
    },
    /// Balances below zero.
    Negative(Vec<(Box<str>, i128)>),
}

impl BankError {
    /// The name in output.
    pub fn name(&self) -> &'static str {
        match self {
            BankError::UnexpectedAccounts(_) => "unexpected-key",
            BankError::NilBalances(_) => "nil-balance",
            BankError::WrongTotal { .. } => "wrong-total",
            BankError::Negative(_) => "negative-value",
        }
    }
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BankError::UnexpectedAccounts(names) => {
                write!(f, "it shows unexpected accounts: {}", names.join(", "))
            }
            BankError::NilBalances(names) => {
                write!(f, "accounts have no balance: {}", names.join(", "))
            }
            BankError::WrongTotal { expected, found } => {
                write!(f, "its balances sum to {found}, not to {expected}")
            }
            BankError::Negative(accounts) => {
                f.write_str("accounts are overdrawn:")?;
                let mut items = accounts.iter();
                items.try_for_each(|(name, balance)| write!(f, " {name} by {balance}"))
            }
        }
    }
}

/// The reads that are wrong: the index of each and what it is wrong by, in order.
pub fn check_bank(history: &BankHistory, options: &BankOptions) -> Vec<(u64, BankError)> {
    let Some(first) = history.reads.first() else {
        return Vec::new();
    };
    let names = first.accounts.iter().map(|(name, _)| &**name);
    let known: BTreeSet<&str> = names.collect();
    let expected = options.total.unwrap_or_else(|| total(first));
    let wrong = |read: &Balances| Some((read.index, error(read, &known, expected, options)?));
    history.reads.iter().filter_map(wrong).collect()
}

/// The sum of the balances there are.
fn total(read: &Balances) -> i128 {
    let balances = read.accounts.iter().filter_map(|(_, balance)| *balance);
    balances.fold(0, i128::saturating_add)
}

fn error(
    read: &Balances,
    known: &BTreeSet<&str>,
    expected: i128,
    options: &BankOptions,
) -> Option<BankError> {
    let names_where = |wrong: &dyn Fn(&str, Option<i128>) -> bool| -> Vec<Box<str>> {
        let found = read.accounts.iter().filter(|(name, b)| wrong(name, *b));
        found.map(|(name, _)| name.clone()).collect()
    };
    let unexpected = names_where(&|name, _| !known.contains(name));
    if !unexpected.is_empty() {
        return Some(BankError::UnexpectedAccounts(unexpected));
    }
    let nils = names_where(&|_, balance| balance.is_none());
    if !nils.is_empty() {
        return Some(BankError::NilBalances(nils));
    }
    let found = total(read);
    if found != expected {
        return Some(BankError::WrongTotal { expected, found });
    }
    let accounts = read.accounts.iter();
    let negative: Vec<(Box<str>, i128)> = accounts
        .filter_map(|(name, balance)| Some((name.clone(), (*balance)?)))
        .filter(|(_, balance)| *balance < 0)
        .collect();
    (!options.allow_negative && !negative.is_empty()).then_some(BankError::Negative(negative))
}

#[cfg(test)]
mod tests {
    use super::{BankError, BankOptions, check_bank};
    use history::format::bank::read;
    use history::format::{Format, Source};

    fn errors(text: &str, options: &BankOptions) -> Vec<(u64, &'static str)> {
        let source = Source {
            name: "bank",
            bytes: text.as_bytes(),
        };
        let bank = read(source, Some(Format::JepsenEdn), &mut Vec::new()).expect("a history");
        let wrong = check_bank(&bank, options);
        wrong.iter().map(|(at, e)| (*at, e.name())).collect()
    }

    #[test]
    fn each_way_to_be_wrong_is_found() {
        let text = "{:type :ok :f :read :value {0 10, 1 20} :index 1}
            {:type :invoke :f :transfer :value {:from 0 :to 1 :amount 3} :index 2}
            {:type :info :process :nemesis :f [:kill 1] :value {:a {:b #{1}}} :index 3}
            {:type :ok :f :read :value {0 7, 1 23} :index 4}
            {:type :ok :f :read :value {0 7, 1 20} :index 5}
            {:type :ok :f :read :value {0 -1, 1 31} :index 6}
            {:type :ok :f :read :value {0 nil, 1 30} :index 7}
            {:type :ok :f :read :value {0 10, 2 20} :index 8}
            {:type :fail :f :read :value {0 99} :index 9}";
        let all = [
            (5, "wrong-total"),
            (6, "negative-value"),
            (7, "nil-balance"),
            (8, "unexpected-key"),
        ];
        assert_eq!(errors(text, &BankOptions::default()), all);
        let lenient = BankOptions {
            total: Some(30),
            allow_negative: true,
        };
        assert_eq!(errors(text, &lenient), [all[0], all[2], all[3]]);
        let other = BankOptions {
            total: Some(31),
            ..BankOptions::default()
        };
        assert_eq!(errors(text, &other).len(), 6);
        assert!(errors("", &other).is_empty());
        let shown = BankError::WrongTotal {
            expected: 30,
            found: 27,
        };
        assert_eq!(shown.to_string(), "its balances sum to 27, not to 30");
    }
}
