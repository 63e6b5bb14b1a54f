//! The names of properties: the short ones of the table mean the variants without sessions.

use crate::question::{Form, Property, Question};
use history::Level;
use std::fmt;
use std::str::FromStr;

/// Short name, property. In the order of the table.
const SHORT: [(&str, Property); 10] = [
    ("rc", Property::Level(Level::ReadCommitted)),
    ("ra", Property::Level(Level::ReadAtomic)),
    ("cs", Property::Level(Level::CursorStability)),
    ("ua", Property::Level(Level::UpdateAtomic)),
    (
        "nmsi",
        Property::Level(Level::NonMonotonicSnapshotIsolation),
    ),
    ("psi", Property::Level(Level::ParallelSnapshotIsolation)),
    ("si", Property::Level(Level::SnapshotIsolation)),
    ("ser", Property::Level(Level::Serializable)),
    ("sser", Property::Level(Level::StrictSerializable)),
    ("us", Property::UpdateSerializable),
];

const UPDATE_SERIALIZABLE: &str = "update-serializable";

impl Property {
    /// The nine properties of the table, in its order.
    pub fn table() -> impl Iterator<Item = Property> {
        SHORT.iter().take(9).map(|row| row.1)
    }

    /// The short name, where there is one.
    pub fn short(self) -> Option<&'static str> {
        let row = SHORT.iter().find(|row| row.1 == self);
        row.map(|row| row.0)
    }

    /// The full name.
    pub fn name(self) -> &'static str {
        match self {
            Property::Level(level) => level.name(),
            Property::UpdateSerializable => UPDATE_SERIALIZABLE,
        }
    }

    /// Whether it is about what one session sees, so that it means nothing where each transaction
    /// is alone in its own ([`crate::Request::sessions`]).
    pub fn about_sessions(self) -> bool {
        matches!(
            self,
            Property::Level(
                Level::ReadYourWrites
                    | Level::MonotonicReads
                    | Level::MonotonicWrites
                    | Level::WritesFollowReads
                    | Level::StrongSessionSnapshotIsolation
                    | Level::StrongSessionSerializable
            )
        )
    }

    /// Whether whoever has this property has `weaker` too, in strict form. Where transactions are
    /// each alone in a session, levels that differ by sessions only are the same.
    pub fn implies(self, weaker: Property, sessions: bool) -> bool {
        let with_sessions = |level: Level| match level {
            _ if sessions => level,
            Level::NonMonotonicSnapshotIsolation => Level::ParallelSnapshotIsolation,
            Level::SnapshotIsolation => Level::StrongSessionSnapshotIsolation,
            Level::Serializable => Level::StrongSessionSerializable,
            other => other,
        };
        match (self, weaker) {
            (Property::Level(level), Property::Level(weaker)) => {
                with_sessions(level).implies(weaker)
            }
            (Property::Level(level), Property::UpdateSerializable) => {
                level.implies(Level::Serializable)
            }
            (Property::UpdateSerializable, weaker) => weaker == Property::UpdateSerializable,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no property's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownProperty(pub String);

impl fmt::Display for UnknownProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: Vec<&str> = SHORT.iter().map(|row| row.0).collect();
        write!(
            f,
            "no property is called '{}'; there are {} and all levels",
            self.0,
            short.join(", ")
        )
    }
}

impl std::error::Error for UnknownProperty {}

impl FromStr for Property {
    type Err = UnknownProperty;

    /// Takes the short names of the table, `us`, and every name of a level. `si` and `ser` are the
    /// levels without sessions here, as in the table.
    fn from_str(name: &str) -> Result<Property, UnknownProperty> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        if let Some(row) = SHORT.iter().find(|row| row.0 == wanted) {
            return Ok(row.1);
        }
        if wanted == UPDATE_SERIALIZABLE {
            return Ok(Property::UpdateSerializable);
        }
        let level = wanted.parse().map(Property::Level);
        level.map_err(|_| UnknownProperty(name.to_string()))
    }
}

impl Form {
    /// The name in input and output.
    pub fn name(self) -> &'static str {
        match self {
            Form::Strict => "strict",
            Form::Paper => "paper",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Form, String> {
        match name {
            "strict" => Ok(Form::Strict),
            "paper" => Ok(Form::Paper),
            other => Err(format!("a form is 'strict' or 'paper', not '{other}'")),
        }
    }
}

impl Question {
    /// Whether the form has words for the property: the paper defines ten, the checker all.
    pub fn is_defined(self) -> bool {
        self.form == Form::Strict || self.property.short().is_some()
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Strict => write!(f, "{}", self.property),
            Form::Paper => write!(f, "{} (paper)", self.property),
        }
    }
}
