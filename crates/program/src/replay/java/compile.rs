//! The application's sources, compiled with ours.

use super::REPLAYER;
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

    /// Compiles everything into a directory.
    pub(super) fn compile(&self, path: &[PathBuf], into: &Path) -> Result<(), ReplayError> {
        let failed = |what: &Path, error: std::io::Error| {
            ReplayError::new(format!("{}: {error}", what.display()))
        };
        let own = into.join("Replayer.java");
        std::fs::write(&own, REPLAYER).map_err(|error| failed(&own, error))?;
        let javac = self.program("javac");
        let output = Command::new(&javac)
            .arg("-nowarn")
            .args(["-encoding", "UTF-8", "-proc:none", "-d"])
            .arg(into)
            .arg("-cp")
            .arg(joined(path))
            .arg(&own)
            .args(&self.sources)
            .stdin(Stdio::null())
            .output();
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
