//! What README.md shows is what the binary prints.

use super::isolde;
use super::pages::{blocks, read, shows_real_output};
use serde_json::Value;

#[test]
fn the_readme_shows_real_output() {
    shows_real_output("README.md", 1);
}

#[test]
fn the_readme_shows_real_json() {
    let shown = blocks(&read("README.md"), "json");
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
