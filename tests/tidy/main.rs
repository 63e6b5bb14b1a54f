//! The rules of the design that neither the compiler nor clippy keeps, each its own test.

mod links;
mod manifest;
mod source;

use manifest::{dependencies, manifests};
use source::{code, files, functions, read, root, within, words};
use std::path::{Path, PathBuf};
use std::process::Command;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 600;

/// Functions that may be longer, with the reason.
const LONG_FUNCTIONS: &[(&str, &str)] = &[];

/// Which of our crates each crate may build on. `history` is at the bottom, so that `certify`
/// cannot import the checker.
const ARROWS: &[(&str, &[&str])] = &[
    ("history", &[]),
    ("checker", &["history"]),
    ("workload", &["history"]),
    ("program", &["history", "workload"]),
    ("protocol", &["history", "checker"]),
    ("report", &["history"]),
    ("web", &["history", "report"]),
];

/// Foreign crates and the files that may name them. A crate used like the standard library may be
/// named anywhere; an engine has one file, so that it can be replaced there.
const FOREIGN: &[(&str, &[&str])] = &[
    ("flate2", &["crates/history/src/format/compress.rs"]),
    ("zstd", &["crates/history/src/format/compress.rs"]),
    (
        "postgres-protocol",
        &["crates/workload/src/drivers/postgres/login.rs"],
    ),
    ("rusqlite", &["crates/workload/src/drivers/sqlite.rs"]),
    ("mysql", MYSQL),
    ("memmap2", &["src/input.rs", "crates/history/src/large.rs"]),
    ("zerocopy", &["crates/history/src/large.rs"]),
    ("parquet", PARQUET),
    ("bytes", &["crates/history/src/format/parquet_column.rs"]),
    ("signal-hook", &["src/interrupt.rs"]),
    (
        "rustix",
        &[
            "crates/workload/src/cluster/process.rs",
            "crates/workload/src/drivers/external/process.rs",
            "crates/web/src/jobs/signal.rs",
        ],
    ),
    ("sqlparser", SQLPARSER),
    ("tree-sitter", &["crates/program/src/java/tree.rs"]),
    ("tree-sitter-java", &["crates/program/src/java/tree.rs"]),
    ("batsat", &["crates/checker/src/strong/solver.rs"]),
    ("cadical-sys", &["crates/checker/src/strong/cadical.rs"]),
    (
        "clap",
        &[
            "src/args.rs",
            "src/lib.rs",
            "src/model_args.rs",
            "src/program_args.rs",
            "src/run_args.rs",
            "src/commands/shell.rs",
        ],
    ),
    ("clap_complete", &["src/commands/shell.rs"]),
    ("clap_mangen", &["src/commands/shell.rs"]),
    ("terminal_size", &["src/output.rs"]),
    ("anstream", &["src/output.rs"]),
    (
        "redb",
        &[
            "crates/workload/src/drivers/embedded/mod.rs",
            "crates/workload/src/drivers/embedded/redb.rs",
        ],
    ),
    (
        "fjall",
        &[
            "crates/workload/src/drivers/embedded/mod.rs",
            "crates/workload/src/drivers/embedded/fjall.rs",
        ],
    ),
    ("serde_json", ANYWHERE),
    ("serde", ANYWHERE),
    ("memchr", ANYWHERE),
    ("rustc-hash", ANYWHERE),
];

/// `drivers/mod.rs` names our module of the same name.
const MYSQL: &[&str] = &[
    "crates/workload/src/drivers/mod.rs",
    "crates/workload/src/drivers/mysql/mod.rs",
    "crates/workload/src/drivers/mysql/plain.rs",
];

/// One format, split by direction and layer; `mod.rs` names our module of the same name.
const PARQUET: &[&str] = &[
    "crates/history/src/format/mod.rs",
    "crates/history/src/format/parquet_column.rs",
    "crates/history/src/format/parquet_group.rs",
    "crates/history/src/format/parquet_layout.rs",
    "crates/history/src/format/parquet_pages.rs",
    "crates/history/src/format/parquet_read.rs",
    "crates/history/src/format/parquet_write.rs",
];

