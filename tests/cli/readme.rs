//! What README.md shows is what the binary prints.

use super::isolde;
use serde_json::Value;

/// The fenced blocks of this kind.
fn blocks(kind: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).expect("README.md");
    let opening = format!("```{kind}\n");
    text.split(opening.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or("").to_string())
        .collect()
}

#[test]
fn the_readme_shows_real_output() {
    let shown = blocks("console");
    assert!(!shown.is_empty());
    for block in shown {
        let (command, output) = block.split_once('\n').expect("a command and its output");
        let args: Vec<&str> = command.split(' ').skip(2).collect();
        assert_eq!(isolde(&args).out, output, "{command}");
    }
}

#[test]
fn the_readme_shows_real_json() {
    let shown = blocks("json");
    let [history, object] = &shown[..] else {
        panic!("README.md shows a history and a JSON object");
    };
    let file = "tests/corpus/levels/bank-transfer.jsonl";
    let root = env!("CARGO_MANIFEST_DIR");
    let known = std::fs::read_to_string(format!("{root}/{file}")).expect("the history");
    assert_eq!(*history, known);
    let without_seconds = |text: &str| {
        let mut object: Value = serde_json::from_str(text).expect("an object");
        object["results"][0]["seconds"] = Value::Null;
        object["results"][0]["stages"] = Value::Null;
        object
    };
    let real = isolde(&["check", "--json", "--level", "read-atomic", file]).exits(1);
    assert_eq!(without_seconds(object), without_seconds(&real.out));
}
