//! The two dialects that statements are sent in: how they write values and names.

use super::error::ReplayError;
use crate::expr::Value;
use crate::schema::Type;

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL's.
    Postgres,
    /// That of MariaDB and MySQL.
    MariaDb,
}

/// Stands for every reading of the clock, so that a second run of a program gives the same rows.
pub(super) const NOW: &str = "2000-01-01 00:00:00";

impl Dialect {
    /// By the scheme of a URL.
    pub fn of_url(url: &str) -> Option<Dialect> {
        match url.split(':').next()? {
            "postgres" | "postgresql" => Some(Dialect::Postgres),
            "mysql" | "mariadb" => Some(Dialect::MariaDb),
            _ => None,
        }
    }

    /// A name in quotes. Both fold names to lower case first: the tables of a replay are created by
    /// it, and statements may write names either way.
    pub(super) fn name(self, name: &str) -> String {
        let name = name.to_lowercase();
        match self {
            Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
            Dialect::MariaDb => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// A text in quotes.
    pub(super) fn text(self, text: &str) -> Result<String, ReplayError> {
        if text.contains('\0') {
            let problem = "a text with a zero byte cannot be sent to a server";
            return Err(ReplayError::new(problem));
        }
        let text = text.replace('\'', "''");
        Ok(match self {
            Dialect::Postgres => format!("'{text}'"),
            Dialect::MariaDb => format!("'{}'", text.replace('\\', "\\\\")),
        })
    }

    /// A value. A list is its members with commas between them: it stands in `in (…)`.
    pub(super) fn value(self, value: &Value) -> Result<String, ReplayError> {
        Ok(match value {
            Value::Null => "null".to_string(),
            Value::Boolean(truth) => truth.to_string(),
            // In parentheses, for two minus signs would begin a comment.
            Value::Integer(number) if *number < 0 => format!("({number})"),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) if !number.is_finite() => {
                let problem = format!("{number} cannot be sent to a server as a number");
                return Err(ReplayError::new(problem));
            }
            Value::Real(number) if *number < 0.0 => format!("({number:?})"),
            Value::Real(number) => format!("{number:?}"),
            Value::Text(text) => self.text(text)?,
            Value::List(all) if all.is_empty() => "null".to_string(),
            Value::List(all) => {
                let members = all.iter().map(|one| match one {
                    Value::List(_) => Err(ReplayError::new("a list within a list cannot be sent")),
                    one => self.value(one),
                });
                members.collect::<Result<Vec<_>, _>>()?.join(", ")
            }
        })
    }

    /// A value for a column of that type. Whoever chose it need not have known the type.
    pub(super) fn value_for(self, value: &Value, ty: Type) -> Result<String, ReplayError> {
        let as_text = |value: &Value| match value {
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => format!("{number:?}"),
            Value::Boolean(truth) => truth.to_string(),
            _ => String::new(),
        };
        match (ty, value) {
            (_, Value::Null | Value::List(_)) => self.value(value),
            (Type::Boolean, Value::Integer(number)) => Ok((*number != 0).to_string()),
            (Type::Timestamp | Type::Date | Type::Time, Value::Integer(seconds)) => {
                self.text(part_of(ty, &timestamp(*seconds)))
            }
            (Type::Timestamp | Type::Date | Type::Time, Value::Text(text)) => match text.parse() {
                Ok(seconds) => self.text(part_of(ty, &timestamp(seconds))),
                Err(_) if text.is_empty() => self.text(part_of(ty, NOW)),
                Err(_) => self.text(text),
            },
            (Type::Integer | Type::Real, Value::Text(text)) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(format!("({text})")),
                _ => self.text(text),
            },
            (Type::Text | Type::Binary, Value::Text(_)) => self.value(value),
            (Type::Text | Type::Binary, other) => self.text(&as_text(other)),
            _ => self.value(value),
        }
    }
}

/// What a column of that type holds of a date with a time.
fn part_of(ty: Type, text: &str) -> &str {
    match ty {
        Type::Date => &text[..10],
        Type::Time => &text[11..],
        _ => text,
    }
}

/// The date and time so many seconds after the start of 1970 (days to civil dates after Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn timestamp(seconds: i64) -> String {
    // Servers know no years beyond 9999.
    let seconds = seconds.clamp(0, 253_402_300_799);
    let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_so_that_servers_read_them_back() {
        for dialect in [Dialect::Postgres, Dialect::MariaDb] {
            let write = |value: Value| dialect.value(&value).expect("a value");
            assert_eq!(write(Value::Integer(-5)), "(-5)");
            assert_eq!(write(Value::Real(2.0)), "2.0");
            let list = Value::List(vec![Value::Integer(1), Value::Text("a'b".to_string())]);
            assert_eq!(write(list), "1, 'a''b'");
            assert_eq!(write(Value::List(Vec::new())), "null");
            assert!(dialect.value(&Value::Real(f64::NAN)).is_err());
            assert!(dialect.value(&Value::Text("\0".to_string())).is_err());
        }
        let slash = Value::Text("a\\".to_string());
        assert_eq!(Dialect::Postgres.value(&slash).expect("a text"), "'a\\'");
        assert_eq!(Dialect::MariaDb.value(&slash).expect("a text"), "'a\\\\'");
    }

    #[test]
    fn values_take_the_type_of_their_column() {
        let write = |value, ty| Dialect::Postgres.value_for(&value, ty).expect("a value");
        assert_eq!(write(Value::Integer(3), Type::Text), "'3'");
        assert_eq!(write(Value::Integer(1), Type::Boolean), "true");
        let late = write(Value::Integer(951_782_400), Type::Timestamp);
        assert_eq!(late, "'2000-02-29 00:00:00'");
        assert_eq!(
            write(Value::Integer(0), Type::Timestamp),
            "'1970-01-01 00:00:00'"
        );
    }
}