/// One grammar, split by what is read: declarations, queries, values, writes.
const SQLPARSER: &[&str] = &[
    "crates/program/src/sql/clause.rs",
    "crates/program/src/sql/ddl.rs",
    "crates/program/src/sql/merge.rs",
    "crates/program/src/sql/nested.rs",
    "crates/program/src/sql/parse.rs",
    "crates/program/src/sql/query.rs",
    "crates/program/src/sql/scope.rs",
    "crates/program/src/sql/value.rs",
    "crates/program/src/sql/write.rs",
];

const ANYWHERE: &[&str] = &["*"];

/// Files that may say `unsafe`, with the reason.
const UNSAFE: &[(&str, &str)] = &[
    ("src/input.rs", "maps a file that is read only"),
    (
        "crates/history/examples/parse_speed.rs",
        "maps a file that is read only",
    ),
];

const BANNED_NAMES: [&str; 5] = ["utils", "common", "core", "helpers", "manager"];

/// Fails with all problems and what to do about them.
fn report(problems: Vec<String>, advice: &str) {
    let list = problems.join("\n  ");
    assert!(problems.is_empty(), "{advice}\n  {list}");
}

fn is_library(path: &Path) -> bool {
    path.starts_with("crates") && within(path, "src")
}

fn is_product(path: &Path) -> bool {
    is_library(path) || path.starts_with("src")
}

fn rust_files(wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    files("rs")
        .into_iter()
        .filter(|path| wanted(path))
        .collect()
}

#[test]
fn arrows_point_down_to_history() {
    let ours: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let mut problems = Vec::new();
    for (package, path) in manifests() {
        if !package.is_empty() && !ours.contains(&package.as_str()) {
            problems.push(format!("{} is not in the table ARROWS", path.display()));
        }
    }
    for found in dependencies() {
        let name = found.name.trim_start_matches("isolde-");
        // The tests of an upper crate may use its siblings; those of history, nothing.
        let tests_only = found.section == "dev-dependencies" && found.package != "history";
        if found.package.is_empty() || tests_only || !ours.contains(&name) {
            continue;
        }
        let row = ARROWS.iter().find(|(from, _)| *from == found.package);
        if !row.is_some_and(|(_, allowed)| allowed.contains(&name)) {
            problems.push(format!("{} depends on {name}", found.package));
        }
    }
    report(
        problems,
        "Move the shared thing down into history, or the code up to the edge (src/).",
    );
}

#[test]
fn functions_fit_a_screen() {
    let mut problems = Vec::new();
    for path in rust_files(|path| !within(path, "tests")) {
        for (name, line, length) in functions(&code(&read(&path), false)) {
            let allowed = LONG_FUNCTIONS.iter().any(|(known, _)| *known == name);
            if length > FUNCTION_LINES_MAX && !allowed {
                problems.push(format!("{}:{line} {name}: {length} lines", path.display()));
            }
        }
    }
    report(
        problems,
        "Split the function (70 lines at most), or give a reason in LONG_FUNCTIONS.",
    );
}

#[test]
fn files_stay_readable() {
    let long = |path: &PathBuf| read(path).lines().count() > FILE_LINES_MAX;
    let problems = files("rs").into_iter().filter(long);
    report(
        problems.map(|path| path.display().to_string()).collect(),
        "Split the file along what it knows (600 lines at most).",
    );
}

/// Where one of the phrases stands in the code of files.
fn occurrences(paths: Vec<PathBuf>, phrases: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        let code = code(&read(&path), false);
        for (number, line) in code.lines().enumerate() {
            for phrase in phrases.iter().filter(|phrase| starts_word(line, phrase)) {
                found.push(format!("{}:{} {phrase}", path.display(), number + 1));
            }
        }
    }
    found
}

