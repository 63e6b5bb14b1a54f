//! The binary from outside: what it prints, and the exit codes that scripts depend on.
#![allow(missing_docs)]

mod bad_input;
mod certificates;
mod conversion;
mod elle_cli;
mod generation;
mod library;
mod limits;
mod model;
mod pages;
mod program;
mod protocols;
mod readme;
mod schema;
mod scripts;
mod store;
mod verdicts;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

/// What a run left behind.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    fn of(output: Output) -> Run {
        let run = Run {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        };
        assert!(!run.err.contains("panicked"), "{}", run.err);
        run
    }

    /// Fails unless the exit code is this one.
    fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// Fails unless standard error has all these parts.
    fn complains(self, parts: &[&str]) -> Run {
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in: {}", self.err);
        }
        self
    }

    /// Fails unless standard output has all these parts.
    fn says(self, parts: &[&str]) -> Run {
        for part in parts {
            assert!(self.out.contains(part), "no {part:?} in: {}", self.out);
        }
        self
    }

    /// The one JSON object on standard output.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn isolde(args: &[&str]) -> Run {
    Run::of(command(args).output().expect("the binary starts"))
}

/// The program running, and the pipe to its standard input.
fn started(args: &[&str]) -> (Child, ChildStdin) {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let stdin = child.stdin.take().expect("a pipe");
    (child, stdin)
}

fn isolde_reading(args: &[&str], input: &[u8]) -> Run {
    let (child, mut stdin) = started(args);
    // A binary that refuses its arguments ends without reading.
    if let Err(error) = stdin.write_all(input) {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
    drop(stdin);
    Run::of(child.wait_with_output().expect("the binary ends"))
}

/// A fresh folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        if path.exists() {
            std::fs::remove_dir_all(&path).expect("an old folder goes");
        }
        std::fs::create_dir_all(&path).expect("a new folder");
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").to_string()
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

/// A file of the corpus.
fn corpus(name: &str) -> String {
    format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

const HOLDS: &str = "levels/serial.txt";
const VIOLATED: &str = "patterns/h-fractured-read.txt";

#[test]
fn help_tells_the_exit_codes() {
    isolde(&["--help"])
        .exits(0)
        .says(&["Exit codes: 0 holds, 1 violated, 2 bad input"]);
    for name in ["check", "certify", "convert", "generate", "levels"] {
        isolde(&[name, "--help"]).exits(0).says(&["Usage: isolde"]);
    }
}

#[test]
fn wrong_arguments_are_bad_input() {
    isolde(&[]).exits(2);
    isolde(&["check"]).exits(2).complains(&["FILE"]);
    isolde(&["check", "--level", "serialisable", "x"])
        .exits(2)
        .complains(&["serialisable", "isolde levels"]);
    isolde(&["check", "--format", "xml", "x"])
        .exits(2)
        .complains(&["xml", "jepsen-edn"]);
    for limit in ["--timeout", "--memory"] {
        for number in ["-1", "0", "-0.5", "x"] {
            let run = isolde(&["check", limit, number, "x"]).exits(2);
            let run = run.complains(&[number, "expected a number above 0"]);
            assert!(!run.err.contains("tip:"), "{}", run.err);
        }
    }
    isolde(&["generate", "--anomaly", "bug", "--check"])
        .exits(2)
        .complains(&["fractured-read"]);
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf8_are_bad_input() {
    use std::os::unix::ffi::OsStrExt;
    let word = std::ffi::OsStr::from_bytes(b"\xff");
    for before in [&[][..], &["check"], &["elle-cli"], &["elle-cli", "-v"]] {
        let output = command(before).arg(word).output();
        Run::of(output.expect("isolde starts"))
            .exits(2)
            .complains(&["error"]);
    }
}

#[test]
fn levels_are_listed() {
    let text = isolde(&["levels"]).exits(0);
    let rows = isolde(&["levels", "--json"]).exits(0).json();
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), 19);
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        assert!(text.out.contains(name), "{name}");
        assert_eq!(row["decided"], true, "{name}");
    }
}

/// The one exception is a sentence there and a few words here.
#[test]
fn levels_are_defined_in_the_same_words_as_in_the_documentation() {
    let path = format!("{}/docs/levels.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("the page");
    let rows = isolde(&["levels", "--json"]).exits(0).json();
    for row in rows.as_array().expect("an array") {
        let (name, axiom) = (row["name"].as_str(), row["axiom"].as_str());
        let (name, axiom) = (name.expect("a name"), axiom.expect("an axiom"));
        let beginning = format!("| {name} |");
        let line = page.lines().find(|line| line.starts_with(&beginning));
        let line = line.expect("a row for every level");
        let is_same = line.contains(&format!("| {axiom} |"));
        assert!(is_same || name == "read-uncommitted", "{axiom}: {line}");
    }
}

#[test]
fn near_names_of_anomalies_are_offered() {
    let table = [
        ("G2", "G2-item or "),
        ("lost-updte", "hint: is it lost-update?"),
        ("skew", "write-skew"),
        ("dirty", "dirty-update"),
        ("g-sngle", "G-single"),
    ];
    for (name, expected) in table {
        isolde(&["explain", name])
            .exits(2)
            .complains(&["no anomaly is called", expected]);
    }
    let run = isolde(&["explain", "zzzzzzzzzzzz"]).exits(2);
    assert!(!run.err.contains("hint"), "{}", run.err);
}
