//! A tiny history written down step by step, in the order in which things happened.
//!
//! The same text is drawn for people and built into a [`History`], so what is drawn is what the
//! tests judge.

use crate::escape::{columns, padded};
use history::{Builder, History, Interval, Op, OpKind, Status, Value};

/// A tiny history.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What was there before.
    pub before: &'static str,
    /// Transactions of one client, such as `"A B"`. Every other one has a client of its own.
    pub clients: &'static [&'static str],
    /// Transaction and step, in order: `("A", "r(x, 0)")`. The last step of each is `commit` or
    /// `abort`.
    pub steps: &'static [(&'static str, &'static str)],
    /// Whether it matters when things happened, and not only in which order each client did them.
    pub timed: bool,
}

/// What is wrong with a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadStep(pub String);

impl Example {
    /// The transactions, in order of their first step.
    pub fn transactions(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.steps {
            if !names.contains(name) {
                names.push(name);
            }
        }
        names
    }

    /// The transactions of each client, in the order in which clients first appear.
    fn columns(&self) -> Vec<Vec<&'static str>> {
        let mut columns: Vec<Vec<&'static str>> = Vec::new();
        for name in self.transactions() {
            if columns.iter().any(|column| column.contains(&name)) {
                continue;
            }
            let shared = self
                .clients
                .iter()
                .map(|client| client.split(' ').collect::<Vec<_>>())
                .find(|client| client.contains(&name));
            columns.push(shared.unwrap_or_else(|| vec![name]));
        }
        columns
    }

    /// The history.
    pub fn history(&self) -> Result<History, BadStep> {
        let mut builder = Builder::new();
        for (client, names) in self.columns().into_iter().enumerate() {
            let session = builder.session(client as i64 + 1);
            for name in names {
                let steps = self.steps.iter().enumerate();
                let own: Vec<(usize, &str)> = steps
                    .filter(|(_, (owner, _))| *owner == name)
                    .map(|(at, (_, step))| (at, *step))
                    .collect();
                let (Some(&(start, _)), Some(&(end, ending))) = (own.first(), own.last()) else {
                    return Err(BadStep(format!("{name} has no steps")));
                };
                let status = match ending {
                    "commit" => Status::Committed,
                    "abort" => Status::Aborted,
                    other => return Err(BadStep(format!("{name} ends in {other}"))),
                };
                let mut ops = Vec::new();
                for (_, step) in &own[..own.len() - 1] {
                    ops.push(op(&mut builder, step)?);
                }
                let interval = self.timed.then_some(Interval {
                    start: 2 * start as i64,
                    end: 2 * end as i64 + 1,
                });
                let label = name
                    .bytes()
                    .next()
                    .map_or(0, |letter| u64::from(letter - b'A') + 1);
                let pushed = builder.push_txn(session, label, status, interval, &ops);
                pushed.map_err(|error| BadStep(error.to_string()))?;
            }
        }
        Ok(builder.finish())
    }

    /// The history in letters: a column a client, time goes down.
    pub fn text(&self) -> String {
        let clients = self.columns();
        let shows_names = clients.iter().any(|client| client.len() > 1);
        let cell = |name: &str, step: &str| match shows_names {
            true => format!("{name}: {step}"),
            false => step.to_string(),
        };
        let widths: Vec<usize> = clients
            .iter()
            .map(|client| {
                let own = self.steps.iter().filter(|(name, _)| client.contains(name));
                let widest = own.map(|(name, step)| columns(&cell(name, step))).max();
                widest.unwrap_or(0).max(head(client).len()) + 3
            })
            .collect();
        let mut text = format!("  {}\n", self.before);
        let row = |cells: Vec<String>| {
            let padded: Vec<String> = cells
                .iter()
                .zip(&widths)
                .map(|(cell, width)| padded(cell, *width))
                .collect();
            format!("  {}\n", padded.concat().trim_end())
        };
        text.push_str(&row(clients.iter().map(|client| head(client)).collect()));
        for (name, step) in self.steps {
            let cells = clients.iter().map(|client| match client.contains(name) {
                true => cell(name, step),
                false => String::new(),
            });
            text.push_str(&row(cells.collect()));
        }
        text
    }
}

/// The heading of a column.
fn head(client: &[&str]) -> String {
    match client {
        [one] => (*one).to_string(),
        several => format!("one client: {}", several.join(", then ")),
    }
}

/// `r(x, 0)`, `r(x, nil)`, `r(x, [1 2])`, `w(x, 1)`, `append(x, 1)`, `inc(x, 1)`, `count(x, 3)`.
fn op(builder: &mut Builder, text: &str) -> Result<Op, BadStep> {
    let bad = || BadStep(format!("no operation: {text}"));
    let (word, rest) = text.split_once('(').ok_or_else(bad)?;
    let inner = rest.strip_suffix(')').ok_or_else(bad)?;
    let (key, value) = inner.split_once(", ").ok_or_else(bad)?;
    let key = builder.key(&Value::from(key));
    let list = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let kind = match (word, list) {
        ("r", Some(_)) => OpKind::ReadList,
        ("r", None) => OpKind::Read,
        ("w", None) => OpKind::Write,
        ("append", None) => OpKind::Append,
        ("inc", None) => OpKind::Increment,
        ("count", None) => OpKind::ReadCounter,
        _ => return Err(bad()),
    };
    let number = |text: &str| match text {
        "nil" => Ok(Value::Nil),
        text => text.parse::<i64>().map(Value::from).map_err(|_| bad()),
    };
    let value = match list {
        Some(list) => {
            let mut elements = Vec::new();
            for element in list.split_whitespace() {
                elements.push(builder.value(&number(element)?));
            }
            builder.push_list(key, &elements)
        }
        None => {
            let value = number(value)?;
            builder.value(&value)
        }
    };
    Ok(Op { kind, key, value })
}
