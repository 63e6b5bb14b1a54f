//! The application's sources, compiled with ours.
//!
//! All sources that were read are given to the compiler, and it may look for others beside them, by
//! their packages. Where that fails, as a user interface needs a library that is not there, only the
//! files with transactions are given, and what those need.

use super::own::{OWN, STAND_INS, stand_in};
use crate::replay::dialect::Dialect;
use crate::replay::error::ReplayError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An application in Java.
#[derive(Clone, Debug, Default)]
pub struct JavaApplication {
    /// Its sources.
    pub sources: Vec<PathBuf>,
    /// Those of them that have transactions.
    pub entries: Vec<PathBuf>,
    /// What it is compiled and run with besides: jars and directories of classes.
    pub class_path: Vec<PathBuf>,
    /// The directory of the Java programs; none if they are on the path.
    pub home: Option<PathBuf>,
}

/// Where Debian's packages put the drivers.
const DRIVERS: &[(Dialect, &str, &str, &str)] = &[
    (
        Dialect::Postgres,
        "postgresql",
        "/usr/share/java/postgresql.jar",
        "libpostgresql-jdbc-java",
    ),
    (
        Dialect::MariaDb,
        "mariadb-java-client",
        "/usr/share/java/mariadb-java-client.jar",
        "libmariadb-java",
    ),
];

impl JavaApplication {
    /// A program of Java's.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        match &self.home {
            Some(home) => home.join("bin").join(name),
            None => PathBuf::from(name),
        }
    }

    /// The class path with the JDBC driver for a server: the one that is given, or that of Debian.
    pub(super) fn with_driver(&self, dialect: Dialect) -> Result<Vec<PathBuf>, ReplayError> {
        let mut path = self.class_path.clone();
        let Some((_, name, file, package)) = DRIVERS.iter().find(|row| row.0 == dialect) else {
            return Ok(path);
        };
        let is_driver = |entry: &PathBuf| {
            let file = entry.file_name().unwrap_or_default().to_string_lossy();
            file.contains(name)
        };
        if path.iter().any(is_driver) {
            return Ok(path);
        }
        if !Path::new(file).exists() {
            return Err(ReplayError::new(format!(
                "no JDBC driver {name} on the class path, and none in {file}; give its jar, or \
                 install it: apt install {package}"
            )));
        }
        path.push(PathBuf::from(file));
        Ok(path)
    }

    /// Compiles everything: the application into one directory, and the classes that stand in for
    /// drivers into another. The resources that it has beside its sources.
    pub(super) fn compile(
        &self,
        path: &[PathBuf],
        classes: &Path,
        drivers: &Path,
    ) -> Result<Vec<PathBuf>, ReplayError> {
        let own = write_own(classes)?;
        let roots = self.roots();
        let all = self.javac(path, classes, &roots, &own, &self.sources);
        if let Err(error) = all {
            let alone = !self.entries.is_empty() && self.entries.len() < self.sources.len();
            let again = alone.then(|| self.javac(path, classes, &roots, &own, &self.entries));
            if !matches!(again, Some(Ok(()))) {
                return Err(error);
            }
        }
        set_apart(classes, drivers)?;
        let resources = roots
            .iter()
            .map(|root| root.with_file_name("resources"))
            .filter(|directory| directory.is_dir());
        Ok(resources.collect())
    }

    fn javac(
        &self,
        path: &[PathBuf],
        into: &Path,
        roots: &[PathBuf],
        own: &[PathBuf],
        sources: &[PathBuf],
    ) -> Result<(), ReplayError> {
        let javac = self.program("javac");
        let mut command = Command::new(&javac);
        // The names of parameters tell which argument is whose.
        command.args(["-nowarn", "-parameters", "-encoding", "UTF-8"]);
        let has_lombok = |entry: &PathBuf| entry.to_string_lossy().contains("lombok");
        if !path.iter().any(has_lombok) {
            command.arg("-proc:none");
        }
        command.arg("-d").arg(into).arg("-cp").arg(joined(path));
        command.arg("-sourcepath").arg(joined(roots));
        let output = command.args(own).args(sources);
        let output = output.stdin(Stdio::null()).output();
        let output = output.map_err(|error| {
            let problem = format!("{}: {error}", javac.display());
            let advice = "a Java compiler is needed for this (Debian: default-jdk-headless)";
            ReplayError::new(format!("{problem}; {advice}"))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(ReplayError::new(refused(&said)))
    }

    /// The directories that the packages of the sources begin in.
    fn roots(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = Vec::new();
        for source in &self.sources {
            let text = std::fs::read_to_string(source).unwrap_or_default();
            // A package may begin above the directory that this runs in.
            let whole = std::path::absolute(source).unwrap_or_else(|_| source.clone());
            if let Some(root) = root_of(&whole, &text)
                && !roots.contains(&root)
            {
                roots.push(root);
            }
        }
        roots
    }
}

fn failed(what: &Path, error: &std::io::Error) -> ReplayError {
    ReplayError::new(format!("{}: {error}", what.display()))
}

/// Writes our own sources; their names.
fn write_own(into: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    let mut written = Vec::new();
    let stand_ins = STAND_INS.iter().map(|name| {
        let file = format!("{}.java", name.replace('.', "/"));
        (file, stand_in(name))
    });
    let own = OWN.iter();
    let own = own.map(|(name, text)| (format!("isolde/replay/{name}"), (*text).to_string()));
    for (name, text) in own.chain(stand_ins) {
        let file = into.join(name);
        let directory = file.parent().unwrap_or(into);
        std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        std::fs::write(&file, text).map_err(|error| failed(&file, &error))?;
        written.push(file);
    }
    Ok(written)
}

/// Moves the classes that stand in for drivers to a directory of their own, which comes last: drivers
/// that the application has go first.
fn set_apart(classes: &Path, drivers: &Path) -> Result<(), ReplayError> {
    for name in STAND_INS {
        let file = format!("{}.class", name.replace('.', "/"));
        let (from, to) = (classes.join(&file), drivers.join(&file));
        let directory = to.parent().unwrap_or(drivers);
        std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        std::fs::rename(&from, &to).map_err(|error| failed(&from, &error))?;
    }
    Ok(())
}

/// The directory that the package of a source begins in; none where its path is another.
fn root_of(source: &Path, text: &str) -> Option<PathBuf> {
    let package = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("package "))
        .and_then(|rest| rest.split(';').next())
        .map_or("", str::trim);
    let mut root = source.parent()?.to_path_buf();
    for part in package.rsplit('.').filter(|part| !part.is_empty()) {
        if root.file_name()?.to_str()? != part {
            return None;
        }
        root = root.parent()?.to_path_buf();
    }
    Some(root)
}