/// Whether the phrase occurs, not as the end of a longer word.
fn starts_word(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn libraries_neither_print_nor_read_the_environment_nor_exit() {
    let banned = [
        "println!",
        "eprintln!",
        "print!",
        "eprint!",
        "dbg!",
        "std::env",
        "env::var",
        "env::args",
        "process::exit",
    ];
    report(
        occurrences(rust_files(is_library), &banned),
        "Take data and return data; printing, environment and exit belong to src/.",
    );
}

#[test]
fn nothing_is_left_to_do() {
    // The words looked for; this list is the only place that may have them.
    let banned = ["todo!", "unimplemented!", "unreachable!()"];
    report(
        occurrences(rust_files(|_| true), &banned),
        "Write it, return an error, or say in unreachable!(…) why it cannot be.",
    );
}

#[test]
fn modules_have_names_of_their_own() {
    let banned = |path: &PathBuf| {
        let name = |part: &str| BANNED_NAMES.contains(&part.trim_end_matches(".rs"));
        path.iter().filter_map(|part| part.to_str()).any(name)
    };
    let problems = files("rs").into_iter().filter(banned);
    report(
        problems.map(|path| path.display().to_string()).collect(),
        "Name the module after the data it owns.",
    );
}

#[test]
fn each_foreign_engine_is_named_where_the_table_says() {
    let mut problems = Vec::new();
    let ours: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for found in dependencies() {
        let known = FOREIGN.iter().any(|(name, _)| *name == found.name);
        let tests_only = found.section == "dev-dependencies";
        if !tests_only && !known && !ours.contains(&found.name.as_str()) {
            problems.push(format!("{} is not in the table FOREIGN", found.name));
        }
    }
    for path in rust_files(is_product) {
        let code = code(&read(&path), false);
        for (name, allowed) in FOREIGN {
            let word = name.replace('-', "_");
            let named = words(&code).iter().any(|(at, found)| {
                *found == word && code[at + word.len()..].trim_start().starts_with("::")
            });
            let here = |file: &&str| *file == "*" || Path::new(file) == path;
            if named && !allowed.iter().any(here) {
                problems.push(format!("{} names {name}", path.display()));
            }
        }
    }
    report(
        problems,
        "Call the engine through its own file, or enter the crate in FOREIGN.",
    );
}

#[test]
fn unsafe_code_is_on_the_list() {
    let mut problems = Vec::new();
    for path in files("rs") {
        let code = code(&read(&path), true);
        let listed = UNSAFE.iter().any(|(file, _)| Path::new(file) == path);
        if !listed && words(&code).iter().any(|(_, word)| *word == "unsafe") {
            problems.push(path.display().to_string());
        }
    }
    report(problems, "Do without unsafe, or give the reason in UNSAFE.");
}

#[test]
fn relative_links_lead_somewhere() {
    report(
        links::broken(),
        "Correct the link, or the heading it names.",
    );
}

#[test]
fn the_gate_runs_what_the_readme_says() {
    let (readme, gate) = (root().join("README.md"), root().join(".ci/run"));
    if !readme.exists() && !gate.exists() {
        println!("skipped: there is neither README.md nor .ci/run");
        return;
    }
    let gate = std::fs::read_to_string(gate).expect(".ci/run, which runs the tests");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    let command = readme
        .lines()
        .map(|line| line.trim().trim_start_matches("$ "))
        .find(|line| line.starts_with("cargo test"))
        .expect("README.md has a line with the test command, beginning with: cargo test");
    let command = command.split('#').next().unwrap_or(command).trim();
    let setting_up = |line: &&str| {
        line.is_empty()
            || ["#", "set ", "cd "]
                .iter()
                .any(|start| line.starts_with(start))
    };
    let run: Vec<&str> = gate
        .lines()
        .map(str::trim)
        .filter(|line| !setting_up(line))
        .collect();
    assert_eq!(
        run,
        [command],
        "Let .ci/run call the README's test command and nothing else."
    );
}

#[test]
fn the_code_is_formatted() {
    let has_rustfmt = Command::new("rustfmt").arg("--version").output();
    if !has_rustfmt.is_ok_and(|output| output.status.success()) {
        println!("skipped: rustfmt is not installed");
        return;
    }
    let output = Command::new(env!("CARGO"))
        .args(["fmt", "--all", "--check"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    let differences = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "Run cargo fmt.\n{differences}");
}
