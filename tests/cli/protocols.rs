//! What docs/protocols.md shows is what the programs print, and its code is that of the examples.

use super::pages::{blocks, read, shows_real_output};

const PAGE: &str = "docs/protocols.md";

#[test]
fn the_page_shows_real_output() {
    shows_real_output(PAGE, 4);
}

#[test]
fn the_page_shows_code_that_is_compiled() {
    let example = |name: &str| {
        let path = format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).expect("an example")
    };
    let files = [
        example("starting_point.rs"),
        example("tutorial/checked.rs"),
        example("tutorial/two_phase.rs"),
    ];
    for block in blocks(&read(PAGE), "rust") {
        let known = files.iter().any(|file| file.contains(&block));
        assert!(known, "in none of the examples:\n{block}");
    }
}
