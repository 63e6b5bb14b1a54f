//! Pages of documentation: what they show is what the programs print.
//!
//! `ISOLDE_UPDATE_DOCS=1 cargo test --test cli` writes the output into the pages.

use super::isolde;
use std::process::Command;

/// A page, by its path below the root.
pub fn read(page: &str) -> String {
    let path = format!("{}/{page}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of this kind.
pub fn blocks(text: &str, kind: &str) -> Vec<String> {
    let opening = format!("```{kind}\n");
    text.split(opening.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or("").to_string())
        .collect()
}

/// The words of a command line; quotes hold words together.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_string());
        } else {
            words.extend(part.split_whitespace().map(str::to_string));
        }
    }
    words
}

/// What the command prints. `cargo run` stands for the program of the tutorial, unless an example is named.
fn output(command: &str) -> String {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["$", "isolde", args @ ..] => isolde(args).out,
        ["$", "cargo", "run", "--example", name] => example(name, &[]),
        ["$", "cargo", "run", "--", args @ ..] => example("tutorial", args),
        _ => panic!("who runs this? {command}"),
    }
}

fn example(name: &str, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--example", name, "--"])
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    String::from_utf8(output.stdout).expect("text")
}

/// The text with every number of seconds left out: at the end of a line, or in a column of a table.
fn without_seconds(text: &str) -> String {
    let is_seconds = |word: &str| {
        let parts = word.split_once('.');
        parts.is_some_and(|(whole, rest)| {
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            rest.len() == 2 && digits(whole) && digits(rest)
        })
    };
    let line = |line: &str| match line.rsplit_once("; ") {
        Some((before, last)) if last.ends_with(" s") => format!("{before}\n"),
        _ if line.split_whitespace().any(is_seconds) => {
            let words = line.split_whitespace().filter(|word| !is_seconds(word));
            format!("{}\n", words.collect::<Vec<_>>().join(" "))
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Fails unless every block of kind `console` shows what its command prints; there are at least so many.
pub fn shows_real_output(page: &str, least: usize) {
    let mut text = read(page);
    let shown = blocks(&text, "console");
    assert!(shown.len() >= least, "{}", shown.len());
    let update = std::env::var_os("ISOLDE_UPDATE_DOCS").is_some();
    for block in shown {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        let real = output(command);
        if update {
            text = text.replace(&block, &format!("{command}\n{real}"));
        } else {
            assert_eq!(
                without_seconds(&real),
                without_seconds(expected),
                "{command}"
            );
        }
    }
    if update {
        let path = format!("{}/{page}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, text).expect("a page that can be written");
    }
}
