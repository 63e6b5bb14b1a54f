//! Clippy as a test, so that `cargo test` is the whole gate.
#![allow(missing_docs)]

use std::process::Command;

/// Runs in a target directory of its own: the one in use is locked by the `cargo test` that waits
/// for this test.
#[test]
fn clippy_has_nothing_to_say() {
    let has_clippy = Command::new(env!("CARGO"))
        .args(["clippy", "--version"])
        .output();
    if !has_clippy.is_ok_and(|output| output.status.success()) {
        println!("skipped: clippy is not installed");
        return;
    }
    let everything = ["--workspace", "--all-targets"];
    // What tests in Rust depend on has to build without the program.
    let recorder = ["--package=isolde", "--lib", "--no-default-features"];
    for what in [&everything[..], &recorder] {
        clippy(what);
    }
}

fn clippy(what: &[&str]) {
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--locked"])
        .args(what)
        .args(["--target-dir", &format!("{root}/target/clippy")])
        .args(["--", "-D", "warnings"])
        .current_dir(root)
        .output()
        .expect("cargo starts");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
}
