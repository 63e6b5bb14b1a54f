//! The formats and their names.

use std::fmt;
use std::str::FromStr;

/// A format of history files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// PolySI, Plume and IsoVista text: `r(key,value,session,txn)`.
    Text,
    /// AWDIT's test text: `r key value`.
    Awdit,
    /// Cobra's directory of binary logs.
    Cobra,
    /// The original dbcop's binary file.
    DbcopBincode,
    /// The JSON of dbcop 0.2.
    DbcopJson,
    /// The text of dbcop 0.2: `[x:=1 y==2]`.
    DbcopHist,
    /// Viper's directory of logs in JSON lines.
    Viper,
    /// TimeKiller's JSON, with the database's timestamps.
    TimeKiller,
    /// Jepsen operations in EDN.
    JepsenEdn,
    /// Jepsen operations in JSON.
    JepsenJson,
    /// Jepsen's `test.jepsen`: blocks of Fressian.
    JepsenStore,
    /// Isolde's JSON lines.
    Isolde,
    /// Isolde's columns in Parquet.
    Parquet,
}

struct FormatRow {
    format: Format,
    name: &'static str,
    extensions: &'static [&'static str],
}

const fn row(format: Format, name: &'static str, extensions: &'static [&'static str]) -> FormatRow {
    FormatRow {
        format,
        name,
        extensions,
    }
}

/// In the order of the variants.
const FORMATS: [FormatRow; 13] = [
    row(Format::Text, "text", &["txt"]),
    row(Format::Awdit, "awdit", &["awdit"]),
    row(Format::Cobra, "cobra", &[]),
    row(Format::DbcopBincode, "dbcop-bincode", &["bincode"]),
    row(Format::DbcopJson, "dbcop-json", &["dbcop.json"]),
    row(Format::DbcopHist, "dbcop-hist", &["hist"]),
    row(Format::Viper, "viper", &[]),
    row(Format::TimeKiller, "timekiller", &["timekiller.json"]),
    row(Format::JepsenEdn, "jepsen-edn", &["edn"]),
    row(Format::JepsenJson, "jepsen-json", &["json"]),
    row(Format::JepsenStore, "jepsen-store", &["jepsen"]),
    row(Format::Isolde, "isolde", &["jsonl", "ndjson", "isolde"]),
    row(Format::Parquet, "parquet", &["parquet"]),
];

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.iter().map(|row| row.format)
    }

    /// The name that the command line and reports use.
    pub fn name(self) -> &'static str {
        FORMATS[self as usize].name
    }

    /// What the names of such files usually end in, the most usual first; none for a directory.
    pub fn extensions(self) -> &'static [&'static str] {
        FORMATS[self as usize].extensions
    }

    /// The format to write a file of this name in, by its ending. Never used for reading.
    pub fn for_file_name(name: &str) -> Option<Format> {
        let fits = |row: &FormatRow| {
            let ends = |ending: &&str| {
                name.strip_suffix(*ending)
                    .is_some_and(|stem| stem.ends_with('.'))
            };
            row.extensions.iter().any(ends)
        };
        FORMATS.iter().find(|row| fits(row)).map(|row| row.format)
    }

    /// Whether the format is a directory with one log a session ([`super::write_logs`]).
    pub fn is_directory(self) -> bool {
        matches!(self, Format::Cobra | Format::Viper)
    }

    /// Whether the format keeps the version numbers that a database gave.
    pub fn holds_versions(self) -> bool {
        self == Format::Isolde
    }

    /// Whether the format keeps when transactions began and ended. Writing a history with times
    /// in one that does not loses the order of real time.
    pub fn holds_times(self) -> bool {
        use Format::{Isolde, JepsenEdn, JepsenJson, JepsenStore, Parquet, TimeKiller};
        matches!(
            self,
            JepsenEdn | JepsenJson | JepsenStore | TimeKiller | Isolde | Parquet
        )
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFormat(
    /// The name.
    pub String,
);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
        write!(
            f,
            "no format is called `{}`; there are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = FORMATS.iter().find(|row| row.name == name);
        found
            .map(|row| row.format)
            .ok_or_else(|| UnknownFormat(name.to_string()))
    }
}
