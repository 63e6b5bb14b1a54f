//! Installs the browser that the tests need, once, where that is possible.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Whether there is a browser to drive; says so where there is none.
pub fn has_browser() -> bool {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        if !is_there() && Path::new("/usr/bin/apt-get").exists() && !install() {
            run(&["update", "-q"]);
            install();
        }
    });
    if !is_there() {
        println!("skipped: chromium and chromium-driver are not installed, and could not be");
    }
    is_there()
}

fn is_there() -> bool {
    ["/usr/bin/chromium", "/usr/bin/chromedriver"]
        .iter()
        .all(|file| Path::new(file).exists())
}

fn install() -> bool {
    run(&[
        "install",
        "-y",
        "-q",
        "--no-install-recommends",
        "chromium",
        "chromium-driver",
    ])
}

fn run(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
