//! What docs/protocols.md shows is what the programs print, and its code is that of the examples.
//!
//! `ISOLDE_UPDATE_DOCS=1 cargo test --test cli protocols` writes the output into the page.

use super::isolde;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocols.md");

fn page() -> String {
    std::fs::read_to_string(PAGE).expect("docs/protocols.md")
}

/// The fenced blocks of this kind.
fn blocks(text: &str, kind: &str) -> Vec<String> {
    let opening = format!("```{kind}\n");
    text.split(opening.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or("").to_string())
        .collect()
}

/// The words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
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

/// What the command prints. `cargo run` stands for the program of the tutorial.
fn output(command: &str) -> String {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["$", "isolde", args @ ..] => isolde(args).out,
        ["$", "cargo", "run", "--", args @ ..] => {
            let output = Command::new(env!("CARGO"))
                .args(["run", "--quiet", "--example", "tutorial", "--"])
                .args(args)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .output()
                .expect("cargo starts");
            String::from_utf8(output.stdout).expect("text")
        }
        _ => panic!("who runs this? {command}"),
    }
}

/// The text with every number of seconds left out.
fn without_seconds(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("; ") {
        Some((before, last)) if last.ends_with(" s") => format!("{before}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn the_page_shows_real_output() {
    let mut text = page();
    let shown = blocks(&text, "console");
    assert!(shown.len() >= 4, "{}", shown.len());
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
        std::fs::write(PAGE, text).expect("docs/protocols.md can be written");
    }
}

#[test]
fn the_page_shows_code_that_is_compiled() {
    let read = |name: &str| {
        let path = format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).expect("an example")
    };
    let files = [
        read("starting_point.rs"),
        read("tutorial/checked.rs"),
        read("tutorial/two_phase.rs"),
    ];
    for block in blocks(&page(), "rust") {
        let known = files.iter().any(|file| file.contains(&block));
        assert!(known, "in none of the examples:\n{block}");
    }
}
