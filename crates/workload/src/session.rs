//! A session for plain SQL: a text goes out, typed rows come back. For whoever brings statements of
//! their own, where [`crate::driver::Connection`] knows the statements of workloads.

use crate::driver::Error;

/// A connection that runs one text at a time.
pub trait Session: Send {
    /// The number by which the server's own views know this session.
    fn id(&self) -> u64;

    /// The server, as it tells: "PostgreSQL 15.18".
    fn product(&self) -> &str;

    /// Runs a text; the rows of its last result. Several statements are separated by semicolons.
    fn run(&mut self, text: &str) -> Result<Reply, Error>;
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// How many rows were changed; of a query, how many it gave.
    pub count: u64,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Everything else, as the server writes it; bytes as `\x` and hexadecimal digits.
    Text(String),
}

impl Cell {
    /// A number as a server writes it. One without a fraction is an integer, for servers give sums of
    /// integers as decimals.
    pub fn number(text: &str) -> Cell {
        if let Ok(whole) = text.parse() {
            return Cell::Integer(whole);
        }
        match text.parse() {
            Ok(real) => Cell::Real(real),
            Err(_) => Cell::Text(text.to_string()),
        }
    }

    /// Bytes as hexadecimal digits.
    pub fn bytes(bytes: &[u8]) -> Cell {
        let mut text = "\\x".to_string();
        for byte in bytes {
            text.push_str(&format!("{byte:02x}"));
        }
        Cell::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_fraction_are_integers() {
        assert_eq!(Cell::number("-12"), Cell::Integer(-12));
        assert_eq!(Cell::number("12.50"), Cell::Real(12.5));
        assert_eq!(Cell::number("1e3"), Cell::Real(1000.0));
        assert_eq!(
            Cell::number("99999999999999999999"),
            Cell::Real(99999999999999999999.0)
        );
        assert_eq!(Cell::number("x"), Cell::Text("x".to_string()));
        assert_eq!(Cell::bytes(&[1, 255]), Cell::Text("\\x01ff".to_string()));
    }
}
