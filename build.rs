//! Asks the linker for a program at a fixed address that brings its C library along, where the compiler's default linker
//! and a static C library are there. A program at an address that changes from run to run rewrites a megabyte of addresses
//! when it starts, and one that shares libraries finds and links them: together a half of its start, and a part of the
//! memory of a small check. The price is that its own code lies where everybody can know; heap and stack still do not.
//!
//! The compiler names the shared libraries itself, and takes them from the first directory that has them. So they get a
//! directory of their own, with files that tell the linker to take the static ones.
//!
//! What runs in every check is put together in the program (`layout.ld`), where nobody chose a linker or flags of their
//! own: the one that comes with the compiler understands that file, as GNU's does, but not every other.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu_linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !is_gnu_linux {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let is_native = variable("HOST") == variable("TARGET");
    let has_own_linker = std::env::var("RUSTC_LINKER").is_ok();
    let out = PathBuf::from(variable("OUT_DIR"));
    let has_own_flags = !variable("CARGO_ENCODED_RUSTFLAGS").is_empty();
    if variable("PROFILE") == "release" && !has_own_linker && !has_own_flags {
        let layout = Path::new(&variable("CARGO_MANIFEST_DIR")).join("layout.ld");
        println!("cargo::rerun-if-changed=layout.ld");
        println!("cargo::rustc-link-arg-bins=-T{}", layout.display());
    }
    if is_native && !has_own_linker && replace_libraries(&out).is_some() {
        println!("cargo::rustc-link-arg-bins=-L{}", out.display());
        println!("cargo::rustc-link-arg-bins=-static");
    }
}

/// Writes files in the place of the shared libraries; none if a static one is missing.
fn replace_libraries(directory: &Path) -> Option<()> {
    let unwinding = library("libgcc_eh.a")?;
    let (c, math, compiler) = (library("libc.a")?, library("libm.a")?, library("libgcc.a")?);
    let files = [
        (
            "libgcc_s.so",
            format!("GROUP({unwinding} {c} {compiler})\n"),
        ),
        ("libc.so", format!("GROUP({c} {unwinding} {compiler})\n")),
        ("libm.so", format!("INPUT({math})\n")),
    ];
    for (name, text) in files {
        std::fs::write(directory.join(name), text).ok()?;
    }
    Some(())
}

/// Where the C compiler has a library.
fn library(name: &str) -> Option<String> {
    let mut compiler = Command::new("cc");
    let asked = compiler.arg(format!("-print-file-name={name}"));
    let output = asked.output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = path.trim();
    Path::new(path).is_absolute().then(|| path.to_string())
}
