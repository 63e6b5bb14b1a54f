//! Plain SQL on PostgreSQL, by its simple protocol: results come as texts with the types of their columns.

use super::link::{Described, Link};
use super::login::Login;
use super::wire::Fields;
use crate::driver::Error;
use crate::session::{Cell, Reply, Session};
use std::io;
use std::time::Duration;

/// Types of PostgreSQL's catalog.
const BOOL: i32 = 16;
const NUMBERS: &[i32] = &[20, 21, 23, 26, 700, 701, 1700];

struct Plain {
    link: Link,
    product: String,
}

/// Connects.
pub fn open(url: &str, patience: Duration) -> Result<Box<dyn Session>, Error> {
    let link = Link::open(&Login::parse(url)?, patience)?;
    let number = link.version.split(' ').next().unwrap_or_default();
    let product = format!("PostgreSQL {number}").trim_end().to_string();
    Ok(Box::new(Plain { link, product }))
}

impl Session for Plain {
    fn id(&self) -> u64 {
        u64::from(self.link.pid.unsigned_abs())
    }

    fn product(&self) -> &str {
        &self.product
    }

    fn run(&mut self, text: &str) -> Result<Reply, Error> {
        let mut rows: Vec<Vec<Option<String>>> = Vec::new();
        let done = self.link.simple(text, &mut |fields| {
            rows.push(texts(fields)?);
            Ok(())
        })?;
        let columns = std::mem::take(&mut self.link.columns);
        let same_width = |row: &Vec<_>| row.len() == columns.len();
        // Rows of an earlier statement of the text, with other columns, are not asked for.
        let rows = rows.into_iter().filter(same_width);
        let typed = |row: Vec<Option<String>>| row.into_iter().zip(&columns).map(cell).collect();
        Ok(Reply {
            rows: rows.map(typed).collect(),
            columns: columns.iter().map(|column| column.name.clone()).collect(),
            count: done.rows,
        })
    }
}

fn texts(fields: &mut Fields<'_>) -> io::Result<Vec<Option<String>>> {
    let mut row = Vec::new();
    while !fields.is_empty() {
        row.push(fields.text()?.map(str::to_string));
    }
    Ok(row)
}

fn cell((text, column): (Option<String>, &Described)) -> Cell {
    match text {
        None => Cell::Null,
        Some(text) if column.oid == BOOL => Cell::Boolean(text == "t"),
        Some(text) if NUMBERS.contains(&column.oid) => Cell::number(&text),
        Some(text) => Cell::Text(text),
    }
}
