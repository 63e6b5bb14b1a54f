//! Where the programs of a database are, and which Debian package has them.

use super::error::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where programs are besides the given directories: servers are often not on a user's path, and
/// their scripts need the ordinary tools.
const STANDARD: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

pub(super) struct Programs {
    directories: Vec<PathBuf>,
}

impl Programs {
    pub fn new(search: &[PathBuf]) -> Programs {
        let mut directories = search.to_vec();
        for standard in STANDARD.iter().map(PathBuf::from) {
            if !directories.contains(&standard) {
                directories.push(standard);
            }
        }
        Programs { directories }
    }

    /// The value of PATH for what is started.
    pub fn path(&self) -> OsString {
        let mut path = OsString::new();
        for (index, directory) in self.directories.iter().enumerate() {
            if index > 0 {
                path.push(":");
            }
            path.push(directory);
        }
        path
    }

    /// The first that is there, of several names of one program.
    pub fn find(&self, names: &[&str]) -> Option<PathBuf> {
        let all = names
            .iter()
            .flat_map(|name| self.directories.iter().map(move |found| found.join(name)));
        all.into_iter().find(|path| is_program(path))
    }

    pub fn need(&self, names: &[&str], package: &'static str) -> Result<PathBuf, Error> {
        let wanted = names.first().copied().unwrap_or_default();
        let missing = || Error::missing(&format!("the program {wanted}"), package);
        self.find(names).ok_or_else(missing)
    }

    /// The directory with PostgreSQL's programs, which Debian keeps apart by version: that of the
    /// one on the path, or else of the highest version.
    pub fn postgres(&self) -> Result<PathBuf, Error> {
        let on_path = self
            .find(&["postgres"])
            .and_then(|path| fs::canonicalize(path).ok());
        let installed = on_path.and_then(|path| path.parent().map(Path::to_owned));
        let mut candidates: Vec<PathBuf> = versions(Path::new("/usr/lib/postgresql"));
        candidates.extend(installed);
        let is_whole = |path: &PathBuf| {
            ["postgres", "initdb"]
                .iter()
                .all(|name| is_program(&path.join(name)))
        };
        let found = candidates.into_iter().rev().find(is_whole);
        found.ok_or_else(|| Error::missing("the program postgres", "postgresql"))
    }
}

pub(super) fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The directories of programs of each version, the highest last.
fn versions(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry
                .file_name()
                .to_str()?
                .split('.')
                .next()?
                .parse()
                .ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// What a program prints when it is asked for its version or its options.
pub(super) fn ask(program: &Path, option: &str) -> String {
    let output = Command::new(program)
        .arg(option)
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        return String::new();
    };
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// The version in such a text: `15.18` in `postgres (PostgreSQL) 15.18 (Debian 15.18-0)`.
pub(super) fn version(text: &str) -> String {
    let words = || {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let found = words().find(|word| word.contains('.'));
    let word = found.or_else(|| words().next()).unwrap_or_default();
    word.trim_end_matches('.').to_owned()
}
