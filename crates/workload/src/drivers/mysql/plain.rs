//! Plain SQL on MySQL and MariaDB, by the text protocol.

use super::fate::Phase;
use super::place::{Place, product_name};
use super::{ISOLATIONS, ask, classify, raw};
use crate::driver::{Error, Settings};
use crate::session::{Cell, Reply, Session};
use ::mysql::consts::ColumnType;
use ::mysql::prelude::Queryable;
use ::mysql::{Column, Conn, Row, Value};
use std::time::Duration;

struct Plain {
    raw: Conn,
    product: String,
}

/// Connects.
pub fn open(url: &str, patience: Duration) -> Result<Box<dyn Session>, Error> {
    let settings = Settings {
        patience,
        ..Settings::default()
    };
    let mut raw = raw(&Place::parse(url)?, ISOLATIONS[0], &settings)?;
    let version = ask(&mut raw, "select version()")?.unwrap_or_default();
    Ok(Box::new(Plain {
        raw,
        product: product_name(&version, false),
    }))
}

impl Session for Plain {
    fn id(&self) -> u64 {
        u64::from(self.raw.connection_id())
    }

    fn product(&self) -> &str {
        &self.product
    }

    fn run(&mut self, text: &str) -> Result<Reply, Error> {
        let reply = run(&mut self.raw, text);
        reply.map_err(|error| classify(error, Phase::Statement))
    }
}

fn run(raw: &mut Conn, text: &str) -> ::mysql::Result<Reply> {
    let mut result = raw.query_iter(text)?;
    let mut reply = Reply::default();
    while let Some(set) = result.iter() {
        let count = set.affected_rows();
        let columns = set.columns();
        let columns: Vec<Column> = columns.as_ref().to_vec();
        let rows: Vec<Row> = set.collect::<::mysql::Result<_>>()?;
        reply = Reply {
            count: if columns.is_empty() {
                count
            } else {
                rows.len() as u64
            },
            rows: rows.into_iter().map(|row| cells(row, &columns)).collect(),
            columns: columns
                .iter()
                .map(|one| one.name_str().into_owned())
                .collect(),
        };
    }
    Ok(reply)
}

fn cells(row: Row, columns: &[Column]) -> Vec<Cell> {
    let typed = row.unwrap().into_iter().zip(columns);
    typed.map(|(value, column)| cell(value, column)).collect()
}

fn cell(value: Value, column: &Column) -> Cell {
    let Value::Bytes(bytes) = value else {
        // The text protocol has nothing else.
        return Cell::Null;
    };
    if column.column_type() == ColumnType::MYSQL_TYPE_BIT {
        let number = bytes
            .iter()
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        return Cell::number(&number.to_string());
    }
    match String::from_utf8(bytes) {
        Ok(text) if is_number(column.column_type()) => Cell::number(&text),
        Ok(text) => Cell::Text(text),
        Err(not_text) => Cell::bytes(not_text.as_bytes()),
    }
}

fn is_number(kind: ColumnType) -> bool {
    use ColumnType::*;
    matches!(
        kind,
        MYSQL_TYPE_TINY
            | MYSQL_TYPE_SHORT
            | MYSQL_TYPE_LONG
            | MYSQL_TYPE_LONGLONG
            | MYSQL_TYPE_INT24
            | MYSQL_TYPE_YEAR
            | MYSQL_TYPE_FLOAT
            | MYSQL_TYPE_DOUBLE
            | MYSQL_TYPE_DECIMAL
            | MYSQL_TYPE_NEWDECIMAL
    )
}