/// What the compiler said, and what to do about it: where packages are missing, which ones.
fn refused(said: &str) -> String {
    let mut missing: Vec<&str> = Vec::new();
    for line in said.lines() {
        let after = line.split("error: package ").nth(1);
        let package = after.and_then(|rest| rest.strip_suffix(" does not exist"));
        if let Some(package) = package
            && !missing.contains(&package)
        {
            missing.push(package);
        }
    }
    let few: Vec<&str> = said.lines().take(20).collect();
    if missing.is_empty() {
        return format!("javac: {}", few.join("\n"));
    }
    missing.sort_unstable();
    format!(
        "javac does not find what the sources need: {}\n  Give the jars and directories that have \
         it with --class-path, or the sources themselves among the paths; without --java the \
         statements are played as they were read.\n  {}",
        missing.join(", "),
        few.first().copied().unwrap_or_default()
    )
}

/// A class path as Java takes it.
pub(super) fn joined(path: &[PathBuf]) -> OsString {
    let mut joined = OsString::new();
    for (at, entry) in path.iter().enumerate() {
        if at > 0 {
            joined.push(if cfg!(windows) { ";" } else { ":" });
        }
        joined.push(entry);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_packages_are_named_once() {
        let said = "A.java:3: error: package org.slf4j does not exist\nimport org.slf4j.Logger;\n\
                    B.java:4: error: package com.x.api does not exist\n\
                    B.java:5: error: package org.slf4j does not exist\n3 errors\n";
        let problem = refused(said);
        assert!(
            problem.contains("need: com.x.api, org.slf4j\n"),
            "{problem}"
        );
        assert!(problem.contains("--class-path"), "{problem}");
        let other = refused("A.java:1: error: ';' expected\n");
        assert_eq!(other, "javac: A.java:1: error: ';' expected");
    }

    #[test]
    fn packages_begin_above_their_directories() {
        let root = |path: &str, text: &str| root_of(Path::new(path), text);
        let found = root("app/src/org/bank/Dao.java", "// a\npackage org.bank;\n");
        assert_eq!(found, Some(PathBuf::from("app/src")));
        assert_eq!(
            root("/app/bank/Dao.java", "package bank ;"),
            Some(PathBuf::from("/app"))
        );
        assert_eq!(
            root("src/Dao.java", "class Dao {}"),
            Some(PathBuf::from("src"))
        );
        assert_eq!(root("src/Dao.java", "package other;"), None);
    }

    #[test]
    fn a_given_driver_is_taken() {
        let own = PathBuf::from("lib/postgresql-42.7.jar");
        let application = JavaApplication {
            class_path: vec![own.clone()],
            ..JavaApplication::default()
        };
        let path = application.with_driver(Dialect::Postgres);
        assert_eq!(path.expect("a path"), [own]);
    }
}
