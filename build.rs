//! Asks the linker to pack the table of relocations, where the system's loader can read that: unpacked it is most of
//! what a short run of the program reads of itself, and a seventh of the memory of a check of a small history.

use std::process::Command;

/// The first version of glibc whose loader knows packed tables.
const GLIBC_MIN: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let for_here = variable("HOST") == variable("TARGET");
    if for_here
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && glibc().is_some_and(|it| it >= GLIBC_MIN)
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// The version of glibc here, if that is what there is.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
